"""What the command line shows: the table of components, and what it means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from orthospca import words
from orthospca._typing import Array
from orthospca.interface.layout import Column, Layout
from orthospca.result import Component, Result, Status, format_gap

if TYPE_CHECKING:
    from orthospca.path import SparsityPath

#: Loadings that are named on the screen; the files have all of them.
MOST_LOADINGS = 40


def component_table(result: Result) -> Layout:
    """The components as a table: what each explains, how far it is proved, what it consists of."""
    rows, total = words.lines(result), result.total_variance
    columns = (
        Column("#", "#", [row.name for row in rows]),
        Column("variance", "variance", [f"{row.variance:.6g}" for row in rows]),
        Column("of total", "share", [_share(row.variance, total) for row in rows]),
        Column("upper bound", "bound", [f"{row.upper_bound:.6g}" for row in rows]),
        Column("gap", "gap", [row.gap for row in rows]),
        Column("nodes", "nodes", ["" if row.nodes is None else str(row.nodes) for row in rows]),
        Column("status", "status", [row.status for row in rows], left=True),
    )
    loadings = [_loadings(component, result.feature_names) for component in result.stages]
    # The line of a set has none.
    return Layout(columns, [*loadings, *([[]] * (len(rows) - len(loadings)))], "loadings")


def closing_sentence(result: Result) -> str:
    """What the result as a whole means, in one sentence."""
    sentence = f"{words.counted(result)}; {words.meaning(result)} ({result.runtime:.2f} s)."
    return f"{sentence} {words.IN_ITS_PLACE}" if words.is_set(result) else sentence


def advice(result: Result) -> str:
    """What can be done about gaps that are open; empty if none are."""
    given = words.advice(result, _option)
    stopped = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.INTERRUPTED)
    if given and result.objective == "stagewise" and result.status in stopped:
        given += " With --resume FILE, a later run continues from here."
    return given


def _option(argument: str) -> str:
    """How an argument of ``solve`` is typed."""
    return "-p" if argument == "sparsity" else f"--{argument.replace('_', '-')}"


def beside_pca(result: Result, eigenvalues: Array) -> str:
    """What sparsity costs, against ordinary PCA, and what orthogonality means, in figures."""
    X = result.components
    dense = _share(float(eigenvalues[: len(X)].sum()), result.total_variance)
    deviation = np.abs(X @ X.T - np.eye(len(X))).max(initial=0.0)
    return (
        f"{len(X)} ordinary components, using all variables: {dense}. "
        f"Deviation from orthogonality: {deviation:.1e} at most."
    )


def path_table(path: SparsityPath) -> Layout:
    """Variance and what is proved of it, a line for each sparsity."""
    results = path.results
    variances = [float(result.variances.sum()) for result in results]
    gained = np.diff([0.0, *variances]).tolist()
    totals = [result.total_variance for result in results]
    gaps = [float(result.gaps.max(initial=0.0)) for result in results]
    columns = (
        Column("sparsity", "p", [str(sparsity) for sparsity in path.sparsities]),
        Column("components", "K", [str(result.n_components) for result in results]),
        Column("variance", "variance", [f"{variance:.6g}" for variance in variances]),
        Column("of total", "share", list(map(_share, variances, totals))),
        Column("gain", "gain", list(map(_share, gained, totals))),
        Column("largest gap", "gap", [format_gap(gap) for gap in gaps]),
        Column("status", "status", [result.status.value for result in results], left=True),
    )
    return Layout(columns)


def path_sentence(path: SparsityPath) -> str:
    """What the path as a whole means, in one sentence."""
    count = len(path.sparsities)
    proved = words.of_path(path)
    return f"{count} sparsit{'y' if count == 1 else 'ies'}; {proved} ({path.runtime:.2f} s)."


def _share(variance: float, total: float) -> str:
    return f"{variance / total:.1%}" if math.isfinite(total) and total > 0.0 else ""


def _loadings(component: Component, names: tuple[str, ...] | None) -> list[str]:
    """The features, strongest first, each with its loading."""
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    named = [f"{names[j] if names is not None else j} {component.vector[j]:+.2f}" for j in order]
    if len(named) > MOST_LOADINGS:
        named[MOST_LOADINGS:] = [f"and {len(named) - MOST_LOADINGS} more"]
    return named
