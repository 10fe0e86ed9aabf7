"""``orthospca fit``: find components of a table, or of a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from orthospca._errors import InputError
from orthospca._methods import Method, Objective
from orthospca.interface.cli.options import (
    OUTPUT,
    SOLVER,
    Components,
    Data,
    Output,
    Proof,
    Reading,
    Showing,
    Solver,
    Sparsity,
    command,
    option,
    parse_share,
    parse_sparsity,
)

if TYPE_CHECKING:
    from orthospca import Result

FILES = (
    "result.json", "loadings.csv", "scores.csv", "alternatives.csv", "alternatives.json",
    "certificate.zip", "report.html",
)  # fmt: skip


@command
def fit(
    data: Data,
    *,
    n_components: Components = 2,
    sparsity: Sparsity = None,
    reading: Reading,
    method: Annotated[
        Method,
        option(
            panel=SOLVER,
            metavar="METHOD",
            help="branch-and-bound, eigenvalue, enumeration or deflation.",
        ),
    ] = Method.BRANCH_AND_BOUND,
    objective: Annotated[
        Objective,
        option(
            panel=SOLVER,
            metavar="OBJECTIVE",
            help="stagewise: each is the best given those before it; lexicographic: likewise, ties "
            "resolved in favour of later ones; joint: the largest total.",
        ),
    ] = Objective.STAGEWISE,
    solver: Solver,
    proof: Proof = False,
    resume: Annotated[
        Path | None,
        option(
            panel=OUTPUT,
            metavar="FILE",
            help="Save the proof to FILE while solving, and continue from it.",
        ),
    ] = None,
    output: Output = None,
    color: Annotated[
        str | None,
        option(
            "--color",
            panel=OUTPUT,
            metavar="COLUMN",
            help="Colour the scores in the report by this column; default: a column with few "
            "distinct labels.",
        ),
    ] = None,
    within: Annotated[
        str | None,
        option(
            "--alternatives",
            panel=OUTPUT,
            metavar="SHARE",
            help="Also list all choices of variables within this much of each component's "
            "variance, such as 1%.",
        ),
    ] = None,
    showing: Showing,
) -> int:
    """Find sparse components of a table of observations, or of a matrix.

    Rows of DATA are observations, columns are variables; headers, row labels, text columns,
    separators and decimal commas are detected. With `--precomputed`, DATA is a symmetric matrix.

    For example:

    `orthospca fit measurements.csv -k 3 -p 5 --correlation`

    `orthospca fit iris.csv -k 2 -p 3 --color species`

    `orthospca fit covariance.npy -k 2 -p 10 --precomputed --time-limit 60 -o results`

    `orthospca fit genes.parquet -k 1 -p 20 --label patient --json > result.json`

    `orthospca fit survey.xlsx --correlation --missing drop-rows`

    `orthospca fit genes.csv -k 5 -p 10 --resume genes.zip` (run it again to continue)

    Ctrl-C stops the search; the best components so far are shown and written, with their gaps.
    """
    from orthospca import Status
    from orthospca.interface import alternatives, display, report
    from orthospca.interface.cli.job import Job, default_sparsity, solve_shown
    from orthospca.interface.folders import writing
    from orthospca.interface.scores import labels_of, scores_of_table

    job = Job(data, reading, output, showing, FILES)
    settings = solver.settings(n_components, method.value)
    if objective is not Objective.STAGEWISE:
        settings["objective"] = objective.value
    limits = parse_sparsity(sparsity)
    job.need_folder(proof=proof, alternatives=within)
    if color is not None and reading.precomputed:
        raise InputError("--color needs observations, not --precomputed")
    tolerance = None if within is None else _tolerance(within, method, objective)

    table, Q = job.read(method.value)
    labels = None if reading.precomputed else labels_of(table, color)
    limits = default_sparsity(Q) if limits is None else limits

    asked = {"sparsity": limits, "proof": proof, "resume": resume, **settings}
    with job.computing(), writing(resume or Path()):
        time_limit = job.stopwatch.left_of(solver.time_limit)
        result = solve_shown(job.screen, Q, table.columns, {**asked, "time_limit": time_limit})
        if not result.n_components:
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            raise InputError(f"--time-limit is too short: {result.note}")
    lists = []
    if tolerance is not None and result.status is not Status.INTERRUPTED:
        with job.screen.working("looking for alternatives"):
            left = job.stopwatch.left_of(solver.time_limit)
            lists = alternatives.to_each(Q, result, tolerance, left, solver.n_jobs)
        job.stopwatch.lap("alternatives found")

    if job.folder is not None:
        section = report.Section(
            job.source.name,
            result,
            Q,
            job.source.describe_fully(table),
            job.source.matrix_kind,
            {**settings, "sparsity": limits},
            "certificate.zip" if result.certificate is not None else "",
            None if labels is None else scores_of_table(table, result, reading.correlation, labels),
            alternatives=lists,
        )
        files = {
            "result.json": result.to_dict(),
            "loadings.csv": _loadings(result),
            "scores.csv": section.scores,
        }
        if lists:
            files["alternatives.csv"] = alternatives.rows_of_all(lists)
            files["alternatives.json"] = {"components": [each.to_dict() for each in lists]}
        files["certificate.zip"] = result.certificate
        asked |= {"color": color, "alternatives": tolerance}
        job.write(files, asked, result.status.name)
        job.report(report.write_report, [section])

    said = [result.note] if result.note else []
    if lists:
        said.append(alternatives.in_a_sentence(lists))
    job.show(
        result.to_dict, display.component_table(result), display.closing_sentence(result), *said
    )
    if not showing.as_json and (advice := display.advice(result)):
        job.screen.say(advice)
    return job.end(result.status.finished)


def _loadings(result: Result) -> Iterator[Sequence[object]]:
    """A line for each variable."""
    names = result.feature_names or tuple(map(str, range(result.n_features)))
    yield ["variable", *(f"component{k}" for k in range(1, result.n_components + 1))]
    for name, numbers in zip(names, result.components.T.tolist(), strict=True):
        yield [name, *numbers]


def _tolerance(text: str, method: Method, objective: Objective) -> float:
    """How far alternatives may be from the best; they need orthogonal components."""
    if method is Method.DEFLATION:
        raise InputError("--alternatives needs orthogonal components, not --method deflation")
    if objective is Objective.JOINT:
        raise InputError("--alternatives does not work with --objective joint")
    return parse_share(text, "--alternatives")
