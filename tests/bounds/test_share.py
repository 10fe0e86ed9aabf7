"""Tests of the share relaxation: its multipliers, projections, iterates, and the bound of a node.

That the bound holds whatever the multipliers is tested in ``tests/exact/test_exact_share.py``.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers import strategies
from helpers.brute_force import stage_optimum
from helpers.cases import EAGER
from helpers.seeds import SHARE, seeds, spread
from helpers.share import ShareNode
from orthospca.bounds.classical import gershgorin_bound
from orthospca.bounds.share.claim import Claim, Multipliers
from orthospca.bounds.share.method import ShareMethod
from orthospca.bounds.share.node import ShareBound
from orthospca.bounds.share.projections import Columns, Spectraplex, onto_pairs, simplex
from orthospca.model.limits import Watch
from orthospca.model.nodes import Node
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import ShareTuning


def never() -> bool:
    return False


# Multipliers


def ratios_of_every_size(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """Ordinary ones, powers of two and their neighbours, far too large and far too small."""
    powers = 2.0 ** rng.integers(-45, 46, size=(n, n))
    return [
        10.0 ** rng.uniform(-2, 2, size=(n, n)),
        10.0 ** rng.uniform(-30, 30, size=(n, n)),
        powers,
        np.nextafter(powers.astype(np.float32), np.float32(0)).astype(float),
        np.nextafter(powers.astype(np.float32), np.float32(np.inf)).astype(float),
        np.full((n, n), 0.0),
        np.full((n, n), np.inf),
        np.ones((n, n)),
    ]


def test_products_of_ratios_are_at_least_one_exactly() -> None:
    """Tests ``r_ij r_ji ≥ 1`` in rational arithmetic, with ratios of every size, and how close."""
    rng, n = np.random.default_rng(0), 20
    for ratios in ratios_of_every_size(rng, n):
        for dtype in (np.float32, np.float64):
            with np.errstate(over="ignore", under="ignore"):
                given = ratios.astype(dtype)
            m = Multipliers.of(np.arange(n), np.zeros((n, n)), given, np.zeros(n), 1.0)
            assert m.ratios.dtype == np.float32
            for i in range(n):
                for j in range(i):
                    product = Fraction(float(m.ratios[i, j])) * Fraction(float(m.ratios[j, i]))
                    assert 1 <= product <= 1 + Fraction(1, 2**21)


def test_rounded_multipliers_are_multipliers() -> None:
    """Tests that N is symmetric with zero diagonal, and that restriction keeps every number."""
    rng, n = np.random.default_rng(1), 12
    m = Multipliers.of(
        np.arange(0, 2 * n, 2),
        rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-30, 30, size=(n, n)),
        10.0 ** rng.uniform(-20, 20, size=(n, n)),
        rng.standard_normal(n) * 1e20,
        2.0**-7,
    )
    np.testing.assert_array_equal(m.N, m.N.T)
    assert not m.N.diagonal().any()
    part = m.restrict(np.array([2, 6, 20]))
    places = [1, 3, 10]
    np.testing.assert_array_equal(part.N, m.N[np.ix_(places, places)])
    np.testing.assert_array_equal(part.ratios, m.ratios[np.ix_(places, places)])
    np.testing.assert_array_equal(part.c, m.c[places])
    assert part.unit == m.unit


def test_gershgorin_is_one_of_these_bounds() -> None:
    """Tests N = Q off the diagonal, ratios of one and c = 0 against Gershgorin's bound."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        p = int(rng.integers(1, n + 1))
        Q = strategies.indefinite(rng, n).astype(np.float32)
        off = (Q - np.diag(Q.diagonal())).astype(np.float32)
        ones = np.ones((n, n), np.float32)
        m = Multipliers(np.arange(n), off, ones, np.zeros(n, np.float32), 1.0)
        claim = Claim(Subproblem(Q.astype(float), p, np.empty((n, 0))), np.arange(0), m)
        assert claim.upper == pytest.approx(gershgorin_bound(Q.astype(float), p), abs=1e-12)


# Projections


def test_simplex() -> None:
    """Tests the conditions of optimality: one threshold is taken from all that stay positive."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        values = np.sort(rng.standard_normal(int(rng.integers(1, 12))) * 3)[::-1]
        if rng.random() < 0.3:
            values = np.sort(np.round(values))[::-1]
        weights = simplex(values)
        threshold = values[0] - weights[0]
        assert (weights > 0).all()
        assert weights.sum() == pytest.approx(1)
        np.testing.assert_allclose(values[: len(weights)] - weights, threshold, atol=1e-12)
        assert (values[len(weights) :] <= threshold + 1e-12).all()


def test_pairs() -> None:
    """Tests each pair against the positive part of its matrix."""
    rng, n = np.random.default_rng(3), 9
    for _ in range(20):
        x = strategies.indefinite(rng, n)
        T = rng.standard_normal((n, n))
        x[0, 1:3] = x[1:3, 0] = 0.0
        T[0, 1] = T[1, 0] = 0.0
        projected, shares = onto_pairs(x.copy(), T)
        for i in range(n):
            for j in range(i):
                pair = np.array([[T[i, j], x[i, j]], [x[i, j], T[j, i]]])
                values, vectors = np.linalg.eigh(pair)
                positive = (vectors * np.maximum(values, 0)) @ vectors.T
                found = [
                    [shares[i, j], projected[i, j]],
                    [projected[j, i], shares[j, i]],
                ]
                np.testing.assert_allclose(found, positive, atol=1e-12)


@pytest.mark.parametrize(("size", "forced"), [(1, 0), (2, 0), (4, 0), (4, 2), (3, 2), (2, 1)])
def test_columns(size: int, forced: int) -> None:
    """Tests that the projection is in the cone, and what is cut off in its polar cone.

    The cone of column j is spanned by ``t = 1`` on sets of ``size - 1`` features that contain the
    included ones, with ``d = 1``.
    """
    n = 8
    for seed in range(20):
        rng = np.random.default_rng([seed, size, forced])
        inside = np.zeros(n, dtype=bool)
        inside[rng.permutation(n)[:forced]] = True
        columns = Columns(inside, size, np.dtype(float))
        V = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-2, 1)
        for _ in range(3):
            # The second and third begin with what the one before has left.
            V = V + 0.1 * rng.standard_normal((n, n))
            d = rng.standard_normal(n)
            t, cap = columns(V.copy(), d, 500, 1e-14)
            assert (t.diagonal() == 0).all()
            for j in range(n):
                others = np.arange(n) != j
                scale = 1 + np.abs(V[:, j]).max() + abs(d[j])
                assert cap[j] >= 0
                assert (t[others, j] >= 0).all() and (t[others, j] <= cap[j]).all()
                assert (t[others & inside, j] == cap[j]).all()
                assert t[others, j].sum() == pytest.approx((size - 1) * cap[j], abs=1e-9 * scale)
                cut, cut_d = V[:, j] - t[:, j], d[j] - cap[j]
                assert abs(cut[others] @ t[others, j] + cut_d * cap[j]) < 1e-9 * scale**2
                room = size - 1 - int((others & inside).sum())
                largest = np.sort(cut[others & ~inside])[::-1][:room].sum()
                assert cut_d + cut[others & inside].sum() + largest < 1e-9 * scale


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spectraplex_filtered(dtype: type) -> None:
    """Tests the filtered iteration, above 200 features, against a full decomposition."""
    rng, n = np.random.default_rng(4), 230
    start = strategies.indefinite(rng, n) * 0.05 + np.diag(np.r_[np.linspace(3, 2, 12), [0] * 218])
    other = strategies.indefinite(rng, n) * 0.05
    moving, accuracy = Spectraplex(), 2e-3 if dtype is np.float32 else 1e-3
    for step in range(12):
        matrix = (start + 0.02 * step * other).astype(dtype)
        weights, vectors = moving(matrix.copy())
        exact_weights, exact_vectors = Spectraplex()(matrix.copy())
        assert weights.dtype == dtype
        found = (vectors * weights) @ vectors.T
        expected = (exact_vectors * exact_weights) @ exact_vectors.T
        assert np.linalg.norm(found - expected) < accuracy
        assert weights.sum() == pytest.approx(1, abs=1e-5)


# The method


def random_method(seed: int, n: int, p: int) -> tuple[Subproblem, ShareMethod, float]:
    """A covariance of noise, the method on it, and its optimum."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, n))
    Q = B @ B.T / n
    optimum = stage_optimum(Q, np.empty((0, n)), p).value
    unit = 2.0 ** round(math.log2(optimum))
    method = ShareMethod(Q, np.empty((n, 0)), p, np.arange(n), np.arange(0), unit)
    return Subproblem(Q, p, np.empty((n, 0))), method, optimum


def test_bound_comes_close_to_the_optimum() -> None:
    """Tests twelve random problems on which the relaxation is nearly exact."""
    close = 0
    for seed in range(12):
        problem, method, optimum = random_method(seed, 10, 4)
        first = Claim(problem, np.arange(0), method.multipliers()).upper
        assert method.run(300, never)
        last = Claim(problem, np.arange(0), method.multipliers()).upper
        assert optimum <= last < first
        close += last <= 1.01 * optimum
    assert close >= 10


def test_every_iterate_is_a_bound() -> None:
    """Tests bounds from the first iteration on, and that the best of them falls."""
    problem, method, optimum = random_method(3, 12, 5)
    uppers = []
    for _ in range(60):
        method.run(5, never)
        uppers.append(Claim(problem, np.arange(0), method.multipliers()).upper)
    assert min(uppers) >= optimum
    assert min(uppers[40:]) < min(uppers[10:20]) < min(uppers[:5])
    assert min(uppers) <= 1.01 * optimum


def test_narrowed_goes_on() -> None:
    """Tests that an iterate on fewer features, some included, leads to the bound of that node."""
    for seed in range(6):
        problem, method, _ = random_method(seed, 10, 4)
        method.run(100, never)
        kept = np.array([0, 1, 3, 4, 5, 7, 8])
        included = np.array([3])
        node = ShareNode(problem.covariance, np.empty((0, 10)), 4, included, kept)
        before = [array.copy() for array in (method.X, method.T, method._u, method._v)]
        narrowed = method.narrowed(np.empty((7, 0)), kept, included)
        narrowed.run(300, never)
        upper = node.claim(narrowed.multipliers()).upper
        assert node.above(upper) is None
        assert upper <= 1.02 * node.optimum
        # The larger node has a second child, which begins where the first has begun.
        for array, now in zip(before, (method.X, method.T, method._u, method._v), strict=True):
            np.testing.assert_array_equal(array, now)


def test_method_is_deterministic() -> None:
    """Tests that the same problem gives the same bits, narrowed or not."""
    found = []
    for _ in range(2):
        _, method, _ = random_method(5, 9, 3)
        method.run(130, never)
        other = method.narrowed(np.empty((6, 0)), np.arange(6), np.array([1]))
        other.run(60, never)
        found.append([m for it in (method, other) for m in (it.multipliers(), it.X, it.T)])
    for first, second in zip(*found, strict=True):
        if isinstance(first, Multipliers):
            np.testing.assert_array_equal(first.N, second.N)
            np.testing.assert_array_equal(first.ratios, second.ratios)
            np.testing.assert_array_equal(first.c, second.c)
        else:
            np.testing.assert_array_equal(first, second)


def test_method_stops_when_asked() -> None:
    """Tests that it says so, and that what it has until then still is a bound."""
    problem, method, optimum = random_method(1, 8, 3)
    answers = iter([False] * 7 + [True] * 9)
    assert not method.run(100, lambda: next(answers))
    assert method.iterations == 7
    assert Claim(problem, np.arange(0), method.multipliers()).upper >= optimum


def test_orthogonality_is_kept() -> None:
    """Tests that X has hardly anything in the range of the components before."""
    problem, _, _ = random_method(7, 9, 4)
    Q = problem.covariance
    W = stage_optimum(Q, np.empty((0, 9)), 4).vector[:, None]
    stage = Subproblem(Q, 4, W)
    method = ShareMethod(stage.projected, W, 4, np.arange(9), np.arange(0), 2.0)
    method.run(400, never)
    assert np.abs(method.X @ W).max() < 1e-3
    second = stage_optimum(Q, W.T, 4).value
    assert second <= Claim(stage, np.arange(0), method.multipliers()).upper <= 1.05 * second


# The bound of a node


def check_node(seed: int, tuning: ShareTuning) -> int:
    """A node at several cutoffs, and the children of what is left; how many features were fixed."""
    node, rng = ShareNode.random(seed), np.random.default_rng([seed, 9])
    if len(node.allowed) <= node.p or not node.supports:
        return 0
    bound = ShareBound(node.problem, node.optimum, tuning)
    fixed = 0
    for away in (0.0, 1e-9, 0.02, -0.1, 0.3):
        cutoff = node.optimum + away * node.scale
        parent = Node(node.included, node.allowed)
        fixed += check_outcome(node, bound, parent, cutoff)
        outcome = bound(parent, cutoff, Watch())
        left = len(outcome.allowed) > node.p > len(outcome.included)
        if outcome.upper > cutoff and left and outcome.branch >= 0:
            chosen = Node(
                outcome.included, outcome.allowed, outcome.upper, outcome.branch, outcome.payload
            )
            for child in chosen.children():
                if len(child.allowed) > node.p > len(child.included):
                    value = cutoff + float(rng.choice([0, 0.01])) * node.scale
                    fixed += check_outcome(node, bound, child, value)
    return fixed


def check_outcome(node: ShareNode, bound: ShareBound, part: Node, cutoff: float) -> int:
    """What is left is bounded, what is removed too, and nothing above the cutoff is removed."""
    outcome = bound(part, cutoff, Watch())
    low, high = set(part.included.tolist()), set(part.allowed.tolist())
    left_low, left_high = set(outcome.included.tolist()), set(outcome.allowed.tolist())
    inside = [T for T in node.supports if low <= set(T) <= high]
    left = [T for T in inside if left_low <= set(T) <= left_high]
    removed = [T for T in inside if T not in left]
    assert outcome.upper <= part.upper
    assert node.above(outcome.upper, left) is None
    assert node.above(outcome.fixed_upper, removed) is None
    assert outcome.fixed_upper <= cutoff
    assert node.above(cutoff, removed) is None
    for support in outcome.supports:
        assert len(support) == node.p
        assert low <= set(support.tolist()) <= high
    if outcome.upper > cutoff and len(left_high) > node.p > len(left_low):
        assert outcome.branch in left_high - left_low
    if outcome.proof is not None and len(left_high):
        proved = Claim(node.problem, outcome.proof.included, outcome.proof.multipliers)
        assert proved.upper == outcome.upper
    return len(high - left_high) + len(left_low - low)


@pytest.mark.parametrize("part", seeds(1, 2))
def test_bound_of_a_node(part: int) -> None:
    """Tests random nodes and their children, at cutoffs around the optimum, support by support."""
    assert sum(check_node(seed, EAGER) for seed in range(part, 20, 2)) > 10


@pytest.mark.slow
def test_bound_of_a_node_at_length() -> None:
    """Tests hundreds of nodes more, as they come and with features tested at once."""
    fixed = 0
    for seed in spread(20, 300):
        fixed += check_node(seed, EAGER if seed % 2 else ShareTuning())
    assert fixed > 300 * SHARE


def test_eigenvalue_where_multipliers_are_noise() -> None:
    """Tests a multiple of the identity, of which single precision would leave a part in 1e6.

    After the constant vectors of three blocks every feasible vector has the value 1.
    """
    n, p = 30, 10
    matrix = np.eye(n) + 0.1
    X = np.kron(np.eye(3), np.full((p, 1), math.sqrt(1 / p)))
    stage = Subproblem(matrix, p, X)
    outcome = ShareBound(stage, 1.0, ShareTuning())(
        Node(np.arange(0), np.arange(n)), 1.0 + 1e-9, Watch()
    )
    assert 1.0 <= outcome.upper <= 1.0 + 1e-9


def test_bound_of_a_node_whatever_the_scale() -> None:
    """Tests that multiplying Q by a power of two multiplies the bound, and changes nothing else."""
    Q = strategies.psd(np.random.default_rng(0), 9)
    found = []
    for factor in (1.0, 2.0**40, 2.0**-40):
        problem = Subproblem(Q * factor, 3, np.empty((9, 0)))
        optimum = stage_optimum(Q, np.empty((0, 9)), 3).value * factor
        outcome = ShareBound(problem, optimum, ShareTuning())(
            Node(np.arange(0), np.arange(9)), optimum, Watch()
        )
        found.append((outcome.upper / factor, outcome.branch, outcome.allowed.tolist()))
    for upper, branch, allowed in found[1:]:
        assert upper == pytest.approx(found[0][0], rel=1e-9)
        assert (branch, allowed) == found[0][1:]
