"""The commands that help to choose sparsity and number of components: their options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthospca.interface.endings import OPEN_GAP, SOLVED, one_sentence_errors
from orthospca.interface.options import (
    OUTPUT,
    ROWS,
    Bootstrap,
    Correlation,
    Data,
    Decimal,
    Encoding,
    Eps,
    Fraction,
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
    Seed,
    Threshold,
    TimeLimit,
    Transpose,
    Verbose,
)


def path(
    data: Data,
    sparsities: Annotated[
        str,
        typer.Option("-p", "--sparsities", help="Numbers and ranges: 1:20, 5,10,15, 2:30:4."),
    ] = "1:10",
    n_components: Annotated[
        int, typer.Option("-k", "--components", help="How many components for each sparsity.")
    ] = 1,
    cv: Annotated[
        int,
        typer.Option(
            "--cv",
            metavar="FOLDS",
            help="Measure variance in rows held out, in so many folds; 0 for none.",
            rich_help_panel=ROWS,
        ),
    ] = 0,
    resamples: Annotated[
        int,
        typer.Option(
            "--stability",
            metavar="RESAMPLES",
            help="Count how often variables are selected in so many resamples; 0 for none.",
            rich_help_panel=ROWS,
        ),
    ] = 0,
    bootstrap: Bootstrap = False,
    fraction: Fraction = None,
    seed: Seed = 0,
    correlation: Correlation = False,
    precomputed: Precomputed = None,
    label: Label = None,
    missing: Missing = None,
    transpose: Transpose = False,
    header: Header = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    key: Key = None,
    gap: Gap = 1e-4,
    eps: Eps = 0.0,
    threshold: Threshold = "0",
    time_limit: TimeLimit = None,
    node_limit: NodeLimit = None,
    n_jobs: Jobs = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="For path.html, path.csv, path.json and path.png; default orthospca-out/NAME.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_json: Json = False,
    show_report: Open = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show variance and certified gap by sparsity, to choose how many nonzeros to allow.

    For example:

    `orthospca path measurements.csv -p 1:20 --correlation`

    `orthospca path measurements.csv -p 1:20 --cv 5 --stability 50`

    `orthospca path covariance.csv -p 5:50:5 -k 3 --precomputed --time-limit 120`
    """
    with one_sentence_errors(quiet, verbose):
        from orthospca.interface.choosing import Resampling
        from orthospca.interface.commands import Source, run_path, solver_settings

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
            n_components, "branch-and-bound", gap, eps, threshold, time_limit, node_limit, n_jobs
        )
        rows = Resampling(cv, resamples, bootstrap, fraction, seed)
        solved = run_path(source, sparsities, settings, output, as_json, rows, show_report)
    raise typer.Exit(SOLVED if solved else OPEN_GAP)


def stability(
    data: Data,
    n_components: Annotated[
        int, typer.Option("-k", "--components", help="How many components.")
    ] = 2,
    sparsity: Annotated[
        str | None,
        typer.Option(
            "-p", "--sparsity", help="Nonzeros in a component; one number, or K with commas."
        ),
    ] = None,
    resamples: Annotated[
        int,
        typer.Option("-n", "--resamples", help="How many resamples.", rich_help_panel=ROWS),
    ] = 50,
    bootstrap: Bootstrap = False,
    fraction: Fraction = None,
    seed: Seed = 0,
    correlation: Correlation = False,
    label: Label = None,
    missing: Missing = None,
    transpose: Transpose = False,
    header: Header = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    key: Key = None,
    gap: Gap = 1e-4,
    eps: Eps = 0.0,
    time_limit: TimeLimit = None,
    node_limit: NodeLimit = None,
    n_jobs: Jobs = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="For stability.html, stability.csv, stability.json; default orthospca-out/NAME.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_json: Json = False,
    show_report: Open = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Count how often each variable is selected when rows are left out.

    A certified component is the best one for the data given; that says nothing about the noise of
    sampling. This does: components are sought again in many resamples of the rows.

    For example:

    `orthospca stability measurements.csv -p 5 -k 2 --correlation`

    `orthospca stability genes.parquet -p 10 -k 1 -n 100 --bootstrap --n-jobs 4`
    """
    with one_sentence_errors(quiet, verbose):
        from orthospca.interface.choosing import Resampling, run_stability
        from orthospca.interface.commands import Source, parse_sparsity, solver_settings

        source = Source(
            data,
            correlation,
            False,
            tuple(label or ()),
            header,
            key,
            missing,
            decimal,
            encoding,
            transpose,
        )
        settings = solver_settings(
            n_components, "branch-and-bound", gap, eps, "0", time_limit, node_limit, n_jobs
        )
        rows = Resampling(0, resamples, bootstrap, fraction, seed)
        limits = None if sparsity is None else parse_sparsity(sparsity)
        solved = run_stability(source, limits, settings, rows, output, as_json, show_report)
    raise typer.Exit(SOLVED if solved else OPEN_GAP)
