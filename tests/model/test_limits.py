"""Limits and interrupts: the incumbent with a valid bound, never an exception or a false "optimal".

Where a limit bites is decided by clocks that count looks.
"""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import textwrap
import time
from functools import lru_cache

import numpy as np
import pytest

from helpers.cases import check_statuses, is_met
from helpers.clocks import ticking
from orthospca import Result, Status, solve
from orthospca.facade import solve_with
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import ShareTuning, Tuning, WalkTuning
from orthospca.search.sequence import Found, run_stages
from orthospca.search.stages import MatrixStages

SEARCHES = ("eigenvalue", "branch-and-bound")
METHODS = ("enumeration", *SEARCHES)

#: Seconds of a clock that goes on by one with every look: over before anything is found, and in the
#: middle.
LIMITS = (3.0, 40.0)

#: The best variance known of ten genes of CovColon-500.
COVCOLON_500 = 2641.2288


def noise(n: int = 200, seed: int = 0) -> np.ndarray:
    """The covariance of 300 observations of pure noise: no structure that a bound could use."""
    rows = np.random.default_rng(seed).standard_normal((300, n))
    return rows.T @ rows / 300


def check_feasible(matrix: np.ndarray, p: int, result: Result) -> None:
    """What is returned is feasible and consistent, whatever stopped the search."""
    X = result.components
    assert np.abs(X @ X.T - np.eye(len(X))).max(initial=0.0) <= 1e-12
    assert (np.count_nonzero(X, axis=1) <= p).all()
    variances = np.einsum("ki,ij,kj->k", X, matrix, X)
    np.testing.assert_allclose(result.variances, variances, rtol=1e-12)
    assert (result.upper_bounds >= result.variances).all()
    assert np.isfinite(result.upper_bounds).all()


def check_limited(matrix: np.ndarray, p: int, result: Result, gap: float, *stops: Status) -> None:
    """One feasible component; optimal only within the gap, otherwise stopped as expected."""
    check_feasible(matrix, p, result)
    assert len(result.components) == 1
    assert result.statuses == (result.status,)
    met = is_met(result.variances[0], result.upper_bounds[0], gap=gap)
    assert result.status in ((Status.OPTIMAL,) if met else stops)
    assert not result.exhausted


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("method", SEARCHES)
def test_time_limit_on_genes(method: str, limit: float, load_matrix) -> None:
    """Tests that a limit on CovColon-500 leaves a component and a valid bound."""
    matrix = load_matrix("CovColon_500.csv")
    with ticking():
        result = solve(matrix, 10, method=method, gap=1e-9, time_limit=limit)
    check_limited(matrix, 10, result, 1e-9, Status.TIME_LIMIT)
    assert result.upper_bounds[0] >= COVCOLON_500


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("method", SEARCHES)
def test_time_limit_on_noise(method: str, limit: float) -> None:
    """Tests that a limit on pure noise leaves a component and a valid bound, soon after."""
    matrix = noise(100)
    with ticking() as clock:
        result = solve(matrix, 12, method=method, gap=1e-9, time_limit=limit)
    check_limited(matrix, 12, result, 1e-9, Status.TIME_LIMIT)
    assert result.status is Status.TIME_LIMIT
    # Each rung up to the sparsity looks a few times before it ends without having begun.
    assert clock.now < limit + 300.0


@pytest.mark.parametrize("limit", LIMITS)
def test_time_limit_of_an_enumeration(limit: float) -> None:
    """Tests that an enumeration stops at its limit too, with a bound that holds."""
    matrix = noise(40)
    with ticking() as clock:
        result = solve(matrix, 7, method="enumeration", time_limit=limit)
    assert clock.now < limit + 20.0
    check_limited(matrix, 7, result, 1e-9, Status.TIME_LIMIT)
    assert result.upper_bounds[0] >= best_of_noise()


@lru_cache
def best_of_noise() -> float:
    """The variance of a good support of seven."""
    return solve(noise(40), 7, gap=0.05).variances[0]


@pytest.mark.parametrize("method", METHODS)
def test_no_time_at_all(method: str) -> None:
    """Tests that a limit of zero seconds still gives a result that means what it says."""
    matrix = noise(30)
    result = solve(matrix, 5, 3, method=method, gap=1e-9, time_limit=0.0)
    check_feasible(matrix, 5, result)
    assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    if result.status is Status.OPTIMAL:
        assert len(result.components) == 3
    assert not result.exhausted


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("method", SEARCHES)
def test_time_is_shared_by_the_stages(method: str, limit: float) -> None:
    """Tests that several stages keep one limit together, and that each has a valid bound."""
    matrix = noise(100)
    with ticking():
        result = solve(matrix, 10, 4, method=method, gap=1e-9, time_limit=limit)
    check_feasible(matrix, 10, result)
    assert result.n_components == 4
    assert result.status is Status.TIME_LIMIT
    assert set(result.statuses) <= {Status.TIME_LIMIT, Status.OPTIMAL}
    leading = np.linalg.eigvalsh(matrix)[-1]
    assert (result.upper_bounds <= 10 * leading).all()


#: Little is done before a node and for it: here it is the number of nodes that counts.
HASTY = Tuning(
    walk=WalkTuning(direct_share=0.25, rung_budget=5),
    share=ShareTuning(cost=20, first_checks=1, patience=1.0, later_patience=1.0),
)


def solve_hastily(matrix: np.ndarray, p: int, count: int = 1, **options) -> Result:
    """As ``solve``, with the tuning above."""
    callback = options.get("callback")
    settings = Settings.validate(tuning=HASTY, **options)
    return solve_with(matrix, p, count, settings, callback=callback)


@lru_cache
def solve_nodes(method: str, nodes: int) -> Result:
    """Pure noise, up to so many nodes; several tests look at the same results."""
    return solve_hastily(noise(60), 12, method=method, gap=1e-9, node_limit=nodes)


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("nodes", [1, 2, pytest.param(20, marks=pytest.mark.slow)])
def test_node_limit(method: str, nodes: int) -> None:
    """Tests that the node limit is kept up to one round of nodes, with its own status."""
    result = solve_nodes(method, nodes)
    check_limited(noise(60), 12, result, 1e-9, Status.NODE_LIMIT)
    assert result.status is Status.NODE_LIMIT
    assert nodes <= result.nodes <= nodes + 16


@pytest.mark.parametrize("method", SEARCHES)
def test_node_limit_with_many_features(method: str) -> None:
    """Tests that one node is enough for a valid bound where there are many features."""
    matrix = noise()
    result = solve_hastily(matrix, 12, method=method, gap=1e-9, node_limit=1)
    check_limited(matrix, 12, result, 1e-9, Status.NODE_LIMIT)
    assert result.status is Status.NODE_LIMIT


@pytest.mark.parametrize("method", SEARCHES)
def test_node_limits_do_not_worsen(method: str) -> None:
    """Tests that more nodes never give a larger bound or a smaller variance."""
    results = [solve_nodes(method, k) for k in (1, 2, 4)]
    assert (np.diff([result.upper_bounds[0] for result in results]) <= 0).all()
    assert (np.diff([result.variances[0] for result in results]) >= 0).all()


def test_limits_that_do_not_bite() -> None:
    """Tests that a solve that ends before its limits is optimal and identical to one without."""
    matrix = noise(12)
    free = solve(matrix, 4, 3)
    limited = solve(matrix, 4, 3, time_limit=1e6, node_limit=10**9)
    assert limited.status is Status.OPTIMAL
    assert limited.components.tobytes() == free.components.tobytes()


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-4])
@pytest.mark.parametrize("method", METHODS)
def test_no_limit_is_blamed_without_a_limit(method: str, gap: float) -> None:
    """Tests that a gap that rounding cannot close is not blamed on a limit that was not set.

    In the fifth stage the components before it are nearly dependent on some supports, so that a
    proved bound stays further from the optimum than usual.
    """
    matrix = np.array(
        [
            [-1, -2, -2, -2, 2, -2, 1, 1],
            [-2, 2, 0, -1, 2, 1, -1, 1],
            [-2, 0, -2, 1, 2, -1, -2, -1],
            [-2, -1, 1, -1, 1, 1, -1, 1],
            [2, 2, 2, 1, 0, -1, 0, 0],
            [-2, 1, -1, 1, -1, -2, 2, 2],
            [1, -1, -2, -1, 0, 2, 2, -2],
            [1, 1, -1, 1, 0, 2, -2, -2],
        ]
    )
    result = solve(matrix, 5, 8, method=method, gap=gap)
    assert result.exhausted
    check_statuses(result, 2.0, gap=gap)
    # With the usual gap rounding is of no account.
    assert result.status is Status.EXHAUSTED or gap < 1e-4


def solve_catching(*arguments, **options) -> Result:
    """Solve; a Ctrl-C that reaches the caller fails the test, and does not end the test run."""
    try:
        return solve_hastily(*arguments, **options)
    except KeyboardInterrupt:
        pytest.fail("KeyboardInterrupt reached the caller")


@pytest.mark.parametrize("gap", [0.0, 1e-6, 1e-4])
@pytest.mark.parametrize("method", SEARCHES)
def test_zero_variances_end_at_once(method: str, gap: float) -> None:
    """Tests that a stage whose optimum is 0 ends when its bound is 0 up to rounding.

    No relative gap can close there, and a search that waits for it visits every support.
    """
    matrix = np.zeros((40, 40))
    matrix[:8, :8] = noise(8)
    result = solve(matrix, 8, 11, method=method, gap=gap, node_limit=10_000)
    np.testing.assert_allclose(result.variances[8:], 0.0, atol=1e-15)
    check_statuses(result, np.abs(matrix).max(), gap=gap)
    assert max(component.nodes for component in result.stages) < 10_000


class Stopper:
    """A callback that keeps what it is told and asks to stop, or interrupts, at a given call."""

    def __init__(self, at: int, interrupt: bool = False) -> None:
        self.at = at
        self.interrupt = interrupt
        self.seen: list = []

    def __call__(self, progress) -> bool:
        self.seen.append(progress)
        if len(self.seen) < self.at:
            return False
        if self.interrupt:
            raise KeyboardInterrupt
        return True


@pytest.mark.parametrize("interrupt", [False, True], ids=["asks", "Ctrl-C"])
@pytest.mark.parametrize("at", [1, 2, 5])
@pytest.mark.parametrize("method", SEARCHES)
def test_interrupted_by_the_callback(method: str, at: int, interrupt: bool) -> None:
    """Tests that a callback that asks to stop, or meets Ctrl-C, ends the solve with its bound."""
    matrix = noise(100)
    stopper = Stopper(at, interrupt)
    options = {"method": method, "gap": 1e-9, "callback": stopper, "node_limit": 200}
    result = solve_catching(matrix, 14, 2, **options)
    check_limited(matrix, 14, result, 1e-9, Status.INTERRUPTED)
    assert result.status is Status.INTERRUPTED
    assert len(stopper.seen) == at
    assert result.upper_bounds[0] <= stopper.seen[-1].upper
    assert result.variances[0] >= stopper.seen[-1].lower


@pytest.mark.parametrize("interrupt", [False, True], ids=["asks", "Ctrl-C"])
@pytest.mark.parametrize("method", METHODS)
def test_interrupted_in_a_later_stage(method: str, interrupt: bool) -> None:
    """Tests that an interrupt keeps the stages solved before it, and their status."""
    matrix = noise(12)
    seen = []

    def callback(progress) -> bool:
        seen.append(progress)
        if progress.stage == 2:
            if interrupt:
                raise KeyboardInterrupt
            return True
        return False

    result = solve_catching(matrix, 4, 5, method=method, gap=1e-9, callback=callback)
    check_feasible(matrix, 4, result)
    assert 2 <= len(result.components) <= 3
    assert result.statuses[:2] == (Status.OPTIMAL, Status.OPTIMAL)
    assert result.status is Status.INTERRUPTED
    assert not result.exhausted


@pytest.mark.parametrize("method", METHODS)
def test_callback_sees_the_bounds(method: str) -> None:
    """Tests that the callback is called in every stage, with bounds that only tighten."""
    seen = []
    matrix = noise(12)
    result = solve(matrix, 4, 3, method=method, gap=1e-9, callback=seen.append)
    assert [progress.stage for progress in seen] == sorted(progress.stage for progress in seen)
    for k in range(3):
        stage = [progress for progress in seen if progress.stage == k]
        assert stage
        assert (np.diff([progress.lower for progress in stage]) >= 0).all()
        assert (np.diff([progress.upper for progress in stage]) <= 0).all()
        assert stage[-1].upper >= result.variances[k]
        assert stage[-1].lower <= result.variances[k]


def listen(matrix: np.ndarray, p: int, gap: float, watch: Watch) -> Found:
    """A solve with a watch of one's own."""
    settings = Settings(tolerance=Tolerance(0.0, gap))
    return run_stages(MatrixStages(matrix, settings, watch), [p], settings.tolerance, watch)


def test_heartbeat() -> None:
    """Tests that long work is heard of between reports, with bounds that stay valid and ordered."""
    matrix = noise(40)
    often: list = []
    close = Watch(callback=often.append, heartbeat=0.0)
    found = listen(matrix, 6, 1e-6, close)
    seldom: list = []
    distant = Watch(callback=seldom.append, heartbeat=1e6)
    same = listen(matrix, 6, 1e-6, distant)
    assert len(often) > len(seldom) >= 1
    assert (np.diff([progress.elapsed for progress in often]) >= 0).all()
    assert (np.diff([p.upper for p in often if p.upper < np.inf]) <= 0).all()
    assert min(progress.upper for progress in often) >= found.components[0].variance
    assert same.components[0].vector.tobytes() == found.components[0].vector.tobytes()
    histories = [
        [(p.lower, p.upper, p.nodes, p.open_nodes) for p in watch.journal.history]
        for watch in (close, distant)
    ]
    assert histories[0] == histories[1]


def test_heartbeat_may_stop() -> None:
    """Tests that a callback can stop the solve at a heartbeat."""
    matrix = noise(100)
    stopper = Stopper(20)
    found = listen(matrix, 14, 1e-9, Watch(callback=stopper, heartbeat=0.0))
    assert found.status is Status.INTERRUPTED
    assert len(stopper.seen) == 20
    (component,) = found.components
    assert np.count_nonzero(component.vector) <= 14
    assert stopper.seen[-1].lower <= component.variance
    assert component.variance < component.upper_bound <= stopper.seen[-1].upper


def test_an_error_in_the_callback_is_not_hidden() -> None:
    """Tests that an exception of the callback other than Ctrl-C reaches the caller."""

    def callback(progress) -> bool:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        solve(noise(12), 4, callback=callback)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is sent the POSIX way")
@pytest.mark.parametrize("delay", [0.2, pytest.param(0.0, marks=pytest.mark.slow)])
def test_sigint(delay: float) -> None:
    """Tests that a real Ctrl-C during the search gives the result so far, not a traceback.

    The searches take many minutes at least, so that they cannot end before.
    """
    script = """
    import sys
    import numpy as np
    from orthospca import solve

    for method in sys.argv[1:]:
        n, p = (54, 7) if method == "enumeration" else (120, 20)
        rows = np.random.default_rng(0).standard_normal((300, n))
        matrix = rows.T @ rows / 300
        started = []

        def callback(progress):
            if not started:
                started.append(progress)
                print("searching", flush=True)

        result = solve(matrix, p, 2, method=method, gap=1e-9, callback=callback)
        x = result.components[0]
        assert np.count_nonzero(x) <= p and abs(x @ x - 1) <= 1e-12
        assert abs(x @ matrix @ x - result.variances[0]) <= 1e-12 * result.variances[0]
        assert result.variances[0] <= result.upper_bounds[0] < np.inf
        print(result.status.name, flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *METHODS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        for _ in METHODS:
            assert process.stdout.readline() == "searching\n"
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "INTERRUPTED\n"
        output, errors = process.communicate(timeout=600)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert (output, errors) == ("", "")
    assert process.returncode == 0


def test_the_end_of_a_stage_is_not_the_end_of_the_solve():
    """Tests that the limit of all stages is told apart from the share of one, and hears a stop."""
    watch = Watch(time_limit=1e6)
    watch.begin_stage(0, 2)
    watch.clock._stage_end = -math.inf
    assert watch.out_of_time() and not watch.is_over()
    watch.interrupted = True
    assert watch.is_over()
    assert Watch(time_limit=0.0).is_over()
