"""The command line.

Nothing numerical is imported before a command runs, so that ``orthospca --help`` answers at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from orthospca._typing import Array
    from orthospca.result import Result

SOLVED, BAD_INPUT, OPEN_GAP = 0, 2, 3

app = typer.Typer(
    name="orthospca",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Sparse principal components that are exactly orthogonal and provably optimal.",
    epilog="Exit codes: 0 solved within tolerance, 2 bad input, 3 stopped with an open gap.",
)


class Method(str, Enum):
    """The methods of :func:`orthospca.solve`."""

    BRANCH_AND_BOUND = "branch-and-bound"
    EIGENVALUE = "eigenvalue"
    ENUMERATION = "enumeration"
    DEFLATION = "deflation"


def main() -> None:
    """Run the command line."""
    app()


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


@app.command()
def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or TSV file.")],
    n_components: Annotated[
        int, typer.Option("-k", "--components", help="How many components.")
    ] = 2,
    sparsity: Annotated[
        str,
        typer.Option(
            "-p", "--sparsity", help="Nonzeros in a component; one number, or K with commas."
        ),
    ] = "5",
    correlation: Annotated[
        bool, typer.Option("--correlation", help="Use correlations instead of covariances.")
    ] = False,
    precomputed: Annotated[
        bool, typer.Option("--precomputed", help="DATA is the matrix itself, not observations.")
    ] = False,
    method: Annotated[Method, typer.Option(help="How to solve.")] = Method.BRANCH_AND_BOUND,
    gap: Annotated[float, typer.Option(help="Relative tolerance of a stage.")] = 1e-4,
    eps: Annotated[float, typer.Option(help="Absolute tolerance of a stage.")] = 0.0,
    threshold: Annotated[
        float, typer.Option(help="Entries below this may be ignored; 0 ignores none.")
    ] = 0.0,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for all components together.")
    ] = None,
    node_limit: Annotated[int | None, typer.Option(help="Nodes for one component.")] = None,
    n_jobs: Annotated[int | None, typer.Option(help="Parallel workers.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for loadings.csv and result.json."),
    ] = None,
) -> None:
    """Find sparse components of a table of observations, or of a matrix.

    Rows of DATA are observations, columns are variables; a header, row labels and columns of text
    are recognised. With `--precomputed`, DATA is a symmetric matrix.

    For example:

    `orthospca fit measurements.csv -k 3 -p 5 --correlation`

    `orthospca fit covariance.csv -k 2 -p 10 --precomputed --time-limit 60 -o results`

    Ctrl-C stops the search; the best components so far are shown and written, with their gaps.
    """
    with _one_sentence_errors():
        from orthospca.tables import TableError, read_table

        if correlation and precomputed:
            raise TableError("--correlation and --precomputed exclude each other")
        settings: dict[str, Any] = {
            "sparsity": _sparsity(sparsity),
            "n_components": n_components,
            "method": method.value,
            "gap": gap,
            "eps": eps,
            "threshold": threshold,
            "time_limit": time_limit,
            "node_limit": node_limit,
            "n_jobs": n_jobs,
        }
        table = read_table(data)
        if precomputed:
            Q = table.square()
        else:
            Q = table.correlation() if correlation else table.covariance()
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
        kind = "matrix" if precomputed else f"{len(table.values)} observations"
        left_out = f"; left out as labels: {', '.join(table.labels)}" if table.labels else ""
        typer.echo(f"{data}: {kind}, {len(table.columns)} variables{left_out}", err=True)
        result = _solve(Q, table.columns, settings)
        _show(result)
        if output is not None:
            _write(result, output)
    raise typer.Exit(_exit_code(result))


@app.command()
def demo() -> None:
    """Solve two bundled examples and show what comes back."""
    from orthospca import datasets

    codes = []
    for dataset, n_components, sparsity in (
        (datasets.load_pitprops(), 6, 5),
        (datasets.load_breast_cancer(), 5, 8),
    ):
        typer.echo(f"\n{dataset.description}")
        typer.echo(
            f"{n_components} orthogonal components with at most {sparsity} nonzero loadings each, "
            f"from the correlations of {dataset.n_features} variables:"
        )
        Q = dataset.correlation()
        settings = {"sparsity": sparsity, "n_components": n_components}
        result = _solve(Q, dataset.feature_names, settings)
        _show(result)
        typer.echo(_beside_pca(result, Q))
        codes.append(_exit_code(result))
    raise typer.Exit(max(codes))


def _solve(Q: Array, names: tuple[str, ...], settings: dict[str, Any]) -> Result:
    from dataclasses import replace

    from orthospca._display import ProgressDisplay
    from orthospca.components import solve

    with ProgressDisplay(Console(stderr=True), settings["n_components"]) as progress:
        result = solve(Q, callback=progress, **settings)
    return replace(result, feature_names=names)


def _show(result: Result) -> None:
    from orthospca._display import closing_sentence, component_table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 110)
    console.print(component_table(result))
    console.print(closing_sentence(result), soft_wrap=True, markup=False)


def _beside_pca(result: Result, Q: Array) -> str:
    """How much orthogonality and sparsity cost, against ordinary PCA, and what they give."""
    import numpy as np

    X = result.components
    dense = np.linalg.eigvalsh(Q)[::-1][: len(X)].sum() / np.trace(Q)
    deviation = np.abs(X @ X.T - np.eye(len(X))).max()
    return (
        f"Ordinary PCA, all variables in each of {len(X)} components: {dense:.1%}. "
        f"Largest deviation from orthogonality here: {deviation:.1e}."
    )


def _write(result: Result, folder: Path) -> None:
    """Write ``loadings.csv``, a line for each variable, and ``result.json``."""
    import csv

    names = result.feature_names or tuple(map(str, range(result.n_features)))
    with open(folder / "loadings.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        numbers = range(1, result.n_components + 1)
        writer.writerow(["variable", *(f"component{k}" for k in numbers)])
        for name, loadings in zip(names, result.components.T.tolist(), strict=True):
            writer.writerow([name, *loadings])
    result.save(folder / "result.json")
    typer.echo(f"wrote {folder / 'loadings.csv'} and {folder / 'result.json'}", err=True)


def _exit_code(result: Result) -> int:
    from orthospca.result import Status

    return SOLVED if result.status in (Status.OPTIMAL, Status.EXHAUSTED) else OPEN_GAP


def _sparsity(text: str) -> int | list[int]:
    try:
        limits = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"sparsity must be an integer, or integers with commas, got {text!r}"
        ) from None
    return limits[0] if len(limits) == 1 else limits


@contextmanager
def _one_sentence_errors() -> Iterator[None]:
    """Turn what is wrong with the input into one sentence and exit code 2."""
    try:
        yield
    except (ValueError, OSError) as error:
        typer.echo(f"orthospca: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        typer.echo("orthospca: interrupted before a component was found", err=True)
        raise typer.Exit(OPEN_GAP) from None
