"""The options of the commands, each declared once, in groups that commands share.

A group is a dataclass whose fields are options.  A command that takes one as a parameter has all of
its options, see :func:`command`.  Nothing numerical is imported here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from orthospca._errors import InputError

#: Exit codes; 2 is that of bad usage everywhere, 130 is 128 and the number of SIGINT.
SOLVED, REJECTED, BAD_INPUT, OPEN_GAP, INTERRUPTED = 0, 1, 2, 3, 130
#: Nonzeros of a component if nothing is said, unless there are fewer variables.
DEFAULT_SPARSITY = 5

INPUT, SOLVER, OUTPUT = "Input", "Tolerances and limits", "Output"
ROWS = "Other rows"


def command(function: Callable[..., int]) -> Callable[..., None]:
    """Turn a function into a command: its groups become options, what it returns the exit code."""
    groups: dict[str, Any] = {}
    flat = []
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind = parameter.annotation
        if not is_dataclass(kind):
            flat.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = kind
        hints = get_type_hints(kind, include_extras=True)
        flat += [
            inspect.Parameter(
                each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default,
                annotation=hints[each.name],
            )
            for each in fields(kind)
        ]  # fmt: skip

    @wraps(function)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        raise typer.Exit(function(**given))

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run


def option(*names: str, panel: str | None = None, **settings: Any) -> Any:
    """An option in a panel of the help."""
    return typer.Option(*names, rich_help_panel=panel, **settings)


def folder(files: str) -> Any:
    """The option for the folder that a command writes to."""
    text = f"For {files}; default orthospca-out/NAME."
    return option("-o", "--output", panel=OUTPUT, metavar="FOLDER", help=text)


class MissingValues(str, Enum):
    """What may be done with missing values."""

    DROP_ROWS = "drop-rows"
    MEAN = "mean"
    PAIRWISE = "pairwise"


class DecimalMark(str, Enum):
    """How decimals are written."""

    POINT = "point"
    COMMA = "comma"


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV or other text, Parquet (.parquet), Excel (.xlsx), NumPy (.npy, .npz) or "
        "Matrix Market (.mtx); - is standard input.",
    ),
]
Components = Annotated[int, option("-k", "--components", help="How many components.")]
Sparsity = Annotated[
    str | None,
    option(
        "-p",
        "--sparsity",
        help=f"Nonzeros in a component; one number, or K with commas; default {DEFAULT_SPARSITY}, "
        "or all variables if there are fewer.",
    ),
]
TimeLimit = Annotated[
    float | None, option(panel=SOLVER, help="Seconds for everything together.")
]  # fmt: skip
Jobs = Annotated[int | None, option("--n-jobs", panel=SOLVER, help="Parallel workers.")]
Proof = Annotated[
    bool,
    option(
        "--proof",
        panel=OUTPUT,
        help="Write certificate.zip too, a proof that `orthospca verify` checks.",
    ),
]
Open = Annotated[bool, option("--open", panel=OUTPUT, help="Open the report in the browser.")]
Quiet = Annotated[
    bool,
    option(
        "-q", "--quiet", panel=OUTPUT, help="No progress and no remarks: results and errors only."
    ),
]


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    correlation: Annotated[
        bool,
        option("--correlation", panel=INPUT, help="Use correlations instead of covariances."),
    ] = False
    precomputed: Annotated[
        bool | None,
        option(
            "--precomputed/--observations",
            panel=INPUT,
            help="Whether DATA is the matrix itself; if not given, observations, and a table that "
            "looks like a matrix is asked about.",
        ),
    ] = None
    label: Annotated[
        list[str] | None,
        option(
            "--label",
            panel=INPUT,
            metavar="COLUMN",
            help="Leave a column out, by name or by number from 1; may be repeated.",
        ),
    ] = None
    missing: Annotated[
        MissingValues | None,
        option(
            panel=INPUT,
            help="Missing values: leave out their rows, put the mean of the column, or compute "
            "each covariance from the rows that have both (the matrix may then be indefinite).",
        ),
    ] = None
    transpose: Annotated[
        bool,
        option(
            "--transpose", panel=INPUT, help="Rows of DATA are variables, columns are observations."
        ),
    ] = False
    header: Annotated[
        bool | None,
        option(
            "--header/--no-header",
            panel=INPUT,
            help="Whether the first line of a text file holds names; detected if not given.",
        ),
    ] = None
    decimal: Annotated[
        DecimalMark | None, option(panel=INPUT, help="How decimals are written; detected.")
    ] = None
    encoding: Annotated[
        str | None, option(panel=INPUT, metavar="NAME", help="Encoding of a text file; detected.")
    ] = None
    key: Annotated[
        str | None,
        option(
            panel=INPUT,
            metavar="NAME",
            help="The array of an NPZ file that holds several, or the sheet of a workbook.",
        ),
    ] = None


@dataclass(frozen=True)
class Limits:
    """How exact a search is to be, and how long it may take."""

    gap: Annotated[float, option(panel=SOLVER, help="Relative tolerance of a component.")] = 1e-4
    eps: Annotated[float, option(panel=SOLVER, help="Absolute tolerance of a component.")] = 0.0
    time_limit: TimeLimit = None
    node_limit: Annotated[
        int | None, option(panel=SOLVER, help="Nodes for one component.")
    ] = None  # fmt: skip
    n_jobs: Jobs = None

    def settings(self, n_components: int, method: str = "branch-and-bound") -> dict[str, Any]:
        """The arguments of ``solve`` that are the same for every sparsity."""
        return {"n_components": n_components, "method": method, **vars(self)}


@dataclass(frozen=True)
class Solver(Limits):
    """The same, and into which blocks the problem may be split."""

    threshold: Annotated[
        str,
        option(
            panel=SOLVER,
            metavar="NUMBER",
            help="Entries below this are ignored between blocks; 0 ignores none, auto chooses.",
        ),
    ] = "0"

    def settings(self, n_components: int, method: str = "branch-and-bound") -> dict[str, Any]:
        """The arguments of ``solve`` that are the same for every sparsity."""
        threshold: str | float = self.threshold
        if threshold != "auto":
            try:
                threshold = float(threshold)
            except ValueError:
                raise InputError(
                    f"threshold must be 'auto' or a number, got {threshold!r}"
                ) from None
        return {**super().settings(n_components, method), "threshold": threshold}


@dataclass(frozen=True)
class Draws:
    """Which other rows are asked."""

    bootstrap: Annotated[
        bool,
        option(
            "--bootstrap",
            panel=ROWS,
            help="Draw rows with replacement instead of half of them without.",
        ),
    ] = False
    fraction: Annotated[
        float | None,
        option(
            panel=ROWS,
            help="Rows in a resample, as a share of all; default 0.5, with --bootstrap 1.",
        ),
    ] = None
    seed: Annotated[int, option(panel=ROWS, help="Seed of folds and resamples.", min=0)] = 0


@dataclass(frozen=True)
class Showing:
    """What is shown, and how much is said."""

    as_json: Annotated[
        bool,
        option(
            "--json",
            panel=OUTPUT,
            help="Print the result as JSON, nothing else; write files only with -o.",
        ),
    ] = False
    show_report: Open = False
    quiet: Quiet = False
    verbose: Annotated[
        bool,
        option(
            "-v", "--verbose", panel=OUTPUT, help="More progress, and how long each part took."
        ),
    ] = False  # fmt: skip


def parse_sparsity(text: str | None) -> int | list[int] | None:
    """Read a sparsity as people write it: one number, or one for each component."""
    if text is None:
        return None
    try:
        limits = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"sparsity must be an integer, or integers with commas, got {text!r}"
        ) from None
    return limits[0] if len(limits) == 1 else limits


def parse_share(text: str, name: str) -> float:
    """Read ``1%`` or ``0.01``."""
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share < float("inf"):
        raise InputError(f"{name} must be a share such as 1% or 0.01, got {text!r}")
    return share
