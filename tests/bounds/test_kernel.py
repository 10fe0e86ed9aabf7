"""Tests of the compiled walk: the same steps as in NumPy, and nothing above the level ruled out."""

from __future__ import annotations

import itertools
import logging
import math
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.critical import Critical, first_level, is_definite
from orthospca import solve
from orthospca.bounds.conditioning import compiled, state
from orthospca.bounds.conditioning.state import LoopState
from orthospca.bounds.conditioning.steps import Step, StepLog, Tree
from orthospca.bounds.conditioning.walk import Conditioning, Tally, Walk
from orthospca.facade import solve_with
from orthospca.model.nodes import Node
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import DEFAULT, WalkTuning
from orthospca.numerics.threads import single_threaded_blas
from orthospca.supports.best import Candidate
from orthospca.supports.heuristic_path import find_incumbent

pytest.importorskip("numba", reason="there is no numba to compile with")

NUMPY = WalkTuning(compiled_after=math.inf)
AT_ONCE = WalkTuning(compiled_after=0.0, split_after=math.inf)
IN_PARTS = WalkTuning(compiled_after=0.0, split_after=0.5, parts=9)
PENALTIES = WalkTuning().penalties


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in a solve."""
    with single_threaded_blas():
        yield


def kernel() -> Any:
    """The module of the loop, compiled."""
    return compiled._kernel()


def problem_of(seed: int, n: int = 24, p: int = 6) -> Subproblem:
    """A correlation, a covariance or an indefinite matrix; sometimes with components before."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, n)) @ rng.standard_normal((n, n)) ** (1 + 2 * (seed % 2))
    matrix = np.corrcoef(rows.T) if seed % 4 < 2 else np.cov(rows.T)
    if seed % 5 == 0:
        matrix = matrix - np.diag(rng.uniform(0, 2, n) * np.diag(matrix))
    k = seed % 3
    X = np.zeros((n, k))
    X[: 4 + k, :k] = np.linalg.qr(rng.standard_normal((4 + k, k)))[0] if k else 0.0
    return Subproblem(0.5 * (matrix + matrix.T), p, X)


def everything(problem: Subproblem) -> Node:
    """The node with all supports."""
    return Node(np.arange(0), np.arange(problem.n_features))


def same(one: Tree, other: Tree) -> bool:
    """Whether two trees have the same steps."""
    return len(one) == len(other) and all(
        a.branch == b.branch
        and set(a.removed.tolist()) == set(b.removed.tolist())
        and set(a.forced.tolist()) == set(b.forced.tolist())
        for a, b in zip(one, other, strict=True)
    )


def walked(
    problem: Subproblem, incumbent: Candidate, level: float, tuning: WalkTuning, **more: Any
) -> Any:
    """A whole search."""
    work = Conditioning(problem, tuning, **more)
    return work.search(everything(problem), incumbent, level, math.inf)


@pytest.mark.parametrize("full_share", [0, 4])
@pytest.mark.parametrize("enumerate_below", [1, 64])
def test_the_same_steps(full_share: int, enumerate_below: int) -> None:
    """Tests that NumPy and the compiled loop take the same steps, one after the other."""
    steps = constrained = walks = different = 0
    for seed in range(40):
        problem = problem_of(seed)
        incumbent = find_incumbent(problem)
        assert incumbent is not None
        level = incumbent.value + 0.01 * abs(incumbent.value)
        change = {"full_share": full_share, "enumerate_below": enumerate_below}
        plain = walked(problem, incumbent, level, replace(NUMPY, **change))
        quick = walked(problem, incumbent, level, replace(AT_ONCE, **change))
        if plain.best is not incumbent or quick.best is not incumbent:
            # Supports that are tested one by one in NumPy may turn out better within the level.
            continue
        # A decision on the last digits may fall either way.
        different += not same(plain.steps, quick.steps)
        assert (plain.complete, plain.level) == (quick.complete, quick.level)
        assert plain.upper <= quick.upper
        walks += 1
        steps += len(quick.steps)
        constrained += problem.constrained
    assert steps > 200
    assert constrained > 5
    assert different <= 0.1 * walks


def test_parts_have_the_same_steps() -> None:
    """Tests that a walk that is cut into parts is the same walk, whatever the number of jobs."""
    cut = 0
    for seed in range(30):
        problem = problem_of(seed, 30, 8)
        incumbent = find_incumbent(problem)
        assert incumbent is not None
        level = incumbent.value + 0.002 * abs(incumbent.value)
        whole = walked(problem, incumbent, level, AT_ONCE)
        found = [walked(problem, incumbent, level, IN_PARTS, n_jobs=jobs) for jobs in (1, 2, 4)]
        for parts in found:
            assert parts.complete == whole.complete
            assert parts.best.value == whole.best.value
            assert (parts.best.vector == whole.best.vector).all()
            assert same(parts.steps, whole.steps), seed
            assert parts.upper == whole.upper
            assert parts.work == found[0].work
        cut += len(whole.steps) > 20
    assert cut > 5


def test_the_largest() -> None:
    """Tests sums of the largest numbers against sorting, with ties, zeros and extreme sizes."""
    largest, edges = kernel()._largest, kernel()._edges
    rng = np.random.default_rng(0)
    alike = 0
    for number in range(4000):
        n = int(rng.integers(2, 90))
        count = int(rng.integers(1, n))
        row = np.abs(rng.standard_normal(n))
        if number % 5 == 1:
            row = np.round(row, 1)
        if number % 5 == 2:
            row = row * (rng.random(n) < 0.3)
        if number % 5 == 3:
            row = np.full(n, row[0])
        if number % 5 == 4:
            row = row**2 * 10.0 ** int(rng.integers(-9, 9))
        guess = 10.0 ** float(rng.uniform(-4, 4))
        ordered = np.sort(row)[::-1]
        total, low, high = largest(row, n, count, guess)
        last, following = edges(row, n, low, high)
        exact = math.fsum(ordered[:count])
        assert total >= exact * (1 - 1e-14)
        assert total <= exact * (1 + 1e-14) + 1e-9 * guess
        if low == high:
            assert (last, following) == (ordered[count - 1], ordered[count])
        else:
            alike += 1
            assert last <= ordered[count - 1] <= following
            assert last <= ordered[count] <= following
    assert 500 < alike < 3000
    # Numbers that are out of all proportion to the guess: nothing is claimed of their sum.
    assert largest(np.array([1e300, 1e299, 1.0]), 3, 1, 1e-3)[0] >= 1e300


def test_definite() -> None:
    """Tests that what is proved positive definite is so, exactly, and that little else is not."""
    proves = kernel()._is_definite
    proved = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 7))
        rows = rng.integers(-4, 5, size=(int(rng.integers(1, n + 2)), n)).astype(float)
        matrix = rows.T @ rows + rng.choice([0.0, 1e-16, 1e-13, 1e-3]) * np.eye(n)
        d = matrix.diagonal().copy()
        form = -matrix.ravel().copy()
        found = proves(form, 0, n, np.arange(n), n, d, np.empty(n * n), np.empty(n))
        if found:
            proved += 1
            assert is_definite(matrix, np.zeros((n, n)))
        else:
            assert np.linalg.eigvalsh(matrix)[0] < 1e-10 * (1 + d.max())
    assert 50 < proved < 290


def first_step(
    problem: Subproblem,
    inside: np.ndarray,
    free: np.ndarray,
    level: float,
    penalty: float,
    share: int,
) -> tuple[set[int], set[int]] | None:
    """What the first step of the loop removes and forces; None if it does not take it."""
    tuning = WalkTuning(penalties=(penalty,), enumerate_below=0, full_share=share)
    poor = Candidate(-math.inf, np.zeros(problem.n_features))
    walk = Walk.of_a_part(Conditioning(problem, tuning), poor, level, level)
    resumption = LoopState.of(kernel(), walk, walk.node(inside, free, 0))
    code = resumption.advance((0, share, 3, 2000, 100), 0.0)
    if code == kernel().STUCK:
        return None
    step = resumption.recorded()[0]
    return set(step.removed.tolist()), set(step.forced.tolist())


def false_proofs(seeds: range, constrained: bool, share: int) -> tuple[list[int], int]:
    """Seeds at which the loop rules out a support above the level; how many levels were checked."""
    wrong, checked = [], 0
    for seed in seeds:
        case = Critical(seed)
        if constrained:
            case.constrain()
        problem = case.problem
        everything = np.arange(len(case.matrix))
        free = np.setdiff1d(everything, case.included)
        penalty = PENALTIES[seed % 4] if constrained else 0.0

        def dropped(level: float, problem=problem, case=case, penalty=penalty, free=free) -> bool:
            found = first_step(problem, case.included, free, level, penalty, share)
            if found is None:
                return False
            removed, forced = found
            rest = set(case.rest.tolist())
            return bool(removed & rest or not forced <= rest)

        low, high = case.level - 1e5 * case.unit, case.level + 1e6 * case.unit
        level = first_level(low, high, dropped)
        if level is not None:
            checked += 1
            if case.exceeds(case.support, level):
                wrong.append(seed)
    return wrong, checked


@pytest.mark.parametrize("share", [0, 4])
@pytest.mark.parametrize("constrained", [False, True])
def test_rounding_never_rules_out_a_support_above_the_level(constrained: bool, share: int) -> None:
    """Tests supports at the lowest level at which the loop rules them out, decided exactly."""
    wrong, checked = false_proofs(range(300), constrained, share)
    assert wrong == []
    assert checked > 60


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 4])
@pytest.mark.parametrize("constrained", [False, True])
def test_rounding_at_length(constrained: bool, share: int) -> None:
    """Tests thousands of them."""
    wrong, _ = false_proofs(range(300, 12_000), constrained, share)
    assert wrong == []


def test_without_the_margin_rounding_does_rule_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the test: with the level not lowered, supports above it are ruled out."""
    frame_of = Conditioning.frame

    def careless(self: Conditioning, indices: Any, level: float, penalty: float) -> Any:
        return replace(frame_of(self, indices, level, penalty), level=level)

    monkeypatch.setattr(Conditioning, "frame", careless)
    assert len(false_proofs(range(300), False, 0)[0]) > 5


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300])
def test_not_a_number_rules_nothing_out(value: float) -> None:
    """Tests that the loop stops at what is no number, or keeps what belongs to it."""
    matrix = np.full((5, 5), 0.5) + 0.5 * np.eye(5)
    matrix[0, 1] = matrix[1, 0] = value
    for inside in (0, 1):
        places = np.arange(5), np.arange(inside), np.arange(inside, 5)
        resumption = LoopState(kernel(), matrix, 3.0, *places, 3, 1)
        code = resumption.advance((0, 4, 3, 2000, 100))
        closed = code == kernel().DONE
        assert not closed


def test_limits_are_kept() -> None:
    """Tests budgets and requests to stop; what the first step has shown is not lost."""
    rng = np.random.default_rng(0)
    problem = Subproblem(np.corrcoef(rng.standard_normal((150, 60)).T), 10, np.zeros((60, 0)))
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    level = incumbent.value * 1.001
    for tuning in (AT_ONCE, IN_PARTS):
        work = Conditioning(problem, tuning)
        short = work.search(everything(problem), incumbent, level, 3.0)
        assert not short.complete
        assert short.work < 60
        asked = itertools.count()
        stopped = work.search(
            everything(problem), incumbent, level, math.inf, lambda a=asked: next(a) >= 2
        )
        assert not stopped.complete


def test_arrays_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a loop that has to ask for room at every turn."""
    problem = problem_of(13, 30, 8)
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    level = incumbent.value + 1e-4 * abs(incumbent.value)
    whole = walked(problem, incumbent, level, AT_ONCE)
    monkeypatch.setattr(state, "RECORDED", 3)
    monkeypatch.setattr(state, "NAMED", 1)
    monkeypatch.setattr(state, "QUANTUM", 1)
    assert same(walked(problem, incumbent, level, AT_ONCE).steps, whole.steps)
    assert len(whole.steps) > 20


def tuned(walk: WalkTuning, **more: Any) -> Settings:
    """Settings with another walk."""
    return Settings.validate(tuning=replace(DEFAULT, walk=walk), **more)


@pytest.mark.parametrize("proof", [False, True])
def test_whole_solves(proof: bool) -> None:
    """Tests components and bounds of solves with and without the loop, and their proofs."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((40, 30)) @ rng.standard_normal((30, 30))
    matrix = np.corrcoef(rows.T)
    results = [
        solve_with(matrix, 6, 3, tuned(walk, proof=proof, gap=1e-3, n_jobs=jobs))
        for walk in (NUMPY, AT_ONCE, IN_PARTS)
        for jobs in (1, 2)
    ]
    for result in results:
        assert np.allclose(result.variances, results[0].variances, rtol=1e-3)
        assert (result.gaps <= 1e-3).all()
        if proof:
            assert result.certificate.verify().verified
    for one, two in zip(results[::2], results[1::2], strict=True):
        assert (one.components == two.components).all()
        assert (one.upper_bounds == two.upper_bounds).all()


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that everything works where the loop cannot be compiled."""
    monkeypatch.setattr(compiled, "is_installed", lambda: False)
    problem = problem_of(1)
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    found = walked(problem, incumbent, incumbent.value * 1.01, AT_ONCE)
    assert found.complete or found.best is not incumbent
    assert solve(problem.covariance, 4).status.name == "OPTIMAL"


def test_parts_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a part that is sent to a machine without a compiler is closed there as well."""
    problem = problem_of(13, 30, 8)
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    level = incumbent.value + 1e-4 * abs(incumbent.value)
    whole = walked(problem, incumbent, level, AT_ONCE)
    work = Conditioning(problem, IN_PARTS)
    everywhere = np.arange(problem.n_features)
    part = compiled._Part(
        work, incumbent, level, level, everywhere[:0], everywhere, 0, math.inf, math.inf
    )
    monkeypatch.setattr(compiled, "is_ready", lambda seconds: False)
    closed = part.run(None)
    assert closed.complete
    assert same(closed.steps, whole.steps)
    assert not part.run(lambda: True).complete
    assert not replace(part, budget=2.0).run(None).complete


def test_a_compiler_that_does_not_work(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Tests that a broken installation is told in one line, and does no harm."""
    compiled._loaded.cache_clear()
    monkeypatch.setitem(sys.modules, "orthospca.bounds.conditioning.kernel", None)
    monkeypatch.delattr("orthospca.bounds.conditioning.kernel", raising=False)
    try:
        problem = problem_of(1)
        incumbent = find_incumbent(problem)
        assert incumbent is not None
        with caplog.at_level(logging.WARNING, logger="orthospca"):
            for _ in range(2):
                found = walked(problem, incumbent, incumbent.value * 1.01, AT_ONCE)
                assert found.complete or found.best is not incumbent
        assert len(caplog.records) == 1
        assert "the search is not compiled" in caplog.text
    finally:
        compiled._loaded.cache_clear()


def test_compiling_is_announced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Tests the one line, once, and that nothing is compiled where time is short."""
    kernel()
    monkeypatch.setattr(compiled, "_is_compiled", lambda kernel: False)
    compiled._kernel.cache_clear()
    assert not compiled.is_ready(5.0)
    assert compiled.is_ready(math.inf)
    with caplog.at_level(logging.WARNING, logger="orthospca"):
        kernel()
        kernel()
    assert [record.message for record in caplog.records] == [
        "orthospca: compiling the search for this machine; this happens once and takes some seconds"
    ]
    # Once it is there, time is no question any more.
    assert compiled.is_ready(0.1)


def test_the_loop_comes_when_a_walk_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that short walks never ask for it, and that the work of a stage adds up."""
    asked: list[float] = []

    def ready(seconds: float) -> bool:
        asked.append(seconds)
        return False

    monkeypatch.setattr(compiled, "is_ready", ready)
    problem = problem_of(1)
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    tally = Tally()
    work = Conditioning(problem, WalkTuning(compiled_after=30.0), tally, lambda: 7.0)
    work.search(everything(problem), incumbent, incumbent.value * 1.5, math.inf)
    assert asked == []
    tally.work = 30.0
    work.search(everything(problem), incumbent, incumbent.value * 1.5, math.inf)
    assert set(asked) == {7.0}


def test_other_threads_go_on() -> None:
    """Tests that the loop leaves the interpreter to others."""
    rng = np.random.default_rng(0)
    problem = Subproblem(np.corrcoef(rng.standard_normal((150, 60)).T), 10, np.zeros((60, 0)))
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    counted, over = [0], threading.Event()

    def count() -> None:
        while not over.is_set():
            counted[0] += 1

    other = threading.Thread(target=count)
    other.start()
    try:
        work = Conditioning(problem, replace(AT_ONCE, compiled_speed=1.0))
        work.search(everything(problem), incumbent, incumbent.value * 1.001, 2000.0)
    finally:
        over.set()
        other.join()
    assert counted[0] > 100


# The record


def test_records_add_up() -> None:
    """Tests steps taken one at a time and many at once, and what a tree says of them."""
    rng = np.random.default_rng(0)
    steps = [
        Step(
            rng.integers(0, 9, int(rng.integers(0, 4))), int(rng.integers(-1, 9)), np.arange(i % 3)
        )
        for i in range(20)
    ]
    record = StepLog()
    for step in steps[:7]:
        record.append(step)
    record.extend(Tree.of(steps[7:12]))
    record.extend(Tree.of(steps[12:13]))
    for step in steps[13:]:
        record.append(step)
    tree = record.tree()
    assert len(record) == len(tree) == 20
    assert same(tree, Tree.of(steps))
    assert tree[-1].branch == steps[-1].branch
    assert [step.branch for step in tree[3:6]] == [step.branch for step in steps[3:6]]
    with pytest.raises(IndexError):
        tree[20]
    places = 2 * np.arange(9) + 1
    moved = tree.embedded(places)
    for before, after in zip(tree, moved, strict=True):
        assert after.branch == (2 * before.branch + 1 if before.branch >= 0 else -1)
        assert (after.removed == places[before.removed]).all()
    assert len(StepLog().tree()) == 0
    assert record.first.branch == steps[0].branch
