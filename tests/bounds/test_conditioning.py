"""Tests of the search by conditioning: nothing above the level is ever ruled out.

First against every support of random nodes; then the recorded tree, derived anew in rational
arithmetic; then matrices whose eigenvalue is the level up to the last digits; last the descent, and
whole stages that begin with it, stopped at any moment.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from types import FrameType
from typing import Any

import numpy as np
import pytest

from helpers.brute_force import _is_rational_psd, candidates
from helpers.cases import (
    BRANCHING,
    LEFT_BY_ROUNDING,
    Case,
    check_covered,
    check_status,
    lopsided,
    random_cutoff,
    random_node,
)
from helpers.critical import Critical, first_level
from helpers.exact import exceeds
from helpers.seeds import FULL, SHARE, crossed, split, spread
from orthospca.bounds.classical import ClassicalBound
from orthospca.bounds.conditioning import compiled, parts, walk
from orthospca.bounds.conditioning import step as steps
from orthospca.bounds.conditioning.step import Frame
from orthospca.bounds.conditioning.steps import Step
from orthospca.bounds.conditioning.walk import Conditioning, Dive
from orthospca.bounds.share import node as share
from orthospca.model.limits import Watch
from orthospca.model.nodes import Closed, Node
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import DEFAULT, ShareTuning, Tuning, WalkTuning
from orthospca.numerics.threads import single_threaded_blas
from orthospca.search import closing, methods, state, tree
from orthospca.search.closing import bound_without_branching
from orthospca.search.outcome import Outcome
from orthospca.search.state import StageState
from orthospca.search.tree import TreeSearch
from orthospca.supports.best import Candidate
from orthospca.supports.enumeration import count_supports

#: The tuning as it is, and so small that every path is taken.
TUNINGS = (
    WalkTuning(),
    WalkTuning(enumerate_below=1, tile=1, first_rows=1, free_steps=0.0, full_share=0),
    WalkTuning(
        enumerate_below=1,
        tile=12,
        first_rows=2,
        full_share=0,
        largest_weighted=0,
        penalties=(1e-3, 1.0, 1e5),
    ),
    WalkTuning(enumerate_below=3, tile=20, first_rows=1, weight_rounds=1, penalties=(1e3,)),
)
#: The walk in NumPy, in the compiled loop, and in the compiled loop in many parts.
WAYS = {
    "numpy": {"compiled_after": math.inf},
    "compiled": {"compiled_after": 0.0},
    "in parts": {"compiled_after": 0.0, "split_after": -1.0, "parts": 5},
}
#: The κ of the tuning as it is.
PENALTIES = WalkTuning().penalties


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How a walk is done; the compiled loop needs its compiler."""
    if request.param != "numpy" and not compiled.is_installed():
        pytest.skip("there is no numba to compile with")
    return WAYS[request.param]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in a solve: for matrices this small, more threads cost more than they give."""
    with single_threaded_blas():
        yield


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
    rng, n = case.rng, 9
    rows = rng.standard_normal((12, n)) * np.array([2.0, 2.0, 2.0, 1.5, 1.5, 1.5, 0.5, 0.4, 0.3])
    matrix = rows.T @ rows / 12
    X = np.zeros((n, seed % 3))
    X[: seed % 3, : seed % 3] = np.linalg.qr(rng.standard_normal((seed % 3, seed % 3)))[0]
    case.use(matrix, X.T, 3 + seed % 2)
    return case


def supports_of(node: Node, p: int) -> list[tuple[int, ...]]:
    """All supports of a node of full size."""
    room = min(p, len(node.allowed)) - len(node.included)
    chosen = combinations(node.free.tolist(), room)
    return [tuple(sorted((*node.included.tolist(), *more))) for more in chosen]


def exchangeable(n: int, diagonal: float, beside: float) -> np.ndarray:
    return np.full((n, n), beside) + (diagonal - beside) * np.eye(n)


def below(frame: Frame, features: np.ndarray) -> tuple[Frame, np.ndarray]:
    """A frame without the features that alone are not below the level, and the others."""
    keep = frame.matrix.diagonal() < frame.level
    return Frame(frame.matrix[np.ix_(keep, keep)], frame.level), features[keep]


# Against every support


def check_frames(seeds: range, tuning: WalkTuning) -> None:
    """What one step drops at any level and with any penalty, against every support."""
    conditioned = dropped = forced = 0
    for case in cases(seeds):
        work = Conditioning(case.problem, tuning)
        for _ in range(6):
            node, level = random_node(case), random_cutoff(case)
            inside = np.searchsorted(node.allowed, node.included)
            for penalty in PENALTIES if case.problem.constrained else (0.0,):
                found = work.frame(node.allowed, level, penalty).conditioned(inside)
                if found is None or len(node.free) == 0:
                    continue
                conditioned += 1
                frame, usable = below(found, node.free)
                if len(usable) == 0:
                    continue
                left = frame.eliminate(case.p - len(inside), tuning)
                assert left is not None
                assert set(left.forced) <= set(left.kept) <= set(range(len(usable)))
                assert left.branch in set(left.kept) or (left.branch == -1 and not len(left.kept))
                gone = set(np.delete(usable, left.kept))
                needed = set(usable[left.forced])
                dropped += len(gone)
                forced += len(needed)
                within = set(node.included) | set(usable)
                ruled_out = [
                    T
                    for T in case.inside(node)
                    if set(T) <= within and (gone & set(T) or not needed <= set(T))
                ]
                assert case.above(level, ruled_out) is None, case.matrix
    assert conditioned > 100
    assert dropped > 100
    assert (forced > 10) == (tuning.largest_weighted > 0)


@pytest.mark.parametrize("problems", split(range(2000, 2070), 25))
@pytest.mark.parametrize("tuning", TUNINGS)
def test_no_index_of_a_support_above_the_level_is_dropped(
    tuning: WalkTuning, problems: range
) -> None:
    """Tests single steps, at levels around the values of supports, with each penalty."""
    check_frames(problems, tuning)


@pytest.mark.slow
@pytest.mark.parametrize("tuning", TUNINGS)
def test_no_index_of_a_support_above_the_level_is_dropped_at_length(tuning: WalkTuning) -> None:
    """Tests many more of them."""
    check_frames(spread(2070, 3500), tuning)


def check_best(case: Case, best: Candidate, incumbent: Candidate) -> None:
    """Feasible, truthful, and not worse than what was given."""
    x = best.vector
    assert best.value >= incumbent.value
    assert np.count_nonzero(x) <= case.p
    assert abs(np.linalg.norm(x) - 1) <= 1e-12
    assert np.abs(case.previous @ x).max(initial=0.0) <= 1e-12
    assert abs(x @ case.matrix @ x - best.value) <= 1e-12 * case.supports.scale
    assert best is incumbent or best.value > incumbent.value


def check_dive(case: Case, node: Node, dive: Dive, incumbent: Candidate) -> None:
    """What the search of a node says, against every support of it."""
    check_best(case, dive.best, incumbent)
    assert dive.complete or dive.upper == math.inf
    assert case.above(dive.upper, case.inside(node)) is None


#: Budgets: none at all, the first step only, a few, and enough.
BUDGETS = (-1.0, 0.0, 1.0, 3.0, 1e5)


def check_dives(seeds: range, tuning: WalkTuning) -> int:
    """Whole searches of nodes with any incumbent, cutoff and budget."""
    complete = interrupted = better = 0
    for case in cases(seeds):
        work = Conditioning(case.problem, tuning)
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
            interrupted += not stopped.complete
    assert complete > 30
    assert better > 5
    return interrupted


@pytest.mark.parametrize(("way", "tuning"), crossed(WAYS, TUNINGS), indirect=["way"])
def test_search_of_a_node(tuning: WalkTuning, way: dict[str, Any]) -> None:
    """Tests complete searches, ones that run out of budget, and ones that are stopped."""
    assert check_dives(range(3010, 3042), replace(tuning, **way)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("tuning", TUNINGS)
def test_search_of_a_node_at_length(tuning: WalkTuning, way: dict[str, Any]) -> None:
    """Tests many more of them."""
    check_dives(spread(3042, 4500), replace(tuning, **way))


def check_restarts(seeds: range, tuning: WalkTuning) -> None:
    """Searches that go on with what they find, at the cutoff of a tolerance."""
    better = complete = 0
    for case in cases(seeds):
        work = Conditioning(case.problem, tuning)
        for _ in range(3):
            node = random_node(case)
            incumbent = case.candidate(int(case.rng.choice([0, 1, 3, -1])))
            eps = float(case.rng.choice([0.0, 1e-6, 0.1])) * case.scale
            tolerance = Tolerance(eps, 0.0, case.problem.resolution)
            budget = float(case.rng.choice(BUDGETS))
            dive = work.dive(node, incumbent, tolerance, budget)
            check_dive(case, node, dive, incumbent)
            better += dive.best is not incumbent
            if dive.complete:
                complete += 1
                # Nothing in the node is better than what is in hand, up to the tolerance.
                cutoff = tolerance.cutoff(dive.best.value)
                assert dive.upper <= cutoff + LEFT_BY_ROUNDING * case.supports.scale
    assert better > 10
    assert complete > 50


@pytest.mark.parametrize(("way", "tuning"), crossed(WAYS, TUNINGS), indirect=["way"])
def test_search_goes_on_with_what_it_finds(tuning: WalkTuning, way: dict[str, Any]) -> None:
    """Tests that a better component found on the way is polished, and used from then on."""
    check_restarts(range(3500, 3530), replace(tuning, **way))


def test_tiles_do_not_change_what_is_dropped() -> None:
    """Tests that costs worked out row by row, the dearest first, rule out no more than all at once.

    Rows are left with a coarse cost where that decides as much: more of them may stay in later
    rounds, never fewer.
    """
    compared = worse = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, p = 40, int(rng.integers(2, 9))
        loadings = rng.standard_normal((n, 3)) * 10.0 ** rng.uniform(-1, 0, (n, 1))
        matrix = loadings @ loadings.T + 0.1 * np.eye(n)
        problem = Subproblem(matrix, p, np.empty((n, 0)))
        plain_costs = WalkTuning(full_share=0, largest_weighted=0)
        work = Conditioning(problem, plain_costs)
        inside = rng.permutation(n)[: int(rng.integers(0, min(p - 1, 3)))]
        inside.sort()
        for factor in (1.05, 1.3, 1.7, 2.2):
            level = factor * np.sort(np.diag(matrix))[-p:].sum() / 2
            frame = work.frame(np.arange(n), level, 0.0).conditioned(inside)
            left = None if frame is None else frame.eliminate(p - len(inside), plain_costs)
            if frame is None or left is None:
                continue
            whole = left.kept
            for tile, first in ((1, 1), (1, 64), (n, 1), (3 * n, 2)):
                tuning = replace(plain_costs, tile=tile, first_rows=first)
                tiled = frame.eliminate(p - len(inside), tuning).kept
                assert set(whole) <= set(tiled)
                compared += 0 < len(whole) < len(frame.matrix)
                worse += len(tiled) > len(whole)
    assert compared > 50
    assert worse <= 0.1 * compared


def test_penalty_takes_the_components_out() -> None:
    """Tests that κ lets a node be searched at a level below the zeros that a projection leaves."""
    matrix = exchangeable(5, -1.0, -0.5)
    problem = Subproblem(matrix, 2, np.array([[0.6, 0.8, 0.0, 0.0, 0.0]]).T)
    work = Conditioning(problem)
    frames = [work.frame(np.arange(5), -0.2, penalty) for penalty in PENALTIES]
    usable = []
    for frame in frames:
        found = frame.conditioned(np.array([0]))
        usable.append(found is not None and found.eliminate(1, WalkTuning()) is not None)
    assert not usable[0]
    assert any(usable)


# The recorded tree, derived anew


def replay(steps: tuple[Step, ...], node: Node, p: int) -> Iterator[tuple[Node, Step]]:
    """The nodes of the tree with their steps; every step is used, once."""
    pending, left = [node], list(steps)
    while pending:
        current = pending.pop()
        step = left.pop(0)
        yield current, step
        free = set(current.free.tolist())
        assert set(step.removed.tolist()) <= free
        allowed = np.setdiff1d(current.allowed, step.removed)
        if len(step.forced):
            assert step.branch == -1
            assert set(step.forced.tolist()) <= free - set(step.removed.tolist())
            included = np.union1d(current.included, step.forced)
            if len(included) <= p:
                pending.append(Node(included, allowed))
            continue
        if step.branch < 0:
            continue
        assert step.branch in free - set(step.removed.tolist())
        inside, outside = Node(current.included, allowed, branch=step.branch).children()
        pending += [outside, inside]
    assert left == []


Rational = list[list[Fraction]]


@cache
def projected(problem: bytes, previous: bytes, n: int) -> tuple[Rational, Rational]:
    """``(I - XXᵀ)Q(I - XXᵀ)`` and ``XXᵀ`` without rounding."""
    X = [[Fraction(v) for v in row] for row in np.frombuffer(previous).reshape(n, -1).tolist()]
    Q = [[Fraction(v) for v in row] for row in np.frombuffer(problem).reshape(n, n).tolist()]
    gram = [[sum(map(lambda a, b: a * b, X[i], X[j])) for j in range(n)] for i in range(n)]
    P = [[Fraction(int(i == j)) - gram[i][j] for j in range(n)] for i in range(n)]
    PQ = [[sum(P[i][k] * Q[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    A = [[sum(PQ[i][k] * P[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    return A, gram


def rational_form(problem: Subproblem, penalty: float) -> Rational:
    """``(I - XXᵀ)Q(I - XXᵀ) - κXXᵀ`` without rounding."""
    n, kappa = problem.n_features, Fraction(penalty)
    A, gram = projected(problem.covariance.tobytes(), problem.previous.tobytes(), n)
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


#: Wider than the difference between the level and the lowered one makes it.
WIDER = 1 + Fraction(1, 10**8)


def by_norms(schur: Rational, left: list[int], room: int) -> list[int]:
    """The places that the costs leave, in one round."""
    threshold = Fraction(room, max(room - 1, 1)) * WIDER
    costs = {}
    for i in left:
        row = [schur[i][j] ** 2 / (schur[i][i] * schur[j][j]) for j in left if j != i]
        costs[i] = sum(sorted(row, reverse=True)[: room - 1])
    ordered = sorted(costs.values(), reverse=True)
    total, base = sum(ordered[:room]), sum(ordered[: room - 1])
    return [i for i in left if min(total, base + costs[i]) >= threshold]


def weights_of(schur: Rational, left: list[int], room: int, rounds: int) -> list[dict]:
    """Weights of every round of a power iteration; any positive numbers would do."""
    found = [{i: 1 / math.sqrt(schur[i][i]) for i in left}]
    for _ in range(rounds - 1):
        last = found[-1]
        sums = {}
        for i in left:
            row = sorted((abs(float(schur[i][j])) * last[j] for j in left if j != i), reverse=True)
            sums[i] = sum(row[: room - 1]) / float(schur[i][i])
        top = max(sums[i] * math.sqrt(schur[i][i]) for i in left)
        found.append({i: max(sums[i] / top, 1e-9 / math.sqrt(schur[i][i])) for i in left})
    return [{i: Fraction(value) for i, value in weights.items()} for weights in found]


def by_weights(
    schur: Rational, left: list[int], room: int, weights: dict
) -> tuple[list[int], set[int]]:
    """The places that weighted rows leave, and those that nothing above the level can do without.

    Rows ``Σ_j |s_ij| u_j < u_i s_ii`` over the r - 1 largest terms make every submatrix of order r
    definite, whatever the positive weights u.
    """
    limit = {i: weights[i] * schur[i][i] * WIDER for i in left}
    rows = {i: {j: abs(schur[i][j]) * weights[j] for j in left if j != i} for i in left}

    def largest(terms: Iterable[Fraction], count: int) -> Fraction:
        return sum(sorted(terms, reverse=True)[: max(count, 0)], Fraction(0))

    if all(largest(rows[i].values(), room - 1) < limit[i] for i in left):
        return [], set()
    kept, forced = [], set()
    for k in left:
        own = largest(rows[k].values(), room - 1) / schur[k][k]
        others = [i for i in left if i != k]
        beside = {i: [v for j, v in rows[i].items() if j != k] for i in others}
        if any(largest(beside[i], room - 2) + abs(schur[i][k]) * own >= limit[i] for i in others):
            kept.append(k)
        if all(largest(beside[i], room - 1) < limit[i] for i in others):
            forced.add(k)
    return kept, forced


def rules_out(
    form: Rational, level: float, inside: list[int], free: list[int], room: int, tuning: WalkTuning
) -> tuple[set[int], set[int]]:
    """All free indices that costs and weights rule out, round after round, and all they force."""
    schur = complement(form, level, inside, free)
    if schur is None or any(schur[k][k] <= 0 for k in range(len(free))):
        return set(), set()
    everything = set(free)
    if len(free) <= tuning.full_share * room and _is_rational_psd(schur):
        return everything, everything
    left, forced = list(range(len(free))), set()
    while len(left) > 1 and room > 1:
        kept = by_norms(schur, left, room)
        if len(kept) == len(left) and tuning.largest_weighted:
            for weights in weights_of(schur, left, room, tuning.weight_rounds):
                stay, more = by_weights(schur, left, room, weights)
                kept, forced = [i for i in kept if i in stay], forced | {free[i] for i in more}
        if len(kept) == len(left):
            return everything - {free[i] for i in left}, forced
        left = kept
    return everything, everything


def check_tree(case: Case, node: Node, dive: Dive, level: float, tuning: WalkTuning) -> None:
    """Each removal and each leaf is right, and together they hold every support exactly once."""
    p = case.p
    scale = float(np.abs(case.problem.projected).max()) or 1.0
    kappas = [penalty * max(abs(level), 1e-3 * scale) for penalty in tuning.penalties]
    forms = [rational_form(case.problem, kappa) for kappa in dict.fromkeys(kappas)]
    if not case.problem.constrained:
        forms = forms[:1]
    accounted: list[tuple[int, ...]] = []
    for current, step in replay(dive.steps, node, p):
        inside, free = current.included.tolist(), current.free.tolist()
        removed, forced = set(step.removed.tolist()), set(step.forced.tolist())
        here = supports_of(current, p)
        if removed or forced:
            room = p - len(inside)
            found = (rules_out(form, level, inside, free, room, tuning) for form in forms)
            assert any(removed <= out and forced <= into for out, into in found)
        if step.branch >= 0 or forced:
            accounted += [T for T in here if removed & set(T) or not forced <= set(T)]
            continue
        assert removed == set(free) or (
            not removed
            and count_supports(len(inside), len(inside) + len(free), p) <= tuning.enumerate_below
        )
        accounted += here
    # Where fewer than p indices are left, the leaf is one smaller support.
    full = [T for T in accounted if len(T) == min(p, len(node.allowed))]
    assert sorted(full) == sorted(supports_of(node, p))
    assert math.isfinite(dive.upper) or not case.inside(node)
    if math.isfinite(dive.upper):
        for T in accounted:
            sub, X = case.matrix[np.ix_(T, T)], case.previous[:, T]
            assert not exceeds(sub, X, dive.upper)


def check_trees(seeds: range, tuning: WalkTuning) -> None:
    trees = branched = constrained = 0
    for case in cases(seeds, smallest=5, largest=8):
        work = Conditioning(case.problem, tuning)
        for distance in (1e-3, 0.03, 0.2):
            node, incumbent = case.root, case.candidate(0)
            cutoff = incumbent.value + distance * case.scale
            dive = work.search(node, incumbent, cutoff, 1e5)
            if not dive.complete:
                continue
            check_tree(case, node, dive, cutoff, tuning)
            trees += 1
            branched += len(dive.steps) > 1
            constrained += case.problem.constrained
    assert trees > 20
    assert branched > (5 if tuning.full_share == 0 else 0)
    assert constrained > 5


@pytest.mark.parametrize(
    ("way", "enumerate_below", "full_share"), crossed(WAYS, [1, 6], [0, 4]), indirect=["way"]
)
def test_the_tree_is_a_certificate(
    enumerate_below: int, full_share: int, way: dict[str, Any]
) -> None:
    """Tests the recorded trees: the costs are derived anew, and every support is accounted for.

    The reader of a tree knows the matrix, the components before it and the level, nothing else.
    """
    tuning = WalkTuning(enumerate_below=enumerate_below, full_share=full_share, **way)
    check_trees(range(5000, 5015), tuning)


@pytest.mark.slow
@pytest.mark.parametrize("full_share", [0, 4])
@pytest.mark.parametrize("enumerate_below", [1, 6])
def test_the_tree_is_a_certificate_at_length(
    enumerate_below: int, full_share: int, way: dict[str, Any]
) -> None:
    """Tests many more trees."""
    tuning = WalkTuning(enumerate_below=enumerate_below, full_share=full_share, **way)
    check_trees(spread(5015, 5300), tuning)


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


def false_proofs(
    seeds: range, constrained: bool = False, tuning: WalkTuning = DEFAULT.walk
) -> tuple[list[int], int]:
    """Seeds at which a step rules out a support above the level; how many levels were checked.

    The lowest level at which the step rules the support out is looked for, down to the last digits:
    if rounding is not covered, it is there that it shows.
    """
    wrong, checked = [], 0
    for seed in seeds:
        case = Critical(seed)
        if constrained:
            case.constrain()
        work = Conditioning(case.problem, tuning)
        everything = np.arange(len(case.matrix))
        free = np.setdiff1d(everything, case.included)
        room = case.p - len(case.included)
        penalty = PENALTIES[seed % 4] if constrained else 0.0

        def conditioned(level: float, work=work, case=case, penalty=penalty) -> bool:
            frame = work.frame(np.arange(len(case.matrix)), level, penalty)
            return frame.conditioned(case.included) is not None

        def dropped(level: float, work=work, case=case, penalty=penalty, free=free, room=room):
            frame = work.frame(np.arange(len(case.matrix)), level, penalty)
            found = frame.conditioned(case.included)
            if found is None:
                return False
            found, usable = below(found, free)
            if not set(case.rest) <= set(usable):
                return False
            left = found.eliminate(room, work.tuning)
            kept, forced = usable[left.kept], usable[left.forced]
            return not set(forced) <= set(case.rest) <= set(kept)

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
    constrained: bool, full_share: int
) -> None:
    """Tests hundreds of supports at thousands of levels around their eigenvalue."""
    tuning = WalkTuning(full_share=full_share)
    wrong, checked = false_proofs(range(60), constrained, tuning)
    assert wrong == []
    assert checked > 24


@pytest.mark.slow
@pytest.mark.parametrize("full_share", [0, 4])
@pytest.mark.parametrize("constrained", [False, True])
def test_rounding_never_rules_out_a_support_above_the_level_at_length(
    constrained: bool, full_share: int
) -> None:
    """Tests thousands of supports."""
    tuning = WalkTuning(full_share=full_share)
    wrong, _ = false_proofs(spread(60, 16_000), constrained, tuning)
    assert wrong == []


def test_without_the_margin_rounding_does_rule_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the test: with the level not lowered, supports above it are ruled out."""
    frame_of = Conditioning.frame

    def careless(self: Conditioning, indices: Any, level: float, penalty: float) -> Frame:
        return replace(frame_of(self, indices, level, penalty), level=level)

    monkeypatch.setattr(Conditioning, "frame", careless)
    assert len(false_proofs(range(150))[0]) > 3


def search_critical(seeds: range, tuning: WalkTuning) -> int:
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
        dive = Conditioning(problem, tuning).search(node, poor, level, 1e4)
        if not dive.complete:
            continue
        complete += 1
        for T in supports_of(node, case.p):
            assert not case.exceeds(T, max(dive.upper, -1e3 * problem.scale)), seed
    return complete


@pytest.mark.parametrize("enumerate_below", [1, 64])
def test_rounding_in_a_whole_search(enumerate_below: int, way: dict[str, Any]) -> None:
    """Tests that the bound of a search holds exactly where the level is critical."""
    assert search_critical(range(60), WalkTuning(enumerate_below=enumerate_below, **way)) > 7


@pytest.mark.slow
@pytest.mark.parametrize("enumerate_below", [1, 64])
def test_rounding_in_a_whole_search_at_length(enumerate_below: int, way: dict[str, Any]) -> None:
    """Tests many more of them."""
    search_critical(spread(60, 8000), WalkTuning(enumerate_below=enumerate_below, **way))


@pytest.mark.parametrize(("p", "scale"), crossed([1, 2, 5, 6], [1e-290, 1e-100, 1.0, 1e100]))
def test_extreme_numbers(scale: float, p: int, way: dict[str, Any]) -> None:
    """Tests tiny and huge matrices, hugely negative variances, zero and negative levels.

    1e-290 is a block of a larger matrix: only the whole of it is kept above 1e-100.
    """
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
            work = Conditioning(problem, WalkTuning(enumerate_below=1, **way))
            for above in (0.0, 1e-13, 1e-3, 1.0):
                cutoff = best.value + above * (float(np.abs(scaled).max()) or 1.0)
                node = Node(np.arange(0), np.arange(6))
                dive = work.search(node, incumbent, cutoff, 1e4)
                if dive.complete:
                    for T in combinations(range(6), p):
                        assert not exceeds(scaled[np.ix_(T, T)], previous[T, :].T, dive.upper)
                assert dive.complete or above < 1.0 or scale < 1e-200


def test_not_a_number_rules_nothing_out() -> None:
    """Tests that a frame with infinities is refused, and that overflows rule nothing out."""
    matrix = exchangeable(5, 1.0, 0.5)
    for value in (math.nan, math.inf, -math.inf, 1e300):
        broken = matrix.copy()
        broken[0, 1] = broken[1, 0] = value
        frame = Frame(broken, 3.0)
        finite = math.isfinite(value)
        assert (frame.conditioned(np.arange(0)) is not None) == finite
        assert frame.conditioned(np.array([0, 1])) is None
        inside = frame.conditioned(np.array([0]))
        assert inside is None or inside.eliminate(2, WalkTuning()) is None
        if finite:
            left = frame.eliminate(3, WalkTuning(full_share=0))
            assert left is not None
            assert {0, 1} <= set(left.kept)


# The descent, and stages that begin with it


def plain(budgets: tuple[float, ...]) -> Tuning:
    """Nothing is enumerated; budgets of the first attempt, and of the one before the relaxation."""
    after = budgets[1]
    # Without the full matrix steps close less, so that dives are cut short more often.
    share = 0 if after in (0, 2, 3) else 4
    return Tuning(
        walk=WalkTuning(enumerate_below=1, free_steps=0.0, full_share=share),
        share=ShareTuning(cost=after),
        tree=BRANCHING.tree,
    )


def solve_thoroughly(
    case: Case,
    budgets: tuple[float, ...],
    rank: int,
    tolerance: Tolerance,
    watch: Watch,
    n_jobs: int | None = None,
    closed: list[Closed] | None = None,
) -> Outcome:
    """A walk, beginning with the vector of a support of a given rank, then all other means."""
    settings = Settings(n_jobs=n_jobs, tuning=plain(budgets))
    tolerance = tolerance.at_resolution(case.problem.resolution)
    observer = None if closed is None else closed.append
    known = StageState(case.problem, tolerance, watch, case.candidate(rank), observer=observer)
    try:
        if closing.walk(known, settings, budgets[0]):
            return known.outcome()
        return known.outcome(closing.close_thoroughly(known, settings))
    except KeyboardInterrupt:
        return known.interrupted()


def check_outcome(
    case: Case,
    outcome: Outcome,
    watch: Watch,
    eps: float = 0.0,
    gap: float = 0.0,
    undisturbed: bool = False,
    recorded: Sequence[Closed] = (),
) -> None:
    """Every bound reported on the way and in the end is valid; so is everything recorded.

    If it was not disturbed it ends when everything is closed, however wide the tolerance.
    """
    for entry in watch.journal.history:
        assert case.above(entry.upper) is None
        assert entry.lower <= case.optimum + case.slack
    assert case.above(outcome.upper) is None
    assert outcome.best is not None
    assert outcome.best.value <= case.optimum + case.slack
    check_status(outcome, case.supports.scale, eps, gap)
    for each in recorded:
        assert case.above(each.upper, case.inside(each)) is None
    closed = (Status.OPTIMAL, Status.PRECISION) if undisturbed else (Status.PRECISION,)
    if outcome.status in closed:
        check_covered(case, recorded)


#: Of the first attempt, and of the walk before the relaxation.
STAGE_BUDGETS = ((1e4, 1e4), (-1, -1), (-1, 3), (0, 0), (1, 0), (-1, 1e4), (-1, 2))


@pytest.mark.parametrize("budgets", STAGE_BUDGETS)
def test_stage_with_any_budget(budgets: tuple[float, ...]) -> None:
    """Tests descents that succeed at once, on the way down, at the end, or not at all."""
    for case in cases(range(6000, 6008 if FULL else 6003)):
        for rank, part in ((0, 0.0), (-1, 0.0), (2, 0.3), (-1, 0.7), (1, 1.2)):
            eps = part * (case.optimum - case.candidate(rank).value)
            watch = Watch(node_limit=2000)
            recorded: list[Closed] = []
            outcome = solve_thoroughly(
                case, budgets, rank, Tolerance(eps, 0.0), watch, closed=recorded
            )
            check_outcome(case, outcome, watch, eps, undisturbed=True, recorded=recorded)
    for case in map(uneven, range(6030, 6034)):
        watch, eps = Watch(), 0.02 * abs(case.optimum)
        recorded: list[Closed] = []
        outcome = solve_thoroughly(case, budgets, 0, Tolerance(eps, 0.0), watch, None, recorded)
        assert outcome.status is Status.OPTIMAL
        check_outcome(case, outcome, watch, eps, undisturbed=True, recorded=recorded)


def test_bound_from_a_descent_alone() -> None:
    """Tests the bound that blocks use: any vector in hand, any cutoff, any budget, any moment."""
    closed = 0
    for k, case in enumerate(cases(range(6600, 6640))):
        settings = Settings(tuning=plain(STAGE_BUDGETS[k % len(STAGE_BUDGETS)]))
        for known in (math.inf, case.upper_of(case.values)):
            for watch in (Watch(), Impatient(k % 7)):
                best, cutoff = case.candidate(int(case.rng.choice([0, 2, -1]))), random_cutoff(case)
                bound = bound_without_branching(case.problem, best, cutoff, known, settings, watch)
                assert case.above(bound) is None
                assert bound <= known
                closed += known == math.inf and bound <= max(cutoff, best.value) + 1e-9 * case.scale
    assert closed > 20


@pytest.mark.parametrize("budgets", [STAGE_BUDGETS[0], STAGE_BUDGETS[2], STAGE_BUDGETS[6]])
def test_same_stage_whatever_the_jobs(budgets: tuple[float, ...]) -> None:
    """Tests that what is closed is the same, in the same order, digit for digit."""
    for case in cases(range(6200, 6208), smallest=6):
        runs = []
        for n_jobs in (None, 2, 3):
            watch = Watch()
            nodes: list[Closed] = []
            tolerance = Tolerance(0.0, 1e-9)
            outcome = solve_thoroughly(case, budgets, -1, tolerance, watch, n_jobs, nodes)
            closed = [(tuple(c.included), tuple(c.allowed), c.upper) for c in nodes]
            vector = None if outcome.best is None else outcome.best.vector.tolist()
            history = [(e.lower, e.upper, e.nodes, e.open_nodes) for e in watch.journal.history]
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
def test_interrupt_at_each_report(budgets: tuple[float, ...], interrupt: bool) -> None:
    """Tests that an interrupt at each report in turn leaves a valid bound."""
    for case in cases(range(6300, 6306), smallest=4):
        for at in range(30):
            stop = Stop(at, interrupt)
            watch = Watch(callback=stop)
            recorded: list[Closed] = []
            outcome = solve_thoroughly(
                case, budgets, -1, Tolerance(0.0, 1e-6), watch, closed=recorded
            )
            check_outcome(case, outcome, watch, gap=1e-6, recorded=recorded)
            if len(stop.seen) <= at:
                break
            # Asked to stop at the last report, a stage has come to its end.
            ends = (Status.INTERRUPTED, Status.OPTIMAL, Status.PRECISION)
            assert outcome.status in (ends[:2] if interrupt else ends)
        else:
            pytest.fail("the stage reports more often than was tried")


class Impatient(Watch):
    """A watch whose time is up when it is asked for the n-th time."""

    def __init__(self, asked: int) -> None:
        super().__init__()
        self.left = asked

    def out_of_time(self) -> bool:
        self.left -= 1
        if self.left < 0:
            self.clock._stage_end = -math.inf
        return super().out_of_time()


@pytest.mark.parametrize("budgets", [STAGE_BUDGETS[0], STAGE_BUDGETS[6]])
def test_out_of_time_at_any_moment(budgets: tuple[float, ...]) -> None:
    """Tests a clock that runs out between any two steps of a dive."""
    for case in cases(range(6400, 6410), smallest=5):
        for asked in (*range(12), 20, 40, 80):
            watch = Impatient(asked)
            recorded: list[Closed] = []
            outcome = solve_thoroughly(
                case, budgets, -1, Tolerance(0.0, 1e-6), watch, closed=recorded
            )
            check_outcome(case, outcome, watch, gap=1e-6, recorded=recorded)
            late = Status.TIME_LIMIT if watch.left < 0 else Status.PRECISION
            assert outcome.status in (Status.OPTIMAL, late)


class InterruptAt:
    """Raises Ctrl-C before a chosen line of the modules under test, counted as executed."""

    FILES = tuple(m.__file__ for m in (walk, parts, steps, closing, tree, methods, share, state))

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self.FILES:
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def interrupt_lines(lines: range, budgets: tuple[float, ...]) -> int:
    """Ctrl-C before lines of a stage, counted as executed; how many stages were cut short."""
    case = next(cases(range(6501, 6520), smallest=5))
    cut = 0
    for line in lines:
        tracer, watch = InterruptAt(line), Watch()
        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            recorded: list[Closed] = []
            outcome = solve_thoroughly(
                case, budgets, -1, Tolerance(0.0, 1e-6), watch, closed=recorded
            )
        except KeyboardInterrupt:
            # Outside of the work nothing is returned, so nothing wrong either.
            continue
        finally:
            sys.settrace(before)
        check_outcome(case, outcome, watch, gap=1e-6, recorded=recorded)
        if tracer.left >= 0:
            return cut
        cut += 1
    return cut


@pytest.mark.parametrize("budgets", [STAGE_BUDGETS[0], STAGE_BUDGETS[2]])
def test_interrupt_at_some_lines(budgets: tuple[float, ...]) -> None:
    """Tests Ctrl-C between lines of the whole stage: the bound is valid, or none is returned."""
    assert interrupt_lines(range(0, 4000, 41), budgets) > 10


@pytest.mark.slow
@pytest.mark.parametrize("budgets", STAGE_BUDGETS[:7])
def test_interrupt_at_any_line(budgets: tuple[float, ...]) -> None:
    """Tests Ctrl-C before every line."""
    assert interrupt_lines(spread(0, 100_000), budgets) > 10 * SHARE


# What is kept


def test_a_component_in_hand_is_not_lost() -> None:
    """Tests that what was found before survives if nothing feasible is left of a node."""
    problem = Subproblem(np.diag([3.0, 2.0, 1.0, 0.0]), 1, np.eye(4)[:, :2])
    search = TreeSearch(StageState(problem, Tolerance(), Watch()), ClassicalBound(problem))
    found = Candidate(1.0, np.eye(4)[2])
    evaluation = search._finish(Node(np.arange(0), np.arange(2)), found, 1.0)
    assert evaluation is not None
    assert evaluation.closed is not None
    assert evaluation.closed.upper == -math.inf
    assert evaluation.best is found
