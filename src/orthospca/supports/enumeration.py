"""Algorithm 1: every support of a node, tested in batches.

A support cannot matter if a Cholesky factorisation proves that its largest eigenvalue is below
what is already in hand; that test costs a fraction of an eigenvalue problem, is rigorous, and runs
on thousands of supports in a few vector operations.  Only the supports that fail it are solved.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import IntArray
from orthospca.model.stage import Subproblem
from orthospca.numerics import rigor
from orthospca.numerics.rounding import UNIT
from orthospca.supports.best import Candidate, best_on_support, better_of, values_on_supports

#: Supports generated and tested between two looks at the clock.
BATCH = 24_000
#: More supports than this are refused by ``method="enumeration"``: minutes become hours.
LARGEST_ENUMERATION = 200_000_000


@dataclass(frozen=True, eq=False)
class Enumerated:
    """Outcome of an enumeration.

    Attributes
    ----------
    best : Candidate or None
        The incumbent given, or something better.
    upper : float
        Proved bound on the value of every support visited; ``-inf`` if none has a feasible vector.
    complete : bool
        False if it was stopped before all supports were visited: ``upper`` then says nothing.
    """

    best: Candidate | None
    upper: float
    complete: bool


def count_supports(included: int, allowed: int, sparsity: int) -> int:
    """Number of supports of full size between ``included`` and ``allowed`` indices."""
    return math.comb(allowed - included, min(sparsity, allowed) - included)


def refuse_if_too_many(n_features: int, sparsity: int, included: int = 0) -> None:
    """Raise ``ValueError`` if enumerating all supports would not end in reasonable time."""
    count = count_supports(included, n_features, sparsity)
    if count > LARGEST_ENUMERATION:
        raise InputError(
            f"method 'enumeration' would have to test {count:.3g} supports ({sparsity} of "
            f"{n_features} features), and at most {LARGEST_ENUMERATION:.0e} are practical: "
            "use method='branch-and-bound'"
        )


def supports_between(
    included: IntArray, allowed: IntArray, sparsity: int, batch_size: int = BATCH
) -> Iterator[IntArray]:
    """Yield batches of all T with included ⊆ T ⊆ allowed and |T| = min(sparsity, |allowed|)."""
    free = np.setdiff1d(allowed, included)
    chosen = min(sparsity, len(allowed)) - len(included)
    subsets = itertools.combinations(free.tolist(), chosen)
    while batch := list(itertools.islice(subsets, batch_size)):
        supports = np.empty((len(batch), len(included) + chosen), dtype=np.intp)
        supports[:, : len(included)] = included
        if chosen:
            flat = itertools.chain.from_iterable(batch)
            supports[:, len(included) :] = np.fromiter(flat, np.intp).reshape(-1, chosen)
        yield supports


def enumerate_supports(
    problem: Subproblem,
    included: IntArray,
    allowed: IntArray,
    incumbent: Candidate | None = None,
    cutoff: float = -math.inf,
    stop: Callable[[], bool] | None = None,
    batch_size: int = BATCH,
) -> Enumerated:
    """Find the best support of a node, or prove that none exceeds ``cutoff``.

    Parameters
    ----------
    problem : Subproblem
    included, allowed : integer arrays
        The node: supports contain the first and lie in the second.
    incumbent : Candidate, optional
        Supports not better than it are only tested, not solved.
    cutoff : float
        Values up to this one are of no interest (the incumbent's value plus a tolerance).
    stop : callable, optional
        Asked between batches.
    batch_size : int
        Supports tested together.
    """
    search = _SupportTest(problem, cutoff, incumbent)
    for supports in supports_between(included, allowed, problem.sparsity, batch_size):
        if stop is not None and stop():
            return Enumerated(search.best, math.inf, complete=False)
        search.visit(supports)
    return Enumerated(search.best, search.upper, complete=True)


@dataclass(eq=False)
class _SupportTest:
    """Keeps the best candidate and the proved bound while batches of supports go by."""

    problem: Subproblem
    cutoff: float
    best: Candidate | None
    upper: float = -math.inf

    def __post_init__(self) -> None:
        problem = self.problem
        self.margin = 16 * problem.sparsity * UNIT * problem.scale
        # Below every value that a unit vector can reach: proved below this means infeasible.
        self.bottom = -2.0 * problem.scale * (problem.sparsity + 1)

    @property
    def threshold(self) -> float:
        value = -math.inf if self.best is None else self.best.value
        return max(self.cutoff, value + self.margin, self.bottom)

    def visit(self, supports: IntArray) -> None:
        threshold = self.threshold
        proved = rigor.proved_below_on_supports(
            self.problem.penalised, supports, threshold, self.problem.penalised_radius
        )
        if proved.any() and threshold > self.bottom:
            self.upper = max(self.upper, threshold)
        if not proved.all():
            self._solve(supports[~proved])

    def _solve(self, supports: IntArray) -> None:
        values = values_on_supports(self.problem, supports)
        leader = int(np.argmax(values))
        if self.best is None or values[leader] > self.best.value:
            self.best = better_of(self.best, best_on_support(self.problem, supports[leader]))
        feasible = values > -math.inf
        if feasible.any():
            self.upper = max(self.upper, self._prove(supports[feasible]))

    def _prove(self, supports: IntArray) -> float:
        """Smallest threshold of a ladder that is proved for all these supports."""
        matrices = self.problem.covariance[supports[:, :, None], supports[:, None, :]]
        radius = np.zeros(len(supports))
        if self.problem.constrained:
            level = self.threshold - 0.1 * self.problem.scale
            matrices, radius = rigor.constrain(matrices, self.problem.previous[supports], level)
        pending = np.ascontiguousarray(matrices.transpose(1, 2, 0))
        slack = self.margin
        upper = -math.inf
        while pending.shape[2]:
            threshold = max(self.cutoff, self.threshold - self.margin + slack)
            proved = rigor.proved_below_stacked(pending.copy(), threshold, radius)
            if proved.any():
                upper = threshold
                pending, radius = pending[:, :, ~proved], radius[~proved]
            slack *= 4
            if not math.isfinite(slack):
                return math.inf
        return upper
