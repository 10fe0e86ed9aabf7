"""Hard problems under a time limit: how fast the gap falls, and what is left of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.instances import data_file, load
from benchmarks.measure import Case, Row, Settings, closed_by
from benchmarks.timing import Units
from orthospca import DataCovariance, Result, solve

#: Moments, in seconds, at which the gap is looked at.
MOMENTS = (1.0, 3.0, 10.0)
#: Columns of the table `anytime`: the largest gap of all components, those that were not reached
#: counting as 100 %, after some seconds and at the end, and its mean over the time, at most 100 %.
ANYTIME_COLUMNS = (
    "instance",
    "p",
    "K",
    "limit",
    *(f"after {moment:g} s" for moment in MOMENTS),
    "at the end",
    "area",
    "closed by",
)

#: Problem, sparsity, components, whether it is left out of a quick run.
HARD = (
    ("normCommunities-101", 30, 3, False),
    ("normCommunities-101", 50, 3, True),
    ("normArrhythmia-257", 20, 3, True),
    ("normArrhythmia-257", 30, 3, True),
    ("normArrhythmia-257", 50, 3, True),
    ("Lymphoma-500", 20, 3, True),
    ("Lymphoma-500", 30, 3, True),
    ("Lymphoma-500", 50, 3, True),
    ("golub_X_72x7129.npz", 20, 3, True),
    ("spls_lymphoma_X_62x4026.npz", 20, 5, True),
)


def anytime_cases(settings: Settings) -> list[Case]:
    """Ten hard problems to 1e-4, each with the same limit."""
    return [_case(*row[:3]) for row in HARD if not (settings.quick and row[3])]


def _case(name: str, p: int, k: int) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        limit = settings.limit(10.0, 2.0)
        result = solve(problem_of(name), p, k, gap=1e-4, time_limit=limit)
        times, gaps = gap_over_time(result, k, limit)
        row: Row = {
            "instance": name.split(".")[0],
            "p": p,
            "K": k,
            "limit": limit,
            **{f"after {moment:g} s": gap_at(moment, times, gaps) for moment in MOMENTS},
            "at the end": float(result.gaps.max()),
            "area": float(np.mean(gaps)),
            "closed by": closed_by(result.stages),
        }
        return [row]

    return Case(f"{name.split('.')[0]}, p = {p}, K = {k}, under a limit", run)


def problem_of(name: str) -> Any:
    """A matrix, or the covariance of data."""
    if not name.endswith(".npz"):
        return load(name)
    with np.load(data_file(name)) as archive:
        return DataCovariance(np.asarray(archive["X"], dtype=float))


def gap_at(moment: float, times: Sequence[float], gaps: Any) -> float:
    """The gap at a moment, or at the end if that comes before."""
    return float(gaps[min(int(np.searchsorted(times, moment)), len(times) - 1)])


def gap_over_time(result: Result, count: int, limit: float) -> tuple[Sequence[float], Any]:
    """The largest gap of all components at a thousand moments; 1 for what was not reached."""
    times = np.linspace(0.0, limit, 1001)
    gaps = np.ones((count, len(times)))
    for entry in result.history:
        if np.isfinite(entry.gap):
            gaps[entry.stage, times >= entry.elapsed] = min(entry.gap, 1.0)
    return times, gaps.max(axis=0)
