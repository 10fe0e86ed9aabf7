"""Tests of a stage that is given by its matrix, as the ladder sees it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from helpers.eliminations import Problem
from orthospca.model.stage import Shared, Subproblem
from orthospca.search import views
from orthospca.search.views import MatrixView, sieve_within, value_of, with_rounding
from orthospca.supports.best import Candidate


def never() -> bool:
    return False


def sizes_of(seed: int) -> tuple[int, int, int]:
    rng = np.random.default_rng([seed, 7])
    n = int(rng.integers(3, 8))
    return n, int(rng.integers(2, min(n, 5))), int(rng.integers(0, 4))


@pytest.mark.parametrize("seed", range(48))
def test_bounds_of_a_matrix(seed: int) -> None:
    """Tests the bounds that need no search, each of them in integers."""
    case = Problem(seed, *sizes_of(seed))
    form = MatrixView(case.problem)
    # The first rung is exact, of features that no component uses.
    alone = case.matrix.diagonal()[case.untouched]
    assert form.first_bound() == alone.max(initial=-math.inf)
    for size in range(2, case.size + 1):
        stage, below = case.stage(size), case.stage(size - 1).ceiling
        assert stage.above(form.cheap_bound(size)) is None
        bound = form.bound_without_level(size, below)
        assert bound == math.inf or stage.above(bound) is None
    assert form.before_rungs(case.size, 1.0, len(case.matrix) - 1) is None
    found = form.before_rungs(case.size, 1.0, len(case.matrix))
    assert found is not None and found[0] is case.problem


def test_a_part_has_the_numbers_of_the_whole() -> None:
    """Tests that features that components use are always there, with entries folded once."""
    for seed in range(24):
        case = Problem(seed, *sizes_of(seed))
        form = MatrixView(case.problem)
        features = case.rng.permutation(len(case.matrix))[:2]
        part, kept = form.restricted(features, case.size)
        expected = set(features.tolist()) | set(case.problem.touched.tolist())
        assert set(kept.tolist()) == expected
        at = np.ix_(kept, kept)
        assert part.sparsity == min(case.size, len(kept))
        assert part.covariance.tobytes() == case.matrix[at].tobytes()
        assert part.projected.tobytes() == case.problem.projected[at].tobytes()
        assert part.projected_radius == case.problem.projected_radius


def chain(n: int) -> np.ndarray:
    """Each feature hangs on the one before it: they go one after another, at the level 1."""
    room = 4.0 ** np.arange(n)[::-1]
    matrix = np.diag(1 - room)
    for i in range(n - 1):
        matrix[i, i + 1] = matrix[i + 1, i] = math.sqrt(room[i] / 2)
    return matrix


def test_the_rule_is_repeated_on_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that rows get shorter round by round, and that the rounds end."""
    rounds = []
    stays = views.stays

    def counted(level: float, below: float, diagonal: Any, beta: Any) -> Any:
        rounds.append(len(diagonal))
        return stays(level, below, diagonal, beta)

    monkeypatch.setattr(views, "stays", counted)
    monkeypatch.setattr(views, "WORTH_WHILE", 1e-9)
    problem = Subproblem(chain(12), 2, np.zeros((12, 0)))
    below, level = 0.0, 1.0
    kept = sieve_within(problem, problem.covariance.diagonal(), np.arange(12), 2, level, below)
    # No more than a support is left in the end.
    assert rounds == list(range(12, 2, -1))
    assert kept.tolist() == [10, 11]
    monkeypatch.setattr(views, "WORTH_WHILE", 1.0)
    rounds.clear()
    more = sieve_within(problem, problem.covariance.diagonal(), np.arange(12), 2, level, below)
    assert rounds == [12]
    assert set(kept) < set(more)


def test_nothing_to_say() -> None:
    """Tests that the rule leaves everything where it is silent: one place, or a level too low."""
    problem = Subproblem(np.eye(5), 2, np.zeros((5, 0)))
    everything, diagonal = np.arange(5), np.ones(5)
    assert sieve_within(problem, diagonal, everything, 1, 9.0, 1.0) is everything
    assert sieve_within(problem, diagonal, everything, 2, 1.0, 1.0) is everything
    assert sieve_within(problem, diagonal, everything, 2, 9.0, math.inf) is everything
    assert sieve_within(problem, diagonal, everything, 2, 9.0, math.nan) is everything
    # No more than a support is left: nothing is gained by looking closer.
    assert sieve_within(problem, diagonal, everything[:2], 2, 9.0, 1.0).tolist() == [0, 1]
    assert len(sieve_within(problem, diagonal, everything, 2, 9.0, 1.0)) == 0


def test_features_of_components_are_kept() -> None:
    """Tests features with a loading of next to nothing: the rule does not speak of them."""
    x = np.array([[1.0, 1e-18, 0.0, 0.0, 0.0]]).T
    problem = Subproblem(np.eye(5), 3, x)
    form = MatrixView(problem)
    assert form.sieve(2, 9.0, 1.0, never).kept.tolist() == [0, 1]
    kept = sieve_within(problem, np.ones(5), np.arange(5), 2, 9.0, 1.0)
    assert kept.tolist() == [0, 1]
    assert form.bound_without_level(2, 1.0) == math.inf
    assert form.bound_without_level(3, 1.0) < 1.0 + 1e-12


def test_an_error_of_the_entries_is_taken_into_account() -> None:
    """Tests that a feature stays if its row could reach the level, within the radius."""
    matrix = np.diag([1.0, 0.0, 0.0])
    problem = Subproblem(matrix, 2, np.zeros((3, 0)))
    for radius, left in ((0.0, []), (0.7, []), (0.71, [0, 1, 2]), (9.0, [0, 1, 2])):
        # (1.5 - 1)(1.5 - 1) = 0.25, (1.5 - 1)·1.5 = 0.75.
        bounds = np.array([0.5, 0.5, 0.5])
        kept = sieve_within(problem, bounds, np.arange(3), 2, 1.5, 1.0, radius)
        assert kept.tolist() == left, radius


def test_follow_takes_what_is_better() -> None:
    """Tests that a vector found by a search helps the larger sparsities."""
    for seed in range(24):
        case = Problem(seed, *sizes_of(seed))
        if not case.matrix.any():
            continue  # growth from a matrix of zeros is not tested here
        form = MatrixView(case.problem)
        before = [value_of(best) for best in form.find(never)]
        for best in [best for best in form.find(never) if best is not None]:
            size = int(np.count_nonzero(best.vector))
            after = [value_of(best) for best in form.follow(best, size, never)]
            assert all(new >= old for new, old in zip(after, before, strict=True))


def test_values_and_rounding() -> None:
    """Tests what is said of nothing, and a bound on a part as one on the whole."""
    assert value_of(None) == -math.inf
    assert value_of(Candidate(2.0, np.ones(1))) == 2.0
    form = MatrixView(Subproblem(np.eye(2), 1, np.zeros((2, 0))))
    assert with_rounding(3.0, form) == 3.0


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_rows_serve_all_stages(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that are kept from stage to stage are never below those of the stage itself."""
    monkeypatch.setattr(views, "SPARE_ENTRIES", int(seed % 3))
    rng = np.random.default_rng([seed, 11])
    n, size, shared = 40, 5, Shared()
    half = rng.normal(size=(n, n))
    matrix = half @ half.T if seed % 2 else half + half.T
    previous = np.zeros((n, 0))
    for _ in range(4):
        problem = Subproblem(matrix, size, previous, shared=shared)
        kept = MatrixView(problem)._sums
        fresh = MatrixView(Subproblem(matrix, size, previous))._sums
        form, radius = problem.projected, Fraction(problem.projected_radius)
        for i in np.setdiff1d(np.arange(n), problem.touched):
            own = [Fraction(v) for v in np.abs(np.delete(matrix[i], i))]
            now = [abs(Fraction(v)) + radius for v in np.delete(form[i], i)]
            for count in range(1, size):
                least = min(sum(sorted(v * v for v in row)[-count:]) for row in (own, now))
                assert Fraction(kept[i, count - 1]) >= least
                assert kept[i, count - 1] >= fresh[i, count - 1] * (1 - 1e-15)
        x = np.zeros(n)
        x[rng.choice(n, size, replace=False)] = rng.normal(size=size)
        x -= previous @ (previous.T @ x) * (seed % 4 == 1)
        previous = np.column_stack([previous, x / np.linalg.norm(x)])
        if seed % 4 == 1:
            previous = np.linalg.qr(previous)[0]
