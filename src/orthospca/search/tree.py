"""Algorithm 4: best-first branch and bound over supports, with the bound as a parameter.

Nodes are taken in rounds of a fixed size and evaluated against the incumbent known at the start of
the round, so that the search is the same whatever the number of threads.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed

from orthospca._typing import IntArray
from orthospca.bounds.conditioning.walk import Conditioning, Dive
from orthospca.model.limits import Watch
from orthospca.model.nodes import Bound, Closed, Node, Reason
from orthospca.model.result import Status
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.search.descent import descend
from orthospca.search.outcome import Outcome
from orthospca.supports.best import Candidate, best_on_support, no_feasible_vector, upper_on_support
from orthospca.supports.enumeration import count_supports, enumerate_supports
from orthospca.supports.heuristics import best_of, polish

#: Nodes branched in one round.
ROUND = 8
#: Budget of the conditioned search of one node.
NODE_BUDGET = 150
#: Multipliers and trees of closed nodes are kept up to this many bytes; the reasons always are.
LARGEST_RECORD = 2**29
#: What a step of a tree takes, besides the indices it removed.
STEP_BYTES = 400


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """A node evaluated: closed for a reason, or open with a bound and an index to branch on."""

    upper: float
    best: Candidate | None
    closed: Closed | None = None
    open: Node | None = None
    removed: tuple[Closed, ...] = ()


class BranchAndBound:
    """One stage's search.

    Parameters
    ----------
    problem : Subproblem
    bound : Bound
    tolerance : Tolerance
    watch : Watch
    incumbent : Candidate, optional
    upper : float
        A bound on the whole stage known beforehand.
    enumerate_below : int
        Nodes with at most this many supports are enumerated.
    conditioning : Conditioning, optional
        Searches nodes before they are bounded.
    n_jobs : int, optional
        Threads.
    """

    def __init__(
        self,
        problem: Subproblem,
        bound: Bound,
        tolerance: Tolerance,
        watch: Watch,
        *,
        incumbent: Candidate | None = None,
        upper: float = math.inf,
        enumerate_below: int = 1,
        conditioning: Conditioning | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.problem = problem
        self.bound = bound
        self.tolerance = tolerance
        self.watch = watch
        self.best = incumbent
        self.known_upper = upper
        self.enumerate_below = enumerate_below
        self.conditioning = conditioning
        self.n_jobs = n_jobs
        self.nodes = 0
        self.closed: list[Closed] = []
        self.closed_upper = -math.inf
        self._frontier: list[tuple[float, int, Node]] = []
        # Nothing is closed before the search begins.
        self._in_flight = [Node(np.arange(0), np.arange(problem.n_features))]
        self._proof_bytes = 0
        self._order = itertools.count()

    @property
    def lower(self) -> float:
        """Value of the incumbent."""
        return -math.inf if self.best is None else self.best.value

    @property
    def cutoff(self) -> float:
        """Nodes with a bound up to this one need not be explored."""
        return self.tolerance.cutoff(self.lower)

    @property
    def upper(self) -> float:
        """Proved bound on the stage: the largest of what is closed, open and being worked on."""
        pending = max((node.upper for node in self._in_flight), default=-math.inf)
        best_open = -self._frontier[0][0] if self._frontier else -math.inf
        return min(self.known_upper, max(self.closed_upper, pending, best_open, self.lower))

    def run(self, roots: Sequence[Node]) -> Outcome:
        """Explore until the gap is closed or a limit is met.

        Parameters
        ----------
        roots : sequence of Node
            Together they cover every support of interest.
        """
        self._in_flight = list(roots)
        verdict: Status | None = None
        try:
            with Parallel(n_jobs=self.n_jobs, backend="threading") as pool:
                children: list[Node] = list(roots)
                while children:
                    verdict = self.watch.verdict(self.nodes)
                    if verdict is not None:
                        break
                    self._evaluate_round(pool, children)
                    self.watch.report(self.nodes, len(self._frontier), self.lower, self.upper)
                    children = self._next_round()
        except KeyboardInterrupt:
            return self.interrupted()
        return self._outcome(verdict)

    def interrupted(self) -> Outcome:
        """End the search as it stands."""
        self.watch.interrupted = True
        return self._outcome(Status.INTERRUPTED)

    def descend(self, whole: Node, parts: Sequence[Node], outside: float) -> bool:
        """Try to settle the stage by conditioning alone; see ``descent``."""
        self.nodes += 1
        # What is not closed yet counts with its bound, here as everywhere.
        self._in_flight = [whole]
        closed = descend(self, whole, parts, outside)
        if closed:
            self._in_flight = []
        if not self.watch.interrupted:
            self.watch.report(self.nodes, 0 if closed else 1, self.lower, self.upper)
        return closed

    def dive(self, node: Node, budget: float, level: float | None = None) -> Dive:
        """Search a node by conditioning at the cutoff, or at a level above it.

        A better incumbent found on the way is taken, and the search begins anew.
        """
        assert self.conditioning is not None and self.best is not None
        while True:
            before = self.best
            cutoff = self.cutoff if level is None else max(level, self.cutoff)
            dive = self.conditioning.search(node, before, cutoff, budget, self.watch.out_of_time)
            if dive.best.value <= before.value:
                return dive
            self.best = polish(self.problem, dive.best)

    def tighten(self, upper: float) -> None:
        """Take note of a bound on the whole stage."""
        self.known_upper = min(self.known_upper, upper)
        self.watch.report(self.nodes, 1, self.lower, self.upper)

    def _evaluate_round(self, pool: Parallel, children: Sequence[Node]) -> None:
        cutoff, incumbent = self.cutoff, self.best
        if len(children) == 1 or self.n_jobs in (None, 1):
            evaluations = [self._evaluate(node, incumbent, cutoff) for node in children]
        else:
            evaluations = pool(
                delayed(self._evaluate)(node, incumbent, cutoff) for node in children
            )
        self.nodes += len(children)
        for evaluation in evaluations:
            self._take(evaluation)
        # Only now: an interrupt in between must not lose a node.
        self._in_flight = []

    def _take(self, evaluation: _Evaluation) -> None:
        found = evaluation.best
        if found is not None and found.value > self.lower:
            self.best = found
        for closed in evaluation.removed:
            self.record(closed)
        if evaluation.closed is not None:
            self.record(evaluation.closed)
        if evaluation.open is not None:
            heapq.heappush(self._frontier, (-evaluation.upper, next(self._order), evaluation.open))

    def _next_round(self) -> list[Node]:
        """Children of the most promising nodes; nodes that the incumbent now closes are closed."""
        cutoff = self.cutoff
        if self._frontier and -self._frontier[0][0] <= cutoff:
            for negative_upper, _, node in self._frontier:
                self._close(node, -negative_upper)
            self._frontier = []
        while self._frontier and len(self._in_flight) < ROUND:
            # In this order an interrupt finds every node in one place or the other.
            self._in_flight.append(self._frontier[0][2])
            heapq.heappop(self._frontier)
        for node in self._in_flight:
            if node.upper <= cutoff:
                self._close(node, node.upper)
        self._in_flight = [node for node in self._in_flight if node.upper > cutoff]
        return [child for node in self._in_flight for child in node.children()]

    def record(self, closed: Closed) -> None:
        """Enter a closed node: its bound counts, and why it was closed is kept."""
        self.closed_upper = max(self.closed_upper, closed.upper)
        size = _bytes_of(closed.proof)
        self._proof_bytes += size
        if size and self._proof_bytes > LARGEST_RECORD:
            closed = replace(closed, proof=None)
        self.closed.append(closed)

    def _close(self, node: Node, upper: float) -> None:
        reason = Reason.EIGENVALUE if node.payload is None else Reason.MULTIPLIERS
        proof = getattr(node.payload, "proof", None)
        self.record(Closed(node.included, node.allowed, upper, reason, proof))

    def _evaluate(self, node: Node, incumbent: Candidate | None, cutoff: float) -> _Evaluation:
        """Solve a node, search it by conditioning, or bound it."""
        finished = self._finish(node, incumbent, cutoff)
        if finished is not None:
            return finished
        removed: tuple[Closed, ...] = ()
        if self.conditioning is not None and incumbent is not None:
            dive = self._dive(node, incumbent, cutoff)
            incumbent, cutoff = dive.best, max(cutoff, self.tolerance.cutoff(dive.best.value))
            if dive.complete:
                upper = min(node.upper, dive.upper)
                return self._closed(node, upper, Reason.CONDITIONED, incumbent, dive.steps)
            if len(dive.allowed) < len(node.allowed):
                upper = min(node.upper, dive.upper)
                removed = (_removed(node, (node.included, dive.allowed), upper, dive.steps),)
                node = replace(node, allowed=dive.allowed)
        return self._bound(node, incumbent, cutoff, removed)

    def _dive(self, node: Node, incumbent: Candidate, cutoff: float) -> Dive:
        assert self.conditioning is not None
        while True:
            stop = self.watch.out_of_time
            dive = self.conditioning.search(node, incumbent, cutoff, NODE_BUDGET, stop)
            if dive.best.value <= incumbent.value:
                return dive
            incumbent = polish(self.problem, dive.best)
            cutoff = max(cutoff, self.tolerance.cutoff(incumbent.value))

    def _bound(
        self,
        node: Node,
        incumbent: Candidate | None,
        cutoff: float,
        removed: tuple[Closed, ...],
    ) -> _Evaluation:
        """Bound a node: it is closed, or stays open, perhaps with fewer indices."""
        problem = self.problem
        bound = self.bound(node, cutoff, self.watch)
        upper = min(bound.upper, node.upper)
        best = incumbent
        if bound.supports:
            found = best_of(problem, np.vstack(bound.supports))
            if found is not None and (best is None or found.value > best.value):
                best = found
                cutoff = max(cutoff, self.tolerance.cutoff(best.value))
        if upper <= cutoff or upper == -math.inf:
            # What fixing removed on the way belongs to the node that is closed.
            upper = min(node.upper, max(upper, bound.fixed_upper))
            closed = self._closed(node, upper, bound.reason, best, bound.proof)
            return replace(closed, removed=removed)
        tightened = Node(bound.included, bound.allowed, upper, bound.branch, bound.payload)
        if bound.fixed_upper > -math.inf:
            kept = (bound.included, bound.allowed)
            removed = (*removed, _removed(node, kept, bound.fixed_upper, bound.proof))
        finished = self._finish(tightened, best, cutoff)
        if finished is None:
            return _Evaluation(tightened.upper, best, open=tightened, removed=removed)
        return replace(finished, removed=removed)

    def _finish(self, node: Node, incumbent: Candidate | None, cutoff: float) -> _Evaluation | None:
        """Solve a node that is small enough to need no bound; None if it is not."""
        problem = self.problem
        if len(node.allowed) <= problem.sparsity or len(node.included) >= problem.sparsity:
            return self._solve_support(node, incumbent)
        if no_feasible_vector(problem, node.allowed):
            return self._closed(node, -math.inf, Reason.INFEASIBLE, incumbent)
        count = count_supports(len(node.included), len(node.allowed), problem.sparsity)
        if count <= self.enumerate_below:
            return self._enumerate(node, incumbent, cutoff)
        return None

    def _closed(
        self,
        node: Node,
        upper: float,
        reason: Reason,
        best: Candidate | None = None,
        proof: object = None,
    ) -> _Evaluation:
        return _Evaluation(upper, best, Closed(node.included, node.allowed, upper, reason, proof))

    def _solve_support(self, node: Node, incumbent: Candidate | None) -> _Evaluation:
        whole = len(node.allowed) <= self.problem.sparsity
        support = node.allowed if whole else node.included
        best = best_on_support(self.problem, support)
        if incumbent is not None and (best is None or best.value < incumbent.value):
            best = incumbent
        upper = min(node.upper, upper_on_support(self.problem, support))
        return self._closed(node, upper, Reason.SUPPORT, best)

    def _enumerate(self, node: Node, incumbent: Candidate | None, cutoff: float) -> _Evaluation:
        found = enumerate_supports(
            self.problem, node.included, node.allowed, incumbent, cutoff, self.watch.out_of_time
        )
        if found.complete:
            upper = min(node.upper, found.upper)
            return self._closed(node, upper, Reason.ENUMERATED, found.best)
        stopped = Node(node.included, node.allowed, node.upper, int(node.free[0]), node.payload)
        return _Evaluation(node.upper, found.best, open=stopped)

    def _outcome(self, verdict: Status | None) -> Outcome:
        upper = self.upper
        if verdict is None:
            solved = self.tolerance.met(self.lower, upper)
            # All nodes are closed: what is left of the gap is rounding.
            verdict = Status.OPTIMAL if solved else Status.PRECISION
            if self.best is None:
                verdict = Status.EXHAUSTED
        elif self.best is not None and self.tolerance.met(self.lower, upper):
            verdict = Status.OPTIMAL
        return Outcome(self.best, upper, verdict, self.nodes, tuple(self.closed))


def _bytes_of(proof: object) -> int:
    """Memory taken by multipliers or by a tree; the rest is small."""
    if isinstance(proof, tuple):
        return sum(STEP_BYTES + step.removed.nbytes for step in proof)
    matrix = getattr(proof, "matrix", None)
    return 0 if matrix is None else int(matrix.nbytes)


def _removed(node: Node, kept: tuple[IntArray, IntArray], upper: float, proof: object) -> Closed:
    """Return the supports of a node that are not between the kept indices, as a closed node."""
    return Closed(node.included, node.allowed, upper, Reason.FIXED, proof, kept=kept)
