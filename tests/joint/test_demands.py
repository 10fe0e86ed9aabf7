"""Tests of sets with features in or out, and of disjoint ones, against brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from helpers.demands import some_demands
from helpers.seeds import seeds, spread
from orthospca import solve
from orthospca._errors import InputError
from orthospca.facade import solve_with
from orthospca.model.demands import Demands
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT
from orthospca.result import Status
from tests.joint.reference import KINDS, _begin, _improved, matrix_of

#: Without lists of patterns, however few there are.
UNLISTED = replace(DEFAULT, joint=replace(DEFAULT.joint, patterns=0, list_within=-1.0))
Q = np.diag([5.0, 4, 3, 2, 1]) + 0.5


def lists_of(n, limits, asked):
    """The supports that each component may have."""
    lists = []
    for k, p in enumerate(limits):
        features = []
        for name in ("include", "exclude"):
            given = asked.get(name, [])
            features.append(set(given[k] if given and isinstance(given[0], list) else given))
        included, excluded = features
        allowed = [j for j in range(n) if j not in excluded]
        sizes = range(1, p + 1) if asked.get("relation") else [min(p, len(allowed))]
        lists.append(
            [
                T
                for size in sizes
                for T in itertools.combinations(allowed, size)
                if included <= set(T)
            ]
        )
    return lists


def best_set(matrix, limits, asked, rng):
    """The best set, by going through all supports; -inf if there is none."""
    disjoint, best = asked.get("relation") == "disjoint", -math.inf
    for chosen in itertools.product(*lists_of(len(matrix), limits, asked)):
        supports = [np.array(T) for T in chosen]
        value = sum(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in supports)
        if value <= best:
            continue
        if disjoint:
            used = list(itertools.chain.from_iterable(chosen))
            best = value if len(used) == len(set(used)) else best
            continue
        for start in range(2):
            begun = _begin(matrix, supports, rng.permutation(len(limits)), rng if start else None)
            if begun is not None:
                best = max(best, _improved(matrix, supports, begun))
    return best


def check_set(result, limits, asked):
    """A set is orthonormal, and as is asked."""
    X = result.components
    assert np.abs(X @ X.T - np.eye(len(X))).max() < 1e-11
    for x, lists in zip(X, lists_of(X.shape[1], limits, asked), strict=True):
        assert any(set(np.flatnonzero(x)) <= set(T) for T in lists)
    if asked.get("relation") == "disjoint":
        assert np.count_nonzero(X, axis=0).max() == 1
    assert result.joint_upper_bound >= result.joint_variance


def against_brute_force(seed, listed, nodes):
    """Compare one random problem with brute force."""
    rng = np.random.default_rng([seed, 9])
    n, K = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    limits = [int(p) for p in rng.integers(1, 3, min(K, n))]
    wanted = [("include",), ("exclude",), ("disjoint",), ("include", "exclude", "disjoint")]
    asked = some_demands(rng, n, limits, wanted[seed % 4])
    matrix = matrix_of(KINDS[seed % len(KINDS)], n, rng)
    size = float(np.abs(matrix).max()) or 1.0
    settings = Settings.validate(
        objective="joint", tuning=DEFAULT if listed else UNLISTED, node_limit=nodes
    )
    best = best_set(matrix, limits, asked, rng)
    try:
        given = Demands.validate(limits, n, None, **asked)
        result = solve_with(matrix, limits, len(limits), settings, asked=given)
    except InputError as error:
        assert best == -math.inf, (seed, error)
        return
    check_set(result, limits, asked)
    assert best <= result.joint_upper_bound + 1e-10 * size, seed
    if result.status is Status.OPTIMAL:
        assert result.joint_variance >= best - 1e-4 * abs(best) - 1e-10 * size, seed


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("seed", seeds(2, 40))
def test_against_brute_force(seed, listed):
    """Tests value and bound with every kind of demand."""
    against_brute_force(seed, listed, 6)


@pytest.mark.slow
@pytest.mark.parametrize("listed", [True, False])
def test_against_brute_force_at_length(listed):
    """Tests more of them."""
    for seed in spread(100, 1100):
        against_brute_force(seed, listed, 15)


def test_disjoint_sets_are_closed():
    """Tests that a disjoint set is optimal, and its value that of all divisions."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((7, 7))
    result = solve(A @ A.T, 3, 2, objective="joint", relation="disjoint")
    assert result.status is Status.OPTIMAL
    best = best_set(A @ A.T, [3, 3], {"relation": "disjoint"}, rng)
    assert result.joint_variance == pytest.approx(best, rel=1e-4)
    assert result.asked["relation"] == "disjoint"


@pytest.mark.parametrize("proof", [False, True])
def test_what_another_includes_at_zero(proof):
    """Tests disjoint components of which one in turn would use what an earlier one includes."""
    asked = {"relation": "disjoint", "include": [[3], [], []], "proof": proof}
    matrix, limits = np.diag([5.0, 4, 3, 3.5, 1]), [2, 1, 1]
    assert solve(matrix, limits, 3, **asked).supports[2].tolist() == [3]
    result = solve(matrix, limits, 3, objective="joint", node_limit=40, **asked)
    check_set(result, limits, asked)
    assert result.joint_variance == 12.5 <= result.joint_upper_bound
    assert not proof or result.certificate.verify().verified


def test_names_and_each_of_its_own():
    """Tests that each component keeps to what is asked of it."""
    asked = {"include": [["e"], []], "exclude": [[], ["a"]], "feature_names": list("abcde")}
    result = solve(Q, 2, 2, objective="joint", **asked)
    first, second = result.components
    assert len(set(np.flatnonzero(first)) | {4}) <= 2 and second[0] == 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"nonnegative": True}, "nonnegative=True does not work with objective='joint'"),
        ({"relation": "uncorrelated"}, "relation='uncorrelated' does not work"),
        ({"previous": np.eye(5)[:1]}, "previous does not work with objective='joint'"),
        ({"start": np.eye(5)[:1]}, "start does not work with objective='joint'"),
        ({"exclude": [1, 2, 3, 4]}, "too few features for this many"),
    ],
)
def test_refused(asked, words):
    """Tests that what is not proved is refused in a sentence."""
    with pytest.raises(InputError, match=words):
        solve(Q, 2, 2, objective="joint", **asked)
