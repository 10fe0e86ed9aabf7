"""The stages of a problem given by data: each is a ladder on what the data say of it.

What is learnt about the rows of the covariance serves all stages.  If too many features are left,
the most promising are searched and the rest keeps its bound, so that the certificate stays true and
the gap open.  See ``docs/theory/wide-data.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import BoolArray
from orthospca.data.covariance import DataCovariance
from orthospca.model.limits import Watch
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.numerics.rounding import mul_up
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import Outcome, Request
from orthospca.search.stage import StageSearch
from orthospca.search.state import StageState
from orthospca.search.views import Sieve
from orthospca.supports.best import Candidate, better_of, upper_on_support
from orthospca.wide.nonnegative import NonnegativeView
from orthospca.wide.part import FormedPart
from orthospca.wide.view import DataView


@dataclass(eq=False)
class WideProblem:
    """A covariance given by data; what is learnt about its rows serves all stages.

    Attributes
    ----------
    covariance : DataCovariance
    sparsity : int
        The largest of all stages.
    settings : Settings
    """

    covariance: DataCovariance
    sparsity: int
    settings: Settings

    def __post_init__(self) -> None:
        tuning = self.settings.tuning.wide
        listed = self.sparsity - 1 + tuning.spare_entries
        self.part = FormedPart(self.covariance, self.settings.memory, listed, tuning)

    def rounding(self, sparsity: int) -> float:
        """Bound on what the rounding of its entries takes from the value of a support."""
        largest = float(self.covariance.diagonal.max())
        return mul_up(mul_up(sparsity, self.covariance.relative_radius), largest)

    def solve_stage(
        self,
        request: Request,
        settings: Settings,
        watch: Watch,
        members: BoolArray | None = None,
    ) -> Outcome:
        """Solve one stage.

        Parameters
        ----------
        request : Request
        settings : Settings
        watch : Watch
        members : boolean array, optional
            The features that a component may use; all of them, if not given.
        """
        demand, view = request.demand, self.view(request, members, watch)
        if not view.members.any():
            return Outcome(None, -math.inf, Status.EXHAUSTED, 0)
        request = replace(request, sparsity=view.sparsity)
        if not (self.covariance.diagonal.any() or settings.proof):
            # All columns are zero, exactly: whatever is feasible is best.  A checker of a proof
            # adds variances up anew, and rounds.
            best = view.find(watch.out_of_time)[request.sparsity]
            if best is not None:
                return Outcome(best, 0.0, Status.OPTIMAL, 0)
        if demand.start is not None:
            settings = replace(settings, start=(demand.start,))
        offered = None if demand.start is None else view.started(demand.start)
        hint = better_of(request.best_hint, offered)
        tolerance = settings.tolerance.at_resolution(4 * view.rounding)
        known = StageState(view, tolerance, watch, hint, request.cap)
        try:
            asked = request.sparsity, known, settings, request.caps, request.resumption
            outcome = StageSearch(view, *asked).run()
        except KeyboardInterrupt:
            outcome = known.interrupted()
        if outcome is None:
            if _is_exhausted(view, request.sparsity, settings, watch):
                return Outcome(None, -math.inf, Status.EXHAUSTED, 0)
            # Some features were left out: nothing is proved to be exhausted.
            verdict = watch.verdict() or Status.FEATURE_LIMIT
            return Outcome(None, known.upper, verdict, 0)
        return self._told(outcome)

    def _told(self, outcome: Outcome) -> Outcome:
        """The outcome with the variance that its component has in the data."""
        if outcome.best is None:
            return outcome
        x = outcome.best.vector
        value = max(outcome.best.value, *self.covariance.variances([x]))
        return replace(outcome, best=Candidate(value, x), upper=max(outcome.upper, value))

    def view(
        self, request: Request, members: BoolArray | None = None, watch: Watch | None = None
    ) -> DataView:
        """Return what the ladder asks of a stage.

        Parameters
        ----------
        request : Request
        members : boolean array, optional
            As of :meth:`solve_stage`.
        watch : Watch, optional
            Is told how far covariances are formed.
        """
        if watch is not None:
            self.part.tell = lambda done: setattr(watch.journal, "forming", done)
            self.part.stop = watch.is_over
        n, demand = self.covariance.n_features, request.demand
        members = np.ones(n, dtype=bool) if members is None else members.copy()
        members[demand.excluded] = False
        size = min(request.sparsity, int(np.count_nonzero(members)))
        way = self.part, members, self.settings.tuning, self.settings.proof, demand.included
        kind = NonnegativeView if demand.nonnegative else DataView
        return kind(self.covariance, size, request.previous, *way)

    def reduce_stage(self, request: Request, cutoff: float, stop: Callable[[], bool]) -> Sieve:
        """Drop the features that no support above the cutoff can contain; nothing is searched.

        Parameters
        ----------
        request : Request
        cutoff : float
        stop : callable
        """
        return self.view(request).sieve(request.sparsity, cutoff, math.inf, stop)


def _is_exhausted(view: DataView, size: int, settings: Settings, watch: Watch) -> bool:
    """Whether it is proved, with little effort, that no vector is feasible; data do not matter."""
    if len(view.included) == size:
        problem, kept = view.restricted(view.included, size)
        return upper_on_support(problem, np.searchsorted(kept, view.included)) == -math.inf
    features = np.flatnonzero(view.members)
    if view.previous.shape[1] < size or len(features) > settings.tuning.wide.few:
        return False
    problem, _ = view.restricted(features, size)
    return solve_stage(problem, settings, watch).status is Status.EXHAUSTED


@dataclass(eq=False)
class WideStages:
    """The stages of a covariance that is never formed in full."""

    problem: WideProblem
    settings: Settings
    watch: Watch
    why: str = ""
    nested = True

    def __post_init__(self) -> None:
        self.n_features = self.problem.covariance.n_features

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""
        return self.problem.solve_stage(request, self.settings, self.watch)

    @property
    def note(self) -> str:
        """How far the features could be reduced."""
        left = self.problem.part.largest_used
        found = f"{self.n_features} features reduced to {left}" if left < self.n_features else ""
        return ", and ".join(filter(None, (self.why, found)))
