"""Stages with non-negative loadings of a problem given by data.

What no support above a level can contain, no non-negative vector above it uses: features are ruled
out as of a plain stage.  The covariances of what is left are formed, and solved as a matrix is.
See ``docs/theory/nonnegative.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.result import Status
from orthospca.model.stage import Subproblem
from orthospca.numerics.rounding import add_up
from orthospca.search.nonnegative import solve_nonnegative
from orthospca.search.outcome import Outcome, Request
from orthospca.supports.best import Candidate, better_of
from orthospca.supports.heuristic_path import HeuristicPath
from orthospca.supports.nonnegative import best_nonnegative, nonnegative_part
from orthospca.wide.stage import WideStages
from orthospca.wide.view import DataView


class WideNonnegativeStages(WideStages):
    """Each stage on the features of the data that can matter to it."""

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""
        view = self.problem.view(request, watch=self.watch)
        if not view.members.any():
            return Outcome(None, -math.inf, Status.EXHAUSTED, 0)
        request = replace(request, sparsity=view.sparsity)
        try:
            return self._solve(request, view)
        except KeyboardInterrupt:
            self.watch.interrupted = True
            return Outcome(None, math.inf, Status.INTERRUPTED, 0)

    def _solve(self, request: Request, view: DataView) -> Outcome:
        """Sparsity after sparsity: each leaves few features to the next."""
        watch, size = self.watch, request.sparsity
        quiet = QuietWatch(watch)
        found = self._found(request, view)
        first = max(len(view.included), 1)
        below = view.first_bound() if size > first else math.inf
        for rung in range(first + 1, size):
            if watch.out_of_time():
                break
            bound = min(view.bound_without_level(rung, below), view.cheap_bound(rung))
            largest = self.settings.tuning.nonnegative.rung
            solved = self._rung(request, view, rung, found[rung], below, quiet, largest)
            if solved is None:
                # A better vector may leave less.
                some = np.union1d(self._pool, np.flatnonzero(found[rung].vector))
                better = self._on_features(request, view, rung, some, (), quiet)[0].best
                found[rung] = better_of(found[rung], better) or found[rung]
                solved = self._rung(request, view, rung, found[rung], below, quiet, largest)
            below = bound
            if solved is not None and solved.best is not None:
                below, found[rung] = min(bound, solved.upper), solved.best
            found[rung + 1] = max(found[rung + 1], found[rung], key=_value)
        else:
            rung = size
        known = view.cheap_bound(size)
        if rung == size > first:
            # If rungs were left out, what is known below says nothing of this one.
            known = min(known, view.bound_without_level(size, below))
        below = below if rung == size else math.inf
        outcome = self._rung(request, view, size, found[size], below, quiet)
        assert outcome is not None and outcome.best is not None
        upper = max(min(outcome.upper, known, request.cap), outcome.best.value)
        status = self.settings.tolerance.status(outcome.best.value, upper, outcome.status)
        watch.report(outcome.nodes, 0, outcome.best.value, upper, outcome.closed_by)
        return replace(outcome, upper=upper, status=status)

    def _rung(
        self,
        request: Request,
        view: DataView,
        size: int,
        best: Candidate,
        below: float,
        watch: Watch,
        largest: float = math.inf,
    ) -> Outcome | None:
        """Solve one sparsity on the features that can matter; None if these are too many.

        Parameters
        ----------
        request : Request
        view : DataView
        size : int
        best : Candidate
            A vector with at most so many features.
        below : float
            Bounds all that is feasible with one feature less.
        watch : Watch
        largest : float
            Features that are not too many.
        """
        tolerance = self.settings.tolerance.at_resolution(4 * view.rounding)
        level = tolerance.cutoff(best.value) - 2 * view.rounding
        sieve = view.sieve(size, level, below, watch.out_of_time)
        kept = np.union1d(sieve.kept, np.union1d(np.flatnonzero(best.vector), view.included))
        if len(kept) > largest:
            return None
        hints = (best, *request.hints) if size == request.sparsity else (best,)
        outcome, kept = self._on_features(request, view, size, kept, hints, watch)
        best = better_of(best, outcome.best) or best
        upper = max(add_up(max(outcome.upper, sieve.outside), view.rounding), best.value)
        status = outcome.status
        if sieve.outside > level and status is Status.OPTIMAL:
            status = watch.verdict() or Status.FEATURE_LIMIT
        return Outcome(best, upper, status, outcome.nodes, outcome.closed_by)

    def _on_features(
        self,
        request: Request,
        view: DataView,
        size: int,
        features: IntArray,
        hints: Sequence[Candidate],
        watch: Watch,
    ) -> tuple[Outcome, IntArray]:
        """Solve one sparsity on some features, which are those that are returned."""
        problem, kept = view.restricted(features, size)
        demand, start = request.demand.within(kept), request.demand.start
        if size == request.sparsity and start is not None and np.isin(start, kept).all():
            demand = replace(demand, start=np.searchsorted(kept, np.sort(start)))
        own = tuple(h for hint in hints if (h := hint.within(kept)))
        asked = Request(problem.sparsity, problem.previous, hints=own, demand=demand)
        outcome = solve_nonnegative(problem.covariance, asked, self.settings, watch)
        if outcome.best is not None:
            whole = outcome.best.embedded(kept, self.n_features)
            outcome = replace(outcome, best=self._valued(whole.vector))
        return outcome, kept

    def _valued(self, x: Array) -> Candidate:
        """A vector with what it has in the data."""
        return Candidate(max(self.problem.covariance.variances([x])), x)

    def _found(self, request: Request, view: DataView) -> list[Candidate]:
        """Good vectors for all sparsities: the best on what the plain search of Q⁺ leads to."""
        size, n = request.sparsity, self.n_features
        self._pool = view.pool(self.watch.out_of_time)
        problem, kept = view.restricted(self._pool, size)
        part = nonnegative_part(problem.covariance)
        path = HeuristicPath(Subproblem(part, problem.sparsity, problem.previous, problem.included))
        path.run(self.watch.out_of_time)
        path.refine(self.watch.out_of_time)
        largest = int(np.where(view.members, view.diagonal, -math.inf).argmax())
        always = view.included if len(view.included) else np.array([largest])
        best = self._on(always, n)
        found = [best] * (size + 1)
        for s in range(len(always), size + 1):
            plain = path.best[min(s, len(path.best) - 1)]
            if plain is not None and len(problem.filled(plain.vector)) <= s:
                best = max(best, self._on(kept[np.flatnonzero(plain.vector)], n), key=_value)
            found[s] = best
        own = list(request.hints)
        if request.demand.start is not None:
            own.append(self._on(request.demand.start, n))
        found[size] = max(found[size], *own, key=_value) if own else found[size]
        return found

    def _on(self, support: IntArray, n: int) -> Candidate:
        """A good vector on a support."""
        matrix = self.problem.covariance.submatrix(support)
        leaf = best_nonnegative(matrix, -math.inf, self.settings.tuning.nonnegative.few)
        return self._valued(leaf.candidate(support, n).vector)


def _value(candidate: Candidate) -> float:
    return candidate.value
