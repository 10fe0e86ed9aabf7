"""Tests of contrasts: what varies in one condition and not in another."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from itertools import combinations
from operator import mul

import numpy as np
import pandas as pd
import pytest

from orthospca import DataCovariance, OrthogonalSparsePCA, solve
from orthospca.data.contrast import contrasted


@pytest.fixture(scope="module")
def samples():
    """Features 0 to 3 vary together in both conditions, 4 to 6 in the first only."""
    rng = np.random.default_rng(0)
    both = []
    for strength in (2.0, 0.0):
        X = rng.standard_normal((80, 9))
        X[:, :4] += 3.0 * rng.standard_normal((80, 1))
        X[:, 4:7] += strength * rng.standard_normal((80, 1))
        both.append(X)
    return both


def test_a_reference_takes_away_what_is_common(samples):
    """Tests solve and the estimator against the difference of two covariances of NumPy."""
    X, background = samples
    Q = np.cov(X.T) - 1.2 * np.cov(background.T)
    assert np.linalg.eigvalsh(Q)[0] < 0
    expected = solve(Q, 3, 2)
    assert solve(np.cov(X.T), 3).supports[0].max() < 4
    assert expected.supports[0].tolist() == [4, 5, 6]
    data, frame = DataCovariance(background), pd.DataFrame(np.cov(X.T), columns=list("abcdefghi"))
    for given in (DataCovariance(X), np.cov(X.T), frame):
        found = solve(given, 3, 2, reference=data, contrast=1.2)
        assert found.status.finished
        np.testing.assert_allclose(found.variances, expected.variances, rtol=1e-9)
    assert found.feature_names == tuple("abcdefghi")
    fitted = OrthogonalSparsePCA(2, 3, reference=background, contrast=1.2).fit(X)
    np.testing.assert_allclose(fitted.explained_variance_, expected.variances, rtol=1e-9)
    np.testing.assert_allclose(fitted.components_, expected.components, atol=1e-9)
    np.testing.assert_allclose(fitted.mean_, X.mean(axis=0))


def test_correlations_of_a_contrast_are_in_units_of_the_first_sample(samples):
    """Tests that both samples are divided by the same standard deviations."""
    X, background = samples
    scale = X.std(axis=0, ddof=1)
    Q = np.cov((X / scale).T) - np.cov((background / scale).T)
    options = {"covariance": "correlation", "reference": background}
    fitted = OrthogonalSparsePCA(1, 3, **options).fit(X)
    np.testing.assert_allclose(fitted.explained_variance_, solve(Q, 3).variances, rtol=1e-9)


@pytest.mark.parametrize(
    "reference, contrast, said",
    [
        (np.eye(4), 1.0, "reference must have the 9 features of what it is compared with, got 4"),
        (np.eye(9), -1.0, "contrast must be a number, at least 0, got -1.0"),
        (np.eye(9), "1", "contrast must be a number, at least 0, got '1'"),
    ],
)
def test_bad_references(samples, reference, contrast, said):
    """Tests sentences that name the argument."""
    with pytest.raises(ValueError, match=said):
        solve(np.cov(samples[0].T), 2, reference=reference, contrast=contrast)
    with pytest.raises(ValueError, match=said):
        OrthogonalSparsePCA(1, 2, reference=reference, contrast=contrast).fit(samples[0])


def test_a_reference_by_another_name(samples):
    """Tests that a bad reference is named, and that one with its features in another order is."""
    Q = pd.DataFrame(np.cov(samples[0].T)).add_prefix("v")
    with pytest.raises(ValueError, match="reference must be a square matrix of numbers, got 'a'"):
        solve(Q, 2, reference="a")
    turned = pd.DataFrame(np.eye(9), columns=Q.columns[::-1])
    said = "reference must have the features in their order, got 'v8' in the place of 'v0'"
    with pytest.raises(ValueError, match=said):
        solve(Q, 2, reference=turned)
    X = pd.DataFrame(samples[0], columns=Q.columns)
    with pytest.raises(ValueError, match=said):
        OrthogonalSparsePCA(1, 2, reference=X[X.columns[::-1]]).fit(X)


@pytest.mark.parametrize("correlation", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_certified_is_said(seed: int, correlation: bool) -> None:
    """Tests, in rational numbers, that a contrast and its bounds err by what the note says."""
    rng = np.random.default_rng(seed)
    X, background = (
        (rng.standard_normal((m, 5)) + rng.uniform(0, 10)) * 10.0 ** rng.uniform(-3, 3, 5)
        for m in (9, 200)
    )
    weight = float(rng.uniform(0, 3))
    kind = "correlation" if correlation else "empirical"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that features differ much
        fitted = OrthogonalSparsePCA(
            1, 2, covariance=kind, reference=background, contrast=weight
        ).fit(X)
    data = DataCovariance(X, correlation=correlation)
    results = [fitted.result_]
    if not correlation:
        results.append(solve(data, 2, reference=DataCovariance(background), contrast=weight))
    C, R = (_exact(part) for part in (data, DataCovariance(background)))
    s = [Fraction(x) for x in fitted.scale_.tolist()]
    exact = [
        [C[i][j] - Fraction(weight) * R[i][j] / (s[i] * s[j]) for j in range(5)] for i in range(5)
    ]
    formed = contrasted(data, DataCovariance(background), weight, fitted.scale_)[0]
    error = np.array(
        [[float(Fraction(formed[i, j]) - exact[i][j]) for j in range(5)] for i in range(5)]
    )
    for result in results:
        said = re.search(r"changes no variance by more than (\S+)$", result.note)
        assert said is not None
        radius = float(said[1])
        assert 0 < np.abs(np.linalg.eigvalsh(error)).max() <= radius
        assert radius < 1e-9 * np.abs(formed).max()
        for i, j in combinations(range(5), 2):
            # A 2 × 2 matrix has no eigenvalue above a bound whose difference to it is definite.
            upper = Fraction(result.upper_bounds[0]) + Fraction(radius)
            a, b, c = upper - exact[i][i], upper - exact[j][j], exact[i][j]
            assert a >= 0 and b >= 0 and a * b >= c * c


def _exact(data: DataCovariance) -> list[list[Fraction]]:
    """The products of the centred columns, in rational numbers."""
    columns = [[Fraction(x) for x in column] for column in data.factor(np.arange(5)).T.tolist()]
    return [[sum(map(mul, a, b), Fraction(0)) for b in columns] for a in columns]


def test_matrices_are_subtracted_as_they_are() -> None:
    """Tests that the note speaks of subtraction alone where matrices were given."""
    found = solve(np.diag([3.0, 1.0]), 1, reference=np.eye(2), contrast=0.1)
    assert float(found.note.split()[-1]) < 1e-13


def test_a_contrast_with_nothing() -> None:
    """Tests that a weight of nothing is not passed over."""
    with pytest.raises(ValueError, match=r"contrast needs a reference, got contrast=3\.0"):
        solve(np.eye(3), 1, contrast=3.0)
