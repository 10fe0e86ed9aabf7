"""From a list of supports, and why there is no other, to the arrays of a certificate.

The format is described in ``docs/reference/certificate.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.certificate.files import Certificate
from orthospca.certificate.writing import LARGEST_HELD, end_to_end, written_rungs
from orthospca.search.outcome import Rung
from orthospca.supports.best import Candidate
from orthospca.verify import FORMAT, fingerprint, version_of


def make_list_certificate(
    matrix: Array,
    kind: str,
    sparsity: int,
    previous: Array,
    listed: Sequence[tuple[IntArray, Candidate]],
    tolerance: float,
    level: float,
    rungs: Sequence[Rung],
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
    """
    claim = "alternatives"
    arrays: dict[str, Array] = {"previous.npy": np.ascontiguousarray(previous)}
    if matrix.nbytes <= LARGEST_HELD:
        arrays[f"{kind}.npy"] = matrix
    if listed:
        supports, ends = end_to_end([support for support, _ in listed])
        arrays["list/supports.npy"], arrays["list/supports_ends.npy"] = supports, ends
        loadings = [best.vector[np.sort(support)] for support, best in listed]
        arrays["list/loadings.npy"] = np.array(loadings)
        arrays["list/variances.npy"] = np.array([best.value for _, best in listed])
        arrays |= {f"stage-0/{name}": array for name, array in written_rungs(rungs).items()}
    manifest = {
        "format": FORMAT,
        "version": version_of(claim, arrays),
        "claim": claim,
        "problem": {
            "kind": kind,
            "features": matrix.shape[1],
            "sha256": fingerprint(matrix),
            "sparsity": [int(sparsity)],
        },
        claim: {
            "previous": len(previous),
            "count": len(listed),
            "tolerance": tolerance,
            "level": level,
        },
    }
    return Certificate(manifest, arrays)
