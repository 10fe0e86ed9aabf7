"""What is printed: results to standard output, remarks and progress to standard error."""

from __future__ import annotations

import os
import sys
import textwrap
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

from orthospca._errors import InputError
from orthospca.result import Table

#: Columns of a table that goes into a file or a pipe.
PIPED_WIDTH = 110


def show(*parts: object) -> None:
    """Print tables and sentences to standard output; a table gets room if it is not a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(console.width, PIPED_WIDTH)
    for part in parts:
        below = part.sentence if isinstance(part, Table) else ""
        for piece in (part, below) if below else (part,):
            # Words wrap where people read them; a file gets a sentence in one line.
            in_one_line = isinstance(piece, str) and not console.is_terminal
            console.print(piece, soft_wrap=in_one_line, markup=False)


@dataclass(frozen=True)
class Screen:
    """Where a command speaks beside its results: on standard error, as loud as it was asked to.

    Attributes
    ----------
    quiet : bool
        Whether nothing is said.
    verbose : bool
        Whether more than usual is said.
    """

    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise InputError("use --quiet or --verbose, not both")

    @property
    def console(self) -> Console:
        """Where progress is shown: standard error, or nowhere."""
        return Console(stderr=True, quiet=self.quiet)

    def say(self, text: str) -> None:
        """Print a remark."""
        if self.quiet:
            return
        console = self.console
        if console.is_terminal:
            # A path is not broken, so that it can be copied.
            text = textwrap.fill(
                text, console.width, break_long_words=False, break_on_hyphens=False
            )
        print(text, file=sys.stderr, flush=True)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Say what is going on while nothing else is to be seen."""
        console = self.console
        if not console.is_terminal:
            self.say(what)
        with console.status(what) if console.is_terminal else nullcontext():
            yield

    def _bar(self, *columns: ProgressColumn) -> Progress:
        console = self.console
        quiet = not console.is_terminal
        # Before version 14.3 of rich, a bar that is not shown ends with an empty line all the same.
        console.quiet |= quiet
        return Progress(*columns, console=console, transient=True, disable=quiet)

    @contextmanager
    def bar(self, what: str, at_once: bool = True) -> Iterator[Callable[[float], None]]:
        """Show a share, on a terminal; at once, or when there is one to show."""
        with self._bar() as bar:
            task = bar.add_task(what, total=1.0, visible=at_once)
            yield lambda share: bar.update(task, completed=share, visible=True)

    @contextmanager
    def counting(self, what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
        """Show how many are done: a bar on a terminal, elsewhere a line at the end."""
        with self._bar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done, of: bar.update(task, completed=done, total=of)
        self.say(f"{what}: {bar.tasks[0].completed:.0f} of {bar.tasks[0].total or 0:.0f} done")

    def open_in_browser(self, file: Path) -> None:
        """Show a report, if it is there."""
        if file.exists() and not webbrowser.open(file.resolve().as_uri()):
            self.say(f"no browser found to open {file}")
