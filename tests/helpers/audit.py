"""What a result promises, checked in exact arithmetic, and how much of it was checked."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from helpers.exact import (
    ExactMatrix,
    nearly_orthogonal_support,
    support_above,
    within_tolerance,
)
from orthospca import Result, Status
from orthospca.model.result import Progress

#: What is promised of every result, in a few words.
PROMISES = {
    "bound": "no feasible vector has a value above the upper bound of its stage",
    "variance": "no upper bound is below the variance beside it",
    "optimal": "a stage called optimal is within the tolerance",
    "nested": "upper bounds do not increase as long as sparsities do not",
    "progress": "a bound told on the way is a bound, and the last one is the smallest",
    "guarantee": "every variance is within the guarantee of the best of its stage",
    "end": "components end where no vector is orthogonal to all of them",
}


@dataclass(frozen=True, eq=False)
class Solved:
    """A solve: what it was asked and what it answered.

    Attributes
    ----------
    label : str
        Says how to repeat it.
    matrix : ExactMatrix
        Of which the certificates speak.
    result : Result
    eps, gap : float
        The tolerances asked for.
    told : sequence of Progress
        What the callback has heard.
    """

    label: str
    matrix: ExactMatrix
    result: Result
    eps: float = 0.0
    gap: float = 0.0
    told: Sequence[Progress] = ()


@dataclass
class Audit:
    """Counts the bounds that were checked and collects what does not hold.

    Attributes
    ----------
    bounds : int
    broken : dict from a promise to a list of str
    """

    bounds: int = 0
    broken: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def check(self, solved: Solved) -> None:
        """Check all promises of a result."""
        result = solved.result
        told, kept = uppers_told(solved.told), uppers_told(result.history)
        for k in range(result.n_components):
            self.bounds += 1
            self._check_stage(solved, k, [*told.get(k, ()), *kept.get(k, ())])
        if result.exhausted:
            p = result.sparsity[result.n_components]
            support = nearly_orthogonal_support(result.components, p)
            if support is not None:
                self._report("end", solved, result.n_components, f"there is one on {support}")

    def _check_stage(self, solved: Solved, k: int, told: Sequence[float]) -> None:
        result, stage = solved.result, solved.result.stages[k]
        variance, upper = stage.variance, stage.upper_bound
        if self._above(solved, k, upper) is not None:
            self._report("bound", solved, k, f"{self._above(solved, k, upper)} is above {upper!r}")
        if not upper >= variance:
            self._report("variance", solved, k, f"{upper!r} < {variance!r}")
        if stage.status is Status.OPTIMAL and not within_tolerance(
            variance, upper, solved.eps, solved.gap
        ):
            self._report("optimal", solved, k, f"{upper!r} against {variance!r}")
        before = result.stages[k - 1].upper_bound if k else upper
        if result.sparsity[k] <= result.sparsity[max(k - 1, 0)] and upper > before:
            self._report("nested", solved, k, f"{upper!r} after {before!r}")
        smallest = min(told, default=upper)
        # Components are orthogonal up to rounding: one that is later, or was before it took this
        # place, may raise the bound by as much.
        raised = upper in [later.variance for later in result.stages[k:]]
        if smallest < upper and not raised:
            self._report("progress", solved, k, f"{smallest!r} before {upper!r}")
        if smallest < upper and self._above(solved, k, smallest) is not None:
            self._report("progress", solved, k, f"{smallest!r} is no bound")
        guaranteed = Fraction(variance) + Fraction(result.guarantee)
        if self._above(solved, k, guaranteed) is not None:
            self._report("guarantee", solved, k, f"{result.guarantee!r} from {variance!r}")

    @staticmethod
    def _above(solved: Solved, k: int, bound: float | Fraction) -> tuple[int, ...] | None:
        result = solved.result
        return support_above(solved.matrix, result.components[:k], result.sparsity[k], bound)

    def _report(self, promise: str, solved: Solved, stage: int, what: str) -> None:
        self.broken[promise].append(f"{solved.label}, stage {stage}: {what}")

    def message(self, promise: str) -> str:
        """What does not hold, with the first few cases."""
        found = self.broken[promise]
        listed = "\n  ".join(found[:5])
        return f"{len(found)} times not: {PROMISES[promise]}\n  {listed}"


def uppers_told(entries: Iterable[Progress]) -> dict[int, list[float]]:
    """The bounds told of each stage since it was last begun.

    What was told before an earlier component was replaced speaks of another stage: one with another
    number follows, or the value of the best vector falls, which it never does within a stage.
    """
    told: dict[int, list[float]] = {}
    stage, lower = -1, -math.inf
    for entry in entries:
        if entry.stage != stage or entry.lower < lower:
            stage = entry.stage
            told[stage] = []
        told[stage].append(entry.upper)
        lower = entry.lower
    return told
