"""Statements about eigenvalues that hold in spite of rounding.

A computed eigenvalue is an estimate: the true one may lie above it.  Everything here rests on one
fact instead (S. M. Rump, *Verification of positive definiteness*, BIT 46, 2006, Corollary 2.4): if
the floating-point Cholesky factorisation of a symmetric matrix succeeds after its diagonal has been
lowered by a small, explicitly known shift, then the matrix is positive definite.  The order in
which the factorisation sums its products does not matter, nor whether it divides by a pivot or
multiplies by its reciprocal: that rounds entries off the diagonal once more, ``n`` times at most,
and the count ``n + 1`` of the theorem is that of the diagonal.

A matrix whose entries are known only up to ``radius`` (each of them, in absolute value) is covered
by lowering the diagonal by a further ``n * radius``.

See ``docs/theory/rigor.md``.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.numerics.rounding import TINY, UNIT, add_up, dot_radius

#: Components are orthogonal to each other up to this.
ORTHOGONALITY = 1e-12
#: Singular values of restricted components up to this one count as zero: a direction left free
#: violates orthogonality by at most this much, and the rounding of the decomposition, about 1e-15,
#: is less than what is missing to the promise.
RANK_TOLERANCE = 0.99 * ORTHOGONALITY
#: Matrices up to this order are treated in extended precision where that helps.
SMALL = 32
#: Supports tested in one sweep of vector operations; their matrices then fit in the L2 cache.
SUPPORTS_AT_ONCE = 3000


def cholesky_shift(size: int, trace: float) -> float:
    """Return by how much the diagonal must be lowered: ``γ(n+1)·tr A`` and some for underflow.

    The factor is taken a little larger than the theorem asks, which also covers the rounding of
    the diagonal itself (``t - m_ii`` and the subtraction of the shift, one unit roundoff each).
    """
    return 1.01 * (size + 4) * UNIT * trace + TINY


def proves_positive_definite(matrix: Array, radius: float = 0.0) -> bool:
    """Return True only if all symmetric matrices within ``radius`` are positive definite.

    False means "not proved".  Only the lower triangle is read.
    """
    size = len(matrix)
    if size == 0:
        return True
    diagonal = matrix.diagonal()
    trace = float(diagonal.sum())
    # LAPACK may take a pivot that is not a number for a positive one: nothing of the kind goes in.
    if not math.isfinite(float(matrix.sum()) + radius) or 3 * (size + 4) * UNIT >= 1:
        return False
    if not math.isfinite(trace) or diagonal.min() < 0:
        return False
    shifted = np.array(matrix, dtype=float, order="F")
    shifted[np.diag_indices(size)] -= cholesky_shift(size, trace) + size * radius * (1 + 4 * UNIT)
    _, info = lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
    return bool(info == 0)


def proves_below(matrix: Array, threshold: float, radius: float = 0.0) -> bool:
    """Return True only if ``λmax < threshold`` is proved for all matrices within ``radius``."""
    negated = -matrix
    negated[np.diag_indices(len(matrix))] += threshold
    return proves_positive_definite(negated, radius)


def upper_eigenvalue(matrix: Array, estimate: float | None = None, radius: float = 0.0) -> float:
    """Return a number proved to be above ``λmax(matrix)``, within rounding of it where possible.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Symmetric.
    estimate : float, optional
        A computed ``λmax``, if the caller has one; any number is safe, a bad one only costs time.
    radius : float
        How far each entry may be from the true one.

    Returns
    -------
    float
        ``t`` with ``λmax < t``; ``inf`` if nothing could be proved (overflow, not a number).
    """
    size = len(matrix)
    if size == 0:
        return -math.inf
    if size == 1:
        upper = add_up(float(matrix[0, 0]), radius)
        return upper if math.isfinite(upper) else math.inf
    if estimate is None:
        estimate = float(np.linalg.eigvalsh(matrix)[-1])
    if not math.isfinite(estimate):
        return math.inf
    trace = float(matrix.diagonal().sum())
    largest = float(np.abs(matrix).max())
    # tI - A has trace n·t - tr A: the slack must exceed the shift which that trace asks for.
    slack = 2 * cholesky_shift(size, max(size * estimate - trace, 0.0) + abs(estimate))
    slack += 1.5 * size * radius + dot_radius(0, abs(estimate) + largest)
    for _ in range(60):
        threshold = estimate + slack
        if not math.isfinite(threshold):
            break
        if proves_below(matrix, threshold, radius):
            return threshold
        slack *= 4
    return math.inf


def constrain(matrix: Array, restricted: Array, level: float) -> tuple[Array, Array]:
    """Fold the constraints ``restrictedᵀ x = 0`` into a quadratic form.

    For every ``B`` the matrix ``matrix + V Bᵀ + B Vᵀ`` has the same quadratic form as ``matrix`` on
    the vectors orthogonal to the columns of ``V = restricted``.  The ``B`` chosen here removes
    the range of ``V`` from the form and puts the value ``level`` there, so that the largest
    eigenvalue of what is returned is that of ``matrix`` on the complement, if ``level`` is less.
    No projector has to be trusted: any ``B`` is valid, and only the rounding of the sum counts.

    Both arguments may carry leading batch axes.

    Returns
    -------
    constrained : array of shape (..., n, n)
    radius : array of shape (...)
        A bound on the rounding error of each entry.
    """
    left, singular, right = np.linalg.svd(restricted, full_matrices=False)
    kept = singular > RANK_TOLERANCE
    left = left * kept[..., None, :]
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=kept)
    image = matrix @ left
    G = image - 0.5 * left @ (left.swapaxes(-1, -2) @ image) - 0.5 * level * left
    B = -(G * inverse[..., None, :]) @ right
    # Small singular values make B large and the rounding of V Bᵀ with it.  Extended precision,
    # where the machine has it, keeps small problems exact to the last digits of Q all the same.
    extended = np.longdouble if matrix.shape[-1] <= SMALL else np.float64
    product = restricted.astype(extended) @ B.astype(extended).swapaxes(-1, -2)
    constrained = (matrix + product + product.swapaxes(-1, -2)).astype(float)
    # An entry is an inner product of length m, its transpose, two additions, and one rounding.
    terms = np.abs(restricted) @ np.abs(B).swapaxes(-1, -2) + np.abs(matrix)
    unit = float(np.finfo(extended).eps)
    radius = dot_radius(restricted.shape[-1], terms.max(axis=(-1, -2)), unit)
    return constrained, radius + 2 * UNIT * np.abs(constrained).max(axis=(-1, -2))


def proved_below_on_supports(
    matrix: Array, supports: IntArray, threshold: float, radius: float = 0.0
) -> BoolArray:
    """Test ``λmax(matrix[Y, Y]) < threshold`` for many supports ``Y`` at once.

    Parameters
    ----------
    matrix : array of shape (n, n)
    supports : integer array of shape (count, p)
        One support in each row.
    threshold : float
    radius : float
        How far each entry of ``matrix`` may be from the true one.

    Returns
    -------
    boolean array of shape (count,)
        True where it is *proved*; False where the eigenvalue is larger or too close to tell.
    """
    count, size = supports.shape
    proved = np.empty(count, dtype=bool)
    entries = np.ascontiguousarray(matrix).ravel()
    for start in range(0, count, SUPPORTS_AT_ONCE):
        rows = np.ascontiguousarray(supports[start : start + SUPPORTS_AT_ONCE].T)
        stack = np.empty((size, size, rows.shape[1]))
        for i in range(size):
            entries.take(rows[i] * len(matrix) + rows[: i + 1], out=stack[i, : i + 1], mode="clip")
        proved[start : start + SUPPORTS_AT_ONCE] = proved_below_stacked(stack, threshold, radius)
    return proved


def proved_below_stacked(
    stack: Array, threshold: float | Array, radius: float | Array
) -> BoolArray:
    """Test ``λmax(stack[:, :, b]) < threshold`` for each b by a shifted Cholesky factorisation.

    The batch is the last axis, so that each step is one vector operation; only the lower triangles
    are read, and they are overwritten.
    """
    size = len(stack)
    np.negative(stack, out=stack)
    on_diagonal = np.arange(size)
    diagonal = stack[on_diagonal, on_diagonal] + threshold
    shift = 1.01 * (size + 4) * UNIT * diagonal.sum(axis=0)
    shift += TINY + size * radius * (1 + 4 * UNIT)
    alive: BoolArray = np.asarray((diagonal >= 0).all(axis=0))
    stack[on_diagonal, on_diagonal] = diagonal - shift
    for j in range(size):
        if j:
            stack[j:, j] -= np.einsum("ikb,kb->ib", stack[j:, :j], stack[j, :j])
        alive &= stack[j, j] > 0
        # A dead column only has to stay harmless: its later pivots are not looked at.
        stack[j + 1 :, j] /= np.sqrt(np.where(alive, stack[j, j], 1.0))
    return alive
