"""Options that several commands share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

INPUT, SOLVER, OUTPUT = "Input", "Tolerances and limits", "Output"
ROWS = "Other rows"


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV or TSV, Parquet (.parquet), NumPy (.npy, .npz) or Matrix Market (.mtx).",
    ),
]
Correlation = Annotated[
    bool,
    typer.Option(
        "--correlation",
        help="Use correlations instead of covariances.",
        rich_help_panel=INPUT,
    ),
]
Precomputed = Annotated[
    bool,
    typer.Option(
        "--precomputed",
        help="DATA is the matrix itself, not observations.",
        rich_help_panel=INPUT,
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Leave a column out, by name or by number from 1; may be repeated.",
        rich_help_panel=INPUT,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a text file holds names; found out if not given.",
        rich_help_panel=INPUT,
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The array of an NPZ file that holds several.",
        rich_help_panel=INPUT,
    ),
]
Gap = Annotated[
    float, typer.Option(help="Relative tolerance of a component.", rich_help_panel=SOLVER)
]
Eps = Annotated[
    float, typer.Option(help="Absolute tolerance of a component.", rich_help_panel=SOLVER)
]
Threshold = Annotated[
    str,
    typer.Option(
        metavar="NUMBER",
        help="Entries below this are ignored between blocks; 0 ignores none, auto chooses.",
        rich_help_panel=SOLVER,
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(help="Seconds for everything together.", rich_help_panel=SOLVER),
]
NodeLimit = Annotated[
    int | None, typer.Option(help="Nodes for one component.", rich_help_panel=SOLVER)
]
Jobs = Annotated[
    int | None, typer.Option("--n-jobs", help="Parallel workers.", rich_help_panel=SOLVER)
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the result as JSON, nothing else; write files only with -o.",
        rich_help_panel=OUTPUT,
    ),
]
Bootstrap = Annotated[
    bool,
    typer.Option(
        "--bootstrap",
        help="Draw rows with replacement instead of half of them without.",
        rich_help_panel=ROWS,
    ),
]
Fraction = Annotated[
    float | None,
    typer.Option(
        help="Rows in a resample, as a share of all; default 0.5, with --bootstrap 1.",
        rich_help_panel=ROWS,
    ),
]
Seed = Annotated[
    int, typer.Option(help="Seed of folds and resamples.", rich_help_panel=ROWS, min=0)
]
