"""What the commands for choosing p and K do: held-out rows, stability, their files and reports."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from orthospca import Status, cross_validate_sparsity, stability, stability_path
from orthospca._errors import InputError
from orthospca.interface.output import command, say, show, unless_refused, writing

if TYPE_CHECKING:
    from orthospca.choosing.cross_validation import CrossValidation
    from orthospca.choosing.selection import Counter, Stability, StabilityPath
    from orthospca.interface.commands import Source
    from orthospca.path import SparsityPath

FINISHED = (Status.OPTIMAL, Status.EXHAUSTED)
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

    def refuse(self, precomputed: bool) -> None:
        """Refuse what a matrix without its rows cannot answer."""
        if self.folds < 0 or self.folds == 1:
            raise InputError(f"cv must be 0 or at least 2 folds, got {self.folds}")
        if self.resamples < 0 or self.resamples == 1:
            raise InputError(f"stability must be 0 or at least 2 resamples, got {self.resamples}")
        if precomputed and self.steps:
            raise InputError("held-out rows and stability need observations, not --precomputed")


@dataclass(frozen=True)
class Checks:
    """What other rows say of a path: None where they were not asked."""

    held_out: CrossValidation | None = None
    stability: StabilityPath | None = None

    @property
    def finished(self) -> bool:
        """Whether everything was done, and certified."""
        given = (self.held_out, self.stability)
        return all(each is None or each.status in FINISHED for each in given)

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
    folder: Path,
    name: str,
) -> None:
    """Write ``path.html``, and ``path-held-out.csv``, ``path-stability.csv`` if rows were asked."""
    from orthospca.interface.choosing_report import write_choice_report

    written = ["path.html"]
    with writing(folder):
        if checks.held_out is not None:
            _write_held_out(checks.held_out, folder / "path-held-out.csv")
            written.insert(0, "path-held-out.csv")
        if checks.stability is not None:
            _write_frequencies(list(checks.stability), folder / "path-stability.csv")
            written.insert(0, "path-stability.csv")
        write_choice_report(
            folder / "path.html",
            found,
            cross_validation=checks.held_out,
            stability=checks.stability,
            title=f"How many variables? {name}",
            source=about,
            command=command(),
            files=[file],
        )
    say(f"wrote {', '.join(written[:-1])}{' and ' * (len(written) > 1)}{folder / written[-1]}")


def run_stability(
    source: Source,
    sparsity: int | list[int],
    settings: dict[str, Any],
    asked: Resampling,
    output: Path | None,
    as_json: bool,
) -> bool:
    """Resample; whether every fit is certified within the tolerance."""
    asked.refuse(source.precomputed)
    folder = source.folder(output, as_json)
    table, _ = source.read(settings)
    say(source.describe(table))
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
            **{name: settings[name] for name in TAKEN},
        )
    if folder is not None:
        _write_stability(found, source, source.describe(table), folder)
    if as_json:
        print(json.dumps(found.to_dict()))
    else:
        show(found.summary())
    return found.status in FINISHED


def _write_stability(found: Stability, source: Source, about: str, folder: Path) -> None:
    """Write ``stability.csv``, a line for each variable, ``stability.json``, ``stability.html``."""
    from orthospca.interface.choosing_report import write_choice_report

    with writing(folder):
        _write_frequencies([found], folder / "stability.csv")
        text = json.dumps(found.to_dict(), indent=1)
        (folder / "stability.json").write_text(text, encoding="utf-8")
        write_choice_report(
            folder / "stability.html",
            stability=found,
            title=f"Stability: {source.path.name}",
            source=about,
            command=command(),
            files=[source.checksum()],
        )
    say(f"wrote stability.csv, stability.json and {folder / 'stability.html'}")


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
    console = Console(stderr=True)
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
