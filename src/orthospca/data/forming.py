"""A part of the covariance, formed piece by piece, so that it can be given up on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import blas

from orthospca._typing import Array

#: Told which share is done, says whether to give up.
GiveUp = Callable[[float], bool]
#: Products that a piece takes, dense or of sparse matrices: some tenths of a second.
DENSE_PIECE, SPARSE_PIECE = 1e9, 2e7
#: Products of dense matrices in the time of one of sparse ones.
DENSE_SPEED = 64.0
#: Entries of a piece of rows.
ROW_ENTRIES = 2**19


def never(done: float) -> bool:
    """Go on to the end."""
    return False


def by_columns(
    cross: Callable[[slice, slice], Array], count: int, width: int, give_up: GiveUp
) -> Array | None:
    """Return all products of columns, exactly symmetric; None if that was given up.

    Some columns are multiplied at a time.

    Parameters
    ----------
    cross : callable
        Products of two ranges of columns.
    count, width : int
        Columns, and those of a piece.
    give_up : callable
    """
    found = np.zeros((count, count))
    for start in range(0, count, width):
        if give_up(1.0 - (1.0 - start / count) ** 2):
            return None
        here, rest = slice(start, start + width), slice(start, count)
        piece = cross(here, rest)
        own = piece[:, : len(piece)]
        own += own.T.copy()
        own *= 0.5
        found[here, rest] = piece
        found[rest, here] = piece.T
    return found


def by_rows(blocks: Iterator[tuple[float, Array]], count: int, give_up: GiveUp) -> Array | None:
    """Add up the products of blocks of rows, each with the share that is done before it."""
    found = np.zeros((count, count), order="F")
    for done, block in blocks:
        if give_up(done):
            return None
        found = blas.dsyrk(1.0, block.T, beta=1.0, c=found, overwrite_c=1)
    # Only one half has been filled.
    return np.asarray(found + np.triu(found, 1).T)


def width_of(products: float, piece: float, count: int) -> int:
    """Columns of a piece that is not too much, if all of them take so many products."""
    return int(max(min(piece * count / max(products, 1.0), count), 1))


def sparse_products(data: Any) -> float:
    """Products that all columns of a sparse matrix take, by columns."""
    per_row = np.bincount(data.indices, minlength=data.shape[0]).astype(float)
    return float(per_row @ per_row)


def rows_of(data: Any, mean: Array, divisor: Array) -> Iterator[tuple[float, Array]]:
    """Yield blocks of rows of a sparse matrix, filled, centred and divided; what is done before."""
    m, k = data.shape
    rows = data.tocsr()
    step = max(ROW_ENTRIES // max(k, 1), 1)
    for start in range(0, m, step):
        block = rows[start : start + step].toarray()
        yield start / m, (block - mean) / divisor
