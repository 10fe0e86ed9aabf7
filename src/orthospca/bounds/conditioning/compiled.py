"""A conditioned walk in the hands of the compiled loop, on one core or on many.

The loop does what can be done without looking at the problem again.  Where a node needs another
penalty it gets a form of its own; where it holds a support that is not below the level, a step in
NumPy looks at it.  A walk that turns out long is cut into parts, always in the same way, and their
steps are put together in the order in which one core would have taken them: what is found, and how
far it is proved, does not depend on the number of jobs.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from orthospca._typing import IntArray
from orthospca.bounds.conditioning.state import LoopState
from orthospca.bounds.conditioning.steps import Tree
from orthospca.numerics.threads import single_threaded_blas
from orthospca.supports.best import Candidate

if TYPE_CHECKING:
    from orthospca.bounds.conditioning.walk import Conditioning, Pending, Walk

#: Seconds that compiling may take, at most; with less time left nothing is compiled.
COMPILING = 60.0
#: Seconds between two looks at the clock while other threads work.
PATIENCE = 0.05

Stop = Callable[[], bool]

_log = logging.getLogger("orthospca")


@cache
def is_installed() -> bool:
    """Whether there is something to compile with, as far as can be told without loading it."""
    return importlib.util.find_spec("numba") is not None


@cache
def _loaded() -> Any:
    """The module of the loop, not compiled yet; None if it cannot be loaded."""
    try:
        from orthospca.bounds.conditioning import kernel
    except Exception as error:  # another NumPy than it knows, or no place to keep what is compiled
        _log.warning("orthospca: the search is not compiled (%s)", error)
        return None
    return kernel


@cache
def _kernel() -> Any:
    """The module of the loop, ready to run."""
    kernel = _loaded()
    if not _is_compiled(kernel):
        _log.warning(
            "orthospca: compiling the search for this machine; this happens once and takes "
            "some seconds"
        )
    # Whatever is walked, the types are the same.
    nothing, both = np.arange(0), np.arange(2)
    LoopState(kernel, np.eye(2), 3.0, both, nothing, both, 1, 1).advance((1, 1, 1, 1, 1))
    return kernel


def _is_compiled(kernel: Any) -> bool:
    """Whether an earlier process has left its work for this one."""
    written = Path(kernel.__file__).stat().st_mtime
    found = Path(kernel.walk.stats.cache_path).glob("kernel.walk-*.nbi")
    return any(index.stat().st_mtime >= written for index in found)


def is_ready(seconds_left: float) -> bool:
    """Whether the loop can take over within the time that is left."""
    if not is_installed() or _loaded() is None:
        return False
    if _kernel.cache_info().currsize == 0 and seconds_left < COMPILING:
        return _is_compiled(_loaded())
    return True


def finish(walk: Walk, budget: float, stop: Stop, n_jobs: int | None = None) -> bool:
    """Go on with a walk; whether nothing is left of it.

    It ends before that if the budget is spent, if it is told to, or with a better component.

    Parameters
    ----------
    walk : Walk
        Its steps, work and incumbent are updated.
    budget : float
        As of ``Conditioning.search``.
    stop : callable
        Asked now and then.
    n_jobs : int, optional
        Threads for the parts of a long walk, or what the active joblib backend makes of it.
    """
    alone = walk.work + walk.tuning.split_after
    run = _Run(walk, min(budget, alone), stop)
    while walk.pending:
        if not run.close(walk.pending.pop()):
            break
    if not run.left or walk.work > budget or stop() or run.improved:
        return not (run.left or walk.pending or run.improved)
    nodes = [*run.left, *reversed(walk.pending)]
    walk.pending = []
    return _finish_parts(walk, nodes, budget, stop, n_jobs)


class _Run:
    """Nodes closed one after the other.

    Attributes
    ----------
    left : list of Pending
        What it did not get to, in the order of the walk.
    improved : bool
        Whether something better than the incumbent was found.
    """

    def __init__(self, walk: Walk, budget: float, stop: Stop) -> None:
        self.walk, self.budget, self.stop = walk, budget, stop
        self.left: list[Pending] = []
        self.improved = False
        tuning = walk.tuning
        self._tuning = (
            tuning.enumerate_below,
            tuning.full_share,
            tuning.weight_rounds,
            tuning.largest_weighted,
            tuning.smallest_step,
        )

    def close(self, node: Pending) -> bool:
        """Close a node and everything below it; what is open if that fails is left."""
        if not is_ready(math.inf):
            # Another machine, which has been sent this part and has nothing to compile with.
            return self._close_in_numpy(node)
        walk, kernel = self.walk, _kernel()
        state = LoopState.of(kernel, walk, walk.gathered(node, node.penalty))
        while True:
            left = (self.budget - walk.work) * walk.tuning.compiled_speed
            code = state.advance(self._tuning, left)
            walk.work += state.spent() / walk.tuning.compiled_speed
            walk.take(state.recorded())
            if code == kernel.DONE:
                return True
            if walk.work > self.budget or self.stop():
                break
            if code == kernel.FULL:
                state.enlarge()
            elif code == kernel.WANTING:
                state.penalise(walk)
            elif code == kernel.STUCK and not self._close_by_hand(state.take(walk)):
                break
        self.left += state.remaining(walk)
        return False

    def _close_by_hand(self, node: Pending) -> bool:
        """Close a node that the loop could not, beginning with a step in NumPy."""
        children = self.branch(node)
        if self.improved:
            return False
        for i, child in enumerate(children):
            if not self.close(child):
                self.left += children[i + 1 :]
                return False
        return True

    def _close_in_numpy(self, node: Pending) -> bool:
        walk, incumbent = self.walk, self.walk.best
        before, walk.pending = walk.pending, [node]
        while walk.pending and not (walk.work > self.budget or self.stop()):
            walk.step()
            self.improved |= walk.best is not incumbent
            if self.improved:
                break
        self.left += walk.pending[::-1]
        complete = not walk.pending and not self.improved
        walk.pending = before
        return complete

    def branch(self, node: Pending) -> list[Pending]:
        """Take one step in NumPy; return the children, in the order of the walk."""
        walk, incumbent = self.walk, self.walk.best
        before, walk.pending = walk.pending, [node]
        walk.step()
        children, walk.pending = walk.pending[::-1], before
        self.improved |= walk.best is not incumbent
        return children


# Parts


@dataclass(frozen=True, eq=False)
class _Part:
    """A node of a walk, to be closed anywhere.

    One object rather than many arguments: clusters keep a task, and may lose data.
    """

    conditioning: Conditioning
    incumbent: Candidate
    level: float
    cutoff: float
    inside: IntArray
    free: IntArray
    penalty: int
    budget: float
    seconds: float

    def run(self, stop: Stop | None) -> _Closed:
        """Close it."""
        from orthospca.bounds.conditioning.walk import Walk

        walk = Walk.of_a_part(self.conditioning, self.incumbent, self.level, self.cutoff)
        deadline = time.perf_counter() + self.seconds

        def enough() -> bool:
            return (stop is not None and stop()) or time.perf_counter() > deadline

        run = _Run(walk, self.budget, enough)
        with single_threaded_blas():
            complete = run.close(walk.node(self.inside, self.free, self.penalty))
        return _Closed(complete, walk.steps.tree(), walk.work, walk.upper, walk.best, run.improved)


@dataclass(frozen=True, eq=False)
class _Closed:
    complete: bool
    steps: Tree
    work: float
    upper: float
    best: Candidate
    improved: bool


def _finish_parts(
    walk: Walk, nodes: list[Pending], budget: float, stop: Stop, n_jobs: int | None
) -> bool:
    """Close nodes as parts of a walk, and put their steps where they belong."""
    pieces = _cut(walk, nodes, stop)
    if pieces is None:
        return False
    seconds = walk.conditioning.seconds_left()
    parts = [
        _Part(
            walk.conditioning.alone(),
            walk.best,
            walk.level,
            walk.cutoff,
            piece.frame.indices[piece.inside],
            piece.frame.indices[piece.free],
            piece.penalty,
            budget - walk.work,
            seconds,
        )
        for piece in pieces
        if not isinstance(piece, Tree)
    ]
    found = _closed_parts(parts, stop, n_jobs)
    for piece in pieces:
        if isinstance(piece, Tree):
            walk.take(piece)
            continue
        closed = next(found, None)
        if closed is None:
            return False
        walk.work += closed.work
        if closed.improved:
            walk.best = closed.best
        if not closed.complete or walk.work > budget:
            return False
        walk.take(closed.steps)
        walk.upper = max(walk.upper, closed.upper)
    return True


def _cut(walk: Walk, nodes: list[Pending], stop: Stop) -> list[Pending | Tree] | None:
    """Cut nodes until there are enough; steps taken on the way stand where they belong.

    None if something better was found, or time is up.
    """
    pieces: list[Pending | Tree] = list(nodes)
    whole = walk.steps
    run = _Run(walk, math.inf, stop)
    try:
        while True:
            waiting = [i for i, piece in enumerate(pieces) if not isinstance(piece, Tree)]
            if not waiting or len(waiting) >= walk.tuning.parts:
                return pieces
            # The one with the most to choose from; of equals the first.
            sizes = [_promise(walk, pieces[i]) for i in waiting]
            largest = waiting[int(np.argmax(sizes))]
            if max(sizes) == 0 or stop():
                return None if stop() else pieces
            walk.steps = type(whole)()
            children = run.branch(_as_node(pieces[largest]))
            pieces[largest : largest + 1] = [walk.steps.tree(), *children]
            if run.improved:
                return None
    finally:
        walk.steps = whole


def _as_node(piece: Pending | Tree) -> Pending:
    assert not isinstance(piece, Tree)
    return piece


def _promise(walk: Walk, piece: Pending | Tree) -> float:
    """How much work a node may be: what it has to choose from."""
    node = _as_node(piece)
    free, room = len(node.free), walk.problem.sparsity - len(node.inside)
    if room <= 0 or free <= room:
        return 0.0
    return math.lgamma(free + 1) - math.lgamma(room + 1) - math.lgamma(free - room + 1)


def _closed_parts(parts: Sequence[_Part], stop: Stop, n_jobs: int | None) -> Iterator[_Closed]:
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
    yield from Parallel(n_jobs=n_jobs)(delayed(_run_elsewhere)(part) for part in parts)


def _run_elsewhere(part: _Part) -> _Closed:
    return part.run(None)


def _in_threads(parts: Sequence[_Part], stop: Stop, n_jobs: int) -> Iterator[_Closed]:
    """Run parts in threads, while this one keeps an eye on limits and on the user."""
    # Parts from this one on are of no use any more.
    end = len(parts)

    def run(number: int) -> _Closed:
        return parts[number].run(lambda: number >= end)

    with ThreadPoolExecutor(n_jobs) as pool:
        futures = [pool.submit(run, number) for number in range(len(parts))]
        try:
            waiting = set(futures)
            while waiting:
                _, waiting = wait(waiting, PATIENCE, FIRST_EXCEPTION)
                end = 0 if stop() else min(end, _first_of_no_use(futures, parts[0].budget))
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


def _first_of_no_use(futures: Sequence[Future[_Closed]], budget: float) -> int:
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
            if not closed.complete or work > budget:
                return number + 1
    return len(futures)
