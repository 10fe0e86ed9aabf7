"""The search for alternatives: the best component first, then all that comes near it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.data.covariance import DataCovariance
from orthospca.data.problem import Problem
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.search.listing import Listed, margin_of, supports_above
from orthospca.search.outcome import Argument, Ground, Request, Rung, with_arguments
from orthospca.search.sequence import Stages
from orthospca.search.stages import MatrixStages
from orthospca.search.views import MatrixView, StageView
from orthospca.supports.best import Candidate, best_on_support
from orthospca.wide.stage import WideProblem, WideStages

#: What is said where numbers are so close that rounding decides.
DOUBT = "but rounding leaves some supports in doubt"


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
    problem : Problem
    previous : array of shape (n, k)
        Components that the vectors must be orthogonal to, as columns.
    settings : Settings
        With ``proof`` the argument can be written down.
    watch : Watch
    """

    def __init__(self, problem: Problem, previous: Array, settings: Settings, watch: Watch) -> None:
        Q, self.n = problem.covariance, problem.n_features
        self.settings, self.watch = settings, watch
        demand = problem.demands.asked(0)
        self.request = Request(problem.sparsity[0], previous, demand=demand)
        left = previous.copy()
        left[demand.excluded] = 0.0
        alone = np.count_nonzero(left, axis=0) == 1
        spent = np.flatnonzero((left[:, alone] != 0).any(axis=1))
        self._spent = np.setdiff1d(np.union1d(spent, demand.excluded), demand.included)
        self.size = min(problem.sparsity[0], self.n - len(self._spent))
        # The features of the view, and those of them that are used up.
        self._places, self._banned = np.arange(self.n), self._spent
        self._view: StageView
        self._stages: Stages
        if isinstance(Q, DataCovariance):
            # As for a proof: rung after rung, and features are ruled out by the border rule alone.
            # A search by traces closes what is below the best vector, and so lists nothing.
            settings = replace(settings, proof=True)
            data = WideProblem(Q, self.size, settings)
            self._stages = WideStages(data, settings, watch)
            members = ~np.isin(self._places, demand.excluded)
            self._view = data.view(Request(self.size, previous, demand=demand), members)
        else:
            self._stages = MatrixStages(Q, settings, watch)
            part, self._places = self.request.stage_of(Q).without_spent_features()
            self._banned = self._spent[:0]
            self._view = MatrixView(part)

    def run(self, tolerance: float, most: int) -> Near:
        """Find the best component, and list what is within the tolerance, up to a number."""
        self.watch.begin_stage(self.request.previous.shape[1], 1)
        outcome = self._stages.solve(self.request)
        if outcome.best is None:
            note = "" if outcome.upper == -math.inf else "no vector was found"
            return Near([], np.zeros(0), math.inf, note)
        best = outcome.best.value
        level = best - tolerance * abs(best)
        rungs = with_arguments(outcome.rungs) if self.settings.proof else outcome.rungs
        tuning, stop = self.settings.tuning.walk, self.watch.out_of_time
        view = self._view
        listed = supports_above(view, self.size, level, rungs, most, tuning, stop, self._banned)
        values = listed.values
        if values.max(initial=best) > best:
            # The best component was sought to a tolerance only.
            level = float(values.max() - tolerance * abs(values.max()))
        reached = values >= level - 0.5 * margin_of(view)
        near = self._told(listed, np.flatnonzero(reached), level, self._doubt(listed, most))
        if near.note:
            return self._with_best(near, outcome.best, most)
        if not self.settings.proof:
            return near
        others = values[~reached].max(initial=listed.next_value)
        floor = max(listed.argument.level, others + view.rounding)
        best = max(best, float(near.values.max(initial=best)))
        lowest = min(level, best - tolerance * abs(best), *near.values.tolist())
        if not floor < lowest:
            return replace(near, note=DOUBT)
        proved = 0.5 * (floor + lowest)
        argument = listed.argument.embedded(self._places)
        last = Rung(self.size, None, proved, len(listed.features), argument)
        rungs = _filled(outcome.rungs, max(len(self._view.included), 1), self.size)
        return replace(near, proved=proved, rungs=(*rungs, last))

    def _doubt(self, listed: Listed, most: int) -> str:
        """Why there may be others; empty if there are none."""
        if listed.full:
            return f"but there are more: max_supports is {most}"
        if listed.complete:
            return ""
        if self.watch.out_of_time():
            how = "interrupted" if self.watch.interrupted else "stopped by the time limit"
            return f"but there may be more: the search was {how}"
        return "but there may be more: too many features are left to form their matrix"

    def _told(self, listed: Listed, chosen: IntArray, level: float, note: str) -> Near:
        """Some of the supports listed, with the best vectors on them; the largest first."""
        supports = [listed.supports[i] for i in chosen]
        bests = [best_on_support(listed.problem, support) for support in supports]
        if not note and None in bests:
            note = DOUBT
        pairs = [(T, x) for T, x in zip(supports, bests, strict=True) if x is not None]
        found = self._view.whole([x for _, x in pairs], listed.features)
        found = [best.embedded(self._places, self.n) for best in found]
        order = sorted(range(len(found)), key=lambda i: -found[i].value)
        supports = [self._places[listed.features[pairs[i][0]]] for i in order]
        ordered = tuple(found[i] for i in order)
        return Near(supports, np.array([x.value for x in ordered]), level, note, ordered)

    def _with_best(self, near: Near, best: Candidate, most: int) -> Near:
        """A list that was cut short begins with the best support all the same."""
        used = np.union1d(np.flatnonzero(best.vector), self.request.demand.included)
        if any(np.isin(used, support).all() for support in near.supports):
            return near
        # Where fewer features would do, any others fill it up.
        others = np.setdiff1d(np.arange(self.n), np.union1d(used, self._spent))
        first = np.sort(np.append(used, others[: self.size - len(used)]))
        values = np.append(best.value, near.values)[:most]
        return replace(near, supports=[first, *near.supports][:most], values=values)


def _filled(rungs: Sequence[Rung], first: int, last: int) -> list[Rung]:
    """The rungs from the first to before the last; without an argument they claim nothing."""
    known = [rung for rung in with_arguments(rungs) if rung.size < last]
    sizes = range(first + len(known), last)
    return [*known, *(Rung(s, None, math.inf, argument=Argument(Ground.SUMS)) for s in sizes)]
