"""What each means of closing a stage decides: the same problems with one of them taken away."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from benchmarks.anytime import problem_of
from benchmarks.measure import Case, Row, Settings, closed_by
from benchmarks.timing import PROCESSOR, Units, repeated
from orthospca import Result, solve
from orthospca.facade import solve_with
from orthospca.model.settings import Settings as Solver
from orthospca.model.tuning import DEFAULT, Tuning

#: Columns: processor seconds, and how many times those of everything together.
ABLATION_COLUMNS = (
    "instance",
    "p",
    "K",
    "without",
    "gap",
    "status",
    "closed by",
    "seconds",
    "times",
)

#: Problem, sparsity, components, and whether it is part of a quick run.
PROBLEMS = (
    ("Pitprops-13", 5, 6, True),
    ("BreastCancer-30", 10, 5, True),
    ("Digits-61", 10, 5, False),
    ("normGeographic_68", 20, 3, False),
    ("normCommunities-101", 10, 5, False),
    ("normCommunities-101", 50, 3, False),
    ("normArrhythmia-257", 20, 3, False),
    ("normArrhythmia-257", 50, 3, False),
    ("CovColon-500", 20, 3, False),
    ("Lymphoma-500", 10, 5, False),
    ("Lymphoma-500", 50, 3, False),
    ("Reddit-2000", 10, 2, False),
    ("Noise-100", 10, 1, False),
    ("Noise-100", 20, 1, False),
    ("golub_X_72x7129.npz", 10, 3, False),
    ("spls_lymphoma_X_62x4026.npz", 20, 3, False),
)

_WALK, _SHARE = DEFAULT.walk, DEFAULT.share
#: The relaxation comes last, and ends after its first iteration.
_UNSOLVED = replace(
    _SHARE, cost=1e30, rung_nodes=0, between_checks=1, first_checks=0, patience=0, later_patience=0
)
#: What is taken away, and the numbers with which it is.
WITHOUT: dict[str, Tuning] = {
    "nothing": DEFAULT,
    "direct walk": replace(DEFAULT, walk=replace(_WALK, direct_share=-1.0)),
    "rungs": replace(DEFAULT, walk=replace(_WALK, rung_budget=-1.0)),
    "relaxation": replace(DEFAULT, share=_UNSOLVED),
    "compiled walk": replace(DEFAULT, walk=replace(_WALK, compiled_after=math.inf)),
}


def ablation_cases(settings: Settings) -> list[Case]:
    """Every problem with everything, and with one means less."""
    return [_case(*row[:3]) for row in PROBLEMS if row[3] or not settings.quick]


def _case(name: str, p: int, k: int) -> Case:
    def run(settings: Settings, units: Units) -> list[Row]:
        problem, limit = problem_of(name), settings.limit(10.0, 1.0)
        solve(np.eye(4) + 0.1, 2)
        rows: list[Row] = []
        whole = math.nan
        for without, tuning in WITHOUT.items():
            asked = Solver.validate(gap=1e-3, time_limit=limit, tuning=tuning)

            def once(asked: Solver = asked) -> Result:
                return solve_with(problem, p, k, asked)

            result, seconds = repeated(once, 3, 2.0, PROCESSOR)
            whole = min(seconds) if without == "nothing" else whole
            rows.append(
                {
                    "instance": name.split(".")[0],
                    "p": p,
                    "K": k,
                    "without": without,
                    "gap": float(result.gaps.max()),
                    "status": result.status.value,
                    "closed by": closed_by(result.stages),
                    "seconds": min(seconds),
                    "times": min(seconds) / whole,
                }
            )
        return rows

    return Case(f"{name.split('.')[0]}, p = {p}, K = {k}", run)
