"""From a list of supports, and why there is no other, to the arrays of a certificate.

The format is described in ``docs/reference/certificate.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.certificate.files import Certificate
from orthospca.certificate.writing import assembled, end_to_end
from orthospca.search.outcome import Rung
from orthospca.supports.best import Candidate


def make_list_certificate(
    matrix: Array,
    kind: str,
    sparsity: int,
    previous: Array,
    listed: Sequence[tuple[IntArray, Candidate]],
    tolerance: float,
    level: float,
    rungs: Sequence[Rung],
    asked: dict[str, Any] | None = None,
) -> Certificate:
    """Gather what a checker needs.

    Parameters
    ----------
    matrix : array of shape (n, n), or (m, n)
        Q, or B of ``Q = BᵀB``.
    kind : {"matrix", "factor"}
    sparsity : int
    previous : array of shape (k, n)
        Components that the vectors are orthogonal to.
    listed : sequence of pairs
        A support and the best vector on it; none if no vector is feasible at all.
    tolerance : float
        Within which of the best variance nothing is missing.
    level : float
        Not above the variance of any support that is listed; all others are below it.
    rungs : sequence of Rung
        Of the ladder; the last one has the tree that ends in what is listed.
    asked : dict, optional
        Features in or out.
    """
    arrays: dict[str, Array] = {"previous.npy": np.ascontiguousarray(previous)}
    if listed:
        supports, ends = end_to_end([support for support, _ in listed])
        loadings = [best.vector[np.sort(support)] for support, best in listed]
        arrays |= {
            "list/supports.npy": supports,
            "list/supports_ends.npy": ends,
            "list/loadings.npy": np.array(loadings),
            "list/variances.npy": np.array([best.value for _, best in listed]),
        }
    count = {"previous": len(previous), "count": len(listed)}
    claimed = {**count, "tolerance": tolerance, "level": level}
    said = {"claim": "alternatives", "alternatives": claimed}
    ladders = [rungs] if listed else []
    return assembled(matrix, kind, [sparsity], said, arrays, ladders, asked)
