"""Tests of the search: any valid bound leads to the optimum, and what is closed covers everything.

The bounds used here are deliberately weak, or absurd, or interrupted; then the share relaxation
itself, node by node, against every support of the node.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from types import FrameType
from typing import Any

import numpy as np
import pytest

from helpers.cases import (
    BRANCHING,
    EAGER,
    KINDS,
    RELAXING,
    WALKING,
    Case,
    Exact,
    Fixing,
    Loose,
    Weak,
    check_closed,
    check_covered,
    check_status,
    classical_bound,
    explored,
    has_spent_features,
    is_met,
    lopsided,
    random_cutoff,
    random_node,
    run,
    share_bound,
    supports_of,
)
from helpers.exact import exceeds
from helpers.seeds import crossed, later, seeds, split, spread
from orthospca._methods import Method
from orthospca.bounds.classical import ClassicalBound
from orthospca.model.limits import Watch
from orthospca.model.nodes import Bound, Closed, Node, NodeBound
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import ShareTuning, Tuning
from orthospca.search import methods, state, tree
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import Outcome
from orthospca.search.state import StageState
from orthospca.search.tree import TreeSearch
from orthospca.search.views import MatrixView
from orthospca.supports.best import Candidate, best_on_support, no_feasible_vector

BOUNDS: tuple[Callable[[Case], Bound], ...] = (
    Loose,
    Weak,
    Exact,
    Fixing,
    classical_bound,
    share_bound,
)


@pytest.mark.parametrize("problems", split(range(30), 10))
@pytest.mark.parametrize(("make", "enumerate_below"), crossed(BOUNDS, [1, 5, 10_000]))
def test_any_valid_bound_leads_to_the_optimum(
    make: Callable, enumerate_below: int, problems: range
) -> None:
    """Tests weak, absurd, exact and fixing bounds on random problems, to the last node."""
    for seed in problems:
        case = Case(seed)
        closed: list[Closed] = []
        outcome = run(case, make(case), enumerate_below=enumerate_below, closed=closed)
        check_closed(case, outcome, closed, complete=True)
        if not case.values:
            assert outcome.status is Status.EXHAUSTED
            assert outcome.best is None
            continue
        assert outcome.best is not None
        assert outcome.status is Status.OPTIMAL
        check_status(outcome, case.scale, 1e-9 * case.scale)
        assert outcome.best.value <= case.optimum + case.slack
        x = outcome.best.vector
        assert np.count_nonzero(x) <= case.p
        assert abs(np.linalg.norm(x) - 1) <= 1e-12
        assert np.abs(case.previous @ x).max(initial=0.0) <= 1e-12


@pytest.mark.parametrize("part", seeds(1, 12))
@pytest.mark.parametrize("make", BOUNDS)
def test_wide_tolerance_leaves_a_valid_bound(make: Callable, part: int) -> None:
    """Tests tolerances that close nodes with better vectors inside: the bound must cover them.

    The incumbent is the worst support's, so that the certificate cannot hide behind it.
    """
    for seed in range(4 * part, 4 * part + 4):
        case = Case(seed, smallest=3)
        if not case.values:
            continue
        incumbent = case.candidate(-1)
        for part in (0.3, 0.7, 1.0, 1.5):
            eps = part * (case.optimum - incumbent.value)
            closed: list[Closed] = []
            outcome = run(case, make(case), Tolerance(eps, 0.0), incumbent=incumbent, closed=closed)
            check_closed(case, outcome, closed, complete=False)
            check_status(outcome, case.scale, eps)


@pytest.mark.parametrize("problems", split(range(100, 106), 2))
@pytest.mark.parametrize("make", [Weak, Fixing, share_bound])
def test_the_same_search_for_any_number_of_threads(make: Callable, problems: range) -> None:
    """Tests that the closed nodes are the same, in the same order, digit for digit."""
    for seed in problems:
        case = Case(seed, largest=8, smallest=6)
        runs = []
        for n_jobs in (1, 2, 3):
            nodes: list[Closed] = []
            outcome = run(case, make(case), n_jobs=n_jobs, closed=nodes)
            closed = [(tuple(c.included), tuple(c.allowed), c.upper) for c in nodes]
            vector = None if outcome.best is None else outcome.best.vector.tolist()
            runs.append((closed, vector, outcome.upper, outcome.status, outcome.nodes))
        assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("problems", split(range(200, 206), 2))
@pytest.mark.parametrize("make", BOUNDS)
def test_node_limit(make: Callable, problems: range) -> None:
    """Tests every limit up to the end: the bound is valid, and "optimal" only where it is."""
    for seed in problems:
        case = Case(seed, smallest=4)
        for limit in (1, 2, 3, 5, 8, 15):
            outcome = run(case, make(case), watch=Watch(node_limit=limit))
            assert case.above(outcome.upper) is None
            if outcome.status is Status.EXHAUSTED:
                assert not case.values
            else:
                assert outcome.status in (Status.OPTIMAL, Status.NODE_LIMIT)
            if outcome.best is not None:
                assert outcome.best.value <= case.optimum + case.slack
                check_status(outcome, case.scale, 1e-9 * case.scale)


@pytest.mark.parametrize("make", BOUNDS)
@pytest.mark.parametrize("known", [True, False])
def test_no_time_at_all(make: Callable, known: bool) -> None:
    """Tests a search that may not begin: the bound known beforehand, or none, and no claim."""
    for seed in range(10):
        case = Case(seed)
        if not case.values:
            continue
        upper = case.optimum + case.scale if known else math.inf
        closed: list[Closed] = []
        outcome = run(case, make(case), watch=Watch(time_limit=0.0), upper=upper, closed=closed)
        assert outcome.status is Status.TIME_LIMIT
        assert outcome.best is None
        assert outcome.upper == upper
        assert closed == []


@pytest.mark.parametrize("problems", [(300, 304), pytest.param((301, 311), marks=pytest.mark.slow)])
@pytest.mark.parametrize(("make", "n_jobs"), crossed([Weak, Loose, Fixing, share_bound], [1, 2]))
def test_interrupt_inside_the_bound(make: Callable, n_jobs: int, problems: tuple) -> None:
    """Tests Ctrl-C during the bound of each node in turn: what is returned stays true."""
    for seed in problems:
        case = Case(seed, smallest=5)
        interrupts = 0
        for last in range(12):
            bound = make(case)
            calls = []

            def interrupted(
                node: Node,
                cutoff: float,
                watch: Watch,
                bound: Bound = bound,
                calls: list = calls,
                last: int = last,
            ) -> NodeBound:
                calls.append(None)
                if len(calls) > last:
                    raise KeyboardInterrupt
                return bound(node, cutoff, watch)

            watch = Watch()
            outcome = run(case, interrupted, watch=watch, n_jobs=n_jobs)
            assert case.above(outcome.upper) is None
            if len(calls) > last:
                interrupts += 1
                assert watch.interrupted
                met = outcome.best is not None and is_met(
                    outcome.best.value, outcome.upper, 1e-9 * case.scale
                )
                assert outcome.status is (Status.OPTIMAL if met else Status.INTERRUPTED)
        assert interrupts or not case.values


def test_interrupt_by_the_callback() -> None:
    """Tests that a callback that says stop, or raises Ctrl-C itself, leaves a valid bound."""
    for seed in range(10):
        case = Case(seed, smallest=4)
        for last in range(4):
            for raises in (False, True):
                reports = []

                def callback(
                    progress: Any, reports: list = reports, last: int = last, raises: bool = raises
                ) -> bool:
                    reports.append(progress)
                    if len(reports) > last and raises:
                        raise KeyboardInterrupt
                    return len(reports) > last

                outcome = run(case, Loose(case), watch=Watch(callback=callback))
                assert case.above(outcome.upper) is None
                assert all(case.above(report.upper) is None for report in reports)


class InterruptAt:
    """Raises Ctrl-C before a chosen line of the search, counted as they are executed."""

    FILES = (tree.__file__, state.__file__)

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


@pytest.mark.parametrize(
    ("seed", "step"), [(407, 3), *(pytest.param(s, 1, marks=pytest.mark.slow) for s in (3, 407))]
)
def test_interrupt_at_any_line(seed: int, step: int) -> None:
    """Tests Ctrl-C between any two lines of the search: the bound is valid, or none is returned.

    A signal can arrive anywhere, also between taking nodes off the frontier and noting that they
    are being worked on.
    """
    case = Case(seed, smallest=4, largest=5)
    case.use(case.matrix, np.empty((0, len(case.matrix))), 2)
    wrong = []
    for line in range(0, 3000, step):
        tracer = InterruptAt(line)
        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            outcome = run(case, Weak(case), incumbent=case.candidate(-1))
        except KeyboardInterrupt:
            continue
        finally:
            sys.settrace(before)
        if case.above(outcome.upper) is not None:
            wrong.append((line, outcome.upper, case.optimum))
        if tracer.left >= 0:
            break
    else:
        pytest.fail("the search has more lines than were tried")
    assert wrong == []


def test_roots_that_overlap_or_are_missing() -> None:
    """Tests several roots that cover one another, and no root: nothing is left to search."""
    for seed in range(10):
        case = Case(seed, smallest=3)
        if not case.values:
            continue
        n = len(case.matrix)
        roots = [Node(np.array([i]), np.arange(n)) for i in range(n)]
        tolerance = Tolerance(1e-9 * case.scale, 0.0)
        nodes: list[Closed] = []
        known = StageState(case.problem, tolerance, Watch(), observer=nodes.append)
        outcome = explored(TreeSearch(known, Weak(case)), roots)
        assert outcome.status is Status.OPTIMAL
        check_status(outcome, case.scale, tolerance.eps)
        check_closed(case, outcome, nodes, complete=True)
        known = StageState(case.problem, tolerance, Watch(), upper=1e9)
        closed = Closed(np.arange(0), np.arange(n), case.optimum)
        known.close(closed)
        assert explored(TreeSearch(known, Weak(case)), []).upper == case.optimum


#: The methods, with what makes them branch; the last two with conditioning alone, which leaves the
#: relaxation little to do, and with the relaxation alone.
STAGES: dict[str, tuple[Method, Tuning]] = {
    "enumeration": (Method.ENUMERATION, BRANCHING),
    "eigenvalue": (Method.EIGENVALUE, BRANCHING),
    "branch-and-bound": (Method.BRANCH_AND_BOUND, BRANCHING),
    "conditioning": (Method.BRANCH_AND_BOUND, WALKING),
    "relaxation": (Method.BRANCH_AND_BOUND, RELAXING),
}


def settings_of(name: str, tolerance: Tolerance) -> Settings:
    method, tuning = STAGES[name]
    return Settings(method=method, tolerance=tolerance, tuning=tuning)


def start_with(patch: pytest.MonkeyPatch, rank: int | None) -> None:
    """Let stages begin with the vectors of supports of a rank, or with none.

    A heuristic that finds the optimum at once would hide everything that was wrongly ruled out. Of
    single features the best one is given: that is no matter of luck.
    """

    def find(form: MatrixView, stop: Callable) -> list[Candidate | None]:
        problem = form.problem
        found: list[Candidate | None] = [None] * (problem.sparsity + 1)
        for size in range(1, problem.sparsity + 1) if rank is not None else ():
            values = values_of(problem, size)
            ordered = sorted(values, key=values.__getitem__, reverse=True)
            if ordered:
                support = ordered[min(rank, len(ordered) - 1) if size > 1 else 0]
                found[size] = best_on_support(problem, np.array(support))
        return found

    patch.setattr(MatrixView, "find", find)
    patch.setattr(MatrixView, "follow", lambda *_: [])
    patch.setattr(methods, "find_incumbent", lambda *_, **__: None)


def values_of(problem: Subproblem, size: int) -> dict[tuple[int, ...], float]:
    previous = np.ascontiguousarray(problem.previous.T)
    return supports_of(problem.covariance, previous, size).values


def check_rungs(problem: Subproblem, outcome: Outcome) -> None:
    """What was proved for smaller sparsities on the way is true as well."""
    previous = np.ascontiguousarray(problem.previous.T)
    for rung in outcome.rungs:
        supports = supports_of(problem.covariance, previous, rung.size)
        assert supports.above(rung.upper) is None, rung
        if rung.best is not None:
            assert np.count_nonzero(rung.best.vector) <= rung.size
            assert rung.best.value <= rung.upper


def check_stages(
    seeds: range, name: str, disguise: bool, rank: int | None, patch: pytest.MonkeyPatch
) -> None:
    """Whole stages that begin with the vector of a support of that rank, or with none."""
    start_with(patch, rank)
    for seed in seeds:
        case = Case(seed, smallest=3)
        if disguise:
            lopsided(case)
        if not case.values:
            continue
        first = None if rank is None else case.candidate(rank)
        distance = case.scale if first is None else case.optimum - first.value
        part, _ = case.problem.without_spent_features()
        for eps in (0.0, 0.3 * distance, 1.1 * distance):
            settings = settings_of(name, Tolerance(eps, 0.0))
            closed: list[Closed] = []
            watch = Watch(node_limit=5000)
            outcome = solve_stage(case.problem, settings, watch, first, observer=closed.append)
            assert case.above(outcome.upper) is None, (seed, eps)
            assert outcome.best is not None
            assert outcome.best.value <= case.optimum + case.slack
            check_status(outcome, case.supports.scale, eps)
            assert outcome.status in (Status.OPTIMAL, Status.PRECISION), (seed, eps)
            check_rungs(part, outcome)
            if not has_spent_features(case):
                check_covered(case, closed)


@pytest.mark.parametrize("rank", [None, 1, -1])
@pytest.mark.parametrize("disguise", [False, True])
@pytest.mark.parametrize("name", STAGES)
def test_stage_with_any_incumbent(
    name: str, disguise: bool, rank: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests whole stages, with all that they begin with, from a bad incumbent or from none."""
    check_stages(range(800, 802), name, disguise, rank, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [None, 1, 3, -1])
@pytest.mark.parametrize("disguise", [False, True])
@pytest.mark.parametrize("name", STAGES)
def test_stage_with_any_incumbent_at_length(
    name: str, disguise: bool, rank: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests hundreds of such stages."""
    check_stages(spread(802, 1000), name, disguise, rank, monkeypatch)


@pytest.mark.parametrize("name", STAGES)
def test_a_single_feature_is_found_whatever_is_known(name: str) -> None:
    """Tests p = 1 where components use the features of largest variance, and a hint is given."""
    n = 40
    matrix = np.diag([*[100.0] * 30, *np.arange(1.0, 11.0)])
    X = np.zeros((n, 1))
    X[:30] = math.sqrt(1 / 30)
    hints = (None, Candidate(1.0, np.eye(n)[30]), Candidate(10.0, np.eye(n)[39]))
    for hint in hints:
        settings = settings_of(name, Tolerance(0.0, 1e-9))
        outcome = solve_stage(Subproblem(matrix, 1, X), settings, Watch(), hint)
        assert outcome.best is not None
        assert outcome.best.value == 10.0
        assert outcome.upper >= 10.0
        assert outcome.status is Status.OPTIMAL


@pytest.mark.parametrize("part", seeds(1, 4))
def test_node_limit_of_a_stage(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that better vectors found on the way are no excuse for more nodes than allowed."""
    start_with(monkeypatch, -1)
    tuning = replace(RELAXING, tree=replace(RELAXING.tree, round=1))
    settings = Settings(tolerance=Tolerance(0.0, 1e-9), tuning=tuning)
    stopped = 0
    for seed in range(900 + 15 * part, 915 + 15 * part):
        case = Case(seed, largest=9, smallest=6)
        for limit in (1, 3, 6) if case.values else ():
            watch = Watch(node_limit=limit)
            outcome = solve_stage(case.problem, settings, watch)
            assert case.above(outcome.upper) is None
            # A round takes two nodes, and there may be one root for each feature.
            assert outcome.nodes <= limit + max(2, len(case.matrix)), (seed, limit)
            assert all(entry.nodes <= outcome.nodes for entry in watch.journal.history)
            stopped += outcome.status is Status.NODE_LIMIT
    assert stopped > 2


#: Sizes of loadings: those around the rank tolerance are the delicate ones.
LOADINGS = np.array([0, 0, 3, 6, 9, 11, 12.5, 13.2, 14, 16])


@pytest.mark.parametrize("part", seeds(1, 3))
@pytest.mark.parametrize("name", STAGES)
def test_components_with_tiny_loadings(name: str, part: int) -> None:
    """Tests components with loadings down to 1e-16 against exactly orthogonal vectors.

    On some supports they restrict to nearly dependent vectors, or to nearly nothing. The bound, and
    the proof that no vector exists, are checked in rational arithmetic.
    """
    settings = settings_of(name, Tolerance(0.0, 1e-4))
    for seed in range(20 * part, 20 * part + 20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 5))
        p = int(rng.integers(1, n + 1))
        matrix = KINDS[seed % len(KINDS)](rng, n)
        X = rng.standard_normal((n, int(rng.integers(1, 3))))
        X *= 10.0 ** -rng.choice(LOADINGS, size=X.shape) * (rng.random(X.shape) < 0.8)
        X = X[:, np.linalg.norm(X, axis=0) > 0]
        X = np.linalg.qr(X)[0] if rng.random() < 0.5 else X / np.linalg.norm(X, axis=0)
        problem = Subproblem(matrix, p, np.ascontiguousarray(X))
        outcome = solve_stage(problem, settings, Watch(node_limit=300))
        bound = outcome.upper if outcome.upper > -math.inf else -1e200
        if math.isfinite(bound):
            for T in combinations(range(n), p):
                assert not exceeds(matrix[np.ix_(T, T)], X[T, :].T, bound), seed


def check_bound(case: Case, node: Node, bound: NodeBound, cutoff: float) -> None:
    """What a bound says of a node, against every support of it."""
    kept = case.inside(bound)
    gone = [T for T in case.inside(node) if T not in kept]
    assert set(bound.included) <= set(bound.allowed) <= set(node.allowed)
    if len(bound.allowed):
        assert set(node.included) <= set(bound.included)
    else:
        # Nothing is left of it: then it is closed.
        assert bound.upper <= cutoff
    assert case.above(bound.upper, kept) is None
    assert case.above(cutoff, gone) is None
    assert case.above(max(bound.upper, bound.fixed_upper), gone) is None
    for support in bound.supports:
        assert len(set(support.tolist())) == len(support) == case.p
        assert set(node.included) <= set(support) <= set(node.allowed)


def is_open(case: Case, bound: NodeBound, cutoff: float) -> bool:
    """Whether the search would branch on what is left of the node."""
    determined = len(bound.allowed) <= case.p or len(bound.included) >= case.p
    if bound.upper <= cutoff or determined:
        return False
    return not no_feasible_vector(case.problem, bound.allowed)


#: How often a bound is proved, when progress is judged, and from where on features are fixed.
PATIENCES = (
    EAGER,
    ShareTuning(),
    ShareTuning(between_checks=1, first_checks=1, patience=1.0, later_patience=1.0, fix_within=1e9),
    ShareTuning(between_checks=40, first_checks=1, patience=1e9, later_patience=2.0),
)


def check_nodes(seeds: range, tuning: ShareTuning) -> None:
    """The bound of random nodes and of their descendants, against every support."""
    fixed = 0
    for seed in seeds:
        case = Case(seed, largest=9, smallest=3)
        if not case.values:
            continue
        bound_of = share_bound(case, tuning)
        for _ in range(2):
            cutoff = random_cutoff(case)
            pending = [random_node(case)]
            for _ in range(6):
                if not pending:
                    break
                node = pending.pop()
                if len(node.included) >= case.p or len(node.allowed) <= case.p:
                    continue
                if no_feasible_vector(case.problem, node.allowed):
                    continue
                bound = bound_of(node, cutoff, Watch())
                check_bound(case, node, bound, cutoff)
                fixed += len(bound.allowed) < len(node.allowed)
                if is_open(case, bound, cutoff):
                    assert bound.branch in set(bound.allowed) - set(bound.included), seed
                    tightened = Node(
                        bound.included, bound.allowed, bound.upper, bound.branch, bound.payload
                    )
                    pending.extend(tightened.children())
    assert fixed > 0


@pytest.mark.parametrize("tuning", [*PATIENCES[::2], *later(*PATIENCES[1::2])])
def test_share_bound_node_by_node(tuning: ShareTuning) -> None:
    """Tests random nodes; the children inherit what their parent hands down, as in the search."""
    check_nodes(range(500, 510), tuning)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("tuning", PATIENCES)
def test_share_bound_node_by_node_at_length(tuning: ShareTuning, part: int) -> None:
    """Tests thousands of nodes more."""
    check_nodes(spread(510 + part, 1800, 3), tuning)


@pytest.mark.parametrize("part", range(2))
def test_classical_bound_node_by_node(part: int) -> None:
    """Tests the classical bounds of random nodes against every support."""
    for seed in range(700 + part, 780, 2):
        case = Case(seed, largest=8)
        if not case.values:
            continue
        bound_of = ClassicalBound(case.problem)
        for _ in range(6):
            node, cutoff = random_node(case), random_cutoff(case)
            bound = bound_of(node, cutoff, Watch())
            check_bound(case, node, bound, cutoff)
            if is_open(case, bound, cutoff):
                assert bound.branch in set(node.free)


def test_fixing_that_leaves_nothing_feasible() -> None:
    """Tests a node of which fixing leaves only indices that the components fill completely."""
    case = Case(0)
    case.use(np.diag([0.0, 0.0, -5.0]), np.eye(3)[:2], 1)
    assert case.values == {(2,): -5.0}
    for cutoff in (-6.0, -5.0, -1.0, 1.0):
        for tuning in PATIENCES:
            bound = share_bound(case, tuning)
            check_bound(case, case.root, bound(case.root, cutoff, Watch()), cutoff)
            outcome = run(case, bound, Tolerance(cutoff + 6.0, 0.0))
            assert outcome.upper >= -5.0
            assert outcome.best is not None
            assert outcome.best.value == -5.0


def test_share_bound_out_of_time() -> None:
    """Tests that a bound cut short by the clock, or by an interrupt, is weaker but still true."""
    for seed in range(20):
        case = Case(seed, smallest=4)
        if not case.values:
            continue
        cutoff = case.optimum
        for interrupted in (True, False):
            watch = Watch(time_limit=0.0)
            watch.interrupted = interrupted
            bound = share_bound(case)(case.root, cutoff, watch)
            check_bound(case, case.root, bound, cutoff)


@pytest.mark.parametrize("part", seeds(1, 3))
@pytest.mark.parametrize("make", [Fixing, share_bound])
def test_what_fixing_removes(make: Callable, part: int) -> None:
    """Tests that closed nodes and what was removed from nodes hold every support, and its bound."""
    removed = 0
    for seed in range(7300 + 20 * part, 7320 + 20 * part):
        case = Case(seed, largest=9, smallest=6)
        if not case.values:
            continue
        incumbent = case.candidate(int(case.rng.choice([0, 0, 1])))
        eps = float(case.rng.choice([1e-9, 0.01, 0.05])) * case.scale
        closed: list[Closed] = []
        outcome = run(case, make(case), Tolerance(eps, 0.0), incumbent=incumbent, closed=closed)
        check_closed(case, outcome, closed, complete=True)
        check_covered(case, closed)
        taken = [each for each in closed if each.kept is not None]
        assert all(closed.upper <= outcome.upper for closed in taken)
        removed += len(taken)
    assert removed >= 2


def test_children_cover_the_node() -> None:
    """Tests that each support of a node is in exactly one of its children."""
    for seed in range(40):
        case = Case(seed)
        node = random_node(case)
        if len(node.free) == 0:
            continue
        branch = int(case.rng.choice(node.free))
        parent = Node(node.included, node.allowed, 3.0, branch, payload="handed down")
        inside, outside = parent.children()
        assert {*case.inside(inside), *case.inside(outside)} == {*case.inside(parent)}
        assert not {*case.inside(inside)} & {*case.inside(outside)}
        for child in (inside, outside):
            assert child.payload == "handed down"
            assert child.upper == 3.0
            assert (np.diff(child.included) > 0).all()
