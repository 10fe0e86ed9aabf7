"""The record of a solve, and whoever listens to it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from orthospca.model.clock import Clock
from orthospca.model.result import ClosedBy, Progress
from orthospca.numerics.rounding import add_up

Callback = Callable[[Progress], "bool | None"]

#: Seconds after which the callback hears that the work goes on, even if nothing has changed.
HEARTBEAT = 0.5


@dataclass(eq=False)
class Journal:
    """What was known when: the history of a solve, told to a callback entry by entry.

    Attributes
    ----------
    clock : Clock
    callback : callable or None
        Receives each :class:`~orthospca.result.Progress`; a true answer asks to stop.
    heartbeat : float
        Seconds.
    """

    clock: Clock
    callback: Callback | None = None
    heartbeat: float = HEARTBEAT

    def __post_init__(self) -> None:
        self.history: list[Progress] = []
        self.stage = self._first = 0
        #: Whether Ctrl-C or the callback asked to stop.
        self.interrupted = False
        #: While covariances are being formed, which share of them is.
        self.forming: float | None = None
        self._told, self._thread = time.perf_counter(), threading.get_ident()
        self._floor, self._rounding = -math.inf, 0.0

    def interrupt(self) -> None:
        """Take note that somebody asked to stop."""
        self.interrupted = True

    def begin_stage(self, stage: int) -> None:
        """Start a chapter: what was known of other stages does not bear on it."""
        self.stage = stage
        self._first = len(self.history)

    @property
    def last(self) -> Progress | None:
        """The last entry on this stage."""
        return self.history[-1] if len(self.history) > self._first else None

    def record(
        self, nodes: int, open_nodes: int, lower: float, upper: float, by: ClosedBy | None = None
    ) -> Progress:
        """Record where the search stands."""
        upper = max(add_up(upper, self._rounding), self._floor)
        lower = -add_up(-lower, self._rounding)
        last = self.last
        if last is not None:
            # What was proved stays proved: bounds only ever tighten.
            by = by if upper < last.upper else last.proved_by
            lower, upper = max(lower, last.lower), min(upper, last.upper)
        entry = Progress(self.stage, nodes, open_nodes, lower, upper, self.clock.elapsed, -1, by)
        if last is not None and (last.lower, last.upper) == (lower, upper):
            # What stays on record is when it was known first.
            self.history[-1] = replace(entry, elapsed=last.elapsed)
        else:
            self.history.append(entry)
        return entry

    @contextmanager
    def of_a_part(self, outside: float, rounding: float = 0.0) -> Iterator[None]:
        """While a part of a stage is solved, what is reported still speaks of the whole.

        Parameters
        ----------
        outside : float
            Proved bound on the rest.
        rounding : float
            What the numbers of the part may lack, or have too much.
        """
        before = self._floor, self._rounding
        self._floor = max(self._floor, outside)
        self._rounding = add_up(self._rounding, rounding)
        try:
            yield
        finally:
            self._floor, self._rounding = before

    def tell(self, entry: Progress) -> bool:
        """Tell the callback; whether it asks to stop."""
        self._told = time.perf_counter()
        if self.forming is not None:
            entry = replace(entry, forming=self.forming)
        return self.callback is not None and bool(self.callback(entry))

    def keep_in_touch(self) -> bool:
        """Tell the callback now and then that the work goes on; whether it asks to stop."""
        early = time.perf_counter() < self._told + self.heartbeat
        if early or self._thread != threading.get_ident():
            return False
        # Nothing is known yet while a covariance is formed; whoever listens may stop it.
        entry = self.last or Progress(self.stage, 0, 0, -math.inf, math.inf, 0.0)
        return self.tell(replace(entry, elapsed=self.clock.elapsed))
