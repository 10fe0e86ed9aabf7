"""The table `peers`: every tool on every problem, each in a process of its own."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audits import KEPT, keep
from benchmarks.child import Send, run_in_child
from benchmarks.measure import Case, Row, Settings
from benchmarks.peers.problems import WANTED, problem, tiny
from benchmarks.peers.score import score
from benchmarks.peers.tools import TOOLS, Fit, Tool
from benchmarks.timing import Units

#: Columns: "variance" as :class:`~benchmarks.peers.score.Score` defines it; "gap" is certified;
#: "search" are the seconds of all fits of a search for a penalty; "ratio" is to ours in this run.
PEER_COLUMNS = (
    "data",
    "K",
    "p",
    "tool",
    "version",
    "setting",
    "fewest",
    "most",
    "variance",
    "cosine",
    "gap",
    "seconds",
    "search",
    "ratio",
    "outcome",
)

#: Seconds for a tool on a problem, from the data in memory.
LIMIT, QUICK_LIMIT = 60.0, 15.0


def peer_cases(settings: Settings) -> list[Case]:
    """One case for each problem: the ratios are to ours, measured in the same minutes."""
    return [_case(name) for name, wanted in WANTED.items() if wanted[3] or not settings.quick]


def _case(name: str) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        problem(name)  # what is missing is found out before a process is started
        limit = settings.limit(LIMIT, QUICK_LIMIT)
        folder = None if settings.quick else KEPT
        rows = [measure_tool(tool, name, limit, folder) for tool in TOOLS]
        base = rows[0]["seconds"]
        for row in rows:
            if isinstance(row["seconds"], float) and isinstance(base, float):
                row["ratio"] = row["seconds"] / base
        return rows

    return Case(name, run)


def measure_tool(tool: Tool, name: str, limit: float, folder: Path | None = None) -> Row:
    """One row, whatever becomes of the tool: a sentence in "outcome" says what.

    What it returned is left in the folder, for the table `audits`.
    """
    asked = problem(name)
    row: Row = {
        "data": name,
        "K": asked.n_components,
        "p": asked.sparsity,
        "tool": tool.name,
        "seconds": None,
    }
    if sentence := tool.missing():
        return {**row, "outcome": sentence}
    row["version"] = tool.version()
    place = TOOLS.index(tool)
    ended = run_in_child(_measure, place, name, limit=limit)
    fits = [value for value in ended.values if isinstance(value, Fit)]
    if not fits:
        outcome = ended.error or f"> {limit:g} s"
        return {**row, "outcome": outcome}
    last = fits[-1]
    if not np.isfinite(last.components).all() or not last.components.any():
        return {**row, "seconds": last.seconds, "outcome": "no component came back"}
    judged = score(last.components, asked.data)
    if folder is not None:
        keep(folder, name, tool.name, last.components, last.setting)
    outcome = "ok"
    if not ended.in_time:
        outcome = f"stopped after {limit:g} s"
    elif ended.error:
        outcome = ended.error
    return {
        **row,
        "setting": last.setting,
        "fewest": judged.fewest,
        "most": judged.most,
        "variance": judged.variance,
        "cosine": judged.cosine,
        "gap": last.gap,
        "seconds": last.seconds,
        "search": last.search,
        "outcome": outcome,
    }


def _measure(send: Send, place: int, name: str) -> None:
    """In the child: load, warm up, say so, fit."""
    tool = TOOLS[place]
    asked = problem(name)

    def ignore(fit: Fit) -> None:
        pass

    # What cannot do the tiny problem may still do the real one.
    with contextlib.suppress(Exception):
        tool.fit(tiny(), ignore)
    send("ready")

    def found(fit: Any) -> None:
        send(fit)

    tool.fit(asked, found)
