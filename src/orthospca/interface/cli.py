"""The command line: its options and its help.

Nothing numerical is imported before a command runs, so that ``orthospca --help`` answers at once;
what the commands do is in ``commands.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from orthospca._errors import InputError
from orthospca._methods import Method, Objective
from orthospca.interface.cli_alternatives import alternatives
from orthospca.interface.cli_choosing import path, stability
from orthospca.interface.endings import (
    BAD_INPUT,
    INTERRUPTED,
    OPEN_GAP,
    REJECTED,
    SOLVED,
    one_sentence_errors,
    say_interrupted,
)
from orthospca.interface.options import (
    INPUT,
    OUTPUT,
    SOLVER,
    Color,
    Correlation,
    Data,
    Decimal,
    Encoding,
    Eps,
    Gap,
    Header,
    Jobs,
    Json,
    Key,
    Label,
    Missing,
    NodeLimit,
    Open,
    Precomputed,
    Quiet,
    Threshold,
    TimeLimit,
    Transpose,
    Verbose,
)

app = typer.Typer(
    name="orthospca",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Sparse principal components that are exactly orthogonal and provably optimal.\n\n"
    "For example: `orthospca demo`, or `orthospca fit data.csv -k 3 -p 5 --correlation`",
    epilog="Exit codes: 0 solved within tolerance, or verified; 1 a certificate is rejected; 2 bad "
    "input, or output that cannot be written; 3 stopped with an open gap; 130 interrupted before "
    "there was a result.",
)


def main() -> None:
    """Run the command line.

    A reader of its output that leaves early, as ``head`` does, changes nothing; output that cannot
    be written for another reason is an error, when everything else is done.
    """
    from orthospca.interface.streams import lasting_streams

    code: object = SOLVED
    with lasting_streams() as output:
        try:
            app()
        except SystemExit as ended:
            code = ended.code
        if code == INTERRUPTED:
            say_interrupted()
        output.flush()
        if output.error is not None and not output.is_closed:
            reason = (output.error.strerror or str(output.error)).lower()
            print(f"orthospca: standard output cannot be written: {reason}", file=sys.stderr)
            code = BAD_INPUT
    raise SystemExit(code)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"orthospca {version('orthospca')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def fit(
    data: Data,
    n_components: Annotated[
        int, typer.Option("-k", "--components", help="How many components.")
    ] = 2,
    sparsity: Annotated[
        str | None,
        typer.Option(
            "-p",
            "--sparsity",
            help="Nonzeros in a component; one number, or K with commas; default 5, or all "
            "variables if there are fewer.",
        ),
    ] = None,
    correlation: Correlation = False,
    precomputed: Precomputed = None,
    label: Label = None,
    missing: Missing = None,
    transpose: Transpose = False,
    header: Header = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    key: Key = None,
    method: Annotated[
        Method,
        typer.Option(
            metavar="METHOD",
            help="branch-and-bound, eigenvalue, enumeration or deflation.",
            rich_help_panel=SOLVER,
        ),
    ] = Method.BRANCH_AND_BOUND,
    objective: Annotated[
        Objective,
        typer.Option(
            metavar="OBJECTIVE",
            help="stagewise: each the best given those before it; lexicographic: ties resolved for "
            "what follows; joint: the largest total.",
            rich_help_panel=SOLVER,
        ),
    ] = Objective.STAGEWISE,
    gap: Gap = 1e-4,
    eps: Eps = 0.0,
    threshold: Threshold = "0",
    time_limit: TimeLimit = None,
    node_limit: NodeLimit = None,
    n_jobs: Jobs = None,
    proof: Annotated[
        bool,
        typer.Option(
            "--proof",
            help="Write certificate.zip too, a proof that `orthospca verify` checks.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep the proof in FILE while solving, and go on from what is finished in it.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="For loadings.csv, scores.csv, result.json and report.html; default "
            "orthospca-out/NAME.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    color: Color = None,
    near: Annotated[
        str | None,
        typer.Option(
            "--alternatives",
            metavar="SHARE",
            help="List the choices of variables within so much of each component's variance too, "
            "such as 1%.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_json: Json = False,
    show_report: Open = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find sparse components of a table of observations, or of a matrix.

    Rows of DATA are observations, columns are variables; a header, row labels, columns of text,
    separators and decimal commas are recognised. With `--precomputed`, DATA is a symmetric matrix.

    For example:

    `orthospca fit measurements.csv -k 3 -p 5 --correlation`

    `orthospca fit iris.csv -k 2 -p 3 --color species`

    `orthospca fit covariance.npy -k 2 -p 10 --precomputed --time-limit 60 -o results`

    `orthospca fit genes.parquet -k 1 -p 20 --label patient --json > result.json`

    `orthospca fit survey.xlsx --correlation --missing drop-rows`

    `orthospca fit genes.csv -k 5 -p 10 --resume genes.zip`, again after it was stopped

    Ctrl-C stops the search; the best components so far are shown and written, with their gaps.
    """
    with one_sentence_errors(quiet, verbose):
        from orthospca.interface.commands import Source, run_fit, solver_settings

        source = Source(
            data,
            correlation,
            precomputed,
            tuple(label or ()),
            header,
            key,
            missing,
            decimal,
            encoding,
            transpose,
        )
        settings = solver_settings(
            n_components, method.value, gap, eps, threshold, time_limit, node_limit, n_jobs
        )
        if objective is not Objective.STAGEWISE:
            settings["objective"] = objective.value
        solved = run_fit(
            source, sparsity, settings, output, as_json, proof, resume, color, show_report, near
        )
    raise typer.Exit(SOLVED if solved else OPEN_GAP)


def verify(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A certificate, as --proof writes it."),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="Compute the matrix from this file, as fit does, and check that it is the one.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    correlation: Correlation = False,
    precomputed: Precomputed = None,
    label: Label = None,
    missing: Missing = None,
    transpose: Transpose = False,
    header: Header = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    key: Key = None,
    details: Annotated[
        bool, typer.Option("-v", "--verbose", help="A line for each component too.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Say nothing: the exit code does.")
    ] = False,
    max_bytes: Annotated[
        float | None,
        typer.Option(metavar="N", help="Bytes that FILE may unpack to; default 268435456."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds that it may take; default 3600.")
    ] = None,
) -> None:
    """Check a certificate, trusting nothing of the solver that wrote it.

    Ends with 0 if everything that FILE claims is proved anew, with 1 if something is not, and with
    2 if nothing can be said: it cannot be read, or a limit was met. Options that say how to read
    DATA are those of `fit`.

    For example:

    `orthospca verify results/certificate.zip -v`

    `orthospca verify certificate.zip --data measurements.csv --correlation`
    """
    with one_sentence_errors(quiet, details):
        from orthospca.interface.checking import run_verify
        from orthospca.interface.commands import Source

        source = None
        if data is not None:
            source = Source(
                data,
                correlation,
                precomputed,
                tuple(label or ()),
                header,
                key,
                missing,
                decimal,
                encoding,
                transpose,
            )
        elif (
            correlation
            or label
            or transpose
            or any(
                given is not None
                for given in (precomputed, header, key, missing, decimal, encoding)
            )
        ):
            raise InputError("options that say how to read the data need --data")
        verified = run_verify(file, source, details, quiet, max_bytes, time_limit)
    raise typer.Exit(SOLVED if verified else REJECTED)


def demo(
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="For the report and the certificates."
        ),
    ] = Path("orthospca-out/demo"),
    show_report: Open = False,
    quiet: Quiet = False,
) -> None:
    """Solve two bundled examples, show what comes back, write a report, check the certificates.

    For example: `orthospca demo`, then open the report in a browser.
    """
    with one_sentence_errors(quiet):
        from orthospca.interface.commands import run_demo

        solved = run_demo(output, show_report)
    raise typer.Exit(SOLVED if solved else OPEN_GAP)


def paper(
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FOLDER", help="For the CSV files and pictures."),
    ] = Path("orthospca-out/paper"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller sparsities and samples, a few seconds.")
    ] = False,
) -> None:
    """Repeat the experiments of Cheng and Hu on the colon-cancer genes, and what they left out.

    The data are not bundled: the environment variable ORTHOSPCA_DATA names their folder, or pooch
    downloads them.

    For example: `ORTHOSPCA_DATA=~/data orthospca paper -o experiments`
    """
    with one_sentence_errors():
        from orthospca.paper import run_paper

        run_paper(output, quick=quick)
    raise typer.Exit(SOLVED)


# In the order in which help lists them.
for _command in (fit, path, alternatives, stability, verify, demo, paper):
    app.command()(_command)
