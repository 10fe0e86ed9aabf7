"""The bound of one matrix M: stages of Q - M, and the patterns that a better set can use."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.joint.bound import rigorous
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.numerics.rigor import proves_below
from orthospca.numerics.rounding import add_up, mul_up
from orthospca.search.listing import margin_of, supports_above
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import Outcome
from orthospca.search.views import MatrixView

#: A diagonal entry of M, relative to the largest, from which on it counts.
SMALLEST = 1e-4


@dataclass(frozen=True, eq=False)
class RootBound:
    """What one M proves.

    Attributes
    ----------
    upper : float
        Of all sets.
    trace : float
        Bound on that of ``Q - A``.
    matrix : array of shape (n, n)
        ``A``, of which ``Q - A`` is positive semidefinite.
    outcomes : dict
        For each sparsity, how the stage problem of A ended.
    """

    upper: float
    trace: float
    matrix: Array
    outcomes: dict[int, Outcome]


def bound_of(
    Q: Array, M: Array, limits: Sequence[int], settings: Settings, watch: Watch, gap: float = 1e-9
) -> RootBound | None:
    """Return what M proves, with the stages of ``Q - M`` solved; None if nothing.

    Parameters
    ----------
    Q, M : arrays of shape (n, n)
    limits : sequence of int
        The sparsity of each component.
    settings : Settings
    watch : Watch
    gap : float
        To which stages are solved at least, relative.
    """
    # What is next to nothing is left out: any part of M will do.
    at = np.flatnonzero(M.diagonal() > SMALLEST * M.diagonal().max(initial=0.0))
    found = rigorous(Q, M[np.ix_(at, at)], at)
    if found is None:
        return None
    A, trace = found
    upper = trace
    outcomes: dict[int, Outcome] = {}
    allowed, share = settings.tolerance, settings.tuning.joint.gap_share
    tolerance = Tolerance(allowed.eps * share, max(allowed.gap * share, gap))
    for size in sorted(set(limits)):
        problem = Subproblem(A, size, np.zeros((len(A), 0)))
        outcomes[size] = solve_stage(problem, replace(settings, tolerance=tolerance), watch, None)
        upper = add_up(upper, mul_up(float(limits.count(size)), outcomes[size].upper))
    return RootBound(upper, trace, A, outcomes)


def _level(root: RootBound, size: int, cut: float) -> float:
    """What a component of a set above ``cut`` has at least in A: the others have their bounds."""
    level = cut - (root.upper - root.outcomes[size].upper)
    return level - 1e-12 * (abs(cut) + abs(root.upper))


def features_above(
    root: RootBound, size: int, cut: float, stop: Callable[[], bool]
) -> IntArray | None:
    """Return features that hold all supports of a size which a set above ``cut`` can use.

    None if that is not proved.

    Parameters
    ----------
    root : RootBound
    size : int
    cut : float
    stop : callable
    """
    view = MatrixView(Subproblem(root.matrix, size, np.zeros((len(root.matrix), 0))))
    level = _level(root, size, cut)
    rungs = root.outcomes[size].rungs
    below = next((rung.upper for rung in rungs if rung.size == size - 1), math.inf)
    sieve = view.sieve(size, level - margin_of(view), below, stop)
    return sieve.kept if sieve.outside <= level else None


def patterns_above(
    root: RootBound, cut: float, settings: Settings, watch: Watch
) -> set[tuple[int, ...]] | None:
    """Return all patterns that a set above ``cut`` can use; None if they are too many.

    Parameters
    ----------
    root : RootBound
    cut : float
    settings : Settings
    watch : Watch
    """
    sets: set[tuple[int, ...]] = set()
    tuning, n = settings.tuning.joint, len(root.matrix)
    for size, outcome in root.outcomes.items():
        threshold = _level(root, size, cut)
        listed = supports_above(
            MatrixView(Subproblem(root.matrix, size, np.zeros((n, 0)))),
            size,
            threshold,
            outcome.rungs,
            tuning.listed,
            settings.tuning.walk,
            watch.out_of_time,
        )
        found = [listed.features[places] for places in listed.supports]
        # A vector may be zero on some of its support, and then it has the value of the rest.
        if not (listed.complete and _add_parts(sets, root, found, threshold, tuning.patterns)):
            return None
        if not found:
            # Some component has no support that a better set could use.
            return set()
    return sets


def _add_parts(
    sets: set[tuple[int, ...]],
    root: RootBound,
    supports: Sequence[IntArray],
    threshold: float,
    most: int,
) -> bool:
    """Add supports and their parts, unless proved below the threshold; False if too many."""
    pending = [tuple(sorted(int(j) for j in support)) for support in supports]
    seen = set(pending)
    while pending:
        members = pending.pop()
        at = list(members)
        if proves_below(root.matrix[np.ix_(at, at)], threshold):
            continue
        sets.add(members)
        if len(sets) > most:
            return False
        parts = {part for part in itertools.combinations(members, len(members) - 1) if part}
        pending += sorted(parts - seen)
        seen |= parts
    return True
