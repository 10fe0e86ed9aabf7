"""The drawings of the page."""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarks.page import audits
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


def rungs() -> str:
    """The share of features that the border rule leaves, rung by rung."""
    names = dict.fromkeys(row["instance"] for row in table("rungs"))
    series = []
    for name in names:
        rows = rows_of("rungs", instance=name)
        points = [(float(row["s"]), float(row["share left"])) for row in rows if int(row["left"])]
        series.append(Series(f"{name} (of {rows[0]['n']})", points))
    shapes = panel(series, "", "features s of the component", "share left", (0, 0, 640, 330))
    return document(shapes, 640, 330, "Features that the border rule leaves on each rung")


def ablation() -> str:
    """Time without each means of closing, as a multiple of the time with all."""
    rows = [row for row in table("ablation") if row["without"] != "nothing"]
    names = dict.fromkeys(f"{row['instance']}, p = {row['p']}" for row in rows)
    columns = []
    for without in dict.fromkeys(row["without"] for row in rows):
        values = {
            f"{row['instance']}, p = {row['p']}": (
                max(float(row["times"]), 0.1),
                "full" if row["status"] == "optimal" else "ring",
            )
            for row in rows
            if row["without"] == without and row["times"]
        }
        columns.append((f"without {without}", values))
    words = "time, as a multiple of that with everything; rings: left open"
    shapes = dot_rows(list(names), columns, words, (0, 0, 900, 420), labels=210.0)
    return document(shapes, 900, 420, "What each means of closing decides")


def sets() -> str:
    """How far above the best known set each bound is."""
    keys = dict.fromkeys((row["instance"], row["p"]) for row in table("grid"))
    columns = []
    for r in ("2", "3"):
        for title, bound in (("simple bound", "set bound"), ("joint relaxation", "joint bound")):
            values = {}
            for row in rows_of("grid", r=r):
                if row["joint"]:
                    over = float(row[bound]) / float(row["joint"]) - 1.0
                    kind = "full" if bound == "joint bound" else "ring"
                    values[f"{row['instance']}, p = {row['p']}"] = (max(over, 1e-4), kind)
            columns.append((f"r = {r}, {title}", values))
    names = [f"{name}, p = {p}" for name, p in keys]
    height = 90.0 + 15.0 * len(names)
    words = "gap to the best set known (1e-4: or less)"
    shapes = dot_rows(names, columns, words, (0, 0, 900, height), labels=190.0)
    return document(shapes, 900, height, "Bounds on sets of components")


def proofs() -> str:
    """What a certificate costs beside the solve."""
    rows = table("proofs")
    names = [f"{row['instance']}, p = {row['p']}, K = {row['K']}" for row in rows]
    columns = []
    for title, column in (
        ("solving with a proof", "with proof"),
        ("writing it", "writing"),
        ("checking it", "check"),
    ):
        values = {name: (float(row[column]), "full") for name, row in zip(names, rows, strict=True)}
        columns.append((title, values))
    words = "time, as a multiple of solving without a proof"
    shapes = dot_rows(names, columns, words, (0, 0, 820, 250), labels=210.0)
    return document(shapes, 820, 250, "What certificates cost")


PICTURES: dict[str, Callable[[], str]] = {
    "evidence-audits.svg": audits.picture,
    "evidence-peers.svg": peers,
    "evidence-relaxations.svg": relaxations,
    "evidence-growth.svg": growth,
    "paper-rungs.svg": rungs,
    "paper-ablation.svg": ablation,
    "paper-sets.svg": sets,
    "paper-proofs.svg": proofs,
}
