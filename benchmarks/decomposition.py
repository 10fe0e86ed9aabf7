"""Thresholds: how fine the blocks, how long the solve, how much is lost and how much is proved."""

from __future__ import annotations

import re
import statistics

from benchmarks.instances import load
from benchmarks.measure import Case, Row, Settings
from benchmarks.timing import Units, repeated
from orthospca import Result, Status, block_diagonalize, solve

#: Columns of the table `decomposition`; the gaps are the largest of all stages.
DECOMPOSITION_COLUMNS = (
    "instance",
    "n",
    "p",
    "threshold",
    "blocks",
    "largest",
    "variance",
    "a-priori",
    "gap",
    "status",
    "nodes",
    "seconds",
    "unit seconds",
    "units",
)

THRESHOLDS: tuple[float | str, ...] = (0.0, 50.0, 100.0, 150.0, 200.0, 250.0, "auto")
COMPONENTS = 5


def decomposition_cases(settings: Settings) -> list[Case]:
    """Five components of the colon covariance for each threshold, and what "auto" makes of two."""
    limit = settings.limit(60.0, 5.0)
    cases = [_case("CovColon-500", p, delta, limit) for p in (5, 10) for delta in THRESHOLDS]
    if not settings.quick:
        cases += [_case("RawLymphoma-4026", 10, delta, limit) for delta in (0.0, "auto")]
    return cases


def _case(name: str, p: int, threshold: float | str, time_limit: float) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        matrix = load(name)

        def call() -> Result:
            return solve(
                matrix, p, COMPONENTS, gap=1e-2, threshold=threshold, time_limit=time_limit
            )

        (result, times), unit = units.around(
            name, lambda: repeated(call, settings.repeat, settings.enough)
        )
        seconds = statistics.median(times)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if not result.stages:
            raise RuntimeError(f"no component of {name} was found: {result.status.value}")
        chosen = re.search(r"chose ([^:]+):", result.note)
        delta = float(chosen[1]) if chosen else float(threshold)
        blocks = block_diagonalize(matrix, delta)
        row: Row = {
            "instance": name,
            "n": len(matrix),
            "p": p,
            "threshold": f"auto: {delta:g}" if chosen else f"{delta:g}",
            "blocks": blocks.n_blocks,
            "largest": blocks.largest,
            "variance": float(result.variances.sum()),
            "a-priori": float((result.guarantee / abs(result.variances)).max()),
            "gap": float(result.gaps.max()),
            "status": result.status.value,
            "nodes": result.nodes,
            "seconds": seconds,
            "unit seconds": unit,
            "units": seconds / unit,
        }
        return [row]

    return Case(f"{name}, p = {p}, threshold {threshold}", run)
