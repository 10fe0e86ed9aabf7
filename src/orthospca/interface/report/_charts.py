r"""Charts for a page: inline SVG that is complete without a script, and alive with one.

How to use it::

    chart = xy_chart(
        [
            Band("not proved yet", p, variances, bounds),
            Line("certified variance", p, variances, tips=[f"p = {a}\n{v:.4g}" for ...]),
        ],
        x=Axis("variables in a component", whole=True),
        y=Axis("variance", zero=True),
        label="What a screen reader says in place of the picture.",
    )
    figure(chart, "path", "Variance by sparsity", "What to see in it.", numbers=table(...))

``heat_map`` of ``_heat.py`` takes a matrix, row and column names.  :func:`figure` puts a chart into
the page: a title, the picture, what to see in it, its numbers as a table to unfold, and buttons for
a download.  Layers are ``Line``, ``Bars``, ``Band``, ``Caps``, ``Dots`` and ``Arrows``, in
``_layers.py``.  Every ``tip`` is shown by pointer and arrow keys without a line of script by the
caller: ``_document.document`` brings ``chart.css`` and ``script.js``.  All texts are escaped here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from orthospca.interface.report._html import Html, element, embedded
from orthospca.interface.report._layers import (
    Arrows,
    Band,
    Bars,
    Caps,
    Dots,
    Layer,
    Line,
    legend_of,
)
from orthospca.interface.report._svg import (
    LETTER,
    Drawing,
    plain,
    powers,
    shortened,
    spread,
    ticks,
    width_of,
)

__all__ = [
    "Arrows",
    "Axis",
    "Band",
    "Bars",
    "Caps",
    "Chart",
    "Dots",
    "Line",
    "figure",
    "xy_chart",
]

#: Room above the highest number, as a share of all.
HEADROOM = 0.05


@dataclass(frozen=True)
class Chart:
    """A drawing, and what the script needs to know of it.

    Attributes
    ----------
    svg : Html
    width : float
        In pixels, where there is room.
    data : mapping
        ``marks`` and how the nearest one is found, or the cells of a heat map.
    """

    svg: Html
    width: float
    data: dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes
    ----------
    label : str
    whole : bool
        Ticks at whole numbers only.
    zero : bool
        Begins at zero, or below if there are negative numbers.
    log : bool
        Logarithmic; numbers below ``floor`` are shown there.
    floor : float
    write : callable
        How a tick is written.
    limits : (float, float), optional
        In place of what the layers need.
    """

    label: str
    whole: bool = False
    zero: bool = False
    log: bool = False
    floor: float = 1e-9
    write: Callable[[float], str] = plain
    limits: tuple[float, float] | None = None

    def range(self, values: Sequence[float]) -> tuple[float, float]:
        """From where to where it goes."""
        if self.limits is not None:
            return self.limits
        if self.log:
            low, high = spread(max(v, self.floor) for v in values)
            return low / 3.0, max(high, low * 10.0) * 1.5
        low, high = spread(values)
        if self.zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if low == high:
            low, high = low - 0.5 * (not self.zero or low < 0), high + 0.5
        room = HEADROOM * (high - low)
        return (low if self.zero and low == 0.0 else low - room), high + room

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """Where its numbers are written."""
        return powers(low, high, most) if self.log else ticks(low, high, most, self.whole)


@dataclass(frozen=True)
class _Frame:
    """Numbers to places."""

    left: float
    right: float
    top: float
    bottom: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_axis: Axis
    y_axis: Axis

    def x(self, value: float) -> float:
        share = _share(value, self.x_range, self.x_axis)
        return self.left + share * (self.right - self.left)

    def y(self, value: float) -> float:
        share = _share(value, self.y_range, self.y_axis)
        return self.bottom - share * (self.bottom - self.top)


def _share(value: float, limits: tuple[float, float], axis: Axis) -> float:
    low, high = limits
    if axis.log:
        value, low, high = (math.log(max(v, 1e-300)) for v in (max(value, axis.floor), low, high))
    return (value - low) / (high - low)


def xy_chart(
    layers: Sequence[Layer],
    *,
    x: Axis,
    y: Axis,
    label: str,
    width: float = 460.0,
    height: float = 290.0,
    near: str = "xy",
    square: bool = False,
    cross: bool = False,
) -> Chart:
    """A chart with two axes.

    Parameters
    ----------
    layers : sequence of layers
        Painted in this order.
    x, y : Axis
    label : str
        The picture in words.
    width, height : float
        Of all, with legend and axes.
    near : "xy" or "x"
        Which mark is meant by a pointer: the nearest one, or that at the nearest abscissa.
    square : bool
        One unit is as long on both axes.
    cross : bool
        Lines through the origin.
    """
    reach = [layer.reach() for layer in layers]
    x_range = x.range([v for xs, _ in reach for v in xs])
    y_range = y.range([v for _, ys in reach for v in ys])
    drawing = Drawing(width, height)
    top = _legend(drawing, legend_of(layers), width)
    most = max(3, int((height - top - 50) / 34))
    written = [(v, y.write(v)) for v in y.ticks(*y_range, most)]
    left = 28.0 + max((width_of(text, LETTER - 1) for _, text in written), default=0.0)
    right, bottom = width - 12.0, height - 42.0
    if square:
        x_range, y_range = _same_scale(x_range, y_range, (right - left) / (bottom - top))
        written = [(v, y.write(v)) for v in y.ticks(*y_range, most)]
    frame = _Frame(left, right, top, bottom, x_range, y_range, x, y)
    for value, text in written:
        drawing.line(left, frame.y(value), right, frame.y(value), "grid")
        drawing.text(left - 6, frame.y(value) + 4, text, "tick", "end")
    across = x.ticks(*x_range, max(3, int((right - left) / (30 if x.whole else 62))))
    if x.whole:
        low, high = spread(v for xs, _ in reach for v in xs)
        across = [value for value in across if low <= value <= high]
    for value in across:
        drawing.line(frame.x(value), bottom, frame.x(value), bottom + 4, "axis")
        drawing.text(frame.x(value), bottom + 17, x.write(value), "tick", "middle")
    drawing.line(left, bottom, right, bottom, "axis")
    if cross:
        drawing.line(frame.x(0.0), top, frame.x(0.0), bottom, "axis")
        drawing.line(left, frame.y(0.0), right, frame.y(0.0), "axis")
    elif y_range[0] < 0.0 < y_range[1]:
        drawing.line(left, frame.y(0.0), right, frame.y(0.0), "axis")
    for layer in layers:
        layer.draw(frame, drawing)
    middle = (left + right) / 2
    drawing.text(middle, height - 8, shortened(x.label, right - left), "name", "middle")
    room = bottom - top + 30
    drawing.text(13, (top + bottom) / 2, shortened(y.label, room), "name", "middle", -90.0)
    box = [round(v, 1) for v in (left, top, right, bottom)]
    marks = [[round(m.x, 1), round(m.y, 1), m.text] for m in drawing.marks]
    return Chart(drawing.svg(label), width, {"near": near, "box": box, "marks": marks})


def _legend(drawing: Drawing, entries: Sequence[tuple[str, str]], width: float) -> float:
    """Draw signs and names above the plot, in as many rows as they need; where the plot begins."""
    if not entries:
        return 12.0
    x, y = 8.0, 14.0
    for sign, name in entries:
        text = shortened(name, width - 40)
        needed = 24 + width_of(text) + 14
        if x > 8.0 and x + needed > width:
            x, y = 8.0, y + 19
        kinds = sign.split()
        shapes = {"line", "dot", "box"}
        colour = " ".join(kind for kind in kinds if kind not in shapes)
        if "line" in kinds:
            drawing.line(x, y - 4, x + 16, y - 4, f"stroke {colour}")
        if "dot" in kinds:
            drawing.circle(x + 8, y - 4, 4.0, f"fill {colour}")
        if "box" in kinds:
            drawing.rect(x + 2, y - 10, 12, 12, f"fill {colour}")
        drawing.text(x + 22, y, text, "key")
        x += needed
    return y + 14


def _same_scale(
    x: tuple[float, float], y: tuple[float, float], shape: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Widen one of two ranges so that a unit is as long on both axes."""
    wide, high = x[1] - x[0], y[1] - y[0]
    if wide < high * shape:
        more = (high * shape - wide) / 2
        return (x[0] - more, x[1] + more), y
    more = (wide / shape - high) / 2
    return x, (y[0] - more, y[1] + more)


def figure(
    chart: Chart,
    name: str,
    title: str,
    caption: str = "",
    *,
    numbers: Html | None = None,
    controls: Html | None = None,
    kind: str = "",
    **data: str,
) -> Html:
    """Put a chart into the page.

    Parameters
    ----------
    chart : Chart
    name : str
        Of the file that a download makes, without its ending.
    title, caption : str
        What it is, and what to see in it.
    numbers : Html, optional
        The same as a table, to unfold.
    controls : Html, optional
        What stands between title and picture.
    kind : str
        Classes: ``full`` takes the width of the page.
    **data : str
        Attributes ``data-…`` of the figure.
    """
    parts: list[object] = [
        element("div", element("h4", title), element("div", class_="tools"), class_="head"),
        controls or Html(""),
        element("div", chart.svg, class_="plot"),
        embedded(json.dumps(chart.data, ensure_ascii=False, separators=(",", ":")), "marks"),
    ]
    if caption:
        parts.append(element("figcaption", caption))
    if numbers is not None:
        parts.append(element("details", element("summary", "The numbers"), numbers))
    given = {f"data_{key}": value for key, value in data.items()}
    return element("figure", *parts, class_=kind, data_name=name, **given)
