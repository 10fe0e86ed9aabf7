"""Random nodes and stages with all their values, bounds of every quality, and what must hold.

Bounds are compared with supports in rational arithmetic (:class:`Supports`), so that nothing is
forgiven. What is allowed for rounding is left where a number is compared that floating point has
made: the value of a vector is the rounded value of a vector that is orthogonal up to rounding.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from helpers import strategies
from helpers.brute_force import candidates, sequence
from helpers.exact import exceeds
from orthospca.bounds.classical import ClassicalBound
from orthospca.bounds.share.node import ShareBound
from orthospca.model.limits import Watch
from orthospca.model.nodes import Bound, Closed, Node, NodeBound
from orthospca.model.result import Result, Status
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import ShareTuning, TreeTuning, Tuning, WalkTuning
from orthospca.search.outcome import Outcome
from orthospca.search.state import StageState
from orthospca.search.tree import TreeSearch
from orthospca.supports.best import Candidate, best_on_support

#: Rounding of the brute force, relative to the largest entry.
ROUNDING = 1e-13
#: What rounding may leave of a gap where everything was searched, relative to the largest entry.
LEFT_BY_ROUNDING = 1e-9

KINDS = tuple(getattr(strategies, kind.replace("-", "_")) for kind in strategies.KINDS)

#: Nothing is enumerated: every node of a small problem would be.
BRANCHING = Tuning(
    walk=WalkTuning(enumerate_below=1),
    tree=TreeTuning(enumerate_below=1, enumerate_below_strong=1, enumerate_without_incumbent=1),
)
#: The relaxation counts as free: no rung is climbed for long, nothing is searched by conditioning.
RELAXING = replace(BRANCHING, share=ShareTuning(cost=-1))
#: It counts as too dear: everything is searched by conditioning.
WALKING = replace(BRANCHING, share=ShareTuning(cost=math.inf))
#: Features are tested at once, however far the bound is from the level.
EAGER = ShareTuning(between_checks=10, first_checks=2, fix_within=1e9)


def largest_entry(matrix: np.ndarray) -> float:
    """The largest magnitude of a matrix, against which rounding is measured; 1 for zero."""
    return float(np.abs(matrix).max()) or 1.0


class Supports:
    """The value of each support of a stage, and whether a bound holds on it, decided exactly.

    Attributes
    ----------
    values : dict
        The best value on each feasible support, in floating point.
    scale : float
        Largest entry of the matrix.
    """

    def __init__(self, matrix: np.ndarray, previous: np.ndarray, p: int) -> None:
        self.matrix, self.previous = matrix, previous
        self.scale = largest_entry(matrix)
        self.values = {best.support: best.value for best, _ in candidates(matrix, previous, p)}
        self._certain: dict[tuple[int, ...], float] = {}
        self._proved: dict[tuple[int, ...], float] = {}

    def exceeds(self, support: tuple[int, ...], bound: float) -> bool:
        """Whether a vector on the support, exactly orthogonal to the components, has more."""
        if bound >= min(self._from_here_on_certain(support), self._proved.get(support, math.inf)):
            return False
        if math.isnan(bound):
            return True
        T = list(support)
        # No unit vector has less than this: where it is exceeded, there is a feasible one.
        least = max(bound, -2.0 * len(T) * self.scale)
        sub, X = self.matrix[np.ix_(T, T)], self.previous[:, T]
        if exceeds(sub, X, least):
            return True
        self._proved[support] = bound
        return False

    def above(
        self, bound: float, among: Iterable[tuple[int, ...]] | None = None
    ) -> tuple[int, ...] | None:
        """A support whose exact value is more than the bound; None if the bound is one."""
        supports = self.values if among is None else among
        return next((T for T in supports if self.exceeds(T, bound)), None)

    def upper(self, among: Iterable[tuple[int, ...]]) -> float:
        """A bound on some supports, not below the exact one and close to it."""
        supports = list(among)
        top = max((self.values[T] for T in supports), default=-math.inf)
        slack = ROUNDING * self.scale
        while self.above(top + slack, supports) is not None:
            slack *= 8
        return top + slack

    def _from_here_on_certain(self, support: tuple[int, ...]) -> float:
        """Above this, floating point decides: rounding moves a null space by 1/σ of its unit."""
        if support not in self._certain:
            singular = np.linalg.svd(self.previous[:, list(support)], compute_uv=False)
            smallest = float(singular[singular > 1e-14].min(initial=1.0))
            doubt = len(support) * (1e-9 + 1e-13 / smallest) * self.scale
            self._certain[support] = self.values[support] + doubt
        return self._certain[support]


@lru_cache(maxsize=2048)
def _supports(matrix: bytes, previous: bytes, n: int, p: int) -> Supports:
    return Supports(np.frombuffer(matrix).reshape(n, n), np.frombuffer(previous).reshape(-1, n), p)


def supports_of(matrix: np.ndarray, previous: np.ndarray, p: int) -> Supports:
    """All supports of a stage; the same object for the same stage, with what it has found out."""
    return _supports(matrix.tobytes(), previous.tobytes(), len(matrix), p)


@lru_cache(maxsize=2048)
def _drawn(
    seed: int, largest: int, smallest: int
) -> tuple[np.ndarray, np.ndarray, int, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(smallest, largest + 1))
    p = int(rng.choice([1, 2, rng.integers(1, n + 1)]))
    matrix = KINDS[seed % len(KINDS)](rng, n)
    previous = np.empty((0, n))
    if rng.random() < 0.5:
        # One or two components, or nearly all that exist.
        count = int(rng.choice([rng.integers(1, 3), rng.integers(1, n)]))
        found = sequence(matrix, [p] * count)
        previous = np.array([optimum.vector for optimum in found])
    matrix.flags.writeable = previous.flags.writeable = False
    return matrix, previous, p, rng


class Case:
    """A random problem, with the components before it and the value of each of its supports."""

    def __init__(self, seed: int, largest: int = 7, smallest: int = 2) -> None:
        matrix, previous, p, rng = _drawn(seed, largest, smallest)
        self.rng = copy.deepcopy(rng)
        self.use(matrix, previous, p)

    def use(self, matrix: np.ndarray, previous: np.ndarray, p: int) -> None:
        """Take another problem."""
        self.matrix, self.previous, self.p = matrix, previous, p
        self.problem = Subproblem(matrix, p, np.ascontiguousarray(previous.T))
        self.supports = supports_of(matrix, previous, p)
        self.values = self.supports.values
        self._holds = np.zeros((len(self.values), len(matrix)), dtype=bool)
        for row, support in zip(self._holds, self.values, strict=True):
            row[list(support)] = True
        self.optimum = max(self.values.values(), default=-math.inf)
        self.scale = self.supports.scale
        self.slack = ROUNDING * self.scale

    @property
    def root(self) -> Node:
        return Node(np.arange(0), np.arange(len(self.matrix)))

    def inside(self, node: Node | Closed | NodeBound) -> dict[tuple[int, ...], float]:
        """The supports of a node, with their values."""
        chosen = self._between(node.included, node.allowed)
        kept = getattr(node, "kept", None)
        if kept is not None:
            chosen &= ~self._between(*kept)
        return dict(itertools.compress(self.values.items(), chosen.tolist()))

    def _between(self, included: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """For each support whether it has the included indices, and allowed ones only."""
        chosen = self._holds[:, included].all(axis=1)
        chosen &= self._holds[:, allowed].sum(axis=1) == self.p
        return chosen

    def above(
        self, bound: float, among: Iterable[tuple[int, ...]] | None = None
    ) -> tuple[int, ...] | None:
        """See :meth:`Supports.above`."""
        return self.supports.above(bound, among)

    def upper_of(self, supports: Iterable[tuple[int, ...]]) -> float:
        """See :meth:`Supports.upper`."""
        return self.supports.upper(supports)

    def candidate(self, rank: int) -> Candidate:
        """The vector of the support with the best value, the next, …; of the worst for −1."""
        ordered = sorted(self.values, key=self.values.__getitem__, reverse=True)
        found = best_on_support(self.problem, np.array(ordered[min(rank, len(ordered) - 1)]))
        assert found is not None
        return found


class Loose:
    """An absurd bound that is valid all the same: infinity."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def upper(self, node: Node) -> float:
        return math.inf

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        branch = int(node.free[len(node.free) // 2])
        return NodeBound(self.upper(node), node.included, node.allowed, branch=branch)


class Exact(Loose):
    """The optimum of the node: the best bound there is."""

    def upper(self, node: Node) -> float:
        return self.case.upper_of(self.case.inside(node))


class Weak(Exact):
    """The optimum of the node and something more, different in each node."""

    def upper(self, node: Node) -> float:
        extra = (7 * int(node.included.sum()) + 3 * int(node.allowed.sum())) % 5
        return super().upper(node) + 0.1 * extra * self.case.scale


class Fixing(Loose):
    """Drops each index that no support above the cutoff contains, then bounds what is left."""

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        inside = self.case.inside(node)
        kept = {T for T in inside if self.case.supports.exceeds(T, cutoff)}
        allowed = np.array(
            [i for i in node.allowed if i in node.included or any(i in T for T in kept)]
        )
        left = {T for T in inside if set(T) <= set(allowed)}
        free = np.setdiff1d(allowed, node.included)
        return NodeBound(
            self.case.upper_of(left),
            node.included,
            allowed,
            branch=int(free[0]) if len(free) else -1,
            fixed_upper=self.case.upper_of(set(inside) - left),
        )


def share_bound(case: Case, tuning: ShareTuning = EAGER) -> ShareBound:
    return ShareBound(case.problem, case.optimum if case.values else 0.0, tuning)


def classical_bound(case: Case) -> ClassicalBound:
    return ClassicalBound(case.problem)


def run(
    case: Case,
    bound: Bound,
    tolerance: Tolerance | None = None,
    *,
    watch: Watch | None = None,
    incumbent: Candidate | None = None,
    upper: float = math.inf,
    **options: Any,
) -> Outcome:
    """Branch and bound on all supports, with nothing before it."""
    tolerance = tolerance or Tolerance(1e-9 * case.scale, 0.0)
    watch, closed = watch or Watch(), options.pop("closed", None)
    observer = None if closed is None else closed.append
    known = StageState(case.problem, tolerance, watch, incumbent, upper, observer)
    return explored(TreeSearch(known, bound, **options), [case.root])


def explored(search: TreeSearch, roots: Sequence[Node]) -> Outcome:
    """Explore, and return how it ended."""
    try:
        return search.state.outcome(search.explore(roots))
    except KeyboardInterrupt:
        return search.state.interrupted()


def is_met(lower: float, upper: float, eps: float = 0.0, gap: float = 0.0) -> bool:
    """Whether ``upper - lower ≤ max(eps, gap·|lower|)``, exactly."""
    if not math.isfinite(upper):
        return upper <= lower
    low = Fraction(lower)
    return Fraction(upper) - low <= max(Fraction(eps), Fraction(gap) * abs(low))


def check_status(outcome: Outcome, scale: float, eps: float = 0.0, gap: float = 0.0) -> None:
    """A gap counts as closed only if it is, exactly; rounding may be blamed for little."""
    assert outcome.best is not None
    met = is_met(outcome.best.value, outcome.upper, eps, gap)
    assert (outcome.status is Status.OPTIMAL) == met
    if outcome.status is Status.PRECISION:
        assert outcome.upper - outcome.best.value <= LEFT_BY_ROUNDING * scale


def check_statuses(result: Result, scale: float, eps: float = 0.0, gap: float = 0.0) -> None:
    """Of a result that nothing stopped: each gap is closed exactly, or but for rounding.

    Parameters
    ----------
    result : Result
    scale : float
        Largest entry of the matrix.
    eps, gap : float
        What was asked for.
    """
    for stage in result.stages:
        met = is_met(stage.variance, stage.upper_bound, eps, gap)
        assert stage.status is (Status.OPTIMAL if met else Status.PRECISION)
        assert met or stage.upper_bound - stage.variance <= LEFT_BY_ROUNDING * scale
    if Status.PRECISION in result.statuses:
        assert result.status is Status.PRECISION
    else:
        assert result.status is (Status.EXHAUSTED if result.exhausted else Status.OPTIMAL)


def check_closed(case: Case, outcome: Outcome, closed: list[Closed], complete: bool) -> None:
    """No closed node claims too little; together, with what was removed, they cover everything."""
    inside = [case.inside(each) for each in closed]
    for each, supports in zip(closed, inside, strict=True):
        assert case.above(each.upper, supports) is None, each
    for T in case.values if complete else ():
        assert any(T in supports for supports in inside), T
    assert case.above(outcome.upper) is None


def check_covered(case: Case, closed: Sequence[Closed]) -> None:
    """The closed nodes of a stage, and what was removed from nodes, hold every support."""
    held = [(each.upper, case.inside(each)) for each in closed]
    for T in case.values:
        holding = [upper for upper, supports in held if T in supports]
        assert holding, T
        assert case.above(max(holding), [T]) is None


def has_spent_features(case: Case) -> bool:
    """Whether a stage is solved with fewer features: its nodes are then not those of the whole."""
    return len(case.problem.without_spent_features()[1]) < len(case.matrix)


def lopsided(case: Case) -> None:
    """Make a few variances hugely negative: large numbers that no support of interest contains.

    The scale stays what it was: that of the values of interest.
    """
    matrix, scale = case.matrix.copy(), case.scale
    size = scale * 10.0 ** case.rng.uniform(8, 9.5)
    matrix[np.diag_indices(len(matrix))] -= size * (case.rng.random(len(matrix)) < 0.3)
    case.use(matrix, case.previous, case.p)
    case.scale = scale


def random_node(case: Case) -> Node:
    """A node with some indices in and some out."""
    rng, n, p = case.rng, len(case.matrix), case.p
    allowed = np.sort(rng.permutation(n)[: int(rng.integers(p, n + 1))])
    included = np.sort(rng.permutation(allowed)[: int(rng.integers(0, p))])
    return Node(included, allowed)


def random_cutoff(case: Case) -> float:
    """Around the optimum, or around the value of some support."""
    value = float(case.rng.choice([case.optimum, *case.values.values()]))
    return value + float(case.rng.choice([0.0, 1e-9, -1e-9, 0.1, -0.1, 0.5, -0.5])) * case.scale
