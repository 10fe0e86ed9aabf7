"""The whole sparsity path of a first component, and raw data with thousands of features."""

from __future__ import annotations

import numpy as np

from benchmarks.instances import data_file, load
from benchmarks.measure import Case, Row, Settings, closed_by
from benchmarks.timing import Units, timed
from orthospca import DataCovariance, solve, sparsity_path
from orthospca.numerics.threads import single_threaded_blas

#: Columns of the table `ladder`: all sparsities up to p, in units of one ``eigh`` of the matrix.
LADDER_COLUMNS = ("instance", "n", "p", "largest gap", "open", "seconds", "units")
#: Columns of the table `wide`: "XᵀX" is the ratio to forming the covariance once with NumPy.
WIDE_COLUMNS = (
    "instance",
    "n",
    "p",
    "K",
    "gap asked",
    "largest gap",
    "status",
    "closed by",
    "seconds",
    "XᵀX",
)

#: Problem, largest sparsity, whether it is left out of a quick run.
PATHS = (
    ("normCommunities-101", 20, False),
    ("normArrhythmia-257", 20, False),
    ("normArrhythmia-257", 30, True),
    ("Lymphoma-500", 50, True),
    ("CovColon-500", 50, False),
    ("Reddit-2000", 20, True),
)
#: File, whether correlations, sparsity, components, gap.
RAW = (
    ("golub_X_72x7129.npz", False, 5, 1, 1e-4),
    ("golub_X_72x7129.npz", False, 10, 1, 1e-4),
    ("golub_X_72x7129.npz", False, 20, 1, 1e-4),
    ("golub_X_72x7129.npz", False, 10, 3, 1e-3),
    ("golub_X_72x7129.npz", False, 20, 3, 1e-2),
    ("golub_X_72x7129.npz", True, 20, 3, 1e-3),
    ("gordon_X_181x12533.npz", False, 10, 3, 1e-3),
    ("gordon_X_181x12533.npz", False, 20, 3, 1e-3),
    ("gordon_X_181x12533.npz", True, 10, 3, 1e-3),
    ("gordon_X_181x12533.npz", True, 20, 3, 1e-3),
    ("spls_lymphoma_X_62x4026.npz", False, 20, 5, 1e-3),
)


def ladder_cases(settings: Settings) -> list[Case]:
    """One climb each, to 1e-4."""
    return [_path_case(name, p) for name, p, slow in PATHS if not (slow and settings.quick)]


def _path_case(name: str, p: int) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        matrix = load(name)
        # What is imported or set up by the first solve is not measured.
        sparsity_path(np.eye(4) + 0.1, range(1, 3))
        limit = settings.limit(60.0, 5.0)
        (result, seconds), unit = units.around(
            name,
            lambda: timed(lambda: sparsity_path(matrix, range(1, p + 1), time_limit=limit)),
        )
        gaps = result.gaps[:, 0]
        row: Row = {
            "instance": name,
            "n": len(matrix),
            "p": p,
            "largest gap": float(gaps.max()),
            "open": int(np.count_nonzero(gaps > 1e-4)),
            "seconds": seconds,
            "units": seconds / unit,
        }
        return [row]

    return Case(f"{name}, p = 1 … {p}", run)


def wide_cases(settings: Settings) -> list[Case]:
    """Gene expression as it is downloaded."""
    return [] if settings.quick else [_wide_case(*row) for row in RAW]


def _wide_case(file: str, correlation: bool, p: int, k: int, gap: float) -> Case:
    name = file.split(".")[0] + (" corr." if correlation else "")

    def run(settings: Settings, units: Units) -> list[Row]:
        with np.load(data_file(file)) as archive:
            data = np.asarray(archive["X"], dtype=float)
        centred = data - data.mean(axis=0)
        with single_threaded_blas():
            unit = min(timed(lambda: centred.T @ centred)[1] for _ in range(2))
        limit = settings.limit(60.0, 5.0)
        covariance = DataCovariance(data, correlation=correlation)
        result, seconds = timed(lambda: solve(covariance, p, k, gap=gap, time_limit=limit))
        row: Row = {
            "instance": name,
            "n": data.shape[1],
            "p": p,
            "K": k,
            "gap asked": gap,
            "largest gap": float(result.gaps.max()),
            "status": result.status.value,
            "closed by": closed_by(result.stages),
            "seconds": seconds,
            "XᵀX": seconds / unit,
        }
        return [row]

    return Case(f"{name}, p = {p}, K = {k}", run)
