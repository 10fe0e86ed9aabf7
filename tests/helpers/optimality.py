"""What a result says, stage by stage, against an independent brute force.

Optima tie, and which of several a stage returns decides what is left for the next. So each stage is
compared with the brute force *given the components that the solver returned before it*.
"""

from __future__ import annotations

import math

import numpy as np

from helpers.brute_force import stage_interval
from helpers.cases import is_met, supports_of
from helpers.strategies import Problem
from orthospca import Result, Status

#: Agreement of variances with the brute force, relative to the size of the matrix.
AGREEMENT = 1e-9
#: Rounding of the brute force itself.
ROUNDING = 1e-12
#: How far from orthonormal the components may be.
ORTHONORMALITY = 1e-12


def check_feasible(problem: Problem, result: Result) -> None:
    """Sparse, unit length, orthogonal, and described truthfully by the other fields."""
    X = result.components
    count = len(X)
    assert X.shape == (count, problem.n)
    assert np.isfinite(X).all()
    assert np.abs(X @ X.T - np.eye(count)).max(initial=0.0) <= ORTHONORMALITY
    assert len(result.supports) == len(result.statuses) == count
    assert result.variances.shape == result.upper_bounds.shape == result.gaps.shape == (count,)
    for k, (x, support) in enumerate(zip(X, result.supports, strict=True)):
        assert list(support) == np.flatnonzero(x).tolist()
        assert 1 <= len(support) <= problem.sparsity_of(k)
        variance = x @ problem.matrix @ x
        assert abs(result.variances[k] - variance) <= ROUNDING * problem.scale
    assert (result.upper_bounds >= result.variances).all()
    assert (result.gaps >= 0).all()


def check_stages(
    problem: Problem,
    result: Result,
    *,
    eps: float = 0.0,
    gap: float = 0.0,
    count: int | None = None,
) -> None:
    """Every stage against the brute force given the components before it, until it ends.

    `eps` and `gap` are the tolerances asked for; `count` how many components.
    """
    count = problem.n if count is None else count
    scale = problem.scale
    for k in range(count):
        previous, p = result.components[:k], problem.sparsity_of(k)
        truth = stage_interval(problem.matrix, previous, p)
        supports = supports_of(problem.matrix, previous, p)
        if k == len(result.components):
            assert truth.low is None, f"stage {k} ended, but a component of {truth.low} exists"
            assert supports.above(-math.inf) is None
            closed = set(result.statuses) <= {Status.OPTIMAL}
            assert result.status is (Status.EXHAUSTED if closed else Status.PRECISION)
            # With a list of sparsities a later stage may be allowed more features than this one.
            allowed = max(problem.sparsity_of(later) for later in range(k, count))
            assert result.exhausted or allowed > problem.sparsity_of(k)
            return
        assert truth.high is not None, f"stage {k} has a component where none exists"
        # Rounding moves the null space, and so the optimum, by the unit roundoff over `smallest`.
        doubt = scale * 1e-15 / truth.smallest
        value, bound = result.variances[k], result.upper_bounds[k]
        tolerance = max(eps, gap * abs(value))
        # The value is that of a vector that is orthogonal up to rounding, the bound is exact.
        assert value <= truth.high + AGREEMENT * scale + doubt
        assert supports.above(bound) is None
        if truth.low is not None:
            assert value >= truth.low - tolerance - AGREEMENT * scale - doubt
        # Where the scale is far above the value, rounding may leave more than the tolerance.
        met = is_met(value, bound, eps, gap)
        assert result.statuses[k] is (Status.OPTIMAL if met else Status.PRECISION)
        assert met or bound - value <= AGREEMENT * scale + doubt
    assert len(result.components) == count
    assert result.status in (Status.OPTIMAL, Status.PRECISION)
