"""What is done with one piece of data or one tile of a covariance, here or on a worker.

Arguments may be shared with other tasks and are not written to, except by :func:`merge_largest`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from orthospca._errors import InputError
from orthospca._typing import AnyArray, Array, BoolArray, IntArray

#: Columns of a tile of which the largest entries are wanted.
TILE_COLUMNS = 4096
#: Rows and columns of a tile of the thresholded graph.
TILE = 2048

#: Both ends and the entry of each edge.
Edges = tuple[IntArray, IntArray, AnyArray]
#: Entries of each row and their columns.
Lists = tuple[AnyArray, AnyArray]


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean, sum of squared deviations and range of each column over some samples.

    Attributes
    ----------
    count : int
        Number of samples.
    mean, squares, low, high : array
    """

    count: int
    mean: Array
    squares: Array
    low: Array
    high: Array

    def __add__(self, other: Moments) -> Moments:
        """Moments of both sets of samples (Chan, Golub and LeVeque: no cancellation)."""
        count = self.count + other.count
        step = other.mean - self.mean
        mean = self.mean + step * (other.count / count)
        with np.errstate(over="ignore"):  # what overflows is refused, with a sentence
            squares = self.squares + other.squares + step**2 * (self.count * other.count / count)
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Moments(count, mean, squares, low, high)

    @classmethod
    def side_by_side(cls, parts: list[Moments]) -> Moments:
        """Moments of several sets of columns, over the same samples."""
        names = ("mean", "squares", "low", "high")
        arrays = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        return cls(parts[0].count, *arrays)


def is_constant(variance: Array, mean: Array, n_samples: int) -> BoolArray:
    """Whether a variance is nothing but the rounding error of its computation."""
    rounding = n_samples * np.finfo(np.float64).eps
    return np.asarray(variance <= rounding * variance + (rounding * mean) ** 2)


def dense(part: Any) -> Array:
    """Return a piece of data as an ndarray of doubles."""
    return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=float)


def moments(part: Any, first_row: int, first_column: int) -> Moments:
    """Return the moments of a piece of data; ``ValueError`` if it is not finite."""
    values = dense(part)
    finite = np.isfinite(values)
    if not finite.all():
        i, j = np.argwhere(~finite)[0]
        raise InputError(
            f"data must be finite, got {values[i, j]} at row {first_row + i}, "
            f"column {first_column + j}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.mean(axis=0)
        squares = np.square(values - mean).sum(axis=0)
    return Moments(len(values), mean, squares, values.min(axis=0), values.max(axis=0))


def prepared(part: Any, how: tuple[IntArray, Array, Array]) -> Array:
    """Return a piece of B: columns in the given order, centred and divided."""
    order, mean, divisor = how
    return np.asfortranarray((dense(part)[:, order] - mean) / divisor)


def picked(block: Array, places: IntArray) -> Array:
    """Return some columns of a piece."""
    return block[:, places]


def side_by_side(parts: list[Array], at: IntArray, dtype: Any) -> AnyArray:
    """Return columns of several pieces, each at its place."""
    result = np.empty((len(parts[0]), len(at)), dtype=dtype, order="F")
    result[:, at] = np.hstack(parts)
    return result


def squared_norms(block: Array) -> Array:
    """Return the part of the diagonal that comes from one range of samples."""
    return np.asarray(np.einsum("ij,ij->j", block, block))


def total_of(parts: list[Any]) -> Any:
    """Add up, in order."""
    return reduce(add, parts)


def add_product(
    total: AnyArray | None, left: AnyArray, right: AnyArray, rows: slice, columns: slice, dtype: Any
) -> AnyArray:
    """Return ``total + leftᵀ right`` for some of the columns of each."""
    one = left[:, rows].astype(dtype, copy=False)
    product: AnyArray = one.T @ right[:, columns].astype(dtype, copy=False)
    if total is not None:
        product += total
    return product


def use_product(use: Callable[..., Any], arguments: tuple[Any, ...], *product: Any) -> Any:
    """Return ``use(tile, *arguments)`` for the tile that :func:`add_product` makes.

    One task instead of two: a tile that is a result of its own is stored and sent around.
    """
    return use(add_product(*product), *arguments)


def largest_above(tile: AnyArray, columns: IntArray, smallest: AnyArray, count: int) -> Lists:
    """Return entries of each row above ``smallest``, the ``count`` largest among them.

    Rows with fewer of them are filled with -1.  Only the entries above the smallest one kept so
    far are looked at: after the first tiles they are few.
    """
    above = tile > smallest[:, None]
    counts = above.sum(axis=1)
    width = int(counts.max(initial=0))
    if width > 8 * count:
        # The first tile: everything is new, and partitioning it is cheaper than listing it.
        at = np.argpartition(tile, tile.shape[1] - count, axis=1)[:, tile.shape[1] - count :]
        return np.take_along_axis(tile, at, axis=1), columns[at].astype(np.int32)
    rows, places = np.divmod(np.flatnonzero(above), tile.shape[1])
    offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    fresh = np.full((len(tile), width), -1.0, dtype=tile.dtype)
    labels = np.zeros((len(tile), width), dtype=np.int32)
    fresh[rows, offsets] = tile[rows, places]
    labels[rows, offsets] = columns[places]
    return keep_largest(fresh, labels, count)


def largest_of_tile(
    tile: AnyArray,
    itself: tuple[IntArray, IntArray],
    labels: IntArray,
    columns: slice,
    smallest: AnyArray,
    count: int,
) -> Lists:
    """List the largest magnitudes of a tile; ``itself`` are the places of entries (i, i)."""
    magnitudes = np.abs(tile)
    magnitudes[itself] = -1.0  # they do not count
    return largest_above(magnitudes, labels[columns], smallest, count)


def keep_largest(values: AnyArray, labels: AnyArray, count: int) -> Lists:
    """Return the ``count`` largest values of each row, in no order, with their labels."""
    extra = values.shape[1] - count
    if extra <= 0:
        return values, labels
    at = np.argpartition(values, extra, axis=1)[:, extra:]
    return np.take_along_axis(values, at, axis=1), np.take_along_axis(labels, at, axis=1)


def joined(lists: list[Lists], count: int) -> Lists:
    """Return the largest entries of several lists of the same rows."""
    values, labels = (np.hstack(part) for part in zip(*lists, strict=True))
    return keep_largest(values, labels, count)


def merge_largest(
    values: AnyArray, indices: AnyArray, smallest: AnyArray, fresh: AnyArray, labels: AnyArray
) -> None:
    """Merge further entries into the lists of largest ones, in place."""
    if fresh.shape[1] == 0:
        return
    merged, names = joined([(values, indices), (fresh, labels)], values.shape[1])
    values[:], indices[:] = np.maximum(merged, 0.0), names
    smallest[:] = values.min(axis=1)


def edges_of(tile: AnyArray, threshold: float, diagonal: bool) -> Edges:
    """Return the places of edges in a tile; each pair once if it is a tile on the diagonal."""
    kept = (np.abs(tile) >= threshold) & (tile != 0)
    if diagonal:
        kept = np.triu(kept, 1)
    i, j = np.nonzero(kept)
    return i, j, tile[i, j]
