"""Tests of the joint objective: sets, bounds, limits, and what is said of them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from helpers.seeds import later, seeds, spread
from orthospca import OrthogonalSparsePCA, Result, datasets, solve, verify
from orthospca.facade import solve_with
from orthospca.joint.ascent import SetSearch
from orthospca.joint.branching import Group
from orthospca.joint.multipliers import first_root
from orthospca.joint.node import Bounding
from orthospca.joint.patterns import Patterns
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT
from orthospca.result import Status
from tests.joint.reference import KINDS, best_total, matrix_of

EXAMPLE = np.array([[5.0, 1, 0], [1, 5, 2], [0, 2, 2]])


def check_set(result, limits):
    """A set is orthonormal, sparse, and below its bound."""
    X = result.components
    assert X.shape[0] == len(limits)
    assert np.abs(X @ X.T - np.eye(len(X))).max() < 1e-11
    assert all(np.count_nonzero(x) <= p for x, p in zip(X, limits, strict=True))
    assert result.joint_variance == pytest.approx(math.fsum(result.variances))
    assert result.joint_upper_bound >= result.joint_variance
    for component in result:
        assert component.upper_bound >= component.variance


def against_brute_force(seed, nodes):
    """Compare one random problem with brute force."""
    rng = np.random.default_rng(seed)
    kind, n = KINDS[seed % len(KINDS)], int(rng.integers(3, 7))
    K = int(rng.integers(2, min(n, 3) + 1))
    limits = [int(p) for p in rng.integers(1, min(n, 3) + 1, K)]
    if seed % 3:
        limits = [limits[0]] * K
    Q = matrix_of(kind, n, rng)
    size = np.abs(Q).max() or 1.0
    best = best_total(Q, limits, rng)
    result = solve(Q, limits, K, objective="joint", node_limit=nodes)
    check_set(result, limits)
    assert best <= result.joint_upper_bound + 1e-11 * size
    if result.status is Status.OPTIMAL:
        assert result.joint_variance >= best - 1e-4 * abs(best) - 1e-10 * size
    stagewise = solve(Q, limits, K)
    if len(stagewise) == K:
        assert result.joint_variance >= stagewise.joint_variance - 1e-12 * size
        assert best <= stagewise.joint_upper_bound + 1e-11 * size
    return result


@pytest.mark.parametrize("seed", seeds(2, 10))
def test_against_brute_force(seed):
    """Tests value and bound on small problems of every kind."""
    against_brute_force(seed, 12)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_against_brute_force_at_length(part):
    """Tests value and bound on more of them; most are closed, and none is wrong."""
    ended = [against_brute_force(seed, 25).status for seed in spread(100 + part, 420, 4)]
    assert 2 * ended.count(Status.OPTIMAL) >= len(ended)


def test_paper_example():
    """Tests the three objectives where the path matters, by enumeration of both paths."""
    first = [np.array([1.0, 1, 0]) / math.sqrt(2), np.array([0, 2.0, 1]) / math.sqrt(5)]
    sequences = []
    for x in first:
        assert x @ EXAMPLE @ x == pytest.approx(6)
        seconds = []
        for support in itertools.combinations(range(3), 2):
            y = _orthogonal_on(x, support)
            seconds.append((y @ EXAMPLE @ y, y))
        value, y = max(seconds, key=lambda pair: pair[0])
        sequences.append((6.0, value, 12 - 6 - value))
    assert sorted(np.round(sequences, 9).tolist()) == [[6, 4, 2], [6, 5, 1]]
    largest = max(sequences)
    found = solve(EXAMPLE, 2, 3, objective="lexicographic")
    np.testing.assert_allclose(found.variances, largest, atol=1e-9)
    assert found.status is Status.OPTIMAL and "all ties were examined" in found.note
    assert tuple(solve(EXAMPLE, 2, 3).variances.round(6)) in ((6, 4, 2), (6, 5, 1))
    # Three orthonormal vectors of three features: the total is the trace, whatever they are.
    joint = solve(EXAMPLE, 2, 3, objective="joint")
    assert joint.joint_variance == pytest.approx(12) and joint.joint_gap < 1e-9
    again = solve(EXAMPLE, 2, 3, objective="joint")
    assert again == joint and hash(again) == hash(joint)
    assert solve(EXAMPLE, 2, 2, objective="joint").joint_variance == pytest.approx(11)


def _orthogonal_on(x, support):
    """The unit vector on two features that is orthogonal to x."""
    y = np.zeros(3)
    i, j = support
    y[i], y[j] = -x[j], x[i]
    return y / np.linalg.norm(y)


def test_pitprops():
    """Tests that the best pair is better than one after the other, and proved."""
    Q = datasets.load_pitprops().covariance()
    stagewise = solve(Q, 5, 2)
    joint = solve(Q, 5, 2, objective="joint")
    check_set(joint, [5, 5])
    assert joint.status is Status.OPTIMAL and joint.joint_gap <= 1e-4
    assert joint.joint_variance >= 5.71035 > 5.52 > stagewise.joint_variance
    assert joint.joint_upper_bound <= stagewise.joint_upper_bound
    assert "no such set has more than" in joint.summary()
    assert joint != stagewise


def tuned(Q, p, count, random_state=None, **joint):
    """A set after one node, with other numbers of the search."""
    tuning = replace(DEFAULT, joint=replace(DEFAULT.joint, **joint))
    asked = {"objective": "joint", "node_limit": 1, "random_state": random_state}
    return solve_with(Q, p, count, Settings.validate(tuning=tuning, **asked))


def test_random_state():
    """Tests that the seed decides where sets are sought, that 0 is the default, and bounds hold."""
    Q = datasets.load_pitprops().covariance()[:10, :10]
    assert solve(Q, 3, 2, objective="joint") == solve(Q, 3, 2, objective="joint", random_state=0)
    # One step for each component: with more of them both seeds find the same set.
    found = [tuned(Q, 3, 5, random_state=s, first_steps=1) for s in (0, 1)]
    assert (found[0].components != found[1].components).any()
    for result in found:
        check_set(result, [3] * 5)
        assert result.joint_variance <= min(other.joint_upper_bound for other in found)
    with pytest.raises(ValueError, match="random_state must be"):
        solve(Q, 4, 2, objective="joint", random_state=-1)


def in_two_groups(n):
    """The covariance of n features, of which two pairs vary together and most of all."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, n)) * np.concatenate([[4.0, 3.9, 3.8, 3.7], np.ones(n - 4)])
    X[:, 1] += X[:, 0]
    X[:, 3] += X[:, 2]
    return np.cov(X.T)


def test_more_patterns_than_are_listed():
    """Tests the bound of one matrix, where fewer patterns may be looked at than there are."""
    result = tuned(in_two_groups(20), 3, 2, patterns=100)
    check_set(result, [3, 3])
    assert result.joint_gap < 0.05


@pytest.mark.slow
def test_many_features():
    """Tests a problem whose patterns cannot all be listed."""
    result = solve(in_two_groups(40), 6, 2, objective="joint", node_limit=8)
    check_set(result, [6, 6])
    assert result.joint_gap < 0.05


@pytest.mark.parametrize("limits", [(1, 5), *later((5, 1), (2, 3))], ids=str)
def test_sparsities_differ(limits):
    """Tests that each component keeps to its own sparsity."""
    Q = datasets.load_pitprops().covariance()
    result = solve(Q, limits, 2, objective="joint", node_limit=5)
    check_set(result, limits)
    assert result.sparsity == limits


def test_limits_and_history():
    """Tests that a limit leaves an honest gap, and that the history tightens."""
    Q = datasets.load_pitprops().covariance()[:9, :9]
    seen = []
    result = solve(Q, 4, 3, objective="joint", node_limit=3, callback=seen.append)
    check_set(result, [4] * 3)
    assert result.status is Status.NODE_LIMIT and result.joint_gap > 0.01
    assert seen
    uppers = [entry.upper for entry in result.history]
    lowers = [entry.lower for entry in result.history]
    assert uppers == sorted(uppers, reverse=True) and lowers == sorted(lowers)
    at_once = solve(Q, 4, 3, objective="joint", time_limit=0.0)
    check_set(at_once, [4] * 3)
    assert at_once.status is Status.TIME_LIMIT
    stopped = solve(Q, 4, 3, objective="joint", callback=lambda entry: True)
    assert stopped.status is Status.INTERRUPTED
    check_set(stopped, [4] * 3)


def test_one_component_and_all():
    """Tests K = 1, K = n, zeros, and negative matrices."""
    Q = datasets.load_pitprops().covariance()
    one = solve(Q, 5, 1, objective="joint")
    assert one.joint_variance == pytest.approx(solve(Q, 5, 1).joint_variance)
    every = solve(EXAMPLE, 1, 3, objective="joint")
    assert every.joint_variance == pytest.approx(12)
    zeros = solve(np.zeros((4, 4)), 2, 2, objective="joint")
    assert zeros.joint_variance == 0 and zeros.joint_upper_bound == 0
    negative = solve(-np.diag([1.0, 2, 3]), 2, 2, objective="joint")
    assert negative.joint_variance == pytest.approx(-3) and negative.status is Status.OPTIMAL


def test_saved(tmp_path):
    """Tests that a joint result survives, and that older files can be read."""
    result = solve(EXAMPLE, 2, 2, objective="joint")
    result.save(tmp_path / "r.json")
    loaded = Result.load(tmp_path / "r.json")
    assert loaded == result and loaded.objective == "joint"
    assert loaded.joint_upper_bound == result.joint_upper_bound


def test_stagewise_bound():
    """Tests that stage-wise results have a bound on all sets, and deflation has none."""
    Q = datasets.load_pitprops().covariance()
    result = solve(Q, 4, 3)
    top = np.linalg.eigvalsh(Q)[-3:].sum()
    assert result.joint_upper_bound <= min(top, 3 * result.upper_bounds[0]) * (1 + 1e-9)
    deflated = solve(Q, 4, 2, method="deflation")
    assert math.isnan(deflated.joint_upper_bound) and math.isnan(deflated.joint_gap)


def test_estimator():
    """Tests the objective of the estimator."""
    X = datasets.load_wine().data
    model = OrthogonalSparsePCA(2, 3, covariance="correlation", objective="joint", node_limit=5)
    model.fit(X)
    assert model.components_.shape == (2, 13)
    with pytest.raises(ValueError, match="objective must be one of"):
        OrthogonalSparsePCA(2, 3, objective="best").fit(X)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"objective": "sum"}, "objective must be one of 'stagewise', 'lexicographic', 'joint'"),
        ({"objective": 3}, "objective must be one of"),
        ({"objective": "joint", "method": "enumeration"}, "method must be 'branch-and-bound'"),
        ({"objective": "joint", "threshold": 0.1}, "threshold must be 0 unless objective"),
        ({"objective": "lexicographic", "resume": "a.zip"}, "resume does not work with"),
    ],
)
def test_refusals(arguments, words):
    """Tests that what does not go together is refused in one sentence."""
    with pytest.raises(ValueError, match=words):
        solve(EXAMPLE, 2, 2, **arguments)


@pytest.mark.parametrize(
    ("Q", "limits"),
    [
        pytest.param(datasets.load_pitprops().covariance(), (5, 5), marks=pytest.mark.slow),
        (datasets.load_pitprops().covariance(), (13, 13)),
        pytest.param(datasets.load_pitprops().covariance(), (3, 2, 4), marks=pytest.mark.slow),
        (-np.eye(4), (2, 2)),
        (np.zeros((4, 4)), (1, 3)),
        (1e90 * EXAMPLE, (2, 2)),
    ],
)
def test_certificate(Q, limits, tmp_path):
    """Tests that the bound of a set is certified, and that a checker accepts it from a file."""
    result = solve(Q, limits, len(limits), objective="joint", proof=True)
    result.certificate.save(tmp_path / "set.zip")
    verdict = verify(tmp_path / "set.zip", Q)
    assert verdict.verified, verdict.reason
    assert verdict.joint_upper_bound == pytest.approx(result.joint_upper_bound, rel=1e-9)


def test_suggested_sets():
    """Tests that a few sets of random features lead to one that is better than the stages."""
    Q, rng = datasets.load_pitprops().covariance(), np.random.default_rng(1)
    search = SetSearch(Q, [4] * 6, lambda: False, DEFAULT.joint)
    search.begin([])
    for _ in range(12):
        search.near([np.sort(rng.choice(13, 4, replace=False)) for _ in range(6)])
    assert search.value > solve(Q, 4, 6).joint_variance * 1.02


@pytest.mark.slow
def test_root_goes_on():
    """Tests that four times the patience hardly lowers the first bound over patterns."""
    Q, patterns = datasets.load_pitprops().covariance(), Patterns.all_of(13, 4)
    uppers = []
    for longer in (1, 4):
        first = replace(DEFAULT.joint.first, pace=longer * DEFAULT.joint.first.pace)
        group = Group.of_all(6, np.arange(len(patterns)), 13)
        kept = (first_root(13, 1.7), 1.7, replace(DEFAULT.joint, first=first))
        bounding = Bounding(Q, [group], patterns, np.arange(13), *kept)
        node = bounding.root()
        bounding.tighten(node, 10.7, "first", lambda: False)
        uppers.append(node.upper)
    assert uppers[0] < 1.001 * uppers[1]
