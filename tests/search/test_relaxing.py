"""Tests of stages that are given to the share relaxation: no rungs for long, no walk before it.

Small problems are forced through it: the relaxation counts as free, and nothing is enumerated.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers import strategies
from helpers.brute_force import sequence
from helpers.cases import EAGER, RELAXING, Supports, check_status, explored, supports_of
from helpers.optimality import check_feasible, check_stages
from helpers.seeds import SHARE, later, seeds, spread
from helpers.strategies import Problem
from orthospca import Result, Status
from orthospca.bounds.share.method import ShareMethod
from orthospca.bounds.share.node import ShareBound
from orthospca.facade import solve_with
from orthospca.model.limits import Watch
from orthospca.model.nodes import Node
from orthospca.model.result import Progress
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import Tuning
from orthospca.search.ladder import Ladder
from orthospca.search.methods import solve_stage
from orthospca.search.state import StageState
from orthospca.search.tree import TreeSearch

#: The relaxation as it is, and with features ruled out and in as soon as it can.
TUNINGS = (RELAXING, replace(RELAXING, share=replace(EAGER, cost=-1)))
#: Rungs that resist: the climb is given up after two of them.
RESISTING = replace(
    RELAXING,
    walk=replace(RELAXING.walk, rung_budget=-1.0, direct_share=-1.0),
    share=replace(EAGER, cost=1e9, rung_nodes=0),
)
GAPS = (1e-4, 1e-6)


def solve_by(tuning: Tuning, problem: Problem, count: int | None = None, **options: Any) -> Result:
    """Solve with a tuning; all components, unless fewer are asked for."""
    settings = Settings.validate(tuning=tuning, **options)
    callback = options.get("callback")
    count = problem.n if count is None else count
    return solve_with(problem.matrix, problem.sparsity, count, settings, callback=callback)


def drawn(seed: int, largest: int = 7) -> Problem:
    """Every kind of matrix in turn: singular, indefinite, tied, in blocks, of any rank."""
    rng = np.random.default_rng([seed, 21])
    kind = strategies.KINDS[seed % len(strategies.KINDS)]
    n = int(rng.integers(3, largest + 1))
    matrix = getattr(strategies, kind.replace("-", "_"))(rng, n)
    return Problem(kind, matrix, int(rng.integers(2, n)))


def noise(n: int, seed: int = 0) -> np.ndarray:
    """A correlation of noise."""
    return np.corrcoef(np.random.default_rng(seed).standard_normal((n + 20, n)), rowvar=False)


# Whole sequences against brute force


def check_sequences(seeds: range, largest: int) -> int:
    """All stages until the components run out; how many nodes were bounded."""
    nodes = 0
    for seed in seeds:
        problem, gap = drawn(seed, largest), GAPS[seed // 2 % 2]
        result = solve_by(TUNINGS[seed % 2], problem, gap=gap)
        check_feasible(problem, result)
        check_stages(problem, result, gap=gap)
        nodes += result.nodes
    return nodes


def test_sequences_are_optimal() -> None:
    """Tests problems of every kind, every stage until none exists, against brute force."""
    assert check_sequences(range(12), 5) > 20


def test_every_feature_is_ruled_out_at_once() -> None:
    """Tests a circulant, with which all features are out while the bound is just above the level.

    None of them can be told from another, and fixing leaves a node without any feature.
    """
    assert drawn(584).kind == "circulant"
    check_sequences(range(584, 585), 7)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_sequences_are_optimal_at_length(part: int) -> None:
    """Tests more than a thousand problems."""
    assert check_sequences(spread(12 + part, 1140, 4), 7) > 1000 * SHARE


def check_parts(seeds: range) -> None:
    """A search of a part of a stage, some features in and some out, against its supports."""
    for seed in seeds:
        problem, rng = drawn(seed), np.random.default_rng([seed, 22])
        n, p = problem.n, problem.sparsity_of(0)
        found = sequence(problem.matrix, [p] * int(rng.integers(0, 3)))
        previous = np.array([optimum.vector for optimum in found]).reshape(-1, n)
        stage = Subproblem(problem.matrix, p, np.ascontiguousarray(previous.T))
        allowed = np.sort(rng.permutation(n)[: int(rng.integers(p, n + 1))])
        included = np.sort(rng.permutation(allowed)[: int(rng.integers(0, p))])
        supports = supports_of(problem.matrix, previous, p)
        inside = [T for T in supports.values if {*included} <= {*T} <= {*allowed}]
        best = max((supports.values[T] for T in inside), default=-np.inf)
        tolerance = Tolerance(0.0, GAPS[seed % 2], stage.resolution)
        known = StageState(stage, tolerance, Watch())
        bound = ShareBound(stage, best if inside else 0.0, TUNINGS[seed % 2].share)
        outcome = explored(TreeSearch(known, bound), [Node(included, allowed)])
        assert supports.above(outcome.upper, inside) is None
        if not inside:
            assert outcome.status is Status.EXHAUSTED
            continue
        assert outcome.best is not None
        assert outcome.status in (Status.OPTIMAL, Status.PRECISION)
        check_status(outcome, supports.scale, gap=tolerance.gap)
        # What is found on the way may be outside: any better vector of the stage is welcome.
        assert outcome.best.value <= max(supports.values.values()) + 1e-12 * supports.scale


def test_features_in_and_out() -> None:
    """Tests nodes with features fixed in and out, in any stage."""
    check_parts(range(30))


@pytest.mark.slow
def test_features_in_and_out_at_length() -> None:
    """Tests hundreds of them."""
    check_parts(spread(30, 700))


# Jobs


def everything_of(result: Result) -> list[Any]:
    """All of a result but the time it took, to the last bit."""
    steps = [(e.stage, e.nodes, e.open_nodes, e.lower, e.upper) for e in result.history]
    arrays = (result.components, result.variances, result.upper_bounds)
    return [result.status, result.statuses, result.nodes, steps, *(a.tobytes() for a in arrays)]


@pytest.mark.parametrize(("seed", "p"), [(0, 6), pytest.param(1, 9, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tuning", [TUNINGS[0], *later(*TUNINGS[1:])])
def test_the_same_whatever_the_jobs(tuning: Tuning, seed: int, p: int) -> None:
    """Tests one, two and four threads: the same result and the same steps, bit for bit."""
    problem = Problem("noise", noise(24, seed), p)
    runs = [
        everything_of(solve_by(tuning, problem, 2, gap=1e-4, n_jobs=jobs)) for jobs in (1, 2, 4)
    ]
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][2] > 4


# Limits and interrupts inside the relaxation


class Counting:
    """Counts iterations of the method, and does something before a chosen one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: float, what: Any) -> None:
        self.count = 0
        step = ShareMethod.step

        def counted(method: ShareMethod) -> None:
            self.count += 1
            if self.count == at:
                what()
            step(method)

        monkeypatch.setattr(ShareMethod, "step", counted)


def iterations_of(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many iterations a solve takes that nothing stops."""
    with monkeypatch.context() as patch:
        counting = Counting(patch, np.inf, None)
        solve_by(RELAXING, problem, 1, gap=1e-6)
        return counting.count


def stopped_problem(seed: int) -> tuple[Problem, Supports]:
    """A problem of which the relaxation has something to do, and its supports."""
    problem = Problem("noise", noise(9, seed), 4)
    return problem, supports_of(problem.matrix, np.empty((0, 9)), 4)


def check_stopped(result: Result, supports: Supports, status: Status) -> bool:
    """A component with a valid bound, optimal only if it is; whether it was stopped."""
    stage = result.stages[0]
    best = max(supports.values.values())
    assert supports.above(stage.upper_bound) is None
    assert stage.variance <= best + 1e-12
    assert all(supports.above(entry.upper) is None for entry in result.history)
    closed = stage.upper_bound - stage.variance <= 1e-6 * stage.variance
    assert stage.status is (Status.OPTIMAL if closed else status)
    return not closed


@pytest.mark.parametrize("seed", [0, 3])
def test_out_of_time_inside_the_relaxation(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a clock that runs out before some iteration: what is proved so far is returned."""
    problem, supports = stopped_problem(seed)
    total = iterations_of(problem, monkeypatch)
    stopped = 0
    for at in np.unique(np.linspace(1, total, 15).astype(int)).tolist():
        watch = Watch()

        def end(watch: Watch = watch) -> None:
            watch.clock._stage_end = -np.inf

        settings = Settings(tolerance=Tolerance(0.0, 1e-6), tuning=RELAXING)
        with monkeypatch.context() as patch:
            counting = Counting(patch, at, end)
            outcome = solve_stage(Subproblem(problem.matrix, 4, np.empty((9, 0))), settings, watch)
        # Asked before each iteration: none comes after that one.
        assert counting.count == at
        assert supports.above(outcome.upper) is None
        assert outcome.status in (Status.TIME_LIMIT, Status.OPTIMAL)
        check_status(outcome, 1.0, gap=1e-6)
        stopped += outcome.status is Status.TIME_LIMIT
    assert stopped > 5


@pytest.mark.parametrize("seed", [0, 3])
def test_interrupt_inside_the_relaxation(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests Ctrl-C before some iteration: the component in hand and a valid bound are returned."""
    problem, supports = stopped_problem(seed)
    total = iterations_of(problem, monkeypatch)

    def interrupt() -> None:
        raise KeyboardInterrupt

    stopped = 0
    for at in np.unique(np.linspace(1, total, 15).astype(int)).tolist():
        with monkeypatch.context() as patch:
            Counting(patch, at, interrupt)
            result = solve_by(RELAXING, problem, 1, gap=1e-6)
        stopped += check_stopped(result, supports, Status.INTERRUPTED)
    assert stopped > 5


@pytest.mark.parametrize("raises", [False, True])
def test_callback_inside_the_relaxation(raises: bool) -> None:
    """Tests a callback that asks to stop, or raises Ctrl-C, at each report in turn."""
    problem, supports = stopped_problem(0)
    stopped = 0
    for last in itertools.count():
        heard: list[Progress] = []

        def callback(progress: Progress, heard: list = heard, last: int = last) -> bool:
            heard.append(progress)
            if len(heard) > last and raises:
                raise KeyboardInterrupt
            return len(heard) > last

        result = solve_by(RELAXING, problem, 1, gap=1e-6, callback=callback)
        assert all(supports.above(entry.upper) is None for entry in heard)
        stopped += check_stopped(result, supports, Status.INTERRUPTED)
        if len(heard) <= last:
            break
    assert stopped >= 2


# Ladders that are given up


@pytest.mark.parametrize("part", seeds(1, 3))
@pytest.mark.parametrize("tuning", [TUNINGS[0], *later(*TUNINGS[1:]), RESISTING])
def test_rungs_of_a_ladder_that_was_given_up(
    tuning: Tuning, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests the bound of each sparsity below, from rungs that were not climbed too."""
    given_up = 0
    real = Ladder.give_up

    def give_up(ladder: Ladder) -> None:
        nonlocal given_up
        real(ladder)
        given_up += 1

    monkeypatch.setattr(Ladder, "give_up", give_up)
    for seed in range(14 * part, 14 * part + 14):
        rng = np.random.default_rng([seed, 23])
        n = int(rng.integers(6, 9))
        kind = strategies.KINDS[seed % len(strategies.KINDS)].replace("-", "_")
        matrix = noise(n, seed) if seed % 3 == 0 else getattr(strategies, kind)(rng, n)
        p = int(rng.integers(5, n))
        settings = Settings(tolerance=Tolerance(0.0, 1e-4), tuning=tuning)
        outcome = solve_stage(Subproblem(matrix, p, np.empty((n, 0))), settings, Watch())
        assert [rung.size for rung in outcome.rungs] == list(range(1, p + 1))
        for rung in outcome.rungs:
            supports = supports_of(matrix, np.empty((0, n)), rung.size)
            assert supports.above(rung.upper) is None, (seed, rung.size)
            assert rung.best is not None
            assert np.count_nonzero(rung.best.vector) <= rung.size
            assert rung.best.value <= rung.upper
            best = max(supports.values.values())
            assert rung.best.value <= best + 1e-12 * supports.scale
    assert given_up >= 5
