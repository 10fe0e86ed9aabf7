"""Covariances of data, entry by entry, in exact arithmetic: wherever they are, however formed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from orthospca import DataCovariance, solve
from orthospca.data import columns
from orthospca.data.forming import never


def difficult(seed: int, m: int = 40, n: int = 14) -> np.ndarray:
    """Columns that are far from zero, nearly equal, of very different sizes, or nearly constant."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * 10.0 ** rng.integers(-6, 7, n)
    X[:, 1] = X[:, 0] * (1 + 1e-12 * rng.standard_normal(m))
    X[:, 2] += 1e6 * np.abs(X[:, 2]).max()
    X[:, 3] = X[:, 4] - X[:, 5]
    X[:, 6] = 0.0
    X[::7, 6] = 1.0
    return X


def stored(X: np.ndarray, kind: str, folder: Path) -> Any:
    """The same numbers, elsewhere."""
    if kind == "sparse":
        return sparse.csr_matrix(X)
    order: Any = "F" if kind == "memory map by columns" else "C"
    held = np.memmap(folder / "x", dtype=np.float64, mode="w+", shape=X.shape, order=order)
    held[:] = X
    held.flush()
    return np.memmap(folder / "x", dtype=np.float64, mode="r", shape=X.shape, order=order)


KINDS = ["memory map", "memory map by columns", "sparse"]


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_entries_err_no_more_than_told(
    seed: int, kind: str, in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that every entry is within its radius, formed at once, grown or some rows at a time."""
    monkeypatch.setattr(columns, "CHUNK", 3)
    monkeypatch.setattr(columns, "LARGEST_COPY", 2**30 if in_memory else 0)
    X = difficult(seed)
    Q = DataCovariance(stored(X, kind, tmp_path))
    n = Q.n_features
    rng = np.random.default_rng(seed)
    B = [[Fraction(float(value)) for value in column] for column in Q.factor(np.arange(n)).T]
    exact = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in B] for x in B]
    order = rng.permutation(n)
    first = Q.submatrix(order[:5])
    grown = Q.formed(order, never, first)
    assert grown is not None
    back = np.argsort(order)
    ways = [Q.submatrix(np.arange(n)), grown[np.ix_(back, back)]]
    ways.append(np.vstack([Q.cross(np.arange(k, k + 1), np.arange(n)) for k in range(n)]))
    radius = Fraction(Q.relative_radius)
    for found in ways:
        for i in range(n):
            for j in range(n):
                error = Fraction(float(found[i, j])) - exact[i][j]
                assert error**2 <= radius**2 * exact[i][i] * exact[j][j]
    for i in range(n):
        assert abs(Fraction(float(Q.diagonal[i])) - exact[i][i]) <= radius * exact[i][i]


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("seed", range(3))
def test_where_the_data_are_makes_no_difference(seed: int, kind: str, tmp_path: Path) -> None:
    """Tests that a memory map has the components and bounds of the array."""
    X = difficult(seed) * 1e-3
    inside, outside = solve(DataCovariance(X), 3, 3), DataCovariance(stored(X, kind, tmp_path))
    found = solve(outside, 3, 3)
    np.testing.assert_allclose(found.variances, inside.variances, rtol=1e-12)
    assert (found.upper_bounds >= inside.variances * (1 - 1e-9)).all()
    assert (inside.upper_bounds >= found.variances * (1 - 1e-9)).all()
    assert [c.status for c in found.stages] == [c.status for c in inside.stages]
