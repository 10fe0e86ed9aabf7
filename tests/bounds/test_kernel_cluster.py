"""Tests of a long walk whose parts are closed by other processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import joblib
import numpy as np
import pytest

from orthospca.bounds.conditioning.parts import Closed, Part, Stop
from orthospca.facade import solve_with
from orthospca.model.result import Result
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT

pytest.importorskip("numba", reason="there is no numba to compile with")


def noise() -> np.ndarray:
    """Nothing to find, and much to rule out."""
    return np.corrcoef(np.random.default_rng(1).standard_normal((150, 60)).T)


def solved(n_jobs: int, nodes: int | None = None) -> Result:
    """A solve that is cut into parts early."""
    walk = replace(DEFAULT.walk, compiled_after=10.0, split_after=20.0, parts=24)
    settings = Settings.validate(
        tuning=replace(DEFAULT, walk=walk), gap=1e-3, n_jobs=n_jobs, node_limit=nodes
    )
    return solve_with(noise(), 10, 1, settings)


def same(one: Result, other: Result) -> bool:
    """Whether two results agree to the last bit."""
    return (
        bool((one.components == other.components).all())
        and bool((one.upper_bounds == other.upper_bounds).all())
        and one.statuses == other.statuses
        and one.nodes == other.nodes
    )


@pytest.mark.slow
def test_processes() -> None:
    """Tests parts in other processes of this machine."""
    alone = solved(1)
    with joblib.parallel_config(backend="loky"):
        assert same(solved(2), alone)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_time_limit(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that parts end in time, with a bound that is valid."""
    run, ended = Part.run, []

    def over(part: Part, stop: Stop | None) -> Closed:
        ended.append(run(replace(part, seconds=-1.0), stop))
        return ended[-1]

    monkeypatch.setattr(Part, "run", over)
    result = solved(n_jobs, 1)
    assert ended and not any(closed.complete for closed in ended)
    assert result.upper_bounds[0] >= result.variances[0]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C reaches the parts, pressed while one runs, of a search without end."""
    run, pressed = Part.run, []

    def press(part: Part, stop: Stop | None) -> Closed:
        if not pressed:
            pressed.append(part)
            os.kill(os.getpid(), signal.SIGINT)
        return run(part, stop)

    monkeypatch.setattr(Part, "run", press)
    walk = replace(DEFAULT.walk, compiled_after=10.0, split_after=20.0, parts=24)
    settings = Settings.validate(tuning=replace(DEFAULT, walk=walk), gap=0.0, n_jobs=n_jobs)
    big = np.corrcoef(np.random.default_rng(1).standard_normal((200, 120)).T)
    result = solve_with(big, 20, 1, settings)
    assert len(pressed) == 1
    assert result.status.name == "INTERRUPTED"
    assert result.upper_bounds[0] >= result.variances[0]


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_dask_cluster_loses_a_worker() -> None:
    """Tests a solve on two worker processes, and one during which a worker is killed."""
    distributed = pytest.importorskip("distributed")
    alone = solved(1)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(dashboard_address=":0", **options) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        assert same(solved(2), alone)
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
        assert same(solved(2), alone)
        killer.join()
        assert len(killed) == 1
