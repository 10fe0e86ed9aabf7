"""One stage solved by each method: an incumbent, a first bound, then the search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from orthospca._methods import Method
from orthospca.bounds.classical import ClassicalBound, gershgorin_bound
from orthospca.bounds.conditioning.steps import Tree
from orthospca.bounds.conditioning.walk import Conditioning
from orthospca.bounds.share.node import ShareBound, relaxation_cost
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.nodes import Bound, ClosedBy, Node, NodeBound
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import DescentTuning
from orthospca.numerics.rounding import UNIT, add_up
from orthospca.search.descent import descend
from orthospca.search.ladder import Ladder, searched
from orthospca.search.outcome import NOTHING_TO_RESUME, Argument, Ground, Outcome, Resumption, Rung
from orthospca.search.outline import Outline
from orthospca.search.state import StageState
from orthospca.search.tree import TreeSearch
from orthospca.search.views import LARGEST_RELAXED, MatrixView, StageView, with_rounding
from orthospca.supports.best import Candidate
from orthospca.supports.enumeration import LARGEST_ENUMERATION
from orthospca.supports.heuristics import find_incumbent

#: What a checker may lose to rounding, in roundings of a factorisation, and the share of the
#: tolerance that is left to it.
CHECKING, LEFT_TO_IT = 2, 0.01


def solve_stage(
    problem: Subproblem,
    settings: Settings,
    watch: Watch,
    incumbent: Candidate | None = None,
    cap: float = math.inf,
    caps: Sequence[float] = (),
    resumption: Resumption = NOTHING_TO_RESUME,
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
    """
    part, kept = problem.without_spent_features()
    if len(kept) == 0:
        return Outcome(None, -math.inf, Status.EXHAUSTED, 0)
    if len(kept) < problem.n_features and incumbent is not None:
        incumbent = incumbent.within(kept)
    if len(kept) < problem.n_features:
        resumption = resumption.within(kept, problem.n_features)
    tolerance = settings.tolerance.at_resolution(part.resolution)
    known = StageState(part, tolerance, watch, incumbent, cap)
    try:
        if settings.method is Method.BRANCH_AND_BOUND:
            outcome = _by_ladder(known, settings, caps, resumption)
        else:
            outcome = _SOLVERS[settings.method](known, settings)
    except KeyboardInterrupt:
        outcome = known.interrupted()
    if len(kept) < problem.n_features and outcome.best is not None:
        rungs = tuple(rung.embedded(kept, problem.n_features) for rung in outcome.rungs)
        best = outcome.best.embedded(kept, problem.n_features)
        outcome = replace(outcome, best=best, closed=(), rungs=rungs)
    return outcome


def bound_without_branching(
    problem: Subproblem,
    best: Candidate,
    cutoff: float,
    upper: float,
    settings: Settings,
    watch: Watch,
) -> float:
    """Return a proved bound on a stage, at most ``upper``: a conditioned descent, one relaxation.

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
    known = StageState(problem, tolerance, watch, best, upper)
    descend(known, _conditioning(known, settings), settings.tuning.descent)
    if known.upper <= cutoff or watch.out_of_time() or problem.n_features > LARGEST_RELAXED:
        return known.upper
    everything = _everything(problem)
    relaxed = ShareBound(problem, best.value, settings.tuning.share)(everything, cutoff, watch)
    return min(known.upper, max(relaxed.upper, relaxed.fixed_upper))


def _by_enumeration(known: StageState[Subproblem], settings: Settings) -> Outcome:
    """Algorithm 1: test every support, to the last digit."""
    asked = known.tolerance
    known.tolerance = Tolerance(0.0, 0.0, asked.resolution)
    _begin(known, settings)
    search = TreeSearch(
        known, _NoBound(), enumerate_below=LARGEST_ENUMERATION, n_jobs=settings.n_jobs
    )
    outcome = search.run([_everything(known.problem)])
    known.tolerance = asked
    return outcome if outcome.best is None else known.outcome(_unless_closed(outcome.status))


def _unless_closed(status: Status) -> Status | None:
    """A verdict that was about the gap is reached anew with the tolerance asked for."""
    return None if status in (Status.OPTIMAL, Status.PRECISION) else status


def _by_classical_bounds(known: StageState[Subproblem], settings: Settings) -> Outcome:
    """Algorithm 4 with the eigenvalue, Gershgorin, Frobenius and trace bounds."""
    _begin(known, settings)
    return _search_classically(known, settings, settings.tuning.tree.enumerate_below)


def _search_classically(
    known: StageState[Subproblem], settings: Settings, enumerate_below: int
) -> Outcome:
    bound = ClassicalBound(known.problem)
    return _tree(known, bound, enumerate_below, settings).run([_everything(known.problem)])


def _by_ladder(
    known: StageState[Subproblem], settings: Settings, caps: Sequence[float], resumption: Resumption
) -> Outcome:
    """Rung after rung, then everything there is on what the last rung leaves."""
    problem = known.problem
    if settings.start and known.best is not None and not settings.proof:
        # Where a good vector is known, closing the stage is all that is left.
        tuning = replace(settings.tuning.rung, levels=())
        closed = descend(known, _conditioning(known, settings), tuning)
        if closed:
            return known.outcome()
    view = MatrixView(problem)
    found = climb_stage(view, problem.sparsity, known, settings, caps, resumption)
    if found is not None:
        return found
    # No feasible vector was found: there is nothing to prune by.
    below = settings.tuning.tree.enumerate_without_incumbent
    outcome = _search_classically(known, settings, below)
    if not settings.proof or outcome.best is None:
        return outcome
    # Now there is one: the ladder can be climbed, and its argument written down.
    again = StageState(problem, known.tolerance, known.watch, outcome.best)
    return climb_stage(view, problem.sparsity, again, settings, caps, resumption) or outcome


def climb_stage(
    view: StageView,
    size: int,
    known: StageState[Any],
    settings: Settings,
    caps: Sequence[float] = (),
    resumption: Resumption = NOTHING_TO_RESUME,
) -> Outcome | None:
    """Climb the ladder of a stage, and close what its last rung leaves.

    With the bounds of the paper alone there is one rung, the last.

    Parameters
    ----------
    view : StageView
    size : int
        The sparsity of the stage.
    known : StageState
        What is known of the stage: tolerance, watch, incumbent and bound.
    settings : Settings
    caps : sequence of float
        Proved bounds for sparsities 1, 2, … that are known already.
    resumption : Resumption
        Rungs that were proved before, and who is told of new ones.

    Returns
    -------
    Outcome or None
        None if no feasible vector was found.
    """
    watch, tolerance = known.watch, known.tolerance
    # Rungs that other means can do without are left where they resist.
    close = close_quickly if view.relaxes else close_rung
    ladder = Ladder(view, size, tolerance, settings, QuietWatch(watch), close, caps, resumption)
    known.tighten(view.cheap_bound(size), Argument(Ground.SUMS))
    ladder.find()
    if known.best is not None:
        ladder.offer(known.best, int(np.count_nonzero(known.best.vector)))
    known.improve(ladder.best[size])
    known.tell(1)
    if known.best is None:
        return None
    if settings.method is Method.BRANCH_AND_BOUND and size > 1:
        level = known.cutoff - 2 * view.rounding
        traced = view.bound_before_rungs(known.best, size, level, watch.out_of_time)
        known.tighten(traced)
        if traced <= known.cutoff:
            return known.outcome()
    if settings.method is Method.BRANCH_AND_BOUND or size == 1:
        patience = math.inf
        if view.relaxes:
            # Rungs may cost what the relaxation of the whole stage is expected to.
            patience = relaxation_cost(view.n_features, settings.tuning.share)
        ladder.climb(patience, lambda: _tell_outlook(ladder, known, settings))
        known.improve(ladder.best[size])
    if size == 1:
        known.settle(ladder.below, ClosedBy.CLIMBED)
        return replace(known.outcome(), rungs=tuple(ladder.rungs))
    known.tighten(*ladder.without_level(size, ladder.below))
    known.tell(1)
    verdict = _last_rung(view, size, ladder, known, settings)
    outcome = known.outcome(verdict)
    if not ladder.rungs:
        return outcome
    last = Rung(size, outcome.best, outcome.upper, argument=known.argument)
    return replace(outcome, rungs=(*ladder.rungs, last))


def _tell_outlook(ladder: Ladder, known: StageState[Any], settings: Settings) -> None:
    """Say what the rungs so far prove of the stage: the next ones will only prove more."""
    upper = ladder.outlook()
    if upper >= known.upper:
        return
    if not settings.proof:
        # A certificate has no place for this argument, and does without it when the ladder ends.
        known.tighten(upper)
    known.watch.report(known.nodes, 1, known.lower, upper)


def _last_rung(
    view: StageView, size: int, ladder: Ladder, known: StageState[Any], settings: Settings
) -> Status | None:
    """Close what is left at the cutoff; why it stopped, if it did."""
    verdict: Status | None = None
    for _ in range(settings.tuning.descent.passes):
        if known.watch.out_of_time():
            return known.watch.verdict(known.nodes)
        best = known.best
        assert best is not None
        cutoff = known.cutoff
        level = cutoff - 2 * view.rounding
        problem, kept, outside = ladder.part(size, level, best)
        ruled_out = outside <= level
        outside = with_rounding(outside, view)
        if problem is None:
            known.tighten(outside, Argument(Ground.SIEVE, level, kept))
            known.settle(outside, ClosedBy.CLIMBED)
            return None
        if known.watch.out_of_time():
            return known.watch.verdict(known.nodes)
        local = ladder.state(problem, kept, best, known.tolerance, known.upper)
        local.watch, local.nodes = known.watch, known.nodes
        try:
            with known.watch.of_a_part(outside, view.rounding):
                if settings.method is Method.EIGENVALUE:
                    verdict = close_classically(local, settings)
                else:
                    verdict = close_thoroughly(local, settings, walk=not ladder.given_up)
        finally:
            # An interrupt leaves what was found and proved so far.
            upper, argument = searched(local, kept, level, view, settings.proof)
            upper = max(upper, outside)
            known.tighten(upper, argument if ruled_out else None)
            known.nodes = local.nodes
            improved = local.lower > best.value
            if improved and local.best is not None:
                known.improve(*view.whole([local.best], kept))
                ladder.offer(known.best, size)
        if verdict is None:
            known.settle(upper, ClosedBy.CLIMBED)
        too_many = outside > known.cutoff
        again = improved and (verdict is not None or too_many)
        if not again or known.watch.out_of_time():
            break
    if verdict is None and too_many:
        return known.watch.verdict() or Status.FEATURE_LIMIT
    return verdict


def _conditioning(known: StageState[Subproblem], settings: Settings) -> Conditioning:
    watch = known.watch
    return Conditioning(
        known.problem,
        settings.tuning.walk,
        known.tally,
        lambda: watch.seconds_left,
        settings.n_jobs,
    )


def close_quickly(known: StageState[Subproblem], settings: Settings) -> None:
    """Close a rung by conditioning, or bound it by coarser levels, within a small budget."""
    descend(known, _conditioning(known, settings), settings.tuning.rung)


def close_rung(known: StageState[Subproblem], settings: Settings) -> None:
    """Close a rung on which all later ones rest: by conditioning, then by a few relaxations."""
    tuning = settings.tuning
    if descend(known, _conditioning(known, settings), replace(tuning.rung, levels=())):
        return
    if known.problem.n_features > LARGEST_RELAXED or known.watch.out_of_time():
        return
    few = QuietWatch(known.watch)
    few.node_limit = known.nodes + tuning.share.rung_nodes
    known.watch = few
    _relax(known, settings)


def close_thoroughly(
    known: StageState[Subproblem], settings: Settings, walk: bool = True
) -> Status | None:
    """Close a stage by all means: conditioning, then branch and bound with the relaxation.

    Parameters
    ----------
    known : StageState
    settings : Settings
    walk : bool
        Whether conditioning promises anything: where rungs have resisted it does not.

    Returns
    -------
    Status or None
        What stopped it; None if nothing is open any more.
    """
    problem, tuning = known.problem, settings.tuning
    # A walk may cost what the relaxation is expected to: whichever is the better way, no more than
    # twice its cost is paid.
    budget = relaxation_cost(problem.n_features, tuning.share)
    descent = DescentTuning(levels=(), first_budget=budget, last_budget=0, compiled_share=1.0)
    if problem.n_features > LARGEST_RELAXED:
        descent = tuning.descent
    if walk and descend(known, _conditioning(known, settings), descent):
        return None
    return _relax(known, settings)


def _relax(known: StageState[Subproblem], settings: Settings) -> Status | None:
    """Branch and bound with the relaxation; what stopped it."""
    tuning, best = settings.tuning, known.best
    assert best is not None
    bound = ShareBound(known.problem, best.value, tuning.share)
    everything = _everything(known.problem)
    if not settings.proof:
        search = _tree(known, bound, tuning.tree.enumerate_below_strong, settings)
        return search.explore([everything])
    asked, outline = known.tolerance, Outline(known.problem.sparsity)
    known.tolerance = asked.tightened(1 - LEFT_TO_IT)
    search = _tree(known, bound, tuning.tree.enumerate_below_proved, settings, outline)
    try:
        return search.explore([everything])
    finally:
        # Whatever stopped it, what is proved so far is a proof of a bound.
        found = _written(known, outline)
        if found is not None and (known.tree is None or found[0] < known.tree[0]):
            known.tree = found
        known.tolerance = asked


def _written(known: StageState[Subproblem], outline: Outline) -> tuple[float, Tree] | None:
    """The lowest level at which all that was found out is a proof, and that proof."""
    level = max(known.cutoff, known.open.upper)
    tree = outline.tree(level) if math.isfinite(level) else None
    if tree is None:
        return None
    # A checker rounds in its own way.
    n, size = known.problem.n_features, max(abs(level), known.problem.scale)
    return add_up(level, CHECKING * n * (n + 8) * UNIT * size), tree


def close_classically(known: StageState[Subproblem], settings: Settings) -> Status | None:
    """Close a stage by branch and bound with the bounds of the paper; as the other."""
    bound, below = ClassicalBound(known.problem), settings.tuning.tree.enumerate_below
    return _tree(known, bound, below, settings).explore([_everything(known.problem)])


_SOLVERS = {
    Method.ENUMERATION: _by_enumeration,
    Method.EIGENVALUE: _by_classical_bounds,
}


def _begin(known: StageState[Subproblem], settings: Settings) -> None:
    """What all methods begin with: a bound that costs next to nothing, and an incumbent."""
    problem = known.problem
    known.tighten(gershgorin_bound(problem.covariance, problem.sparsity))
    known.improve(find_incumbent(problem, tuning=settings.tuning.heuristics))
    known.tell(1)


def _tree(
    known: StageState[Subproblem],
    bound: Bound,
    enumerate_below: int,
    settings: Settings,
    outline: Outline | None = None,
) -> TreeSearch:
    return TreeSearch(
        known,
        bound,
        enumerate_below=enumerate_below,
        n_jobs=settings.n_jobs,
        tuning=settings.tuning.tree,
        outline=outline,
    )


def _everything(problem: Subproblem) -> Node:
    return Node(np.arange(0), np.arange(problem.n_features))


class _NoBound:
    """Stands in where every node is enumerated."""

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        raise AssertionError("an enumeration has no nodes to bound")
