"""Which blocks to solve: those asked for, or those that the tolerance has room for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.blocks.partition import Blocks, blocks_of, is_connected_at_sight, sweep_of
from orthospca.bounds.classical import gershgorin_bound
from orthospca.model.problem import Problem
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.validation import validate_nonnegative
from orthospca.supports.heuristics import find_incumbent

#: Splitting helps if the largest block has at most this share of the features.
LARGEST_SHARE = 0.8


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
    n_features : int
    """

    blocks: Blocks | None
    tolerance: Tolerance
    note: str
    n_features: int

    @property
    def sizes(self) -> list[int]:
        """The orders of the matrices to solve, each once."""
        if self.blocks is None:
            return [self.n_features]
        return sorted(set(self.blocks.sizes.tolist()))


def validate_threshold(threshold: Any) -> float:
    """Return a threshold that is a number, or raise ``ValueError``."""
    if isinstance(threshold, str):
        raise ValueError(f"threshold must be 'auto' or a number, got {threshold!r}")
    return validate_nonnegative("threshold", threshold)


def plan_blocks(problem: Problem, threshold: float | str | Blocks, tolerance: Tolerance) -> Plan:
    """Find the blocks.

    Parameters
    ----------
    problem : Problem
    threshold : float, "auto" or Blocks
        Validated, but for whether the blocks fit the problem.
    tolerance : Tolerance
    """
    matrix, n = problem.covariance, problem.n_features
    whole = Plan(None, tolerance, "", n)
    if isinstance(threshold, Blocks):
        if len(threshold.labels) != n:
            raise ValueError(
                f"threshold: the blocks are those of {len(threshold.labels)} features, Q has {n}"
            )
        return replace(whole, blocks=threshold, note=describe(threshold, n))
    if threshold == "auto":
        return _automatic(problem, tolerance, whole)
    delta = float(threshold)
    if is_connected_at_sight(matrix, delta):
        return whole
    blocks = blocks_of(matrix, delta)
    if blocks.n_blocks == 1:
        return whole
    return replace(whole, blocks=blocks, note=describe(blocks, n))


def _automatic(problem: Problem, tolerance: Tolerance, whole: Plan) -> Plan:
    """Take the finest blocks whose ``(p-1)δ'`` is at most half of what the tolerance allows.

    What a stage is allowed depends on its variance, which is not known: a bound on it says quickly
    that nothing is to be had, and where something might be, components found by the heuristics
    stand in for the optimal ones.
    """
    matrix, n = problem.covariance, problem.n_features
    sweep = sweep_of(matrix)
    p = max(problem.sparsity)
    tolerance = replace(tolerance, scale=float(np.abs(matrix).max()) or 1.0)
    most = tolerance.allowed(max(gershgorin_bound(matrix, p), 0.0))
    helps, largest = False, n
    for allowed in (most, None):
        # The bound first, and what the heuristics find only if the bound gives reason to hope.
        budget = 0.5 * (_smallest_allowed(problem, tolerance) if allowed is None else allowed)
        cross = math.inf if p == 1 else budget / (p - 1)
        delta = sweep.threshold_for(cross)
        largest = sweep.at(delta)[1]
        helps = largest <= LARGEST_SHARE * n
        if not helps:
            break
    if helps:
        blocks = blocks_of(matrix, delta)
        if blocks.cross > 0 and p > 1:
            tolerance = Tolerance(0.5 * tolerance.eps, 0.5 * tolerance.gap)
        note = f"threshold='auto' chose {delta:.6g}: {describe(blocks, n)}"
        return replace(whole, blocks=blocks, tolerance=tolerance, note=note)
    exact = sweep.at(0.0)
    reason = (
        f"thresholding does not help: the tolerance leaves room for {cross:.3g} between blocks, "
        f"and the largest block would keep {largest} of {n} features"
    )
    if exact[0] == 1:
        return replace(whole, note=f"threshold='auto' chose 0: {reason}")
    blocks = blocks_of(matrix, 0.0)
    note = f"threshold='auto' chose 0: {reason}; {describe(blocks, n)}"
    return replace(whole, blocks=blocks, note=note)


def _smallest_allowed(problem: Problem, tolerance: Tolerance) -> float:
    """The smallest gap that any stage is allowed, judged by components that heuristics find."""
    if tolerance.gap == 0:
        return tolerance.eps
    smallest = math.inf
    previous: Array = np.zeros((problem.n_features, 0))
    for sparsity in problem.sparsity:
        best = find_incumbent(Subproblem(problem.covariance, sparsity, previous))
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
