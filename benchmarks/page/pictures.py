"""The drawings of the page."""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarks.page.fits import certified, line, one_way
from benchmarks.page.stored import rows_of, table
from benchmarks.page.svg import Series, document, dot_rows, panel
from benchmarks.peers.problems import HEADLINE

#: Gaps below this are drawn here: an axis of logarithms has no zero.
SMALLEST_GAP = 1e-6


def peers() -> str:
    """Seconds of each tool on each data set; full dots are certified."""
    tools = dict.fromkeys(row["tool"] for row in table("peers") if row["seconds"])
    columns = []
    for data in HEADLINE:
        rows = [row for row in rows_of("peers", data=data) if row["seconds"]]
        values = {
            row["tool"]: (float(row["seconds"]), "full" if row["gap"] else "ring") for row in rows
        }
        columns.append((data, values))
    shapes = dot_rows(list(tools), columns, "seconds of one processor", (0, 0, 900, 380))
    return document(shapes, 900, 380, "Time of each tool on five data sets")


def relaxations() -> str:
    """Gap of each bound on each small problem."""
    kinds = dict.fromkeys(row["bound"] for row in table("relaxations"))
    keys = dict.fromkeys((row["instance"], row["p"]) for row in table("relaxations"))
    columns = []
    for name, p in list(keys):
        rows = [row for row in rows_of("relaxations", instance=name, p=p) if row["gap"]]
        values = {
            row["bound"]: (
                max(float(row["gap"]), SMALLEST_GAP),
                "full" if row["bound"].startswith(("share", "solve")) else "ring",
            )
            for row in rows
        }
        columns.append((f"{name.split('-')[0].removeprefix('uci_')}, {p}", values))
    shapes = dot_rows(list(kinds), columns, "gap (1e-6: or less)", (0, 0, 1180, 300))
    return document(shapes, 1180, 300, "Gaps of bounds before branching")


def growth() -> str:
    """Seconds along each of the four directions, with the fitted power."""
    shapes: list[str] = []
    names = {"n": "features n", "p": "sparsity p", "K": "components K", "samples": "samples"}
    for place, (against, label) in enumerate(names.items()):
        rows = certified(rows_of("growth", against=against))
        points = [(float(row[against]), float(row["seconds"])) for row in rows]
        slope, offset = line(rows, against, "seconds")
        ends = [float(row[against]) for row in one_way(rows, against)]
        fitted = [(x, math.exp(offset) * x**slope) for x in ends]
        series = [
            Series("certified", points, line=False),
            Series(f"power {slope:.2f}", fitted, dots=""),
        ]
        box = (450.0 * (place % 2), 270.0 * (place // 2), 450.0, 270.0)
        shapes += panel(series, f"against {label}", label, "seconds", box)
    return document(shapes, 900, 540, "Growth of the time with n, p, K and the number of samples")


PICTURES: dict[str, Callable[[], str]] = {
    "evidence-peers.svg": peers,
    "evidence-relaxations.svg": relaxations,
    "evidence-growth.svg": growth,
}
