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

from orthospca._methods import Method
from orthospca._typing import Array
from orthospca.blocks.partitioned import PartitionedMatrix
from orthospca.blocks.state import BlockState
from orthospca.blocks.tasks import BlockWatch, Supervisor, solve_block
from orthospca.model.limits import Watch
from orthospca.model.result import ClosedBy, Progress, Status
from orthospca.model.settings import Settings
from orthospca.model.tolerance import Tolerance
from orthospca.numerics.rounding import add_up, mul_up
from orthospca.search.outcome import Outcome, Request
from orthospca.supports.best import Candidate

#: How the solve of a block may end before its gap is closed.
STOPPED = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.FEATURE_LIMIT)


@dataclass(eq=False)
class BlockStages:
    """The stages of a problem that is split into blocks.

    Attributes
    ----------
    problem : PartitionedMatrix
    settings : Settings
        Of the original problem.
    block_tolerance : Tolerance
        Of the solves of blocks, where less is left to them.
    watch : Watch
    note : str
        How the problem is split.
    """

    problem: PartitionedMatrix
    settings: Settings
    block_tolerance: Tolerance
    watch: Watch
    note: str = ""
    nested = True

    def __post_init__(self) -> None:
        if self.settings.method is Method.ENUMERATION:
            self.block_tolerance = Tolerance(0.0, 0.0)
        self.n_features = self.problem.n_features
        self.blocks = self.problem.states()
        self.nodes = self.sparsity = 0
        #: The candidate that was looked at last, in the original problem, and what it comes from.
        self._valued: tuple[Outcome | None, Candidate] = None, Candidate(-math.inf, np.zeros(0))

    def solve(self, request: Request) -> Outcome:
        """Solve blocks until none can hold more than the best candidate, and take that."""
        self.sparsity, self.nodes = request.sparsity, 0
        for block in self.blocks:
            block.follow(request.previous, request.sparsity, request.demand)
        stopped = self._fill()
        leader = self._leader()
        if leader is None:
            exhausted = all(block.upper == -math.inf for block in self.blocks)
            status = Status.EXHAUSTED if exhausted else stopped or Status.PRECISION
            return Outcome(None, float(self._uppers().max()), status, self.nodes)
        return self._take(leader, request, stopped)

    def _leader(self) -> BlockState | None:
        """The block with the best candidate; the first of equal ones."""
        ready = [b for b in self.blocks if b.outcome is not None and b.outcome.best is not None]
        return max(ready, key=lambda block: block.value, default=None)

    def _fill(self) -> Status | None:
        """Solve blocks until none can hold more than the best candidate; why it stopped, if not."""
        count = 1
        try:
            while waiting := self._waiting():
                verdict = self.watch.verdict(self.nodes)
                if verdict is not None and (self._leader() is not None or self.watch.interrupted):
                    return verdict
                cutoff, chosen = self._cutoff(), waiting[:count]
                if cutoff > -math.inf:
                    chosen = [b for b in chosen if self.blocks[b].tighten() > cutoff]
                if chosen:
                    self._solve(chosen, waiting)
                    self._report()
                count = min(2 * count, self.settings.tuning.blocks.round)
        except KeyboardInterrupt:
            self.watch.interrupted = True
            return Status.INTERRUPTED
        return None

    def _cutoff(self) -> float:
        leader = self._leader()
        return -math.inf if leader is None else self.block_tolerance.cutoff(leader.value)

    def _waiting(self) -> list[int]:
        """Unsolved blocks that may hold more than the best candidate, the most promising first."""
        cutoff, blocks = self._cutoff(), self.blocks
        left = [b for b, x in enumerate(blocks) if x.outcome is None and x.bound > cutoff]
        return sorted(left, key=lambda b: (-blocks[b].bound, b))

    def _solve(self, chosen: Sequence[int], waiting: Sequence[int]) -> None:
        """Solve some blocks, together if there are several and jobs for them.

        Each may use a share of the time that is left, by the work it promises.
        """
        n_jobs, nodes = self.settings.n_jobs, self.watch.node_limit - self.nodes
        alone = len(chosen) == 1 or effective_n_jobs(n_jobs) == 1
        alone |= any(self.blocks[b].data is not None for b in chosen)
        work = {b: float(len(self.blocks[b].indices)) ** 3 for b in waiting}
        left, whole = self.watch.seconds_left, sum(work.values())
        settings = replace(
            self.settings,
            tolerance=self.block_tolerance,
            node_limit=None if math.isinf(nodes) else int(max(nodes, 1)),
            n_jobs=n_jobs if alone else 1,
        )
        tasks = []
        for b in chosen:
            # One after another they share the time; together each may take all of the round's.
            share = work[b] if alone else sum(work[c] for c in chosen)
            seconds = None if math.isinf(left) else left * share / whole
            tasks.append(self.blocks[b].task(replace(settings, time_limit=seconds)))
        if alone:
            pairs = zip(chosen, tasks, strict=True)
            outcomes = [solve_block(task, self._supervisor(b)) for b, task in pairs]
        else:
            supervisor = Supervisor(self.watch)
            pool = Parallel(n_jobs=n_jobs, prefer="threads")
            outcomes = pool(delayed(solve_block)(task, supervisor) for task in tasks)
        for b, outcome in zip(chosen, outcomes, strict=True):
            self.blocks[b].outcome = outcome
            self.nodes += outcome.nodes
            self.watch.interrupted |= outcome.status is Status.INTERRUPTED

    def _supervisor(self, block: int) -> Supervisor:
        """Tells the callback of the whole solve where the solve of one block stands."""
        problem, watch = self.problem, self.watch
        label = int(problem.blocks.labels[self.blocks[block].indices[0]])
        others = float(np.delete(self._uppers(), block).max(initial=-math.inf))
        best = self._lower()

        def tell(entry: Progress) -> None:
            lower = best
            if problem.blocks.inside == "kept":
                lower = max(lower, 0.0 - add_up(-entry.lower, problem.rounding(self.sparsity)))
            upper = self.upper_given(max(entry.upper, others))
            nodes, seconds = self.nodes + entry.nodes, watch.clock.elapsed
            stage, waiting = watch.journal.stage, entry.open_nodes
            watch.tell(Progress(stage, nodes, waiting, lower, upper, seconds, label))

        return Supervisor(watch, tell)

    def _uppers(self) -> Array:
        return np.array([block.upper for block in self.blocks])

    def upper_given(self, upper: float) -> float:
        """Bound on the original problem, given one on all blocks."""
        return add_up(upper, self.problem.a_priori(self.sparsity))

    def _lower(self) -> float:
        """The variance of the best candidate in the original problem."""
        leader = self._leader()
        return -math.inf if leader is None else self._candidate(leader).value

    def _report(self) -> None:
        upper, waiting = self.upper_given(float(self._uppers().max())), len(self._waiting())
        self.watch.report(self.nodes, waiting, self._lower(), upper, ClosedBy.BLOCKS)

    def _candidate(self, block: BlockState) -> Candidate:
        """The candidate of a block in the original problem, with its variance there."""
        assert block.outcome is not None and block.outcome.best is not None
        known, candidate = self._valued
        if known is not block.outcome:
            vector = block.outcome.best.embedded(block.indices, self.n_features).vector
            candidate = Candidate(self.problem.variance(vector), vector)
            self._valued = block.outcome, candidate
        return candidate

    def _take(self, leader: BlockState, request: Request, stopped: Status | None) -> Outcome:
        """Take the leader's candidate; its certificate in the original problem, its guarantee."""
        best = self._candidate(leader)
        guarantee = self._guarantee(leader, best)
        # Its reports are not those of the whole solve; its interrupts and its time are.
        watch = BlockWatch(self.watch.seconds_left, None, Supervisor(self.watch))
        cutoff = self.settings.tolerance.cutoff(best.value)
        upper = self.problem.bound(request, self.blocks, best, cutoff, watch)
        by = ClosedBy.CAP if request.cap < upper else ClosedBy.BLOCKS
        upper = max(min(upper, request.cap), best.value)
        status = self._status(best.value, upper, stopped)
        self.watch.report(self.nodes, 0, best.value, upper, by)
        return Outcome(best, upper, status, self.nodes, guarantee=guarantee, closed_by=by)

    def _guarantee(self, leader: BlockState, best: Candidate) -> float:
        """``(p-1)δ' + ε`` or ``2pδ + ε``, rounded upwards."""
        problem, uppers = self.problem, float(self._uppers().max())
        short = max(add_up(self.upper_given(uppers), -best.value), 0.0)
        if problem.lossless or problem.blocks.inside == "kept":
            return short
        delta = max(problem.blocks.threshold, problem.cross, problem.inside)
        reached = max(add_up(uppers, -leader.value), 0.0)
        return max(add_up(mul_up(2 * self.sparsity, delta), reached), short)

    def _status(self, variance: float, upper: float, stopped: Status | None) -> Status:
        if self.settings.tolerance.met(variance, upper):
            return Status.OPTIMAL
        if self.watch.interrupted:
            return Status.INTERRUPTED
        if stopped is not None:
            return stopped
        cutoff = self._cutoff()
        outcomes = (block.outcome for block in self.blocks if block.upper > cutoff)
        ends = (each.status for each in outcomes if each is not None and each.status in STOPPED)
        return next(ends, Status.PRECISION if self.problem.lossless else Status.THRESHOLD)
