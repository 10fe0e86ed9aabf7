"""Stage after stage: the one loop that all ways of solving a stage share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
        ...

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""
        ...


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
        ...

    def hint(self, k: int) -> Candidate | None:
        """The component of a stage that was not finished."""
        ...

    @property
    def is_due(self) -> bool:
        """Whether it is time to take note."""
        ...

    def show(self, found: Found) -> None:
        """Take note of what there is."""
        ...


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
    sequence = _Sequence(stages, limits, tolerance, record is not None, demands)
    for k, component in enumerate(known):
        ladder = record.ladder(k) if record is not None else ()
        sequence.take(component, add_up(component.upper_bound, -component.variance), ladder)
    if record is not None:
        sequence.offer(record.hint(len(known)))
    ended: Status | None = None
    while ended is None and not watch.interrupted:
        if sequence.incomplete:
            ended = _solve_next(sequence, stages, watch, record)
        elif not _try_again(sequence, stages, watch, record):
            break
        if record is not None and record.is_due and sequence.incomplete:
            record.show(sequence.found(None))
    return sequence.found(ended)


def _solve_next(
    sequence: _Sequence, stages: Stages, watch: Watch, record: RunRecord | None
) -> Status | None:
    """Solve the next stage; why there is none, if so."""
    k = len(sequence.components)
    watch.begin_stage(k, sequence.missing)
    outcome = stages.solve(sequence.request(record))
    if outcome.best is None:
        return outcome.status
    sequence.add(outcome, watch.clock.stage_elapsed)
    if len(sequence.components) > k:
        _tell_end(sequence.components[k], watch)
    return None


def _try_again(sequence: _Sequence, stages: Stages, watch: Watch, record: RunRecord | None) -> bool:
    """Give time that later stages have left to the first one that was stopped for want of it.

    Returns
    -------
    bool
        Whether there was such a stage, and time.
    """
    k = sequence.first_stopped
    if k is None or not watch.clock.leaves_some:
        return False
    watch.begin_stage(k, sequence.stopped)
    outcome = stages.solve(sequence.request(record, k))
    if outcome.best is not None:
        sequence.improve(k, outcome, watch.clock.stage_elapsed)
        _tell_end(sequence.components[k], watch)
    return True


def _tell_end(component: Component, watch: Watch) -> None:
    """Let whoever listens hear how a stage ended, if its last step told less."""
    value = component.deflated_variance
    value = component.variance if value is None else value
    told = watch.journal.last
    if told is None or value > told.lower or component.upper_bound < told.upper:
        watch.report(component.nodes, 0, value, component.upper_bound, component.closed_by)


class _Sequence:
    """The components so far, and what they say of the next one."""

    def __init__(
        self,
        stages: Stages,
        limits: Sequence[int],
        tolerance: Tolerance,
        certified: bool,
        demands: Demands = NO_DEMANDS,
    ) -> None:
        self._demands = demands
        self.components: list[Component] = []
        self.guarantees: list[float] = []
        self.ladders: list[tuple[Rung, ...]] = []
        self._stages = stages
        self._limits = limits
        self._tolerance = tolerance
        self._hints: list[Candidate] = []
        self._certified = certified
        # Each exchange improves an open stage; a bound on their number makes sure of an end.
        self._exchanges_left = len(limits) ** 2
        self.path: tuple[Component, ...] = ()

    def found(self, ended: Status | None) -> Found:
        """What there is, and why it ended if that was before the last component."""
        components = tuple(self.components)
        exhausted = ended is Status.EXHAUSTED
        status = overall_status(components, len(self._limits), exhausted)
        if status is None:
            status = ended or Status.INTERRUPTED
        guarantee = max(self.guarantees) if components else math.nan
        return Found(components, exhausted, guarantee, status, self.path, tuple(self.ladders))

    @property
    def incomplete(self) -> bool:
        return len(self.components) < len(self._limits)

    @property
    def missing(self) -> int:
        """Components still to be found."""
        return len(self._limits) - len(self.components)

    @property
    def first_stopped(self) -> int | None:
        """The first stage that its time did not suffice for; None if there is none."""
        if not self._stages.nested:
            return None
        limits = (k for k, c in enumerate(self.components) if c.status is Status.TIME_LIMIT)
        return next(limits, None)

    @property
    def stopped(self) -> int:
        """How many there are."""
        return sum(c.status is Status.TIME_LIMIT for c in self.components)

    def _previous(self, k: int) -> Array:
        vectors = [component.vector for component in self.components[:k]]
        return np.column_stack([self._demands.before(self._stages.n_features), *vectors])

    def offer(self, hint: Candidate | None) -> None:
        """Take a vector that may be a good one for the next stage."""
        if hint is not None:
            self._hints.append(hint)

    def request(self, record: RunRecord | None = None, again: int | None = None) -> Request:
        """What is asked of the next stage, or once more of an earlier one."""
        k = len(self.components) if again is None else again
        limit, previous = self._limits[k], self._previous(k)
        demand = self._demands.stage(k, previous)
        previous = self._demands.constraints(previous)
        known = [Candidate(c.variance, c.vector) for c in self.components[k:]]
        offered = (*known, *self._hints)
        hints = tuple(h for h in offered if demand.allows(h.vector, limit))
        if not self._demands.uncorrelated:
            # Else it is the stage that knows what they have to be orthogonal to.
            hints = tuple(h for h in hints if is_orthogonal(h.vector, previous))
        resumption = (
            NOTHING_TO_RESUME if record is None or again is not None else self._begun(record)
        )
        return Request(limit, previous, self._cap(k), hints, self._caps(k), resumption, demand)

    def _begun(self, record: RunRecord) -> Resumption:
        """What is known of the next stage from an earlier run; its rungs are taken note of."""
        k = len(self.components)

        def tell(rungs: Rungs, best: Candidate) -> None:
            if not record.is_due:
                return
            ladder, found = rungs(), self.found(None)
            upper = max(min(ladder[-1].upper, self._cap(k)), best.value)
            resumption = Component(best.vector, best.value, upper, Status.INTERRUPTED)
            record.show(
                replace(
                    found,
                    components=(*found.components, resumption),
                    ladders=(*found.ladders, ladder),
                )
            )

        return Resumption(record.ladder(k), tell)

    def _cap(self, k: int) -> float:
        """The smallest bound of an earlier stage with at least the same sparsity."""
        if not self._stages.nested:
            return math.inf
        earlier = [self.components[j].upper_bound for j in range(k) if self._contains(j, k)]
        return min(earlier, default=math.inf)

    def _contains(self, earlier: int, later: int) -> bool:
        """Whether what is feasible for a later component is so for an earlier one."""
        fits = self._limits[earlier] >= self._limits[later]
        return fits and self._demands.nests(earlier, later)

    def _caps(self, k: int) -> tuple[float, ...]:
        """For sparsities 1, 2, … the smallest bound of an earlier stage.

        What is feasible later is feasible there.  Where a certificate is to be made only bounds
        that it holds count: it refers to them.
        """
        if not self._stages.nested:
            return ()
        earlier = [self.ladders[j] for j in range(k) if self._demands.nests(j, k)]
        ladders = [with_arguments(x) if self._certified else x for x in earlier]
        # A ladder begins with what is included alone.
        below = [[math.inf] * (ladder[0].size - 1) if ladder else [] for ladder in ladders]
        bounds = itertools.zip_longest(
            *(
                [*unknown, *(rung.upper for rung in ladder)]
                for unknown, ladder in zip(below, ladders, strict=True)
            ),
            fillvalue=math.inf,
        )
        return tuple(min(of_one_size) for of_one_size in bounds)

    def add(self, outcome: Outcome, seconds: float) -> None:
        """Take the component of the next stage, where it belongs."""
        best = outcome.best
        assert best is not None
        value = best.value if outcome.deflated_value is None else outcome.deflated_value
        upper = max(min(outcome.upper, self._cap(len(self.components))), value)
        component = Component(
            vector=best.vector,
            variance=best.value,
            upper_bound=upper,
            status=self._status(value, upper, outcome.status),
            nodes=outcome.nodes,
            runtime=seconds,
            deflated_variance=outcome.deflated_value,
            closed_by=outcome.closed_by,
        )
        guarantee = outcome.guarantee
        guarantee = add_up(upper, -value) if guarantee is None else guarantee
        self.take(component, guarantee, outcome.rungs, outcome.climbed)
        self._hints = [h for h in self._hints if h.vector is not best.vector]
        if self._stages.nested:
            self._raise_earlier(component.variance)
            self._exchange()

    def improve(self, k: int, outcome: Outcome, seconds: float) -> None:
        """Take what another attempt at a stage has found.

        A better component displaces the later ones.  Of the two bounds the smaller one is kept,
        with its own argument.
        """
        old, best = self.components[k], outcome.best
        assert best is not None
        lower = best if best.value > old.variance else Candidate(old.variance, old.vector)
        upper = max(min(outcome.upper, old.upper_bound), lower.value)
        component = replace(
            old,
            closed_by=outcome.closed_by if outcome.upper < old.upper_bound else old.closed_by,
            vector=lower.vector,
            variance=lower.value,
            upper_bound=upper,
            status=self._status(lower.value, upper, outcome.status),
            nodes=old.nodes + outcome.nodes,
            runtime=old.runtime + seconds,
        )
        ladder = outcome.rungs if outcome.upper < old.upper_bound else self.ladders[k]
        guarantee = min(self.guarantees[k], add_up(upper, -lower.value))
        later = slice(k, None) if lower is best else slice(k, k + 1)
        displaced = self.components[k + 1 :] if lower is best else []
        self._hints += [Candidate(c.variance, c.vector) for c in displaced]
        self.components[later] = [component]
        self.guarantees[later] = [guarantee]
        self.ladders[later] = [ladder]
        if k == 0 and ladder is outcome.rungs:
            self._take_path(ladder, outcome.climbed)
        if lower is best:
            self._raise_earlier(component.variance)
            self._exchange()

    def take(
        self,
        component: Component,
        guarantee: float,
        ladder: tuple[Rung, ...] = (),
        climbed: bool = False,
    ) -> None:
        """Append a component."""
        if not self.components:
            self._take_path(ladder, climbed)
        self.components.append(component)
        self.guarantees.append(guarantee)
        self.ladders.append(ladder)

    def _take_path(self, ladder: tuple[Rung, ...], climbed: bool) -> None:
        """Take what a ladder says of all sparsities, unless nothing was done for the smaller ones.

        That is so where a stage was closed directly, and its rungs are there for a certificate.
        """
        if not self._stages.nested or not ladder:
            return
        points = tuple(self._point(rung) for rung in ladder if rung.best)
        if len(points) < len(ladder):
            # Nobody could tell which sparsities they are of.
            return
        closed = all(point.status is Status.OPTIMAL for point in points)
        if climbed or closed or were_climbed(ladder):
            self.path = points

    def _point(self, rung: Rung) -> Component:
        """What is known for one sparsity; where its budget was spent, the gap says so."""
        assert rung.best is not None
        value, upper = rung.best.value, max(rung.upper, rung.best.value)
        return Component(
            vector=rung.best.vector,
            variance=value,
            upper_bound=upper,
            status=self._status(value, upper, Status.WORK_LIMIT),
        )

    def _raise_earlier(self, variance: float) -> None:
        """Raise bounds of earlier stages that a later component exceeds.

        That happens within rounding only: components are orthogonal to 1e-12, and bounds speak of
        vectors that are so exactly.
        """
        last = len(self.components) - 1
        for k, earlier in enumerate(self.components[:-1]):
            if self._contains(k, last) and earlier.upper_bound < variance:
                status = self._status(earlier.variance, variance, earlier.status)
                self.components[k] = replace(earlier, upper_bound=variance, status=status)
                short = add_up(variance, -earlier.variance)
                self.guarantees[k] = max(self.guarantees[k], short)

    def _exchange(self) -> None:
        """Let the last component take the place of a smaller one whose stage was left open."""
        last, place = self.components[-1], len(self.components) - 1
        for k, earlier in enumerate(self.components[:-1]):
            better = earlier.status in OPEN and last.variance > earlier.variance
            if not better or not self._contains(k, place) or self._exchanges_left == 0:
                continue
            self._exchanges_left -= 1
            # The bound of the stage stays: it does not depend on what was found there.
            upper = max(earlier.upper_bound, last.variance)
            status = self._status(last.variance, upper, earlier.status)
            taken = replace(
                earlier,
                vector=last.vector,
                variance=last.variance,
                upper_bound=upper,
                status=status,
            )
            if k == 0 and self.path:
                self.path = (*self.path[:-1], replace(taken, nodes=0, runtime=0.0))
            displaced = self.components[k:-1]
            self._hints += [Candidate(c.variance, c.vector) for c in displaced]
            self.components[k:] = [taken]
            self.guarantees[k:] = [self.guarantees[k]]
            self.ladders[k:] = [self.ladders[k]]
            return

    def _status(self, value: float, upper: float, status: Status) -> Status:
        if self._tolerance.met(value, upper):
            return Status.OPTIMAL
        return Status.PRECISION if status is Status.OPTIMAL else status


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
