"""The matrix M that makes the bound of a joint problem small.

For a set of components that have the patterns S_1 … S_K, and every ``M ⪰ 0``,

    Σ x_kᵀQx_k  ≤  Σ_k [λmax((Q - M) on S_k) - (prices of S_k)] + Σ_i (M_ii + price_i·users of i),

the last sum being over features that are used.  The right-hand side, with the largest bracket over
the patterns that are left and the largest term over the numbers of users, is convex in M and in the
prices.  Here it is smoothed and minimised over some of the patterns; which M and prices come out is
of no concern to validity.  M is worked with as ``LLᵀ``, L being its root.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.tuning import Effort

#: How much less the numbers of users are smoothed than the patterns: there is a term for each.
COOLER = 0.3
#: Iterations end where the last ones gained less than this share of what is missing, or after most.
GAIN, MOST = 1e-2, 2000


def first_root(n: int, scale: float) -> Array:
    """Something to begin with."""
    return 0.1 * math.sqrt(scale) * np.eye(n)


def root_of(M: Array) -> Array:
    """A root of M, without what is negative of it."""
    values, vectors = np.linalg.eigh(M)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Where the minimisation of the smoothed bound has come to.

    Attributes
    ----------
    root : array of shape (n, n)
    prices : array of shape (n,)
    shares : tuple of arrays
        For each group, how much each of its patterns counts; they add up to the group's count.
    """

    root: Array
    prices: Array
    shares: tuple[Array, ...]


class _Ended(Exception):
    """The value is as low as it needs to be, or there is no time for a lower one."""

    def __init__(self, point: Array) -> None:
        super().__init__()
        self.point = point.copy()


def never() -> bool:
    """Go on to the end."""
    return False


def minimise(
    larger: Array,
    index: Sequence[IntArray],
    counts: Sequence[int],
    users: tuple[IntArray, IntArray],
    start: tuple[Array, Array],
    scale: float,
    effort: Effort,
    enough: float = -math.inf,
    stop: Callable[[], bool] = never,
    priced: bool = True,
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
    users : pair of integer arrays
        Components that use each feature, at least and at most.
    start : pair of arrays
        The root of M and the prices to begin with.
    scale : float
        Size of the variance of one component.
    effort : Effort
        Temperatures of the smoothed maximum, and how long the quasi-Newton method goes on.
    enough : float
        A value at which it stops; without an orthonormal set on the patterns there is no smallest.
    stop : callable
        Asked often; what was reached is as good as any other place.
    priced : bool
        Whether prices change.
    """
    from scipy.optimize import (
        OptimizeResult,
        minimize,
    )  # here, since the package is imported more often than used

    n, side = len(start[0]), math.sqrt(scale)
    distinct, inverse = np.unique(np.vstack(index), axis=0, return_inverse=True)
    ends = np.cumsum([0, *(len(part) for part in index)])
    places = [inverse.ravel()[a:b] for a, b in pairwise(ends)]
    width, order = distinct.shape[1], len(larger)
    rows, columns = distinct[:, :, None], distinct[:, None, :]
    # What the quasi-Newton method calls small is small against 1.
    given = larger[rows, columns] / scale
    flat = (rows * order + columns).ravel()
    inside = np.zeros((len(distinct), order))
    np.put_along_axis(inside, distinct, 1.0, axis=1)
    inside = inside[:, :n]
    # A feature costs nothing if it may be unused, and else as for the fewest or the most users.
    least, most = users
    numbers = np.array([least * 0, np.maximum(least, 1), np.maximum(most, 1)])
    possible = np.array([(least == 0) & (priced | (most == 0)), most > 0, most > 0])
    root = np.zeros((order, n))
    weights = np.zeros((len(distinct), width))
    shares: list[Array] = []

    def bound(point: Array, temperature: float) -> tuple[float, Array]:
        root[:n] = point[: n * n].reshape(n, n)
        prices = point[n * n :]
        M = root @ root.T
        values, vectors = np.linalg.eigh(given - M[rows, columns])
        values -= (inside @ prices)[:, None]
        terms = np.where(possible, (numbers > 0) * M.diagonal()[:n] + numbers * prices, -math.inf)
        cost = terms.max(axis=0)
        used = np.exp((terms - cost) / (COOLER * temperature))
        total = float(np.sum(cost + COOLER * temperature * np.log(used.sum(axis=0))))
        used /= used.sum(axis=0)
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
        if total < enough / scale or stop():
            raise _Ended(point)
        blocks = (vectors * weights[:, None, :]) @ vectors.transpose(0, 2, 1)
        P = np.bincount(flat, blocks.ravel(), minlength=order * order).reshape(order, order)[:n, :n]
        slope = 2 * ((used[1] + used[2])[:, None] * root[:n] - P @ root[:n])
        of_prices = (used * numbers).sum(axis=0) - weights.sum(axis=1) @ inside
        return total, np.concatenate([slope.ravel(), of_prices * priced])

    values: list[float] = []

    def go_on(intermediate_result: OptimizeResult) -> None:
        values.append(intermediate_result.fun)
        if len(values) > effort.pace:
            gained = values[-1 - effort.pace] - values[-1]
            if gained < GAIN * (values[-1] - enough / scale):
                raise StopIteration

    point = np.concatenate([start[0].ravel() / side, start[1] / scale])
    try:
        for temperature in effort.temperatures:
            values.clear()
            found = minimize(
                bound,
                point,
                args=(temperature,),
                jac=True,
                method="L-BFGS-B",
                callback=go_on,
                options={"maxiter": MOST, "maxcor": 15, "ftol": 1e-10},
            )
            point = found.x
        bound(point, temperature)
    except _Ended as reached:
        point = reached.point
    found_root = point[: n * n].reshape(n, n) * side
    return Smoothed(found_root, point[n * n :] * scale, tuple(shares))
