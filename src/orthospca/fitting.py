"""What a fit is made of: the matrix of observations, the search, and what to warn of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from orthospca._errors import InputError
from orthospca._typing import AnyArray, Array
from orthospca.data.contrast import contrasted
from orthospca.data.covariance import DataCovariance
from orthospca.data.moments import validate_weights
from orthospca.missing import pairwise_matrix, together
from orthospca.model import words
from orthospca.model.result import Component, Result, format_gap
from orthospca.model.validation import column_name, validate_covariance

#: Names of the features, if they have any.
Names = tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Observed:
    """What the components depend on.

    Attributes
    ----------
    Q : array of shape (n, n), or DataCovariance
    mean, scale : array of shape (n,)
        What observations are centred and divided by.
    note : str
        What there is to say of it.
    """

    Q: Array | DataCovariance
    mean: Array
    scale: Array
    note: str = ""

    def on_constants(self, names: Names) -> str:
        """A note that lists the constant features, which get no loading."""
        Q = self.Q
        constant = Q.constant if isinstance(Q, DataCovariance) else ~Q.any(axis=0)
        listed = [column_name(names, j) for j in np.flatnonzero(constant)]
        noun = "constant feature has" if len(listed) == 1 else "constant features have"
        return f"{len(listed)} {noun} no variance: {', '.join(listed)}" if listed else ""

    def against(self, reference: Any, weight: Any, precomputed: bool) -> tuple[Array, str]:
        """The contrast with observations of another condition, and a note on it."""
        if precomputed:
            return contrasted(self.Q, reference, weight)
        other = DataCovariance(reference)
        scale = self.scale if other.n_features == len(self.scale) else None  # else it is refused
        return contrasted(self.Q, other, weight, scale)


def given_matrix(X: Any) -> Observed:
    """A matrix in the place of observations."""
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"X must be a square matrix with covariance='precomputed', got shape {X.shape}"
        )
    try:
        Q = validate_covariance(X)
    except ValueError as error:
        sentence = str(error).replace("Q must", "X must", 1).replace("got nan", "got NaN", 1)
        raise InputError(sentence) from None
    return Observed(Q, np.zeros(len(Q)), np.ones(len(Q)))


def observed(X: Any, correlation: bool, missing: str, sample_weight: Any, names: Names) -> Observed:
    """The covariance or correlation of observations, some of whose values may be missing."""
    note = ""
    if missing != "error" and (places := np.isnan(stored(X))).any():
        note, mean = _on_missing(X, places, missing, sample_weight, names)
        if missing == "pairwise":
            try:
                Q = pairwise_matrix(X.astype(np.float64), correlation, names)
            except InputError as error:
                raise InputError(f"X has {error}: use missing='mean'") from None
            scale = np.nanstd(X, axis=0, ddof=1) if correlation else np.ones(X.shape[1])
            return Observed(Q, mean, scale, note)
        X = np.where(places, mean, X).astype(X.dtype)
    try:
        data = DataCovariance(X, correlation=correlation, sample_weight=sample_weight)
    except InputError as error:

        def named(found: re.Match[str]) -> str:
            return f"feature {column_name(names, int(found[1]))}"

        sentence = re.sub(r"column (\d+)", named, str(error).replace(" of data", " of X"))
        raise InputError(sentence) from None
    return Observed(data, data.mean, np.where(np.isfinite(data.scale), data.scale, 1.0), note)


def stored(X: Any) -> AnyArray:
    """The entries of X that may be missing."""
    return np.asarray(X.data if sparse.issparse(X) else X)


def _on_missing(
    X: Any, places: AnyArray, missing: str, sample_weight: Any, names: Names
) -> tuple[str, Array]:
    """What is said of missing values, and the means of what is there."""
    if sparse.issparse(X):
        raise InputError(f"missing={missing!r} needs a dense X")
    weights = validate_weights(sample_weight, len(X))
    if missing == "pairwise" and sample_weight is not None:
        raise InputError("sample_weight must be None with missing='pairwise'")
    counts = weights @ ~places
    if not counts.all():
        name = column_name(names, int(np.flatnonzero(counts == 0)[0]))
        raise InputError(f"feature {name} of X has no values: leave it out")
    said = f"{places.sum()} missing values in {places.any(axis=0).sum()} features"
    mean = weights @ np.where(places, 0.0, X.astype(np.float64)) / counts
    if missing == "mean":
        return f"{said} were replaced by means, which understates variances", mean
    least = int(together(X)[1].min())
    return (
        f"{said}: each entry of the matrix uses the observations that have both features (at "
        f"least {least} of {len(X)}); the matrix may be indefinite"
    ), mean


def as_many_as_explain(
    share: float, most: int, solved: Callable[[int, Sequence[Component]], Result]
) -> Result:
    """Find components until they explain a share of the variance, at most so many.

    Parameters
    ----------
    share : float
    most : int
    solved : callable
        Finds a number of components, of which the first are known.
    """
    count, result = 1, solved(1, ())
    while True:
        enough = np.flatnonzero(np.cumsum(result.explained_variance_ratio) >= share)
        if enough.size:
            kept = int(enough[0]) + 1
            return result if kept == count else solved(kept, result.stages[:kept])
        if count == most or result.n_components < count:
            return result
        count = min(2 * count, most)
        result = solved(count, result.stages)


def shortcomings(
    result: Result, asked: float, share: float = 0.0
) -> Iterator[tuple[str, type[Warning]]]:
    """What is missing, if anything is, and what to do about it; each with its category.

    Parameters
    ----------
    result : Result
    asked : int or float
        ``n_components``.
    share : float
        The same, if it is a share of the variance, else 0.
    """
    found, reason, advice = result.n_components, result.status.value, words.advice(result)
    open_gaps = [stage.gap for stage in result.stages if words.is_open(result, stage)]
    whose, proved = f"{len(open_gaps)} of {found} components are", "their upper bounds are"
    gap = f"the largest gap is {format_gap(max(open_gaps, default=0.0))}"
    if words.is_set(result):
        whose, proved = f"The set of {found} components is", "its upper bound is"
        gap = f"its gap is {words.gap_of_set(result)}"
    if open_gaps:
        related = "orthogonal" if result.orthogonal else "uncorrelated"
        yield (
            f"{whose} not certified within the tolerance ({reason}); {gap}. The components are "
            f"{related} and sparse, and {proved} proved. {advice}",
            ConvergenceWarning,
        )
    elif words.verdict(result) == words.TIES_OPEN:
        yield f"Each component is certified, but {result.note}.", ConvergenceWarning
    explained = float(result.explained_variance_ratio.sum())
    if explained < share:
        yield (
            f"n_components={asked} was requested, but the {found} components found explain only "
            f"{explained:.3g} of the variance; a larger sparsity, or more components, would "
            "explain more",
            UserWarning,
        )
    few = f"n_components={asked} was requested, but only {found}"
    if found < asked and result.exhausted:
        related = "orthogonal to" if result.orthogonal else "uncorrelated with"
        yield (
            f"{few} exist: it is proved that no further vector that is sparse enough is "
            f"{related} them. Request fewer components, or change sparsity.",
            UserWarning,
        )
    elif found < asked:
        yield f"{few} were found ({reason}). {advice}", ConvergenceWarning
