"""Pictures for a page: inline SVG that is complete without a script, and alive with one.

A :class:`Drawing` collects shapes and the *marks* of a chart: places with a text, which the script
of the page shows when a pointer or a key comes near.  Colours are classes, and ``chart.css`` says
what they mean in the light and in the dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from orthospca.interface.grouping import TONES
from orthospca.interface.html import Html, element, escape
from orthospca.interface.plots.spec import (
    HALF,
    HOLLOW,
    XY,
    Arrows,
    Axis,
    Band,
    Bars,
    Caps,
    Dots,
    Grid,
    Line,
    Mark,
    Plot,
    placed,
    share_text,
    spread,
)
from orthospca.interface.plots.text import LETTER, shortened, width_of

#: So many points are drawn smaller.
MANY = 1200
#: Room for the names of rows, at most.
WIDEST_NAME = 190.0
#: Room for the bars beside a grid: before them, for the longest, and for its number.
BEFORE, LONGEST, AFTER = 14.0, 84.0, 44.0


@dataclass
class Drawing:
    """Shapes in the order in which they are painted, and what the script must know of them.

    Attributes
    ----------
    width, height : float
        In pixels, where there is room.
    told : str
        What those hear who do not see it.
    parts : list of Html
    data : dict
        How to find a place that a pointer is near, and the texts of the places.
    """

    width: float
    height: float
    told: str
    parts: list[Html] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, kind: str, *content: str, **given: float | str) -> None:
        """An element of SVG; numbers are places."""
        written = {key: v if isinstance(v, str) else short(v) for key, v in given.items()}
        self.parts.append(element(name, *content, class_=kind, **written))

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line."""
        self.add("path", kind, d=f"M{short(x1)} {short(y1)}L{short(x2)} {short(y2)}")

    def rect(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """A rectangle; one without area is not drawn."""
        if width > 0.0 and height > 0.0:
            self.add("rect", kind, x=x, y=y, width=width, height=height)

    def circle(self, x: float, y: float, radius: float, kind: str) -> None:
        """A disc."""
        self.add("circle", kind, cx=x, cy=y, r=radius)

    def text(
        self, x: float, y: float, content: str, kind: str, anchor: str = "", turned: str = ""
    ) -> None:
        """A text that begins (or ends, or has its middle) at a place."""
        self.add("text", kind, content, x=x, y=y, text_anchor=anchor, transform=turned)

    @property
    def svg(self) -> Html:
        """The element."""
        width = short(self.width)
        return Html(
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
            f'viewBox="0 0 {width} {short(self.height)}" '
            f'style="--w:{width}" aria-label="{escape(self.told)}">{"".join(self.parts)}</svg>'
        )


def short(number: float) -> str:
    """A coordinate with at most two decimals."""
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def render(picture: Plot) -> Drawing:
    """Draw a picture."""
    return _xy(picture) if isinstance(picture, XY) else _grid(picture)


def tone_of(tone: int) -> str:
    """The class of a colour; those of a scale come after those that tell things apart."""
    if tone < 0:
        return "cx"
    return f"c{tone}" if tone < TONES else f"q{tone - TONES}"


def ticks(axis: Axis, low: float, high: float, most: int) -> list[float]:
    """Round numbers between two, at most so many and equally far apart; powers on a log scale."""
    if axis.log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        every = max(1, math.ceil((last - first + 1) / most))
        return [10.0**e for e in range(last, first - 1, -every)]
    raw = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    factors = (1.0, 2.0, 5.0, 10.0) if axis.whole else (1.0, 2.0, 2.5, 5.0, 10.0)
    step = next(f * power for f in factors if f * power >= raw * (1 - 1e-9))
    step = max(1.0, step) if axis.whole else step
    return [
        i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


Scale = Callable[[float], float]
Place = tuple[float, float]


def _scale(axis: Axis, limits: tuple[float, float], begin: float, end: float) -> Scale:
    """Numbers to places."""

    def level(value: float) -> float:
        return math.log(max(value, axis.floor, 1e-300)) if axis.log else value

    low, high = (math.log(v) if axis.log else v for v in limits)
    return lambda value: begin + (level(value) - low) / (high - low) * (end - begin)


def _paint(drawing: Drawing, mark: Mark, x: Scale, y: Scale) -> None:
    """Draw a mark, with scales for both axes."""
    tone = tone_of(mark.tone)
    places = [(x(a), y(b)) for a, b in zip(mark.x, mark.y, strict=True)]
    places = [(a, b) for a, b in places if math.isfinite(a) and math.isfinite(b)]
    if not places:
        return
    half = min(x(HALF) - x(0.0), 32.0)
    match mark:
        case Line():
            _line(drawing, mark, places, tone)
        case Bars():
            for a, b in places:
                top, bottom = sorted((b, y(0.0)))
                drawing.rect(a - half, top, 2 * half, bottom - top, f"fill {tone}")
        case Band():
            upper = [(x(a), y(b)) for a, b in zip(mark.x, mark.upper, strict=True)]
            ways = [f"{short(a)} {short(b)}" for a, b in upper + places[::-1]]
            drawing.add("path", f"pale fill {tone}", d="M" + "L".join(ways) + "Z")
        case Caps():
            for a, b in places:
                drawing.line(a - half, b, a + half, b, "stroke ink")
        case Dots(look="ring"):
            for a, b in places:
                drawing.circle(a, b, 8.0, f"stroke {tone}")
        case Dots():
            # Strokes of no length with round ends, in one path however many they are.
            kinds = ["dots", "tiny" * (len(places) > MANY), mark.look, tone]
            way = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in places)
            drawing.add("path", " ".join(filter(None, kinds)), d=way)
        case Arrows():
            _arrows(drawing, mark, places, (x(0.0), y(0.0)))
    tips = zip(places, mark.tips, strict=False)
    drawing.data["marks"] += [[round(a, 1), round(b, 1), tip] for (a, b), tip in tips]


def _line(drawing: Drawing, mark: Line, places: Sequence[Place], tone: str) -> None:
    way = "M{} {}".format(*map(short, places[0]))
    for a, b in places[1:]:
        way += f"H{short(a)}V{short(b)}" if mark.step else f"L{short(a)} {short(b)}"
    drawing.add("path", f"stroke {tone}", d=way)
    if mark.dots:
        for (a, b), is_hollow in zip_longest(places, mark.hollow):
            drawing.circle(a, b, 3.6, f"{'ring' if is_hollow else 'fill'} {tone}")
    if mark.ending:
        a, b = places[-1]
        drawing.circle(a, b, 3.2, f"fill {tone}")
        drawing.text(a, b + 15, mark.ending, f"small fill {tone}", "middle")


def _arrows(drawing: Drawing, mark: Arrows, places: Sequence[Place], origin: Place) -> None:
    """Arrows, and the names of those for which there is room."""
    size = LETTER - 1
    labels = [shortened(label, 160.0, size) for label in mark.labels]
    widths = [width_of(label, size) for label in labels]
    names = placed(places, widths, origin, (30.0, drawing.width))
    for end in places:
        drawing.line(*origin, *end, "arrow")
        drawing.circle(*end, 2.4, "fill ink")
    for (a, b), name, label, wide in zip(places, names, labels, widths, strict=True):
        if name is not None:
            near = min(max(a, name[0] - 2.0), name[0] + wide + 2.0)
            drawing.line(a, b, near, name[1], "leader")
            drawing.text(name[0], name[1] + 4, label, "small halo")


def _xy(spec: XY) -> Drawing:
    x, y, width, height = spec.x, spec.y, spec.width, spec.height
    x_range, y_range = spec.ranges()
    drawing = Drawing(width, height, spec.told, data={"near": spec.near, "marks": []})
    top = _legend(drawing, spec)
    right, bottom = width - 12.0, height - 42.0
    written = [(v, y.write(v)) for v in ticks(y, *y_range, max(3, int((height - top - 50) / 34)))]
    left = 28.0 + max((width_of(text, LETTER - 1) for _, text in written), default=0.0)
    across, up = _scale(x, x_range, left, right), _scale(y, y_range, bottom, top)
    for value, text in written:
        drawing.line(left, up(value), right, up(value), "grid")
        drawing.text(left - 6, up(value) + 4, text, "tick", "end")
    low, high = spread(spec.reach()[0])
    for value in ticks(x, *x_range, max(3, int((right - left) / (30 if x.whole else 62)))):
        if not x.whole or low <= value <= high:
            drawing.line(across(value), bottom, across(value), bottom + 4, "axis")
            drawing.text(across(value), bottom + 17, x.write(value), "tick", "middle")
    drawing.line(left, bottom, right, bottom, "axis")
    if spec.cross and x_range[0] < 0.0 < x_range[1]:
        drawing.line(across(0.0), top, across(0.0), bottom, "axis")
    if y_range[0] < 0.0 < y_range[1]:
        drawing.line(left, up(0.0), right, up(0.0), "axis")
    for mark in spec.marks:
        _paint(drawing, mark, across, up)
    names = shortened(x.label, right - left), shortened(y.label, bottom - top + 30)
    drawing.text((left + right) / 2, height - 8, names[0], "name", "middle")
    middle = (top + bottom) / 2
    drawing.text(13, middle, names[1], "name", "middle", f"rotate(-90 13 {short(middle)})")
    drawing.data["box"] = [round(v, 1) for v in (left, top, right, bottom)]
    return drawing


def _legend(drawing: Drawing, spec: XY) -> float:
    """Draw signs and names above the plot, in as many rows as they need; where the plot begins."""
    entries = [(mark, mark.name) for mark in spec.marks if mark.name]
    entries += [(m, HOLLOW) for m in spec.marks if isinstance(m, Line) and any(m.hollow)]
    x, y = 8.0, 14.0
    for mark, name in sorted(entries, key=lambda entry: entry[0].tone < 0):
        text, tone = shortened(name, drawing.width - 40), tone_of(mark.tone)
        needed = 24 + width_of(text) + 14
        if x > 8.0 and x + needed > drawing.width:
            x, y = 8.0, y + 19
        match mark:
            case Bars() | Band():
                pale = "pale " * isinstance(mark, Band)
                drawing.rect(x + 2, y - 10, 12, 12, f"{pale}fill {tone}")
            case Dots(look="ring"):
                drawing.circle(x + 8, y - 4, 6.0, f"stroke {tone}")
            case Caps():
                drawing.line(x, y - 4, x + 16, y - 4, "stroke ink")
            case Line() if name != HOLLOW:
                drawing.line(x, y - 4, x + 16, y - 4, f"stroke {tone}")
        if getattr(mark, "dots", getattr(mark, "look", "ring") != "ring"):
            drawing.circle(x + 8, y - 4, 4.0, f"{'ring' if name == HOLLOW else 'fill'} {tone}")
        drawing.text(x + 22, y, text, "key")
        x += needed
    return y + 14 if entries else 12.0


def _grid(spec: Grid) -> Drawing:
    height, width = spec.values.shape
    cw, ch = spec.size
    longest = max((width_of(name) for name in spec.rows), default=0.0)
    left = min(longest, WIDEST_NAME) + 12.0
    top = 26.0 + (18.0 if spec.column_label else 0.0)
    end = left + cw * width
    more = 8.0 if spec.beside is None else BEFORE + LONGEST + AFTER
    drawing = Drawing(end + more, top + ch * height + 8.0, spec.told)
    shades = spec.shades()
    ways: dict[str, list[str]] = {}
    found, texts = [], []
    for i, j in spec.cells():
        shade = float(shades[i, j])
        level = max(1, math.ceil(6 * abs(shade) - 1e-9))
        kind = f"{'h' if shade > 0 and spec.signed else 'l'}{level}"
        x, y = left + cw * j, top + ch * i
        box = f"M{x:.5g} {y:.5g}h{cw - 1:.3g}v{ch - 1:.3g}h-{cw - 1:.3g}z"
        ways.setdefault(kind, []).append(box)
        text = spec.tips[j] if spec.tips else spec.write(float(spec.values[i, j]))
        found.append([i, j, text])
        if not spec.tips and ch >= 15.0 and width_of(text, LETTER - 1.5) <= cw - 4:
            look = f"cell {'on' if level >= 4 else 'off'}"
            texts.append((x + cw / 2, y + ch / 2 + 4, text, look))
    across = end + (0.0 if spec.beside is None else BEFORE + LONGEST)
    for i, name in enumerate(spec.rows):
        y = top + ch * i
        drawing.line(left - 4, y + ch - 0.5, across, y + ch - 0.5, "hair")
        drawing.text(left - 8, y + ch / 2 + 4, shortened(name, WIDEST_NAME), "key", "end")
    for kind, boxes in ways.items():
        drawing.add("path", kind, d="".join(boxes))
    for text_of_cell in texts:
        drawing.text(*text_of_cell, "middle")
    for i, j in [] if spec.framed is None else zip(*spec.framed.nonzero(), strict=True):
        x, y = left + cw * j + 1.0, top + ch * i + 1.0
        drawing.rect(x, y, cw - 3.0, ch - 3.0, "stroke c1")
    every = max(1, math.ceil(24.0 / cw))
    for j in range(0, width, every):
        text = shortened(spec.columns[j], every * cw - 2, LETTER - 1)
        drawing.text(left + cw * j + cw / 2, top - 6, text, "tick", "middle")
    drawing.text((left + end) / 2, 13, spec.column_label, "name", "middle")
    if spec.beside is not None:
        drawing.text(end + BEFORE, top - 6, "frequency", "tick")
    for i, share in enumerate(spec.beside or ()):
        y, wide = top + ch * i, LONGEST * share
        drawing.rect(end + BEFORE, y + 4, wide, ch - 9, "fill c0")
        drawing.text(end + BEFORE + wide + 5, y + ch / 2 + 4, share_text(share), "tick")
    columns = list(spec.column_names or spec.columns)
    drawing.data |= {"near": "cell", "grid": [left, top, cw, ch]}
    drawing.data |= {"rows": list(spec.rows), "columns": columns, "cells": found}
    return drawing
