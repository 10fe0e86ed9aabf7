"""Algorithm 3: components taken from blocks, and what is proved of them in the original matrix."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import joblib
import numpy as np
import pytest

from helpers import brute_force
from helpers.seeds import crossed, seeds
from helpers.truth import check_precision, is_finished, is_proved, proved_optimum
from orthospca import Blocks, Result, Status, block_diagonalize, solve
from orthospca.blocks import pool as module
from orthospca.blocks.partition import Blocks as BlocksType
from orthospca.blocks.partitioned import PartitionedMatrix
from orthospca.blocks.posterior import group_bound
from orthospca.blocks.tasks import Supervisor, Task
from orthospca.model.limits import Watch
from orthospca.model.result import Progress
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT, BlockTuning
from orthospca.numerics.rounding import add_up
from orthospca.search.outcome import Request
from orthospca.supports.best import Candidate


def covariance(rng: np.random.Generator, n: int) -> np.ndarray:
    rows = rng.standard_normal((n + 3, n)) * rng.uniform(0.3, 2.0, n)
    return rows.T @ rows / (n + 3)


def indefinite(rng: np.random.Generator, n: int) -> np.ndarray:
    square = rng.standard_normal((n, n))
    return square + square.T


def block_matrix(rng: np.random.Generator, sizes: list[int], kind: Callable) -> np.ndarray:
    """Blocks along exact zeros, in shuffled order."""
    n = sum(sizes)
    Q = np.zeros((n, n))
    start = 0
    for size in sizes:
        Q[start : start + size, start : start + size] = kind(rng, size)
        start += size
    order = rng.permutation(n)
    return Q[np.ix_(order, order)]


def random_sizes(rng: np.random.Generator, largest: int = 8) -> list[int]:
    sizes: list[int] = []
    while sum(sizes) < largest - 1:
        sizes.append(int(rng.integers(1, min(4, largest - sum(sizes)) + 1)))
    return sizes if len(sizes) > 1 else [*sizes, 1]


def check_stages(Q: np.ndarray, p: int | list[int], result: Result, slack: float) -> None:
    """Every stage against enumeration, given the components before it; and the guarantee.

    Feasibility, ``variance ≤ optimum ≤ upper bound ≤ variance + guarantee``, and the sequence ends
    only where no further component exists.
    """
    n = len(Q)
    scale = float(np.abs(Q).max()) * n or 1.0
    X = result.components
    np.testing.assert_allclose(X @ X.T, np.eye(len(X)), atol=1e-12)
    for k, stage in enumerate(result.stages):
        size = p if isinstance(p, int) else p[k]
        assert len(stage.support) <= size
        assert stage.variance == pytest.approx(stage.vector @ Q @ stage.vector, abs=1e-12 * scale)
        assert is_proved(Q, X[:k], size, stage.upper_bound), (k, stage)
        assert stage.upper_bound <= add_up(stage.variance, result.guarantee)
        if is_proved(Q, X[:k], size, stage.variance - 1e-12 * scale):
            # Only where the rank is in doubt, so that it is feasible no better than by rounding.
            known = brute_force.stage_interval(Q, X[:k], size)
            assert known.high is not None
            rounding = 1e-13 * scale / min(known.smallest, 1.0) ** 2 + 1e-12 * scale
            assert stage.variance <= known.high + rounding, (k, known, stage)
    # A tolerance is kept to the last digit, and one that is nothing up to rounding.
    assert result.guarantee <= slack or slack < result.guarantee <= slack + 1e-9 * scale
    check_precision(result, Q)
    if len(result.stages) < len(result.sparsity):
        assert result.exhausted
        assert result.status in (Status.EXHAUSTED, Status.THRESHOLD, Status.PRECISION)
        size = p if isinstance(p, int) else p[len(X)]
        assert brute_force.stage_interval(Q, X, size).low is None


@pytest.mark.parametrize("kind", [covariance, indefinite])
@pytest.mark.parametrize("method", ["branch-and-bound", "eigenvalue", "enumeration"])
@pytest.mark.parametrize("seed", seeds(5, 12))
def test_exact_blocks(seed: int, method: str, kind: Callable) -> None:
    """Tests Theorem 1: along exact zeros the merged sequence is a global one, to the last stage."""
    rng = np.random.default_rng(seed)
    Q = block_matrix(rng, random_sizes(rng), kind)
    p = int(rng.integers(1, 5))
    gap = 1e-4 if method == "enumeration" else 0.0  # an enumeration is exact whatever it is asked
    result = solve(Q, p, len(Q), method=method, gap=gap)
    check_stages(Q, p, result, slack=0.0)
    assert "along exact zeros" in result.note
    assert is_finished(result, Q)


@pytest.mark.parametrize("seed", seeds(12, 40))
def test_merged_sequence_is_the_global_one(seed: int) -> None:
    """Tests that variances agree with those of a solve that knows of no blocks (no ties here)."""
    rng = np.random.default_rng(seed)
    sizes = random_sizes(rng)
    Q = block_matrix(rng, sizes, covariance)
    p = int(rng.integers(1, 4))
    merged = solve(Q, p, len(Q), gap=0.0)
    count = min(sizes)  # beyond it a block may have run out, and ties of the order matter
    optima = brute_force.sequence(Q, [p] * count)
    np.testing.assert_allclose(merged.variances[:count], [best.value for best in optima], rtol=1e-9)


@pytest.mark.parametrize("seed", seeds(12, 40))
def test_tolerant_blocks(seed: int) -> None:
    """Tests Theorem 2: with ε-optimal blocks each component is within ε of its stage's optimum."""
    rng = np.random.default_rng(seed)
    Q = block_matrix(rng, random_sizes(rng), covariance)
    p = int(rng.integers(1, 5))
    eps = float(rng.uniform(0.05, 1.0))
    result = solve(Q, p, len(Q), eps=eps, gap=0.0, method="eigenvalue")
    check_stages(Q, p, result, slack=eps)


@pytest.mark.parametrize("kind", [covariance, indefinite])
@pytest.mark.parametrize("inside", ["kept", "thresholded"])
@pytest.mark.parametrize("seed", seeds(5, 50))
def test_thresholded(seed: int, inside: str, kind: Callable) -> None:
    """Tests Theorem 3 and the sharper guarantee on general matrices, every stage to the end."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    Q = kind(rng, n)
    p = int(rng.integers(1, min(n, 4) + 1))
    magnitudes = np.abs(Q[np.triu_indices(n, 1)])
    delta = float(np.quantile(magnitudes, rng.uniform(0.5, 1.0)))
    eps = float(rng.choice([0.0, 0.2]))
    blocks = block_diagonalize(Q, delta, inside=inside)
    result = solve(Q, p, n, threshold=blocks, eps=eps, gap=0.0)
    bound = 2 * p * delta + eps if inside == "thresholded" else (p - 1) * blocks.cross + eps
    check_stages(Q, p, result, slack=bound)


@pytest.mark.parametrize("seed", seeds(8, 30))
def test_sparsity_by_stage(seed: int) -> None:
    """Tests that candidates found for another sparsity are not used, whichever way it changes."""
    rng = np.random.default_rng(seed)
    n = 8
    Q = block_matrix(rng, random_sizes(rng, n), covariance)
    noise = rng.standard_normal((len(Q), len(Q))) * 0.1 * (seed % 2)
    Q = Q + noise + noise.T
    p = rng.integers(1, 5, len(Q)).tolist()
    delta = 0.0 if seed % 2 == 0 else 0.5
    result = solve(Q, p, len(Q), threshold=delta, gap=0.0)
    check_stages(Q, p, result, slack=math.inf)


def test_a_block_counts_its_own_components() -> None:
    """Tests that what a block has given does not depend on what others gave in between.

    The first block gives the first and the third component, so that its second vector must be
    orthogonal to its own first, not to the one that was taken just before.
    """
    first = np.array([[9.0, 2.0, 1.0], [2.0, 6.0, 1.5], [1.0, 1.5, 5.0]])
    second = np.array([[7.0, 0.5], [0.5, 1.0]])
    Q = np.zeros((5, 5))
    Q[:3, :3], Q[3:, 3:] = first, second
    result = solve(Q, 2, 5, gap=0.0)
    blocks = ["first" if support.max() < 3 else "second" for support in result.supports]
    assert blocks[:3] == ["first", "second", "first"]
    check_stages(Q, 2, result, slack=0.0)
    alone = solve(first, 2, 3, gap=0.0)
    np.testing.assert_allclose(
        [v for v, b in zip(result.variances, blocks, strict=True) if b == "first"],
        alone.variances[: blocks.count("first")],
        rtol=1e-12,
    )


def test_a_block_runs_out() -> None:
    """Tests that the others go on where one block has no further component."""
    # With p = 2 this block ends after 2 of 3: nothing sparse is orthogonal to both.
    Q = np.zeros((6, 6))
    Q[:3, :3] = 10 * np.eye(3) + np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    Q[3:, 3:] = np.diag([3.0, 2.0, 1.0]) + 0.1
    result = solve(Q, 2, 6, gap=0.0)
    check_stages(Q, 2, result, slack=0.0)
    inside = [support.max() < 3 for support in result.supports]
    assert inside.index(False) < len(inside) - 1
    if sum(inside) < 3:
        assert result.exhausted


class Counter:
    """Counts the solves of blocks and remembers their orders."""

    def __init__(self) -> None:
        self.orders: list[int] = []
        self._solve = module.solve_block

    def __call__(self, task: Task, supervisor: Supervisor):
        self.orders.append(len(task.source))
        return self._solve(task, supervisor)


@pytest.fixture
def solves(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Count the solves of blocks."""
    counter = Counter()
    monkeypatch.setattr(module, "solve_block", counter)
    return counter


def test_singletons_need_no_solve(solves: Counter) -> None:
    """Tests that a diagonal matrix is solved without a solve, negative entries included."""
    result = solve(np.diag([2.0, -1.0, 5.0, 5.0]), 3, 4)
    assert solves.orders == []
    assert result.variances.tolist() == result.upper_bounds.tolist() == [5.0, 5.0, 2.0, -1.0]
    assert [support.tolist() for support in result.supports] == [[2], [3], [0], [1]]
    assert result.status is Status.OPTIMAL and result.guarantee < 1e-280
    assert solve(np.zeros((3, 3)), 2, 3).variances.tolist() == [0.0, 0.0, 0.0]


def test_blocks_that_cannot_win_wait(solves: Counter) -> None:
    """Tests that a block is solved only once its bound exceeds the best candidate.

    Ten blocks of order 3, the strength of which falls: two components come from the first, and
    nine others need not be touched; then the second is.
    """
    rng = np.random.default_rng(0)
    strong = covariance(rng, 3)
    Q = np.kron(np.diag(100.0 ** -np.arange(5)), strong / np.linalg.eigvalsh(strong)[-1])
    result = solve(Q, 2, 2, gap=0.0)
    assert [support.max() < 3 for support in result.supports] == [True, True]
    assert len(solves.orders) == 2
    solve(Q, 2, 4, gap=0.0)
    assert len(solves.orders) < 2 + 6


def test_only_the_block_that_gave_is_solved_again(solves: Counter) -> None:
    """Tests that a block is solved once, and once more for each component that it gives."""
    rng = np.random.default_rng(1)
    sizes = [4, 5, 6]
    Q = np.zeros((15, 15))
    start = 0
    for size in sizes:
        block = covariance(rng, size)
        Q[start : start + size, start : start + size] = block / np.linalg.eigvalsh(block)[-1]
        start += size
    result = solve(Q, 3, 6, gap=0.0)
    given = [sizes[int(support.max() > 3) + int(support.max() > 8)] for support in result.supports]
    assert len(set(given)) == 3
    for size in sizes:
        assert given.count(size) <= solves.orders.count(size) <= given.count(size) + 1


def as_bytes(result: Result) -> tuple:
    """Everything but the times."""
    stages = [
        (s.vector.tobytes(), s.variance, s.upper_bound, s.status, s.nodes) for s in result.stages
    ]
    history = [replace(entry, elapsed=0.0) for entry in result.history]
    return stages, result.status, result.exhausted, result.guarantee, result.note, history


def many_blocks(seed: int = 3) -> np.ndarray:
    """Blocks of similar strength, so that many have to be solved, on weak noise."""
    rng = np.random.default_rng(seed)
    Q = block_matrix(rng, [7, 8, 9, 10, 7, 8], covariance)
    noise = 0.01 * rng.uniform(-1, 1, Q.shape)
    return Q + noise + noise.T


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("threshold", [0.0, 0.05])
def test_same_bytes_whatever_the_jobs(threshold: float, backend: str) -> None:
    """Tests that neither the number of jobs nor where they run changes a bit."""
    Q = many_blocks()
    blocks = block_diagonalize(Q, 0.05)
    assert blocks.n_blocks > 3
    if threshold == 0.0:
        Q = blocks.matrix(Q)
    serial = solve(Q, 4, 6, threshold=threshold)
    with joblib.parallel_config(backend=backend):
        assert as_bytes(solve(Q, 4, 6, threshold=threshold, n_jobs=2)) == as_bytes(serial)
    assert as_bytes(solve(Q, 4, 6, threshold=threshold, n_jobs=3)) == as_bytes(serial)


def test_time_limit() -> None:
    """Tests that without any time a valid partial result comes back."""
    Q = many_blocks()
    result = solve(Q, 4, 3, threshold=0.05, time_limit=0.0)
    assert result.status is Status.TIME_LIMIT
    assert result.n_components == 3
    exact = solve(Q, 4, 1, gap=0.0)
    assert exact.variances[0] <= result.upper_bounds[0]
    assert (result.upper_bounds <= result.variances + result.guarantee).all()


def test_node_limit() -> None:
    """Tests that a limit of nodes is kept in each stage, and its status reported."""
    rng = np.random.default_rng(5)
    Q = np.kron(np.diag([1.0, 0.99]), np.corrcoef(rng.standard_normal((40, 30)).T))
    result = solve(Q, 6, 2, method="eigenvalue", node_limit=3, gap=0.0)
    assert result.status is Status.NODE_LIMIT
    assert all(stage.status is Status.NODE_LIMIT for stage in result.stages)
    assert (result.upper_bounds > result.variances).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_by_the_callback(n_jobs: int) -> None:
    """Tests that a callback that asks to stop ends the solve with what there is."""
    seen = []

    def stop(progress) -> bool:
        seen.append(progress)
        return True

    result = solve(many_blocks(), 4, 5, threshold=0.05, callback=stop, n_jobs=n_jobs)
    assert result.status is Status.INTERRUPTED
    assert result.n_components == 1
    assert result.gaps[0] < math.inf
    assert all(entry.upper >= entry.lower for entry in seen)


def test_progress_by_block() -> None:
    """Tests that the callback hears of single blocks, and the history of stages only."""
    seen = []
    Q = many_blocks()
    result = solve(Q, 4, 3, threshold=0.05, callback=seen.append)
    assert {entry.block for entry in seen} > {-1, 0}
    assert {entry.block for entry in result.history} == {-1}
    for stage, component in enumerate(result.stages):
        entries = [entry for entry in result.history if entry.stage == stage]
        assert entries[-1].upper == component.upper_bound
        assert entries[-1].lower == component.variance


@pytest.mark.parametrize(("seed", "groups"), crossed(range(60), [1, 2, 8]))
def test_bound_by_groups(seed: int, groups: int) -> None:
    """Tests the bounds of the original matrix on their own, every one of them, by enumeration."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 9)), int(rng.integers(1, 5))
    p = min(p, n)
    Q = (covariance if seed % 2 else indefinite)(rng, n)
    magnitudes = np.abs(Q[np.triu_indices(n, 1)])
    inside = "kept" if seed % 3 else "thresholded"
    blocks = block_diagonalize(Q, float(np.quantile(magnitudes, 0.8)), inside=inside)
    A = blocks.matrix(Q)
    tuning = replace(DEFAULT, blocks=BlockTuning(groups=groups))
    problem = PartitionedMatrix(Q, blocks, Settings(tuning=tuning))
    uppers = np.array([proved_optimum(A[np.ix_(block, block)], p) for block in blocks.blocks])
    found = group_bound(uppers, p, problem.cross, problem.inside, groups)
    assert is_proved(Q, np.zeros((0, n)), p, found)
    assert found <= add_up(float(uppers.max()), problem.a_priori(p)) * (1 + 1e-14)
    # With what a search without branching adds.
    states = problem.states()
    for state in states:
        state.follow(np.zeros((n, 0)), p)
    best = brute_force.stage_optimum(Q, np.zeros((0, n)), p)
    for short in (0.0, 0.1):
        given = Candidate(float(best.value) - short, np.array(best.vector, dtype=float))
        request = Request(p, np.zeros((n, 0)))
        bound = problem.bound(request, states, given, given.value, Watch())
        assert is_proved(Q, np.zeros((0, n)), p, bound)
        uppers = np.array([state.upper for state in states])
        assert bound <= add_up(float(uppers.max()), problem.a_priori(p))


@pytest.mark.parametrize("groups", [1, 2, 8])
@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_bound_by_groups_is_attained(p: int, groups: int) -> None:
    """Tests a matrix of equal entries, on which no smaller bound would be true."""
    Q = np.full((6, 6), 0.9) + 0.1 * np.eye(6)
    bound = group_bound(np.ones(6), p, block_diagonalize(Q, 0.95).cross, 0.0, groups)
    assert bound == pytest.approx(1 + 0.9 * (p - 1), rel=1e-12)
    assert is_proved(Q, np.zeros((0, 6)), p, bound)


def test_certified_in_the_original_matrix(load_matrix) -> None:
    """Tests that a threshold may cost nothing, and that this is then proved."""
    Q = load_matrix("CovColon_500.csv")
    result = solve(Q, 5, 5, threshold=100.0, gap=1e-3)
    assert result.status is Status.OPTIMAL
    exact = solve(Q, 5, 5, gap=1e-3)
    np.testing.assert_allclose(result.variances, exact.variances, rtol=1e-3)
    assert result.guarantee > 0.2 * result.variances[0]


def test_an_open_gap_is_the_threshold() -> None:
    """Tests that solved blocks are not called optimal where the threshold leaves a gap."""
    Q = np.full((4, 4), 0.9) + 0.1 * np.eye(4)
    result = solve(Q, 3, 1, threshold=0.95)
    assert result.variances.tolist() == [1.0]
    assert is_proved(Q, np.zeros((0, 4)), 3, float(result.upper_bounds[0]))
    assert result.status is result.stages[0].status is Status.THRESHOLD
    assert "due to the threshold" in result.summary()


def test_indefinite_blocks(load_matrix) -> None:
    """Tests thresholding as printed where its blocks are indefinite, by every method."""
    Q = load_matrix("CovColon_20.csv")
    blocks = block_diagonalize(Q, 100.0, inside="thresholded")
    A = blocks.matrix(Q)
    best = brute_force.stage_optimum(A, np.zeros((0, 20)), 3)
    original = brute_force.stage_optimum(Q, np.zeros((0, 20)), 3)
    for method in ("branch-and-bound", "eigenvalue", "enumeration"):
        result = solve(Q, 3, 1, threshold=blocks, method=method, gap=0.0)
        vector = result.stages[0].vector
        assert vector @ A @ vector == pytest.approx(best.value)
        assert result.variances[0] == pytest.approx(vector @ Q @ vector)
        assert is_proved(Q, np.zeros((0, 20)), 3, float(result.upper_bounds[0]))
        assert result.guarantee >= original.value - result.variances[0]


def test_automatic_threshold_helps() -> None:
    """Tests that weak noise between blocks is ignored where the tolerance has room for it."""
    Q = many_blocks()
    result = solve(Q, 4, 4, threshold="auto", eps=0.3)
    assert result.note.startswith("threshold='auto' chose 0.0")
    assert "blocks" in result.note
    assert result.status is Status.OPTIMAL
    assert result.guarantee <= 0.3
    exact = solve(Q, 4, 4, gap=1e-6)
    assert (result.upper_bounds[0] >= exact.variances[0]) and "auto" not in exact.note


def test_automatic_threshold_does_not_help() -> None:
    """Tests that it says so, and solves the problem as it is."""
    Q = many_blocks()
    result = solve(Q, 4, 2, threshold="auto")
    plain = solve(Q, 4, 2)
    assert result.note.startswith("threshold='auto' chose 0: the tolerance allows")
    assert as_bytes(replace(result, note="")) == as_bytes(plain)


def test_automatic_threshold_along_zeros() -> None:
    """Tests that exact blocks are used whatever the tolerance."""
    Q = block_diagonalize(many_blocks(), 0.05).matrix(many_blocks())
    result = solve(Q, 4, 2, threshold="auto", gap=0.0)
    assert "along exact zeros" in result.note
    assert is_finished(result, Q) and result.n_components == 2 and result.guarantee < 1e-9


def test_automatic_threshold_of_single_features(solves: Counter) -> None:
    """Tests that with p = 1 every feature is a block of its own, at no loss."""
    Q = many_blocks()
    result = solve(Q, 1, 5, threshold="auto")
    assert solves.orders == []
    assert result.variances.tolist() == sorted(Q.diagonal(), reverse=True)[:5]
    assert result.status is Status.OPTIMAL


def test_blocks_of_another_problem() -> None:
    """Tests that any partition will do, and one of another order is refused."""
    rng = np.random.default_rng(2)
    Q = covariance(rng, 6)
    foreign = block_diagonalize(block_matrix(rng, [3, 3], covariance), 0.0)
    assert isinstance(foreign, Blocks) and Blocks is BlocksType
    result = solve(Q, 2, 6, threshold=foreign, gap=0.0)
    check_stages(Q, 2, result, slack=math.inf)
    with pytest.raises(ValueError, match="threshold: the blocks have 6 features, but Q has 5"):
        solve(Q[:5, :5], 2, threshold=foreign)


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ("automatic", "threshold must be 'auto' or a number, got 'automatic'"),
        (-0.5, "threshold must be finite and not negative, got -0.5"),
        (math.nan, "threshold must be finite and not negative, got nan"),
        (None, "threshold must be a number, got None"),
        (True, "threshold must be a number, got True"),
    ],
)
def test_bad_thresholds(threshold: object, message: str) -> None:
    """Tests that a bad threshold is named."""
    with pytest.raises(ValueError, match=message):
        solve(np.eye(3), 1, threshold=threshold)


def test_deflation_has_no_blocks() -> None:
    """Tests that deflation refuses a threshold, and takes "auto" for none."""
    Q = np.diag([3.0, 2.0, 1.0])
    with pytest.raises(ValueError, match=r"threshold must be 0\.0 with method 'deflation'"):
        solve(Q, 1, threshold=0.5, method="deflation")
    with pytest.raises(ValueError, match=r"threshold must be 0\.0 with method 'deflation'"):
        solve(Q, 1, threshold=block_diagonalize(Q, 0.0), method="deflation")
    assert solve(Q, 1, threshold="auto", method="deflation").variances.tolist() == [3.0]


def test_enumeration_of_blocks() -> None:
    """Tests that the blocks, not the whole, decide whether there are too many supports."""
    rng = np.random.default_rng(0)
    Q = np.kron(np.eye(40), covariance(rng, 5))
    assert solve(Q, 5, 1, method="enumeration").status is Status.OPTIMAL
    with pytest.raises(ValueError, match="supports"):
        solve(Q + 1e-9, 5, 1, method="enumeration")


def test_note_is_saved(tmp_path) -> None:
    """Tests that the note survives a file."""
    result = solve(np.eye(3), 1, 2)
    result.save(tmp_path / "result.json")
    assert Result.load(tmp_path / "result.json").note == result.note != ""
    assert result.note in result.summary()


def equal_strength() -> np.ndarray:
    """Eight blocks of pure noise: all have to be solved, and each takes a moment."""
    rng = np.random.default_rng(0)
    Q = np.zeros((240, 240))
    for start in range(0, 240, 30):
        noise = np.corrcoef(rng.standard_normal((45, 30)).T)
        Q[start : start + 30, start : start + 30] = noise
    return Q


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_dask_cluster_loses_a_worker() -> None:
    """Tests a solve on two worker processes, and one during which a worker is killed."""
    distributed = pytest.importorskip("distributed")
    Q = equal_strength()
    serial = as_bytes(solve(Q, 6, 3))
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(dashboard_address=":0", **options) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        assert as_bytes(solve(Q, 6, 3, n_jobs=2)) == serial
        processes = client.run(os.getpid)
        killed = []

        def kill() -> None:
            for _ in range(2000):
                busy = [worker for worker, tasks in client.processing().items() if tasks]
                if len(busy) == 2:
                    killed.append(busy[0])
                    os.kill(processes[busy[0]], signal.SIGKILL)
                    return
                time.sleep(0.005)

        killer = threading.Thread(target=kill)
        killer.start()
        assert as_bytes(solve(Q, 6, 3, n_jobs=2)) == serial
        killer.join()
        assert len(killed) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_sigint(n_jobs: int) -> None:
    """Tests that Ctrl-C in the middle of the blocks returns what there is, with valid bounds."""
    Q = equal_strength()
    pressed: list[Progress] = []

    def press(progress: Progress) -> None:
        if progress.stage == 2 and not pressed:
            pressed.append(progress)
            os.kill(os.getpid(), signal.SIGINT)

    result = solve(Q, 8, 20, gap=0.0, n_jobs=n_jobs, callback=press)
    assert len(pressed) == 1
    assert result.status is Status.INTERRUPTED
    assert 2 <= result.n_components <= 3
    assert np.isfinite(result.upper_bounds).all()
    assert (result.upper_bounds >= result.variances).all()
