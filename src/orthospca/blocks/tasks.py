"""The solve of one stage of one block, as a task that runs in a thread, a process or a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.demands import Demand
from orthospca.model.limits import Watch
from orthospca.model.result import Progress
from orthospca.model.settings import Settings
from orthospca.numerics.threads import single_threaded_blas
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import Outcome, Request
from orthospca.wide.stage import WideProblem


@dataclass(frozen=True)
class Supervisor:
    """The watch of the whole solve, as far as a block's solve can see it: not across processes.

    Attributes
    ----------
    watch : Watch, optional
    tell : callable, optional
        Hears where the block's solve stands.
    """

    watch: Watch | None = None
    tell: Callable[[Progress], None] | None = None

    def __reduce__(self) -> tuple[type[Supervisor], tuple[()]]:
        return Supervisor, ()

    @property
    def interrupted(self) -> bool:
        """Whether the whole solve has to stop."""
        return self.watch is not None and self.watch.interrupted


class BlockWatch(Watch):
    """Clock and limits of one block's solve, which an interrupt of the whole solve ends too."""

    def __init__(
        self, seconds: float | None, node_limit: int | None, supervisor: Supervisor
    ) -> None:
        super().__init__(seconds, node_limit, supervisor.tell)
        self._supervisor = supervisor

    @property
    def interrupted(self) -> bool:
        """Whether it has to stop, or the whole solve."""
        return self.journal.interrupted or self._supervisor.interrupted

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        self.journal.interrupted = value


@dataclass(frozen=True, eq=False)
class Task:
    """One stage of one block, to be solved anywhere.

    One object rather than many arguments: clusters hold large arrays among the arguments of a task
    as data of their own, which may be lost with a worker, whereas a task is always kept.

    Attributes
    ----------
    source : array of shape (m, m), or (WideProblem, indices)
        The matrix of the block; or the data, where it has too many features, and which these are.
    request : Request
        With the block's own components so far.
    settings : Settings
        Its time limit and node limit are the block's.
    """

    source: Array | tuple[WideProblem, IntArray]
    request: Request
    settings: Settings

    def run(self, watch: Watch) -> Outcome:
        """Solve the stage."""
        request, settings = self.request, self.settings
        if not isinstance(self.source, tuple):
            known = (request.best_hint, request.cap, request.caps)
            return solve_stage(request.stage_of(self.source), settings, watch, *known)
        data, indices = self.source
        previous = np.zeros((data.covariance.n_features, request.previous.shape[1]))
        previous[indices] = request.previous
        members = np.zeros(len(previous), dtype=bool)
        members[indices] = True
        demand = Demand(indices[request.demand.included], indices[request.demand.excluded])
        request = replace(request, previous=previous, hints=(), demand=demand)
        outcome = data.solve_stage(request, settings, watch, members)
        best = outcome.best
        return outcome if best is None else replace(outcome, best=best.within(indices))


def solve_block(task: Task, supervisor: Supervisor) -> Outcome:
    """Solve one stage of one block, and return no more of it than is needed."""
    watch = BlockWatch(task.settings.time_limit, task.settings.node_limit, supervisor)
    with watch.listening(), single_threaded_blas():
        outcome = task.run(watch)
    if watch.interrupted and supervisor.watch is not None:
        supervisor.watch.interrupted = True
    return outcome
