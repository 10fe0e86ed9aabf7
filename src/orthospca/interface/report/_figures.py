"""The charts of one result, each with what it shows in words."""

from __future__ import annotations

import math

import numpy as np

from orthospca import words
from orthospca.interface.angles import cosines as angles
from orthospca.interface.angles import write_cosine
from orthospca.interface.grouping import TONES
from orthospca.interface.report._charts import Axis, Band, Bars, Caps, Line, figure, xy_chart
from orthospca.interface.report._heat import heat_map
from orthospca.interface.report._html import Html, table
from orthospca.interface.report._layers import Layer
from orthospca.interface.report._section import Section, percent, signed
from orthospca.interface.report._svg import plain
from orthospca.result import Component, Status, format_gap

#: Variables and components whose loadings have room for names beside them.
MOST_ROWS, MOST_COLUMNS = 60, 20
#: Cells of a heat map; the smallest beyond so many are left out.
MOST_CELLS = 20_000
#: Lines in the chart of gaps: the stages that took longest.
MOST_STAGES = 16
#: Points of one line.
MOST_POINTS = 150
#: A larger gap is drawn as this, a smaller one as that.
LARGEST_GAP, SMALLEST_GAP = 10.0, 1e-9


def loadings_map(section: Section) -> Html:
    """All loadings as colours; a row for each variable, or for each component if they are many."""
    result, order = section.result, section.order
    X = result.components[:, order]
    components = [f"component {k}" for k in range(1, len(X) + 1)]
    names = [section.names[j] for j in order]
    largest = float(np.abs(X).max(initial=0.0)) or 1.0
    told = f"Heat map of the loadings of {len(order)} variables on {len(X)} components."
    if len(order) <= MOST_ROWS and len(X) <= MOST_COLUMNS:
        chart = heat_map(
            X.T,
            names,
            [str(k) for k in range(1, len(X) + 1)],
            label=told,
            column_label="component",
            write=lambda v: signed(v, 2),
            largest=largest,
        )
        chart.data["columns"] = components
        caption = (
            "Red is positive, blue is negative, and an empty cell is an exact zero. Variables are "
            "grouped by the component in which they load most."
        )
        kind = "full" if chart.width > 560.0 else ""
        return figure(chart, "loadings", "All loadings", caption, kind=kind)
    # Within a component from the most positive to the most negative, so that signs are in blocks.
    home = np.abs(X).argmax(axis=0)
    shown = np.lexsort((-X[home, np.arange(len(order))], home))
    X, names = X[:, shown], [names[j] for j in shown]
    kept = X
    if np.count_nonzero(X) > MOST_CELLS:
        limit = np.partition(np.abs(X).ravel(), -MOST_CELLS)[-MOST_CELLS]
        kept = np.where(np.abs(X) >= limit, X, 0.0)
    chart = heat_map(
        kept,
        components,
        names,
        label=told,
        column_label="variables, those of the first component first",
        write=lambda v: signed(v, 3),
        largest=0.6 * largest,
        cell=(min(14.0, 860.0 / len(order)), min(16.0, max(5.0, 560.0 / len(X)))),
        names=False,
    )
    caption = (
        f"A row for each component, a column for each of the {len(order)} variables in use. Red is "
        "positive, blue is negative; where there is no colour, the loading is exactly zero. Point "
        "at a cell to see which it is."
    )
    if kept is not X:
        caption += f" Only the {MOST_CELLS} largest loadings are drawn."
    return figure(chart, "loadings", "All loadings", caption, kind="full")


def scree(section: Section) -> Html:
    """Variance of each component beside ordinary PCA."""
    result = section.result
    total = result.total_variance
    has_total = math.isfinite(total) and total > 0.0
    count = result.n_components
    dense = section.eigenvalues[:count]
    x = list(range(1, count + 1))
    label = "sparse, orthogonal"
    if result.method == "deflation":
        label = "sparse, by deflation (not orthogonal)"
    elif has_total:
        label += f": {percent(float(result.variances.sum()) / total)}"
    tips = []
    for k, c in enumerate(result.stages, start=1):
        share = f" ({percent(c.variance / total)})" if has_total else ""
        written = plain(c.upper_bound, 5)
        if words.is_set(result):
            written = plain(words.rounded_up(c.upper_bound), 6)
        bound = f"{words.bound_label(result)} {written}"
        tip = f"component {k}: {plain(c.variance, 5)}{share}\n{bound}"
        if len(dense):
            value = float(dense[k - 1])
            pca = f" ({percent(value / total)})" if has_total else ""
            tip += f"\nordinary PCA {plain(value, 5)}{pca}"
        tips.append(tip)
    open_ones = [
        (k, c.upper_bound)
        for k, c in enumerate(result.stages, start=1)
        if words.is_open(result, c) and math.isfinite(c.upper_bound)
    ]
    caps = []
    if open_ones and result.method != "deflation":
        x_open, bounds = [float(k) for k, _ in open_ones], [bound for _, bound in open_ones]
        caps.append(Caps(f"{words.bound_label(result)}, gap open", x_open, bounds))
    layers: list[Layer] = [Bars(label, x, result.variances.tolist(), tips)]
    told = f"Bars: variance of {count} sparse components."
    caption = "Variance of each component."
    if len(dense):
        share = f": {percent(float(dense.sum()) / total)}" if has_total else ""
        line = Line(f"ordinary PCA{share}", x, dense.tolist(), tone=1, dots=count <= 40)
        layers.append(line)
        told += " Line: those of ordinary PCA."
        caption = "Variance of each component, beside ordinary PCA, which uses all variables."
    chart = xy_chart(
        [*layers, *caps],
        x=Axis("component", whole=True),
        y=Axis("variance", zero=True),
        label=told,
        near="x",
    )
    return figure(chart, "variance", "Variance, component by component", caption)


def cumulative(section: Section) -> Html:
    """The share of the total variance that is explained so far."""
    result, total = section.result, section.result.total_variance
    sparse = (100 * np.cumsum(result.variances) / total).tolist()
    dense = (100 * np.cumsum(section.eigenvalues[: len(sparse)]) / total).tolist()
    x = list(range(1, len(sparse) + 1))
    tips = [f"first {k}: {a:.1f} %" for k, a in zip(x, sparse, strict=True)]
    layers = []
    if dense:
        tips = [f"{tip}\nordinary PCA: {b:.1f} %" for tip, b in zip(tips, dense, strict=True)]
        layers.append(Line("ordinary PCA", x, dense, tone=1, dots=len(x) <= 40))
    layers.append(Line("sparse, orthogonal", x, sparse, tips, dots=len(x) <= 40))
    chart = xy_chart(
        layers,
        x=Axis("components", whole=True),
        y=Axis("% of the total variance", limits=(0.0, 102.0)),
        label="Lines: share of the total variance by number of components.",
        near="x",
    )
    caption = "The distance between the lines is the price of sparsity." if dense else ""
    return figure(chart, "explained", "Explained so far", caption)


def gaps(section: Section) -> Html | None:
    """How the gap of each component, or of the set, closed."""
    history, together = section.result.history, words.is_set(section.result)
    by_stage: dict[int, list[tuple[float, float, int]]] = {}
    for entry in history:
        by_stage.setdefault(entry.stage, []).append((entry.elapsed, entry.gap, entry.nodes))
    if not by_stage:
        return None
    starts, end = {}, 0.0
    for stage in sorted(by_stage):
        starts[stage], end = end, by_stage[stage][-1][0]
    longest = sorted(by_stage, key=lambda s: starts[s] - by_stage[s][-1][0])[:MOST_STAGES]
    layers = []
    for stage in sorted(longest):
        entries = _thinned(by_stage[stage])
        times = [starts[stage], *(t for t, _, _ in entries)]
        values = [LARGEST_GAP, *(min(max(g, SMALLEST_GAP), LARGEST_GAP) for _, g, _ in entries)]
        whose = "all components" if together else f"component {stage + 1}"
        tips = [f"{whose}: the search begins"]
        tips += [
            f"{whose}, {plain(t, 3)} s\ngap {format_gap(g)}\n{nodes} nodes"
            for t, g, nodes in entries
        ]
        layers.append(
            Line(
                "", times, values, tips, stage % TONES, step=True, dots=False,
                ending="all" if together else str(stage + 1),
            )
        )  # fmt: skip
    whose_gaps = "the set" if together else f"{len(layers)} components"
    chart = xy_chart(
        layers,
        x=Axis("seconds", zero=True),
        y=Axis("gap", log=True, floor=SMALLEST_GAP, write=lambda v: f"{plain(100 * v, 2)} %"),
        label=f"The proved gap of {whose_gaps} over time, on a logarithmic scale.",
    )
    caption = (
        "How the distance between the component in hand and the proved bound closed. A line ends, "
        "with the number of its component, where the certificate was complete or the search ended."
    )
    if together:
        caption = (
            "How the distance between the total variance of the set in hand and the proved bound "
            "of all sets closed."
        )
    if len(layers) < len(by_stage):
        caption += f" Of {len(by_stage)} components, the {len(layers)} that took longest."
    return figure(chart, "gaps", "Gap over time", caption)


def _thinned(entries: list[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
    """The last entry, and so many of the others that a line can show."""
    every = math.ceil(len(entries) / MOST_POINTS)
    return [entry for i, entry in enumerate(entries) if (len(entries) - 1 - i) % every == 0]


def path_chart(section: Section) -> Html:
    """The certified variance of the first component by sparsity."""
    path, total = section.result.path, section.result.total_variance
    scale = 100.0 / total if math.isfinite(total) and total > 0.0 else 1.0
    unit = "% of the total variance" if scale != 1.0 else "variance"
    x = list(range(1, len(path) + 1))
    values = [scale * c.variance for c in path]
    bounds = [scale * max(c.upper_bound, c.variance) for c in path]
    is_open = [c.status is not Status.OPTIMAL for c in path]
    tips = [
        f"at most {p} variable{'' if p == 1 else 's'}: {plain(v, 4)}{' %' * (scale != 1.0)}\n"
        f"{'certified, gap ' if c.status is Status.OPTIMAL else 'gap '}{format_gap(c.gap)}"
        for p, v, c in zip(x, values, path, strict=True)
    ]
    layers = [Line("certified", x, values, tips, hollow=is_open)]
    if any(is_open) and all(map(math.isfinite, bounds)):
        layers.insert(0, Band("not excluded yet", x, values, bounds))  # type: ignore[arg-type]
    chart = xy_chart(
        layers,
        x=Axis("variables allowed in the first component", whole=True),
        y=Axis(unit, zero=True),
        label="A line: the variance of the first component by the number of variables allowed.",
        near="x",
    )
    caption = (
        "The best first component for every smaller number of variables: the solver meets all of "
        "them on its way, with their proofs. Where the line is flat, a sparser component does as "
        "well." + (" Hollow points have an open gap." if any(is_open) else "")
    )
    return figure(chart, "path", "Variance by sparsity", caption, numbers=_path_table(section))


def path_map(section: Section) -> Html | None:
    """Which variables the first component uses, by sparsity."""
    path = section.result.path
    X = np.array([c.vector for c in path])
    used = np.flatnonzero(np.abs(X).max(axis=0, initial=0.0))
    if len(used) > MOST_ROWS // 2 or len(path) > 2 * MOST_COLUMNS:
        return None
    first = np.abs(X[:, used] > 0) | (X[:, used] < 0)
    order = used[np.lexsort((-first.sum(axis=0), first.argmax(axis=0)))]
    columns = [str(p) for p in range(1, len(path) + 1)]
    chart = heat_map(
        X[:, order].T,
        [section.names[j] for j in order],
        columns,
        label="Heat map: which variables the first component uses, by sparsity.",
        column_label="variables allowed",
        write=lambda v: signed(v, 2),
        cell=(min(30.0, max(14.0, 420.0 / len(path))), 20.0),
    )
    chart.data["columns"] = [f"at most {p}" for p in columns]
    caption = "A variable enters where its row begins; one that leaves has been replaced."
    kind = "full" if chart.width > 560.0 else ""
    return figure(chart, "path-variables", "Which variables enter and leave", caption, kind=kind)


def _path_table(section: Section) -> Html:
    rows = []
    before: set[int] = set()
    for p, c in enumerate(section.result.path, start=1):
        now = set(c.support.tolist())
        rows.append(
            [
                p,
                f"{c.variance:#.6g}",
                f"{c.upper_bound:#.6g}",
                format_gap(c.gap),
                _listed(section, now - before, c),
                _listed(section, before - now, c),
            ]
        )
        before = now
    headings = ["variables", "variance", "proved bound", "gap", "enter", "leave"]
    return table(headings, rows, 4, caption="The first component by sparsity")


def _listed(section: Section, which: set[int], component: Component) -> str:
    strongest = sorted(which, key=lambda j: (-abs(component.vector[j]), j))
    return ", ".join(section.names[j] for j in strongest)


def cosines(section: Section) -> Html:
    """The angles between components that are not orthogonal."""
    below = angles(section.result)
    names = [str(k) for k in range(1, len(below) + 1)]
    chart = heat_map(
        below,
        names,
        names,
        label="Heat map of the cosines between components.",
        column_label="component",
        write=write_cosine,
        largest=1.0,
        cell=(38.0, 24.0),
    )
    caption = "|cos| of the angle between each two components; orthogonal ones have 0."
    return figure(chart, "cosines", "Angles between components", caption)
