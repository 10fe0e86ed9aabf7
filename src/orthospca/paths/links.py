"""What a result for one sparsity proves for another.

Write ``v(p)`` for the best variance of a first component with at most p nonzeros, and d for the
smallest diagonal entry of Q.  Three facts connect the problems of a path:

1. *Feasibility.*  A component for p is feasible for every ``q ≥ p``; so ``v(p) ≤ v(q)``, and an
   upper bound for q is one for p.
2. *Averaging.*  ``(v(q) - d) / (q - 1) ≤ (v(p) - d) / (p - 1)`` for ``2 ≤ p ≤ q``.  *Proof.* Let x
   be optimal for q and S a random set of p of q indices that contain its support.  Then
   ``v(p)·‖x_S‖² ≥ x_SᵀQx_S``.  An index is in S with probability ``p/q`` and a pair with ``p/q·r``,
   ``r = (p - 1)/(q - 1)``, so the expectation reads ``v(p) ≥ r·v(q) + (1 - r)·Σ Q_ii x_i²``, and
   ``Σ Q_ii x_i² ≥ d``. ∎
3. *Transfer.*  If all components found for q have at most p nonzeros, they are a result for p with
   the same bounds: fewer vectors compete in each stage, and those before it are the same.

The first two speak of the first component only: the bounds of later stages are conditional on the
components before them, which change with p.  Where features have to be included, or vectors are
given, a part of x is not feasible, and there is no averaging; what is included counts in the third.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from orthospca._typing import Array
from orthospca.data.covariance import DataCovariance
from orthospca.data.problem import diagonal_of
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.result import Component, Result, Status
from orthospca.model.tolerance import Tolerance


def taken_over(
    larger: Result | None, sparsity: int, demands: Demands = NO_DEMANDS
) -> Result | None:
    """Return the result for a larger sparsity if it is one for this sparsity too (fact 3)."""
    if larger is None or not larger.status.finished:
        return None
    if any(len(support) > sparsity for support in larger.supports):
        return None
    if demands.binding:
        # Which sparsities the path of the larger one begins with is not written there.
        larger = replace(larger, known_path=(), climb=None)
    for k, stage in enumerate(larger.stages):
        if demands.include and not demands.asked(k).fits(stage.vector, sparsity):
            return None
    stages = tuple(replace(stage, nodes=0, runtime=0.0) for stage in larger.stages)
    return at_once(larger, sparsity, stages=stages)


def at_once(larger: Result, sparsity: int, **found: Any) -> Result:
    """Return what came of a larger sparsity as the result of this one, which took no time."""
    limits, path = (sparsity,) * len(larger.sparsity), larger.known_path[:sparsity]
    return replace(larger, sparsity=limits, runtime=0.0, history=(), known_path=path, **found)


def averaging_bound(upper: float, p: int, q: int, smallest: float) -> float:
    """Return a bound on ``v(q)`` from one on ``v(p)``, ``2 ≤ p ≤ q`` (fact 2), rounded upwards."""
    d = Fraction(smallest)
    bound = float(d + (Fraction(upper) - d) * Fraction(q - 1, p - 1))
    return math.nextafter(bound, math.inf)


class Links:
    """What follows for one sparsity from what is known of the others."""

    def __init__(
        self,
        tolerance: Tolerance,
        covariance: Array | DataCovariance,
        demands: Demands = NO_DEMANDS,
    ) -> None:
        self._averages = not demands.include and demands.previous is None
        # The smallest variance is rounded downwards, which leaves the averaging bound true.
        radius = covariance.relative_radius if isinstance(covariance, DataCovariance) else 0.0
        self._smallest = float(diagonal_of(covariance).min()) * (1 - radius)
        self.tolerance = tolerance

    def connect(self, sparsities: Sequence[int], results: Sequence[Result]) -> tuple[Result, ...]:
        """Use the first component of each sparsity for all others (facts 1 and 2)."""
        bounds = [result.stages[0].upper_bound for result in results]
        connected: list[Result] = []
        for i, (q, result) in enumerate(zip(sparsities, results, strict=True)):
            upper = min(bounds[i:])
            for p, bound in zip(sparsities[:i], bounds, strict=False):
                if p > 1 and self._averages:
                    upper = min(upper, averaging_bound(bound, p, q, self._smallest))
            best = result
            if connected and len(result.sparsity) == 1:
                best = with_better(result, connected[-1].stages[0])
            connected.append(self.with_upper(best, upper))
        return tuple(connected)

    def with_upper(self, result: Result, upper: float) -> Result:
        """Return the result with a bound on its first stage, and the statuses that follow."""
        first = result.stages[0]
        # Rounding may put a proved bound a hair below the value that attains it.
        upper = max(min(upper, first.upper_bound), first.variance)
        status = Status.OPTIMAL if self.tolerance.met(first.variance, upper) else first.status
        stages = (replace(first, upper_bound=upper, status=status), *result.stages[1:])
        overall = result.status
        if result.exhausted or len(stages) == len(result.sparsity):
            finished = Status.EXHAUSTED if result.exhausted else Status.OPTIMAL
            still_open = [stage.status for stage in stages if stage.status is not Status.OPTIMAL]
            overall = still_open[-1] if still_open else finished
        return replace(
            result,
            stages=stages,
            status=overall,
            guarantee=max(stage.upper_bound - stage.variance for stage in stages),
        )


def with_better(result: Result, other: Component) -> Result:
    """Return the result of one component with another vector, if that has more variance."""
    own = result.stages[0]
    if other.variance <= own.variance:
        return result
    return replace(result, stages=(replace(own, vector=other.vector, variance=other.variance),))
