"""Correlations of 423 shares: four components, certified one after another and as a set."""

from __future__ import annotations

from benchmarks.grid import GRID_COLUMNS, grid_case
from benchmarks.measure import Case, Settings

SNP500_COLUMNS = GRID_COLUMNS
NAME, K = "snp500_423", 4
SPARSITIES = (5, 10, 15, 20, 25, 30, 35)
#: What is asked of a stage, and seconds for the stages and for the set.
GAP, LIMIT, SET_LIMIT = 1e-2, 60.0, 20.0


def snp500_cases(settings: Settings) -> list[Case]:
    """All sparsities; the smallest in a quick run."""
    wanted = SPARSITIES[:1] if settings.quick else SPARSITIES
    limit = settings.limit(SET_LIMIT, 2.0)
    return [grid_case(NAME, p, K, GAP, limit) for p in wanted]
