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
ROWS = "Resampling"
#: Help of options that are also there alone.
SECONDS, WORKERS = "Seconds in total.", "Parallel workers."
BROWSER = "Open the report in the browser."
SILENCE = "Show only results and errors."


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
        "Matrix Market (.mtx); use - for standard input.",
    ),
]
Components = Annotated[int, option("-k", "--components", help="Number of components.")]
Sparsity = Annotated[
    str | None,
    option(
        "-p",
        "--sparsity",
        help="Nonzero loadings per component: one number, or one for each (10,8,5); default "
        f"{DEFAULT_SPARSITY}, or all variables if fewer.",
    ),
]
TimeLimit = Annotated[float | None, option(panel=SOLVER, help=SECONDS)]
Jobs = Annotated[int | None, option("--n-jobs", panel=SOLVER, help=WORKERS)]
PROOF = "Also write certificate.zip, a proof for `orthospca verify`."
Proof = Annotated[bool, option("--proof", panel=OUTPUT, help=PROOF)]
FOLDER = "Folder for the files; default orthospca-out/NAME."
Output = Annotated[
    Path | None, option("-o", "--output", panel=OUTPUT, metavar="FOLDER", help=FOLDER)
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
        "Whether DATA is a symmetric matrix or observations; by default observations, and you are "
        "asked if it looks like a matrix.",
        "--precomputed/--observations",
        panel=INPUT,
    )
    label: list[str] | None = member(
        None,
        "Leave out a column, by name or number (from 1); repeatable.",
        panel=INPUT,
        metavar="COLUMN",
    )
    missing: MissingValues | None = member(
        None,
        "Missing values: drop their rows, use the column mean, or compute each covariance from "
        "the rows that have both values (the matrix may then be indefinite).",
        panel=INPUT,
    )
    transpose: bool = member(
        False, "Rows of DATA are variables, columns are observations.", "--transpose", panel=INPUT
    )
    header: bool | None = member(
        None,
        "Whether the first line of a text file holds names; detected by default.",
        "--header/--no-header",
        panel=INPUT,
    )
    decimal: DecimalMark | None = member(None, "Decimal mark; detected by default.", panel=INPUT)
    encoding: str | None = member(
        None, "Encoding of a text file; detected by default.", panel=INPUT, metavar="NAME"
    )
    key: str | None = member(
        None,
        "Which array of an NPZ file, or which sheet of a workbook.",
        panel=INPUT,
        metavar="NAME",
    )


@dataclass(frozen=True)
class Limits:
    """How exact a search is to be, and how long it may take."""

    gap: float = member(1e-4, "Stop at this relative gap.", panel=SOLVER)
    eps: float = member(0.0, "Stop at this absolute gap.", panel=SOLVER)
    time_limit: float | None = member(None, SECONDS, panel=SOLVER)
    node_limit: int | None = member(None, "Nodes per component.", panel=SOLVER)
    n_jobs: int | None = member(None, WORKERS, panel=SOLVER)

    def settings(self, n_components: int, method: str = "branch-and-bound") -> dict[str, Any]:
        """The arguments of ``solve`` that are the same for every sparsity."""
        return {"n_components": n_components, "method": method, **vars(self)}


@dataclass(frozen=True)
class Solver(Limits):
    """The same, and into which blocks the problem may be split."""

    threshold: str = member(
        "0",
        "Split into blocks, ignoring smaller entries between them; 0 ignores none, auto chooses.",
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
        given = self.threshold
        try:
            threshold: str | float = given if given == "auto" else float(given)
        except ValueError:
            raise InputError(f"threshold must be 'auto' or a number, got {given!r}") from None
        return {**super().settings(n_components, method), "threshold": threshold}


@dataclass(frozen=True)
class Draws:
    """Which other rows are asked."""

    bootstrap: bool = member(
        False,
        "Draw all rows with replacement instead of half of them without.",
        "--bootstrap",
        panel=ROWS,
    )
    fraction: float | None = member(
        None, "Share of the rows in a resample; default 0.5, or 1 with --bootstrap.", panel=ROWS
    )
    seed: int = member(0, "Random seed for folds and resamples.", panel=ROWS, min=0)


@dataclass(frozen=True)
class Showing:
    """What is shown, and how much is said."""

    as_json: bool = member(
        False, "Print only the result, as JSON; write files only with -o.", "--json", panel=OUTPUT
    )
    show_report: bool = member(False, BROWSER, "--open", panel=OUTPUT)
    quiet: bool = member(False, SILENCE, "-q", "--quiet", panel=OUTPUT)
    verbose: bool = member(
        False, "Show more progress and the time of each step.", "-v", "--verbose", panel=OUTPUT
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
