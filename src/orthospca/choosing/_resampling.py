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
    validate_flag,
    validate_integer,
    validate_names,
    validate_sparsity,
)
from orthospca.paths.solving import path_with, validate_sparsities

T = TypeVar("T")

#: Arguments of ``solve`` that say how each fit is done.
SETTINGS = ("method", "eps", "gap", "time_limit", "node_limit", "n_jobs")


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
            if not isinstance(X.source, LocalColumns):
                raise InputError("X must be in memory, got data in chunks: take some of its rows")
            X = X.source.data
        elif not sparse.issparse(X):
            X = numbers_of(X, "X") if hasattr(X, "to_numpy") else np.asarray(X)
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
    """What is sought in some of the rows.

    Attributes
    ----------
    rows : Rows
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

    rows: Rows
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
        X, correlation, names
            As for :class:`Rows`.
        sparsities
            As for a path; or, if they are not several, that of each component.
        n_components, callback
            As given.
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
        end = end_of(settings)
        rows, whole = Rows.validate(X, correlation, names)
        n = rows.shape[1]
        limits = validate_sparsities(sparsities, n) if several else [sparsities]
        count = validate_integer("n_components", n_components, 1, n, "the number of features")
        smallest = validate_sparsity(limits[0], count, n)
        demands = Demands.validate(smallest, n, rows.names, **beyond)
        return cls(rows, limits, count, settings, end, demands, several), whole

    @property
    def by_rungs(self) -> bool:
        """Whether all sparsities are certified on the way to the largest: no start is needed."""
        return self.several and self.n_components == 1 and not self.demands.binding

    def starting_from(self, results: Iterable[Result]) -> Asked:
        """The same, beginning with supports that are good ones in all rows."""
        if self.by_rungs:
            return self
        start = tuple(component.support for result in results for component in result)
        return replace(self, settings=replace(self.settings, start=start))

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
        if self.several:
            given = (covariance, self.sparsities, self.n_components, settings)
            return list(path_with(*given, callback=hear, demands=self.demands).results)
        (sparsity,) = self.sparsities
        given = (covariance, sparsity, self.n_components, settings)
        return [solve_with(*given, callback=hear, asked=self.demands)]

    def fit(
        self, part: IntArray, share: Share, hear: Callable[..., bool] | None
    ) -> tuple[DataCovariance, list[Result]] | str | None:
        """Find the components of some rows; see :func:`run_all` where there are none."""
        if share.is_over(self.rows.seconds):
            return TOO_LATE
        began = time.perf_counter()
        covariance = self.rows.covariance(part)
        # Fits run at once, and so each of them with one job.
        settings = replace(share.of(self.settings, began), n_jobs=None)
        results = self.results(covariance, settings, hear)
        if any(result.status is Status.INTERRUPTED for result in results):
            return None
        if len(results) < len(self.sparsities) or not all(result.stages for result in results):
            return None if share.end == math.inf else TOO_LATE
        return covariance, results

    def fit_all(
        self,
        work: Callable[..., T | str | None],
        parts: Iterable[tuple[Any, ...]],
        known: Sequence[Result],
        callback: Counter | None,
    ) -> tuple[list[T], Status | None]:
        """Do some work for each part of the rows; see :func:`run_all`."""
        if any(result.status is Status.INTERRUPTED for result in known):
            return [], Status.INTERRUPTED
        asked = self.starting_from(known)
        jobs = [(asked, *part) for part in parts]
        return run_all(work, jobs, self.end, self.settings.n_jobs, callback)
