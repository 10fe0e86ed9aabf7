"""Which solves make up which table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.ablation import ABLATION_COLUMNS, ablation_cases
from benchmarks.anytime import ANYTIME_COLUMNS, anytime_cases
from benchmarks.audits import AUDIT_COLUMNS, audit_cases
from benchmarks.cells import CELL_COLUMNS, cell_cases
from benchmarks.check import CHECK_COLUMNS, check_cases
from benchmarks.constrained import CONSTRAINED_COLUMNS, constrained_cases
from benchmarks.decomposition import DECOMPOSITION_COLUMNS, decomposition_cases
from benchmarks.grid import GRID_COLUMNS, grid_cases, pitprops_set_cases
from benchmarks.growth import GROWTH_COLUMNS, growth_cases
from benchmarks.instances import known_values, load
from benchmarks.kernel import (
    KERNEL_COLUMNS,
    STEP_COLUMNS,
    THREAD_COLUMNS,
    kernel_cases,
    step_cases,
    thread_cases,
)
from benchmarks.ladder import LADDER_COLUMNS, WIDE_COLUMNS, ladder_cases, wide_cases
from benchmarks.limits import LIMIT_COLUMNS, limit_cases
from benchmarks.measure import COLUMNS, Case, Row, Settings, measure
from benchmarks.peers.table import PEER_COLUMNS, peer_cases
from benchmarks.pitprops import PITPROPS_COLUMNS, pitprops_cases
from benchmarks.proofs import PROOF_COLUMNS, proof_cases
from benchmarks.relaxations import RELAXATION_COLUMNS, relaxation_cases
from benchmarks.rungs import RUNG_COLUMNS, rung_cases
from benchmarks.scale import SCALE_COLUMNS, scale_cases
from benchmarks.snp500 import SNP500_COLUMNS, snp500_cases
from benchmarks.timing import Units, timed
from orthospca import solve


@dataclass(frozen=True)
class Table:
    """A table to measure.

    Attributes
    ----------
    name : str
        On the command line, and of the CSV file.
    title : str
    columns : tuple of str
    cases : callable
        What to measure, given the settings.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    cases: Callable[[Settings], Sequence[Case]]


#: First components of the table `strong`: problem, sparsities, those left out of a quick run.
STRONG: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("Pitprops-13", (5,), ()),
    ("BreastCancer-30", (5, 8), ()),
    ("Digits-61", (5, 10), (10,)),
    ("CovColon-20", (5, 8), ()),
    ("normCommunities-101", (5, 10, 20), (20,)),
    ("CovColon-500", (5, 10, 20), (20,)),
    ("Lymphoma-500", (5, 10), (10,)),
    ("normArrhythmia-257", (5, 10), (10,)),
    ("Reddit-2000", (5, 10), (5, 10)),
)


def strong_cases(settings: Settings) -> list[Case]:
    """One component at two gaps, and with the bounds of the literature under a time limit."""
    limit, classical_limit = settings.limit(60.0, 5.0), settings.limit(10.0, 0.5)
    cases = []
    for name, sparsities, slow in STRONG:
        for p in sparsities:
            if settings.quick and p in slow:
                continue
            for gap in (1e-3, 1e-4):
                cases.append(_case(name, p, gap=gap, time_limit=limit))
            cases.append(_case(name, p, method="eigenvalue", time_limit=classical_limit))
    return cases


def stages_cases(settings: Settings) -> list[Case]:
    """Several components, one after another."""
    limit = settings.limit(60.0, 5.0)
    wanted = [("BreastCancer-30", 5, 5), ("normCommunities-101", 10, 10), ("CovColon-500", 10, 5)]
    return [_case(name, p, n_components=k, time_limit=limit) for name, p, k in wanted]


def raw_cases(settings: Settings) -> list[Case]:
    """Thousands of variables: the raw expression of 4026 genes in 62 samples."""
    if settings.quick:
        return []
    limit = settings.limit(60.0, 5.0)
    names = ("RawLymphoma-4026", "RawLymphoma-4026 corr.")
    return [_case(name, p, time_limit=limit) for name in names for p in (5, 10)]


def noise_cases(settings: Settings) -> list[Case]:
    """Independent Gaussian variables: no structure that a bound could use."""
    limit = settings.limit(120.0, 5.0)
    sparsities = (5,) if settings.quick else (5, 10)
    return [_case("Noise-100", p, gap=1e-4, time_limit=limit) for p in sparsities]


def _case(
    name: str,
    p: int,
    *,
    n_components: int = 1,
    gap: float = 1e-3,
    method: str = "branch-and-bound",
    time_limit: float,
) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        return measure(
            settings,
            units,
            name,
            p,
            n_components=n_components,
            gap=gap,
            method=method,
            time_limit=time_limit,
        )

    return Case(f"{name}, p = {p}, {method}, gap {gap:g}", run)


#: Columns of the table `known`; "over listed" is relative, and positive where ours is better.
KNOWN_COLUMNS = (
    "instance",
    "n",
    "p",
    "variance",
    "listed",
    "over listed",
    "gap",
    "status",
    "closed by",
    "nodes",
    "seconds",
    "unit seconds",
    "units",
)


def known_cases(settings: Settings) -> list[Case]:
    """The best values known, and how close to them and to a proof a limited solve comes."""
    limit = settings.limit(30.0, 1.0)
    sparsities = (5,) if settings.quick else (5, 10, 20)
    return [
        _known_case(name, p, value, limit) for name, p, value in known_values() if p in sparsities
    ]


def _known_case(name: str, p: int, value: float, time_limit: float) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        (row,) = measure(settings, units, name, p, gap=1e-4, time_limit=time_limit)
        variance = row["variance"]
        assert isinstance(variance, float)
        return [{**row, "listed": value, "over listed": variance / value - 1}]

    return Case(f"{name}, p = {p}", run)


def enumeration_cases(settings: Settings) -> list[Case]:
    """Every support of one stage, against a plain loop over the same supports."""
    wanted = [("BreastCancer-30", 3 if settings.quick else 4)]
    wanted.append(("CovColon-20", 4 if settings.quick else 8))
    return [_enumeration_case(name, p) for name, p in wanted]


def _enumeration_case(name: str, p: int) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        matrix = load(name)
        result, seconds = timed(lambda: solve(matrix, p, method="enumeration"))
        best, loop_seconds = timed(lambda: _plain_loop(matrix, p))
        if not math.isclose(result.variances[0], best, rel_tol=1e-9):
            raise RuntimeError(f"enumeration found {result.variances[0]!r}, the loop {best!r}")
        row: Row = {
            "instance": name,
            "n": len(matrix),
            "p": p,
            "supports": math.comb(len(matrix), p),
            "variance": best,
            "seconds": seconds,
            "loop seconds": loop_seconds,
            "ratio": loop_seconds / seconds,
        }
        return [row]

    return Case(f"{name}, p = {p}", run)


def _plain_loop(matrix: np.ndarray, p: int) -> float:
    """Largest eigenvalue over all supports, one ``numpy.linalg.eigvalsh`` at a time."""
    best = -math.inf
    for support in itertools.combinations(range(len(matrix)), p):
        best = max(best, float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1]))
    return best


TABLES: tuple[Table, ...] = (
    Table("strong", "First components, and the bounds of the literature", COLUMNS, strong_cases),
    Table("stages", "Several components", COLUMNS, stages_cases),
    Table("ladder", "All sparsities of a first component to 1e-4", LADDER_COLUMNS, ladder_cases),
    Table("rungs", "What the border rule leaves", RUNG_COLUMNS, rung_cases),
    Table("wide", "Gene expression as it is downloaded", WIDE_COLUMNS, wide_cases),
    Table("anytime", "Hard problems under a time limit", ANYTIME_COLUMNS, anytime_cases),
    Table("ablation", "What each means of closing decides", ABLATION_COLUMNS, ablation_cases),
    Table("limits", "Whether time limits hold", LIMIT_COLUMNS, limit_cases),
    Table("proofs", "Certificates", PROOF_COLUMNS, proof_cases),
    Table("steps", "Steps of a walk, compiled and in NumPy", STEP_COLUMNS, step_cases),
    Table("kernel", "Hard solves, compiled and in NumPy", KERNEL_COLUMNS, kernel_cases),
    Table("threads", "A long walk on two threads", THREAD_COLUMNS, thread_cases),
    Table("raw", "Thousands of variables", COLUMNS, raw_cases),
    Table(
        "decomposition",
        "Blocks by thresholding: five components to 1e-2",
        DECOMPOSITION_COLUMNS,
        decomposition_cases,
    ),
    Table("scale", "Five components of planted samples to 1e-2", SCALE_COLUMNS, scale_cases),
    Table("noise", "Pure noise, 150 × 100", COLUMNS, noise_cases),
    Table(
        "known",
        "Against the best values known",
        KNOWN_COLUMNS,
        known_cases,
    ),
    Table(
        "peers", "Other packages, and the heuristics of the literature", PEER_COLUMNS, peer_cases
    ),
    Table("audits", "How far other packages are from the best", AUDIT_COLUMNS, audit_cases),
    Table(
        "constrained",
        "Non-negative and disjoint components, beside heuristics",
        CONSTRAINED_COLUMNS,
        constrained_cases,
    ),
    Table("pitprops", "Pitprops in two versions", PITPROPS_COLUMNS, pitprops_cases),
    Table("snp500", "Four components of the S&P 500", SNP500_COLUMNS, snp500_cases),
    Table("cells", "Data like those of single cells", CELL_COLUMNS, cell_cases),
    Table("grid", "The grid of Cory-Wright and Pauphilet", GRID_COLUMNS, grid_cases),
    Table("sets", "Sets of components of Pitprops", GRID_COLUMNS, pitprops_set_cases),
    Table("relaxations", "Bounds before branching", RELAXATION_COLUMNS, relaxation_cases),
    Table("check", "What `make bench-check` compares", CHECK_COLUMNS, check_cases),
    Table("growth", "How time and memory grow", GROWTH_COLUMNS, growth_cases),
    Table(
        "enumeration",
        "Enumeration of one stage",
        ("instance", "n", "p", "supports", "variance", "seconds", "loop seconds", "ratio"),
        enumeration_cases,
    ),
)
