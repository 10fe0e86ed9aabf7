"""Prices of features: the bound of any matrix and any prices, against exact sets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.seeds import spread
from orthospca import solve
from orthospca.joint.bound import cost_of_users
from orthospca.joint.branching import Group, split
from orthospca.joint.node import Bounding
from orthospca.joint.patterns import Patterns
from orthospca.model.tuning import JointTuning
from orthospca.result import Status
from tests.joint.reference import KINDS, best_total, matrix_of

#: Angles with rational cosine and sine.
TURNS = [(Fraction(3, 5), Fraction(4, 5)), (Fraction(5, 13), Fraction(12, 13)), (0, 1)]


def exact_set(rng, n, K, p):
    """Rational orthonormal vectors: unit vectors, turned in planes as long as they are sparse."""
    X = [[Fraction(int(i == j)) for i in range(n)] for j in rng.permutation(n)[:n].tolist()]
    for _ in range(int(rng.integers(0, 3 * K))):
        a, b = rng.choice(n, 2, replace=False)
        c, s = TURNS[rng.integers(len(TURNS))]
        x = [c * u + s * v for u, v in zip(X[a], X[b], strict=True)]
        y = [c * v - s * u for u, v in zip(X[a], X[b], strict=True)]
        if max(sum(map(bool, x)), sum(map(bool, y))) <= p:
            X[a], X[b] = x, y
    return X[:K]


def total(Q, vectors):
    """The variance of a set, exactly."""
    form = [[Fraction(q) for q in row] for row in Q.tolist()]
    return sum(
        x[i] * form[i][j] * x[j] for x in vectors for i in range(len(x)) for j in range(len(x))
    )


def is_below(A, level):
    """Whether ``level - A`` is positive semidefinite, by elimination in rational numbers."""
    rows = [[-Fraction(a) for a in row] for row in A.tolist()]
    for i in range(len(rows)):
        rows[i][i] += level
    left = set(range(len(rows)))
    while left:
        k = max(left, key=lambda i: rows[i][i])
        left.remove(k)
        if rows[k][k] <= 0:
            return rows[k][k] == 0 and all(rows[i][j] == 0 for i in {k, *left} for j in left)
        for i, j in itertools.product(left, left):
            rows[i][j] -= rows[i][k] * rows[k][j] / rows[k][k]
    return True


def check_costs(seed):
    """What features cost, against every number of users."""
    rng = np.random.default_rng([seed, 3])
    n = 4
    Q, A = (matrix_of(KINDS[seed % len(KINDS)], n, rng) for _ in range(2))
    prices = rng.standard_normal(n) * 10.0 ** rng.integers(-12, 6)
    least = rng.integers(0, 3, n)
    most = least + rng.integers(0, 3, n)
    worst = Fraction(0)
    for i in range(n):
        own = Fraction(float(Q[i, i])) - Fraction(float(A[i, i]))
        numbers = range(int(least[i]), int(most[i]) + 1)
        worst += max(u * Fraction(float(prices[i])) + (own if u else 0) for u in numbers)
    found = cost_of_users(Q, A, prices, (least, most))
    assert worst <= Fraction(found)
    size = float(np.abs(Q).max() + np.abs(A).max() + np.abs(prices).max())
    assert found <= float(worst) + 1e-14 * n * size


def check_node(seed):
    """Any root of M and any prices: exact sets of a node have no more than its bound."""
    rng = np.random.default_rng([seed, 4])
    n, p, K = 5, int(rng.integers(1, 4)), int(rng.integers(2, 4))
    Q = matrix_of(KINDS[seed % len(KINDS)], n, rng)
    size = float(np.abs(Q).max()) or 1.0
    patterns = Patterns.all_of(n, p)
    groups = [Group.of_all(K, np.arange(len(patterns)), n)]
    disjoint = bool(seed % 2)
    start = rng.standard_normal((n, n)) * math.sqrt(size) * rng.choice([0.0, 0.1, 0.5])
    bounding = Bounding(Q, groups, patterns, np.arange(n), start, size, JointTuning(), disjoint)
    sets = [exact_set(rng, n, K, p) for _ in range(20)]
    if disjoint:
        sets = [X for X in sets if max(sum(bool(x[i]) for x in X) for i in range(n)) <= 1]
    used = [[frozenset(i for i in range(n) if x[i]) for x in X] for X in sets]
    totals = [total(Q, X) for X in sets]
    # Nothing is dropped at such a cut.
    cut, nodes, proved = -1e3 * size, [bounding.root()], 0
    for _ in range(3):
        following = []
        for node in nodes:
            node.prices = rng.standard_normal(n) * size * float(rng.choice([0, 0.1, 1]))
            which = [group.patterns for group in node.groups]
            A = Q - node.root @ node.root.T
            node.values = [patterns.values(A, part, node.prices) for part in which]
            node.upper = math.inf
            bounding.prove(node, cut)
            held = [
                [{frozenset(patterns.members(i).tolist()) for i in group.patterns}] * group.count
                for group in node.groups
            ]
            lists = list(itertools.chain.from_iterable(held))
            for value, own in zip(totals, used, strict=True):
                for order in itertools.permutations(own):
                    if all(S in among for S, among in zip(order, lists, strict=True)):
                        assert value <= Fraction(node.upper), seed
                        proved += 1
                        break
            following += split(node, patterns, disjoint) or []
        nodes = [following[i] for i in rng.permutation(len(following))[:4]]
    return proved


def check_patterns(seed):
    """Patterns that are said to be below a level with their prices are, exactly."""
    rng = np.random.default_rng([seed, 6])
    n = 5
    A = matrix_of(KINDS[seed % len(KINDS)], n, rng)
    size = float(np.abs(A).max()) or 1.0
    patterns = Patterns.all_of(n, 3)
    prices = rng.standard_normal(n) * size * float(rng.choice([1e-9, 1, 1e9]))
    which = np.arange(len(patterns))
    values, proved = patterns.values(A, which, prices), 0
    for i in rng.permutation(len(patterns))[:8].tolist():
        at = patterns.members(i)
        for off in (-1e-12, 0.0, 1e-15, 1e-9):
            level = float(values[i]) + off * size
            if patterns.proved_below(A, which[i : i + 1], level, prices)[0]:
                exact = Fraction(level) + sum(Fraction(float(prices[j])) for j in at)
                assert is_below(A[np.ix_(at, at)], exact), seed
                proved += 1
    return proved


def test_any_matrix_and_prices():
    """Tests costs, patterns and bounds of nodes in rational arithmetic."""
    for seed in range(40):
        check_costs(seed)
    assert sum(map(check_patterns, range(20))) > 50
    assert sum(map(check_node, range(16))) > 100


@pytest.mark.slow
def test_any_matrix_and_prices_at_length():
    """Tests thousands more."""
    for seed in spread(40, 2000):
        check_costs(seed)
        check_patterns(seed)
        check_node(seed)


def test_prices_close_what_one_matrix_does_not():
    """Tests that components of one common factor are told apart at the root, as genes are."""
    rng = np.random.default_rng(0)
    loadings = np.linspace(1.0, 2.0, 7)
    Q = np.outer(loadings, loadings) + np.diag(0.1 + 0.2 * rng.random(7))
    best = best_total(Q, [2, 2, 2], rng, starts=1)
    found = solve(Q, 2, 3, objective="joint", node_limit=1)
    assert found.status is Status.OPTIMAL
    assert found.joint_variance == pytest.approx(best, rel=1e-4)
