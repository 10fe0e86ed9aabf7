"""Certificates of wide data that were once wrong, each in the smallest form that showed it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from helpers.audit import Audit, uppers_told
from helpers.brute_force import candidates
from helpers.exact import support_above
from helpers.forced import forced_wide
from helpers.problems import vanishing_columns
from helpers.routes import ROUTES, Listener, foreign_blocks
from helpers.stages import exact_matrix_of
from orthospca import DataCovariance, OrthogonalSparsePCA, Result, solve
from orthospca.model.settings import Settings
from orthospca.search.outcome import Request
from orthospca.wide.stage import WideProblem

#: More features than a covariance matrix is formed for.
WIDE = 4100


@pytest.mark.parametrize("seed", range(40))
def test_two_nearly_equal_features(seed: int) -> None:
    """Tests the second stage where the difference of two features is all that is left."""
    rng = np.random.default_rng(seed)
    data = 1e-11 * rng.standard_normal((12, WIDE))
    data[:, 0] = rng.standard_normal(12)
    data[:, 1] = data[:, 0] * (1 + 1e-9 * rng.standard_normal(12))
    covariance = DataCovariance(data)
    result = solve(covariance, 2, 2)
    assert result.supports[0].tolist() == [0, 1]
    # What is feasible on these two features is feasible.
    pair = exact_matrix_of(covariance, np.arange(2))
    bound = result.upper_bounds[1]
    assert support_above(pair, result.components[:1, :2], 2, bound) is None
    assert bound >= result.variances[1]


@pytest.mark.parametrize("p", [1, 2, 3])
def test_progress_of_wide_data(p: int, monkeypatch) -> None:
    """Tests that bounds told on the way are bounds where sums lose all but their first terms."""
    forced_wide(monkeypatch)
    for seed in range(5):
        covariance = DataCovariance(vanishing_columns(np.random.default_rng(seed), 3))
        exact = exact_matrix_of(covariance)
        listener = Listener()
        result = solve(covariance, p, 3, gap=0.0, callback=listener)
        for told in (uppers_told(listener.heard), uppers_told(result.history)):
            for k, bound in enumerate(result.upper_bounds):
                smallest = min(told[k])
                assert support_above(exact, result.components[:k], p, smallest) is None
                assert bound <= smallest


def test_rows_known_from_an_earlier_stage(monkeypatch) -> None:
    """Tests what a reduction rules out when features that a component uses had been looked at.

    Their rows have changed since: what is known of them is no bound any more.
    """
    forced_wide(monkeypatch, few=0)
    n, p = 5, 4
    for seed in range(30):
        covariance = DataCovariance(np.random.default_rng(seed).standard_normal((3, n)))
        previous = solve(covariance, p).components
        settings = Settings.validate(gap=1e-4)
        problem = WideProblem(covariance, p, settings)
        assert problem.part.grow(np.arange(n), lambda: False)
        request = Request(p, previous.T)
        matrix = covariance.submatrix(np.arange(n))
        found = [best for best, _ in candidates(matrix, previous, p)]
        for cutoff in sorted({factor * best.value for best in found for factor in (1.0, 1.05)}):
            sieve = problem.reduce_stage(request, cutoff, lambda: False)
            for best in found:
                if not set(best.support) <= set(sieve.kept.tolist()):
                    assert best.value <= sieve.outside + 1e-12, (seed, best.support)


def test_blocks_of_another_matrix(monkeypatch) -> None:
    """Tests that blocks which do not belong to the data are refused, or cost no certificate."""
    forced_wide(monkeypatch)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        covariance = DataCovariance(rng.standard_normal((12, 5)))
        exact = exact_matrix_of(covariance)
        blocks = foreign_blocks(rng, exact.rounded, 3)["threshold"]
        try:
            result = solve(covariance, 3, 2, threshold=blocks)
        except ValueError:
            continue
        for k, bound in enumerate(result.upper_bounds):
            assert support_above(exact, result.components[:k], 3, bound) is None, seed


def samples() -> np.ndarray:
    """Noise, and four features that belong together."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((10, 8))
    data[:, :4] += 3 * rng.standard_normal((10, 1))
    return data


def by_solve(data: np.ndarray, correlation: bool) -> Result:
    return solve(DataCovariance(data, correlation=correlation), 3, 2)


def by_estimator(data: np.ndarray, correlation: bool) -> Result:
    covariance = "correlation" if correlation else "empirical"
    return OrthogonalSparsePCA(2, sparsity=3, covariance=covariance).fit(data).result_


@pytest.mark.parametrize("unit", [1e-300, 1e-165, 1e-160, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("correlation", [False, True])
@pytest.mark.parametrize("fit", [by_solve, by_estimator])
def test_data_of_any_scale(
    fit: Callable[[np.ndarray, bool], Result],
    correlation: bool,
    wide: bool,
    unit: float,
    monkeypatch,
) -> None:
    """Tests that data whose squares vanish or overflow are refused in a sentence, or solved."""
    if wide:
        forced_wide(monkeypatch)
    data = samples()
    expected = fit(data, correlation)
    try:
        result = fit(data * unit, correlation)
    except ValueError as error:
        assert "\n" not in str(error) and len(str(error)) < 200
        return
    factor = Fraction(1) if correlation else Fraction(unit) ** 2
    # Where the variances are no floating-point numbers, no result can be right.
    assert Fraction(2) ** -1022 < factor < Fraction(2) ** 1023
    variances = [float(factor * Fraction(variance)) for variance in expected.variances]
    np.testing.assert_allclose(result.variances, variances, rtol=1e-9)
    bounds = [float(factor * Fraction(bound)) for bound in expected.upper_bounds]
    np.testing.assert_allclose(result.upper_bounds, bounds, rtol=1e-3)


@pytest.mark.parametrize("unit", [1e-320, 1e-300, 1e-101, 1e101, 1e300])
def test_matrix_of_any_scale(unit: float) -> None:
    """Tests that a matrix beyond the range is refused in a sentence."""
    matrix = np.array([[5.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 2.0]])
    with pytest.raises(ValueError, match=r"between 1e-100 and 1e\+100"):
        solve(matrix * unit, 2)


@pytest.mark.parametrize(
    ("route", "kind", "seed"),
    [
        ("wide sparsities", "grouped_columns", 2),
        ("wide large blocks", "near_duplicate_columns", 2),
        ("wide large blocks", "integer_columns", 3),
    ],
)
def test_a_single_feature_of_large_blocks(route: str, kind: str, seed: int) -> None:
    """Tests sparsity 1, where rows have nothing else to add up: such solves once failed."""
    found = Audit()
    for solved in ROUTES[route].solves(route, kind, seed, 8):
        found.check(solved)
    assert found.bounds > 0
    assert not found.broken
