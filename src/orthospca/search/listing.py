"""Every support above a level, and the proof that there is no other.

The conditioned walk closes what is below its level.  With the level below the best value it does
not close everything: what it leads to is listed instead, support by support.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.walk import Conditioning, Pending, Walk
from orthospca.model.nodes import Node
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import WalkTuning
from orthospca.supports.best import Candidate, values_on_supports
from orthospca.supports.enumeration import supports_between


class Listing(Walk):
    """A walk that lists the supports whose values reach a level.

    Parameters
    ----------
    problem : Subproblem
    level : float
    most : int
        Supports to list at most.
    tuning : WalkTuning

    Attributes
    ----------
    supports : list of integer arrays
        All of the size of the problem's sparsity.
    values : list of float
    full : bool
        Whether there were more of them than may be listed.
    """

    def __init__(
        self, problem: Subproblem, level: float, most: int, tuning: WalkTuning | None = None
    ) -> None:
        nobody = Candidate(-math.inf, np.zeros(problem.n_features))
        everything = Node(np.arange(0), np.arange(problem.n_features))
        super().__init__(Conditioning(problem, tuning), everything, nobody, level, level)
        self.most = most
        self.supports: list[IntArray] = []
        self.values: list[float] = []
        self.full = False
        # What is on the level up to rounding is listed.
        self._lowest = level - problem.resolution

    def run(self, stop: Callable[[], bool]) -> bool:
        """List them; whether none can be missing."""
        while self.pending:
            if self.full or stop():
                return False
            self.step()
        return not self.full

    def _enumerate(self, node: Pending) -> None:
        """List those of a small node."""
        included = node.frame.indices[node.inside]
        allowed = np.union1d(included, node.frame.indices[node.free])
        for supports in supports_between(included, allowed, self.problem.sparsity):
            values: Array = values_on_supports(self.problem, supports)
            for i in np.flatnonzero(values >= self._lowest):
                if len(self.supports) == self.most:
                    self.full = True
                    return
                self.supports.append(np.sort(supports[i]))
                self.values.append(float(values[i]))

    def _give_way(self, node: Pending, found: tuple[Array, Array] | None) -> None:
        """Branch where a support reaches the level: what contains it is listed further down."""
        free = node.free
        if found is None:
            place = int(free[np.argmax(node.frame.matrix.diagonal()[free])])
        else:
            place = int(free[np.argmin(found[1][free])])
        self._branch(node, node.frame.indices[:0], place)
