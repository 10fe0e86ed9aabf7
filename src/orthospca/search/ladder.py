"""The ladder: certify sparsity 1, 2, …, p in turn, and let each rung empty the next.

What is proved for s - 1 features rules out, by the border rule, most features of a support with s
of them.  On what is left the usual search is short, and what it proves serves the next rung.  A
rung that resists leaves a weaker bound, and everything after it stays valid.

See ``docs/theory/ladder.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from orthospca._typing import IntArray
from orthospca.bounds.conditioning.walk import Tally
from orthospca.model.limits import QuietWatch
from orthospca.model.result import ClosedBy
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import AIM, Tolerance
from orthospca.numerics.rounding import add_up
from orthospca.search.closing import close_rung
from orthospca.search.outcome import Argument, Ground, Rung
from orthospca.search.state import StageState
from orthospca.search.views import StageView, value_of, with_rounding
from orthospca.supports.best import Candidate

#: Of the gain that the next rung promises, a rung may leave this share open …
SHARE_OF_GAIN = 0.05
#: … but it need not be proved closer than a share of the tolerance asked for.  That grows from this
#: one to the whole at the last rung: a level that rises from rung to rung rules more out on each,
#: as if there were more to gain.
FIRST_SHARE = 0.1

#: Shares of the time of a stage after which good vectors are no longer looked for, and after which
#: rungs are given up where other means are left.
SHARE_OF_HEURISTICS, SHARE_OF_RUNGS = 0.15, 0.35
#: Seconds until the relaxation of 500 features has something to say; they grow with the square.
RELAXATION_SECONDS = 2.0
#: A stage is hard if so many of its rungs could not be proved.
HARD = 2

#: Shares of its size by which a level is raised until rounding leaves no doubt, and how often.
LIFT, LIFTS = 2.0**-48, 8


def searched(
    known: StageState[Subproblem], kept: IntArray, sieved_at: float, view: StageView, proof: bool
) -> tuple[float, Argument | None]:
    """Return what one tree has proved on the features that were left, and that argument."""
    upper = with_rounding(known.upper, view)
    if known.tree is None:
        return upper, None
    level, steps = known.tree
    # Of a checker the bound is that of a level, even where all supports turned out to be below it.
    level = max(with_rounding(level, view), sieved_at)
    argument = Argument(Ground.SIEVE, level, kept, steps.embedded(kept))
    if not proof:
        return upper, argument
    if known.upper > known.tree[0]:
        # Supports so close to the best that rounding decides: a checker rounds in its own way.
        upper = with_rounding(add_up(known.upper, 7 * (known.upper - known.lower)), view)
    return max(upper, level), argument


def looked_long_enough(watch: QuietWatch) -> bool:
    """Whether vectors have been looked for long enough.

    What keeps this knows nothing of the ladder, and so does not keep the data alive.
    """
    return watch.out_of_time() or watch.clock.is_gone(SHARE_OF_HEURISTICS)


@dataclass(eq=False)
class Ladder:
    """The rungs of one stage.

    Attributes
    ----------
    view : StageView
    size : int
        The sparsity of the stage: the last rung.
    stage : StageState
        Tolerance, watch and incumbent of the stage.
    settings : Settings
    caps : sequence of float
        Bounds for sparsities 1, 2, … that are known already.
    proved : sequence of Rung
        What was proved before.
    """

    view: StageView
    size: int
    stage: StageState[Any]
    settings: Settings
    caps: Sequence[float] = ()
    proved: Sequence[Rung] = ()

    def __post_init__(self) -> None:
        # The rung of what is included alone, and without that of single features.
        self.first = max(len(self.view.included), 1)
        self.watch = QuietWatch(self.stage.watch)
        self.rungs: list[Rung] = []
        self.best: list[Candidate | None] = [None] * (self.size + 1)
        self.resisted, self.given_up, self.tally = 0, False, Tally()
        if self.stage.best is not None:
            self.offer(self.stage.best, len(self.view.filled(self.stage.best.vector)))

    def find(self) -> None:
        """Look for good vectors of the sparsity asked for."""
        self._take(self.view.find(partial(looked_long_enough, self.watch)))

    def refine(self) -> None:
        """Look for good vectors of every sparsity."""
        self._take(self.view.refine(partial(looked_long_enough, self.watch)))

    def _take(self, found: Sequence[Candidate | None]) -> None:
        for size, candidate in enumerate(found):
            self.offer(candidate, size)

    def offer(self, candidate: Candidate | None, size: int = 1) -> None:
        """Take a feasible vector for a sparsity and all larger ones."""
        if candidate is None:
            return
        for s in range(size, self.size + 1):
            if value_of(self.best[s]) >= candidate.value:
                break
            self.best[s] = candidate

    def _follow(self, best: Candidate, size: int) -> None:
        """Let a better vector improve those of larger sparsities."""
        self.offer(best, size)
        self._take(self.view.follow(best, size, self.watch.out_of_time))

    @property
    def below(self) -> float:
        """Proved bound of the last rung; ``inf`` if the ladder was not climbed."""
        return self.rungs[-1].upper if self.rungs else math.inf

    def outlook(self) -> float:
        """Proved bound of the last rung from those climbed so far, without proving any other."""
        upper = self.below
        for size in range(self.rungs[-1].size + 1, self.size + 1):
            upper = max(upper, self.view.bound_without_level(size, upper))
        return upper

    def begin(self) -> None:
        """Prove the first rung, which takes no search."""
        first, ground = self.view.first_bound(), Ground.SINGLE
        if self.settings.proof and len(self.view.included):
            # A checker rounds in its own way.
            first = add_up(first, self.view.resolution)
            rows = self.view.cheap_bound(self.first)
            first, ground = (rows, Ground.SUMS) if rows < first else (first, ground)
        if self._known(self.first) < first:
            first, ground = self._known(self.first), Ground.CAP
        best = self.best[self.first]
        self.rungs = [Rung(self.first, best, first, argument=Argument(ground))]

    def prove(self, size: int) -> None:
        """Prove the next rung, as far as it is worth it."""
        self.rungs.append(self._taken(size) or self._rung(size))

    def should_give_up(self, patience: float) -> bool:
        """Whether other means promise more than the rungs that are left.

        Parameters
        ----------
        patience : float
            Work after which they do: what the relaxation is expected to cost.  They also do when
            rungs resist, or when their share of the time is gone and the rest is enough for it;
            never if it is infinite.
        """
        if patience == math.inf:
            return False
        seconds = RELAXATION_SECONDS * (self.view.n_features / 500) ** 2
        in_time = seconds <= self.watch.seconds_left
        late = in_time and self.watch.clock.is_gone(SHARE_OF_RUNGS)
        return late or self.tally.work > patience or self.resisted >= HARD

    def give_up(self) -> None:
        """Leave the rungs that are left with what follows from the others."""
        self.given_up = True
        self.rungs = [rung for rung in self.completed() if rung.size < self.size]

    def completed(self) -> tuple[Rung, ...]:
        """Return all rungs, with what follows from them for those that are still to come."""
        rungs = list(self.rungs)
        for size in range(rungs[-1].size + 1, self.size + 1):
            bound, why = self._cap(size, rungs[-1].upper)
            rungs.append(Rung(size, self.best[size], bound, argument=why))
        return tuple(rungs)

    def _taken(self, size: int) -> Rung | None:
        """A rung that was proved before, and as closely as is asked for now."""
        rung = next((rung for rung in self.proved if rung.size == size), None)
        best = self.best[size]
        if rung is None or rung.best is None or best is None or rung.argument is None:
            return None
        value = max(best.value, rung.best.value)
        if rung.upper > value + self._slack(size) * (1 + 1e-9) + 4 * self.view.rounding:
            return None
        if rung.best.value > best.value:
            # As when it was found: it leads on to vectors of larger sparsities.
            self._follow(rung.best, size)
        return replace(rung, best=self.best[size])

    def _rung(self, size: int) -> Rung:
        """Prove one rung."""
        view, best = self.view, self.best[size]
        cap, why = self._cap(size, self.below)
        if best is None or self.watch.out_of_time():
            return Rung(size, best, cap, argument=why)
        slack = self._slack(size)
        level = best.value + slack
        # Where the bound of the last rung is not below the level it rules nothing out, and a search
        # from scratch is left to the last rung.
        if cap <= level or (size > self.first + 1 and self.below >= level):
            self.resisted += cap > level
            return Rung(size, best, cap, argument=why)
        problem, kept, outside, _ = self.part(size, level, best)
        if problem is None:
            if outside >= cap:
                return Rung(size, best, cap, argument=why)
            return Rung(size, best, outside, argument=Argument(Ground.SIEVE, level, kept))
        if self.watch.out_of_time():
            return Rung(size, best, cap, argument=why)
        known = self.state_of(problem, kept, best, Tolerance(slack / AIM, 0.0), cap)
        if view.closes is None:
            closed = close_rung(known, self.settings, view.n_features)
        else:
            closed = view.closes(known, self.settings, False) is None
        self.resisted += not closed
        if known.best is not None and known.lower > best.value:
            (best,) = view.whole([known.best], kept)
            self._follow(best, size)
        upper, argument = searched(known, kept, level, view, self.settings.proof)
        upper = max(upper, outside, self.below)
        if cap <= upper:
            return Rung(size, best, cap, len(kept), why)
        # Features that were left out for their number are not ruled out.
        return Rung(size, best, upper, len(kept), argument if outside <= level else None)

    def _known(self, size: int) -> float:
        """The bound that was given for a sparsity."""
        return self.caps[size - 1] if size <= len(self.caps) else math.inf

    def _cap(self, size: int, below: float) -> tuple[float, Argument]:
        """What is known of a rung before anything is done for it, and why."""
        known, why = self.without_level(size, below)
        if self._known(size) <= known:
            known, why = self._known(size), Argument(Ground.CAP)
        if not math.isfinite(known):
            known, why = self.view.cheap_bound(size), Argument(Ground.SUMS)
        return max(known, below), why

    def without_level(self, size: int, below: float) -> tuple[float, Argument]:
        """Bound a rung by the one below it alone: too few features can be in a larger support."""
        bound = self.view.bound_without_level(size, below)
        if not (self.settings.proof and math.isfinite(bound)):
            return bound, Argument(Ground.SIEVE, bound)
        # Rounding may let a feature pass that is out: the level is raised until it is.
        for _ in range(LIFTS):
            kept = self.view.passing(size, bound, below)
            if len(kept) < size:
                return bound, Argument(Ground.SIEVE, bound, kept)
            bound = add_up(bound, LIFT * max(abs(bound), self.view.largest_variance))
        return math.inf, Argument(Ground.SIEVE)

    def _slack(self, size: int) -> float:
        """How far above its best vector a rung is to be proved."""
        value, following = value_of(self.best[size]), value_of(self.best[size + 1])
        allowed = AIM * self.stage.tolerance.allowed(value)
        gain = SHARE_OF_GAIN * (following - value)
        share = FIRST_SHARE + (1 - FIRST_SHARE) * (size - 1) / (self.size - 1)
        slack = min(allowed, max(gain, share * allowed))
        return max(slack, self.stage.tolerance.resolution + 2 * self.view.rounding)

    def part(
        self, size: int, level: float, best: Candidate
    ) -> tuple[Subproblem | None, IntArray, float, ClosedBy]:
        """Return the stage on the features that can reach a level, and those of a candidate.

        Returns
        -------
        problem : Subproblem or None
            None if there are so few that all supports are smaller, and so below the level.
        features : integer array
        outside : float
            Proved bound on what uses another feature.
        by : ClosedBy
            What proved it.
        """
        sieve = self.view.sieve(size, level, self.below, self.watch.out_of_time)
        outside = max(sieve.outside, level)
        if len(sieve.kept) < size and self.below < level:
            return None, sieve.kept, outside, sieve.by
        kept = np.union1d(sieve.kept, np.flatnonzero(best.vector))
        return *self.view.restricted(kept, size), outside, sieve.by

    def state_of(
        self, problem: Subproblem, kept: IntArray, best: Candidate, tolerance: Tolerance, cap: float
    ) -> StageState[Subproblem]:
        """What is known of a rung on the features that are left."""
        tolerance = tolerance.at_resolution(problem.resolution)
        local = Candidate(best.value, best.vector[kept])
        known = StageState(problem, tolerance, self.watch, local, cap)
        known.tally = self.tally
        return known
