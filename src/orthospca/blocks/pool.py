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
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from orthospca._methods import Method
from orthospca._typing import Array
from orthospca.blocks.partitioned import PartitionedMatrix
from orthospca.blocks.state import BlockState
from orthospca.blocks.tasks import BlockWatch, Supervisor, solve_block
from orthospca.model.limits import Watch
from orthospca.model.result import Progress, Status
from orthospca.model.settings import Settings
from orthospca.model.tolerance import Tolerance
from orthospca.numerics.rounding import add_up, mul_up
from orthospca.search.outcome import Outcome, Request
from orthospca.supports.best import Candidate

#: How the solve of a block may end before its gap is closed.
STOPPED = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.FEATURE_LIMIT)


class BlockStages:
    """The stages of a problem that is split into blocks.

    Parameters
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

    nested = True

    def __init__(
        self,
        problem: PartitionedMatrix,
        settings: Settings,
        block_tolerance: Tolerance,
        watch: Watch,
        note: str = "",
    ) -> None:
        if settings.method is Method.ENUMERATION:
            block_tolerance = Tolerance(0.0, 0.0)
        self.n_features = problem.n_features
        self.note = note
        self.problem = problem
        self.settings = settings
        self.block_settings = replace(settings, tolerance=block_tolerance)
        self.watch = watch
        self.blocks = problem.states()
        self.nodes = 0
        self.sparsity = 0
        #: The candidate that was looked at last, in the original problem, and what it comes from.
        self._valued: tuple[Outcome | None, Candidate] = None, Candidate(-math.inf, np.zeros(0))

    def solve(self, request: Request) -> Outcome:
        """Solve blocks until none can hold more than the best candidate, and take that."""
        self.sparsity, self.nodes = request.sparsity, 0
        for block in self.blocks:
            block.follow(request.previous, request.sparsity)
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
                chosen = self._still_waiting(waiting, count)
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
        if leader is None:
            return -math.inf
        return self.block_settings.tolerance.cutoff(leader.value)

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
        n_jobs = self.settings.n_jobs
        alone = len(chosen) == 1 or effective_n_jobs(n_jobs) == 1
        alone |= any(self.blocks[b].data is not None for b in chosen)
        settings = self._settings_for(chosen, waiting, alone)
        tasks = [self.blocks[b].task(settings[b]) for b in chosen]
        if alone:
            pairs = zip(chosen, tasks, strict=True)
            outcomes = [solve_block(task, _Reporter(self, b)) for b, task in pairs]
        else:
            supervisor = Supervisor(self.watch)
            pool = Parallel(n_jobs=n_jobs, prefer="threads")
            outcomes = pool(delayed(solve_block)(task, supervisor) for task in tasks)
        for b, outcome in zip(chosen, outcomes, strict=True):
            self.blocks[b].outcome = outcome
            self.nodes += outcome.nodes
            if outcome.status is Status.INTERRUPTED:
                self.watch.interrupted = True

    def _settings_for(
        self, chosen: Sequence[int], waiting: Sequence[int], alone: bool
    ) -> dict[int, Settings]:
        """What each block may use: a share of the time that is left, by the work it promises."""
        left, limit = self.watch.seconds_left, self.watch.node_limit
        work = {b: float(len(self.blocks[b].indices)) ** 3 for b in waiting}
        whole = sum(work.values())
        together = sum(work[b] for b in chosen)
        nodes = None if math.isinf(limit) else int(max(limit - self.nodes, 1))
        found = {}
        for b in chosen:
            # One after another they share the time; together each may take all of the round's.
            share = work[b] if alone else together
            found[b] = replace(
                self.block_settings,
                time_limit=None if math.isinf(left) else left * share / whole,
                node_limit=nodes,
                n_jobs=self.settings.n_jobs if alone else 1,
            )
        return found

    def _uppers(self) -> Array:
        return np.array([block.upper for block in self.blocks])

    def upper_given(self, upper: float) -> float:
        """Bound on the original problem, given one on all blocks."""
        return add_up(upper, self.problem.a_priori(self.sparsity))

    def _report(self) -> None:
        leader = self._leader()
        lower = -math.inf if leader is None else self._candidate(leader).value
        upper = self.upper_given(float(self._uppers().max()))
        self.watch.report(self.nodes, len(self._waiting()), lower, upper)

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
        upper = max(min(upper, request.cap), best.value)
        status = self._status(best.value, upper, stopped)
        self.watch.report(self.nodes, 0, best.value, upper)
        return Outcome(best, upper, status, self.nodes, guarantee=guarantee)

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
        for block in self.blocks:
            outcome = block.outcome
            if outcome is not None and outcome.upper > cutoff and outcome.status in STOPPED:
                return outcome.status
        return Status.PRECISION if self.problem.lossless else Status.THRESHOLD


class _Reporter(Supervisor):
    """Tells the callback of the whole solve where the solve of one block stands."""

    def __init__(self, stages: BlockStages, block: int) -> None:
        super().__init__(stages.watch)
        self._stages = stages
        self._label = int(stages.problem.blocks.labels[stages.blocks[block].indices[0]])
        uppers = np.delete(stages._uppers(), block)
        self._others = float(uppers.max(initial=-math.inf))
        leader = stages._leader()
        self._lower = -math.inf if leader is None else stages._candidate(leader).value

    def tell(self, entry: Progress) -> None:
        stages, watch = self._stages, self._stages.watch
        lower = self._lower
        if stages.problem.blocks.inside == "kept":
            rounding = stages.problem.rounding(stages.sparsity)
            lower = max(lower, -add_up(-entry.lower, rounding))
        record = Progress(
            watch.journal.stage,
            stages.nodes + entry.nodes,
            entry.open_nodes,
            lower,
            stages.upper_given(max(entry.upper, self._others)),
            watch.clock.elapsed,
            self._label,
        )
        watch.tell(record)
