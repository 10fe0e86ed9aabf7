"""Alternatives as people see them: which variables come first, and how far below the best."""

from __future__ import annotations

import numpy as np

from orthospca import Alternatives
from orthospca._typing import IntArray


def most_frequent(found: Alternatives, most: int) -> tuple[IntArray, int]:
    """Return the features that occur, the most frequent first; and how many are left out.

    Of features in as many supports, those that are in better ones come first.
    """
    counts = np.zeros(found.n_features, dtype=np.intp)
    first = np.full(found.n_features, len(found))
    for i in reversed(range(len(found))):
        counts[found.supports[i]] += 1
        first[found.supports[i]] = i
    used = np.flatnonzero(counts)
    order = used[np.lexsort((used, first[used], -counts[used]))]
    return order[:most], max(len(order) - most, 0)


def below_best(found: Alternatives) -> list[str]:
    """How far each support is below the best, in words."""
    best = float(found.variances.max(initial=-np.inf))
    size = abs(best) or 1.0
    shares = [(best - float(value)) / size for value in found.variances]
    return ["the best" if share < 1e-9 else f"{100 * share:.2g} % below" for share in shares]
