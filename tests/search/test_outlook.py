"""Tests that whoever listens to a search sees its bound move, and how each stage ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import problems
from helpers.brute_force import stage_interval
from orthospca import solve
from orthospca.facade import solve_with
from orthospca.model.settings import Settings


def noise(m: int, n: int, seed: int = 0) -> np.ndarray:
    return np.corrcoef(np.random.default_rng(seed).standard_normal((m, n)), rowvar=False)


@pytest.mark.parametrize("proof", [False, True])
def test_the_bound_moves_while_the_ladder_is_climbed(proof):
    """Tests that rungs are heard of before a node of the stage itself is bounded."""
    heard = []
    settings = replace(Settings.validate(gap=1e-3, proof=proof), rungs=True)
    solve_with(noise(60, 50), 7, 1, settings, callback=heard.append)
    early = [entry.upper for entry in heard if entry.nodes == 0]
    assert len(set(early)) >= 4
    assert early == sorted(early, reverse=True)


@pytest.mark.parametrize("proof", [False, True])
@pytest.mark.parametrize(
    "make", [problems.near_ties, problems.near_duplicates, problems.wide_range]
)
def test_bounds_told_on_the_way_hold(make, proof):
    """Tests every bound that is told, in each stage, against the optimum by brute force."""
    Q = make(np.random.default_rng(3), 9)
    heard = []
    result = solve(Q, 5, 4, callback=heard.append, proof=proof)
    for k in range(result.n_components):
        best = stage_interval(Q, result.components[:k], 5)
        told = [entry.upper for entry in heard if entry.stage == k]
        # The brute force rounds, too.
        assert told and min(told) >= best.low - 1e-13 * np.abs(Q).max() / best.smallest


@pytest.mark.parametrize("method", ["branch-and-bound", "eigenvalue", "enumeration", "deflation"])
def test_the_end_of_each_stage_is_told(method):
    """Tests that the last thing heard of a stage is the bound that is returned."""
    heard = []
    result = solve(noise(40, 12), 4, 3, method=method, callback=heard.append)
    last = {entry.stage: entry for entry in heard}
    assert [last[k].upper for k in range(3)] == result.upper_bounds.tolist()
