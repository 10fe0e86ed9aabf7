"""Stage after stage: the façade ``solve``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.blocks.partition import Blocks
from orthospca.blocks.partitioned import PartitionedMatrix
from orthospca.blocks.pool import Pool
from orthospca.blocks.thresholds import Plan, plan_blocks, validate_threshold
from orthospca.model.limits import Callback, Watch
from orthospca.model.problem import Problem
from orthospca.model.result import Component, Result
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.validation import validate_integer, validate_nonnegative
from orthospca.numerics.threads import single_threaded_blas
from orthospca.search.methods import STAGE_SOLVERS
from orthospca.search.outcome import Outcome
from orthospca.search.sequence import overall_status, run_stages
from orthospca.supports.enumeration import refuse_if_too_many
from orthospca.wide_solve import WideSolve, is_wide, refuse_for_wide

METHODS = ("branch-and-bound", "enumeration", "eigenvalue", "deflation")


def solve(
    Q: Any,
    sparsity: int | Any,
    n_components: int = 1,
    *,
    method: str = "branch-and-bound",
    eps: float = 0.0,
    gap: float = 1e-4,
    threshold: float | str | Blocks = 0.0,
    time_limit: float | None = None,
    node_limit: int | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
    callback: Callback | None = None,
) -> Result:
    """Find orthogonal sparse principal components with certificates.

    The k-th component solves ``max xᵀQx`` over unit vectors with at most ``sparsity`` nonzero
    entries that are orthogonal to the components before it.

    Parameters
    ----------
    Q : array-like of shape (n, n), or DataCovariance
        Symmetric: a covariance or correlation matrix.  It may be indefinite.  With a
        :class:`~orthospca.DataCovariance` it is defined by data and, if n is large, never formed.
    sparsity : int or sequence of int
        Features each component may use; one number, or one for each component.
    n_components : int
        How many components to find.
    method : {"branch-and-bound", "enumeration", "eigenvalue", "deflation"}
        ``"branch-and-bound"`` screens, searches given the strongest features, and goes on, where
        that is not enough, with the strong bound from a convex relaxation; ``"enumeration"`` tests
        every support (Algorithm 1); ``"eigenvalue"`` is branch and bound with the eigenvalue,
        Gershgorin, Frobenius and trace bounds (Algorithm 4); ``"deflation"`` is the baseline that
        solves adjusted covariances and does **not** give orthogonal components.
    eps, gap : float
        A stage ends when ``upper - lower ≤ max(eps, gap·|lower|)``.  With both 0 it ends at
        floating-point resolution.
    threshold : float, "auto" or Blocks
        Entries of Q below it are ignored between blocks, into which the problem is split
        (Algorithms 2 and 3): faster, but the components may then fall short of the best ones by
        ``Result.guarantee``, and the upper bounds, which always speak of Q itself, say by how much.
        0 splits along exact zeros only and ignores nothing.  ``"auto"`` takes the largest threshold
        that the tolerance has room for, or 0 if that would not help; ``Result.note`` says which.
        The blocks themselves, from :func:`orthospca.block_diagonalize`, may be given as well.
        ``"deflation"`` has no use for blocks and refuses a positive threshold.
    time_limit : float, optional
        Seconds for the whole solve.  Each stage may use two fifths of what is left when it begins,
        or an equal share if that is more.
    node_limit : int, optional
        Nodes for each stage.
    n_jobs : int, optional
        Jobs over nodes, or over blocks, as in joblib: threads, unless ``joblib.parallel_config``
        names another backend for the blocks.  The result does not depend on it.
    random_state : int, optional
        Kept for reproducibility of randomised steps; the present methods have none.
    callback : callable, optional
        Called with a ``Progress`` record now and then; a true answer stops the solve.

    Returns
    -------
    Result
        With fewer than ``n_components`` components if it is proved that no more exist, or if a
        limit or an interrupt came before one was found.

    Examples
    --------
    >>> import orthospca
    >>> result = orthospca.solve([[5, 1, 0], [1, 5, 2], [0, 2, 2]], sparsity=2, n_components=3)
    >>> result.variances.round(6).tolist() in ([6.0, 4.0, 2.0], [6.0, 5.0, 1.0])
    True
    >>> result.status.name
    'OPTIMAL'
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    wide = is_wide(Q)
    if wide:
        refuse_for_wide(Q, method, threshold)
    else:
        problem = Problem.validate(Q, sparsity, n_components)
    tolerance = Tolerance(validate_nonnegative("eps", eps), validate_nonnegative("gap", gap))
    if not isinstance(threshold, Blocks) and threshold != "auto":
        threshold = validate_threshold(threshold)
    if method == "deflation" and threshold not in (0.0, "auto"):
        given = "blocks" if isinstance(threshold, Blocks) else threshold
        raise ValueError(f"threshold must be 0.0 with method 'deflation', got {given}")
    if time_limit is not None:
        time_limit = validate_nonnegative("time_limit", time_limit)
    if node_limit is not None:
        node_limit = validate_integer("node_limit", node_limit, 1)
    if n_jobs is not None and validate_integer("n_jobs", n_jobs, -(10**6)) == 0:
        raise ValueError("n_jobs must not be 0, got 0")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, got {callback!r}")
    if random_state is not None:
        validate_integer("random_state", random_state, 0)
    watch = Watch(time_limit, node_limit, callback)
    with watch.listening(), single_threaded_blas():
        if wide:
            wide_solve = WideSolve.of(Q, sparsity, n_components, method, tolerance, watch, n_jobs)
            return wide_solve.run(threshold)
        if method == "deflation":
            return _solve_by_deflation(problem, tolerance, watch, n_jobs)
        plan = plan_blocks(problem, threshold, tolerance)
        if method == "enumeration":
            for size in plan.sizes:
                for limit in problem.sparsity:
                    refuse_if_too_many(size, min(limit, size))
        if plan.blocks is None:
            result = _solve_stages(problem, method, tolerance, watch, n_jobs)
            return replace(result, note=plan.note)
        return _solve_by_blocks(problem, plan, method, tolerance, watch, n_jobs)


def _solve_by_blocks(
    problem: Problem,
    plan: Plan,
    method: str,
    tolerance: Tolerance,
    watch: Watch,
    n_jobs: int | None,
) -> Result:
    assert plan.blocks is not None
    partitioned = PartitionedMatrix(problem, plan.blocks)
    pool = Pool(partitioned, method, tolerance, plan.tolerance, watch, n_jobs)
    merged = pool.run()
    result = _result(problem, method, merged.components, merged.exhausted, watch)
    return replace(result, guarantee=merged.guarantee, note=plan.note)


def _solve_stages(
    problem: Problem, method: str, tolerance: Tolerance, watch: Watch, n_jobs: int | None
) -> Result:
    solver = STAGE_SOLVERS[method]

    def solve_stage(limit: int, previous: Array) -> Outcome:
        return solver(Subproblem(problem.covariance, limit, previous), tolerance, watch, n_jobs)

    found, exhausted = run_stages(problem.n_features, problem.sparsity, solve_stage, watch)
    return _result(problem, method, found, exhausted, watch)


def _solve_by_deflation(
    problem: Problem, tolerance: Tolerance, watch: Watch, n_jobs: int | None
) -> Result:
    """Berk and Bertsimas: each component is the first one of the adjusted covariance."""
    found: list[Component] = []
    adjusted = problem.covariance
    nothing_before = np.zeros((problem.n_features, 0))
    for k, sparsity in enumerate(problem.sparsity):
        watch.begin_stage(k, problem.n_components - k)
        subproblem = Subproblem(adjusted, sparsity, nothing_before)
        outcome = STAGE_SOLVERS["branch-and-bound"](subproblem, tolerance, watch, n_jobs)
        if outcome.best is None:
            break
        x = outcome.best.vector
        found.append(
            Component(
                vector=x,
                variance=float(x @ problem.covariance @ x),
                upper_bound=outcome.upper,
                status=outcome.status,
                nodes=outcome.nodes,
                runtime=watch.stage_elapsed,
                deflated_variance=outcome.best.value,
            )
        )
        if watch.interrupted:
            break
        adjusted = _deflate(adjusted, x)
    return _result(problem, "deflation", found, False, watch)


def _deflate(matrix: Array, x: Array) -> Array:
    """Return ``(I - xxᵀ) matrix (I - xxᵀ)``."""
    image = matrix @ x
    deflated = matrix - np.outer(x, image) - np.outer(image, x) + float(x @ image) * np.outer(x, x)
    return 0.5 * (deflated + deflated.T)


def _result(
    problem: Problem, method: str, found: list[Component], exhausted: bool, watch: Watch
) -> Result:
    return Result(
        stages=tuple(found),
        n_features=problem.n_features,
        sparsity=problem.sparsity,
        status=overall_status(found, problem.n_components, exhausted, watch),
        exhausted=exhausted,
        method=method,
        guarantee=math.nan if not found else max(c.upper_bound - c.variance for c in found),
        runtime=watch.elapsed,
        history=tuple(watch.history),
        feature_names=problem.feature_names,
        total_variance=float(problem.covariance.trace()),
    )
