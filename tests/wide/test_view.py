"""Tests of a stage on data as the ladder sees it: what its bounds and its sieve say is true."""

from __future__ import annotations

import functools
import gc
import math
import weakref
from fractions import Fraction

import numpy as np
import pytest

from helpers.brute_force import candidates
from helpers.seeds import crossed, seeds
from helpers.truth import CLEAR, best_of_stage, is_proved_of_data
from helpers.wide import tuned
from orthospca import DataCovariance, Status, solve
from orthospca._typing import IntArray
from orthospca.bounds.border import LargestEntries, largest_squares
from orthospca.model.limits import Watch
from orthospca.model.result import ClosedBy
from orthospca.model.settings import Settings
from orthospca.numerics.rounding import add_up
from orthospca.search.outcome import Request
from orthospca.wide.part import FormedPart, bytes_for
from orthospca.wide.stage import WideProblem
from orthospca.wide.traces import TraceWalk
from orthospca.wide.view import DataView

N = 12


def samples(seed: int, m: int = 25, n: int = N) -> np.ndarray:
    """Correlated features of unequal variances."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((m, 3)) @ rng.laplace(size=(3, n))
    return (factors + rng.standard_normal((m, n))) * rng.uniform(0.3, 2.0, size=n)


def never() -> bool:
    return False


class Case:
    """Small data with components or none, all features or some, and the value of each support."""

    def __init__(self, seed: int, p: int) -> None:
        self.p = p
        self.Q = DataCovariance(samples(seed), correlation=bool(seed % 3 == 0))
        self.matrix = self.Q.submatrix(np.arange(N))
        self.previous = np.zeros((N, 0))
        if seed % 2:
            self.previous = solve(self.matrix, p, 2, gap=1e-6).components.T
        self.members = np.ones(N, dtype=bool)
        if seed % 4 > 1:
            self.members = np.random.default_rng(seed).random(N) < 0.7
            self.members[self.previous.any(axis=1)] = True
        self._proved: dict[tuple[int, ...], float] = {}
        self.best = float(self.values(p)[1].max())
        self.below = self._below()

    @functools.cache  # noqa: B019
    def values(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """The supports of members of a size, and the value of each, if it has one."""
        found = candidates(self.matrix, self.previous.T, size)
        inside = [best for best, _ in found if self.members[list(best.support)].all()]
        supports = np.array([best.support for best in inside], dtype=int).reshape(-1, size)
        return supports, np.array([best.value for best in inside])

    def _below(self) -> float:
        """A proved bound on supports with one index less, as tight as floats allow."""
        values = self.values(self.p - 1)[1]
        bound = float(values.max(initial=-math.inf))
        while not self.holds(bound, self.p - 1):
            bound = math.nextafter(bound, math.inf)
        return bound

    def form(self, listed: int = N, largest: int = N, **numbers: float) -> DataView:
        part = FormedPart(self.Q, bytes_for(largest), listed)
        return DataView(self.Q, self.p, self.previous, part, self.members.copy(), tuned(**numbers))

    def holds(self, bound: float, size: int, left: IntArray | None = None) -> bool:
        """Whether a bound holds on all supports of a size, or on those with a feature not left.

        It is decided without rounding.
        """
        supports, values = self.values(size)
        doubtful = values > bound - CLEAR * (abs(bound) + self.best)
        if left is not None:
            doubtful &= ~np.isin(supports, left).all(axis=1)
        return all(self._is_proved(T, bound) for T in supports[doubtful])

    def _is_proved(self, support: IntArray, bound: float) -> bool:
        """Whether a bound holds on one support; one above another that does holds too."""
        known = tuple(support.tolist())
        if bound >= self._proved.get(known, math.inf):
            return True
        if not is_proved_of_data(self.Q.factor(support), self.previous.T, support, bound):
            return False
        self._proved[known] = bound
        return True


@functools.cache
def case_of(seed: int, p: int) -> Case:
    return Case(seed, p)


ROWS = {"few": 0, "trace_budget": 0}
WAYS = {
    "matrix": {},
    "rows": ROWS,
    "short lists": {**ROWS, "listed": 6},
    "very short lists": {**ROWS, "listed": 4},
    "no room": {**ROWS, "largest": 5},
    "traces": {"few": 0, "few_traced": 0, "trace_budget": 60, "cheap_products": 0},
    "traces and matrices": {
        "few": 0,
        "few_traced": 6,
        "trace_budget": 60,
        "cheap_products": 0,
    },
}


@pytest.mark.parametrize(("way", "p"), crossed(WAYS, [2, 3, 4]))
@pytest.mark.parametrize("seed", seeds(3, 12))
def test_supports_above_the_level_are_kept(seed: int, p: int, way: str) -> None:
    """Tests every support: it is bounded from outside, or all its features are left."""
    case = case_of(seed, p)
    best = case.best
    form = case.form(**WAYS[way])
    form.find(never)
    for level in (0.5 * best, 0.8 * best, 0.95 * best, best * (1 - 1e-12), best, 1.01 * best):
        for smaller in (math.inf, case.below):
            sieve = form.sieve(p, level, smaller, never)
            bound = add_up(max(sieve.outside, level), form.rounding)
            assert case.holds(bound, p, np.union1d(sieve.kept, form.touched))
            assert case.members[sieve.kept].all()


def test_what_traces_close_is_said_to_be_theirs() -> None:
    """Tests the reason that a sieve gives where a search by traces has left nothing."""
    reasons = set()
    for seed in range(5):
        case = case_of(seed, 3)
        form = case.form(**WAYS["traces"])
        form.find(never)
        sieve = form.sieve(3, 1.01 * case.best, math.inf, never)
        reasons.add((len(sieve.kept) == 0, sieve.by))
    assert (True, ClosedBy.TRACES) in reasons
    assert reasons <= {(True, ClosedBy.TRACES), (False, ClosedBy.BORDER)}


@pytest.mark.parametrize("stopped_after", [0, 1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_a_sieve_that_was_stopped(seed: int, stopped_after: int) -> None:
    """Tests that a stop between two steps leaves a sieve that is true."""
    case = case_of(seed, 3)
    form = case.form(
        **{**ROWS, "trace_budget": 50, "few_traced": 0, "listed": 4, "cheap_products": 0}
    )
    form.find(never)
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > stopped_after

    level = 0.9 * case.best
    sieve = form.sieve(3, level, case.below, stop)
    bound = add_up(max(sieve.outside, level), form.rounding)
    assert case.holds(bound, 3, np.union1d(sieve.kept, form.touched))


@pytest.mark.parametrize("largest", [3, 6, 9])
@pytest.mark.parametrize("seed", range(8))
def test_too_many_features_for_a_matrix(seed: int, largest: int) -> None:
    """Tests that what is left out of a matrix keeps a bound that holds."""
    case = case_of(seed, 3)
    form = case.form(**{**ROWS, "largest": largest})
    form.find(never)
    sieve = form.sieve(3, 0.2 * case.best, math.inf, never)
    assert len(sieve.kept) <= max(largest, len(form.touched))
    assert case.holds(sieve.outside, 3, np.union1d(sieve.kept, form.touched))


@pytest.mark.parametrize("p", [2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_without_a_search(seed: int, p: int) -> None:
    """Tests bounds from variances alone, one after another, and what norms leave."""
    case = case_of(seed, p)
    form = case.form(few=0)
    found = form.find(never)
    assert case.holds(form.first_bound(), 1)
    assert case.holds(form.cheap_bound(p), p)
    assert case.holds(form.bound_without_level(p, case.below), p)
    for size in range(1, p + 1):
        best = found[size]
        if best is None:
            continue
        x = best.vector
        assert np.count_nonzero(x) <= size and case.members[x != 0].all()
        assert best.value == pytest.approx(x @ case.matrix @ x, rel=1e-10)
        assert np.abs(case.previous.T @ x).max(initial=0.0) <= 1e-12
    assert found[p] is not None
    for level in (found[p].value, 1.05 * found[p].value, 0.97 * case.best, 1.1 * case.best):
        left = form.before_rungs(p, level, N)
        if left is not None:
            assert case.holds(add_up(level, form.rounding), p, left[1])


@pytest.mark.parametrize("matrix", [0, 6, 400])
@pytest.mark.parametrize("p", [2, 3, 4])
@pytest.mark.parametrize("seed", seeds(4, 8))
def test_search_by_traces(seed: int, p: int, matrix: int) -> None:
    """Tests that a search by traces proves a bound, meets a better vector, or says neither."""
    case = case_of(seed, p)
    form = case.form(few_traced=matrix)
    tuning, features = tuned(few_traced=matrix), np.flatnonzero(case.members)
    ordered = sorted(form.find(never)[1:], key=lambda x: -math.inf if x is None else x.value)
    for best in (x for x in (ordered[0], ordered[-1]) if x is not None):
        for level in (best.value, best.value * 1.05, 0.97 * case.best, 1.1 * case.best):
            walk = TraceWalk(form, features, p, best, level, tuning)
            if walk.run(10**6, never):
                assert case.holds(max(walk.upper, level), p)
            elif walk.best is not best:
                x = walk.best.vector
                assert np.count_nonzero(x) <= p and case.members[x != 0].all()
                assert walk.best.value == pytest.approx(x @ case.matrix @ x, rel=1e-10)
                assert np.abs(case.previous.T @ x).max(initial=0.0) <= 1e-12
                assert walk.best.value > max(best.value, level) * (1 - 1e-12)
            if level > 1.05 * case.best:
                assert walk.best is best
    walk = TraceWalk(form, features, p, best, 0.5 * case.best, tuning)
    assert not walk.run(0, never)
    assert walk.best is best


@pytest.mark.parametrize("largest", [12, 30, 6000])
@pytest.mark.parametrize("seed", range(6))
def test_whole_stages(seed: int, largest: int) -> None:
    """Tests that each bound holds, those of the history too, whatever is left out."""
    tuning = tuned(few=0, starts=1, spare_entries=2, iterations=1)
    settings = Settings.validate(gap=1e-3, tuning=tuning, memory_limit=bytes_for(largest))
    Q = DataCovariance(samples(seed, n=40), correlation=bool(seed % 2))
    matrix = Q.submatrix(np.arange(40))
    problem = WideProblem(Q, 3, settings)
    previous = np.zeros((40, 0))
    for _ in range(3):
        watch = Watch()
        outcome = problem.solve_stage(Request(3, previous), settings, watch)
        truth = best_of_stage(matrix, 3, previous.T)
        assert outcome.best is not None
        support = np.flatnonzero(truth.best.vector)
        assert is_proved_of_data(Q.factor(support), previous.T, support, outcome.upper)
        assert outcome.best.value <= truth.upper
        # No bound is reported that the end cannot confirm.
        assert watch.journal.history
        for entry in watch.journal.history:
            assert entry.upper >= outcome.upper
            assert is_proved_of_data(Q.factor(support), previous.T, support, entry.upper)
        if outcome.status is Status.OPTIMAL:
            assert settings.tolerance.met(outcome.best.value, outcome.upper)
        if largest == 6000:
            assert outcome.status is Status.OPTIMAL
        previous = np.column_stack([previous, outcome.best.vector])


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_listed_entries(seed: int) -> None:
    """Tests sums of largest squares in fractions, where components have changed some columns."""
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    matrix = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-6, 0, (n, n))
    matrix = matrix + matrix.T
    changed = np.flatnonzero(rng.random(n) < 0.3)
    now = matrix.copy()
    now[:, changed] = rng.standard_normal((n, len(changed)))
    entries = LargestEntries(matrix, int(rng.integers(count, n + 3)))
    for radius in (0.0, 1e-3):
        sums = entries.sums(count, changed, now[:, changed], radius)
        for j in np.setdiff1d(np.arange(n), changed):
            exact = [(Fraction(abs(x)) + Fraction(radius)) ** 2 for x in np.delete(now[j], j)]
            exact.sort(reverse=True)
            for size in range(count):
                assert Fraction(sums[j, size]) >= sum(exact[: size + 1])
        if len(changed) == 0:
            np.testing.assert_allclose(sums, largest_squares(matrix, count, radius), rtol=1e-13)


def test_rented_long_enough_it_is_bought() -> None:
    """Tests that all is formed once reading has cost as much, if there is room, and not before."""
    Q = DataCovariance(samples(3, m=40))
    whole = Q.submatrix(np.arange(N))
    used = np.array([7, 2])
    for room, reads, count in ((N, 0, 2), (N, 400, N), (N - 1, 400, 2)):
        part = FormedPart(Q, bytes_for(room), N)
        for _ in range(reads):
            found = part.times(used, np.ones((2, 1)))
            assert np.allclose(found[:, 0], whole[:, used].sum(axis=1))
        assert part.grow(used, never)
        assert len(part.features) == count
        assert np.allclose(part.matrix(used), whole[np.ix_(used, used)])
        assert np.allclose(part.times(used, np.ones((2, 1)))[:, 0], whole[:, used].sum(axis=1))
        if count == N:
            assert part.matrix(np.arange(N)) is part.matrix(np.arange(N))


def test_without_time_nothing_is_formed_for_later() -> None:
    """Tests that what is asked for is formed when the time is up, and nothing else."""
    Q = DataCovariance(samples(3, m=40))
    whole = Q.submatrix(np.arange(N))
    part = FormedPart(Q, bytes_for(N), N)
    for _ in range(400):
        # Reading has cost so much that all would be formed.
        part.times(np.array([7, 2]), np.ones((2, 1)))
    part.stop = lambda: True
    used = np.arange(N - 1)
    assert np.allclose(part.matrix(used), whole[np.ix_(used, used)])
    assert len(part.features) == 0 and len(part.missing(used)) == N - 1
    part.stop = lambda: False
    assert np.allclose(part.matrix(used), whole[np.ix_(used, used)])
    assert len(part.features) == N


def test_data_are_let_go_of_at_once():
    """Tests that nothing of a solve keeps the data until garbage is collected."""
    Q = DataCovariance(samples(0, n=500))
    kept = weakref.ref(Q)
    gc.disable()
    try:
        result = solve(Q, 3, 2, gap=1e-2)
        del Q
        assert kept() is None
    finally:
        gc.enable()
    assert result.status is Status.OPTIMAL
