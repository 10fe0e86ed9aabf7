"""Plain lines about a search, for programs without a terminal to draw on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from orthospca.model.component import Progress, format_gap
from orthospca.model.validation import validate_integer

#: Seconds between two lines about the same component.
INTERVAL = 5.0


class ProgressPrinter:
    """A callback that prints where the search stands.

    Parameters
    ----------
    name : str
        Who is speaking.
    n_components : int
    verbose : bool or int
        0 prints nothing, 1 a line for each component that is done, 2 also one every few seconds.
    write : callable
        Where the lines go.
    clock : callable
        Seconds since some moment.
    together : bool
        Whether the components are sought as one set.
    """

    def __init__(
        self,
        name: str,
        n_components: int,
        verbose: Any,
        write: Callable[[str], object] = print,
        clock: Callable[[], float] = time.perf_counter,
        together: bool = False,
    ) -> None:
        level = int(verbose) if isinstance(verbose, bool) else verbose
        self._level = validate_integer("verbose", level, 0)
        self._name = name
        self._total = n_components
        self._together = together and n_components > 1
        self._write = write
        self._clock = clock
        self._told = clock()
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Hear where the search stands."""
        if not math.isfinite(progress.lower) and not math.isfinite(progress.upper):
            return  # nothing is known yet
        last, self._last = self._last, progress
        if last is not None and last.stage != progress.stage:
            self._print(last, "done")
        elif self._level > 1 and self._clock() - self._told >= INTERVAL:
            self._print(progress, "so far")

    def close(self) -> None:
        """The search has ended."""
        if self._last is not None:
            self._print(self._last, "done")
            self._last = None

    def _print(self, progress: Progress, state: str) -> None:
        self._told = self._clock()
        if not self._level:
            return
        lower = f"{progress.lower:.6g}" if math.isfinite(progress.lower) else "none"
        what = f"component {progress.stage + 1} of {self._total} {state}: variance"
        if self._together:
            what = f"all {self._total} components {state}: total variance"
        self._write(
            f"[{self._name}] {what} {lower}, proved bound {progress.upper:.6g}, "
            f"gap {format_gap(progress.gap)}, {progress.nodes} nodes, {progress.elapsed:.1f} s"
        )
