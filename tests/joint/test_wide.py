"""Tests of sets of data whose covariance is not formed: M on some features, the others priced."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers.exact import ExactMatrix, exceeds
from helpers.seeds import seeds, spread
from orthospca import DataCovariance, OrthogonalSparsePCA, solve
from orthospca.bounds.border import largest_squares
from orthospca.facade import solve_with
from orthospca.joint import wide
from orthospca.joint.wide import Others
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT, RelaxedTuning
from orthospca.result import Status
from tests.joint.reference import best_total

#: Never formed, and relaxed on few features.
NOT_FORMED = replace(
    DEFAULT, joint=replace(DEFAULT.joint, relaxed=RelaxedTuning(features=0, first_features=2))
)


def data_of(seed, rng):
    """Small data of several kinds."""
    m, n = int(rng.integers(2, 7)), int(rng.integers(3, 7))
    X = rng.standard_normal((m, n))
    if seed % 4 == 1:
        X *= 10.0 ** rng.integers(-2, 3, n)
    if seed % 4 == 2:
        X = rng.integers(-2, 3, (m, n)).astype(float)
    if seed % 4 == 3:
        X[:, -1] = X[:, 0] + 1e-3 * X[:, -1]
    return X


def check_data(seed):
    """Value and bound of one problem against brute force; whether it was closed."""
    rng = np.random.default_rng([seed, 8])
    X = data_of(seed, rng)
    n = X.shape[1]
    K = int(rng.integers(2, min(n, 3) + 1))
    limits = [int(p) for p in rng.integers(1, min(n, 3) + 1, K)]
    if seed % 3:
        limits = [limits[0]] * K
    covariance = DataCovariance(X)
    exact = ExactMatrix.gram(covariance.factor(np.arange(n)))
    size = np.abs(exact.rounded).max() or 1.0
    best = best_total(exact.rounded, limits, rng)
    settings = Settings.validate(objective="joint", tuning=NOT_FORMED)
    result = solve_with(covariance, limits, K, settings)
    assert best <= result.joint_upper_bound + 1e-11 * size, seed
    C = result.components
    np.testing.assert_allclose(C @ C.T, np.eye(K), atol=1e-11)
    for x, variance, p in zip(C, result.variances, limits, strict=True):
        assert np.count_nonzero(x) <= p and variance <= exact.stated(x) + 1e-300
    if result.status is Status.OPTIMAL:
        assert result.joint_variance >= best - 1e-4 * abs(best) - 1e-10 * size
    return result.status is Status.OPTIMAL


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_against_brute_force(seed, monkeypatch):
    """Tests small data, with features that are priced and with some that are added."""
    monkeypatch.setattr(wide, "ROUNDS", 1 + seed % 2)
    check_data(seed)


@pytest.mark.slow
def test_against_brute_force_at_length():
    """Tests many more."""
    assert sum(map(check_data, spread(100, 600))) > 3


def check_prices(seed):
    """Prices of features against every support that has them, in exact arithmetic."""
    rng = np.random.default_rng([seed, 9])
    n, p = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    A = rng.integers(-8, 9, (n, n)) / 4.0
    A = A + A.T if seed % 2 else A @ A.T
    others = np.sort(rng.permutation(n)[: int(rng.integers(1, n))])
    kept = np.setdiff1d(np.arange(n), others)
    uppers = []
    for s in range(1, p + 1):
        parts = [A[np.ix_(T, T)] for T in itertools.combinations(kept, min(s, len(kept)))]
        top = max((np.linalg.eigvalsh(part)[-1] for part in parts), default=-np.inf)
        uppers.append(float(top + 1e-9 * np.abs(A).max()))
    sums = largest_squares(A, max(p - 1, 1))[others][:, : p - 1]
    prices = Others(A.diagonal()[others], sums).prices(uppers)
    for j, price in zip(others, prices, strict=True):
        for T in itertools.combinations(range(n), min(p, n)):
            if j in T:
                part = A[np.ix_(T, T)]
                assert not exceeds(part, np.zeros((0, len(T))), Fraction(float(price))), seed


def test_prices():
    """Tests that no support with a feature has more than its price."""
    for seed in range(60):
        check_prices(seed)


@pytest.mark.slow
def test_prices_at_length():
    """Tests thousands of them."""
    for seed in range(1000, 3000):
        check_prices(seed)


@pytest.fixture(scope="module")
def planted():
    """Three factors in 30 of 700 features."""
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((60, 700))
    for k in range(3):
        X[:, 10 * k : 10 * k + 10] += (3 - 0.5 * k) * rng.standard_normal((60, 1))
    return X


def test_features_of_little_variance_are_priced(planted):
    """Tests that a set of wide data is found and proved, as far as that needs no branching."""
    result = solve(DataCovariance(planted), 5, 3, objective="joint")
    assert result.joint_variance >= solve(DataCovariance(planted), 5, 3).joint_variance
    assert result.joint_gap < 0.05
    assert result.note or result.status is Status.OPTIMAL


def test_features_in_or_out(planted):
    """Tests that what is asked of features is kept to."""
    asked = {"include": [[600], [], []], "exclude": [0, 1], "relation": "disjoint"}
    result = solve(DataCovariance(planted), 5, 3, objective="joint", **asked)
    used = result.components != 0
    assert not used[:, :2].any() and used.sum(axis=0).max() == 1
    assert np.count_nonzero(used[0, np.arange(700) != 600]) <= 4


def test_estimator(planted):
    """Tests that the estimator takes the same way."""
    model = OrthogonalSparsePCA(3, sparsity=5, objective="joint", gap=0.01).fit(planted)
    assert model.result_.status is Status.OPTIMAL


def test_limits_and_callback(planted):
    """Tests that a set of wide data can be stopped, and has a bound then."""
    heard = []
    result = solve(
        DataCovariance(planted), 5, 3, objective="joint", callback=lambda p: heard.append(p) or True
    )
    assert heard and result.status is Status.INTERRUPTED
    assert result.joint_upper_bound >= result.joint_variance
    result = solve(DataCovariance(planted), 5, 3, objective="joint", time_limit=1e-3)
    assert result.status is Status.TIME_LIMIT and np.isfinite(result.joint_upper_bound)


def test_a_proof_needs_the_matrix(planted):
    """Tests that it is formed for a certificate, which is about a matrix."""
    with pytest.raises(ValueError, match="memory_limit"):
        solve(DataCovariance(planted), 5, 2, objective="joint", proof=True, memory_limit=1e5)
