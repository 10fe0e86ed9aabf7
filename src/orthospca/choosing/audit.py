"""How far given components are from the best ones, with a proof; see ``docs/how-to/audit.md``."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from orthospca._errors import InputError
from orthospca._methods import Method, Objective
from orthospca._typing import Array
from orthospca.choosing._auditing import Search, bound_of
from orthospca.choosing._loadings import basis_of, read_loadings
from orthospca.choosing._running import announced, end_of, worst
from orthospca.choosing.selection import Counter
from orthospca.data.covariance import DataCovariance
from orthospca.data.problem import diagonal_of, read_covariance, variances_of
from orthospca.model import views
from orthospca.model.demands import NOT_ORTHOGONAL
from orthospca.model.result import Result, Status, format_gap
from orthospca.model.settings import Settings
from orthospca.model.validation import (
    names_of,
    validate_choice,
    validate_flag,
    validate_names,
    validate_nonnegative,
)
from orthospca.paths.shown import Shown, Table

#: A component is better if it has more variance by this share.
BETTER = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Shown):
    """What given components explain, and what components like them could.

    Attributes
    ----------
    loadings : array of shape (K, n)
        The vectors that were given, at unit length.
    numbers : tuple of int
        The place of each among those given, from 1.
    variances : array of shape (K,)
        ``xᵀQx`` of each.
    added : array of shape (K,)
        What each adds to the span of those before it: its variance after these are projected out,
        at unit length.  The sum is :attr:`joint_variance`; NaN if nothing is left.
    cosines : array of shape (K, K)
        ``|cos|`` of the angle between component k and each before it; zero elsewhere.
    results : tuple of Result
        For each, the search for a unit vector with no more nonzeros, orthogonal to those given
        before it: at most one component, and its bound.
    joint_variance : float
        Variance of the span: that of every orthonormal basis of it.
    joint_upper_bound : float
        Proved: no set of orthogonal components with these sparsities has more in total.
    total_variance : float
        The trace of Q.
    feature_names : tuple of str or None
    notes : tuple of str
        Remarks: components that are zero or depend on others; features without loadings.
    status : Status
        ``OPTIMAL`` if each bound is within the tolerance of the best component found; otherwise the
        reason why one is not.
    runtime : float
        Seconds.
    """

    PICTURES: ClassVar = ("audit",)
    REPORTED: ClassVar = "audit"
    TOLD: ClassVar = ("sparsity", "upper_bounds", "gaps", "joint_gap", "better")

    loadings: Array
    numbers: tuple[int, ...]
    variances: Array
    added: Array
    cosines: Array
    results: tuple[Result, ...]
    joint_variance: float
    joint_upper_bound: float
    total_variance: float
    feature_names: tuple[str, ...] | None
    notes: tuple[str, ...]
    status: Status
    runtime: float = field(default=0.0)

    @property
    def sparsity(self) -> tuple[int, ...]:
        """Nonzero loadings of each component."""
        return tuple(np.count_nonzero(self.loadings, axis=1).tolist())

    @property
    def upper_bounds(self) -> Array:
        """Proved: no unit vector with as many features, orthogonal to those before, has more.

        NaN if it is proved that there is no such vector, ``inf`` if there was no time.
        """
        return np.array([bound_of(result) for result in self.results])

    @property
    def gaps(self) -> Array:
        """``(upper_bound - variance) / |variance|``: the most by which another one is better.

        Negative where a component has more than any that is orthogonal to those before it.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return (self.upper_bounds - self.variances) / np.abs(self.variances)

    @property
    def gap_words(self) -> tuple[str, ...]:
        """The gaps, for people."""
        return tuple(map(_in_words, self.gaps.tolist()))

    @property
    def joint_gap(self) -> float:
        """The same, of all together."""
        size = abs(self.joint_variance) or math.nan
        return (self.joint_upper_bound - self.joint_variance) / size

    @property
    def better(self) -> tuple[Result | None, ...]:
        """For each, the component in its place that has more variance; None if none was found."""
        return tuple(
            result if result.stages and result.variances[0] > v + BETTER * abs(v) else None
            for result, v in zip(self.results, self.variances.tolist(), strict=True)
        )

    @property
    def orthogonal(self) -> tuple[bool, ...]:
        """Whether each is orthogonal to those before it."""
        return tuple((self.cosines.max(axis=1, initial=0.0) <= NOT_ORTHOGONAL).tolist())

    def __len__(self) -> int:
        return len(self.loadings)

    def __repr__(self) -> str:
        gaps = ", ".join(self.gap_words)
        return f"Audit({len(self)} components, gaps=[{gaps}], status={self.status.value!r})"

    def table(self) -> Table:
        """Return a row for each component, with the features of a better one."""
        better = [None if r is None else float(r.variances[0]) for r in self.better]
        columns = {
            "#": [str(k) for k in self.numbers],
            "nonzeros": [str(p) for p in self.sparsity],
            "variance": [f"{v:#.6g}" for v in self.variances],
            "|cos|": [f"{c:.2g}" for c in self.cosines.max(axis=1, initial=0.0)],
            "added": ["" if math.isnan(v) else f"{v:#.6g}" for v in self.added],
            "upper bound": [f"{u:#.6g}" if math.isfinite(u) else "" for u in self.upper_bounds],
            "gap": list(self.gap_words),
            "found": ["" if v is None else f"{v:#.6g}" for v in better],
        }
        names = [
            [] if r is None else [f"{n} {views.signed(x)}" for n, x in views.loadings(r, r[0])]
            for r in self.better
        ]
        title = "Given components, and how far they are from the best"
        made = Table(title, columns, self.verdict(), names, "better in its place")
        return made if any(names) else made.numbers

    def verdict(self) -> str:
        """Return what it comes to, in sentences."""
        told = [self._worst()]
        slanted = [str(k) for k, ok in zip(self.numbers, self.orthogonal, strict=True) if not ok]
        if slanted:
            several = len(slanted) > 1
            told.append(
                f"component{'s' * several} {', '.join(slanted)} {'are' if several else 'is'} not "
                "orthogonal to those before: some variance is counted twice ('added' is what is "
                "new)"
            )
        total = self.total_variance
        share = views.percent(self.joint_variance / total) if total > 0 else ""
        together = f"together they span a variance of {self.joint_variance:#.6g}"
        together += f" ({share} of the total)" if share else ""
        if math.isfinite(self.joint_upper_bound) and len(self) > 1:
            together += (
                f"; {len(self)} orthogonal components of these sparsities have at most "
                f"{self.joint_upper_bound:#.6g}"
            )
        told += [together, *self.notes]
        if self.status is not Status.OPTIMAL:
            told.append(f"not all bounds are within the tolerance: {self.status.value}")
        return ". ".join(f"{each[:1].upper()}{each[1:]}" for each in told)

    def _worst(self) -> str:
        gaps = np.where(np.isnan(self.gaps), -math.inf, self.gaps)
        k = int(np.argmax(gaps))
        if not math.isfinite(gaps[k]):
            return "no bound was proved in time" if gaps[k] > 0 else "there is nothing to compare"
        number, gap = self.numbers[k], self.gap_words[k]
        if gaps[k] <= 0:
            return "no component of the same sparsity, orthogonal to those before, has more"
        lost = self.better[k]
        found = f", and one with {lost.variances[0]:#.6g} was found" if lost is not None else ""
        return (
            f"component {number} is the furthest from the best: any other in its place has at "
            f"most {gap} more{found}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, as JSON has them."""
        return {name: value for name, value in super().to_dict().items() if name != "results"}


def audit(
    Q: Any,
    loadings: Any,
    *,
    correlation: bool = False,
    objective: str = "stagewise",
    zero: float = 1e-12,
    eps: float = 0.0,
    gap: float = 1e-4,
    time_limit: float | None = None,
    node_limit: int | None = None,
    n_jobs: int | None = None,
    callback: Counter | None = None,
    feature_names: Sequence[str] | None = None,
    memory_limit: float | str | None = None,
    proof: bool = False,
    verbose: int | bool = False,
) -> Audit:
    """Measure how far given components, from any tool, are from the best ones.

    The k-th vector, scaled to unit length and with ``p_k`` nonzeros, is compared with a proved
    bound on ``xᵀQx`` over unit vectors x with at most ``p_k`` nonzeros that are orthogonal to the
    given vectors before it.  All together are compared with a bound on sets of orthogonal
    components of these sparsities.

    Parameters
    ----------
    Q : array-like of shape (n, n), DataCovariance, or observations of shape (m, n)
        A square array is the matrix itself.  Anything else, sparse matrices included, holds
        observations in rows; only the necessary part of their covariance is formed.
    loadings : array-like of shape (K, n) or (n, K)
        An array; a data frame or a table read from a file (``orthospca.tables.read_table``), whose
        names are matched with those of the data; a fitted estimator with ``components_``; or a
        :class:`~orthospca.Result`.  In a square array without names, rows are components.
    correlation : bool
        Whether to divide each feature of observations by its standard deviation.
    objective : {"stagewise", "joint"}
        With ``"joint"``, the bound on all together comes from a search over all sets, which takes
        longer.  Otherwise it is a cheap one, the smaller of the bound of ordinary PCA and the sum
        of the bounds on single components.
    zero : float
        Loadings up to this share of the largest of their vector count as zero.
    eps, gap, node_limit, n_jobs, memory_limit, feature_names
        As in :func:`orthospca.solve`.
    time_limit : float, optional
        Seconds for everything; each component gets an equal share of what is left.
    callback : callable, optional
        Called twice a second with the number of searches done and the total; if it returns a true
        value, the audit stops.
    proof : bool
        Whether each of ``Audit.results`` has a certificate.
    verbose : bool or int
        Whether to print a line after each search.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import numpy as np
    >>> from orthospca import audit, datasets
    >>> pitprops = datasets.load_pitprops()
    >>> Q = pitprops.covariance()
    >>> pca = np.linalg.eigh(Q)[1][:, ::-1][:, :2]
    >>> pca[np.abs(pca) < 0.35] = 0  # what many people do
    >>> found = audit(Q, pca)
    >>> found.sparsity
    (5, 2)
    >>> found.gaps.round(3).tolist()
    [0.003, 0.007]
    """
    validate_choice("objective", objective, (Objective.STAGEWISE, Objective.JOINT))
    zero = validate_nonnegative("zero", zero)
    if zero >= 1:
        raise InputError(f"zero must be below 1, got {zero}: no loading would be left")
    limits = (Method.BRANCH_AND_BOUND, eps, gap, time_limit, node_limit, n_jobs, callback)
    settings = Settings.validate(*limits, memory_limit=memory_limit, proof=proof)
    callback = announced("audit", "searches", callback, verbose)
    began, end = time.perf_counter(), end_of(settings)
    given = _covariance(Q, correlation)
    n = given.shape[0]
    names = validate_names(feature_names, n, names_of(Q))
    X, numbers, notes = read_loadings(loadings, n, names, zero)
    if len(X) > n:
        raise InputError(f"loadings must be at most {n} components, got {len(X)}")
    cosines = np.minimum(np.abs(np.tril(X @ X.T, -1)), 1.0)
    basis, kept = basis_of(X)
    added = np.full(len(X), math.nan)
    added[kept] = variances_of(given, basis)
    for k in np.setdiff1d(np.arange(len(X)), kept):
        notes += (f"component {numbers[k]} is a linear combination of those before it",)
    search = Search(given, X, settings, names, end, callback, objective == Objective.JOINT)
    results, bound = search.run(cosines, kept)
    measured = (X, numbers, np.array(variances_of(given, X)), added, cosines, results)
    together = (float(np.nansum(added)), bound, float(diagonal_of(given).sum()))
    status = worst([result.status for result in results], search.stopped)
    return Audit(*measured, *together, names, notes, status, time.perf_counter() - began)


def _in_words(gap: float) -> str:
    """A gap that may be negative, or large; nothing where there is none."""
    if math.isnan(gap):
        return ""
    size = f"{100 * abs(gap):.0f} %" if 1 <= abs(gap) < math.inf else format_gap(abs(gap))
    return f"−{size}" if -math.inf < gap < -1e-11 else size


def _covariance(Q: Any, correlation: Any) -> Array | DataCovariance:
    """The matrix, or the data that define it."""
    correlation = validate_flag("correlation", correlation)
    shape = getattr(Q, "shape", None) or np.shape(Q)
    square = len(shape) == 2 and shape[0] == shape[1]
    if isinstance(Q, DataCovariance) or (square and not sparse.issparse(Q)):
        if correlation and not getattr(Q, "correlation", False):
            raise InputError("correlation=True needs observations, got a covariance")
        return read_covariance(Q)
    return DataCovariance(Q, correlation=correlation)
