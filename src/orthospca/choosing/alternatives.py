"""Every choice of features that is nearly as good as the best one, and whether that is all."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.data.problem import DataProblem
from orthospca.facade import is_wide
from orthospca.model.journal import Callback
from orthospca.model.limits import Watch
from orthospca.model.problem import Problem
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.validation import validate_integer, validate_names, validate_nonnegative
from orthospca.numerics.rigor import ORTHOGONALITY
from orthospca.numerics.threads import single_threaded_blas
from orthospca.search.forms import Form, MatrixForm
from orthospca.search.listing import Listing
from orthospca.search.outcome import Outcome, Request
from orthospca.search.stages import MatrixStages
from orthospca.wide.form import DataForm
from orthospca.wide.stage import WideProblem, WideStages

__all__ = ["Alternatives", "alternatives"]


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Supports whose variance is within a tolerance of the best.

    Attributes
    ----------
    supports : tuple of integer arrays
        Each has as many features as the sparsity allows, the best support first.
    variances : array
        The largest variance of a vector on each support.
    complete : bool
        Whether it is proved that there is no other support within the tolerance.
    tolerance : float
        Relative to the best variance.
    level : float
        The variance that a support must have to be listed.
    n_features : int
    feature_names : tuple of str or None
    note : str
        Why the list may not be complete; empty if it is.
    runtime : float
        Seconds.
    """

    supports: tuple[IntArray, ...]
    variances: Array
    complete: bool
    tolerance: float
    level: float
    n_features: int
    feature_names: tuple[str, ...] | None = None
    note: str = ""
    runtime: float = field(default=0.0, repr=False)

    def __len__(self) -> int:
        return len(self.supports)

    def __iter__(self) -> Iterator[IntArray]:
        return iter(self.supports)

    @property
    def frequencies(self) -> Array:
        """Share of the supports that contain each feature; NaN if there is none."""
        if not self.supports:
            return np.full(self.n_features, np.nan)
        return np.bincount(np.concatenate(self.supports), minlength=self.n_features) / len(self)

    @property
    def in_all(self) -> IntArray:
        """The features that every support contains."""
        return np.flatnonzero(self.frequencies == 1.0)

    @property
    def in_none(self) -> IntArray:
        """The features that no support contains."""
        return np.flatnonzero(self.frequencies == 0.0)

    def names(self, features: IntArray) -> list[str]:
        """Return the names of some features, or their numbers."""
        if self.feature_names is None:
            return [str(int(j)) for j in features]
        return [self.feature_names[int(j)] for j in features]

    def to_dict(self) -> dict[str, Any]:
        """Return the list as plain data, for JSON."""
        return {
            "tolerance": self.tolerance,
            "level": self.level if math.isfinite(self.level) else None,
            "complete": self.complete,
            "note": self.note,
            "supports": [
                {"variance": float(variance), "features": self.names(support)}
                for support, variance in zip(self.supports, self.variances, strict=True)
            ],
            "frequencies": {
                self.names(np.array([j]))[0]: float(self.frequencies[j])
                for j in np.flatnonzero(self.frequencies > 0)
            },
        }

    def summary(self, most: int = 10) -> str:
        """Return the list in words: how many, the best of them, and what they share."""
        number = f"{len(self)} support{'' if len(self) == 1 else 's'}"
        claim = "and proved that there is no other" if self.complete else self.note
        lines = [f"{number} within {self.tolerance:.3g} of the best variance, {claim}"]
        for support, variance in list(zip(self.supports, self.variances, strict=True))[:most]:
            lines.append(f"{variance:.6g}  {', '.join(self.names(support))}")
        if len(self) > most:
            lines.append(f"… and {len(self) - most} more")
        if len(self) > 1:
            lines.append(f"in all of them: {', '.join(self.names(self.in_all)) or 'none'}")
        return "\n".join(lines)


def alternatives(
    Q: Any,
    sparsity: int,
    tolerance: float = 0.01,
    *,
    previous: Any = None,
    max_supports: int = 1000,
    gap: float = 1e-6,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    feature_names: Sequence[str] | None = None,
) -> Alternatives:
    """List every support whose variance is within a tolerance of the best component's.

    Supports have ``sparsity`` features; where fewer would do, every one that contains these is
    listed.  The list is complete if the search of everything else has ended.

    Parameters
    ----------
    Q : array-like of shape (n, n), or DataCovariance
        As in :func:`orthospca.solve`.
    sparsity : int
        Features of a support.
    tolerance : float
        How far below the best variance, relative to it, a support may be.
    previous : array-like of shape (k, n), optional
        Components that the vectors must be orthogonal to, as rows: the alternatives are then those
        of the next stage.  A feature that one of them uses alone is in none of the supports.
    max_supports : int
        List at most so many; with more of them ``complete`` is false.
    gap : float
        To which the best component is sought; if a better one turns up in the list, the tolerance
        is measured from that.
    time_limit : float, optional
        Seconds.
    n_jobs, callback, feature_names
        As in :func:`orthospca.solve`.

    Returns
    -------
    Alternatives

    Examples
    --------
    >>> from orthospca import alternatives, datasets
    >>> pitprops = datasets.load_pitprops()
    >>> found = alternatives(pitprops.covariance(), 4, tolerance=0.02)
    >>> len(found), found.complete
    (2, True)
    """
    tolerance = validate_nonnegative("tolerance", tolerance)
    most = validate_integer("max_supports", max_supports, 1)
    settings = Settings.validate(gap=gap, time_limit=time_limit, n_jobs=n_jobs, callback=callback)
    wide = is_wide(Q, settings)
    problem = (DataProblem if wide else Problem).validate(Q, sparsity, 1)
    names = validate_names(feature_names, problem.n_features, problem.feature_names)
    before = _validate_previous(previous, problem.n_features)
    begin, watch = time.perf_counter(), settings.watch(callback)
    with watch.listening(), single_threaded_blas():
        search = _Search(problem, before, settings, watch)
        found = search.run(tolerance, most)
    supports, values, level, note = found
    order = np.lexsort((np.arange(len(values)), -np.array(values)))
    return Alternatives(
        tuple(supports[i] for i in order),
        np.array([values[i] for i in order]),
        not note,
        tolerance,
        level,
        problem.n_features,
        names,
        note,
        time.perf_counter() - begin,
    )


def _validate_previous(previous: Any, n: int) -> Array:
    """Return components as columns."""
    if previous is None:
        return np.zeros((n, 0))
    try:
        rows = np.asarray(previous, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"previous must be an array of numbers, got {previous!r}") from None
    if rows.ndim != 2 or rows.shape[1] != n or not np.isfinite(rows).all():
        raise InputError(
            f"previous must be components in rows, of {n} features, got the shape {rows.shape}"
        )
    off = float(np.abs(rows @ rows.T - np.eye(len(rows))).max(initial=0.0))
    if off > 8 * ORTHOGONALITY:
        raise InputError(f"previous must be orthonormal rows, and they are off by {off:.2g}")
    return np.ascontiguousarray(rows.T)


class _Search:
    """The best component first, then all that comes near it."""

    def __init__(
        self, problem: Problem | DataProblem, previous: Array, settings: Settings, watch: Watch
    ) -> None:
        self.n, self.size = problem.n_features, problem.sparsity[0]
        self.settings, self.watch = settings, watch
        self.request = Request(self.size, previous)
        # Features that are not used up.
        self._kept = np.arange(self.n)
        if isinstance(problem, DataProblem):
            # As for a proof: rung after rung, and features are ruled out by the border rule alone.
            # A search by traces closes what is below the best vector, and so lists nothing.
            settings = replace(settings, proof=True)
            data = WideProblem(problem.covariance, self.size, settings)
            self._stages: Any = WideStages(data, settings, watch)
            self._form: Form = DataForm(
                problem.covariance,
                self.size,
                previous,
                data.profiles,
                tuning=settings.tuning,
                proof=True,
            )
        else:
            self._stages = MatrixStages(problem.covariance, settings, watch)
            stage = Subproblem(problem.covariance, self.size, previous)
            part, self._kept = stage.without_spent_features()
            self._form = MatrixForm(part)

    def run(self, tolerance: float, most: int) -> tuple[list[IntArray], list[float], float, str]:
        """Return supports, values, the level, and why the list may not be complete."""
        self.watch.begin_stage(self.request.previous.shape[1], 1)
        outcome: Outcome = self._stages.solve(self.request)
        if outcome.best is None:
            return [], [], math.inf, "" if outcome.upper == -math.inf else "no vector was found"
        best = outcome.best.value
        level = best - tolerance * abs(best)
        supports, values, note = self._list(level, outcome, most)
        if note and not supports:
            # Stopped before anything was listed: the best one is known all the same.
            supports, values = [np.flatnonzero(outcome.best.vector)], [best]
        if values and max(values) > best:
            # The best component was sought to a tolerance only.
            level = max(values) - tolerance * abs(max(values))
            lowest = level - 1e-12 * abs(level)
            pairs = [(s, v) for s, v in zip(supports, values, strict=True) if v >= lowest]
            supports, values = [s for s, _ in pairs], [v for _, v in pairs]
        return supports, values, level, note

    def _list(
        self, level: float, outcome: Outcome, most: int
    ) -> tuple[list[IntArray], list[float], str]:
        form, stop = self._form, self.watch.out_of_time
        below = outcome.rungs[-2].upper if len(outcome.rungs) > 1 else math.inf
        lowered = level - 2 * form.rounding
        kept = np.arange(form.n_features)
        outside = -math.inf
        if below < lowered or isinstance(form, DataForm):
            sieve = form.sieve(self.size, lowered, below, stop)
            kept, outside = sieve.kept, sieve.outside
        problem, kept = form.restricted(kept, self.size)
        listing = Listing(problem, lowered, most, self.settings.tuning.walk)
        complete = listing.run(stop)
        supports = [self._kept[kept[support]] for support in listing.supports]
        note = ""
        if listing.full:
            note = f"and there are more: max_supports is {most}"
        elif not complete:
            note = "and the search for others was stopped"
        elif outside > level:
            note = "and more features could matter than a matrix is formed for"
        return supports, listing.values, note
