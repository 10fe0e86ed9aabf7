"""A prover without a conscience: it writes whatever the checker will accept.

Trees are found by asking the checker itself what it lets pass, so that the lowest level for which
one is found is the lowest that it can be brought to accept in this way.  Whether such a level is
below the truth is then decided elsewhere, in exact arithmetic.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import orthospca.verify  # noqa: F401
from orthospca import verify_ladder, verify_sets

#: The module; the name in the package is that of the function.
checker: Any = sys.modules["orthospca.verify"]
#: What it is made of beside that.
ladder: Any = verify_ladder
sets: Any = verify_sets

Steps = list[tuple[int, tuple[int, ...], tuple[int, ...]]]


def stage_of(
    Q: np.ndarray,
    previous: np.ndarray,
    kind: str = "matrix",
    included: frozenset[int] = frozenset(),
    excluded: frozenset[int] = frozenset(),
) -> Any:
    """A stage as the checker sees it; previous components are rows."""
    source = ladder.Source(Q, kind, Q.shape[1])
    return ladder.Stage(source, np.ascontiguousarray(previous.T), included, excluded)


def tree_for(
    stage: Any, s: int, level: float, claimed: float, kept: np.ndarray, leaves: bool
) -> Steps | None:
    """A tree that the checker accepts for this level; None if none was found.

    With ``leaves`` supports that are left may be tested one by one against the bound claimed.
    """
    walk = ladder.Walk(stage, kept, s, level, claimed)
    none = kept[:0]

    def follows(inside: Any, free: Any, removed: Any, forced: Any) -> bool:
        try:
            walk.check_step(inside, free, removed, forced, "")
        except ladder.Rejected:
            return False
        return True

    def tests(inside: Any, free: Any) -> bool:
        try:
            walk.check_supports(inside, free, "")
        except ladder.Rejected:
            return False
        return True

    def grow(inside: Any, free: Any) -> Steps | None:
        if len(free) and follows(inside, free, free, none):
            return [(-1, tuple(free.tolist()), ())]
        if (leaves or len(free) == 0) and tests(inside, free):
            return [(-1, (), ())]
        if len(free) == 0:
            return None
        removed = np.array([j for j in free if follows(inside, free, np.array([j]), none)], int)
        if len(removed) and not follows(inside, free, removed, none):
            removed = removed[:1]
        left = np.setdiff1d(free, removed)
        forced = np.array([j for j in left if follows(inside, free, removed, np.array([j]))], int)
        gone = tuple(removed.tolist())
        if len(forced):
            forced = forced if follows(inside, free, removed, forced) else forced[:1]
            must = tuple(forced.tolist())
            if len(forced) > s - len(inside):
                return [(-1, gone, must)]
            rest = grow(np.union1d(inside, forced), np.setdiff1d(left, forced))
            return None if rest is None else [(-1, gone, must), *rest]
        if len(left) == 0:
            return [(-1, gone, ())]
        branch = int(left[0])
        others = left[1:]
        found: Steps = [(branch, gone, ())]
        if s > len(inside):
            first = grow(np.union1d(inside, [branch]), others)
            if first is None:
                return None
            found += first
        second = grow(inside, others)
        return None if second is None else found + second

    return grow(stage.included, np.setdiff1d(kept, stage.included))


def sieved(stage: Any, s: int, level: float, below: float) -> np.ndarray:
    """As few features as the checker lets one keep, found one by one."""
    kept = stage.usable
    for j in stage.usable:
        fewer = kept[kept != j]
        try:
            stage.check_sieve(s, level, below, fewer, "")
        except (ladder.Rejected, ValueError):
            continue
        kept = fewer
    return np.asarray(kept)


def lowest(accepted: Callable[[float], Any], low: float, high: float) -> float:
    """The end of a bisection between a number refused and one accepted, to the last digit."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if accepted(middle):
            high = middle
        else:
            low = middle


def lowest_bound(
    stage: Any, s: int, below: float, top: float, bottom: float, leaves: bool
) -> tuple[float, np.ndarray, Steps] | None:
    """The lowest level for which kept features and a tree are found, with these."""

    def attempt(level: float) -> tuple[np.ndarray, Steps] | None:
        kept = sieved(stage, s, level, below)
        if len(kept) < s and level > below:
            return kept, []
        tree = tree_for(stage, s, level, level, kept, leaves)
        return None if tree is None else (kept, tree)

    if attempt(top) is None:
        return None
    level = lowest(lambda number: attempt(number) is not None, bottom, top)
    found = attempt(level)
    assert found is not None
    return (level, *found) if math.isfinite(level) else None
