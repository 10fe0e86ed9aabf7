"""Tests of the heuristics: whatever they return is feasible, and never above the optimum."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers import strategies
from helpers.brute_force import candidates, sequence
from helpers.cases import KINDS, largest_entry, supports_of
from orthospca.model.stage import Subproblem
from orthospca.supports.heuristic_path import find_incumbent
from orthospca.supports.heuristics import best_of, eliminate, round_to_support, swap_search


class Case:
    """A random problem with its optimum and the components before it (as rows)."""

    def __init__(self, kind, seed: int) -> None:
        self.rng = rng = np.random.default_rng([seed, KINDS.index(kind)])
        n = int(rng.integers(1, 9))
        p = int(rng.choice([1, n, rng.integers(1, n + 1)]))
        self.matrix = kind(rng, n)
        self.previous = np.empty((0, n))
        if seed % 2:
            found = sequence(self.matrix, [p] * int(rng.integers(1, n + 1)))
            self.previous = np.array([optimum.vector for optimum in found])
        self.problem = Subproblem(self.matrix, p, np.ascontiguousarray(self.previous.T))
        found = supports_of(self.matrix, self.previous, p).values
        self.optimum = max(found.values(), default=-math.inf)


def check_feasible(case: Case, vector: np.ndarray, value: float) -> None:
    """Sparse, of unit length, orthogonal to what came before, with the value it says.

    The value is that of a vector which is orthogonal, and of length 1, up to rounding only: hence
    the allowance.
    """
    scale, n = largest_entry(case.matrix), len(vector)
    assert vector.shape == (n,)
    assert 1 <= np.count_nonzero(vector) <= case.problem.sparsity
    assert abs(np.linalg.norm(vector) - 1) <= 1e-12
    assert np.abs(case.previous @ vector).max(initial=0.0) <= 1e-12
    assert value == pytest.approx(vector @ case.matrix @ vector, abs=1e-13 * n * scale)
    assert value <= case.optimum + 1e-12 * n * scale


@pytest.mark.parametrize("kind", KINDS)
def test_incumbent_is_feasible_and_not_above_the_optimum(kind) -> None:
    """Tests every kind of matrix, with no, some and all components found before."""
    for seed in range(24):
        case = Case(kind, seed)
        found = find_incumbent(case.problem)
        if found is None:
            # It may miss a feasible vector, but not in the first stage.
            assert len(case.previous)
            continue
        assert math.isfinite(case.optimum)
        check_feasible(case, found.vector, found.value)
        largest = np.abs(found.vector) >= (1 - 1e-7) * np.abs(found.vector).max()
        assert found.vector[np.argmax(largest)] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_incumbent_is_deterministic(kind) -> None:
    """Tests that the same problem gives the same vector, digit for digit."""
    for seed in range(6):
        case = Case(kind, seed)
        again = Subproblem(
            case.matrix.copy(), case.problem.sparsity, np.ascontiguousarray(case.previous.T)
        )
        one, two = find_incumbent(case.problem), find_incumbent(again)
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            np.testing.assert_array_equal(one.vector, two.vector)
            assert one.value == two.value


def test_incumbent_reaches_most_optima() -> None:
    """Tests that on small random covariances the local search hardly ever misses."""
    missed = 0
    for seed in range(60):
        case = Case(strategies.psd, 2 * seed)
        found = find_incumbent(case.problem)
        assert found is not None
        missed += found.value < case.optimum * (1 - 1e-9)
    assert missed <= 1


def is_support(support: np.ndarray, size: int, n: int) -> bool:
    """Whether these are `size` different indices below n."""
    return len(support) == len(set(support.tolist())) == size and set(support) <= set(range(n))


def leading(matrix: np.ndarray, support: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_moves_return_supports(kind) -> None:
    """Tests elimination and swaps, p = 1 and p = n among them."""
    for seed in range(12):
        case = Case(kind, 2 * seed)
        n, p, matrix = len(case.matrix), case.problem.sparsity, case.matrix
        assert is_support(eliminate(matrix, p), p, n)
        supports = np.array([np.sort(case.rng.permutation(n)[:p]) for _ in range(5)])
        for support in supports:
            shuffled = case.rng.permutation(support)
            others = np.setdiff1d(np.arange(n), support)
            entering = others[case.rng.random(len(others)) < 0.7]
            allowed = np.sort(np.concatenate([support, entering]))
            swapped = swap_search(matrix, shuffled, allowed)
            assert is_support(swapped, p, n)
            assert set(swapped) <= set(allowed)
            scale = largest_entry(matrix)
            assert leading(matrix, swapped) >= leading(matrix, support) - 1e-12 * n * scale


def test_swaps_end_in_a_local_optimum() -> None:
    """Tests that no single exchange improves what the local search returns."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, p = 8, int(rng.integers(1, 8))
        matrix = strategies.psd(rng, n)
        support = swap_search(matrix, np.sort(rng.permutation(n)[:p]), np.arange(n), rounds=100)
        value = leading(matrix, support)
        for leaving in support:
            for entering in set(range(n)) - set(support.tolist()):
                other = np.array([*(set(support.tolist()) - {int(leaving)}), entering])
                assert leading(matrix, other) <= value * (1 + 1e-10)


@pytest.mark.parametrize("p", [1, 3, 6])
@pytest.mark.parametrize("matrix", [np.zeros((6, 6)), np.ones((6, 6)), np.eye(6), -np.eye(6)])
def test_ties_everywhere(matrix: np.ndarray, p: int) -> None:
    """Tests matrices that do not prefer any support over another."""
    case = Case(strategies.psd, 0)
    case.matrix, case.previous = matrix, np.empty((0, 6))
    case.problem = Subproblem(matrix, p, np.empty((6, 0)))
    case.optimum = leading(matrix, np.arange(p))
    found = find_incumbent(case.problem)
    assert found is not None
    check_feasible(case, found.vector, found.value)
    assert found.value == pytest.approx(case.optimum, abs=1e-12)


def test_duplicated_rows() -> None:
    """Tests variables that occur twice: the support has no index twice, and the best is found."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        base = strategies.psd(rng, 4)
        copies = np.repeat(np.arange(4), 2)
        case = Case(strategies.psd, 0)
        case.matrix, case.previous = base[np.ix_(copies, copies)], np.empty((0, 8))
        case.problem = Subproblem(case.matrix, 3, np.empty((8, 0)))
        case.optimum = max(best.value for best, _ in candidates(case.matrix, case.previous, 3))
        found = find_incumbent(case.problem)
        assert found is not None
        check_feasible(case, found.vector, found.value)


def test_rounding_respects_the_node() -> None:
    """Tests that rounding keeps what is included, stays in what is allowed, and takes the rest."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 9))
        p = int(rng.integers(1, n + 1))
        problem = Subproblem(np.eye(n), p, np.empty((n, 0)))
        allowed = np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])
        size = min(p, len(allowed))
        included = np.sort(rng.permutation(allowed)[: int(rng.integers(0, size + 1))])
        direction = rng.standard_normal(len(allowed))
        given = direction.copy()
        support = round_to_support(problem, direction, included, allowed)
        np.testing.assert_array_equal(direction, given)
        assert is_support(support, size, n)
        assert set(included) <= set(support) <= set(allowed)
        weight = dict(zip(allowed.tolist(), np.abs(direction), strict=True))
        taken = [weight[int(i)] for i in support if i not in included]
        left = [weight[int(i)] for i in allowed if i not in support]
        assert min(taken, default=math.inf) >= max(left, default=-math.inf)


def test_best_of_infeasible_supports() -> None:
    """Tests that supports without a feasible vector are passed over, and None if all are."""
    X = np.zeros((3, 1))
    X[0, 0] = 1.0
    problem = Subproblem(np.diag([5.0, 1.0, 2.0]), 1, X)
    assert best_of(problem, np.array([[0]])) is None
    found = best_of(problem, np.array([[0], [1], [2]]))
    assert found is not None
    assert np.flatnonzero(found.vector).tolist() == [2]


def test_rounding_does_not_choose_the_sign() -> None:
    """Tests that the first of equal loadings is positive, whichever of them rounding enlarges."""
    for first in (1.0 - 1e-12, 1.0, 1.0 + 1e-12):
        Q = np.array([[first, -0.5], [-0.5, 1.0]])
        found = best_of(Subproblem(Q, 2, np.zeros((2, 0))), np.array([[0, 1]]))
        assert found is not None
        assert found.vector[0] > 0 > found.vector[1]
