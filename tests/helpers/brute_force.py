"""An independent brute force for orthogonal sparse PCA: slow and simple on purpose.

This module shares no code with the package that it checks. It solves

    max  xᵀQx   such that  ‖x‖₂ = 1,  ‖x‖₀ ≤ p,  x ⟂ x₁, …, xₖ₋₁

by looking at every support of size p (a smaller support is inside one of them). On a support Y the
feasible vectors are the null space of the previous components restricted to Y. Which singular
values of the restriction count as zero is a rank decision, and it is stated: `RANK_TOLERANCE`,
absolute, because the previous components are unit vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

#: Singular values of the restricted previous components up to this size count as zero.
RANK_TOLERANCE = 1e-12


class Optimum(NamedTuple):
    """The best component of one stage: its variance, the support searched and the vector."""

    value: float
    support: tuple[int, ...]
    vector: np.ndarray


class Interval(NamedTuple):
    """What is known in floating point about the optimum of a stage.

    `low` counts only singular values at the level of rounding as zero, `high` all that are within
    the orthogonality asked of a component; None where that leaves no feasible vector. They differ
    only where the rank is in doubt. `smallest` is the smallest singular value counted as nonzero:
    rounding moves a null space by about the unit roundoff divided by it.
    """

    low: float | None
    high: float | None
    smallest: float


@cache
def all_supports(n: int, p: int) -> np.ndarray:
    """All supports of p of n indices, one in each row, in lexicographic order."""
    return np.array(list(combinations(range(n), p)), dtype=np.intp).reshape(-1, p)


def null_spaces(
    previous: np.ndarray, supports: np.ndarray, tolerance: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For the supports that leave a direction: orthonormal columns that span what is feasible.

    Supports that leave equally many come together: their places among all, and a stack of bases.
    """
    count, p = supports.shape
    if len(previous) == 0:
        yield np.arange(count), np.broadcast_to(np.eye(p), (count, p, p))
        return
    rows = previous[:, supports].transpose(1, 0, 2)
    _, singular, right = np.linalg.svd(rows, full_matrices=True)
    ranks = np.sum(singular > tolerance, axis=1)
    for rank in np.unique(ranks[ranks < p]):
        chosen = np.flatnonzero(ranks == rank)
        yield chosen, right[chosen][:, rank:].transpose(0, 2, 1)


def candidates(
    matrix: np.ndarray, previous: np.ndarray, p: int, tolerance: float = RANK_TOLERANCE
) -> list[tuple[Optimum, float]]:
    """The best vector of each feasible support, with the support's second largest eigenvalue.

    The second value is −inf where the support leaves only one direction.
    """
    n = matrix.shape[0]
    previous = np.reshape(previous, (-1, n))
    supports = all_supports(n, p)
    found: list[tuple[Optimum, float] | None] = [None] * len(supports)
    for chosen, basis in null_spaces(previous, supports, tolerance):
        places = supports[chosen]
        blocks = matrix[places[:, :, None], places[:, None, :]]
        reduced = basis.transpose(0, 2, 1) @ blocks @ basis
        values, vectors = np.linalg.eigh((reduced + reduced.transpose(0, 2, 1)) / 2)
        best = np.zeros((len(chosen), n))
        np.put_along_axis(best, places, (basis @ vectors[:, :, -1:])[:, :, 0], axis=1)
        for k, index in enumerate(chosen):
            second = float(values[k, -2]) if values.shape[1] > 1 else -np.inf
            support = tuple(places[k].tolist())
            found[index] = Optimum(float(values[k, -1]), support, best[k]), second
    return [item for item in found if item is not None]


def stage_optimum(
    matrix: np.ndarray, previous: np.ndarray, p: int, tolerance: float = RANK_TOLERANCE
) -> Optimum | None:
    """The optimum of one stage given the previous components (rows); None if none exists."""
    found = candidates(matrix, previous, p, tolerance)
    return max((best for best, _ in found), key=lambda best: best.value, default=None)


def stage_interval(matrix: np.ndarray, previous: np.ndarray, p: int) -> Interval:
    """The optimum of one stage, with what floating point leaves in doubt about it."""
    low = stage_optimum(matrix, previous, p, tolerance=1e-14)
    high = stage_optimum(matrix, previous, p, tolerance=1e-12)
    smallest = 1.0
    if len(previous):
        rows = previous[:, all_supports(matrix.shape[0], p)].transpose(1, 0, 2)
        singular = np.linalg.svd(rows, compute_uv=False)
        smallest = float(singular[singular > 1e-14].min(initial=1.0))
    return Interval(
        None if low is None else low.value, None if high is None else high.value, smallest
    )


def is_unique(matrix: np.ndarray, previous: np.ndarray, p: int, margin: float) -> bool:
    """Whether all vectors within `margin` of the stage's optimum are one vector up to its sign."""
    found = candidates(matrix, previous, p)
    top = max(found, key=lambda item: item[0].value)[0]
    for best, second in found:
        if best.value < top.value - margin:
            continue
        if second >= top.value - margin or abs(abs(best.vector @ top.vector) - 1) > 1e-6:
            return False
    return True


def sequence(matrix: np.ndarray, sparsity: list[int]) -> list[Optimum]:
    """Stage after stage, one per entry of `sparsity`; shorter where no further component exists."""
    found: list[Optimum] = []
    for p in sparsity:
        previous = np.array([optimum.vector for optimum in found])
        optimum = stage_optimum(matrix, previous, p)
        if optimum is None:
            break
        found.append(optimum)
    return found


def deflation(matrix: np.ndarray, p: int, n_components: int) -> list[tuple[float, Optimum]]:
    """The deflation baseline: [variance for the matrix itself, optimum for the deflated matrix].

    Each stage ignores orthogonality and replaces the matrix by (I − xxᵀ) Q (I − xxᵀ).
    """
    n = matrix.shape[0]
    deflated = matrix.copy()
    found = []
    for _ in range(n_components):
        optimum = stage_optimum(deflated, np.empty((0, n)), p)
        assert optimum is not None
        x = optimum.vector
        found.append((float(x @ matrix @ x), optimum))
        projector = np.eye(n) - np.outer(x, x)
        deflated = projector @ deflated @ projector
    return found


def support_above(
    matrix: np.ndarray, previous: np.ndarray, p: int, bound: float
) -> tuple[int, ...] | None:
    """A support with a feasible vector of more than `bound`, decided in rational arithmetic.

    The numbers of the matrix, floats or fractions, and of the previous components are taken at
    their exact values. On each support Y, N spans the vectors exactly orthogonal to the components
    and Nᵀ(bound·I − Q)N must be positive semidefinite. Returns the first support where it is not;
    None if there is none, so that the bound is proved.
    """
    n = matrix.shape[0]
    for support in combinations(range(n), p):
        rows = [[Fraction(float(row[j])) for j in support] for row in previous]
        shifted = [
            [Fraction(float(bound)) * (i == j) - _rational(matrix[i, j]) for j in support]
            for i in support
        ]
        basis = _rational_null_space(rows, len(support))
        images = [[sum(map(_times, row, vector)) for row in shifted] for vector in basis]
        reduced = [[sum(map(_times, vector, image)) for image in images] for vector in basis]
        if not _is_rational_psd(reduced):
            return support
    return None


def _rational(number: float | Fraction) -> Fraction:
    return number if isinstance(number, Fraction) else Fraction(float(number))


def _times(left: Fraction, right: Fraction) -> Fraction:
    return left * right


def _rational_null_space(rows: list[list[Fraction]], width: int) -> list[list[Fraction]]:
    """A basis of the vectors that all rows map to zero, by Gauss-Jordan elimination."""
    rows = [list(row) for row in rows]
    pivots: list[int] = []
    for column in range(width):
        found = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if found is None:
            continue
        top = len(pivots)
        rows[top], rows[found] = rows[found], rows[top]
        pivot = rows[top][column]
        rows[top] = [entry / pivot for entry in rows[top]]
        for r in range(len(rows)):
            if r != top and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[top], strict=True)]
        pivots.append(column)
    basis = []
    for free in (column for column in range(width) if column not in pivots):
        vector = [Fraction(int(column == free)) for column in range(width)]
        for r, column in enumerate(pivots):
            vector[column] = -rows[r][free]
        basis.append(vector)
    return basis


def _is_rational_psd(matrix: list[list[Fraction]]) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite, by symmetric elimination."""
    matrix = [list(row) for row in matrix]
    for k in range(len(matrix)):
        pivot = matrix[k][k]
        if pivot < 0 or (pivot == 0 and any(matrix[k][k:])):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, len(matrix)):
            factor = matrix[i][k] / pivot
            if factor:
                matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[k], strict=True)]
    return True
