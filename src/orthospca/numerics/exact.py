"""Variances without rounding: what is told of a vector is never more than it has.

A double is an integer times a power of two, so a quadratic form of doubles is a matter of integers.
Where the matrix is ``BᵀB`` of long columns that would take too long, and sums that carry their own
rounding errors along give a lower bound that is within a few units of the last place.

See ``docs/theory/rigor.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.numerics.rounding import TINY, UNIT, raised

#: Rows of data worked on at once; their columns then fit in the cache.
ROWS_AT_ONCE = 4096
#: Splits a double into two halves whose products are exact (T. J. Dekker, 1971).
SPLITTER = 2.0**27 + 1


def variance_down(matrix: Array, x: Array) -> float:
    """Return the largest double that is not above ``xᵀQx / xᵀx``.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Q, in doubles; finite.
    x : array of shape (n,)
        Not zero; only where it is not is Q looked at.
    """
    used = np.flatnonzero(x)
    if len(used) < len(x):
        matrix, x = matrix[np.ix_(used, used)], x[used]
    integers, _ = _as_integers(x)
    entries, exponent = _as_integers(matrix)
    form, length = int(integers @ (entries @ integers)), int(integers @ integers)
    if exponent >= 0:
        return quotient_down(form << exponent, length)
    return quotient_down(form, length << -exponent)


def factor_variance_down(columns: Array, x: Array) -> float:
    """Return a double that is not above ``‖Bx‖² / xᵀx``, and close to it.

    Each entry of ``Bx`` is a pair s + c (T. Ogita, S. M. Rump and S. Oishi, *Accurate sum and dot
    product*, SIAM J. Sci. Comput. 26, 2005).  With the sums a of the magnitudes of its p terms it
    is off by at most ``5(p + 1)²u²·a``, so that, with the norm E of these,

    ``‖Bx‖ ≥ ‖s + c‖ - E``,  with  ``‖s + c‖² = Σ s² + Σ (2s + c)c``.

    Parameters
    ----------
    columns : array of shape (m, p)
        Columns of B.
    x : array of shape (p,)
        Not zero.
    """
    m, p = columns.shape
    terms: list[float] = []
    doubt = sizes = 0.0
    for start in range(0, m, ROWS_AT_ONCE):
        s, c, a = _products(columns[start : start + ROWS_AT_ONCE], x)
        squares, errors = _two_product(s, s)
        cross = (2.0 * s + c) * c
        terms += [*squares.tolist(), *errors.tolist(), *cross.tolist()]
        doubt += float(np.sum((2.0 * np.abs(s) + np.abs(c)) * np.abs(c)))
        sizes += float(a @ a)
    count = m + 3 * p + 16
    # The products (2s + c)c were rounded twice each, and squares may have vanished.
    doubt = raised(doubt, count) * 4 * UNIT + TINY
    radius = 5 * (p + 1) ** 2 * UNIT**2 * raised(math.sqrt(sizes), count) + TINY
    squared = math.fsum(terms)
    lower = Fraction(squared) - Fraction(abs(squared)) * Fraction(UNIT) - Fraction(doubt)
    norm = raised(math.sqrt(max(squared, 0.0)), 4)
    lower -= 2 * Fraction(raised(radius * norm, 2))
    integers, exponent = _as_integers(x)
    length = Fraction(int(integers @ integers)) * Fraction(2) ** (2 * exponent)
    return max(down(lower / length), 0.0)


def down(exact: Fraction) -> float:
    """Return the largest double that is not above a number."""
    return quotient_down(exact.numerator, exact.denominator)


def quotient_down(numerator: int, denominator: int) -> float:
    """Return the largest double that is not above a quotient; the denominator is positive."""
    nearest = numerator / denominator
    above, below = nearest.as_integer_ratio()
    is_above = above * denominator > numerator * below
    return math.nextafter(nearest, -math.inf) if is_above else nearest


def total_down(values: Iterable[float]) -> float:
    """Return the largest double that is not above the sum of some numbers."""
    return down(sum(map(Fraction, values), Fraction(0)))


def inner_product(x: Array, y: Array) -> Fraction:
    """Return ``xᵀy`` of doubles, without rounding."""
    left, a = _as_integers(x)
    right, b = _as_integers(y)
    return Fraction(int(left @ right)) * Fraction(2) ** (a + b)


def _as_integers(values: Array) -> tuple[Any, int]:
    """Return integers N, of whatever length, and an e with ``values = N·2^e``."""
    mantissas, exponents = np.frexp(values)
    integers = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
    used = exponents[mantissas != 0]
    if used.size == 0:
        return integers, 0
    lowest = int(used.min())
    shifts = np.maximum(exponents - lowest, 0)
    if shifts.any():
        integers = integers << shifts.astype(object)
    return integers, lowest - 53


def _products(rows: Array, x: Array) -> tuple[Array, Array, Array]:
    """``Bx`` as s + c, and the sums of the magnitudes of its terms."""
    s, c = _two_product(rows[:, 0], x[0])
    sizes = np.abs(s)
    for j in range(1, len(x)):
        product, error = _two_product(rows[:, j], x[j])
        s, lost = _two_sum(s, product)
        c = c + (lost + error)
        sizes = sizes + np.abs(product)
    # Raised for the roundings of the sizes themselves.
    return s, c, raised(sizes, len(x) + 1)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """``a + b`` and what its rounding has taken (D. E. Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Array, b: Array | float) -> tuple[Array, Array]:
    """``a·b`` and what its rounding has taken, up to underflow (T. J. Dekker)."""
    product = a * b
    high, low = _halves(a)
    other_high, other_low = _halves(b)
    error = low * other_low - (
        ((product - high * other_high) - low * other_high) - high * other_low
    )
    return product, error


def _halves(a: Any) -> tuple[Any, Any]:
    """A double as a sum of two that have 26 digits each."""
    stretched = SPLITTER * a
    high = stretched - (stretched - a)
    return high, a - high
