"""What the ladder has to know of a stage, and a stage that is given by its matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.bounds.border import LargestEntries, bound_without_level, largest_squares, stays
from orthospca.bounds.classical import gershgorin_bound
from orthospca.bounds.share.node import LARGEST_RELAXED
from orthospca.model.result import ClosedBy, Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.rounding import add_up
from orthospca.search.state import StageState
from orthospca.supports.best import Candidate, upper_on_support
from orthospca.supports.heuristic_path import HeuristicPath

#: Rounds of a rule are worth while as long as they drop this share of the features.
WORTH_WHILE = 0.05
#: Largest entries listed of a row beyond those that a support needs: components change some.
SPARE_ENTRIES = 56
#: Rows that are looked at before it is asked whether to stop.
ROWS = 1000


#: Closes a stage on some features, the last rung or one below it; says what stopped that.
Closing = Callable[[StageState[Subproblem], Settings, bool], Status | None]


@dataclass(frozen=True, eq=False)
class Sieve:
    """Features that can matter, a proved bound on every support that uses another one, and why."""

    kept: IntArray
    outside: float
    by: ClosedBy = ClosedBy.BORDER


class StageView(Protocol):
    """A stage with many features, of which few are left when a proved bound has ruled out the rest.

    Attributes
    ----------
    n_features : int
    included : integer array
        Features of every support.
    closes : callable or None
        What closes stages on some features where that is not what closes plain ones.
    """

    n_features: int
    included: IntArray
    closes: Closing | None

    def filled(self, vector: Array) -> IntArray:
        """Return the support that a vector needs: what it uses, and what is included."""

    @property
    def relaxes(self) -> bool:
        """Whether the whole stage can be given to the relaxation."""

    @property
    def rounding(self) -> float:
        """What the values on restricted stages may lack."""

    @property
    def resolution(self) -> float:
        """A gap that floating point can close on one support."""

    def find(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """Find good vectors for the largest sparsity; at position s those with s nonzeros."""

    def refine(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """Find good vectors for every sparsity, from those that were found."""

    def follow(
        self, best: Candidate, size: int, stop: Callable[[], bool]
    ) -> list[Candidate | None]:
        """Find vectors for larger sparsities that a better one for a smaller sparsity leads to."""

    def whole(self, found: Sequence[Candidate], features: IntArray) -> list[Candidate]:
        """Return candidates of a restricted stage, with the values that they have in the form."""

    def first_bound(self) -> float:
        """Proved bound for sparsity 1, or for what is included alone."""

    def cheap_bound(self, size: int) -> float:
        """Proved bound for a sparsity that costs next to nothing."""

    def sieve(self, size: int, level: float, below: float, stop: Callable[[], bool]) -> Sieve:
        """Find the features that a support above the level can contain.

        Parameters
        ----------
        size : int
            Size of a support.
        level : float
        below : float
            Proved bound for supports with one index less.
        stop : callable
        """

    def bound_without_level(self, size: int, below: float) -> float:
        """Proved bound on supports of a size, given one for supports with one index less."""

    @property
    def largest_variance(self) -> float:
        """Size of the numbers that a bound without a level is made of."""

    def passing(self, size: int, level: float, below: float) -> IntArray:
        """Return the features that the rule of that bound does not exclude at a level."""

    def restricted(self, features: IntArray, size: int) -> tuple[Subproblem, IntArray]:
        """Return the stage on some features, and those that components use; which they are."""

    def before_rungs(
        self, size: int, level: float, largest: int
    ) -> tuple[Subproblem, IntArray] | None:
        """Return the stage on what can reach a level, and which features these are.

        None if no more than a given number can only be had by climbing rungs.
        """


class MatrixView:
    """A stage that is given by its matrix.

    Parameters
    ----------
    problem : Subproblem
    """

    rounding = 0.0

    def __init__(self, problem: Subproblem) -> None:
        self.problem = problem
        self.n_features = problem.n_features
        self.included = problem.included
        self.closes: Closing | None = None
        self._untouched = np.setdiff1d(np.arange(self.n_features), problem.touched)
        self._found = HeuristicPath(problem)

    def filled(self, vector: Array) -> IntArray:
        """Return the support that a vector needs."""
        return self.problem.filled(vector)

    @property
    def resolution(self) -> float:
        """A gap that floating point can close on one support."""
        return self.problem.resolution if self.n_features else 0.0

    @property
    def relaxes(self) -> bool:
        """Whether the whole stage can be given to the relaxation."""
        return self.n_features <= LARGEST_RELAXED

    @cached_property
    def _diagonal(self) -> Array:
        return self.problem.projected.diagonal() + self.problem.projected_radius

    @cached_property
    def _sums(self) -> Array:
        """Sums of the largest squares of each row, of Q or of the adjusted covariance."""
        problem = self.problem
        count, n = max(problem.sparsity - 1, 1), self.n_features
        sums = problem.shared.once(
            ("squares", count), lambda: largest_squares(problem.covariance, count)
        )
        if problem.constrained:
            listed = min(count + SPARE_ENTRIES, n - 1)
            entries = problem.shared.once(
                ("entries", listed), lambda: LargestEntries(problem.covariance, listed)
            )
            at, radius = problem.touched, problem.projected_radius
            adjusted = entries.sums(count, at, problem.projected[:, at], radius)
            sums = np.minimum(sums, adjusted)
        else:
            sums = sums.copy()
        # The rule does not speak of features that components use, nor of those included.
        sums[problem.held] = math.inf
        return sums

    def find(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """Grow supports up to the sparsity of the stage."""
        self._found = HeuristicPath(self.problem)
        self._found.run(stop)
        return self._found.best

    def refine(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """Let neighbouring sparsities improve each other."""
        self._found.refine(stop)
        return self._found.best

    def follow(
        self, best: Candidate, size: int, stop: Callable[[], bool]
    ) -> list[Candidate | None]:
        """Find vectors for larger sparsities that a better one for a smaller sparsity leads to."""
        if self._found.offer(best):
            self._found.spread(size, size)
        return self._found.best

    def whole(self, found: Sequence[Candidate], features: IntArray) -> list[Candidate]:
        """Return candidates of a restricted stage, whose matrix has the same entries."""
        return [best.embedded(features, self.n_features) for best in found]

    def first_bound(self) -> float:
        """The largest variance of a feature that no component uses: exact."""
        if len(self.included):
            return upper_on_support(self.problem, self.included)
        diagonal = self.problem.covariance.diagonal()
        return float(diagonal[self._untouched].max(initial=-math.inf))

    def cheap_bound(self, size: int) -> float:
        """Bound supports by their rows."""
        Q = self.problem.covariance
        return self.problem.shared.once(("rows", size), lambda: gershgorin_bound(Q, size))

    def sieve(self, size: int, level: float, below: float, stop: Callable[[], bool]) -> Sieve:
        """Find the features that a support above the level can contain, by the border rule."""
        kept = self.passing(size, level, below)
        kept = sieve_within(self.problem, self._diagonal, kept, size, level, below, stop=stop)
        return Sieve(kept, level)

    def bound_without_level(self, size: int, below: float) -> float:
        """The size-th largest root of the border rule."""
        return bound_without_level(below, self._diagonal, self._sums[:, size - 2], size)

    @property
    def largest_variance(self) -> float:
        """The largest of the form."""
        return float(np.abs(self._diagonal).max(initial=0.0))

    def passing(self, size: int, level: float, below: float) -> IntArray:
        """The border rule, with whole rows."""
        if size > self.n_features:
            return np.arange(self.n_features)
        return np.flatnonzero(stays(level, below, self._diagonal, self._sums[:, size - 2]))

    def restricted(self, features: IntArray, size: int) -> tuple[Subproblem, IntArray]:
        """Return the stage on some features and those that components use, or that must be in."""
        kept = np.union1d(features, self.problem.held)
        return self.problem.restricted(kept, size), kept

    def before_rungs(
        self, size: int, level: float, largest: int
    ) -> tuple[Subproblem, IntArray] | None:
        """The matrix as it is, if it is small."""
        return (self.problem, np.arange(self.n_features)) if self.n_features <= largest else None


def sieve_within(
    problem: Subproblem,
    diagonal: Array,
    kept: IntArray,
    size: int,
    level: float,
    below: float,
    radius: float = 0.0,
    stop: Callable[[], bool] = lambda: False,
) -> IntArray:
    """Apply the border rule to what is left of a matrix, as long as rows get shorter.

    Parameters
    ----------
    problem : Subproblem
    diagonal : array
        Bounds on the diagonal of the form.
    kept : integer array
    size, level, below
        As of :meth:`StageView.sieve`.
    radius : float
        How far an entry of the matrix may be from the true one, before components are projected
        out.
    stop : callable, optional
        Asked now and then; what has not been looked at is kept.
    """
    if size < 2 or not level > below or stop():
        return kept
    radius += problem.projected_radius
    held: BoolArray = np.zeros(problem.n_features, dtype=bool)
    held[problem.held] = True
    while len(kept) > size and not stop():
        sums: Array = np.full(len(kept), math.inf)
        for rows in np.array_split(np.arange(len(kept)), len(kept) // ROWS + 1):
            if stop():
                break
            part = problem.projected[np.ix_(kept[rows], kept)]
            sums[rows] = largest_squares(part, size - 1, radius, rows)[:, -1]
        sums[held[kept]] = math.inf
        fewer = kept[stays(level, below, diagonal[kept], sums)]
        done = len(fewer) > (1 - WORTH_WHILE) * len(kept)
        kept = fewer
        if done:
            break
    return kept


def value_of(candidate: Candidate | None) -> float:
    """Value of a candidate; ``-inf`` if there is none."""
    return -math.inf if candidate is None else candidate.value


def with_rounding(upper: float, view: StageView) -> float:
    """A bound on a restricted stage as one on the whole form."""
    return add_up(upper, view.rounding)
