"""The panel of a report that tells how often variables are selected in resamples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from orthospca.choosing.selection import in_words
from orthospca.interface.choosing_plots import most_selected
from orthospca.interface.report._charts import Axis, Line, figure, xy_chart
from orthospca.interface.report._document import Panel
from orthospca.interface.report._heat import heat_map
from orthospca.interface.report._html import Html, element, paragraph, table

if TYPE_CHECKING:
    from orthospca.choosing.selection import Stability, StabilityPath

#: Variables that have a row in a picture, and lines of a table.
MOST_ROWS, MOST_LINES = 60, 500
NOISE = (
    "A certificate says that no other choice of variables has more variance in these data. It says "
    "nothing about the noise of sampling: other rows from the same source might have led to other "
    "variables. How much of the choice is repeated when rows are left out is shown here."
)


def stability_panel(found: Stability | StabilityPath, unfolded: int) -> Panel:
    """Stability; of several sparsities one is unfolded, the last if there is no such one."""
    several = list(getattr(found, "stabilities", ()))
    each = several or [found]
    content: list[object] = []
    if len(several) > 1:
        content.append(figures_of(_stability_by_sparsity(found)))
    shown = [one.result.sparsity[0] for one in each]
    unfolded = unfolded if unfolded in shown else shown[-1]
    for one, p in zip(each, shown, strict=True):
        if not one.n_resamples:
            continue
        body = Html(figures_of(_frequencies(one, p)) + _selection_table(one))
        if len(each) > 1:
            summary = element("summary", f"{p} variable{'' if p == 1 else 's'} in a component")
            body = element("details", summary, body, **({"open": "open"} if p == unfolded else {}))
        content.append(body)
    first = each[0] if each else None
    if first is None or not first.n_resamples:
        content.append(paragraph("No resample was done."))
    else:
        drawn = "with replacement" if first.bootstrap else "without replacement"
        content.append(
            paragraph(
                f"{first.n_resamples} resamples of {first.n_rows} of {first.n_samples} rows, drawn "
                f"{drawn}. Components of a resample are matched with those of all rows so that the "
                "|cos| of the angles between partners add up to the most. Stability is 1 if every "
                "resample selects the same variables and about 0 if they might as well have been "
                "drawn by lot."
            )
        )
    return Panel("stability", "Stability", tuple(content), NOISE)


def _stability_by_sparsity(found: Stability | StabilityPath) -> Html:
    indices = np.asarray(found.indices)
    p = [float(q) for q in getattr(found, "sparsities", ())]
    layers = []
    for k in range(indices.shape[1]):
        known = [(q, float(v)) for q, v in zip(p, indices[:, k], strict=True) if math.isfinite(v)]
        tips = [f"component {k + 1}, {q:.0f} variables: {in_words(v)}" for q, v in known]
        x, y = [q for q, _ in known], [v for _, v in known]
        layers.append(Line(f"component {k + 1}", x, y, tips, tone=k % 8))
    chart = xy_chart(
        layers,
        x=Axis("variables in a component", whole=True),
        y=Axis("stability", zero=True),
        label="Lines: stability of each component by sparsity.",
    )
    caption = "1: every resample selects the same variables; 0: as if drawn by lot."
    rows = [[f"{q:.0f}", *map(in_words, row)] for q, row in zip(p, indices, strict=True)]
    headings = ["variables", *(f"component {k + 1}" for k in range(indices.shape[1]))]
    numbers = table(headings, rows, len(headings), caption="Stability by sparsity")
    title = "Stability by sparsity"
    return figure(chart, "stability-path", title, caption, numbers=numbers)


def _frequencies(found: Stability, sparsity: int) -> Html:
    rows, left_out = most_selected(found, MOST_ROWS, 0.02)
    names = found.feature_names
    own = np.any(found.result.components, axis=0).tolist()
    K = len(found.frequencies)
    chart = heat_map(
        found.frequencies[:, rows].T,
        [f"{names[j]} •" if own[j] else names[j] for j in rows],
        [str(k + 1) for k in range(K)],
        label="Heat map: how often each variable is selected in each component.",
        column_label="component",
        write=lambda v: f"{v:.0%}",
        largest=1.0,
        cell=(min(72.0, max(30.0, 560.0 / max(K, 1))), 20.0),
    )
    chart.data["columns"] = [f"component {k + 1}" for k in range(K)]
    caption = "Share of resamples in which a variable is selected; • is in a component of all rows."
    if left_out:
        caption += f" {left_out} variables that are selected less often are not drawn."
    return figure(chart, f"stability-{sparsity}", "How often variables are selected", caption)


def _selection_table(found: Stability) -> Html:
    rows, _ = most_selected(found, MOST_LINES)
    names, X = found.feature_names, found.result.components
    K = len(found.frequencies)
    lines = [
        [
            names[j],
            *(f"{found.frequencies[k, j]:.0%}" for k in range(K)),
            f"{found.overall[j]:.0%}",
            ", ".join(str(k + 1) for k in range(K) if X[k, j]),
        ]
        for j in rows
    ]
    headings = ["variable", *(f"component {k + 1}" for k in range(K)), "any", "in all rows"]
    numbers = table(
        headings,
        lines,
        range(1, K + 2),
        caption="How often variables are selected",
        kind="sortable",
        tall=True,
    )
    agreement = table(
        ["component", "stability", "mean |cos|", "mean overlap"],
        [
            [
                k + 1,
                in_words(found.indices[k]),
                f"{found.similarities[:, k].mean():.2f}",
                f"{found.overlaps[:, k].mean():.2f}",
            ]
            for k in range(K)
        ],
        4,
        caption="Agreement of the components of resamples with those of all rows",
    )
    folded = element("details", element("summary", "The numbers"), numbers)
    return Html(agreement + folded)


def figures_of(*shown: Html) -> Html:
    """Pictures side by side, where there is room."""
    return element("div", *shown, class_="figures")
