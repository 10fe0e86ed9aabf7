"""Random nodes and stages with all their values, bounds of every quality, and what must hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from helpers import strategies
from helpers.brute_force import candidates, sequence
from orthospca.bounds.classical import ClassicalBound
from orthospca.bounds.relaxation.node import StrongBound
from orthospca.model.limits import Watch
from orthospca.model.nodes import Bound, Closed, Node, NodeBound, Reason
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.search.outcome import Outcome
from orthospca.search.tree import BranchAndBound
from orthospca.supports.best import Candidate, best_on_support

#: Rounding of the brute force, relative to the largest entry.
ROUNDING = 1e-13


KINDS = tuple(getattr(strategies, kind.replace("-", "_")) for kind in strategies.KINDS)


class Case:
    """A random problem, with the components before it and the value of each of its supports."""

    def __init__(self, seed: int, largest: int = 7, smallest: int = 2) -> None:
        self.rng = rng = np.random.default_rng(seed)
        n = int(rng.integers(smallest, largest + 1))
        self.p = p = int(rng.choice([1, 2, rng.integers(1, n + 1)]))
        self.matrix = KINDS[seed % len(KINDS)](rng, n)
        self.previous = np.empty((0, n))
        if rng.random() < 0.5:
            # One or two components, or nearly all that exist.
            count = int(rng.choice([rng.integers(1, 3), rng.integers(1, n)]))
            found = sequence(self.matrix, [p] * count)
            self.previous = np.array([optimum.vector for optimum in found])
        self.problem = Subproblem(self.matrix, p, np.ascontiguousarray(self.previous.T))
        self.values = {
            best.support: best.value for best, _ in candidates(self.matrix, self.previous, p)
        }
        self.optimum = max(self.values.values(), default=-math.inf)
        self.scale = self.problem.scale
        self.slack = ROUNDING * self.scale

    @property
    def root(self) -> Node:
        return Node(np.arange(0), np.arange(len(self.matrix)))

    def inside(self, node: Node | Closed | NodeBound) -> dict[tuple[int, ...], float]:
        """The supports of a node, with their values."""
        included, allowed = set(node.included), set(node.allowed)
        found = {T: v for T, v in self.values.items() if included <= set(T) <= allowed}
        kept = getattr(node, "kept", None)
        if kept is not None:
            left = [set(part) for part in kept]
            found = {T: v for T, v in found.items() if not left[0] <= set(T) <= left[1]}
        return found

    def best_inside(self, node: Node | Closed | NodeBound) -> float:
        return max(self.inside(node).values(), default=-math.inf)

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
        return NodeBound(
            self.upper(node), Reason.EIGENVALUE, node.included, node.allowed, branch=branch
        )


class Weak(Loose):
    """The optimum of the node and something more, different in each node."""

    def upper(self, node: Node) -> float:
        best = self.case.best_inside(node)
        if best == -math.inf:
            return -math.inf
        extra = (7 * int(node.included.sum()) + 3 * int(node.allowed.sum())) % 5
        return best + 0.1 * extra * self.case.scale + self.case.slack


class Exact(Loose):
    """The optimum of the node: the best bound there is."""

    def upper(self, node: Node) -> float:
        return self.case.best_inside(node) + self.case.slack


class Fixing(Loose):
    """Drops each index that no support above the cutoff contains, then bounds what is left."""

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        inside = self.case.inside(node)
        kept = {T for T, v in inside.items() if v > cutoff}
        allowed = np.array(
            [i for i in node.allowed if i in node.included or any(i in T for T in kept)]
        )
        left = {T: v for T, v in inside.items() if set(T) <= set(allowed)}
        gone = [v for T, v in inside.items() if T not in left]
        free = np.setdiff1d(allowed, node.included)
        return NodeBound(
            max(left.values(), default=-math.inf) + self.case.slack,
            Reason.MULTIPLIERS,
            node.included,
            allowed,
            branch=int(free[0]) if len(free) else -1,
            fixed_upper=max(gone, default=-math.inf) + self.case.slack,
        )


def strong_bound(case: Case) -> StrongBound:
    return StrongBound(case.problem, max(abs(case.optimum), 1e-3 * case.scale), max_iterations=25)


def classical_bound(case: Case) -> ClassicalBound:
    return ClassicalBound(case.problem)


def run(case: Case, bound: Bound, tolerance: Tolerance | None = None, **options: Any) -> Outcome:
    watch = options.pop("watch", None) or Watch()
    tolerance = tolerance or Tolerance(1e-9 * case.scale, 0.0)
    return BranchAndBound(case.problem, bound, tolerance, watch, **options).run([case.root])


def check_closed(case: Case, outcome: Outcome, complete: bool) -> None:
    """No closed node claims too little; together, with what was removed, they cover everything."""
    for closed in outcome.closed:
        assert closed.upper >= case.best_inside(closed) - case.slack, closed
    for T, value in case.values.items():
        covered = any(T in case.inside(closed) for closed in outcome.closed)
        assert covered or not complete, T
        assert value <= outcome.upper + case.slack, T


def lopsided(case: Case) -> None:
    """Make a few variances hugely negative: large numbers that no support of interest contains."""
    case.matrix = case.matrix.copy()
    size = case.scale * 10.0 ** case.rng.uniform(8, 9.5)
    case.matrix[np.diag_indices(len(case.matrix))] -= size * (
        case.rng.random(len(case.matrix)) < 0.3
    )
    case.problem = Subproblem(case.matrix, case.p, case.problem.previous)
    found = candidates(case.matrix, case.previous, case.p)
    case.values = {best.support: best.value for best, _ in found}
    case.optimum = max(case.values.values(), default=-math.inf)
    case.slack = ROUNDING * case.problem.scale


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
