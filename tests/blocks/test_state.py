"""A block follows whatever components it is given: further ones, fewer, or others."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from helpers.brute_force import stage_optimum
from helpers.strategies import psd
from helpers.truth import is_proved
from orthospca import Status, block_diagonalize
from orthospca.blocks.partitioned import PartitionedMatrix
from orthospca.blocks.pool import BlockStages
from orthospca.blocks.state import BlockState
from orthospca.blocks.tasks import Supervisor, solve_block
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.tolerance import Tolerance
from orthospca.search.outcome import Request

TIGHT = Settings(tolerance=Tolerance(0.0, 1e-9))


def is_bound(matrix: np.ndarray, previous: np.ndarray, p: int, bound: float) -> bool:
    """Whether the bound holds; minus infinity does where there is no feasible vector."""
    if bound == -math.inf:
        return stage_optimum(matrix, previous, p) is None
    return is_proved(matrix, previous, p, bound)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_a_block(seed: int) -> None:
    """Tests that bound and candidate are those of the components given, in any order of events."""
    rng = np.random.default_rng(seed)
    matrix = psd(rng, 5)
    indices = np.sort(rng.permutation(9)[:5])
    state = BlockState(indices, lambda: matrix, matrix.diagonal())
    # Components of the block, for three sparsities, and one that lives elsewhere.
    found = [np.linalg.eigh(matrix)[1][:, -1], np.eye(5)[0], np.eye(5)[3]]
    elsewhere = np.zeros(9)
    elsewhere[np.setdiff1d(np.arange(9), indices)[0]] = 1.0
    for _ in range(12):
        size = int(rng.integers(1, 4))
        chosen = [found[i] for i in rng.permutation(3)[: int(rng.integers(0, 3))]]
        columns = [np.zeros((9, 0)), elsewhere]
        for vector in chosen:
            columns.append(np.zeros(9))
            columns[-1][indices] = vector
        before = state.outcome, state.previous, state.size
        state.follow(np.column_stack(columns), size)
        own = np.reshape(chosen, (-1, 5))
        assert np.array_equal(state.previous.T, own) and state.size == size
        assert is_bound(matrix, own, size, state.upper)
        if np.array_equal(before[1], state.previous) and before[2] == size:
            assert state.outcome is before[0]
        elif state.outcome is None and rng.random() < 0.5:
            assert is_bound(matrix, own, size, state.tighten())
        if state.outcome is None and rng.random() < 0.7:
            state.outcome = solve_block(state.task(TIGHT), Supervisor())
            best = stage_optimum(matrix, own, size)
            if best is None:
                assert state.outcome.best is None and state.upper == -math.inf
                continue
            assert state.value == pytest.approx(best.value, rel=1e-8)
            assert is_proved(matrix, own, size, state.upper)


@pytest.mark.parametrize("threshold", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(6))
def test_stages_in_any_order(seed: int, threshold: float) -> None:
    """Tests stages asked for again, with fewer components or others, as after an exchange."""
    rng = np.random.default_rng(seed)
    Q = np.zeros((8, 8))
    for start, size in ((0, 4), (4, 3), (7, 1)):
        Q[start : start + size, start : start + size] = psd(rng, size)
    if threshold:
        noise = rng.uniform(-0.1, 0.1, Q.shape)
        Q = Q + noise + noise.T
    blocks = block_diagonalize(Q, threshold)
    assert blocks.n_blocks > 1
    watch = Watch()
    partitioned = PartitionedMatrix(Q, blocks, TIGHT)
    stages = BlockStages(partitioned, TIGHT, TIGHT.tolerance, watch)
    first = vector_of(stages, [])
    second = vector_of(stages, [first])
    assert np.array_equal(vector_of(stages, []), first)
    third = vector_of(stages, [second])
    for previous in ([second, third], [], [first, second], [third], [first]):
        outcome = stages.solve(Request(2, columns_of(previous)))
        proved = partial(is_proved, Q, np.reshape(previous, (-1, 8)), 2)
        assert outcome.best is not None
        assert proved(outcome.upper)
        assert outcome.status in (Status.OPTIMAL, Status.THRESHOLD)
        if threshold == 0.0:
            best = stage_optimum(Q, np.reshape(previous, (-1, 8)), 2)
            assert outcome.best.value == pytest.approx(best.value, rel=1e-8)


def columns_of(previous: list[np.ndarray]) -> np.ndarray:
    return np.column_stack([np.zeros((8, 0)), *previous])


def vector_of(stages: BlockStages, previous: list[np.ndarray]) -> np.ndarray:
    outcome = stages.solve(Request(2, columns_of(previous)))
    assert outcome.best is not None
    return outcome.best.vector
