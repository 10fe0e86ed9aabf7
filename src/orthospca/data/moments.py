"""Weights of observations, their moments part by part, and sums of squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from orthospca._errors import InputError
from orthospca._typing import AnyArray, Array
from orthospca.data.columns import is_constant

#: Entries of X looked at together.
BLOCK_ENTRIES = 2**19


def validate_weights(sample_weight: Any, n_samples: int) -> Array:
    """Return one weight for each observation, all ones for None, or raise ``ValueError``."""
    if sample_weight is None:
        return np.ones(n_samples)
    # Here, so that a solve need not wait for scikit-learn, which loads pandas where it is there.
    from sklearn.utils import check_array

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


class RunningMoments:
    """Count, mean and scatter matrix of observations that come in parts.

    Parameters
    ----------
    n_features : int
    """

    def __init__(self, n_features: int) -> None:
        self.n_samples, self.count = 0, 0.0
        self.mean, self.scatter = np.zeros(n_features), np.zeros((n_features, n_features))

    def add(self, X: Any, weights: Array) -> None:
        """Take in more rows (Chan, Golub and LeVeque): parts have moments, and means a scatter."""
        used = weights > 0
        rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)[used]
        weights, count = weights[used], float(weights.sum())
        mean = weights @ rows / count
        centred = (rows - mean) * np.sqrt(weights)[:, None]
        shift, total = mean - self.mean, self.count + count
        self.scatter += centred.T @ centred + np.outer(shift, shift) * (self.count * count / total)
        self.mean += shift * (count / total)
        self.n_samples, self.count = self.n_samples + len(rows), total

    def covariance(self, correlation: bool) -> tuple[Array, Array]:
        """The covariance or correlation matrix, and what rows are divided by for it."""
        if self.count <= 1:
            raise InputError(f"X must have more than 1 observation in all, got {self.count:g}")
        Q = self.scatter / (self.count - 1)
        constant = is_constant(Q.diagonal(), self.mean, self.n_samples)
        Q[constant], Q[:, constant] = 0.0, 0.0
        scale = np.ones(len(Q))
        if correlation:
            scale[~constant] = np.sqrt(Q.diagonal()[~constant])
            Q /= np.outer(scale, scale)
            np.fill_diagonal(Q, np.where(constant, 0.0, 1.0))
        return Q, scale


def sum_of_squares(
    X: Any, mean: AnyArray, scale: AnyArray, weights: Array, together: int = BLOCK_ENTRIES
) -> float:
    """Return ``Σ w ‖(x - mean) / scale‖²``, of so many entries at a time."""
    mean, scale = mean.astype(np.float64), scale.astype(np.float64)
    if sparse.issparse(X):
        # Stored entries one by one, all others together: a sum without cancellation.
        entries = X.tocoo(copy=True)
        entries.sum_duplicates()
        rows, columns = entries.row, entries.col
        squares = np.square((entries.data - mean[columns]) / scale[columns])
        stored = np.bincount(columns, weights[rows], minlength=len(mean))
        others = np.maximum(weights.sum() - stored, 0.0) @ np.square(mean / scale)
        return float(weights[rows] @ squares + others)
    step = max(1, together // max(1, X.shape[1]))
    blocks = (slice(start, start + step) for start in range(0, X.shape[0], step))
    return sum(
        float(weights[rows] @ np.square((X[rows].astype(np.float64) - mean) / scale).sum(axis=1))
        for rows in blocks
    )
