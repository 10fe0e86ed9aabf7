"""Certificates that were once wrong, each in the smallest form that showed it."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from helpers.cases import explored
from helpers.exact import ExactMatrix, nearly_orthogonal_support, support_above, within_tolerance
from helpers.forced import forced_weakness
from helpers.problems import orthonormal, rotation
from helpers.seeds import FULL, crossed
from helpers.stages import METHODS, solve_stage
from orthospca import Result, Status, solve
from orthospca.bounds.share.node import ShareBound
from orthospca.model.limits import Watch
from orthospca.model.nodes import Node
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import ShareTuning
from orthospca.search.state import StageState
from orthospca.search.tree import TreeSearch
from orthospca.supports.best import best_on_support, no_feasible_vector, upper_on_support
from orthospca.supports.heuristic_path import find_incumbent


def dominated(size: float, seed: int) -> np.ndarray:
    """One large variance, weakly coupled to thirty variables with the correlations of noise."""
    noise = np.random.default_rng(seed).standard_normal((40, 30))
    matrix = np.full((31, 31), 1e-6)
    matrix[0, 0] = size
    matrix[1:, 1:] = np.corrcoef(noise.T)
    return np.triu(matrix) + np.triu(matrix, 1).T


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("size", [1e8, 1e10, 1e12])
def test_optimal_next_to_a_large_variance(size: float, seed: int) -> None:
    """Tests that stages after a component of another scale keep the tolerance, exactly."""
    result = solve(dominated(size, seed), 5, 3, gap=1e-4)
    for stage in result.stages:
        if stage.status is Status.OPTIMAL:
            assert within_tolerance(stage.variance, stage.upper_bound, 0.0, 1e-4), stage.gap
        else:
            assert stage.status is Status.PRECISION
    assert result.statuses[1] is Status.OPTIMAL


def test_bound_between_two_single_features() -> None:
    """Tests that what a threshold ignores is added to a bound without being rounded down."""
    rng = np.random.default_rng(0)
    for _ in range(300 if FULL else 100):
        a, c = float(rng.uniform(0.5, 5.0)), float(rng.uniform(0.0, 0.4))
        result = solve([[a, c], [c, a]], 2, threshold=0.4)
        assert Fraction(result.upper_bounds[0]) >= Fraction(a) + Fraction(c), (a, c)


def test_guarantee_is_not_rounded_down(monkeypatch) -> None:
    """Tests that variance and guarantee together reach the optimum, where the search ends early."""
    rng = np.random.default_rng(0)
    forced_weakness(monkeypatch, np.random.default_rng(0))
    for _ in range(50):
        worse, better = -float(rng.uniform(0.1, 1.0)), -1e-3 * float(rng.uniform(0.1, 1.0))
        result = solve([[worse, 1e-9], [1e-9, better]], 1, eps=10.0)
        reached = Fraction(result.variances[0]) + Fraction(result.guarantee)
        assert reached >= Fraction(better), (worse, better)


@pytest.mark.parametrize("below", [1, 3, 8])
@pytest.mark.parametrize("seed", range(3))
def test_everything_is_fixed_at_the_cutoff(seed: int, below: int) -> None:
    """Tests costs that rule every index out while the bound is just above the cutoff."""
    square = np.random.default_rng(seed).standard_normal((7, 7))
    problem = Subproblem((square + square.T) / 2, 3, np.zeros((7, 0)))
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    bound = ShareBound(problem, incumbent.value, ShareTuning(first_checks=1, fix_within=1e9))
    root = Node(np.arange(0), np.arange(7))
    cutoff = bound(root, -math.inf, Watch()).upper
    for _ in range(below):
        cutoff = math.nextafter(cutoff, -math.inf)
    tolerance = Tolerance((cutoff - incumbent.value) / 0.999999, 0.0)
    known = StageState(problem, tolerance, Watch(), incumbent)
    outcome = explored(TreeSearch(known, bound), [root])
    exact = ExactMatrix.of(problem.covariance)
    assert support_above(exact, np.zeros((0, 7)), 3, outcome.upper) is None
    assert outcome.upper >= incumbent.value


def exactly_projected(matrix: np.ndarray, previous: np.ndarray) -> list[list[Fraction]]:
    """``(I - XXᵀ)Q(I - XXᵀ)`` in fractions."""
    Q = [[Fraction(entry) for entry in row] for row in matrix.tolist()]
    X = [[Fraction(entry) for entry in row] for row in previous.tolist()]
    P = [[(a is b) - sum(map(_times, a, b)) for b in X] for a in X]
    half = [[sum(map(_times, row, column)) for column in Q] for row in P]
    return [[sum(map(_times, row, column)) for column in P] for row in half]


def _times(a: Fraction, b: Fraction) -> Fraction:
    return a * b


@pytest.mark.parametrize("kind", ["ones", "noise", "graded", "within", "vanishing"])
@pytest.mark.parametrize(("n", "m"), [(2, 1), (6, 3), (16, 15)])
def test_radius_of_the_projected_matrix(n: int, m: int, kind: str) -> None:
    """Tests each entry of the adjusted covariance against fractions, up to its radius."""
    rng = np.random.default_rng(n)
    previous = np.ascontiguousarray(rotation(rng, n)[:, :m])
    matrix = np.ones((n, n))
    if kind == "noise":
        matrix = rng.standard_normal((n, n))
    elif kind == "graded":
        matrix = np.diag(10.0 ** rng.uniform(-8, 8, size=n))
    elif kind == "within":
        # All of it is projected out but for rounding.
        matrix = previous @ previous.T
    elif kind == "vanishing":
        # Products that vanish one by one in the sum of those before.
        previous = np.full((n, m), 2.0**-27 / n) + np.eye(n, m)
        matrix = np.full((n, n), 2.0**-27) + np.eye(n)
    stage = Subproblem(np.triu(matrix) + np.triu(matrix, 1).T, 2, previous)
    exact = exactly_projected(stage.covariance, previous)
    radius = np.broadcast_to(np.asarray(stage.projected_radius), (n, n))
    for i in range(n):
        for j in range(n):
            error = abs(Fraction(float(stage.projected[i, j])) - exact[i][j])
            assert error <= Fraction(float(radius[i, j]))


def hard_matrix(kind: str, seed: int) -> np.ndarray:
    """Correlations or covariances of noise, or noise itself, on 45 features."""
    rng = np.random.default_rng(seed)
    if kind == "indefinite":
        square = rng.standard_normal((45, 45))
        return (square + square.T) / 2
    samples = rng.standard_normal((50, 45))
    matrix = np.corrcoef(samples.T) if kind == "correlation" else np.cov(samples.T)
    return (matrix + matrix.T) / 2


#: Limits that leave every stage open, whatever the machine.
LIMITS = {"no time": {"time_limit": 0.0}, "a node": {"method": "eigenvalue", "node_limit": 1}}


@cache
def open_result(kind: str, seed: int, limit: str) -> Result:
    """Six components whose stages are left open."""
    return solve(hard_matrix(kind, seed), 6, 6, **LIMITS[limit])


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", ["correlation", "covariance", "indefinite"])
@pytest.mark.parametrize("seed", [5, 7])
def test_bounds_do_not_increase(seed: int, kind: str, limit: str) -> None:
    """Tests that a stage that is left open inherits the bound of the one before it."""
    assert (np.diff(open_result(kind, seed, limit).upper_bounds) <= 0).all()


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", ["correlation", "covariance", "indefinite"])
@pytest.mark.parametrize("seed", [5, 7])
def test_better_components_come_first(seed: int, kind: str, limit: str) -> None:
    """Tests that an open stage takes a component with more variance that a later one finds."""
    result = open_result(kind, seed, limit)
    assert any(status is not Status.OPTIMAL for status in result.statuses)
    for k, status in enumerate(result.statuses):
        if status is not Status.OPTIMAL:
            assert (result.variances[k] >= result.variances[k:]).all(), k


#: Seeds for which components ended although a vector was orthogonal to them up to 1e-12.
ENDED_EARLY = [0, 52, 143, 149, 174, 258, 309, 313]


@pytest.mark.parametrize("seed", ENDED_EARLY)
def test_components_end_where_none_is_orthogonal(seed: int) -> None:
    """Tests the end of the components of a matrix of low rank."""
    rows = np.random.default_rng(seed).standard_normal((2, 7))
    result = solve(rows.T @ rows, 5, 7, gap=1e-6)
    X = result.components
    assert np.abs(X @ X.T - np.eye(len(X))).max() <= 1e-12
    assert result.exhausted == (len(X) < 7)
    if result.exhausted:
        assert nearly_orthogonal_support(X, 5) is None


def edge(p: int, smallest: float) -> tuple[Subproblem, np.ndarray]:
    """A stage after p components that nearly fill the first p indices, and these indices."""
    rng = np.random.default_rng(p)
    previous = orthonormal(rng, 2 * p, p, p, smallest)
    samples = rng.standard_normal((3 * p, 2 * p))
    return Subproblem(samples.T @ samples, p, previous), np.arange(p)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("smallest", [1e-14, 5e-13, 9.8e-13])
def test_nearly_orthogonal_vector_is_taken(smallest: float, p: int) -> None:
    """Tests that a vector which is orthogonal to 1e-12 counts as feasible."""
    problem, support = edge(p, smallest)
    assert not no_feasible_vector(problem, support)
    found = best_on_support(problem, support)
    assert found is not None
    loading = [Fraction(entry) for entry in found.vector.tolist()]
    for column in problem.previous.T.tolist():
        product = sum(map(_times, loading, map(Fraction, column)))
        assert abs(product) <= Fraction(1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("smallest", [1.1e-12, 1e-9, 1e-3])
def test_no_vector_is_nearly_orthogonal(smallest: float, p: int) -> None:
    """Tests that a support without a vector orthogonal to 1e-12 counts as infeasible."""
    problem, support = edge(p, smallest)
    assert no_feasible_vector(problem, support)
    assert best_on_support(problem, support) is None
    assert upper_on_support(problem, support) == -math.inf


@pytest.mark.parametrize(("smallest", "method"), crossed([3e-14, 9e-14, 5e-13, 9.8e-13], METHODS))
def test_bound_is_not_below_a_nearly_orthogonal_vector(smallest: float, method: str) -> None:
    """Tests a vector with more variance than any that is exactly orthogonal."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        samples = rng.standard_normal((4, 3))
        problem = Subproblem(samples.T @ samples, 1, orthonormal(rng, 3, 1, 1, smallest))
        outcome = solve_stage(problem, method, 1e-6)
        assert outcome.best is None or outcome.upper >= outcome.best.value, seed
