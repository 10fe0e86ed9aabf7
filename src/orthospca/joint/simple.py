"""Bounds on the total variance of every set that cost little."""

from __future__ import annotations

import math

import numpy as np

from orthospca._typing import Array
from orthospca.joint.bound import rigorous
from orthospca.numerics.rigor import upper_eigenvalue
from orthospca.numerics.rounding import add_up, mul_up

#: Order up to which all eigenvectors are computed.
SMALL = 100


def spectral_bound(Q: Array, count: int) -> float:
    """Return a proved bound on the sum of the ``count`` largest eigenvalues.

    That is the most that orthonormal vectors can have, sparse or not: the bound of ordinary PCA.
    With ``M`` the part of Q above the ``count``-th eigenvalue λ it is ``tr M + count·λmax(Q - M)``.
    """
    from scipy.sparse.linalg import ArpackError, eigsh  # not needed where the package is imported

    n = len(Q)
    try:
        if n <= SMALL or count >= n - 1:
            values, vectors = np.linalg.eigh(Q)
            values, vectors = values[-count:], vectors[:, -count:]
        else:
            start = np.ones(n) / math.sqrt(n)
            values, vectors = eigsh(Q, k=count, which="LA", v0=start)
    except (ArpackError, np.linalg.LinAlgError):
        return math.inf
    lowest = float(values.min())
    if not np.isfinite(values).all():
        return math.inf
    found = rigorous(Q, (vectors * (values - lowest)) @ vectors.T, np.arange(n))
    if found is None:
        return math.inf
    A, trace = found
    return add_up(trace, mul_up(float(count), upper_eigenvalue(A, lowest)))
