"""What the solver writes of small problems is accepted, also in the corners."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from helpers.audit import Audit
from helpers.certificates import Rung, forge
from helpers.forger import checker
from helpers.problems import DATA, MATRICES
from helpers.routes import ROUTES
from helpers.seeds import seeds, split, spread
from helpers.wide import tuned
from orthospca import DataCovariance, solve
from orthospca.facade import solve_with
from orthospca.model.settings import Settings


def refused(kind: str, seeds: range) -> list[str]:
    """Why certificates of data whose matrix is not formed are refused."""
    reasons = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        data = DataCovariance(DATA[kind](rng, n))
        settings = Settings.validate(tuning=tuned(formed=0), proof=True)
        result = solve_with(data, min(n, 3), min(n, 3), settings)
        verdict = checker.verify(result.certificate)
        if not verdict.verified:
            reasons.append(f"{seed}: {verdict.reason}")
    return reasons


@pytest.mark.parametrize("problems", split(range(4), 2))
@pytest.mark.parametrize("kind", DATA)
def test_data(kind: str, problems: range) -> None:
    """Tests certificates of small data whose matrix is not formed."""
    assert not refused(kind, problems)


@pytest.mark.slow
@pytest.mark.parametrize("kind", DATA)
def test_data_at_length(kind: str) -> None:
    """Tests more of them."""
    assert not refused(kind, spread(4, 80))


@pytest.mark.parametrize("seed", seeds(1, 40))
@pytest.mark.parametrize("kind", DATA)
def test_no_room_for_a_matrix(kind: str, seed: int) -> None:
    """Tests that features left out for their number cost a proof its bounds, not its truth."""
    route = replace(ROUTES["wide remainder"], options=lambda *given: {"proof": True})
    audit = Audit()
    for solved in route.solves("wide remainder", kind, seed, largest=7):
        verdict = checker.verify(solved.result.certificate)
        assert verdict.verified, f"{solved.label}: {verdict.reason}"
        audit.check(solved)
    # What is told on the way need not be left to a checker, which rounds in its own way.
    assert not {*audit.broken} - {"progress"}


def test_features_that_are_used_up() -> None:
    """Tests a second stage when time is up, after a component of a single feature."""
    for seed in range(20):
        Q = MATRICES["psd"](np.random.default_rng(seed), 5)
        result = solve(Q, 3, 2, time_limit=0.0, proof=True)
        verdict = checker.verify(result.certificate)
        assert verdict.verified, verdict.reason


def test_no_warning_for_odd_numbers() -> None:
    """Tests that numbers that make no sense are refused without a word on the screen."""
    ladder = [Rung(0, -np.inf), Rung(1, 2.0, 1.0, (0,))]
    rows = np.array([[np.sqrt(0.5), np.sqrt(0.5)], [np.sqrt(0.5), -np.sqrt(0.5)]])
    draft = forge(np.eye(2), [2, 2], rows, [(1.0, 3.0)] * 2, [[Rung(3, 3.0)] * 2, ladder])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not checker.verify(draft).verified
