"""One stage, whatever it is given by: directly, rung by rung, and then by all means.

Most stages are closed by one conditioned walk over all features.  Where that does not suffice the
ladder is climbed, and what its last rung leaves is given to everything there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orthospca._methods import Method
from orthospca._typing import IntArray
from orthospca.bounds.share.node import relaxation_cost
from orthospca.model.result import ClosedBy, Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.search.closing import close_classically, close_thoroughly, walk
from orthospca.search.ladder import Ladder, searched
from orthospca.search.outcome import (
    NOTHING_TO_RESUME,
    Argument,
    Ground,
    Outcome,
    Resumption,
    Rung,
    were_climbed,
)
from orthospca.search.state import StageState
from orthospca.search.views import StageView, with_rounding

#: Features that may be looked at, all rungs together, to see what the climb so far promises.
LOOKED_AT = 2**24
#: Share of the time of a stage that the first walk may take.
SHARE_OF_DIRECT = 0.25
#: Times that features are ruled out anew, as long as better components are found.
PASSES = 3


@dataclass(eq=False)
class StageSearch:
    """The search of one stage; with the bounds of the paper alone there is one rung, the last.

    Attributes
    ----------
    view : StageView
    size : int
        The sparsity of the stage.
    state : StageState
        What is known of the stage: tolerance, watch, incumbent and bound.
    settings : Settings
    caps : sequence of float
        Proved bounds for sparsities 1, 2, … that are known already.
    resumption : Resumption
        Rungs that were proved before, and who is told of new ones.
    """

    view: StageView
    size: int
    state: StageState[Any]
    settings: Settings
    caps: Sequence[float] = ()
    resumption: Resumption = NOTHING_TO_RESUME

    def __post_init__(self) -> None:
        given = self.view, self.size, self.state, self.settings, self.caps, self.resumption.rungs
        self.ladder = Ladder(*given)
        self.plain = self.view.closes is None
        self.full = self.settings.method is Method.BRANCH_AND_BOUND or not self.plain

    def run(self) -> Outcome | None:
        """Search; None if no feasible vector was found."""
        state, ladder, size = self.state, self.ladder, self.size
        state.tighten(self.view.cheap_bound(size), ClosedBy.ROWS, Argument(Ground.SUMS))
        # Where a good vector is given, closing the stage may be all that is left.
        started = bool(self.settings.start) and state.best is not None and size > ladder.first
        if not started:
            self._find()
        if state.best is None:
            return None
        if size <= ladder.first:
            ladder.begin()
            state.settle(ladder.below, ClosedBy.ROWS)
            return replace(state.outcome(), rungs=tuple(ladder.rungs))
        rungs_asked = self.settings.rungs or were_climbed(self.resumption.rungs)
        if self.full and self.plain and not rungs_asked and self._close_directly():
            if self.settings.proof:
                # A certificate names every rung, and takes little for those that nothing rests on.
                ladder.begin()
                ladder.give_up()
            return replace(self.end(), climbed=False)
        if started:
            self._find()
        if self.full:
            self._climb()
        bound, argument = ladder.without_level(size, ladder.below)
        state.tighten(bound, ClosedBy.BORDER, argument)
        state.tell(1)
        return self.end(self._last_rung())

    def _find(self) -> None:
        """Look for a good vector."""
        self.ladder.find()
        self.state.improve(self.ladder.best[self.size])
        self.state.tell(1)

    def end(self, verdict: Status | None = None) -> Outcome:
        """How it ended, with all rungs where they were climbed."""
        outcome = self.state.outcome(verdict)
        if not self.ladder.rungs:
            return outcome
        last = Rung(self.size, outcome.best, outcome.upper, argument=self.state.argument)
        return replace(outcome, rungs=(*self.ladder.rungs, last))

    def _climb(self) -> None:
        """Prove the rungs below the last one, as far as each is worth it."""
        state, ladder, view = self.state, self.ladder, self.view
        patience = math.inf
        if view.relaxes:
            # Rungs may cost what the relaxation of the whole stage is expected to.
            patience = relaxation_cost(view.n_features, self.settings.tuning.share)
        ladder.refine()
        ladder.begin()
        seldom = math.ceil(view.n_features * self.size**2 / LOOKED_AT)
        for size in range(ladder.first + 1, self.size):
            if ladder.should_give_up(patience):
                ladder.give_up()
                break
            ladder.prove(size)
            best = ladder.best[self.size]
            if best is not None:
                self.resumption.tell(ladder.completed, best)
            if size % seldom == 0:
                self._tell_outlook()
        state.improve(ladder.best[self.size])

    def _tell_outlook(self) -> None:
        """Say what the rungs so far prove of the stage: the next ones will only prove more."""
        state, upper = self.state, self.ladder.outlook()
        if upper >= state.upper:
            return
        if not self.settings.proof:
            # A certificate has no place for this argument, and does without it when the ladder
            # ends.
            state.tighten(upper, ClosedBy.BORDER)
        state.watch.report(state.nodes, 1, state.lower, upper, ClosedBy.BORDER)

    def _last_rung(self) -> Status | None:
        """Close what is left at the cutoff; why it stopped, if it did."""
        state, view, ladder = self.state, self.view, self.ladder
        for _ in range(PASSES):
            if state.watch.out_of_time():
                return state.watch.verdict(state.nodes)
            best = state.best
            assert best is not None
            level = state.cutoff - 2 * view.rounding
            problem, kept, outside, by = ladder.part(self.size, level, best)
            if problem is None:
                outside = with_rounding(outside, view)
                state.tighten(outside, by, Argument(Ground.SIEVE, level, kept))
                state.settle(outside, by)
                verdict, too_many = None, outside > state.cutoff
                break
            if state.watch.out_of_time():
                return state.watch.verdict(state.nodes)
            verdict = self._close(problem, kept, level, outside, self._thoroughly)
            too_many = with_rounding(outside, view) > state.cutoff
            again = state.lower > best.value and (verdict is not None or too_many)
            if not again or state.watch.out_of_time():
                break
        if verdict is None and too_many:
            return state.watch.verdict() or Status.FEATURE_LIMIT
        return verdict

    def _thoroughly(self, local: StageState[Subproblem]) -> Status | None:
        if self.view.closes is not None:
            return self.view.closes(local, self.settings, True)
        if self.full:
            return close_thoroughly(local, self.settings, not self.ladder.given_up)
        return close_classically(local, self.settings)

    def _directly(self, local: StageState[Subproblem]) -> Status | None:
        tuning = self.settings.tuning
        budget = tuning.walk.direct_share * relaxation_cost(self.view.n_features, tuning.share)
        budget = min(budget, tuning.walk.direct_most)
        closed = walk(local, self.settings, budget, share=SHARE_OF_DIRECT)
        return None if closed else Status.WORK_LIMIT

    def _close_directly(self) -> bool:
        """Try to do without rungs: by a walk over all features that can matter."""
        view, level = self.view, self.state.cutoff - 2 * self.view.rounding
        found = view.before_rungs(self.size, level, self.settings.tuning.walk.largest_direct)
        return found is not None and self._close(*found, level, level, self._directly) is None

    def _close(
        self,
        problem: Subproblem,
        kept: IntArray,
        level: float,
        outside: float,
        close: Callable[[StageState[Subproblem]], Status | None],
    ) -> Status | None:
        """Close the stage on some features; what stopped that.

        Parameters
        ----------
        problem : Subproblem
        kept : integer array
            Which features it has.
        level : float
            At which the others were ruled out.
        outside : float
            Proved bound on what uses another feature.
        close : callable
        """
        state, view, best = self.state, self.view, self.state.best
        assert best is not None
        elsewhere = with_rounding(outside, view)
        local = self.ladder.state_of(problem, kept, best, state.tolerance, state.upper)
        local.watch, local.nodes = state.watch, state.nodes
        try:
            with state.watch.of_a_part(elsewhere, view.rounding):
                verdict = close(local)
        finally:
            # An interrupt leaves what was found and proved so far.
            upper, argument = searched(local, kept, level, view, self.settings.proof)
            upper = max(upper, elsewhere)
            state.tighten(upper, local.proved_by, argument if outside <= level else None)
            state.nodes = local.nodes
            if local.best is not None and local.lower > best.value:
                state.improve(*view.whole([local.best], kept))
                self.ladder.offer(state.best, self.size)
        if verdict is None:
            state.settle(upper, local.proved_by)
        return verdict
