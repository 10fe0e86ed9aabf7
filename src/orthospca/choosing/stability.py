"""How often each feature is selected when the rows of the data are others.

A certificate speaks of one matrix: no other choice of features has more variance *in these data*.
Whether other rows from the same source would have led to the same features is another question, and
this is where it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.choosing._resampling import Asked, refuse_nothing, seeds
from orthospca.choosing._running import worst
from orthospca.choosing.selection import Counter, Stability, StabilityPath
from orthospca.data.covariance import DataCovariance
from orthospca.model.result import Result, Status
from orthospca.model.validation import validate_flag, validate_integer

__all__ = ["Stability", "StabilityPath", "match_components", "stability", "stability_path"]

#: What components in the same place are preferred by, where nothing else decides.
TIE = 1e-9

#: Components of one resample, with the status of the fit.
Kept = tuple[csr_array, Status]


def stability(
    X: Any,
    sparsity: int | Sequence[int],
    n_components: int = 1,
    *,
    n_resamples: int = 50,
    bootstrap: bool = False,
    fraction: float | None = None,
    correlation: bool = False,
    random_state: int | None = 0,
    callback: Counter | None = None,
    feature_names: Sequence[str] | None = None,
    **options: Any,
) -> Stability:
    """Count how often each feature is selected when the rows are resampled.

    The components of all rows are the reference.  They are computed again for ``n_resamples`` sets
    of rows drawn from X.  The components of each resample are matched one to one with the
    reference, so that the sum of ``|cos|`` of the angles between partners is largest; ties are
    resolved by position.  The frequency of feature j in component k is the share of the resamples
    in which the partner of the k-th reference component uses j.  A resample without such a partner
    counts as using no feature.

    A certificate is about the given data and says nothing about sampling noise.  These frequencies
    do.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (m, n), data frame, or DataCovariance
        Observations in rows.  A :class:`~orthospca.DataCovariance` must be of data in memory.
    sparsity, n_components, feature_names
        As in :func:`orthospca.solve`.
    n_resamples : int
        Number of resamples.
    bootstrap : bool
        Whether to draw rows with replacement.
    fraction : float, optional
        Share of the rows to draw; by default half of them, and with ``bootstrap`` as many as there
        are.
    correlation : bool
        Whether to divide each feature by its standard deviation, recomputed in each resample.
    random_state : int or None
        Seed of the draws; with None they are different each time.
    callback : callable, optional
        Called with the number of resamples done and the total; if it returns a true value, the
        resampling stops.
    **options
        For each fit, as in :func:`orthospca.solve`: ``method`` (except ``"deflation"``), ``eps``,
        ``gap``, ``node_limit``, ``include``, ``exclude``, ``relation``, ``previous`` and
        ``nonnegative``.  For all fits together: ``time_limit``, seconds of which each fit gets an
        equal share (resamples not reached are left out); and ``n_jobs``, parallel fits as in
        joblib, in processes unless ``joblib.parallel_config`` sets another backend.  By default all
        cores are used if that saves more time than starting processes costs.  The result does not
        depend on it.

    Returns
    -------
    Stability
        If Ctrl-C or the callback stopped it: with the resamples done by then.

    Examples
    --------
    >>> from orthospca import datasets, stability
    >>> wine = datasets.load_wine()
    >>> found = stability(
    ...     wine.data, sparsity=3, correlation=True, feature_names=wine.feature_names
    ... )
    >>> found.frequencies.shape
    (1, 13)
    >>> found.selected(0.9)[0]
    ('total_phenols', 'flavanoids', 'od280/od315_of_diluted_wines')
    """
    draws = (n_resamples, bootstrap, fraction, random_state)
    given = (X, correlation, feature_names, sparsity, n_components)
    return _resample(*Asked.validate(*given, callback, options, False), draws, callback)[0]


def stability_path(
    X: Any,
    sparsities: Iterable[int],
    n_components: int = 1,
    *,
    n_resamples: int = 50,
    bootstrap: bool = False,
    fraction: float | None = None,
    correlation: bool = False,
    random_state: int | None = 0,
    callback: Counter | None = None,
    feature_names: Sequence[str] | None = None,
    **options: Any,
) -> StabilityPath:
    """As :func:`orthospca.stability`, for several sparsities, with the same resamples for all.

    With one component the sparsities of a resample are certified on the way to the largest one, so
    that all of them cost little more than that one.

    Parameters
    ----------
    X, n_components, n_resamples, bootstrap, fraction, correlation, random_state
        As in :func:`orthospca.stability`.
    sparsities : iterable of int
        Between 1 and n, in any order.
    callback, feature_names, **options
        As in :func:`orthospca.stability`.

    Returns
    -------
    StabilityPath
        One :class:`Stability` for each sparsity, ascending.

    Examples
    --------
    >>> from orthospca import datasets, stability_path
    >>> wine = datasets.load_wine()
    >>> path = stability_path(wine.data, [2, 3, 6], n_resamples=20, correlation=True)
    >>> path.sparsities
    (2, 3, 6)
    >>> path.indices.shape
    (3, 1)
    """
    draws = (n_resamples, bootstrap, fraction, random_state)
    given = (X, correlation, feature_names, sparsities, n_components)
    found = _resample(*Asked.validate(*given, callback, options), draws, callback)
    return StabilityPath(tuple(each.result.sparsity[0] for each in found), tuple(found))


def _drawn(
    m: int, n_resamples: Any, bootstrap: Any, fraction: Any, random_state: Any
) -> list[IntArray]:
    """The rows of each resample."""
    count = validate_integer("n_resamples", n_resamples, 2)
    size = _size(fraction, validate_flag("bootstrap", bootstrap), m)
    generators = map(np.random.default_rng, seeds(random_state, count))
    drawn = (rng.choice(m, size=size, replace=bool(bootstrap)) for rng in generators)
    return [np.sort(rows).astype(np.intp) for rows in drawn]


def _resample(
    asked: Asked, whole: DataCovariance, draws: tuple[Any, ...], callback: Counter | None
) -> list[Stability]:
    """Find the components of all rows, and those of each resample."""
    m = asked.values.shape[0]
    parts = _drawn(m, *draws)
    reference = asked.of_all_rows(whole, len(parts), callback)
    refuse_nothing(reference, asked.settings)
    fits, stopped = asked.fit_all(_kept, [(part,) for part in parts], reference, callback)
    drawn = {"n_rows": len(parts[0]), "n_samples": m, "bootstrap": bool(draws[1])}
    of_each = zip(*fits, strict=True) if fits else [()] * len(reference)
    pairs = zip(reference, of_each, strict=True)
    return [_count(result, found, stopped, drawn) for result, found in pairs]


def _size(fraction: Any, bootstrap: bool, m: int) -> int:
    """Rows in a resample."""
    if fraction is None:
        fraction = 1.0 if bootstrap else 0.5
    numeric = isinstance(fraction, int | float | np.floating) and not isinstance(fraction, bool)
    if not numeric or not 0 < fraction <= 1:
        raise InputError(f"fraction must be more than 0 and at most 1, got {fraction!r}")
    if fraction == 1 and not bootstrap:
        raise InputError(
            "fraction must be less than 1 without bootstrap, got 1: resamples would have all rows"
        )
    size = math.floor(fraction * m)
    if size < 2:
        raise InputError(f"fraction must leave at least 2 of the {m} rows, got {fraction!r}")
    return size


def _kept(asked: Asked, covariance: DataCovariance, results: list[Result]) -> list[Kept]:
    """Keep the components of a resample."""
    return [(csr_array(result.components), result.status) for result in results]


def _count(
    result: Result, fits: Sequence[Kept], stopped: Status | None, drawn: dict[str, Any]
) -> Stability:
    """Match the components of each resample, and count which features they use."""
    K, n = result.n_components, result.n_features
    counts, anywhere = np.zeros((K, n)), np.zeros(n)
    similarities, overlaps = np.zeros((len(fits), K)), np.zeros((len(fits), K))
    reference = result.components != 0
    for b, (components, _) in enumerate(fits):
        used = components.toarray() != 0
        anywhere += used.any(axis=0)
        for k, partner, cosine in match_components(result.components, components):
            own, its = reference[k], used[partner]
            counts[k] += its
            similarities[b, k] = cosine
            overlaps[b, k] = (own & its).sum() / (own | its).sum()
    done, statuses = max(len(fits), 1), [status for _, status in fits]
    return Stability(
        result,
        counts / done,
        anywhere / done,
        similarities,
        overlaps,
        n_resamples=len(fits),
        certified=sum(status.finished for status in statuses),
        status=worst([result.status, *statuses], stopped),
        **drawn,
    )


def match_components(reference: Array, components: csr_array) -> list[tuple[int, int, float]]:
    """Match components one to one so that the sum of ``|cos|`` between partners is largest.

    Parameters
    ----------
    reference : array of shape (K, n)
    components : sparse array of shape (L, n)

    Returns
    -------
    list of (int, int, float)
        Place in the reference, place among the others, and ``|cos|``; ascending by the first.
    """
    from scipy.optimize import linear_sum_assignment  # not needed where the package is imported

    cosines = np.abs(components @ reference.T).T
    preferred = cosines + TIE * np.eye(*cosines.shape)
    left, right = linear_sum_assignment(preferred, maximize=True)
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return [(k, i, min(float(cosines[k, i]), 1.0)) for k, i in pairs]
