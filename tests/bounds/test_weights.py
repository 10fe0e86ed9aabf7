"""Tests of weighted row sums: what they say of spectral radii, decided in rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from helpers.eliminations import first_level
from orthospca.bounds.conditioning.weights import WeightedRows


def random_magnitudes(rng: np.random.Generator) -> np.ndarray:
    """Entries ≥ 0 of any sizes, zeros on the diagonal: dense, sparse, with strong rows."""
    m = int(rng.integers(2, 8))
    square = rng.random((m, m)) * 10.0 ** rng.uniform(-rng.choice([0, 1, 6]), 0, (m, m))
    square *= rng.random((m, m)) < rng.choice([0.5, 1.0])
    strong = 10.0 ** rng.uniform(0, rng.choice([0, 2]), m)
    square = np.maximum(square, square.T) * np.outer(strong, strong)
    np.fill_diagonal(square, 0.0)
    return square


def reaches_one(A: np.ndarray, R: tuple[int, ...]) -> bool:
    """Whether ``ρ(A_R) ≥ 1``, exactly: A is symmetric and has no negative entries."""
    part = A[np.ix_(R, R)]
    radius = float(np.linalg.eigvalsh(part)[-1])
    return radius > 1 if abs(radius - 1) > 1e-9 else not is_definite(part)


def is_definite(part: np.ndarray) -> bool:
    """Whether ``I - part`` is positive definite, by elimination with fractions."""
    rows = [
        [Fraction(int(i == j)) - Fraction(float(x)) for j, x in enumerate(row)]
        for i, row in enumerate(part)
    ]
    for k in range(len(rows)):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True


def check(A: np.ndarray, size: int, rounds: int) -> tuple[bool, int, int]:
    """Everything that is said of one matrix; whether it was closed, what was dropped and forced."""
    m = len(A)
    given = A.copy()
    rows = WeightedRows(A, size, rounds)
    above = [R for R in combinations(range(m), min(size, m)) if reaches_one(given, R)]
    if rows.closed:
        assert above == []
        return True, 0, 0
    stays, forced = rows.stays(), rows.forced()
    assert stays.shape == forced.shape == (m,)
    for R in above:
        assert all(stays[list(R)]), R
        assert set(np.flatnonzero(forced)) <= set(R), R
    np.testing.assert_array_equal(A, given)
    return False, int((~stays).sum()), int(forced.sum())


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_nothing_that_reaches_one_is_ruled_out(rounds: int) -> None:
    """Tests random matrices, scaled so that the largest radius of a submatrix is around 1."""
    rng = np.random.default_rng(rounds)
    closed = dropped = forced = 0
    for _ in range(300):
        A = random_magnitudes(rng)
        size = int(rng.integers(2, len(A) + 2))
        subsets = combinations(range(len(A)), min(size, len(A)))
        radius = max(float(np.linalg.eigvalsh(A[np.ix_(R, R)])[-1]) for R in subsets)
        if radius == 0:
            continue
        A *= float(rng.choice([0.5, 0.9, 0.999, 1.0, 1 - 2**-50, 1 + 2**-50, 1.1, 2.0])) / radius
        found = check(A, size, rounds)
        closed, dropped, forced = closed + found[0], dropped + found[1], forced + found[2]
    assert closed > 20
    assert dropped > 20
    assert forced > 20


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_sharp_matrices(size: int) -> None:
    """Tests matrices of equal entries, whose row sums are their radius: no digit is given away.

    From 1 on nothing may be ruled out; clearly below, everything is.
    """
    for m in range(2, 8):
        terms = min(size, m) - 1
        for entry in (1 / terms, np.nextafter(1 / terms, 1.0)):
            A = np.full((m, m), entry)
            np.fill_diagonal(A, 0.0)
            rows = WeightedRows(A, size, 5)
            if Fraction(float(entry)) * terms >= 1:
                assert not rows.closed
                assert rows.stays().all()
                # With more indices than places none of them is needed.
                assert m <= size or not rows.forced().any()
        assert WeightedRows(A * (1 - 1e-12), size, 5).closed


def circulant(values: np.ndarray) -> np.ndarray:
    """A symmetric matrix whose rows have the same entries, and so the same sum: its radius."""
    m = 2 * len(values) + 1
    distance = np.abs(np.arange(m)[:, None] - np.arange(m)[None, :])
    return np.append(0.0, values)[np.minimum(distance, m - distance)]


def largest_values(
    rng: np.random.Generator, says: Callable[[np.ndarray], bool]
) -> tuple[np.ndarray, Fraction]:
    """Entries of a circulant of which something is said, but not if one were larger; its radius."""
    values = rng.uniform(0.2, 1.0, int(rng.choice([1, 1, 2, 3, 6])))
    values /= 2 * values.sum()
    values *= 1 - first_level(-1e-6, 0.5, lambda shrunk: says(values * (1 - shrunk)))
    for k in rng.permutation(np.repeat(np.arange(len(values)), 6)):
        larger = values.copy()
        larger[k] = np.nextafter(values[k], 2.0)
        if says(larger):
            values = larger
    return values, 2 * sum(map(Fraction, values.tolist()), Fraction(0))


@pytest.mark.parametrize("rounds", [1, 3])
def test_sums_at_the_edge(rounds: int) -> None:
    """Tests matrices that are just closed, to the last digit of each entry."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        radius = largest_values(rng, lambda v: WeightedRows(circulant(v), 99, rounds).closed)[1]
        assert 1 - 1e-12 < radius < 1


@pytest.mark.parametrize("strength", [10.0, 1e4, 1e8])
def test_forced_next_to_large_numbers(strength: float) -> None:
    """Tests an index that is just forced: what it takes from the sums of others is far larger."""
    for seed in range(40):
        rng = np.random.default_rng(seed)

        def joined(values: np.ndarray) -> np.ndarray:
            inner = circulant(values)
            A = np.zeros((len(inner) + 1, len(inner) + 1))
            A[1:, 1:] = inner
            A[0, 1:] = A[1:, 0] = strength * np.linspace(1.0, 1.3, len(inner))
            return A

        def is_forced(values: np.ndarray, joined=joined) -> bool:
            A = joined(values)
            return bool(WeightedRows(A, len(A) - 1, 1).forced()[0])

        radius = largest_values(rng, is_forced)[1]
        assert 1 - 1e-13 * strength - 1e-12 < radius < 1


def test_more_places_than_indices() -> None:
    """Tests that a support larger than the matrix is the whole matrix."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        A = random_magnitudes(rng)
        A /= max(float(np.linalg.eigvalsh(A)[-1]), 1e-300)
        for size in (len(A), len(A) + 1, len(A) + 5):
            check(A * 0.99, size, 5)
            check(A * 1.01, size, 5)


def test_rows_of_zeros() -> None:
    """Tests indices that nothing is connected with: they may be in a support, but need not."""
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = 1.5
    rows = WeightedRows(A, 3, 5)
    assert not rows.closed
    assert rows.stays().all()
    assert rows.forced().tolist() == [True, True, False, False, False]
    assert WeightedRows(np.zeros((4, 4)), 2, 5).closed
