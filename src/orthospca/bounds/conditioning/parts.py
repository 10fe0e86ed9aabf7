"""A long walk in parts, on one core or on many.

A walk that turns out long is cut into parts, always in the same way, and their steps are put
together in the order in which one core would have taken them: what is found, and how far it is
proved, does not depend on the number of jobs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from orthospca._typing import IntArray
from orthospca.bounds.conditioning.steps import StepLog, Tree
from orthospca.numerics.threads import single_threaded_blas
from orthospca.supports.best import Candidate

if TYPE_CHECKING:
    from orthospca.bounds.conditioning.walk import Pending, Walk

#: Seconds between two looks at the clock while other threads work.
PATIENCE = 0.05
#: A walk is given up if, were all parts like those so far, it would take so many budgets.
TOO_MANY = 2.0

Stop = Callable[[], bool]


@dataclass(frozen=True, eq=False)
class Part:
    """A node of a walk, to be closed anywhere.

    One object rather than many arguments: clusters keep a task, and may lose data.  The budget is
    that of all parts up to this one.
    """

    walk: Walk
    inside: IntArray
    free: IntArray
    penalty: int
    budget: float
    seconds: float

    def run(self, stop: Stop | None) -> Closed:
        """Close it."""
        walk = self.walk.begun_anew()
        deadline = time.perf_counter() + self.seconds

        def enough() -> bool:
            return (stop is not None and stop()) or time.perf_counter() > deadline

        with single_threaded_blas():
            walk.pending = [walk.node(self.inside, self.free, self.penalty)]
            complete = walk.advance(self.budget, enough)
        better = walk.best if walk.improved else None
        return Closed(complete, walk.steps.tree(), walk.work, walk.upper, better)


@dataclass(frozen=True, eq=False)
class Closed:
    """What came of a part: as of a walk."""

    complete: bool
    steps: Tree
    work: float
    upper: float
    better: Candidate | None


def close(walk: Walk, budget: float, stop: Stop, n_jobs: int | None = None) -> bool:
    """Close what is left of a walk; whether nothing is, and nothing better was found.

    Parameters
    ----------
    walk : Walk
        Its steps, work and incumbent are updated.
    budget : float
        As of ``Conditioning.search``.
    stop : callable
        Asked now and then.
    n_jobs : int, optional
        Threads, or what the active joblib backend makes of it.
    """
    pieces = _cut(walk, stop)
    if walk.improved or stop():
        return False
    seconds, anew = walk.conditioning.seconds_left(), walk.begun_anew()
    nodes = [piece for piece in pieces if not isinstance(piece, Tree)]
    begun, left = walk.work, budget - walk.work
    parts = [
        Part(anew, node.inside, node.free, node.penalty, left * min(TOO_MANY * share, 1.0), seconds)
        for node, share in zip(nodes, np.linspace(0, 1, len(nodes) + 1)[1:].tolist(), strict=True)
    ]
    found = _closed(parts, stop, n_jobs)
    limits = iter([part.budget for part in parts])
    for piece in pieces:
        if isinstance(piece, Tree):
            walk.take(piece)
            continue
        part, limit = next(found, None), next(limits)
        if part is None:
            return False
        walk.work += part.work
        walk.best = part.better or walk.best
        if not part.complete or walk.work - begun > limit:
            return False
        walk.take(part.steps)
        walk.upper = max(walk.upper, part.upper)
    return True


def _cut(walk: Walk, stop: Stop) -> list[Pending | Tree]:
    """Cut what is pending until there are enough parts, or something better is found.

    Steps taken on the way stand where they belong.
    """
    pieces: list[Pending | Tree] = [*reversed(walk.pending)]
    whole = walk.steps
    try:
        while not (walk.improved or stop()):
            waiting = [i for i, piece in enumerate(pieces) if not isinstance(piece, Tree)]
            if not waiting or len(waiting) >= walk.tuning.parts:
                break
            # The one with the most to choose from; of equals the first.
            promise, at = max((_promise(walk, pieces[i]), -i) for i in waiting)
            if promise == 0:
                break
            node = pieces[-at]
            assert not isinstance(node, Tree)
            walk.steps, walk.pending = StepLog(), [node]
            walk.step()
            pieces[-at : 1 - at or None] = [walk.steps.tree(), *reversed(walk.pending)]
    finally:
        walk.steps, walk.pending = whole, []
    return pieces


def _promise(walk: Walk, piece: Pending | Tree) -> int:
    """How much work a node may be: the supports it has, if it can be cut at all."""
    assert not isinstance(piece, Tree)
    count = piece.count(walk.problem.sparsity)
    return count if count > walk.tuning.enumerate_below else 0


def _closed(parts: Sequence[Part], stop: Stop, n_jobs: int | None) -> Iterator[Closed]:
    """What comes of each part, in their order."""
    if effective_n_jobs(n_jobs) == 1:
        for part in parts:
            closed = part.run(stop)
            yield closed
            if not closed.complete:
                return
        return
    backend = get_active_backend(prefer="threads")[0]
    if getattr(backend, "supports_sharedmem", False):
        yield from _in_threads(parts, stop, effective_n_jobs(n_jobs))
        return
    yield from Parallel(n_jobs=n_jobs)(delayed(Part.run)(part, None) for part in parts)


def _in_threads(parts: Sequence[Part], stop: Stop, n_jobs: int) -> Iterator[Closed]:
    """Run parts in threads, while this one keeps an eye on limits and on the user."""
    # Parts from this one on are of no use any more.
    end = len(parts)

    def run(number: int) -> Closed:
        return parts[number].run(lambda: number >= end)

    with ThreadPoolExecutor(n_jobs) as pool:
        futures = [pool.submit(run, number) for number in range(len(parts))]
        try:
            waiting = set(futures)
            while waiting:
                _, waiting = wait(waiting, PATIENCE, FIRST_EXCEPTION)
                end = 0 if stop() else min(end, _first_of_no_use(futures, parts))
                for future in futures[end:]:
                    future.cancel()
                waiting = {future for future in waiting if not future.cancelled()}
        except BaseException:
            end = 0
            raise
        for future in futures:
            if future.cancelled():
                return
            yield future.result()


def _first_of_no_use(futures: Sequence[Future[Closed]], parts: Sequence[Part]) -> int:
    """Number of parts up to the one that ends the walk: it failed, or the budget is spent by then.

    What one core would do decides: parts before it may still turn out to end the walk earlier.
    """
    work = 0.0
    for number, future in enumerate(futures):
        if future.cancelled():
            return number
        if future.done():
            closed = future.result()
            work += closed.work
            if not closed.complete or work > parts[number].budget:
                return number + 1
    return len(futures)
