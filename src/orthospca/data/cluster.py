"""The columns of a Dask array, multiplied by Dask where its chunks are.

What comes to this process are a few columns, products, and parts of the covariance that are asked
for.  The scheduler in use does the work: threads, or the workers of a ``distributed.Client``.  A
worker that is lost with its chunks costs time only: the tasks that made them are run again, down to
the array's own.  Dask is optional, so it is imported when an array of its kind has come in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.data.columns import Edges, Moments, dense, edges_of, not_finite, tiles_of
from orthospca.data.forming import GiveUp, by_columns

#: Narrowest and widest chunk: tasks worth their overhead, tiles that fit in memory many times.
NARROWEST, WIDEST = 512, 8192
#: Entries of the smallest and of the largest chunk.
SMALLEST_CHUNK, LARGEST_CHUNK = 2**14, 2**23
#: Tiles of a graph in one call of the scheduler.
TILES_AT_ONCE = 1024
#: Prepared chunks are kept on the workers if they take at most this share of the free memory.
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
        if 0 not in self.shape:
            self._raw = with_good_chunks(data).map_blocks(dense, dtype=float)

    def moments(self) -> Moments:
        """Moments of the data before they are prepared; ``ValueError`` if not finite."""
        import dask.array as da

        X = self._raw
        finite, mean, low, high = compute(
            da.isfinite(X).all(axis=0), X.mean(axis=0), X.min(axis=0), X.max(axis=0), quiet=False
        )
        if not finite.all():
            column = int(np.argmin(finite))
            (values,) = compute(X[:, column])
            row = int(np.argmin(np.isfinite(values)))
            raise not_finite(values[row], row, column)
        (squares,) = compute(((X - mean) ** 2).sum(axis=0))
        return Moments(mean, squares, low, high)

    def prepare(self, mean: Array, divisor: Array) -> None:
        """Define B, and keep it on the workers if they have room for it."""
        self._B = (self._raw - mean) / divisor
        #: Whether the workers keep what is used more than once.
        self.kept = self.shape[0] * self.shape[1] * 8 <= SHARE_OF_MEMORY * free_memory()
        if self.kept:
            self._B = self._B.persist()
        del self._raw  # the array belongs to the caller, who may let go of it

    def take(self, indices: IntArray) -> Array:
        """Return a few columns, shape (m, k)."""
        return np.asarray(compute(self._B[:, indices])[0])

    def diagonal(self) -> Array:
        """Return the diagonal of Q."""
        return np.asarray(compute((self._B**2).sum(axis=0))[0])

    def times(self, samples: Array) -> Array:
        """Return ``Bᵀ samples`` for a few vectors, shape (n, k)."""
        return np.asarray(compute(self._B.T @ samples)[0])

    def cross(self, rows: IntArray, columns: IntArray) -> Array:
        """Return ``Q[rows][:, columns]``."""
        return np.asarray(compute(self._B[:, rows].T @ self._B[:, columns])[0])

    @property
    def entries(self) -> int:
        """None: all vectors are sent to the chunks at once."""
        return 1

    def cost(self, count: int) -> float:
        """None that is known here."""
        return 0.0

    def square(
        self, indices: IntArray, give_up: GiveUp, known: Array | None = None
    ) -> Array | None:
        """Return ``Q[indices][:, indices]``: in one call, so that the data are read once."""

        def cross(here: slice, rest: slice) -> Array:
            return self.cross(indices[here], indices[rest])

        return by_columns(cross, len(indices), max(len(indices), 1), give_up, known)

    def edges(self, threshold: float, roots: Array) -> Iterator[Edges]:
        """Yield the pairs with ``|Q_ij| ≥ threshold``, each once, tile by tile.

        The tiles stay where they are: what comes back are edges.
        """
        from dask.delayed import delayed

        tiles = tiles_of(roots, threshold)
        parts = {part[0]: part for pair in tiles for part in pair}
        columns = {first: self._B[:, part] for first, part in parts.items()}
        for start in range(0, len(tiles), TILES_AT_ONCE):
            batch = tiles[start : start + TILES_AT_ONCE]
            asked = [
                delayed(edges_of)(columns[a[0]].T @ columns[b[0]], threshold, a is b)
                for a, b in batch
            ]
            for (a, b), (i, j, values) in zip(batch, compute(*asked), strict=True):
                yield a[i], b[j], values


def is_distributed(data: Any) -> bool:
    """Whether ``data`` is a Dask array."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "to_delayed")


def compute(*what: Any, quiet: bool = True) -> tuple[Any, ...]:
    """Compute arrays, all in one call of the scheduler."""
    from dask import config
    from dask.base import compute as dask_compute

    # Vectors as long as the data travel inside the tasks, where the loss of a worker cannot reach
    # them.  That is meant, and no reason for Dask to warn; of the data it may warn, once.
    setting = {"distributed.admin.large-graph-warning-threshold": "1 TB"} if quiet else {}
    with config.set(setting):
        return tuple(dask_compute(*what))


def free_memory() -> float:
    """Bytes that the workers have left; 0 with threads, or if they know no limit."""
    from dask.base import get_scheduler

    # The scheduler of a distributed client is one of its methods.
    client: Any = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "scheduler_info"):
        return 0.0
    workers = client.scheduler_info()["workers"].values()
    return float(
        sum(
            max(worker["memory_limit"] - worker["metrics"].get("memory", 0), 0)
            for worker in workers
            if worker["memory_limit"]
        )
    )


def with_good_chunks(data: Any) -> Any:
    """Return the array with the chunks it has, or others where they are far too small or large."""
    m, n = data.shape
    # Chunks without entries are left behind by selections.
    heights, widths = (tuple(size for size in sizes if size) for sizes in data.chunks)
    width = n / len(widths)
    if max(widths) > WIDEST or width < NARROWEST:
        width = min(max(width, NARROWEST), WIDEST, n)
        widths = _even(n, width)
    entries = max(heights) * max(widths)
    if entries > LARGEST_CHUNK or m * n / (len(heights) * len(widths)) < SMALLEST_CHUNK:
        height = min(max(m / len(heights), SMALLEST_CHUNK / width), LARGEST_CHUNK / max(widths), m)
        heights = _even(m, height)
    if (heights, widths) == data.chunks:
        return data
    # By tasks: they are run again one by one if a worker is lost.
    return data.rechunk((heights, widths), method="tasks")


def _even(length: int, size: float) -> tuple[int, ...]:
    """Sizes of the fewest nearly equal parts that are at most ``size`` long, if that is ≥ 1."""
    parts = math.ceil(length / max(math.floor(size), 1))
    return tuple(np.diff(np.linspace(0, length, parts + 1).astype(int)).tolist())
