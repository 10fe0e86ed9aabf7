"""Whether a time limit holds: every call that has one, on problems too hard to end before it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.instances import SEED, Array, data_file
from benchmarks.measure import Case, Row, Settings
from benchmarks.timing import Units, timed
from orthospca import (
    DataCovariance,
    OrthogonalSparsePCA,
    alternatives,
    cross_validate_sparsity,
    solve,
    sparsity_path,
    stability,
)

#: Columns of the table `limits`: seconds asked for and taken, and the largest gap that was left.
LIMIT_COLUMNS = ("call", "limit", "seconds", "late", "gap", "status")

#: Seconds that are asked for.
LIMITS = (1.0, 3.0, 10.0)


@lru_cache(maxsize=1)
def noise_matrix(n: int = 1000, m: int = 1500) -> Array:
    """Covariance of independent Gaussian variables: nothing to find, and nothing to prove by."""
    rows = np.random.default_rng(SEED).standard_normal((m, n))
    return np.asarray(np.cov(rows, rowvar=False))


@lru_cache(maxsize=1)
def wide_noise(m: int = 100, n: int = 8000) -> Array:
    """Few observations of many independent variables."""
    return np.random.default_rng(SEED).standard_normal((m, n))


@lru_cache(maxsize=1)
def golub() -> Array:
    """Raw expression of 7129 genes in 72 samples."""
    with np.load(data_file("golub_X_72x7129.npz")) as archive:
        return np.asarray(archive["X"], dtype=float)


@lru_cache(maxsize=1)
def counts(cells: int = 20_000, genes: int = 3000) -> Any:
    """Log-normalised counts as of single cells: overlapping programmes, most entries zero."""
    rng = np.random.default_rng(SEED)
    mean = np.exp(rng.normal(-2, 1.2, genes))
    use = rng.gamma(0.3, 1, (cells, 12))
    effect = np.zeros((12, genes))
    for row in effect:
        chosen = rng.choice(genes, 60, replace=False)
        row[chosen] = rng.gamma(2, 1, 60)
    parts = []
    for start in range(0, cells, 2000):
        rate = mean * np.exp(np.minimum(use[start : start + 2000] @ effect * 0.25, 5))
        drawn = rng.poisson(rate * rng.gamma(5, 0.2, (len(rate), 1)))
        total = np.maximum(drawn.sum(axis=1, keepdims=True), 1)
        parts.append(sparse.csr_matrix(np.log1p(drawn / total * 1e4)))
    return sparse.vstack(parts).tocsr()


def _fitted(X: Any, limit: float) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OrthogonalSparsePCA(3, 20, covariance="correlation", time_limit=limit)
        return model.fit(X).result_


#: What is called, its data, and the call itself with a limit.
CALLS: tuple[tuple[str, Callable[[], Any], Callable[[Any, float], Any]], ...] = (
    ("matrix, n = 1000", noise_matrix, lambda Q, t: solve(Q, 20, 3, time_limit=t)),
    (
        "matrix with a proof, n = 1000",
        noise_matrix,
        lambda Q, t: solve(Q, 20, 3, proof=True, time_limit=t),
    ),
    (
        "wide, 100 × 8000",
        wide_noise,
        lambda X, t: solve(DataCovariance(X), 20, 3, time_limit=t),
    ),
    (
        "wide genes, 72 × 7129",
        golub,
        lambda X, t: solve(DataCovariance(X, correlation=True), 20, 5, time_limit=t),
    ),
    (
        "sparse counts, 20000 × 3000",
        lambda: DataCovariance(counts(), correlation=True),
        lambda Q, t: solve(Q, 20, 3, time_limit=t),
    ),
    ("estimator, counts", counts, _fitted),
    (
        "joint, n = 1000",
        noise_matrix,
        lambda Q, t: solve(Q, 10, 3, objective="joint", time_limit=t),
    ),
    (
        "joint with a proof, n = 200",
        lambda: noise_matrix()[:200, :200],
        lambda Q, t: solve(Q, 10, 3, objective="joint", proof=True, time_limit=t),
    ),
    (
        "joint, n = 12",
        lambda: noise_matrix()[:12, :12],
        lambda Q, t: solve(Q, 6, 6, objective="joint", gap=1e-9, time_limit=t),
    ),
    (
        "lexicographic, n = 200",
        lambda: noise_matrix()[:200, :200],
        lambda Q, t: solve(Q, 10, 3, objective="lexicographic", time_limit=t),
    ),
    (
        "path, n = 1000",
        noise_matrix,
        lambda Q, t: sparsity_path(Q, range(5, 30, 5), n_components=2, time_limit=t),
    ),
    (
        "path, wide",
        wide_noise,
        lambda X, t: sparsity_path(DataCovariance(X), (10, 20), time_limit=t),
    ),
    (
        "alternatives, n = 1000",
        noise_matrix,
        lambda Q, t: alternatives(Q, 15, 0.1, time_limit=t),
    ),
    (
        "alternatives, wide",
        wide_noise,
        lambda X, t: alternatives(DataCovariance(X), 15, 0.1, time_limit=t),
    ),
    (
        "cross-validation, counts",
        counts,
        lambda X, t: cross_validate_sparsity(X, (5, 20), 2, correlation=True, time_limit=t),
    ),
    (
        "cross-validation, wide",
        wide_noise,
        lambda X, t: cross_validate_sparsity(X, (5, 20), 2, correlation=True, time_limit=t),
    ),
    (
        "stability, counts",
        counts,
        lambda X, t: stability(X, 20, 2, n_resamples=10, correlation=True, time_limit=t),
    ),
    (
        "stability, wide",
        wide_noise,
        lambda X, t: stability(X, 20, 2, n_resamples=10, correlation=True, time_limit=t),
    ),
)


def limit_cases(settings: Settings) -> list[Case]:
    """Every call at every limit."""
    limits = (settings.time_limit,) if settings.time_limit is not None else LIMITS
    return [
        _case(name, load, call, limit)
        for name, load, call in CALLS
        for limit in (limits[:1] if settings.quick else limits)
    ]


def _case(
    name: str, load: Callable[[], Any], call: Callable[[Any, float], Any], limit: float
) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        data = load()
        # What the first solve imports or sets up is not measured.
        solve(np.eye(3), 2)
        found, seconds = timed(lambda: call(data, limit))
        row: Row = {
            "call": name,
            "limit": limit,
            "seconds": seconds,
            "late": max(seconds - limit, 0.0),
            "gap": _largest_gap(found),
            "status": _status(found),
        }
        return [row]

    return Case(f"{name}, {limit:g} s", run)


def _largest_gap(found: Any) -> float:
    gaps = getattr(found, "gaps", None)
    return math.nan if gaps is None or not np.size(gaps) else float(np.nanmax(gaps))


def _status(found: Any) -> str:
    if hasattr(found, "status"):
        return str(found.status.value)
    return "complete" if found.complete else "incomplete"
