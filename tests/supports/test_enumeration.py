"""Tests of the enumeration: every support once, the best one found, and a proved bound on all."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from helpers import strategies
from helpers.brute_force import sequence, support_above
from helpers.cases import KINDS, supports_of
from orthospca.model.stage import Subproblem
from orthospca.supports.best import Candidate, best_on_support
from orthospca.supports.enumeration import (
    count_supports,
    enumerate_supports,
    refuse_if_too_many,
    supports_between,
)

#: How close the bound must be to the optimum, relative to the size of the matrix.
TIGHTNESS = 1e-9


class Case:
    """A random problem and node, with the value of each of its supports."""

    def __init__(self, kind, seed: int, included: int | None = None) -> None:
        self.rng = rng = np.random.default_rng([seed, KINDS.index(kind)])
        n = int(rng.integers(1, 9))
        p = int(rng.choice([1, n, rng.integers(1, n + 1)]))
        self.matrix = kind(rng, n)
        previous = np.empty((0, n))
        if seed % 2 and n > 1:
            found = sequence(self.matrix, [p] * int(rng.integers(1, 3)))
            previous = np.array([optimum.vector for optimum in found])
        self.previous = previous
        self.problem = Subproblem(self.matrix, p, np.ascontiguousarray(previous.T))
        self.allowed = np.sort(rng.permutation(n)[: int(rng.choice([n, rng.integers(p, n + 1)]))])
        count = int(rng.integers(0, p + 1)) if included is None else min(included, p)
        self.included = np.sort(rng.permutation(self.allowed)[:count])
        self.supports = supports_of(self.matrix, previous, p)
        self.values = {
            T: value
            for T, value in self.supports.values.items()
            if set(self.included) <= set(T) <= set(self.allowed)
        }
        self.optimum = max(self.values.values(), default=-math.inf)
        self.scale = self.supports.scale

    def is_bound(self, upper: float) -> bool:
        """Whether nothing in the node is above, without rounding."""
        return self.supports.above(upper, self.values) is None


@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_brute_force(kind) -> None:
    """Tests the optimum and the bound on random nodes, with and without components."""
    for seed in range(24):
        case = Case(kind, seed)
        scale = case.scale
        found = enumerate_supports(case.problem, case.included, case.allowed)
        assert found.complete
        if not case.values:
            assert found.best is None
            assert found.upper == -math.inf
            continue
        assert found.best is not None
        x = found.best.vector
        assert found.best.value == pytest.approx(case.optimum, abs=1e-11 * scale)
        assert found.best.value == pytest.approx(x @ case.matrix @ x, abs=1e-13 * len(x) * scale)
        assert set(np.flatnonzero(x)) <= set(case.allowed)
        assert np.count_nonzero(x) <= case.problem.sparsity
        assert np.abs(case.previous @ x).max(initial=0.0) <= 1e-12
        assert case.is_bound(found.upper)
        assert found.upper <= case.optimum + TIGHTNESS * scale * len(x)


@pytest.mark.parametrize("kind", KINDS)
def test_bound_is_above_in_rational_arithmetic(kind) -> None:
    """Tests that the bound, which differs from the optimum by rounding only, is never below it."""
    for seed in range(8):
        case = Case(kind, seed, included=0)
        if len(case.matrix) > 5:
            continue
        everything = np.arange(len(case.matrix))
        found = enumerate_supports(case.problem, everything[:0], everything)
        if found.upper == -math.inf:
            continue
        p = case.problem.sparsity
        assert support_above(case.matrix, case.previous, p, found.upper) is None


@pytest.mark.parametrize("kind", KINDS)
def test_cutoff(kind) -> None:
    """Tests that values up to the cutoff may stay unknown, and that those above it do not."""
    for seed in range(12):
        case = Case(kind, seed)
        if not case.values:
            continue
        scale = case.scale
        for offset in (-1.0, -1e-3, 0.0, 1e-3, 1.0):
            cutoff = case.optimum + offset * scale
            found = enumerate_supports(case.problem, case.included, case.allowed, cutoff=cutoff)
            assert found.complete
            assert case.is_bound(found.upper)
            assert found.upper <= max(cutoff, case.optimum) + TIGHTNESS * scale * len(case.matrix)
            if offset < 0:
                assert found.best is not None
                assert found.best.value == pytest.approx(case.optimum, abs=1e-11 * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_incumbent(kind) -> None:
    """Tests that the incumbent is kept unless something is better, and that the bound holds."""
    for seed in range(12):
        case = Case(kind, seed)
        if not case.values:
            continue
        scale = case.scale
        T = list(case.values)[int(case.rng.integers(len(case.values)))]
        incumbent = best_on_support(case.problem, np.array(T))
        assert incumbent is not None
        found = enumerate_supports(case.problem, case.included, case.allowed, incumbent)
        assert found.best is not None
        assert found.best.value >= incumbent.value
        assert found.best.value == pytest.approx(case.optimum, abs=1e-11 * scale)
        assert case.is_bound(found.upper)
        # One better than everything in the node stays, and the bound need not be below it.
        better = Candidate(case.optimum + scale, incumbent.vector)
        found = enumerate_supports(case.problem, case.included, case.allowed, better)
        assert found.best is better
        assert case.is_bound(found.upper)
        assert found.upper <= better.value + TIGHTNESS * scale * len(case.matrix)


def test_stop() -> None:
    """Tests that a stopped enumeration claims nothing, whichever batch it is stopped before."""
    rng = np.random.default_rng(0)
    problem = Subproblem(strategies.psd(rng, 8), 3, np.empty((8, 0)))
    everything = np.arange(8)
    batches = math.ceil(math.comb(8, 3) / 7)
    for last in range(batches + 2):
        asked = []

        def stop(asked: list = asked, last: int = last) -> bool:
            asked.append(None)
            return len(asked) > last

        found = enumerate_supports(problem, everything[:0], everything, stop=stop, batch_size=7)
        assert found.complete == (last >= batches)
        assert len(asked) == min(last + 1, batches)
        if not found.complete:
            assert found.upper == math.inf
            assert (found.best is None) == (last == 0)


def test_batches_do_not_matter() -> None:
    """Tests that supports taken a few at a time lead to the same optimum."""
    for seed in range(20):
        found = []
        for batch in (24_000, 5, 1):
            case = Case(strategies.indefinite, seed)
            node = case.included, case.allowed
            found.append(enumerate_supports(case.problem, *node, batch_size=batch))
        scale = case.scale
        for other in found[1:]:
            assert other.upper == pytest.approx(found[0].upper, abs=1e-11 * scale)
            if found[0].best is not None:
                assert other.best.value == pytest.approx(found[0].best.value, abs=1e-12 * scale)


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_every_support_exactly_once(batch: int) -> None:
    """Tests the supports between random included and allowed indices against combinations."""
    rng = np.random.default_rng(batch)
    for _ in range(150):
        n = int(rng.integers(1, 8))
        allowed = np.sort(rng.permutation(20)[:n])
        p = int(rng.integers(1, n + 3))
        included = np.sort(rng.permutation(allowed)[: int(rng.integers(0, min(p, n) + 1))])
        found = [
            tuple(sorted(int(i) for i in row))
            for rows in supports_between(included, allowed, p, batch)
            for row in rows
        ]
        expected = {T for T in combinations(allowed.tolist(), min(p, n)) if set(included) <= set(T)}
        assert len(found) == len(set(found)) == count_supports(len(included), n, p)
        assert set(found) == expected


def test_too_many_supports_are_refused() -> None:
    """Tests the limit, and that the message names the method to use instead."""
    refuse_if_too_many(30, 5)
    with pytest.raises(ValueError, match="branch-and-bound"):
        refuse_if_too_many(500, 10)


def test_infeasible_supports() -> None:
    """Tests a node in which some supports, or all, have no vector orthogonal to the components."""
    X = np.zeros((4, 2))
    X[0, 0] = X[1, 1] = 1.0
    problem = Subproblem(np.diag([9.0, 8.0, 2.0, 1.0]), 2, X)
    everything = np.arange(4)
    found = enumerate_supports(problem, everything[:0], everything)
    assert found.best is not None
    assert np.flatnonzero(found.best.vector).tolist() == [2]
    assert 2.0 <= found.upper <= 2.0 + 1e-9
    nothing = enumerate_supports(problem, everything[:0], everything[:2])
    assert nothing.best is None
    assert nothing.upper == -math.inf
    assert nothing.complete


def test_negative_optimum_under_orthogonality() -> None:
    """Tests that the spurious zeros of projecting do not win over a negative optimum."""
    X = np.zeros((3, 1))
    X[0, 0] = 1.0
    problem = Subproblem(-np.diag([1.0, 2.0, 3.0]), 1, X)
    found = enumerate_supports(problem, np.arange(0), np.arange(3))
    assert found.best is not None
    assert found.best.value == -2.0
    assert -2.0 <= found.upper <= -2.0 + 1e-9
