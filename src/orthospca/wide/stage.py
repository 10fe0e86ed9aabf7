"""A stage on data with many features: reduce it, then solve what is left as a matrix.

The incumbent comes from truncated power iterations on the data.  The shifted Frobenius bound of
``screening``, with row sums from the diagonal where that is enough and from row profiles elsewhere,
rules out features; the covariance of the few that are left is formed and handed to the usual
search.  What was ruled out enters the certificate with the bound that ruled it out.  If too
much is left, the most promising features are searched and the rest keeps its row bound, so that the
certificate stays true and the gap open.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from orthospca._typing import Array, BoolArray
from orthospca.data.covariance import DataCovariance
from orthospca.data.profiles import RowProfiles
from orthospca.model.limits import Watch
from orthospca.model.result import Status
from orthospca.model.tolerance import Tolerance
from orthospca.search.methods import StageSolver
from orthospca.search.outcome import Outcome
from orthospca.supports.best import Candidate
from orthospca.wide.reduction import LargeStage, Reduction

#: Features on which a covariance matrix is formed.
LARGEST_MATRIX = 4000
#: Times that a stage is reduced, as long as better components are found.
PASSES = 3
#: Entries kept in a row profile beyond those that a support needs.
SPARE_ENTRIES = 56


class LargeProblem:
    """Stages of one covariance; what is learnt about its rows serves all of them.

    Parameters
    ----------
    covariance : DataCovariance
    sparsity : int
        The largest of all stages.
    gap : float
        Relative tolerance; single precision is used for tiles where it is wide enough.
    n_jobs : int, optional
    """

    def __init__(
        self, covariance: DataCovariance, sparsity: int, gap: float, n_jobs: int | None
    ) -> None:
        self.covariance = covariance
        self.n_jobs = n_jobs
        #: Features of the largest matrix formed so far.
        self.largest_matrix = 0
        single_error = 2 * (covariance.n_samples + 8) * float(np.finfo(np.float32).eps)
        self.profiles = RowProfiles(
            covariance,
            sparsity + SPARE_ENTRIES,
            single=sparsity * single_error <= 0.05 * gap,
            n_jobs=n_jobs,
        )

    def solve_stage(
        self,
        sparsity: int,
        previous: Array,
        tolerance: Tolerance,
        watch: Watch,
        solver: StageSolver,
        members: BoolArray | None = None,
    ) -> Outcome:
        """Solve one stage.

        Parameters
        ----------
        sparsity : int
        previous : array of shape (n, k - 1)
            The components before it, as columns.
        tolerance : Tolerance
        watch : Watch
        solver : StageSolver
        members : boolean array, optional
            The features that a component may use; all of them, if not given.
        """
        stage = LargeStage(self.covariance, sparsity, previous, members)
        best = stage.incumbent()
        scale = float(self.covariance.diagonal.max())
        tolerance = Tolerance(tolerance.eps, tolerance.gap, scale)
        # Rounding of the entries themselves, at most their radius on a support.
        rounding = sparsity * self.covariance.relative_radius * scale
        upper = float(stage.potential.max()) * (1 + 2 * self.covariance.relative_radius)
        watch.report(0, 1, _value(best), upper)
        nodes = 0
        for _ in range(PASSES):
            before = _value(best)
            if best is None:
                reduction = stage.most_promising()
            else:
                cutoff, shift = tolerance.cutoff(before), stage.shift(best)
                reduction = stage.reduce(self.profiles, cutoff, shift, watch.out_of_time)
            self.largest_matrix = max(self.largest_matrix, len(reduction.kept))
            removed = reduction.removed_upper + rounding
            with watch.at_least(removed):
                outcome = stage.solve(reduction, best, tolerance, watch, solver, self.n_jobs)
            best, nodes = outcome.best, nodes + outcome.nodes
            upper = min(upper, max(outcome.upper + rounding, removed))
            # A better component rules more features out: worth a pass if they are the trouble.
            again = removed > tolerance.cutoff(_value(best)) and _value(best) > before
            if not again or watch.out_of_time():
                break
        return Outcome(best, upper, self._status(outcome, upper, tolerance, watch), nodes)

    def _status(self, outcome: Outcome, upper: float, tolerance: Tolerance, watch: Watch) -> Status:
        """What the outcome on the kept features means for all of them."""
        if outcome.best is None:
            return Status.FEATURE_LIMIT  # some were left out: nothing is proved to be exhausted
        if tolerance.met(outcome.best.value, upper):
            return Status.OPTIMAL
        if outcome.status is Status.OPTIMAL:
            return watch.verdict(0) or Status.FEATURE_LIMIT
        return outcome.status


def _value(candidate: Candidate | None) -> float:
    return -math.inf if candidate is None else candidate.value


def reduce_stage(
    problem: LargeProblem,
    sparsity: int,
    previous: Array,
    best: Candidate,
    cutoff: float,
    stop: Callable[[], bool],
) -> Reduction:
    """Drop the features that no support above the cutoff can contain; nothing is searched.

    Parameters
    ----------
    problem : LargeProblem
    sparsity : int
    previous : array of shape (n, k - 1)
    best : Candidate
        The component in hand; it only guides the choice of the bound.
    cutoff : float
    stop : callable
    """
    stage = LargeStage(problem.covariance, sparsity, previous)
    return stage.reduce(problem.profiles, cutoff, stage.shift(best), stop)
