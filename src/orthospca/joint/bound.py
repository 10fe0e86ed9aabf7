"""One positive semidefinite matrix, and what it proves of every orthonormal set of components.

For orthonormal ``x_1 … x_K`` and every ``M ⪰ 0``

    Σ x_kᵀQx_k  =  Σ x_kᵀ(Q - M)x_k + ⟨M, Σ x_k x_kᵀ⟩  ≤  Σ v_{p_k}(Q - M) + tr M,

because ``Σ x_k x_kᵀ ⪯ I``; v_p is the largest value of a unit vector with p nonzeros.  Any M is
valid, so that rounding costs sharpness and nothing else.  Only features that are used count in the
trace, and with a price for each use of a feature the numbers of users become part of the bound.
"""

from __future__ import annotations

import math

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.numerics.rigor import proves_positive_definite, upper_eigenvalue
from orthospca.numerics.rounding import add_up, mul_up

#: Order up to which all eigenvectors are computed.
SMALL = 100


def rigorous(Q: Array, M: Array, at: IntArray) -> tuple[Array, float] | None:
    """Return ``A`` and a bound on ``tr(Q - A)`` with ``Q - A`` proved positive semidefinite.

    A is Q less M, lifted by what rounding may have taken from its eigenvalues.

    Parameters
    ----------
    Q : array of shape (n, n)
    M : array of shape (m, m)
    at : integer array
        The features that M is of.
    """
    A = np.array(Q)
    block = 0.5 * (M + M.T)
    lift = 1e-14 * (float(np.trace(block)) + float(np.abs(Q[np.ix_(at, at)]).max(initial=0.0)))
    for _ in range(20):
        lifted = block + lift * np.eye(len(at))
        part = Q[np.ix_(at, at)] - lifted
        part = 0.5 * (part + part.T)
        # Q - A is what counts, and it is known up to one rounding.
        difference = Q[np.ix_(at, at)] - part
        size = float(np.abs(Q[np.ix_(at, at)]).max(initial=0.0) + np.abs(part).max(initial=0.0))
        if proves_positive_definite(difference, 2.0**-52 * size):
            A[np.ix_(at, at)] = part
            entries = [*Q.diagonal()[at].tolist(), *(-part.diagonal()).tolist()]
            return A, add_up(*entries) if len(entries) > 1 else 0.0
        lift = 4 * lift + 1e-300
    return None


def cost_of_users(Q: Array, A: Array, prices: Array, users: tuple[IntArray, IntArray]) -> float:
    """Return a bound on the sum of ``(Q - A)_ii + price_i·u_i`` over the features that are used.

    ``u_i`` is the number of components that use feature i; it is at least and at most so large, and
    the bound holds whatever it is.
    """
    given = zip(Q.diagonal().tolist(), A.diagonal().tolist(), prices.tolist(), strict=True)
    terms = [0.0, 0.0]
    for (q, a, price), least, most in zip(given, *(u.tolist() for u in users), strict=True):
        # It is linear in the number of users, from one of them on.
        numbers = (max(least, 1), most) if most else ()
        costs = [add_up(q, -a, mul_up(float(u), price)) for u in numbers]
        terms.append(max([*costs, 0.0] if least == 0 else costs))
    return add_up(*terms)


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
