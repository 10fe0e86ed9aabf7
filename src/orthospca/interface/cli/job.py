"""One run of a command on a file: read → compute → write → show, as all of them do it."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any

from orthospca import DataCovariance, Result, solve
from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface import plotting, screen
from orthospca.interface.cli.options import DEFAULT_SPARSITY, Reading, Showing
from orthospca.interface.cli.source import Source
from orthospca.interface.folders import Folder, Run, unless_refused
from orthospca.interface.progress import PLAIN_INTERVAL, ProgressDisplay
from orthospca.interface.screen import Screen
from orthospca.interface.stopwatch import Stopwatch
from orthospca.interface.tables import Table

#: The proof, beside the other files.
CERTIFICATE = "certificate.zip"


class Job:
    """One run of a command on a file.

    Parameters
    ----------
    data : Path
    reading : Reading
    output : Path or None
        Where to write, if that was said.
    showing : Showing
    files : sequence of str
        What the command may write: first the file that says what was asked, last the report.

    Attributes
    ----------
    folder : Path or None
        Where it writes; None if it writes nothing.
    """

    def __init__(
        self,
        data: Path,
        reading: Reading,
        output: Path | None,
        showing: Showing,
        files: Sequence[str],
    ) -> None:
        self.stopwatch = Stopwatch()
        self.screen = Screen(showing.quiet, showing.verbose)
        self.source = Source(data, reading)
        self.folder = self.source.folder(output, showing.as_json)
        self._showing, self._files = showing, files
        self._place: Folder | None = None
        self._no_report = False
        self.need_folder(showing.show_report, "--open shows the report")

    def need_folder(self, wanted: object, what: str) -> None:
        """Refuse what is to be written if nothing is."""
        if wanted and self.folder is None:
            raise InputError(f"{what}: with --json, say where with -o")

    def read(self, method: str = "branch-and-bound") -> tuple[Table, Array | DataCovariance]:
        """Read the file; the table, and what to solve."""
        with self.screen.bar("reading", at_once=False) as show:
            self.source.load(show)
        table, Q = self.source.read(method)
        self.stopwatch.lap("read")
        return table, Q

    def announce(self, table: Table) -> None:
        """Say what the file holds and, in a line each, what was noticed in it."""
        self.screen.say(self.source.describe(table))
        for notice in table.notices:
            self.screen.say(f"note: {notice}")

    def computing(self) -> Any:
        """A context for the work: the folder is made before it, and taken away if it fails."""
        return unless_refused(self.folder)

    def progress(self, settings: dict[str, Any]) -> ProgressDisplay:
        """What shows how the solver gets on."""
        return show_progress(self.screen, settings)

    @contextmanager
    def writing(self, settings: dict[str, Any], status: str) -> Iterator[tuple[Folder, Run]]:
        """Open the folder for numbers: Ctrl-C waits until they are there, and costs the report.

        Parameters
        ----------
        settings : dict
            What was asked, for the record.
        status : str
            How it ended.
        """
        assert self.folder is not None
        place = self._place = Folder(self.folder)
        with patiently() as was_pressed:
            run = self._record(settings)
            aside = place.keep_earlier(self._files, self._files[0], run, status)
            if aside is not None:
                self.screen.say(
                    f"{self.folder} holds another run already: its files are in {aside} now"
                )
            yield place, run
            self._no_report = was_pressed()

    def _record(self, settings: dict[str, Any]) -> Run:
        """What is asked: how the file is read, and how it is solved."""
        try:
            release = version("orthospca")
        except PackageNotFoundError:
            release = "unknown"
        # Neither changes what comes out.
        solving = {
            name: value for name, value in settings.items() if name not in ("n_jobs", "resume")
        }
        asked = {**asdict(self.source.how), **solving}
        return Run(command_line(), release, *self.source.checksum(), asked)

    def draw(self, name: str, plot: Callable[..., Any], *arguments: object) -> None:
        """Write a picture, if that can be drawn."""
        assert self._place is not None
        if not plotting.has_matplotlib():
            self.screen.say(f"no {name}: matplotlib is not installed")
            return
        with self._place.writing(name) as file:
            plot(*arguments).figure.savefig(file, dpi=150)

    def report(self, write: Callable[..., None], *arguments: Any, **details: Any) -> None:
        """Write the report, for people; Ctrl-C leaves it out, and nothing else.

        Parameters
        ----------
        write : callable
            Gets the path to write to, then ``arguments`` and ``details``, the command and the file.
        """
        assert self._place is not None
        name = self._files[-1]
        about = {"command": command_line(), "files": [self.source.checksum()]}
        try:
            if self._no_report:
                raise KeyboardInterrupt
            with self.screen.working("writing report"), self._place.writing(name) as file:
                write(file, *arguments, **about, **details)
        except KeyboardInterrupt:
            # A report of an earlier run would not be about these numbers.
            (self._place.path / name).unlink(missing_ok=True)
            self.screen.say(f"interrupted: {name} is not written, everything else is")
        self.stopwatch.lap("written")

    def show(self, content: Callable[[], dict[str, Any]], *parts: object) -> None:
        """Print the result: for a program, or for people."""
        if self._showing.as_json:
            print(json.dumps(content()))
        else:
            screen.show(*parts)

    def end(self) -> None:
        """Say how long it took and what was written, and open the report if that was asked."""
        if self.screen.verbose:
            self.screen.say(self.stopwatch.words)
        if self._place is None:
            return
        *others, last = self._place.written
        names = ", ".join(file.name for file in others)
        self.screen.say(f"wrote {names}{' and ' if others else ''}{last}")
        if self._showing.show_report:
            self.screen.open_in_browser(self._place.path / self._files[-1])


def default_sparsity(Q: Array | DataCovariance) -> int:
    """Nonzeros of a component if nothing was said."""
    return min(DEFAULT_SPARSITY, Q.shape[0])


def show_progress(screen: Screen, settings: dict[str, Any]) -> ProgressDisplay:
    """What shows how the solver gets on."""
    return ProgressDisplay(
        screen.console,
        settings["n_components"],
        interval=1.0 if screen.verbose else PLAIN_INTERVAL,
        together=settings.get("objective") == "joint",
        **{name: settings[name] for name in ("gap", "eps") if name in settings},
    )


def solve_shown(
    screen: Screen, Q: Array | DataCovariance, names: tuple[str, ...], settings: dict[str, Any]
) -> Result:
    """The one place where the command line calls the solver."""
    with show_progress(screen, settings) as progress:
        result = solve(Q, callback=progress, **settings)
    return replace(result, feature_names=names)


def command_line() -> str:
    """The command that is running, as it would be typed."""
    return shlex.join(["orthospca", *sys.argv[1:]])


@contextmanager
def patiently() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C wait until files that take a moment are written; a second one does not.

    Yields
    ------
    callable
        Whether it was pressed.
    """
    pressed: list[int] = []
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
