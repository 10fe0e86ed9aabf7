"""What certificates cost: writing them, checking them, their size."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.instances import data_file, load
from benchmarks.measure import Case, Row, Settings
from benchmarks.timing import Units, timed
from orthospca import DataCovariance, solve, verify

#: Columns of the table `proofs`: "with proof" and "check" are ratios to the solve without one and
#: to that with one, "writing" is the share of the latter; sizes with and without the matrix.
PROOF_COLUMNS = (
    "instance",
    "p",
    "K",
    "seconds",
    "with proof",
    "writing",
    "check",
    "kB",
    "kB of proof",
    "verdict",
)

#: Problem, sparsity, components, gap.
CERTIFIED = (
    ("CovColon-500", 5, 1, 1e-4),
    ("CovColon-500", 20, 1, 1e-4),
    ("CovColon-500", 50, 1, 1e-4),
    ("normCommunities-101", 20, 1, 1e-4),
    ("Lymphoma-500", 10, 5, 1e-4),
    ("golub_X_72x7129.npz", 20, 1, 1e-4),
    ("spls_lymphoma_X_62x4026.npz", 10, 5, 1e-3),
)


def proof_cases(settings: Settings) -> list[Case]:
    """Problems of the literature, and raw gene expression."""
    wanted = CERTIFIED[:1] if settings.quick else CERTIFIED
    return [_case(*row) for row in wanted]


def _case(name: str, p: int, k: int, gap: float) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        Q: Any = load(name) if not name.endswith(".npz") else _data(name)
        solve(np.eye(4) + 0.1, 2, proof=True)
        _, plain = timed(lambda: solve(Q, p, k, gap=gap))
        result, seconds = timed(lambda: solve(Q, p, k, gap=gap, proof=True))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "certificate.zip"
            _, writing = timed(lambda: result.certificate.save(file))
            verdict, checking = timed(lambda: verify(file))
            size = file.stat().st_size
        held = [result.certificate.arrays.get(f"{kind}.npy") for kind in ("matrix", "factor")]
        matrix = sum(array.nbytes for array in held if array is not None)
        row: Row = {
            "instance": name.split(".")[0],
            "p": p,
            "K": k,
            "seconds": seconds,
            "with proof": seconds / plain,
            "writing": writing / seconds,
            "check": checking / seconds,
            "kB": size / 1000,
            "kB of proof": max(size - matrix, 0) / 1000,
            "verdict": "verified" if verdict.verified else verdict.reason,
        }
        return [row]

    return Case(f"certificate of {name.split('.')[0]}, p = {p}, K = {k}", run)


def _data(name: str) -> DataCovariance:
    with np.load(data_file(name)) as archive:
        return DataCovariance(np.asarray(archive["X"], dtype=float))
