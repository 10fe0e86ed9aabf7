"""A first-order method for the share relaxation, every iterate of which is a bound.

    max ⟨Q, X⟩   X ⪰ 0, tr X = 1, XW = 0,   X_ij² ≤ T_ij T_ji,   T_jj = X_jj,
                 0 ≤ T_ij ≤ X_jj,  Σ_i T_ij = p X_jj,  Σ_j T_ij ≤ 1.

``T_ij`` stands for "i is in the support" times the share of j.  Consensus ADMM with
over-relaxation: copies of (X, T) on the spectraplex, on the pairs and on the columns, and a mean
that obeys the rows.  The multipliers of the first two are N and G, that of the rows is c.  The
copies' multipliers of an entry sum to zero, or to c of its row, so that two of them are all there
is to keep.

See ``docs/theory/share.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from orthospca._typing import AnyArray as Array
from orthospca._typing import IntArray
from orthospca.bounds.share.claim import Multipliers
from orthospca.bounds.share.projections import Block, Columns, Spectraplex, onto_pairs, placed

#: Single precision: what is proved is proved of the numbers as they are.
REAL = np.float32
#: Over-relaxation.
ALPHA = 1.7
#: The penalty to begin with, where the optimum is about one.
RHO = 3.0
#: How far apart the residuals may be, by what the penalty is changed, and how often it may be.
IMBALANCE, CHANGE, CHANGED_EVERY = 4.0, 1.6, 50
#: Newton rounds for the columns, and the accuracy at which they end.
ROUNDS, ACCURACY = 4, 1e-5


class ShareMethod:
    """Iterates on some features.

    Parameters
    ----------
    Q : array of shape (m, m)
        The form, with the components before projected out, where the features are.
    W : array of shape (m, k)
        The components before, where the features are.
    size : int
        Features in a support.
    features : integer array
        What they are called outside.
    included : integer array
        Features that all supports contain, by their names outside.
    unit : float
        A power of two about the size of the optimum.
    count : int
        Orthonormal components whose mean is sought.
    blocks : sequence of Block
        How many features of each of some disjoint sets a support has, by their names outside.
    """

    def __init__(
        self,
        Q: Array,
        W: Array,
        size: int,
        features: IntArray,
        included: IntArray,
        unit: float,
        count: int = 1,
        blocks: Sequence[Block] = (),
    ) -> None:
        n = len(Q)
        self.size, self.unit, self.rho, self.count, self.blocks = size, unit, RHO, count, blocks
        self.features = features
        self._Q = (Q / unit).astype(REAL)
        self._set_up(W, included)
        self.X = np.zeros((n, n), REAL)
        self.X[np.diag_indices(n)] = 1 / n
        self.T = np.full((n, n), size / n**2, REAL)
        self.T[np.diag_indices(n)] = 0
        #: Multipliers of X on the spectraplex and of T on the pairs, scaled; of the rows.
        self._u, self._v = np.zeros((n, n), REAL), np.zeros((n, n), REAL)
        self._c = np.zeros(n, REAL)
        #: Multiplier of X in the copy that several groups of components have in common.
        self._y: Array | None = None
        self.iterations = 0
        #: Squares of what is between copies and mean, and of the last step of the mean.
        self.residuals = math.nan, math.nan
        #: The most that the rows may sum to: nothing, for features that no support contains.
        self.most = np.ones(n, REAL)

    def _set_up(self, W: Array, included: IntArray) -> None:
        """What depends on the features and on which are included."""
        n = len(self.features)
        self._diagonal = np.diag_indices(n)
        left, singular, _ = np.linalg.svd(W, full_matrices=False)
        self._forbidden = left[:, singular > 1e-9].astype(REAL)
        self._spectraplex = Spectraplex(self.count)
        inside = np.isin(self.features, included)
        self._columns = Columns(
            inside, self.size, np.dtype(REAL), placed(self.blocks, self.features)
        )

    def narrowed(
        self,
        W: Array,
        features: IntArray,
        included: IntArray,
        count: int | None = None,
        blocks: Sequence[Block] = (),
    ) -> ShareMethod:
        """Return the same iterate on some of the features, with some of them included.

        Parameters
        ----------
        W : array
            The components before, on these features.
        features, included : integer arrays
        count : int, optional
        blocks : sequence of Block
        """
        other = object.__new__(ShareMethod)
        other.__dict__.update(self.__dict__)
        other.features, other.blocks = features, blocks
        other.count = self.count if count is None else count
        places = np.searchsorted(self.features, features)
        at = np.ix_(places, places)
        other._Q, other.X, other.T = self._Q[at], self.X[at], self.T[at]
        other._u, other._v, other._c = self._u[at], self._v[at], self._c[places]
        other._y = None if self._y is None else self._y[at]
        other.most = self.most[places]
        other._set_up(W, included)
        other._columns.m[:] = self._columns.m[0, places]
        other._columns.d = self._columns.d[places]
        return other

    def share_with(self, M: Array) -> None:
        """Take M out of the form: from now on X has a copy in common with other groups."""
        self._y = (M * (-1 / (self.rho * self.unit))).astype(REAL)
        self._u = self._u - self._y

    @property
    def uncommon(self) -> Array:
        """X less its multiplier in the common copy."""
        return self.X if self._y is None else self.X - self._y

    def run(self, iterations: int, stop: Callable[[], bool]) -> bool:
        """Iterate; False if it was stopped, or nothing finite is left to go on with."""
        return iterate(self, iterations, stop)

    @property
    def finite(self) -> bool:
        """Whether there is something to go on with."""
        return bool(np.isfinite(self._c).all() and math.isfinite(self.residuals[0]))

    def step(self, common: Array | None = None) -> None:
        """Take one step, with the copy of X that is in common with other groups, if there are any.

        Such a copy makes three of X instead of two.
        """
        X, T, u, v, c, y = self.X, self.T, self._u, self._v, self._c, self._y
        on, off, copies = REAL(ALPHA), REAL(1 - ALPHA), REAL(2 if y is None else 3)
        half, diagonal = REAL(0.5), self._diagonal
        X1 = self._on_spectraplex(X - u)
        both = u if y is None else u + y
        x2, T2 = onto_pairs(X + both, T - v)
        T2[diagonal] = 0
        d = X[diagonal]
        T3 = T + v
        T3 -= c[:, None]
        T3, d3 = self._columns(T3, d + both[diagonal] - c, ROUNDS, ACCURACY)
        # The mean of the copies, and the nearest point to it whose rows sum to one at most.
        x2[diagonal] = d3
        x2 += X1
        if common is not None:
            x2 += common
        x2 *= on / copies
        x2 += off * X
        T3 += T2
        T3 *= on * half
        T3 += off * T
        T3 += (c * half)[:, None]
        T3[diagonal] = 0
        x2[diagonal] += c / copies
        total = T3.sum(axis=1) + x2[diagonal]
        over = np.maximum(total - self.most, 0) / (len(c) - 1 + 2 / copies)
        T3 -= over[:, None]
        T3[diagonal] = 0
        x2[diagonal] -= 2 / copies * over
        # Multipliers move by what is between the copies and the mean.
        moved = [(X1, X, x2, u), (T2, T, T3, v)]
        if common is not None and y is not None:
            moved.append((common, X, x2, y))
        for copy, before, after, multiplier in moved:
            copy *= on
            copy += off * before
            copy -= after
            copy += multiplier
        T2[diagonal] = 0
        self._u, self._v, self._y, self._c = X1, T2, common, 2 * over
        if (self.iterations + 1) % CHANGED_EVERY == 0 or self.iterations == 0:
            X -= x2
            T -= T3
            primal = sum(_square(now - multiplier) for now, _, _, multiplier in moved)
            self.residuals = primal, copies * _square(X) + 2 * _square(T)
        self.X, self.T = x2, T3
        self.iterations += 1

    def scale(self, factor: float) -> None:
        """Change the penalty."""
        self.rho *= factor
        for scaled in (self._u, self._v, self._c, self._columns.m, self._y):
            if scaled is not None:
                scaled /= REAL(factor)

    def _on_spectraplex(self, matrix: Array) -> Array:
        matrix += self._Q * REAL(1 / self.rho)
        W = self._forbidden
        if W.shape[1]:
            image = matrix @ W
            image -= REAL(0.5) * (W @ (W.T @ image))
            product = image @ W.T
            matrix -= product
            matrix -= product.T
            # What is forbidden is well below what is chosen.
            matrix -= W @ W.T
        weights, vectors = self._spectraplex(matrix)
        return (vectors * weights) @ vectors.T

    def multipliers(self) -> Multipliers:
        """Return N, r and c of the iterate."""
        u = self._u if self._y is None else self._u + self._y
        N = u + u.T
        N *= REAL(0.5 * self.rho)
        G = np.maximum(np.abs(self._v), REAL(1e-9))
        ratios = np.sqrt(G / G.T)
        return Multipliers.of(self.features, N, ratios, self._c * REAL(self.rho), self.unit)

    @property
    def shares(self) -> Array:
        """How much each feature is in the support: the sums of rows, between zero and one."""
        return np.asarray(self.T.sum(axis=1) + self.X[self._diagonal], dtype=float)

    @property
    def direction(self) -> Array:
        """The leading eigenvector of X, about: two steps from its largest column."""
        vector = self.X[:, int(np.argmax(self.X[self._diagonal]))]
        for _ in range(2):
            vector = self.X @ vector
            vector /= max(float(np.linalg.norm(vector)), 1e-30)
        return np.asarray(vector, dtype=float)


class Steps(Protocol):
    """A method that goes on step by step, with a penalty."""

    iterations: int

    @property
    def rho(self) -> float: ...  # noqa: D102

    @property
    def residuals(self) -> tuple[float, float]: ...  # noqa: D102

    @property
    def finite(self) -> bool: ...  # noqa: D102

    def step(self) -> None: ...  # noqa: D102

    def scale(self, factor: float) -> None: ...  # noqa: D102


def iterate(method: Steps, iterations: int, stop: Callable[[], bool]) -> bool:
    """Let a method take steps; False if it was stopped, or nothing finite is left to go on with."""
    for _ in range(iterations):
        if stop():
            return False
        try:
            with np.errstate(all="ignore"):
                method.step()
        except (np.linalg.LinAlgError, IndexError):
            return False
        if method.iterations % CHANGED_EVERY == 0:
            # Change the penalty where one residual is far larger than the other.
            primal, dual = (math.sqrt(part) for part in method.residuals)
            if primal > IMBALANCE * method.rho * dual:
                method.scale(CHANGE)
            elif method.rho * dual > IMBALANCE * primal:
                method.scale(1 / CHANGE)
    return method.finite


def _square(matrix: Array) -> float:
    return float(np.vdot(matrix, matrix))
