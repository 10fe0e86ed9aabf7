"""Supports whose largest eigenvalue is a level up to the last digits: where rounding decides."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from helpers.exact import exceeds
from orthospca.model.stage import Subproblem
from orthospca.numerics.rounding import UNIT


def is_definite(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether ``left - right`` is positive definite, exactly: all leading minors, in integers."""
    # The numbers are multiples of this power of two.
    smallest = min(np.frexp(np.concatenate([left, right])[np.nonzero([*left, *right])])[1]) - 53
    a = [
        [
            int(Fraction(float(x)) * Fraction(2) ** -int(smallest))
            - int(Fraction(float(y)) * Fraction(2) ** -int(smallest))
            for x, y in zip(*rows, strict=True)
        ]
        for rows in zip(left, right, strict=True)
    ]
    previous = 1
    for k in range(len(a)):
        if a[k][k] <= 0:
            return False
        for i in range(k + 1, len(a)):
            for j in range(k + 1, len(a)):
                a[i][j] = (a[i][j] * a[k][k] - a[i][k] * a[k][j]) // previous
        previous = a[k][k]
    return True


class Critical:
    """A support whose largest eigenvalue is a chosen level up to rounding, and every bound sharp.

    The matrix is built backwards, from the factors of ``L·I - Q_F``, from ``C⁻¹Q_F`` and from a
    scaled complement for which the Frobenius bound is an equality.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        f, r, extra = (int(rng.integers(low, high)) for low, high in ((0, 4), (1, 5), (0, 3)))
        self.p = p = f + r
        n = p + extra
        L = float(rng.choice([0.0, 1.0, -1.0])) * 10.0 ** float(rng.uniform(-2, 3))
        C = np.tril(rng.standard_normal((f, f)))
        C[np.diag_indices(f)] = 10.0 ** -rng.uniform(0, rng.choice([0.5, 4, 9]), f)
        half = rng.standard_normal((f, r)) * 10.0 ** rng.uniform(-3, 1)
        diagonal = 10.0 ** rng.uniform(-rng.choice([0.5, 8]), 1, r)
        signs = rng.choice([-1.0, 1.0], r)
        W = (np.outer(signs, signs) - np.eye(r)) / (r - 1) if r > 1 else np.ones((1, 1))
        self.included_is_critical = bool(rng.random() < 0.2 and f > 0)
        if self.included_is_critical:
            C[f - 1, f - 1] = 0.0
            W = 0.5 * W
        M = np.zeros((n, n))
        M[:f, :f] = L * np.eye(f) - C @ C.T
        M[:f, f:p] = C @ half
        M[f:p, :f] = M[:f, f:p].T
        scaled = np.sqrt(np.outer(diagonal, diagonal)) * (np.eye(r) - W)
        M[f:p, f:p] = L * np.eye(r) - half.T @ half - scaled
        M[:, p:] = rng.standard_normal((n, extra)) * 10.0 ** rng.uniform(-4, 1) * (seed % 2)
        M[p:, :] = M[:, p:].T
        M[p:, p:] = np.diag(L - 10.0 ** rng.uniform(-3, 3, extra))
        scale = 10.0 ** float(rng.choice([0, 0, 0, -60, 60, -95, 95]))
        order = rng.permutation(n)
        places = np.argsort(order)
        self.matrix = scale * (0.5 * (M + M.T))[np.ix_(order, order)]
        self.included, self.rest = np.sort(places[:f]), places[f:p]
        self.support = np.sort(places[:p])
        self.level = scale * L
        self.unit = UNIT * (abs(self.level) + float(np.abs(self.matrix).max()))
        self.previous = np.empty((0, n))

    def constrain(self) -> None:
        """Add a component orthogonal, up to rounding, to the leading vector of the support."""
        T = self.support
        leading = np.zeros(len(self.matrix))
        leading[T] = np.linalg.eigh(self.matrix[np.ix_(T, T)])[1][:, -1]
        vector = self.rng.standard_normal(len(self.matrix))
        vector *= self.rng.random(len(vector)) < 0.8
        vector -= leading * (leading @ vector)
        if np.linalg.norm(vector) > 1e-3:
            self.previous = (vector / np.linalg.norm(vector))[None, :]

    @property
    def problem(self) -> Subproblem:
        return Subproblem(self.matrix, self.p, np.ascontiguousarray(self.previous.T))

    def exceeds(self, support: np.ndarray | tuple[int, ...], level: float) -> bool:
        """Whether a feasible vector on the support has more than the level, exactly."""
        T = np.asarray(support, dtype=int)
        sub, X = self.matrix[np.ix_(T, T)], self.previous[:, T]
        if len(X) == 0 and is_definite(level * np.eye(len(T)), sub):
            return False
        return exceeds(sub, X, level)


def first_level(low: float, high: float, ruled_out: Callable[[float], bool]) -> float | None:
    """A level at which something is ruled out while just below it is not; None if it never is."""
    if ruled_out(low):
        return low
    if not ruled_out(high):
        return None
    for _ in range(45):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if ruled_out(middle) else (middle, high)
    return high
