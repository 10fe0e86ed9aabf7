"""Fits to some of the rows of data, one after another or in parallel, the same either way."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.choosing.selection import Counter
from orthospca.data.columns import LocalColumns
from orthospca.data.covariance import DataCovariance
from orthospca.data.sparse import SparseColumns
from orthospca.model.journal import HEARTBEAT
from orthospca.model.result import Result, Status
from orthospca.model.settings import Settings
from orthospca.model.validation import names_of, validate_flag, validate_integer, validate_names

T = TypeVar("T")

#: What comes of a job that there was no time for.
TOO_LATE: Any = "too late"


@dataclass(frozen=True, eq=False)
class Rows:
    """Observations of which some are fitted at a time.

    Attributes
    ----------
    values : ndarray or sparse matrix of shape (m, n)
    correlation : bool
    names : tuple of str or None
    seconds : float
        What it takes to read them all: with less time than that no part is begun.
    """

    values: Any
    correlation: bool
    names: tuple[str, ...] | None
    seconds: float = 0.0

    @classmethod
    def validate(cls, X: Any, correlation: Any, feature_names: Any) -> tuple[Rows, DataCovariance]:
        """Check the data; what is wrong with them is a ``ValueError`` that names it.

        Returns
        -------
        Rows, DataCovariance
            The latter is of all rows.
        """
        began = time.perf_counter()
        correlation = validate_flag("correlation", correlation)
        names = names_of(X)
        if isinstance(X, DataCovariance):
            if correlation and not X.correlation:
                raise InputError(
                    "correlation must be that of X, a DataCovariance with correlation=False"
                )
            correlation = X.correlation
            if not isinstance(X.source, LocalColumns | SparseColumns):
                raise InputError("X must be in memory, got data in chunks: take some of its rows")
            X = X.source.data
        elif not sparse.issparse(X):
            X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
        if len(X.shape) != 2 or not X.shape[1]:
            raise InputError(f"X must be observations by features, got shape {X.shape}")
        values = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        found = cls(values, correlation, validate_names(feature_names, X.shape[1], names))
        try:
            # It refuses what is not finite, or not a number.
            whole = found.covariance(np.arange(X.shape[0]))
        except InputError as error:
            raise InputError(str(error).replace("data", "X", 1)) from None
        return replace(found, seconds=time.perf_counter() - began), whole

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of observations and features."""
        m, n = self.values.shape
        return int(m), int(n)

    def covariance(self, rows: IntArray) -> DataCovariance:
        """The covariance or correlation of some rows."""
        return DataCovariance(self.values[rows], correlation=self.correlation)


@dataclass(frozen=True, eq=False)
class Sparse:
    """A component, in so much memory as it has nonzeros.

    Attributes
    ----------
    support : array of int
    loadings : array
    """

    support: IntArray
    loadings: Array

    @classmethod
    def all_of(cls, result: Result) -> tuple[Sparse, ...]:
        """The components of a result."""
        return tuple(cls(c.support, c.vector[c.support]) for c in result.stages)


def seeds(random_state: Any, count: int) -> list[np.random.SeedSequence]:
    """Return a seed for each of several draws: each is the same whatever becomes of the others."""
    if random_state is not None:
        random_state = validate_integer("random_state", random_state, 0)
    return np.random.SeedSequence(random_state).spawn(count)


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

    @classmethod
    def of_all(cls, end: float, fits: int, n_jobs: int | None) -> list[Share]:
        """The shares of all fits."""
        at_once = effective_n_jobs(n_jobs)
        return [cls(end, fits - i, min(at_once, fits - i)) for i in range(fits)]

    def is_over(self, seconds: float = 0.0) -> bool:
        """Whether there are not even so many seconds left."""
        return time.perf_counter() + seconds >= self.end

    def of(self, settings: Settings, since: float) -> Settings:
        """The settings of this fit, if it began at that moment."""
        share = max(self.end - since, 0.0) * self.at_once / self.left
        left = max(since + share - time.perf_counter(), 0.0)
        return replace(settings, time_limit=left if math.isfinite(left) else None)


def end_of(settings: Settings) -> float:
    """The moment at which everything must have ended, if it begins now."""
    return math.inf if settings.time_limit is None else time.perf_counter() + settings.time_limit


def run_all(
    work: Callable[..., T | None],
    jobs: Sequence[tuple[Any, ...]],
    shares: Sequence[Share],
    n_jobs: int | None,
    callback: Counter | None,
) -> tuple[list[T], Status | None]:
    """Do the jobs, in order; Ctrl-C, the callback and a limit leave those that are done.

    Parameters
    ----------
    work : callable
        Of a job's arguments, its share of the time and a callback of its solves; returns None if
        it was interrupted, and ``TOO_LATE`` if there was no time for it.
    jobs : sequence of tuple
        Its arguments.
    shares : sequence of Share
    n_jobs : int or None
        As in joblib; processes, unless ``joblib.parallel_config`` names another backend.
    callback : callable or None
        Called after each job, and meanwhile where jobs are done one by one.

    Returns
    -------
    list, Status or None
        What came out, and why something was left undone, if it was.
    """
    done: list[T] = []
    asked = False

    heard = None
    if callback is not None and effective_n_jobs(n_jobs) == 1:
        heard = heartbeat(callback, done, len(jobs))
    with warnings.catch_warnings():
        # Jobs that are given up are no news to whoever gave them up.
        warnings.filterwarnings("ignore", ".*cancelled.*", category=UserWarning)
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(work)(*job, share, heard) for job, share in zip(jobs, shares, strict=True)
        )
        try:
            for outcome in outcomes:
                if outcome is None:
                    asked = True
                    break
                if isinstance(outcome, str):
                    break
                done.append(outcome)
                if callback is not None and callback(len(done), len(jobs)):
                    asked = True
                    break
        except KeyboardInterrupt:
            asked = True
        finally:
            outcomes.close()
    if len(done) == len(jobs):
        return done, None
    return done, Status.INTERRUPTED if asked else Status.TIME_LIMIT


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


def worst(statuses: Sequence[Status], stopped: Status | None) -> Status:
    """One status for many fits: ``OPTIMAL`` only if all are certified."""
    if stopped is not None:
        return stopped
    certified = (Status.OPTIMAL, Status.EXHAUSTED)
    return next((status for status in statuses if status not in certified), Status.OPTIMAL)
