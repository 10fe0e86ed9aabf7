"""Variances before anything is solved: those of ordinary PCA, and whether one drowns the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.data.columns import CHUNK
from orthospca.data.covariance import DataCovariance
from orthospca.data.problem import diagonal_of
from orthospca.data.sparse import FilledColumns
from orthospca.model.given import named
from orthospca.model.result import Result
from orthospca.model.tuning import DEFAULT
from orthospca.model.validation import validate_covariance

#: Matrices up to this order are decomposed in full.
LARGEST_MATRIX = DEFAULT.wide.formed
#: Up to this order everything is computed at once.  Above it a few eigenvalues come by Lanczos, in
#: a fraction of the time, and Ctrl-C is heard meanwhile.
SMALL = 500
#: Relative accuracy asked of the Lanczos iteration; the figures are for pictures and shares.
ACCURACY = 1e-9
#: Traces of the same matrix, formed in two ways, differ by no more than this share.
SAME = 1e-6
#: An eigenvalue was missed if there is another one by this share above the last.
REPEATED = 1e-7


#: A variable with more of the variance, and standard deviations that differ more, are told.
DOMINANT, FAR_APART = 0.8, 100.0


def unevenness(variances: Array, names: Sequence[str] | None) -> str:
    """What to know before covariances are analysed: one variable, or a few, drown the others.

    Parameters
    ----------
    variances : array
        Of the variables.
    names : sequence of str or None
        What they are called.

    Returns
    -------
    str
        Without an end; empty if all is well.
    """
    varying = np.flatnonzero(variances > 0)
    if len(varying) < 2:
        return ""
    first = varying[variances[varying].argmax()]
    last = varying[variances[varying].argmin()]
    share = variances[first] / variances[varying].sum()
    large, small = np.sqrt(variances[[first, last]])
    most, least = (named([j], names) for j in (first, last))
    if share > DOMINANT:
        return f"{most} holds {100 * share:.3g} % of the variance"
    if large > FAR_APART * small:
        times = f"{large / small:.3g}-fold"
        return (
            f"standard deviations differ {times}, from {small:.3g} of {least} to {large:.3g} of "
            f"{most}"
        )
    return ""


def ordinary_variances(Q: Any, result: Result) -> Array:
    """The variances of as many components of ordinary PCA, of the matrix that was solved.

    Parameters
    ----------
    Q : array-like of shape (n, n), or DataCovariance
        Another matrix is refused, by its order and its trace.
    result : Result
    """
    if not isinstance(Q, DataCovariance):
        Q = validate_covariance(Q)
    n, trace = Q.shape[0], float(diagonal_of(Q).sum())
    if n != result.n_features:
        raise InputError(
            f"Q must be the matrix that was solved, of {result.n_features} features, got {n}"
        )
    solved, size = result.total_variance, float(np.abs(diagonal_of(Q)).sum())
    if abs(trace - solved) > SAME * max(size, abs(solved)):
        raise InputError(
            f"Q must be the matrix that was solved, whose trace is {solved:.6g}, got one with "
            f"{trace:.6g}"
        )
    return leading_eigenvalues(Q, max(result.n_components, 1))


def leading_eigenvalues(Q: Any, count: int, largest: int = LARGEST_MATRIX) -> Array:
    """The largest eigenvalues of Q, descending: the variances of ordinary PCA.

    Parameters
    ----------
    Q : array-like of shape (n, n), or DataCovariance
        A few eigenvalues of a large matrix come from a Lanczos iteration, whatever its rank.  With
        a :class:`~orthospca.DataCovariance` ``Q = BᵀB`` of m samples, the smaller one of Q and
        ``BBᵀ``, which have the same positive eigenvalues, is formed.  If both are too large, the
        iteration multiplies by B and Bᵀ.
    count : int
        How many; all of them if there are fewer.
    largest : int
        Order of the largest matrix that is formed.
    """
    if not isinstance(Q, DataCovariance):
        return _largest_of(np.asarray(Q, dtype=np.float64), count)
    count = min(count, Q.n_features)
    order = min(Q.n_samples, Q.n_features)
    if order > largest and 2 * count < order:
        return _largest_of_data(Q, count)
    if Q.n_features <= Q.n_samples:
        return _largest_of(Q.submatrix(np.arange(order)), count)
    gram = np.zeros((order, order))
    for part in _parts(Q):
        B = Q.factor(part)
        gram += B @ B.T
    found = np.zeros(count)  # beyond the number of samples all of them are zero
    found[:order] = np.maximum(_largest_of(gram, count), 0.0)
    return found


def _largest_of(matrix: Array, count: int) -> Array:
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackError

    n = len(matrix)
    if n > SMALL and 100 * count <= n:
        # Where the iteration breaks down, as on a matrix of zeros, the long way is still there.
        with suppress(ArpackError):
            return _by_lanczos(lambda v: matrix @ v, n, count)
    window = (max(n - count, 0), n - 1)
    values: Array = eigh(matrix, eigvals_only=True, subset_by_index=window)[::-1]
    return values


def _largest_of_data(Q: DataCovariance, count: int) -> Array:
    """From products alone, with the smaller one of ``BᵀB`` and ``BBᵀ``."""
    times, times_transposed = _products(Q)
    if Q.n_samples <= Q.n_features:
        times, times_transposed = times_transposed, times
    order = min(Q.n_samples, Q.n_features)
    return _by_lanczos(lambda v: times_transposed(times(v)), order, count)


def _by_lanczos(product: Callable[[Array], Array], order: int, count: int) -> Array:
    """From products with vectors, the same each time.

    One vector finds an eigenvalue that occurs several times only once.  So those found are lowered
    to the last of them, and another one above it is looked for, until there is none.
    """
    # A start of ones would be orthogonal to everything that centred samples span.
    rng = np.random.default_rng(0)
    values, vectors = _lanczos(product, order, count, rng.standard_normal(order))
    for _ in range(count):
        excess = values - values[-1]

        def lowered(v: Array, found: Array = vectors, excess: Array = excess) -> Array:
            return product(v) - found @ (excess * (found.T @ v))

        value, vector = _lanczos(lowered, order, 1, rng.standard_normal(order))
        if value[0] <= values[-1] + REPEATED * abs(values[0]):
            break
        values, vectors = np.append(values, value), np.hstack([vectors, vector])
        first = np.argsort(-values, kind="stable")[:count]
        values, vectors = values[first], vectors[:, first]
    return values


def _lanczos(
    product: Callable[[Array], Array], order: int, count: int, start: Array
) -> tuple[Array, Array]:
    """Largest eigenvalues, descending, and their vectors."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    operator = LinearOperator((order, order), matvec=product, dtype=np.float64)
    values, vectors = eigsh(operator, count, which="LA", v0=start, tol=ACCURACY)
    return values[::-1], vectors[:, ::-1]


def _products(Q: DataCovariance) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Multiplication by B and by Bᵀ; sparse data are centred in the product, not in storage."""
    source = Q.source
    if not isinstance(source, FilledColumns):
        return (
            lambda v: sum((Q.factor(part) @ v[part] for part in _parts(Q)), np.zeros(Q.n_samples)),
            lambda u: Q.times(u[:, None])[:, 0],
        )
    data, mean, divisor = source.data, source.mean, source.divisor
    return (
        lambda v: data @ (v / divisor) - mean @ (v / divisor),
        lambda u: (data.T @ u - mean * u.sum()) / divisor,
    )


def _parts(Q: DataCovariance) -> list[IntArray]:
    """All columns, so many at a time as are read together."""
    n = Q.n_features
    return [np.arange(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]
