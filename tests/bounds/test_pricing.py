"""Tests of pricing: a proof on an active set, extended to all variables, still proves a bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.cases import KINDS, Supports, check_status, supports_of
from helpers.exact import exceeds
from orthospca.bounds.relaxation import pricing
from orthospca.bounds.relaxation.node import StrongBound
from orthospca.bounds.relaxation.pricing import Lump, make_lump, pattern_of
from orthospca.bounds.relaxation.proof import Proof, eigenpart, fix_by_costs, make_proof
from orthospca.bounds.relaxation.solver import Multipliers, solve_relaxation
from orthospca.model.limits import Watch
from orthospca.model.nodes import Node
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import RelaxationTuning
from orthospca.search.knowledge import Knowledge
from orthospca.search.tree import TreeSearch
from orthospca.supports.best import best_on_support


class Split:
    """A random problem whose variables are split into an active set and a lump."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 10))
        p = int(rng.choice([1, 2, rng.integers(1, n + 1)]))
        self.matrix = KINDS[seed % len(KINDS)](rng, n)
        active = np.sort(rng.permutation(n)[: int(rng.integers(1, n))])
        self.active, self.lump = active, np.setdiff1d(np.arange(n), active)
        self.included = np.sort(rng.permutation(active)[: int(rng.choice([0, 0, 1]))][:p])
        previous = self._previous(n)
        self.problem = Subproblem(self.matrix, p, np.ascontiguousarray(previous.T))
        self.supports = supports_of(self.matrix, previous, p)
        self.scale = self.supports.scale
        self.values = {
            T: value for T, value in self.supports.values.items() if set(self.included) <= set(T)
        }
        self.optimum = max(self.values.values(), default=-math.inf)

    def _previous(self, n: int) -> np.ndarray:
        """Up to two components, supported in the active set as the pricing requires."""
        count = min(int(self.rng.integers(0, 3)), len(self.active) - 1)
        found = np.zeros((count, n))
        if count:
            columns = self.rng.standard_normal((len(self.active), count))
            found[:, self.active] = np.linalg.qr(columns)[0].T
        return found

    def multipliers(self) -> Multipliers:
        """Random, the covariance itself, or those of the relaxation of the active set."""
        rng, n = self.rng, len(self.active)
        Q = self.matrix[np.ix_(self.active, self.active)]
        scale = self.scale
        choice = rng.integers(3)
        if choice == 0:
            return solve_relaxation(
                Q,
                min(self.problem.sparsity, n),
                scale=scale,
                included=np.searchsorted(self.active, self.included),
                max_iterations=int(rng.integers(0, 40)),
            ).multipliers
        factor = rng.standard_normal((n, int(rng.integers(1, n + 1))))
        W = factor @ factor.T * scale * 10.0 ** rng.uniform(-3, 1)
        W = (W + W.T) / 2
        A = rng.standard_normal((n, n)) * scale * (rng.random((n, n)) < 0.3)
        s = scale * 10.0 ** rng.uniform(-4, 2, size=n)
        return Multipliers(W, A if choice == 1 else 0 * A, s, Q)

    def proof(self) -> Proof | None:
        Q = self.matrix[np.ix_(self.active, self.active)]
        pattern = pattern_of(self.matrix, self.active, self.lump)
        if self.rng.random() < 0.3:
            pattern = self.rng.standard_normal(len(self.active))
        inside = np.isin(self.active, self.included)
        size = self.problem.sparsity
        return make_proof(Q, self.active, self.multipliers(), inside, size, pattern)

    def lump_of(self, proof: Proof, eigenvalue: float) -> Lump:
        """The lump with the roots chosen, or with any roots: all of them are valid."""
        size, scale = self.problem.sparsity, self.scale
        if self.rng.random() < 0.5:
            last_price = float(self.rng.choice([0.0, *proof.costs]))
            return make_lump(self.matrix, self.lump, proof, eigenvalue, last_price, size)
        roots = math.sqrt(scale) * 10.0 ** self.rng.uniform(-4, 1, size=len(self.lump))
        roots[self.rng.random(len(roots)) < 0.3] = 0.0
        outside = pricing._outside(self.matrix, self.lump, roots)
        return Lump(self.lump, roots, outside, size)

    def costs(self, proof: Proof, prices: np.ndarray) -> np.ndarray:
        """The costs of all variables, in their order."""
        costs = np.empty(len(self.matrix))
        costs[self.active], costs[self.lump] = proof.costs, prices
        return costs


@pytest.mark.parametrize("part", range(5))
def test_bound_of_the_whole_node(part: int) -> None:
    """Tests random proofs on random active sets against every support of all variables."""
    finite = 0
    for seed in range(part, 350, 5):
        split = Split(seed)
        inside = np.isin(np.arange(len(split.matrix)), split.included)
        for _ in range(5):
            proof = split.proof()
            if proof is None:
                continue
            # Any number above the eigenvalue is one, and a larger one makes smaller prices.
            eigenvalue = eigenpart(split.problem, proof).upper
            eigenvalue += float(split.rng.choice([0.0, 0.1, 1.0, 10.0])) * split.scale
            lump = split.lump_of(proof, eigenvalue)
            prices = lump.prices(split.matrix, proof, eigenvalue)
            assert (prices > 0).all()
            if not np.isfinite(prices).all():
                continue
            finite += 1
            costs, size = split.costs(proof, prices), split.problem.sparsity
            upper = fix_by_costs(eigenvalue, costs, inside, size, -math.inf).upper
            assert split.supports.above(upper, split.values) is None, seed
            if not math.isfinite(split.optimum):
                continue
            cutoff = split.optimum + float(split.rng.uniform(-1, 1)) * (upper - split.optimum)
            fixing = fix_by_costs(eigenvalue, costs, inside, size, cutoff)
            out, into = np.flatnonzero(fixing.out), np.flatnonzero(fixing.into)
            removed = [T for T in split.values if {*out} & {*T} or not {*into} <= {*T}]
            assert split.supports.above(fixing.removed_upper, removed) is None
            assert fixing.removed_upper <= cutoff
    assert finite > 50


@pytest.mark.parametrize("part", range(5))
def test_children_inherit_the_lump(part: int) -> None:
    """Tests proofs and lumps restricted to fewer variables against the supports that are left."""
    finite = 0
    for seed in range(part, 400, 5):
        split = Split(seed)
        proof = split.proof()
        if proof is None:
            continue
        eigenvalue = eigenpart(split.problem, proof).upper + split.scale
        lump = split.lump_of(proof, eigenvalue)
        kept_active = split.active[
            np.isin(split.active, split.included) | (split.rng.random(len(split.active)) < 0.7)
        ]
        kept_lump = split.lump[split.rng.random(len(split.lump)) < 0.7]
        if len(kept_active) == 0:
            continue
        child = proof.restrict(kept_active)
        eigenvalue = eigenpart(split.problem, child).upper
        eigenvalue += float(split.rng.choice([0.0, 1.0])) * split.scale
        prices = lump.restrict(kept_lump).prices(split.matrix, child, eigenvalue)
        if not np.isfinite(prices).all():
            continue
        finite += 1
        kept = np.union1d(kept_active, kept_lump)
        costs = np.empty(len(kept))
        costs[np.searchsorted(kept, kept_active)] = child.costs
        costs[np.searchsorted(kept, kept_lump)] = prices
        inside = np.isin(kept, split.included)
        size = split.problem.sparsity
        upper = fix_by_costs(eigenvalue, costs, inside, size, -math.inf).upper
        left = [T for T in split.values if {*T} <= {*kept}]
        assert split.supports.above(upper, left) is None, seed
    assert finite > 5


def exact_price(split: Split, lump: Lump, proof: Proof, eigenvalue: float, at: int) -> Fraction:
    """The least price of one variable, in rational arithmetic; −1 if there is none.

    Row j of M stays below the eigenvalue if ``σ_j`` is at least ``r_j / room``, where r_j is the
    sum of the p - 1 largest squares of ``max(|Q_jS| - ρ_j w, 0)``.
    """
    j = int(lump.indices[at])

    def entry(k: int) -> Fraction:
        return abs(Fraction(float(split.matrix[j, k])))

    assert proof.cover is not None
    roots = [Fraction(float(root)) for root in lump.roots]
    rho = roots[at]
    excess = sorted(
        max(entry(int(k)) - rho * Fraction(float(w)), Fraction(0)) ** 2
        for k, w in zip(proof.indices, proof.cover, strict=True)
    )
    size = split.problem.sparsity
    squares = sum(excess[max(len(excess) - size + 1, 0) :], Fraction(0)) if size > 1 else 0
    room = Fraction(eigenvalue) - Fraction(float(split.matrix[j, j])) + rho**2
    for k, root in zip(lump.indices, roots, strict=True):
        if k != j:
            room -= max(entry(int(k)) - rho * root, Fraction(0))
    if room < 0 or (room == 0 and squares):
        return Fraction(-1)
    return rho**2 + (squares / room if squares else Fraction(0))


@pytest.mark.parametrize("part", range(4))
def test_prices_are_rounded_up(part: int) -> None:
    """Tests the prices in rational arithmetic, where the terms of the room cancel too."""
    for seed in range(part, 320, 4):
        split = Split(seed)
        proof = split.proof()
        if proof is None:
            continue
        rng, n = split.rng, len(split.lump)
        for trial in range(3):
            eigenvalue = eigenpart(split.problem, proof).upper
            lump = split.lump_of(proof, eigenvalue)
            if trial:
                # Just above (or below) what the row of one variable needs, nearly all cancelled.
                at = int(rng.integers(n))
                j = int(lump.indices[at])
                needed = split.matrix[j, j] - lump.roots[at] ** 2 + lump.outside[at]
                unit = float(np.spacing(abs(needed) + lump.roots[at] ** 2 + lump.outside[at]))
                eigenvalue = float(needed + rng.integers(-30, 60) * unit)
            prices = lump.prices(split.matrix, proof, eigenvalue)
            for at, price in enumerate(prices):
                if math.isfinite(price):
                    least = exact_price(split, lump, proof, eigenvalue, at)
                    assert least >= 0, (seed, trial)
                    assert Fraction(float(price)) >= least, (seed, trial)


def test_room_that_cancels() -> None:
    """Tests a row whose room is what rounding leaves of large terms: there is none in truth."""
    rng = np.random.default_rng(0)
    split = Split(0)
    for _ in range(1000):
        # Active variable 0, lump {1, 2}; Q_11 = 0 and the eigenvalue is nearly zero.
        couple = float(rng.uniform(1, 2))
        matrix = np.array([[0.0, 1e-3, 1e-3], [1e-3, 0.0, couple], [1e-3, couple, 0.0]])
        roots = rng.uniform(0.5, 1.2, size=2)
        zero = np.zeros((1, 1))
        proof = Proof(np.array([0]), zero, 0.0, np.ones(1), np.zeros(1))
        lump_indices = np.array([1, 2])
        lump = Lump(lump_indices, roots, pricing._outside(matrix, lump_indices, roots), 2)
        split.matrix = matrix
        split.problem = Subproblem(matrix, 2, np.empty((3, 0)))
        needed = float(lump.outside[0] - roots[0] ** 2)
        eigenvalue = needed + float(rng.integers(-4, 12)) * 2.0**-53
        price = float(lump.prices(matrix, proof, eigenvalue)[0])
        if math.isfinite(price):
            least = exact_price(split, lump, proof, eigenvalue, 0)
            assert least >= 0
            assert Fraction(price) >= least


def test_variable_that_cannot_be_priced() -> None:
    """Tests a variable of more variance than the active set: its price is infinite."""
    matrix = np.diag([1.0, 1.0, 5.0])
    active, lump = np.array([0, 1]), np.array([2])
    Q = matrix[:2, :2]
    multipliers = Multipliers(0 * Q, 0 * Q, np.full(2, 1e-9), 0 * Q)
    inside = np.zeros(2, dtype=bool)
    proof = make_proof(Q, active, multipliers, inside, 2, np.ones(2))
    assert proof is not None
    made = make_lump(matrix, lump, proof, 1.5, float(proof.costs.min()), 2)
    assert made.prices(matrix, proof, 1.5).tolist() == [math.inf]
    assert math.isfinite(made.prices(matrix, proof, 6.0)[0])


def test_cover_is_required() -> None:
    """Tests that a proof without a cover, which cannot price anything, is refused."""
    proof = Proof(np.array([0]), np.zeros((1, 1)), 0.0, np.ones(1))
    with pytest.raises(ValueError, match="cover"):
        make_lump(np.eye(2), np.array([1]), proof, 1.0, 1.0, 1)


def test_tiles_do_not_change_the_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that rows taken a few at a time give the same lump, up to rounding."""
    found = []
    for tile in (512, 2, 1):
        monkeypatch.setattr(pricing, "TILE", tile)
        split = Split(4)
        proof = split.proof()
        assert proof is not None
        lump = make_lump(split.matrix, split.lump, proof, 10.0, 1.0, split.problem.sparsity)
        found.append(lump.prices(split.matrix, proof, 10.0))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-12)


#: Active sets so small, and growing so little, that variables are priced out for n ≤ 9.
SMALL_SETS = tuple(
    RelaxationTuning(
        largest_active=largest,
        first_active=first,
        growth=growth,
        growth_rounds=rounds,
        max_iterations=20,
    )
    for largest, first, growth, rounds in (
        (2, 1, 1, 1),
        (2, 2, 1, 8),
        (3, 2, 1, 2),
        (4, 3, 2, 1),
        (3, 3, 2, 4),
        (5, 2, 1, 1),
    )
)


def random_problem(seed: int) -> tuple[Subproblem, Supports]:
    """A problem with up to two earlier components, and all its supports."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    p = int(rng.integers(1, n + 1))
    matrix = KINDS[seed % len(KINDS)](rng, n)
    previous = np.zeros((int(rng.integers(0, 3)), n))
    places = rng.permutation(n)
    for row, part in zip(previous, (places[: n // 2], places[n // 2 :]), strict=False):
        row[part[:3]] = rng.standard_normal(len(part[:3]))
        row /= np.linalg.norm(row)
    problem = Subproblem(matrix, p, np.ascontiguousarray(previous.T))
    return problem, supports_of(matrix, previous, p)


def check_searches(seeds: range, tuning: RelaxationTuning) -> None:
    """Searches in which most variables are priced out, down to single supports."""
    for seed in seeds:
        problem, supports = random_problem(seed)
        if not supports.values:
            continue
        optimum, scale = max(supports.values.values()), supports.scale
        bound = StrongBound(problem, max(abs(optimum), 1e-3 * scale), tuning=tuning)
        known = Knowledge(problem, Tolerance(1e-9 * scale, 0.0), Watch(node_limit=5000))
        outcome = TreeSearch(known, bound).run([Node(np.arange(0), np.arange(problem.n_features))])
        assert outcome.best is not None
        assert np.count_nonzero(outcome.best.vector) <= problem.sparsity, seed
        # The vector is orthogonal to the components up to rounding only.
        assert outcome.best.value <= optimum + 1e-13 * scale, seed
        assert supports.above(outcome.upper) is None, seed
        assert outcome.status.name == "OPTIMAL", seed
        check_status(outcome, scale, 1e-9 * scale)


@pytest.mark.parametrize("tuning", SMALL_SETS)
def test_search_with_priced_variables_finds_the_optimum(tuning: RelaxationTuning) -> None:
    """Tests whole searches with active sets so small that nearly everything is priced."""
    check_searches(range(25), tuning)


@pytest.mark.slow
@pytest.mark.parametrize("tuning", SMALL_SETS)
def test_search_with_priced_variables_at_length(tuning: RelaxationTuning) -> None:
    """Tests hundreds of such searches: active sets that run empty, or leave nothing feasible."""
    check_searches(range(25, 350), tuning)


def pair_values(matrix: np.ndarray, previous: np.ndarray | None) -> np.ndarray:
    """The value of each pair of variables, in closed form; of i and i on the diagonal."""
    diagonal = matrix.diagonal()
    half = (diagonal[:, None] - diagonal) / 2
    values = (diagonal[:, None] + diagonal) / 2 + np.sqrt(half**2 + matrix**2)
    np.fill_diagonal(values, diagonal)
    if previous is not None:
        # On a pair that the component touches, one direction is left: (-x_j, x_i).
        x, y = previous[:, None], previous[None, :]
        touched = (x != 0) | (y != 0)
        length = np.where(touched, x**2 + y**2, 1.0)
        form = diagonal[:, None] * y**2 + diagonal * x**2 - 2 * matrix * x * y
        values = np.where(touched, form / length, values)
        np.fill_diagonal(values, np.where(previous != 0, -math.inf, diagonal))
    return values


class Large:
    """200 or more variables, two in a support, so that all values are known in closed form."""

    def __init__(self, seed: int, *, constrained: bool) -> None:
        rng = np.random.default_rng(seed)
        n = 200 + 20 * (seed % 4)
        rows = rng.standard_normal((60, n)) + 0.7 * rng.standard_normal((60, 1)) * (seed % 2)
        matrix = np.corrcoef(rows.T) * np.outer(*[1 + 0.2 * rng.random(n)] * 2)
        self.matrix = (matrix + matrix.T) / 2
        self.previous = np.zeros((n, int(constrained)))
        if constrained:
            self.previous[rng.permutation(n)[:4], 0] = 0.5
        self.problem = Subproblem(self.matrix, 2, self.previous)
        before = self.previous[:, 0] if constrained else None
        self.values = pair_values(self.matrix, before)
        self.optimum = float(self.values.max())

    def is_bound(self, upper: float) -> bool:
        """Whether no pair has more; in rational arithmetic for the pairs that come close."""
        close = np.argwhere(np.triu(self.values) > upper - 1e-9 * abs(self.optimum))
        return not any(
            exceeds(self.matrix[np.ix_(T, T)], self.previous[T].T, upper)
            for T in close
            if T[0] < T[1]
        )


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_large_node(seed: int, constrained: bool) -> None:
    """Tests the strong bound of hundreds of variables, with active sets of the real size."""
    large = Large(seed, constrained=constrained)
    problem, optimum = large.problem, large.optimum
    tuning = RelaxationTuning(max_iterations=6)
    assert problem.n_features > tuning.largest_active
    node = Node(np.arange(0), np.arange(problem.n_features))
    for offset in (-0.2, -0.01, 0.01):
        strong = StrongBound(problem, optimum, tuning=tuning)
        bound = strong(node, optimum + offset, Watch())
        assert large.is_bound(max(bound.upper, bound.fixed_upper))
        if offset < 0:
            assert large.is_bound(bound.upper)


@pytest.mark.slow
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_large_search(seed: int, constrained: bool) -> None:
    """Tests whole searches over hundreds of variables that begin with a bad incumbent."""
    large = Large(seed, constrained=constrained)
    problem, optimum = large.problem, large.optimum
    n = problem.n_features
    untouched = np.flatnonzero(~problem.previous.any(axis=1))
    incumbent = best_on_support(problem, untouched[:2])
    assert incumbent is not None
    for tolerance in (Tolerance(0.0, 1e-6), Tolerance(1.2 * (optimum - incumbent.value), 0.0)):
        bound = StrongBound(problem, incumbent.value)
        known = Knowledge(problem, tolerance, Watch(node_limit=40, time_limit=10), incumbent)
        outcome = TreeSearch(known, bound).run([Node(np.arange(0), np.arange(n))])
        assert large.is_bound(outcome.upper)
        assert outcome.best is not None
        assert outcome.best.value <= optimum + 1e-13
        check_status(outcome, 1.0, tolerance.eps, tolerance.gap)
