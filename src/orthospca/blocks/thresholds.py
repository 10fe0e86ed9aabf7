"""Which blocks to solve: those asked for, or those that the tolerance has room for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._methods import Method
from orthospca._typing import Array
from orthospca.blocks.partition import (
    Blocks,
    blocks_of,
    blocks_of_data,
    is_connected_at_sight,
    sweep_of,
)
from orthospca.bounds.classical import gershgorin_bound
from orthospca.data.covariance import DataCovariance
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.validation import validate_nonnegative
from orthospca.supports.heuristic_path import find_incumbent


@dataclass(frozen=True, eq=False)
class Plan:
    """How to solve a problem.

    Attributes
    ----------
    blocks : Blocks or None
        None to solve it as one.
    tolerance : Tolerance
        What is left of the tolerance to the solves of the blocks.
    note : str
        What was chosen and why; empty where there was nothing to choose.
    """

    blocks: Blocks | None
    tolerance: Tolerance
    note: str = ""


def validate_threshold(
    threshold: Any, n_features: int, method: Method, formed: bool
) -> float | str | Blocks:
    """Return what ``solve`` may be given as a threshold, or raise ``ValueError``.

    Parameters
    ----------
    threshold : object
    n_features : int
    method : Method
    formed : bool
        Whether the matrix is formed.
    """
    given: float | str | Blocks = threshold
    if isinstance(threshold, Blocks):
        known, inside = len(threshold.labels), threshold.inside
        if known != n_features:
            raise InputError(f"threshold: the blocks have {known} features, but Q has {n_features}")
        if not formed and inside != "kept":
            raise InputError(
                f"threshold: blocks of data with {n_features} features, too many for a matrix, "
                f"must keep the entries inside them, got inside={inside!r}"
            )
    elif not isinstance(threshold, str):
        given = validate_nonnegative("threshold", threshold)
    elif threshold != "auto":
        raise InputError(f"threshold must be 'auto' or a number, got {threshold!r}")
    if method is Method.DEFLATION and given not in (0.0, "auto"):
        shown = "blocks" if isinstance(given, Blocks) else given
        raise InputError(f"threshold must be 0.0 with method 'deflation', got {shown}")
    return given


def plan_blocks_of_data(
    covariance: DataCovariance, threshold: float | str | Blocks, tolerance: Tolerance
) -> Plan:
    """Find the blocks of a covariance that is not formed; as :func:`plan_blocks`."""
    n = covariance.n_features
    if threshold == "auto":
        return Plan(None, tolerance, "threshold='auto' chose 0: nothing is ignored")
    if threshold == 0.0:
        return Plan(None, tolerance)
    if isinstance(threshold, Blocks):
        blocks = _checked(threshold, covariance)
    else:
        blocks = blocks_of_data(covariance, float(threshold))
    note = f"{describe(blocks, n)}; the whole matrix was not formed"
    return Plan(blocks if blocks.n_blocks > 1 else None, tolerance, note)


def _checked(blocks: Blocks, covariance: DataCovariance) -> Blocks:
    """Refuse blocks with a larger entry between them than they say: those of another covariance.

    Entries that were formed in another way may be on the other side of the threshold by rounding.
    """
    rounding = 4 * covariance.relative_radius * float(covariance.diagonal.max())
    found = blocks_of_data(covariance, blocks.threshold + rounding)
    for part in found.blocks:
        labels = blocks.labels[part]
        if (labels != labels[0]).any():
            raise InputError(
                f"threshold: the blocks are not those of this covariance: an entry of at least "
                f"{blocks.threshold:g} joins feature {part[0]} to one of another block"
            )
    return replace(blocks, cross=found.cross)


def plan_blocks(
    matrix: Array, limits: Sequence[int], threshold: float | str | Blocks, settings: Settings
) -> Plan:
    """Find the blocks.

    Parameters
    ----------
    matrix : array of shape (n, n)
    limits : sequence of int
        The sparsity of each component.
    threshold : float, "auto" or Blocks
        Validated.
    settings : Settings
    """
    n = len(matrix)
    whole = Plan(None, settings.tolerance)
    if isinstance(threshold, Blocks):
        return replace(whole, blocks=threshold, note=describe(threshold, n))
    if threshold == "auto":
        return _automatic(matrix, limits, settings, whole)
    delta = float(threshold)
    if is_connected_at_sight(matrix, delta):
        return whole
    blocks = blocks_of(matrix, delta)
    if blocks.n_blocks == 1:
        return whole
    largest_share = float(blocks.sizes.max()) / n
    by_ladder = settings.method is Method.BRANCH_AND_BOUND
    if delta == 0 and by_ladder and largest_share > settings.tuning.blocks.largest_share:
        # Nearly all is in one block: the ladder drops the rest at once, and its path is kept.
        return whole
    return replace(whole, blocks=blocks, note=describe(blocks, n))


def _automatic(matrix: Array, limits: Sequence[int], settings: Settings, whole: Plan) -> Plan:
    """Take the finest blocks whose ``(p-1)δ'`` is at most half of what the tolerance allows.

    What a stage is allowed depends on its variance, which is not known: a bound on it says quickly
    that nothing is to be had, and where something might be, components found by the heuristics
    stand in for the optimal ones.
    """
    n, p, sweep = len(matrix), max(limits), sweep_of(matrix)
    tolerance = settings.tolerance
    most = tolerance.allowed(max(gershgorin_bound(matrix, p), 0.0))
    for allowed in (most, None):
        # The bound first, and what the heuristics find only if the bound gives reason to hope.
        budget = _smallest_allowed(matrix, limits, tolerance) if allowed is None else allowed
        cross = math.inf if p == 1 else 0.5 * budget / (p - 1)
        delta = sweep.threshold_for(cross)
        largest = sweep.at(delta)[1]
        helps = largest <= settings.tuning.blocks.largest_share * n
        if not helps:
            break
    blocks = blocks_of(matrix, delta if helps else 0.0)
    split = describe(blocks, n)
    if helps:
        if blocks.cross > 0 and p > 1:
            tolerance = Tolerance(0.5 * tolerance.eps, 0.5 * tolerance.gap)
        return Plan(blocks, tolerance, f"threshold='auto' chose {delta:.6g}: {split}")
    note = (
        "threshold='auto' chose 0: the tolerance allows ignoring entries up to "
        f"{cross:.3g}, and the largest block would still have {largest} of {n} features"
    )
    if blocks.n_blocks == 1:
        return replace(whole, note=note)
    return replace(whole, blocks=blocks, note=f"{note}; {split}")


def _smallest_allowed(matrix: Array, limits: Sequence[int], tolerance: Tolerance) -> float:
    """The smallest gap that any stage is allowed, judged by components that heuristics find."""
    if tolerance.gap == 0:
        return tolerance.eps
    smallest = math.inf
    previous: Array = np.zeros((len(matrix), 0))
    for sparsity in limits:
        best = find_incumbent(Subproblem(matrix, sparsity, previous))
        if best is None:
            break
        smallest = min(smallest, tolerance.allowed(best.value))
        previous = np.column_stack([previous, best.vector])
    return smallest


def describe(blocks: Blocks, n: int) -> str:
    """Say in words how the features are split."""
    text = f"{blocks.n_blocks} blocks, the largest of {blocks.largest} of {n} features"
    if blocks.cross == 0.0 and blocks.inside == "kept":
        return f"{text}, along exact zeros: nothing is lost"
    return f"{text}; entries between blocks are at most {blocks.cross:.6g}"
