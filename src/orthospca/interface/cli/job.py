"""One run of a command on a file: read → compute → write → show, as all of them do it."""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from orthospca import Alternatives, DataCovariance, Result, Status, solve
from orthospca._errors import InputError
from orthospca._interrupts import heeding
from orthospca._typing import Array
from orthospca.interface import plotting, screen
from orthospca.interface.cli.options import OPEN_GAP, SOLVED, Reading, Showing, Time
from orthospca.interface.cli.source import Source
from orthospca.interface.folders import Folder, Run, unless_refused
from orthospca.interface.progress import PLAIN_INTERVAL, ProgressDisplay
from orthospca.interface.report import write_choice_report
from orthospca.interface.screen import Screen
from orthospca.interface.stopwatch import Stopwatch
from orthospca.interface.tables import Table


def files_of(name: str, *more: str) -> tuple[str, ...]:
    """What a command may write: first the file that says what was asked, last the report."""
    return (f"{name}.json", f"{name}.csv", f"{name}.png", *more, f"{name}.html")


class Job:
    """One run of a command on a file.

    Parameters
    ----------
    data : Path
    reading : Reading
    showing : Showing
    files : sequence of str
        What the command may write: first the file that says what was asked, last the report.

    Attributes
    ----------
    folder : Path or None
        Where it writes; None if it writes nothing.
    """

    def __init__(
        self, data: Path, reading: Reading, showing: Showing, files: Sequence[str]
    ) -> None:
        self.stopwatch = Stopwatch()
        self.screen = Screen(showing.quiet, showing.verbose)
        self.source = Source(data, reading)
        self.folder = showing.output or (None if showing.as_json else self.source.folder)
        self._showing, self._files = showing, files
        self._place: Folder | None = None
        self._no_report = False
        self.need_folder(open=showing.show_report)

    def need_folder(self, **wanted: object) -> None:
        """Refuse options that write something if nothing is written."""
        for name, given in wanted.items():
            if given and self.folder is None:
                raise InputError(f"--{name} with --json needs -o, the folder to write to")

    def read(self, method: str = "branch-and-bound") -> tuple[Table, Array | DataCovariance]:
        """Read the file; the table, and what to solve."""
        with self.screen.bar("reading", at_once=False) as show:
            self.source.load(show)
        self._table, Q = self.source.read(method)
        self.stopwatch.lap("read")
        return self._table, Q

    def left(self, limits: Time, parts: int = 1) -> float | None:
        """Seconds of the time limit that are left, for one of several parts."""
        seconds = self.stopwatch.left_of(limits.time_limit)
        return None if seconds is None else seconds / parts

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Say what the file holds, then work.

        The folder is made before the work, and taken away if it fails.
        """
        self.screen.say(self.source.describe(self._table))
        for notice in self._table.notices:
            self.screen.say(f"note: {notice}")
        with unless_refused(self.folder):
            yield
        self.stopwatch.lap("solved")

    def need_some(self, count: int, status: Status, note: str) -> None:
        """Refuse to go on with nothing: there was no time, or Ctrl-C came at once."""
        if not count and status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if not count:
            raise InputError(f"--time-limit is too short: {note}")

    def need_rows(self, who: str) -> None:
        """Refuse a matrix without its rows, and rows with holes."""
        if self.source.is_matrix:
            raise InputError(f"{who} observations, but DATA is a matrix")
        if self._table.has_missing:
            raise InputError(f"{who} complete rows: use --missing drop-rows or --missing mean")

    def ask_rows(self, ask: Callable[..., Any], what: str, total: int, **asked: Any) -> Any:
        """Call a function of the observations, and show how far it is."""
        asked["correlation"] = bool(self.source.how.correlation)
        with self.screen.counting(what, total) as counter:
            return ask(self._table.values, callback=counter, **asked)

    def conclude(
        self, found: Any, title: str, rows: Any, asked: dict[str, Any], proof: Any = None
    ) -> int:
        """Write and show what was found, in files that are called after the command."""
        finished = found.complete if isinstance(found, Alternatives) else found.status.finished
        name = found.REPORTED
        files = {f"{name}.csv": rows, f"{name}.json": found.to_dict(), f"{name}.png": found.plot}
        self.write({**files, "certificate.zip": proof}, asked, finished)
        self.report_choice(title, **{name: found})
        self.show(found.to_dict, found.table())
        return self.end(finished)

    def write(self, files: dict[str, Any], settings: dict[str, Any], finished: bool) -> None:
        """Write numbers, if there is a folder: Ctrl-C waits until they are there.

        Parameters
        ----------
        files : dict
            What each file holds, see :meth:`Folder.write`; a picture is a function that draws it,
            and what is None is left out.
        settings : dict
            What was asked, for the record.
        status : str
            How it ended.
        """
        if self.folder is None:
            return
        place = self._place = Folder(self.folder)
        pressed = threading.Event()
        with heeding(pressed.set):
            run = self._record(settings)
            aside = place.keep_earlier(self._files, self._files[0], run, finished)
            if aside is not None:
                self.screen.say(f"moved the files of an earlier run from {self.folder} to {aside}")
            for name, content in files.items():
                if callable(content) and not plotting.has_matplotlib():
                    self.screen.say(f"{name} not written: matplotlib is not installed")
                elif content is not None:
                    place.write(name, content, run)
            self._no_report = pressed.is_set()

    def _record(self, settings: dict[str, Any]) -> Run:
        """What is asked: how the file is read, and how it is solved."""
        asked = asdict(self.source.how) | settings
        for name in {"n_jobs", "resume"} & set(asked):
            del asked[name]  # neither changes what comes out
        names = ("command", "version", "file", "sha256", "settings")
        values = (command_line(), version("orthospca"), *self.source.checksum(), asked)
        # As it comes back from JSON.
        run: Run = json.loads(json.dumps(dict(zip(names, values, strict=True)), default=str))
        return run

    def report(self, write: Callable[..., None], *arguments: Any, **details: Any) -> None:
        """Write the report, for people; Ctrl-C leaves it out, and nothing else.

        Parameters
        ----------
        write : callable
            Gets the path to write to, then ``arguments`` and ``details``, the command and the file.
        """
        if self._place is None:
            return
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
            self.screen.say(f"interrupted: everything except {name} was written")
        self.stopwatch.lap("written")

    def report_choice(self, title: str, **found: Any) -> None:
        """Write the report on a path, on stability or on alternatives."""
        title, source = f"{title} {self.source.name}", self.source.describe_fully(self._table)
        self.report(write_choice_report, title=title, source=source, **found)

    def show(self, content: Callable[[], dict[str, Any]], *parts: object) -> None:
        """Print the result: for a program, or for people."""
        if self._showing.as_json:
            print(json.dumps(content()))
        else:
            screen.show(*parts)

    def end(self, finished: bool) -> int:
        """Say how long it took and what was written, open the report if that was asked.

        Returns
        -------
        int
            The exit code.
        """
        if self.screen.verbose:
            self.screen.say(self.stopwatch.words)
        if self._place is not None:
            *others, last = self._place.written
            names = ", ".join(file.name for file in others)
            self.screen.say(f"wrote {names}{' and ' if others else ''}{last}")
            if self._showing.show_report:
                self.screen.open_in_browser(self._place.path / self._files[-1])
        return SOLVED if finished else OPEN_GAP


def show_progress(screen: Screen, settings: dict[str, Any]) -> ProgressDisplay:
    """What shows how the solver gets on."""
    names = ("n_components", "gap", "eps")
    asked: dict[str, Any] = {name: settings[name] for name in names if name in settings}
    asked["together"] = settings.get("objective") == "joint"
    interval = 1.0 if screen.verbose else PLAIN_INTERVAL
    return ProgressDisplay(screen.console, interval=interval, **asked)


def solve_shown(
    screen: Screen, Q: Array | DataCovariance, names: tuple[str, ...], settings: dict[str, Any]
) -> Result:
    """The one place where the command line calls the solver."""
    with show_progress(screen, settings) as progress:
        result = solve(Q, callback=progress, feature_names=names, **settings)
    return replace(result, feature_names=names)


def command_line() -> str:
    """The command that is running, as it would be typed."""
    return shlex.join(["orthospca", *sys.argv[1:]])
