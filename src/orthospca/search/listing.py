"""Every support above a level, and the proof that there is no other.

The conditioned walk closes what is below its level.  With the level below the best value it does
not close everything: what it leads to is listed instead, support by support.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.steps import Step
from orthospca.bounds.conditioning.walk import Conditioning, Pending, Walk
from orthospca.model.nodes import Node
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import WalkTuning
from orthospca.search.outcome import Argument, Ground, Rung
from orthospca.search.views import StageView, with_rounding
from orthospca.supports.best import Candidate, values_on_supports
from orthospca.supports.enumeration import supports_between


@dataclass(frozen=True, eq=False)
class Listed:
    """Supports of a stage above a level.

    Attributes
    ----------
    problem : Subproblem
        The stage on the features that such a support can contain.
    features : integer array
        Which they are.
    supports : list of integer arrays
        As places among these features; each is as large as the sparsity allows.
    values : array
    complete : bool
        Whether it is proved that there is no other.
    full : bool
        Whether there were more of them than may be listed.
    next_value : float
        The largest value seen that is not listed.
    argument : Argument
        Why everything else is below the level, if the list is complete.
    """

    problem: Subproblem
    features: IntArray
    supports: list[IntArray]
    values: Array
    complete: bool
    full: bool
    next_value: float
    argument: Argument


def margin_of(view: StageView) -> float:
    """What rounding may hide, several times.

    What is on the level is listed, and what is not listed can be told from it by one who rounds in
    another way.
    """
    return 4 * view.resolution + 4 * view.rounding


def supports_above(
    view: StageView,
    size: int,
    level: float,
    rungs: Sequence[Rung],
    most: int,
    tuning: WalkTuning,
    stop: Callable[[], bool],
    banned: IntArray | None = None,
) -> Listed:
    """List every support whose value may be at least ``level``.

    Parameters
    ----------
    view : StageView
    size : int
        Features of a support.
    level : float
    rungs : sequence of Rung
        What is proved for smaller sparsities, if anything.
    most : int
        Supports to list at most.
    tuning : WalkTuning
    stop : callable
    banned : integer array, optional
        Features without which a support has to do.
    """
    margin = margin_of(view)
    lowered = level - margin
    below = next((rung.upper for rung in rungs if rung.size == size - 1), math.inf)
    sieve = view.sieve(size, lowered, below, stop)
    problem, kept = view.restricted(sieve.kept, size)
    places = np.flatnonzero(np.isin(kept, np.arange(0) if banned is None else banned))
    listing = Listing(problem, lowered, level - 0.5 * margin, most, tuning, places)
    if len(kept) < size:
        # There is no support of so many.
        listing.pending = []
    complete = listing.run(stop) and sieve.outside <= level
    steps = listing.steps.tree().embedded(kept)
    return Listed(
        problem,
        kept,
        listing.supports,
        np.array(listing.values),
        complete,
        listing.full,
        listing.next_value,
        Argument(Ground.SIEVE, with_rounding(lowered, view), kept, steps),
    )


class Listing(Walk):
    """A walk that lists the supports whose values reach a level.

    Parameters
    ----------
    problem : Subproblem
    level : float
        At which everything else is closed.
    lowest : float
        The value from which on supports are listed; not below the level.
    most : int
        Supports to list at most.
    tuning : WalkTuning
    banned : integer array
        Features without which a support has to do.

    Attributes
    ----------
    supports : list of integer arrays
        All of the size of the problem's sparsity.
    values : list of float
    full : bool
        Whether there were more of them than may be listed.
    next_value : float
        The largest value seen that is not listed.
    """

    def __init__(
        self,
        problem: Subproblem,
        level: float,
        lowest: float,
        most: int,
        tuning: WalkTuning,
        banned: IntArray,
    ) -> None:
        nobody = Candidate(-math.inf, np.zeros(problem.n_features))
        everything = Node(problem.included, np.arange(problem.n_features))
        super().__init__(Conditioning(problem, tuning), level, level, nobody, everything)
        self.most = most
        self.supports: list[IntArray] = []
        self.values: list[float] = []
        self.full = False
        self.next_value = -math.inf
        self._lowest = lowest
        self._banned = banned

    def run(self, stop: Callable[[], bool]) -> bool:
        """List them; whether none can be missing."""
        return self.advance(math.inf, lambda: self.full or stop()) and not self.full

    def _enumerate(self, node: Pending) -> None:
        """List those of a small node."""
        self.steps.append(Step(node.free[:0]))
        allowed = np.union1d(node.inside, node.free)
        for supports in supports_between(np.sort(node.inside), allowed, self.problem.sparsity):
            supports = supports[~np.isin(supports, self._banned).any(axis=1)]
            values: Array = values_on_supports(self.problem, supports)
            reached = values >= self._lowest
            self.next_value = float(values[~reached].max(initial=self.next_value))
            for i in np.flatnonzero(reached):
                if len(self.supports) == self.most:
                    self.full = True
                    return
                self.supports.append(np.sort(supports[i]))
                self.values.append(float(values[i]))

    def _look_at(self, support: IntArray) -> None:
        """Pass over a support in the way: what contains it is listed further down."""
