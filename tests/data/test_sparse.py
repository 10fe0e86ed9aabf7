"""Tests of sparse columns that are centred without being filled: their error, in fractions.

The covariance is that of the means and divisors as they were computed; everything else is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from orthospca import DataCovariance
from orthospca.data.sparse import FULLEST


def constant(rng: np.random.Generator, count: int) -> np.ndarray:
    """The same large number wherever there is one: the mean is as large as it can be."""
    return np.full(count, rng.uniform(1.0, 2.0) * 10.0 ** float(rng.integers(0, 9)))


def nearly_constant(rng: np.random.Generator, count: int) -> np.ndarray:
    """A large number and a little noise."""
    return constant(rng, count) * (1 + 1e-9 * rng.standard_normal(count))


def noise(rng: np.random.Generator, count: int) -> np.ndarray:
    """Both signs, many sizes."""
    return rng.standard_normal(count) * 10.0 ** rng.uniform(-6, 6, count)


def ones(rng: np.random.Generator, count: int) -> np.ndarray:
    """Counts of words: mostly one."""
    return rng.geometric(0.8, count).astype(float)


def vanishing(rng: np.random.Generator, count: int) -> np.ndarray:
    """One large number, beside which the squares of the others vanish one by one."""
    values = np.sqrt(0.9 * 2.0**-53 * rng.uniform(0.5, 1.0, count))
    values[0] = 1.0
    return values * 10.0 ** float(rng.integers(0, 5))


FILLS = (constant, nearly_constant, noise, ones, vanishing)


def matrix_of(
    rng: np.random.Generator, m: int, fill: Callable[[np.random.Generator, int], np.ndarray]
) -> sparse.csc_matrix:
    """Columns from almost empty to full, many of them just sparse enough to be left so."""
    most = int(FULLEST * m)
    counts = [most, most, most, most + 1, max(most // 3, 1), 1, m, m]
    columns = np.zeros((m, len(counts)))
    for j, count in enumerate(counts):
        rows = rng.permutation(m)[:count]
        if j == 1:
            rows = np.flatnonzero(columns[:, 0])  # the same rows: the largest products
        columns[rows, j] = fill(rng, count)
    return sparse.csc_matrix(columns)


class Exact:
    """``B`` and ``BᵀB`` in fractions."""

    def __init__(self, Q: DataCovariance, data: sparse.csc_matrix) -> None:
        self.columns = []
        source = Q.source
        for j, column in enumerate(data.toarray().T.tolist()):
            mean, divisor = float(source.mean[j]), float(source.divisor[j])
            if np.isinf(divisor):
                self.columns.append([Fraction(0)] * len(column))
                continue
            centre = Fraction(mean)
            self.columns.append([(Fraction(x) - centre) / Fraction(divisor) for x in column])

    def times(self, j: int, vector: list[Fraction]) -> Fraction:
        return sum((a * b for a, b in zip(self.columns[j], vector, strict=True)), Fraction(0))

    def entry(self, i: int, j: int) -> Fraction:
        return self.times(i, self.columns[j])


@pytest.mark.parametrize("correlation", [False, True])
@pytest.mark.parametrize("fill", FILLS)
def test_radius_covers_what_centring_cancels(fill, correlation: bool) -> None:
    """Tests each entry, with means as large as zeros allow: the error is within the radius."""
    for seed, m in enumerate((8, 16, 40, 100)):
        rng = np.random.default_rng(seed)
        data = matrix_of(rng, m, fill)
        Q = DataCovariance(data, correlation=correlation)
        n = Q.n_features
        full = np.diff(data.indptr) > FULLEST * m
        assert 3 <= np.count_nonzero(full) < n
        everything = np.arange(n)
        exact = Exact(Q, data)
        diagonal = [exact.entry(j, j) for j in range(n)]
        radius = Fraction(Q.relative_radius)
        found = Q.cross(everything, everything)
        symmetric = Q.submatrix(everything)
        for i in range(n):
            error = abs(Fraction(float(Q.diagonal[i])) - diagonal[i])
            assert error <= radius * diagonal[i]
            for j in range(n):
                expected = exact.entry(i, j)
                allowed = radius**2 * diagonal[i] * diagonal[j]
                for entry in (found[i, j], symmetric[i, j]):
                    assert (Fraction(float(entry)) - expected) ** 2 <= allowed, (seed, i, j)


@pytest.mark.parametrize("fill", FILLS)
def test_radius_covers_products_with_filled_vectors(fill) -> None:
    """Tests products of all columns with a few vectors, of which one is nearly constant."""
    for seed, m in enumerate((8, 40, 100)):
        rng = np.random.default_rng(seed)
        data = matrix_of(rng, m, fill)
        Q = DataCovariance(data)
        exact = Exact(Q, data)
        vectors = np.column_stack([rng.standard_normal(m), 1 + 1e-9 * rng.standard_normal(m)])
        found = Q.times(vectors)
        radius = Fraction(Q.relative_radius)
        for k in range(2):
            vector = [Fraction(x) for x in vectors[:, k].tolist()]
            norm = sum(x * x for x in vector)
            for j in range(Q.n_features):
                error = Fraction(float(found[j, k])) - exact.times(j, vector)
                assert error**2 <= radius**2 * norm * exact.entry(j, j), (seed, j)


def test_fuller_columns_would_not_be_covered() -> None:
    """Tests the test: of columns that are nearly full and nearly constant too much cancels."""
    rng = np.random.default_rng(0)
    m = 40
    data = sparse.csc_matrix(1e8 + rng.standard_normal((m, 2)))
    Q = DataCovariance(data)
    exact = Exact(Q, data)
    mean, divisor = Q.source.mean, Q.source.divisor
    plain = (data.T @ data).toarray() - m * np.outer(mean, mean)
    error = abs(Fraction(float(plain[0, 1] / (divisor[0] * divisor[1]))) - exact.entry(0, 1))
    allowed = Fraction(Q.relative_radius) ** 2 * exact.entry(0, 0) * exact.entry(1, 1)
    assert error**2 > 10**6 * allowed
    full = Fraction(float(Q.cross(np.array([0]), np.array([1]))[0, 0]))
    assert (full - exact.entry(0, 1)) ** 2 <= allowed
