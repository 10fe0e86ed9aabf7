"""Fits to some of the rows of data, one after another or in parallel, the same either way."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from orthospca.model.result import Result, Status
from orthospca.model.validation import names_of, validate_flag, validate_integer, validate_names

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Rows:
    """Observations of which some are fitted at a time.

    Attributes
    ----------
    values : ndarray or sparse matrix of shape (m, n)
    correlation : bool
    names : tuple of str or None
    """

    values: Any
    correlation: bool
    names: tuple[str, ...] | None

    @classmethod
    def validate(cls, X: Any, correlation: Any, feature_names: Any) -> Rows:
        """Check the data; what is wrong with them is a ``ValueError`` that names it."""
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
            found.covariance(np.arange(X.shape[0]))  # refuses what is not finite, or not a number
        except InputError as error:
            raise InputError(str(error).replace("data", "X", 1)) from None
        return found

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


def share_of_time(time_limit: float | None, fits: int, n_jobs: int | None) -> float | None:
    """Seconds for each of several fits, so many of which run at a time."""
    if time_limit is None:
        return None
    return time_limit * min(effective_n_jobs(n_jobs), fits) / fits


def run_all(
    work: Callable[..., T | None],
    jobs: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    callback: Counter | None,
) -> tuple[list[T], bool]:
    """Do the jobs, in order; Ctrl-C and the callback leave those that are done.

    Parameters
    ----------
    work : callable
        Returns None if it was interrupted.
    jobs : sequence of tuple
        Its arguments.
    n_jobs : int or None
        As in joblib; processes, unless ``joblib.parallel_config`` names another backend.
    callback : callable or None

    Returns
    -------
    list, bool
        What came out, and whether something was left undone because somebody asked to stop.
    """
    done: list[T] = []
    with warnings.catch_warnings():
        # Jobs that are given up are no news to whoever gave them up.
        warnings.filterwarnings("ignore", ".*cancelled.*", category=UserWarning)
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(work)(*job) for job in jobs
        )
        try:
            for outcome in outcomes:
                if outcome is None:
                    break
                done.append(outcome)
                if callback is not None and callback(len(done), len(jobs)):
                    break
        except KeyboardInterrupt:
            pass
        finally:
            outcomes.close()
    return done, len(done) < len(jobs)


def worst(statuses: Sequence[Status], stopped: bool) -> Status:
    """One status for many fits: ``OPTIMAL`` only if all are certified."""
    if stopped:
        return Status.INTERRUPTED
    certified = (Status.OPTIMAL, Status.EXHAUSTED)
    return next((status for status in statuses if status not in certified), Status.OPTIMAL)
