"""Sparsity paths: every sparsity solved, and what one proves for another."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from helpers.brute_force import sequence, stage_optimum
from helpers.truth import (
    best_of_stage,
    is_finished,
    is_proved,
    is_proved_of_data,
    proved_optimum,
)
from helpers.wide import tuned
from orthospca import DataCovariance, Status, datasets, solve, sparsity_path
from orthospca.facade import solve_with
from orthospca.model.settings import Settings
from orthospca.model.tolerance import Tolerance
from orthospca.path import SparsityPath, parse_sparsities
from orthospca.paths import solving as module
from orthospca.paths.links import averaging_bound
from orthospca.paths.solving import path_with


def random_matrix(seed: int, n: int = 7) -> np.ndarray:
    """A covariance, a correlation or an indefinite matrix."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 2:
        A = rng.standard_normal((n, n))
        return A + A.T
    X = rng.standard_normal((n - seed % 2, n))
    return np.cov(X.T) if seed % 3 else np.corrcoef(X.T)


def hard(n: int = 14) -> np.ndarray:
    return np.corrcoef(np.random.default_rng(1).standard_normal((20, n)).T)


def optimum(Q: np.ndarray, p: int) -> float:
    return stage_optimum(Q, np.empty((0, len(Q))), p).value


def are_bounds(Q: np.ndarray, path: SparsityPath) -> bool:
    """Whether the first bound of every sparsity holds, decided without rounding."""
    nothing = np.empty((0, len(Q)))
    pairs = zip(path.sparsities, path.upper_bounds[:, 0], strict=True)
    return all(is_proved(Q, nothing, p, upper) for p, upper in pairs)


# ---------------------------------------------------------------------------- the path


@pytest.mark.parametrize("seed", range(9))
def test_each_sparsity_is_solved(seed):
    """Tests variances and bounds of every sparsity against brute force."""
    Q = random_matrix(seed)
    path = sparsity_path(Q, range(1, 8), gap=1e-9)
    best = [optimum(Q, p) for p in range(1, 8)]
    np.testing.assert_allclose(path.variances[:, 0], best, rtol=1e-8, atol=1e-9)
    assert are_bounds(Q, path)
    numbers = zip(path.variances[:, 0], path.upper_bounds[:, 0], strict=True)
    assert all(Tolerance(0.0, 1e-9).met(lower, upper) for lower, upper in numbers)
    assert path.status is Status.OPTIMAL
    for p, result in zip(path.sparsities, path.results, strict=True):
        x = result.components[0]
        assert np.count_nonzero(x) <= p
        assert x @ Q @ x == pytest.approx(result.variances[0])
        assert result.sparsity == (p,)


@pytest.mark.parametrize("seed", range(3))
def test_several_components(seed):
    """Tests all stages of every sparsity against brute force."""
    Q = random_matrix(seed, 6)
    path = sparsity_path(Q, [2, 3, 5], n_components=3, gap=1e-9)
    assert path.variances.shape == (3, 3)
    for p, row in zip(path.sparsities, path.variances, strict=True):
        expected = [found.value for found in sequence(Q, [p] * 3)]
        np.testing.assert_allclose(row[: len(expected)], expected, rtol=1e-7, atol=1e-8)
        assert np.isnan(row[len(expected) :]).all()


def test_order_and_repetitions_do_not_matter():
    """Tests that sparsities come back ascending, each once."""
    path = sparsity_path(hard(), iter([5, 2, 5, 3]))
    assert path.sparsities == (2, 3, 5)
    assert len(path.results) == 3


def test_components_that_run_out():
    """Tests that missing components are NaN, and that the end is proved."""
    Q = datasets.load_pitprops().covariance()
    path = sparsity_path(Q, [1, 5], n_components=13)
    assert np.isfinite(path.variances[0]).all()
    assert np.isnan(path.variances[1]).sum() == 2
    assert path.results[1].status is Status.EXHAUSTED
    assert path.status is Status.OPTIMAL
    np.testing.assert_allclose(path.explained_variance, [13, 11.89], rtol=1e-3)
    np.testing.assert_allclose(path.explained_variance_ratio, path.explained_variance / 13)


# ---------------------------------------------------------------------------- what is shared


@pytest.mark.parametrize("seed", range(12))
def test_averaging_bound(seed):
    """Tests that (v(q) - d) / (q - 1) does not increase with q, indefinite matrices included."""
    Q = random_matrix(seed)
    bounds = {p: proved_optimum(Q, p) for p in range(2, 8)}
    smallest, nothing = float(Q.diagonal().min()), np.empty((0, 7))
    for p in bounds:
        for q in range(p, 8):
            assert is_proved(Q, nothing, q, averaging_bound(bounds[p], p, q, smallest))


def test_averaging_bound_is_attained():
    """Tests the bound where it is tight: v(p) = p for the matrix of ones."""
    assert averaging_bound(3.0, 3, 7, 1.0) == math.nextafter(7.0, math.inf)


def test_a_sparse_result_is_taken_over():
    """Tests that a component sparser than asked for decides smaller sparsities without a search."""
    known = datasets.make_planted_blocks(20, 5, 3, random_state=0)
    for count in (1, 3):
        path = sparsity_path(known.matrix, range(4, 12), n_components=count)
        np.testing.assert_allclose(path.variances[1:], [known.variances[:count]] * 7)
        assert [result.nodes for result in path.results[1:7]] == [0] * 6
        for p, result in zip(path.sparsities, path.results, strict=True):
            assert result.sparsity == (p,) * count
            assert all(len(support) <= p for support in result.supports)


def test_a_result_with_an_open_gap_is_not_taken_over(monkeypatch):
    """Tests that a smaller sparsity gets its own search if the larger one is not finished."""
    known = datasets.make_planted_blocks(20, 5, 1, random_state=0)
    asked = []

    def open_at_first(Q, sparsity, *args, **kwargs):
        result = solve_with(Q, sparsity, *args, **kwargs)
        asked.append(sparsity)
        if len(asked) > 1:
            return result
        first = replace(result.stages[0], upper_bound=9.0, status=Status.TIME_LIMIT)
        return replace(result, stages=(first,), status=Status.TIME_LIMIT)

    monkeypatch.setattr(module, "solve_with", open_at_first)
    path = sparsity_path(known.matrix, [6, 8])
    assert asked == [8, 6]
    assert path.results[0].status is Status.OPTIMAL
    # The bound for 6 gives one for 8: d + (v - d)·7/5.
    d, v = known.matrix.diagonal().min(), path.upper_bounds[0, 0]
    assert path.upper_bounds[1, 0] == pytest.approx(d + (v - d) * 7 / 5)
    assert path.results[1].status is path.status is Status.TIME_LIMIT


def test_a_search_ends_at_the_bound_of_a_larger_sparsity():
    """Tests that a saturated path needs no more nodes than its sparsities one by one."""
    Q = datasets.load_breast_cancer().covariance()
    path = sparsity_path(Q, range(3, 14))
    alone = [solve(Q, p) for p in range(3, 14)]
    assert path.status is Status.OPTIMAL
    assert (path.gaps <= 1e-4).all()
    assert sum(r.nodes for r in path.results) <= sum(r.nodes for r in alone)
    np.testing.assert_allclose(path.variances[:, 0], [r.variances[0] for r in alone], rtol=1e-4)


@pytest.mark.parametrize("method", ["eigenvalue", "branch-and-bound"])
def test_limits_leave_valid_monotone_bounds(method):
    """Tests that bounds under a limit hold, do not decrease, and are no worse than alone."""
    Q = hard()
    path = sparsity_path(Q, range(2, 8), method=method, gap=0.0, node_limit=1)
    best = np.array([optimum(Q, p) for p in range(2, 8)])
    alone = [solve(Q, p, method=method, gap=0.0, node_limit=1).upper_bounds[0] for p in range(2, 8)]
    assert (path.variances[:, 0] <= best + 1e-12).all()
    assert are_bounds(Q, path)
    assert (path.upper_bounds[:, 0] <= alone).all()
    assert (np.diff(path.variances[:, 0]) >= 0).all()
    assert (np.diff(path.upper_bounds[:, 0]) >= 0).all()
    np.testing.assert_array_equal(path.gaps, [result.gaps for result in path.results])
    if method == "eigenvalue":
        assert path.status is Status.NODE_LIMIT


def test_a_better_component_of_a_smaller_sparsity_is_used(monkeypatch):
    """Tests that a poor component gives way, and only where there are no later stages."""
    Q = hard()
    poor = np.zeros(len(Q))
    poor[0] = 1.0

    def poor_at_five(Q, sparsity, *args, **kwargs):
        result = solve_with(Q, sparsity, *args, **kwargs)
        if sparsity < 5:
            return result
        first = replace(
            result.stages[0], vector=poor, variance=1.0, upper_bound=9.0, status=Status.TIME_LIMIT
        )
        return replace(result, stages=(first, *result.stages[1:]), status=Status.TIME_LIMIT)

    monkeypatch.setattr(module, "solve_with", poor_at_five)
    path = sparsity_path(Q, [4, 5])
    assert path.variances[1, 0] == path.variances[0, 0] > 1.0
    np.testing.assert_array_equal(path.results[1].components, path.results[0].components)
    assert path.status is Status.TIME_LIMIT
    several = sparsity_path(Q, [4, 5], n_components=2)
    assert several.variances[1, 0] == 1.0
    assert several.upper_bounds[1, 0] < 9.0


# ---------------------------------------------------------------------------- stopping


def test_no_time_at_all():
    """Tests that every sparsity has a component and a bound even without time."""
    Q = hard()
    path = sparsity_path(Q, range(2, 6), gap=0.0, time_limit=0.0)
    assert path.sparsities == (2, 3, 4, 5)
    best = np.array([optimum(Q, p) for p in range(2, 6)])
    assert are_bounds(Q, path)
    assert (path.variances[:, 0] <= best + 1e-12).all()
    assert path.status is Status.TIME_LIMIT


def test_callback_sees_the_sparsity():
    """Tests that progress comes with its sparsity, from the largest to the smallest."""
    seen = []

    def hear(sparsity, progress):
        seen.append((sparsity, progress))

    path = sparsity_path(hard(), [2, 4, 6], method="eigenvalue", callback=hear)
    assert list(dict.fromkeys(p for p, _ in seen)) == [6, 4, 2]
    assert all(progress.stage == 0 for _, progress in seen)
    assert path.status is Status.OPTIMAL


def test_smaller_sparsities_are_certified_on_the_way():
    """Tests that one climb certifies all sparsities: none but the largest is sought."""
    seen = []
    Q = hard()
    path = sparsity_path(Q, range(1, 7), callback=lambda p, progress: seen.append(p))
    assert set(seen) == {6}
    assert path.status is Status.OPTIMAL
    assert are_bounds(Q, path)


@pytest.mark.parametrize("how", ["answer", "interrupt"])
def test_stopping_keeps_what_was_reached(how):
    """Tests that the callback and Ctrl-C end the whole path, with valid numbers."""

    def stop_at_four(sparsity, progress):
        if sparsity == 4 and how == "interrupt":
            raise KeyboardInterrupt
        return sparsity == 4

    Q = hard()
    path = sparsity_path(Q, [2, 4, 6], gap=0.0, callback=stop_at_four)
    assert path.sparsities == (4, 6)
    assert path.status is Status.INTERRUPTED
    assert are_bounds(Q, path)
    assert is_finished(path.results[1], Q)


def test_stopping_at_the_last_moment():
    """Tests that the path ends although the sparsity that was stopped is certified."""

    def nearly_done(sparsity, progress):
        return sparsity == 4 and progress.gap < 1e-3

    path = sparsity_path(hard(), [2, 4, 6], method="eigenvalue", callback=nearly_done)
    assert path.sparsities == (4, 6)
    assert path.status is Status.INTERRUPTED


def test_interrupt_before_anything(monkeypatch):
    """Tests that an interrupt between two solves gives an empty path and no exception."""

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "solve_with", interrupt)
    path = sparsity_path(hard(), [2, 3], n_components=2)
    assert path.sparsities == ()
    assert path.variances.shape == (0, 2)
    assert path.status is Status.INTERRUPTED
    assert "interrupted" in path.summary()


# ---------------------------------------------------------------------------- for people


def test_summary():
    """Tests the table for one and for several components."""
    Q = datasets.load_pitprops().covariance()
    lines = sparsity_path(Q, [2, 5]).summary().splitlines()
    columns = ["sparsity", "variance", "of total", "gain", "upper bound", "gap", "status"]
    assert re.split(r"  +", lines[0]) == columns
    assert lines[2].strip() == "+0, +1"
    assert lines[3].split()[:3] == ["5", "3.40615", "26.2%"]
    assert lines[-1].startswith("2 sparsities;")
    assert lines[-1].endswith("all certified within the tolerance")
    several = sparsity_path(Q, [5], n_components=13).summary().splitlines()
    assert several[1].split()[2:5] == ["91.5%", "91.5%", "11"]
    assert several[1].endswith("exhausted")
    stopped = sparsity_path(hard(), [6], gap=0.0, method="eigenvalue", node_limit=1)
    assert "stopped by the node limit" in stopped.summary()


def test_what_enters_and_leaves():
    """Tests the changes against the supports, by name, for the first and for later components."""
    pitprops = datasets.load_pitprops()
    names = pitprops.feature_names
    path = sparsity_path(pitprops.covariance(), range(1, 8), n_components=3, feature_names=names)
    for k in range(3):
        before: set[str] = set()
        for p, change, result in zip(path.sparsities, path.changes(k), path, strict=True):
            now = {names[j] for j in result.supports[k]}
            assert change.sparsity == p
            assert set(change.entered) == now - before
            assert set(change.left) == before - now
            assert set(change.stayed) == now & before
            before = now
    first = path.changes()
    assert first[0].previous is None
    assert [change.previous for change in first[1:]] == [1, 2, 3, 4, 5, 6]
    assert any(change.left for k in range(3) for change in path.changes(k))
    x = path.results[4].components[0]
    entered = first[4].entered
    strengths = [abs(x[names.index(name)]) for name in entered]
    assert strengths == sorted(strengths, reverse=True)
    with pytest.raises(ValueError, match=r"component must be at most 2 \(the last one\), got 3"):
        path.changes(3)


def test_loadings_have_signs_that_go_on():
    """Tests that rows agree with the components up to a sign that fits the row before."""
    path = sparsity_path(hard(), range(1, 8), n_components=2)
    for k in range(2):
        X = path.loadings(k)
        for row, result in zip(X, path, strict=True):
            np.testing.assert_array_equal(np.abs(row), np.abs(result.components[k]))
        assert (np.einsum("ij,ij->i", X[1:], X[:-1]) >= 0).all()


def test_components_that_are_not_there_use_nothing():
    """Tests that a component that does not exist for some sparsity leaves with all it had."""
    path = sparsity_path(datasets.load_pitprops().covariance(), [1, 5], n_components=13)
    change = path.changes(12)[1]
    assert change.entered == ()
    assert len(change.left) == 1
    assert not path.loadings(12)[1].any()


def test_views_of_a_path():
    """Tests length, repr, HTML and the data frame."""
    pytest.importorskip("pandas")
    names = ["<b>", *map(str, range(13))]
    path = sparsity_path(hard(), range(1, 8), n_components=2, feature_names=names)
    assert len(path) == 7
    assert list(path) == list(path.results)
    assert repr(path) == (
        "SparsityPath(7 sparsities from 1 to 7, n_components=2, status='optimal')"
    )
    assert repr(sparsity_path(hard(), [3])) == (
        "SparsityPath(1 sparsity [3], n_components=1, status='optimal')"
    )
    text = path._repr_html_()
    assert text.count("<tr>") == 8
    assert "<b>," not in text
    frame = path.to_frame()
    assert len(frame) == 14
    assert frame["sparsity"].tolist() == [p for p in range(1, 8) for _ in range(2)]
    np.testing.assert_array_equal(frame["variance"], path.variances.ravel())
    assert frame["features"].map(len).max() == 7
    assert path.feature_names == tuple(names)


def test_plain_objects():
    """Tests that the path can be written as JSON, with nothing that JSON lacks."""
    path = sparsity_path(datasets.load_pitprops().covariance(), [1, 5], n_components=13)
    content = json.loads(json.dumps(path.to_dict(), allow_nan=False))
    assert content["sparsities"] == [1, 5]
    assert content["status"] == "OPTIMAL"
    assert content["variances"][1][11:] == [None, None]
    assert content["variances"][0] == path.variances[0].tolist()
    assert content["results"][1]["status"] == "EXHAUSTED"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", (5,)),
        ("1,2,5", (1, 2, 5)),
        ("1:4", (1, 2, 3, 4)),
        ("1:20", tuple(range(1, 14))),
        ("2:10:4", (2, 6, 10)),
        (":3", (1, 2, 3)),
        ("11:", (11, 12, 13)),
        ("::6", (1, 7, 13)),
        (" 8, 3 : 5 ,4 ", (3, 4, 5, 8)),
    ],
)
def test_sparsities_in_words(text, expected):
    """Tests numbers, ranges, steps, open ends, spaces, repetitions."""
    assert parse_sparsities(text, 13) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "numbers or ranges such as 1:20"),
        ("five", "got 'five'"),
        ("1:2:3:4", "numbers or ranges"),
        ("1:5:", "numbers or ranges"),
        ("1,,2", "numbers or ranges"),
        ("2.5", "numbers or ranges"),
        ("0", "sparsities must be at least 1, got 0"),
        ("14", r"at most 13 \(the number of features\), got 14"),
        ("0:3", "between 1 and 13"),
        ("5:3", "got '5:3'"),
        ("14:20", "got '14:20'"),
        ("1:9:0", "got '1:9:0'"),
    ],
)
def test_bad_sparsities_in_words(text, message):
    """Tests that what cannot be read is quoted."""
    with pytest.raises(ValueError, match=message):
        parse_sparsities(text, 13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sparsities": []}, "sparsities must have at least one entry"),
        ({"sparsities": 3}, "sparsities must be a sequence of integers, got 3"),
        ({"sparsities": "1:3"}, "sparsities must be a sequence of integers, got '1:3'"),
        ({"sparsities": [1, 0]}, r"sparsities\[1\] must be at least 1, got 0"),
        ({"sparsities": [15]}, r"sparsities\[0\] must be at most 14"),
        ({"sparsities": [2.0]}, r"sparsities\[0\] must be an integer"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"method": "deflation"}, "method must not be 'deflation'"),
        ({"method": "magic"}, "method must be one of"),
        ({"gap": -1}, "gap must be finite and not negative"),
        ({"time_limit": math.nan}, "time_limit must be finite"),
        ({"callback": 3}, "callback must be callable, got 3"),
    ],
)
def test_bad_arguments(arguments, message):
    """Tests that bad arguments are named."""
    with pytest.raises(ValueError, match=message):
        sparsity_path(hard(), **{"sparsities": [2, 3], **arguments})


def test_data_instead_of_a_matrix():
    """Tests that a path of data is that of their covariance, formed or not."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(datasets.make_planted_samples(90, 40).data).add_prefix("gene")
    of_data = sparsity_path(DataCovariance(X), [2, 5], n_components=2)
    of_matrix = sparsity_path(np.cov(X.T), [2, 5], n_components=2)
    np.testing.assert_allclose(of_data.variances, of_matrix.variances, rtol=1e-9)
    assert of_data.results[0].feature_names[3] == "gene3"
    assert of_data.status is Status.OPTIMAL


def test_wide_data():
    """Tests that each sparsity of wide data has what ``solve`` finds, with valid bounds."""
    settings = Settings.validate(gap=1e-3, tuning=tuned(formed=60))
    data = DataCovariance(datasets.make_planted_samples(200, 40, strengths=(9.0, 2.0)).data)
    path = path_with(data, [2, 6, 10], 1, settings)
    Q, nothing = data.submatrix(np.arange(200)), np.zeros((0, 200))
    for p, result in zip(path.sparsities, path.results, strict=True):
        truth = best_of_stage(Q, p, nothing)
        x, support = result.components[0], np.flatnonzero(truth.best.vector)
        assert x @ Q @ x == pytest.approx(result.variances[0])
        assert result.variances[0] <= truth.best.value * (1 + 1e-9)
        upper = float(result.upper_bounds[0])
        assert is_proved_of_data(data.factor(support), nothing, support, upper)
    assert (np.diff(path.upper_bounds[:, 0]) >= 0).all()
