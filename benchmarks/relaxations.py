"""Bounds on a first component before any branching, and the time that they take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.child import Send, run_in_child
from benchmarks.dspca import l1_semidefinite_bound
from benchmarks.instances import Array, load
from benchmarks.measure import Case, Row, Settings
from benchmarks.timing import PROCESSOR, Units, repeated
from orthospca import solve
from orthospca.bounds.classical import frobenius_bound, gershgorin_bound, trace_bound
from orthospca.bounds.share.claim import Claim
from orthospca.bounds.share.node import ShareBound
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import ShareTuning

#: Columns: "gap" is (bound − variance) / variance of the best component known, which `solve` proves
#: to be within "proved" of the optimum.
RELAXATION_COLUMNS = (
    "instance",
    "n",
    "p",
    "variance",
    "proved",
    "bound",
    "value",
    "gap",
    "seconds",
    "outcome",
)

#: Problem, sparsity, whether it is left out of a quick run.
SMALL = (
    ("Pitprops-13", 5, False),
    ("CovColon-20", 8, False),
    ("BreastCancer-30", 8, False),
    ("uci_digits_64", 10, True),
    ("uci_digits_64", 20, True),
    ("normGeographic_68", 10, True),
    ("Eisen1_79", 10, True),
    ("Noise-100", 10, True),
    ("normCommunities-101", 10, True),
)
LIMIT, QUICK_LIMIT = 120.0, 15.0
#: Iterations of the first-order method at the root, after how many of them the bound is proved, and
#: how close to the best variance known is close enough.
ITERATIONS, BETWEEN, CLOSE = 2000, 50, 1e-6


def _eigenvalue(Q: Array, p: int, best: float) -> float:
    return float(np.linalg.eigvalsh(Q)[-1])


def _gershgorin(Q: Array, p: int, best: float) -> float:
    return gershgorin_bound(Q, p)


def _frobenius(Q: Array, p: int, best: float) -> float:
    return frobenius_bound(Q, p)


def _trace(Q: Array, p: int, best: float) -> float:
    return trace_bound(Q.diagonal(), np.zeros(len(Q), dtype=bool), p)


def _l1(Q: Array, p: int, best: float) -> float:
    return l1_semidefinite_bound(Q, p)


def _share(Q: Array, p: int, best: float) -> float:
    problem = Subproblem(Q, p, np.empty((len(Q), 0)))
    nothing, everything = np.arange(0), np.arange(len(Q))
    method = ShareBound(problem, best, ShareTuning()).method(everything, nothing, None)
    upper = np.inf
    while method.iterations < ITERATIONS and upper > (1 + CLOSE) * best:
        method.run(BETWEEN, lambda: False)
        upper = min(upper, Claim(problem, nothing, method.multipliers()).upper)
    return upper


def _whole(Q: Array, p: int, best: float) -> float:
    return float(solve(Q, p, gap=1e-4, time_limit=110).upper_bounds[0])


#: Name of a bound, and how it is computed from the matrix, p and the best variance known.
BOUNDS: dict[str, Callable[[Array, int, float], float]] = {
    "trace": _trace,
    "Gershgorin": _gershgorin,
    "Frobenius": _frobenius,
    "eigenvalue": _eigenvalue,
    "ℓ1 semidefinite": _l1,
    "share relaxation, root": _share,
    "solve, to 1e-4": _whole,
}


def relaxation_cases(settings: Settings) -> list[Case]:
    """Every bound of every small problem."""
    return [_case(name, p) for name, p, slow in SMALL if not (slow and settings.quick)]


def _case(name: str, p: int) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        matrix = load(name)
        limit = settings.limit(LIMIT, QUICK_LIMIT)
        known = solve(matrix, p, gap=1e-6, time_limit=limit / 2)
        best = float(known.variances[0])
        shared: Row = {
            "instance": name,
            "n": len(matrix),
            "p": p,
            "variance": best,
            "proved": float(known.gaps[0]),
        }
        return [{**shared, **_row(bound, name, p, best, limit)} for bound in BOUNDS]

    return Case(f"bounds of {name}, p = {p}", run)


def _row(bound: str, name: str, p: int, best: float, limit: float) -> Row:
    ended = run_in_child(_measure, bound, name, p, best, limit=limit)
    row: Row = {"bound": bound}
    if len(ended.values) < 2:
        missing = "No module" in ended.error
        sentence = "SCS is not installed" if missing else ended.error or f"> {limit:g} s"
        return {**row, "outcome": sentence}
    value, seconds = ended.values[1]
    gap = max(value / best - 1.0, 0.0)
    return {**row, "value": value, "gap": gap, "seconds": seconds, "outcome": "ok"}


def _measure(send: Send, bound: str, name: str, p: int, best: float) -> None:
    """In the child: once on a tiny problem, then for the table."""
    call = BOUNDS[bound]
    matrix = load(name)
    call(np.diag([3.0, 2.0, 1.0]) + 0.5, 2, 3.8)
    send("ready")
    # The fastest of a few: what is compiled or loaded on the way is not measured.
    value, seconds = repeated(lambda: call(matrix, p, best), 3, 4.0, PROCESSOR)
    send((value, min(seconds)))
