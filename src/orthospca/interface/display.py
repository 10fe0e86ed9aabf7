"""What the command line shows: the table of components, and what it means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from orthospca._typing import Array
from orthospca.interface.layout import Column, Layout
from orthospca.result import Component, Result, Status, format_gap

if TYPE_CHECKING:
    from orthospca.path import SparsityPath

#: Loadings that are named on the screen; the files have all of them.
MOST_LOADINGS = 40


def component_table(result: Result) -> Layout:
    """The components as a table: what each explains, how far it is proved, what it consists of."""
    stages, total = result.stages, result.total_variance
    columns = (
        Column("#", "#", [str(k) for k in range(1, len(stages) + 1)]),
        Column("variance", "variance", [f"{c.variance:.6g}" for c in stages]),
        Column("of total", "share", [_share(c.variance, total) for c in stages]),
        Column("upper bound", "at most", [f"{c.upper_bound:.6g}" for c in stages]),
        Column("gap", "gap", [format_gap(c.gap) for c in stages]),
        Column("nodes", "nodes", [str(c.nodes) for c in stages]),
        Column("status", "status", [c.status.value for c in stages], left=True),
    )
    words = [_loadings(component, result.feature_names) for component in stages]
    return Layout(columns, words, "loadings")


def closing_sentence(result: Result) -> str:
    """What the result as a whole means, in one sentence."""
    count = result.n_components
    found = f"{count} component{'' if count == 1 else 's'}"
    if result.method == "deflation":
        found += " by deflation (not orthogonal, so their variances do not add up)"
    elif count:
        share = _share(float(result.variances.sum()), result.total_variance)
        found += f", together {share} of the total variance" if share else ""
    if result.objective == "joint" and count:
        return f"{found}; {of_the_set(result)} ({result.runtime:.2f} s)."
    meaning = {
        Status.OPTIMAL: "each is certified within the tolerance",
        Status.EXHAUSTED: "each is certified, and it is proved that no further component exists",
        Status.TIME_LIMIT: "stopped by the time limit; the gaps above are what is left to prove",
        Status.NODE_LIMIT: "stopped by the node limit; the gaps above are what is left to prove",
        Status.THRESHOLD: "blocks solved; the gaps above are what the threshold leaves open",
        Status.FEATURE_LIMIT: "more variables could matter than fit into a matrix; the gaps above "
        "are what is left to prove",
        Status.PRECISION: "everything was searched; the gaps above are what rounding leaves open",
        Status.INTERRUPTED: "interrupted; the gaps above are what is left to prove",
    }[result.status]
    return f"{found}; {meaning} ({result.runtime:.2f} s)."


def of_the_set(result: Result) -> str:
    """What is proved of components that were chosen together."""
    ended = {
        Status.OPTIMAL: "",
        Status.PRECISION: "",
        Status.INTERRUPTED: "interrupted; ",
    }.get(result.status, f"stopped by the {result.status.value}; ")
    return (
        f"{ended}the set has {result.joint_variance:.6g}, and it is proved that no set has more "
        f"than {result.joint_upper_bound:.6g} (gap {format_gap(result.joint_gap)})"
    )


def advice(result: Result) -> str:
    """What can be done about gaps that a limit or an interrupt left open; empty if none are."""
    stopped = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.INTERRUPTED)
    if result.status not in stopped or not result.n_components:
        return ""
    if result.objective == "joint" and result.certificate is not None:
        return (
            "To prove more: without --proof the search branches, which a certificate cannot hold."
        )
    if result.objective == "joint":
        return (
            "To prove more: give it more --time-limit or --node-limit; or ask for less, with a "
            "larger --gap or a smaller -p."
        )
    return (
        "To prove more: give it more time; or ask for less, with a larger --gap or a smaller -p. "
        "With --resume FILE a later run goes on from what was proved."
    )


def beside_pca(result: Result, eigenvalues: Array) -> str:
    """What sparsity costs, against ordinary PCA, and what orthogonality means, in figures."""
    X = result.components
    dense = _share(float(eigenvalues[: len(X)].sum()), result.total_variance)
    deviation = np.abs(X @ X.T - np.eye(len(X))).max(initial=0.0)
    return (
        f"Ordinary PCA, all variables in each of {len(X)} components: {dense}. "
        f"Largest deviation from orthogonality here: {deviation:.1e}."
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
        Column("more", "more", list(map(_share, gained, totals))),
        Column("largest gap", "gap", [format_gap(gap) for gap in gaps]),
        Column("status", "status", [result.status.value for result in results], left=True),
    )
    return Layout(columns)


def path_sentence(path: SparsityPath) -> str:
    """What the path as a whole means, in one sentence."""
    count = len(path.sparsities)
    meaning = (
        "all certified within the tolerance"
        if path.status is Status.OPTIMAL
        else f"stopped ({path.status.value}); the gaps above are what is left to prove"
    )
    return f"{count} sparsit{'y' if count == 1 else 'ies'}; {meaning} ({path.runtime:.2f} s)."


def _share(variance: float, total: float) -> str:
    return f"{variance / total:.1%}" if math.isfinite(total) and total > 0.0 else ""


def _loadings(component: Component, names: tuple[str, ...] | None) -> list[str]:
    """The features, strongest first, each with its loading."""
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    words = [f"{names[j] if names is not None else j} {component.vector[j]:+.2f}" for j in order]
    if len(words) > MOST_LOADINGS:
        words[MOST_LOADINGS:] = [f"and {len(words) - MOST_LOADINGS} more"]
    return words
