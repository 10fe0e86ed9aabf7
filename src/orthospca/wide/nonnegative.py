"""A stage of data with non-negative loadings, as the ladder sees it.

What no support above a level can contain, no non-negative vector above it uses: features are ruled
out as of a plain stage, by what is proved of non-negative vectors with a feature less.  The
covariances of what is left are formed, and solved as a matrix is.

See ``docs/theory/nonnegative.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from orthospca._typing import IntArray
from orthospca.model.demands import Demand
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.rounding import add_up
from orthospca.search.nonnegative import CLOSED, solve_nonnegative
from orthospca.search.outcome import Request
from orthospca.search.state import StageState
from orthospca.supports.best import Candidate, better_of
from orthospca.supports.heuristic_path import HeuristicPath
from orthospca.supports.nonnegative import Leaf, best_nonnegative, nonnegative_part
from orthospca.wide.view import DataView


def close_nonnegative(
    state: StageState[Subproblem], settings: Settings, last: bool
) -> Status | None:
    """Close a stage with non-negative loadings; what stopped it.

    Parameters
    ----------
    state : StageState
    settings : Settings
    last : bool
        Whether it is the sparsity asked for: a smaller one is not worth many features.
    """
    problem, best = state.problem, state.best
    assert best is not None
    if not last and problem.n_features > settings.tuning.nonnegative.rung:
        return Status.WORK_LIMIT
    demand = Demand(problem.included, nonnegative=True)
    request = Request(problem.sparsity, problem.previous, hints=(best,), demand=demand)
    settings = replace(settings, tolerance=state.tolerance, start=())
    outcome = solve_nonnegative(problem.covariance, request, settings, state.watch)
    state.nodes += outcome.nodes
    state.improve(outcome.best)
    state.tighten(outcome.upper, outcome.closed_by)
    if outcome.status not in CLOSED:
        return outcome.status
    state.settle(outcome.upper, outcome.closed_by)
    return None


class NonnegativeView(DataView):
    """One stage of data whose loadings must not be negative."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.closes = close_nonnegative

    def find(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """Find the best on supports that the plain search of Q⁺ leads to."""
        problem, kept = self.restricted(self.pool(stop), self.sparsity)
        part = nonnegative_part(problem.covariance)
        path = HeuristicPath(Subproblem(part, problem.sparsity, problem.previous, problem.included))
        path.run(stop)
        path.refine(stop)
        largest = int(np.where(self.members, self.diagonal, -math.inf).argmax())
        always = self.included if len(self.included) else np.array([largest])
        best: Candidate | None = self.started(always)
        found: list[Candidate | None] = [None] * len(always)
        for size in range(len(always), self.sparsity + 1):
            plain = path.best[min(size, len(path.best) - 1)]
            if plain is not None and len(problem.filled(plain.vector)) <= size:
                best = better_of(best, self.started(kept[np.flatnonzero(plain.vector)]))
            found.append(best)
        return found

    def refine(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """Nothing more is found."""
        return []

    def follow(
        self, best: Candidate, size: int, stop: Callable[[], bool]
    ) -> list[Candidate | None]:
        """Nothing more is found."""
        return []

    def started(self, support: IntArray) -> Candidate | None:
        """Return a good vector on a support."""
        support = np.sort(support)
        leaf = self._leaf(support, self.tuning.nonnegative.few)
        return self.whole([leaf.candidate(np.arange(len(support)), len(support))], support)[0]

    def first_bound(self) -> float:
        """The largest variance of a feature, or what those included have together."""
        if len(self.included) == 0:
            return super().first_bound()
        leaf = self._leaf(self.included, self.tuning.nonnegative.many)
        return add_up(leaf.upper, self.rounding)

    def _leaf(self, support: IntArray, budget: int) -> Leaf:
        return best_nonnegative(self.covariance.submatrix(support), -math.inf, budget)
