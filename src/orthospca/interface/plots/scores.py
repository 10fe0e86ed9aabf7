"""The observations in the plane of two components: scores, and a biplot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orthospca.interface.grouping import grouped
from orthospca.interface.plots.results import in_groups, strongest
from orthospca.interface.plots.spec import XY, Arrows, Axis, Dots
from orthospca.interface.plots.text import percent, plain, shortened, signed
from orthospca.interface.scores import Scores
from orthospca.result import Result


def axis_name(result: Result, names: Sequence[str], k: int, room: float) -> str:
    """What an axis means: the component, its share, and the variables that weigh most in it."""
    component, total = result.stages[k], result.total_variance
    name = f"component {k + 1}" + (f" ({percent(component.variance / total)})" if total > 0 else "")
    for count, j in enumerate(strongest(component.vector, component.support)):
        sign = "−" if component.vector[j] < 0 else "+" if count else ""
        longer = f"{name}{' ' if count else ': '}{sign}{' ' * bool(count)}{names[j]}"
        if shortened(longer + " …", room) != longer + " …":
            return f"{name} …" if count else name
        name = longer
    return name


def scatter(
    result: Result,
    names: Sequence[str],
    known: Scores,
    kept: list[int],
    pair: tuple[int, int] = (0, 1),
    width: float = 460.0,
) -> XY:
    """The scores of two components; of one, if there is no other, by row.

    Parameters
    ----------
    result : Result
    names : sequence of str
        Those of the variables.
    known : Scores
        Their names, if there are any, and their labels, which give the colours.
    kept : list of int
        The rows that are drawn.
    pair : (int, int)
        Which components, from 0.
    width : float
    """
    values, rows, by = known.values, known.rows, known.by
    groups, one = grouped(known.groups, kept), values.shape[1] == 1
    shown = (0,) if one else pair
    marks = []
    for group in groups:
        points = values[group.rows][:, shown]
        x = [i + 1.0 for i in group.rows] if one else points[:, 0].tolist()
        tips = []
        for i, at in zip(group.rows, points.tolist(), strict=True):
            lines = [f"component {k + 1}: {plain(v)}" for k, v in zip(shown, at, strict=True)]
            name = f"row {i + 1}" if rows is None else rows[i]
            tips.append("\n".join(filter(None, [name, group.name, *lines])))
        marks.append(Dots(group.name, x, points[:, -1].tolist(), tips, group.tone))
    count = len(kept)
    caption = "Each point is an observation; points close together are alike in these variables."
    across = "row" if one else axis_name(result, names, shown[0], width - 80.0)
    return XY(
        "scores",
        "Scores",
        caption + (f" Colours are those of “{by}”." if by else ""),
        marks,
        Axis(across),
        Axis(axis_name(result, names, shown[-1], 320.0)),
        width=width,
        height=400.0,
        cross=not one,
        left_out=f"{count} of {len(values)} observations are drawn" * (count < len(values)),
    )


def biplot(
    points: XY, result: Result, names: Sequence[str], pair: tuple[int, int], most: int
) -> XY:
    """The same with an arrow for each variable of the two components, the strongest if many."""
    X = result.components[list(pair)]
    chosen, left_out = in_groups(np.abs(X).max(axis=0), X[:0], most)
    reach = np.array([max(map(abs, numbers), default=0.0) for numbers in points.reach()])
    largest = np.abs(X[:, chosen]).max(axis=1, initial=0.0)
    scale = 0.85 * float(min(reach[largest > 0] / largest[largest > 0], default=1.0)) or 1.0
    labels = [str(names[j]) for j in chosen]
    tips = [
        f"{label}\ncomponent {pair[0] + 1}: {signed(x)}\ncomponent {pair[1] + 1}: {signed(y)}"
        for label, (x, y) in zip(labels, X[:, chosen].T, strict=True)
    ]
    x, y = (scale * X[:, chosen]).tolist()
    arrows = Arrows("", x, y, tips, labels=labels)
    faint = [
        replace(dots, tips=(), look="faint") for dots in points.marks if isinstance(dots, Dots)
    ]
    return replace(
        points,
        name="biplot",
        title="Biplot",
        caption="The same plane with its variables. An arrow points to where observations with "
        "large values of a variable lie. A variable in only one component lies on its axis.",
        marks=[*faint, arrows],
        left_out=f"the {len(chosen)} largest of {len(chosen) + left_out} loadings are drawn"
        * bool(left_out),
    )


def disjoint(result: Result) -> bool:
    """Whether the first two components share no variable: arrows would lie on the axes."""
    return not np.all(result.components[:2], axis=0).any()
