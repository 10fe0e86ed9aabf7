"""What a report says of near-optimal alternatives: a grid of variables and supports."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from orthospca import Alternatives
from orthospca.interface.alternatives import below_best, most_frequent
from orthospca.interface.report._charts import Chart, figure
from orthospca.interface.report._document import Panel
from orthospca.interface.report._html import Html, element, facts, named, paragraph, table
from orthospca.interface.report._svg import LETTER, Drawing, shortened, width_of

#: Variables that have a row in a picture, supports that have a column, and lines of a table.
MOST_ROWS, MOST_COLUMNS, MOST_LINES = 60, 80, 1000
#: Names in an alternative text.
MOST_NAMED = 8
LEAD = (
    "Which other choices of variables come close. A list is complete where it is proved that no "
    "other choice of as many variables is within the tolerance."
)


def alternatives_panel(lists: Sequence[Alternatives], source: str = "") -> Panel:
    """The lists of one component after the other, and what the data are if that is not told yet."""
    content: list[object] = []
    for k, found in enumerate(lists, start=1):
        whose = f"Component {k}" if len(lists) > 1 else ""
        body = _list(found, k, whose)
        if k > 1:
            given = "the one before it" if k == 2 else "those before it"
            heading = element("summary", f"{whose}, given {given}: {_counted(found)}")
            body = element("details", heading, body)
        content.append(body)
    if source:
        content.append(facts([("data", named(source))]))
    return Panel("alternatives", "Alternatives", tuple(content), LEAD)


def _counted(found: Alternatives) -> str:
    number = f"{len(found)} support{'' if len(found) == 1 else 's'}"
    return f"{number}, {'complete' if found.complete else 'perhaps not all'}"


def _list(found: Alternatives, k: int, whose: str) -> Html:
    verdict = element(
        "p",
        element("b", "Complete." if found.complete else "Perhaps not all."),
        " ",
        element("span", sentence(found)),
        class_="verdict" if found.complete else "verdict open",
    )
    if len(found) < 2:
        return verdict
    rows, left_out = most_frequent(found, MOST_ROWS)
    columns = min(len(found), MOST_COLUMNS)
    title = f"{whose}: variables and supports" if whose else "Variables and supports"
    caption = (
        "A column is a choice of variables, the best one first; the bars say how many of all "
        f"{len(found)} choices contain a variable. Variables that are never in the same column "
        "stand in for each other."
    )
    if columns < len(found):
        caption += f" The best {columns} are drawn."
    if left_out:
        caption += f" {left_out} variables that are in fewer choices are not drawn."
    chart = _grid(found, rows.tolist(), columns)
    drawn = figure(chart, f"alternatives-{k}", title, caption, numbers=_numbers(found))
    return Html(verdict + element("div", drawn, class_="figures"))


def sentence(found: Alternatives) -> str:
    """How many, how near, and what they share, in words."""
    if not len(found):
        return "No vector with so few variables is left." if found.complete else found.note
    near = f"within {100 * found.tolerance:.3g} % of the best variance"
    if len(found) == 1:
        claim = "no other choice comes near" if found.complete else found.note
        names = ", ".join(found.names(found.supports[0]))
        variance = f"variance {found.variances[0]:#.6g}"
        return f"One choice of variables {near}, {claim}: {names} ({variance})."
    claim = "it is proved that there is no other" if found.complete else found.note
    common = found.names(found.in_all)
    shared = "No variable is in all of them."
    if common:
        shared = f"In all of them: {', '.join(common)}."
    return f"{len(found)} choices of variables {near}; {claim}. {shared}"


def _grid(found: Alternatives, rows: Sequence[int], columns: int) -> Chart:
    names, shares = found.names(np.array(rows, dtype=np.intp)), found.frequencies
    inside = np.zeros((columns, found.n_features), dtype=bool)
    for place, support in zip(inside, found.supports, strict=False):
        place[support] = True
    cw, ch = min(26.0, max(7.0, 420.0 / columns)), 20.0
    left = min(max(width_of(name, LETTER) for name in names), 190.0) + 12.0
    top, beside, bar = 44.0, 14.0, 84.0
    begin = left + cw * columns + beside
    drawing = Drawing(begin + bar + 44.0, top + ch * len(rows) + 8.0)
    drawing.text(left + cw * columns / 2, 13, "choices, the best first", "name", "middle")
    drawing.text(begin, top - 6, "in so many", "tick")
    every = max(1, math.ceil(24.0 / cw))
    for j in range(0, columns, every):
        drawing.text(left + cw * j + cw / 2, top - 6, str(j + 1), "tick", "middle")
    cells, tips = {True: [""], False: [""]}, []
    apart = 1.0 if cw > 6.0 else 0.0
    below = below_best(found)
    for i, feature in enumerate(rows):
        y, share = top + ch * i, float(shares[feature])
        drawing.line(left - 4, y + ch - 0.5, begin + bar, y + ch - 0.5, "hair")
        drawing.text(left - 8, y + ch / 2 + 4, shortened(names[i], left - 12), "key", "end")
        for j in np.flatnonzero(inside[:, feature]).tolist():
            way = f"M{left + cw * j:.5g} {y:.5g}h{cw - apart:.3g}v{ch - 1:.3g}h-{cw - apart:.3g}z"
            cells[share == 1.0].append(way)
            tips.append([i, j, f"variance {found.variances[j]:.6g}, {below[j]}"])
        drawing.rect(begin, y + 4, bar * share, ch - 9, "fill c0")
        text = f"{share:.0%}" if share > 0.005 else "<1%"
        drawing.text(begin + bar * share + 5, y + ch / 2 + 4, text, "tick")
    drawing.path("".join(cells[False]), "l4")
    drawing.path("".join(cells[True]), "l6")
    common = found.names(found.in_all)
    label = f"Grid: which of {len(rows)} variables are in each of {columns} choices"
    if common:
        more = f" and {len(common) - MOST_NAMED} more" if len(common) > MOST_NAMED else ""
        label += f"; in all of them: {', '.join(common[:MOST_NAMED])}{more}"
    data = {
        "near": "cell",
        "grid": [left, top, cw, ch],
        "rows": list(names),
        "columns": [f"choice {j + 1}" for j in range(columns)],
        "cells": tips,
    }
    return Chart(drawing.svg(f"{label}."), drawing.width, data)


def _numbers(found: Alternatives) -> Html:
    below = below_best(found)
    rows: list[list[object]] = [
        [i + 1, f"{found.variances[i]:#.6g}", below[i], named(", ".join(found.names(support)))]
        for i, support in enumerate(found.supports[:MOST_LINES])
    ]
    headings = ["#", "variance", "below the best", "variables"]
    made = table(headings, rows, 3, caption="Choices of variables", tall=len(rows) > 20)
    if len(found) > MOST_LINES:
        rest = f"{len(found) - MOST_LINES} more are in alternatives.csv."
        return Html(made + paragraph(rest, kind="note"))
    return made
