"""Components without negative loadings, and without shared features, beside heuristics for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.instances import Array
from benchmarks.measure import Case, Row, Settings
from benchmarks.peers import r_tools
from benchmarks.peers.baselines import kept
from benchmarks.peers.problems import HEADLINE, Problem, problem
from benchmarks.peers.score import score
from benchmarks.timing import PROCESSOR, Units, timed
from orthospca import DataCovariance, Result, solve

#: Columns: "first" is the variance of the first component as a share of the bound that ours
#: proves for every such component; "variance" is that of the span.
CONSTRAINED_COLUMNS = (
    "data",
    "K",
    "p",
    "asked",
    "tool",
    "found",
    "variance",
    "first",
    "cosine",
    "gap",
    "status",
    "seconds",
)

#: What is asked, and the argument of ``solve`` that asks it.
ASKED: dict[str, dict[str, object]] = {
    "non-negative": {"nonnegative": True},
    "disjoint": {"relation": "disjoint"},
}
GAP, LIMIT = 1e-3, 60.0
#: Iterations of a heuristic, and the change at which it ends.
ITERATIONS, CHANGE = 500, 1e-9


def constrained_cases(settings: Settings) -> list[Case]:
    """The headline's data, with each question."""
    wanted = HEADLINE[:1] if settings.quick else HEADLINE
    return [_case(name, asked) for name in wanted for asked in ASKED]


def _case(name: str, asked: str) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        given = problem(name)
        limit = settings.limit(LIMIT, 5.0)
        result, seconds = timed(lambda: _ours(given, ASKED[asked], limit), PROCESSOR)
        bound = float(result.upper_bounds[0])
        certified = {"gap": float(result.gaps.max()), "status": result.status.value}
        shared = {
            "data": name,
            "K": given.n_components,
            "p": given.sparsity,
            "asked": asked,
        }
        rows: list[Row] = [
            {
                **shared,
                **_judged(given, result.components, bound),
                **certified,
                "tool": "orthospca",
                "seconds": seconds,
            }
        ]
        for tool, heuristic in HEURISTICS[asked].items():
            if tool.endswith("(R)") and (sentence := r_tools.missing("nsprcomp")):
                rows.append({**shared, "tool": tool, "status": sentence})
                continue
            found, seconds = heuristic(given)
            judged = _judged(given, found, bound)
            rows.append({**shared, **judged, "tool": tool, "status": "", "seconds": seconds})
        return rows

    return Case(f"{name}, {asked}", run)


def _ours(given: Problem, asked: dict[str, object], limit: float) -> Result:
    matrix = DataCovariance(given.data) if given.given is None else given.given
    return solve(
        matrix, given.sparsity, given.n_components, gap=GAP, time_limit=limit, n_jobs=1, **asked
    )


def _judged(given: Problem, components: Array, bound: float) -> Row:
    found = score(components, given.data)
    unit = components[0] / np.linalg.norm(components[0])
    first = float(np.square(given.data @ unit).sum() / given.divisor)
    return {
        "found": len(components),
        "variance": found.variance,
        "first": first / bound,
        "cosine": found.cosine,
    }


def nonnegative_power(data: Array, n_components: int, sparsity: int) -> Array:
    """Power iterations that keep the p largest positive entries, with deflation by projection.

    From the feature of the largest variance, as the truncated power method begins.
    """
    left, found = data.copy(), []
    for _ in range(n_components):
        x = np.zeros(data.shape[1])
        x[int(np.argmax(np.square(left).sum(axis=0)))] = 1.0
        for _ in range(ITERATIONS):
            following = kept(np.maximum(left.T @ (left @ x), 0.0), sparsity)
            change = float(np.linalg.norm(following - x))
            x = following
            if change < CHANGE:
                break
        found.append(x)
        left = left - np.outer(left @ x, x)
    return np.array(found)


def disjoint_power(data: Array, n_components: int, sparsity: int) -> Array:
    """The truncated power method, each time on the features that are not used yet.

    It ends when none is left.
    """
    free = np.arange(data.shape[1])
    found = []
    for _ in range(n_components):
        if not free.size:
            break
        left = data[:, free]
        x = kept(left.T @ left[:, int(np.argmax(np.square(left).sum(axis=0)))], sparsity)
        for _ in range(ITERATIONS):
            following = kept(left.T @ (left @ x), sparsity)
            change = float(np.linalg.norm(following - x))
            x = following
            if change < CHANGE:
                break
        whole = np.zeros(data.shape[1])
        whole[free] = x
        found.append(whole)
        free = free[x == 0.0]
    return np.array(found)


Heuristic = Callable[[Problem], tuple[Array, float]]


def _timed(call: Callable[[Array, int, int], Array]) -> Heuristic:
    def fit(given: Problem) -> tuple[Array, float]:
        return timed(lambda: call(given.data, given.n_components, given.sparsity), PROCESSOR)

    return fit


def _nsprcomp(given: Problem) -> tuple[Array, float]:
    return r_tools.fit("nsprcomp, non-negative", given)


HEURISTICS: dict[str, dict[str, Heuristic]] = {
    "non-negative": {
        "nsprcomp (R)": _nsprcomp,
        "truncated power, non-negative": _timed(nonnegative_power),
    },
    "disjoint": {"truncated power on what is left": _timed(disjoint_power)},
}
