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

from orthospca.model.nodes import Bound, Closed, Node
from orthospca.model.result import ClosedBy, Status
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import DEFAULT, TreeTuning
from orthospca.search.outline import Evaluated, Outline
from orthospca.search.state import StageState
from orthospca.supports.best import (
    Candidate,
    best_on_support,
    better_of,
    no_feasible_vector,
    upper_on_support,
)
from orthospca.supports.enumeration import count_supports, enumerate_supports
from orthospca.supports.heuristics import best_of, polish


@dataclass(eq=False)
class TreeSearch:
    """Branch and bound on one stage.

    Attributes
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

    state: StageState[Subproblem]
    bound: Bound | None
    enumerate_below: int = 1
    n_jobs: int | None = None
    tuning: TreeTuning = DEFAULT.tree
    outline: Outline | None = None

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

    def _take(self, node: Evaluated) -> None:
        known = self.state
        known.improve(node.best)
        if node.removed is not None:
            known.close(node.removed)
        if self.outline is not None:
            self.outline.enter(node)
        if node.closed is not None:
            known.close(node.closed)
        else:
            known.open.push(node.left)

    def _next_round(self) -> list[Node]:
        """Children of the most promising nodes; nodes that the incumbent now closes are closed."""
        cutoff, waiting = self.state.cutoff, self.state.open
        waiting.take(self.tuning.round if waiting.upper > cutoff else math.inf)
        for node in waiting.working:
            if node.upper <= cutoff:
                self.state.close(Closed(node.included, node.allowed, node.upper))
        waiting.working = [node for node in waiting.working if node.upper > cutoff]
        return [child for node in waiting.working for child in node.children()]

    def _evaluate(self, node: Node, incumbent: Candidate | None, cutoff: float) -> Evaluated:
        """Solve a node, or bound it."""
        return self._finish(node, incumbent, cutoff) or self._bound(node, incumbent, cutoff)

    def _bound(self, node: Node, incumbent: Candidate | None, cutoff: float) -> Evaluated:
        """Bound a node: it is closed, or stays open, perhaps with fewer indices."""
        problem, watch = self.state.problem, self.state.watch
        assert self.bound is not None, "an enumeration has no nodes to bound"
        bound = self.bound(node, cutoff, watch)
        upper, best = min(bound.upper, node.upper), incumbent
        if bound.supports:
            found = best_of(problem, np.vstack(bound.supports))
            if found is not None and (best is None or found.value > best.value):
                best = found if watch.out_of_time() else polish(problem, found)
                cutoff = max(cutoff, self.state.tolerance.cutoff(best.value))
        handed = bound.branch, bound.payload, bound.proof, node.path
        left = Node(bound.included, bound.allowed, upper, *handed)
        if upper <= cutoff or upper == -math.inf:
            # What fixing removed on the way belongs to the node that is closed.
            whole = min(node.upper, max(upper, bound.fixed_upper))
            closed = Closed(node.included, node.allowed, whole)
            return Evaluated(left, best, closed, steps=bound.steps)
        removed = None
        if bound.fixed_upper > -math.inf:
            kept = bound.included, bound.allowed
            removed = Closed(node.included, node.allowed, bound.fixed_upper, kept)
        finished = self._finish(left, best, cutoff) or Evaluated(left, best)
        return replace(finished, removed=removed, steps=bound.steps)

    def _finish(self, node: Node, incumbent: Candidate | None, cutoff: float) -> Evaluated | None:
        """Solve a node that is small enough to need no bound; None if it is not."""
        problem = self.state.problem
        if len(node.allowed) <= problem.sparsity or len(node.included) >= problem.sparsity:
            return self._solve_support(node, incumbent)
        if self.outline is None and no_feasible_vector(problem, node.allowed):
            return Evaluated(node, incumbent, Closed(node.included, node.allowed, -math.inf))
        count = count_supports(len(node.included), len(node.allowed), problem.sparsity)
        return self._enumerate(node, incumbent, cutoff) if count <= self.enumerate_below else None

    def _solve_support(self, node: Node, incumbent: Candidate | None) -> Evaluated:
        problem = self.state.problem
        support = node.allowed if len(node.allowed) <= problem.sparsity else node.included
        best = better_of(incumbent, best_on_support(problem, support))
        upper = min(node.upper, upper_on_support(problem, support))
        return Evaluated(node, best, Closed(node.included, node.allowed, upper), tested=True)

    def _enumerate(self, node: Node, incumbent: Candidate | None, cutoff: float) -> Evaluated:
        found = enumerate_supports(
            self.state.problem,
            node.included,
            node.allowed,
            incumbent,
            cutoff,
            self.state.watch.out_of_time,
        )
        if not found.complete:
            return Evaluated(replace(node, branch=int(node.free[0])), found.best)
        upper = min(node.upper, found.upper)
        return Evaluated(node, found.best, Closed(node.included, node.allowed, upper), tested=True)
