"""A problem with a partition of its features: what Algorithm 3 has to know of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np

from orthospca._typing import Array
from orthospca.blocks.partition import Blocks
from orthospca.blocks.posterior import PosteriorBound
from orthospca.blocks.state import BlockState
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.exact import variance_down
from orthospca.search.methods import bound_without_branching
from orthospca.search.outcome import Request
from orthospca.supports.best import Candidate


class Partitioned(Protocol):
    """A problem and its blocks.

    Attributes
    ----------
    n_features : int
    blocks : Blocks
    lossless : bool
        Whether the blocks leave nothing out.
    cross, inside : float
        Largest magnitudes of what they leave out, between blocks and inside them.
    """

    n_features: int
    blocks: Blocks
    lossless: bool
    cross: float
    inside: float

    def states(self) -> list[BlockState]:
        """Return the blocks as they are before the first stage."""

    def a_priori(self, sparsity: int) -> float:
        """Bound on what the blocks leave out of a variance."""

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

    def rounding(self, sparsity: int) -> float:
        """Bound on what rounding adds to, or takes from, a value in a block."""

    def variance(self, vector: Array) -> float:
        """Variance of a vector in the problem itself, rounded down."""


class PartitionedMatrix:
    """A problem given by its matrix.

    Parameters
    ----------
    covariance : array of shape (n, n)
    blocks : Blocks
    settings : Settings
    """

    def __init__(self, covariance: Array, blocks: Blocks, settings: Settings) -> None:
        self.covariance = covariance
        self.blocks = blocks
        self.settings = settings
        self.n_features = len(covariance)
        self._posterior = PosteriorBound(covariance, blocks, settings.tuning.blocks)
        self.lossless = self._posterior.lossless
        self.cross, self.inside = self._posterior.cross, self._posterior.inside

    def states(self) -> list[BlockState]:
        """Return the blocks as they are before the first stage."""
        matrix = self.covariance
        variances = matrix.diagonal()
        large = self.settings.tuning.blocks.large
        return [
            BlockState(
                indices,
                partial(self.blocks.submatrix, matrix, b),
                self.blocks.diagonal(variances, b),
                large,
            )
            for b, indices in enumerate(self.blocks.blocks)
        ]

    def a_priori(self, sparsity: int) -> float:
        """Bound on what the blocks leave out of a variance."""
        return self._posterior.a_priori(sparsity)

    def bound(
        self,
        request: Request,
        states: Sequence[BlockState],
        best: Candidate,
        cutoff: float,
        watch: Watch,
    ) -> float:
        """Proved bound on a stage of the problem, from what is proved of the blocks."""
        stage = Subproblem(self.covariance, request.sparsity, request.previous)
        uppers = np.array([state.upper for state in states])
        upper = self._posterior.bound(stage, uppers, best.value, cutoff)
        if upper > cutoff and not self.lossless:
            upper = bound_without_branching(stage, best, cutoff, upper, self.settings, watch)
        return upper

    def rounding(self, sparsity: int) -> float:
        """Nothing: the entries of blocks are those of the matrix."""
        return 0.0

    def variance(self, vector: Array) -> float:
        """Variance of a vector in the problem itself, rounded down."""
        return variance_down(self.covariance, vector)
