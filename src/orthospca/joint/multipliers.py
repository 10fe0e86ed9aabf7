"""The matrix M and the prices u that make the bound of a joint problem small.

For a set of components that have the patterns S_1 … S_K, every ``M ⪰ 0`` and every ``u ≥ 0`` of the
features that at most one component uses,

    Σ x_kᵀQx_k  ≤  tr M + Σ_j u_j + Σ_k [λmax((Q - M) on S_k) - Σ_{j ∈ S_k} u_j].

The right-hand side, with the largest bracket over the patterns that are left, is convex in (M, u).
Here it is smoothed and minimised over some of the patterns; which (M, u) comes out is of no concern
to validity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from orthospca._typing import Array, IntArray


@dataclass(frozen=True, eq=False)
class Multipliers:
    """A positive semidefinite matrix, as ``M = LLᵀ``, and prices of features.

    Attributes
    ----------
    root : array of shape (n, n)
    prices : array of shape (n,)
        Zero for features that several components may use.
    """

    root: Array
    prices: Array

    @property
    def matrix(self) -> Array:
        """M."""
        return self.root @ self.root.T

    @classmethod
    def begin(cls, n: int, scale: float) -> Multipliers:
        """Something to begin with."""
        return cls(0.1 * math.sqrt(scale) * np.eye(n), np.zeros(n))


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Where the minimisation of the smoothed bound has come to.

    Attributes
    ----------
    multipliers : Multipliers
    weights : tuple of arrays
        For each group, how much each of its patterns counts; they add up to the group's count.
    value : float
        Of the smoothed bound, which is above the bound over the patterns given.
    """

    multipliers: Multipliers
    weights: tuple[Array, ...]
    value: float


class _Ended(Exception):
    """The value is as low as it needs to be, or there is no time for a lower one."""

    def __init__(self, point: Array, value: float) -> None:
        super().__init__()
        self.point, self.value = point.copy(), value


def never() -> bool:
    """Go on to the end."""
    return False


def minimise(
    larger: Array,
    index: Sequence[IntArray],
    counts: Sequence[int],
    start: Multipliers,
    exclusive: IntArray,
    temperatures: Sequence[float],
    iterations: int,
    enough: float = -math.inf,
    stop: Callable[[], bool] = never,
) -> Smoothed:
    """Minimise the smoothed bound.

    Parameters
    ----------
    larger : array
        Q, with rows for the features that are not there.
    index : sequence of integer arrays of shape (count, width)
        The patterns of each group.
    counts : sequence of int
        Components in each group.
    start : Multipliers
    exclusive : integer array
        The features that may have a price.
    temperatures : sequence of float
        Of the smoothed maximum, one after the other.
    iterations : int
        Of the quasi-Newton method, at each of them.
    enough : float
        A value at which it stops; without an orthonormal set on the patterns there is no smallest.
    stop : callable
        Asked often; what was reached is as good as any other place.
    """
    from scipy.optimize import minimize  # here, since the package is imported more often than used

    n = len(start.prices)
    distinct, inverse = np.unique(np.vstack(index), axis=0, return_inverse=True)
    ends = np.cumsum([0, *(len(part) for part in index)])
    places = [inverse.ravel()[a:b] for a, b in pairwise(ends)]
    width, order = distinct.shape[1], len(larger)
    rows, columns = distinct[:, :, None], distinct[:, None, :]
    given = larger[rows, columns]
    flat = (rows * order + columns).ravel()
    table = np.zeros((len(distinct), order))
    np.put_along_axis(table, distinct, 1.0, axis=1)
    has = np.ascontiguousarray(table[:, exclusive])
    root = np.zeros((order, n))
    weights = np.zeros((len(distinct), width))
    shares: list[Array] = []

    def bound(point: Array, temperature: float) -> tuple[float, Array]:
        root[:n] = point[: n * n].reshape(n, n)
        prices = point[n * n :]
        M = root @ root.T
        values, vectors = np.linalg.eigh(given - M[rows, columns])
        if len(prices):
            values -= (has @ prices)[:, None]
        total = float(np.einsum("ij,ij->", root, root) + prices.sum())
        weights[:] = 0.0
        shares.clear()
        for place, count in zip(places, counts, strict=True):
            part = values[place]
            top = float(part.max())
            powers = np.exp((part - top) / temperature)
            mass = float(powers.sum())
            total += count * (top + temperature * math.log(mass))
            powers *= count / mass
            weights[place] += powers
            shares.append(powers.sum(axis=1))
        if total < enough or stop():
            raise _Ended(point, total)
        blocks = (vectors * weights[:, None, :]) @ vectors.transpose(0, 2, 1)
        P = np.bincount(flat, blocks.ravel(), minlength=order * order).reshape(order, order)[:n, :n]
        slope = 2 * (root[:n] - P @ root[:n])
        return total, np.concatenate([slope.ravel(), 1.0 - weights.sum(axis=1) @ has])

    point = np.concatenate([start.root.ravel(), start.prices[exclusive]])
    limits = [(None, None)] * (n * n) + [(0.0, None)] * len(exclusive)
    value = math.inf
    try:
        for temperature in temperatures:
            found = minimize(
                bound,
                point,
                args=(temperature,),
                jac=True,
                method="L-BFGS-B",
                bounds=limits,
                options={"maxiter": iterations, "maxcor": 15, "ftol": 1e-10},
            )
            point = found.x
            value, _ = bound(point, temperature)
    except _Ended as reached:
        point, value = reached.point, reached.value
    all_prices = np.zeros(n)
    all_prices[exclusive] = point[n * n :]
    moved = Multipliers(point[: n * n].reshape(n, n), all_prices)
    return Smoothed(moved, tuple(share.copy() for share in shares), value)
