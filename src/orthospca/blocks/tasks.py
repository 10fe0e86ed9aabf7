"""The solve of one stage of one block, as a task that runs in a thread, a process or a cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, BoolArray
from orthospca.model.limits import Watch
from orthospca.model.result import Progress, Status
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.numerics.threads import single_threaded_blas
from orthospca.search.methods import STAGE_SOLVERS
from orthospca.search.outcome import Outcome
from orthospca.supports.best import Candidate
from orthospca.wide.stage import LargeProblem


class Link:
    """The watch of the whole solve, as far as a block's solve can see it: not across processes."""

    def __init__(self, watch: Watch | None = None) -> None:
        self.watch = watch

    def __reduce__(self) -> tuple[type[Link], tuple[()]]:
        return Link, ()

    @property
    def interrupted(self) -> bool:
        """Whether the whole solve has to stop."""
        return self.watch is not None and self.watch.interrupted

    def tell(self, entry: Progress) -> None:
        """Pass on where the block's solve stands."""


class BlockWatch(Watch):
    """Clock and limits of one block's solve, which an interrupt of the whole solve ends too."""

    def __init__(self, seconds: float, node_limit: float, link: Link) -> None:
        limit = None if math.isinf(node_limit) else int(node_limit)
        super().__init__(None if math.isinf(seconds) else seconds, limit)
        self._link = link

    def out_of_time(self) -> bool:
        """Whether the block's solve must end now."""
        self.interrupted |= self._link.interrupted
        return super().out_of_time()

    def verdict(self, nodes: int) -> Status | None:
        """Why to stop now; None to go on."""
        self.interrupted |= self._link.interrupted
        return super().verdict(nodes)

    def tell(self, entry: Progress) -> None:
        """Tell the whole solve."""
        self._link.tell(entry)


@dataclass(frozen=True, eq=False)
class Task:
    """One stage of one block, to be solved anywhere.

    One object rather than many arguments: clusters hold large arrays among the arguments of a task
    as data of their own, which may be lost with a worker, whereas a task is always kept.

    Attributes
    ----------
    matrix : array of shape (m, m)
    sparsity : int
        At most m.
    previous : array of shape (m, j)
        The block's own components so far.
    method : str
    tolerance : Tolerance
    seconds, node_limit : float
        ``inf`` for none.
    n_jobs : int, optional
        Threads over nodes.
    """

    matrix: Array
    sparsity: int
    previous: Array
    method: str
    tolerance: Tolerance
    seconds: float
    node_limit: float
    n_jobs: int | None = 1

    def run(self, watch: Watch) -> Outcome:
        """Solve the stage."""
        problem = Subproblem(self.matrix, self.sparsity, self.previous)
        return STAGE_SOLVERS[self.method](problem, self.tolerance, watch, self.n_jobs)


@dataclass(frozen=True, eq=False)
class LargeTask:
    """One stage of one block that is too large for a matrix, solved where its data are.

    Attributes
    ----------
    problem : LargeProblem
        With all features.
    members : boolean array
        Those of the block.
    sparsity, previous, method, tolerance, seconds, node_limit
        As of :class:`Task`.
    """

    problem: LargeProblem
    members: BoolArray
    sparsity: int
    previous: Array
    method: str
    tolerance: Tolerance
    seconds: float
    node_limit: float

    def run(self, watch: Watch) -> Outcome:
        """Solve the stage."""
        previous = np.zeros((len(self.members), self.previous.shape[1]))
        previous[self.members] = self.previous
        solver = STAGE_SOLVERS[self.method]
        outcome = self.problem.solve_stage(
            self.sparsity, previous, self.tolerance, watch, solver, self.members
        )
        best = outcome.best
        if best is not None:
            best = Candidate(best.value, best.vector[self.members])
        return replace(outcome, best=best)


def solve_block(task: Task | LargeTask, link: Link) -> Outcome:
    """Solve one stage of one block, and return no more of it than is needed."""
    watch = BlockWatch(task.seconds, task.node_limit, link)
    with watch.listening(), single_threaded_blas():
        outcome = task.run(watch)
    if watch.interrupted and link.watch is not None:
        link.watch.interrupted = True
    return replace(outcome, closed=())
