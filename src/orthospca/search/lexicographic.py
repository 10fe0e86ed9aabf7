"""Stage after stage, with ties resolved in favour of what follows.

A stage may have several optima, and which of them is taken decides what is left for the next one.
Here all supports within the tolerance of the best are listed at every stage; of the sequences that
they begin, those are kept whose next variance is the largest, and so on to the last stage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.demands import NO_DEMANDS, Demand, Demands
from orthospca.model.limits import Watch
from orthospca.model.result import Component, Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.exact import variance_down
from orthospca.numerics.rounding import add_up
from orthospca.search.listing import supports_above
from orthospca.search.outcome import Outcome, Request, Rung
from orthospca.search.sequence import Found, overall_status
from orthospca.search.stages import MatrixStages
from orthospca.search.views import MatrixView
from orthospca.supports.best import Candidate, best_on_support

#: Part of the tolerance to which a stage is solved, and part that a tie may fall short.
SHARE = 0.499
#: Entries in which two vectors differ by no more are the same.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class _Sequence:
    """The first components, each within the tolerance of the best of its stage."""

    vectors: tuple[Array, ...] = ()
    outcomes: tuple[Outcome, ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class Lexicographic:
    """The sequence found.

    Attributes
    ----------
    found : Found
    note : str
        How many there were, or why not all were examined.
    """

    found: Found
    note: str


def solve_lexicographically(
    Q: Array,
    limits: Sequence[int],
    settings: Settings,
    watch: Watch,
    demands: Demands = NO_DEMANDS,
) -> Lexicographic:
    """Find the lexicographically largest sequence of variances.

    Parameters
    ----------
    Q : array of shape (n, n)
    limits : sequence of int
    settings : Settings
    watch : Watch
    demands : Demands
        What is asked of the components beyond their sparsity.
    """
    return _Search(Q, tuple(limits), settings, watch, demands).run()


class _Search:
    def __init__(
        self,
        Q: Array,
        limits: tuple[int, ...],
        settings: Settings,
        watch: Watch,
        demands: Demands,
    ) -> None:
        self.Q, self.limits, self.demands = Q, limits, demands
        self.settings, self.watch = settings, watch
        self.tuning = settings.tuning.joint
        self.tolerance = settings.tolerance
        # What is as good as the best is certified within the tolerance only if the best is closer.
        near = replace(
            self.tolerance, eps=SHARE * self.tolerance.eps, gap=SHARE * self.tolerance.gap
        )
        self.stages = MatrixStages(Q, replace(settings, tolerance=near), watch)
        self.doubts: list[str] = []
        self.ties = 0
        #: Why a stage ended without a component.
        self.stopped = Status.INTERRUPTED

    def run(self) -> Lexicographic:
        """Go through the stages."""
        sequences = [_Sequence()]
        exhausted = False
        for k, limit in enumerate(self.limits):
            self.watch.begin_stage(k, len(self.limits) - k)
            solved = self._solve_next(sequences, limit)
            if not solved:
                # No sequence goes on: the first is as good as any.
                exhausted = self.exhausted
                break
            best = max(value for _, _, value in solved)
            least = best - SHARE * self.tolerance.allowed(best)
            least -= 4 * Subproblem(self.Q, limit, np.zeros((len(self.Q), 0))).resolution
            going_on = [(s, outcome) for s, outcome, value in solved if value >= least]
            last = k == len(self.limits) - 1
            sequences = []
            for sequence, outcome in going_on:
                ties = [outcome.best] if last else self._ties(sequence, limit, outcome, least)
                for tie in ties:
                    assert tie is not None
                    sequences.append(
                        _Sequence((*sequence.vectors, tie.vector), (*sequence.outcomes, outcome))
                    )
            self.ties = max(self.ties, len(sequences))
            if len(sequences) > self.tuning.sequences:
                sequences = sequences[: self.tuning.sequences]
                self.doubts.append(f"only {self.tuning.sequences} sequences were followed")
            if self.watch.interrupted:
                break
        return self._answer(sequences[0], exhausted)

    def _solve_next(
        self, sequences: list[_Sequence], limit: int
    ) -> list[tuple[_Sequence, Outcome, float]]:
        solved = []
        self.exhausted = True
        for i, sequence in enumerate(sequences):
            if i and self.watch.out_of_time():
                self.doubts.append("the search was stopped before all sequences were followed")
                break
            before, demand = self._before(sequence)
            outcome = self.stages.solve(Request(limit, before, demand=demand))
            if outcome.best is not None:
                solved.append((sequence, outcome, outcome.best.value))
            elif outcome.status is not Status.EXHAUSTED:
                self.exhausted, self.stopped = False, outcome.status
        return solved

    def _before(self, sequence: _Sequence) -> tuple[Array, Demand]:
        """What the next component is orthogonal to, as columns, and what is asked of it."""
        columns = np.column_stack([self.demands.before(len(self.Q)), *sequence.vectors])
        demand = self.demands.stage(len(sequence.vectors), columns)
        return np.ascontiguousarray(self.demands.constraints(columns)), demand

    def _ties(
        self, sequence: _Sequence, limit: int, outcome: Outcome, least: float
    ) -> list[Candidate]:
        """All vectors of a stage within the tolerance of the best, one for each support."""
        assert outcome.best is not None
        before, demand = self._before(sequence)
        stage = Subproblem(self.Q, limit, before, demand.included, demand.excluded)
        part, kept = stage.without_spent_features()
        listed = supports_above(
            MatrixView(part),
            part.sparsity,
            least,
            (),
            self.tuning.ties,
            self.settings.tuning.walk,
            self.watch.out_of_time,
        )
        if not listed.complete:
            stopped = self.watch.out_of_time()
            self.doubts.append(
                "the search was stopped before all ties were listed"
                if stopped
                else f"there are more than the {self.tuning.ties} that are listed"
            )
            return [outcome.best]
        ties = [outcome.best]
        for support in (listed.features[places] for places in listed.supports):
            found = best_on_support(part, support)
            if found is None or found.value < least:
                continue
            if _has_several(part, support, least):
                self.doubts.append("a support has more than one vector within the tolerance")
            whole = found.embedded(kept, len(self.Q))
            if not any(_same(whole.vector, tie.vector) for tie in ties):
                ties.append(whole)
        return ties

    def _answer(self, sequence: _Sequence, exhausted: bool) -> Lexicographic:
        components = []
        ladders: list[tuple[Rung, ...]] = []
        for vector, outcome in zip(sequence.vectors, sequence.outcomes, strict=True):
            value = variance_down(self.Q, vector)
            upper = max(outcome.upper, value)
            status = Status.OPTIMAL if self.tolerance.met(value, upper) else outcome.status
            if status is Status.OPTIMAL and not self.tolerance.met(value, upper):
                status = Status.PRECISION
            by = outcome.closed_by
            components.append(Component(vector, value, upper, status, outcome.nodes, closed_by=by))
            ladders.append(outcome.rungs)
        found = tuple(components)
        status_of_all = overall_status(found, len(self.limits), exhausted)
        if status_of_all is None:
            status_of_all = self.watch.verdict() or self.stopped
        guarantee = max((add_up(c.upper_bound, -c.variance) for c in found), default=math.nan)
        doubts = sorted(set(self.doubts))
        if doubts and status_of_all in (Status.OPTIMAL, Status.EXHAUSTED):
            status_of_all = self.watch.verdict() or Status.WORK_LIMIT
        if doubts:
            note = "not all ties were examined: " + "; ".join(doubts)
        else:
            note = f"all ties were examined: {self.ties} sequence{'s' if self.ties != 1 else ''}"
        whole = Found(found, exhausted, guarantee, status_of_all, (), tuple(ladders))
        return Lexicographic(whole, note)


def _same(x: Array, y: Array) -> bool:
    """Whether two vectors are the same, up to sign and rounding."""
    return bool(min(np.abs(x - y).max(), np.abs(x + y).max()) <= SAME)


def _has_several(problem: Subproblem, support: IntArray, least: float) -> bool:
    """Whether the second eigenvalue of a support is within the tolerance too."""
    first = best_on_support(problem, support)
    if first is None or len(support) < 2:
        return False
    columns = np.column_stack([problem.previous, first.vector])
    second = best_on_support(
        Subproblem(problem.covariance, problem.sparsity, np.ascontiguousarray(columns)), support
    )
    return second is not None and second.value >= least
