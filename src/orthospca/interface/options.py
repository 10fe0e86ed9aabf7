"""Options that several commands share, with their help."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

INPUT, SOLVER, OUTPUT = "Input", "Tolerances and limits", "Output"
ROWS = "Other rows"


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV or other text, Parquet (.parquet), Excel (.xlsx), NumPy (.npy, .npz) or "
        "Matrix Market (.mtx); - is standard input.",
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
    bool | None,
    typer.Option(
        "--precomputed/--observations",
        help="Whether DATA is the matrix itself; if not given, observations, and a table that "
        "looks like a matrix is asked about.",
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
Color = Annotated[
    str | None,
    typer.Option(
        "--color",
        metavar="COLUMN",
        help="Colour the scores in the report by this column; one with a few labels by default.",
        rich_help_panel=OUTPUT,
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
        help="The array of an NPZ file that holds several, or the sheet of a workbook.",
        rich_help_panel=INPUT,
    ),
]


class MissingValues(str, Enum):
    """What may be done with missing values."""

    DROP_ROWS = "drop-rows"
    MEAN = "mean"
    PAIRWISE = "pairwise"


class DecimalMark(str, Enum):
    """How decimals are written."""

    POINT = "point"
    COMMA = "comma"


Missing = Annotated[
    MissingValues | None,
    typer.Option(
        help="Missing values: leave out their rows, put the mean of the column, or compute each "
        "covariance from the rows that have both (the matrix may then be indefinite).",
        rich_help_panel=INPUT,
    ),
]
Decimal = Annotated[
    DecimalMark | None,
    typer.Option(help="How decimals are written; found out.", rich_help_panel=INPUT),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoding of a text file; found out.", rich_help_panel=INPUT),
]
Transpose = Annotated[
    bool,
    typer.Option(
        "--transpose",
        help="Rows of DATA are variables, columns are observations.",
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
Quiet = Annotated[
    bool,
    typer.Option(
        "-q",
        "--quiet",
        help="No progress and no remarks: results and errors only.",
        rich_help_panel=OUTPUT,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "-v",
        "--verbose",
        help="More progress, and how long each part took.",
        rich_help_panel=OUTPUT,
    ),
]
Open = Annotated[
    bool,
    typer.Option("--open", help="Open the report in the browser.", rich_help_panel=OUTPUT),
]
