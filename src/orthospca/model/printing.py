"""Plain lines about a search, and a bar in notebooks, for whoever has no terminal to draw on.

Whoever wants no printing has the same lines as records of :mod:`logging`, at the level INFO of the
logger ``"orthospca"``.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orthospca._notebook import NotebookBar, in_notebook
from orthospca.model.component import Progress, format_gap
from orthospca.model.validation import validate_integer

_log = logging.getLogger("orthospca")

#: Seconds between two lines about the same component.
INTERVAL = 5.0


def verbosity(verbose: Any) -> int:
    """Return how much is to be printed, or raise ``ValueError``."""
    return validate_integer("verbose", int(verbose) if isinstance(verbose, bool) else verbose, 0)


@dataclass(eq=False)
class ProgressPrinter:
    """A callback that prints where the search stands.

    Attributes
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
    callback : callable, optional
        Who listens besides; a true answer stops the solve.
    """

    name: str
    n_components: int
    verbose: Any
    write: Callable[[str], object] = print
    clock: Callable[[], float] = time.perf_counter
    together: bool = False
    callback: Callable[[Progress], bool | None] | None = None

    def __post_init__(self) -> None:
        self._level = verbosity(self.verbose)
        shown = self._level and self.write is print and in_notebook()
        self._bar = NotebookBar() if shown else None
        self._told = self.clock()
        self._last: Progress | None = None

    @property
    def is_heard(self) -> bool:
        """Whether anybody wants to know."""
        return bool(self._level) or _log.isEnabledFor(logging.INFO)

    def __call__(self, progress: Progress) -> bool:
        """Hear where the search stands."""
        # Before, nothing is known yet.
        if math.isfinite(progress.lower) or math.isfinite(progress.upper):
            last, self._last = self._last, progress
            if last is not None and last.stage != progress.stage:
                self._print(last, "done")
            elif self._bar is not None:
                self._bar.show(progress.stage, self.n_components, self._line(progress, "so far"))
            elif self._level > 1 and self.clock() - self._told >= INTERVAL:
                self._print(progress, "so far")
        return self.callback is not None and bool(self.callback(progress))

    def close(self) -> None:
        """The search has ended."""
        if self._last is not None:
            self._print(self._last, "done")
            self._last = None

    def _print(self, progress: Progress, state: str) -> None:
        self._told = self.clock()
        line = self._line(progress, state)
        _log.info("%s", line)
        if self._bar is not None:
            self._bar.show(progress.stage + 1, self.n_components, line)
        elif self._level:
            self.write(f"[{self.name}] {line}")

    def _line(self, progress: Progress, state: str) -> str:
        lower = f"{progress.lower:.6g}" if math.isfinite(progress.lower) else "none"
        what = f"component {progress.stage + 1} of {self.n_components} {state}: variance"
        if self.together and self.n_components > 1:
            what = f"all {self.n_components} components {state}: total variance"
        nodes = f"{progress.nodes} node{'' if progress.nodes == 1 else 's'}"
        return (
            f"{what} {lower}, proved bound {progress.upper:.6g}, "
            f"gap {format_gap(progress.gap)}, {nodes}, {progress.elapsed:.1f} s"
        )
