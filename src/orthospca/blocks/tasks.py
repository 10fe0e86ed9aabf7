"""The solve of one stage of one block, as a task that runs in a thread, a process or a cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, BoolArray
from orthospca.model.limits import Watch
from orthospca.model.result import Progress, Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.threads import single_threaded_blas
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import Outcome, Request
from orthospca.supports.best import Candidate
from orthospca.wide.stage import WideProblem


class Supervisor:
    """The watch of the whole solve, as far as a block's solve can see it: not across processes."""

    def __init__(self, watch: Watch | None = None) -> None:
        self.watch = watch

    def __reduce__(self) -> tuple[type[Supervisor], tuple[()]]:
        return Supervisor, ()

    @property
    def interrupted(self) -> bool:
        """Whether the whole solve has to stop."""
        return self.watch is not None and self.watch.interrupted

    def tell(self, entry: Progress) -> None:
        """Pass on where the block's solve stands."""


class BlockWatch(Watch):
    """Clock and limits of one block's solve, which an interrupt of the whole solve ends too."""

    def __init__(self, seconds: float, node_limit: float, supervisor: Supervisor) -> None:
        limit = None if math.isinf(node_limit) else int(node_limit)
        super().__init__(None if math.isinf(seconds) else seconds, limit, supervisor.tell)
        self._supervisor = supervisor

    def out_of_time(self) -> bool:
        """Whether the block's solve must end now."""
        self.interrupted |= self._supervisor.interrupted
        return super().out_of_time()

    def verdict(self, nodes: int = 0) -> Status | None:
        """Why to stop now; None to go on."""
        self.interrupted |= self._supervisor.interrupted
        return super().verdict(nodes)


@dataclass(frozen=True, eq=False)
class Task:
    """One stage of one block, to be solved anywhere.

    One object rather than many arguments: clusters hold large arrays among the arguments of a task
    as data of their own, which may be lost with a worker, whereas a task is always kept.

    Attributes
    ----------
    matrix : array of shape (m, m)
    request : Request
        With the block's own components so far.
    settings : Settings
        Its time limit and node limit are the block's.
    """

    matrix: Array
    request: Request
    settings: Settings

    def run(self, watch: Watch) -> Outcome:
        """Solve the stage."""
        request = self.request
        problem = Subproblem(self.matrix, request.sparsity, request.previous)
        return solve_stage(
            problem, self.settings, watch, request.best_hint, request.cap, request.caps
        )


@dataclass(frozen=True, eq=False)
class WideTask:
    """One stage of one block that is too large for a matrix, solved where its data are.

    Attributes
    ----------
    problem : WideProblem
        With all features.
    members : boolean array
        Those of the block.
    request, settings
        As of :class:`Task`.
    """

    problem: WideProblem
    members: BoolArray
    request: Request
    settings: Settings

    def run(self, watch: Watch) -> Outcome:
        """Solve the stage."""
        own = self.request.previous
        previous = np.zeros((len(self.members), own.shape[1]))
        previous[self.members] = own
        request = replace(self.request, previous=previous, hints=())
        outcome = self.problem.solve_stage(request, self.settings, watch, self.members)
        best = outcome.best
        if best is not None:
            best = Candidate(best.value, best.vector[self.members])
        return replace(outcome, best=best)


def solve_block(task: Task | WideTask, supervisor: Supervisor) -> Outcome:
    """Solve one stage of one block, and return no more of it than is needed."""
    seconds, nodes = task.settings.time_limit, task.settings.node_limit
    watch = BlockWatch(
        math.inf if seconds is None else seconds, math.inf if nodes is None else nodes, supervisor
    )
    with watch.listening(), single_threaded_blas():
        outcome = task.run(watch)
    if watch.interrupted and supervisor.watch is not None:
        supervisor.watch.interrupted = True
    return replace(outcome, closed=())
