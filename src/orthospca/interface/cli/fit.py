"""``orthospca fit``: find components of a table, or of a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orthospca._errors import InputError
from orthospca._methods import Method, Objective
from orthospca.interface.cli.options import (
    SHARE,
    Components,
    Constraints,
    Data,
    Proving,
    Reading,
    Solver,
    command,
    of_output,
    of_solver,
)

if TYPE_CHECKING:
    from orthospca import Result
    from orthospca.interface.cli.job import Job
    from orthospca.interface.tables import Table

#: What it always may write, in this order.
WRITTEN = ("result.json", "scores.csv", "loadings.csv", "certificate.zip")
#: With ``-p auto``: folds, the largest sparsity that is tried, and a gap that is enough for it.
FOLDS, MOST_TRIED, ROUGH = 5, 20, 1e-3


@dataclass(frozen=True)
class Fitting(Solver):
    """How components are sought."""

    method: Method = of_solver(
        "branch-and-bound, eigenvalue, enumeration or deflation.",
        default=Method.BRANCH_AND_BOUND,
        metavar="METHOD",
    )
    objective: Objective = of_solver(
        "stagewise: each is the best given those before it; lexicographic: the same, with ties "
        "resolved in favour of later ones; joint: the largest total variance.",
        default=Objective.STAGEWISE,
        metavar="OBJECTIVE",
    )


@dataclass(frozen=True)
class Writing(Proving):
    """What is written."""

    resume: Path | None = of_output(
        "Save the proof to FILE while solving, and continue from it.", metavar="FILE"
    )
    color: str | None = of_output(
        "Colour the scores in the report by this column; default: a column with few distinct "
        "labels.",
        metavar="COLUMN",
    )
    within: float | None = of_output(
        "Also list all choices of variables within this share of each component's variance, such "
        "as 1%.",
        "--alternatives --within",
        **SHARE,
    )


@command
def fit(
    data: Data,
    *,
    components: Components,
    constraints: Constraints,
    reading: Reading,
    solver: Fitting,
    showing: Writing,
) -> int:
    """Find sparse components of a table of observations, or of a matrix.

    Rows of DATA are observations, columns are variables. Headers, row labels, text columns,
    separators and decimal commas are detected. With `--precomputed`, DATA is a symmetric matrix.

    For example:

    `orthospca fit measurements.csv -k 3 -p 5 --correlation`

    `orthospca fit iris.csv -k 2 -p 3 --color species`

    `orthospca fit covariance.npy -k 2 -p 10 --precomputed --time-limit 60 -o results`

    `orthospca fit genes.parquet -k 1 -p 20 --label patient --json > result.json`

    `orthospca fit survey.xlsx --correlation --missing drop-rows`

    `orthospca fit genes.csv -k 3 -p 8 --include TP53 --exclude XIST,RPS4Y1 --relation disjoint`

    `orthospca fit measurements.csv -k 3 -p auto --correlation` (the fewest variables within one
    standard error of the best in held-out rows)

    `orthospca fit genes.csv -k 5 -p 10 --resume genes.zip` (run it again to continue)

    Ctrl-C stops the search. The best components so far are shown and written, with their gaps.
    """
    from orthospca import Status
    from orthospca.interface import alternatives, display, report
    from orthospca.interface.cli.job import Job, files_of, solve_shown
    from orthospca.interface.folders import writing
    from orthospca.interface.scores import Scores, labels_of, scores_of

    files = (*WRITTEN, *files_of("alternatives"), "report.html")
    job = Job(data, reading, showing, files)
    color = showing.color
    job.need_folder(proof=showing.proof, alternatives=showing.within)
    if color is not None and reading.precomputed:
        raise InputError("--color needs observations, not --precomputed")
    if showing.within is not None:
        _refuse_alternatives(showing.within, solver, constraints)
    solving = solver.settings()

    table, Q = job.read(solver.method)
    labels = None if reading.precomputed else labels_of(table, color)
    if components.sparsity == "auto":
        chosen = _chosen(job, table, components.n_components, solver, constraints)
        components = replace(components, sparsity=str(chosen))
    settings = components.settings(Q.shape[0]) | solving | constraints.settings(table.columns)

    asked = {**settings, "proof": showing.proof, "resume": showing.resume}
    with job.computing(), writing(showing.resume or Path()):
        now = {**asked, "time_limit": job.left(solver)}
        result = solve_shown(job.screen, Q, table.columns, now)
        job.need_some(result.n_components, result.status, result.note)
    said = [result.note] if result.note else []
    content: dict[str, Any] = dict.fromkeys(WRITTEN)
    lists = []
    if showing.within is not None and result.status is not Status.INTERRUPTED:
        with job.screen.working("looking for alternatives"):
            lists = alternatives.to_each(Q, result, showing.within, job.left(solver), solver.n_jobs)
        job.stopwatch.lap("alternatives found")
        said.append(alternatives.in_a_sentence(lists))
        content["alternatives.csv"] = alternatives.rows(lists)
        content["alternatives.json"] = {"components": [each.to_dict() for each in lists]}

    if job.folder is not None:
        scores = None
        if labels is not None:
            values = scores_of(table.values, result, correlation=bool(reading.correlation))
            scores = Scores(values, **labels)
        proof = "certificate.zip" if result.certificate is not None else ""
        about = (job.source.describe_fully(table), job.source.matrix_kind, settings, proof, scores)
        section = report.Section(job.source.name, result, Q, *about, alternatives=lists)
        content |= {"result.json": result.to_dict(), "scores.csv": scores and scores.lines()}
        content |= {"loadings.csv": _loadings(result), "certificate.zip": result.certificate}
        asked |= {"color": color, "alternatives": showing.within}
        job.write(content, asked, result.status.finished)
        job.report(report.write_report, [section])

    job.show(result.to_dict, result.table(), *said)
    if not showing.as_json and (advice := display.advice(result)):
        job.screen.say(advice)
    return job.end(result.status.finished)


def _loadings(result: Result) -> Iterator[Sequence[object]]:
    """A line for each variable."""
    names = result.feature_names or tuple(map(str, range(result.n_features)))
    yield ["variable", *(f"component{k}" for k in range(1, result.n_components + 1))]
    for name, numbers in zip(names, result.components.T.tolist(), strict=True):
        yield [name, *numbers]


def _chosen(job: Job, table: Table, count: int, solver: Fitting, constraints: Constraints) -> int:
    """The fewest variables within one standard error of the best in held-out rows."""
    from orthospca import cross_validate_sparsity

    job.need_rows("-p auto needs")
    asked = constraints.settings(table.columns)
    least = max(len(asked.get("include", ())), 1)
    tried = range(least, max(min(MOST_TRIED, len(table.columns)), least) + 1)
    asked |= {"sparsities": tried, "n_components": count, "cv": FOLDS, "n_jobs": solver.n_jobs}
    asked |= {"gap": max(solver.gap, ROUGH), "time_limit": job.left(solver, 2)}
    found = job.ask_rows(cross_validate_sparsity, "held-out rows", FOLDS, **asked)
    job.need_some(found.n_folds, found.status, "no fold was done")
    job.screen.say(
        f"-p auto: {found.suggested} variables, the fewest of {tried[0]} to {tried[-1]} within one "
        f"standard error of the best in held-out rows (90 % of it with {found.elbow})"
    )
    return found.suggested


def _refuse_alternatives(within: float, solver: Fitting, constraints: Constraints) -> None:
    if not 0.0 <= within < float("inf"):
        raise InputError(f"--alternatives must be finite and not negative, got {within}")
    if constraints.nonnegative:
        raise InputError("--alternatives does not work with --nonnegative")
    if solver.method is Method.DEFLATION:
        raise InputError("--alternatives needs orthogonal components, not --method deflation")
    if solver.objective is Objective.JOINT:
        raise InputError("--alternatives does not work with --objective joint")
