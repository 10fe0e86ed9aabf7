"""What a picture shows, as data: marks on two axes, or a matrix as cells.

How to use it::

    XY(
        "path",
        "Variance by sparsity",
        "What to see in it.",
        [Band("", p, variances, upper=bounds), Line("certified", p, variances, tips)],
        x=Axis("variables in a component", whole=True),
        y=Axis("variance", zero=True),
    )

``tone`` is one of the colours ``0, 1, …`` of ``chart.css``; -1 is grey.  ``tips`` are the texts for
pointer and keyboard, one for each point; without them a mark is silent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.interface.plots.text import plain

Numbers = Sequence[float]
#: Room above the highest number, as a share of all.
HEADROOM = 0.05
#: Half of the width of a bar.
HALF = 0.31
#: What points are that are not filled.
HOLLOW = "gap open"


@dataclass(frozen=True)
class Mark:
    """Something with numbers; its name is for the legend, and empty for none."""

    name: str
    x: Numbers
    y: Numbers
    tips: Sequence[str] = ()
    tone: int = 0

    def reach(self) -> tuple[list[float], list[float]]:
        """The numbers on each axis for which there must be room."""
        return list(self.x), list(self.y)


@dataclass(frozen=True)
class Line(Mark):
    """A line through points, or steps; ``hollow`` points have an open gap."""

    step: bool = False
    dots: bool = True
    hollow: Sequence[bool] = ()
    ending: str = ""


@dataclass(frozen=True)
class Bars(Mark):
    """A bar for each number, from zero."""

    def reach(self) -> tuple[list[float], list[float]]:
        """The bars with their sides, and zero."""
        return [a + side for a in self.x for side in (-HALF, HALF)], [0.0, *self.y]


@dataclass(frozen=True)
class Band(Mark):
    """What lies between two lines, such as a variance and its proved bound."""

    upper: Numbers = ()

    def reach(self) -> tuple[list[float], list[float]]:
        """Both lines."""
        return list(self.x), [*self.y, *self.upper]


@dataclass(frozen=True)
class Caps(Mark):
    """A short horizontal stroke at each number: a bound above a bar."""


@dataclass(frozen=True)
class Dots(Mark):
    """Points without a line; ``faint`` ones stay behind, a ``ring`` is around another point."""

    look: str = ""


@dataclass(frozen=True)
class Arrows(Mark):
    """Arrows from the origin with names at their ends."""

    labels: Sequence[str] = ()


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
        In place of what the marks need.
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
            low = low or self.floor
            return low / 3.0, max(high, low * 10.0) * 1.5
        low, high = spread(values)
        if self.zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if low == high:
            low, high = low - 0.5 * (not self.zero or low < 0), high + 0.5
        room = HEADROOM * (high - low)
        return (low if self.zero and low == 0.0 else low - room), high + room


def spread(values: Iterable[float]) -> tuple[float, float]:
    """The smallest and the largest of the finite numbers; 0 and 1 if there is none."""
    finite = [value for value in values if math.isfinite(value)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)


@dataclass(frozen=True)
class _Plot:
    """What every picture has.

    Attributes
    ----------
    name : str
        Of the file that a download makes, without its ending.
    title, caption : str
        What it is, and what to see in it.
    left_out : str
        What is not shown, in a few words.
    empty : str
        Why there is nothing to see, if there is not.
    """

    name: str
    title: str
    caption: str
    left_out: str = field(default="", kw_only=True)
    empty: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class XY(_Plot):
    """Marks on two axes, painted in this order.

    Attributes
    ----------
    marks : sequence of Mark
    x, y : Axis
    width, height : float
        Of all, with legend and axes, in pixels where there is room.
    near : "xy" or "x"
        Which mark is meant by a pointer: the nearest one, or that at the nearest abscissa.
    cross : bool
        Lines through the origin.
    """

    marks: Sequence[Mark]
    x: Axis
    y: Axis
    width: float = 460.0
    height: float = 290.0
    near: str = "xy"
    cross: bool = False

    @property
    def told(self) -> str:
        """The picture in words, for those who do not see it."""
        names = "".join(f"; {mark.name}" for mark in self.marks if mark.name)
        said = f"{self.title}: {self.y.label} by {self.x.label}{names}."
        return " ".join(said.split())

    def reach(self) -> tuple[list[float], list[float]]:
        """The numbers on each axis for which there must be room."""
        reached = [mark.reach() for mark in self.marks]
        return [v for across, _ in reached for v in across], [v for _, up in reached for v in up]

    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """From where to where the axes go."""
        across, up = self.reach()
        return self.x.range(across), self.y.range(up)


@dataclass(frozen=True)
class Grid(_Plot):
    """A matrix as colours: red above zero, blue below, nothing where it is zero (or NaN).

    Attributes
    ----------
    values : ndarray of shape (R, C)
    rows, columns : sequence of str
        The names beside the rows, and above or below the columns.
    column_label : str
        What the columns are.
    column_names : sequence of str
        What tips call the columns, if not by ``columns``.
    write : callable
        How a value is written, in a cell with room for it and in the tip.
    tips : sequence of str
        A text for each column in place of the values, which are then not written.
    largest : float, optional
        The value that has the full colour; that of the matrix by default.
    signed : bool
        Whether there are values below zero; shares are blue.
    value_label : str
        What the colours are.
    cell : (float, float), optional
        Width and height of a cell, in pixels; chosen if not given.
    framed : ndarray of bool, optional
        Cells with a frame.
    beside : sequence of float, optional
        A share for each row, drawn as a bar beside it.
    """

    values: Any
    rows: Sequence[str]
    columns: Sequence[str]
    column_label: str = ""
    column_names: Sequence[str] = ()
    write: Callable[[float], str] = plain
    tips: Sequence[str] = ()
    largest: float | None = None
    signed: bool = True
    value_label: str = ""
    cell: tuple[float, float] | None = None
    framed: Any = None
    beside: Sequence[float] | None = None

    @property
    def told(self) -> str:
        """The picture in words, for those who do not see it."""
        across = f" ({self.column_label})" if self.column_label else ""
        return f"{self.title}: {len(self.rows)} rows, {len(self.columns)} columns{across}."

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a cell."""
        return self.cell or (min(58.0, max(16.0, 560.0 / max(len(self.columns), 1))), 22.0)

    @property
    def full(self) -> float:
        """The value that has the full colour."""
        return self.largest or float(np.nanmax(np.abs(self.values), initial=0.0)) or 1.0

    def shades(self) -> Array:
        """How strong the colours are: from -1 to 1, and exactly 0 for what is not drawn."""
        values = np.nan_to_num(np.asarray(self.values, dtype=float))
        return np.clip(values / self.full, -1.0, 1.0)

    def cells(self) -> list[tuple[int, int]]:
        """Rows and columns of what is drawn."""
        rows, columns = np.nonzero(np.nan_to_num(self.values))
        return list(zip(rows.tolist(), columns.tolist(), strict=True))


Plot = XY | Grid


def share_text(share: float) -> str:
    """A share beside its bar."""
    return f"{share:.0%}" if share > 0.005 else "<1%"


def placed(
    ends: Sequence[tuple[float, float]],
    widths: Numbers,
    origin: tuple[float, float],
    limits: tuple[float, float],
    line: float = 14.0,
) -> list[tuple[float, float] | None]:
    """Where the names of arrows begin, so that none covers another; None where there is no room.

    A name stands beside its arrow's end or, if another is there, some lines above or below it; the
    longest arrows choose first.

    Parameters
    ----------
    ends, widths
        Where the arrows end, and how wide their names are.
    origin : (float, float)
    limits : (float, float)
        Where names may begin and end, from left to right.
    line : float
        How high a line of text is.
    """
    found: list[tuple[float, float] | None] = [None] * len(ends)
    taken: list[tuple[float, float, float]] = []
    for i in sorted(range(len(ends)), key=lambda i: -math.dist(ends[i], origin)):
        (x, y), wide = ends[i], widths[i]
        start = x - 8.0 - wide if x < origin[0] - 1.0 else x + 8.0
        start = max(min(start, limits[1] - wide), limits[0])
        for step in (0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6):
            up = y + step * line
            if all(b < start or a > start + wide or abs(up - v) >= line for a, b, v in taken):
                found[i] = (start, up)
                taken.append((start, start + wide, up))
                break
    return found
