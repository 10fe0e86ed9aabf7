"""One definition for all: what the span of the components explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.instances import Array

#: Singular values of the unit components below this belong to directions that are there already.
INDEPENDENT = 1e-10


@dataclass(frozen=True)
class Score:
    """Judgement of components.

    Attributes
    ----------
    fewest, most : int
        Nonzeros of a component.
    variance : float
        ``tr(P Q) / tr Q``, where P projects onto the span of the components: what least squares
        from all the components together explains.  For orthogonal components it is the sum of
        ``xᵀQx`` over the trace; for others that sum would count some of it twice.
    cosine : float
        Largest |cosine| of two components.
    """

    fewest: int
    most: int
    variance: float
    cosine: float


def score(components: Array, data: Array) -> Score:
    """Judge components, one in each row, on data with mean zero."""
    counts = np.count_nonzero(components, axis=1)
    lengths = np.linalg.norm(components, axis=1)
    units = components[lengths > 0.0] / lengths[lengths > 0.0, None]
    cosines = np.abs(units @ units.T)
    np.fill_diagonal(cosines, 0.0)
    used = np.flatnonzero(units.any(axis=0))
    # Only the columns that are used take part in the projection.
    basis, values, _ = np.linalg.svd(units[:, used].T, full_matrices=False)
    explained = np.square(data[:, used] @ basis[:, values > INDEPENDENT]).sum()
    return Score(
        int(counts.min()),
        int(counts.max()),
        float(explained / np.square(data).sum()),
        float(cosines.max(initial=0.0)),
    )
