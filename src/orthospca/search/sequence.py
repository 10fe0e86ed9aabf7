"""Stage after stage: the one loop that all ways of solving a stage share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from orthospca._typing import Array
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.limits import Watch
from orthospca.model.result import Component, Status
from orthospca.model.tolerance import Tolerance
from orthospca.numerics.rigor import RANK_TOLERANCE
from orthospca.numerics.rounding import add_up
from orthospca.search.outcome import (
    NOTHING_TO_RESUME,
    Outcome,
    Request,
    Resumption,
    Rung,
    Rungs,
    were_climbed,
    with_arguments,
)
from orthospca.supports.best import Candidate

#: How a stage may end with a better component still to be found.
OPEN = (
    Status.TIME_LIMIT,
    Status.NODE_LIMIT,
    Status.FEATURE_LIMIT,
    Status.PROOF_LIMIT,
    Status.THRESHOLD,
)


class Stages(Protocol):
    """A way to solve the stages of one problem.

    Attributes
    ----------
    n_features : int
    nested : bool
        Whether the bound of a stage holds for those after it, with the same sparsity or less, and
        their components are feasible in it.
    """

    n_features: int
    nested: bool

    @property
    def note(self) -> str:
        """What a user should know of the way chosen; empty if nothing."""

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""


@dataclass(frozen=True, eq=False)
class Found:
    """The components of a problem.

    Attributes
    ----------
    components : tuple of Component
        Fewer than asked for after an interrupt, or where a stage has none.
    exhausted : bool
        Whether it is proved that the next stage has none.
    guarantee : float
        Every variance is within this of the best of its stage; NaN if there is none.
    status : Status
        Of the whole.
    path : tuple of Component
        The first component for every smaller sparsity, if that was proved on the way.
    ladders : tuple of tuples of Rung
        Of each component, what was proved for its sparsity and all smaller ones.
    """

    components: tuple[Component, ...]
    exhausted: bool
    guarantee: float
    status: Status
    path: tuple[Component, ...] = ()
    ladders: tuple[tuple[Rung, ...], ...] = ()


class RunRecord(Protocol):
    """Something that is kept of a run while it goes on."""

    def ladder(self, k: int) -> tuple[Rung, ...]:
        """What was proved before for a component, whether or not its stage was finished."""

    def hint(self, k: int) -> Candidate | None:
        """The component of a stage that was not finished."""

    @property
    def is_due(self) -> bool:
        """Whether it is time to take note."""

    def show(self, found: Found) -> None:
        """Take note of what there is."""


def run_stages(
    stages: Stages,
    limits: Sequence[int],
    tolerance: Tolerance,
    watch: Watch,
    known: Sequence[Component] = (),
    record: RunRecord | None = None,
    demands: Demands = NO_DEMANDS,
) -> Found:
    """Find one component for each sparsity limit, each given those before it.

    Of nested stages the bound of one caps those after it.  A component that turns out larger than
    an earlier one whose stage was left open takes its place, and the stages after that are solved
    anew; what they had found is still feasible and serves as a hint.  What is left of a limit of
    time in the end is used for stages that have been stopped by it.

    Parameters
    ----------
    stages : Stages
    limits : sequence of int
    tolerance : Tolerance
    watch : Watch
    known : sequence of Component
        The first components, if they are known already.
    record : RunRecord, optional
        Knows what was proved on the way to them, and is shown every stage that ends.
    demands : Demands
        What is asked of them beyond their sparsity.
    """
    return _Sequence(stages, limits, tolerance, watch, record, demands).run(known)


@dataclass(frozen=True, eq=False)
class _Solved:
    """A stage that has ended: its component, its guarantee, and what was proved of it."""

    component: Component
    guarantee: float
    ladder: tuple[Rung, ...]


@dataclass(eq=False)
class _Sequence:
    """The components so far, and what they say of the next one."""

    stages: Stages
    limits: Sequence[int]
    tolerance: Tolerance
    watch: Watch
    record: RunRecord | None
    demands: Demands
    solved: list[_Solved] = field(default_factory=list)
    hints: list[Candidate] = field(default_factory=list)
    path: tuple[Component, ...] = ()

    def run(self, known: Sequence[Component]) -> Found:
        """Find all of them; some may be known already."""
        record = self.record
        # Each exchange improves an open stage; a bound on their number makes sure of an end.
        self.exchanges_left = len(self.limits) ** 2
        for k, component in enumerate(known):
            guarantee = add_up(component.upper_bound, -component.variance)
            ladder = () if record is None else record.ladder(k)
            self._append(_Solved(component, guarantee, ladder))
        if record is not None and (hint := record.hint(len(known))) is not None:
            self.hints.append(hint)
        ended: Status | None = None
        while ended is None and not self.watch.interrupted:
            if len(self.solved) < len(self.limits):
                ended = self._solve_next()
            elif not self._try_again():
                break
            if record is not None and record.is_due and len(self.solved) < len(self.limits):
                record.show(self.found())
        return self.found(ended)

    def _solve_next(self) -> Status | None:
        """Solve the next stage; why there is none, if so."""
        k = len(self.solved)
        self.watch.begin_stage(k, len(self.limits) - k)
        outcome = self.stages.solve(self._request(k, self._resumption(k)))
        if outcome.best is None:
            return outcome.status
        self._add(k, outcome)
        return None

    def _try_again(self) -> bool:
        """Give time that later stages have left to the first one that was stopped for want of it.

        Returns
        -------
        bool
            Whether there was such a stage, and time.
        """
        limited = [k for k, c in enumerate(self.components) if c.status is Status.TIME_LIMIT]
        if not (self.stages.nested and limited and self.watch.clock.leaves_some):
            return False
        k = limited[0]
        self.watch.begin_stage(k, len(limited))
        outcome = self.stages.solve(self._request(k, NOTHING_TO_RESUME))
        if outcome.best is not None:
            self._improve(k, outcome)
        return True

    @property
    def components(self) -> tuple[Component, ...]:
        """Those found so far."""
        return tuple(solved.component for solved in self.solved)

    def found(self, ended: Status | None = None) -> Found:
        """What there is, and why it ended if that was before the last component."""
        components, exhausted = self.components, ended is Status.EXHAUSTED
        status = overall_status(components, len(self.limits), exhausted)
        return Found(
            components,
            exhausted,
            max((solved.guarantee for solved in self.solved), default=math.nan),
            status or ended or Status.INTERRUPTED,
            self.path,
            tuple(solved.ladder for solved in self.solved),
        )

    def _request(self, k: int, resumption: Resumption) -> Request:
        """What is asked of the next stage, or once more of an earlier one."""
        limit, vectors = self.limits[k], [c.vector for c in self.components[:k]]
        previous = np.column_stack([self.demands.before(self.stages.n_features), *vectors])
        demand = self.demands.stage(k, previous)
        previous = self.demands.constraints(previous)
        offered = (*map(_candidate, self.components[k:]), *self.hints)
        hints = tuple(h for h in offered if demand.allows(h.vector, limit))
        if not self.demands.uncorrelated:
            # Else it is the stage that knows what they have to be orthogonal to.
            hints = tuple(h for h in hints if is_orthogonal(h.vector, previous))
        return Request(limit, previous, self._cap(k), hints, self._caps(k), resumption, demand)

    def _resumption(self, k: int) -> Resumption:
        """What is known of the next stage from an earlier run; its rungs are taken note of."""
        record = self.record
        if record is None:
            return NOTHING_TO_RESUME

        def tell(rungs: Rungs, best: Candidate) -> None:
            if not record.is_due:
                return
            ladder, found = rungs(), self.found()
            upper = max(min(ladder[-1].upper, self._cap(k)), best.value)
            begun = Component(best.vector, best.value, upper, Status.INTERRUPTED)
            components, ladders = (*found.components, begun), (*found.ladders, ladder)
            record.show(replace(found, components=components, ladders=ladders))

        return Resumption(record.ladder(k), tell)

    def _cap(self, k: int) -> float:
        """The smallest bound of an earlier stage with at least the same sparsity."""
        if not self.stages.nested:
            return math.inf
        earlier = enumerate(self.components[:k])
        return min((c.upper_bound for j, c in earlier if self._contains(j, k)), default=math.inf)

    def _contains(self, earlier: int, later: int) -> bool:
        """Whether what is feasible for a later component is so for an earlier one."""
        fits = self.limits[earlier] >= self.limits[later]
        return fits and self.demands.nests(earlier, later)

    def _caps(self, k: int) -> tuple[float, ...]:
        """For sparsities 1, 2, … the smallest bound of an earlier stage.

        What is feasible later is feasible there.  Where a certificate is to be made only bounds
        that it holds count: it refers to them.
        """
        if not self.stages.nested:
            return ()
        caps: dict[int, float] = {}
        for j, solved in enumerate(self.solved[:k]):
            if self.demands.nests(j, k):
                ladder = solved.ladder if self.record is None else with_arguments(solved.ladder)
                for rung in ladder:
                    caps[rung.size] = min(caps.get(rung.size, math.inf), rung.upper)
        return tuple(caps.get(size, math.inf) for size in range(1, max(caps, default=0) + 1))

    def _add(self, k: int, outcome: Outcome) -> None:
        """Take the component of the next stage, where it belongs."""
        best = outcome.best
        assert best is not None
        value = best.value if outcome.deflated_value is None else outcome.deflated_value
        upper = max(min(outcome.upper, self._cap(k)), value)
        component = Component(
            best.vector,
            best.value,
            upper,
            self.tolerance.status(value, upper, outcome.status),
            outcome.nodes,
            self.watch.clock.stage_elapsed,
            outcome.deflated_value,
            outcome.closed_by,
        )
        guarantee = outcome.guarantee
        guarantee = add_up(upper, -value) if guarantee is None else guarantee
        self._append(_Solved(component, guarantee, outcome.rungs), outcome.climbed)
        self.hints = [hint for hint in self.hints if hint.vector is not best.vector]
        self._settle(k)

    def _improve(self, k: int, outcome: Outcome) -> None:
        """Take what another attempt at a stage has found.

        A better component displaces the later ones.  Of the two bounds the smaller one is kept,
        with its own argument.
        """
        known, best = self.solved[k], outcome.best
        old, tighter = known.component, outcome.upper < known.component.upper_bound
        assert best is not None
        better = best.value > old.variance
        value, vector = (best.value, best.vector) if better else (old.variance, old.vector)
        upper = max(min(outcome.upper, old.upper_bound), value)
        component = replace(
            old,
            closed_by=outcome.closed_by if tighter else old.closed_by,
            vector=vector,
            variance=value,
            upper_bound=upper,
            status=self.tolerance.status(value, upper, outcome.status),
            nodes=old.nodes + outcome.nodes,
            runtime=old.runtime + self.watch.clock.stage_elapsed,
        )
        guarantee = min(known.guarantee, add_up(upper, -value))
        ladder = outcome.rungs if tighter else known.ladder
        later = slice(k, None if better else k + 1)
        self.hints += [_candidate(displaced.component) for displaced in self.solved[later][1:]]
        self.solved[later] = [_Solved(component, guarantee, ladder)]
        if k == 0 and tighter:
            self._take_path(ladder, outcome.climbed)
        self._settle(k, better)

    def _append(self, solved: _Solved, climbed: bool = False) -> None:
        """Take the next component."""
        if not self.solved:
            self._take_path(solved.ladder, climbed)
        self.solved.append(solved)

    def _settle(self, k: int, changed: bool = True) -> None:
        """Let others gain by a stage that has ended, and whoever listens hear how."""
        if changed and self.stages.nested:
            self._raise_earlier(self.solved[-1].component.variance)
            self._exchange()
        if len(self.solved) <= k:
            return
        component, told = self.solved[k].component, self.watch.journal.last
        value = component.deflated_variance
        value = component.variance if value is None else value
        if told is None or value > told.lower or component.upper_bound < told.upper:
            by, upper = component.closed_by, component.upper_bound
            self.watch.report(component.nodes, 0, value, upper, by)

    def _take_path(self, ladder: tuple[Rung, ...], climbed: bool) -> None:
        """Take what a ladder says of all sparsities, unless nothing was done for the smaller ones.

        That is so where a stage was closed directly, and its rungs are there for a certificate.
        """
        points = tuple(self._point(rung, rung.best) for rung in ladder if rung.best)
        if not self.stages.nested or not ladder or len(points) < len(ladder):
            # Of some nobody could tell which sparsities they are of.
            return
        closed = all(point.status is Status.OPTIMAL for point in points)
        if climbed or closed or were_climbed(ladder):
            self.path = points

    def _point(self, rung: Rung, best: Candidate) -> Component:
        """What is known for one sparsity; where its budget was spent, the gap says so."""
        upper = max(rung.upper, best.value)
        status = self.tolerance.status(best.value, upper, Status.WORK_LIMIT)
        return Component(best.vector, best.value, upper, status)

    def _raise_earlier(self, variance: float) -> None:
        """Raise bounds of earlier stages that a later component exceeds.

        That happens within rounding only: components are orthogonal to 1e-12, and bounds speak of
        vectors that are so exactly.
        """
        last = len(self.solved) - 1
        for k, solved in enumerate(self.solved[:-1]):
            earlier = solved.component
            if self._contains(k, last) and earlier.upper_bound < variance:
                status = self.tolerance.status(earlier.variance, variance, earlier.status)
                component = replace(earlier, upper_bound=variance, status=status)
                short = max(solved.guarantee, add_up(variance, -earlier.variance))
                self.solved[k] = _Solved(component, short, solved.ladder)

    def _exchange(self) -> None:
        """Let the last component take the place of a smaller one whose stage was left open."""
        last, place = self.solved[-1].component, len(self.solved) - 1
        for k, solved in enumerate(self.solved[:-1]):
            earlier = solved.component
            better = earlier.status in OPEN and last.variance > earlier.variance
            if not better or not self._contains(k, place) or self.exchanges_left == 0:
                continue
            self.exchanges_left -= 1
            # The bound of the stage stays: it does not depend on what was found there.
            upper = max(earlier.upper_bound, last.variance)
            status = self.tolerance.status(last.variance, upper, earlier.status)
            taken = replace(earlier, vector=last.vector, variance=last.variance)
            taken = replace(taken, upper_bound=upper, status=status)
            if k == 0 and self.path:
                self.path = (*self.path[:-1], replace(taken, nodes=0, runtime=0.0))
            self.hints += [_candidate(displaced.component) for displaced in self.solved[k:-1]]
            self.solved[k:] = [replace(solved, component=taken)]
            return


def _candidate(component: Component) -> Candidate:
    return Candidate(component.variance, component.vector)


def is_orthogonal(vector: Array, previous: Array) -> bool:
    """Whether a vector is orthogonal to some columns, as far as components are to each other."""
    return bool(np.abs(previous.T @ vector).max(initial=0.0) <= RANK_TOLERANCE)


def overall_status(found: Sequence[Component], asked: int, exhausted: bool) -> Status | None:
    """Return the status of a whole result from those of its components; None if it is not theirs.

    The last one that is not ``OPTIMAL`` decides.
    """
    stopped = [component.status for component in found if component.status is not Status.OPTIMAL]
    if stopped:
        return stopped[-1]
    if exhausted:
        return Status.EXHAUSTED
    return Status.OPTIMAL if len(found) == asked else None
