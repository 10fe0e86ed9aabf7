"""Tests of the variances of ordinary PCA, by whichever side of the data is smaller."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from orthospca import DataCovariance, solve
from orthospca._errors import InputError
from orthospca.interface.plotting import plot_scree
from orthospca.spectrum import leading_eigenvalues


def expected(X: np.ndarray, count: int, correlation: bool = False) -> np.ndarray:
    """The largest eigenvalues by singular values of the centred data, with zeros beyond them."""
    B = X - X.mean(axis=0)
    if correlation:
        deviation = B.std(axis=0, ddof=1)
        B = np.divide(B, deviation, out=np.zeros_like(B), where=deviation > 0)
    values = np.square(np.linalg.svd(B, compute_uv=False)) / (len(X) - 1)
    return np.concatenate([values, np.zeros(count)])[: min(count, X.shape[1])]


def sparse_data(m: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    X = rng.gamma(2.0, size=(m, n)) * (rng.random((m, n)) < 0.2)
    X[:, 3] = 0.0
    return X * np.linspace(1.0, 2.0, n)


@pytest.mark.parametrize("shape", [(12, 50), (50, 12)], ids=["wide", "tall"])
@pytest.mark.parametrize("lanczos", [False, True], ids=["gram", "lanczos"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("correlation", [False, True], ids=["covariance", "correlation"])
def test_every_way_agrees(shape, lanczos, kind, correlation):
    """Tests the product of either side, and Lanczos on either side, against singular values."""
    X = sparse_data(*shape)
    Q = DataCovariance(kind(X), correlation=correlation)
    found = leading_eigenvalues(Q, 3, 5 if lanczos else 50)
    np.testing.assert_allclose(found, expected(X, 3, correlation), rtol=1e-8)


def test_sparse_data_stay_sparse(monkeypatch):
    """Tests that Lanczos reads sparse data as they are, without columns made dense."""
    X = sparse_data(40, 60)
    Q = DataCovariance(sparse.csr_array(X))
    monkeypatch.setattr(DataCovariance, "factor", None)
    np.testing.assert_allclose(leading_eigenvalues(Q, 2, 5), expected(X, 2), rtol=1e-8)


def test_more_than_there_are():
    """Tests that beyond the samples there are zeros, and beyond the features nothing."""
    X = np.random.default_rng(0).standard_normal((4, 9))
    found = leading_eigenvalues(DataCovariance(X), 20)
    assert len(found) == 9 and (found[4:] == 0.0).all() and (found >= 0.0).all()
    np.testing.assert_allclose(found, expected(X, 20), atol=1e-12)
    np.testing.assert_allclose(leading_eigenvalues(np.cov(X.T), 3), found[:3])


def test_a_large_matrix_is_not_decomposed(monkeypatch):
    """Tests that a few eigenvalues of a large matrix of low rank cost no full decomposition."""
    import scipy.linalg

    X = np.random.default_rng(2).standard_normal((12, 700))
    Q = np.cov(X.T)
    monkeypatch.setattr(scipy.linalg, "eigh", None)
    np.testing.assert_allclose(leading_eigenvalues(Q, 3), expected(X, 3), rtol=1e-8)
    indefinite = Q - 0.5 * np.eye(700)
    np.testing.assert_allclose(leading_eigenvalues(indefinite, 3), expected(X, 3) - 0.5, rtol=1e-8)


def test_a_large_matrix_without_variance():
    """Tests that a matrix on which the iteration breaks down has its eigenvalues all the same."""
    np.testing.assert_array_equal(leading_eigenvalues(np.zeros((600, 600)), 2), [0.0, 0.0])
    np.testing.assert_allclose(leading_eigenvalues(np.eye(600), 2), [1.0, 1.0])


def test_repeated_eigenvalues_count_as_often_as_they_occur():
    """Tests a large matrix of equal blocks, whose eigenvalues all occur four times."""
    block = np.cov(np.random.default_rng(0).standard_normal((20, 150)).T)
    first, second = np.linalg.eigvalsh(block)[:-3:-1]
    found = leading_eigenvalues(np.kron(np.eye(4), block), 6)
    np.testing.assert_allclose(found, [first] * 4 + [second] * 2)


def test_another_matrix_is_no_comparison(tmp_path):
    """Tests that reports and pictures refuse a matrix that is not the one that was solved."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5)) * [1, 2, 3, 4, 5]
    result = solve(np.cov(X.T), 2, 2)
    for wrong, said in (
        (np.eye(3), "of 5 features, got 3"),
        (np.corrcoef(X.T), "whose trace is .*, got one with 5$"),
        (X, "Q must be a square matrix"),
    ):
        with pytest.raises(InputError, match=said):
            result.report(tmp_path / "report.html", wrong)
        with pytest.raises(InputError, match=said):
            plot_scree(result, wrong)
    assert not (tmp_path / "report.html").exists()
    result.report(tmp_path / "report.html", DataCovariance(X))
    nothing = np.zeros((2, 2))
    solve(nothing, 1).report(tmp_path / "report.html", nothing)
