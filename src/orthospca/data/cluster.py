"""Products with the columns of a Dask array, computed where its chunks are.

The chunks are *blocks*: some samples of some features, centred and scaled.  Within a block the
features come by falling variance, so that those which ``|Q_ij| ≤ √(Q_ii Q_jj)`` rules out are at
its end and are left out of a product by slicing.  A tile of the covariance is a sum of products
over the ranges of samples; what is found in it (largest entries, edges) comes to this process, the
tile and the data do not.

The scheduler in use does the work: threads, or the workers of a ``distributed.Client``.  What a
task needs from here travels inside it, and a worker that is lost with its blocks costs time only:
the tasks that made them are run again, down to the array's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import AnyArray, Array, IntArray
from orthospca.data.chunks import (
    ALL,
    Product,
    compute,
    constant,
    free_memory,
    persist,
    ranges,
    task,
    with_good_chunks,
)
from orthospca.data.columns import Tiles
from orthospca.data.forming import GiveUp
from orthospca.data.tiles import (
    TILE,
    TILE_COLUMNS,
    Edges,
    Lists,
    Moments,
    edges_of,
    joined,
    largest_of_tile,
    merge_largest,
    moments,
    picked,
    prepared,
    side_by_side,
    squared_norms,
    total_of,
)

#: Features of which columns are brought together for a submatrix.
GROUP = 1024
#: Tiles of a graph in one call of the scheduler.
TILES_AT_ONCE = 1024
#: Prepared blocks are kept on the workers if they take at most this share of the free memory.
SHARE_OF_MEMORY = 0.5


class ClusterColumns:
    """The columns of a Dask array.

    Parameters
    ----------
    data : dask.array.Array of shape (m, n)
        Chunked along one axis or both.
    """

    def __init__(self, data: Any) -> None:
        if any(math.isnan(size) for size in data.shape):
            raise InputError(
                f"data must have chunks of known sizes, got a Dask array of shape {data.shape}; "
                "call its compute_chunk_sizes() first"
            )
        self.shape = (int(data.shape[0]), int(data.shape[1]))
        if 0 in self.shape:
            return  # there is nothing to prepare
        data = with_good_chunks(data)
        self._raw = data.to_delayed()
        #: Ranges of samples and of features, and the range that each feature lies in.
        self.samples = ranges(data.chunks[0])
        self.features = ranges(data.chunks[1])
        self.range_of = np.repeat(np.arange(len(self.features)), data.chunks[1])

    def moments(self) -> Moments:
        """Moments of the data before they are prepared; ``ValueError`` if not finite."""
        tasks = []
        for blocks, columns in zip(self._raw.T, self.features, strict=True):
            parts = [
                task(moments, block, rows.start, columns.start)
                for block, rows in zip(blocks, self.samples, strict=True)
            ]
            tasks.append(task(total_of, parts))
        found = Moments.side_by_side(list(compute(tasks, quiet=False)))
        self._squares = found.squares
        return found

    def prepare(self, mean: Array, divisor: Array) -> None:
        """Define B, and keep it on the workers if they have room for it."""
        variances = self._squares / divisor**2
        #: The features of each range in the order in which its blocks hold them.
        self.labels = [
            part.start + np.argsort(-variances[part], kind="stable") for part in self.features
        ]
        self.label_tasks = [constant(labels) for labels in self.labels]
        self.place = np.empty(self.shape[1], dtype=np.intp)
        #: One task for each block; rows are ranges of samples, columns ranges of features.
        self.blocks = np.empty_like(self._raw)
        for c, (part, labels) in enumerate(zip(self.features, self.labels, strict=True)):
            self.place[labels] = np.arange(len(labels))
            how = constant((labels - part.start, mean[labels], divisor[labels]))
            for s in range(len(self.samples)):
                self.blocks[s, c] = task(prepared, self._raw[s, c], how)
        #: Whether the workers keep what is used more than once.
        self.kept = self.shape[0] * self.shape[1] * 8 <= SHARE_OF_MEMORY * free_memory()
        if self.kept:
            self.blocks.flat = persist(self.blocks.ravel().tolist())
            self.label_tasks = persist(self.label_tasks)
        del self._raw  # the array belongs to the caller, who may let go of it

    def take(self, indices: IntArray) -> Array:
        """Return a few columns, shape (m, k)."""
        picks = self._picks(indices)
        places = [(rows, at) for at, _ in picks for rows in self.samples]
        found = compute([each for _, tasks in picks for each in tasks])
        columns = np.empty((self.shape[0], len(indices)))
        for (rows, at), part in zip(places, found, strict=True):
            columns[rows, at] = part
        return columns

    def diagonal(self) -> Array:
        """Return the diagonal of Q."""
        norms = ([task(squared_norms, block) for block in blocks] for blocks in self.blocks.T)
        return self._by_feature(compute([task(total_of, parts) for parts in norms]))

    def times(self, samples: Array) -> Array:
        """Return ``Bᵀ samples`` for a few vectors, shape (n, k)."""
        parts = [constant(samples[rows]) for rows in self.samples]
        return self._by_feature(
            compute([Product(blocks, parts).task() for blocks in self.blocks.T])
        )

    def strongest(self, samples: Array, count: int) -> Lists:
        """Return the ``count`` largest ``|Bᵀ samples|`` of each vector, and where they are."""
        parts = [constant(samples[rows]) for rows in self.samples]
        k = samples.shape[1]
        nowhere = (np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
        lists = [
            Product(parts, blocks).then(largest_of_tile, nowhere, labels, ALL, -np.ones(k), count)
            for blocks, labels in zip(self.blocks.T, self.label_tasks, strict=True)
        ]
        return joined(list(compute(lists)), count)

    def cross(self, rows: IntArray, columns: IntArray) -> Array:
        """Return ``Q[rows][:, columns]``."""
        symmetric = rows is columns
        left = {a: self.gather(rows[a : a + GROUP]) for a in range(0, len(rows), GROUP)}
        right = left
        if not symmetric:
            right = {b: self.gather(columns[b : b + GROUP]) for b in range(0, len(columns), GROUP)}
        places = [(a, b) for a in left for b in right if a <= b or not symmetric]
        tiles = compute([Product(left[a], right[b]).task() for a, b in places])
        result = np.empty((len(rows), len(columns)))
        for (a, b), tile in zip(places, tiles, strict=True):
            result[a : a + GROUP, b : b + GROUP] = tile
            if symmetric:
                result[b : b + GROUP, a : a + GROUP] = tile.T
        return result

    @property
    def entries(self) -> int:
        """None: all vectors are sent to the chunks at once."""
        return 1

    def cost(self, count: int) -> float:
        """None that is known here."""
        return 0.0

    def square(self, indices: IntArray, give_up: GiveUp) -> Array | None:
        """Return ``Q[indices][:, indices]``: in one call, so that the data are read once."""
        if give_up(0.0):
            return None
        product = self.cross(indices, indices)
        return 0.5 * (product + product.T)

    def edges(self, threshold: float, roots: Array) -> Iterator[Edges]:
        """Yield the pairs with ``|Q_ij| ≥ threshold``, each once, tile by tile."""
        pairs = list(self._pairs(threshold, roots))
        for start in range(0, len(pairs), TILES_AT_ONCE):
            batch = pairs[start : start + TILES_AT_ONCE]
            tasks = []
            for (a, rows), (b, columns) in batch:
                tile = Product(self.blocks[:, a], self.blocks[:, b], rows, columns)
                tasks.append(tile.then(edges_of, threshold, (a, rows) == (b, columns)))
            found = compute(tasks)
            for ((a, rows), (b, columns)), (i, j, values) in zip(batch, found, strict=True):
                yield self.labels[a][rows][i], self.labels[b][columns][j], values

    def _pairs(
        self, threshold: float, roots: Array
    ) -> Iterator[tuple[tuple[int, slice], tuple[int, slice]]]:
        """Yield pairs of pieces of blocks between which there can be an edge."""
        pieces = [
            (c, slice(start, min(start + TILE, len(labels))))
            for c, labels in enumerate(self.labels)
            for start in range(0, len(labels), TILE)
        ]
        of_piece = [roots[self.labels[c][part]] for c, part in pieces]
        for a, one in enumerate(pieces):
            for b, other in enumerate(pieces[a:], start=a):
                # Only the features at the front of a piece can have an edge with the other at all.
                rows = _front(one[1].start, of_piece[a] * of_piece[b].max() >= threshold)
                columns = _front(other[1].start, of_piece[b] * of_piece[a].max() >= threshold)
                if rows.start < rows.stop and columns.start < columns.stop:
                    yield (one[0], rows), (other[0], columns)

    def tiles(self, roots: Array, dtype: Any, n_jobs: int | None) -> Tiles:
        """Start a search for largest entries; how much runs at once is the scheduler's matter."""
        return ClusterTiles(self, roots, dtype)

    def gather(self, indices: IntArray, dtype: Any = np.float64) -> list[Any]:
        """Return one task for each range of samples, with these columns side by side."""
        picks = self._picks(indices)
        at = constant(np.concatenate([at for at, _ in picks]))
        return [
            task(side_by_side, [tasks[s] for _, tasks in picks], at, dtype)
            for s in range(len(self.samples))
        ]

    def _picks(self, indices: IntArray) -> list[tuple[IntArray, list[Any]]]:
        """For the ranges that hold some of the columns: which of them, and tasks that pick them."""
        found = self.range_of[indices]
        picks = []
        for c in np.unique(found):
            at = np.flatnonzero(found == c)
            places = constant(self.place[indices[at]])
            picks.append((at, [task(picked, block, places) for block in self.blocks[:, c]]))
        return picks

    def _by_feature(self, parts: Sequence[Array]) -> Array:
        """Put what was found for the features of each range in the order of the data."""
        result = np.empty((self.shape[1], *parts[0].shape[1:]))
        for labels, part in zip(self.labels, parts, strict=True):
            result[labels] = part
        return result


class ClusterTiles:
    """Tiles computed on the workers: lists of the largest entries come back.

    The features of largest variance come first.  What is found there tells which of the others
    cannot have a large entry with any of the rows.
    """

    parts_at_once = 16

    def __init__(self, columns: ClusterColumns, roots: Array, dtype: Any) -> None:
        self.columns = columns
        self.dtype = dtype
        self._roots = roots
        self._roots_of = [roots[labels] for labels in columns.labels]
        first = min(TILE_COLUMNS, len(roots))
        level = np.partition(roots, len(roots) - first)[len(roots) - first]
        #: How many features of each range come first.
        self._first = [int(np.count_nonzero(each >= level)) for each in self._roots_of]

    def largest(self, parts: list[IntArray], count: int) -> list[tuple[AnyArray, AnyArray, int]]:
        """For each set of rows: the largest ``|Q_ij|``, j ≠ i, where they are; tiles computed."""
        left = self.columns.gather(np.concatenate(parts), self.dtype)
        if self.columns.kept:
            left = persist(left)
        within = ranges([len(part) for part in parts])
        lists = [
            (
                np.zeros((len(part), count), dtype=self.dtype),
                np.zeros((len(part), count), dtype=np.int32),
                np.full(len(part), -1.0, dtype=self.dtype),
            )
            for part in parts
        ]
        tiles = [0] * len(parts)
        for first_round in (True, False):
            tasks = {}
            for k, part in enumerate(parts):
                smallest = lists[k][2]
                slices = self._front() if first_round else self._rest(part, smallest)
                found = [
                    self._tile(left, within[k], part, c, columns, smallest, count)
                    for c, columns in enumerate(slices)
                    if columns.start < columns.stop
                ]
                tiles[k] += len(found)
                if found:
                    tasks[k] = task(joined, found, count)
            for k, fresh in zip(tasks, compute(list(tasks.values())), strict=True):
                merge_largest(*lists[k], *fresh)
        return [(each[0], each[1], done) for each, done in zip(lists, tiles, strict=True)]

    def _front(self) -> list[slice]:
        return [slice(0, first) for first in self._first]

    def _rest(self, part: IntArray, smallest: AnyArray) -> list[slice]:
        """Columns of each range that come later and are not ruled out for all of the rows."""
        largest_root, level = float(self._roots[part].max()), float(smallest.min())
        able = (_front(0, largest_root * roots > level) for roots in self._roots_of)
        return [slice(first, each.stop) for first, each in zip(self._first, able, strict=True)]

    def _tile(
        self,
        left: list[Any],
        within: slice,
        part: IntArray,
        c: int,
        columns: slice,
        smallest: AnyArray,
        count: int,
    ) -> Any:
        """Return a task that lists the largest entries of rows with columns of one range."""
        source = self.columns
        tile = Product(left, source.blocks[:, c], within, columns, self.dtype)
        places = source.place[part]
        inside = (source.range_of[part] == c) & (places >= columns.start) & (places < columns.stop)
        own = np.flatnonzero(inside)
        itself = (own, places[own] - columns.start)
        labels = source.label_tasks[c]
        return tile.then(largest_of_tile, itself, labels, columns, smallest, count)


def _front(start: int, able: AnyArray) -> slice:
    """Return the range, from ``start`` on, that ends with the last place that is able."""
    return slice(start, start + int(np.flatnonzero(able).max(initial=-1)) + 1)
