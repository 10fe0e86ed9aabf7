"""Whether components are more than noise: their variances beside those of permuted data.

Where the columns of the data are permuted, each on its own, nothing that they share is left.  The
proved upper bound on the first component of such data dominates all that noise can reach with so
many features, so that ``(1 + #{bounds ≥ variance}) / (1 + permutations)`` is a valid p-value,
whatever heuristic found the component.  See ``docs/how-to/significance.md``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.choosing._resampling import Asked, refuse_nothing, seeds
from orthospca.choosing._running import TOO_LATE, Share, heartbeat, run_all, worst
from orthospca.choosing.selection import Counter
from orthospca.data.covariance import DataCovariance
from orthospca.facade import solve_with
from orthospca.model import views
from orthospca.model.result import Result, Status
from orthospca.model.settings import Settings
from orthospca.model.tolerance import Tolerance
from orthospca.model.validation import validate_integer, validate_nonnegative
from orthospca.paths.shown import Shown, Table

#: Share of a column below which nothing of it is left but rounding.
SPENT = 1e-9
#: Bounds that are below a variance by no more than this share, as rounding leaves it, count as it.
SAME = 1e-9
#: The gap to which permuted data are bounded first, and the share of the variance below which
#: nothing more need be known.
COARSE, CLEARLY = 0.5, 0.9


@dataclass(frozen=True, eq=False, repr=False)
class Significance(Shown):
    """Variances of components, and what permuted data reach.

    Attributes
    ----------
    result : Result
        The components of the data.
    null : array of shape (K, B)
        For each component and permutation, the proved bound on the first component of the data with
        the components before projected out and each column permuted; NaN where it was not done.
    level : float
        Of the test.
    n_samples : int
    status : Status
        ``OPTIMAL`` if all permutations were done; else why not.
    """

    PICTURES: ClassVar = ("significance",)
    REPORTED: ClassVar = "significance"
    TOLD: ClassVar = ("variances", "p_values", "n_components")

    result: Result
    null: Array
    level: float
    n_samples: int
    status: Status

    @property
    def variances(self) -> Array:
        """The variance of each component."""
        return self.result.variances

    @property
    def n_permutations(self) -> Array:
        """How many permutations were done for each component."""
        return np.isfinite(self.null).sum(axis=1)

    @property
    def p_values(self) -> Array:
        """``(1 + #{null bound ≥ variance}) / (1 + permutations)`` of each component."""
        least = self.variances - SAME * np.abs(self.variances)
        reached = (self.null >= least[:, None]).sum(axis=1)
        return np.asarray((1 + reached) / (1 + self.n_permutations))

    @property
    def n_components(self) -> int:
        """How many components, from the first on, are more than noise at the level of the test."""
        small = [*(self.p_values <= self.level).tolist(), False]
        return small.index(False)

    def __repr__(self) -> str:
        values = ", ".join(f"{p:.2g}" for p in self.p_values)
        return (
            f"Significance({len(self.null)} components, p_values=[{values}], "
            f"n_components={self.n_components}, status={self.status.value!r})"
        )

    def table(self) -> Table:
        """Return the variance of each component and what permuted data reach."""
        done = [row[np.isfinite(row)] for row in self.null]
        columns = {
            "#": [str(k + 1) for k in range(len(done))],
            "variance": [f"{v:#.6g}" for v in self.variances],
            "noise, median": [f"{np.median(row):#.6g}" if len(row) else "" for row in done],
            "noise, largest": [f"{row.max():#.6g}" if len(row) else "" for row in done],
            "permutations": [str(len(row)) for row in done],
            "p-value": [f"{p:.3g}" for p in self.p_values],
            "": ["more than noise" * (k < self.n_components) for k in range(len(done))],
        }
        features = [[n for n, _ in views.loadings(self.result, c)] for c in self.result.stages]
        title = "Components beside noise"
        return Table(title, columns, self.verdict(), features, "features", ("",))

    def verdict(self) -> str:
        """Return how many components are more than noise, in a sentence."""
        count, tested = self.n_components, len(self.null)
        many = {0: "no component is", 1: "the first component is"}
        if count and count == tested:
            many[count] = "the component is" if count == 1 else f"all {count} components are"
        said = many.get(count, f"the first {count} components are")
        if self.status is not Status.OPTIMAL:
            said += " shown to be"
        text = (
            f"{said} more than noise at the level {self.level:g}; 'noise' is the proved bound on a "
            "component with as many features in permuted data"
        )
        if self.status is not Status.OPTIMAL:
            text += f"; not all permutations were done: {self.status.value}"
        return text


def significance(
    X: Any,
    sparsity: int | Sequence[int],
    n_components: int = 5,
    *,
    n_permutations: int = 20,
    level: float = 0.05,
    correlation: bool = False,
    random_state: int | None = 0,
    gap: float = 1e-4,
    null_gap: float = 0.02,
    time_limit: float | None = None,
    node_limit: int | None = None,
    n_jobs: int | None = None,
    callback: Counter | None = None,
    feature_names: Sequence[str] | None = None,
) -> Significance:
    """Test whether components are more than noise, by permuting each column of the data.

    For the k-th component, those before it are projected out of the data, and then each column is
    permuted independently.  This destroys what the columns share and keeps their variances.  The
    p-value counts the permutations in which the proved upper bound on a component with as many
    features is not below the variance.  So the test holds for every column distribution, and no
    heuristic can make it too optimistic.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (m, n), data frame, or DataCovariance
        Observations in rows; a sparse one is made dense.  A :class:`~orthospca.DataCovariance` must
        be of data in memory.
    sparsity, n_components, gap, feature_names
        As in :func:`orthospca.solve`, for the components of the data.
    n_permutations : int
        Permutations for each component.  The smallest possible p-value is
        ``1 / (n_permutations + 1)``.
    level : float
        Level of the test: components with larger p-values count as noise.
    correlation : bool
        Whether to divide each feature by its standard deviation.
    random_state : int or None
        Seed of the permutations; with None they are different each time.
    null_gap : float
        Relative gap of the bounds on permuted data, unless a coarse bound is already clearly below
        the variance.  A larger gap makes the test faster and more conservative.
    time_limit : float, optional
        Seconds for everything; permutations not reached are left out.
    node_limit : int, optional
        Nodes for each component, of the data and of permuted data.
    n_jobs : int, optional
        Permutations at a time, as in :func:`orthospca.stability`.  The result does not depend on
        it.
    callback : callable, optional
        Called with the number of permutations done and the total; if it returns a true value, the
        test stops.

    Returns
    -------
    Significance
        If Ctrl-C, the callback or the time limit stopped it: with the permutations done by then.

    Examples
    --------
    >>> from orthospca import datasets, significance
    >>> planted = datasets.make_planted_samples(30, 100, sparsity=5, n_groups=2)
    >>> found = significance(planted.data, sparsity=5, n_components=3)
    >>> found.n_components
    2
    """
    level = validate_nonnegative("level", level)
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, got {level}")
    count = validate_integer("n_permutations", n_permutations, 1)
    if level * (1 + count) < 1:
        raise InputError(
            f"n_permutations must be at least {math.ceil(1 / level - 1e-9) - 1} for the level "
            f"{level:g}, got {count}"
        )
    null_gap = validate_nonnegative("null_gap", null_gap)
    limits = {"gap": gap, "time_limit": time_limit, "node_limit": node_limit, "n_jobs": n_jobs}
    given = (X, correlation, feature_names, sparsity, n_components)
    asked, whole = Asked.validate(*given, callback, limits, False)
    settings, end = asked.settings, asked.end
    own = Share(end, 2).of(settings, time.perf_counter())
    (result,) = asked.results(whole, own, heartbeat(callback, (), count))
    refuse_nothing([result], settings)
    fast = replace(settings, tolerance=Tolerance(0.0, null_gap), n_jobs=None)
    draws = seeds(random_state, len(result) * count)
    jobs = [
        (Z, result.sparsity[k], float(result.variances[k]), draws[k * count + b], fast)
        for k, Z in enumerate(_projected(asked.values, whole, result))
        for b in range(count)
    ]
    done, stopped = run_all(_bound, jobs, end, settings.n_jobs, callback, [result])
    null = np.full((len(result), count), math.nan)
    null.flat[: len(done)] = done
    return Significance(result, null, level, whole.n_samples, worst([], stopped))


def _projected(values: Any, whole: DataCovariance, result: Result) -> list[Array]:
    """The data, centred and scaled, without the components before each.

    With P the projection, independent noise of one variance is left with a share ``P_jj`` of it in
    column j, and columns that are anticorrelated in turn; so that noise is not made too small where
    their order is lost, each column is given back what the projection takes from noise.
    """
    values = values.toarray() if sparse.issparse(values) else values
    Z = (np.asarray(values, dtype=np.float64) - whole.mean) / whole.scale
    found, left = [], np.ones(Z.shape[1])
    for component in result:
        # What is spent is left out.
        back = np.where(left > SPENT, 1.0 / np.sqrt(np.maximum(left, SPENT)), 0.0)
        found.append(Z * back)
        left = left - np.square(component.vector)
        used = component.support
        loadings = component.vector[used]
        Z = Z.copy()
        Z[:, used] -= np.outer(Z[:, used] @ loadings, loadings)
    return found


def _bound(
    Z: Array, sparsity: int, variance: float, seed: Any, settings: Settings, share: Share, hear: Any
) -> float | str | None:
    """Bound the first component of permuted columns; see ``run_all`` where there is none."""
    if share.is_over():
        return TOO_LATE
    began, upper, asked = time.perf_counter(), math.inf, settings.tolerance.gap
    permuted = DataCovariance(np.random.default_rng(seed).permuted(Z, axis=0))
    for gap in (max(COARSE, asked), asked):
        own = replace(share.of(settings, began), tolerance=Tolerance(0.0, gap))
        result = solve_with(permuted, sparsity, 1, own, callback=hear)
        if result.status is Status.INTERRUPTED:
            return None
        if result.stages:
            upper = min(upper, float(result.upper_bounds[0]))
        if upper < CLEARLY * variance or gap <= asked or share.is_over():
            break
        began = time.perf_counter()
    return upper if math.isfinite(upper) else TOO_LATE
