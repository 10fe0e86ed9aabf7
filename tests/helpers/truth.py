"""What is compared with: decisions without rounding, and solves of a whole matrix.

Floating point decides where there is no doubt, and rational arithmetic everywhere else, so that no
allowance has to be made for rounding.
Previous components are rows, as in the brute force.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from helpers.brute_force import stage_optimum
from helpers.exact import ExactMatrix, exceeds, support_above
from orthospca import Result, Status
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import Outcome

#: A value that is below a bound by this share of the numbers involved is below it without doubt.
CLEAR = 1e-9
#: What floating point leaves of a gap, relative to the order times the largest entry.
ROUNDING = 1e-12


def is_proved(matrix: np.ndarray, previous: np.ndarray, p: int, bound: float) -> bool:
    """Whether no feasible vector of a stage has more than `bound`, decided without rounding."""
    previous = np.reshape(previous, (-1, len(matrix)))
    return support_above(ExactMatrix.of(matrix), previous, p, bound) is None


def proved_optimum(matrix: np.ndarray, p: int) -> float:
    """The optimum of a first stage, rounded up until it is a bound without doubt."""
    p, nothing = min(p, len(matrix)), np.zeros((0, len(matrix)))
    bound = stage_optimum(matrix, nothing, p).value
    while not is_proved(matrix, nothing, p, bound):
        bound = math.nextafter(bound, math.inf)
    return bound


def is_proved_of_data(
    columns: np.ndarray, previous: np.ndarray, support: np.ndarray, bound: float
) -> bool:
    """Whether no feasible vector with a support has more than `bound`, without rounding.

    The matrix is `BᵀB` for the columns of B on the support.
    """
    return not exceeds(ExactMatrix.gram(columns), previous[:, support], bound)


def best_of_stage(matrix: np.ndarray, p: int, previous: np.ndarray, gap: float = 1e-9) -> Outcome:
    """The stage of a whole matrix, solved as such and to many digits; the same stage only once."""
    return _best_of_stage(matrix.tobytes(), p, previous.tobytes(), len(matrix), gap)


@lru_cache(maxsize=256)
def _best_of_stage(matrix: bytes, p: int, previous: bytes, n: int, gap: float) -> Outcome:
    X = np.frombuffer(previous).reshape(-1, n).T
    problem = Subproblem(np.frombuffer(matrix).reshape(n, n), p, np.ascontiguousarray(X))
    outcome = solve_stage(problem, Settings(tolerance=Tolerance(0.0, gap)), Watch())
    assert outcome.best is not None
    return outcome


def check_precision(result: Result, matrix: np.ndarray) -> None:
    """A stage whose gap floating point could not close has one of the size of rounding."""
    scale = float(np.abs(matrix).max()) * len(matrix)
    for stage in result.stages:
        if stage.status is Status.PRECISION:
            assert stage.upper_bound - stage.variance <= ROUNDING * scale, stage


def is_finished(result: Result, matrix: np.ndarray) -> bool:
    """Whether everything is certified, or as far as floating point goes, as with a gap of zero."""
    check_precision(result, matrix)
    return result.status in (Status.OPTIMAL, Status.EXHAUSTED, Status.PRECISION) and all(
        stage.status in (Status.OPTIMAL, Status.PRECISION) for stage in result.stages
    )
