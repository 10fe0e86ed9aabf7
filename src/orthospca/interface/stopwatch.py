"""How long the parts of a command took, and what is left of its time limit."""

from __future__ import annotations

import time
from typing import Any


class Stopwatch:
    """Started when a command begins: its limit is for everything, reading the file included.

    Parameters
    ----------
    clock : callable
        Seconds since some moment.
    """

    def __init__(self, clock: Any = time.perf_counter) -> None:
        self._clock = clock
        self._started = self._last = clock()
        self._laps: list[str] = []

    def lap(self, what: str) -> None:
        """End a part."""
        now = self._clock()
        self._laps.append(f"{what} in {now - self._last:.2f} s")
        self._last = now

    @property
    def words(self) -> str:
        """All of them."""
        return ", ".join(self._laps)

    def left_of(self, time_limit: float | None) -> float | None:
        """What is left of a time limit, if there is one."""
        if time_limit is None or not time_limit > 0:
            return time_limit  # what is wrong with it others say
        return max(time_limit - (self._clock() - self._started), 0.0)
