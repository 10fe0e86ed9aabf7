"""Tests of the border rule, one function at a time, in rational arithmetic.

Every number given to a function is taken at its exact value. Levels are those at which a function
changes its mind, to the last digit: what rounding does shows there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from helpers.eliminations import first_level
from helpers.problems import MATRICES
from orthospca.bounds import border
from orthospca.bounds.border import (
    bound_without_level,
    largest_squares,
    stays,
    stays_by_variance,
)


def exact_sums(row: np.ndarray, own: int, radius: float) -> list[Fraction]:
    """Sums of the 1, 2, … largest squares of a row without its own entry, each entry widened."""
    others = np.delete(row, own).tolist()
    squares = sorted(((abs(Fraction(x)) + Fraction(radius)) ** 2 for x in others), reverse=True)
    return [sum(squares[: k + 1], Fraction(0)) for k in range(len(squares))]


@pytest.mark.parametrize("tile", [1, 20, 2**17])
def test_largest_squares_are_rounded_up(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests every sum of every row: not below the exact one, and hardly above it."""
    monkeypatch.setattr(border, "TILE", tile)
    for seed, kind in enumerate(MATRICES):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        matrix = MATRICES[kind](rng, n)
        given = matrix.copy()
        for radius in (0.0, float(rng.choice([1e-300, 1e-16, 1e-3, 1.0])) * np.abs(matrix).max()):
            for count in (1, n - 1, n + 2):
                sums = largest_squares(matrix, count, radius)
                assert sums.shape == (n, count)
                for i in range(n):
                    exact = exact_sums(matrix[i], i, radius)
                    exact += [exact[-1]] * (count - len(exact))
                    for found, expected in zip(sums[i].tolist(), exact, strict=False):
                        assert Fraction(found) >= expected
                        assert found <= float(expected) * (1 + 1e-13) + 1e-280
        np.testing.assert_array_equal(matrix, given)


def test_largest_squares_of_a_single_feature() -> None:
    """Tests that there is nothing beside it, also if squares are asked for."""
    assert largest_squares(np.array([[7.0]]), 3).tolist() == [[0.0, 0.0, 0.0]]


def test_rounding_of_squares_shows() -> None:
    """Tests the test: plain sums of squares are often below the exact ones."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((9, 9))
    plain = [float(np.sort(np.delete(matrix[i], i) ** 2)[-3:].sum()) for i in range(9)]
    below = [Fraction(plain[i]) < exact_sums(matrix[i], i, 0.0)[2] for i in range(9)]
    assert any(below)


def numbers(count: int) -> Iterator[tuple[float, float, float]]:
    """A level, a bound below it and a variance: ordinary, tied, close, of very different sizes."""
    rng = np.random.default_rng(count)
    for _ in range(count):
        level = float(rng.uniform(0.5, 2.0))
        # Numbers of other sizes and signs: their differences are rounded.
        below, variance = level - 10.0 ** rng.uniform(-rng.choice([0.5, 10]), 0.5, 2)
        if rng.random() < 0.2:
            variance = below
        scale = 10.0 ** rng.uniform(-8, 8)
        yield level * scale, float(below * scale), float(variance * scale)


#: In units of the last place: around a product, sums of squares that it may or may not exceed.
UNITS = np.array([-64, *range(-20, 7)])


def sums_near(product: float) -> np.ndarray:
    return product + UNITS * math.ulp(product)


def is_out(level: float, below: float, variance: float, beta: float) -> bool:
    """What (1) says, of these very numbers."""
    L, U, Q = Fraction(level), Fraction(below), Fraction(variance)
    product = (L - U) * (L - Q)
    return L > U and L > Q and product > Fraction(beta)


def test_the_rule_is_asked_without_rounding() -> None:
    """Tests sums of squares around the product: what is dropped is out, and not much is left."""
    dropped = 0
    for level, below, variance in numbers(1000):
        beta = sums_near((level - below) * (level - variance))
        kept = stays(level, below, np.full(len(beta), variance), beta)
        assert not kept[0]
        for value in beta[~kept].tolist():
            assert is_out(level, below, variance, value)
        dropped += np.count_nonzero(~kept)
    assert dropped > 1500


def test_rounding_of_the_product_shows() -> None:
    """Tests the test: as computed, products often exceed what they do not exceed exactly."""
    wrong = 0
    for level, below, variance in numbers(1000):
        product = (level - below) * (level - variance)
        for value in sums_near(product).tolist():
            wrong += product > value and not is_out(level, below, variance, value)
    assert wrong > 10


def test_what_is_not_above_is_kept() -> None:
    """Tests equalities and the numbers that say nothing: everything stays."""
    diagonal, beta = np.array([1.0, 2.0, -3.0]), np.array([1e-290, 1e-290, 1e-290])
    assert stays(2.0, 2.0, diagonal, beta).all()
    assert stays(1.0, 2.0, diagonal, beta).all()
    assert stays(2.0, -math.inf, diagonal, beta).all()
    assert stays(2.0, math.inf, diagonal, beta).all()
    assert stays(2.0, math.nan, diagonal, beta).all()
    assert stays(math.nan, 1.0, diagonal, beta).all()
    # Of the three the second reaches the level by itself.
    assert stays(2.0, 1.0, diagonal, beta).tolist() == [False, True, False]
    assert stays(2.0, 1.0, diagonal, np.array([math.inf, 0.0, math.nan])).all()
    # A product that is the sum of squares, lowered by all that its rounding may be, is not more.
    edge = np.array([1.0 - 16 * 2.0**-53])
    assert stays(2.0, 1.0, np.array([1.0]), edge).all()
    assert not stays(2.0, 1.0, np.array([1.0]), np.nextafter(edge, 0.0)).any()


def test_products_that_vanish_drop_nothing() -> None:
    """Tests differences so small that their product is zero."""
    below = 1e-200
    level = math.nextafter(below, 1.0)
    assert stays(level, below, np.array([below]), np.array([1e-290])).all()
    assert stays(level, below, np.array([below]), np.array([0.0])).all()


def test_the_rule_of_variances_is_asked_without_rounding() -> None:
    """Tests levels at which a feature is just ruled out, and that little more is asked for."""
    for _, below, variance in numbers(400):
        below, variance = abs(below), abs(variance)
        exact = Fraction(below) + Fraction(variance)

        def dropped(level: float, below=below, variance=variance) -> bool:
            return not stays_by_variance(level, below, np.array([variance]))[0]

        high = (below + variance) * (1 + 1e-12) + 1e-280
        level = first_level(0.0, high, dropped)
        assert Fraction(level) > exact
        assert level <= float(exact) * (1 + 1e-14)
    diagonal = np.array([1.0, 0.0])
    assert stays_by_variance(3.0, 2.0, diagonal).tolist() == [True, False]
    for below in (-math.inf, math.inf, math.nan):
        assert stays_by_variance(5.0, below, diagonal).all()


def test_bound_without_a_level() -> None:
    """Tests the bound against the roots: fewer than ``size`` of them are above it, exactly."""
    rng = np.random.default_rng(3)
    for _ in range(600):
        n = int(rng.integers(2, 8))
        size = int(rng.integers(2, n + 1))
        scale = 10.0 ** rng.uniform(-8, 8)
        below = float(rng.standard_normal()) * scale
        diagonal = rng.standard_normal(n) * scale
        beta = (scale * 10.0 ** rng.uniform(-rng.choice([1, 8]), 1, n)) ** 2
        beta[rng.random(n) < 0.1] = math.inf
        bound = bound_without_level(below, diagonal, beta, size)
        assert bound >= below
        if bound == math.inf:
            assert np.count_nonzero(np.isinf(beta)) >= size
            continue

        def above(j: int, level: Fraction, below=below, diagonal=diagonal, beta=beta) -> bool:
            if math.isinf(beta[j]):
                return True
            U, Q = Fraction(below), Fraction(float(diagonal[j]))
            product = (level - U) * (level - Q)
            return 2 * level < U + Q or product < Fraction(float(beta[j]))

        level = Fraction(bound)
        assert sum(above(j, level) for j in range(n)) < size
        if bound > below:
            largest = abs(below) + np.abs(diagonal).max() + np.sqrt(beta[np.isfinite(beta)]).max()
            less = level - Fraction(1e-14 * float(largest))
            assert sum(above(j, less) for j in range(n)) >= size


def test_bound_without_a_level_or_without_anything() -> None:
    """Tests what is said where nothing is known, or where there is no such support."""
    diagonal, beta = np.array([1.0, 2.0]), np.array([0.5, 0.5])
    assert bound_without_level(-math.inf, diagonal, beta, 2) == math.inf
    assert bound_without_level(math.inf, diagonal, beta, 2) == math.inf
    assert bound_without_level(math.nan, diagonal, beta, 2) == math.inf
    assert bound_without_level(1.5, diagonal, beta, 3) == 1.5
    assert bound_without_level(9.0, np.zeros(2), np.zeros(2), 2) >= 9.0
