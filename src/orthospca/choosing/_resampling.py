"""Some of the rows of data, and what is sought in them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from orthospca._errors import InputError
from orthospca._methods import Method
from orthospca._typing import IntArray
from orthospca.choosing._running import TOO_LATE, Share, end_of, heartbeat, run_all
from orthospca.choosing.selection import Counter
from orthospca.data.columns import LocalColumns
from orthospca.data.covariance import DataCovariance
from orthospca.facade import solve_with
from orthospca.model.demands import DEMANDED, Demands
from orthospca.model.result import Result, Status
from orthospca.model.settings import Settings
from orthospca.model.validation import (
    names_of,
    numbers_of,
    refuse_masked,
    validate_flag,
    validate_integer,
    validate_names,
    validate_sparsity,
)
from orthospca.paths.solving import path_with, validate_sparsities

T = TypeVar("T")

#: Arguments of ``solve`` that say how each fit is done.
SETTINGS = ("method", "eps", "gap", "time_limit", "node_limit", "n_jobs")


def rows_of(X: Any, correlation: bool) -> tuple[Any, bool]:
    """Return observations that some rows can be taken of, and whether they are to be scaled."""
    if isinstance(X, DataCovariance):
        if correlation and not X.correlation:
            raise InputError(
                "correlation=True needs X with correlation=True, got a DataCovariance without it"
            )
        if not isinstance(X.source, LocalColumns):
            raise InputError("X must be in memory, got data in chunks: use a sample of the rows")
        X, correlation = X.source.data, X.correlation
    elif not sparse.issparse(X):
        X = numbers_of(X, "X") if hasattr(X, "to_numpy") else np.asarray(X)
    if len(X.shape) != 2 or not X.shape[1]:
        raise InputError(f"X must be observations by features, got shape {X.shape}")
    # In one order, whatever holds them: sums are rounded as they are in some of the rows.
    return X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X), correlation


def seeds(random_state: Any, count: int) -> list[np.random.SeedSequence]:
    """Return a seed for each of several draws: each is the same whatever becomes of the others."""
    if random_state is not None:
        random_state = validate_integer("random_state", random_state, 0)
    return np.random.SeedSequence(random_state).spawn(count)


def refuse_nothing(results: Sequence[Result], settings: Settings) -> None:
    """Refuse to go on without components of all rows: there was no time, or Ctrl-C came at once."""
    if results and all(result.stages for result in results):
        return
    if any(result.status is not Status.INTERRUPTED for result in results):
        raise InputError(f"time_limit must be long enough to read X, got {settings.time_limit}")
    raise KeyboardInterrupt("interrupted before a component was found")


@dataclass(frozen=True, eq=False)
class Asked:
    """What is sought in some of the rows of data.

    Attributes
    ----------
    values : ndarray or sparse matrix of shape (m, n)
    correlation : bool
    names : tuple of str or None
    seconds : float
        What it takes to read all rows: with less time than that no part is begun.
    sparsities : sequence
        Of which the components are sought; one of them may be a sequence itself.
    n_components : int
    settings : Settings
    end : float
        When everything must have ended.
    demands : Demands
        What is asked of the components beyond their sparsity.
    several : bool
        Whether what is proved for one sparsity is used for the others.
    """

    values: Any
    correlation: bool
    names: tuple[str, ...] | None
    seconds: float
    sparsities: Sequence[Any]
    n_components: int
    settings: Settings
    end: float
    demands: Demands
    several: bool

    @classmethod
    def validate(
        cls,
        X: Any,
        correlation: Any,
        names: Any,
        sparsities: Any,
        n_components: Any,
        callback: Any,
        options: dict[str, Any],
        several: bool = True,
    ) -> tuple[Asked, DataCovariance]:
        """Check what is asked; a bad argument is a ``ValueError`` that names it.

        Parameters
        ----------
        X, correlation, names, n_components, callback
            As given.
        sparsities
            As for a path; or, if they are not several, that of each component.
        options : dict
            Arguments of :func:`orthospca.solve`: its settings, and what is asked of components.
        several : bool

        Returns
        -------
        Asked, DataCovariance
            The latter is of all rows.
        """
        if options.get("method") == Method.DEFLATION:
            raise InputError("method must not be 'deflation': its components are not orthogonal")
        for name in options.keys() - {*SETTINGS, *DEMANDED}:
            raise TypeError(f"unexpected keyword argument {name!r}")
        beyond = {name: options.pop(name) for name in DEMANDED if name in options}
        settings = Settings.validate(callback=callback, **options)
        end, began = end_of(settings), time.perf_counter()
        refuse_masked(X, "X")
        values, correlation = rows_of(X, validate_flag("correlation", correlation))
        n = values.shape[1]
        names = validate_names(names, n, names_of(X))
        try:
            # It refuses what is not finite, or not a number.
            whole = DataCovariance(values, correlation=correlation)
        except InputError as error:
            raise InputError(str(error).replace("data", "X", 1)) from None
        seconds = time.perf_counter() - began
        # Those of the components of one search may come from an iterator, and are looked at twice.
        own = list(sparsities) if isinstance(sparsities, Iterable) else sparsities
        limits = validate_sparsities(sparsities, n) if several else [own]
        count = validate_integer("n_components", n_components, 1, n, "the number of features")
        demands = Demands.validate(validate_sparsity(limits[0], count, n), n, names, **beyond)
        told = (limits, count, settings, end, demands, several)
        return cls(values, correlation, names, seconds, *told), whole

    @property
    def by_rungs(self) -> bool:
        """Whether all sparsities are certified on the way to the largest: no start is needed."""
        return self.several and self.n_components == 1 and not self.demands.binding

    def of_all_rows(
        self, whole: DataCovariance, fits: int, callback: Counter | None
    ) -> list[Result]:
        """Find the components of all rows, in the time that one of so many other fits has."""
        share = Share(self.end, 1 + math.ceil(fits / effective_n_jobs(self.settings.n_jobs)))
        settings = share.of(self.settings, time.perf_counter())
        return self.results(whole, settings, heartbeat(callback, (), fits))

    def results(
        self, covariance: DataCovariance, settings: Settings, hear: Callable[..., bool] | None
    ) -> list[Result]:
        """Find the components, for each sparsity."""
        about = (self.n_components, settings, 0.0, hear)
        if self.several:
            path = path_with(covariance, self.sparsities, *about, self.names, self.demands)
            return list(path.results)
        (limit,) = self.sparsities
        return [solve_with(covariance, limit, *about, names=self.names, asked=self.demands)]

    def fit(
        self, keep: Callable[..., T], part: IntArray, others: Sequence[Any], share: Share, hear: Any
    ) -> T | str | None:
        """Keep something of the components of some rows; see :func:`run_all` if there are none."""
        if share.is_over(self.seconds):
            return TOO_LATE
        began = time.perf_counter()
        covariance = DataCovariance(self.values[part], correlation=self.correlation)
        # Fits run at once, and so each of them with one job.
        settings = replace(share.of(self.settings, began), n_jobs=None)
        results = self.results(covariance, settings, hear)
        if any(result.status is Status.INTERRUPTED for result in results):
            return None
        if len(results) < len(self.sparsities) or not all(result.stages for result in results):
            return None if share.end == math.inf else TOO_LATE
        return keep(self, covariance, results, *others)

    def fit_all(
        self,
        keep: Callable[..., T],
        parts: Iterable[tuple[Any, ...]],
        known: Sequence[Result],
        callback: Counter | None,
    ) -> tuple[list[T], Status | None]:
        """Fit each part of the rows, with what else belongs to it; see :func:`run_all`."""
        asked = self
        if not self.by_rungs:
            # Supports that are good ones in all rows.
            start = tuple(component.support for result in known for component in result)
            asked = replace(self, settings=replace(self.settings, start=start))
        jobs = [(keep, part, others) for part, *others in parts]
        return run_all(asked.fit, jobs, self.end, self.settings.n_jobs, callback, known)
