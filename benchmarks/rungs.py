"""How many features the border rule leaves on each rung of the ladder, for first components."""

from __future__ import annotations

import numpy as np

from benchmarks.instances import load
from benchmarks.measure import Case, Row, Settings
from benchmarks.timing import Units
from orthospca import sparsity_path

#: Columns: "left" of n features may belong to a component of s features that reaches the best value
#: known, given the bound that is proved for s − 1.
RUNG_COLUMNS = ("instance", "n", "s", "variance", "bound", "left", "share left")

WANTED = (
    "BreastCancer-30",
    "normCommunities-101",
    "CovColon-500",
    "Lymphoma-500",
    "Reddit-2000",
)
SPARSITY, LIMIT = 20, 60.0


def rung_cases(settings: Settings) -> list[Case]:
    """A case for each problem."""
    return [_case(name) for name in (WANTED[:1] if settings.quick else WANTED)]


def _case(name: str) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        matrix = load(name)
        limit = settings.limit(LIMIT, 5.0)
        path = sparsity_path(matrix, range(1, SPARSITY + 1), time_limit=limit)
        values = [float(result.variances[0]) for result in path.results]
        bounds = [float(result.upper_bounds[0]) for result in path.results]
        squares = np.square(matrix)
        np.fill_diagonal(squares, 0.0)
        # The sums of the largest squares of each row, one more square for each rung.
        sums = np.cumsum(-np.sort(-squares, axis=1)[:, :SPARSITY], axis=1)
        diagonal = np.diag(matrix)
        rows: list[Row] = []
        for s in range(2, SPARSITY + 1):
            level, below = values[s - 1], bounds[s - 2]
            out = (
                (level > below)
                & (level > diagonal)
                & ((level - below) * (level - diagonal) > sums[:, s - 2])
            )
            left = int(len(matrix) - np.count_nonzero(out))
            rows.append(
                {
                    "instance": name,
                    "n": len(matrix),
                    "s": s,
                    "variance": level,
                    "bound": bounds[s - 1],
                    "left": left,
                    "share left": left / len(matrix),
                }
            )
        return rows

    return Case(name, run)
