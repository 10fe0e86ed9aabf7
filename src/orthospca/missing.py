"""Covariances of data in which values are missing, as NaN."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.model.validation import column_name


def together(values: Array) -> tuple[Array, Array]:
    """What is there, as ones; and how many rows have both columns of each pair."""
    there = (~np.isnan(values)).astype(np.float64)
    return there, there.T @ there


def pairwise_matrix(values: Array, correlation: bool, names: Sequence[str] | None) -> Array:
    """Covariance or correlation of each pair of columns over the rows that have both.

    With x and y on these N rows it is ``Σ(x - x̄)(y - ȳ) / (N - 1)``, the means being those of the
    same rows; for correlations it is divided by the standard deviations of the same rows.  It may
    be indefinite.

    Parameters
    ----------
    values : array of shape (m, n)
    correlation : bool
    names : sequence of str or None
        Of the columns, for messages.
    """
    there, count = together(values)
    if count.min() < 2:
        i, j = np.argwhere(count < 2)[0]
        raise InputError(
            f"{int(count[i, j])} rows with both {column_name(names, i)} and "
            f"{column_name(names, j)}; a covariance needs at least two"
        )
    # Centred first, so that little cancels below.
    Z = np.where(there > 0, values - np.nanmean(values, axis=0), 0.0)
    sums = Z.T @ there
    scatter = Z.T @ Z - sums * sums.T / count
    Q = scatter / (count - 1)
    if correlation:
        squares = (Z * Z).T @ there - sums**2 / count
        rounding = len(values) * np.finfo(np.float64).eps * ((Z * Z).T @ there)
        if (squares <= rounding).any():
            i, j = np.argwhere(squares <= rounding)[0]
            one, other = column_name(names, i), column_name(names, j)
            raise InputError(
                f"no correlation of {one} and {other}, because {one} is constant on the rows that "
                f"have {other} too"
            )
        Q = np.clip(scatter / np.sqrt(squares * squares.T), -1.0, 1.0)
        np.fill_diagonal(Q, 1.0)
    return np.asarray(0.5 * (Q + Q.T))
