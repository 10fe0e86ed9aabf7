"""Stages with non-negative loadings: the plain search on Q⁺, and branching on negative pairs.

Q⁺ has 0 in the place of negative entries off the diagonal, and for ``x ≥ 0`` no smaller a form than
Q: whatever bounds its plain stage bounds this one.  Where the support found has a pair with a
negative entry the bound may be too large.  Then either one of the pair is left out, or both are
taken and their true entry counts.  See ``docs/theory/nonnegative.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.nodes import Closed, Node
from orthospca.model.result import ClosedBy, Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import (
    Outcome,
    Part,
    Request,
    Resumption,
    Rung,
    Rungs,
    with_arguments,
)
from orthospca.search.stages import MatrixStages
from orthospca.search.state import StageState
from orthospca.supports.best import Candidate
from orthospca.supports.heuristics import improved_start
from orthospca.supports.nonnegative import Leaf, best_nonnegative, faces_below, nonnegative_part

#: What a plain search of Q⁺ may end with and still leave something to branch on.
CLOSED = (Status.OPTIMAL, Status.PRECISION)
#: A part that is not cut, and has no argument of its own.
UNCUT = Part((-1, -1))


class NonnegativeStages(MatrixStages):
    """Each stage on the matrix Q⁺, and where that leaves a gap on parts of it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # What a certificate rests on is the same matrix for every stage.
        self._part = nonnegative_part(self.covariance) if self.settings.proof else None

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""
        return solve_nonnegative(self.covariance, request, self.settings, self.watch, self._part)


def solve_nonnegative(
    Q: Array, request: Request, settings: Settings, watch: Watch, part: Array | None = None
) -> Outcome:
    """Solve one stage with non-negative loadings.

    Parameters
    ----------
    Q : array of shape (n, n)
    request : Request
        Of a first stage: it has no components before it.
    settings : Settings
    watch : Watch
    part : array, optional
        Q⁺, for a proof: the root is then that of Q⁺, and what is branched on is kept.
    """
    search = _Search(Q, request, settings, watch, part)
    try:
        return search.run()
    except KeyboardInterrupt:
        watch.interrupted = True
        return search.outcome(Status.INTERRUPTED)


class _Search:
    """The search of one stage, node by node; what the plain search found there is its payload."""

    def __init__(
        self, Q: Array, request: Request, settings: Settings, watch: Watch, part: Array | None
    ) -> None:
        demand = request.demand
        if demand.start is not None:
            settings = replace(settings, start=(demand.start,))
        self.Q, self.request, self.settings, self.watch = Q, request, settings, watch
        self.allowed = np.setdiff1d(np.arange(len(Q)), demand.excluded)
        self.certified = part is not None
        matrix = nonnegative_part(Q, demand.included) if part is None else part
        problem = self._problem(matrix, demand.included, self.allowed)
        tolerance = settings.tolerance.at_resolution(4 * problem.resolution)
        self.state = StageState(problem, tolerance, watch, request.best_hint, request.cap)
        self.rungs: tuple[Rung, ...] = ()
        #: For a certificate, why the bound of each node holds.
        self.parts: dict[tuple[int, ...], Part] = {(): UNCUT}

    def outcome(self, verdict: Status | None = None) -> Outcome:
        """How it ended."""
        if verdict is None:
            verdict = Status.PROOF_LIMIT if self.settings.proof else Status.PRECISION
        found, rungs = self.state.outcome(verdict), self.rungs
        if rungs and found.upper < rungs[-1].upper:
            rungs = (*rungs[:-1], replace(rungs[-1], parts=tuple(self._parts(()))))
        return replace(found, rungs=rungs)

    def _parts(self, path: tuple[int, ...]) -> Iterator[Part]:
        """A part, and then what it was cut into, from the last to the first."""
        yield self.parts[path]
        for number in (2, 1, 0):
            if (*path, number) in self.parts:
                yield from self._parts((*path, number))

    def run(self) -> Outcome:
        """Search the plain stage, and where that leaves a gap parts of it."""
        state, settings, included = self.state, self.settings, self.request.demand.included
        for support in settings.start:
            self._look_at(np.union1d(support, included))
        started = improved_start(state.problem, settings.start)
        root = self._plain(state.problem, settings, started, self.certified)
        if root.best is None:
            # Nothing but a limit ends a search that has something to find.
            return replace(root, rungs=()) if state.best is None else self.outcome(root.status)
        state.tighten(root.upper, root.closed_by)
        node = Node(included, self.allowed, root.upper, payload=root.best.vector)
        state.open.push(node)
        state.open.working, state.trying = [], ClosedBy.TREE
        self._look_at(_support(node))
        if self.certified:
            self.rungs = tuple(self._told(rung) for rung in root.rungs)
            # A ladder with a rung that has no argument is none that parts can stand on.
            if len(with_arguments(root.rungs)) < len(root.rungs) or not root.rungs:
                return self.outcome(Status.PROOF_LIMIT if root.status in CLOSED else root.status)
        state.tell()
        ended = self._branch() if root.status in CLOSED else root.status
        state.tell()
        return self.outcome(ended)

    def _problem(self, matrix: Array, included: IntArray, allowed: IntArray) -> Subproblem:
        n = len(matrix)
        excluded = np.setdiff1d(np.arange(n), allowed)
        return Subproblem(matrix, self.request.sparsity, np.zeros((n, 0)), included, excluded)

    def _plain(
        self,
        problem: Subproblem,
        settings: Settings,
        started: Candidate | None,
        with_rungs: bool = False,
    ) -> Outcome:
        """The plain stage of a matrix that is not below Q; it says nothing of Q itself."""
        quiet = QuietWatch(self.watch)
        quiet.node_limit = self.watch.node_limit - self.state.nodes
        # Rungs of earlier stages are those of Q⁺ too, and in the certificate.
        known = (math.inf, self.request.caps, self._resumption()) if with_rungs else ()
        found = solve_stage(problem, settings, quiet, started, *known)
        self.state.nodes += max(found.nodes, 1)
        return found

    def _bounded(self, problem: Subproblem, start: IntArray) -> Outcome:
        """The plain stage of a part; mostly it is enough to know that it is below the cutoff."""
        settings, cutoff = replace(self.settings, start=(start,)), self.state.cutoff
        started = improved_start(problem, settings.start)
        if started is not None and started.value < self.state.lower:
            below = Tolerance(cutoff - started.value, 0.0)
            found = self._plain(problem, replace(settings, tolerance=below), started)
            if found.upper <= cutoff or found.status not in CLOSED:
                return found
        return self._plain(problem, settings, started)

    def _start(self, node: Node, included: IntArray, allowed: IntArray) -> IntArray:
        """A support of a part: what it leaves of the one that was found."""
        rest = np.setdiff1d(np.intersect1d(_support(node), allowed), included)
        rest = rest[np.argsort(-np.abs(node.payload[rest]), kind="stable")]
        return np.union1d(included, rest[: self.request.sparsity - len(included)])

    def _resumption(self) -> Resumption:
        """What was proved before; who is told of new rungs is told of vectors that are feasible."""
        given = self.request.resumption

        def tell(rungs: Rungs, best: Candidate) -> None:
            self._look_at(np.union1d(np.flatnonzero(best.vector), self.request.demand.included))
            if self.state.best is not None:
                given.tell(lambda: tuple(self._told(rung) for rung in rungs()), self.state.best)

        return Resumption(given.rungs, tell)

    def _told(self, rung: Rung) -> Rung:
        """A rung of Q⁺, with a vector that is non-negative and its variance in Q."""
        if rung.best is None:
            return rung
        support = np.flatnonzero(rung.best.vector)
        found = self._leaf(support, -math.inf, self.settings.tuning.nonnegative.few)
        return replace(rung, best=found.candidate(support, len(self.Q)))

    def _leaf(self, support: IntArray, floor: float, budget: int) -> Leaf:
        return best_nonnegative(self.Q[np.ix_(support, support)], floor, budget)

    def _look_at(self, support: IntArray) -> None:
        """Take the best vector on a support, if it is better."""
        fits = 0 < len(support) <= self.request.sparsity
        if fits and np.isin(support, self.allowed).all():
            found = self._leaf(support, self.state.lower, self.settings.tuning.nonnegative.few)
            self.state.improve(found.candidate(support, len(self.Q)))

    def _branch(self) -> Status | None:
        """Close what is open; what stopped it."""
        state, watch = self.state, self.watch
        while state.open.upper > state.cutoff:
            if watch.out_of_time() or watch.verdict(state.nodes) is not None:
                return watch.verdict(state.nodes)
            state.open.take(1)
            stopped = self._split(state.open.working[0])
            if stopped is not None:
                return stopped
            state.open.working = []
            state.tell()
        return None

    def _split(self, node: Node) -> Status | None:
        """Put the parts of a node in its place; what stopped that."""
        cut = self._cut(node)
        if cut is None:
            self._close_leaf(node)
            return None
        (i, j), F, allowed = cut, node.included, node.allowed
        children = [(F, allowed[allowed != i]), (np.union1d(F, i), allowed)]
        if j >= 0:
            children[1] = np.union1d(F, i), allowed[allowed != j]
            if len(F) + 2 <= self.request.sparsity:
                children.append((np.union1d(F, cut), allowed))
        made: list[tuple[Node, Part]] = []
        for number, (inside, left) in enumerate(children):
            child = Node(inside, left, -math.inf, payload=node.payload, path=(*node.path, number))
            part, upper, matrix = UNCUT, node.upper, nonnegative_part(self.Q, inside)
            for _ in range(2 if len(left) else 0):
                problem = self._problem(matrix, inside, left)
                found = self._bounded(problem, self._start(node, inside, left))
                part = Part(UNCUT.cut, tuple(replace(rung, best=None) for rung in found.rungs))
                if found.best is None:
                    if found.status is not Status.EXHAUSTED:
                        return found.status
                    child = replace(child, upper=-math.inf)
                    break
                upper = min(self._proved(problem, found), upper)
                child = replace(child, upper=upper, payload=found.best.vector)
                self._look_at(_support(child))
                # A certificate has no other matrix than that of the part.
                if upper <= self.state.cutoff or self.settings.proof:
                    break
                if not _without_flips(matrix, found.best.vector):
                    break
            if child.upper > self.state.cutoff and found.status not in CLOSED:
                return found.status
            made.append((child, part))
        self.parts[node.path] = replace(self.parts[node.path], cut=cut)
        for child, part in made:
            self.parts[child.path] = part
            self.state.open.push(child)
        return None

    def _cut(self, node: Node) -> tuple[int, int] | None:
        """What a node is cut by, a feature and -1, or a pair; None if one support is left."""
        F, free, support = node.included, node.free, _support(node)
        if len(F) == self.request.sparsity or len(free) == 0:
            return None
        if len(support) == len(F):
            return int(free[self.Q[free, free].argmax()]), -1
        pair = self._worst_pair(node)
        if pair is None:
            rest = np.setdiff1d(support, F)
            return int(rest[np.abs(node.payload[rest]).argmax()]), -1
        return (pair[1], -1) if pair[0] in F else pair

    def _proved(self, problem: Subproblem, found: Outcome) -> float:
        """The bound of a part; for a certificate, that which its ladder has arguments for."""
        if not self.settings.proof:
            return found.upper
        known = with_arguments(found.rungs)
        last = min(problem.sparsity, len(self.Q) - len(problem.excluded))
        return known[-1].upper if known and known[-1].size == last else math.inf

    def _close_leaf(self, node: Node) -> None:
        """One support is left: its value is exact."""
        support, state = node.included, self.state
        leaf = self._leaf(support, state.lower, self.settings.tuning.nonnegative.many)
        state.improve(leaf.candidate(support, len(self.Q)))
        upper = leaf.upper
        if self.settings.proof:
            # A level that is above the value has an argument that does not hang on rounding.
            upper = max(upper, state.cutoff)
            faces = faces_below(self.Q, support, upper)
            upper = math.inf if faces is None else upper
            self.parts[node.path] = replace(self.parts[node.path], faces=faces or {})
        state.close(Closed(support, node.allowed, min(upper, node.upper)))

    def _worst_pair(self, node: Node) -> tuple[int, int] | None:
        """The pair of a support whose negative entry is not counted yet and weighs most.

        One of the pair may be among the features that are in already: it comes first.
        """
        T = _support(node)
        part = np.minimum(self.Q[np.ix_(T, T)], 0.0)
        np.fill_diagonal(part, 0.0)
        inside = np.isin(T, node.included)
        part[np.ix_(inside, inside)] = 0.0
        if not part.any():
            return None
        x = np.abs(node.payload[T])
        weights = part * np.outer(x, x)
        if not weights.any():
            weights = part
        i, j = divmod(int(weights.argmin()), len(T))
        if inside[j]:
            i, j = j, i
        if not inside[i] and x[j] < x[i]:
            # The smaller loading is the one that is likely to go.
            i, j = j, i
        return int(T[i]), int(T[j])


def _without_flips(matrix: Array, vector: Array) -> bool:
    """Set negative entries to 0 that a vector makes use of by loadings of both signs.

    No vector that is asked for does so; the matrix still is not below Q, but for ``x ≥ 0`` only.
    Returns whether there are any.
    """
    used = np.flatnonzero(vector)
    at = np.ix_(used, used)
    part, signs = matrix[at], np.sign(vector[used])
    flipped = (part < 0) & (np.outer(signs, signs) < 0)
    np.fill_diagonal(flipped, False)
    if not flipped.any():
        return False
    matrix[at] = np.where(flipped, 0.0, part)
    return True


def _support(node: Node) -> IntArray:
    """Where the plain search of a node ended."""
    return np.union1d(np.flatnonzero(node.payload), node.included)
