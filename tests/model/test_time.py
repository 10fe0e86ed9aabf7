"""Limits that include everything: forming a matrix, reading rows, stages that come late.

Clocks are counted or faked, except in the slow test at the end, whose margins are generous.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy import sparse

from helpers.clocks import Ticking
from orthospca import (
    DataCovariance,
    OrthogonalSparsePCA,
    Status,
    alternatives,
    cross_validate_sparsity,
    solve,
    sparsity_path,
    stability,
)
from orthospca.facade import solve_with
from orthospca.interface.stopwatch import Stopwatch
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.tuning import Tuning, WideTuning
from orthospca.routes import formed_in_time

#: So small that most tests of forming are of many pieces.
PIECE = 4000.0


def rows(m: int = 60, n: int = 40, seed: int = 0) -> np.ndarray:
    """Independent Gaussian numbers."""
    return np.random.default_rng(seed).standard_normal((m, n))


def exact(X: np.ndarray) -> np.ndarray:
    """The covariance by its definition."""
    centred = X - X.mean(axis=0)
    return centred.T @ centred / (len(X) - 1)


@pytest.fixture
def in_pieces(monkeypatch):
    """Matrices are formed in many pieces."""
    monkeypatch.setattr("orthospca.data.columns.DENSE_PIECE", PIECE)
    monkeypatch.setattr("orthospca.data.sparse.SPARSE_PIECE", 50.0)
    monkeypatch.setattr("orthospca.data.columns.NARROWEST", 1)
    monkeypatch.setattr("orthospca.data.moments.BLOCK_ENTRIES", 200)


@pytest.mark.parametrize("density", [None, 0.02, 0.6])
def test_a_matrix_formed_in_pieces_is_the_covariance(in_pieces, density) -> None:
    """Tests that pieces, by columns or by rows, make up the covariance of its definition."""
    X = rows()
    if density is not None:
        X[np.random.default_rng(1).random(X.shape) > density] = 0.0
    told: list[float] = []
    data = X if density is None else sparse.csr_matrix(X)
    for which in (np.arange(40), np.array([3, 5, 8, 20, 39])):
        told.clear()
        Q = DataCovariance(data).formed(which, lambda done: bool(told.append(done)))
        np.testing.assert_allclose(Q, exact(X)[np.ix_(which, which)], atol=1e-13)
        assert (Q == Q.T).all()
        assert told == sorted(told)
        assert told[0] == 0.0 <= told[-1] < 1.0
    assert DataCovariance(data).formed(np.arange(40), lambda done: done > 0.2) is None


@pytest.mark.parametrize("data", [rows(), sparse.csr_matrix(rows())], ids=["dense", "sparse"])
def test_forming_asks_the_callback(in_pieces, data) -> None:
    """Tests that a callback is heard while a matrix is formed, before anything is known."""
    heard = []
    watch = Watch(callback=lambda p: heard.append(p) or len(heard) > 2, heartbeat=0.0)
    assert formed_in_time(DataCovariance(data), Settings(), watch) is None
    assert watch.interrupted
    assert len(heard) == 3
    assert all((p.lower, p.upper) == (-math.inf, math.inf) for p in heard)


def test_a_matrix_that_takes_too_long_is_not_formed(in_pieces, monkeypatch) -> None:
    """Tests that data are solved as they are if their matrix would take most of the time."""
    monkeypatch.setattr(time, "perf_counter", Ticking())
    result = solve(DataCovariance(rows()), 3, time_limit=6.0)
    assert result.status is Status.TIME_LIMIT
    (component,) = result.stages
    Q = exact(rows())
    assert np.count_nonzero(component.vector) <= 3
    assert component.vector @ Q @ component.vector == pytest.approx(component.variance)
    # The best of all supports, one by one.
    best = max(
        np.linalg.eigvalsh(Q[np.ix_(s, s)])[-1]
        for s in (np.array([i, j, k]) for i in range(40) for j in range(i) for k in range(j))
    )
    assert component.variance <= best + 1e-12 <= component.upper_bound + 1e-12


@pytest.mark.parametrize("options", [{"objective": "lexicographic"}, {"method": "enumeration"}])
def test_what_needs_a_matrix_says_so(in_pieces, monkeypatch, options) -> None:
    """Tests that without time for a matrix there is no component where one is needed."""
    monkeypatch.setattr(time, "perf_counter", Ticking())
    result = solve(DataCovariance(rows()), 3, time_limit=5.0, **options)
    assert result.status is Status.TIME_LIMIT
    assert result.n_components == 0
    assert "no time to form the covariance" in result.note


def test_the_runtime_includes_forming(monkeypatch) -> None:
    """Tests that the clock of a solve runs while its matrix is formed."""
    slow = Ticking()
    monkeypatch.setattr(time, "perf_counter", slow)
    formed = DataCovariance.formed

    def long(self, indices, give_up, known=None):
        slow.now += 1000.0
        return formed(self, indices, give_up, known)

    monkeypatch.setattr(DataCovariance, "formed", long)
    Q = DataCovariance(rows(n=8))
    assert solve(Q, 3).runtime > 1000.0
    assert sparsity_path(Q, [2, 3]).runtime > 1000.0
    assert alternatives(Q, 3).runtime > 1000.0


def test_an_estimator_forms_within_its_limit(in_pieces, monkeypatch) -> None:
    """Tests that a fit without time for a matrix has components, or says what is missing."""
    monkeypatch.setattr(time, "perf_counter", Ticking())
    with pytest.warns(UserWarning):
        fitted = OrthogonalSparsePCA(1, 3, time_limit=6.0).fit(rows())
    assert fitted.status_ is Status.TIME_LIMIT
    with pytest.raises(ValueError, match=r"time_limit must be long enough .* got 5\.0"):
        OrthogonalSparsePCA(1, 3, objective="lexicographic", time_limit=5.0).fit(rows())


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_an_estimator_in_pieces(in_pieces, container) -> None:
    """Tests that a matrix formed in pieces gives an estimator the same components."""
    X = np.where(np.abs(rows()) < 0.5, 0.0, rows())
    weights = np.arange(60) % 3
    fitted = OrthogonalSparsePCA(2, 3).fit(container(X), sample_weight=weights)
    repeated = np.repeat(X, weights, axis=0)
    expected = solve(exact(repeated), 3, 2)
    np.testing.assert_allclose(fitted.explained_variance_, expected.variances, rtol=1e-9)


def test_a_path_stops_at_its_limit() -> None:
    """Tests that a path without time has what was reached, the largest sparsity at least."""
    Q = exact(rows(200, 60))
    path = sparsity_path(Q, range(2, 30), gap=1e-9, time_limit=0.0)
    assert path.status is Status.TIME_LIMIT
    assert path.sparsities[-1] == 29
    for size, result in zip(path.sparsities, path.results, strict=True):
        (component,) = result.stages
        assert np.count_nonzero(component.vector) <= size
        assert component.variance <= component.upper_bound
    several = sparsity_path(Q, range(2, 30), n_components=2, gap=1e-9, time_limit=0.0)
    assert several.status is Status.TIME_LIMIT
    assert several.sparsities == (29,)


def test_folds_and_resamples_stop_at_the_limit() -> None:
    """Tests that without time folds and resamples are left out, and that the status says so."""
    X = rows(60, 30)
    folds = cross_validate_sparsity(X, [5, 10], cv=5, gap=1e-9, time_limit=0.0)
    assert folds.n_folds == 0
    assert folds.status is Status.TIME_LIMIT
    found = stability(X, 5, n_resamples=20, gap=1e-9, time_limit=0.0)
    assert found.n_resamples == 0
    assert found.status is Status.TIME_LIMIT
    assert found.result.n_components == 1


@pytest.mark.parametrize("call", ["folds", "resamples"])
def test_counting_is_heard_during_a_fit(call, monkeypatch) -> None:
    """Tests that whoever counts fits can stop while the first one goes on."""
    monkeypatch.setattr(time, "perf_counter", Ticking())
    heard = []

    def count(done, total):
        heard.append((done, total))
        return len(heard) == 2

    X = rows(300, 80)
    if call == "folds":
        found = cross_validate_sparsity(X, [12], gap=1e-9, callback=count)
        assert heard == [(0, 5), (0, 5)]
    else:
        found = stability(X, 12, n_resamples=9, gap=1e-9, callback=count)
        assert heard == [(0, 9), (0, 9)]
    assert found.status is Status.INTERRUPTED


def test_a_joint_search_is_heard_of_early() -> None:
    """Tests that a callback can stop a joint search before anything is proved, and gets a set."""
    Q = exact(rows(200, 60))
    for proof in (False, True):
        heard = []
        settings = Settings.validate(objective="joint", proof=proof)
        watch = Watch(callback=lambda p, heard=heard: bool(heard.append(p)) or True, heartbeat=0.0)
        result = solve_with(Q, 6, 3, settings, watch=watch)
        assert len(heard) == 1
        assert heard[0].lower == -math.inf
        assert result.status is Status.INTERRUPTED
        X = result.components
        np.testing.assert_allclose(X @ X.T, np.eye(3), atol=1e-12)
        assert np.trace(X @ Q @ X.T) <= result.joint_upper_bound < math.inf


@pytest.mark.parametrize("stop", ["limit", "callback"])
def test_alternatives_of_wide_data_can_be_stopped(stop) -> None:
    """Tests that a list of alternatives that was stopped at once holds the best support found."""
    X = rows(30, 500)
    Q = DataCovariance(X)
    options = {"time_limit": 0.0} if stop == "limit" else {"callback": lambda progress: True}
    wide = Tuning(wide=WideTuning(formed=100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orthospca.model.settings.DEFAULT", wide)
        found = alternatives(Q, 4, 0.1, **options)
    assert not found.complete
    assert len(found) == 1
    (support,) = found.supports
    best = np.linalg.eigvalsh(exact(X)[np.ix_(support, support)])[-1]
    assert found.variances[0] <= best * (1 + 1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("method", ["branch-and-bound", "eigenvalue"])
def test_wide_data_without_variance(container, value, method) -> None:
    """Tests that constant data have optimal components of variance 0, proved to be 0."""
    data = container(np.full((6, 4100), value))
    result = solve(DataCovariance(data), 3, 2, method=method)
    assert result.status is Status.OPTIMAL
    assert result.variances.tolist() == result.upper_bounds.tolist() == [0.0, 0.0]


def test_a_command_deducts_what_reading_took() -> None:
    """Tests that the limit of a command is for reading as well."""
    slow = Ticking()
    stopwatch = Stopwatch(slow)
    assert stopwatch.left_of(None) is None
    slow.now = 31.0
    assert (stopwatch.left_of(60.0), stopwatch.left_of(10.0)) == (29.0, 0.0)


@pytest.mark.parametrize("container", [np.asarray, sparse.csc_matrix])
def test_few_rows_are_formed_in_pieces_too(container) -> None:
    """Tests that it is asked often enough whether to go on where products take no time at all."""
    asked: list[float] = []
    Q = DataCovariance(container(rows(3, 2600)))
    formed = Q.formed(np.arange(2600), lambda done: bool(asked.append(done)))
    assert formed.shape == (2600, 2600)
    assert len(asked) > 4
    assert Q.formed(np.arange(2600), lambda done: done > 0.0) is None


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1.0, 3.0])
def test_large_problems_keep_their_limits(limit, real_clock) -> None:
    """Tests that matrices, wide data and sets are late by little: by fifteen decompositions.

    It is the time of the processor that is compared: what others do on the machine is not at fault.
    """
    Q, X = exact(rows(1500, 1000)), rows(100, 8000)
    started = time.process_time()
    np.linalg.eigh(Q)
    slack = 15 * (time.process_time() - started)
    calls = [
        lambda: solve(Q, 20, 3, time_limit=limit),
        lambda: solve(DataCovariance(X), 20, 3, time_limit=limit),
        lambda: solve(Q, 10, 3, objective="joint", time_limit=limit),
        lambda: sparsity_path(Q, range(5, 30, 5), n_components=2, time_limit=limit),
        lambda: alternatives(DataCovariance(X), 15, 0.1, time_limit=limit),
        lambda: cross_validate_sparsity(X, (5, 20), 2, time_limit=limit),
        lambda: stability(X, 20, 2, n_resamples=10, time_limit=limit),
    ]
    for call in calls:
        started = time.process_time()
        call()
        assert time.process_time() - started < limit + slack
