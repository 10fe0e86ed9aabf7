"""The best non-negative vector on one support, and a proved bound on all of them.

Among unit vectors ``x ≥ 0`` on a support S, one that is best and has no zero solves ``Qx = λx``,
and λ is the largest eigenvalue of ``Q_SS``.  So where no top eigenvector is positive, the best
vector has a zero, and is one of a smaller support.  See ``docs/theory/nonnegative.md``.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.stage import EXTENDED, EXTENDED_UNIT
from orthospca.numerics.exact import variance_down
from orthospca.numerics.rigor import proves_below, upper_eigenvalue
from orthospca.numerics.rounding import UNIT, add_up, mul_up
from orthospca.supports.best import SUSPICIOUS_LOADING, Candidate

#: A negative loading up to this one may be rounding noise.
NOISE = 1e-10
#: What proving that a vector has a zero may cost, as a share of the largest entry.
LARGEST_SLACK = 1e-8
#: Parts of a support, at most, that an argument speaks of.
MOST_FACES = 2000


@dataclass(frozen=True, eq=False)
class Leaf:
    """What is known of the non-negative vectors on one support.

    Attributes
    ----------
    value : float
        Of the best vector found, rounded down.
    loading : array
        That vector, on the support; what it does not use is exactly zero.
    upper : float
        Proved bound on all of them.
    """

    value: float
    loading: Array
    upper: float

    def candidate(self, support: IntArray, n: int) -> Candidate:
        """Return the vector among all n features."""
        return Candidate(self.value, self.loading).embedded(support, n)


def nonnegative_part(Q: Array, inside: IntArray | None = None) -> Array:
    """Return Q with 0 in the place of negative entries off the diagonal.

    Parameters
    ----------
    Q : array of shape (n, n)
    inside : integer array, optional
        Pairs of these features keep their entries.
    """
    part = np.maximum(Q, 0.0)
    np.fill_diagonal(part, Q.diagonal())
    if inside is not None and len(inside):
        at = np.ix_(inside, inside)
        part[at] = Q[at]
    return part


def best_nonnegative(matrix: Array, floor: float, budget: int) -> Leaf:
    """Maximise ``xᵀQx`` over unit vectors ``x ≥ 0``.

    Parameters
    ----------
    matrix : array of shape (p, p)
        Q on the support.
    floor : float
        Bounds below this one are as good as any.
    budget : int
        Supports to look at, at most.
    """
    size = len(matrix)
    best = Leaf(-math.inf, np.zeros(size), math.inf)
    upper, slack = -math.inf, 0.0
    whole = tuple(range(size))
    seen, waiting = {whole}, [(-math.inf, whole)]
    while waiting:
        known, support = heapq.heappop(waiting)
        if -known <= max(floor, best.value) or budget == 0:
            # A smaller support has no larger eigenvalue than the one that it is a part of, and of
            # all that wait this one has the largest bound.
            upper = max(upper, -known)
            break
        budget -= 1
        at = np.array(support)
        part = matrix[np.ix_(at, at)]
        values, vectors = np.linalg.eigh(part)
        bound = min(upper_eigenvalue(part, float(values[-1])), -known)
        for x in _nonnegative_parts(vectors[:, -1]):
            value = variance_down(part, x)
            if value > best.value:
                loading = np.zeros(size)
                loading[at] = x
                best = Leaf(value, loading, math.inf)
        if bound <= max(floor, best.value) or _is_nonnegative(vectors[:, -1]):
            upper = max(upper, bound)
            continue
        lost = _lost_by_a_zero(part, values, vectors)
        if lost is None:
            upper = max(upper, bound)
        else:
            slack = max(slack, lost)
        for i in support:
            smaller = tuple(j for j in support if j != i)
            if smaller and smaller not in seen:
                seen.add(smaller)
                heapq.heappush(waiting, (-bound, smaller))
    # On the way from the whole to a part something is lost once for each feature, at most.
    return Leaf(best.value, best.loading, max(add_up(upper, mul_up(size, slack)), best.value))


def faces_below(Q: Array, support: IntArray, level: float) -> dict[tuple[int, ...], Array] | None:
    """Return why no unit vector ``x ≥ 0`` on a support has more than a level; None if not found.

    For each part of it whose eigenvalues are not below the level, weights ``y ≥ 0`` with ``Qy ≤
    Ly``: a best vector that is positive there has ``Qx = λx``, and ``λyᵀx = yᵀQx ≤ Lyᵀx``.

    Parameters
    ----------
    Q : array of shape (n, n)
    support : integer array, ascending
    level : float
    """
    from scipy.optimize import linprog  # not needed where the package is imported

    found: dict[tuple[int, ...], Array] = {}
    pending = [tuple(int(j) for j in support)]
    while pending:
        T = pending.pop()
        part = Q[np.ix_(T, T)]
        if not T or T in found or proves_below(part, level):
            continue
        # Weights that leave as much room in every row as can be.
        size, scale = len(T), float(np.abs(part).max())
        rows = np.hstack([(part - level * np.eye(size)) / scale, np.ones((size, 1))])
        sums = np.append(np.ones(size), 0.0)[None]
        limits = [(0, None)] * size + [(None, None)]
        best = linprog(-np.eye(size + 1)[-1], rows, np.zeros(size), sums, [1.0], limits)
        if not best.success or best.x[-1] <= 1e-9 or len(found) == MOST_FACES:
            return None
        found[T] = np.maximum(best.x[:-1], 0.0)
        pending += itertools.combinations(T, size - 1)
    return found


def _is_nonnegative(vector: Array) -> bool:
    """Whether a vector is, up to its sign and rounding."""
    return bool(vector.min() >= -NOISE or vector.max() <= NOISE)


def _nonnegative_parts(vector: Array) -> list[Array]:
    """Unit vectors with the positive part, with the negative part, and without small loadings."""
    found = []
    for sign in (1.0, -1.0):
        for least in (0.0, SUSPICIOUS_LOADING):
            part = np.where(sign * vector > least, sign * vector, 0.0)
            length = math.sqrt(float(part @ part))
            if length > 0.01:
                found.append(part / length)
    # Of equal ones the last is not taken: that without noise comes first.
    return found[::-1]


def _lost_by_a_zero(matrix: Array, values: Array, vectors: Array) -> float | None:
    """Bound what the best vector exceeds those with a zero by; None if nothing is proved.

    Let x be positive and best.  Then ``Qx = λx`` with the largest λ, and for each computed pair
    with ``Qv = μv + r`` it is ``(λ - μ)vᵀx = rᵀx``: where μ is well below λ, x is nearly orthogonal
    to v.  If some ``y ≥ 0`` is nearly a combination of such v, then ``yᵀx`` is nearly 0, and so is
    the entry of x where y is largest.
    """
    size = len(matrix)
    # By a power of two, so that squares neither vanish nor overflow.
    exponent = int(np.frexp(np.abs(matrix).max())[1])
    matrix, values = np.ldexp(matrix, -exponent), np.ldexp(values, -exponent)
    largest = float(np.linalg.norm(matrix))
    rounding = 16 * (size + 8) * EXTENDED_UNIT * largest
    wide = vectors.astype(EXTENDED)
    products = matrix.astype(EXTENDED) @ wide - wide * values.astype(EXTENDED)
    residuals = 1.001 * np.sqrt(np.square(products.astype(float)).sum(axis=0)) + rounding
    if float(np.abs(vectors.T @ vectors - np.eye(size)).max()) > 1e-6 / size:
        return None
    lowest = float(values[-1]) - 1.01 * float(residuals[-1]) - rounding
    least = math.inf
    for below in range(size - 1, 0, -1):
        # The first ``below`` pairs are well below, the others may be as large as λ.
        gap = lowest - float(values[below - 1])
        if gap <= 0:
            continue
        y = _combination(vectors[:, below:])
        if y is None:
            continue
        shares = vectors.T @ y
        rest = float(np.linalg.norm(y - vectors @ shares)) + 8 * (size + 8) * UNIT
        own = 1.01 * float(np.linalg.norm(shares[below:])) + 4 * (size + 8) * UNIT
        others = 1.02 * float(np.linalg.norm(residuals[:below])) / gap
        entry = 1.01 * (own + others + rest) / float(y.max())
        lost = 4.04 * entry * largest
        if entry < 0.5:
            least = min(least, lost)
    return math.ldexp(least, exponent) if least <= LARGEST_SLACK * largest else None


def _combination(columns: Array) -> Array | None:
    """Return ``y ≥ 0`` of length at most 1, as orthogonal to some columns as can be."""
    if columns.shape[1] == 1:
        z = columns[:, 0]
        i, j = int(z.argmax()), int(z.argmin())
        y = np.zeros(len(z))
        y[i], y[j] = -z[j], z[i]
        if not (y[i] > 0 and y[j] > 0):
            return None
    else:
        from scipy.optimize import nnls  # not needed where the package is imported

        system = np.vstack([columns.T, np.ones(len(columns))])
        aim = np.zeros(len(system))
        aim[-1] = 1.0
        y, _ = nnls(system, aim)
    length = float(np.linalg.norm(y))
    return None if length < 1e-3 else np.asarray(y / (1.0001 * length))
