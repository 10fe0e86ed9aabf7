"""Variance that components explain in rows they were not fitted to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.choosing._loadings import basis_of
from orthospca.choosing._resampling import Asked
from orthospca.choosing._running import worst
from orthospca.choosing.selection import Counter
from orthospca.data.covariance import DataCovariance
from orthospca.data.moments import sum_of_squares
from orthospca.model import views
from orthospca.model.result import Result, Status
from orthospca.model.validation import validate_integer
from orthospca.paths.shown import Shown, Table

#: Share of the largest variance held out that is enough for the elbow.
ELBOW = 0.9


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Shown):
    """Variance of held-out rows along components fitted to the other rows.

    For each fold, the mean (and with ``correlation`` the standard deviation) of every feature and
    the components ``x_1, …, x_K`` come from the rows outside the fold.  A row of the fold, centred
    and scaled by them, is z.  What is measured is the mean of ``(x_kᵀz)²`` over the rows of the
    fold, as a share of the mean of ``‖z‖²``.  The components are orthonormal, so the shares of
    several add up to ``Σ‖Pz‖² / Σ‖z‖²``, P being the projection onto their span: 1 minus the
    relative squared error of reconstructing the fold from its scores, between 0 and 1.  With
    ``relation="uncorrelated"`` they are not orthonormal: what is left of each when those before are
    projected out, at unit length, is then in the place of ``x_k``, so that the shares add up.

    Attributes
    ----------
    sparsities : tuple of int
        Ascending.
    held_out : array of shape (F, P, K)
        That share, for each fold, sparsity and component; NaN where there is no component.
    fitted : array of shape (F, P, K)
        The same of the rows that the components were fitted to.
    n_samples : int
    status : Status
        ``OPTIMAL`` if all fits are certified; else why one is not, or ``INTERRUPTED`` if not all
        folds were done.
    """

    PICTURES: ClassVar = ("cross_validation",)
    REPORTED: ClassVar = "cross_validation"

    sparsities: tuple[int, ...]
    held_out: Array
    fitted: Array
    n_samples: int
    status: Status

    @property
    def n_folds(self) -> int:
        """How many folds were done."""
        return len(self.held_out)

    @property
    def ratios(self) -> Array:
        """Share that all components explain together, shape (F, P)."""
        return np.nansum(self.held_out, axis=2)

    @property
    def mean(self) -> Array:
        """Mean of :attr:`ratios` over the folds, shape (P,)."""
        return self._mean(self.held_out)

    @property
    def standard_error(self) -> Array:
        """Standard deviation of :attr:`ratios` over the folds, divided by ``√F``; shape (P,).

        The folds share most of their rows, so that it is a guide and not a confidence interval.
        """
        if self.n_folds < 2:
            return np.full(len(self.sparsities), math.nan)
        return self.ratios.std(axis=0, ddof=1) / math.sqrt(self.n_folds)

    @property
    def fitted_mean(self) -> Array:
        """As :attr:`mean`, of the rows that the components were fitted to."""
        return self._mean(self.fitted)

    def _mean(self, shares: Array) -> Array:
        return np.nansum(shares, axis=2).sum(axis=0) / (self.n_folds or math.nan)

    @property
    def best(self) -> int:
        """The sparsity with the largest :attr:`mean`; the smallest of several."""
        return self._smallest()

    @property
    def suggested(self) -> int:
        """The suggested sparsity, :attr:`one_standard_error`."""
        return self.one_standard_error

    @property
    def elbow(self) -> int:
        """The smallest sparsity whose mean is at least 90 % of the best one's."""
        return self._smallest(ELBOW)

    @property
    def one_standard_error(self) -> int:
        """The smallest sparsity whose mean is within one standard error of the best one's."""
        return self._smallest(margin=float(np.nan_to_num(self.standard_error)[self.mean.argmax()]))

    def _smallest(self, share: float = 1.0, margin: float = 0.0) -> int:
        """The smallest sparsity that comes so near to the best."""
        if not self.n_folds:
            raise InputError("no fold was done: there is nothing to choose from")
        enough = self.mean >= share * self.mean.max() - margin
        return self.sparsities[int(enough.argmax())]

    def __repr__(self) -> str:
        chosen = f", suggested={self.suggested}" if self.n_folds else ""
        return (
            f"CrossValidation({self.n_folds} folds, sparsities={list(self.sparsities)}, "
            f"n_components={self.held_out.shape[2]}{chosen}, status={self.status.value!r})"
        )

    def table(self) -> Table:
        """Return the shares explained in rows held out and in rows fitted, by sparsity."""
        chosen = {"elbow": self.elbow, "suggested": self.suggested} if self.n_folds else {}
        columns = {
            "sparsity": [str(p) for p in self.sparsities],
            "held out": [views.percent(share) for share in self.mean],
            "± s.e.": [views.percent(share) for share in self.standard_error],
            "fitted": [views.percent(share) for share in self.fitted_mean],
            "": [", ".join(x for x, q in chosen.items() if p == q) for p in self.sparsities],
        }
        count = self.held_out.shape[2]
        told = (
            f"share of the variance of held-out rows that {count} component"
            f"{' explains' if count == 1 else 's explain'} ({self.n_folds} folds of "
            f"{self.n_samples} rows); 'suggested' is the smallest sparsity within one standard "
            "error of the best, 'elbow' the smallest with 90 % of it"
        )
        told += "; interrupted" if self.status is Status.INTERRUPTED else ""
        return Table("Cross-validated variance", columns, told, left=("",))

    def to_frame(self) -> Any:
        """Return a data frame of pandas, a row for each sparsity."""
        pandas = views.pandas_or_error("CrossValidation.to_frame")
        columns = {"held_out": self.mean, "standard_error": self.standard_error}
        index = pandas.Index(self.sparsities, name="sparsity")
        return pandas.DataFrame({**columns, "fitted": self.fitted_mean}, index=index)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, as JSON has them."""
        names = ("best", "suggested", "one_standard_error", "elbow")
        return super().to_dict() | {x: getattr(self, x) if self.n_folds else None for x in names}


def cross_validate_sparsity(
    X: Any,
    sparsities: Iterable[int],
    n_components: int = 1,
    *,
    cv: Any = 5,
    groups: Any = None,
    correlation: bool = False,
    random_state: int | None = 0,
    callback: Counter | None = None,
    **options: Any,
) -> CrossValidation:
    """Measure, for several sparsities, how much variance of held-out rows the components explain.

    The rows are divided into folds.  For each fold, certified components are fitted to the other
    rows, and the variance of the fold along them is measured (:class:`CrossValidation` defines it).
    It is the score of :class:`~orthospca.OrthogonalSparsePCA`; one path per fold covers all
    sparsities.

    The share never decreases with more components, so it cannot choose ``n_components``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (m, n), data frame, or DataCovariance
        Observations in rows.  A :class:`~orthospca.DataCovariance` must be of data in memory.
    sparsities : iterable of int
        Between 1 and n, in any order.
    n_components : int
        Number of components for each sparsity.
    cv : int, splitter of scikit-learn, or iterable of (train, test)
        An integer is the number of random folds.  For rows that belong together (of one patient, of
        one day), pass a splitter such as ``GroupKFold``.
    groups : array-like of shape (m,), optional
        Groups for such a splitter.
    correlation : bool
        Whether to divide each feature by its standard deviation in the rows that are fitted.
    random_state : int or None
        Seed of the folds, if ``cv`` is a number.
    callback : callable, optional
        Called with the number of folds done and the total; if it returns a true value, the
        cross-validation stops.
    **options
        ``method``, ``eps``, ``gap``, ``time_limit``, ``n_jobs`` and others, as in
        :func:`orthospca.stability`, for folds instead of resamples.

    Returns
    -------
    CrossValidation
        If Ctrl-C, the callback or the time limit stopped it: with the folds done by then.

    Examples
    --------
    >>> from orthospca import cross_validate_sparsity, datasets
    >>> wine = datasets.load_wine()
    >>> found = cross_validate_sparsity(wine.data, [2, 4, 8], n_components=3, correlation=True)
    >>> found.mean.round(2)
    array([0.38, 0.55, 0.62])
    >>> found.suggested, found.elbow
    (8, 8)
    """
    given = (X, correlation, None, sparsities, n_components)
    asked, whole = Asked.validate(*given, callback, options)
    m, limits, count = asked.values.shape[0], asked.sparsities, asked.n_components
    folds = _folds(cv, m, groups, random_state)
    results = [] if asked.by_rungs else asked.of_all_rows(whole, len(folds), callback)
    done, stopped = asked.fit_all(_measure, folds, results, callback)
    tables = np.array([each[:2] for each in done]).reshape(len(done), 2, len(limits), count)
    return CrossValidation(
        sparsities=tuple(limits),
        held_out=tables[:, 0],
        fitted=tables[:, 1],
        n_samples=m,
        status=worst([each[2] for each in done], stopped),
    )


def _folds(cv: Any, m: int, groups: Any, random_state: Any) -> Sequence[tuple[IntArray, IntArray]]:
    """Rows to fit and rows to hold out, for each fold."""
    from sklearn.model_selection import KFold, check_cv

    if not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        number = validate_integer("cv", cv, 2, m, "the number of rows")
        if random_state is not None:
            random_state = validate_integer("random_state", random_state, 0)
        splitter = KFold(number, shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv)
    folds = splitter.split(np.zeros((m, 1)), groups=groups)
    pairs = [(np.asarray(train), np.asarray(test)) for train, test in folds]
    if not pairs:
        raise InputError("cv must have at least one fold, got none")
    for train, test in pairs:
        if len(train) < 2 or not len(test):
            raise InputError(
                "cv must leave at least 2 rows to fit and 1 to hold out, "
                f"got a fold with {len(train)} and {len(test)}"
            )
    return pairs


def _measure(
    asked: Asked, covariance: DataCovariance, results: list[Result], test: IntArray
) -> tuple[Array, Array, Status]:
    """Measure the variance that components of the rows outside a fold have in it."""
    held = asked.values[test]
    total = sum_of_squares(held, covariance.mean, covariance.scale, np.ones(len(test)))
    shares, fitted = np.full((2, len(results), asked.n_components), math.nan)
    for i, result in enumerate(results):
        kept: IntArray = np.arange(len(result))
        basis, variances = result.components, result.variances
        if not result.orthogonal:
            basis, kept = basis_of(basis)
            variances = np.array(covariance.variances(list(basis)))
        used = np.flatnonzero(basis.any(axis=0))
        z = held[:, used].toarray() if sparse.issparse(held) else held[:, used]
        scores = ((z - covariance.mean[used]) / covariance.scale[used]) @ basis[:, used].T
        fitted[i, kept] = variances / result.total_variance
        shares[i, kept] = np.square(scores).sum(axis=0) / (total if total > 0 else math.nan)
    return shares, fitted, worst([result.status for result in results], None)
