"""Single stages solved by each method, and the matrix that certificates speak of."""

from __future__ import annotations

import numpy as np

from helpers.exact import ExactMatrix
from orthospca import DataCovariance
from orthospca._methods import Method
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.search import methods
from orthospca.search.outcome import Outcome, Request
from orthospca.wide.stage import WideProblem

METHODS = tuple(str(method) for method in Method if method is not Method.DEFLATION)


def exact_matrix_of(
    given: np.ndarray | DataCovariance, indices: np.ndarray | None = None
) -> ExactMatrix:
    """The matrix that certificates speak of: of data it is BᵀB of their prepared columns.

    With ``indices``, of these features only.
    """
    if isinstance(given, DataCovariance):
        indices = np.arange(given.n_features) if indices is None else indices
        return ExactMatrix.gram(given.factor(indices))
    return ExactMatrix.of(given if indices is None else given[np.ix_(indices, indices)])


def solve_stage(problem: Subproblem, method: str, gap: float) -> Outcome:
    """Solve a stage of a matrix."""
    return methods.solve_stage(problem, Settings.validate(method=method, gap=gap), Watch())


def solve_wide_stage(
    covariance: DataCovariance, p: int, previous: np.ndarray, gap: float
) -> Outcome:
    """Solve a stage of data as if they were wide."""
    settings = Settings.validate(gap=gap)
    problem = WideProblem(covariance, p, settings)
    return problem.solve_stage(Request(p, previous), settings, Watch())
