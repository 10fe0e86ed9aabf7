"""Pitprops in two versions: as Jeffers published it, and as a benchmark of msPCA typed it.

In the second one, five correlations of ``diaknot`` differ.  What is measured on one cannot be
compared with what is measured on the other, so both are solved here, stage by stage and as a set.
"""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks.instances import Array, load
from benchmarks.measure import Case, Row, Settings
from benchmarks.peers import r_tools
from benchmarks.peers.problems import Problem, centred_root
from benchmarks.timing import PROCESSOR, Units, timed
from orthospca import solve

PITPROPS_COLUMNS = (
    "matrix",
    "K",
    "p",
    "what",
    "value",
    "bound",
    "gap",
    "status",
    "cosine",
    "seconds",
)

#: Correlations of ``diaknot``, the last feature, as the benchmark has them: feature and value.
TYPED = {7: -0.172, 8: -0.175, 9: -0.545, 10: 0.054, 11: 0.220}
VERSIONS = ("Jeffers", "as typed")
K, P = 6, 4
#: Seconds for a set, and how many seeds of msPCA.
LIMIT, SEEDS = 60.0, 11


def matrix_of(version: str) -> Array:
    """One of the two matrices."""
    matrix = np.array(load("Pitprops-13"))
    if version == "as typed":
        for feature, value in TYPED.items():
            matrix[-1, feature] = matrix[feature, -1] = value
    return matrix


def pitprops_cases(settings: Settings) -> list[Case]:
    """Each matrix."""
    return [_case(version) for version in VERSIONS]


def _case(version: str) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        matrix = matrix_of(version)
        trace = float(np.trace(matrix))
        shared: Row = {"matrix": version, "K": K, "p": P}
        ordinary = float(np.linalg.eigvalsh(matrix)[-K:].sum()) / trace
        rows: list[Row] = [{**shared, "what": "PCA, not sparse", "value": ordinary, "cosine": 0.0}]
        stages, seconds = timed(lambda: solve(matrix, P, K), PROCESSOR)
        value = float(stages.variances.sum()) / trace
        rows.append(
            {
                **shared,
                "what": "orthospca, stage by stage",
                "value": value,
                "gap": float(stages.gaps.max()),
                "status": stages.status.value,
                "cosine": _cosine(stages.components),
                "seconds": seconds,
            }
        )
        limit = settings.limit(LIMIT, 5.0)
        joint, seconds = timed(
            lambda: solve(matrix, P, K, objective="joint", time_limit=limit), PROCESSOR
        )
        rows.append(
            {
                **shared,
                "what": "orthospca, as a set",
                "value": float(joint.joint_variance) / trace,
                "bound": float(joint.joint_upper_bound) / trace,
                "gap": float(joint.joint_gap),
                "status": joint.status.value,
                "cosine": _cosine(joint.components),
                "seconds": seconds,
            }
        )
        return rows + _of_r(shared, matrix, 2 if settings.quick else SEEDS)

    return Case(version, run)


def _of_r(shared: Row, matrix: Array, seeds: int) -> list[Row]:
    """The median and the best of msPCA's seeds, if R has it."""
    if sentence := r_tools.missing("msPCA"):
        return [{**shared, "what": "msPCA (R)", "status": sentence}]
    root = centred_root(matrix)
    given = Problem("Pitprops", root, 1.0, K, P, matrix)
    trace = float(np.trace(matrix))
    found = []
    for seed in range(seeds):
        loadings, seconds = r_tools.fit("msPCA", given, seed)
        units = loadings / np.linalg.norm(loadings, axis=1)[:, None]
        value = float(np.einsum("ki,ij,kj->", units, matrix, units)) / trace
        found.append((value, _cosine(units), seconds))
    found.sort()
    middle, best = found[len(found) // 2], found[-1]
    times = statistics.median(seconds for _, _, seconds in found)
    return [
        {**shared, "what": f"msPCA (R), {name} of {seeds} seeds", "value": value, "cosine": cosine}
        | {"seconds": times}
        for name, (value, cosine, _) in (("median", middle), ("best", best))
    ]


def _cosine(components: Array) -> float:
    products = np.abs(components @ components.T)
    np.fill_diagonal(products, 0.0)
    return float(products.max())
