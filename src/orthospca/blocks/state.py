"""One block of a problem: the components it has given, and its next candidate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.blocks.tasks import Task
from orthospca.bounds.classical import eigenvalue_bound, frobenius_bound, gershgorin_bound
from orthospca.model.demands import NO_DEMAND, Demand
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.search.outcome import Outcome, Request
from orthospca.supports.best import Candidate
from orthospca.wide.stage import WideProblem


@dataclass(eq=False)
class BlockState:
    """One block: its own components so far, and its next candidate or a bound on it.

    Attributes
    ----------
    indices : integer array
    form : callable
        Forms the block's matrix; it is not called before the matrix is needed.
    diagonal : array
        Of that matrix.
    large : int
        Eigenvalues and norms of larger matrices cost more than they are worth.
    cheap_bound : callable, optional
        Bounds the block for a sparsity, without its components so far; by default by its rows.
    data : WideProblem, optional
        Where the block is solved, if it has too many features for a matrix.
    """

    indices: IntArray
    form: Callable[[], Array]
    diagonal: Array
    large: int = 500
    cheap_bound: Callable[[int], float] | None = None
    data: WideProblem | None = None

    def __post_init__(self) -> None:
        self.size, self.demand = 0, NO_DEMAND
        self.previous = np.zeros((len(self.indices), 0))
        self.outcome: Outcome | None = None
        self.bound = -math.inf
        self._tightened = False

    @cached_property
    def matrix(self) -> Array:
        """The block's matrix."""
        return self.form()

    @property
    def upper(self) -> float:
        """Proved bound on the block's next candidate."""
        return self.bound if self.outcome is None else self.outcome.upper

    @property
    def value(self) -> float:
        """Value of the candidate in the block-diagonal matrix; there must be one."""
        assert self.outcome is not None and self.outcome.best is not None
        return self.outcome.best.value

    def first_bound(self, size: int) -> float:
        """Bound the block for a sparsity, without its components so far."""
        if self.cheap_bound is not None:
            return self.cheap_bound(size)
        return gershgorin_bound(self.matrix, size)

    def follow(self, previous: Array, sparsity: int, demand: Demand = NO_DEMAND) -> None:
        """Begin a stage, given the components before it.

        Parameters
        ----------
        previous : array of shape (n, k - 1)
            Of the whole problem; those that live in this block are its own.
        sparsity : int
        demand : Demand
            Of the whole problem.  What is included elsewhere takes its places there.
        """
        own = previous[self.indices]
        own = own[:, (own != 0).any(axis=0)]
        given, known = own.shape[1], self.previous.shape[1]
        inside = demand if demand is self.demand else demand.within(self.indices)
        sparsity -= len(demand.included) - len(inside.included)
        size = max(min(sparsity, len(self.indices)), 0)
        # Where more is asked than before, the bound of that stage holds for this one.
        nested = inside.is_stronger_than(self.demand) and size <= self.size
        nested &= given >= known and np.array_equal(own[:, :known], self.previous)
        same = nested and (size, given) == (self.size, known)
        if not (same and self.demand.is_stronger_than(inside)):
            bound = self.upper if nested else self.first_bound(size) if size else -math.inf
            self.previous, self.bound, self.size, self.demand = own, bound, size, inside
            self.outcome, self._tightened = None, False
        if self.outcome is None and (size == 0 or given >= len(self.indices)):
            self.outcome = Outcome(None, -math.inf, Status.EXHAUSTED, 0)

    def task(self, settings: Settings) -> Task:
        """Return the solve of the block's stage."""
        source = self.matrix if self.data is None else (self.data, self.indices)
        request = Request(self.size, self.previous, self.bound, demand=self.demand)
        return Task(source, request, settings)

    def tighten(self) -> float:
        """Lower the bound by what costs less than a solve, and return it."""
        small = self.data is None and self.size < len(self.indices) <= self.large
        if small and not self._tightened:
            self._tightened = True
            stage = Subproblem(self.matrix, self.size, self.previous)
            upper, _ = eigenvalue_bound(stage, np.arange(len(self.indices)))
            self.bound = min(self.bound, frobenius_bound(self.matrix, self.size), upper)
        return self.bound


class Singles(BlockState):
    """All features that are blocks of their own: the next candidate is the largest variance."""

    def __init__(self, indices: IntArray, variances: Array) -> None:
        order = np.argsort(-variances, kind="stable")
        super().__init__(indices[order], lambda: np.diag(self.diagonal), variances[order])
        self._places = np.arange(len(indices))

    @property
    def left(self) -> IntArray:
        """Features that no component uses."""
        return self.indices[self._places]

    @property
    def variances_left(self) -> Array:
        """Their variances."""
        return self.diagonal[self._places]

    def follow(self, previous: Array, sparsity: int, demand: Demand = NO_DEMAND) -> None:
        """Begin a stage: there is nothing to solve."""
        left = ~previous[self.indices].any(axis=1) & ~np.isin(self.indices, demand.excluded)
        if len(demand.included) >= sparsity:
            # There is no place for anything else.
            left &= np.isin(self.indices, demand.included)
        self._places = np.flatnonzero(left)
        if len(self._places) == 0:
            self.outcome = Outcome(None, -math.inf, Status.EXHAUSTED, 0)
            return
        vector = np.zeros(len(self.indices))
        vector[self._places[0]] = 1.0
        value = float(self.variances_left[0])
        self.outcome = Outcome(Candidate(value, vector), value, Status.OPTIMAL, 0)
