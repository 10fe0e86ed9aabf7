"""What the commands for choosing p and K do: held-out rows, stability, their files and reports."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from orthospca import Status, cross_validate_sparsity, stability, stability_path
from orthospca._errors import InputError
from orthospca.interface.output import (
    STABILITY_FILES,
    command,
    open_folder,
    open_in_browser,
    remarks,
    run_of,
    say,
    say_written,
    show,
    unless_refused,
    write_json,
    write_last,
)
from orthospca.interface.stopwatch import Stopwatch

if TYPE_CHECKING:
    from orthospca.choosing.cross_validation import CrossValidation
    from orthospca.choosing.selection import Counter, Stability, StabilityPath
    from orthospca.interface.folders import Folder, Run
    from orthospca.interface.source import Source
    from orthospca.path import SparsityPath

#: Columns of a summary, if the terminal has as many.
WIDEST = 96
#: Arguments of the solver that resampling takes as well.
TAKEN = ("method", "gap", "eps", "time_limit", "node_limit", "n_jobs")


@dataclass(frozen=True)
class Resampling:
    """What is asked of other rows.

    Attributes
    ----------
    folds : int
        0 for no cross-validation.
    resamples : int
        0 for no stability.
    bootstrap : bool
    fraction : float or None
    seed : int
    """

    folds: int = 0
    resamples: int = 0
    bootstrap: bool = False
    fraction: float | None = None
    seed: int = 0

    @property
    def steps(self) -> int:
        """How many things are to be done besides the path."""
        return bool(self.folds) + bool(self.resamples)

    def refuse(self, is_matrix: bool, has_missing: bool) -> None:
        """Refuse what a matrix without its rows, or rows with holes, cannot answer."""
        if self.folds < 0 or self.folds == 1:
            raise InputError(f"cv must be 0 or at least 2 folds, got {self.folds}")
        if self.resamples < 0 or self.resamples == 1:
            raise InputError(f"stability must be 0 or at least 2 resamples, got {self.resamples}")
        if is_matrix and self.steps:
            raise InputError("--cv and --stability need observations, and DATA is a matrix")
        if has_missing and self.steps:
            raise InputError(
                "rows held out and resampled must be complete: say --missing drop-rows or mean"
            )


@dataclass(frozen=True)
class Checks:
    """What other rows say of a path: None where they were not asked."""

    held_out: CrossValidation | None = None
    stability: StabilityPath | None = None

    @property
    def finished(self) -> bool:
        """Whether everything was done, and certified."""
        given = (self.held_out, self.stability)
        return all(each is None or each.status.finished for each in given)

    def shown(self) -> list[str]:
        """As text for the terminal."""
        return [f"\n{each.summary()}" for each in (self.held_out, self.stability) if each]

    def to_dict(self) -> dict[str, Any]:
        """As plain objects."""
        return {
            name: each.to_dict()
            for name, each in (("cross_validation", self.held_out), ("stability", self.stability))
            if each is not None
        }


def check_rows(
    values: Any,
    correlation: bool,
    sparsities: tuple[int, ...],
    names: tuple[str, ...],
    settings: dict[str, Any],
    asked: Resampling,
) -> Checks:
    """Ask other rows what they say of the sparsities of a path."""
    common = {
        **{name: settings[name] for name in TAKEN},
        "n_components": settings["n_components"],
        "correlation": correlation,
        "random_state": asked.seed,
    }
    held_out = steady = None
    if asked.folds:
        with _counting("rows held out", asked.folds) as counter:
            held_out = cross_validate_sparsity(
                values, sparsities, cv=asked.folds, callback=counter, **common
            )
    if asked.resamples and (held_out is None or held_out.status is not Status.INTERRUPTED):
        with _counting("resamples", asked.resamples) as counter:
            steady = stability_path(
                values,
                sparsities,
                n_resamples=asked.resamples,
                bootstrap=asked.bootstrap,
                fraction=asked.fraction,
                feature_names=names,
                callback=counter,
                **common,
            )
    return Checks(held_out, steady)


def write_path_report(
    found: SparsityPath,
    checks: Checks,
    about: str,
    file: tuple[str, str],
    place: Folder,
    name: str,
) -> None:
    """Write ``path.html``, and ``path-held-out.csv``, ``path-stability.csv`` if rows were asked."""
    from orthospca.interface.choosing_report import write_choice_report

    if checks.held_out is not None:
        with place.writing("path-held-out.csv") as part:
            _write_held_out(checks.held_out, part)
    if checks.stability is not None:
        with place.writing("path-stability.csv") as part:
            _write_frequencies(list(checks.stability), part)

    def report(part: Path) -> None:
        write_choice_report(
            part,
            found,
            cross_validation=checks.held_out,
            stability=checks.stability,
            title=f"How many variables? {name}",
            source=about,
            command=command(),
            files=[file],
        )

    write_last(place, "path.html", report)


def run_stability(
    source: Source,
    sparsity: int | list[int] | None,
    settings: dict[str, Any],
    asked: Resampling,
    output: Path | None,
    as_json: bool,
    show_report: bool = False,
) -> bool:
    """Resample; whether every fit is certified within the tolerance."""
    from orthospca.interface.commands import DEFAULT_SPARSITY

    stopwatch = Stopwatch()
    folder = source.folder(output, as_json)
    table, Q = source.read(settings)
    asked.refuse(source.is_matrix, table.has_missing)
    if sparsity is None:
        sparsity = min(DEFAULT_SPARSITY, Q.shape[0])
    source.announce(table, say)
    limited = stopwatch.limited(settings)
    with unless_refused(folder), _counting("resamples", asked.resamples) as counter:
        found = stability(
            table.values,
            sparsity,
            settings["n_components"],
            n_resamples=asked.resamples,
            bootstrap=asked.bootstrap,
            fraction=asked.fraction,
            correlation=source.correlation,
            random_state=asked.seed,
            feature_names=table.columns,
            callback=counter,
            **{name: limited[name] for name in TAKEN},
        )
    place = None
    if folder is not None:
        settings = {"sparsity": sparsity, **settings, **asdict(asked)}
        run = run_of(source, settings)
        place = open_folder(folder, STABILITY_FILES, run, found.status.name)
        _write_stability(found, source, source.describe_fully(table), place, run)
    if as_json:
        print(json.dumps(found.to_dict()))
    else:
        show(found.summary(min(Console().width, WIDEST)))
    say_written(place)
    if show_report and folder is not None:
        open_in_browser(folder / "stability.html")
    return found.status.finished


def _write_stability(found: Stability, source: Source, about: str, place: Folder, run: Run) -> None:
    """Write ``stability.csv``, a line for each variable, ``stability.json``, ``stability.html``."""
    from orthospca.interface.choosing_report import write_choice_report

    with place.writing("stability.csv") as part:
        _write_frequencies([found], part)
    write_json(place, "stability.json", found.to_dict(), run)

    def report(part: Path) -> None:
        write_choice_report(
            part,
            stability=found,
            title=f"Stability: {source.name}",
            source=about,
            command=command(),
            files=[source.checksum()],
        )

    write_last(place, "stability.html", report)


def _write_frequencies(found: list[Stability], path: Path) -> None:
    """A line for each variable that was ever selected, for each sparsity."""
    width = max((len(each.frequencies) for each in found), default=0)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        columns = [f"component{k}" for k in range(1, width + 1)]
        writer.writerow(["sparsity", "variable", *columns, "any"])
        for each in found:
            used = (each.overall > 0) | each.result.components.any(axis=0)
            for j in used.nonzero()[0].tolist():
                numbers = each.frequencies[:, j].tolist()
                missing = [""] * (width - len(numbers))
                line = [max(each.result.sparsity), each.feature_names[j], *numbers, *missing]
                writer.writerow([*line, float(each.overall[j])])


def _write_held_out(found: CrossValidation, path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sparsity", "held_out", "standard_error", "fitted"])
        columns = (found.mean.tolist(), found.standard_error.tolist(), found.fitted_mean.tolist())
        writer.writerows(zip(found.sparsities, *columns, strict=True))


@contextmanager
def _counting(what: str, total: int) -> Iterator[Counter]:
    """Show how many are done: a bar on a terminal, elsewhere a line at the end."""
    console = remarks()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task(what, total=total)
    last = 0

    def count(done: int, _: int) -> None:
        nonlocal last
        last = done
        bar.update(task, completed=done)

    with bar:
        yield count
    say(f"{what}: {last} of {total} done")
