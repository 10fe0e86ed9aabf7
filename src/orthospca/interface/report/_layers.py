"""What a chart with two axes can show: lines, bars, bands, caps, dots, arrows.

A layer knows the numbers it shows and how to draw them once a :class:`Frame` says where they lie.
``tone`` is one of the colours ``0, 1, …`` of ``chart.css``; -1 is grey.  ``tips`` are the texts for
pointer and keyboard, one for each number; without them the layer is silent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from orthospca.interface.report._svg import LETTER, Drawing, short, width_of

Numbers = Sequence[float]


class Frame(Protocol):
    """Where numbers lie in the drawing."""

    def x(self, value: float) -> float:
        """From left to right."""
        ...

    def y(self, value: float) -> float:
        """From top to bottom."""
        ...


class Layer(Protocol):
    """Something with numbers that can be drawn into a frame."""

    @property
    def name(self) -> str:
        """For the legend; empty for none."""
        ...

    @property
    def sign(self) -> str:
        """How the legend shows it: a class of ``chart.css`` and a shape."""
        ...

    def reach(self) -> tuple[list[float], list[float]]:
        """The numbers on each axis for which there must be room."""
        ...

    def draw(self, frame: Frame, drawing: Drawing) -> None:
        """Draw it."""
        ...


def tone_of(tone: int) -> str:
    """The class of a colour."""
    return f"c{tone}" if tone >= 0 else "cx"


@dataclass(frozen=True)
class Line:
    """A line through points, or steps; ``hollow`` points are not filled (not certified, say)."""

    name: str
    x: Numbers
    y: Numbers
    tips: Sequence[str] = ()
    tone: int = 0
    step: bool = False
    dots: bool = True
    hollow: Sequence[bool] = ()
    ending: str = ""

    @property
    def sign(self) -> str:
        """A short line, with a dot if there are dots."""
        return f"line{' dot' * self.dots} {tone_of(self.tone)}"

    def reach(self) -> tuple[list[float], list[float]]:
        """All points."""
        return list(self.x), list(self.y)

    def draw(self, frame: Frame, drawing: Drawing) -> None:
        """The line, then what is on it."""
        points = [(frame.x(a), frame.y(b)) for a, b in zip(self.x, self.y, strict=True)]
        points = [(a, b) for a, b in points if math.isfinite(a) and math.isfinite(b)]
        if not points:
            return
        way = f"M{short(points[0][0])} {short(points[0][1])}"
        for a, b in points[1:]:
            way += f"H{short(a)}V{short(b)}" if self.step else f"L{short(a)} {short(b)}"
        drawing.path(way, f"stroke {tone_of(self.tone)}")
        if self.dots:
            hollow = self.hollow or [False] * len(points)
            for (a, b), is_hollow in zip(points, hollow, strict=True):
                drawing.circle(a, b, 3.6, f"{'ring' if is_hollow else 'fill'} {tone_of(self.tone)}")
        if self.ending:
            a, b = points[-1]
            drawing.circle(a, b, 3.2, f"fill {tone_of(self.tone)}")
            drawing.text(a, b + 15, self.ending, f"small fill {tone_of(self.tone)}", "middle")
        for (a, b), tip in zip(points, self.tips, strict=False):
            drawing.mark(a, b, tip)


@dataclass(frozen=True)
class Bars:
    """A bar for each number, from zero."""

    name: str
    x: Numbers
    y: Numbers
    tips: Sequence[str] = ()
    tone: int = 0
    width: float = 0.62

    @property
    def sign(self) -> str:
        """A little square."""
        return f"box {tone_of(self.tone)}"

    def reach(self) -> tuple[list[float], list[float]]:
        """The bars with their sides, and zero."""
        half = self.width / 2
        return [a + side for a in self.x for side in (-half, half)], [0.0, *self.y]

    def draw(self, frame: Frame, drawing: Drawing) -> None:
        """The bars; at most so wide that a lonely one is still a bar."""
        for i, (a, b) in enumerate(zip(self.x, self.y, strict=True)):
            wide = min(frame.x(a + self.width / 2) - frame.x(a - self.width / 2), 64.0)
            top, bottom = sorted((frame.y(b), frame.y(0.0)))
            drawing.rect(
                frame.x(a) - wide / 2, top, wide, bottom - top, f"fill {tone_of(self.tone)}"
            )
            if i < len(self.tips):
                drawing.mark(frame.x(a), frame.y(b), self.tips[i])


@dataclass(frozen=True)
class Band:
    """What lies between two lines, such as a variance and its proved bound."""

    name: str
    x: Numbers
    lower: Numbers
    upper: Numbers
    tone: int = 0

    @property
    def sign(self) -> str:
        """A little square, pale."""
        return f"box pale {tone_of(self.tone)}"

    def reach(self) -> tuple[list[float], list[float]]:
        """Both lines."""
        return list(self.x), [*self.lower, *self.upper]

    def draw(self, frame: Frame, drawing: Drawing) -> None:
        """There and back."""
        there = [(frame.x(a), frame.y(b)) for a, b in zip(self.x, self.upper, strict=True)]
        back = [(frame.x(a), frame.y(b)) for a, b in zip(self.x, self.lower, strict=True)]
        ways = [f"{short(a)} {short(b)}" for a, b in there + back[::-1]]
        drawing.path("M" + "L".join(ways) + "Z", f"pale fill {tone_of(self.tone)}")


@dataclass(frozen=True)
class Caps:
    """A short horizontal stroke at each number: a bound above a bar."""

    name: str
    x: Numbers
    y: Numbers
    width: float = 0.62

    @property
    def sign(self) -> str:
        """A short line."""
        return "line ink"

    def reach(self) -> tuple[list[float], list[float]]:
        """The strokes."""
        return list(self.x), list(self.y)

    def draw(self, frame: Frame, drawing: Drawing) -> None:
        """Each stroke."""
        for a, b in zip(self.x, self.y, strict=True):
            half = min((frame.x(a + self.width / 2) - frame.x(a - self.width / 2)) / 2, 32.0)
            drawing.line(frame.x(a) - half, frame.y(b), frame.x(a) + half, frame.y(b), "stroke ink")


@dataclass(frozen=True)
class Dots:
    """Points without a line, in one path however many they are."""

    name: str
    x: Numbers
    y: Numbers
    tips: Sequence[str] = ()
    tone: int = 0

    @property
    def sign(self) -> str:
        """A dot."""
        return f"dot {tone_of(self.tone)}"

    def reach(self) -> tuple[list[float], list[float]]:
        """All points."""
        return list(self.x), list(self.y)

    def draw(self, frame: Frame, drawing: Drawing) -> None:
        """Strokes of no length with round ends."""
        places = [(frame.x(a), frame.y(b)) for a, b in zip(self.x, self.y, strict=True)]
        many = "tiny" if len(places) > 1200 else ""
        way = "".join(f"M{short(a)} {short(b)}h0" for a, b in places)
        drawing.path(way, f"dots {many} {tone_of(self.tone)}".replace("  ", " "))
        for (a, b), tip in zip(places, self.tips, strict=False):
            drawing.mark(a, b, tip)


@dataclass(frozen=True)
class Arrows:
    """Arrows from the origin with names at their ends; a name that has no room is left out."""

    name: str
    x: Numbers
    y: Numbers
    labels: Sequence[str]
    tips: Sequence[str] = ()
    taken: list[tuple[float, float, float, float]] = field(default_factory=list)

    @property
    def sign(self) -> str:
        """A short line."""
        return "line ink"

    def reach(self) -> tuple[list[float], list[float]]:
        """The ends."""
        return list(self.x), list(self.y)

    def draw(self, frame: Frame, drawing: Drawing) -> None:
        """The longest first, so that they have names."""
        x0, y0 = frame.x(0.0), frame.y(0.0)
        ends = [(frame.x(a), frame.y(b)) for a, b in zip(self.x, self.y, strict=True)]
        order = sorted(range(len(ends)), key=lambda i: -math.dist(ends[i], (x0, y0)))
        for i in order:
            a, b = ends[i]
            drawing.line(x0, y0, a, b, "arrow")
            drawing.circle(a, b, 2.4, "fill ink")
            if i < len(self.tips):
                drawing.mark(a, b, self.tips[i])
        for i in order:
            self._label(drawing, *ends[i], ends[i][0] - x0, ends[i][1] - y0, self.labels[i])

    def _label(self, drawing: Drawing, x: float, y: float, dx: float, dy: float, text: str) -> None:
        """Beside the end; along the horizontal axis, where many ends lie in a row, on a slope."""
        size = LETTER - 1
        wide = width_of(text, size)
        if abs(dx) > 3 * abs(dy):
            slope = 45.0
            steps = [(x + t * wide * 0.7 / 6 + 4, y - t * wide * 0.7 / 6 - 6) for t in range(7)]
            boxes = [(a - 4, b - 5, a + 4, b + 5) for a, b in steps]
            place = (x + 3, y - 6, "start", -slope)
        else:
            left = dx < -4
            start = x - 7 - wide if left else x + 7
            boxes = [(start, y - 6, start + wide, y + 6)]
            place = (x - 7 if left else x + 7, y + 4, "end" if left else "start", 0.0)
        inside = all(b[0] > 0 and b[2] < drawing.width and b[1] > 0 for b in boxes)
        if inside and not any(_overlap(box, other) for box in boxes for other in self.taken):
            self.taken.extend(boxes)
            drawing.text(place[0], place[1], text, "small halo", place[2], place[3])


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def legend_of(layers: Sequence[Layer]) -> list[tuple[str, str]]:
    """Sign and name of each layer that has a name, each once."""
    pairs = [(layer.sign, layer.name) for layer in layers if layer.name]
    return [pair for pair, _ in groupby(sorted(set(pairs), key=pairs.index))]
