"""Tests of the search by conditioning: nothing above the level is ever ruled out.

First against every support of random nodes; then the recorded tree, derived anew in rational
arithmetic; then matrices whose eigenvalue is the level up to the last digits; last the descent, and
whole stages that begin with it, stopped at any moment.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from types import FrameType
from typing import Any

import numpy as np
import pytest

from helpers.brute_force import _is_rational_psd, candidates, support_above
from helpers.cases import (
    Case,
    Fixing,
    Loose,
    Weak,
    check_closed,
    lopsided,
    random_cutoff,
    random_node,
    run,
    strong_bound,
)
from orthospca.bounds import screening
from orthospca.bounds.classical import ClassicalBound
from orthospca.bounds.conditioning import step as frames
from orthospca.bounds.conditioning import walk as conditioning
from orthospca.bounds.conditioning.step import Frame
from orthospca.bounds.conditioning.walk import PENALTIES, Conditioning, Dive, Step
from orthospca.bounds.relaxation.node import StrongBound
from orthospca.bounds.screening import Screening
from orthospca.model import limits
from orthospca.model.limits import Watch
from orthospca.model.nodes import Closed, Node, Reason
from orthospca.model.result import Status
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import RESOLUTION, Tolerance
from orthospca.numerics import rigor
from orthospca.numerics.threads import single_threaded_blas
from orthospca.search import descent
from orthospca.search import methods as stages
from orthospca.search import tree as search_module
from orthospca.search.outcome import Outcome
from orthospca.search.tree import BranchAndBound
from orthospca.supports.best import Candidate
from orthospca.supports.enumeration import count_supports

#: The constants of the module: as they are, and so small that every path is taken.
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"ENUMERATE_BELOW": 1, "TILE": 1, "FIRST_ROWS": 1, "FREE_STEPS": 0.0, "FULL_SHARE": 0},
    {
        "ENUMERATE_BELOW": 1,
        "TILE": 12,
        "FIRST_ROWS": 2,
        "FULL_SHARE": 0,
        "PENALTIES": (1e-3, 1.0, 1e5),
    },
    {"ENUMERATE_BELOW": 3, "TILE": 20, "FIRST_ROWS": 1, "PENALTIES": (1e3,)},
)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in a solve: for matrices this small, more threads cost more than they give."""
    with single_threaded_blas():
        yield


def small(patch: pytest.MonkeyPatch, setting: dict[str, Any]) -> None:
    for name, value in setting.items():
        patch.setattr(frames if hasattr(frames, name) else conditioning, name, value)


def conditioning_of(case: Case) -> Conditioning:
    return Conditioning(case.problem, RESOLUTION * case.problem.scale)


def cases(seeds: range, smallest: int = 3, largest: int = 8) -> Iterator[Case]:
    """Feasible problems of every kind; in some a few variances are hugely negative."""
    for seed in seeds:
        case = Case(seed, largest, smallest)
        if seed % 5 == 0:
            lopsided(case)
        if case.values:
            yield case


def uneven(seed: int) -> Case:
    """A covariance of variables of very different variances: some indices go, some stay."""
    case = Case(seed, smallest=9, largest=9)
    rng, n, case.p = case.rng, 9, 3 + seed % 2
    rows = rng.standard_normal((12, n)) * np.array([2.0, 2.0, 2.0, 1.5, 1.5, 1.5, 0.5, 0.4, 0.3])
    case.matrix = rows.T @ rows / 12
    X = np.zeros((n, seed % 3))
    X[: seed % 3, : seed % 3] = np.linalg.qr(rng.standard_normal((seed % 3, seed % 3)))[0]
    case.previous, case.problem = X.T, Subproblem(case.matrix, case.p, X)
    case.values = {b.support: b.value for b, _ in candidates(case.matrix, case.previous, case.p)}
    case.optimum = max(case.values.values())
    case.scale = case.problem.scale
    case.slack = 1e-13 * case.scale
    return case


def supports_of(node: Node, p: int) -> list[tuple[int, ...]]:
    """All supports of a node of full size."""
    room = min(p, len(node.allowed)) - len(node.included)
    chosen = combinations(node.free.tolist(), room)
    return [tuple(sorted((*node.included.tolist(), *more))) for more in chosen]


def exchangeable(n: int, diagonal: float, beside: float) -> np.ndarray:
    return np.full((n, n), beside) + (diagonal - beside) * np.eye(n)


# Against every support


def check_frames(seeds: range, patch: pytest.MonkeyPatch, setting: dict[str, Any]) -> None:
    """What one step drops at any level and with any penalty, against every support."""
    small(patch, setting)
    conditioned = dropped = 0
    for case in cases(seeds):
        work = conditioning_of(case)
        for _ in range(6):
            node, level = random_node(case), random_cutoff(case)
            inside = np.searchsorted(node.allowed, node.included)
            free = np.searchsorted(node.allowed, node.free)
            for penalty in PENALTIES if case.problem.constrained else (0.0,):
                frame = work.frame(node.allowed, level, penalty)
                found = frame.condition(inside)
                if found is None or len(free) == 0:
                    continue
                conditioned += 1
                # Places at which the complement has no positive diagonal are left to the walk.
                usable = free[found[1][free] > 0]
                if len(usable) == 0:
                    continue
                kept, branch = frame.eliminate(*found, usable, case.p - len(inside))
                assert set(kept) <= set(usable)
                assert branch in set(kept) or (branch == -1 and len(kept) == 0)
                gone = set(node.allowed[np.setdiff1d(usable, kept)])
                dropped += len(gone)
                ruled_out = set(node.included) | set(node.allowed[usable])
                for T, value in case.inside(node).items():
                    if set(T) <= ruled_out and gone & set(T):
                        assert value <= level + case.slack, (case.matrix, T)
    assert conditioned > 100
    assert dropped > 100


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_index_of_a_support_above_the_level_is_dropped(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests single steps, at levels around the values of supports, with each penalty."""
    check_frames(range(2000, 2070), monkeypatch, setting)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_no_index_of_a_support_above_the_level_is_dropped_at_length(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests many more of them."""
    check_frames(range(2070, 3500), monkeypatch, setting)


def check_best(case: Case, best: Candidate, incumbent: Candidate) -> None:
    """Feasible, truthful, and not worse than what was given."""
    x = best.vector
    assert best.value >= incumbent.value
    assert np.count_nonzero(x) <= case.p
    assert abs(np.linalg.norm(x) - 1) <= 1e-12
    assert np.abs(case.previous @ x).max(initial=0.0) <= 1e-12
    assert abs(x @ case.matrix @ x - best.value) <= 1e-12 * case.problem.scale
    assert best is incumbent or best.value > incumbent.value


def check_dive(case: Case, node: Node, dive: Dive, incumbent: Candidate) -> None:
    """What the search of a node says, against every support of it."""
    check_best(case, dive.best, incumbent)
    assert set(node.included) <= set(dive.allowed) <= set(node.allowed)
    assert (np.diff(dive.allowed) > 0).all()
    inside = case.inside(node)
    if dive.complete:
        assert max(inside.values(), default=-math.inf) <= dive.upper + case.slack
    gone = {T: v for T, v in inside.items() if not set(T) <= set(dive.allowed)}
    assert max(gone.values(), default=-math.inf) <= dive.upper + case.slack


#: Budgets: none at all, the first step only, a few, and enough.
BUDGETS = (-1.0, 0.0, 1.0, 3.0, 1e5)


def check_dives(seeds: range, patch: pytest.MonkeyPatch, setting: dict[str, Any]) -> None:
    """Whole searches of nodes with any incumbent, cutoff and budget."""
    small(patch, setting)
    complete = reduced = better = 0
    for case in cases(seeds):
        work = conditioning_of(case)
        for _ in range(5):
            node, cutoff = random_node(case), random_cutoff(case)
            incumbent = case.candidate(int(case.rng.choice([0, 1, 3, -1])))
            budget = float(case.rng.choice(BUDGETS))
            dive = work.search(node, incumbent, cutoff, budget)
            check_dive(case, node, dive, incumbent)
            complete += dive.complete
            better += dive.best is not incumbent
            if dive.complete:
                assert dive.best is incumbent
                assert dive.upper >= cutoff or dive.upper <= case.optimum + case.scale
            # Stopped after some step.
            asked = itertools.count()
            last = int(case.rng.integers(0, 5))
            stopped = work.search(
                node, incumbent, cutoff, 1e5, lambda a=asked, last=last: next(a) >= last
            )
            check_dive(case, node, stopped, incumbent)
            reduced += len(stopped.allowed) < len(node.allowed)
    assert complete > 30
    assert better > 5
    assert reduced > 0 or setting.get("ENUMERATE_BELOW", 64) > 1


@pytest.mark.parametrize("setting", SETTINGS)
def test_search_of_a_node(setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests complete searches, ones that run out of budget, and ones that are stopped."""
    check_dives(range(3000, 3070), monkeypatch, setting)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_search_of_a_node_at_length(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests many more of them."""
    check_dives(range(3120, 4500), monkeypatch, setting)


def test_tiles_do_not_change_what_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that costs worked out row by row, the dearest first, rule out no more than all at once.

    Rows are left with a coarse cost where that decides as much: more of them may stay in later
    rounds, never fewer.
    """
    monkeypatch.setattr(frames, "FULL_SHARE", 0)
    compared = worse = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, p = 40, int(rng.integers(2, 9))
        loadings = rng.standard_normal((n, 3)) * 10.0 ** rng.uniform(-1, 0, (n, 1))
        matrix = loadings @ loadings.T + 0.1 * np.eye(n)
        problem = Subproblem(matrix, p, np.empty((n, 0)))
        work = Conditioning(problem, 0.0)
        inside = rng.permutation(n)[: int(rng.integers(0, min(p - 1, 3)))]
        inside.sort()
        free = np.setdiff1d(np.arange(n), inside)
        for factor in (1.05, 1.3, 1.7, 2.2):
            level = factor * np.sort(np.diag(matrix))[-p:].sum() / 2
            frame = work.frame(np.arange(n), level, 0.0)
            found = frame.condition(inside)
            if found is None or found[1][free].min() <= 0:
                continue
            monkeypatch.setattr(frames, "TILE", 2**17)
            whole = frame.eliminate(*found, free, p - len(inside))
            for tile, first in ((1, 1), (1, 64), (n, 1), (3 * n, 2)):
                monkeypatch.setattr(frames, "TILE", tile)
                monkeypatch.setattr(frames, "FIRST_ROWS", first)
                tiled = frame.eliminate(*found, free, p - len(inside))
                assert set(whole[0]) <= set(tiled[0])
                compared += 0 < len(whole[0]) < len(free)
                worse += len(tiled[0]) > len(whole[0])
    assert compared > 50
    assert worse <= 0.1 * compared


def test_penalty_takes_the_components_out() -> None:
    """Tests that κ lets a node be searched at a level below the zeros that a projection leaves."""
    matrix = exchangeable(5, -1.0, -0.5)
    problem = Subproblem(matrix, 2, np.array([[0.6, 0.8, 0.0, 0.0, 0.0]]).T)
    work = Conditioning(problem, 0.0)
    frames = [work.frame(np.arange(5), -0.2, penalty) for penalty in PENALTIES]
    usable = []
    for frame in frames:
        found = frame.condition(np.array([0]))
        usable.append(found is not None and found[1][1:].min() > 0)
    assert not usable[0]
    assert any(usable)


# The recorded tree, derived anew


def replay(steps: tuple[Step, ...], node: Node) -> Iterator[tuple[Node, Step]]:
    """The nodes of the tree with their steps; every step is used, once."""
    pending, left = [node], list(steps)
    while pending:
        current = pending.pop()
        step = left.pop(0)
        yield current, step
        free = set(current.free.tolist())
        assert set(step.removed.tolist()) <= free
        if step.branch < 0:
            continue
        assert step.branch in free - set(step.removed.tolist())
        allowed = np.setdiff1d(current.allowed, step.removed)
        inside, outside = Node(current.included, allowed, branch=step.branch).children()
        pending += [outside, inside]
    assert left == []


Rational = list[list[Fraction]]


def rational_form(problem: Subproblem, penalty: float) -> Rational:
    """``(I - XXᵀ)Q(I - XXᵀ) - κXXᵀ`` without rounding."""
    n = problem.n_features
    X = [[Fraction(float(v)) for v in row] for row in problem.previous]
    Q = [[Fraction(float(v)) for v in row] for row in problem.covariance]
    gram = [[sum(map(lambda a, b: a * b, X[i], X[j])) for j in range(n)] for i in range(n)]
    P = [[Fraction(int(i == j)) - gram[i][j] for j in range(n)] for i in range(n)]
    PQ = [[sum(P[i][k] * Q[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    A = [[sum(PQ[i][k] * P[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    kappa = Fraction(penalty)
    return [[A[i][j] - kappa * gram[i][j] for j in range(n)] for i in range(n)]


def complement(form: Rational, level: float, inside: list[int], free: list[int]) -> Rational | None:
    """The Schur complement of ``L·I - A`` on the free indices; None if it does not exist."""
    order = [*inside, *free]
    L = Fraction(level)
    matrix = [[L * (i == j) - form[i][j] for j in order] for i in order]
    for k in range(len(inside)):
        if matrix[k][k] <= 0:
            return None
        for i in range(k + 1, len(order)):
            factor = matrix[i][k] / matrix[k][k]
            matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[k], strict=True)]
    return [row[len(inside) :] for row in matrix[len(inside) :]]


def rules_out(
    form: Rational, level: float, inside: list[int], free: list[int], room: int
) -> set[int]:
    """All free indices that the costs rule out, round after round, in rational arithmetic."""
    schur = complement(form, level, inside, free)
    if schur is None or any(schur[k][k] <= 0 for k in range(len(free))):
        return set()
    if len(free) <= frames.FULL_SHARE * room and _is_rational_psd(schur):
        return set(free)
    left = list(range(len(free)))
    # Wider than the difference between the level and the lowered one makes it.
    threshold = Fraction(room, max(room - 1, 1)) * (1 + Fraction(1, 10**8))
    while len(left) > 1 and room > 1:
        costs = {}
        for i in left:
            row = [schur[i][j] ** 2 / (schur[i][i] * schur[j][j]) for j in left if j != i]
            costs[i] = sum(sorted(row, reverse=True)[: room - 1])
        ordered = sorted(costs.values(), reverse=True)
        total, base = sum(ordered[:room]), sum(ordered[: room - 1])
        kept = [i for i in left if min(total, base + costs[i]) >= threshold]
        if len(kept) == len(left):
            return set(free) - {free[i] for i in left}
        left = kept
    return set(free)


def check_tree(case: Case, node: Node, dive: Dive, level: float, enumerated_below: int) -> None:
    """Each removal and each leaf is right, and together they hold every support exactly once."""
    p = case.p
    scale = float(np.abs(case.problem.projected).max()) or 1.0
    kappas = [penalty * max(abs(level), 1e-3 * scale) for penalty in conditioning.PENALTIES]
    forms = [rational_form(case.problem, kappa) for kappa in dict.fromkeys(kappas)]
    if not case.problem.constrained:
        forms = forms[:1]
    accounted: list[tuple[int, ...]] = []
    for current, step in replay(dive.steps, node):
        inside, free = current.included.tolist(), current.free.tolist()
        removed = set(step.removed.tolist())
        here = supports_of(current, p)
        if removed:
            assert any(
                removed <= rules_out(form, level, inside, free, p - len(inside)) for form in forms
            )
        if step.branch >= 0:
            accounted += [T for T in here if removed & set(T)]
            continue
        assert removed == set(free) or (
            not removed
            and count_supports(len(inside), len(inside) + len(free), p) <= enumerated_below
        )
        accounted += here
    # Where fewer than p indices are left, the leaf is one smaller support.
    full = [T for T in accounted if len(T) == min(p, len(node.allowed))]
    assert sorted(full) == sorted(supports_of(node, p))
    assert math.isfinite(dive.upper) or not case.inside(node)
    if math.isfinite(dive.upper):
        for T in accounted:
            sub, X = case.matrix[np.ix_(T, T)], case.previous[:, T]
            assert support_above(sub, X, len(T), dive.upper) is None


def check_trees(
    seeds: range, patch: pytest.MonkeyPatch, enumerate_below: int, full_share: int
) -> None:
    patch.setattr(frames, "FULL_SHARE", full_share)
    patch.setattr(conditioning, "ENUMERATE_BELOW", enumerate_below)
    trees = branched = constrained = 0
    for case in cases(seeds, smallest=5, largest=8):
        work = conditioning_of(case)
        for distance in (1e-3, 0.03, 0.2):
            node, incumbent = case.root, case.candidate(0)
            cutoff = incumbent.value + distance * case.scale
            dive = work.search(node, incumbent, cutoff, 1e5)
            if not dive.complete:
                continue
            check_tree(case, node, dive, cutoff, enumerate_below)
            trees += 1
            branched += len(dive.steps) > 1
            constrained += case.problem.constrained
    assert trees > 20
    assert branched > (5 if full_share == 0 else 0)
    assert constrained > 5


@pytest.mark.parametrize("full_share", [0, 4])
@pytest.mark.parametrize("enumerate_below", [1, 6])
def test_the_tree_is_a_certificate(
    enumerate_below: int, full_share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests the recorded trees: the costs are derived anew, and every support is accounted for.

    The reader of a tree knows the matrix, the components before it and the level, nothing else.
    """
    check_trees(range(5000, 5030), monkeypatch, enumerate_below, full_share)


@pytest.mark.slow
@pytest.mark.parametrize("full_share", [0, 4])
@pytest.mark.parametrize("enumerate_below", [1, 6])
def test_the_tree_is_a_certificate_at_length(
    enumerate_below: int, full_share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests many more trees."""
    check_trees(range(5030, 5300), monkeypatch, enumerate_below, full_share)


def test_the_factor_of_the_trace_free_norm() -> None:
    """Tests ``λmax² ≤ (r-1)/r·‖W‖²`` for a zero diagonal, with equality where it is sharp."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        r = int(rng.integers(2, 9))
        W = rng.standard_normal((r, r))
        W += W.T
        np.fill_diagonal(W, 0.0)
        largest = np.linalg.eigvalsh(W)[-1]
        assert largest**2 <= (r - 1) / r * (W * W).sum() * (1 + 1e-12)
        signs = rng.choice([-1.0, 1.0], r)
        sharp = (np.outer(signs, signs) - np.eye(r)) / (r - 1)
        assert np.linalg.eigvalsh(sharp)[-1] == pytest.approx(1.0)
        assert (r - 1) / r * (sharp * sharp).sum() == pytest.approx(1.0)


# Rounding


def is_definite(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether ``left - right`` is positive definite, exactly: all leading minors, in integers."""
    # The numbers are multiples of this power of two.
    smallest = min(np.frexp(np.concatenate([left, right])[np.nonzero([*left, *right])])[1]) - 53
    a = [
        [
            int(Fraction(float(x)) * Fraction(2) ** -int(smallest))
            - int(Fraction(float(y)) * Fraction(2) ** -int(smallest))
            for x, y in zip(*rows, strict=True)
        ]
        for rows in zip(left, right, strict=True)
    ]
    previous = 1
    for k in range(len(a)):
        if a[k][k] <= 0:
            return False
        for i in range(k + 1, len(a)):
            for j in range(k + 1, len(a)):
                a[i][j] = (a[i][j] * a[k][k] - a[i][k] * a[k][j]) // previous
        previous = a[k][k]
    return True


class Critical:
    """A support whose largest eigenvalue is a chosen level up to rounding, and every bound sharp.

    The matrix is built backwards, from the factors of ``L·I - Q_F``, from ``C⁻¹Q_F`` and from a
    scaled complement for which the Frobenius bound is an equality.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        f, r, extra = (int(rng.integers(low, high)) for low, high in ((0, 4), (1, 5), (0, 3)))
        self.p = p = f + r
        n = p + extra
        L = float(rng.choice([0.0, 1.0, -1.0])) * 10.0 ** float(rng.uniform(-2, 3))
        C = np.tril(rng.standard_normal((f, f)))
        C[np.diag_indices(f)] = 10.0 ** -rng.uniform(0, rng.choice([0.5, 4, 9]), f)
        half = rng.standard_normal((f, r)) * 10.0 ** rng.uniform(-3, 1)
        diagonal = 10.0 ** rng.uniform(-rng.choice([0.5, 8]), 1, r)
        signs = rng.choice([-1.0, 1.0], r)
        W = (np.outer(signs, signs) - np.eye(r)) / (r - 1) if r > 1 else np.ones((1, 1))
        self.included_is_critical = bool(rng.random() < 0.2 and f > 0)
        if self.included_is_critical:
            C[f - 1, f - 1] = 0.0
            W = 0.5 * W
        M = np.zeros((n, n))
        M[:f, :f] = L * np.eye(f) - C @ C.T
        M[:f, f:p] = C @ half
        M[f:p, :f] = M[:f, f:p].T
        scaled = np.sqrt(np.outer(diagonal, diagonal)) * (np.eye(r) - W)
        M[f:p, f:p] = L * np.eye(r) - half.T @ half - scaled
        M[:, p:] = rng.standard_normal((n, extra)) * 10.0 ** rng.uniform(-4, 1) * (seed % 2)
        M[p:, :] = M[:, p:].T
        M[p:, p:] = np.diag(L - 10.0 ** rng.uniform(-3, 3, extra))
        scale = 10.0 ** float(rng.choice([0, 0, 0, -60, 60, -95, 95]))
        order = rng.permutation(n)
        places = np.argsort(order)
        self.matrix = scale * (0.5 * (M + M.T))[np.ix_(order, order)]
        self.included, self.rest = np.sort(places[:f]), places[f:p]
        self.support = np.sort(places[:p])
        self.level = scale * L
        self.unit = rigor.UNIT * (abs(self.level) + float(np.abs(self.matrix).max()))
        self.previous = np.empty((0, n))

    def constrain(self) -> None:
        """Add a component orthogonal, up to rounding, to the leading vector of the support."""
        T = self.support
        leading = np.zeros(len(self.matrix))
        leading[T] = np.linalg.eigh(self.matrix[np.ix_(T, T)])[1][:, -1]
        vector = self.rng.standard_normal(len(self.matrix))
        vector *= self.rng.random(len(vector)) < 0.8
        vector -= leading * (leading @ vector)
        if np.linalg.norm(vector) > 1e-3:
            self.previous = (vector / np.linalg.norm(vector))[None, :]

    @property
    def problem(self) -> Subproblem:
        return Subproblem(self.matrix, self.p, np.ascontiguousarray(self.previous.T))

    def exceeds(self, support: np.ndarray | tuple[int, ...], level: float) -> bool:
        """Whether a feasible vector on the support has more than the level, exactly."""
        T = np.asarray(support, dtype=int)
        sub, X = self.matrix[np.ix_(T, T)], self.previous[:, T]
        if len(X) == 0 and is_definite(level * np.eye(len(T)), sub):
            return False
        return support_above(sub, X, len(T), level) is not None


def first_level(low: float, high: float, ruled_out: Callable[[float], bool]) -> float | None:
    """A level at which something is ruled out while just below it is not; None if it never is."""
    if ruled_out(low):
        return low
    if not ruled_out(high):
        return None
    for _ in range(45):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if ruled_out(middle) else (middle, high)
    return high


def false_proofs(seeds: range, constrained: bool = False) -> tuple[list[int], int]:
    """Seeds at which a step rules out a support above the level; how many levels were checked.

    The lowest level at which the step rules the support out is looked for, down to the last digits:
    if rounding is not covered, it is there that it shows.
    """
    wrong, checked = [], 0
    for seed in seeds:
        case = Critical(seed)
        if constrained:
            case.constrain()
        work = Conditioning(case.problem, 0.0)
        everything = np.arange(len(case.matrix))
        free = np.setdiff1d(everything, case.included)
        room = case.p - len(case.included)
        penalty = PENALTIES[seed % 4] if constrained else 0.0

        def conditioned(level: float, work=work, case=case, penalty=penalty) -> bool:
            frame = work.frame(np.arange(len(case.matrix)), level, penalty)
            return frame.condition(case.included) is not None

        def dropped(level: float, work=work, case=case, penalty=penalty, free=free, room=room):
            frame = work.frame(np.arange(len(case.matrix)), level, penalty)
            found = frame.condition(case.included)
            if found is None or found[1][case.rest].min() <= 0:
                return False
            kept, _ = frame.eliminate(*found, free[found[1][free] > 0], room)
            return not set(case.rest) <= set(kept)

        tests = [(case.support, dropped)]
        if case.included_is_critical:
            tests.append((case.included, conditioned))
        for support, ruled_out in tests:
            low, high = case.level - 1e5 * case.unit, case.level + 1e6 * case.unit
            level = first_level(low, high, ruled_out)
            if level is not None:
                checked += 1
                if case.exceeds(support, level):
                    wrong.append(seed)
    return wrong, checked


@pytest.mark.parametrize("full_share", [0, 4])
@pytest.mark.parametrize("constrained", [False, True])
def test_rounding_never_rules_out_a_support_above_the_level(
    constrained: bool, full_share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests hundreds of supports at thousands of levels around their eigenvalue."""
    monkeypatch.setattr(frames, "FULL_SHARE", full_share)
    wrong, checked = false_proofs(range(700), constrained)
    assert wrong == []
    assert checked > 150


@pytest.mark.slow
@pytest.mark.parametrize("full_share", [0, 4])
@pytest.mark.parametrize("constrained", [False, True])
def test_rounding_never_rules_out_a_support_above_the_level_at_length(
    constrained: bool, full_share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests thousands of supports."""
    monkeypatch.setattr(frames, "FULL_SHARE", full_share)
    wrong, _ = false_proofs(range(700, 16_000), constrained)
    assert wrong == []


def test_without_the_margin_rounding_does_rule_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the test: with the level not lowered, supports above it are ruled out."""
    frame_of = Conditioning.frame

    def careless(self: Conditioning, indices: Any, level: float, penalty: float) -> Frame:
        frame = frame_of(self, indices, level, penalty)
        return Frame(frame.indices, frame.matrix, level, frame.residual)

    monkeypatch.setattr(Conditioning, "frame", careless)
    assert len(false_proofs(range(300))[0]) > 10


def search_critical(seeds: range) -> int:
    """Whole searches at critical levels, in rational arithmetic; how many were complete."""
    complete = 0
    for seed in seeds:
        case = Critical(seed)
        if seed % 3 == 0:
            case.constrain()
        problem = case.problem
        everything = np.arange(len(case.matrix))
        units = float(case.rng.choice([-16, -1, 0, 1, 64, 1024, 8192, 65536]))
        level = case.level + units * case.unit
        poor = Candidate(-1e3 * problem.scale, np.zeros(len(case.matrix)))
        node = Node(case.included if seed % 2 else everything[:0], everything)
        dive = Conditioning(problem, 0.0).search(node, poor, level, 1e4)
        if not dive.complete:
            continue
        complete += 1
        for T in supports_of(node, case.p):
            assert not case.exceeds(T, max(dive.upper, -1e3 * problem.scale)), seed
    return complete


@pytest.mark.parametrize("enumerate_below", [1, 64])
def test_rounding_in_a_whole_search(enumerate_below: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the bound of a search holds exactly where the level is critical."""
    monkeypatch.setattr(conditioning, "ENUMERATE_BELOW", enumerate_below)
    assert search_critical(range(250)) > 30


@pytest.mark.slow
@pytest.mark.parametrize("enumerate_below", [1, 64])
def test_rounding_in_a_whole_search_at_length(
    enumerate_below: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests many more of them."""
    monkeypatch.setattr(conditioning, "ENUMERATE_BELOW", enumerate_below)
    search_critical(range(400, 8000))


@pytest.mark.parametrize("scale", [1e-290, 1e-100, 1.0, 1e100])
@pytest.mark.parametrize("p", [1, 2, 5, 6])
def test_extreme_numbers(scale: float, p: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests tiny and huge matrices, hugely negative variances, zero and negative levels.

    1e-290 is a block of a larger matrix: only the whole of it is kept above 1e-100.
    """
    monkeypatch.setattr(conditioning, "ENUMERATE_BELOW", 1)
    matrices = [
        np.zeros((6, 6)),
        exchangeable(6, 1.0, 0.25),
        exchangeable(6, -1.0, 0.1),
        exchangeable(6, 0.0, -1.0),
        exchangeable(6, 1.0, 0.25) - np.diag([0, 0, 0, 1e12, 1e9, 1e5]),
        np.diag([1.0, 1e-30, -1e-30, 0.0, -1.0, 1e-200]),
    ]
    X = np.zeros((6, 1))
    X[:2] = math.sqrt(0.5)
    for matrix in matrices:
        for previous in (X[:, :0], X):
            scaled = scale * matrix
            problem = Subproblem(scaled, p, previous)
            found = candidates(scaled, previous.T, p)
            best = max((b for b, _ in found), key=lambda b: b.value)
            incumbent = Candidate(best.value, best.vector)
            work = Conditioning(problem, RESOLUTION * problem.scale)
            for above in (0.0, 1e-13, 1e-3, 1.0):
                cutoff = best.value + above * problem.scale
                node = Node(np.arange(0), np.arange(6))
                dive = work.search(node, incumbent, cutoff, 1e4)
                if dive.complete:
                    assert support_above(scaled, previous.T, p, dive.upper) is None
                assert dive.complete or above < 1.0 or scale < 1e-200


def test_not_a_number_rules_nothing_out() -> None:
    """Tests that factors with infinities and overflows are refused."""
    matrix = exchangeable(4, 1.0, 0.5)
    for value in (math.nan, math.inf, -math.inf, 1e300):
        broken = matrix.copy()
        broken[0, 1] = broken[1, 0] = value
        frame = Frame(np.arange(4), broken, 3.0, 1e-13)
        with np.errstate(all="ignore"):
            assert frame.condition(np.array([0, 1])) is None
            assert frame.condition(np.array([0])) is None or abs(value) == 1e300


# The descent, and stages that begin with it

SMALL_STAGE = ("ENUMERATE_BELOW", "ENUMERATE_BELOW_STRONG", "ENUMERATE_WITHOUT_INCUMBENT")


def plain_stage(patch: pytest.MonkeyPatch, budgets: tuple[float, ...]) -> None:
    """Nothing is enumerated; the budgets are those of the first, the coarser, the last, a node."""
    for name in SMALL_STAGE:
        patch.setattr(stages, name, 1)
    patch.setattr(conditioning, "ENUMERATE_BELOW", 1)
    patch.setattr(conditioning, "FREE_STEPS", 0.0)
    # Without it steps close less, so that dives are cut short more often.
    patch.setattr(frames, "FULL_SHARE", 0 if budgets[3] in (0, 2, 3) else 4)
    for name, budget in zip(("FIRST_BUDGET", "RUNG_BUDGET", "LAST_BUDGET"), budgets, strict=False):
        patch.setattr(descent, name, budget)
    patch.setattr(search_module, "NODE_BUDGET", budgets[3])


def solve_stage(
    case: Case,
    patch: pytest.MonkeyPatch,
    rank: int,
    tolerance: Tolerance,
    watch: Watch,
    n_jobs: int | None = None,
) -> Outcome:
    """A stage by the default method, that begins with the vector of a support of that rank."""
    first = case.candidate(rank)
    patch.setattr(stages, "find_incumbent", lambda *_: first)
    return stages.solve_by_strong_bound(case.problem, tolerance, watch, n_jobs)


def covers(case: Case, closed: Closed, support: tuple[int, ...]) -> bool:
    """Whether a closed node holds a support; screening holds what is in no neighbourhood."""
    if closed.reason is Reason.SCREENED:
        T = set(support)
        return not any(i.row in T and set(i.allowed) >= T for i in closed.proof.neighbourhoods)
    return support in case.inside(closed)


def check_outcome(case: Case, outcome: Outcome, watch: Watch, eps: float = math.inf) -> None:
    """Every bound reported on the way and in the end is valid; so is everything recorded."""
    for entry in watch.history:
        assert entry.upper >= case.optimum - case.slack
        assert entry.lower <= case.optimum + case.slack
    assert outcome.upper >= case.optimum - case.slack
    if outcome.best is None:
        # Interrupted before there was anything.
        assert outcome.status is Status.INTERRUPTED
        assert outcome.nodes == 0
        return
    assert outcome.best.value <= case.optimum + case.slack
    for closed in outcome.closed:
        if closed.reason is not Reason.SCREENED:
            assert closed.upper >= case.best_inside(closed) - case.slack
    if outcome.status is Status.OPTIMAL and eps < math.inf:
        for T, value in case.values.items():
            assert any(covers(case, c, T) and c.upper >= value - case.slack for c in outcome.closed)
        assert outcome.upper - outcome.best.value <= max(eps, 2e-11 * case.problem.scale)


#: Of the first attempt, a coarser level, the last attempt and a node.
STAGE_BUDGETS = (
    (1e4, 1e4, 1e4, 1e4),
    (-1, 1e4, 1e4, -1),
    (-1, 1e4, -1, 3),
    (0, 0, 0, 0),
    (1, 3, 10, 0),
    (-1, -1, -1, 1e4),
    (-1, -1, -1, 2),
    (-1, -1, -1, -1),
)


@pytest.mark.parametrize("budgets", STAGE_BUDGETS)
def test_stage_with_any_budget(budgets: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests descents that succeed at once, on the way down, at the end, or not at all."""
    plain_stage(monkeypatch, budgets)
    for case in cases(range(6000, 6024)):
        for rank, part in ((0, 0.0), (-1, 0.0), (2, 0.3), (-1, 0.7), (1, 1.2)):
            eps = part * (case.optimum - case.candidate(rank).value)
            watch = Watch(node_limit=2000)
            outcome = solve_stage(case, monkeypatch, rank, Tolerance(eps, 0.0), watch)
            check_outcome(case, outcome, watch, eps)
    for case in map(uneven, range(6030, 6040)):
        watch, eps = Watch(), 0.02 * abs(case.optimum)
        outcome = solve_stage(case, monkeypatch, 0, Tolerance(eps, 0.0), watch)
        assert outcome.status is Status.OPTIMAL
        check_outcome(case, outcome, watch, eps)


def test_bound_of_a_coarser_level_includes_what_is_outside() -> None:
    """Tests that the bound noted is that of the whole stage, not of the node searched alone."""
    noted: list[float] = []

    class Stub:
        lower, cutoff, known_upper = 1.0, 1.0, 9.0

        def dive(self, node: Node, budget: float, level: float | None = None) -> Dive:
            return Dive(level is not None, -math.inf, Candidate(1.0, np.ones(1)), node.allowed)

        def tighten(self, upper: float) -> None:
            noted.append(upper)

    whole = Node(np.arange(0), np.arange(3))
    assert not descent.descend(Stub(), whole, [whole], 0.5)  # type: ignore[arg-type]
    assert set(noted) == {0.5}


def test_what_refinement_removes_is_in_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the bound on what the norm rules out after a descent that failed is not lost."""
    plain_stage(monkeypatch, (-1, -1, -1, -1))
    case = uneven(6050)
    removed = case.optimum + 0.5 * case.slack

    def refine(problem: Subproblem, found: Screening, *_: float) -> Screening:
        return Screening((), found.upper, removed)

    monkeypatch.setattr(stages, "refine", refine)
    outcome = solve_stage(case, monkeypatch, -1, Tolerance(0.0, 1e-6), Watch())
    assert outcome.upper == removed


def test_bound_from_a_descent_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the bound that blocks use: any vector in hand, any cutoff, any budget, any moment."""
    closed = 0
    for k, case in enumerate(cases(range(6600, 6640))):
        plain_stage(monkeypatch, STAGE_BUDGETS[k % len(STAGE_BUDGETS)])
        for known in (math.inf, case.optimum + case.slack):
            for watch in (Watch(), Clock(k % 7)):
                best, cutoff = case.candidate(int(case.rng.choice([0, 2, -1]))), random_cutoff(case)
                bound = stages.bound_by_conditioning(case.problem, best, cutoff, known, watch)
                assert case.optimum - case.slack <= bound <= known
                closed += known == math.inf and bound <= max(cutoff, best.value) + 1e-9 * case.scale
    assert closed > 20


def test_coarser_levels_give_bounds_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the descent reports falling bounds before the cutoff is reached."""
    plain_stage(monkeypatch, (-1, 1e4, -1, -1))
    fell = 0
    for case in cases(range(6100, 6160), smallest=5):
        watch = Watch(node_limit=1)
        outcome = solve_stage(case, monkeypatch, 0, Tolerance(0.0, 1e-6), watch)
        check_outcome(case, outcome, watch, 2e-6 * abs(case.optimum))
        if outcome.status is Status.NODE_LIMIT:
            gap = outcome.upper - outcome.best.value if outcome.best is not None else math.inf
            fell += gap <= 1.1e-4 * abs(case.optimum)
    assert fell > 5


@pytest.mark.parametrize("budgets", [STAGE_BUDGETS[0], STAGE_BUDGETS[2], STAGE_BUDGETS[6]])
def test_same_stage_whatever_the_jobs(
    budgets: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that what is closed is the same, in the same order, digit for digit."""
    plain_stage(monkeypatch, budgets)
    for case in cases(range(6200, 6208), smallest=6):
        runs = []
        for n_jobs in (None, 2, 3):
            watch = Watch()
            outcome = solve_stage(case, monkeypatch, -1, Tolerance(0.0, 1e-9), watch, n_jobs)
            closed = [
                (tuple(c.included), tuple(c.allowed), c.upper, c.reason) for c in outcome.closed
            ]
            vector = None if outcome.best is None else outcome.best.vector.tolist()
            history = [(e.lower, e.upper, e.nodes, e.open_nodes) for e in watch.history]
            runs.append((closed, vector, outcome.upper, outcome.status, history))
        assert runs[0] == runs[1] == runs[2]


class Stop:
    """A callback that asks to stop, or interrupts, at a given report."""

    def __init__(self, at: int, interrupt: bool) -> None:
        self.at, self.interrupt = at, interrupt
        self.seen: list[Any] = []

    def __call__(self, progress: Any) -> bool:
        self.seen.append(progress)
        if len(self.seen) <= self.at:
            return False
        if self.interrupt:
            raise KeyboardInterrupt
        return True


@pytest.mark.parametrize("interrupt", [False, True], ids=["asks", "Ctrl-C"])
@pytest.mark.parametrize("budgets", [STAGE_BUDGETS[0], STAGE_BUDGETS[2], STAGE_BUDGETS[6]])
def test_interrupt_at_each_report(
    budgets: tuple[float, ...], interrupt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that an interrupt at each report in turn leaves a valid bound."""
    plain_stage(monkeypatch, budgets)
    for case in cases(range(6300, 6306), smallest=4):
        for at in range(30):
            stop = Stop(at, interrupt)
            watch = Watch(callback=stop)
            outcome = solve_stage(case, monkeypatch, -1, Tolerance(0.0, 1e-6), watch)
            check_outcome(case, outcome, watch)
            if len(stop.seen) <= at:
                break
            met = outcome.best is not None and watch.history[-1].upper <= outcome.best.value + (
                1e-6 * abs(outcome.best.value) + 1e-10 * case.problem.scale
            )
            assert outcome.status is Status.INTERRUPTED or met
        else:
            pytest.fail("the stage reports more often than was tried")


class Clock(Watch):
    """A watch whose time is up when it is asked for the n-th time."""

    def __init__(self, asked: int) -> None:
        super().__init__()
        self.left = asked

    def out_of_time(self) -> bool:
        self.left -= 1
        if self.left < 0:
            self._deadline = -math.inf
        return super().out_of_time()


@pytest.mark.parametrize("budgets", [STAGE_BUDGETS[0], STAGE_BUDGETS[6]])
def test_out_of_time_at_any_moment(
    budgets: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests a clock that runs out between any two steps of a dive."""
    plain_stage(monkeypatch, budgets)
    for case in cases(range(6400, 6410), smallest=5):
        for asked in (*range(12), 20, 40, 80):
            watch = Clock(asked)
            outcome = solve_stage(case, monkeypatch, -1, Tolerance(0.0, 1e-6), watch)
            check_outcome(case, outcome, watch)
            assert outcome.status in (Status.OPTIMAL, Status.TIME_LIMIT)


class InterruptAt:
    """Raises Ctrl-C before a chosen line of the modules under test, counted as executed."""

    FILES = tuple(
        m.__file__ for m in (conditioning, frames, descent, search_module, stages, screening)
    )

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename == limits.__file__ or code.co_name in ("_outcome", "interrupted"):
            return None
        if event == "line" and code.co_filename in self.FILES:
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def interrupt_lines(patch: pytest.MonkeyPatch, lines: range, budgets: tuple[float, ...]) -> int:
    """Ctrl-C before lines of a stage, counted as executed; how many stages were cut short."""
    plain_stage(patch, budgets)
    case = next(cases(range(6501, 6520), smallest=5))
    cut = 0
    for line in lines:
        tracer, watch = InterruptAt(line), Watch()
        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            outcome = solve_stage(case, patch, -1, Tolerance(0.0, 1e-6), watch)
        except KeyboardInterrupt:
            # Between two stages of the work nothing is returned, so nothing wrong either.
            continue
        finally:
            sys.settrace(before)
        check_outcome(case, outcome, watch)
        if tracer.left >= 0:
            return cut
        cut += 1
    return cut


@pytest.mark.parametrize("budgets", [STAGE_BUDGETS[0], STAGE_BUDGETS[2]])
def test_interrupt_at_some_lines(
    budgets: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests Ctrl-C between lines of the whole stage: the bound is valid, or none is returned."""
    assert interrupt_lines(monkeypatch, range(0, 4000, 47), budgets) > 10


@pytest.mark.slow
@pytest.mark.parametrize("budgets", STAGE_BUDGETS[:7])
def test_interrupt_at_any_line(budgets: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests Ctrl-C before every line."""
    assert interrupt_lines(monkeypatch, range(100_000), budgets) > 10


# What the search makes of a dive


def search_of(case: Case, **options: Any) -> BranchAndBound:
    work = conditioning_of(case)
    bound = StrongBound(case.problem, max(abs(case.optimum), 1e-3 * case.scale))
    return BranchAndBound(
        case.problem, bound, Tolerance(0.0, 0.0), Watch(), conditioning=work, **options
    )


@pytest.mark.parametrize("make", [Loose, Weak, Fixing, strong_bound])
def test_search_with_dives_that_do_not_finish(
    make: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that the closed nodes, and what the dives removed from nodes, hold every support."""
    monkeypatch.setattr(conditioning, "ENUMERATE_BELOW", 1)
    monkeypatch.setattr(conditioning, "FREE_STEPS", 0.0)
    monkeypatch.setattr(frames, "FULL_SHARE", 0)
    monkeypatch.setattr(search_module, "NODE_BUDGET", 0)
    removed = 0
    for seed in range(7300, 7370):
        case = uneven(seed)
        incumbent = case.candidate(int(case.rng.choice([0, 0, 1])))
        eps = float(case.rng.choice([1e-9, 0.01, 0.05])) * abs(case.optimum)
        outcome = run(
            case,
            make(case),
            Tolerance(eps, 0.0),
            incumbent=incumbent,
            conditioning=conditioning_of(case),
        )
        check_closed(case, outcome, complete=True)
        removed += sum(isinstance(c.proof, tuple) and c.kept is not None for c in outcome.closed)
    assert removed >= 10


def test_what_is_removed_is_bounded_by_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the level, raised above the cutoff for rounding, does not raise a node's bound."""
    monkeypatch.setattr(conditioning, "ENUMERATE_BELOW", 1)
    monkeypatch.setattr(conditioning, "FREE_STEPS", 0.0)
    monkeypatch.setattr(frames, "FULL_SHARE", 0)
    monkeypatch.setattr(search_module, "NODE_BUDGET", 0)
    removed = 0
    for case in map(uneven, range(7000, 7040)):
        incumbent = case.candidate(0)
        search = search_of(case, incumbent=incumbent)
        node = Node(np.arange(0), np.arange(len(case.matrix)), case.optimum + case.slack)
        evaluation = search._evaluate(node, incumbent, search.cutoff)
        for closed in evaluation.removed:
            assert case.best_inside(closed) - case.slack <= closed.upper <= node.upper
            removed += closed.proof is not None
    assert removed > 3


def test_a_component_found_by_a_dive_is_not_lost() -> None:
    """Tests that what a dive has found survives if nothing feasible is left of its node."""
    problem = Subproblem(np.diag([3.0, 2.0, 1.0, 0.0]), 1, np.eye(4)[:, :2])
    search = BranchAndBound(problem, ClassicalBound(problem), Tolerance(), Watch())
    found = Candidate(1.0, np.eye(4)[2])
    evaluation = search._finish(Node(np.arange(0), np.arange(2)), found, 1.0)
    assert evaluation is not None
    assert evaluation.closed is not None
    assert evaluation.closed.reason is Reason.INFEASIBLE
    assert evaluation.best is found


def test_trees_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the memory for trees is bounded: a search may record millions of steps."""
    monkeypatch.setattr(search_module, "LARGEST_RECORD", 10_000)
    search = search_of(next(cases(range(7200, 7210))))
    tree = tuple(Step(np.arange(10), 3) for _ in range(9))
    for _ in range(5):
        search.record(Closed(np.arange(0), np.arange(9), 1.0, Reason.CONDITIONED, tree))
    assert [closed.proof is None for closed in search.closed] == [False, False, True, True, True]
    assert search.closed_upper == 1.0
