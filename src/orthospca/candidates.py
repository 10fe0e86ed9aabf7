"""One block of a problem: the components it has given, and its next candidate."""

from __future__ import annotations

import math

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds import eigenvalue_bound, frobenius_bound, gershgorin_bound
from orthospca.posterior import LARGE
from orthospca.problem import Subproblem
from orthospca.result import Status
from orthospca.search import Outcome
from orthospca.support import Candidate


class BlockState:
    """One block: its own components so far, and its next candidate or a bound on it."""

    def __init__(self, matrix: Array, indices: IntArray) -> None:
        self.matrix = matrix
        self.indices = indices
        self.size = 0
        self.previous = np.zeros((len(indices), 0))
        self.outcome: Outcome | None = None
        self.bound = -math.inf
        self._tightened = False

    @property
    def upper(self) -> float:
        """Proved bound on the block's next candidate."""
        return self.bound if self.outcome is None else self.outcome.upper

    @property
    def value(self) -> float:
        """Value of the candidate in the block-diagonal matrix; there must be one."""
        assert self.outcome is not None and self.outcome.best is not None
        return self.outcome.best.value

    @property
    def problem(self) -> Subproblem:
        """The block's own stage."""
        return Subproblem(self.matrix, self.size, self.previous)

    def prepare(self, sparsity: int) -> None:
        """Begin a stage: a candidate with another sparsity limit does not count."""
        order = len(self.indices)
        size = min(sparsity, order)
        if size != self.size:
            if size > self.size:
                self.bound = gershgorin_bound(self.matrix, size)
            else:
                self.bound = self.upper
            self.size, self.outcome, self._tightened = size, None, False
        if self.outcome is not None:
            return
        if self.previous.shape[1] >= order:
            self.outcome = Outcome(None, -math.inf, Status.EXHAUSTED, 0)
        elif order == 1:
            value = float(self.matrix[0, 0])
            self.outcome = Outcome(Candidate(value, np.ones(1)), value, Status.OPTIMAL, 0)

    def tighten(self) -> float:
        """Lower the bound by what costs less than a solve, and return it."""
        if not self._tightened and self.size < len(self.indices) <= LARGE:
            self._tightened = True
            self.bound = min(self.bound, frobenius_bound(self.matrix, self.size))
            everything = np.arange(len(self.indices))
            self.bound = min(self.bound, eigenvalue_bound(self.problem, everything)[0])
        return self.bound

    def give(self) -> Array:
        """Hand out the candidate; the bound of this stage holds for the block's next one."""
        assert self.outcome is not None and self.outcome.best is not None
        vector = self.outcome.best.vector
        self.previous = np.column_stack([self.previous, vector])
        self.bound, self.outcome, self._tightened = self.outcome.upper, None, False
        return vector
