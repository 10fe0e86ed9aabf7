"""Data like those of single cells: logarithms of counts, mostly zero, with programmes of genes."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from benchmarks.instances import SEED, Array
from benchmarks.measure import Case, Row, Settings, closed_by
from benchmarks.timing import PROCESSOR, Units, repeated, timed
from orthospca import DataCovariance, solve

#: Columns: "Gram" is the time of the product of the data, dense, with themselves; "units" is ours
#: in that unit.
CELL_COLUMNS = (
    "cells",
    "genes",
    "nonzero",
    "p",
    "K",
    "gap asked",
    "gap",
    "status",
    "closed by",
    "seconds",
    "Gram",
    "units",
)

#: Cells, genes, sparsity, components, gap.
WANTED = (
    (5_000, 2_000, 10, 5, 1e-2),
    (20_000, 2_000, 10, 5, 1e-2),
    (20_000, 2_000, 20, 10, 1e-2),
    (20_000, 5_000, 10, 5, 1e-2),
)
#: Programmes, genes of each, and cells that are drawn at once.
PROGRAMMES, SIZE, CHUNK = 10, 50, 2_000
LIMIT = 120.0


def make_cells(cells: int, genes: int, seed: int = SEED) -> sparse.csr_matrix:
    """Log-normalised counts in which each cell uses a few programmes.

    Counts are Poisson with log-normal means, multiplied by what the cell's programmes do to their
    genes and by the depth of the cell, then scaled to 10 000 in each cell.
    """
    rng = np.random.default_rng(seed)
    means = rng.lognormal(-2.0, 1.1, genes)
    effects = np.zeros((PROGRAMMES, genes))
    for programme in effects:
        programme[rng.choice(genes, SIZE, replace=False)] = rng.uniform(0.2, 1.0, SIZE)
    parts = []
    for start in range(0, cells, CHUNK):
        size = min(CHUNK, cells - start)
        use = rng.gamma(0.4, 1.0, (size, PROGRAMMES))
        rates = means * np.exp(np.minimum(use @ effects, 4.0)) * rng.gamma(5.0, 0.2, (size, 1))
        counts = rng.poisson(rates).astype(float)
        totals = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        parts.append(sparse.csr_matrix(np.log1p(counts * (1e4 / totals))))
    return sparse.csr_matrix(sparse.vstack(parts))


def cell_cases(settings: Settings) -> list[Case]:
    """All sizes; a small one in a quick run."""
    if settings.quick:
        return [_case(1_000, 300, 5, 2, 1e-2)]
    return [_case(*wanted) for wanted in WANTED]


def _gram(dense: Array) -> float:
    """Seconds of the product, in a function of its own so that the dense data are let go."""
    return min(repeated(lambda: dense.T @ dense, 3, 4.0, PROCESSOR)[1])


def _case(cells: int, genes: int, p: int, k: int, gap: float) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        data = make_cells(cells, genes)
        gram = _gram(data.toarray())
        limit = settings.limit(LIMIT, 10.0)
        result, seconds = timed(
            lambda: solve(DataCovariance(data), p, k, gap=gap, time_limit=limit, n_jobs=1),
            PROCESSOR,
        )
        row: Row = {
            "cells": cells,
            "genes": genes,
            "nonzero": data.nnz / (cells * genes),
            "p": p,
            "K": k,
            "gap asked": gap,
            "gap": float(result.gaps.max()),
            "status": result.status.value,
            "closed by": closed_by(result.stages),
            "seconds": seconds,
            "Gram": gram,
            "units": seconds / gram,
        }
        return [row]

    return Case(f"{cells} cells, {genes} genes, p = {p}, K = {k}", run)
