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
from orthospca.model.demands import Demand, Demands
from orthospca.model.limits import Watch
from orthospca.model.result import Component, Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.exact import variance_down
from orthospca.numerics.rounding import add_up
from orthospca.search.listing import supports_above
from orthospca.search.outcome import Outcome, Request
from orthospca.search.sequence import Found, overall_status
from orthospca.search.stages import MatrixStages
from orthospca.search.views import MatrixView
from orthospca.supports.best import Candidate, best_on_support

#: Part of the tolerance to which a stage is solved, and part that a tie may fall short.
SHARE = 0.499
#: Entries in which two vectors differ by no more are the same.
SAME = 1e-9


#: The first components, each within the tolerance of the best of its stage, and how these ended.
Begun = tuple[tuple[Array, Outcome], ...]


@dataclass(eq=False)
class Lexicographic:
    """The search for the lexicographically largest sequence of variances.

    Attributes
    ----------
    Q : array of shape (n, n)
    limits : sequence of int
    settings : Settings
    watch : Watch
    demands : Demands
        What is asked of the components beyond their sparsity.
    doubts : set of str
        Why not all ties were examined.
    ties : int
        Sequences that were followed at once.
    stopped : Status
        Why a stage ended without a component.
    """

    Q: Array
    limits: Sequence[int]
    settings: Settings
    watch: Watch
    demands: Demands
    doubts: set[str] = field(default_factory=set)
    ties: int = 0
    stopped: Status = Status.INTERRUPTED

    def run(self) -> tuple[Found, str]:
        """Go through the stages.

        Returns
        -------
        Found, str
            The sequence, and how many there were, or why not all were examined.
        """
        tolerance, most = self.settings.tolerance, self.settings.tuning.joint.sequences
        # What is as good as the best is certified within the tolerance only if the best is closer.
        near = replace(self.settings, tolerance=tolerance.tightened(SHARE))
        stages = MatrixStages(self.Q, near, self.watch)
        sequences: list[Begun] = [()]
        exhausted = False
        for k, limit in enumerate(self.limits):
            self.watch.begin_stage(k, len(self.limits) - k)
            solved, none_left = self._solve_next(stages, sequences, limit)
            if not solved:
                # No sequence goes on: the first is as good as any.
                exhausted = none_left
                break
            best = max(found.value for _, _, found in solved)
            least = best - SHARE * tolerance.allowed(best)
            least -= 4 * Subproblem(self.Q, limit, np.zeros((len(self.Q), 0))).resolution
            last, sequences = k == len(self.limits) - 1, []
            for sequence, outcome, found in solved:
                if found.value >= least:
                    ties = [found] if last else self._ties(sequence, limit, found, least)
                    sequences += [(*sequence, (tie.vector, outcome)) for tie in ties]
            self.ties = max(self.ties, len(sequences))
            if len(sequences) > most:
                sequences = sequences[:most]
                self.doubts.add(f"only {most} sequences were followed")
            if self.watch.interrupted:
                break
        return self._answer(sequences[0], exhausted)

    def _solve_next(
        self, stages: MatrixStages, sequences: list[Begun], limit: int
    ) -> tuple[list[tuple[Begun, Outcome, Candidate]], bool]:
        """Solve the next stage of each sequence; whether it is proved that none goes on."""
        solved, exhausted = [], True
        for i, sequence in enumerate(sequences):
            if i and self.watch.out_of_time():
                self.doubts.add("the search was stopped before all sequences were followed")
                break
            before, demand = self._before(sequence)
            outcome = stages.solve(Request(limit, before, demand=demand))
            if outcome.best is not None:
                solved.append((sequence, outcome, outcome.best))
            elif outcome.status is not Status.EXHAUSTED:
                exhausted, self.stopped = False, outcome.status
        return solved, exhausted

    def _before(self, sequence: Begun) -> tuple[Array, Demand]:
        """What the next component is orthogonal to, as columns, and what is asked of it."""
        columns = [self.demands.before(len(self.Q)), *(vector for vector, _ in sequence)]
        before = np.column_stack(columns)
        demand = self.demands.stage(len(sequence), before)
        return np.ascontiguousarray(self.demands.constraints(before)), demand

    def _ties(self, sequence: Begun, limit: int, best: Candidate, least: float) -> list[Candidate]:
        """All vectors of a stage within the tolerance of the best, one for each support."""
        before, demand = self._before(sequence)
        stage = Subproblem(self.Q, limit, before, demand.included, demand.excluded)
        part, kept = stage.without_spent_features()
        tuning, stop = self.settings.tuning, self.watch.out_of_time
        most = tuning.joint.ties
        listed = supports_above(MatrixView(part), part.sparsity, least, (), most, tuning.walk, stop)
        if not listed.complete:
            stopped = "the search was stopped before all ties were listed"
            many = f"there are more than the {most} that are listed"
            self.doubts.add(stopped if self.watch.out_of_time() else many)
            return [best]
        ties = [best]
        for support in (listed.features[places] for places in listed.supports):
            found = best_on_support(part, support)
            if found is None or found.value < least:
                continue
            if _has_several(part, support, least):
                self.doubts.add("a support has more than one vector within the tolerance")
            whole = found.embedded(kept, len(self.Q))
            if not any(_same(whole.vector, tie.vector) for tie in ties):
                ties.append(whole)
        return ties

    def _answer(self, sequence: Begun, exhausted: bool) -> tuple[Found, str]:
        components: list[Component] = []
        for vector, outcome in sequence:
            value = variance_down(self.Q, vector)
            upper = max(outcome.upper, value)
            status = self.settings.tolerance.status(value, upper, outcome.status)
            by = outcome.closed_by
            components.append(Component(vector, value, upper, status, outcome.nodes, closed_by=by))
        status_of_all = overall_status(components, len(self.limits), exhausted)
        if status_of_all is None:
            status_of_all = self.watch.verdict() or self.stopped
        if self.doubts:
            if status_of_all.finished:
                status_of_all = self.watch.verdict() or Status.WORK_LIMIT
            note = "not all ties were examined: " + "; ".join(sorted(self.doubts))
        else:
            note = f"all ties were examined: {self.ties} sequence{'s' if self.ties != 1 else ''}"
        short = (add_up(c.upper_bound, -c.variance) for c in components)
        ladders = tuple(outcome.rungs for _, outcome in sequence)
        guarantee = max(short, default=math.nan)
        found = Found(tuple(components), exhausted, guarantee, status_of_all, (), ladders)
        return found, note


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
