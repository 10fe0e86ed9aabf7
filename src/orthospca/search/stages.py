"""The stages of a problem that is given by its matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from orthospca._methods import Method
from orthospca._typing import Array
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.stage import Shared, Subproblem
from orthospca.numerics.exact import variance_down
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import Outcome, Request
from orthospca.search.sequence import is_orthogonal
from orthospca.supports.best import Candidate, better_of
from orthospca.supports.heuristics import improved_start

#: Products of Q with a component that are this small, relative to Q, are nothing but rounding.
SMALLEST_IMAGE = 1e-12


@dataclass(eq=False)
class MatrixStages:
    """Each stage on the matrix itself.

    Attributes
    ----------
    covariance : array of shape (n, n)
    settings : Settings
    watch : Watch
    note : str
        Why it is not split into blocks, if that was a choice.
    """

    covariance: Array
    settings: Settings
    watch: Watch
    note: str = ""
    nested = True

    def __post_init__(self) -> None:
        self.n_features = len(self.covariance)
        self._shared = Shared()

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""
        demand, settings = request.demand, self.settings
        problem = request.stage_of(self.covariance, self._shared)
        if demand.start is not None:
            settings = replace(settings, start=(demand.start,))
        started = improved_start(problem, settings.start)
        return solve_stage(
            problem,
            settings,
            self.watch,
            better_of(request.best_hint, started),
            request.cap,
            request.caps,
            request.resumption,
        )


class UncorrelatedStages(MatrixStages):
    """Each stage on the matrix itself, orthogonal to its products with the components before."""

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""
        images = images_of(self.covariance, request.previous)
        hints = [h for h in request.hints if is_orthogonal(h.vector, images)]
        return super().solve(replace(request, previous=images, hints=tuple(hints)))


def images_of(covariance: Array, vectors: Array) -> Array:
    """Return Qx of some columns, scaled by powers of two; without those that are but rounding.

    Each entry is the exact sum of rounded products, rounded: a checker finds the same numbers.
    Without a constraint more is feasible, so that a bound stays one.
    """
    columns = []
    least = SMALLEST_IMAGE * float(np.abs(covariance).max(initial=0.0))
    for x in vectors.T:
        used = np.flatnonzero(x)
        image = np.array([math.fsum(row) for row in (covariance[:, used] * x[used]).tolist()])
        if float(np.abs(image).max(initial=0.0)) > least:
            length = math.sqrt(float(np.square(np.ldexp(image, -_exponent(image))).sum()))
            columns.append(np.ldexp(image, -_exponent(image) - round(math.log2(length))))
    return np.column_stack([vectors[:, :0], *columns])


def _exponent(values: Array) -> int:
    """The power of two of the largest entry."""
    return int(np.frexp(np.abs(values).max())[1])


class DeflatedStages(MatrixStages):
    """Berk and Bertsimas: each component is the first one of the adjusted covariance.

    The components are not orthogonal, and a bound speaks of the adjusted covariance only.
    """

    nested = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settings = replace(self.settings, method=Method.BRANCH_AND_BOUND)
        self._adjusted = self.covariance

    def solve(self, request: Request) -> Outcome:
        """Solve the stage that comes next."""
        if request.previous.shape[1]:
            self._adjusted = deflate(self._adjusted, request.previous[:, -1])
        nothing_before = np.zeros((self.n_features, 0))
        problem = Subproblem(self._adjusted, request.sparsity, nothing_before)
        outcome = solve_stage(problem, self.settings, self.watch)
        if outcome.best is None:
            return outcome
        x = outcome.best.vector
        best = Candidate(variance_down(self.covariance, x), x)
        return replace(outcome, best=best, deflated_value=outcome.best.value)


def deflate(matrix: Array, x: Array) -> Array:
    """Return ``(I - xxᵀ) matrix (I - xxᵀ)``."""
    image = matrix @ x
    deflated = matrix - np.outer(x, image) - np.outer(image, x) + float(x @ image) * np.outer(x, x)
    return 0.5 * (deflated + deflated.T)
