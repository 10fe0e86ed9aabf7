"""One stage solved by each method: an incumbent, a first bound, then the search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from orthospca.bounds.classical import ClassicalBound, gershgorin_bound
from orthospca.bounds.conditioning.walk import Conditioning
from orthospca.bounds.relaxation.node import StrongBound
from orthospca.bounds.screening import Screening, best_shift, refine, screen
from orthospca.model.limits import Watch
from orthospca.model.nodes import Bound, Closed, Node, NodeBound, Reason
from orthospca.model.result import Status
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import RESOLUTION, Tolerance
from orthospca.search.outcome import Outcome
from orthospca.search.tree import BranchAndBound
from orthospca.supports.best import Candidate
from orthospca.supports.enumeration import LARGEST_ENUMERATION, count_supports
from orthospca.supports.heuristics import find_incumbent

#: Nodes with this few supports are enumerated rather than bounded by eigenvalues.
ENUMERATE_BELOW = 200
#: The strong bound costs more, and so does a node worth enumerating.
ENUMERATE_BELOW_STRONG = 100_000
#: With no incumbent there is nothing to prune by: enumeration is then the better search.
ENUMERATE_WITHOUT_INCUMBENT = 300_000
#: Entries of all neighbourhoods up to which it pays to look at each of them closely.
LARGEST_REFINEMENT = 100_000_000


def solve_by_enumeration(
    problem: Subproblem,
    tolerance: Tolerance,
    watch: Watch,
    n_jobs: int | None,
    incumbent: Candidate | None = None,
) -> Outcome:
    """Algorithm 1: test every support."""
    stage = _Stage(problem, Tolerance(0.0, 0.0), watch, n_jobs, incumbent)
    return stage.solve(lambda s: s.search(_NoBound(), enumerate_below=LARGEST_ENUMERATION))


def solve_by_classical_bounds(
    problem: Subproblem,
    tolerance: Tolerance,
    watch: Watch,
    n_jobs: int | None,
    incumbent: Candidate | None = None,
) -> Outcome:
    """Algorithm 4 with the eigenvalue, Gershgorin, Frobenius and trace bounds."""
    stage = _Stage(problem, tolerance, watch, n_jobs, incumbent)
    return stage.solve(lambda s: s.search(ClassicalBound(problem), ENUMERATE_BELOW))


def solve_by_strong_bound(
    problem: Subproblem,
    tolerance: Tolerance,
    watch: Watch,
    n_jobs: int | None,
    incumbent: Candidate | None = None,
) -> Outcome:
    """Screening, then branch and bound with the multipliers of the convex relaxation."""
    return _Stage(problem, tolerance, watch, n_jobs, incumbent).solve(_strong_search)


class StageSolver(Protocol):
    """One stage solved by one method; an incumbent that is known already may be given."""

    def __call__(
        self,
        problem: Subproblem,
        tolerance: Tolerance,
        watch: Watch,
        n_jobs: int | None,
        incumbent: Candidate | None = None,
    ) -> Outcome:
        """Solve the stage."""
        ...


STAGE_SOLVERS: dict[str, StageSolver] = {
    "branch-and-bound": solve_by_strong_bound,
    "enumeration": solve_by_enumeration,
    "eigenvalue": solve_by_classical_bounds,
}


def _strong_search(stage: _Stage) -> BranchAndBound:
    incumbent, problem = stage.incumbent, stage.problem
    if incumbent is None:
        return stage.search(ClassicalBound(problem), ENUMERATE_WITHOUT_INCUMBENT)
    cutoff = stage.tolerance.cutoff(incumbent.value)
    screening = screen(problem, cutoff)
    stage.upper = min(stage.upper, screening.upper)
    support = np.flatnonzero(incumbent.vector)
    shift = best_shift(problem.projected[np.ix_(support, support)])
    scale = max(abs(incumbent.value), 1e-3 * problem.scale)
    conditioning = Conditioning(problem, RESOLUTION * problem.scale)
    bound = StrongBound(problem, scale, shift)
    search = stage.search(bound, ENUMERATE_BELOW_STRONG, conditioning)
    whole = Node(np.arange(0), screening.allowed, screening.upper)
    _record(search, screening)
    if search.descend(whole, _neighbourhoods(screening), screening.removed_upper):
        stage.roots = []
        return search
    if not stage.watch.out_of_time() and _cost(screening) <= LARGEST_REFINEMENT:
        screening = refine(problem, screening, cutoff, shift)
        _record(search, screening)
        whole = Node(np.arange(0), screening.allowed, screening.upper)
    stage.roots = _roots(screening, whole, problem.sparsity)
    return search


def bound_by_conditioning(
    problem: Subproblem, best: Candidate, cutoff: float, upper: float, watch: Watch
) -> float:
    """Return a proved bound on a stage, at most ``upper``, from a conditioned descent alone.

    Parameters
    ----------
    problem : Subproblem
    best : Candidate
        A feasible vector; whether there is a better one is of no interest.
    cutoff : float
        A bound up to this one is as good as any.
    upper : float
        A bound known already.
    watch : Watch
    """
    tolerance = Tolerance(max(cutoff - best.value, 0.0), 0.0, problem.scale)
    screening = screen(problem, max(cutoff, best.value))
    search = BranchAndBound(
        problem,
        _NoBound(),
        tolerance,
        watch,
        incumbent=best,
        upper=min(upper, screening.upper),
        conditioning=Conditioning(problem, RESOLUTION * problem.scale),
    )
    whole = Node(np.arange(0), screening.allowed, screening.upper)
    _record(search, screening)
    search.descend(whole, _neighbourhoods(screening), screening.removed_upper)
    return search.upper


def _record(search: BranchAndBound, screening: Screening) -> None:
    """Close what is outside the neighbourhoods."""
    if screening.removed_upper > -math.inf:
        everything = np.arange(search.problem.n_features)
        reason = Reason.SCREENED
        closed = Closed(everything[:0], everything, screening.removed_upper, reason, screening)
        search.record(closed)


def _cost(screening: Screening) -> int:
    """Entries to look at if the neighbourhoods are taken one by one."""
    return sum(len(part.allowed) ** 2 for part in screening.neighbourhoods)


def _neighbourhoods(screening: Screening) -> list[Node]:
    return [
        Node(np.array([part.row]), part.allowed, part.upper) for part in screening.neighbourhoods
    ]


def _roots(screening: Screening, whole: Node, sparsity: int) -> list[Node]:
    """One node for each neighbourhood, or one for all, whichever promises less work."""
    parts = screening.neighbourhoods
    supports = sum(count_supports(1, len(part.allowed), sparsity) for part in parts)
    apart = sum(len(part.allowed) ** 3 for part in parts)
    if supports <= 2 * ENUMERATE_BELOW_STRONG or apart <= 0.5 * len(whole.allowed) ** 3:
        return _neighbourhoods(screening)
    return [whole]


class _Stage:
    """What all methods begin with: a first bound and an incumbent."""

    def __init__(
        self,
        problem: Subproblem,
        tolerance: Tolerance,
        watch: Watch,
        n_jobs: int | None,
        incumbent: Candidate | None,
    ) -> None:
        self.problem = problem
        self.tolerance = replace(tolerance, scale=problem.scale)
        self.watch = watch
        self.n_jobs = n_jobs
        self.upper = math.inf
        self.incumbent = incumbent
        self.roots = [Node(np.arange(0), np.arange(problem.n_features))]
        self._search: BranchAndBound | None = None

    def solve(self, prepare: Callable[[_Stage], BranchAndBound]) -> Outcome:
        """Find an incumbent, prepare the search and run it; an interrupt leaves a valid outcome."""
        try:
            self.upper = first_upper(self.problem)
            found = find_incumbent(self.problem)
            if self.incumbent is None or (found is not None and found.value > self.incumbent.value):
                self.incumbent = found
            lower = -math.inf if self.incumbent is None else self.incumbent.value
            self.watch.report(0, 1, lower, self.upper)
            search = prepare(self)
        except KeyboardInterrupt:
            if self._search is not None:
                return self._search.interrupted()
            self.watch.interrupted = True
            return Outcome(self.incumbent, self.upper, Status.INTERRUPTED, 0)
        return search.run(self.roots)

    def search(
        self, bound: Bound, enumerate_below: int, conditioning: Conditioning | None = None
    ) -> BranchAndBound:
        """Return a search that knows the incumbent and the bound so far."""
        self._search = BranchAndBound(
            self.problem,
            bound,
            self.tolerance,
            self.watch,
            incumbent=self.incumbent,
            upper=self.upper,
            enumerate_below=enumerate_below,
            conditioning=conditioning,
            n_jobs=self.n_jobs,
        )
        return self._search


def first_upper(problem: Subproblem) -> float:
    """Return a proved bound that costs next to nothing, to have one from the start."""
    return gershgorin_bound(problem.covariance, problem.sparsity)


class _NoBound:
    """Stands in where every node is enumerated."""

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        raise AssertionError("an enumeration has no nodes to bound")
