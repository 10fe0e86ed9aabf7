"""Which method solves a stage that is given by its matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

from orthospca._methods import Method
from orthospca.model.limits import Watch
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.search.closing import begin, branch, close_classically
from orthospca.search.outcome import NOTHING_TO_RESUME, Outcome, Resumption
from orthospca.search.stage import StageSearch
from orthospca.search.state import Observer, StageState
from orthospca.search.views import MatrixView
from orthospca.supports.best import Candidate
from orthospca.supports.enumeration import LARGEST_ENUMERATION
from orthospca.supports.heuristic_path import find_incumbent


def solve_stage(
    problem: Subproblem,
    settings: Settings,
    watch: Watch,
    incumbent: Candidate | None = None,
    cap: float = math.inf,
    caps: Sequence[float] = (),
    resumption: Resumption = NOTHING_TO_RESUME,
    observer: Observer | None = None,
) -> Outcome:
    """Solve one stage by the method asked for.

    Parameters
    ----------
    problem : Subproblem
    settings : Settings
    watch : Watch
    incumbent : Candidate, optional
        A feasible vector that is known already.
    cap : float
        A proved bound on the stage that is known already.
    caps : sequence of float
        Proved bounds for sparsities 1, 2, … that are known already.
    resumption : Resumption
        Rungs that were proved before, and who is told of new ones.
    observer : callable, optional
        Told of every node that is closed, in terms of the features that are not spent.
    """
    part, kept = problem.without_spent_features()
    if len(kept) == 0:
        return Outcome(None, -math.inf, Status.EXHAUSTED, 0)
    some = len(kept) < problem.n_features
    if some and incumbent is not None:
        incumbent = incumbent.within(kept)
    if some:
        resumption = resumption.within(kept, problem.n_features)
    tolerance = settings.tolerance.at_resolution(part.resolution)
    state = StageState(part, tolerance, watch, incumbent, cap, observer)
    try:
        if settings.method is Method.ENUMERATION:
            outcome = _by_enumeration(state, settings)
        elif settings.method is Method.EIGENVALUE:
            outcome = _by_classical_bounds(state, settings)
        else:
            outcome = _by_everything(state, settings, caps, resumption)
    except KeyboardInterrupt:
        outcome = state.interrupted()
    return outcome.embedded(kept, problem.n_features) if some else outcome


def _by_enumeration(state: StageState[Subproblem], settings: Settings) -> Outcome:
    """Algorithm 1: test every support, to the last digit."""
    asked = state.tolerance
    state.tolerance = Tolerance(0.0, 0.0, asked.resolution)
    begin(state, find_incumbent(state.problem))
    stopped = branch(state, None, LARGEST_ENUMERATION, settings)
    state.tolerance = asked
    return state.outcome(stopped)


def _by_classical_bounds(state: StageState[Subproblem], settings: Settings) -> Outcome:
    """Algorithm 4 with the bounds of the paper."""
    begin(state, find_incumbent(state.problem))
    return state.outcome(close_classically(state, settings))


def _by_everything(
    state: StageState[Subproblem],
    settings: Settings,
    caps: Sequence[float],
    resumption: Resumption,
) -> Outcome:
    """Algorithm 4 with everything there is."""
    problem = state.problem
    view = MatrixView(problem)
    found = StageSearch(view, problem.sparsity, state, settings, caps, resumption).run()
    if found is not None:
        return found
    # No feasible vector was found: there is nothing to prune by.
    below = settings.tuning.tree.enumerate_without_incumbent
    outcome = state.outcome(close_classically(state, settings, below))
    if not settings.proof or outcome.best is None:
        return outcome
    # Now there is one: the argument can be written down.
    again = StageState(problem, state.tolerance, state.watch, outcome.best)
    search = StageSearch(view, problem.sparsity, again, settings, caps, resumption)
    return search.run() or outcome
