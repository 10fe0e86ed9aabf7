"""The command that lists what is nearly as good: its options and its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthospca.interface.endings import OPEN_GAP, SOLVED, one_sentence_errors
from orthospca.interface.options import (
    OUTPUT,
    Correlation,
    Data,
    Decimal,
    Encoding,
    Header,
    Jobs,
    Json,
    Key,
    Label,
    Missing,
    Open,
    Precomputed,
    Quiet,
    TimeLimit,
    Transpose,
    Verbose,
)


def alternatives(
    data: Data,
    sparsity: Annotated[
        int | None, typer.Option("-p", "--sparsity", help="Features of a support.")
    ] = None,
    within: Annotated[
        str,
        typer.Option("--within", help="How far below the best variance: 1%, or 0.01."),
    ] = "1%",
    most: Annotated[int, typer.Option("--most", help="List at most so many.")] = 1000,
    correlation: Correlation = False,
    precomputed: Precomputed = None,
    label: Label = None,
    missing: Missing = None,
    transpose: Transpose = False,
    header: Header = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    key: Key = None,
    time_limit: TimeLimit = None,
    n_jobs: Jobs = None,
    proof: Annotated[
        bool,
        typer.Option(
            "--proof",
            help="Write certificate.zip too, a proof that `orthospca verify` checks.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="For alternatives.csv, .json, .png and .html; default orthospca-out/NAME.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_json: Json = False,
    show_report: Open = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List every choice of variables that is nearly as good as the best one.

    With the proof that there is no other; the exit code is 3 if that was not reached.

    For example:

    `orthospca alternatives measurements.csv -p 5 --within 1% --correlation`

    `orthospca alternatives covariance.npy -p 10 --precomputed --proof -o near`, and then
    `orthospca verify near/certificate.zip`

    `orthospca fit --alternatives 1%` lists those of later components too, given the earlier ones.
    """
    with one_sentence_errors(quiet, verbose):
        from orthospca.interface.alternatives import parse_share, run_alternatives
        from orthospca.interface.commands import Source

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
        share = parse_share(within)
        complete = run_alternatives(
            source,
            sparsity,
            share,
            most,
            time_limit,
            n_jobs,
            output,
            as_json,
            proof,
            show_report,
        )
    raise typer.Exit(SOLVED if complete else OPEN_GAP)
