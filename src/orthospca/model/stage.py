"""The subproblem of one stage."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.numerics.memory import Copies
from orthospca.numerics.rounding import UNIT, dot_radius
from orthospca.numerics.sums import strongest_sums

#: The precision in which components are projected out: that of the machine's widest numbers.
EXTENDED = np.longdouble
EXTENDED_UNIT = float(np.finfo(EXTENDED).eps)
#: Columns whose products differ from those of an orthonormal basis by no more count as one, and the
#: smallest eigenvalue of these products, relative to the largest, that is inverted.
ORTHONORMAL, SMALLEST_SHARE = 1e-8, 1e-12

T = TypeVar("T")


class Shared:
    """What stages of one matrix have in common: what was computed of it, memory for copies."""

    def __init__(self) -> None:
        self.copies = Copies()
        self._known: dict[Hashable, Any] = {}

    def __reduce__(self) -> tuple[type[Shared], tuple[()]]:
        # Another process has its own memory, and seldom needs what is known of the whole matrix.
        return Shared, ()

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what was computed of the matrix under a name, or compute it now."""
        if key not in self._known:
            self._known[key] = compute()
        return cast("T", self._known[key])


@dataclass(frozen=True, eq=False)
class Subproblem:
    """The k-th stage: ``max xᵀQx`` with ``‖x‖ = 1``, ``‖x‖₀ ≤ sparsity`` and ``previousᵀx = 0``.

    Attributes
    ----------
    covariance : array of shape (n, n)
    sparsity : int
    previous : array of shape (n, k - 1)
        The components before this one, as columns.
    included : integer array, ascending
        Features of every support; they count against the sparsity, whatever their loadings.
    excluded : integer array, ascending
        Features of none, until :meth:`without_spent_features` has dropped them.
    shared : Shared
        What stages of the same covariance have in common.
    """

    covariance: Array
    sparsity: int
    previous: Array
    included: IntArray = field(default_factory=lambda: np.arange(0))
    excluded: IntArray = field(default_factory=lambda: np.arange(0))
    shared: Shared = field(default_factory=Shared)

    @property
    def n_features(self) -> int:
        """The order of Q."""
        return len(self.covariance)

    @property
    def constrained(self) -> bool:
        """Whether there are components to be orthogonal to."""
        return self.previous.shape[1] > 0

    @cached_property
    def touched(self) -> IntArray:
        """Features that components before this one use."""
        return np.flatnonzero((self.previous != 0).any(axis=1))

    @cached_property
    def held(self) -> IntArray:
        """Features that no rule for single features speaks of: touched ones, included ones."""
        return np.union1d(self.touched, self.included) if len(self.included) else self.touched

    def filled(self, vector: Array) -> IntArray:
        """Return the support that a vector needs: what it uses, and what is included."""
        used = np.flatnonzero(vector)
        return np.union1d(used, self.included) if len(self.included) else used

    @cached_property
    def scale(self) -> float:
        """Largest magnitude of an entry of :attr:`projected`; 1 if there is none but zeros."""
        form = self.projected
        return max(float(form.max(initial=0.0)), -float(form.min(initial=0.0))) or 1.0

    @property
    def resolution(self) -> float:
        """A gap that floating point can close: rounding of steps, factors and projected entries."""
        p = self.sparsity
        return 64 * p * (p + 8) * UNIT * 2 * self.scale + 8 * p * self.projected_radius

    @cached_property
    def _folded(self) -> tuple[Array, float]:
        """``Q + XBᵀ + BXᵀ`` and a bound on the rounding error of its entries.

        For *every* B it has the form of Q on the vectors orthogonal to X, so only the rounding of
        the sum counts.  ``B = ½X(YᵀQY) - QY`` makes it ``(I - XYᵀ)Q(I - YXᵀ)``, with Y the
        :func:`dual_of` X, which is X if that is orthonormal.  Entries of two features that no
        component uses are those of Q exactly.  See ``docs/theory/rigor.md``.
        """
        at = self.touched
        return self._put(*folded_rows(self.covariance[at], at, self.previous[at]))

    def _put(self, rows: Array, radius: float) -> tuple[Array, float]:
        at, folded = self.touched, self.shared.copies.of(self.covariance)
        folded[at], folded[:, at] = rows, rows.T
        return folded, radius

    def fold(self, rows: Array, radius: float) -> None:
        """Take the rows of :attr:`touched` features, and their rounding, as they are known."""
        self.__dict__["_folded"] = self._put(rows, radius)

    @property
    def projected(self) -> Array:
        """The adjusted covariance ``(I - XXᵀ)Q(I - XXᵀ)``: the same form on feasible vectors.

        Exactly, but for :attr:`projected_radius`, even where X is orthonormal to rounding only.
        """
        return self._folded[0] if self.constrained else self.covariance

    @property
    def projected_radius(self) -> float:
        """Rounding error of an entry of :attr:`projected`."""
        return self._folded[1] if self.constrained else 0.0

    @cached_property
    def penalised(self) -> Array:
        """:attr:`projected` less κXXᵀ: the same form on feasible vectors, negative off them.

        Its submatrices therefore bound the value of a support from above without a basis of the
        complement, and nearly exactly where κ is large against Q.
        """
        if not self.constrained:
            return self.covariance
        # Only what components use is changed, which is little of a large matrix.
        at, found = self.touched, self.shared.copies.of(self.projected)
        used = self.previous[at]
        found[np.ix_(at, at)] -= self.penalty * (used @ used.T)
        return found

    @cached_property
    def penalty(self) -> float:
        """The κ of :attr:`penalised`: large against Q, small against what rounding allows."""
        return 1e5 * self.scale * min(self.n_features, 2 * self.sparsity)

    @cached_property
    def penalised_radius(self) -> float:
        """Rounding error of an entry of :attr:`penalised`."""
        if not self.constrained:
            return 0.0
        largest = float(np.square(self.previous).sum(axis=1).max())
        terms = self.previous.shape[1]
        return self.projected_radius + dot_radius(terms, self.penalty * largest + self.scale)

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

    def restricted(self, features: IntArray, sparsity: int) -> Subproblem:
        """Return the stage on some features, those that are :attr:`held` among them."""
        at = np.ix_(features, features)
        size = min(sparsity, len(features))
        previous = np.ascontiguousarray(self.previous[features])
        included = self.included
        if len(included):
            included = np.searchsorted(features, included)
        part = Subproblem(self.covariance[at], size, previous, included)
        if self.constrained:
            # The same entries, and the same bound on their rounding: there is no need to fold anew.
            folded, radius = self._folded
            part.__dict__["_folded"] = folded[at], radius
        return part

    def without_spent_features(self) -> tuple[Subproblem, IntArray]:
        """Return the same stage on the features that are left, and which they are.

        A component that uses a single feature leaves nothing of it: every vector orthogonal to it
        is zero there.  So it is with features that are excluded.  What is included stays: it has
        its place in every support.
        """
        previous = self.previous
        if len(self.excluded):
            previous = previous.copy()
            previous[self.excluded] = 0.0
        alone = np.count_nonzero(previous, axis=0) == 1
        if len(self.included):
            alone &= ~(previous[self.included] != 0).any(axis=0)
        if not (alone.any() or len(self.excluded)):
            return self, np.arange(self.n_features)
        spent = np.flatnonzero((previous[:, alone] != 0).any(axis=1))
        kept = np.setdiff1d(np.arange(self.n_features), np.union1d(spent, self.excluded))
        columns = ~alone & previous.any(axis=0)
        part = Subproblem(
            self.covariance[np.ix_(kept, kept)],
            min(self.sparsity, len(kept)),
            np.ascontiguousarray(previous[np.ix_(kept, np.flatnonzero(columns))]),
            np.searchsorted(kept, self.included),
        )
        return part, kept


def dual_of(X: Array) -> Array:
    """Return ``X(XᵀX)⁻¹``, or X itself if its columns are orthonormal but for rounding."""
    gram = X.T @ X
    if float(np.abs(gram - np.eye(len(gram))).max(initial=0.0)) <= ORTHONORMAL:
        return X
    return np.asarray(X @ np.linalg.pinv(gram, rcond=SMALLEST_SHARE, hermitian=True))


def folded_rows(rows: Array, at: IntArray, used: Array) -> tuple[Array, float]:
    """Rows of ``Q + XBᵀ + BXᵀ``, and a bound on the rounding error of their entries.

    See :meth:`Subproblem._folded`.

    Parameters
    ----------
    rows : array of shape (t, n)
        Those of Q.
    at : integer array of length t
        Where in Q they are.
    used : array of shape (t, k - 1)
        The rows of X; all others are zero.
    """
    wide, X, Y = rows.astype(EXTENDED), used.astype(EXTENDED), dual_of(used).astype(EXTENDED)
    image = wide.T @ Y
    B = -image
    B[at] += 0.5 * X @ (Y.T @ image[at])
    product = X @ B.T
    # What two used features owe to each other, added up so that it is exactly symmetric.
    product[:, at] += product[:, at].T
    found = (rows + product).astype(np.float64)
    # An entry is the sum of two inner products and of an entry of Q, rounded once to double.
    sizes = np.abs(X) @ np.abs(B).T
    sizes[:, at] += sizes[:, at].T
    largest = float((sizes + np.abs(rows)).max(initial=0.0))
    radius = dot_radius(2 * used.shape[1], largest, EXTENDED_UNIT)
    return found, radius + 2 * UNIT * float(np.abs(found).max(initial=0.0))
