"""A little SVG: coordinates and texts in, one drawing for the page out.

A :class:`Drawing` collects shapes and the *marks* of a chart: places with a text, which the script
of the page shows when a pointer or a key comes near.  Colours are classes, and ``chart.css`` says
what they mean in the light and in the dark.  Texts are escaped here and nowhere else.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from orthospca.interface.report._html import Html, element, escape

#: Size of the letters in a drawing, and what one takes of the width on average, as a share of it.
LETTER, LETTER_WIDTH = 12.0, 0.56


@dataclass(frozen=True)
class Mark:
    """A place in a drawing and what is to be said of it."""

    x: float
    y: float
    text: str


@dataclass
class Drawing:
    """Shapes in the order in which they are painted.

    Attributes
    ----------
    width, height : float
        Units are pixels if there is room, and less on a phone.
    """

    width: float
    height: float
    parts: list[Html] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def mark(self, x: float, y: float, text: str) -> None:
        """Say something of a place."""
        self.marks.append(Mark(x, y, text))

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line."""
        self.path(f"M{short(x1)} {short(y1)}L{short(x2)} {short(y2)}", kind)

    def rect(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """A rectangle; one without area is not drawn."""
        if width > 0.0 and height > 0.0:
            self._add("rect", kind, x=x, y=y, width=width, height=height)

    def circle(self, x: float, y: float, radius: float, kind: str) -> None:
        """A disc."""
        self._add("circle", kind, cx=x, cy=y, r=radius)

    def path(self, way: str, kind: str) -> None:
        """What the letters of SVG's own language say."""
        self.parts.append(element("path", class_=kind, d=way))

    def text(
        self,
        x: float,
        y: float,
        content: str,
        kind: str = "",
        anchor: str = "",
        turn: float = 0.0,
    ) -> None:
        """A text that begins (or ends, or has its middle) at a place, turned by some degrees."""
        turned = f"rotate({short(turn)} {short(x)} {short(y)})" if turn else ""
        self.parts.append(
            element(
                "text",
                content,
                x=short(x),
                y=short(y),
                class_=kind,
                text_anchor=anchor,
                transform=turned,
            )
        )

    def _add(self, name: str, kind: str, **numbers: float) -> None:
        given = {key: short(value) for key, value in numbers.items()}
        self.parts.append(element(name, class_=kind, **given))

    def svg(self, label: str) -> Html:
        """The element; ``label`` is what those hear who do not see it."""
        size = f"0 0 {short(self.width)} {short(self.height)}"
        width = short(self.width)
        return Html(
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="{size}" role="img" '
            f'style="--w:{width}" aria-label="{escape(label)}">{"".join(self.parts)}</svg>'
        )


def short(number: float) -> str:
    """A coordinate with at most two decimals."""
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def width_of(text: str, size: float = LETTER) -> float:
    """About how wide a text is; East Asian letters are twice as wide as others."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (LETTER_WIDTH * (len(text) - wide) + wide)


def shortened(text: str, room: float, size: float = LETTER) -> str:
    """As much of a text as there is room for, with an ellipsis if that is not all of it."""
    if width_of(text, size) <= room:
        return text
    kept = text
    while kept and width_of(kept, size) > room - size:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def plain(number: float, digits: int = 4) -> str:
    """A number for people: few digits, a true minus sign, no exponent where none is needed."""
    if not math.isfinite(number):
        return "∞" if number > 0 else "−∞" if number < 0 else "–"
    text = f"{number:.{digits}g}"
    if "e" in text and 1e-4 <= abs(number) < 1e7:
        text = f"{number:.0f}" if abs(number) >= 1.0 else f"{number:.{digits + 3}f}".rstrip("0")
    return text.replace("-", "−")


def ticks(low: float, high: float, most: int = 6, whole: bool = False) -> list[float]:
    """Round numbers between two, at most so many and equally far apart."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else []
    raw = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    factors = (1.0, 2.0, 5.0, 10.0) if whole else (1.0, 2.0, 2.5, 5.0, 10.0)
    step = next(f * power for f in factors if f * power >= raw * (1 - 1e-9))
    if whole:
        step = max(1.0, step)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def powers(low: float, high: float, most: int = 7) -> list[float]:
    """Powers of ten between two positive numbers, every second or third if there are many."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / most))
    return [10.0**e for e in range(last, first - 1, -step)]


def spread(values: Iterable[float]) -> tuple[float, float]:
    """The smallest and the largest of the finite numbers; 0 and 1 if there is none."""
    finite = [value for value in values if math.isfinite(value)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)
