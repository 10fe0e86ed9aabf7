"""When to stop, and the record of what happened so far."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from orthospca.model.result import Progress, Status

Callback = Callable[[Progress], "bool | None"]


#: Seconds after which the callback hears that the work goes on, even if nothing has changed.
HEARTBEAT = 1.0


class Watch:
    """Clock, limits and history of one solve.

    Parameters
    ----------
    time_limit : float or None
        Seconds for all stages together.  A stage may use its share of what is left.
    node_limit : int or None
        For each stage.
    callback : callable or None
        Receives each :class:`~orthospca.model.result.Progress`; a true answer stops the solve.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        node_limit: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.started = time.perf_counter()
        self.node_limit = math.inf if node_limit is None else node_limit
        self.history: list[Progress] = []
        self.stage = 0
        self.interrupted = False
        self._final = math.inf if time_limit is None else self.started + time_limit
        self._deadline = self._final
        self._callback = callback
        self._stage_started = self.started
        self._told = self.started
        self._floor = -math.inf
        self._thread = threading.get_ident()

    @property
    def elapsed(self) -> float:
        """Seconds since the solve began."""
        return time.perf_counter() - self.started

    @property
    def stage_elapsed(self) -> float:
        """Seconds since the stage began."""
        return time.perf_counter() - self._stage_started

    def begin_stage(self, stage: int, stages_left: int) -> None:
        """Start the clock of a stage: it gets its share of the time that is left.

        At least two fifths: most stages need little, and what they leave comes too late for those
        before them.
        """
        self.stage = stage
        self._stage_started = time.perf_counter()
        left = self._final - self._stage_started
        share = max(1.0 / max(stages_left, 1), 0.4)
        self._deadline = self._stage_started + share * max(left, 0.0)

    def out_of_time(self) -> bool:
        """Whether the stage must end now, for its time or because of an interrupt.

        Asked often, it also tells the callback now and then that the work goes on.
        """
        now = time.perf_counter()
        if now >= self._told + HEARTBEAT and self._thread == threading.get_ident():
            self._repeat()
        return self.interrupted or now >= self._deadline

    def _repeat(self) -> None:
        """Tell the callback again where the search stands, if it knows."""
        self._told = time.perf_counter()
        if self.history and self.history[-1].stage == self.stage and not self.interrupted:
            self.history[-1] = replace(self.history[-1], elapsed=self.elapsed)
            self.tell(self.history[-1])

    @property
    def seconds_left(self) -> float:
        """Seconds until the stage must end; ``inf`` without a limit."""
        return max(self._deadline - time.perf_counter(), 0.0)

    def verdict(self, nodes: int) -> Status | None:
        """Why to stop now; None to go on."""
        if self.interrupted:
            return Status.INTERRUPTED
        if time.perf_counter() >= self._deadline:
            return Status.TIME_LIMIT
        if nodes >= self.node_limit:
            return Status.NODE_LIMIT
        return None

    def report(self, nodes: int, open_nodes: int, lower: float, upper: float) -> None:
        """Record where the search stands and tell the callback."""
        upper = max(upper, self._floor)
        last = self.history[-1] if self.history else None
        if last is not None and last.stage == self.stage:
            # What was proved stays proved: bounds only ever tighten.
            lower, upper = max(lower, last.lower), min(upper, last.upper)
        entry = Progress(self.stage, nodes, open_nodes, lower, upper, self.elapsed)
        if last is not None and (last.stage, last.lower, last.upper) == (self.stage, lower, upper):
            self.history.pop()
        self.history.append(entry)
        self.tell(entry)

    @contextmanager
    def at_least(self, upper: float) -> Iterator[None]:
        """While a part of a problem is solved: no bound on the whole is below that of the rest."""
        before, self._floor = self._floor, max(self._floor, upper)
        try:
            yield
        finally:
            self._floor = before

    def tell(self, entry: Progress) -> None:
        """Tell the callback, and note whether it asks to stop."""
        self._told = time.perf_counter()
        if self._callback is not None and self._callback(entry):
            self.interrupted = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let Ctrl-C end the search at its next step instead of tearing a computation apart.

        A second Ctrl-C raises ``KeyboardInterrupt`` as usual.  Handlers that the program has set up
        itself are left alone, and so are threads other than the main one.
        """
        ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if not ours:
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
