"""Means, covariances and sums of squares of weighted observations, dense or sparse.

Dense data are centred block by block, sparse data algebraically: neither needs a centred copy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from orthospca._errors import InputError
from orthospca._typing import AnyArray, Array, BoolArray
from orthospca.data.forming import (
    DENSE_SPEED,
    SPARSE_PIECE,
    GiveUp,
    by_columns,
    never,
    sparse_products,
    width_of,
)
from orthospca.data.tiles import is_constant
from orthospca.model.validation import RANGE, column_name, validate_range

#: Entries of X centred at a time.
BLOCK_ENTRIES = 2**19


def matrix_of(
    X: Any,
    sample_weight: Any,
    standardise: bool,
    names: Sequence[str] | None = None,
    give_up: GiveUp = never,
) -> tuple[Array, Array, Array] | None:
    """Return the mean, the covariance or correlation matrix, and the scale of each feature.

    None if ``give_up``, which is told now and then which share is done, says so.
    """
    weights = validate_weights(sample_weight, X.shape[0])
    total = float(weights.sum())
    if total <= 1:
        raise InputError(
            "sample_weight counts observations, so its sum must be more than 1, "
            f"got {total}; weights that sum to 1 can be multiplied by the number of observations"
        )
    if not weights.all():
        X, weights = X[weights > 0], weights[weights > 0]
    with np.errstate(over="ignore", invalid="ignore"):
        by_blocks = not sparse.issparse(X) or _is_dense_enough(X)
        moments = _dense_moments if by_blocks else _sparse_moments
        found = moments(X, weights, give_up)
        if found is None:
            return None
        mean, Q = found
        Q /= total - 1
    variance = Q.diagonal()
    _refuse_extremes(X, Q, standardise, names)
    constant = is_constant(variance, mean, X.shape[0])
    Q[constant] = Q[:, constant] = 0.0
    scale = np.ones(len(Q))
    if standardise:
        scale[~constant] = np.sqrt(variance[~constant])
        Q /= np.outer(scale, scale)
        Q[np.diag_indices_from(Q)] = np.where(constant, 0.0, 1.0)
    return mean, 0.5 * (Q + Q.T), scale


def _refuse_extremes(X: Any, Q: Array, standardise: bool, names: Sequence[str] | None) -> None:
    """Refuse a covariance that has overflowed or vanished, and name a feature it is due to."""
    variance = Q.diagonal()
    with np.errstate(invalid="ignore"):
        sizes = np.abs(Q).max(axis=0)
    # NaN comes of infinities only.
    sizes = np.where(np.isnan(sizes), math.inf, sizes)
    column = int(sizes.argmax())
    at = f"the largest covariance of X, in feature {column_name(names, column)},"
    if sizes[column] == 0.0 and (varying := np.flatnonzero(_varies(X))).size:
        # It has vanished.
        at = f"the largest covariance of X, in feature {column_name(names, varying[0])},"
        sizes[column] = math.ulp(0.0)
    validate_range(at, float(sizes[column]))
    smallest = RANGE[0] if standardise else np.finfo(np.float64).tiny
    suspects = np.flatnonzero(variance < smallest)
    vanished = suspects[_varies(X[:, suspects])] if suspects.size else suspects
    if vanished.size:
        j = int(vanished[0])
        raise InputError(
            f"the variance of feature {column_name(names, j)} of X must not vanish, got "
            f"{variance[j]:g} although its values differ: rescale the data"
        )


def _varies(X: Any) -> BoolArray:
    """Whether a column has two different numbers."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return np.asarray(low != high)


def validate_weights(sample_weight: Any, n_samples: int) -> Array:
    """Return one weight for each observation, all ones for None, or raise ``ValueError``."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights: Array = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (n_samples,):
        raise InputError(
            f"sample_weight must have one number for each of the {n_samples} observations, "
            f"got shape {weights.shape}"
        )
    if (weights < 0).any():
        i = int(np.flatnonzero(weights < 0)[0])
        raise InputError(f"sample_weight must not be negative, got {weights[i]} at position {i}")
    if not weights.any():
        raise InputError("sample_weight must not be zero for every observation")
    return weights


def _is_dense_enough(X: Any) -> bool:
    """Whether the columns of a sparse matrix are multiplied sooner if they are filled."""
    per_row = np.diff(X.tocsr().indptr).astype(float)
    return bool(X.shape[0] * float(X.shape[1]) ** 2 <= DENSE_SPEED * (per_row @ per_row))


def _blocks_of_rows(X: Any, weights: Array) -> Iterator[tuple[Array, Array]]:
    """Yield some rows at a time, filled, and their weights."""
    step = max(1, BLOCK_ENTRIES // max(1, X.shape[1]))
    X = X.tocsr() if sparse.issparse(X) else X
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        block = X[rows].toarray() if sparse.issparse(X) else X[rows]
        yield block.astype(np.float64), weights[rows]


def _dense_moments(X: Any, weights: Array, give_up: GiveUp) -> tuple[Array, Array] | None:
    """Return the mean and ``Σ w (x - mean)(x - mean)ᵀ`` in two passes over blocks of rows."""
    n, total = X.shape[1], float(weights.sum())
    mean = np.zeros(n)
    for block, w in _blocks_of_rows(X, weights):
        if give_up(0.0):
            return None
        mean += w @ block
    mean /= total
    scatter, shift = np.zeros((n, n)), np.zeros(n)
    rows = 0
    for block, w in _blocks_of_rows(X, weights):
        if give_up(rows / len(weights)):
            return None
        rows += len(w)
        block -= mean
        weighted = block * w[:, None]
        scatter += weighted.T @ block
        shift += weighted.sum(axis=0)
    # The mean was rounded: what the centred data still have of one is taken out here.
    return mean, scatter - np.outer(shift, shift) / total


def _sparse_moments(X: Any, weights: Array, give_up: GiveUp) -> tuple[Array, Array] | None:
    """The same as :func:`_dense_moments`, without making X dense.

    Centring algebraically, ``Σ w xxᵀ - (Σ w)·mean·meanᵀ``, is accurate for columns with many zeros:
    with a share d of nonzeros ``mean² ≤ d·(mean of x²)``, so at least ``1 - d`` of the square is
    left.  Columns that are more than half full are centred in full, at less than twice their size.
    """
    X = X.tocsc().astype(np.float64)
    total = float(weights.sum())
    full = np.diff(X.indptr) > 0.5 * X.shape[0]
    wide, narrow = np.flatnonzero(~full), np.flatnonzero(full)
    thin = X[:, wide]
    weighted = thin.multiply(weights[:, None]).tocsc()
    mean, scatter = np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    mean[wide] = np.asarray(weighted.sum(axis=0)).ravel() / total
    products = by_columns(
        lambda here, rest: (weighted[:, here].T @ thin[:, rest]).toarray(),
        len(wide),
        width_of(sparse_products(thin), SPARSE_PIECE, len(wide)),
        give_up,
    )
    if products is None:
        return None
    scatter[np.ix_(wide, wide)] = products - total * np.outer(mean[wide], mean[wide])
    if len(narrow):
        dense = X[:, narrow].toarray()
        found = _dense_moments(dense, weights, give_up)
        if found is None:
            return None
        mean[narrow], scatter[np.ix_(narrow, narrow)] = found
        dense -= mean[narrow]
        cross = np.asarray(weighted.T @ dense) - np.outer(mean[wide], weights @ dense)
        scatter[np.ix_(wide, narrow)] = cross
        scatter[np.ix_(narrow, wide)] = cross.T
    return mean, scatter


def sum_of_squares(X: Any, mean: AnyArray, scale: AnyArray, weights: Array) -> float:
    """Return ``Σ w ‖(x - mean) / scale‖²``."""
    mean, scale = mean.astype(np.float64), scale.astype(np.float64)
    if sparse.issparse(X):
        # Stored entries one by one, all others together: a sum without cancellation.
        entries = X.tocoo(copy=True)
        entries.sum_duplicates()
        rows, columns = entries.coords
        squares = np.square((entries.data - mean[columns]) / scale[columns])
        stored = np.bincount(columns, weights[rows], minlength=len(mean))
        others = np.maximum(weights.sum() - stored, 0.0) @ np.square(mean / scale)
        return float(weights[rows] @ squares + others)
    return sum(
        float(w @ np.square((block - mean) / scale).sum(axis=1))
        for block, w in _blocks_of_rows(X, weights)
    )
