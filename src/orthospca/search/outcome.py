"""What is asked of one stage, and how its solve ended."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.steps import NO_STEPS, Tree
from orthospca.model.demands import NO_DEMAND, Demand
from orthospca.model.result import ClosedBy, Status
from orthospca.model.stage import Shared, Subproblem
from orthospca.supports.best import Candidate


@dataclass(frozen=True, eq=False)
class Request:
    """The next component, given those before it.

    Attributes
    ----------
    sparsity : int
    previous : array of shape (n, k - 1)
        The components before it, as columns.
    cap : float
        A proved bound on its variance that is known already.
    hints : tuple of Candidate
        Feasible vectors that are known already.
    caps : tuple of float
        Proved bounds for sparsities 1, 2, … that are known already.
    resumption : Resumption
        What an earlier run has proved of the stage, and who is to know what this one does.
    demand : Demand
        Features that it must or must not have.
    """

    sparsity: int
    previous: Array
    cap: float = math.inf
    hints: tuple[Candidate, ...] = ()
    caps: tuple[float, ...] = ()
    resumption: Resumption = field(default_factory=lambda: Resumption())
    demand: Demand = NO_DEMAND

    @property
    def best_hint(self) -> Candidate | None:
        """The hint of largest value."""
        return max(self.hints, key=lambda hint: hint.value, default=None)

    def stage_of(self, covariance: Array, shared: Shared | None = None) -> Subproblem:
        """Return the stage, on a matrix."""
        asked = (self.demand.included, self.demand.excluded)
        return Subproblem(covariance, self.sparsity, self.previous, *asked, shared or Shared())


class Ground(IntEnum):
    """Why the bound of a rung holds; the numbers are those of the certificate format."""

    SINGLE = 0
    SIEVE = 1
    CAP = 2
    SUMS = 3


@dataclass(frozen=True, eq=False)
class Argument:
    """What a checker needs to prove the bound of a rung anew.

    Attributes
    ----------
    ground : Ground
    level : float
        At which the border rule was used and the tree was searched.
    kept : integer array
        The features that the border rule left.
    steps : Tree
        On them; empty if there is none.
    """

    ground: Ground
    level: float = 0.0
    kept: IntArray = field(default_factory=lambda: np.arange(0))
    steps: Tree = NO_STEPS

    def embedded(self, places: IntArray) -> Argument:
        """Return the argument in terms of the features of which these were a part."""
        return replace(self, kept=places[self.kept], steps=self.steps.embedded(places))

    def within(self, places: IntArray) -> Argument:
        """Return the argument in terms of some features, which are all that it speaks of."""
        numbers = np.zeros(int(places.max(initial=-1)) + 1, dtype=np.intp)
        numbers[places] = np.arange(len(places))
        return self.embedded(numbers)


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a stage with non-negative loadings, and why its bound holds.

    Attributes
    ----------
    cut : pair of int
        The features that it is cut by: one and -1, or a pair; -1 twice if it is not.
    rungs : tuple of Rung
        Of the matrix that bounds it.
    faces : dict
        Sets of features, and weights that rule out a best vector that is positive there.
    """

    cut: tuple[int, int]
    rungs: tuple[Rung, ...] = ()
    faces: dict[tuple[int, ...], Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Rung:
    """What is known for one sparsity.

    Attributes
    ----------
    size : int
    best : Candidate or None
        The best vector found with at most so many nonzeros.
    upper : float
        Proved bound on all of them.
    features : int
        How many were left to a search.
    argument : Argument or None
        Why the bound holds; None if that cannot be written down.
    parts : tuple of Part
        Of the last rung, if loadings are to be non-negative: the parts of the stage, each before
        those that it is cut into.
    """

    size: int
    best: Candidate | None
    upper: float
    features: int = 0
    argument: Argument | None = field(default=None, repr=False)
    parts: tuple[Part, ...] = field(default=(), repr=False)

    def embedded(self, places: IntArray, n: int) -> Rung:
        """Return the rung in terms of the n features of which these were a part."""
        best = None if self.best is None else self.best.embedded(places, n)
        argument = None if self.argument is None else self.argument.embedded(places)
        return replace(self, best=best, argument=argument)

    def within(self, places: IntArray) -> Rung:
        """Return the rung in terms of some features, which are all that it speaks of."""
        best = None if self.best is None else self.best.within(places)
        argument = None if self.argument is None else self.argument.within(places)
        return replace(self, best=best, argument=argument)


def with_arguments(ladder: Sequence[Rung]) -> list[Rung]:
    """Return the rungs up to the first one whose bound has no argument of its own.

    They are all of a ladder that a certificate holds.
    """
    return list(itertools.takewhile(lambda rung: rung.argument is not None, ladder))


def were_climbed(ladder: Sequence[Rung]) -> bool:
    """Whether something was searched for a rung below the last one."""
    return any(len(x.argument.steps) for x in ladder[:-1] if x.argument is not None)


#: Makes what is known of all rungs of a stage, with those still to come.
Rungs = Callable[[], tuple[Rung, ...]]


def _tell_nobody(rungs: Rungs, best: Candidate) -> None: ...


@dataclass(frozen=True, eq=False)
class Resumption:
    """A stage as an earlier run left it, and what is kept of this one while it goes on.

    Attributes
    ----------
    rungs : tuple of Rung
        What was proved before.
    tell : callable
        Called after every rung, with a way to make all of them and the best vector.
    """

    rungs: tuple[Rung, ...] = ()
    tell: Callable[[Rungs, Candidate], None] = _tell_nobody

    def within(self, places: IntArray, n: int) -> Resumption:
        """Return the same in terms of some of the n features."""

        def tell(rungs: Rungs, best: Candidate) -> None:
            self.tell(
                lambda: tuple(rung.embedded(places, n) for rung in rungs()),
                best.embedded(places, n),
            )

        return Resumption(tuple(rung.within(places) for rung in self.rungs), tell)


NOTHING_TO_RESUME = Resumption()


@dataclass(frozen=True, eq=False)
class Outcome:
    """How the search of one stage ended.

    Attributes
    ----------
    best : Candidate or None
        The incumbent; None with status ``EXHAUSTED`` (proved: there is none), or if time ran out.
    upper : float
        Proved bound on the stage.
    status : Status
    nodes : int
        Nodes evaluated.
    closed_by : ClosedBy
        What the bound rests on.
    guarantee : float or None
        What the variance can be short of the best one, known before the search; None if that is
        what the bound says.
    deflated_value : float or None
        The value that was maximised, if it is not the variance.
    rungs : tuple of Rung
        What was proved for this sparsity and all smaller ones, if the ladder was climbed.
    climbed : bool
        Whether it was: of a stage that was closed directly, rungs are there for a certificate only.
    """

    best: Candidate | None
    upper: float
    status: Status
    nodes: int
    closed_by: ClosedBy = ClosedBy.CAP
    guarantee: float | None = None
    deflated_value: float | None = None
    rungs: tuple[Rung, ...] = ()
    climbed: bool = True

    def embedded(self, places: IntArray, n: int) -> Outcome:
        """Return the outcome in terms of the n features of which these were a part."""
        if self.best is None:
            return self
        rungs = tuple(rung.embedded(places, n) for rung in self.rungs)
        return replace(self, best=self.best.embedded(places, n), rungs=rungs)
