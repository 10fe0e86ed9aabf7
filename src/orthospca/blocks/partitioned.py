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
from orthospca.model.problem import Problem
from orthospca.model.stage import Subproblem
from orthospca.search.methods import bound_by_conditioning
from orthospca.supports.best import Candidate


class Partitioned(Protocol):
    """A problem and its blocks.

    Attributes
    ----------
    n_features : int
    limits : tuple of int
        The sparsity of each stage.
    blocks : Blocks
    scale : float
        Largest magnitude in Q.
    lossless : bool
        Whether the blocks leave nothing out.
    cross, inside : float
        Largest magnitudes of what they leave out, between blocks and inside them.
    """

    n_features: int
    limits: tuple[int, ...]
    blocks: Blocks
    scale: float
    lossless: bool
    cross: float
    inside: float

    def states(self) -> list[BlockState]:
        """Return the blocks as they are before the first stage."""

    def a_priori(self, sparsity: int) -> float:
        """Bound on what the blocks leave out of a variance."""

    def bound(
        self,
        sparsity: int,
        previous: Array,
        states: Sequence[BlockState],
        best: Candidate,
        cutoff: float,
        watch: Watch,
    ) -> float:
        """Proved bound on a stage of the problem, from what is proved of the blocks.

        Parameters
        ----------
        sparsity : int
        previous : array of shape (n, k - 1)
        states : sequence of BlockState
        best : Candidate
            The component in hand, with its variance in the problem itself.
        cutoff : float
            A bound up to this one is as good as any.
        watch : Watch
        """

    def variance(self, vector: Array) -> float:
        """Variance of a vector in the problem itself."""


class PartitionedMatrix:
    """A problem given by its matrix.

    Parameters
    ----------
    problem : Problem
    blocks : Blocks
    """

    def __init__(self, problem: Problem, blocks: Blocks) -> None:
        self.problem = problem
        self.blocks = blocks
        self.n_features = problem.n_features
        self.limits = problem.sparsity
        self.scale = float(np.abs(problem.covariance).max()) or 1.0
        self._posterior = PosteriorBound(problem.covariance, blocks)
        self.lossless = self._posterior.lossless
        self.cross, self.inside = self._posterior.cross, self._posterior.inside

    def states(self) -> list[BlockState]:
        """Return the blocks as they are before the first stage."""
        matrix = self.problem.covariance
        variances = matrix.diagonal()
        return [
            BlockState(
                indices,
                partial(self.blocks.submatrix, matrix, b),
                self.blocks.diagonal(variances, b),
            )
            for b, indices in enumerate(self.blocks.blocks)
        ]

    def a_priori(self, sparsity: int) -> float:
        """Bound on what the blocks leave out of a variance."""
        return self._posterior.a_priori(sparsity)

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
        stage = Subproblem(self.problem.covariance, sparsity, previous)
        uppers = np.array([state.upper for state in states])
        upper = self._posterior.bound(stage, uppers, best.value, cutoff)
        if upper > cutoff and not self.lossless:
            upper = bound_by_conditioning(stage, best, cutoff, upper, watch)
        return upper

    def variance(self, vector: Array) -> float:
        """Variance of a vector in the problem itself."""
        support = np.flatnonzero(vector)
        loading = vector[support]
        matrix = self.problem.covariance[np.ix_(support, support)]
        return float(loading @ matrix @ loading)
