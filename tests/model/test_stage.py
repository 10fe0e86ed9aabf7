"""Tests of the subproblem of a stage: its adjusted covariance, its scale, what is left of it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.brute_force import sequence
from helpers.cases import KINDS, largest_entry, supports_of
from orthospca.model.stage import Subproblem


def stage(kind, seed: int, count: int) -> Subproblem:
    """A stage after some components."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n = int(rng.integers(2, 8))
    p = int(rng.integers(1, n + 1))
    matrix = kind(rng, n)
    found = sequence(matrix, [p] * min(count, n - 1))
    vectors = [optimum.vector for optimum in found]
    return Subproblem(matrix, p, np.column_stack([np.zeros((n, 0)), *vectors]))


def exact(matrix: np.ndarray) -> np.ndarray:
    """The same numbers as fractions."""
    return np.array([[Fraction(float(x)) for x in row] for row in matrix], dtype=object).reshape(
        matrix.shape
    )


@pytest.mark.parametrize("kind", KINDS)
def test_adjusted_covariance_is_the_projected_one(kind) -> None:
    """Tests ``(I - XXᵀ)Q(I - XXᵀ)`` in rational arithmetic: equal but for what X lacks.

    X is orthonormal to rounding, so the two differ by rounding of the size of Q; where no component
    is used the entries are those of Q exactly.
    """
    for seed in range(6):
        problem = stage(kind, seed, 1 + seed % 3)
        n, Q = problem.n_features, problem.covariance
        X = exact(problem.previous)
        P = exact(np.eye(n)) - X @ X.T
        projected = P @ exact(Q) @ P
        difference = exact(problem.projected) - projected
        size = Fraction(largest_entry(Q))
        assert all(abs(entry) <= size * Fraction(1, 10**13) for entry in difference.flat)
        np.testing.assert_array_equal(problem.projected, problem.projected.T)
        untouched = np.setdiff1d(np.arange(n), problem.touched)
        block = np.ix_(untouched, untouched)
        np.testing.assert_array_equal(problem.projected[block], Q[block])
        assert problem.projected_radius <= 1e-14 * float(size)


def test_nothing_is_adjusted_without_components() -> None:
    """Tests the first stage: the matrix itself, and no rounding."""
    matrix = np.random.default_rng(0).standard_normal((5, 5))
    problem = Subproblem(matrix + matrix.T, 2, np.zeros((5, 0)))
    for adjusted in (problem.projected, problem.penalised):
        assert adjusted is problem.covariance
    assert problem.projected_radius == problem.penalised_radius == 0.0
    assert problem.touched.size == 0
    assert not problem.constrained


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e90])
def test_scale_is_that_of_what_is_left(scale: float) -> None:
    """Tests that what a component has used up does not count: resolution goes with what is left."""
    rows = np.random.default_rng(1).standard_normal((20, 6))
    matrix = scale * (rows.T @ rows)
    matrix[:2, :] = matrix[:, :2] = 0.0
    matrix[:2, :2] = 1e9 * scale
    whole = Subproblem(matrix, 2, np.zeros((6, 0)))
    leading = np.zeros((6, 1))
    leading[:2] = math.sqrt(0.5)
    left = Subproblem(matrix, 2, leading)
    assert whole.scale == 1e9 * scale
    assert left.scale == np.abs(matrix[2:, 2:]).max()
    assert left.scale == np.abs(left.projected).max()
    # What is left can be told apart although it is 1e-9 of what is gone.
    assert left.resolution < 1e-5 * left.scale < 1e-5 * whole.resolution / 1e-12
    assert left.resolution > left.projected_radius
    assert Subproblem(np.zeros((3, 3)), 1, np.zeros((3, 0))).scale == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_spent_features_leave_the_values_of_the_others(kind) -> None:
    """Tests that without the features that a component uses alone nothing feasible is lost."""
    for seed in range(4):
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        n = int(rng.integers(2, 7))
        p = int(rng.integers(1, n + 1))
        matrix = kind(rng, n)
        spent = np.sort(rng.permutation(n)[: int(rng.integers(1, n))])
        X = np.eye(n)[:, spent]
        others = np.setdiff1d(np.arange(n), spent)
        if len(others) > 1:
            vector = np.zeros((n, 1))
            vector[others[:2], 0] = 0.6, 0.8
            X = np.hstack([X, vector])
        problem = Subproblem(matrix, p, X)
        part, kept = problem.without_spent_features()
        assert kept.tolist() == others.tolist()
        assert part.sparsity == min(p, len(kept))
        assert part.previous.shape == (len(kept), X.shape[1] - len(spent))
        np.testing.assert_array_equal(part.covariance, matrix[np.ix_(kept, kept)])
        whole = supports_of(matrix, np.ascontiguousarray(X.T), p).values
        left = supports_of(
            part.covariance, np.ascontiguousarray(part.previous.T), part.sparsity
        ).values
        assert max(left.values(), default=-math.inf) == pytest.approx(
            max(whole.values(), default=-math.inf), abs=1e-12 * largest_entry(matrix)
        )


def test_nothing_is_spent() -> None:
    """Tests that a stage without spent features is returned as it is."""
    problem = Subproblem(np.eye(3), 2, np.array([[0.6, 0.8, 0.0]]).T)
    part, kept = problem.without_spent_features()
    assert part is problem
    assert kept.tolist() == [0, 1, 2]


def test_everything_is_spent() -> None:
    """Tests components that leave no feature at all."""
    part, kept = Subproblem(np.eye(2), 1, np.eye(2)).without_spent_features()
    assert kept.size == 0
    assert part.n_features == 0


def test_components_that_touch_a_support() -> None:
    """Tests that only the components that do not vanish on a support are restricted to it."""
    X = np.zeros((4, 3))
    X[0, 0], X[1, 1], X[2:, 2] = 1.0, 1.0, (0.6, 0.8)
    problem = Subproblem(np.eye(4), 2, X)
    np.testing.assert_array_equal(problem.touching(np.array([0, 2])), [[1.0, 0.0], [0.0, 0.6]])
    assert problem.touching(np.array([], dtype=int)).shape == (0, 0)
    assert problem.touched.tolist() == [0, 1, 2, 3]
