"""Algorithm 4: best-first branch and bound over supports, with the bound as a parameter.

Nodes are taken in rounds of a fixed size and evaluated against the incumbent known at the start of
the round, so that the search is the same whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed

from orthospca._typing import IntArray
from orthospca.model.nodes import Bound, Closed, Node, NodeReason
from orthospca.model.result import ClosedBy, Status
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import TreeTuning
from orthospca.search.outline import Outline, Written
from orthospca.search.state import StageState
from orthospca.supports.best import (
    Candidate,
    best_on_support,
    no_feasible_vector,
    upper_on_support,
)
from orthospca.supports.enumeration import count_supports, enumerate_supports
from orthospca.supports.heuristics import best_of, polish


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """A node evaluated: closed for a reason, or open with a bound and an index to branch on."""

    best: Candidate | None
    closed: Closed | None = None
    open: Node | None = None
    removed: tuple[Closed, ...] = ()
    written: Written | None = None


class TreeSearch:
    """Branch and bound on one stage.

    Parameters
    ----------
    state : StageState
        What is known of the stage; the search adds to it.
    bound : Bound or None
        None if every node is to be enumerated.
    enumerate_below : int
        Nodes with at most this many supports are enumerated.
    n_jobs : int, optional
        Threads.
    tuning : TreeTuning
    outline : Outline, optional
        Where nodes are written down for a proof.
    """

    def __init__(
        self,
        state: StageState[Subproblem],
        bound: Bound | None,
        *,
        enumerate_below: int = 1,
        n_jobs: int | None = None,
        tuning: TreeTuning | None = None,
        outline: Outline | None = None,
    ) -> None:
        self.state = state
        self.problem = state.problem
        self.bound = bound
        self.enumerate_below = enumerate_below
        self.n_jobs = n_jobs
        self.tuning = tuning or TreeTuning()
        self.outline = outline

    def explore(self, roots: Sequence[Node]) -> Status | None:
        """Explore until nothing is open or a limit is met, and return which.

        Parameters
        ----------
        roots : sequence of Node
            Together they cover every support of interest.
        """
        known = self.state
        known.open.working = list(roots)
        known.trying = ClosedBy.ENUMERATION if self.bound is None else ClosedBy.RELAXATION
        with Parallel(n_jobs=self.n_jobs, backend="threading") as pool:
            nodes: list[Node] = list(roots)
            while nodes:
                verdict = known.watch.verdict(known.nodes)
                if verdict is not None:
                    return verdict
                if self.outline is not None and self.outline.nbytes > self.tuning.largest_proof:
                    return Status.PROOF_LIMIT
                self._evaluate_round(pool, nodes)
                known.tell()
                nodes = self._next_round()
                if nodes:
                    known.trying = ClosedBy.TREE
        return None

    def _evaluate_round(self, pool: Parallel, nodes: Sequence[Node]) -> None:
        known = self.state
        cutoff, incumbent = known.cutoff, known.best
        if len(nodes) == 1 or self.n_jobs in (None, 1):
            evaluations = [self._evaluate(node, incumbent, cutoff) for node in nodes]
        else:
            evaluations = pool(delayed(self._evaluate)(node, incumbent, cutoff) for node in nodes)
        known.nodes += len(nodes)
        for evaluation in evaluations:
            self._take(evaluation)
        # Only now: an interrupt in between must not lose a node.
        known.open.working = []

    def _take(self, evaluation: _Evaluation) -> None:
        known = self.state
        known.improve(evaluation.best)
        for closed in evaluation.removed:
            known.close(closed)
        if evaluation.closed is not None:
            known.close(evaluation.closed)
        if self.outline is not None and evaluation.written is not None:
            self.outline.enter(evaluation.written)
        if evaluation.open is not None:
            known.open.push(evaluation.open)

    def _next_round(self) -> list[Node]:
        """Children of the most promising nodes; nodes that the incumbent now closes are closed."""
        known = self.state
        cutoff, waiting = known.cutoff, known.open
        if waiting.upper <= cutoff:
            for node in waiting.all_waiting():
                self._close(node)
            waiting.drop_waiting()
        waiting.take(self.tuning.round)
        for node in waiting.working:
            if node.upper <= cutoff:
                self._close(node)
        waiting.working = [node for node in waiting.working if node.upper > cutoff]
        return [child for node in waiting.working for child in node.children()]

    def _close(self, node: Node) -> None:
        reason = NodeReason.EIGENVALUE if node.payload is None else NodeReason.MULTIPLIERS
        closed = Closed(node.included, node.allowed, node.upper, reason, node.proof)
        self.state.close(closed)

    def _evaluate(self, node: Node, incumbent: Candidate | None, cutoff: float) -> _Evaluation:
        """Solve a node, or bound it."""
        finished = self._finish(node, incumbent, cutoff)
        if finished is not None:
            return finished
        return self._bound(node, incumbent, cutoff)

    def _bound(self, node: Node, incumbent: Candidate | None, cutoff: float) -> _Evaluation:
        """Bound a node: it is closed, or stays open, perhaps with fewer indices."""
        problem = self.problem
        assert self.bound is not None, "an enumeration has no nodes to bound"
        bound = self.bound(node, cutoff, self.state.watch)
        upper = min(bound.upper, node.upper)
        best = incumbent
        if bound.supports:
            found = best_of(problem, np.vstack(bound.supports))
            if found is not None and (best is None or found.value > best.value):
                best = found if self.state.watch.out_of_time() else polish(problem, found)
                cutoff = max(cutoff, self.state.tolerance.cutoff(best.value))
        if upper <= cutoff or upper == -math.inf:
            # What fixing removed on the way belongs to the node that is closed.
            whole = min(node.upper, max(upper, bound.fixed_upper))
            closed = _closed(node, whole, bound.reason, best, bound.proof)
            left = Node(bound.included, bound.allowed, upper, proof=bound.proof, path=node.path)
            return replace(closed, written=Written(left, bound.steps))
        tightened = Node(
            bound.included,
            bound.allowed,
            upper,
            bound.branch,
            bound.payload,
            bound.proof,
            node.path,
        )
        removed: tuple[Closed, ...] = ()
        if bound.fixed_upper > -math.inf:
            kept = (bound.included, bound.allowed)
            removed = (_removed(node, kept, bound.fixed_upper, bound.proof),)
        finished = self._finish(tightened, best, cutoff)
        if finished is None:
            written = Written(tightened, bound.steps)
            return _Evaluation(best, open=tightened, removed=removed, written=written)
        assert finished.written is not None
        return replace(
            finished, removed=removed, written=replace(finished.written, steps=bound.steps)
        )

    def _finish(self, node: Node, incumbent: Candidate | None, cutoff: float) -> _Evaluation | None:
        """Solve a node that is small enough to need no bound; None if it is not."""
        problem = self.problem
        if len(node.allowed) <= problem.sparsity or len(node.included) >= problem.sparsity:
            return self._solve_support(node, incumbent)
        if self.outline is None and no_feasible_vector(problem, node.allowed):
            return _closed(node, -math.inf, NodeReason.INFEASIBLE, incumbent)
        count = count_supports(len(node.included), len(node.allowed), problem.sparsity)
        if count <= self.enumerate_below:
            return self._enumerate(node, incumbent, cutoff)
        return None

    def _solve_support(self, node: Node, incumbent: Candidate | None) -> _Evaluation:
        whole = len(node.allowed) <= self.problem.sparsity
        support = node.allowed if whole else node.included
        best = best_on_support(self.problem, support)
        if incumbent is not None and (best is None or best.value < incumbent.value):
            best = incumbent
        upper = min(node.upper, upper_on_support(self.problem, support))
        closed = _closed(node, upper, NodeReason.SUPPORT, best)
        return replace(closed, written=Written(node, tested=True))

    def _enumerate(self, node: Node, incumbent: Candidate | None, cutoff: float) -> _Evaluation:
        stop = self.state.watch.out_of_time
        found = enumerate_supports(
            self.problem, node.included, node.allowed, incumbent, cutoff, stop
        )
        if found.complete:
            upper = min(node.upper, found.upper)
            closed = _closed(node, upper, NodeReason.ENUMERATED, found.best)
            return replace(closed, written=Written(node, tested=True))
        left = replace(node, branch=int(node.free[0]))
        return _Evaluation(found.best, open=left, written=Written(left))


def _closed(
    node: Node,
    upper: float,
    reason: NodeReason,
    best: Candidate | None = None,
    proof: object = None,
) -> _Evaluation:
    return _Evaluation(best, Closed(node.included, node.allowed, upper, reason, proof))


def _removed(node: Node, kept: tuple[IntArray, IntArray], upper: float, proof: object) -> Closed:
    """Return the supports of a node that are not between the kept indices, as a closed node."""
    return Closed(node.included, node.allowed, upper, NodeReason.FIXED, proof, kept=kept)
