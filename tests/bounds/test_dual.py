"""Tests of the bound from multipliers: whatever the multipliers, it is never below the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from helpers import strategies
from helpers.brute_force import _is_rational_psd, sequence
from helpers.cases import Supports, largest_entry, supports_of
from helpers.exact import exceeds
from orthospca.bounds.relaxation.proof import Fixing, Proof, eigenpart, fix_by_costs, make_proof
from orthospca.bounds.relaxation.solver import Multipliers, solve_relaxation
from orthospca.model.stage import Subproblem
from orthospca.numerics.sums import best_sums, row_sums, sums_without

#: Random multipliers tried: so many problems, so many times each.
PROBLEMS, TRIALS = 220, 50
#: How many more problems the slow tests take.
AT_LENGTH = 2000

KINDS = strategies.KINDS


class Node:
    """A random problem and a random node of it, with the value of each of its supports."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        kind = KINDS[seed % len(KINDS)].replace("-", "_")
        n = int(rng.integers(1, 9))
        p = int(rng.choice([1, n, rng.integers(1, n + 1), min(2, n)]))
        self.matrix = getattr(strategies, kind)(rng, n)
        self.previous = self._previous(n, p)
        self.problem = Subproblem(self.matrix, p, np.ascontiguousarray(self.previous.T))
        self.allowed = np.sort(rng.permutation(n)[: int(rng.integers(min(p, n), n + 1))])
        forced = int(rng.choice([0, 0, rng.integers(0, p + 1)]))
        self.included = np.sort(rng.permutation(self.allowed)[:forced])
        self.inside = np.isin(self.allowed, self.included)
        self.scale = largest_entry(self.matrix)
        self._known: dict[bytes, Supports] = {}
        self.values = self.values_within(self.allowed)
        self.optimum = max(self.values.values(), default=-math.inf)

    def _previous(self, n: int, p: int) -> np.ndarray:
        """No components, or the first of the sequence, or random sparse orthogonal ones."""
        choice = self.rng.integers(3)
        if choice == 0:
            return np.empty((0, n))
        if choice == 1:
            found = sequence(self.matrix, [p] * int(self.rng.integers(1, 3)))
            return np.array([optimum.vector for optimum in found])
        vector = self.rng.standard_normal(n) * (self.rng.random(n) < 0.5)
        vector[self.rng.integers(n)] = 1.0
        return vector[None] / np.linalg.norm(vector)

    def _on(self, allowed: np.ndarray) -> Supports:
        """The problem on some indices, by their places."""
        if allowed.tobytes() not in self._known:
            size = min(self.problem.sparsity, len(allowed))
            block = np.ascontiguousarray(self.matrix[np.ix_(allowed, allowed)])
            found = supports_of(block, np.ascontiguousarray(self.previous[:, allowed]), size)
            self._known[allowed.tobytes()] = found
        return self._known[allowed.tobytes()]

    def values_within(self, allowed: np.ndarray) -> dict[tuple[int, ...], float]:
        """The best value of each support between the included and the allowed indices."""
        found = {
            tuple(int(i) for i in allowed[list(T)]): value
            for T, value in self._on(allowed).values.items()
        }
        return {T: value for T, value in found.items() if set(self.included) <= set(T)}

    def is_bound(
        self, upper: float, allowed: np.ndarray, among: Iterable[tuple[int, ...]] | None = None
    ) -> bool:
        """Whether no support (or none of some) has more than `upper`, without rounding."""
        supports = self.values_within(allowed) if among is None else among
        places = [tuple(np.searchsorted(allowed, T).tolist()) for T in supports]
        return self._on(allowed).above(upper, places) is None


def random_W(node: Node, n: int) -> np.ndarray:
    """Zero, of low or full rank, near singular, the covariance, or slightly indefinite."""
    rng, Q = node.rng, node.matrix[np.ix_(node.allowed, node.allowed)]
    scale = node.scale * 10.0 ** rng.uniform(-9, 3)
    factor = rng.standard_normal((n, int(rng.integers(1, n + 1))))
    square = factor @ factor.T * scale
    square = (square + square.T) / 2
    choice = rng.integers(7)
    if choice == 0:
        return np.zeros((n, n))
    if choice == 1:
        return square - 10.0 ** rng.uniform(-20, -8) * scale * np.eye(n)
    if choice == 2:
        return Q.copy()
    if choice == 3:
        return np.abs(Q)
    if choice == 4:
        return np.full((n, n), scale)
    return square


def random_A(node: Node, n: int) -> np.ndarray:
    """Zero, or of any signs and sizes, most entries possibly zero."""
    rng = node.rng
    if rng.random() < 0.3:
        return np.zeros((n, n))
    A = rng.standard_normal((n, n)) * node.scale * 10.0 ** rng.uniform(-9, 3)
    return A * (rng.random((n, n)) < rng.choice([0.2, 1.0]))


def random_multipliers(node: Node) -> Multipliers:
    """Mostly bad multipliers: N far outside its limits, s tiny or huge."""
    rng, n = node.rng, len(node.allowed)
    scale = node.scale
    Q = node.matrix[np.ix_(node.allowed, node.allowed)]
    W, A = random_W(node, n), random_A(node, n)
    s = scale * 10.0 ** rng.uniform(*rng.choice([[-15, -9], [-3, 0], [-12, 12]]), size=n)
    N = rng.standard_normal((n, n)) * scale * 10.0 ** rng.uniform(-3, 6)
    if rng.random() < 0.5:
        N = Q.copy()
    elif rng.random() < 0.5:
        N = W + A + A.T
    return Multipliers(W, A, s, N)


def good_multipliers(node: Node) -> Multipliers:
    """Those of the first-order method, which bring the bound close to the optimum."""
    Q = node.matrix[np.ix_(node.allowed, node.allowed)]
    relaxation = solve_relaxation(
        Q,
        min(node.problem.sparsity, len(Q)),
        scale=max(abs(node.optimum), 1e-3 * node.scale),
        included=np.flatnonzero(node.inside),
        max_iterations=int(node.rng.integers(0, 40)),
    )
    return relaxation.multipliers


def proof_of(node: Node, multipliers: Multipliers) -> Proof | None:
    """A proof for the node's supports; None where W is too far from positive semidefinite."""
    Q = node.matrix[np.ix_(node.allowed, node.allowed)]
    return make_proof(Q, node.allowed, multipliers, node.inside, node.problem.sparsity)


def check_fixing(node: Node, fixing: Fixing, cutoff: float) -> None:
    """What is fixed removes no support above the cutoff, and its bound covers the removed."""
    out = set(node.allowed[fixing.out])
    into = set(node.allowed[fixing.into])
    removed = [T for T in node.values if out & set(T) or not into <= set(T)]
    assert node.is_bound(fixing.removed_upper, node.allowed, removed)
    assert fixing.removed_upper <= cutoff
    assert not (fixing.out & node.inside).any()
    assert not (fixing.into & node.inside).any()
    assert not (fixing.into & fixing.out).any()


def bound_of(node: Node, proof: Proof, cutoff: float) -> Fixing:
    """Bound the node by a proof on some of its indices."""
    return fixing_of(node, proof, eigenpart(node.problem, proof).upper, cutoff)


def fixing_of(node: Node, proof: Proof, eigenvalue: float, cutoff: float) -> Fixing:
    """The same where the bound on the eigenvalue is known."""
    inside = np.isin(proof.indices, node.included)
    return fix_by_costs(eigenvalue, proof.costs, inside, node.problem.sparsity, cutoff)


def random_cutoff(node: Node, upper: float) -> float:
    """Near the optimum, or a little below the bound, where fixing is delicate."""
    rng, scale = node.rng, node.scale
    optimum = node.optimum if node.values else 0.0
    if rng.random() < 0.5 and math.isfinite(upper):
        return upper - abs(upper) * 10.0 ** rng.uniform(-12, 0)
    return optimum + float(rng.choice([0.0, 1e-12, 0.1, -0.1, -1.0])) * scale


def check_multipliers(seeds: range) -> None:
    """Many multipliers for each of the problems, against every support of the node."""
    used = 0
    for seed in seeds:
        node = Node(seed)
        for trial in range(TRIALS):
            good = trial == 0 and node.values
            multipliers = good_multipliers(node) if good else random_multipliers(node)
            proof = proof_of(node, multipliers)
            if proof is None:
                continue
            used += 1
            eigenvalue = eigenpart(node.problem, proof).upper
            upper = fixing_of(node, proof, eigenvalue, -math.inf).upper
            assert node.is_bound(upper, node.allowed), (seed, trial)
            cutoff = random_cutoff(node, upper)
            check_fixing(node, fixing_of(node, proof, eigenvalue, cutoff), cutoff)
    # W may be too far from positive semidefinite, but not in most cases.
    assert used > 0.8 * len(seeds) * TRIALS


@pytest.mark.parametrize("part", range(10))
def test_bound_is_never_below_the_optimum(part: int) -> None:
    """Tests 11 000 multipliers, most of them bad, against every support of the node."""
    assert PROBLEMS * TRIALS >= 10_000
    check_multipliers(range(part, PROBLEMS, 10))


@pytest.mark.slow
def test_bound_is_never_below_the_optimum_at_length() -> None:
    """Tests 100 000 multipliers more."""
    check_multipliers(range(PROBLEMS, PROBLEMS + AT_LENGTH))


@pytest.mark.parametrize("part", range(4))
def test_restricted_proof_stays_valid(part: int) -> None:
    """Tests that deleting indices leaves a proof, as the children of a node need it."""
    for seed in range(part, PROBLEMS, 4):
        node = Node(seed)
        proof = proof_of(node, random_multipliers(node))
        if proof is None:
            continue
        for _ in range(4):
            kept = node.allowed[node.inside | (node.rng.random(len(node.allowed)) < 0.7)]
            if len(kept) == 0:
                continue
            restricted = proof.restrict(kept)
            np.testing.assert_array_equal(restricted.indices, kept)
            upper = bound_of(node, restricted, -math.inf).upper
            assert node.is_bound(upper, kept), seed


def exact_product(left: np.ndarray, matrix: np.ndarray) -> Fraction:
    """``xᵀ matrix x`` exactly."""
    x = {i: Fraction(value) for i, value in enumerate(left.tolist()) if value}
    return sum((x[i] * x[j] * Fraction(float(matrix[i, j])) for i in x for j in x), Fraction(0))


@pytest.mark.parametrize("part", range(5))
def test_inequality_of_the_proof_holds_exactly(part: int) -> None:
    """Tests ``xᵀQx ≤ xᵀMx + ‖x‖² Σ_T c_i`` in rational arithmetic, rounding inside the radius."""
    for seed in range(part, PROBLEMS, 5):
        node = Node(seed)
        rng, n = node.rng, len(node.allowed)
        forced = np.flatnonzero(node.inside)
        Q = node.matrix[np.ix_(node.allowed, node.allowed)]
        for _ in range(3):
            proof = proof_of(node, random_multipliers(node))
            if proof is None:
                continue
            np.testing.assert_array_equal(proof.matrix, proof.matrix.T)
            for _ in range(4):
                size = int(rng.integers(len(forced), min(node.problem.sparsity, n) + 1))
                others = rng.permutation(np.flatnonzero(~node.inside))[: size - len(forced)]
                T = np.concatenate([forced, others])
                x = np.zeros(n)
                x[T] = np.round(rng.standard_normal(len(T)), int(rng.integers(0, 3)))
                ones = Fraction(float(np.abs(x).sum())) * (1 + Fraction(1, 10**12))
                length = exact_product(x, np.eye(n))
                costs = sum((Fraction(float(c)) for c in proof.costs[T]), Fraction(0))
                right = exact_product(x, proof.matrix) + length * costs
                assert exact_product(x, Q) <= right + Fraction(proof.radius) * ones**2


def test_eigenpart_covers_the_complement() -> None:
    """Tests that no unit vector orthogonal to the components exceeds the eigenvalue's bound."""
    for seed in range(PROBLEMS):
        node = Node(seed)
        proof = proof_of(node, random_multipliers(node))
        if proof is None:
            continue
        part = eigenpart(node.problem, proof)
        rows = node.previous[:, node.allowed]
        _, singular, right = np.linalg.svd(rows, full_matrices=True)
        basis = right[np.count_nonzero(singular > 1e-10) :].T
        size = float(np.abs(proof.matrix).sum(axis=1).max()) + 1e15 * proof.radius
        size += node.scale
        assert not exceeds(proof.matrix, rows, part.upper)
        if basis.shape[1]:
            largest = float(np.linalg.eigvalsh(basis.T @ proof.matrix @ basis)[-1])
            well_posed = len(singular) == 0 or singular[singular > 1e-10].min(initial=1) > 0.01
            if well_posed:
                assert part.upper <= largest + 1e-10 * size


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_nearly_singular_W_is_made_positive_semidefinite(n: int) -> None:
    """Tests W of low rank, spoilt by rounding or a little more, in rational arithmetic.

    The costs pay for the diagonal that was added, so with it W has no negative eigenvalue.
    """
    rng = np.random.default_rng(n)
    zero = np.zeros((n, n))
    proved = 0
    for _ in range(60):
        factor = rng.standard_normal((n, int(rng.integers(1, n + 1))))
        W = factor @ factor.T
        W = (W + W.T) / 2
        W -= rng.choice([0.0, 1e-16, 1e-15, 1e-13]) * np.eye(n)
        multipliers = Multipliers(W, zero, np.full(n, 1e-250), zero)
        proof = make_proof(zero, np.arange(n), multipliers, np.zeros(n, dtype=bool), n)
        if proof is None:
            continue
        proved += 1
        raised = W.copy()
        raised[np.diag_indices(n)] = proof.costs
        assert not exceeds(-raised, np.empty((0, n)), 0.0)
    assert proved > 40


def test_indefinite_W_is_refused_or_paid_for() -> None:
    """Tests W far from positive semidefinite: no proof, or one with costs that make it so."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(2, 7))
        W = rng.standard_normal((n, n))
        W = W + W.T - 2 * np.eye(n)
        multipliers = Multipliers(W, np.zeros((n, n)), np.full(n, 1e-9), W)
        proof = make_proof(np.eye(n), np.arange(n), multipliers, np.zeros(n, dtype=bool), n)
        if proof is not None:
            raised = W.copy()
            raised[np.diag_indices(n)] = proof.costs
            assert not exceeds(-raised, np.empty((0, n)), 0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_cover_lies_below_W(n: int) -> None:
    """Tests ``w wᵀ ⪯ W`` in rational arithmetic, W with the diagonal that the costs pay for.

    W of rank one is the delicate case: nothing is left of it once the cover is taken away.
    """
    rng = np.random.default_rng(n)
    for _ in range(150):
        rank = int(rng.choice([1, 1, n, rng.integers(1, n + 1)]))
        factor = rng.standard_normal((n, rank)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1))
        W = factor @ factor.T
        W = (W + W.T) / 2
        zero = np.zeros((n, n))
        multipliers = Multipliers(W, zero, np.full(n, 1e-250), zero)
        pattern = rng.standard_normal(n) * (rng.random(n) < 0.8)
        inside = np.zeros(n, dtype=bool)
        proof = make_proof(zero, np.arange(n), multipliers, inside, n, pattern)
        if proof is None:
            continue
        assert proof.cover is not None
        w = [Fraction(float(value)) for value in proof.cover]
        rest = [[Fraction(float(W[i, j])) - w[i] * w[j] for j in range(n)] for i in range(n)]
        for i in range(n):
            rest[i][i] = Fraction(float(proof.costs[i])) - w[i] * w[i]
        assert _is_rational_psd(rest)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["W", "A", "N", "s"])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_multipliers_that_are_not_finite_prove_nothing(bad: float, field: str, n: int) -> None:
    """Tests that one entry that is not a number leads to no bound below the optimum."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        factor = rng.standard_normal((n, n))
        Q = factor @ factor.T
        Q = (Q + Q.T) / 2
        arrays = {"W": Q.copy(), "A": np.zeros((n, n)), "s": np.ones(n), "N": Q.copy()}
        i, j = rng.integers(0, n, size=2)
        if field == "s":
            arrays[field][i] = abs(bad)
        else:
            arrays[field][i, j] = arrays[field][j, i] = bad
        problem = Subproblem(Q, 1, np.empty((n, 0)))
        inside = np.zeros(n, dtype=bool)
        with np.errstate(all="ignore"):
            proof = make_proof(Q, np.arange(n), Multipliers(**arrays), inside, 1)
            if proof is None:
                continue
            try:
                eigenvalue = eigenpart(problem, proof).upper
            except np.linalg.LinAlgError:
                continue
            fixing = fix_by_costs(eigenvalue, proof.costs, inside, 1, 0.0)
        # Not a number is no claim: it compares as larger nowhere, and as smaller nowhere.
        assert not fixing.upper < Q.diagonal().max()
        assert not fixing.out.any()
        assert not fixing.into.any()


@pytest.mark.parametrize("exponent", [-320, -300, -200, 200, 300])
def test_extreme_s_is_safe(exponent: int) -> None:
    """Tests s at the ends of the range of floats: the bound may be useless, but not wrong."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(1, 6))
        factor = rng.standard_normal((n, n))
        Q = factor @ factor.T
        Q = (Q + Q.T) / 2
        A = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.5)
        s = np.full(n, max(10.0**exponent, 5e-324))
        inside = np.zeros(n, dtype=bool)
        with np.errstate(all="ignore"):
            proof = make_proof(Q, np.arange(n), Multipliers(Q, A, s, Q), inside, 1)
            if proof is None:
                continue
            eigenvalue = eigenpart(Subproblem(Q, 1, np.empty((n, 0))), proof).upper
            upper = fix_by_costs(eigenvalue, proof.costs, inside, 1, -math.inf).upper
        assert upper >= Q.diagonal().max()


def brute_sums(
    costs: np.ndarray, inside: np.ndarray, size: int
) -> tuple[Fraction | float, np.ndarray, np.ndarray]:
    """The exact largest sums: over all supports, over those with each index, those without it."""
    n = len(costs)
    size = min(size, n)
    exact = [Fraction(c) if math.isfinite(c) else c for c in costs.tolist()]
    sums = {
        T: sum((exact[i] for i in T), Fraction(0))
        for T in combinations(range(n), size)
        if set(np.flatnonzero(inside)) <= set(T)
    }
    total = max(sums.values())
    with_each = [max((v for T, v in sums.items() if i in T), default=-math.inf) for i in range(n)]
    without = [max((v for T, v in sums.items() if i not in T), default=-math.inf) for i in range(n)]
    return total, np.array(with_each, dtype=object), np.array(without, dtype=object)


def test_sums_of_costs() -> None:
    """Tests the largest sums over supports with and without each index against all supports."""
    rng = np.random.default_rng(0)
    for _ in range(1500):
        n = int(rng.integers(1, 8))
        size = int(rng.integers(1, n + 2))
        costs = rng.integers(0, 6, size=n).astype(float)
        inside = np.zeros(n, dtype=bool)
        inside[rng.permutation(n)[: rng.integers(0, min(size, n) + 1)]] = True
        total, with_each = best_sums(costs, inside, size)
        right_total, right_with, right_without = brute_sums(costs, inside, size)
        assert total == right_total
        np.testing.assert_array_equal(with_each, right_with)
        without = sums_without(costs, inside, size, total)
        # An upper bound everywhere, and exact where a support without the index exists.
        free = ~inside
        assert (without[free] >= right_without[free]).all()
        exists = free & (right_without > -math.inf)
        np.testing.assert_array_equal(without[exists], right_without[exists])


def test_row_sums() -> None:
    """Tests each row's largest sum over supports with its index against all supports."""
    rng = np.random.default_rng(2)
    for _ in range(500):
        n = int(rng.integers(1, 7))
        size = int(rng.integers(1, n + 1))
        squares = rng.integers(0, 20, size=(n, n)).astype(float)
        forced = rng.permutation(n)[: rng.integers(0, size + 1)]
        inside = np.isin(np.arange(n), forced)
        found = row_sums(squares, inside, size)
        for i in range(n):
            right = max(
                (
                    squares[i, list(T)].sum()
                    for T in combinations(range(n), size)
                    if {i, *forced} <= set(T)
                ),
                default=0.0,
            )
            assert found[i] >= right
            assert found[i] == right or right == 0.0


def test_sums_of_costs_of_very_different_sizes() -> None:
    """Tests that fixing allows for the digits that a large cost takes from the small ones."""
    rng = np.random.default_rng(1)
    for _ in range(1500):
        n = int(rng.integers(2, 7))
        size = int(rng.integers(1, n + 1))
        costs = 10.0 ** rng.uniform(-3, 18, size=n)
        inside = np.zeros(n, dtype=bool)
        inside[rng.permutation(n)[: rng.integers(0, size + 1)]] = True
        eigenvalue = float(rng.standard_normal())
        cutoff = eigenvalue + float(rng.choice(costs)) * float(rng.choice([0.5, 1.0, 1.5, 3.0]))
        total, with_each, without = brute_sums(costs, inside, size)
        fixing = fix_by_costs(eigenvalue, costs, inside, size, cutoff)
        value = Fraction(eigenvalue)
        assert Fraction(fixing.upper) >= value + total
        gone = [*with_each[fixing.out], *without[fixing.into]]
        assert all(value + most <= fixing.removed_upper <= cutoff for most in gone)


@pytest.mark.parametrize("infinite", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_infinite_costs(infinite: int, size: int) -> None:
    """Tests variables that could not be priced: the bound is infinite, and nothing is warned of."""
    costs = np.array([3.0, 1.0, 0.5, 2.0, 0.25])
    costs[:infinite] = math.inf
    for included in range(3):
        inside = np.arange(5) >= 5 - included
        if included > size:
            continue
        fixing = fix_by_costs(1.0, costs, inside, size, 2.0)
        reachable = size > included
        assert fixing.upper == math.inf or (not reachable and infinite < 5 - included + 1)
        # A support with such a variable may have any value, so it cannot be ruled out.
        assert not fixing.out[:infinite].any() or not reachable
        _, _, without = brute_sums(costs, inside, size)
        assert (without[fixing.into] <= 1.0).all()
