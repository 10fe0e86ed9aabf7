"""Bounds of single stages after components that nearly vanish, or depend on each other, somewhere.

The components of a solve are rarely like that; the promise is made for all that are orthonormal.
"""

from __future__ import annotations

import numpy as np
import pytest

from helpers.exact import ExactMatrix, nearly_orthogonal_support, support_above
from helpers.problems import DATA, MATRICES, orthonormal
from helpers.seeds import spread
from helpers.stages import METHODS, exact_matrix_of, solve_stage, solve_wide_stage
from orthospca import DataCovariance
from orthospca.model.stage import Subproblem
from orthospca.search.outcome import Outcome

#: Stages of each method.
SEEDS = [range(40), pytest.param(spread(40, 2000), marks=pytest.mark.slow)]


def previous_components(rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Columns with a singular value from 1e-16 to 1e-6 on some support, and its size."""
    n = int(rng.integers(3, 8))
    p = int(rng.integers(1, n // 2 + 1))
    m = int(rng.integers(1, min(p, n - p) + 1))
    return orthonormal(rng, n, p, m, 10.0 ** rng.uniform(-16, -6)), p


def check(matrix: ExactMatrix, previous: np.ndarray, p: int, outcome: Outcome) -> None:
    """The bound holds exactly and is not below the value; the vector is orthogonal."""
    if outcome.upper == -np.inf:
        assert nearly_orthogonal_support(previous.T, p, 0.0) is None
    else:
        assert support_above(matrix, previous.T, p, outcome.upper) is None
    if outcome.best is not None:
        assert np.abs(previous.T @ outcome.best.vector).max() <= 1e-12
        assert outcome.upper >= outcome.best.value


@pytest.mark.parametrize("seeds", SEEDS, ids=["some", "many"])
@pytest.mark.parametrize("method", METHODS)
def test_stage_of_a_matrix(method: str, seeds: range) -> None:
    """Tests each method on matrices of every kind."""
    kinds = list(MATRICES.values())
    for seed in seeds:
        rng = np.random.default_rng(seed)
        previous, p = previous_components(rng)
        matrix = kinds[seed % len(kinds)](rng, len(previous))
        gap = float(rng.choice([0.0, 1e-6, 1e-4]))
        outcome = solve_stage(Subproblem(matrix, p, previous), method, gap)
        check(exact_matrix_of(matrix), previous, p, outcome)


@pytest.mark.parametrize("seeds", SEEDS, ids=["some", "many"])
def test_stage_of_wide_data(seeds: range) -> None:
    """Tests data of every kind."""
    kinds = list(DATA.values())
    for seed in seeds:
        rng = np.random.default_rng(seed)
        previous, p = previous_components(rng)
        covariance = DataCovariance(kinds[seed % len(kinds)](rng, len(previous)))
        outcome = solve_wide_stage(covariance, p, previous, float(rng.choice([1e-6, 1e-4])))
        check(exact_matrix_of(covariance), previous, p, outcome)
