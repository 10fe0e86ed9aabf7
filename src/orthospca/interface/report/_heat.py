"""A matrix as colours: see ``_charts.py`` for how charts are put into a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from orthospca.interface.report._charts import Chart
from orthospca.interface.report._svg import LETTER, Drawing, plain, shortened, width_of


@dataclass
class _Cells:
    """Cells of the same colour, in one path."""

    ways: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, x: float, y: float, width: float, height: float) -> None:
        way = f"M{x:.5g} {y:.5g}h{width:.3g}v{height:.3g}h-{width:.3g}z"
        self.ways.setdefault(kind, []).append(way)


def heat_map(
    values: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    label: str,
    column_label: str = "",
    write: Callable[[float], str] = lambda v: plain(v, 2),
    largest: float | None = None,
    cell: tuple[float, float] | None = None,
    names: bool = True,
) -> Chart:
    """A matrix as colours: red above zero, blue below, nothing where it is zero (or NaN).

    Parameters
    ----------
    values : ndarray of shape (R, C)
    rows, columns : sequence of str
    label : str
        The picture in words.
    column_label : str
        What the columns are.
    write : callable
        How a value is written, in a cell with room for it and in the tip.
    largest : float, optional
        The value that has the full colour; that of the matrix by default.
    cell : (float, float), optional
        Width and height of a cell, in pixels; chosen if not given.
    names : bool
        Whether rows have their names beside them.  (The tips have them always.)
    """
    height, width = values.shape
    cw, ch = cell or (min(58.0, max(16.0, 560.0 / max(width, 1))), 22.0)
    longest = max((width_of(name, LETTER) for name in rows), default=0.0)
    left = min(longest, 190.0) + 12.0 if names else 34.0
    top = 12.0 + (18.0 if column_label else 0.0) + 14.0
    drawing = Drawing(left + cw * width + 8.0, top + ch * height + 8.0)
    largest = largest or max((abs(float(v)) for v in values.ravel() if v == v), default=1.0) or 1.0
    cells, found, texts = _Cells(), [], []
    apart = 1.0 if min(cw, ch) > 6.0 else 0.0
    for i, j in zip(*values.nonzero(), strict=True):
        value = float(values[i, j])
        if math.isnan(value):
            continue
        x, y = left + cw * j, top + ch * i
        level = max(1 if apart else 2, math.ceil(6 * min(abs(value) / largest, 1.0) - 1e-9))
        cells.add(f"{'h' if value > 0 else 'l'}{level}", x, y, max(cw - apart, 0.6), ch - apart)
        text = write(value)
        found.append([int(i), int(j), text])
        if ch >= 15.0 and width_of(text, LETTER - 1.5) <= cw - 4:
            ink = "on" if level >= 4 else "off"
            texts.append((x + cw / 2, y + ch / 2 + 4, text, f"cell {ink}"))
    if apart:
        for i in range(height):
            y = top + ch * i + ch - apart / 2
            drawing.line(left - 4, y, left + cw * width, y, "hair")
    # Strong colours last: where cells are thinner than a pixel they must not be covered.
    for kind in sorted(cells.ways, key=lambda kind: (kind[1], kind)):
        drawing.path("".join(cells.ways[kind]), kind)
    for x, y, text, kind in texts:
        drawing.text(x, y, text, kind, "middle")
    if names:
        for i, name in enumerate(rows):
            y = top + ch * i + ch / 2 + 4
            drawing.text(left - 8, y, shortened(name, left - 12), "key", "end")
    else:
        each = max(1, math.ceil(14.0 / ch))
        for i in range(0, height, each):
            drawing.text(left - 6, top + ch * i + ch / 2 + 4, str(i + 1), "tick", "end")
    if names:
        every = max(1, math.ceil(24.0 / cw))
        for j in range(0, width, every):
            text = shortened(columns[j], every * cw - 2, LETTER - 1)
            drawing.text(left + cw * j + cw / 2, top - 6, text, "tick", "middle")
    if column_label:
        drawing.text(left + cw * width / 2, 13, column_label, "name", "middle")
    data = {
        "near": "cell",
        "grid": [left, top, cw, ch],
        "rows": list(rows),
        "columns": list(columns),
        "cells": found,
    }
    return Chart(drawing.svg(label), drawing.width, data)
