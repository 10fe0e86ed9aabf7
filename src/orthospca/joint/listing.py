"""All supports whose value reaches a level, for a problem given by its matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from orthospca._typing import IntArray
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import WalkTuning
from orthospca.search.listing import Listing
from orthospca.search.outcome import Rung
from orthospca.search.views import MatrixView


def supports_above(
    problem: Subproblem,
    level: float,
    rungs: Sequence[Rung],
    most: int,
    tuning: WalkTuning,
    stop: Callable[[], bool],
) -> list[IntArray] | None:
    """Return every support whose value may be at least ``level``; None if they are not all found.

    Parameters
    ----------
    problem : Subproblem
        Without features that are used up.
    level : float
    rungs : sequence of Rung
        What is proved for smaller sparsities, if anything.
    most : int
        Supports to list at most.
    tuning : WalkTuning
    stop : callable
    """
    form = MatrixView(problem)
    p = problem.sparsity
    margin = 4 * problem.resolution + 4 * form.rounding
    lowered = level - margin
    below = rungs[p - 2].upper if 1 < p <= len(rungs) + 1 else math.inf
    kept = np.arange(form.n_features)
    outside = -math.inf
    if below < lowered:
        sieve = form.sieve(p, lowered, below, stop)
        kept, outside = sieve.kept, sieve.outside
    if len(kept) < p:
        return []
    part, kept = form.restricted(kept, p)
    listing = Listing(part, lowered, level - 0.5 * margin, most, tuning)
    if not listing.run(stop) or outside > level:
        return None
    return [kept[support] for support in listing.supports]
