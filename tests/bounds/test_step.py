"""Tests of one step where nothing but its own sums is rounded: what they prove, in fractions.

The matrix has a zero diagonal and the level is 1, so that the complement is scaled to ones without
any rounding. No level is lowered: the costs have to account for themselves.
"""

from __future__ import annotations

import numpy as np
import pytest

from helpers.eliminations import ExactStage, first_level
from helpers.exact import ExactMatrix
from orthospca.bounds.conditioning import compiled, step
from orthospca.bounds.conditioning.step import Elimination, Frame
from orthospca.model.tuning import WalkTuning

COSTS = WalkTuning(full_share=0, largest_weighted=0)
TILED = WalkTuning(full_share=0, largest_weighted=0, tile=1, first_rows=1)
WEIGHTS = WalkTuning(full_share=0)
ALL_FREE = WalkTuning(full_share=100)


def sharp(rng: np.random.Generator, n: int, size: int) -> np.ndarray:
    """Equal magnitudes with consistent signs, but for a few units: every bound is an equality."""
    signs = rng.choice([-1.0, 1.0], n)
    units = rng.integers(-3, 4, size=(n, n)) * float(rng.choice([0, 1, 2**8, 2**8]))
    matrix = np.outer(signs, signs) / (size - 1) * (1 + 2.0**-52 * units)
    matrix = np.triu(matrix, 1)
    return matrix + matrix.T


def answer(matrix: np.ndarray, size: int, tuning: WalkTuning) -> Elimination:
    """What is left of a matrix, of which nothing is included."""
    assert (matrix.diagonal() == 0).all()
    return Frame(matrix, 1.0).eliminate(size, tuning)


def edge(rng: np.random.Generator, n: int, size: int, tuning: WalkTuning) -> np.ndarray:
    """A matrix of which something is ruled out, but not if one more entry were a unit larger."""
    base = sharp(rng, n, size)

    def says(matrix: np.ndarray) -> bool:
        left = answer(matrix, size, tuning)
        return len(left.kept) < n or len(left.forced) > 0

    matrix = base * (1 - first_level(-1e-12, 0.5, lambda shrunk: says(base * (1 - shrunk))))
    pairs = np.transpose(np.triu_indices(n, 1))
    for i, j in rng.permutation(pairs):
        larger = matrix.copy()
        larger[i, j] = larger[j, i] = np.nextafter(matrix[i, j], 2 * matrix[i, j])
        if says(larger):
            matrix = larger
    return matrix


def steps(seeds: range, tuning: WalkTuning) -> tuple[int, int]:
    """How many features were ruled out or forced, and how many of them wrongly."""
    found = wrong = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        size = int(rng.integers(2, 10))
        n = size + (seed % 4 == 0 and size < 6)
        matrix = edge(rng, n, size, tuning)
        left = answer(matrix, size, tuning)
        stage = ExactStage(ExactMatrix.of(matrix), np.zeros((0, n)), size)
        for j in np.setdiff1d(np.arange(n), left.kept):
            found += 1
            wrong += stage.above_exactly(1.0, stage.inside[:, j]) is not None
        for j in left.forced:
            found += 1
            wrong += stage.above_exactly(1.0, ~stage.inside[:, j]) is not None
    return found, wrong


@pytest.mark.parametrize(
    ("tuning", "count"),
    [(COSTS, 40), (TILED, 12), (WEIGHTS, 40), (ALL_FREE, 12)],
    ids=["costs", "tiles", "weights", "all free"],
)
def test_sums_account_for_their_own_rounding(tuning: WalkTuning, count: int) -> None:
    """Tests matrices whose eigenvalue is the level but for a few units, for each of the rules."""
    found, wrong = steps(range(count), tuning)
    assert wrong == 0
    assert found > 3 * count


def test_rounding_of_the_sums_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the test: with a threshold that is not lowered features are ruled out wrongly."""
    monkeypatch.setattr(step, "relative_error", lambda operations: 0.0)
    # The compiled step, if another test has loaded it, has its own threshold.
    monkeypatch.setattr(compiled, "loaded", lambda: None)
    assert steps(range(40), COSTS)[1] > 5


def test_what_is_barely_indefinite_is_not_proved_definite() -> None:
    """Tests complements that are singular but for a unit in the last place of one entry."""
    looked_definite = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        columns = rng.integers(-9, 10, size=(n - 1, n)).astype(float)
        complement = columns.T @ columns  # of integers: without any rounding
        place = int(rng.integers(n))
        complement[place, place] = np.nextafter(complement[place, place], -1.0)
        assert not Frame(-complement, 0.0).is_definite()
        looked_definite += float(np.linalg.eigvalsh(complement)[0]) > 0
    assert looked_definite > 20


def test_what_reaches_the_level_is_not_conditioned_on() -> None:
    """Tests an included index that is at the level, above it, and below."""
    matrix = np.diag([1.0, 2.0, 0.0])
    for level, usable in ((1.0, False), (0.5, False), (1.5, True)):
        frame = Frame(matrix, level)
        assert (frame.conditioned(np.array([0])) is not None) == usable
