"""The pictures of one result: loadings, variances, gaps over time, angles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from orthospca import words
from orthospca._typing import Array, IntArray
from orthospca.interface.angles import cosines, write_cosine
from orthospca.interface.grouping import TONES
from orthospca.interface.plots.spec import XY, Axis, Bars, Caps, Grid, Line, Mark
from orthospca.interface.plots.text import not_shown, percent, plain, signed
from orthospca.result import Result, format_gap

#: Points of one line; points that are seen one by one.
MOST_POINTS, MOST_DOTS = 150, 40
#: A larger gap is drawn as this, a smaller one as that.
LARGEST_GAP, SMALLEST_GAP = 10.0, 1e-9
#: Cosines up to this are rounding.
ROUNDING = 1e-10
NOTHING = "there are no components"


def names_of(result: Result) -> Sequence[str]:
    """The names of the variables, or their numbers."""
    return result.feature_names or [str(j) for j in range(result.n_features)]


def strongest(vector: Array, which: Iterable[int]) -> list[int]:
    """Some variables, those with the largest loadings first."""
    return sorted(map(int, which), key=lambda j: (-abs(vector[j]), j))


def by_component(X: Array, most: int | None = None) -> tuple[IntArray, int]:
    """The variables in use: grouped by the component in which they load most, as strongly.

    Parameters
    ----------
    X : ndarray of shape (K, n)
    most : int, optional
        So many of them, with the largest loadings; how many others there are is returned too.
    """
    return in_groups(np.abs(X).max(axis=0, initial=0.0), np.abs(X), most)


def in_groups(
    strength: Array, belongs: Array, most: int | None, among: IntArray | None = None
) -> tuple[IntArray, int]:
    """Return variables that have a strength, group by group; and how many are left out.

    Parameters
    ----------
    strength : ndarray of shape (n,)
        The strongest come first within a group, and are kept if there are too many.
    belongs : ndarray of shape (groups, n)
        How much a variable belongs to each group: its own is the first one with the most.
    most : int, optional
        How many are kept.
    among : ndarray of int, optional
        In place of those that have a strength.
    """
    used = np.flatnonzero(strength) if among is None else among
    kept = used[np.argsort(-strength[used], kind="stable")[:most]]
    home = belongs[:, kept].argmax(axis=0) if len(belongs) else np.zeros(len(kept))
    return kept[np.lexsort((kept, -strength[kept], home))], len(used) - len(kept)


def loadings(result: Result, names: Sequence[str], most: int) -> Grid:
    """A row for each variable in use, a column for each component."""
    X = result.components
    rows, left_out = by_component(X, most)
    numbers = [str(k) for k in range(1, len(X) + 1)]
    return Grid(
        "loadings",
        "Loadings by component",
        "Red is positive, blue is negative, and an empty cell is an exact zero. Variables are "
        "grouped by the component in which they load most.",
        X[:, rows].T,
        [names[j] for j in rows],
        numbers,
        column_label="component",
        column_names=[f"component {k}" for k in numbers],
        write=lambda v: signed(v, 2),
        value_label="loading",
        left_out=not_shown(left_out),
        empty="" if len(X) else NOTHING,
    )


def scree(result: Result, eigenvalues: Array) -> XY:
    """Variance of each component beside ordinary PCA, if its variances are given."""
    total, count = result.total_variance, result.n_components
    dense = eigenvalues[: max(count, 1)]

    def share(variance: float, text: str) -> str:
        return text.format(percent(variance / total)) if total > 0.0 else ""

    label = "sparse, orthogonal" + share(float(result.variances.sum()), ": {} in all")
    if not result.orthogonal:
        deflated = result.method == "deflation"
        label = f"sparse, {'by deflation' if deflated else 'uncorrelated'} (not orthogonal)"
    tips, bounds = [], {}
    for k, c in enumerate(result.stages, start=1):
        upper = words.written_bound(result, c)
        written = plain(upper, 6 if words.is_set(result) else 5)
        tip = f"component {k}: {plain(c.variance, 5)}{share(c.variance, ' ({})')}"
        tip += f"\n{words.bound_label(result)} {written}"
        if len(dense):
            value = float(dense[k - 1])
            tip += f"\nordinary PCA {plain(value, 5)}{share(value, ' ({})')}"
        tips.append(tip)
        if words.is_open(result, c) and result.method != "deflation":
            bounds[float(k)] = upper
    x = range(1, count + 1)
    marks: list[Mark] = [Bars(label, x, result.variances.tolist(), tips)]
    beside = ""
    if len(dense):
        name = "ordinary PCA" + share(float(dense.sum()), ": {} in all")
        line = range(1, len(dense) + 1)
        marks.append(Line(name, line, dense.tolist(), tone=1, dots=count <= MOST_DOTS))
        beside = ", beside ordinary PCA, which uses all variables"
    if all(map(math.isfinite, bounds.values())) and bounds:
        marks.append(
            Caps(f"{words.bound_label(result)}, gap open", list(bounds), list(bounds.values()))
        )
    return XY(
        "variance",
        "Variance of each component",
        f"Variance of each component{beside}.",
        marks,
        Axis("component", whole=True),
        Axis("variance", zero=True),
        near="x",
    )


def explained(result: Result, eigenvalues: Array) -> XY:
    """The share of the total variance that is explained so far."""
    total = result.total_variance
    sparse = (100 * np.cumsum(result.variances) / total).tolist()
    dense = (100 * np.cumsum(eigenvalues[: len(sparse)]) / total).tolist()
    x, dots = range(1, len(sparse) + 1), len(sparse) <= MOST_DOTS
    beside = [f"\nordinary PCA: {b:.1f} %" for b in dense] or [""] * len(sparse)
    tips = [f"first {k}: {a:.1f} %{b}" for k, a, b in zip(x, sparse, beside, strict=True)]
    marks = [Line("ordinary PCA", x, dense, tone=1, dots=dots)] if dense else []
    return XY(
        "explained",
        "Explained so far",
        "The distance between the lines is the price of sparsity." if dense else "",
        [*marks, Line("sparse, orthogonal", x, sparse, tips, dots=dots)],
        Axis("components", whole=True),
        Axis("% of the total variance", limits=(0.0, 102.0)),
        near="x",
    )


def gaps(result: Result, most: int | None = None) -> XY:
    """How the gap of each component, or of the set, closed; of so many that took longest."""
    together = words.is_set(result)
    by_stage: dict[int, list[tuple[float, float, int]]] = {}
    for entry in result.history:
        by_stage.setdefault(entry.stage, []).append((entry.elapsed, entry.gap, entry.nodes))
    ends = {stage: by_stage[stage][-1][0] for stage in sorted(by_stage)}
    starts = dict(zip(ends, [0.0, *ends.values()], strict=False))
    longest = sorted(ends, key=lambda stage: starts[stage] - ends[stage])[:most]
    marks = []
    for stage in sorted(longest):
        # The last entry, and so many of the others that a line can show.
        entries = by_stage[stage][:: -math.ceil(len(by_stage[stage]) / MOST_POINTS)][::-1]
        times = [starts[stage], *(t for t, _, _ in entries)]
        values = [LARGEST_GAP, *(min(max(g, SMALLEST_GAP), LARGEST_GAP) for _, g, _ in entries)]
        whose = "all components" if together else f"component {stage + 1}"
        tips = [f"{whose}: the search begins"]
        tips += [
            f"{whose}, {plain(t, 3)} s\ngap {format_gap(g)}\n{nodes} nodes"
            for t, g, nodes in entries
        ]
        look: dict[str, Any] = {"step": True, "dots": False, "tone": stage % TONES}
        ending = "all" if together else str(stage + 1)
        marks.append(Line("", times, values, tips, ending=ending, **look))
    caption = (
        "The gap between the best component so far and the proved bound, over time. A line ends, "
        "with the number of its component, where the certificate was complete or the search ended."
    )
    of_set = (
        "The gap between the total variance of the best set so far and the proved bound on all "
        "sets, over time."
    )
    left_out = f"of {len(by_stage)} components, the {len(marks)} that took longest"
    return XY(
        "gaps",
        f"Proved gap of {'all components together' if together else 'each component'} over time",
        of_set if together else caption,
        marks,
        Axis("seconds", zero=True),
        Axis("gap", log=True, floor=SMALLEST_GAP, write=lambda v: f"{plain(100 * v, 2)} %"),
        left_out=left_out if len(marks) < len(by_stage) else "",
    )


def angles(result: Result) -> Grid:
    """``|cos|`` of the angle between each two components."""
    found = cosines(result)
    names = [str(k) for k in range(1, len(found) + 1)]
    largest = write_cosine(float(found.max(initial=0.0)))
    return Grid(
        "cosines",
        f"Angles between components: largest |cos| is {largest}",
        "|cos| of the angle between each two components. Cells without colour are orthogonal, up "
        "to rounding.",
        np.where(found > ROUNDING, found, 0.0),
        names,
        names,
        column_label="component",
        write=write_cosine,
        largest=1.0,
        signed=False,
        value_label="|cos|",
        cell=(44.0, 24.0),
        empty="" if len(found) else NOTHING,
    )
