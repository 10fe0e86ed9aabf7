"""Progress while solving: components that are done stay, the one in work moves."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from orthospca import words
from orthospca.result import Progress, format_gap

#: Seconds between two lines of progress where the output is not a terminal.
PLAIN_INTERVAL = 5.0
#: Seconds that are recent: a gap of which less than this share was closed in them hardly moves.
RECENT, STUCK_SHARE = 20.0, 0.05
#: Seconds after which a gap counts as unchanged.
UNCHANGED = 3.0
#: Pictures a second, and the sign in front of the line that moves.
PER_SECOND, FRAMES = 8, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
HEADINGS = ("variance", "bound", "gap", "time")
WIDTHS = (9, 9, 8, 8)


class Pace:
    """How fast the gap of one component closes.

    Parameters
    ----------
    now : float
        Seconds since some moment.
    """

    def __init__(self, now: float) -> None:
        self.started = self._changed = now
        self._seen: deque[tuple[float, Progress]] = deque()

    def note(self, now: float, progress: Progress) -> None:
        """Take note of where the search stands."""
        if not self._seen or progress.gap != self._seen[-1][1].gap:
            self._changed = now
        self._seen.append((now, progress))

    def _since(self, now: float) -> tuple[float, Progress, Progress]:
        """When the recent began, where the search stood then, and where it stands."""
        while len(self._seen) > 1 and self._seen[1][0] <= now - RECENT:
            self._seen.popleft()
        return *self._seen[0], self._seen[-1][1]

    def is_stuck(self, now: float) -> bool:
        """Whether the gap hardly moves."""
        if not self._seen:
            return False
        then, first, last = self._since(now)
        return now - then >= RECENT and last.gap >= (1.0 - STUCK_SHARE) * first.gap

    def words(self, now: float) -> str:
        """Nodes, and how fast they and the gap go, in a few words."""
        if not self._seen:
            return ""
        then, first, last = self._since(now)
        seconds = max(now - max(then, now - RECENT), 1e-9)
        parts = []
        if last.forming is not None:
            parts.append(f"forming the covariance, {last.forming:.0%}")
        if last.nodes:
            speed = (last.nodes - first.nodes) / seconds
            each = f", {speed:.2g} a second" if speed > 0 else ""
            parts.append(f"{last.nodes} node{'' if last.nodes == 1 else 's'}{each}")
        if now - self._changed >= UNCHANGED:
            parts.append(f"gap unchanged for {now - self._changed:.0f} s")
        elif last.gap < first.gap < math.inf:
            parts.append(f"{seconds:.0f} s ago the gap was {format_gap(first.gap)}")
        return "; ".join(parts)


@dataclass(eq=False)
class ProgressDisplay:
    """Shows each :class:`~orthospca.model.result.Progress` as it comes.

    On a terminal a component gets a line when it is done, which stays; the one in work is shown
    below, with its bound, its gap and how fast that closes.  Elsewhere it is a plain line at the
    start, at the end of each stage, and every few seconds in between.  Where a gap hardly moves a
    hint says what can be done.  Use it as a context manager around the solve, and the object itself
    as its ``callback``.

    Parameters
    ----------
    console : Console
    n_components : int
        How many components are sought.
    clock : callable
        Seconds since some moment.
    gap, eps : float
        The tolerances asked for.
    interval : float
        Seconds between two plain lines.
    together : bool
        Whether the components are sought as one set.
    per_second : float
        Pictures a second.
    """

    console: Console
    n_components: int
    clock: Callable[[], float] = time.perf_counter
    gap: float = 1e-4
    eps: float = 0.0
    interval: float = PLAIN_INTERVAL
    together: bool = False
    per_second: float = PER_SECOND

    def __post_init__(self) -> None:
        self._as_set = self.together and self.n_components > 1
        self._started = self.clock()
        self._pace = Pace(self._started)
        self._last: tuple[str, Progress] | None = None
        self._shown, self._shown_at = "", -math.inf
        self._headed = self._hinted = False
        # What stays and what moves are drawn by two threads, and one must not erase the other's.
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._live: Live | None = None
        if self.console.is_terminal:
            drawn: dict[str, Any] = {"get_renderable": self.in_work, "auto_refresh": False}
            self._live = Live(console=self.console, transient=True, **drawn)

    def __enter__(self) -> ProgressDisplay:
        if self._live is not None:
            self._live.start()
            self._drawing = threading.Thread(target=self._draw, daemon=True)
            self._drawing.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._ended.set()
            self._drawing.join()
            if self._last is not None and self._is_met(self._last[1]):
                # What was stopped is not done: the table that follows knows how far it came.
                self._end(*self._last)
            if self._headed:
                self.console.print()
            self._last = None
            self._live.stop()
        elif self._last is not None:
            self._end(*self._last)

    def __call__(self, progress: Progress, prefix: str = "") -> None:
        """Show where the search stands."""
        with self._lock:
            self._take(prefix, progress)

    def at_sparsity(self, sparsity: int, progress: Progress) -> None:
        """Show where the search for one of several sparsities stands."""
        self(progress, f"sparsity {sparsity}  ")

    def _draw(self) -> None:
        """Draw what moves, so often that the clock goes on where the search has no news."""
        assert self._live is not None
        while not self._ended.wait(1.0 / self.per_second):
            with self._lock:
                self._live.refresh()

    def _take(self, prefix: str, progress: Progress) -> None:
        known = math.isfinite(progress.lower) or math.isfinite(progress.upper)
        if not known and progress.forming is None:
            return  # nothing is known yet
        last, now = self._last, self.clock()
        if last is not None and (last[0], last[1].stage) != (prefix, progress.stage):
            back = last[0] == prefix and progress.stage < last[1].stage
            self._end(*last, f"moves up to {progress.stage}/{self.n_components}" if back else "")
            self._pace, self._hinted = Pace(now), False
        self._last = prefix, progress
        self._pace.note(now, progress)
        if self._live is None:
            if now - self._shown_at >= self.interval:
                self._print(prefix, progress)
            if not self._hinted and self._needs_hint(progress, now):
                self._hinted = True
                self._say(self._hint(progress))

    # Plain lines

    def _say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, highlight=False, markup=False)

    def _print(self, prefix: str, progress: Progress) -> None:
        what = f"component {self._name(progress)}"
        if self._as_set:
            what = f"all {self.n_components} components"
        state = (
            f"nodes {progress.nodes}  lower {_figure(progress.lower)}  "
            f"upper {progress.upper:.6g}  gap {format_gap(progress.gap)}"
        )
        if progress.forming is not None:
            state = f"forming the covariance {progress.forming:.0%}"
        line = f"{prefix}{what}  {state}"
        if line != self._shown:
            self._say(f"{line}  {self.clock() - self._started:.1f} s")
            self._shown, self._shown_at = line, self.clock()

    # On a terminal

    def _end(self, prefix: str, progress: Progress, moved: str = "") -> None:
        """A line that stays: how a component ended, or that it takes the place of another."""
        if self._live is None:
            self._print(prefix, progress)
            if moved:
                self._say(f"component {progress.stage + 1} {moved}: it has more variance")
            return
        if not self._headed:
            self._headed = True
            self.console.print(self._row(prefix, None, "dim"))
        done, row = self._is_met(progress), self._row(prefix, progress)
        ended = moved or ("certified" if done else "open")
        row.append(f"  {ended}", "green" if done and not moved else "yellow")
        self.console.print(row)

    def in_work(self) -> Group | Text:
        """What is shown, on a terminal, of the component in work."""
        now = self.clock()
        frames = "|/-\\" if self.console.options.ascii_only else FRAMES
        sign = frames[int(now * PER_SECOND) % len(frames)]
        if self._last is None:
            if self._headed:
                return Text("")
            return Text(f"{sign} looking for good components  {now - self._started:.1f} s")
        prefix, progress = self._last
        rows = [] if self._headed else [self._row(prefix, None, "dim")]
        pace = Text(f"    {self._pace.words(now)}", "dim", no_wrap=True, overflow="ellipsis")
        rows += [self._row(prefix, progress, sign=sign), pace]
        if self._needs_hint(progress, now):
            rows.append(Text(self._hint(progress), "yellow"))
        return Group(*rows)

    def _name(self, progress: Progress) -> str:
        count = self.n_components
        return f"1–{count}" if self._as_set else f"{progress.stage + 1}/{count}"

    def _row(
        self, prefix: str, progress: Progress | None, style: str = "", sign: str = " "
    ) -> Text:
        """A line of the table; without progress its head."""
        name, cells, width = "", HEADINGS, 2 * len(str(self.n_components)) + 1
        if progress is not None:
            gap = format_gap(progress.gap).removesuffix(" the variance")
            took = f"{self.clock() - self._pace.started:.1f} s"
            cells = (_figure(progress.lower), _figure(progress.upper), gap, took)
            name = self._name(progress)
        padded = (f"{cell:>{size}}" for cell, size in zip(cells, WIDTHS, strict=True))
        of = f"{prefix.replace('sparsity', 'p').strip() if name else '':<5} " if prefix else ""
        line = " ".join([f"{sign} {of}{name:>{width}}", *padded])
        return Text(line, style, no_wrap=True, overflow="ellipsis")

    # A hint

    def _is_met(self, progress: Progress) -> bool:
        allowed = max(self.eps, self.gap * abs(progress.lower))
        return progress.upper - progress.lower <= allowed

    def _needs_hint(self, progress: Progress, now: float) -> bool:
        return self._pace.is_stuck(now) and not self._is_met(progress)

    def _hint(self, progress: Progress) -> str:
        """What to do about a gap that hardly moves."""
        accept = ""
        if 0.0 < progress.gap < 1.0:
            gap = 100 * words.rounded_up(progress.gap, 1)
            accept = f"rerun with --gap {gap:g}% to accept the current bound, "
        path = "" if self._as_set else " (orthospca path shows the effect)"
        return (
            "The gap is hardly moving, as is common with noise or a large sparsity. Press Ctrl-C "
            f"to keep the current result and bound, {accept}set --time-limit, or reduce -p{path}."
        )


def _figure(number: float) -> str:
    return f"{number:.6g}" if math.isfinite(number) else "none"
