"""What the commands do: read, check, solve with progress shown, show and write."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orthospca import Alternatives, DataCovariance, Result, Status, solve
from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface import display as _display
from orthospca.interface.alternatives import alternatives_of, in_a_sentence, parse_share
from orthospca.interface.folders import Folder
from orthospca.interface.output import (
    CERTIFICATE,
    FIT_FILES,
    PATH_FILES,
    command,
    is_verbose,
    make_folder,
    open_folder,
    open_in_browser,
    remarks,
    run_of,
    say,
    say_more,
    say_written,
    show,
    unless_refused,
    working,
    write_path,
    write_result,
    writing,
)
from orthospca.interface.progress import PLAIN_INTERVAL, ProgressDisplay
from orthospca.interface.report import Section, write_report
from orthospca.interface.scores import Scores, labels_of, scores_of, scores_of_table
from orthospca.interface.source import Source as Source
from orthospca.interface.stopwatch import Stopwatch

if TYPE_CHECKING:
    from orthospca.interface.choosing import Resampling

DEFAULT_SPARSITY = 5


def solver_settings(
    n_components: int,
    method: str,
    gap: float,
    eps: float,
    threshold: str,
    time_limit: float | None,
    node_limit: int | None,
    n_jobs: int | None,
) -> dict[str, Any]:
    """The arguments of ``solve`` that are the same for every sparsity."""
    return {
        "n_components": n_components,
        "method": method,
        "gap": gap,
        "eps": eps,
        "threshold": _threshold(threshold),
        "time_limit": time_limit,
        "node_limit": node_limit,
        "n_jobs": n_jobs,
    }


def run_fit(
    source: Source,
    sparsity: str | None,
    settings: dict[str, Any],
    output: Path | None,
    as_json: bool,
    proof: bool = False,
    resume: Path | None = None,
    color: str | None = None,
    show_report: bool = False,
    near: str | None = None,
) -> bool:
    """Solve; whether everything is certified within the tolerance."""
    stopwatch = Stopwatch()
    limits = None if sparsity is None else parse_sparsity(sparsity)
    folder = source.folder(output, as_json)
    if proof and folder is None:
        raise InputError("--proof writes certificate.zip: with --json, say where with -o")
    _refuse_to_open_nothing(show_report, folder)
    if color is not None and source.precomputed:
        raise InputError("--color needs observations, and --precomputed says there are none")
    within = None if near is None else _tolerance_of(near, settings, folder)
    table, Q = source.read(settings)
    stopwatch.lap("read")
    labels = None if source.precomputed else labels_of(table, color)
    if limits is None:
        limits = min(DEFAULT_SPARSITY, Q.shape[0])
    source.announce(table, say)
    asked = {"sparsity": limits, "proof": proof, "resume": resume, **settings}
    with unless_refused(folder), writing(resume or Path()):
        given = stopwatch.limited(settings)
        result = _solve(Q, table.columns, {**asked, "time_limit": given["time_limit"]})
        if result.status is Status.INTERRUPTED and not result.n_components:
            raise KeyboardInterrupt
        if not result.n_components:
            raise InputError(f"--time-limit is too short: {result.note}")
    stopwatch.lap("solved")
    lists: list[Alternatives] = []
    if within is not None and result.status is not Status.INTERRUPTED:
        lists = alternatives_of(Q, result, within, given)
        stopwatch.lap("alternatives found")
    place = None
    if folder is not None:
        section = Section(
            source.name,
            result,
            Q,
            source.describe_fully(table),
            source.matrix_kind,
            {**settings, "sparsity": limits},
            CERTIFICATE if result.certificate is not None else "",
            None if labels is None else scores_of_table(table, result, source.correlation, labels),
            alternatives=lists,
        )
        run = run_of(source, {**asked, "color": color, "alternatives": within})
        place = write_result(section, source, folder, run)
        stopwatch.lap("written")
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        note = [result.note] if result.note else []
        if lists:
            note.append(in_a_sentence(lists))
        show(_display.component_table(result), _display.closing_sentence(result), *note)
        if advice := _display.advice(result):
            say(advice)
    say_more(stopwatch.words)
    say_written(place)
    if show_report and folder is not None:
        open_in_browser(folder / "report.html")
    return result.status.finished


def run_path(
    source: Source,
    sparsities: str,
    settings: dict[str, Any],
    output: Path | None,
    as_json: bool,
    rows: Resampling | None = None,
    show_report: bool = False,
) -> bool:
    """Solve for several sparsities; whether everything is certified within the tolerance."""
    from orthospca.interface.choosing import Checks, Resampling, check_rows, write_path_report
    from orthospca.path import parse_sparsities, sparsity_path

    stopwatch = Stopwatch()
    rows = rows or Resampling()
    folder = source.folder(output, as_json)
    _refuse_to_open_nothing(show_report, folder)
    asked = {"sparsities": sparsities, **settings, **asdict(rows)}
    table, Q = source.read(settings)
    rows.refuse(source.is_matrix, table.has_missing)
    limits = parse_sparsities(sparsities, Q.shape[0])
    source.announce(table, say)
    settings = stopwatch.limited(settings)
    if settings["time_limit"] is not None:
        # Everything together: the path, and what other rows are asked.
        settings = {**settings, "time_limit": settings["time_limit"] / (1 + rows.steps)}
    with unless_refused(folder):
        with _progress(settings) as progress:
            found = sparsity_path(
                Q, limits, callback=progress.at_sparsity, feature_names=table.columns, **settings
            )
        if found.status is Status.INTERRUPTED and not found.results:
            raise KeyboardInterrupt
        if not found.results:
            raise InputError("--time-limit is too short: no sparsity was reached")
    checks = Checks()
    if found.status is not Status.INTERRUPTED:
        checks = check_rows(table.values, source.correlation, limits, table.columns, settings, rows)
    place = None
    if folder is not None:
        run = run_of(source, asked)
        place = open_folder(folder, PATH_FILES, run, found.status.name)
        write_path(found, place, run)
        about = source.describe_fully(table)
        write_path_report(found, checks, about, source.checksum(), place, source.name)
    if as_json:
        print(json.dumps({**found.to_dict(), **checks.to_dict()}))
    else:
        show(_display.path_table(found), _display.path_sentence(found), *checks.shown())
    say_written(place)
    if show_report and folder is not None:
        open_in_browser(folder / "path.html")
    return found.status.finished and checks.finished


def run_demo(output: Path, show_report: bool = False) -> bool:
    """Solve the bundled examples; whether everything is certified, and checked by others."""
    from orthospca import datasets
    from orthospca.interface.checking import check_elsewhere

    if (output / FIT_FILES[0]).exists():
        raise InputError(f"{output} holds the results of another run: name another folder with -o")
    folder = make_folder(output)
    sections, verdicts = [], []
    for dataset, title, n_components, sparsity in (
        (datasets.load_pitprops(), "Pitprops", 6, 5),
        (datasets.load_breast_cancer(), "Breast cancer", 5, 8),
    ):
        print(f"\n{dataset.description}")
        print(
            f"{n_components} orthogonal components with at most {sparsity} nonzero loadings each, "
            f"from the correlations of {dataset.n_features} variables:",
            flush=True,
        )
        Q = dataset.correlation()
        settings = {"sparsity": sparsity, "n_components": n_components, "gap": 1e-4}
        result = _solve(Q, dataset.feature_names, {**settings, "proof": True})
        file = f"{title.lower().replace(' ', '-')}.zip"
        scores = None
        if dataset.data is not None:
            values = scores_of(dataset.data, result, correlation=True)
            scores = Scores(values, by="class", groups=dataset.target)
        section = Section(
            title, result, Q, dataset.description, "correlation", settings, file, scores
        )
        show(
            _display.component_table(result),
            _display.closing_sentence(result),
            _display.beside_pca(result, section.eigenvalues),
        )
        sections.append(section)
    place = Folder(folder)
    for section in sections:
        with place.writing(section.certificate) as part:
            section.result.certificate.save(part)
        if section.scores is not None:
            with place.writing(section.certificate.replace(".zip", "-scores.csv")) as part:
                section.scores.save(part)
    with working("writing report"), place.writing("report.html") as part:
        write_report(part, sections, command=command())
    # The report first, then numbers, then what others say of the proofs.
    print()
    for kind, ending in (("report", ".html"), ("scores", ".csv"), ("certificate", ".zip")):
        for written in (each for each in place.written if each.suffix == ending):
            checked = ""
            if kind == "certificate":
                verdicts.append(check_elsewhere(written))
                checked = f", checked by a process of its own: {verdicts[-1]}"
            print(f"{kind}: {written}{checked}", flush=True)
    if show_report:
        open_in_browser(folder / "report.html")
    solved = all(section.result.status.finished for section in sections)
    return solved and all(verdict == "VERIFIED" for verdict in verdicts)


def _progress(settings: dict[str, Any]) -> ProgressDisplay:
    interval = 1.0 if is_verbose() else PLAIN_INTERVAL
    tolerances = {name: settings[name] for name in ("gap", "eps") if name in settings}
    return ProgressDisplay(
        remarks(),
        settings["n_components"],
        interval=interval,
        together=settings.get("objective") == "joint",
        **tolerances,
    )


def _solve(Q: Array | DataCovariance, names: tuple[str, ...], settings: dict[str, Any]) -> Result:
    """The one place where the command line calls the solver."""
    with _progress(settings) as progress:
        result = solve(Q, callback=progress, **settings)
    return replace(result, feature_names=names)


def _tolerance_of(text: str, settings: dict[str, Any], folder: Path | None) -> float:
    """How far alternatives may be from the best; they need a folder, and orthogonal components."""
    if folder is None:
        raise InputError("--alternatives writes lists and a report: with --json, say where with -o")
    if settings["method"] == "deflation":
        raise InputError("--alternatives needs orthogonal components, and deflation has none")
    if settings.get("objective") == "joint":
        raise InputError("--alternatives lists those of one stage after another, not of a set")
    return parse_share(text, "--alternatives")


def _refuse_to_open_nothing(wanted: bool, folder: Path | None) -> None:
    if wanted and folder is None:
        raise InputError("--open shows the report: with --json, say where to write it with -o")


def _threshold(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"threshold must be 'auto' or a number, got {text!r}") from None


def parse_sparsity(text: str) -> int | list[int]:
    """Read a sparsity as people write it: one number, or one for each component."""
    try:
        limits = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"sparsity must be an integer, or integers with commas, got {text!r}"
        ) from None
    return limits[0] if len(limits) == 1 else limits
