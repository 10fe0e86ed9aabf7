"""A problem with a partition of its features: what Algorithm 3 has to know of it.

Blocks of moderate size become matrices when they have to be solved, larger ones are solved where
their data are, and the features that are joined to nothing are one sorted list.  The bound on the
original problem comes from those of the blocks, and where they leave a gap from a search of the
features that matter, without branching.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.blocks.partition import Blocks
from orthospca.blocks.posterior import group_bound
from orthospca.blocks.state import BlockState, Singles
from orthospca.bounds.border import potential
from orthospca.bounds.classical import ClassicalBound
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.exact import variance_down
from orthospca.numerics.rounding import add_up, mul_up
from orthospca.search.closing import bound_without_branching, everything
from orthospca.search.outcome import Request
from orthospca.supports.best import Candidate
from orthospca.wide.stage import WideProblem


class PartitionedMatrix:
    """A problem given by its matrix, and its blocks.

    Parameters
    ----------
    covariance : array of shape (n, n)
    blocks : Blocks
    settings : Settings

    Attributes
    ----------
    n_features : int
    cross, inside : float
        Largest magnitudes of what the blocks leave out, between them and inside them.
    """

    def __init__(self, covariance: Array, blocks: Blocks, settings: Settings) -> None:
        self.covariance = covariance
        left_out = np.abs(blocks.remainder(covariance))
        same = blocks.labels[:, None] == blocks.labels
        self._begin(blocks, settings, covariance.diagonal())
        self.cross = float(np.max(left_out, where=~same, initial=0.0))
        self.inside = float(np.max(left_out, where=same, initial=0.0))

    def _begin(self, blocks: Blocks, settings: Settings, variances: Array) -> None:
        self.blocks = blocks
        self.settings = settings
        self.n_features = len(variances)
        self.diagonal = blocks.kept(variances)
        self.cross, self.inside = blocks.cross, 0.0

    @property
    def lossless(self) -> bool:
        """Whether the blocks leave nothing out."""
        return self.cross == self.inside == 0.0

    def states(self) -> list[BlockState]:
        """Return the blocks as they are before the first stage; single features are one of them."""
        sizes = self.blocks.sizes
        states = [self._state(int(b)) for b in np.flatnonzero(sizes > 1)]
        alone = np.flatnonzero(sizes[self.blocks.labels] == 1)
        return [*states, Singles(alone, self.diagonal[alone])] if len(alone) else states

    def _state(self, block: int) -> BlockState:
        indices = self.blocks.blocks[block]
        form = partial(self.blocks.submatrix, self.covariance, block)
        return BlockState(indices, form, self.diagonal[indices], self.settings.tuning.blocks.large)

    def a_priori(self, sparsity: int) -> float:
        """Bound on what the blocks leave out of a variance: ``(p-1)δ'``, or ``pδ'`` as printed."""
        rounding = self.rounding(sparsity)
        if self.lossless:
            return rounding
        largest, count = max(self.cross, self.inside), sparsity - (self.inside == 0)
        return add_up(mul_up(count, largest), rounding)

    def bound(
        self,
        request: Request,
        states: Sequence[BlockState],
        best: Candidate,
        cutoff: float,
        watch: Watch,
    ) -> float:
        """Proved bound on a stage of the problem, from what is proved of the blocks.

        Parameters
        ----------
        request : Request
        states : sequence of BlockState
        best : Candidate
            The component in hand, with its variance in the problem itself.
        cutoff : float
            A bound up to this one is as good as any.
        watch : Watch
        """
        p, uppers = request.sparsity, self._uppers(states)
        upper = add_up(float(uppers.max()), self.a_priori(p))
        if self.lossless:
            return upper
        tuning, rounding = self.settings.tuning.blocks, self.rounding(p)
        groups = group_bound(uppers, p, self.cross, self.inside, tuning.groups)
        upper = min(upper, add_up(groups, rounding))
        if upper <= cutoff:
            return upper
        cutoff -= 2 * rounding
        stage, kept, outside = self._reduced(request, best, cutoff, watch)
        known = add_up(upper, rounding)
        if stage.n_features <= tuning.large:
            known = min(known, ClassicalBound(stage)(everything(stage), cutoff, watch).upper)
        part = Candidate(best.value, best.vector[kept])
        found = bound_without_branching(stage, part, cutoff, known, self.settings, watch)
        return min(upper, add_up(max(found, outside), rounding))

    def _uppers(self, states: Sequence[BlockState]) -> Array:
        """Bounds of all blocks, in the order of the partition."""
        uppers, labels = np.full(self.blocks.n_blocks, -math.inf), self.blocks.labels
        for state in states:
            if isinstance(state, Singles):
                uppers[labels[state.left]] = state.variances_left
            else:
                uppers[labels[state.indices[0]]] = state.upper
        return uppers

    def _reduced(
        self, request: Request, best: Candidate, cutoff: float, watch: Watch
    ) -> tuple[Subproblem, IntArray, float]:
        """The stage on features that can matter, which they are, and a bound on the others."""
        stage = request.stage_of(self.covariance)
        if len(stage.excluded):
            return *stage.without_spent_features(), -math.inf
        return stage, np.arange(self.n_features), -math.inf

    def rounding(self, sparsity: int) -> float:
        """Bound on what rounding adds to, or takes from, a value in a block."""
        return 0.0

    def variance(self, vector: Array) -> float:
        """Variance of a vector in the problem itself, rounded down."""
        return variance_down(self.covariance, vector)


class PartitionedData(PartitionedMatrix):
    """A problem given by data whose covariance is never formed in full.

    Parameters
    ----------
    problem : WideProblem
    blocks : Blocks
        With entries inside blocks kept.
    """

    def __init__(self, problem: WideProblem, blocks: Blocks) -> None:
        self.problem = problem
        self._begin(blocks, problem.settings, problem.covariance.diagonal)

    def _state(self, block: int) -> BlockState:
        covariance, indices = self.problem.covariance, self.blocks.blocks[block]
        variances = self.diagonal[indices]
        roots = np.sqrt(variances) * (1 + 2 * covariance.relative_radius)
        return BlockState(
            indices,
            partial(covariance.submatrix, indices),
            variances,
            self.settings.tuning.blocks.large,
            # From the variances alone: most blocks are never formed.
            lambda size: float(potential(roots, size).max()),
            self.problem if len(indices) > self.settings.tuning.wide.formed else None,
        )

    def _reduced(
        self, request: Request, best: Candidate, cutoff: float, watch: Watch
    ) -> tuple[Subproblem, IntArray, float]:
        """Let row bounds rule out most features."""
        reduction = self.problem.reduce_stage(request, cutoff, watch.out_of_time)
        included = request.demand.included
        kept = np.union1d(reduction.kept, np.flatnonzero(best.vector))
        kept = np.union1d(kept, included)
        matrix = self.problem.covariance.submatrix(kept)
        size, places = min(request.sparsity, len(kept)), np.searchsorted(kept, included)
        stage = Subproblem(matrix, size, request.previous[kept], places)
        return stage, kept, reduction.outside

    def rounding(self, sparsity: int) -> float:
        """Bound on what the rounding of entries adds to, or takes from, a value in a block."""
        return self.problem.rounding(sparsity)

    def variance(self, vector: Array) -> float:
        """Variance of a vector in the problem itself, rounded down."""
        return self.problem.covariance.variances([vector])[0]
