"""What is compared with: decisions without rounding, and solves of a whole matrix.

Floating point decides where there is no doubt, and rational arithmetic everywhere else, so that no
allowance has to be made for rounding.
Previous components are rows, as in the brute force.
"""

from __future__ import annotations

import math

import numpy as np

from helpers.brute_force import all_supports, stage_optimum
from helpers.exact import ExactMatrix, exceeds
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
#: Restricted components are independent without doubt if all singular values exceed this.
INDEPENDENT = 1e-4


def is_proved(matrix: np.ndarray, previous: np.ndarray, p: int, bound: float) -> bool:
    """Whether no feasible vector of a stage has more than `bound`, decided without rounding."""
    n = len(matrix)
    previous = np.reshape(previous, (-1, n))
    supports = all_supports(n, p)
    clearly = bound - CLEAR * (p * float(np.abs(matrix).max()) + abs(bound))
    tops = np.linalg.eigvalsh(_blocks(matrix, supports))[:, -1]
    supports = supports[tops > clearly]
    in_doubt = supports[~_are_clearly_below(matrix, previous, supports, clearly)]
    return all(is_proved_on(matrix, previous, support, bound) for support in in_doubt)


def proved_optimum(matrix: np.ndarray, p: int) -> float:
    """The optimum of a first stage, rounded up until it is a bound without doubt."""
    p, nothing = min(p, len(matrix)), np.zeros((0, len(matrix)))
    bound = stage_optimum(matrix, nothing, p).value
    while not is_proved(matrix, nothing, p, bound):
        bound = math.nextafter(bound, math.inf)
    return bound


def is_proved_on(
    matrix: np.ndarray, previous: np.ndarray, support: np.ndarray, bound: float
) -> bool:
    """Whether no feasible vector with this support has more than `bound`, without rounding."""
    part = matrix[np.ix_(support, support)]
    return not exceeds(part, previous[:, support], bound)


def _are_clearly_below(
    matrix: np.ndarray, previous: np.ndarray, supports: np.ndarray, clearly: float
) -> np.ndarray:
    """For each support whether its best feasible vector is below a bound beyond doubt."""
    below = np.zeros(len(supports), dtype=bool)
    touched = previous[:, supports].any(axis=2).T
    for pattern in np.unique(touched, axis=0):
        rank = int(pattern.sum())
        same = np.flatnonzero((touched == pattern).all(axis=1))
        if rank == 0:
            continue
        rows = previous[pattern][:, supports[same]].transpose(1, 0, 2)
        _, singular, right = np.linalg.svd(rows, full_matrices=True)
        independent = singular[:, -1] >= INDEPENDENT
        if rank < supports.shape[1]:
            basis = right[:, rank:]
            reduced = basis @ _blocks(matrix, supports[same]) @ basis.transpose(0, 2, 1)
            independent &= np.linalg.eigvalsh(reduced)[:, -1] <= clearly
        below[same] = independent
    return below


def _blocks(matrix: np.ndarray, supports: np.ndarray) -> np.ndarray:
    return matrix[supports[:, :, None], supports[:, None, :]]


def is_proved_of_data(
    columns: np.ndarray, previous: np.ndarray, support: np.ndarray, bound: float
) -> bool:
    """As `is_proved_on`, of `BᵀB` for the columns of B on the support."""
    return not exceeds(ExactMatrix.gram(columns), previous[:, support], bound)


def best_of_stage(matrix: np.ndarray, p: int, previous: np.ndarray, gap: float = 1e-9) -> Outcome:
    """The stage of a whole matrix, solved as such and to many digits."""
    problem = Subproblem(matrix, p, np.ascontiguousarray(previous.T))
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
