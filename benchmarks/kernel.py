"""What the compiled loop gains: steps a second, whole solves, threads."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from benchmarks.instances import data_file, load
from benchmarks.measure import Case, Row, Settings
from benchmarks.timing import Units, timed
from orthospca import DataCovariance, solve
from orthospca._typing import Array
from orthospca.bounds.conditioning import compiled
from orthospca.bounds.conditioning.walk import Conditioning
from orthospca.facade import solve_with
from orthospca.model import settings as model
from orthospca.model.nodes import Node
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import DEFAULT, WalkTuning
from orthospca.numerics.threads import single_threaded_blas
from orthospca.supports.heuristic_path import find_incumbent
from orthospca.supports.heuristics import polish

#: Columns of the table `steps`: rates are in steps on up to a hundred features a second.
STEP_COLUMNS = ("features", "p", "gap", "in NumPy", "compiled", "ratio")
#: Columns of the table `kernel`: seconds of a solve without the loop and with it, one thread.
KERNEL_COLUMNS = ("instance", "p", "K", "gap asked", "in NumPy", "compiled", "gap", "gap compiled")
#: Columns of the table `threads`.
THREAD_COLUMNS = ("instance", "p", "one", "two", "ratio")

#: Variables of independent noise, sparsity, gap.
WALKS = ((54, 10, 1e-4), (54, 20, 1e-2), (101, 10, 1e-4), (257, 20, 0.1), (500, 10, 0.1))

#: Problem, sparsity, components, gap.
SOLVES = (
    ("normArrhythmia-257", 20, 3, 1e-3),
    ("normArrhythmia-257", 30, 3, 1e-2),
    ("golub_X_72x7129.npz", 20, 3, 1e-3),
    ("Lymphoma-500", 20, 3, 1e-3),
    ("Lymphoma-500", 30, 3, 3e-3),
    ("normCommunities-101", 30, 3, 1e-3),
    ("normCommunities-101", 50, 3, 1e-3),
    ("uci_digits_64", 20, 3, 1e-4),
    ("Noise-100", 10, 1, 1e-4),
    ("Noise-100", 20, 1, 2e-2),
)

IN_NUMPY = replace(DEFAULT, walk=replace(DEFAULT.walk, compiled_after=math.inf))


def noise(n: int) -> Array:
    """Correlations of independent variables: nothing to find, and much to rule out."""
    rows = np.random.default_rng(1).standard_normal((int(1.5 * n), n))
    return np.asarray(np.corrcoef(rows.T))


def step_cases(settings: Settings) -> list[Case]:
    """One walk after the other, for some seconds each way."""
    return [_steps(*row) for row in (WALKS[:1] if settings.quick else WALKS)]


def _steps(n: int, p: int, gap: float) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        problem = Subproblem(noise(n), p, np.zeros((n, 0)))
        found = find_incumbent(problem)
        assert found is not None
        best = polish(problem, found)
        rates = []
        for after in (math.inf, 0.0):
            tuning = WalkTuning(compiled_after=after, compiled_speed=1.0, split_after=math.inf)
            # Loaded, or compiled, before the clock starts.
            compiled.load()
            with single_threaded_blas():
                rates.append(_walk(problem, best.value * (1 + gap), tuning, 3.0))
        row: Row = {"features": n, "p": p, "gap": gap, "in NumPy": rates[0], "compiled": rates[1]}
        return [{**row, "ratio": rates[1] / rates[0]}]

    return Case(f"steps on {n} features, p = {p}", run)


def _walk(problem: Subproblem, level: float, tuning: WalkTuning, seconds: float) -> float:
    """Steps a second."""
    found = find_incumbent(problem)
    assert found is not None
    end = time.perf_counter() + seconds
    begin, work = time.perf_counter(), Conditioning(problem, tuning)
    node = Node(np.arange(0), np.arange(problem.n_features))
    dive = work.search(node, found, level, math.inf, lambda: time.perf_counter() > end)
    return dive.work / (time.perf_counter() - begin)


def kernel_cases(settings: Settings) -> list[Case]:
    """Whole solves, without the loop and with it."""
    return [_solve(*row) for row in (SOLVES[-2:-1] if settings.quick else SOLVES)]


def _solve(name: str, p: int, k: int, gap: float) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        Q = load(name) if not name.endswith(".npz") else _data(name)
        limit = settings.limit(60.0, 5.0)
        found = {}
        for way, tuning in (("in NumPy", IN_NUMPY), ("compiled", DEFAULT)):
            asked = model.Settings.validate(gap=gap, time_limit=limit, tuning=tuning)
            found[way] = timed(lambda asked=asked: solve_with(Q, p, k, asked))
        (plain, before), (quick, after) = found["in NumPy"], found["compiled"]
        return [
            {
                "instance": name.split(".")[0],
                "p": p,
                "K": k,
                "gap asked": gap,
                "in NumPy": before,
                "compiled": after,
                "gap": float(plain.gaps.max()),
                "gap compiled": float(quick.gaps.max()),
            }
        ]

    return Case(f"{name.split('.')[0]}, p = {p}, K = {k}", run)


def thread_cases(settings: Settings) -> list[Case]:
    """A stage of more than ten seconds on one thread and on two."""

    def run(settings: Settings, units: Units) -> list[Row]:
        n = 60 if settings.quick else 115
        Q = np.asarray(np.corrcoef(np.random.default_rng(1).standard_normal((150, n)).T))
        _, one = timed(lambda: solve(Q, 10, gap=1e-4, n_jobs=1))
        _, two = timed(lambda: solve(Q, 10, gap=1e-4, n_jobs=2))
        return [{"instance": f"Noise-{n}", "p": 10, "one": one, "two": two, "ratio": one / two}]

    return [Case("noise on two threads", run)]


def _data(name: str) -> DataCovariance:
    with np.load(data_file(name)) as archive:
        return DataCovariance(archive["X"])
