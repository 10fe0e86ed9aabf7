"""A part of the covariance, formed piece by piece, so that it can be given up on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orthospca._typing import Array

#: Told which share is done, says whether to give up.
GiveUp = Callable[[float], bool]
#: Products that a piece takes, dense or of sparse matrices: some tenths of a second.
DENSE_PIECE, SPARSE_PIECE = 4e9, 2e7
#: Columns of a piece of dense products, at least: with fewer of them the processor waits for data.
NARROWEST = 128
#: Columns of a piece, at most: what is written should stay in the cache until it is written once
#: more, transposed, and it should not take seconds until it is asked whether to give up.
WIDEST = 512
#: Products of dense matrices in the time of one of sparse ones.
DENSE_SPEED = 64.0


def never(done: float) -> bool:
    """Go on to the end."""
    return False


def by_columns(
    cross: Callable[[slice, slice], Array],
    count: int,
    width: int,
    give_up: GiveUp,
    known: Array | None = None,
) -> Array | None:
    """Return all products of columns, exactly symmetric; None if that was given up.

    Some columns are multiplied at a time, with all those before them.

    Parameters
    ----------
    cross : callable
        Products of two ranges of columns.
    count, width : int
        Columns, and those of a piece.
    give_up : callable
    known : array, optional
        The products of the first columns, which are not computed anew.
    """
    found = np.empty((count, count))
    first = 0 if known is None else len(known)
    found[:first, :first] = known if first else 0.0
    for start in range(first, count, width):
        if give_up((start**2 - first**2) / (count**2 - first**2)):
            return None
        here, before = slice(start, start + width), slice(0, min(start + width, count))
        piece = cross(here, before)
        own = piece[:, start:]
        own += own.T.copy()
        own *= 0.5
        found[here, before] = piece
        found[before, here] = piece.T
    return found


def width_of(products: float, piece: float, count: int) -> int:
    """Columns of a piece that is not too much, if all of them take so many products."""
    return int(max(min(piece * count / max(products, 1.0), count, WIDEST), 1))


def sparse_products(data: Any) -> float:
    """Products that all columns of a sparse matrix take, by columns."""
    per_row = np.bincount(data.indices, minlength=data.shape[0]).astype(float)
    return float(per_row @ per_row)
