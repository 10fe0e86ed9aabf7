"""The record in which real data come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.data.columns import is_constant


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set: its name, its features, and the numbers.

    A data set has the observations (``data``), or a matrix published in their place (``matrix``),
    or both, when the published matrix is not the covariance of the observations.

    Attributes
    ----------
    name : str
        Short name.
    description : str
        One sentence: what was measured, and who published it.
    feature_names : tuple of str
        One name for each variable.
    data : ndarray of shape (n_samples, n_features) or None
        The observations.
    matrix : ndarray of shape (n_features, n_features) or None
        The published covariance or correlation matrix.
    target : tuple of str or None
        One label for each observation.
    """

    name: str
    description: str
    feature_names: tuple[str, ...]
    data: Array | None = None
    matrix: Array | None = None
    target: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.data is None and self.matrix is None:
            raise InputError(f"the data set {self.name!r} has neither observations nor a matrix")
        n = len(self.feature_names)
        if self.data is not None and self.data.shape[1] != n:
            raise InputError(f"{self.name}: {n} feature names for {self.data.shape[1]} columns")
        if self.matrix is not None and self.matrix.shape != (n, n):
            raise InputError(f"{self.name}: {n} feature names for a matrix of {self.matrix.shape}")

    @property
    def n_features(self) -> int:
        """The number of variables."""
        return len(self.feature_names)

    def covariance(self) -> Array:
        """The published matrix if there is one, otherwise ``(X - mean)' (X - mean) / (m - 1)``."""
        if self.matrix is not None:
            return self.matrix.copy()
        assert self.data is not None
        return np.atleast_2d(np.cov(self.data, rowvar=False))

    def correlation(self) -> Array:
        """The covariance scaled to a unit diagonal, ``Q_ij / sqrt(Q_ii Q_jj)``.

        Raises
        ------
        ValueError
            If a variable is constant: its correlation with the others is not defined.
        """
        Q = self.covariance()
        scale = np.sqrt(np.diag(Q))
        samples = 0 if self.data is None else len(self.data)
        mean = np.zeros(len(Q)) if self.data is None else self.data.mean(axis=0)
        constant = np.flatnonzero(is_constant(np.diag(Q), mean, samples))
        if constant.size:
            names = ", ".join(self.feature_names[j] for j in constant)
            raise InputError(
                f"the data set {self.name!r} has no correlation matrix: constant variables {names}"
            )
        R = Q / np.outer(scale, scale)
        np.fill_diagonal(R, 1.0)
        return (R + R.T) / 2.0

    def __repr__(self) -> str:
        samples = "" if self.data is None else f"{self.data.shape[0]} observations of "
        return f"<{type(self).__name__} {self.name}: {samples}{self.n_features} variables>"
