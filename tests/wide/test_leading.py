"""Tests of what the leading rows of supports leave of many features."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from orthospca import DataCovariance, Status, solve
from orthospca.data.profiles import RowProfiles
from orthospca.model.limits import Watch
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.search.methods import solve_by_strong_bound
from orthospca.wide import leading, reduction
from orthospca.wide.reduction import LargeStage
from orthospca.wide.stage import LargeProblem


def samples(seed: int, m: int = 25, n: int = 12) -> np.ndarray:
    """Correlated features of unequal variances."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((m, 3)) @ rng.laplace(size=(3, n))
    return (factors + rng.standard_normal((m, n))) * rng.uniform(0.3, 2.0, size=n)


def values_of_supports(matrix: np.ndarray, previous: np.ndarray, p: int) -> dict:
    """The value of every support of full size, in a basis of the complement."""
    values = {}
    for support in combinations(range(len(matrix)), p):
        T = list(support)
        left, singular, _ = np.linalg.svd(previous[T], full_matrices=True)
        basis = left[:, int(np.count_nonzero(singular > 1e-12)) :]
        if basis.shape[1]:
            core = basis.T @ matrix[np.ix_(T, T)] @ basis
            values[support] = float(np.linalg.eigvalsh(core)[-1])
    return values


@pytest.mark.parametrize("listed", [4, 6, 12])
@pytest.mark.parametrize("p", [2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_supports_above_the_cutoff_are_kept(seed: int, p: int, listed: int, monkeypatch) -> None:
    """Tests every support, with lists that are too short for some rows, with components or none."""
    monkeypatch.setattr(leading, "LISTS_AT_ONCE", 5)
    monkeypatch.setattr(leading, "ROWS_AT_ONCE", 2)
    X = samples(seed)
    Q = DataCovariance(X, correlation=bool(seed % 3 == 0))
    matrix = Q.submatrix(np.arange(12))
    previous = np.zeros((12, 0))
    if seed % 2:
        found = solve(matrix, p, 2, gap=1e-6)
        previous = found.components.T
    values = values_of_supports(matrix, previous, p)
    stage = LargeStage(Q, p, previous)
    profiles = RowProfiles(Q, listed)
    profiles.ensure(np.arange(12))
    keep = np.ones(12, dtype=bool)
    best = max(values.values())
    for cutoff in (0.5 * best, 0.8 * best, 0.95 * best, best * (1 - 1e-12), 1.01 * best):
        left = leading.led_features(stage, profiles, keep, cutoff, lambda: False)
        assert left is not None
        for support, value in values.items():
            if value > cutoff:
                assert set(support) <= set(left.tolist()), (support, value, cutoff)
        assert set(stage.touched.tolist()) <= set(left.tolist())
    some = keep.copy()
    some[::3] = False
    some[stage.touched] = True
    left = leading.led_features(stage, profiles, some, 0.5 * best, lambda: False)
    assert left is not None
    assert not (~some)[left].any()


def test_what_cannot_be_told() -> None:
    """Tests rows that were not looked at, too many rows in full, and a stop."""
    Q = DataCovariance(samples(0))
    stage = LargeStage(Q, 3, np.zeros((12, 0)))
    keep = np.ones(12, dtype=bool)
    assert leading.led_features(stage, RowProfiles(Q, 4), keep, 1.0, lambda: False) is None
    profiles = RowProfiles(Q, 3)
    profiles.ensure(np.arange(12))
    assert leading.led_features(stage, profiles, keep, 0.1, lambda: True) is None
    alone = LargeStage(Q, 1, np.zeros((12, 0)))
    assert leading.led_features(alone, profiles, keep, 0.1, lambda: False) is None


@pytest.mark.parametrize("reduced", [12, 30, 6000])
@pytest.mark.parametrize("seed", range(6))
def test_stages_with_few_candidate_rows(seed: int, reduced: int, monkeypatch) -> None:
    """Tests whole stages: each bound holds, those of the history too, whatever is left out."""
    monkeypatch.setattr(reduction, "MANY", 1)
    monkeypatch.setattr(reduction, "FEW", 0)
    monkeypatch.setattr(reduction, "LARGEST_REDUCED", reduced)
    monkeypatch.setattr(reduction, "STARTS", 1)
    monkeypatch.setattr("orthospca.wide.stage.SPARE_ENTRIES", 2)
    monkeypatch.setattr(reduction, "ITERATIONS", 1)
    Q = DataCovariance(samples(seed, n=40), correlation=bool(seed % 2))
    matrix = Q.submatrix(np.arange(40))
    problem = LargeProblem(Q, 3, 1e-3, None)
    previous = np.zeros((40, 0))
    for _ in range(3):
        watch = Watch()
        outcome = problem.solve_stage(
            3, previous, Tolerance(0.0, 1e-3), watch, solve_by_strong_bound
        )
        truth = solve_by_strong_bound(
            Subproblem(matrix, 3, previous), Tolerance(0.0, 1e-9), Watch(), None
        )
        assert outcome.best is not None and truth.best is not None
        assert outcome.upper >= truth.best.value * (1 - 1e-12)
        assert outcome.best.value <= truth.upper
        for entry in watch.history:
            # No bound is reported that the end cannot confirm.
            assert entry.upper >= max(truth.best.value, outcome.upper) * (1 - 1e-12)
        if outcome.status is Status.OPTIMAL:
            assert outcome.best.value >= truth.best.value * (1 - 1.001e-3)
        if reduced == 6000:
            assert outcome.status is Status.OPTIMAL
        previous = np.column_stack([previous, outcome.best.vector])
