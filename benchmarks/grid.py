"""The grid of Cory-Wright and Pauphilet: two and three components of published correlations.

Stage by stage, each component is the best one given those before it.  A bound on the best *set*
that needs nothing else is ``min(r·u₁, sum of the r largest eigenvalues)``, where u₁ is the proved
bound of the first stage.  Where ``solve`` knows ``objective="joint"``, the set itself is solved,
with its own bound.
"""

from __future__ import annotations

import inspect

import numpy as np

from benchmarks.instances import load
from benchmarks.measure import Case, Row, Settings
from benchmarks.timing import Units, timed
from orthospca import solve

#: Columns: values and bounds as fractions of the trace; "stage gap" is the largest of the stages;
#: "set gap" that of the stage-wise value to "set bound"; the rest is of the joint objective.
GRID_COLUMNS = (
    "instance",
    "n",
    "p",
    "r",
    "stagewise",
    "stage gap",
    "status",
    "seconds",
    "units",
    "set bound",
    "set gap",
    "joint",
    "joint bound",
    "joint gap",
    "joint nodes",
    "joint seconds",
    "joint outcome",
)

#: Problem and its sparsities; the matrices are correlations.
GRID: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("Pitprops-13", (5, 10)),
    ("normwine_13", (5, 10)),
    ("normGeographic_68", (5, 10, 20)),
    ("normCommunities-101", (5, 10, 20)),
    ("normArrhythmia-257", (5, 10, 20)),
    ("normionosphere_34", (5, 10, 20)),
    ("normlung_54", (5, 10, 20)),
    ("normvoice_310", (5, 10, 20)),
    ("normgait_320", (5, 10, 20)),
    ("normgastro_466", (5, 10, 20)),
)
#: Seconds for a set; the bound and the value that are there then are what is reported.
JOINT_LIMIT = 60.0
#: The same for each set of Pitprops.
PITPROPS_LIMIT = 10.0
NO_JOINT = "solve has no joint objective"


def grid_cases(settings: Settings) -> list[Case]:
    """All of the grid for which there are data."""
    wanted = GRID[:1] if settings.quick else GRID
    return [
        grid_case(name, p, r) for name, sparsities in wanted for p in sparsities for r in (2, 3)
    ]


def pitprops_set_cases(settings: Settings) -> list[Case]:
    """Two to six components of two to ten features of Pitprops."""
    counts, sparsities = ((2,), (2, 3)) if settings.quick else (range(2, 7), range(2, 11))
    limit = settings.limit(PITPROPS_LIMIT, 2.0)
    return [grid_case("Pitprops-13", p, r, joint_limit=limit) for r in counts for p in sparsities]


def grid_case(
    name: str, p: int, r: int, gap: float = 1e-4, joint_limit: float | None = None
) -> Case:
    """Stage by stage to a gap, and the set within its limit."""

    def run(settings: Settings, units: Units) -> list[Row]:
        matrix = load(name)
        limit = settings.limit(60.0, 5.0)
        # What is imported or set up by the first solve is not measured.
        solve(np.eye(4) + 0.1, 2)
        (result, seconds), unit = units.around(
            name, lambda: timed(lambda: solve(matrix, p, r, gap=gap, time_limit=limit))
        )
        trace = float(np.trace(matrix))
        value = float(result.variances.sum())
        largest = float(np.linalg.eigvalsh(matrix)[-r:].sum())
        bound = min(r * float(result.upper_bounds[0]), largest)
        row: Row = {
            "instance": name,
            "n": len(matrix),
            "p": p,
            "r": r,
            "stagewise": value / trace,
            "stage gap": float(result.gaps.max()),
            "status": result.status.value,
            "seconds": seconds,
            "units": seconds / unit,
            "set bound": bound / trace,
            "set gap": bound / value - 1.0,
        }
        together = joint_limit or settings.limit(JOINT_LIMIT, 2.0)
        return [{**row, **_joint(matrix, p, r, together)}]

    return Case(f"{name}, p = {p}, r = {r}", run)


def _joint(matrix: np.ndarray, p: int, r: int, limit: float) -> Row:
    """The best set; a sentence where this version of ``solve`` cannot do it."""
    if "objective" not in inspect.signature(solve).parameters:
        return {"joint outcome": NO_JOINT}
    asked = {"objective": "joint", "gap": 1e-4, "time_limit": limit}
    result, seconds = timed(lambda: solve(matrix, p, r, **asked))
    trace = float(np.trace(matrix))
    return {
        "joint": float(result.joint_variance) / trace,
        "joint bound": float(result.joint_upper_bound) / trace,
        "joint gap": float(result.joint_gap),
        "joint nodes": int(np.sum(result.nodes)),
        "joint seconds": seconds,
        "joint outcome": result.status.value,
    }
