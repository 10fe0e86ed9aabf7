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
from collections.abc import Callable

import numpy as np

from orthospca._typing import AnyArray as Array
from orthospca._typing import IntArray
from orthospca.bounds.share.claim import Multipliers
from orthospca.bounds.share.projections import Columns, Spectraplex, onto_pairs

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
    """

    def __init__(
        self,
        Q: Array,
        W: Array,
        size: int,
        features: IntArray,
        included: IntArray,
        unit: float,
    ) -> None:
        n = len(Q)
        self.size, self.unit, self.rho = size, unit, RHO
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
        self.iterations = 0
        self._primal = self._dual = math.nan

    def _set_up(self, W: Array, included: IntArray) -> None:
        """What depends on the features and on which are included."""
        n = len(self.features)
        self._diagonal = np.diag_indices(n)
        left, singular, _ = np.linalg.svd(W, full_matrices=False)
        self._forbidden = left[:, singular > 1e-9].astype(REAL)
        self._spectraplex = Spectraplex()
        self._columns = Columns(np.isin(self.features, included), self.size, np.dtype(REAL))

    def narrowed(self, W: Array, features: IntArray, included: IntArray) -> ShareMethod:
        """Return the same iterate on some of the features, with some of them included.

        Parameters
        ----------
        W : array
            The components before, on these features.
        features, included : integer arrays
        """
        other = object.__new__(ShareMethod)
        other.__dict__.update(self.__dict__)
        other.features = features
        places = np.searchsorted(self.features, features)
        at = np.ix_(places, places)
        other._Q, other.X, other.T = self._Q[at], self.X[at], self.T[at]
        other._u, other._v, other._c = self._u[at], self._v[at], self._c[places]
        other._set_up(W, included)
        other._columns.m, other._columns.d = self._columns.m[places], self._columns.d[places]
        return other

    def run(self, iterations: int, stop: Callable[[], bool]) -> bool:
        """Iterate; False if it was stopped, or nothing finite is left to go on with."""
        for _ in range(iterations):
            if stop():
                return False
            try:
                self._step()
            except (np.linalg.LinAlgError, IndexError):
                return False
            self.iterations += 1
            if self.iterations % CHANGED_EVERY == 0:
                self._balance()
        return bool(np.isfinite(self._c).all() and np.isfinite(self._primal))

    def _step(self) -> None:
        X, T, u, v, c = self.X, self.T, self._u, self._v, self._c
        on, off = REAL(ALPHA), REAL(1 - ALPHA)
        half, diagonal = REAL(0.5), self._diagonal
        X1 = self._on_spectraplex(X - u)
        x2, T2 = onto_pairs(X + u, T - v)
        T2[diagonal] = 0
        d = X[diagonal]
        T3 = T + v
        T3 -= c[:, None]
        T3, d3 = self._columns(T3, d + u[diagonal] - c, ROUNDS, ACCURACY)
        # The mean of the copies, and the nearest point to it whose rows sum to one at most.
        x2 += X1
        x2 *= on * half
        x2 += off * X
        T3 += T2
        T3 *= on * half
        T3 += off * T
        T3 += (c * half)[:, None]
        T3[diagonal] = 0
        mean = on * half * (X1[diagonal] + d3) + off * d + half * c
        over = np.maximum(T3.sum(axis=1) + mean - 1, 0) / REAL(len(c))
        T3 -= over[:, None]
        T3[diagonal] = 0
        x2[diagonal] = mean - over
        # Multipliers move by what is between the copies and the mean.
        X1 *= on
        X1 += off * X
        X1 -= x2
        T2 *= on
        T2 += off * T
        T2 -= T3
        T2[diagonal] = 0
        X1 += u
        T2 += v
        self._u, self._v, self._c = X1, T2, 2 * over
        if (self.iterations + 1) % CHANGED_EVERY == 0 or self.iterations == 0:
            X -= x2
            T -= T3
            u -= X1
            v -= T2
            self._primal = math.sqrt(_square(u) + _square(v))
            self._dual = self.rho * math.sqrt(2 * _square(X) + 2 * _square(T))
        self.X, self.T = x2, T3

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

    def _balance(self) -> None:
        """Change the penalty where one residual is far larger than the other."""
        factor = 1.0
        if self._primal > IMBALANCE * self._dual:
            factor = CHANGE
        elif self._dual > IMBALANCE * self._primal:
            factor = 1 / CHANGE
        self.rho *= factor
        for scaled in (self._u, self._v, self._c, self._columns.m):
            scaled /= REAL(factor)

    def multipliers(self) -> Multipliers:
        """Return N, r and c of the iterate."""
        N = self._u + self._u.T
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


def _square(matrix: Array) -> float:
    return float(np.vdot(matrix, matrix))
