"""Outward rounding: the vocabulary in which every bound adds up.

A floating-point operation errs by at most ``u = 2⁻⁵³`` of its result.  Functions whose names end in
``_up`` return a number that is not below the exact value of their expression on the numbers given.
The scalar ones round once and step to the next float; :func:`raised` and :func:`lowered` do the
same for the outcome of a longer computation whose operations have been counted.  Overflow gives
infinity, which is a valid upper bound, and a number that is not one stays one: it proves nothing.

The error bounds are proved in ``docs/theory/rigor.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np

from orthospca._typing import Array

#: Unit roundoff of double precision.
UNIT = 2.0**-53
#: Absorbs underflow: more than all products of a computation that fits in memory can lose to it.
TINY = 1e-290

#: The largest number that is not infinite.
LARGEST = float(np.finfo(np.float64).max)

Numbers = TypeVar("Numbers", float, Array)


def up(value: float) -> float:
    """Return the next float, or the value itself if it is infinite."""
    return math.nextafter(value, math.inf) if math.isfinite(value) else value


def add_up(*terms: float) -> float:
    """Return a bound on the sum of the terms, from their correctly rounded sum."""
    if not all(map(math.isfinite, terms)):
        return sum(terms)
    try:
        total = math.fsum(terms)
    except OverflowError:
        # A partial sum was too large, and perhaps the sum is not.
        exact = sum(map(Fraction, terms), Fraction(0))
        if abs(exact) > LARGEST:
            return math.inf if exact > 0 else -LARGEST
        return up(float(exact))
    # A sum of one or two floats is often exact: then there is nothing to round.
    return total if len(terms) == 2 and _is_exact(*terms, total) else up(total)


def _is_exact(a: float, b: float, total: float) -> bool:
    """Whether ``total = a + b`` exactly (Knuth's two-sum)."""
    part = total - a
    return (a - (total - part)) + (b - part) == 0.0


def mul_up(a: float, b: float) -> float:
    """Return a bound on the product."""
    product = a * b
    if product == -math.inf and math.isfinite(a) and math.isfinite(b):
        return math.nextafter(product, math.inf)
    return up(product)


def relative_error(operations: int) -> float:
    """Bound on the relative error that ``operations`` roundings of nonnegative numbers leave.

    Twice what is needed, and four more operations for the use that is made of it.
    """
    return 2 * (operations + 4) * UNIT


def raised(value: Numbers, operations: int, magnitude: Numbers | None = None) -> Numbers:
    """Raise a computed value above the exact one.

    Parameters
    ----------
    value : float or array
        Computed as a sum of products, of sums, of roots …
    operations : int
        Roundings between the numbers given and each term of the result, additions included.
    magnitude : float or array, optional
        The same computation with all terms taken in magnitude; not less than ``|value|``.  The
        value itself, if all its terms are of one sign.
    """
    size = abs(value) if magnitude is None else magnitude
    return value + relative_error(operations) * size + TINY


def lowered(value: Numbers, operations: int, magnitude: Numbers | None = None) -> Numbers:
    """Lower a computed value below the exact one; as :func:`raised`."""
    size = abs(value) if magnitude is None else magnitude
    return value - relative_error(operations) * size - TINY


def root_of_squares_up(squares: float, operations: int) -> float:
    """Return a bound on the root of a sum of squares that took so many operations."""
    # Squares may have vanished one by one: that is added before the root is taken.
    return raised(math.sqrt(max(squares, 0.0) + TINY), operations)


def dot_radius(terms: int, magnitude: Numbers, unit: float = UNIT) -> Numbers:
    """Bound on the rounding error of inner products with so many terms.

    Parameters
    ----------
    terms : int
        Products added up, in whatever order, and other additions made with the sum.
    magnitude : float or array
        The sums of the magnitudes of all that is added.
    unit : float
        Unit roundoff of the precision in which it was done.
    """
    return 2 * (terms + 4) * unit * magnitude + TINY
