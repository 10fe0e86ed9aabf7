"""Single steps of the checker at the edge of what they allow, against rational arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.brute_force import _is_rational_psd, _rational_null_space
from helpers.certificates import optimum
from helpers.exact import ExactMatrix, is_psd, support_above
from helpers.forger import checker, ladder, lowest, sieved, stage_of
from helpers.problems import DATA, MATRICES
from helpers.seeds import seeds

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
SEEDS = range(40)


def scaled(rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """A matrix without diagonal whose dearest support of so many indices is at 1, nearly."""
    m = int(rng.integers(2, 7))
    room = int(rng.integers(2, min(m, 4) + 1))
    W = rng.uniform(0, 1, size=(m, m)) ** float(rng.choice([0.0, 0.1, 1.0, 4.0]))
    W = np.triu(W, 1) + np.triu(W, 1).T
    supports = [list(R) for R in itertools.combinations(range(m), room)]
    largest = max(float(np.linalg.eigvalsh(W[np.ix_(R, R)])[-1]) for R in supports)
    near = 1 + float(rng.choice([0.0, 1.0, -1.0])) * 10.0 ** float(rng.uniform(-16, -1))
    return W / largest * near, room


def reaching(W: np.ndarray, room: int) -> list[set[int]]:
    """The sets of at most so many indices on which the largest eigenvalue is 1 or more."""
    below = ExactMatrix.of(W).below(Fraction(1))
    return [
        set(R)
        for size in range(1, room + 1)
        for R in itertools.combinations(range(len(W)), size)
        if not is_psd([[below[i][j] for j in R] for i in R], strictly=True)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_costs_and_weights(seed: int) -> None:
    """Tests that no index of a set that reaches 1 is ruled out, and that forced ones are in it."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        W, room = scaled(rng)
        sets = reaching(W, room)
        stays = ladder._stays_by_costs(W, room)
        assert all(stays[list(R)].all() for R in sets)
        for stays, forced in ladder._by_weights(W, room, 8):
            assert all(stays[list(R)].all() for R in sets)
            assert all(set(np.flatnonzero(forced)) <= R for R in sets)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_follows(seed: int) -> None:
    """Tests removals and forced indices together, whichever are asked for."""
    rng = np.random.default_rng(1000 + seed)
    for _ in range(8):
        W, room = scaled(rng)
        sets = reaching(W, room)
        gone = rng.random(len(W)) < rng.choice([0.0, 0.3, 1.0])
        must = ~gone & (rng.random(len(W)) < 0.3)
        if any(ladder._follows(W, room, gone, must, *way) for way in ladder.WEIGHTS):
            for R in sets:
                assert not gone[list(R)].any()
                assert set(np.flatnonzero(must)) <= R


@pytest.mark.parametrize("kind", MATRICES)
def test_positive_definite(kind: str) -> None:
    """Tests the smallest shift that passes, with the worst change of entries within a radius."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        Q = MATRICES[kind](rng, int(rng.integers(1, 8)))
        Q = 0.5 * (Q + Q.T)
        n, scale = len(Q), float(np.abs(Q).max()) + 1e-280
        radius = float(rng.choice([0.0, 1e-15, 1e-6])) * scale

        def passes(shift: float, Q: np.ndarray = Q, n: int = n, radius: float = radius) -> bool:
            return bool(ladder.is_positive_definite(Q + shift * np.eye(n), radius))

        shift = lowest(passes, -2 * scale, 2 * n * scale)
        shifted = Q + shift * np.eye(n)
        smallest = np.linalg.eigh(shifted)[1][:, 0]
        exact = ExactMatrix.of(shifted)
        worst = Fraction(radius)
        signs = np.where(smallest < 0, -1, 1)
        entries = [
            [
                Fraction(exact.integers[i][j], 2**exact.exponent) - worst * int(signs[i] * signs[j])
                for j in range(n)
            ]
            for i in range(n)
        ]
        assert _is_rational_psd(entries)


def same_on_feasible(before: np.ndarray, after: np.ndarray, V: np.ndarray, radius: float) -> bool:
    """Whether two forms agree where ``Vᵀz = 0``, up to the radius in each entry."""
    rows = [[Fraction(float(v)) for v in column] for column in V.T]
    basis = _rational_null_space(rows, len(V))
    vectors = basis + [
        [a + b for a, b in zip(x, y, strict=True)] for x, y in itertools.combinations(basis, 2)
    ]
    for z in vectors:
        change = sum(
            z[i] * z[j] * (Fraction(float(after[i, j])) - Fraction(float(before[i, j])))
            for i in range(len(z))
            for j in range(len(z))
        )
        if abs(change) > Fraction(radius) * sum(abs(v) for v in z) ** 2:
            return False
    return True


@pytest.mark.parametrize("kind", MATRICES)
def test_views_that_agree_on_feasible_vectors(kind: str) -> None:
    """Tests that the form of a stage, and that of a support, are those of Q up to their radius."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        Q = MATRICES[kind](rng, n)
        Q = 0.5 * (Q + Q.T)
        k = int(rng.integers(1, n))
        X = np.linalg.qr(rng.standard_normal((n, n)))[0][:, :k]
        X[rng.random(n) < 0.3] = 0.0
        at = np.flatnonzero(X.any(axis=1))
        if len(at) == 0:
            continue
        folded, radius = ladder.constrained(Q, X, 0.0)
        assert (folded == folded.T).all()
        assert same_on_feasible(Q, folded, X, radius)
        level = float(rng.normal()) * float(np.abs(Q).max())
        constrained, radius = ladder.constrained(Q, X, level)
        assert same_on_feasible(Q, constrained, X, radius)


@pytest.mark.parametrize("kind", MATRICES)
def test_sums_of_squares(kind: str) -> None:
    """Tests that sums of the largest squares are not below the exact ones."""
    rng = np.random.default_rng(0)
    for n in (2, 5, 8):
        Q = MATRICES[kind](rng, n)
        radius = float(rng.choice([0.0, 1e-9]))
        sums = ladder._largest_squares(
            lambda at, Q=Q, radius=radius: np.abs(Q[at]) + radius, np.arange(n), n
        )
        for i in range(n):
            row = [abs(Fraction(float(Q[i, j]))) + Fraction(radius) for j in range(n) if j != i]
            squares = sorted((v * v for v in row), reverse=True)
            for count in range(1, n):
                assert Fraction(sums[i, count - 1]) >= sum(squares[:count])


@pytest.mark.parametrize("kind", DATA)
def test_numbers_of_a_factor(kind: str) -> None:
    """Tests variances, rows and entries of ``BᵀB`` against the exact product."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 8))
        B = DATA[kind](rng, n)
        k = int(rng.integers(0, 3))
        X = np.linalg.qr(rng.standard_normal((n, n)))[0][:, :k]
        X[2:] *= rng.random() < 0.5
        stage = stage_of(B, X.T, "factor")
        exact = ExactMatrix.gram(B)
        entries = [[Fraction(v, 2**exact.exponent) for v in row] for row in exact.integers]
        for j in range(n):
            assert Fraction(float(stage.source.diagonal[j])) >= entries[j][j]
        everything = np.arange(n)
        Q, _, _ = stage.part(everything)
        for i, j in itertools.product(range(n), repeat=2):
            assert abs(Fraction(float(Q[i, j])) - entries[i][j]) <= Fraction(stage.source.entry)
        for s in range(2, n + 1):
            beta = stage.source.squares(s, everything)
            for i in range(n):
                squares = sorted((entries[i][j] ** 2 for j in range(n) if j != i), reverse=True)
                assert Fraction(float(beta[i])) >= sum(squares[: s - 1])


def sieve_cases(seed: int) -> tuple[np.ndarray, str, ExactMatrix, np.ndarray]:
    """A matrix or a factor, and components of a few features."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    kind = "factor" if seed % 3 == 0 else "matrix"
    generators = DATA if kind == "factor" else MATRICES
    Q = generators[list(generators)[seed % len(generators)]](rng, n)
    Q = Q if kind == "factor" else 0.5 * (Q + Q.T)
    exact = ExactMatrix.gram(Q) if kind == "factor" else ExactMatrix.of(Q)
    previous = np.zeros((int(rng.integers(0, 2)), n))
    previous[:, :2] = np.array([math.sqrt(0.3), -math.sqrt(0.7)])
    return Q, kind, exact, previous


@pytest.mark.parametrize("seed", seeds(10, 30))
def test_the_sieve_at_its_edge(seed: int) -> None:
    """Tests that a feature is ruled out at no level that one of its supports reaches."""
    Q, kind, exact, previous = sieve_cases(seed)
    n, s = Q.shape[1], 2 + seed % 2
    stage = stage_of(Q, previous, kind)
    below = optimum(exact, previous, s - 1)
    top = float(np.abs(exact.rounded).sum()) + 1e-140
    for j in stage.usable:
        others = stage.usable[stage.usable != j]

        def passes(level: float, others: np.ndarray = others) -> bool:
            try:
                stage.check_sieve(s, level, below, others, "")
            except (checker.Rejected, ValueError):
                return False
            return True

        if not passes(2 * top):
            assert stage.touched[j]
            continue
        level = lowest(passes, -top, 2 * top)
        for rest in itertools.combinations([i for i in range(n) if i != j], s - 1):
            T = sorted((j, *rest))
            part = ExactMatrix(
                [[exact.integers[a][b] for b in T] for a in T],
                exact.exponent,
                exact.rounded[np.ix_(T, T)],
            )
            assert support_above(part, previous[:, T], s, level) is None


def test_a_sieve_that_leaves_nothing() -> None:
    """Tests that features ruled out one after the other are, down to the last."""
    Q = np.diag([1.0, 1.0, 1.0])
    stage = stage_of(Q, np.zeros((0, 3)))
    assert len(sieved(stage, 2, 1.5, 1.0)) == 0


def test_a_feature_that_is_left_alone() -> None:
    """Tests that the last feature is ruled out, or not, where no other one is left."""
    sums = ladder._largest_squares(lambda at: np.array([[1.0]]), np.arange(1), 1)
    assert sums.shape == (1, 1)
    assert 0 <= sums[0, 0] <= 1e-280
    # At 1.1 the second feature goes first; the other one has then nothing to be with.
    stage = stage_of(np.array([[1.0, 0.2], [0.2, 0.0]]), np.zeros((0, 2)))
    stage.check_sieve(2, 1.1, 1.0, np.arange(0), "")
