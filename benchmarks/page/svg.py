"""A few shapes: panels with logarithmic axes, lines and dots; the same numbers, the same file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

INK, FAINT = "#333333", "#d5d5d5"
COLOURS = ("#1f6f8b", "#c8553d", "#7a7a7a", "#3a7d44", "#8e5aa8")
#: Least distance of two ticks.
TICK = 36.0
FONT = "font-family='sans-serif'"


@dataclass(frozen=True)
class Series:
    """Points of one kind.

    Attributes
    ----------
    label : str
    points : sequence of (x, y)
    line : bool
        Joined by a line, dashed if there are no dots.
    dots : str
        ``"full"``, ``"ring"`` or empty.
    """

    label: str
    points: Sequence[tuple[float, float]]
    line: bool = True
    dots: str = "full"


@dataclass
class Axis:
    """A logarithmic axis from a place to a place."""

    low: float
    high: float
    start: float
    end: float
    ticks: list[float] = field(default_factory=list)

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> Axis:
        """An axis that holds all values, with a tick at each power of ten, or at 1, 2 and 5."""
        low, high = min(values) / 1.25, max(values) * 1.25
        decades = math.log10(high / low)
        steps = (1,) if decades > 2 or abs(end - start) < 5 * TICK else (1, 2, 5)
        every = max(1, math.ceil(decades * TICK / abs(end - start)))
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [step * 10.0**power for power in powers if power % every == 0 for step in steps]
        return cls(low, high, start, end, [tick for tick in ticks if low <= tick <= high])

    def place(self, value: float) -> float:
        """Where a value is drawn."""
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + part * (self.end - self.start)


def number(value: float) -> str:
    """The label of a tick."""
    if 1e-3 <= value < 1e4:
        return f"{value:g}"
    power = round(math.log10(value))
    if math.isclose(value, 10.0**power):
        return f"1e{power}"
    return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")


def text(x: float, y: float, words: str, *, anchor: str = "middle", size: int = 12) -> str:
    """Some words."""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size}' {FONT} "
        f"fill='{INK}'>{escape(words)}</text>"
    )


def stroke(x1: float, y1: float, x2: float, y2: float, colour: str = FAINT) -> str:
    """A straight line."""
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'/>"


def dot(x: float, y: float, colour: str, kind: str) -> str:
    """A dot, full or a ring."""
    fill = colour if kind == "full" else "white"
    return (
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{fill}' stroke='{colour}' "
        "stroke-width='1.5'/>"
    )


def panel(
    series: Sequence[Series], title: str, xlabel: str, ylabel: str, box: tuple[float, ...]
) -> list[str]:
    """Lines over two logarithmic axes, in a box (left, top, width, height)."""
    left, top, width, height = box
    points = [point for each in series for point in each.points]
    x = Axis.over([a for a, _ in points], left + 48, left + width - 12)
    y = Axis.over([b for _, b in points], top + height - 40, top + 26)
    shapes = [text((x.start + x.end) / 2, top + 14, title, size=13)]
    for tick in x.ticks:
        shapes.append(stroke(x.place(tick), y.start, x.place(tick), y.end))
        shapes.append(text(x.place(tick), y.start + 15, number(tick), size=11))
    for tick in y.ticks:
        shapes.append(stroke(x.start, y.place(tick), x.end, y.place(tick)))
        shapes.append(text(x.start - 5, y.place(tick) + 4, number(tick), anchor="end", size=11))
    shapes.append(text((x.start + x.end) / 2, y.start + 32, xlabel))
    shapes.append(text(left + 4, top + 14, ylabel, anchor="start", size=11))
    for place, each in enumerate(series):
        colour = COLOURS[place % len(COLOURS)]
        spots = [(x.place(a), y.place(b)) for a, b in each.points]
        if each.line:
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in spots)
            dashes = "" if each.dots else " stroke-dasharray='5 4'"
            shapes.append(
                f"<polyline points='{path}' fill='none' stroke='{colour}' "
                f"stroke-width='1.8'{dashes}/>"
            )
        if each.dots:
            shapes += [dot(a, b, colour, each.dots) for a, b in spots]
        shapes.append(
            f"<text x='{x.start + 8:.1f}' y='{y.end + 14 + 15 * place:.1f}' font-size='11' {FONT} "
            f"fill='{colour}'>{escape(each.label)}</text>"
        )
    return shapes


def dot_rows(
    rows: Sequence[str],
    columns: Sequence[tuple[str, dict[str, tuple[float, str]]]],
    xlabel: str,
    box: tuple[float, ...],
    labels: float = 170.0,
) -> list[str]:
    """Dots on one line for each row, in a panel for each column: (title, row to value and kind).

    The names of the rows get ``labels`` of the width.
    """
    left, top, width, height = box
    each = (width - labels) / len(columns)
    step = (height - 70) / len(rows)
    shapes = []
    # All panels have the same axis, so that they can be compared.
    everything = [value for _, values in columns for value, _ in values.values()]
    for place, name in enumerate(rows):
        y = top + 34 + step * (place + 0.5)
        shapes.append(text(left + labels - 8, y + 4, name, anchor="end", size=11))
        shapes.append(stroke(left + labels, y, left + width - 6, y))
    for place, (title, values) in enumerate(columns):
        start = left + labels + each * place
        x = Axis.over(everything, start + 10, start + each - 12)
        shapes.append(text(start + each / 2, top + 16, title, size=11))
        for tick in x.ticks:
            shapes.append(stroke(x.place(tick), top + 28, x.place(tick), top + height - 34))
            shapes.append(text(x.place(tick), top + height - 20, number(tick), size=10))
        for row, name in enumerate(rows):
            if name in values:
                value, kind = values[name]
                colour = COLOURS[0] if kind == "full" else COLOURS[1]
                y = top + 34 + step * (row + 0.5)
                shapes.append(dot(x.place(value), y, colour, kind))
    shapes.append(text(left + labels + (width - labels) / 2, top + height - 4, xlabel))
    return shapes


def cross(x: float, y: float, colour: str) -> str:
    """A small cross."""
    return (
        f"<path d='M{x - 3.5:.1f} {y - 3.5:.1f} l7 7 m0 -7 l-7 7' stroke='{colour}' "
        "stroke-width='1.6' fill='none'/>"
    )


def share_rows(
    rows: Sequence[str],
    columns: Sequence[tuple[str, dict[str, list[tuple[float, str]]]]],
    xlabel: str,
    box: tuple[float, ...],
) -> list[str]:
    """Shares of one, several on a line, in a panel for each column; more than all is cut off.

    Kinds are ``"full"`` and ``"ring"`` for dots, and ``"cross"``.
    """
    left, top, width, height = box
    labels, most = 170.0, 1.15
    each = (width - labels) / len(columns)
    step = (height - 70) / len(rows)
    shapes = []
    for place, name in enumerate(rows):
        y = top + 34 + step * (place + 0.5)
        shapes.append(text(left + labels - 8, y + 4, name, anchor="end", size=11))
        shapes.append(stroke(left + labels, y, left + width - 6, y))
    for place, (title, values) in enumerate(columns):
        start, span = left + labels + each * place + 10, each - 22
        shapes.append(text(start + span / 2, top + 16, title, size=11))
        for tick in (0.0, 0.5, 1.0):
            x = start + span * tick / most
            colour = INK if tick == 1.0 else FAINT
            shapes.append(stroke(x, top + 28, x, top + height - 34, colour))
            shapes.append(text(x, top + height - 20, f"{100 * tick:.0f}%", size=10))
        for row, name in enumerate(rows):
            y = top + 34 + step * (row + 0.5)
            for value, kind in values.get(name, ()):
                x = start + span * min(value, most) / most
                is_cross = kind == "cross"
                shapes.append(cross(x, y, COLOURS[1]) if is_cross else dot(x, y, COLOURS[0], kind))
    shapes.append(text(left + labels + (width - labels) / 2, top + height - 4, xlabel))
    return shapes


def document(shapes: Sequence[str], width: float, height: float, title: str) -> str:
    """The whole file."""
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' "
        f"role='img'><title>{escape(title)}</title>"
        f"<rect width='{width:g}' height='{height:g}' fill='white'/>"
    )
    return "\n".join([head, *shapes, "</svg>"]) + "\n"
