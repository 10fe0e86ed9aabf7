"""The command that lists what is nearly as good: read, search, show and write."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from orthospca import Alternatives, DataCovariance, alternatives
from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface.folders import Folder, Run, unless_refused
from orthospca.interface.output import (
    CERTIFICATE,
    command,
    open_folder,
    open_in_browser,
    run_of,
    say,
    say_written,
    show,
    working,
    write_json,
    write_last,
    write_table,
)
from orthospca.interface.source import Source
from orthospca.interface.stopwatch import Stopwatch
from orthospca.result import Result

FILES = (
    "alternatives.json",
    "alternatives.csv",
    "alternatives.png",
    CERTIFICATE,
    "alternatives.html",
)
#: Features of a support, unless there are fewer.
DEFAULT_SPARSITY = 5


def parse_share(text: str, option: str = "--within") -> float:
    """Read ``1%`` or ``0.01``."""
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = math.nan
    if not 0.0 <= share < math.inf:
        raise InputError(f"{option} must be a share such as 1% or 0.01, got {text!r}")
    return share


def run_alternatives(
    source: Source,
    sparsity: int | None,
    tolerance: float,
    most: int,
    time_limit: float | None,
    n_jobs: int | None,
    output: Path | None,
    as_json: bool,
    proof: bool = False,
    show_report: bool = False,
) -> bool:
    """List them; whether the list is proved to be complete."""
    stopwatch = Stopwatch()
    settings: dict[str, Any] = {
        "tolerance": tolerance,
        "max_supports": most,
        "time_limit": time_limit,
        "n_jobs": n_jobs,
        "proof": proof,
    }
    folder = source.folder(output, as_json)
    if folder is None and (proof or show_report):
        asked = "--proof writes certificate.zip" if proof else "--open shows the report"
        raise InputError(f"{asked}: with --json, say where with -o")
    table, Q = source.read({"method": "branch-and-bound", "threshold": 0.0})
    if sparsity is None:
        sparsity = min(DEFAULT_SPARSITY, Q.shape[0])
    source.announce(table, say)
    with unless_refused(folder), working("looking for alternatives"):
        limited = stopwatch.limited(settings)
        found = alternatives(Q, sparsity, feature_names=table.columns, **limited)
    place = None
    if folder is not None:
        run = run_of(source, {"sparsity": sparsity, **settings})
        place = open_folder(folder, FILES, run, "OPTIMAL" if found.complete else "INCOMPLETE")
        _write(found, source, source.describe_fully(table), place, run)
        if proof and found.certificate is None:
            say(f"no {CERTIFICATE}: the list may not be complete")
    if as_json:
        print(json.dumps(found.to_dict()))
    else:
        show(found.summary(20))
    say_written(place)
    if show_report and folder is not None:
        open_in_browser(folder / "alternatives.html")
    return found.complete


def _write(found: Alternatives, source: Source, about: str, place: Folder, run: Run) -> None:
    """Write the list, its picture if that can be drawn, its proof if there is one, and a report."""
    from orthospca.interface.choosing_report import write_choice_report
    from orthospca.interface.plotting import has_matplotlib

    write_table(place, "alternatives.csv", _rows(found))
    write_json(place, "alternatives.json", found.to_dict(), run)
    if not has_matplotlib():
        say("no alternatives.png: matplotlib is not installed")
    else:
        from orthospca.interface.choosing_plots import plot_alternatives

        figure: Any = plot_alternatives(found).figure
        with place.writing("alternatives.png") as file:
            figure.savefig(file, dpi=150)
    if found.certificate is not None:
        with place.writing(CERTIFICATE) as file:
            found.certificate.save(file)

    def report(file: Path) -> None:
        write_choice_report(
            file,
            alternatives=found,
            title=f"Alternatives: {source.name}",
            source=about,
            command=command(),
            files=[source.checksum()],
        )

    write_last(place, "alternatives.html", report)


def alternatives_of(
    Q: Array | DataCovariance, result: Result, tolerance: float, settings: dict[str, Any]
) -> list[Alternatives]:
    """The alternatives to each component, given those before it; Ctrl-C leaves the others out."""
    limit: float | None = settings.get("time_limit")
    left, found = math.inf if limit is None else max(limit - result.runtime, 0.0), []
    with working("looking for alternatives"):
        for k in range(result.n_components):
            share = left / (result.n_components - k)
            found.append(
                alternatives(
                    Q,
                    result.sparsity[k],
                    tolerance,
                    previous=result.components[:k],
                    time_limit=share if math.isfinite(share) else None,
                    n_jobs=settings.get("n_jobs"),
                    feature_names=result.feature_names,
                )
            )
            left = max(left - found[-1].runtime, 0.0)
            if "interrupted" in found[-1].note:
                break
    return found


def write_alternatives(found: Sequence[Alternatives], place: Folder, run: Run) -> None:
    """Write the lists of several components."""
    width = max((len(support) for each in found for support in each.supports), default=0)

    def lines() -> Iterator[Sequence[object]]:
        for k, each in enumerate(found, start=1):
            heading, *rest = _rows(each, width)
            if k == 1:
                yield ("component", *heading)
            yield from ((k, *row) for row in rest)

    write_table(place, "alternatives.csv", lines())
    content = {"components": [each.to_dict() for each in found]}
    write_json(place, "alternatives.json", content, run)


def in_a_sentence(found: Sequence[Alternatives]) -> str:
    """How many there are of each component."""
    counts = ", ".join(f"{len(each)}{'' if each.complete else ' or more'}" for each in found)
    near = f"within {100 * found[0].tolerance:.3g} % of the best variance" if found else ""
    return f"choices of variables {near}, component by component: {counts}"


def _rows(found: Alternatives, width: int = 0) -> Iterator[Sequence[object]]:
    """One row for each support; a name has a column to itself, whatever it contains."""
    width = width or max(map(len, found.supports), default=0)
    yield ("rank", "variance", *(f"feature{i}" for i in range(1, width + 1)))
    for i, (support, variance) in enumerate(zip(found.supports, found.variances, strict=True)):
        empty = [""] * (width - len(support))
        yield (i + 1, repr(float(variance)), *found.names(support), *empty)
