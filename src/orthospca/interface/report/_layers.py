"""What a chart with two axes can show: lines, bars, bands, caps, dots, arrows.

A layer knows the numbers it shows and how to draw them once a :class:`Frame` says where they lie.
``tone`` is one of the colours ``0, 1, …`` of ``chart.css``; -1 is grey.  ``tips`` are the texts for
pointer and keyboard, one for each number; without them the layer is silent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from orthospca.interface.grouping import TONES
from orthospca.interface.report._svg import LETTER, Drawing, short, width_of

Numbers = Sequence[float]
#: Size of the names of arrows, and how many there are on half an axis.
SMALL, MOST_NAMES = LETTER - 1, 6


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
    """The class of a colour; those of a scale come after those that tell things apart."""
    if tone < 0:
        return "cx"
    return f"c{tone}" if tone < TONES else f"q{tone - TONES}"


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
    """Points without a line, in one path however many they are; ``faint`` ones stay behind."""

    name: str
    x: Numbers
    y: Numbers
    tips: Sequence[str] = ()
    tone: int = 0
    faint: bool = False

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
        kinds = ["dots", "tiny" * (len(places) > 1200), "faint" * self.faint, tone_of(self.tone)]
        way = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in places)
        drawing.path(way, " ".join(filter(None, kinds)))
        for (a, b), tip in zip(places, self.tips, strict=False):
            drawing.mark(a, b, tip)


@dataclass(frozen=True)
class Arrows:
    """Arrows from the origin with names at their ends.

    Where the ends lie in a row along an axis, as those of sparse components do, their names are
    moved apart and joined to the ends by thin lines; what has no room is left to the tips.
    """

    name: str
    x: Numbers
    y: Numbers
    labels: Sequence[str]
    tips: Sequence[str] = ()

    @property
    def sign(self) -> str:
        """A short line."""
        return "line ink"

    def reach(self) -> tuple[list[float], list[float]]:
        """The ends."""
        return list(self.x), list(self.y)

    def draw(self, frame: Frame, drawing: Drawing) -> None:
        """Arrows first, then the names of the longest."""
        x0, y0 = frame.x(0.0), frame.y(0.0)
        ends = [(frame.x(a), frame.y(b)) for a, b in zip(self.x, self.y, strict=True)]
        order = sorted(range(len(ends)), key=lambda i: -math.dist(ends[i], (x0, y0)))
        for i in order:
            drawing.line(x0, y0, *ends[i], "arrow")
            drawing.circle(*ends[i], 2.4, "fill ink")
            if i < len(self.tips):
                drawing.mark(*ends[i], self.tips[i])
        across = [i for i in order if abs(ends[i][1] - y0) < 0.12 * abs(ends[i][0] - x0)]
        upright = [i for i in order if abs(ends[i][0] - x0) < 0.12 * abs(ends[i][1] - y0)]
        self._beside(drawing, [i for i in order if i not in {*across, *upright}], ends, x0)
        across = _few(across, lambda i: ends[i][0] < x0)
        upright = _few(upright, lambda i: ends[i][1] < y0)
        side = max((width_of(self.labels[i], SMALL) for i in upright), default=0.0)
        right = x0 + side + 40 < drawing.width
        for place, i in _apart([(ends[i][1], i) for i in upright], 14.0, 24.0, y0 + 400.0):
            a, b = ends[i]
            out = 22.0 if right else -22.0
            drawing.line(a, b, a + out - math.copysign(3.0, out), place, "leader")
            anchor = "start" if right else "end"
            drawing.text(a + out, place + 4, self.labels[i], "small halo", anchor)
        low, high = 30.0, drawing.width - 24.0
        for place, i in _apart([(ends[i][0], i) for i in across], 17.0, low, high):
            a, b = ends[i]
            drawing.line(a, b, place, b - 15, "leader")
            drawing.text(place + 3, b - 18, self.labels[i], "small halo", "end", 52.0)

    def _beside(
        self, drawing: Drawing, which: list[int], ends: list[tuple[float, float]], x0: float
    ) -> None:
        """Names of arrows that lie along no axis, where they cover no other."""
        taken: list[tuple[float, float, float, float]] = []
        for i in which:
            (x, y), wide = ends[i], width_of(self.labels[i], SMALL)
            left = x < x0 and x - wide > 30.0
            start = x - 7 - wide if left else x + 7
            box = (start, y - 7, start + wide, y + 7)
            if box[2] < drawing.width + 20 and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                anchor = "end" if left else "start"
                drawing.text(x - 7 if left else x + 7, y + 4, self.labels[i], "small halo", anchor)


def _few(which: list[int], side: Callable[[int], bool]) -> list[int]:
    """The first ones on either side, as many as can be read there."""
    sides = [[i for i in which if side(i)], [i for i in which if not side(i)]]
    return [i for i in which if any(i in few[:MOST_NAMES] for few in sides)]


def _apart(
    wanted: list[tuple[float, int]], apart: float, low: float, high: float
) -> list[tuple[float, int]]:
    """Places near those that are wanted, in the same order and so far apart, within limits.

    The first ones count most: those for which there is no room are left out.
    """
    kept = sorted(wanted[: max(0, int((high - low) / apart) + 1)])
    places: list[float] = []
    for at, _ in kept:
        places.append(max(at, low, places[-1] + apart if places else low))
    # Back from the far end, and so that a crowd is spread to both sides of where it is wanted.
    for n in range(len(places) - 1, -1, -1):
        limit = high if n == len(places) - 1 else places[n + 1] - apart
        places[n] = min(places[n], limit)
    shift = sum(at - place for (at, _), place in zip(kept, places, strict=True)) / max(len(kept), 1)
    shift = max(shift, low - places[0]) if places else 0.0
    return [(place + min(shift, 0.0), i) for place, (_, i) in zip(places, kept, strict=True)]


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def legend_of(layers: Sequence[Layer]) -> list[tuple[str, str]]:
    """Sign and name of each layer that has a name, each once; what is grey comes last."""
    pairs = dict.fromkeys((layer.sign, layer.name) for layer in layers if layer.name)
    return sorted(pairs, key=lambda pair: pair[0].endswith("cx"))
