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

    def limited(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings with what is left of their time limit, if they have one."""
        if settings["time_limit"] is None or not settings["time_limit"] > 0:
            return settings  # what is wrong with it others say
        left = settings["time_limit"] - (self._clock() - self._started)
        return {**settings, "time_limit": max(left, 0.0)}
