"""Clocks for tests: what is reached in a time depends on no machine, and on nobody else's work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

#: The one on the wall.
REAL = time.perf_counter


class Ticking:
    """A clock on which every look takes the same time.

    Parameters
    ----------
    step : float
        Seconds.
    """

    def __init__(self, step: float = 1.0) -> None:
        self.now = 0.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@contextmanager
def ticking(step: float = 1.0) -> Iterator[Ticking]:
    """Let the package look at such a clock."""
    clock = Ticking(step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", clock)
        yield clock


def until(condition: Callable[[], bool]) -> None:
    """Wait for another process, however slow the machine; minutes mean that it never comes."""
    end = time.monotonic() + 300.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
