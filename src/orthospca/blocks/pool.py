"""Algorithm 3: a pool with the next candidate of each block.

The k-th component of a block-diagonal matrix is the best of the blocks' next candidates, each
orthogonal to the components that its own block has given (Theorems 1 and 2).  A block whose proved
bound does not exceed the best candidate in hand is not solved.  Blocks that have to be are solved
in rounds whose sizes do not depend on the number of jobs, so neither does the result.

See ``docs/theory/decomposition.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from orthospca._typing import Array
from orthospca.blocks.partitioned import Partitioned
from orthospca.blocks.state import BlockState
from orthospca.blocks.tasks import BlockWatch, Link, solve_block
from orthospca.bounds.classical import rounded_up
from orthospca.model.limits import Watch
from orthospca.model.result import Component, Progress, Status
from orthospca.model.tolerance import Tolerance
from orthospca.supports.best import Candidate

#: Blocks solved in one round, at most; the first rounds of a stage are smaller (1, 2, 4), because
#: what they find may spare the others.
ROUND = 8
#: How the solve of a block may end before its gap is closed.
STOPPED = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.FEATURE_LIMIT, Status.PRECISION)


@dataclass(frozen=True, eq=False)
class Merged:
    """What the blocks give together.

    Attributes
    ----------
    components : list of Component
    exhausted : bool
        Proved that no further component exists.
    guarantee : float
        The a-priori guarantee: ``(p-1)δ' + ε``, or ``2pδ + ε`` for thresholded blocks, the largest
        of all stages; ε is what the solves of the blocks reached.
    """

    components: list[Component]
    exhausted: bool
    guarantee: float


class Pool:
    """The blocks and their next candidates.

    Parameters
    ----------
    problem : Partitioned
    method : str
    tolerance : Tolerance
        Of a stage of the original problem.
    block_tolerance : Tolerance
        Of the solves of blocks, where less is left to them.
    watch : Watch
    n_jobs : int, optional
        Jobs over blocks, by the backend that ``joblib.parallel_config`` names.
    """

    def __init__(
        self,
        problem: Partitioned,
        method: str,
        tolerance: Tolerance,
        block_tolerance: Tolerance,
        watch: Watch,
        n_jobs: int | None,
    ) -> None:
        if method == "enumeration":
            tolerance = block_tolerance = Tolerance(0.0, 0.0)
        self.problem = problem
        self.method = method
        self.tolerance = replace(tolerance, scale=problem.scale)
        self.block_tolerance = replace(block_tolerance, scale=problem.scale)
        self.watch = watch
        self.n_jobs = n_jobs
        self.blocks = problem.states()
        self.nodes = 0
        self.sparsity = 0

    def run(self) -> Merged:
        """Take the components, stage after stage."""
        problem, watch = self.problem, self.watch
        found: list[Component] = []
        previous = np.zeros((problem.n_features, 0))
        exhausted = False
        guarantee = 0.0
        for k, sparsity in enumerate(problem.limits):
            watch.begin_stage(k, len(problem.limits) - k)
            self.sparsity = sparsity
            stopped = self._stage()
            leader = self._leader()
            if leader is None:
                exhausted = all(block.upper == -math.inf for block in self.blocks)
                break
            component, allowed = self._component(previous, leader, stopped)
            found.append(component)
            guarantee = max(guarantee, allowed)
            previous = np.column_stack([previous, component.vector])
            if watch.interrupted:
                break
        return Merged(found, exhausted, guarantee if found else math.nan)

    def _leader(self) -> BlockState | None:
        """The block with the best candidate; the first of equal ones."""
        ready = [b for b in self.blocks if b.outcome is not None and b.outcome.best is not None]
        return max(ready, key=lambda block: block.value, default=None)

    def _stage(self) -> Status | None:
        """Solve blocks until none can hold more than the best candidate; why it stopped, if not."""
        self.nodes = 0
        for block in self.blocks:
            block.prepare(self.sparsity)
        count = 1
        try:
            while waiting := self._waiting():
                verdict = self.watch.verdict(self.nodes)
                if verdict is not None and (self._leader() is not None or self.watch.interrupted):
                    return verdict
                chosen = self._still_waiting(waiting, count)
                if chosen:
                    self._solve(chosen, waiting)
                    self._report()
                count = min(2 * count, ROUND)
        except KeyboardInterrupt:
            self.watch.interrupted = True
            return Status.INTERRUPTED
        return None

    def _cutoff(self) -> float:
        leader = self._leader()
        return -math.inf if leader is None else self.block_tolerance.cutoff(leader.value)

    def _waiting(self) -> list[int]:
        """Unsolved blocks that may hold more than the best candidate, the most promising first."""
        cutoff = self._cutoff()
        blocks = self.blocks
        left = [b for b, x in enumerate(blocks) if x.outcome is None and x.bound > cutoff]
        return sorted(left, key=lambda b: (-blocks[b].bound, b))

    def _still_waiting(self, waiting: Sequence[int], count: int) -> list[int]:
        cutoff = self._cutoff()
        if cutoff == -math.inf:
            return list(waiting[:count])
        return [b for b in waiting[:count] if self.blocks[b].tighten() > cutoff]

    def _solve(self, chosen: Sequence[int], waiting: Sequence[int]) -> None:
        """Solve some blocks, together if there are several and jobs for them."""
        left = self.watch.seconds_left
        work = {b: float(len(self.blocks[b].indices)) ** 3 for b in waiting}
        whole = sum(work.values())
        limit = max(self.watch.node_limit - self.nodes, 1)
        alone = len(chosen) == 1 or effective_n_jobs(self.n_jobs) == 1
        alone |= not all(self.blocks[b].is_portable for b in chosen)
        tasks = []
        for b in chosen:
            block = self.blocks[b]
            # One after another they share the time; together each may take all of the round's.
            share = work[b] if alone else sum(work[c] for c in chosen)
            seconds = left if math.isinf(left) else left * share / whole
            jobs = self.n_jobs if alone else 1
            tasks.append(block.task(self.method, self.block_tolerance, seconds, limit, jobs))
        if alone:
            pairs = zip(chosen, tasks, strict=True)
            outcomes = [solve_block(task, _Reporter(self, b)) for b, task in pairs]
        else:
            link = Link(self.watch)
            pool = Parallel(n_jobs=self.n_jobs, prefer="threads")
            outcomes = pool(delayed(solve_block)(task, link) for task in tasks)
        for b, outcome in zip(chosen, outcomes, strict=True):
            self.blocks[b].outcome = outcome
            self.nodes += outcome.nodes
            if outcome.status is Status.INTERRUPTED:
                self.watch.interrupted = True

    def _uppers(self) -> Array:
        return np.array([block.upper for block in self.blocks])

    def _report(self) -> None:
        leader = self._leader()
        lower = -math.inf if leader is None else self._variance(leader)[0]
        upper = rounded_up(float(self._uppers().max()) + self.problem.a_priori(self.sparsity), 1)
        self.watch.report(self.nodes, len(self._waiting()), lower, upper)

    def _variance(self, block: BlockState) -> tuple[float, Array]:
        """The candidate of a block in the original problem, and its variance there."""
        assert block.outcome is not None and block.outcome.best is not None
        best = block.outcome.best
        vector = np.zeros(self.problem.n_features)
        vector[block.indices] = best.vector
        vector.flags.writeable = False
        if self.problem.blocks.inside == "kept":
            return best.value, vector
        return self.problem.variance(vector), vector

    def _component(
        self, previous: Array, leader: BlockState, stopped: Status | None
    ) -> tuple[Component, float]:
        """Take the leader's candidate; its certificate in the original problem, its guarantee."""
        p = self.sparsity
        variance, vector = self._variance(leader)
        reached = max(float(self._uppers().max()) - leader.value, 0.0)
        allowed = self._guarantee(p, reached)
        cutoff = self.tolerance.cutoff(variance)
        best = Candidate(variance, vector)
        # Its reports are not those of the whole solve; its interrupts and its time are.
        watch = BlockWatch(self.watch.seconds_left, math.inf, Link(self.watch))
        upper = self.problem.bound(p, previous, self.blocks, best, cutoff, watch)
        upper = max(min(upper, variance + allowed), variance)
        status = self._status(variance, upper, stopped)
        leader.give()
        self.watch.report(self.nodes, 0, variance, upper)
        component = Component(
            vector=vector,
            variance=variance,
            upper_bound=upper,
            status=status,
            nodes=self.nodes,
            runtime=self.watch.stage_elapsed,
        )
        return component, allowed

    def _guarantee(self, sparsity: int, reached: float) -> float:
        """``(p-1)δ' + ε`` or ``2pδ + ε``, rounded upwards."""
        if self.problem.lossless:
            return rounded_up(reached, 1)
        if self.problem.blocks.inside == "kept":
            return rounded_up(self.problem.a_priori(sparsity) + reached, 1)
        delta = max(self.problem.blocks.threshold, self.problem.cross, self.problem.inside)
        return rounded_up(2 * sparsity * delta + reached, 1)

    def _status(self, variance: float, upper: float, stopped: Status | None) -> Status:
        if self.tolerance.met(variance, upper):
            return Status.OPTIMAL
        if self.watch.interrupted or stopped is not None:
            return Status.INTERRUPTED if self.watch.interrupted else stopped or Status.NODE_LIMIT
        cutoff = self._cutoff()
        for block in self.blocks:
            outcome = block.outcome
            if outcome is not None and outcome.upper > cutoff and outcome.status in STOPPED:
                return outcome.status
        return Status.PRECISION if self.problem.lossless else Status.THRESHOLD


class _Reporter(Link):
    """Tells the callback of the whole solve where the solve of one block stands."""

    def __init__(self, pool: Pool, block: int) -> None:
        super().__init__(pool.watch)
        self._pool = pool
        self._block = block
        uppers = np.delete(pool._uppers(), block)
        self._others = float(uppers.max(initial=-math.inf))
        leader = pool._leader()
        self._lower = -math.inf if leader is None else pool._variance(leader)[0]

    def tell(self, entry: Progress) -> None:
        pool, watch = self._pool, self._pool.watch
        upper = max(entry.upper, self._others) + pool.problem.a_priori(pool.sparsity)
        kept = pool.problem.blocks.inside == "kept"
        lower = max(entry.lower, self._lower) if kept else self._lower
        nodes = pool.nodes + entry.nodes
        record = Progress(
            watch.stage, nodes, entry.open_nodes, lower, upper, watch.elapsed, self._block
        )
        watch.tell(record)
