"""Stages with non-negative loadings of a problem given by data.

What no support above a level can contain, no non-negative vector above it uses: features are ruled
out as of a plain stage.  The covariances of what is left are formed, and solved as a matrix is.
See ``docs/theory/nonnegative.md``.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from orthospca._typing import IntArray
from orthospca.model.demands import Demand
from orthospca.model.result import Status
from orthospca.model.stage import Subproblem
from orthospca.numerics.rounding import add_up
from orthospca.search.nonnegative import solve_nonnegative
from orthospca.search.outcome import Outcome, Request
from orthospca.supports.best import Candidate
from orthospca.supports.heuristic_path import find_incumbent
from orthospca.supports.nonnegative import best_nonnegative, nonnegative_part
from orthospca.wide.stage import WideStages
from orthospca.wide.view import DataView


class WideNonnegativeStages(WideStages):
    """Each stage on the features of the data that can matter to it."""

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""
        problem, watch, demand = self._problem, self._watch, request.demand
        problem.part.tell = lambda done: setattr(watch.journal, "forming", done)
        members = np.ones(self.n_features, dtype=bool)
        members[demand.excluded] = False
        left = int(np.count_nonzero(members))
        if left == 0:
            return Outcome(None, -math.inf, Status.EXHAUSTED, 0)
        request = replace(request, sparsity=min(request.sparsity, left))
        view = problem.view(request, members)
        try:
            return self._solve(request, view)
        except KeyboardInterrupt:
            watch.interrupted = True
            return Outcome(None, math.inf, Status.INTERRUPTED, 0)

    def _solve(self, request: Request, view: DataView) -> Outcome:
        watch, size = self._watch, request.sparsity
        best = self._found(request, view)
        tolerance = self._settings.tolerance.at_resolution(4 * view.rounding)
        level = tolerance.cutoff(best.value) - 2 * view.rounding
        sieve = view.sieve(size, level, math.inf, watch.out_of_time)
        kept = np.union1d(sieve.kept, np.union1d(np.flatnonzero(best.vector), view.included))
        problem, kept = view.restricted(kept, size)
        self._problem.largest_matrix = max(self._problem.largest_matrix, len(kept))
        inside = replace(
            request,
            sparsity=min(size, len(kept)),
            previous=request.previous[kept],
            cap=math.inf,
            hints=tuple(h for hint in (best, *request.hints) if (h := hint.within(kept))),
            demand=_among(request.demand, kept),
        )
        outcome = solve_nonnegative(problem.covariance, inside, self._settings, watch)
        found = outcome.best
        if found is not None:
            x = found.embedded(kept, self.n_features).vector
            value = max(self._problem.covariance.variances([x]))
            if value > best.value:
                best = Candidate(value, x)
        upper = add_up(max(outcome.upper, sieve.outside), view.rounding)
        upper = max(min(upper, request.cap), best.value)
        status = outcome.status
        if self._settings.tolerance.met(best.value, upper):
            status = Status.OPTIMAL
        elif status is Status.OPTIMAL:
            beyond = sieve.outside > level
            status = (watch.verdict() or Status.FEATURE_LIMIT) if beyond else Status.PRECISION
        watch.report(outcome.nodes, 0, best.value, upper, outcome.closed_by)
        return Outcome(best, upper, status, outcome.nodes, outcome.closed_by)

    def _found(self, request: Request, view: DataView) -> Candidate:
        """A good vector: the best on what the plain search of some features leads to."""
        size, n = request.sparsity, self.n_features
        pool = view.pool(self._watch.out_of_time)
        problem, kept = view.restricted(pool, size)
        part = nonnegative_part(problem.covariance)
        plain = find_incumbent(
            Subproblem(part, problem.sparsity, problem.previous, problem.included)
        )
        largest = int(np.where(view.members, view.diagonal, -math.inf).argmax())
        supports = [np.array([largest])]
        if len(view.included):
            supports = [view.included]
        if plain is not None:
            supports.append(kept[np.flatnonzero(plain.vector)])
        if request.demand.start is not None:
            supports.append(request.demand.start)
        found = list(request.hints)
        for support in supports:
            matrix = self._problem.covariance.submatrix(support)
            leaf = best_nonnegative(matrix, -math.inf, self._settings.tuning.nonnegative.few)
            x = leaf.candidate(support, n).vector
            found.append(Candidate(max(self._problem.covariance.variances([x])), x))
        return max(found, key=lambda one: one.value)


def _among(demand: Demand, kept: IntArray) -> Demand:
    """What is asked, in terms of some features that are all allowed."""
    start = demand.start
    if start is not None:
        start = np.flatnonzero(np.isin(kept, start)) if np.isin(start, kept).all() else None
    return replace(demand.within(kept), start=start)
