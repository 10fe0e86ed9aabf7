"""Tests of good vectors for all sparsities at once: each is feasible, and worth what it says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from helpers.brute_force import candidates
from helpers.cases import largest_entry
from helpers.eliminations import random_components
from helpers.problems import MATRICES
from orthospca.model.stage import Subproblem
from orthospca.supports.best import Candidate, best_on_support
from orthospca.supports.heuristic_path import HeuristicPath


def problem_of(kind: str, seed: int) -> Subproblem:
    """A matrix of a kind with up to three components before."""
    rng = np.random.default_rng([seed, len(kind)])
    n = int(rng.integers(2, 11))
    p = int(rng.choice([1, n, rng.integers(1, n + 1)]))
    previous = random_components(rng, n, seed % 4)
    return Subproblem(MATRICES[kind](rng, n), p, np.ascontiguousarray(previous.T))


def check(problem: Subproblem, best: list[Candidate | None]) -> None:
    """Of unit length, orthogonal, sparse, not worse than what is sparser, with the right value."""
    matrix, scale = problem.covariance, largest_entry(problem.covariance)
    assert best[0] is None
    last = -math.inf
    for size, found in enumerate(best[1:], start=1):
        if found is None:
            assert last == -math.inf
            continue
        x = found.vector
        assert 1 <= np.count_nonzero(x) <= size
        assert abs(np.linalg.norm(x) - 1) <= 1e-12
        assert np.abs(problem.previous.T @ x).max(initial=0.0) <= 1e-12
        assert found.value == pytest.approx(x @ matrix @ x, abs=1e-13 * len(x) * scale)
        assert found.value >= last
        last = found.value


@pytest.mark.parametrize("kind", MATRICES)
def test_every_candidate_is_feasible(kind: str) -> None:
    """Tests every kind of matrix: the vector for each sparsity, and that a second run finds it."""
    for seed in range(8):
        problem = problem_of(kind, seed)
        climb = HeuristicPath(problem)
        climb.run()
        assert len(climb.best) == problem.sparsity + 1
        check(problem, climb.best)
        again = HeuristicPath(Subproblem(problem.covariance, problem.sparsity, problem.previous))
        again.run()
        for one, two in zip(climb.best[1:], again.best[1:], strict=True):
            assert (one is None) == (two is None)
            if one is not None and two is not None:
                assert (one.value, one.vector.tobytes()) == (two.value, two.vector.tobytes())


@pytest.mark.parametrize("kind", MATRICES)
def test_no_worse_than_a_single_feature_and_no_better_than_the_optimum(kind: str) -> None:
    """Tests the plain start, the best feature that no component uses, and the brute force."""
    for seed in range(4):
        problem = problem_of(kind, seed)
        climb = HeuristicPath(problem)
        climb.run()
        alone = np.delete(problem.covariance.diagonal(), problem.touched)
        slack = 1e-12 * problem.n_features * largest_entry(problem.covariance)
        for size, found in enumerate(climb.best[1:], start=1):
            if len(alone):
                assert found is not None
                assert found.value >= alone.max()
            if found is not None and problem.n_features <= 7:
                values = candidates(problem.covariance, problem.previous.T, size)
                assert found.value <= max(best.value for best, _ in values) + slack
        if len(alone):
            # A feature that a component has next to nothing of counts as one that it does not use.
            unused = np.abs(problem.previous).max(axis=1, initial=0.0) <= 1e-12
            assert climb.best[1] is not None
            assert climb.best[1].value <= problem.covariance.diagonal()[unused].max()


@pytest.mark.parametrize("kind", MATRICES)
def test_improving_a_support_never_makes_it_worse(kind: str) -> None:
    """Tests that what is found from a support is at least as good as the support itself."""
    for seed in range(4):
        problem = problem_of(kind, seed)
        rng = np.random.default_rng(seed)
        for size in range(1, problem.sparsity + 1):
            support = rng.permutation(problem.n_features)[:size]
            plain = best_on_support(problem, np.sort(support))
            climb = HeuristicPath(problem)
            climb.improve(support)
            check(problem, climb.best)
            if plain is not None:
                found = climb.best[size]
                assert found is not None
                assert found.value >= plain.value


@pytest.mark.parametrize("kind", MATRICES)
def test_offers_are_taken_where_they_help(kind: str) -> None:
    """Tests that an offer serves its own size and all larger ones, unless they have better."""
    for seed in range(4):
        problem = problem_of(kind, seed)
        climb = HeuristicPath(problem)
        climb.run()
        before = list(climb.best)
        rng = np.random.default_rng(seed)
        for _ in range(4):
            size = int(rng.integers(1, problem.sparsity + 1))
            support = np.sort(rng.permutation(problem.n_features)[:size])
            offered = best_on_support(problem, support)
            if offered is None:
                continue
            first = np.count_nonzero(offered.vector)
            values = [-math.inf if b is None else b.value for b in before[first:]]
            assert climb.offer(offered) == any(offered.value > value for value in values)
            assert not climb.offer(offered)
            check(problem, climb.best)
            for old, new in zip(before[1:], climb.best[1:], strict=True):
                assert old is None or (new is not None and new.value >= old.value)
            climb.spread(size, size)
            check(problem, climb.best)
            for old, new in zip(before[1:], climb.best[1:], strict=True):
                assert old is None or (new is not None and new.value >= old.value)
            before = list(climb.best)


def test_stopped_at_any_moment() -> None:
    """Tests that what was found until a stop is feasible, and no better than with all the time."""
    for kind, seed in itertools.product(("psd", "indefinite"), range(4)):
        problem = problem_of(kind, seed)
        whole = HeuristicPath(problem)
        whole.run()
        whole.refine()
        most = [-math.inf if b is None else b.value for b in whole.best]
        for allowed in range(0, 3 * problem.sparsity + 2):
            asked = itertools.count()
            climb = HeuristicPath(problem)
            climb.run(lambda asked=asked, allowed=allowed: next(asked) >= allowed)
            check(problem, climb.best)
            values = [-math.inf if b is None else b.value for b in climb.best]
            assert all(value <= end for value, end in zip(values, most, strict=True))


def test_planted_components_are_found() -> None:
    """Tests that the vectors are good: every sparsity of a planted component, with one before."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        n, p = 60, 6
        places = rng.permutation(n)[: 2 * p]
        matrix = 0.01 * np.eye(n)
        for strength, part in ((9.0, places[:p]), (4.0, places[p:])):
            y = np.zeros(n)
            y[part] = np.sqrt(rng.dirichlet(5 * np.ones(p)))
            matrix += strength * np.outer(y, y)
        before = np.zeros((n, 1))
        before[places[:p], 0] = best_vector(matrix, places[:p])
        for previous, part in ((np.zeros((n, 0)), places[:p]), (before, places[p:])):
            climb = HeuristicPath(Subproblem(matrix, p, previous))
            climb.run()
            climb.refine()
            order = part[np.argsort(-np.diag(matrix)[part])]
            for size in range(1, p + 1):
                top = np.sort(order[:size])
                found = climb.best[size]
                assert found is not None
                assert set(np.flatnonzero(found.vector)) == set(top.tolist())


def test_swaps_go_on_as_long_as_they_help() -> None:
    """Tests a support of which no feature is right: each swap brings one that is."""
    y = np.append(np.full(5, 0.1), np.linspace(0.4, 0.6, 5))
    matrix = np.outer(y, y) + 1e-3 * np.eye(10)
    for previous in (np.zeros((10, 0)), np.eye(10)[:, :1]):
        climb = HeuristicPath(Subproblem(matrix, 4, previous))
        climb.improve(np.array([1, 2, 3, 4]))
        found = climb.best[4]
        assert found is not None
        assert np.flatnonzero(found.vector).tolist() == [6, 7, 8, 9]


def best_vector(matrix: np.ndarray, support: np.ndarray) -> np.ndarray:
    return np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
