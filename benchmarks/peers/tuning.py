"""A penalty that leaves p nonzeros on average: what users of ℓ1 methods have to look for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.instances import Array

#: Factor from one penalty to the next until there are too many nonzeros, and the most steps of it.
FACTOR, DESCENTS = 1.5, 30
#: Halvings, on a logarithmic scale, after that.
HALVINGS = 6


@dataclass(frozen=True, eq=False)
class Trial:
    """One fit with one penalty.

    Attributes
    ----------
    penalty : float
    components : array
    seconds : float
        Of this fit.
    searched : float
        Seconds of all fits until now, this one included.
    """

    penalty: float
    components: Array
    seconds: float
    searched: float

    def distance(self, sparsity: int) -> float:
        """How far the average number of nonzeros is from p, as a ratio."""
        average = np.count_nonzero(self.components) / len(self.components)
        return abs(math.log(max(average, 0.1) / sparsity))


def tune(
    fit: Callable[[float], tuple[Array, float]],
    largest: float,
    sparsity: int,
    found: Callable[[Trial], None],
) -> float:
    """Look for the penalty whose average number of nonzeros is nearest to p.

    Large penalties come first, because their fits are fast.  Each trial that is nearer than all
    before is handed to ``found``, so that a search that is stopped early has its best one.  Returns
    the seconds of all fits.
    """
    searched, best = 0.0, math.inf

    def attempt(penalty: float) -> int:
        nonlocal searched, best
        components, seconds = fit(penalty)
        searched += seconds
        trial = Trial(penalty, components, seconds, searched)
        if trial.distance(sparsity) < best:
            best = trial.distance(sparsity)
            found(trial)
        return np.count_nonzero(components) - sparsity * len(components)

    high = low = largest
    for _ in range(DESCENTS):
        over = attempt(low)
        if over >= 0:
            break
        high, low = low, low / FACTOR
    for _ in range(HALVINGS):
        if best == 0.0:
            break
        middle = math.sqrt(high * low)
        if attempt(middle) > 0:
            low = middle
        else:
            high = middle
    return searched
