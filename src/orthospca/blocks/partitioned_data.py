"""A partition of the features of data whose covariance is never formed in full.

Blocks of moderate size become matrices when Algorithm 3 has to solve them, larger ones are solved
where their data are, and the features that are joined to nothing are one sorted list.  The bound on
the original problem comes from row bounds, which leave few features, and from the blocks of those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.blocks.partition import Blocks, as_blocks, numbered
from orthospca.blocks.posterior import PosteriorBound, group_bound
from orthospca.blocks.state import BlockState
from orthospca.blocks.tasks import LargeTask, Task
from orthospca.bounds.classical import rounded_up
from orthospca.data.covariance import DataCovariance
from orthospca.data.profiles import potential
from orthospca.model.limits import Watch
from orthospca.model.result import Status
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.search.methods import bound_by_conditioning
from orthospca.search.outcome import Outcome
from orthospca.supports.best import Candidate
from orthospca.wide.stage import LARGEST_MATRIX, LargeProblem, reduce_stage

#: More features than this are not compared pair by pair for the bound on the original problem.
LARGEST_COMPARISON = 2000


class PartitionedData:
    """A problem given by data, and its blocks.

    Parameters
    ----------
    problem : LargeProblem
    limits : tuple of int
        The sparsity of each stage.
    blocks : Blocks
        With entries inside blocks kept.
    """

    inside = 0.0

    def __init__(self, problem: LargeProblem, limits: tuple[int, ...], blocks: Blocks) -> None:
        self.problem = problem
        self.covariance = problem.covariance
        self.limits = limits
        self.blocks = blocks
        self.n_features = self.covariance.n_features
        self.scale = float(self.covariance.diagonal.max()) or 1.0
        self.cross = blocks.cross
        self.lossless = blocks.n_blocks == 1

    def states(self) -> list[BlockState]:
        """Return the blocks as they are before the first stage; single features are one of them."""
        sizes = self.blocks.sizes
        states: list[BlockState] = []
        alone = np.flatnonzero(sizes[self.blocks.labels] == 1)
        if len(alone):
            states.append(Singles(alone, self.covariance.diagonal[alone]))
        for b in np.flatnonzero(sizes > 1):
            indices = self.blocks.blocks[b]
            kind = MatrixBlock if len(indices) <= LARGEST_MATRIX else LargeBlock
            states.append(kind(self.problem, indices))
        return states

    def a_priori(self, sparsity: int) -> float:
        """Bound on what the blocks leave out of a variance: ``(p-1)δ'``, and rounding."""
        if self.lossless:
            return self._rounding(sparsity)
        return rounded_up((sparsity - 1) * self.cross + self._rounding(sparsity), 1)

    def _rounding(self, sparsity: int) -> float:
        """Entries are computed from the data, each with an error of at most its radius."""
        return sparsity * self.covariance.relative_radius * self.scale

    def bound(
        self,
        sparsity: int,
        previous: Array,
        states: Sequence[BlockState],
        best: Candidate,
        cutoff: float,
        watch: Watch,
    ) -> float:
        """Proved bound on a stage of the problem, from what is proved of the blocks."""
        uppers = self._uppers(states)
        rounding = self._rounding(sparsity)
        upper = rounded_up(float(uppers.max()) + self.a_priori(sparsity), 1)
        if self.lossless:
            return upper
        groups = group_bound(uppers, sparsity, self.cross, 0.0)
        upper = min(upper, rounded_up(groups + rounding, 1))
        if upper > cutoff:
            upper = min(upper, self._by_rows(sparsity, previous, uppers, best, cutoff, watch))
        return upper

    def _uppers(self, states: Sequence[BlockState]) -> Array:
        """Bounds of all blocks, in the order of the partition."""
        uppers = np.full(self.blocks.n_blocks, -math.inf)
        labels = self.blocks.labels
        for state in states:
            if isinstance(state, Singles):
                uppers[labels[state.left]] = state.variances_left
            else:
                uppers[labels[state.indices[0]]] = state.upper
        return uppers

    def _by_rows(
        self,
        sparsity: int,
        previous: Array,
        uppers: Array,
        best: Candidate,
        cutoff: float,
        watch: Watch,
    ) -> float:
        """Let row bounds rule out most features, and bound the others by their blocks."""
        rounding = self._rounding(sparsity)
        cutoff -= 2 * rounding
        reduction = reduce_stage(self.problem, sparsity, previous, best, cutoff, watch.out_of_time)
        kept = np.union1d(reduction.kept, np.flatnonzero(best.vector))
        matrix = self.covariance.submatrix(kept)
        labels = numbered(self.blocks.labels[kept])
        blocks = as_blocks(labels, self.blocks.threshold, "kept", self.cross)
        inherited = np.array([uppers[self.blocks.labels[kept[b[0]]]] for b in blocks.blocks])
        stage = Subproblem(matrix, min(sparsity, len(kept)), previous[kept])
        local = math.inf
        if len(kept) <= LARGEST_COMPARISON:
            local = PosteriorBound(matrix, blocks).bound(stage, inherited, best.value, cutoff)
        if local > cutoff:
            part = Candidate(best.value, best.vector[kept])
            local = bound_by_conditioning(stage, part, cutoff, local, watch)
        return rounded_up(max(local, reduction.removed_upper) + rounding, 1)

    def variance(self, vector: Array) -> float:
        """Variance of a vector in the problem itself."""
        used = np.flatnonzero(vector)
        image = self.covariance.columns(used) @ vector[used]
        return float(image @ image)


class MatrixBlock(BlockState):
    """A block whose matrix is formed when it has to be."""

    def __init__(self, problem: LargeProblem, indices: IntArray) -> None:
        covariance = problem.covariance
        super().__init__(
            indices, partial(covariance.submatrix, indices), covariance.diagonal[indices]
        )
        self._covariance = covariance

    def first_bound(self, size: int) -> float:
        """Return a bound from the variances alone: most blocks are never formed."""
        return potential_bound(self._covariance, self.diagonal, size)


class LargeBlock(BlockState):
    """A block with too many features for a matrix."""

    is_portable = False

    def __init__(self, problem: LargeProblem, indices: IntArray) -> None:
        covariance = problem.covariance
        super().__init__(
            indices, partial(covariance.submatrix, indices), covariance.diagonal[indices]
        )
        self._problem = problem
        self._members: BoolArray = np.zeros(covariance.n_features, dtype=bool)
        self._members[indices] = True

    def first_bound(self, size: int) -> float:
        """Return a bound from the variances alone."""
        return potential_bound(self._problem.covariance, self.diagonal, size)

    def tighten(self) -> float:
        """Return the bound as it is: all others need a matrix."""
        return self.bound

    def task(
        self,
        method: str,
        tolerance: Tolerance,
        seconds: float,
        node_limit: float,
        n_jobs: int | None,
    ) -> Task | LargeTask:
        """Return the solve of the block's stage."""
        return LargeTask(
            self._problem,
            self._members,
            self.size,
            self.previous,
            method,
            tolerance,
            seconds,
            node_limit,
        )


class Singles(BlockState):
    """All features that are blocks of their own: the next candidate is the largest variance."""

    def __init__(self, indices: IntArray, variances: Array) -> None:
        order = np.argsort(-variances, kind="stable")
        self._variances = variances[order]
        self._given = 0
        super().__init__(indices[order], self._no_matrix, self._variances)

    @staticmethod
    def _no_matrix() -> Array:
        raise AssertionError("single features have no matrix")

    @property
    def left(self) -> IntArray:
        """Features that have not been given."""
        return self.indices[self._given :]

    @property
    def variances_left(self) -> Array:
        """Their variances."""
        return self._variances[self._given :]

    def prepare(self, sparsity: int) -> None:
        """Begin a stage: there is nothing to solve."""
        if self._given == len(self.indices):
            self.outcome = Outcome(None, -math.inf, Status.EXHAUSTED, 0)
            return
        vector = np.zeros(len(self.indices))
        vector[self._given] = 1.0
        value = float(self._variances[self._given])
        self.outcome = Outcome(Candidate(value, vector), value, Status.OPTIMAL, 0)

    def tighten(self) -> float:
        """Return the bound, which is exact."""
        return self.upper

    def give(self) -> Array:
        """Hand out the candidate."""
        vector = np.zeros(len(self.indices))
        vector[self._given] = 1.0
        self.bound, self.outcome = self.upper, None
        self._given += 1
        return vector


def potential_bound(covariance: DataCovariance, variances: Array, size: int) -> float:
    """Proved bound on every support of that size, from the variances."""
    return float(potential(variances, size).max()) * (1 + 2 * covariance.relative_radius)
