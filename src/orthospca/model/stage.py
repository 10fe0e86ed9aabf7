"""The subproblem of one stage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.numerics import rigor
from orthospca.numerics.sums import strongest_sums


@dataclass(frozen=True, eq=False)
class Subproblem:
    """The k-th stage: ``max xᵀQx`` with ``‖x‖ = 1``, ``‖x‖₀ ≤ sparsity`` and ``previousᵀx = 0``.

    Attributes
    ----------
    covariance : array of shape (n, n)
    sparsity : int
    previous : array of shape (n, k - 1)
        The components before this one, as columns.
    """

    covariance: Array
    sparsity: int
    previous: Array

    @property
    def n_features(self) -> int:
        """The order of Q."""
        return len(self.covariance)

    @property
    def constrained(self) -> bool:
        """Whether there are components to be orthogonal to."""
        return self.previous.shape[1] > 0

    @cached_property
    def scale(self) -> float:
        """Largest magnitude of an entry of Q (1 for the zero matrix)."""
        return float(np.abs(self.covariance).max()) or 1.0

    @cached_property
    def penalised(self) -> Array:
        """``Q - κXXᵀ``: the same form as Q on the feasible vectors, strongly negative off them.

        Its submatrices therefore bound the value of a support from above without a basis of the
        complement, and nearly exactly where κ is large against ``‖Q‖``.
        """
        if not self.constrained:
            return self.covariance
        return self.covariance - self.penalty * (self.previous @ self.previous.T)

    @cached_property
    def penalty(self) -> float:
        """The κ of :attr:`penalised`: large against Q, small against what rounding allows."""
        return 1e5 * self.scale * min(self.n_features, 2 * self.sparsity)

    @cached_property
    def penalised_radius(self) -> float:
        """Rounding error of an entry of :attr:`penalised`."""
        if not self.constrained:
            return 0.0
        terms = self.previous.shape[1] + 4
        largest = float(np.square(self.previous).sum(axis=1).max())
        return 2 * terms * rigor.UNIT * (self.penalty * largest + self.scale)

    @cached_property
    def projected(self) -> Array:
        """``(I - XXᵀ)Q(I - XXᵀ)``, the adjusted covariance: the same form on feasible vectors."""
        if not self.constrained:
            return self.covariance
        X = self.previous
        image = self.covariance @ X
        cross = X @ image.T
        projected = self.covariance - cross - cross.T + X @ (X.T @ image) @ X.T
        return 0.5 * (projected + projected.T)

    @cached_property
    def projected_radius(self) -> float:
        """Rounding error of an entry of :attr:`projected`.

        With s the largest absolute row sum of Q, row i of QX is computed with an error of norm at
        most ``n·√m·u·s``, and rows of X have norms of at most one, so that each of the four
        products adds at most ``√m·(n + √m + 4)·u·s`` to an entry.
        """
        if not self.constrained:
            return 0.0
        n, m = self.previous.shape
        size = float(np.abs(self.covariance).sum(axis=1).max())
        return 4 * math.sqrt(max(m, 4)) * (n + m + 4) * rigor.UNIT * size

    @cached_property
    def row_strengths(self) -> Array:
        """Sum of the p - 1 largest off-diagonal magnitudes of each row of :attr:`projected`."""
        return strongest_sums(self.projected, self.sparsity - 1)

    def touching(self, support: IntArray) -> Array:
        """Return X on ``support``, without the columns that vanish there."""
        rows = self.previous[support]
        if rows.shape[1] == 0:
            return rows
        return rows[:, np.abs(rows).max(axis=0, initial=0.0) > 0]
