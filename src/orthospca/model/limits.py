"""When to stop: limits of time and nodes, Ctrl-C, and a callback that has seen enough."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

from orthospca._interrupts import heeding
from orthospca.model.clock import Clock
from orthospca.model.journal import HEARTBEAT, Callback, Journal
from orthospca.model.result import ClosedBy, Progress, Status

#: Operations a second that dense linear algebra does at least, on one thread.
SPEED = 3e9


class Watch:
    """Clock, limits and journal of one solve, in one hand.

    Parameters
    ----------
    time_limit : float or None
        Seconds for all stages together.  A stage may use its share of what is left.
    node_limit : int or None
        For each stage.
    callback : callable or None
        Receives each :class:`~orthospca.result.Progress`; a true answer stops the solve.
    heartbeat : float
        Seconds between two calls of the callback, at most, while work goes on.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        node_limit: int | None = None,
        callback: Callback | None = None,
        heartbeat: float = HEARTBEAT,
    ) -> None:
        self.clock = Clock(time_limit)
        self.journal = Journal(self.clock, callback, heartbeat)
        self.node_limit = math.inf if node_limit is None else node_limit

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or the callback asked to stop."""
        return self.journal.interrupted

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        self.journal.interrupted = value

    def begin_stage(self, stage: int, stages_left: int) -> None:
        """Start a stage: its clock, and its chapter of the journal."""
        self.clock.begin_stage(stages_left)
        self.journal.begin_stage(stage)

    def out_of_time(self) -> bool:
        """Whether the stage must end now, for its time or because of an interrupt.

        Asked often, it also tells the callback now and then that the work goes on.
        """
        if not self.interrupted and self.journal.keep_in_touch():
            self.interrupted = True
        return self.interrupted or self.clock.is_up

    def is_over(self) -> bool:
        """As :meth:`out_of_time`, of all stages: what later ones use may take of their time."""
        self.out_of_time()
        return self.interrupted or self.clock.is_over

    @property
    def seconds_left(self) -> float:
        """Seconds until the stage must end; ``inf`` without a limit."""
        return self.clock.seconds_left

    def has_time_for(self, operations: float) -> bool:
        """Whether a computation that cannot be stopped would end in time, at a modest speed."""
        return not self.out_of_time() and operations <= SPEED * self.seconds_left

    def is_too_slow(self, done: float, spent: float, share: float) -> bool:
        """Whether to give up work of which a share is done, after so many seconds.

        It is if what is left of it would take more than a share of the time.
        """
        if self.out_of_time():
            return True
        return done > 0.0 and spent * (1.0 - done) > done * share * self.seconds_left

    def verdict(self, nodes: int = 0) -> Status | None:
        """Why to stop now; None to go on."""
        if self.interrupted:
            return Status.INTERRUPTED
        if self.clock.is_up:
            return Status.TIME_LIMIT
        if nodes >= self.node_limit:
            return Status.NODE_LIMIT
        return None

    def report(
        self, nodes: int, open_nodes: int, lower: float, upper: float, by: ClosedBy | None = None
    ) -> None:
        """Record where the search stands, and tell the callback unless it asked to stop."""
        entry = self.journal.record(nodes, open_nodes, lower, upper, by)
        if not self.interrupted:
            self.tell(entry)

    def report_bound(self, upper: float, by: ClosedBy) -> None:
        """Record a better bound on all that is being searched, while the search goes on."""
        last = self.journal.last
        if last is not None and upper < last.upper:
            self.report(last.nodes, last.open_nodes, last.lower, upper, by)

    def of_a_part(self, outside: float, rounding: float = 0.0) -> AbstractContextManager[None]:
        """See :meth:`Journal.of_a_part`."""
        return self.journal.of_a_part(outside, rounding)

    def tell(self, entry: Progress) -> None:
        """Tell the callback something that is not recorded."""
        if self.journal.tell(entry):
            self.interrupted = True

    def listening(self) -> AbstractContextManager[None]:
        """Let Ctrl-C end the search at its next step instead of tearing a computation apart."""
        return heeding(self.journal.interrupt)


class QuietWatch(Watch):
    """The same limits and interrupts, for work that says nothing of the stage as a whole."""

    def __init__(self, watch: Watch) -> None:
        self.clock, self.journal, self.node_limit = watch.clock, watch.journal, math.inf

    def report(
        self, nodes: int, open_nodes: int, lower: float, upper: float, by: ClosedBy | None = None
    ) -> None:
        """Say nothing."""
