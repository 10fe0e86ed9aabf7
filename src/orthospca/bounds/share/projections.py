"""The sets of the share relaxation, and the nearest point in each.

Everything is done in the precision of its arguments, and nothing here has to be exact: what is
proved in the end does not depend on how well these projections are computed.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from orthospca._typing import AnyArray as Array
from orthospca._typing import BoolArray

#: Matrices up to this order are decomposed in full: that costs less than anything clever.
LARGEST_FULL = 50
#: Degree of the polynomial by which leading eigenvectors are told from the others.
DEGREE = 6
#: Lanczos steps for the lower end of the spectrum.
EDGE_STEPS = 6


def simplex(values: Array) -> Array:
    """Project descending numbers onto those ≥ 0 that sum to one; only the positive are returned."""
    sums = np.cumsum(values, dtype=float) - 1
    rank = int(np.flatnonzero(values * np.arange(1, len(values) + 1) > sums)[-1]) + 1
    return np.asarray(values[:rank] - values.dtype.type(sums[rank - 1] / rank))


class Spectraplex:
    """Projections onto positive semidefinite matrices of trace one, each near the one before.

    The point is of low rank, and its eigenvectors move little from one call to the next: a filtered
    subspace iteration that begins with the last ones takes a few products of a matrix with some
    columns instead of a full decomposition.
    """

    def __init__(self) -> None:
        self._basis: Array | None = None
        self._cut = 0.0
        self._lowest: Array | None = None
        #: The smallest eigenvalue, about.
        self.floor = 0.0

    def __call__(self, matrix: Array) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors of the nearest point."""
        if len(matrix) <= LARGEST_FULL or self._basis is None:
            return self._decomposed(matrix)
        return self._filtered(matrix, self._basis)

    def _decomposed(self, matrix: Array) -> tuple[Array, Array]:
        decompose = lapack.ssyevd if matrix.dtype == np.float32 else lapack.dsyevd
        values, vectors, info = decompose(matrix, lower=1)
        if info:
            raise np.linalg.LinAlgError("no eigenvalues")
        self.floor = float(values[0])
        values, vectors = values[::-1], vectors[:, ::-1]
        weights = simplex(values)
        self._keep(values, vectors, len(weights))
        return weights, vectors[:, : len(weights)]

    def _keep(self, values: Array, vectors: Array, rank: int) -> None:
        """Keep what the next call begins with: some more vectors than have been used."""
        count = min(rank + max(10, rank // 2), vectors.shape[1])
        self._basis = np.ascontiguousarray(vectors[:, :count])
        self._cut = float(values[count - 1])

    def _filtered(self, matrix: Array, basis: Array) -> tuple[Array, Array]:
        """Chebyshev filter, orthonormalisation, Rayleigh and Ritz."""
        real = matrix.dtype.type
        self.floor = self._edge(matrix)
        centre, half = 0.5 * (self.floor + self._cut), max(0.5 * (self._cut - self.floor), 1e-6)
        before, now = basis, (matrix @ basis - real(centre) * basis) / real(half)
        for _ in range(DEGREE - 1):
            following = matrix @ now
            following -= real(centre) * now
            following *= real(2 / half)
            following -= before
            before, now = now, following
        orthonormal = np.linalg.qr(now)[0]
        core = orthonormal.T @ (matrix @ orthonormal)
        values, turned = np.linalg.eigh(0.5 * (core + core.T))
        values, vectors = values[::-1], orthonormal @ turned[:, ::-1]
        weights = simplex(values)
        if len(weights) > vectors.shape[1] - 5:
            # All of them are wanted: there may be more.
            return self._decomposed(matrix)
        self._keep(values, vectors, len(weights))
        return weights, vectors[:, : len(weights)]

    def _edge(self, matrix: Array) -> float:
        """Lower end of the spectrum, about, by Lanczos steps from the vector found last."""
        real = matrix.dtype.type
        vector = np.linspace(1, 2, len(matrix)) if self._lowest is None else self._lowest
        vectors = [(vector / np.linalg.norm(vector)).astype(matrix.dtype)]
        diagonal: list[float] = []
        beside: list[float] = []
        for _ in range(EDGE_STEPS):
            image = matrix @ vectors[-1]
            diagonal.append(float(image @ vectors[-1]))
            image -= real(diagonal[-1]) * vectors[-1]
            if beside:
                image -= real(beside[-1]) * vectors[-2]
            beside.append(float(np.linalg.norm(image)))
            if beside[-1] < 1e-8:
                break
            vectors.append(image / real(beside[-1]))
        small = np.diag(diagonal)
        off = np.arange(len(diagonal) - 1)
        small[off, off + 1] = small[off + 1, off] = beside[: len(off)]
        values, turned = np.linalg.eigh(small)
        lowest = turned[:, 0]
        self._lowest = np.stack(vectors[: len(lowest)], axis=1) @ lowest.astype(matrix.dtype)
        error = beside[-1] * abs(float(lowest[-1]))
        return float(values[0]) - 0.5 * error - 0.02 * abs(float(values[0]))


def onto_pairs(x: Array, T: Array) -> tuple[Array, Array]:
    """Project all ``[[T_ij, x_ij], [x_ij, T_ji]]`` onto positive semidefinite matrices.

    ``x`` is symmetric and overwritten; the diagonals do not count.
    """
    real = x.dtype.type
    mean = T + T.T
    mean *= real(0.5)
    half = T - mean
    root = half * half
    work = x * x
    root += work
    np.sqrt(root, out=root)
    np.add(mean, root, out=work)
    np.maximum(work, 0, out=work)
    mean -= root
    np.maximum(mean, 0, out=mean)
    shares = work + mean
    work -= mean
    root += np.finfo(x.dtype).tiny
    work /= root
    work *= real(0.5)
    x *= work
    half *= work
    shares *= real(0.5)
    shares += half
    return x, shares


class Columns:
    """Projections of columns (t, d) onto ``0 ≤ t ≤ d``, ``Σt = k·d``, each near the one before.

    With included features f, for which ``t_f = d``, the others sum to what is left.  The multiplier
    m of the sum solves a decreasing, piecewise linear equation in each column: Newton's method,
    from the m of the last call.

    Parameters
    ----------
    inside : boolean array
        The included features.
    size : int
        Features in a support.
    dtype : numpy dtype
    """

    def __init__(self, inside: BoolArray, size: int, dtype: np.dtype[np.floating]) -> None:
        n, self.inside = len(inside), inside
        self._any = bool(inside.any())
        others = np.count_nonzero(inside) - inside.astype(int)
        self._weight = (1 + others).astype(dtype)
        self._count = (size - 1 - others).astype(dtype)
        self.m = np.zeros(n, dtype)
        self.d = np.full(n, 1 / n, dtype)
        self._diagonal = np.diag_indices(n)

    def __call__(self, V: Array, d: Array, rounds: int, accuracy: float) -> tuple[Array, Array]:
        """Project; V is overwritten, and its diagonal does not count."""
        never, real = V.dtype.type(-1e9), V.dtype.type
        V[self._diagonal] = 0
        target = d
        if self._any:
            target = d + V[self.inside].sum(axis=0)
            V[self.inside] = never
        V[self._diagonal] = never
        count, weight, m, cap = self._count, self._weight, self.m, self.d
        above, capped = np.empty_like(V), np.empty_like(V)
        step = np.zeros_like(m)
        for _ in range(rounds):
            np.subtract(V, m, out=above)
            np.maximum(above, 0, out=above)
            total, positive = above.sum(axis=0), np.count_nonzero(above, axis=0)
            # The cap that belongs to this m; twice is enough so close to the end.
            for _ in range(2):
                full = np.count_nonzero(above > cap, axis=0)
                np.minimum(above, cap, out=capped)
                excess = total - capped.sum(axis=0) + full * cap
                cap = np.maximum((target + count * m + excess) / (weight + full), 0).astype(V.dtype)
            full = np.count_nonzero(above > cap, axis=0)
            np.minimum(above, cap, out=capped)
            missing = capped.sum(axis=0) - count * cap
            slope = (count - full) ** 2 / (weight + full)
            slope = (positive - full) + np.where(cap > 0, slope, 0)
            last, step = step, missing / np.maximum(slope, real(0.5))
            # Back and forth between two pieces would go on for ever: back is half of forth at most.
            shorter = np.sign(step) * np.minimum(np.abs(step), real(0.5) * np.abs(last))
            step = np.where(step * last < 0, shorter, step)
            m = (m + step).astype(V.dtype)
            if np.abs(step).max() < accuracy:
                break
        self.m, self.d = m, cap
        np.subtract(V, m, out=above)
        np.maximum(above, 0, out=above)
        np.minimum(above, cap, out=above)
        if self._any:
            above[self.inside] = cap
        above[self._diagonal] = 0
        return above, cap
