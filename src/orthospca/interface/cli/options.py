# ruff: noqa: RUF009 (`member` makes a field)
"""The options of the commands, each declared once, in groups that commands share.

A group is a dataclass whose fields are options.  A command that takes one as a parameter has all of
its options, see :func:`command`.  Nothing numerical is imported here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
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
#: Help of options that are also there alone.
SECONDS, WORKERS = "Seconds for everything together.", "Parallel workers."
BROWSER = "Open the report in the browser."
SILENCE = "No progress and no remarks: results and errors only."


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
        hints = get_type_hints(kind)
        for each in fields(kind):
            hint: Any = hints[each.name]
            given = Annotated[hint, each.metadata["option"]]
            flat.append(parameter.replace(name=each.name, default=each.default, annotation=given))

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


def member(default: Any, help: str, *names: str, panel: str, **settings: Any) -> Any:
    """An option of a group."""
    return field(
        default=default, metadata={"option": option(*names, panel=panel, help=help, **settings)}
    )


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
TimeLimit = Annotated[float | None, option(panel=SOLVER, help=SECONDS)]
Jobs = Annotated[int | None, option("--n-jobs", panel=SOLVER, help=WORKERS)]
Proof = Annotated[
    bool,
    option(
        "--proof",
        panel=OUTPUT,
        help="Write certificate.zip too, a proof that `orthospca verify` checks.",
    ),
]
Open = Annotated[bool, option("--open", panel=OUTPUT, help=BROWSER)]
Quiet = Annotated[bool, option("-q", "--quiet", panel=OUTPUT, help=SILENCE)]


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    correlation: bool = member(
        False, "Use correlations instead of covariances.", "--correlation", panel=INPUT
    )
    precomputed: bool | None = member(
        None,
        "Whether DATA is the matrix itself; if not given, observations, and a table that looks "
        "like a matrix is asked about.",
        "--precomputed/--observations",
        panel=INPUT,
    )
    label: list[str] | None = member(
        None,
        "Leave a column out, by name or by number from 1; may be repeated.",
        panel=INPUT,
        metavar="COLUMN",
    )
    missing: MissingValues | None = member(
        None,
        "Missing values: leave out their rows, put the mean of the column, or compute each "
        "covariance from the rows that have both (the matrix may then be indefinite).",
        panel=INPUT,
    )
    transpose: bool = member(
        False, "Rows of DATA are variables, columns are observations.", "--transpose", panel=INPUT
    )
    header: bool | None = member(
        None,
        "Whether the first line of a text file holds names; detected if not given.",
        "--header/--no-header",
        panel=INPUT,
    )
    decimal: DecimalMark | None = member(None, "How decimals are written; detected.", panel=INPUT)
    encoding: str | None = member(
        None, "Encoding of a text file; detected.", panel=INPUT, metavar="NAME"
    )
    key: str | None = member(
        None,
        "The array of an NPZ file that holds several, or the sheet of a workbook.",
        panel=INPUT,
        metavar="NAME",
    )


@dataclass(frozen=True)
class Limits:
    """How exact a search is to be, and how long it may take."""

    gap: float = member(1e-4, "Relative tolerance of a component.", panel=SOLVER)
    eps: float = member(0.0, "Absolute tolerance of a component.", panel=SOLVER)
    time_limit: float | None = member(None, SECONDS, panel=SOLVER)
    node_limit: int | None = member(None, "Nodes for one component.", panel=SOLVER)
    n_jobs: int | None = member(None, WORKERS, panel=SOLVER)

    def settings(self, n_components: int, method: str = "branch-and-bound") -> dict[str, Any]:
        """The arguments of ``solve`` that are the same for every sparsity."""
        return {"n_components": n_components, "method": method, **vars(self)}


@dataclass(frozen=True)
class Solver(Limits):
    """The same, and into which blocks the problem may be split."""

    threshold: str = member(
        "0",
        "Entries below this are ignored between blocks; 0 ignores none, auto chooses.",
        panel=SOLVER,
        metavar="NUMBER",
    )
    memory_limit: str | None = member(
        None,
        "What a matrix formed from data may take, such as 4GB; half of what is free.",
        "--memory",
        panel=SOLVER,
        metavar="SIZE",
    )

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

    bootstrap: bool = member(
        False,
        "Draw rows with replacement instead of half of them without.",
        "--bootstrap",
        panel=ROWS,
    )
    fraction: float | None = member(
        None, "Rows in a resample, as a share of all; default 0.5, with --bootstrap 1.", panel=ROWS
    )
    seed: int = member(0, "Seed of folds and resamples.", panel=ROWS, min=0)


@dataclass(frozen=True)
class Showing:
    """What is shown, and how much is said."""

    as_json: bool = member(
        False,
        "Print the result as JSON, nothing else; write files only with -o.",
        "--json",
        panel=OUTPUT,
    )
    show_report: bool = member(False, BROWSER, "--open", panel=OUTPUT)
    quiet: bool = member(False, SILENCE, "-q", "--quiet", panel=OUTPUT)
    verbose: bool = member(
        False, "More progress, and how long each part took.", "-v", "--verbose", panel=OUTPUT
    )


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
