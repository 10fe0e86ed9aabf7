"""Dask: how tasks are made and run, and which chunks are worth a task.

Dask is optional, so it is imported when an array of its kind has come in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from orthospca.data.tiles import add_product, use_product

#: Narrowest and widest block: tasks worth their overhead, tiles that fit in memory many times.
NARROWEST, WIDEST = 512, 8192
#: Entries of the smallest and of the largest block.
SMALLEST_BLOCK, LARGEST_BLOCK = 2**14, 2**23
#: All columns of a block.
ALL = slice(None)


def is_distributed(data: Any) -> bool:
    """Whether ``data`` is a Dask array."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "to_delayed")


def task(function: Any, *arguments: Any) -> Any:
    """Return ``function(*arguments)`` as a task; arguments may be tasks, or lists of them."""
    from dask.delayed import delayed

    return delayed(function, pure=False)(*arguments)


def constant(value: Any) -> Any:
    """Return a value as a task of its own, so that tasks which share it do not repeat it."""
    from dask.delayed import delayed

    return delayed(value, traverse=False)


class Product:
    """A product of columns: a sum over the ranges of samples, in their order.

    Parameters
    ----------
    left, right : sequences of tasks
        One for each range of samples.
    rows, columns : slice
        Which columns of the left and of the right ones.
    dtype : data type
        In which it is computed.
    """

    def __init__(
        self,
        left: Sequence[Any],
        right: Sequence[Any],
        rows: slice = ALL,
        columns: slice = ALL,
        dtype: Any = np.float64,
    ) -> None:
        total = None
        for one, other in zip(left[:-1], right[:-1], strict=True):
            total = task(add_product, total, one, other, rows, columns, dtype)
        self._last = total, left[-1], right[-1], rows, columns, dtype

    def task(self) -> Any:
        """Return a task with the product itself."""
        return task(add_product, *self._last)

    def then(self, use: Callable[..., Any], *arguments: Any) -> Any:
        """Return a task with ``use(product, *arguments)``."""
        return task(use_product, use, arguments, *self._last)


def compute(tasks: list[Any], *, quiet: bool = True) -> Sequence[Any]:
    """Run tasks and return what they return."""
    from dask import config
    from dask.base import compute as dask_compute

    # Vectors as long as the data travel inside the tasks, where the loss of a worker cannot reach
    # them.  That is meant, and no reason for Dask to warn; of the data it may warn, once.
    setting = {"distributed.admin.large-graph-warning-threshold": "1 TB"} if quiet else {}
    with config.set(setting):
        return dask_compute(*tasks)


def persist(tasks: list[Any]) -> list[Any]:
    """Run tasks and leave what they return where it is."""
    from dask.base import persist as dask_persist

    return list(dask_persist(*tasks))


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


def ranges(sizes: Sequence[int]) -> list[slice]:
    """Consecutive ranges of the given sizes."""
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


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
    if entries > LARGEST_BLOCK or m * n / (len(heights) * len(widths)) < SMALLEST_BLOCK:
        height = min(max(m / len(heights), SMALLEST_BLOCK / width), LARGEST_BLOCK / max(widths), m)
        heights = _even(m, height)
    if (heights, widths) == data.chunks:
        return data
    # By tasks: they are run again one by one if a worker is lost.
    return data.rechunk((heights, widths), method="tasks")


def _even(length: int, size: float) -> tuple[int, ...]:
    """Sizes of the fewest nearly equal parts that are at most ``size`` long, if that is ≥ 1."""
    parts = math.ceil(length / max(math.floor(size), 1))
    return tuple(np.diff(np.linspace(0, length, parts + 1).astype(int)).tolist())
