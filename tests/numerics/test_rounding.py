"""Tests of outward rounding: nothing that is called a bound is below what it bounds, exactly.

Every number is compared as a fraction. The numbers are random over the whole range of floats, and
adversarial: at both of its ends, one unit apart, nearly cancelling, and such that every rounding of
a sum errs in the same direction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from helpers.seeds import FULL
from orthospca.numerics.rounding import (
    TINY,
    UNIT,
    add_up,
    dot_radius,
    lowered,
    mul_up,
    raised,
    relative_error,
    root_of_squares_up,
    up,
)

LARGEST = float(np.finfo(float).max)
SMALLEST = math.nextafter(0.0, 1.0)

#: Ends of the range, neighbours of powers of two, numbers that are not sums of few powers.
MAGNITUDES = (
    0.0,
    SMALLEST,
    3 * SMALLEST,
    math.nextafter(2.0**-1022, 0.0),
    2.0**-1022,
    1e-290,
    1e-160,
    2.0**-54,
    2.0**-53,
    0.1,
    1 / 3,
    math.nextafter(1.0, 0.0),
    1.0,
    math.nextafter(1.0, 2.0),
    1.5,
    2.0**53 - 1,
    2.0**53,
    2.0**53 + 2,
    1e155,
    1e300,
    0.5 * LARGEST,
    LARGEST,
)
FINITE = tuple(sign * value for value in MAGNITUDES for sign in (1.0, -1.0))
NOT_FINITE = (math.inf, -math.inf, math.nan)


def random_float(rng: np.random.Generator) -> float:
    """Any size, and often a few units beside a number with a short mantissa."""
    value = float(rng.standard_normal()) * 10.0 ** float(rng.uniform(-320, 307))
    if rng.random() < 0.5:
        value = math.copysign(2.0 ** int(rng.integers(-1070, 1023)), value)
        for _ in range(int(rng.integers(0, 4))):
            value = math.nextafter(value, float(rng.choice([-math.inf, math.inf])))
    return value


def is_above(bound: float, exact: Fraction) -> bool:
    """Whether the bound is not below the exact number; infinity is a bound, not a number is not."""
    if not math.isfinite(bound):
        return bound == math.inf
    return Fraction(bound) >= exact


def nearest(exact: Fraction) -> float:
    """The float closest to a fraction; infinite where there is none."""
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


def steps_above(bound: float, exact: Fraction) -> int:
    """How many floats there are between the one closest to the exact number and the bound."""
    value, steps = nearest(exact), 0
    while value < bound:
        value, steps = math.nextafter(value, math.inf), steps + 1
        assert steps < 10
    return steps


# One operation


def test_up_is_the_next_float() -> None:
    """Tests that the next float is above, the very next one, and never passes another one."""
    rng = np.random.default_rng(0)
    values = sorted({*FINITE, *(random_float(rng) for _ in range(2000))})
    for value in values:
        above = up(value)
        assert above > value
        # The previous float of the next one is the number itself.
        assert math.nextafter(above, -math.inf) == value
    assert all(up(low) <= up(high) for low, high in itertools.pairwise(values))
    assert all(up(low) <= high for low, high in itertools.pairwise(values) if low < high)
    assert up(LARGEST) == math.inf
    assert up(math.inf) == math.inf
    assert up(-math.inf) == -math.inf
    assert math.isnan(up(math.nan))


def check_sum(terms: tuple[float, ...]) -> None:
    exact = sum(map(Fraction, terms), Fraction(0))
    bound = add_up(*terms)
    assert is_above(bound, exact), terms
    if sum(abs(Fraction(term)) for term in terms) <= Fraction(LARGEST):
        assert steps_above(bound, exact) <= 2, terms


def test_sum_of_two() -> None:
    """Tests all pairs of adversarial numbers, and random ones that nearly cancel."""
    for terms in itertools.product(FINITE, repeat=2):
        check_sum(terms)
    rng = np.random.default_rng(1)
    for _ in range(5000):
        value = random_float(rng)
        other = -value
        for _ in range(int(rng.integers(0, 5))):
            other = math.nextafter(other, float(rng.choice([-math.inf, math.inf])))
        check_sum((value, other))
        check_sum((value, random_float(rng)))


def test_sum_of_two_that_is_exact_is_not_raised() -> None:
    """Tests that where nothing is rounded nothing is lost: caps and zeros are handed on as is."""
    rng = np.random.default_rng(2)
    for _ in range(3000):
        value, other = random_float(rng), random_float(rng)
        assert add_up(value, 0.0) == value
        assert add_up(0.0, value) == value
        exact = Fraction(value) + Fraction(other)
        if abs(exact) <= Fraction(LARGEST) and Fraction(nearest(exact)) == exact:
            assert add_up(value, other) == nearest(exact)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 10])
def test_sum_of_many(count: int) -> None:
    """Tests sums of any number of terms, large ones that cancel and leave small ones among them."""
    rng = np.random.default_rng(count)
    for _ in range(2000 if FULL else 500):
        terms = [float(rng.choice(FINITE)) for _ in range(count)]
        if count and rng.random() < 0.5:
            terms = [random_float(rng) for _ in range(count)]
            half = count // 2
            terms[half : 2 * half] = [-term for term in terms[:half]]
        check_sum(tuple(terms))


def test_sum_that_overflows() -> None:
    """Tests that overflow gives a bound, not an error; also where the exact sum does not."""
    assert add_up(LARGEST, LARGEST) == math.inf
    assert add_up(LARGEST, LARGEST, 1.0) == math.inf
    assert is_above(add_up(-LARGEST, -LARGEST), -2 * Fraction(LARGEST))
    assert is_above(add_up(LARGEST, LARGEST, -LARGEST), Fraction(LARGEST))
    # Nothing may be lost of what large terms that cancel leave, be it as small as it may.
    for small in (SMALLEST, 1e-305, 4.5e-305, 1e-290, 1.0, 1e292):
        for count in (1, 3, 50):
            terms = (LARGEST, LARGEST, -LARGEST, -LARGEST, *[small] * count)
            assert is_above(add_up(*terms), count * Fraction(small)), (small, count)
            negative = (LARGEST, LARGEST, -LARGEST, -LARGEST, *[-small] * count)
            assert is_above(add_up(*negative), -count * Fraction(small)), (small, count)


def test_sum_with_infinities() -> None:
    """Tests that an infinite term decides, and that opposite ones leave no number."""
    for value in FINITE:
        assert add_up(value, math.inf) == math.inf
        assert add_up(-math.inf, value) == -math.inf
        assert math.isnan(add_up(value, math.nan))
    assert math.isnan(add_up(math.inf, -math.inf))
    assert math.isnan(add_up(1.0, math.nan, math.inf))


def check_product(a: float, b: float) -> None:
    exact = Fraction(a) * Fraction(b)
    bound = mul_up(a, b)
    assert is_above(bound, exact), (a, b)
    if abs(exact) <= Fraction(LARGEST):
        assert steps_above(bound, exact) <= 1, (a, b)


def test_product() -> None:
    """Tests products that underflow, overflow or are halfway between two floats."""
    for a, b in itertools.product(FINITE, repeat=2):
        check_product(a, b)
    rng = np.random.default_rng(3)
    for _ in range(10_000):
        check_product(random_float(rng), random_float(rng))


def test_product_with_infinities() -> None:
    """Tests that an infinite factor decides, and that zero times infinity is no number."""
    for value in FINITE:
        for infinite in (math.inf, -math.inf):
            bound = mul_up(value, infinite)
            assert math.isnan(bound) if value == 0 else bound == math.copysign(1, value) * infinite
        assert math.isnan(mul_up(value, math.nan))


def test_root_of_what_is_not_a_number() -> None:
    """Tests that a number that is not one stays one: as zero it would be a claim."""
    assert math.isnan(root_of_squares_up(math.nan, 3))


# Longer computations


def test_relative_error_covers_the_roundings() -> None:
    """Tests ``(1 + u)^k - 1`` and ``1 - (1 - u)^k``, and what is lost in using the number."""
    unit = Fraction(UNIT)
    for count in (0, 1, 2, 5, 30, 1000):
        error = Fraction(relative_error(count))
        assert error >= (1 + unit) ** (count + 4) - 1
        assert error >= 1 - (1 - unit) ** (count + 4)
        assert (1 + error) * (1 - unit) ** (count + 4) >= 1
    counts = [0, 1, 7, 10**3, 10**6, 10**9]
    assert all(relative_error(a) < relative_error(b) for a, b in itertools.pairwise(counts))
    assert relative_error(10**9) < 1e-6


def sequential(values: np.ndarray) -> np.ndarray:
    """From left to right, in the precision of the values."""
    total = values.dtype.type(0)
    for value in values:
        total = total + value
    return total


def by_halves(values: np.ndarray) -> np.ndarray:
    """Pairwise, in the precision of the values."""
    while len(values) > 1:
        if len(values) % 2:
            values = np.append(values, values.dtype.type(0))
        values = values[::2] + values[1::2]
    return values[0]


#: Ways to add up, each a different order.
ORDERS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda values: values.sum(),
    sequential,
    lambda values: sequential(values[::-1]),
    lambda values: sequential(np.sort(values)),
    lambda values: sequential(np.sort(values)[::-1]),
    by_halves,
)


def creeping(count: int) -> np.ndarray:
    """A one and numbers just short of half a unit: each addition to it loses nearly all of them."""
    values = np.full(count, math.nextafter(UNIT, 0.0))
    values[0] = 1.0
    return values


def positive_numbers(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Numbers ≥ 0 to be added up."""
    for count in (1, 2, 3, 10, 100, 1000):
        yield creeping(count)
        # All in one direction: sums with odd last digits are halved again and again.
        yield np.full(count, 0.1)
        yield np.full(count, SMALLEST)
        yield rng.random(count)
        yield 10.0 ** rng.uniform(-320, 300, count)
        yield 10.0 ** rng.uniform(-8, 8, count)
        yield np.zeros(count)


def exact_sum(values: np.ndarray) -> Fraction:
    return sum((Fraction(float(value)) for value in values), Fraction(0))


def exact_dot(left: np.ndarray, right: np.ndarray) -> Fraction:
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))


def test_sums_of_one_sign_in_any_order() -> None:
    """Tests that sums are raised above, and lowered below, the exact sum, whatever the order."""
    for values in positive_numbers(np.random.default_rng(5)):
        exact, count = exact_sum(values), len(values)
        for add in ORDERS:
            total = float(add(values))
            assert is_above(raised(total, count - 1), exact)
            assert Fraction(lowered(total, count - 1)) <= exact
            # The same of numbers below zero.
            assert is_above(raised(-total, count - 1), -exact)
            assert Fraction(lowered(-total, count - 1)) <= -exact
            loose = Fraction(relative_error(count) * 3) * exact + 3 * Fraction(TINY)
            assert Fraction(raised(total, count - 1)) <= exact + loose


def mixed_numbers(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Vectors whose products have both signs; in some nearly everything cancels."""
    for count in (1, 2, 3, 10, 100, 1000):
        left, right = rng.standard_normal((2, count))
        yield left, right
        yield left * 10.0 ** rng.uniform(-150, 150, count), right
        yield left * 10.0 ** rng.uniform(-320, -150, count), right * 1e-20
        yield np.full(count, SMALLEST), np.full(count, 0.4)
        yield np.append(left, left), np.append(right, -right * (1 + 2.0**-52))
        yield np.append(creeping(count), [1.0]), np.append(np.ones(count), [-1.0])


def test_inner_products_in_any_order() -> None:
    """Tests inner products that cancel: the magnitude, itself rounded, says what may be lost."""
    for left, right in mixed_numbers(np.random.default_rng(6)):
        exact, count = exact_dot(left, right), len(left)
        products = left * right
        for add in ORDERS:
            total, magnitude = float(add(products)), float(add(np.abs(products)))
            assert is_above(raised(total, count, magnitude), exact)
            assert Fraction(lowered(total, count, magnitude)) <= exact
            assert abs(Fraction(total) - exact) <= Fraction(dot_radius(count, magnitude))
        # As BLAS does it, with or without fused operations.
        total, magnitude = float(left @ right), float(np.abs(left) @ np.abs(right))
        assert is_above(raised(total, count, magnitude), exact)
        assert Fraction(lowered(total, count, magnitude)) <= exact
        assert abs(Fraction(total) - exact) <= Fraction(dot_radius(count, magnitude))


def test_other_additions_count_as_terms() -> None:
    """Tests an inner product to which further numbers are added, as the radius is documented."""
    rng = np.random.default_rng(7)
    for left, right in mixed_numbers(rng):
        more = rng.standard_normal(3) * float(np.abs(left * right).max())
        exact = exact_dot(left, right) + exact_sum(more)
        total = float(left @ right)
        magnitude = float(np.abs(left) @ np.abs(right))
        for number in more:
            total, magnitude = total + float(number), magnitude + abs(float(number))
        radius = dot_radius(len(left) + len(more), magnitude)
        assert abs(Fraction(total) - exact) <= Fraction(radius)


PRECISIONS = [
    pytest.param(np.float32, 2.0**-24, id="single"),
    pytest.param(np.float64, UNIT, id="double"),
    pytest.param(np.longdouble, float(np.finfo(np.longdouble).eps) / 2, id="extended"),
]


@pytest.mark.parametrize(("precision", "unit"), PRECISIONS)
def test_radius_in_any_precision(precision: type, unit: float) -> None:
    """Tests that the radius with the unit of a precision covers what is lost in it.

    The sizes stay away from the ends of the range: what underflow takes from single precision is
    not promised.
    """
    rng = np.random.default_rng(8)
    for count in (1, 2, 5, 40, 300):
        for spread in (0, 3, 8):
            sizes = 10.0 ** rng.uniform(-spread, spread, (2, count))
            left, right = (rng.standard_normal((2, count)) * sizes).astype(precision)
            if count > 1 and spread:
                right[1::2] = -right[: 2 * (count // 2) : 2]
                left[1::2] = left[: 2 * (count // 2) : 2] * precision(1 + 4 * unit)
            exact = sum(
                (exact_value(a) * exact_value(b) for a, b in zip(left, right, strict=True)),
                Fraction(0),
            )
            products = left * right
            totals = [add(products) for add in ORDERS] + [left @ right]
            magnitude = float(np.abs(left).astype(float) @ np.abs(right).astype(float))
            for total in totals:
                error = abs(exact_value(total) - exact)
                assert error <= Fraction(dot_radius(count, magnitude, unit))
                # The magnitude may have been added up in the same precision.
                own = float(sequential(np.abs(products)))
                assert error <= Fraction(dot_radius(count, own, unit))


def exact_value(number: np.floating) -> Fraction:
    """The exact value of a number of any precision."""
    high = float(number)
    rest = float(number - type(number)(high))
    return Fraction(high) + Fraction(rest)


def test_radius_of_arrays() -> None:
    """Tests that arrays of magnitudes have the radii of their entries."""
    magnitudes = np.array([[0.0, 1.0], [1e-300, 1e200]])
    for terms in (0, 1, 50):
        radii = dot_radius(terms, magnitudes)
        for radius, magnitude in zip(radii.flat, magnitudes.flat, strict=True):
            assert radius == dot_radius(terms, float(magnitude))
            assert radius >= TINY


def test_roots_of_sums_of_squares() -> None:
    """Tests norms: the square of the bound is not below the exact sum of squares."""
    rng = np.random.default_rng(10)
    for values in positive_numbers(rng):
        if values.max() > 1e150:
            continue
        exact, count = exact_dot(values, values), len(values)
        for add in ORDERS:
            bound = root_of_squares_up(float(add(values * values)), count)
            assert Fraction(bound) ** 2 >= exact
    # What rounding has made negative is zero.
    assert 0.0 <= root_of_squares_up(-1e-18, 4) <= 2 * math.sqrt(TINY)
    assert root_of_squares_up(math.inf, 4) == math.inf


@pytest.mark.parametrize("operations", [0, 1, 100])
def test_what_is_not_finite_proves_nothing(operations: int) -> None:
    """Tests that infinity stays a bound, and that nothing turns into a number that was not one."""
    assert raised(math.inf, operations) == math.inf
    assert raised(1.0, operations, math.inf) == math.inf
    assert lowered(1.0, operations, math.inf) == -math.inf
    assert not math.isfinite(raised(-math.inf, operations))
    assert not math.isfinite(lowered(math.inf, operations))
    for bound in (raised, lowered):
        assert math.isnan(bound(math.nan, operations))
        assert math.isnan(bound(1.0, operations, math.nan))
    assert dot_radius(operations, math.inf) == math.inf
    assert math.isnan(dot_radius(operations, math.nan))
    values = np.array([1.0, math.nan, 2.0])
    assert np.isnan(raised(values, operations)).tolist() == [False, True, False]


def test_arrays_are_raised_entry_by_entry() -> None:
    """Tests that an array has the bounds of its entries, and is left alone."""
    rng = np.random.default_rng(11)
    values = rng.standard_normal(50) * 10.0 ** rng.uniform(-300, 300, 50)
    magnitudes = np.abs(values) * rng.uniform(1, 10, 50)
    before = values.copy()
    for bound in (raised, lowered):
        alone = [bound(float(v), 7) for v in values]
        with_magnitude = [
            bound(float(v), 7, float(m)) for v, m in zip(values, magnitudes, strict=True)
        ]
        assert bound(values, 7).tolist() == alone
        assert bound(values, 7, magnitudes).tolist() == with_magnitude
    assert (raised(values, 7) > values).all()
    assert (lowered(values, 7) < values).all()
    assert values.tolist() == before.tolist()
