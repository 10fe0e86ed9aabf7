"""The ways to close a stage, or what is left of one: each adds to what is known of it."""

from __future__ import annotations

import math

import numpy as np

from orthospca.bounds.classical import ClassicalBound, gershgorin_bound
from orthospca.bounds.conditioning.steps import Tree
from orthospca.bounds.conditioning.walk import Conditioning
from orthospca.bounds.share.node import LARGEST_RELAXED, ShareBound, relaxation_cost
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.nodes import Bound, Closed, Node
from orthospca.model.result import ClosedBy, Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.numerics.rounding import UNIT, add_up
from orthospca.search.outline import Outline
from orthospca.search.state import StageState
from orthospca.search.tree import TreeSearch
from orthospca.supports.best import Candidate

#: What a checker may lose to rounding, in roundings of a factorisation, and the share of the
#: tolerance that is left to it.
CHECKING, LEFT_TO_IT = 2, 0.01

#: A rung is relaxed if so many nodes of it cost no more than the whole stage.
FEWEST_NODES = 4

#: Share of the time that is left after which a walk makes room for the relaxation.
SHARE_OF_WALK = 0.5


def everything(problem: Subproblem) -> Node:
    """Return the node of all supports."""
    return Node(problem.included, np.arange(problem.n_features))


def walk(
    state: StageState[Subproblem],
    settings: Settings,
    budget: float,
    by: ClosedBy = ClosedBy.WALK,
    share: float = 1.0,
) -> bool:
    """Search all supports at the cutoff by conditioning; whether that closed the stage.

    Parameters
    ----------
    state : StageState
    settings : Settings
    budget : float
        In steps on a hundred features.
    by : ClosedBy
        What to call it.
    share : float
        Of the time that is left to the stage, after which it is given up.
    """
    watch, whole, best = state.watch, everything(state.problem), state.best
    assert best is not None
    state.nodes += 1
    # What is not closed yet counts with its bound, here as everywhere.
    state.open.working, state.trying = [whole], by
    way = settings.tuning.walk, state.tally, lambda: watch.seconds_left, settings.n_jobs
    conditioning = Conditioning(state.problem, *way)
    spared = (1.0 - share) * watch.seconds_left if share < 1.0 else 0.0

    def stop() -> bool:
        return watch.out_of_time() or (share < 1.0 and watch.seconds_left < spared)

    dive = conditioning.dive(whole, best, state.tolerance, budget, stop)
    state.tally.work += dive.work
    state.improve(dive.best)
    if dive.complete:
        state.close(Closed(whole.included, whole.allowed, dive.upper))
        state.tree = dive.level, dive.steps
        state.open.working = []
    if not watch.interrupted:
        state.tell(0 if dive.complete else 1)
    return dive.complete


def close_rung(state: StageState[Subproblem], settings: Settings, features: int) -> bool:
    """Close a rung on which later ones rest, within a budget; whether that succeeded.

    Parameters
    ----------
    state : StageState
    settings : Settings
    features : int
        Of the whole stage.  With many of them it takes long to do without a rung, and what it may
        cost is a share of that.
    """
    tuning = settings.tuning
    lost = relaxation_cost(min(features, LARGEST_RELAXED), tuning.share)
    few = relaxation_cost(tuning.walk.rung_features, tuning.share)
    own = relaxation_cost(state.problem.n_features, tuning.share)
    if walk(
        state, settings, min(tuning.walk.rung_budget * max(lost / few, 1.0), own), ClosedBy.RUNG
    ):
        return True
    # Even where the relaxation does not close the rung, later ones can rest on what it proves.  But
    # it must cost little beside that of the whole stage.
    nodes = min(int(lost / own), tuning.share.rung_nodes)
    if nodes < FEWEST_NODES or state.watch.out_of_time():
        return False
    watch = QuietWatch(state.watch)
    watch.node_limit = state.nodes + nodes
    state.watch = watch
    return relax(state, settings) is None


def close_thoroughly(
    state: StageState[Subproblem], settings: Settings, promising: bool = True
) -> Status | None:
    """Close what is left by all means: conditioning, then branch and bound with the relaxation.

    Parameters
    ----------
    state : StageState
    settings : Settings
    promising : bool
        Whether conditioning promises anything: where rungs have resisted it does not.

    Returns
    -------
    Status or None
        What stopped it; None if nothing is open any more.
    """
    # A walk may cost what the relaxation is expected to: whichever is the better way, no more than
    # twice its cost is paid.
    budget = relaxation_cost(state.problem.n_features, settings.tuning.share)
    if promising and walk(state, settings, budget, ClosedBy.RUNG, SHARE_OF_WALK):
        return None
    return relax(state, settings)


def relax(state: StageState[Subproblem], settings: Settings) -> Status | None:
    """Branch and bound with the relaxation; what stopped it."""
    tuning, best, problem = settings.tuning, state.best, state.problem
    assert best is not None
    bound = ShareBound(problem, best.value, tuning.share)
    if not settings.proof:
        return branch(state, bound, tuning.tree.enumerate_below_strong, settings)
    asked, outline = state.tolerance, Outline(problem.sparsity)
    state.tolerance = asked.tightened(1 - LEFT_TO_IT)
    try:
        return branch(state, bound, tuning.tree.enumerate_below_proved, settings, outline)
    finally:
        # Whatever stopped it, what is proved so far is a proof of a bound.
        found = _written(state, outline)
        if found is not None and (state.tree is None or found[0] < state.tree[0]):
            state.tree = found
        state.tolerance = asked


def _written(state: StageState[Subproblem], outline: Outline) -> tuple[float, Tree] | None:
    """The lowest level at which all that was found out is a proof, and that proof."""
    level = max(state.cutoff, state.open.upper)
    tree = outline.tree(level) if math.isfinite(level) else None
    if tree is None:
        return None
    # A checker rounds in its own way.
    n, size = state.problem.n_features, max(abs(level), state.problem.scale)
    return add_up(level, CHECKING * n * (n + 8) * UNIT * size), tree


def close_classically(
    state: StageState[Subproblem], settings: Settings, enumerate_below: int | None = None
) -> Status | None:
    """Branch and bound with the eigenvalue, Gershgorin, Frobenius and trace bounds."""
    below = enumerate_below or settings.tuning.tree.enumerate_below
    return branch(state, ClassicalBound(state.problem), below, settings)


def branch(
    state: StageState[Subproblem],
    bound: Bound | None,
    enumerate_below: int,
    settings: Settings,
    outline: Outline | None = None,
) -> Status | None:
    """Explore the tree of all supports; what stopped it."""
    asked = enumerate_below, settings.n_jobs, settings.tuning.tree
    return TreeSearch(state, bound, *asked, outline).explore([everything(state.problem)])


def bound_without_branching(
    problem: Subproblem,
    best: Candidate,
    cutoff: float,
    upper: float,
    settings: Settings,
    watch: Watch,
) -> float:
    """Return a proved bound on a stage, at most ``upper``: a conditioned walk, one relaxation.

    Parameters
    ----------
    problem : Subproblem
    best : Candidate
        A feasible vector; whether there is a better one is of no interest.
    cutoff : float
        A bound up to this one is as good as any.
    upper : float
        A bound known already.
    settings : Settings
    watch : Watch
    """
    tolerance = Tolerance(max(cutoff - best.value, 0.0), 0.0, problem.resolution)
    state = StageState(problem, tolerance, watch, best, upper)
    budget = relaxation_cost(problem.n_features, settings.tuning.share)
    closed = walk(state, settings, budget) or state.upper <= cutoff
    if closed or watch.out_of_time() or problem.n_features > LARGEST_RELAXED:
        return state.upper
    bound = ShareBound(problem, best.value, settings.tuning.share)
    relaxed = bound(everything(problem), cutoff, watch)
    return min(state.upper, max(relaxed.upper, relaxed.fixed_upper))


def begin(state: StageState[Subproblem], best: Candidate | None) -> None:
    """A bound that costs next to nothing, and an incumbent."""
    problem = state.problem
    state.tighten(gershgorin_bound(problem.covariance, problem.sparsity), ClosedBy.ROWS)
    state.improve(best)
    state.tell(1)
