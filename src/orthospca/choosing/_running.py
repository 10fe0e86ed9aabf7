"""Many fits, one after another or in parallel, the same either way, each with its share of time."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from joblib import Parallel, cpu_count, delayed, effective_n_jobs

from orthospca.choosing.selection import Counter
from orthospca.model.journal import HEARTBEAT
from orthospca.model.printing import verbosity
from orthospca.model.result import Result, Status
from orthospca.model.settings import Settings

T = TypeVar("T")

#: What comes of a job that there was no time for.
TOO_LATE = "too late"
#: Seconds that must be saved for processes to be started.
STARTING = 5.0


@dataclass(frozen=True)
class Share:
    """The time of one of several fits, some of which run at a time.

    The clock that it is read from goes alike in all processes of a machine.

    Attributes
    ----------
    end : float
        When everything must have ended.
    left : int
        Fits that are still to be begun, this one included.
    at_once : int
    """

    end: float
    left: int
    at_once: int = 1

    def is_over(self, seconds: float = 0.0) -> bool:
        """Whether there are not even so many seconds left."""
        return time.perf_counter() + seconds >= self.end

    def of(self, settings: Settings, since: float) -> Settings:
        """The settings of this fit, if it began at that moment."""
        share = max(self.end - since, 0.0) * min(self.at_once, self.left) / self.left
        left = max(since + share - time.perf_counter(), 0.0)
        return replace(settings, time_limit=left if math.isfinite(left) else None)


def end_of(settings: Settings) -> float:
    """The moment at which everything must have ended, if it begins now."""
    return math.inf if settings.time_limit is None else time.perf_counter() + settings.time_limit


def run_all(
    work: Callable[..., T | str | None],
    jobs: Sequence[tuple[Any, ...]],
    end: float,
    n_jobs: int | None,
    callback: Counter | None,
    known: Sequence[Result],
) -> tuple[list[T], Status | None]:
    """Do the jobs, in order; Ctrl-C, the callback and a limit leave those that are done.

    Parameters
    ----------
    work : callable
        Of a job's arguments, its share of the time and a callback of its solves; returns None if
        it was interrupted, and ``TOO_LATE`` if there was no time for it.
    jobs : sequence of tuple
        Its arguments.
    end : float
        When everything must have ended.
    n_jobs : int or None
        As in joblib; processes, unless ``joblib.parallel_config`` names another backend.  With
        None all cores are used, as soon as starting processes is seen to pay.
    callback : callable or None
        Called after each job, and meanwhile where jobs are done one by one.
    known : sequence of Result
        What was found before; where that was interrupted, no job is begun.

    Returns
    -------
    list, Status or None
        What came out, and why something was left undone, if it was.
    """
    done: list[T] = []
    asked = any(result.status is Status.INTERRUPTED for result in known)
    if asked:
        return done, Status.INTERRUPTED
    hear = None if callback is None else heartbeat(callback, done, len(jobs))
    with warnings.catch_warnings():
        # Jobs that are given up are no news to whoever gave them up.
        warnings.filterwarnings("ignore", ".*cancelled.*", category=UserWarning)
        try:
            with closing(_outcomes(work, jobs, end, n_jobs, hear)) as outcomes:
                for outcome in outcomes:
                    asked = outcome is None
                    if outcome is None or isinstance(outcome, str):
                        break
                    done.append(outcome)
                    asked = callback is not None and bool(callback(len(done), len(jobs)))
                    if asked:
                        break
        except KeyboardInterrupt:
            asked = True
    if len(done) == len(jobs):
        return done, None
    return done, Status.INTERRUPTED if asked else Status.TIME_LIMIT


def _outcomes(
    work: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    end: float,
    n_jobs: int | None,
    hear: Callable[..., bool] | None,
    starting: float = STARTING,
) -> Generator[Any, None, None]:
    """What comes of the jobs, in order."""
    began, done, cores = time.perf_counter(), 0, cpu_count()
    if n_jobs is None and effective_n_jobs(None) == 1:
        # One by one, until those that are left would take longer than processes take to start.
        while done < len(jobs):
            saved = (time.perf_counter() - began) * (len(jobs) / max(done, 1) - 1) * (1 - 1 / cores)
            if done and saved > starting:
                n_jobs = -1
                break
            yield work(*jobs[done], Share(end, len(jobs) - done), hear)
            done += 1
    at_once = effective_n_jobs(n_jobs)
    heard = hear if at_once == 1 else None
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(work)(*jobs[i], Share(end, len(jobs) - i, at_once), heard)
        for i in range(done, len(jobs))
    )


def heartbeat(callback: Counter | None, done: Sequence[Any], total: int) -> Callable[..., bool]:
    """A callback of solves that lets whoever counts fits stop while one goes on, now and then."""
    told = time.perf_counter()

    def hear(*progress: Any) -> bool:
        nonlocal told
        if callback is None or time.perf_counter() < told + HEARTBEAT:
            return False
        told = time.perf_counter()
        return bool(callback(len(done), total))

    return hear


def announced(name: str, what: str, callback: Counter | None, verbose: Any) -> Counter | None:
    """A callback that also prints how many are done, if that is asked for."""
    if not verbosity(verbose):
        return callback
    began, told = time.perf_counter(), 0

    def hear(done: int, total: int) -> bool | None:
        nonlocal told
        if done > told:
            told = done
            print(f"[{name}] {done} of {total} {what} done, {time.perf_counter() - began:.1f} s")
        return None if callback is None else callback(done, total)

    return hear


def worst(statuses: Sequence[Status], stopped: Status | None) -> Status:
    """One status for many fits: ``OPTIMAL`` only if all are certified."""
    if stopped is not None:
        return stopped
    certified = (Status.OPTIMAL, Status.EXHAUSTED)
    return next((status for status in statuses if status not in certified), Status.OPTIMAL)
