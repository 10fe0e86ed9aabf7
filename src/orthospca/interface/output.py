"""What the commands print and write."""

from __future__ import annotations

import csv
import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from orthospca._errors import InputError
from orthospca.interface.report import Section, write_report

if TYPE_CHECKING:
    from orthospca.path import SparsityPath

#: The proof, beside the other files.
CERTIFICATE = "certificate.zip"


@contextmanager
def unless_refused(folder: Path | None) -> Iterator[None]:
    """Make a folder before any work is done for it; take it away again if the input is refused."""
    made = []
    if folder is not None:
        path = folder
        while not path.exists():
            made.append(path)
            path = path.parent
        make_folder(folder)
    try:
        yield
    except InputError:
        for path in made:
            with suppress(OSError):
                path.rmdir()
        raise


def make_folder(folder: Path) -> Path:
    """Make a folder for the output before any work is done for it."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_result(section: Section, source: tuple[str, str], folder: Path) -> None:
    """Write ``result.json``, ``loadings.csv``, ``scores.csv`` if there are any, ``report.html``.

    If there is a certificate it is written too.  The report comes last: if drawing is interrupted,
    the numbers are there, and their proof.
    """
    result = section.result
    written = "loadings.csv, result.json"
    names = result.feature_names or tuple(map(str, range(result.n_features)))
    with writing(folder):
        result.save(folder / "result.json")
        with open(folder / "loadings.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            numbers = range(1, result.n_components + 1)
            writer.writerow(["variable", *(f"component{k}" for k in numbers)])
            for name, loadings in zip(names, result.components.T.tolist(), strict=True):
                writer.writerow([name, *loadings])
        if section.scores is not None:
            section.scores.save(folder / "scores.csv")
            written = f"scores.csv, {written}"
        if section.certificate:
            result.certificate.save(folder / section.certificate)
            written += f", {section.certificate}"
        elif (folder / CERTIFICATE).exists():
            say(f"{folder / CERTIFICATE} was there before and is not of this run")
        write_report(folder / "report.html", [section], command=command(), files=[source])
    say(f"wrote {written} and {folder / 'report.html'}")


def write_path(found: SparsityPath, folder: Path) -> None:
    """Write ``path.csv`` (a line for each component), ``path.json``, and a picture if possible."""
    from orthospca.interface.plotting import has_matplotlib

    columns = ("sparsity", "component", "variance", "upper_bound", "gap", "status")
    with writing(folder):
        with open(folder / "path.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            for sparsity, result in zip(found.sparsities, found.results, strict=True):
                for k, c in enumerate(result.stages, start=1):
                    status = c.status.value
                    writer.writerow([sparsity, k, c.variance, c.upper_bound, c.gap, status])
        (folder / "path.json").write_text(json.dumps(found.to_dict(), indent=1), encoding="utf-8")
        drawn = bool(found.results) and has_matplotlib()
        if drawn:
            from orthospca.interface.plotting import plot_sparsity_path

            figure: Any = plot_sparsity_path(found).figure
            figure.savefig(folder / "path.png", dpi=150)
    picture = f"and {folder / 'path.png'}" if drawn else f"to {folder} (no picture: no matplotlib)"
    say(f"wrote path.csv, path.json {picture}")


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into one sentence."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{error.filename or folder} cannot be written: {reason}") from None


def show(*parts: object) -> None:
    """Print tables and sentences to standard output; a table gets room if it is not a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 110)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str), markup=False)


def say(text: str) -> None:
    """Print to standard error, which leaves standard output to the results."""
    print(text, file=sys.stderr, flush=True)


def command() -> str:
    """The command that is running, as it would be typed."""
    return shlex.join(["orthospca", *sys.argv[1:]])
