"""Stages with non-negative loadings: the plain search on Q⁺, and branching on negative pairs.

Q⁺ has 0 in the place of negative entries off the diagonal, and for ``x ≥ 0`` no smaller a form than
Q: whatever bounds its plain stage bounds this one.  Where the support found has a pair with a
negative entry the bound may be too large.  Then either one of the pair is left out, or both are
taken and their true entry counts.  See ``docs/theory/nonnegative.md``.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.limits import QuietWatch, Watch
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
from orthospca.supports.best import Candidate
from orthospca.supports.heuristics import improved_start
from orthospca.supports.nonnegative import Leaf, best_nonnegative, faces_below, nonnegative_part

#: What a plain search of Q⁺ may end with and still leave something to branch on.
CLOSED = (Status.OPTIMAL, Status.PRECISION)
#: A part that is not cut, and has no argument of its own.
UNCUT = Part((-1, -1))


class NonnegativeStages(MatrixStages):
    """Each stage on the matrix Q⁺, and where that leaves a gap on parts of it."""

    def __init__(self, covariance: Array, settings: Settings, watch: Watch, note: str = "") -> None:
        super().__init__(covariance, settings, watch, note)
        # What a certificate rests on is the same matrix for every stage.
        self._part = nonnegative_part(covariance) if settings.proof else None

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""
        return solve_nonnegative(
            self._covariance, request, self._settings, self._watch, part=self._part
        )


@dataclass(eq=False)
class _Node:
    """Supports that contain some features and not others, and what is proved of them.

    Attributes
    ----------
    included, excluded : integer arrays, ascending
    upper : float
    support : integer array
        Where the plain search ended.
    vector : array
        What it found there.
    part : Part
        For a certificate, why the bound holds.
    children : list of _Node
        What it was cut into.
    """

    included: IntArray
    excluded: IntArray
    upper: float
    support: IntArray
    vector: Array
    part: Part = UNCUT
    children: list[_Node] = field(default_factory=list)

    def parts(self) -> Iterator[Part]:
        """It, and then what it was cut into, from the last to the first."""
        yield self.part
        for child in reversed(self.children):
            yield from child.parts()


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
    search = _Search(Q, request, settings, watch)
    try:
        return search.run(part)
    except KeyboardInterrupt:
        watch.interrupted = True
        return search.outcome(Status.INTERRUPTED)


class _Search:
    """The search of one stage."""

    def __init__(self, Q: Array, request: Request, settings: Settings, watch: Watch) -> None:
        self.Q, self.n = Q, len(Q)
        self.request, self.settings, self.watch = request, settings, watch
        self.best: Candidate | None = None
        self.nodes = 0
        self.tolerance = settings.tolerance
        self.closed_upper = -math.inf
        self.root_upper = math.inf
        self.rungs: tuple[Rung, ...] = ()
        self.waiting: list[tuple[float, int, _Node]] = []
        self._working: _Node | None = None
        self._root: _Node | None = None
        self._order = itertools.count()
        for hint in request.hints:
            self._offer(hint)

    @property
    def lower(self) -> float:
        return -math.inf if self.best is None else self.best.value

    @property
    def upper(self) -> float:
        """Proved bound on the stage."""
        open_upper = -self.waiting[0][0] if self.waiting else -math.inf
        if self._working is not None:
            open_upper = max(open_upper, self._working.upper)
        searched = max(self.closed_upper, open_upper)
        return max(min(self.root_upper, self.request.cap, searched), self.lower)

    @property
    def cutoff(self) -> float:
        return self.tolerance.cutoff(self.lower)

    def _offer(self, candidate: Candidate | None) -> None:
        if candidate is not None and candidate.value > self.lower:
            self.best = candidate

    def outcome(self, verdict: Status | None = None) -> Outcome:
        """How it ended."""
        upper, by = self.upper, ClosedBy.TREE if self.nodes > 1 else self._by
        if self.best is not None and self.tolerance.met(self.lower, upper):
            verdict = Status.OPTIMAL
        elif verdict is None:
            verdict = Status.PROOF_LIMIT if self.settings.proof else Status.PRECISION
        rungs = self.rungs
        if rungs and self._root is not None and upper < rungs[-1].upper:
            rungs = (*rungs[:-1], replace(rungs[-1], parts=tuple(self._root.parts())))
        return Outcome(self.best, upper, verdict, self._counted, by, rungs=rungs)

    _by, _counted = ClosedBy.CAP, 0

    def run(self, part: Array | None) -> Outcome:
        demand, watch = self.request.demand, self.watch
        included, excluded = demand.included, demand.excluded
        settings = self.settings
        if demand.start is not None:
            settings = replace(settings, start=(demand.start,))
        matrix = nonnegative_part(self.Q, included) if part is None else part
        problem = self._problem(matrix, included, excluded)
        resolution = 4 * problem.resolution
        self.tolerance = settings.tolerance.at_resolution(resolution)
        self._working = _Node(included, excluded, math.inf, included, np.zeros(self.n))
        for support in settings.start:
            self._look_at(np.union1d(support, included))
        started = improved_start(problem, settings.start)
        root = self._plain(problem, settings, started, with_rungs=part is not None)
        if root.best is None:
            verdict = root.status
            if self.best is not None:
                # Nothing but a limit ends a search that has something to find.
                return self.outcome(verdict)
            return replace(root, rungs=())
        self.root_upper, self._by = root.upper, root.closed_by
        node = self._node(included, excluded, root.upper, root.best)
        self._working, self._root = None, node
        self._push(node)
        self._look_at(node.support)
        if part is not None:
            self.rungs = tuple(self._told(rung) for rung in root.rungs)
            # A ladder with a rung that has no argument is none that parts can stand on.
            if len(with_arguments(root.rungs)) < len(root.rungs) or not root.rungs:
                return self.outcome(Status.PROOF_LIMIT if root.status in CLOSED else root.status)
        watch.report(self._counted, 1, self.lower, self.upper, self._by)
        ended = self._branch(settings) if root.status in CLOSED else root.status
        watch.report(self._counted, len(self.waiting), self.lower, self.upper, ClosedBy.TREE)
        return self.outcome(ended)

    def _problem(self, matrix: Array, included: IntArray, excluded: IntArray) -> Subproblem:
        nothing_before = np.zeros((self.n, 0))
        return Subproblem(matrix, self.request.sparsity, nothing_before, included, excluded)

    def _plain(
        self,
        problem: Subproblem,
        settings: Settings,
        started: Candidate | None,
        with_rungs: bool = False,
    ) -> Outcome:
        """The plain stage of a matrix that is not below Q; it says nothing of Q itself."""
        quiet = QuietWatch(self.watch)
        quiet.node_limit = self.watch.node_limit - self._counted
        request = self.request
        if with_rungs:
            # Rungs of earlier stages are those of Q⁺ too, and in the certificate.
            known = (math.inf, request.caps, self._resumption())
            found = solve_stage(problem, settings, quiet, started, *known)
        else:
            found = solve_stage(problem, settings, quiet, started)
        self._counted += max(found.nodes, 1)
        self.nodes += 1
        return found

    def _bounded(self, problem: Subproblem, settings: Settings, start: IntArray) -> Outcome:
        """The plain stage of a part; mostly it is enough to know that it is below the cutoff."""
        settings = replace(settings, start=(start,))
        started, tolerance = improved_start(problem, settings.start), settings.tolerance
        if started is not None and started.value < self.lower:
            below = Tolerance(self.cutoff - started.value, 0.0)
            found = self._plain(problem, replace(settings, tolerance=below), started)
            if found.upper <= self.cutoff or found.status not in CLOSED:
                return found
        return self._plain(problem, replace(settings, tolerance=tolerance), started)

    def _start(self, node: _Node, included: IntArray, excluded: IntArray) -> IntArray:
        """A support of a part: what it leaves of the one that was found."""
        rest = np.setdiff1d(node.support, np.union1d(included, excluded))
        rest = rest[np.argsort(-np.abs(node.vector[rest]), kind="stable")]
        return np.union1d(included, rest[: self.request.sparsity - len(included)])

    def _resumption(self) -> Resumption:
        """What was proved before; who is told of new rungs is told of vectors that are feasible."""
        given = self.request.resumption

        def tell(rungs: Rungs, best: Candidate) -> None:
            self._look_at(np.union1d(np.flatnonzero(best.vector), self.request.demand.included))
            if self.best is not None:
                given.tell(lambda: tuple(self._told(rung) for rung in rungs()), self.best)

        return Resumption(given.rungs, tell)

    def _told(self, rung: Rung) -> Rung:
        """A rung of Q⁺, with a vector that is non-negative and its variance in Q."""
        if rung.best is None:
            return rung
        support = np.flatnonzero(rung.best.vector)
        found = self._leaf(support, -math.inf, self.settings.tuning.nonnegative.few)
        return replace(rung, best=found.candidate(support, self.n))

    def _node(self, included: IntArray, excluded: IntArray, upper: float, best: Candidate) -> _Node:
        support = np.union1d(np.flatnonzero(best.vector), included)
        return _Node(included, excluded, upper, support, best.vector)

    def _push(self, node: _Node) -> None:
        heapq.heappush(self.waiting, (-node.upper, next(self._order), node))

    def _leaf(self, support: IntArray, floor: float, budget: int) -> Leaf:
        return best_nonnegative(self.Q[np.ix_(support, support)], floor, budget)

    def _look_at(self, support: IntArray) -> None:
        """Take the best vector on a support, if it is better."""
        if len(support) == 0 or np.isin(support, self.request.demand.excluded).any():
            return
        if len(support) > self.request.sparsity:
            return
        found = self._leaf(support, self.lower, self.settings.tuning.nonnegative.few)
        if found.value > self.lower:
            self.best = found.candidate(support, self.n)

    def _branch(self, settings: Settings) -> Status | None:
        """Close what is open; what stopped it."""
        settings = replace(settings, start=())
        while self.waiting and -self.waiting[0][0] > self.cutoff:
            if self.watch.out_of_time():
                return self.watch.verdict()
            if (verdict := self.watch.verdict(self._counted)) is not None:
                return verdict
            self._working = self.waiting[0][2]
            heapq.heappop(self.waiting)
            stopped = self._split(self._working, settings)
            if stopped is not None:
                return stopped
            self._working = None
            self.watch.report(
                self._counted, len(self.waiting), self.lower, self.upper, ClosedBy.TREE
            )
        return None

    def _split(self, node: _Node, settings: Settings) -> Status | None:
        """Put the parts of a node in its place; what stopped that."""
        F, E = node.included, node.excluded
        if len(F) == self.request.sparsity or len(node.support) == len(F):
            left = self.n - len(E) - len(F)
            if len(F) == self.request.sparsity or left == 0:
                self._close_leaf(node)
                return None
            free = np.setdiff1d(np.arange(self.n), np.union1d(F, E))
            chosen = int(free[self.Q[free, free].argmax()])
            cut = (chosen, -1)
        else:
            pair = self._worst_pair(node)
            if pair is None:
                rest = np.setdiff1d(node.support, F)
                cut = (int(rest[np.abs(node.vector[rest]).argmax()]), -1)
            else:
                cut = (pair[1], -1) if pair[0] in F else pair
        i, j = cut
        children = [(F, _with(E, i)), (_with(F, i), E)]
        if j >= 0:
            children[1] = (_with(F, i), _with(E, j))
            if len(F) + 2 <= self.request.sparsity:
                children.append((_with(_with(F, i), j), E))
        made: list[_Node] = []
        for included, excluded in children:
            if len(excluded) == self.n:
                made.append(_Node(included, excluded, -math.inf, included, node.vector))
                continue
            matrix = nonnegative_part(self.Q, included)
            upper = node.upper
            for _ in range(2):
                problem = self._problem(matrix, included, excluded)
                found = self._bounded(problem, settings, self._start(node, included, excluded))
                if found.best is None:
                    break
                upper = min(self._proved(problem, found), upper)
                child = self._node(included, excluded, upper, found.best)
                child.part = replace(UNCUT, rungs=tuple(replace(r, best=None) for r in found.rungs))
                self._look_at(child.support)
                # A certificate has no other matrix than that of the part.
                if upper <= self.cutoff or self.settings.proof:
                    break
                if not _without_flips(matrix, found.best.vector):
                    break
            if found.best is None:
                if found.status is Status.EXHAUSTED:
                    made.append(_Node(included, excluded, -math.inf, included, node.vector))
                    continue
                return found.status
            made.append(child)
            if found.status not in CLOSED and upper > self.cutoff:
                return found.status
        node.part, node.children = replace(node.part, cut=cut), made
        for child in made:
            self._push(child)
        return None

    def _proved(self, problem: Subproblem, found: Outcome) -> float:
        """The bound of a part; for a certificate, that which its ladder has arguments for."""
        if not self.settings.proof:
            return found.upper
        known = with_arguments(found.rungs)
        last = min(problem.sparsity, self.n - len(problem.excluded))
        return known[-1].upper if known and known[-1].size == last else math.inf

    def _close_leaf(self, node: _Node) -> None:
        """One support is left: its value is exact."""
        leaf = self._leaf(node.included, self.lower, self.settings.tuning.nonnegative.many)
        if leaf.value > self.lower:
            self.best = leaf.candidate(node.included, self.n)
        upper = leaf.upper
        if self.settings.proof:
            # A level that is above the value has an argument that does not hang on rounding.
            upper = max(upper, self.cutoff)
            faces = faces_below(self.Q, node.included, upper)
            upper = math.inf if faces is None else upper
            node.part = replace(node.part, faces=faces or {})
        self.closed_upper = max(self.closed_upper, min(upper, node.upper))

    def _worst_pair(self, node: _Node) -> tuple[int, int] | None:
        """The pair of a support whose negative entry is not counted yet and weighs most.

        One of the pair may be among the features that are in already: it comes first.
        """
        T = node.support
        part = np.minimum(self.Q[np.ix_(T, T)], 0.0)
        np.fill_diagonal(part, 0.0)
        inside = np.isin(T, node.included)
        part[np.ix_(inside, inside)] = 0.0
        if not part.any():
            return None
        x = np.abs(node.vector[T])
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


def _with(features: IntArray, j: int) -> IntArray:
    return np.union1d(features, [j])
