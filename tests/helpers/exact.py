"""Exact decisions about reported bounds: rational arithmetic, and no allowance for rounding.

A matrix of floating-point numbers is a matrix of integers times a power of two, and so is a product
of two of them. On integers everything below is exact. What is decided:

- whether a vector exists, on at most p indices and *exactly* orthogonal to the components before
  it, with a value above a bound (`support_above`, and `exceeds` of all indices);
- whether a gap is within a tolerance (`within_tolerance`);
- whether no unit vector on at most p indices is nearly orthogonal to all components
  (`nearly_orthogonal_support`).

Eigenvalues in floating point say beforehand which supports are nowhere near; why they cannot hide a
violation is shown where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations

import numpy as np

#: Singular values up to this one count as zero in floating point, which only adds directions.
FREE_DIRECTION = 1e-4
#: A support this far below a bound, relative to the norm of its matrix, needs no exact arithmetic.
CLEARLY_BELOW = 1e-7
#: Components are promised to be orthogonal to 1e-12. A unit vector counts as orthogonal to them up
#: to this norm of its inner products, which leaves room to compute it.
ORTHOGONAL = 9.9e-13


@dataclass(frozen=True, eq=False)
class ExactMatrix:
    """A symmetric matrix of rational numbers: ``integers / 2**exponent``.

    Attributes
    ----------
    integers : list of lists of int
    exponent : int
    rounded : array
        Each entry rounded to the nearest floating-point number.
    """

    integers: list[list[int]]
    exponent: int
    rounded: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> ExactMatrix:
        """The matrix of these floating-point numbers."""
        integers, exponent = as_integers(matrix)
        return cls(integers, exponent, np.array(matrix, dtype=float))

    @classmethod
    def gram(cls, columns: np.ndarray) -> ExactMatrix:
        """``BᵀB``, without any rounding, of the matrix B of these floating-point numbers."""
        rows, exponent = as_integers(columns.T)
        integers = [[dot(a, b) for b in rows] for a in rows]
        denominator = 2 ** (2 * exponent)
        rounded = [[float(Fraction(entry, denominator)) for entry in row] for row in integers]
        return cls(integers, 2 * exponent, np.array(rounded))

    @property
    def n_features(self) -> int:
        """The order of the matrix."""
        return len(self.integers)

    def stated(self, x: np.ndarray) -> float:
        """``xᵀQx / xᵀx``, rounded down."""
        loading = {i: Fraction(float(x[i])) for i in np.flatnonzero(x).tolist()}
        form = sum(
            v * w * self.integers[i][j] for i, v in loading.items() for j, w in loading.items()
        )
        length = sum(v * v for v in loading.values())
        return rounded_down(Fraction(form) / length / 2**self.exponent)

    def below(self, bound: Fraction) -> list[list[int]]:
        """``bound·I - Q``, times a positive number that makes all entries integers."""
        numerator, denominator = bound.as_integer_ratio()
        exponent = max(self.exponent, denominator.bit_length() - 1)
        factor = 2 ** (exponent - self.exponent)
        level = numerator * (2**exponent // denominator)
        return [
            [level * (i == j) - factor * entry for j, entry in enumerate(row)]
            for i, row in enumerate(self.integers)
        ]


def support_above(
    matrix: ExactMatrix, previous: np.ndarray, p: int, bound: float | Fraction
) -> tuple[int, ...] | None:
    """A support of p indices with a feasible vector of more than ``bound``, decided exactly.

    The rows of ``previous`` are the components before, and the bound is infinite or has a power of
    two as its denominator. None if there is no such support: the bound is then proved.
    """
    if bound == math.inf:
        return None
    shifted = matrix.below(Fraction(bound))
    components = [as_integers(row[None])[0][0] for row in previous]
    for support in _near_the_bound(matrix.rounded, previous, p, float(bound)):
        restricted = [[component[i] for i in support] for component in components]
        part = [[shifted[i][j] for j in support] for i in support]
        if not _is_psd_across(part, restricted):
            return support
    return None


def exceeds(
    matrix: np.ndarray | ExactMatrix, previous: np.ndarray, bound: float | Fraction
) -> bool:
    """Whether a feasible vector, on all indices, has more than ``bound``, decided exactly.

    As :func:`support_above` for one support, and whatever the order and the numbers: floating point
    takes no part in it.
    """
    exact = matrix if isinstance(matrix, ExactMatrix) else ExactMatrix.of(matrix)
    components = [as_integers(row[None])[0][0] for row in previous]
    return not _is_psd_across(exact.below(Fraction(bound)), components)


def clear_levels(matrix: np.ndarray, previous: np.ndarray, supports: np.ndarray) -> np.ndarray:
    """A level that each support is clearly below, in floating point; -inf if nothing is feasible.

    No support with a feasible vector above its level is left out. Let V be the components on a
    support Y (p rows), ``V = LΣRᵀ`` as computed, K the columns of L with singular values above 1e-4
    and N the others. The computed factors multiply to V + E, ‖E‖ ≤ 1e-13, and are orthonormal up to
    1e-13: the routines err by a small multiple of the unit roundoff times the orders, which are at
    most 8. A feasible unit vector z has Vᵀz = 0, so that ``Σ(Lᵀz) = RᵀEᵀz`` up to 1e-13 and
    ‖Kᵀz‖ ≤ 3·1e-13/1e-4 = 3·1e-9. All other directions, those of small singular values too, are in
    N, so z = Nw + t with ‖t‖ ≤ 4·1e-9 and ‖w‖ ≤ 1 + 1e-8, and with q = ‖Q_Y‖ its value is at most
    ``λmax(NᵀQ_Y N) + 3·1e-8·q``. The eigenvalue is computed, from entries of Q that are rounded
    once, with an error of at most 1e-13·q. All of that is less than ``1e-7·‖Q_Y‖_F``, which is what
    the levels are above the eigenvalue.
    """
    p = supports.shape[1]
    parts = matrix[supports[:, :, None], supports[:, None, :]]
    if len(previous):
        left, singular, _ = np.linalg.svd(previous.T[supports], full_matrices=True)
        ranks = np.count_nonzero(singular > FREE_DIRECTION, axis=1)
    else:
        left = np.broadcast_to(np.eye(p), parts.shape)
        ranks = np.zeros(len(supports), dtype=int)
    levels = CLEARLY_BELOW * np.sqrt(np.einsum("bij,bij->b", parts, parts))
    levels[ranks == p] = -math.inf  # w has no entries: a unit vector cannot be as short as t
    for rank in np.unique(ranks[ranks < p]):
        chosen = np.flatnonzero(ranks == rank)
        basis = left[chosen][:, :, rank:]
        core = basis.transpose(0, 2, 1) @ parts[chosen] @ basis
        levels[chosen] += np.linalg.eigvalsh(core)[:, -1]
    return levels


@lru_cache(maxsize=16)
def _clear_levels(matrix: bytes, previous: bytes, n: int, p: int) -> np.ndarray:
    """The same for all supports; several bounds are asked for in a row of the same stage."""
    components = np.frombuffer(previous).reshape(-1, n)
    return clear_levels(np.frombuffer(matrix).reshape(n, n), components, supports_of(n, p))


def _near_the_bound(
    matrix: np.ndarray, previous: np.ndarray, p: int, bound: float
) -> Iterator[tuple[int, ...]]:
    """Supports that floating point does not show to be clearly below the bound."""
    n = len(matrix)
    levels = _clear_levels(matrix.tobytes(), np.asarray(previous).tobytes(), n, p)
    for support in supports_of(n, p)[levels >= bound]:
        yield tuple(support.tolist())


def within_tolerance(lower: float, upper: float, eps: float, gap: float) -> bool:
    """Whether ``upper - lower ≤ max(eps, gap·|lower|)`` for these very numbers."""
    allowed = max(Fraction(eps), Fraction(gap) * abs(Fraction(lower)))
    return Fraction(upper) - Fraction(lower) <= allowed


def nearly_orthogonal_support(
    components: np.ndarray, p: int, limit: float = ORTHOGONAL
) -> tuple[int, ...] | None:
    """A support with a unit vector z that has ``‖Xᵀz‖ ≤ limit``, X the components, or None.

    There is none on a support Y if and only if ``X_Y X_Yᵀ - limit²·I`` is positive definite.
    """
    supports = supports_of(components.shape[1], p)
    if len(components) < p:
        return tuple(supports[0].tolist())
    singular = np.linalg.svd(components.T[supports], compute_uv=False)
    # Computed with an error of at most 1e-13: one above 1e-6 is no matter of rounding.
    for support in supports[singular[:, -1] <= max(1e-6, 2 * limit)]:
        below = ExactMatrix.gram(components[:, support]).below(Fraction(limit) ** 2)
        if not is_psd([[-entry for entry in row] for row in below], strictly=True):
            return tuple(support.tolist())
    return None


@cache
def supports_of(n: int, p: int) -> np.ndarray:
    """All supports of p of n indices, one in each row."""
    return np.array(list(combinations(range(n), p)), dtype=np.intp)


def as_integers(matrix: np.ndarray) -> tuple[list[list[int]], int]:
    """Integers, and the exponent of the power of two by which they are to be divided."""
    ratios = [[float(entry).as_integer_ratio() for entry in row] for row in matrix]
    largest = max((d for row in ratios for _, d in row), default=1)
    return [[n * (largest // d) for n, d in row] for row in ratios], largest.bit_length() - 1


def dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _is_psd_across(matrix: list[list[int]], rows: list[list[int]]) -> bool:
    """Whether no vector that all rows map to zero has a negative value."""
    if not rows:
        return is_psd(matrix)
    basis = null_space(rows, len(matrix))
    images = [[dot(row, vector) for row in matrix] for vector in basis]
    return is_psd([[dot(vector, image) for image in images] for vector in basis])


def null_space(rows: list[list[int]], width: int) -> list[list[int]]:
    """A basis of the vectors that all rows map to zero, by elimination without fractions.

    Every entry is a minor of the matrix given, so that the divisions leave no remainder (Bareiss).
    """
    rows = [list(row) for row in rows]
    pivots: list[int] = []
    last = 1
    for column in range(width):
        top = len(pivots)
        found = next((r for r in range(top, len(rows)) if rows[r][column]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        pivot = rows[top][column]
        for r, row in enumerate(rows):
            if r != top:
                factor = row[column]
                rows[r] = [
                    (pivot * a - factor * b) // last for a, b in zip(row, rows[top], strict=True)
                ]
        last = pivot
        pivots.append(column)
    basis = []
    for free in (column for column in range(width) if column not in pivots):
        vector = [0] * width
        vector[free] = last
        for r, column in enumerate(pivots):
            vector[column] = -rows[r][free]
        basis.append(vector)
    return basis


def is_psd(matrix: list[list[int]], strictly: bool = False) -> bool:
    """Whether a symmetric integer matrix is positive semidefinite, or definite if ``strictly``."""
    matrix = [list(row) for row in matrix]
    last = 1
    while matrix:
        top, *rest = matrix
        pivot = top[0]
        if pivot < 0 or (pivot == 0 and (strictly or any(top))):
            return False
        if pivot == 0:
            matrix = [row[1:] for row in rest]
            continue
        matrix = [
            [(pivot * a - row[0] * b) // last for a, b in zip(row[1:], top[1:], strict=True)]
            for row in rest
        ]
        last = pivot
    return True


def exact_variance(Q: np.ndarray, x: np.ndarray) -> Fraction:
    """``xᵀQx / xᵀx``, of the doubles as they are."""
    used = np.flatnonzero(x).tolist()
    loading = {i: Fraction(float(x[i])) for i in used}
    form = sum(loading[i] * loading[j] * Fraction(float(Q[i, j])) for i in used for j in used)
    return form / sum(v * v for v in loading.values())


def exact_variance_of_data(B: np.ndarray, x: np.ndarray) -> Fraction:
    """``‖Bx‖² / xᵀx``, of the doubles as they are."""
    loading = {j: Fraction(float(x[j])) for j in np.flatnonzero(x).tolist()}
    image = [sum(Fraction(float(row[j])) * v for j, v in loading.items()) for row in B]
    return sum(v * v for v in image) / sum(v * v for v in loading.values())


def stated(Q: np.ndarray, x: np.ndarray) -> float:
    """The variance of a vector as it is to be stated; 0 of no vector."""
    return rounded_down(exact_variance(Q, x)) if x.any() else 0.0


def rounded_down(exact: Fraction) -> float:
    """The largest double that is not above a number."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)
