"""The clock, the unit of time, and the description of the machine.

Times depend on the machine, so they are also given in units of one ``numpy.linalg.eigh`` of the
same matrix, measured in the same run with one BLAS thread.  Below 100 variables a call measures
mostly its own overhead; the unit is then one ``eigh`` of a random symmetric 100 × 100 matrix.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_info

from benchmarks.instances import SEED, Array, load

T = TypeVar("T")

#: Smallest order of the matrix that defines the unit.
SMALLEST_UNIT = 100
#: Calls of ``eigh`` before and after each solve; fewer once they have taken this many seconds.
UNIT_CALLS = 7
UNIT_SECONDS = 0.5
#: Problems whose ``eigh`` takes longer than this are measured once in a run, by two or three calls.
SLOW_UNIT = 0.5
SLOW_UNIT_SECONDS = 10.0


#: A clock that counts what this process computes, and not what others on the machine do meanwhile:
#: for solves on one thread, the seconds that they would take on a machine of their own.
PROCESSOR: Callable[[], float] = time.process_time


def timed(call: Callable[[], T], clock: Callable[[], float] = time.perf_counter) -> tuple[T, float]:
    """Return what a call returns, and its seconds."""
    start = clock()
    value = call()
    return value, clock() - start


def repeated(
    call: Callable[[], T],
    repeat: int,
    enough: float,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[T, list[float]]:
    """Call up to ``repeat`` times, but not again after ``enough`` seconds in all.

    Returns
    -------
    value : object
        What the first call returned.
    seconds : list of float
        Of each call.
    """
    value, first = timed(call, clock)
    seconds = [first]
    while len(seconds) < repeat and sum(seconds) < enough:
        seconds.append(timed(call, clock)[1])
    return value, seconds


class Units:
    """The unit of time of each problem, measured close to the solves that it is compared with."""

    def __init__(self) -> None:
        self._slow: dict[str, float] = {}

    def around(self, name: str, call: Callable[[], T]) -> tuple[T, float]:
        """Return what a call returns, and the median of the unit before and after it."""
        matrix = unit_matrix(load(name))
        if name in self._slow:
            return call(), self._slow[name]
        _, before = repeated(lambda: np.linalg.eigh(matrix), UNIT_CALLS, UNIT_SECONDS)
        if min(before) > SLOW_UNIT:
            _, more = repeated(lambda: np.linalg.eigh(matrix), 2, SLOW_UNIT_SECONDS)
            self._slow[name] = statistics.median(before + more)
            return call(), self._slow[name]
        value = call()
        _, after = repeated(lambda: np.linalg.eigh(matrix), UNIT_CALLS, UNIT_SECONDS)
        return value, statistics.median(before + after)


def unit_matrix(matrix: Array) -> Array:
    """The matrix whose ``eigh`` is the unit of a problem."""
    if len(matrix) >= SMALLEST_UNIT:
        return matrix
    noise = np.random.default_rng(SEED).standard_normal((SMALLEST_UNIT, SMALLEST_UNIT))
    symmetric: Array = noise + noise.T
    return symmetric


def machine() -> dict[str, Any]:
    """Describe where the times were measured."""
    packages = ("orthospca", "numpy", "scipy", "joblib")
    blas = [
        f"{library['internal_api']} {library.get('version') or 'of unknown version'}"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": commit_of(Path(__file__).parent),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "packages": {package: version(package) for package in packages},
        "blas": sorted(set(blas)),
        "blas_threads": 1,
    }


def commit_of(folder: Path) -> str | None:
    """The commit of a checkout, if that is known, with a plus if something was changed.

    The stored tables do not count: a run writes them, one after another.
    """
    git = ("git", "-C", str(folder))
    changes = ("status", "--porcelain", "--untracked-files=no", "--")
    try:
        named = _printed(*git, "describe", "--always")
        changed = _printed(*git, *changes, ":(top)", ":(top,exclude)benchmarks/results")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{named}+" if changed else named


def _printed(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
