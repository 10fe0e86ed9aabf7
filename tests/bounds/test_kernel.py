"""Tests of the compiled step: the same as in NumPy, whenever it comes and if it never does."""

from __future__ import annotations

import itertools
import logging
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.critical import Critical, first_level
from helpers.seeds import crossed, spread
from orthospca import solve
from orthospca.bounds.conditioning import compiled
from orthospca.bounds.conditioning.parts import Part
from orthospca.bounds.conditioning.step import Frame
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
    """As in a solve, with the compiled step there."""
    compiled.load()
    with single_threaded_blas():
        yield


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> type[compiled._State]:
    """A process that has nothing yet."""

    class State(compiled._State):
        step, child, failed = None, None, False

    monkeypatch.setattr(compiled, "_State", State)
    return State


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


@pytest.mark.parametrize(("enumerate_below", "full_share"), crossed([1, 64], [0, 4]))
def test_the_same_steps(full_share: int, enumerate_below: int) -> None:
    """Tests that NumPy and the compiled loop take the same steps, one after the other."""
    steps = constrained = 0
    for seed in range(40):
        problem = problem_of(seed)
        incumbent = find_incumbent(problem)
        assert incumbent is not None
        level = incumbent.value + 0.01 * abs(incumbent.value)
        change = {"full_share": full_share, "enumerate_below": enumerate_below}
        plain = walked(problem, incumbent, level, replace(NUMPY, **change))
        quick = walked(problem, incumbent, level, replace(AT_ONCE, **change))
        assert same(plain.steps, quick.steps)
        assert (plain.complete, plain.level, plain.upper) == (
            quick.complete,
            quick.level,
            quick.upper,
        )
        assert plain.best.value == quick.best.value
        steps += len(quick.steps)
        constrained += problem.constrained
    assert steps > 200
    assert constrained > 5


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


def test_parts_that_promise_no_end() -> None:
    """Tests walks that are given up by what their first parts took, whatever the number of jobs."""
    early = 0
    for seed in range(20):
        problem = problem_of(seed, 30, 8)
        incumbent = find_incumbent(problem)
        assert incumbent is not None
        level = incumbent.value + 0.002 * abs(incumbent.value)
        tuning = replace(IN_PARTS, free_steps=0.0)
        whole = walked(problem, incumbent, level, tuning)
        budget = 0.6 * whole.work
        found = [
            Conditioning(problem, tuning, n_jobs=jobs).search(
                everything(problem), incumbent, level, budget
            )
            for jobs in (1, 2)
        ]
        assert found[0].complete == found[1].complete
        assert found[0].work == found[1].work
        assert not found[0].complete or found[0].upper == whole.upper
        early += not found[0].complete and found[0].work < budget
    assert early > 2


def test_the_largest() -> None:
    """Tests sums of the largest numbers against sorting, with ties, zeros and extreme sizes."""
    from orthospca.bounds.conditioning.kernel import _edges, _largest

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
        total, low, high = _largest(row, count, guess, np.empty(len(row)))
        last, following = _edges(row, low, high)
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
    # Numbers that are out of all proportion to the guess, and rows of nothing but zeros.
    assert _largest(np.array([1e300, 1e299, 1.0]), 1, 1e-3, np.empty(3))[0] == pytest.approx(1e300)
    assert _largest(np.zeros(4), 2, 1.0, np.empty(4))[0] == 0.0


@pytest.mark.parametrize("small", [0.0, 1e-30, 1e-9])
def test_features_of_any_size(small: float) -> None:
    """Tests that constant and tiny features do not keep the compiled step from what NumPy does."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 40)) @ rng.standard_normal((40, 40)) ** 3
    rows[:, ::5] *= small
    matrix = np.cov(rows.T)
    ruled_out = 0
    for p in (3, 8, 15):
        for level in (0.5, 0.8, 1.2):
            frame = Frame(matrix, level * float(np.linalg.eigvalsh(matrix)[-1]))
            plain = frame.eliminate(p, replace(NUMPY, full_share=0))
            quick = frame.eliminate(p, replace(AT_ONCE, full_share=0))
            if plain is None or quick is None:
                assert plain is quick
                continue
            assert plain.kept.tolist() == quick.kept.tolist()
            assert plain.forced.tolist() == quick.forced.tolist()
            assert plain.branch == quick.branch
            ruled_out += len(plain.kept) < len(matrix)
    assert ruled_out > 2


def first_step(
    problem: Subproblem, inside: np.ndarray, level: float, penalty: float, tuning: WalkTuning
) -> tuple[set[int], set[int]] | None:
    """What a compiled step removes and forces; None if it cannot be taken."""
    features = np.arange(problem.n_features)
    frame = Conditioning(problem, tuning).frame(features, level, penalty).conditioned(inside)
    left = None if frame is None else frame.eliminate(problem.sparsity - len(inside), tuning)
    if left is None:
        return None
    free = np.setdiff1d(features, inside)
    return set(np.delete(free, left.kept).tolist()), set(free[left.forced].tolist())


def false_proofs(seeds: range, constrained: bool, share: int) -> tuple[list[int], int]:
    """Seeds at which the loop rules out a support above the level; how many levels were checked."""
    wrong, checked = [], 0
    for seed in seeds:
        case = Critical(seed)
        if constrained:
            case.constrain()
        problem = case.problem
        tuning = replace(AT_ONCE, full_share=share)
        penalty = PENALTIES[seed % 4] if constrained else 0.0

        def dropped(level: float, problem=problem, case=case, penalty=penalty, way=tuning) -> bool:
            found = first_step(problem, case.included, level, penalty, way)
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


@pytest.mark.parametrize(("constrained", "share"), crossed([False, True], [0, 4]))
def test_rounding_never_rules_out_a_support_above_the_level(constrained: bool, share: int) -> None:
    """Tests supports at the lowest level at which the loop rules them out, decided exactly."""
    wrong, checked = false_proofs(range(60), constrained, share)
    assert wrong == []
    assert checked > 15


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 4])
@pytest.mark.parametrize("constrained", [False, True])
def test_rounding_at_length(constrained: bool, share: int) -> None:
    """Tests thousands of them."""
    wrong, _ = false_proofs(spread(60, 12_000), constrained, share)
    assert wrong == []


def test_without_the_margin_rounding_does_rule_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the test: with the level not lowered, supports above it are ruled out."""
    frame_of = Conditioning.frame

    def careless(self: Conditioning, indices: Any, level: float, penalty: float) -> Any:
        return replace(frame_of(self, indices, level, penalty), level=level)

    monkeypatch.setattr(Conditioning, "frame", careless)
    assert len(false_proofs(range(150), False, 0)[0]) > 1


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


# When it comes, and whether it comes at all


def test_whenever_it_comes(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a walk is the same, to the last step, whenever the compiled step takes over."""
    step = compiled.load()
    problem = problem_of(13, 30, 8)
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    level = incumbent.value + 1e-4 * abs(incumbent.value)
    found = []
    for when in (0, 1, 7, 40, math.inf):
        asked = itertools.count()

        def ask(seconds: float, asked: Any = asked, when: float = when) -> None:
            fresh.step = step if next(asked) >= when else None

        monkeypatch.setattr(compiled, "ask", ask)
        for tuning in (AT_ONCE, IN_PARTS):
            fresh.step = None
            found.append(walked(problem, incumbent, level, tuning))
    assert len(found[0].steps) > 40
    for dive in found[1:]:
        assert same(dive.steps, found[0].steps)
        assert (dive.complete, dive.upper, dive.best.value) == (
            found[0].complete,
            found[0].upper,
            found[0].best.value,
        )
    for one, other in zip(found, found[2:], strict=False):
        assert one.work == pytest.approx(other.work, rel=1e-12)


def test_without_a_compiler(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that everything works where nothing can be compiled."""
    monkeypatch.setattr(compiled, "_is_there", lambda: False)
    problem = problem_of(1)
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    found = walked(problem, incumbent, incumbent.value * 1.01, AT_ONCE)
    assert found.complete or found.best is not incumbent
    assert solve(problem.covariance, 4).status.name == "OPTIMAL"
    assert compiled.loaded() is None


def test_parts_without_a_compiler(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a part that is sent to a machine without a compiler is closed there as well."""
    problem = problem_of(13, 30, 8)
    incumbent = find_incumbent(problem)
    assert incumbent is not None
    level = incumbent.value + 1e-4 * abs(incumbent.value)
    whole = walked(problem, incumbent, level, AT_ONCE)
    everywhere = np.arange(problem.n_features)
    walk = Walk(Conditioning(problem, IN_PARTS), level, level, incumbent)
    part = Part(walk, everywhere[:0], everywhere, 0, math.inf, math.inf)
    monkeypatch.setattr(compiled, "_is_there", lambda: False)
    closed = part.run(None)
    assert closed.complete
    assert same(closed.steps, whole.steps)
    assert not part.run(lambda: True).complete
    assert not replace(part, budget=0.1).run(None).complete


def test_a_compiler_that_does_not_work(
    fresh: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Tests that a broken installation is noted once, and does no harm."""
    monkeypatch.setitem(sys.modules, "orthospca.bounds.conditioning.kernel", None)
    monkeypatch.delattr("orthospca.bounds.conditioning.kernel", raising=False)
    with caplog.at_level(logging.INFO, logger="orthospca"):
        for _ in range(3):
            compiled.ask(math.inf)
    assert len(caplog.records) == 1
    assert "the search is not compiled" in caplog.text
    assert not compiled.is_installed()
    assert Conditioning(problem_of(1)).speed == 1.0


def test_it_is_asked_for_when_walks_are_long(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that short walks never ask for it, and that the work of a stage adds up."""
    asked: list[float] = []
    monkeypatch.setattr(compiled, "ask", asked.append)
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


class Started:
    """Stands in for the process that compiles."""

    returncode: int | None = None

    def poll(self) -> int | None:
        """Whether it has ended, and how."""
        return self.returncode


def test_the_process_that_compiles(
    fresh: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that one process is started, once, waited for without waiting, and then believed."""
    child = Started()
    started = []
    monkeypatch.setattr(compiled, "_start", lambda: started.append(1) or child)
    monkeypatch.setattr(compiled, "_is_compiled", lambda: False)
    compiled.ask(1.0)
    assert not started, "there is no time for it"
    for _ in range(3):
        compiled.ask(60.0)
        assert compiled.loaded() is None
    assert started == [1]
    child.returncode = 0
    compiled.ask(60.0)
    assert compiled.loaded() is not None
    assert compiled.is_installed()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("how", ["killed", "not started"])
def test_a_process_that_fails(fresh: Any, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Tests that without a compiled step the search goes on as if there were no compiler."""
    child = Started()
    child.returncode = -9

    def start() -> Started:
        if how == "killed":
            return child
        raise PermissionError("not allowed")

    monkeypatch.setattr(compiled, "_start", start)
    monkeypatch.setattr(compiled, "_is_compiled", lambda: False)
    for _ in range(3):
        compiled.ask(60.0)
    assert compiled.loaded() is None
    assert not compiled.is_installed()


def test_a_frozen_program_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a program is not started a second time in place of an interpreter."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(OSError, match="no interpreter"):
        compiled._start()


FRESH = """
import sys, time
from orthospca.bounds.conditioning import compiled
end = time.monotonic() + 300
compiled.ask(60.0)
if sys.argv[1] == "wait":
    while compiled.loaded() is None and compiled.is_installed() and time.monotonic() < end:
        time.sleep(0.1)
        compiled.ask(60.0)
print(compiled.loaded() is not None, compiled.is_installed())
"""


def run_fresh(tmp_path: Path, what: str) -> str:
    """What a new process says that finds its compiled code in a folder."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-W", "error", "-c", FRESH, what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.slow
def test_from_nothing(tmp_path: Path) -> None:
    """Tests a machine on which nothing is compiled: two processes at once, one that ends early."""
    assert run_fresh(tmp_path, "leave") == "False True"
    assert run_fresh(tmp_path, "wait") == "True True"
    # From disk at once.
    assert run_fresh(tmp_path, "leave") == "True True"


def test_other_threads_go_on() -> None:
    """Tests that the compiled step leaves the interpreter to others: it says so when compiled."""
    step: Any = compiled.load()
    assert step.targetoptions["nogil"] is True


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
