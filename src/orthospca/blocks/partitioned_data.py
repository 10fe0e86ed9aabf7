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
from orthospca.blocks.tasks import Task, WideTask
from orthospca.data.covariance import DataCovariance
from orthospca.data.profiles import potential
from orthospca.model.limits import Watch
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.rounding import add_up, mul_up
from orthospca.search.methods import bound_without_branching
from orthospca.search.outcome import Outcome, Request
from orthospca.supports.best import Candidate
from orthospca.wide.stage import WideProblem


class PartitionedData:
    """A problem given by data, and its blocks.

    Parameters
    ----------
    problem : WideProblem
    blocks : Blocks
        With entries inside blocks kept.
    """

    inside = 0.0

    def __init__(self, problem: WideProblem, blocks: Blocks) -> None:
        self.problem = problem
        self.covariance = problem.covariance
        self.blocks = blocks
        self.n_features = self.covariance.n_features
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
            largest = self.problem.settings.tuning.wide.formed
            kind = MatrixBlock if len(indices) <= largest else WideBlock
            states.append(kind(self.problem, indices))
        return states

    def a_priori(self, sparsity: int) -> float:
        """Bound on what the blocks leave out of a variance: ``(p-1)δ'``, and rounding."""
        rounding = self.problem.rounding(sparsity)
        return rounding if self.lossless else add_up(mul_up(sparsity - 1, self.cross), rounding)

    def bound(
        self,
        request: Request,
        states: Sequence[BlockState],
        best: Candidate,
        cutoff: float,
        watch: Watch,
    ) -> float:
        """Proved bound on a stage of the problem, from what is proved of the blocks."""
        uppers, sparsity = self._uppers(states), request.sparsity
        upper = add_up(float(uppers.max()), self.a_priori(sparsity))
        if self.lossless:
            return upper
        number = self.problem.settings.tuning.blocks.groups
        groups = group_bound(uppers, sparsity, self.cross, 0.0, groups=number)
        upper = min(upper, add_up(groups, self.problem.rounding(sparsity)))
        if upper > cutoff:
            upper = min(upper, self._by_rows(request, uppers, best, cutoff, watch))
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
        request: Request,
        uppers: Array,
        best: Candidate,
        cutoff: float,
        watch: Watch,
    ) -> float:
        """Let row bounds rule out most features, and bound the others by their blocks."""
        rounding = self.problem.rounding(request.sparsity)
        cutoff -= 2 * rounding
        settings = self.problem.settings
        reduction = self.problem.reduce_stage(request, cutoff, watch.out_of_time)
        kept = np.union1d(reduction.kept, np.flatnonzero(best.vector))
        matrix = self.covariance.submatrix(kept)
        labels = numbered(self.blocks.labels[kept])
        blocks = as_blocks(labels, self.blocks.threshold, "kept", self.cross)
        inherited = np.array([uppers[self.blocks.labels[kept[b[0]]]] for b in blocks.blocks])
        size = min(request.sparsity, len(kept))
        stage = Subproblem(matrix, size, request.previous[kept])
        local = math.inf
        if len(kept) <= settings.tuning.blocks.largest_comparison:
            posterior = PosteriorBound(matrix, blocks, settings.tuning.blocks)
            local = posterior.bound(stage, inherited, best.value, cutoff)
        if local > cutoff:
            part = Candidate(best.value, best.vector[kept])
            local = bound_without_branching(stage, part, cutoff, local, settings, watch)
        return add_up(max(local, reduction.outside), rounding)

    def rounding(self, sparsity: int) -> float:
        """Bound on what the rounding of entries adds to, or takes from, a value in a block."""
        return self.problem.rounding(sparsity)

    def variance(self, vector: Array) -> float:
        """Variance of a vector in the problem itself, rounded down."""
        return self.covariance.variances([vector])[0]


class MatrixBlock(BlockState):
    """A block whose matrix is formed when it has to be."""

    def __init__(self, problem: WideProblem, indices: IntArray) -> None:
        covariance = problem.covariance
        super().__init__(
            indices, partial(covariance.submatrix, indices), covariance.diagonal[indices]
        )
        self._covariance = covariance

    def first_bound(self, size: int) -> float:
        """Return a bound from the variances alone: most blocks are never formed."""
        return potential_bound(self._covariance, self.diagonal, size)


class WideBlock(BlockState):
    """A block with too many features for a matrix."""

    is_portable = False

    def __init__(self, problem: WideProblem, indices: IntArray) -> None:
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

    def task(self, settings: Settings) -> Task | WideTask:
        """Return the solve of the block's stage."""
        return WideTask(self._problem, self._members, self.request, settings)


class Singles(BlockState):
    """All features that are blocks of their own: the next candidate is the largest variance."""

    def __init__(self, indices: IntArray, variances: Array) -> None:
        order = np.argsort(-variances, kind="stable")
        super().__init__(indices[order], self._no_matrix, variances[order])
        self._places = np.arange(len(indices))

    @staticmethod
    def _no_matrix() -> Array:
        raise AssertionError("single features have no matrix")

    @property
    def left(self) -> IntArray:
        """Features that no component uses."""
        return self.indices[self._places]

    @property
    def variances_left(self) -> Array:
        """Their variances."""
        return self.diagonal[self._places]

    def follow(self, previous: Array, sparsity: int) -> None:
        """Begin a stage: there is nothing to solve."""
        self._places = np.flatnonzero(~previous[self.indices].any(axis=1))
        if len(self._places) == 0:
            self.outcome = Outcome(None, -math.inf, Status.EXHAUSTED, 0)
            return
        vector = np.zeros(len(self.indices))
        vector[self._places[0]] = 1.0
        value = float(self.variances_left[0])
        self.outcome = Outcome(Candidate(value, vector), value, Status.OPTIMAL, 0)

    def tighten(self) -> float:
        """Return the bound, which is exact."""
        return self.upper


def potential_bound(covariance: DataCovariance, variances: Array, size: int) -> float:
    """Proved bound on every support of that size, from the variances."""
    roots = np.sqrt(variances) * (1 + 2 * covariance.relative_radius)
    return float(potential(roots, size).max())
