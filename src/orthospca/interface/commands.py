"""What the commands do: read, check, solve with progress shown, show and write."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from orthospca import DataCovariance, Result, Status, solve
from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface import display as _display
from orthospca.interface.output import (
    CERTIFICATE,
    command,
    make_folder,
    say,
    show,
    unless_refused,
    write_path,
    write_result,
    writing,
)
from orthospca.interface.report import Section, write_report
from orthospca.interface.scores import Scores, labels_of, scores_of, scores_of_table
from orthospca.interface.source import Source as Source

if TYPE_CHECKING:
    from orthospca.interface.choosing import Resampling

FINISHED = (Status.OPTIMAL, Status.EXHAUSTED)
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
) -> bool:
    """Solve; whether everything is certified within the tolerance."""
    limits = None if sparsity is None else parse_sparsity(sparsity)
    folder = source.folder(output, as_json)
    if proof and folder is None:
        raise InputError("--proof writes certificate.zip: with --json, say where with -o")
    if color is not None and source.precomputed:
        raise InputError("--color needs observations, and --precomputed says there are none")
    table, Q = source.read(settings)
    labels = None if source.precomputed else labels_of(table, color)
    if limits is None:
        limits = min(DEFAULT_SPARSITY, Q.shape[0])
    source.announce(table, say)
    asked = {"sparsity": limits, "proof": proof, "resume": resume, **settings}
    with unless_refused(folder), writing(resume or Path()):
        result = _solve(Q, table.columns, asked)
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        note = [result.note] if result.note else []
        show(_display.component_table(result), _display.closing_sentence(result), *note)
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
        )
        write_result(section, source.checksum(), folder)
    return result.status in FINISHED


def run_path(
    source: Source,
    sparsities: str,
    settings: dict[str, Any],
    output: Path | None,
    as_json: bool,
    rows: Resampling | None = None,
) -> bool:
    """Solve for several sparsities; whether everything is certified within the tolerance."""
    from orthospca.interface.choosing import Checks, Resampling, check_rows, write_path_report
    from orthospca.path import parse_sparsities, sparsity_path

    rows = rows or Resampling()
    rows.refuse(source.precomputed)
    if settings["time_limit"] is not None:
        # Everything together: the path, and what other rows are asked.
        settings = {**settings, "time_limit": settings["time_limit"] / (1 + rows.steps)}
    table, Q = source.read(settings)
    limits = parse_sparsities(sparsities, Q.shape[0])
    folder = source.folder(output, as_json)
    source.announce(table, say)
    progress = _display.ProgressDisplay(Console(stderr=True), settings["n_components"])
    with unless_refused(folder), progress:
        found = sparsity_path(
            Q, limits, callback=progress.at_sparsity, feature_names=table.columns, **settings
        )
    checks = Checks()
    if found.status is not Status.INTERRUPTED:
        checks = check_rows(table.values, source.correlation, limits, table.columns, settings, rows)
    if folder is not None:
        write_path(found, folder)
        about = source.describe_fully(table)
        write_path_report(found, checks, about, source.checksum(), folder, source.name)
    if as_json:
        print(json.dumps({**found.to_dict(), **checks.to_dict()}))
    else:
        show(_display.path_table(found), _display.path_sentence(found), *checks.shown())
    return found.status in FINISHED and checks.finished


def run_demo(output: Path) -> bool:
    """Solve the bundled examples; whether everything is certified, and checked by others."""
    from orthospca import datasets
    from orthospca.interface.checking import check_elsewhere

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
    with writing(folder):
        for section in sections:
            section.result.certificate.save(folder / section.certificate)
        write_report(folder / "report.html", sections, command=command())
    print(f"\nreport: {folder / 'report.html'}")
    for section in sections:
        written = folder / section.certificate
        verdicts.append(check_elsewhere(written))
        print(f"certificate: {written}, checked by a process of its own: {verdicts[-1]}")
    solved = all(section.result.status in FINISHED for section in sections)
    return solved and all(verdict == "VERIFIED" for verdict in verdicts)


def _solve(Q: Array | DataCovariance, names: tuple[str, ...], settings: dict[str, Any]) -> Result:
    """The one place where the command line calls the solver."""
    progress = _display.ProgressDisplay(Console(stderr=True), settings["n_components"])
    with progress:
        result = solve(Q, callback=progress, **settings)
    return replace(result, feature_names=names)


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
