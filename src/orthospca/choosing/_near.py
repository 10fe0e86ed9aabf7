"""The search for alternatives: the best component first, then all that comes near it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.data.problem import DataProblem
from orthospca.model.limits import Watch
from orthospca.model.problem import Problem
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.rounding import UNIT
from orthospca.search.listing import Listing
from orthospca.search.outcome import (
    Argument,
    Ground,
    Outcome,
    Request,
    Rung,
    with_arguments,
)
from orthospca.search.stages import MatrixStages
from orthospca.search.views import MatrixView, StageView, with_rounding
from orthospca.supports.best import Candidate, best_on_support
from orthospca.wide.stage import WideProblem, WideStages
from orthospca.wide.view import DataView

#: What is said where numbers are so close that rounding decides.
DOUBT = "and rounding leaves a doubt about some of them"


@dataclass(frozen=True, eq=False)
class Near:
    """What comes near the best component.

    Attributes
    ----------
    supports : list of integer arrays
        The best one first.
    values : array
    level : float
        What they had to reach.
    note : str
        Why there may be others; empty if it is proved that there are none.
    bests : tuple of Candidate
        Vectors with these values.
    proved : float
        A level that all of them reach, and no other, for a checker.
    rungs : tuple of Rung
        Its argument, if a proof was asked for.
    """

    supports: list[IntArray]
    values: Array
    level: float
    note: str = ""
    bests: tuple[Candidate, ...] = ()
    proved: float = 0.0
    rungs: tuple[Rung, ...] = ()


class NearSearch:
    """Lists the supports near the best component of one stage.

    Parameters
    ----------
    problem : Problem or DataProblem
    previous : array of shape (n, k)
        Components that the vectors must be orthogonal to, as columns.
    settings : Settings
        With ``proof`` the argument can be written down.
    watch : Watch
    """

    def __init__(
        self, problem: Problem | DataProblem, previous: Array, settings: Settings, watch: Watch
    ) -> None:
        self.n = problem.n_features
        self.settings, self.watch = settings, watch
        self.request = Request(problem.sparsity[0], previous)
        alone = np.count_nonzero(previous, axis=0) == 1
        self._spent = spent = np.flatnonzero((previous[:, alone] != 0).any(axis=1))
        self.size = min(problem.sparsity[0], self.n - len(spent))
        # What is left of the features where it is laid out, and what no support may contain.
        self._places, self._banned = np.arange(self.n), spent
        if isinstance(problem, DataProblem):
            # As for a proof: rung after rung, and features are ruled out by the border rule alone.
            # A search by traces closes what is below the best vector, and so lists nothing.
            settings = replace(settings, proof=True)
            data = WideProblem(problem.covariance, self.size, settings)
            self._stages: Any = WideStages(data, settings, watch)
            self._form: StageView = DataView(
                problem.covariance,
                self.size,
                previous,
                data.profiles,
                tuning=settings.tuning,
                proof=True,
            )
            largest, radius = self._form.largest_variance, 0.0
        else:
            self._stages = MatrixStages(problem.covariance, settings, watch)
            stage = Subproblem(problem.covariance, self.request.sparsity, previous)
            part, self._places = stage.without_spent_features()
            self._banned = spent[:0]
            self._form = MatrixView(part)
            largest, radius = part.scale if part.n_features else 0.0, part.projected_radius
        p = self.size
        # What rounding may hide, several times: what is on the level is listed, and what is not
        # listed can be told from it by one who rounds in another way.
        resolution = 128 * p * (p + 8) * UNIT * largest + 8 * p * radius
        self._margin = 4 * resolution + 4 * self._form.rounding

    def run(self, tolerance: float, most: int) -> Near:
        """Find the best component, and list what is within the tolerance, up to a number."""
        self.watch.begin_stage(self.request.previous.shape[1], 1)
        outcome: Outcome = self._stages.solve(self.request)
        if outcome.best is None:
            note = "" if outcome.upper == -math.inf else "no vector was found"
            return Near([], np.zeros(0), math.inf, note)
        best = outcome.best.value
        level = best - tolerance * abs(best)
        listing, kept, rung, note = self._list(level, outcome, most)
        values = np.array(listing.values)
        if values.max(initial=best) > best:
            # The best component was sought to a tolerance only.
            level = float(values.max() - tolerance * abs(values.max()))
        chosen = np.flatnonzero(values >= level - 0.5 * self._margin)
        others = np.delete(values, chosen).max(initial=listing.next_value)
        near = self._told([listing.supports[i] for i in chosen], listing, kept, level, note)
        if near.note:
            return self._with_best(near, outcome.best, most)
        if not self.settings.proof:
            return near
        assert rung.argument is not None
        floor = max(rung.argument.level, others + self._form.rounding)
        best = max(best, float(near.values.max(initial=best)))
        lowest = min(level, best - tolerance * abs(best), *near.values.tolist())
        if not floor < lowest:
            return replace(near, note=DOUBT)
        proved = 0.5 * (floor + lowest)
        rungs = (*_filled(outcome.rungs, self.size - 1), replace(rung, upper=proved))
        return replace(near, proved=proved, rungs=rungs)

    def _told(
        self,
        supports: Sequence[IntArray],
        listing: Listing,
        kept: IntArray,
        level: float,
        note: str,
    ) -> Near:
        """The best vectors of supports that were listed, with what they have; the largest first."""
        bests = [best_on_support(listing.problem, support) for support in supports]
        if not note and None in bests:
            note = DOUBT
        pairs = [(T, x) for T, x in zip(supports, bests, strict=True) if x is not None]
        found = self._form.whole([x for _, x in pairs], kept)
        found = [best.embedded(self._places, self.n) for best in found]
        order = sorted(range(len(found)), key=lambda i: -found[i].value)
        return Near(
            [self._places[kept[pairs[i][0]]] for i in order],
            np.array([found[i].value for i in order]),
            level,
            note,
            tuple(found[i] for i in order),
        )

    def _with_best(self, near: Near, best: Candidate, most: int) -> Near:
        """A list that was cut short begins with the best support all the same."""
        used = np.flatnonzero(best.vector)
        if any(np.isin(used, support).all() for support in near.supports):
            return near
        # Where fewer features would do, any others fill it up.
        others = np.setdiff1d(np.arange(self.n), np.union1d(used, self._spent))
        first = np.sort(np.append(used, others[: self.size - len(used)]))
        values = np.append(best.value, near.values)[:most]
        return replace(near, supports=[first, *near.supports][:most], values=values)

    def _list(
        self, level: float, outcome: Outcome, most: int
    ) -> tuple[Listing, IntArray, Rung, str]:
        """List them; of which features they are places, why no other one, or why there may be."""
        form, stop = self._form, self.watch.out_of_time
        best = outcome.best
        assert best is not None
        rungs = with_arguments(outcome.rungs) if self.settings.proof else list(outcome.rungs)
        below = rungs[self.size - 2].upper if 1 < self.size <= len(rungs) + 1 else math.inf
        lowered = level - self._margin
        kept = np.arange(form.n_features)
        outside = -math.inf
        if below < lowered or isinstance(form, DataView):
            sieve = form.sieve(self.size, lowered, below, stop)
            kept, outside = sieve.kept, sieve.outside
        if math.isinf(outside) and stop():
            # Nothing is known of any feature: there was no time to look.
            kept = np.union1d(kept, np.flatnonzero(best.vector))
        problem, kept = form.restricted(kept, self.size)
        banned = np.flatnonzero(np.isin(kept, self._banned))
        lowest = level - 0.5 * self._margin
        listing = Listing(problem, lowered, lowest, most, self.settings.tuning.walk, banned)
        complete = listing.run(stop)
        places = self._places[kept]
        steps = listing.steps.tree().embedded(places)
        argument = Argument(Ground.SIEVE, with_rounding(lowered, form), places, steps)
        note = ""
        if listing.full:
            note = f"and there are more: max_supports is {most}"
        elif not complete:
            how = "interrupted" if self.watch.interrupted else "stopped by the time limit"
            note = f"and the search for others was {how}"
        elif outside > level:
            note = "and more features could matter than a matrix is formed for"
        return listing, kept, Rung(self.size, None, level, len(kept), argument), note


def _filled(rungs: Sequence[Rung], count: int) -> list[Rung]:
    """The rungs before the last one; those that have no argument claim nothing."""
    known = with_arguments(rungs)[:count]
    sizes = range(len(known) + 1, count + 1)
    return [*known, *(Rung(s, None, math.inf, argument=Argument(Ground.SUMS)) for s in sizes)]
