"""What the commands print and write."""

from __future__ import annotations

import csv
import json
import os
import shlex
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.console import Console

from orthospca.interface.folders import RUN, Folder, Run
from orthospca.interface.folders import make_folder as make_folder
from orthospca.interface.folders import unless_refused as unless_refused
from orthospca.interface.folders import writing as writing
from orthospca.interface.report import Section, write_report

if TYPE_CHECKING:
    from orthospca.interface.source import Source
    from orthospca.path import SparsityPath

#: The proof, beside the other files.
CERTIFICATE = "certificate.zip"
#: What each command writes; the first file says what was asked.
FIT_FILES = (
    "result.json", "loadings.csv", "scores.csv", "alternatives.csv", "alternatives.json",
    CERTIFICATE, "report.html",
)  # fmt: skip
PATH_FILES = (
    "path.json", "path.csv", "path-held-out.csv", "path-stability.csv", "path.png", "path.html"
)  # fmt: skip
STABILITY_FILES = ("stability.json", "stability.csv", "stability.html")
#: Columns of a table that goes into a file or a pipe.
PIPED_WIDTH = 110

QUIET, NORMAL, VERBOSE = range(3)
_loudness = NORMAL


def set_loudness(quiet: bool = False, verbose: bool = False) -> None:
    """How much is said besides results and errors: nothing, or more than usual."""
    global _loudness
    _loudness = QUIET if quiet else VERBOSE if verbose else NORMAL


def is_verbose() -> bool:
    """Whether more than usual is to be said."""
    return _loudness == VERBOSE


def remarks() -> Console:
    """Where progress is shown: standard error, or nowhere."""
    return Console(stderr=True, quiet=_loudness == QUIET)


def say(text: str) -> None:
    """Print a remark to standard error, which leaves standard output to the results."""
    if _loudness == QUIET:
        return
    console = Console(stderr=True)
    if console.is_terminal:
        # A path is not broken, so that it can be copied.
        text = textwrap.fill(text, console.width, break_long_words=False, break_on_hyphens=False)
    print(text, file=sys.stderr, flush=True)


def say_more(text: str) -> None:
    """Print a remark that few want to read."""
    if _loudness == VERBOSE:
        say(text)


def show(*parts: object) -> None:
    """Print tables and sentences to standard output; a table gets room if it is not a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(console.width, PIPED_WIDTH)
    for part in parts:
        # Words wrap where people read them; a file gets a sentence in one line.
        in_one_line = isinstance(part, str) and not console.is_terminal
        console.print(part, soft_wrap=in_one_line, markup=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say what is going on while nothing else is to be seen."""
    console = remarks()
    if not console.is_terminal:
        say(what)
        yield
        return
    with console.status(what):
        yield


def command() -> str:
    """The command that is running, as it would be typed."""
    return shlex.join(["orthospca", *sys.argv[1:]])


def run_of(source: Source, settings: dict[str, Any]) -> Run:
    """What is asked, for the record: how the file is read, and how it is solved."""
    try:
        release = version("orthospca")
    except PackageNotFoundError:
        release = "unknown"
    file, sha256 = source.checksum()
    reading = {name: value for name, value in asdict(source).items() if name != "path"}
    # Neither changes what comes out.
    solving = {name: value for name, value in settings.items() if name not in ("n_jobs", "resume")}
    return Run(command(), release, file, sha256, {**reading, **solving})


def open_folder(folder: Path, names: Sequence[str], run: Run, status: str) -> Folder:
    """A folder to write to; what an earlier run has left there is put aside, and that is said."""
    place = Folder(folder)
    aside = place.keep_earlier(names, names[0], run, status)
    if aside is not None:
        say(f"{folder} holds another run already: its files are in {aside} now")
    return place


def write_json(place: Folder, name: str, content: dict[str, Any], run: Run | None = None) -> None:
    """Write a file that a program can read, with what was asked."""
    if run is not None:
        content = {**content, RUN: run.to_dict()}
    with place.writing(name) as file:
        file.write_text(json.dumps(content, indent=1), encoding="utf-8")


def write_table(place: Folder, name: str, rows: Iterator[Sequence[object]]) -> None:
    """Write a CSV file."""
    with place.writing(name) as path, open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def write_numbers(section: Section, place: Folder, run: Run) -> None:
    """Write ``result.json``, ``loadings.csv`` and, if there are any, scores and the certificate."""
    result = section.result
    write_json(place, "result.json", result.to_dict(), run)
    names = result.feature_names or tuple(map(str, range(result.n_features)))

    def loadings() -> Iterator[Sequence[object]]:
        yield ["variable", *(f"component{k}" for k in range(1, result.n_components + 1))]
        for name, numbers in zip(names, result.components.T.tolist(), strict=True):
            yield [name, *numbers]

    write_table(place, "loadings.csv", loadings())
    if section.scores is not None:
        with place.writing("scores.csv") as file:
            section.scores.save(file)
    if section.alternatives:
        from orthospca.interface.alternatives import write_alternatives

        write_alternatives(section.alternatives, place, run)
    if section.certificate:
        with place.writing(section.certificate) as file:
            result.certificate.save(file)


def write_result(section: Section, source: Source, folder: Path, run: Run) -> Folder:
    """Write the files of a fit.

    The report comes last, and takes the longest: Ctrl-C leaves it out, and the numbers are there,
    with their proof.
    """
    with patiently() as waiting:
        place = open_folder(folder, FIT_FILES, run, section.result.status.name)
        write_numbers(section, place, run)

    def report(file: Path) -> None:
        write_report(file, [section], command=command(), files=[source.checksum()])

    write_last(place, "report.html", report, waiting.pressed)
    return place


def write_path(found: SparsityPath, place: Folder, run: Run) -> None:
    """Write ``path.csv`` (a line for each component), ``path.json``, and a picture if possible."""
    from orthospca.interface.plotting import has_matplotlib

    def lines() -> Iterator[Sequence[object]]:
        yield "sparsity", "component", "variance", "upper_bound", "gap", "status"
        for sparsity, result in zip(found.sparsities, found.results, strict=True):
            for k, c in enumerate(result.stages, start=1):
                yield sparsity, k, c.variance, c.upper_bound, c.gap, c.status.value

    write_table(place, "path.csv", lines())
    write_json(place, "path.json", found.to_dict(), run)
    if not found.results:
        return
    if not has_matplotlib():
        say("no path.png: matplotlib is not installed")
        return
    from orthospca.interface.plotting import plot_sparsity_path

    figure: Any = plot_sparsity_path(found).figure
    with place.writing("path.png") as file:
        figure.savefig(file, dpi=150)


def write_last(
    place: Folder, name: str, write: Callable[[Path], None], skipped: bool = False
) -> None:
    """Write the report, for people; Ctrl-C leaves it out.

    Parameters
    ----------
    place : Folder
    name : str
    write : callable
        Gets the path to write to.
    skipped : bool
        Whether it is to be left out.
    """
    try:
        if skipped:
            raise KeyboardInterrupt
        with working("writing report"), place.writing(name) as file:
            write(file)
    except KeyboardInterrupt:
        # A report of an earlier run would not be about these numbers.
        (place.path / name).unlink(missing_ok=True)
        say(f"interrupted: {name} is not written, everything else is")


def say_written(place: Folder | None) -> None:
    """Name the files written, the last one with its folder; nothing if there is none."""
    if place is None:
        return
    *others, last = place.written
    names = ", ".join(file.name for file in others)
    say(f"wrote {names}{' and ' if others else ''}{last}")


class Waiting:
    """Whether Ctrl-C was pressed."""

    pressed = False


@contextmanager
def patiently() -> Iterator[Waiting]:
    """Let Ctrl-C wait until files that take a moment are written; a second one does not."""
    waiting = Waiting()
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not ours:
        yield waiting
        return

    def note(number: int, frame: FrameType | None) -> None:
        waiting.pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, note)
    try:
        yield waiting
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def open_in_browser(file: Path) -> None:
    """Show a report in the browser."""
    import webbrowser

    if not file.exists():
        return
    if not webbrowser.open(file.resolve().as_uri()):
        say(f"there is no browser to open {file} with")
