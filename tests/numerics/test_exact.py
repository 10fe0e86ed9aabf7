"""What is told of a vector is never more than it has."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.exact import exact_variance, exact_variance_of_data, rounded_down
from orthospca.numerics.exact import (
    down,
    factor_variance_down,
    inner_product,
    total_down,
    variance_down,
)


def random_vector(rng: np.random.Generator, n: int) -> np.ndarray:
    """Loadings of very different sizes, some of them zero."""
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-12, 1, n)
    x[rng.random(n) < 0.2] = 0.0
    x[int(rng.integers(n))] = 1.0
    return np.asarray(x)


@pytest.mark.parametrize("seed", range(60))
def test_variances_are_exact_and_rounded_down(seed: int) -> None:
    """Tests the largest double that is not above ``xᵀQx / xᵀx``, for entries of any size."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    Q = rng.standard_normal((n, n)) * 10.0 ** rng.integers(-90, 90, (n, n) if seed % 2 else ())
    Q = np.asarray(Q + Q.T)
    x = random_vector(rng, n)
    assert variance_down(Q, x) == rounded_down(exact_variance(Q, x))


def test_variances_where_everything_cancels() -> None:
    """Tests (1, -1)/√2 in ``2³⁸·9·11ᵀ + diag(1, 3)``: sums of products give 2.000119."""
    Q = 2.0**38 * 9 * np.ones((2, 2)) + np.diag([1.0, 3.0])
    assert variance_down(Q, math.sqrt(0.5) * np.array([1.0, -1.0])) == 2.0
    assert variance_down(np.zeros((3, 3)), np.array([0.0, 1.0, 0.0])) == 0.0
    # The smallest numbers there are, and a quotient between two of them.
    assert variance_down(np.array([[5e-324]]), np.array([0.1])) == 5e-324
    tiny = np.array([[5e-324, 0.0], [0.0, 0.0]])
    assert variance_down(tiny, np.array([1.0, 1.0])) == 0.0
    assert variance_down(-tiny, np.array([1.0, 1.0])) == -5e-324


@pytest.mark.parametrize("seed", range(40))
def test_variances_of_data_are_close_from_below(seed: int) -> None:
    """Tests ``‖Bx‖² / xᵀx``, also where columns nearly cancel: below, by less than 1e-14 of it."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 40)), int(rng.integers(2, 7))
    B = rng.standard_normal((m, n)) * 10.0 ** rng.integers(-3, 4, n)
    x = rng.standard_normal(n)
    if seed % 2:
        B[:, -1] = -(B[:, :-1] @ x[:-1]) / x[-1] + 1e-7 * rng.standard_normal(m)
    exact, found = exact_variance_of_data(B, x), factor_variance_down(B, x)
    assert Fraction(found) <= exact
    assert exact - Fraction(found) <= exact * Fraction(1, 10**14)


def test_variances_of_many_rows() -> None:
    """Tests more rows than are worked on at once, and none with any variance."""
    B = np.random.default_rng(0).integers(-9, 10, (5000, 2)).astype(float)
    exact = Fraction(int(np.square(B.sum(axis=1)).sum()), 2)
    found = factor_variance_down(B, np.array([1.0, 1.0]))
    assert exact * (1 - Fraction(1, 10**15)) <= Fraction(found) <= exact
    assert factor_variance_down(np.zeros((5, 2)), np.array([0.6, 0.8])) == 0.0


def test_sums_and_products() -> None:
    """Tests totals rounded down, and inner products that are not rounded."""
    assert total_down([1.0, 2.0**-60]) == 1.0
    assert total_down([1.0, -(2.0**-60)]) == 1.0 - 2.0**-53
    assert total_down([]) == 0.0
    assert down(Fraction(1, 3)) <= Fraction(1, 3) < Fraction(math.nextafter(1 / 3, 1.0))
    x, y = np.array([1e200, 1.0, 0.0]), np.array([1e-200, 1e-30, 3.0])
    exact = Fraction(1e200) * Fraction(1e-200) + Fraction(1e-30)
    assert inner_product(x, y) == exact
    assert inner_product(np.zeros(2), np.ones(2)) == 0
