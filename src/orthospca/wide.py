"""Stage after stage on a data matrix with more features than a covariance matrix could have."""

from __future__ import annotations

from typing import Any

from orthospca._typing import Array
from orthospca.covariance import DataCovariance
from orthospca.large import LARGEST_MATRIX, LargeProblem
from orthospca.limits import Watch
from orthospca.problem import validate_integer, validate_sparsity
from orthospca.result import Result
from orthospca.search import Outcome, Tolerance
from orthospca.sequence import overall_status, run_stages
from orthospca.stages import StageSolver


def is_wide(Q: Any) -> bool:
    """Whether ``Q`` is given by data and too large to be formed."""
    return isinstance(Q, DataCovariance) and Q.n_features > LARGEST_MATRIX


def refuse_for_wide(covariance: DataCovariance, method: str, threshold: Any) -> None:
    """Raise ``ValueError`` for what needs the whole matrix."""
    n = covariance.n_features
    if method not in ("branch-and-bound", "eigenvalue"):
        raise ValueError(
            f"method must be 'branch-and-bound' or 'eigenvalue' for data with {n} features, "
            f"more than {LARGEST_MATRIX}, got {method!r}"
        )
    if threshold not in (0.0, "auto"):
        raise ValueError(
            f"threshold must be 0.0 or 'auto' for data with {n} features, more than "
            f"{LARGEST_MATRIX}, got {threshold!r}"
        )


def solve_wide(
    covariance: DataCovariance,
    sparsity: Any,
    n_components: Any,
    method: str,
    solver: StageSolver,
    tolerance: Tolerance,
    watch: Watch,
    n_jobs: int | None,
    problem: LargeProblem | None = None,
) -> Result:
    """Find components of a covariance that is never formed in full.

    ``problem`` may hold what earlier solves have learnt about its rows.
    """
    n = covariance.n_features
    count = validate_integer("n_components", n_components, 1, n, "the number of features")
    limits = validate_sparsity(sparsity, count, n)
    if problem is None:
        problem = LargeProblem(covariance, max(limits), tolerance.gap, n_jobs)
    large = problem

    def solve_stage(limit: int, previous: Array) -> Outcome:
        return large.solve_stage(limit, previous, tolerance, watch, solver)

    found, exhausted = run_stages(n, limits, solve_stage, watch)
    return Result(
        stages=tuple(found),
        n_features=n,
        sparsity=limits,
        status=overall_status(found, count, exhausted, watch),
        exhausted=exhausted,
        method=method,
        guarantee=max((c.upper_bound - c.variance for c in found), default=0.0),
        runtime=watch.elapsed,
        history=tuple(watch.history),
        feature_names=covariance.feature_names,
        note=f"reduced from {n} features by row bounds; the covariance was never formed in full",
        total_variance=float(covariance.diagonal.sum()),
    )
