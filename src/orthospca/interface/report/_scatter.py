"""The observations in the plane of two components: scores, and a biplot."""

from __future__ import annotations

import json
import math

import numpy as np

from orthospca._typing import Array
from orthospca.interface.grouping import Group, grouped
from orthospca.interface.report._charts import Arrows, Axis, Chart, Dots, figure, xy_chart
from orthospca.interface.report._html import Html, element, embedded
from orthospca.interface.report._section import Section, percent, signed
from orthospca.interface.report._svg import plain, shortened

#: Rows that are drawn, and numbers that are kept for other axes.
MOST_POINTS, MOST_NUMBERS = 4000, 40_000
#: Components that other axes can be chosen from.
MOST_AXES = 12
#: Arrows of a biplot: the largest loadings.
MOST_ARROWS = 24


def axis_name(section: Section, k: int, room: float = 380.0) -> str:
    """What an axis means: the component, its share, and the variables that weigh most in it."""
    result = section.result
    component = result.stages[k]
    total = result.total_variance
    share = f" ({percent(component.variance / total)})" if total > 0 else ""
    name = f"component {k + 1}{share}"
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    for count, j in enumerate(order):
        sign = "−" if component.vector[j] < 0 else "+" if count else ""
        longer = f"{name}{': ' if not count else ' '}{sign}{' ' * bool(count)}{section.names[j]}"
        if shortened(longer + " …", room) != longer + " …":
            return f"{name} …" if count else name
        name = longer
    return name


def drawn_rows(values: Array) -> list[int]:
    """The rows with all scores, and of very many every second, third and so on."""
    whole = np.flatnonzero(np.isfinite(values).all(axis=1))
    return [int(i) for i in whole[:: max(1, math.ceil(len(whole) / MOST_POINTS))]]


def figures(section: Section) -> list[Html]:
    """The scatter of the scores and the biplot; of one component, its scores by row."""
    scores = section.known_scores
    if scores is None:
        return []
    count = min(scores.values.shape[1], MOST_AXES)
    kept = drawn_rows(scores.values[:, :count])
    if not kept:
        return []
    groups = grouped(scores.groups, kept)
    found = [_scatter(section, groups, kept, count)]
    if count > 1:
        found.append(_biplot(section, groups))
    return found


def _name_of(section: Section, i: int) -> str:
    scores = section.known_scores
    if scores is None or scores.rows is None:
        return f"row {i + 1}"
    return scores.rows[i]


def _dots(section: Section, groups: list[Group], faint: bool = False) -> list[Dots]:
    """The points of each group, at the first two components, or at one and the row."""
    scores = section.known_scores
    assert scores is not None  # the caller has looked
    values = scores.values
    found = []
    for group in groups:
        x = [i + 1.0 if values.shape[1] == 1 else float(values[i, 0]) for i in group.rows]
        y = [float(values[i, -1 if values.shape[1] == 1 else 1]) for i in group.rows]
        tips = []
        if not faint:
            tips = [
                "\n".join(
                    filter(
                        None,
                        [
                            _name_of(section, i),
                            group.name,
                            *(
                                f"component {k + 1}: {plain(float(values[i, k]))}"
                                for k in range(min(values.shape[1], 2))
                            ),
                        ],
                    )
                )
                for i in group.rows
            ]
        found.append(Dots(group.name, x, y, tips, group.tone, faint))
    return found


def _scatter(section: Section, groups: list[Group], kept: list[int], count: int) -> Html:
    scores = section.known_scores
    assert scores is not None  # the caller has looked
    one = count == 1
    chart = xy_chart(
        _dots(section, groups, faint=False),
        x=Axis("row") if one else Axis(axis_name(section, 0)),
        y=Axis(axis_name(section, 0 if one else 1, 320.0)),
        label=f"Scatter of {len(kept)} observations"
        + (f", coloured by {scores.by}." if scores.by else "."),
        height=400.0,
        cross=not one,
    )
    hidden = len(scores.values) - len(kept)
    caption = "Each point is an observation; close points are alike in the variables named."
    if scores.by:
        caption += f" Colours are those of “{scores.by}”."
    if hidden:
        caption += f" {len(kept)} of {len(scores.values)} observations are drawn."
    if one:
        return figure(chart, "scores", "Scores", caption)
    axes = max(2, min(count, MOST_NUMBERS // len(kept)))
    names = [f"component {k + 1}" for k in range(axes)]
    numbered = {row: n for n, row in enumerate(kept)}
    data = {
        "names": names,
        "axes": [axis_name(section, k, 320.0) for k in range(axes)],
        "rows": [_name_of(section, i) for i in kept],
        "by": scores.by,
        "groups": [{"name": g.name, "rows": [numbered[i] for i in g.rows]} for g in groups],
        "values": [[float(f"{v:.6g}") for v in scores.values[kept, k]] for k in range(axes)],
    }
    chart.data["marks"] = []  # the script makes them of the scores
    choices = [_choice("across", names, 0), _choice("up", names, 1)]
    controls = element("div", *choices, class_="controls script")
    text = embedded(json.dumps(data, ensure_ascii=False, separators=(",", ":")), "scores")
    return figure(chart, "scores", "Scores", caption, controls=Html(controls + text))


def _choice(name: str, options: list[str], chosen: int) -> Html:
    made = [
        Html(f"<option{' selected' * (k == chosen)}>{option}</option>")
        for k, option in enumerate(options)
    ]
    return element("label", f"{name} ", element("select", *made))


def _biplot(section: Section, groups: list[Group]) -> Html:
    scores = section.known_scores
    assert scores is not None  # the caller has looked
    X = section.result.components[:2]
    strength = np.abs(X).max(axis=0)
    used = np.flatnonzero(strength)
    chosen = used[np.argsort(-strength[used], kind="stable")[:MOST_ARROWS]]
    drawn = [i for group in groups for i in group.rows]
    reach = np.abs(scores.values[drawn][:, :2]).max(axis=0)
    largest = np.abs(X[:, chosen]).max(axis=1)
    scale = 0.85 * float(min(reach[largest > 0] / largest[largest > 0], default=1.0)) or 1.0
    arrows = Arrows(
        "",
        (scale * X[0, chosen]).tolist(),
        (scale * X[1, chosen]).tolist(),
        [shortened(section.names[j], 130.0) for j in chosen],
        [
            f"{section.names[j]}\ncomponent 1: {signed(X[0, j])}\ncomponent 2: {signed(X[1, j])}"
            for j in chosen
        ],
    )
    chart: Chart = xy_chart(
        [*_dots(section, groups, faint=True), arrows],
        x=Axis(axis_name(section, 0)),
        y=Axis(axis_name(section, 1, 320.0)),
        label=f"Biplot: {len(drawn)} observations, and arrows for {len(chosen)} variables.",
        height=400.0,
        cross=True,
    )
    caption = (
        "The same plane with its variables: an arrow points where observations with large values "
        "of a variable lie. A variable of one component only lies on its axis."
    )
    if len(used) > len(chosen):
        caption += f" The {len(chosen)} largest of {len(used)} loadings are drawn."
    return figure(chart, "biplot", "Biplot", caption)
