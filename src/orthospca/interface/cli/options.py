"""The options of the commands, each declared once, in groups that commands share.

A group is a dataclass whose fields are options.  A command that takes one as a parameter has all of
its options, see :func:`command`.  Nothing numerical is imported here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from orthospca._errors import InputError
from orthospca._methods import Choice, Relation

#: Exit codes; 2 is that of bad usage everywhere, 130 is 128 and the number of SIGINT.
SOLVED, REJECTED, BAD_INPUT, OPEN_GAP, INTERRUPTED = 0, 1, 2, 3, 130
#: Nonzeros of a component if nothing is said, unless there are fewer variables.
DEFAULT_SPARSITY = 5


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


def option(
    panel: str | None, help: str, names: str = "", *, default: Any = None, **settings: Any
) -> Any:
    """An option of a group, in a panel of the help; several names have spaces between them."""
    given = typer.Option(*names.split(), rich_help_panel=panel, help=help, **settings)
    return field(default=default, metadata={"option": given})


def parse_share(given: object) -> float:
    """Read ``1%`` or ``0.01``."""
    text = str(given).strip()
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise typer.BadParameter(f"must be a share such as 1% or 0.01, got {text!r}") from None


#: How an option is typed that is a share of something.
SHARE: dict[str, Any] = {"parser": parse_share, "metavar": "SHARE"}

of_command = partial(option, None)
of_input = partial(option, "Input")
of_solver = partial(option, "Tolerances and limits")
of_features = partial(option, "Which variables")
of_rows = partial(option, "Resampling")
of_output = partial(option, "Output")
of_folder = partial(option, panel="Output", names="-o --output", metavar="FOLDER")


class MissingValues(Choice):
    """What may be done with missing values."""

    DROP_ROWS = "drop-rows"
    MEAN = "mean"
    PAIRWISE = "pairwise"


class DecimalMark(Choice):
    """How decimals are written."""

    POINT = "point"
    COMMA = "comma"


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV or other text, GEO series matrix, GCT, Parquet (.parquet), Excel (.xlsx), "
        "NumPy (.npy, .npz), Matrix Market (.mtx) or AnnData (.h5ad); use - for standard input.",
    ),
]


@dataclass(frozen=True)
class Components:
    """What is sought."""

    n_components: int = of_command("Number of components.", "-k --components", default=2)
    sparsity: str | None = of_command(
        "Nonzero loadings per component: one number, or one for each (10,8,5); default "
        f"{DEFAULT_SPARSITY}, or all variables if fewer. `fit -p auto` chooses by held-out rows.",
        "-p --sparsity",
    )

    def __post_init__(self) -> None:
        if self.sparsity != "auto":
            parse_sparsity(self.sparsity)  # what is wrong is told before a file is read

    def settings(self, n: int) -> dict[str, Any]:
        """The arguments of ``solve``, of a problem with so many variables."""
        limits = parse_sparsity(self.sparsity)
        return {**vars(self), "sparsity": min(DEFAULT_SPARSITY, n) if limits is None else limits}


@dataclass(frozen=True)
class Features:
    """Which variables have to be used, and which may not."""

    include: list[str] | None = of_features(
        "Variables that every component contains, by name or number (from 1), separated by "
        "commas; they count towards -p. Repeatable.",
        metavar="NAMES",
    )
    exclude: list[str] | None = of_features(
        "Variables that no component contains. Repeatable.", metavar="NAMES"
    )

    def settings(self, columns: Sequence[str]) -> dict[str, Any]:
        """The arguments of ``solve``: numbers of the variables, and only what was given."""
        given = {"include": self.include, "exclude": self.exclude}
        return {
            name: [_feature(name, entry, columns) for entry in _entries(texts, columns)]
            for name, texts in given.items()
            if texts
        }


@dataclass(frozen=True)
class Constraints(Features):
    """The same, and how components are related."""

    relation: Relation = of_features(
        "orthogonal: loadings are orthogonal; disjoint: each variable serves only one component; "
        "uncorrelated: scores are uncorrelated, and loadings need not be orthogonal.",
        default=Relation.ORTHOGONAL,
        metavar="RELATION",
    )
    nonnegative: bool = of_features(
        "Allow no negative loadings; such components are disjoint.", "--nonnegative", default=False
    )

    def settings(self, columns: Sequence[str]) -> dict[str, Any]:
        """The arguments of ``solve``."""
        asked: dict[str, Any] = super().settings(columns)
        if self.relation is not Relation.ORTHOGONAL:
            asked["relation"] = self.relation
        return asked | ({"nonnegative": True} if self.nonnegative else {})


def _entries(texts: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """The variables that are named, with commas between them unless they are part of a name."""
    for text in texts:
        yield from [text] if text in columns else map(str.strip, text.split(","))


def _feature(name: str, entry: str, columns: Sequence[str]) -> int:
    """The place of a variable, by its name or its number from 1."""
    if entry in columns:
        return list(columns).index(entry)
    if entry.isdecimal() and 1 <= int(entry) <= len(columns):
        return int(entry) - 1
    raise InputError(f"--{name}: {entry!r} is none of the {len(columns)} variables")


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    correlation: bool | None = of_input(
        "Analyse correlations, for variables in different units, or covariances (the default; a "
        "note warns if one variable dominates).",
        "--correlation/--covariance",
    )
    precomputed: bool | None = of_input(
        "DATA is a symmetric matrix, or observations (the default, but you are asked if it looks "
        "like a matrix).",
        "--precomputed/--observations",
    )
    label: list[str] | None = of_input(
        "Leave out a column, by name or number (from 1); repeatable.", metavar="COLUMN"
    )
    keep: list[str] | None = of_input(
        "Keep a column that looks like row numbers; repeatable.", metavar="COLUMN"
    )
    missing: MissingValues | None = of_input(
        "Missing values: drop their rows, use the column mean, or compute each covariance from "
        "the rows that have both values (the matrix may then be indefinite)."
    )
    na: str | None = of_input(
        "Texts that mark missing values, separated by commas, such as 'n.d.,<LOD'."
    )
    transpose: bool = of_input(
        "Rows of DATA are variables, columns are observations.", "--transpose", default=False
    )
    header: bool | None = of_input(
        "Whether the first line of a text file holds names; detected by default.",
        "--header/--no-header",
    )
    decimal: DecimalMark | None = of_input("Decimal mark; detected by default.")
    encoding: str | None = of_input("Encoding of a text file; detected by default.", metavar="NAME")
    key: str | None = of_input(
        "Array of an NPZ file, sheet of a workbook, or gene mask (or all) of an AnnData file.",
        metavar="NAME",
    )
    layer: str | None = of_input("Layer of an AnnData file.", metavar="NAME")


@dataclass(frozen=True)
class Time:
    """How long it may take."""

    time_limit: float | None = of_solver("Seconds in total.")
    n_jobs: int | None = of_solver("Parallel workers.")


@dataclass(frozen=True)
class Limits(Time):
    """The same, and how exact a search is to be."""

    gap: float = of_solver("Stop at this relative gap: 1% or 0.01.", default=1e-4, **SHARE)
    eps: float = of_solver("Stop at this absolute gap.", default=0.0)
    node_limit: int | None = of_solver("Nodes per component.")


@dataclass(frozen=True)
class Solver(Limits):
    """The same, and into which blocks the problem may be split."""

    threshold: str = of_solver(
        "Split into blocks, ignoring smaller entries between them; 0 ignores none, auto chooses.",
        default="0",
        metavar="NUMBER",
    )
    memory_limit: str | None = of_solver(
        "Memory for a matrix formed from data, such as 4GB; default: half of what is free.",
        "--memory",
        metavar="SIZE",
    )

    def settings(self) -> dict[str, Any]:
        """The arguments of ``solve``."""
        given = self.threshold
        try:
            return {**vars(self), "threshold": given if given == "auto" else float(given)}
        except ValueError:
            raise InputError(f"threshold must be 'auto' or a number, got {given!r}") from None


@dataclass(frozen=True)
class Draws:
    """Which other rows are asked."""

    bootstrap: bool = of_rows(
        "Draw as many rows as there are, with replacement, not half of them.",
        "--bootstrap",
        default=False,
    )
    fraction: float | None = of_rows(
        "Share of the rows in a resample; default 0.5, or 1 with --bootstrap."
    )
    random_state: int = of_rows("Random seed for folds and resamples.", "--seed", default=0, min=0)


@dataclass(frozen=True)
class Looking:
    """How much is said, and whether the report is opened."""

    show_report: bool = of_output("Open the report in the browser.", "--open", default=False)
    quiet: bool = of_output("Show only results and errors.", "-q --quiet", default=False)


@dataclass(frozen=True)
class Showing(Looking):
    """The same, where the files go, and in which form the result is shown."""

    output: Path | None = of_folder(help="Folder for the files; default orthospca-out/NAME.")
    as_json: bool = of_output(
        "Print only the result, as JSON; write files only with -o.", "--json", default=False
    )
    verbose: bool = of_output(
        "Show more progress and the time of each step.", "-v --verbose", default=False
    )


@dataclass(frozen=True)
class Proving(Showing):
    """The same, and whether a proof is written."""

    proof: bool = of_output(
        "Also write certificate.zip, a proof for `orthospca verify`.", "--proof", default=False
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
