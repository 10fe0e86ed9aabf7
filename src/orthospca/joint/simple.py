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


def spectral_part(Q: Array, count: int) -> Array | None:
    """The part of Q above its ``count``-th largest eigenvalue; None if it is not found."""
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
        return None
    if not np.isfinite(values).all():
        return None
    return np.asarray((vectors * (values - values.min())) @ vectors.T)


def spectral_bound(Q: Array, count: int) -> float:
    """Return a proved bound on the sum of the ``count`` largest eigenvalues.

    That is the most that orthonormal vectors can have, sparse or not: the bound of ordinary PCA.
    With ``M`` the part of Q above the ``count``-th eigenvalue it is ``tr M + count·λmax(Q - M)``.
    """
    M = spectral_part(Q, count)
    found = None if M is None else rigorous(Q, M, np.arange(len(Q)))
    if found is None:
        return math.inf
    A, trace = found
    return add_up(trace, mul_up(float(count), upper_eigenvalue(A)))
