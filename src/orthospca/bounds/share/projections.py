"""The sets of the share relaxation, and the nearest point in each.

Everything is done in the precision of its arguments, and nothing here has to be exact: what is
proved in the end does not depend on how well these projections are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from orthospca._typing import AnyArray as Array
from orthospca._typing import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Block:
    """Features of which every support has at least and at most so many.

    Attributes
    ----------
    members : integer array
    least, most : int
    """

    members: IntArray
    least: int
    most: int


def labels_of(blocks: Sequence[Block], n: int) -> IntArray:
    """Return which of some disjoint blocks each feature is in, from 1 on; 0 for none."""
    labels = np.zeros(n, dtype=np.intp)
    for number, block in enumerate(blocks, 1):
        if labels[block.members].any():
            raise ValueError("blocks must be disjoint")
        labels[block.members] = number
    return labels


def placed(blocks: Sequence[Block], features: IntArray) -> list[Block]:
    """Return blocks by the places of their members among some features."""
    return [replace(b, members=np.flatnonzero(np.isin(features, b.members))) for b in blocks]


#: Matrices up to this order are decomposed in full: that costs less than anything clever.
LARGEST_FULL = 50
#: Degree of the polynomial by which leading eigenvectors are told from the others.
DEGREE = 6
#: Half of the width of what is filtered out, relative to the largest eigenvalue.
NARROWEST = 1e-5
#: Lanczos steps for the lower end of the spectrum.
EDGE_STEPS = 6


def simplex(values: Array, count: int = 1) -> Array:
    """Project descending numbers onto those from 0 to ``1 / count`` that sum to one.

    Only the positive ones are returned.
    """
    real = values.dtype.type
    for full in range(count):
        # The first ones are at their largest; the others share what is left.
        left = values[full:]
        sums = np.cumsum(left, dtype=float) - (1 - full / count)
        rank = int(np.flatnonzero(left * np.arange(1, len(left) + 1) > sums)[-1]) + 1
        found = left[:rank] - real(sums[rank - 1] / rank)
        if count == 1 or found[0] <= 1 / count:
            return np.concatenate([np.full(full, 1 / count, values.dtype), found])
    return np.full(count, 1 / count, values.dtype)


class Spectraplex:
    """Projections onto positive semidefinite matrices of trace one, each near the one before.

    For several components together no eigenvalue is larger than one over their number.  The point
    is of low rank, and its eigenvectors move little from one call to the next: a filtered subspace
    iteration that begins with the last ones takes a few products of a matrix with some columns
    instead of a full decomposition.

    Parameters
    ----------
    count : int
        Components whose mean the matrix is.
    """

    def __init__(self, count: int = 1) -> None:
        self._count = count
        self._basis: Array | None = None
        self._cut = self._top = 0.0
        self._lowest: Array | None = None
        #: The smallest eigenvalue, about.
        self.floor = 0.0

    def __call__(self, matrix: Array) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors of the nearest point."""
        if len(matrix) <= LARGEST_FULL or self._basis is None:
            return self._decomposed(matrix)
        return self._filtered(matrix, self._basis)

    def _weights(self, values: Array) -> Array:
        """The eigenvalues of the nearest point that are not zero."""
        return simplex(values, self._count)

    def _decomposed(self, matrix: Array) -> tuple[Array, Array]:
        decompose = lapack.ssyevd if matrix.dtype == np.float32 else lapack.dsyevd
        values, vectors, info = decompose(matrix, lower=1)
        if info:
            raise np.linalg.LinAlgError("no eigenvalues")
        self.floor = float(values[0])
        values, vectors = values[::-1], vectors[:, ::-1]
        weights = self._weights(values)
        self._keep(values, vectors, len(weights))
        return weights, vectors[:, : len(weights)]

    def _keep(self, values: Array, vectors: Array, rank: int) -> None:
        """Keep what the next call begins with: some more vectors than have been used."""
        count = min(rank + max(10, rank // 2), vectors.shape[1])
        self._basis = np.ascontiguousarray(vectors[:, :count])
        self._cut, self._top = float(values[count - 1]), float(values[0])

    def _filtered(self, matrix: Array, basis: Array) -> tuple[Array, Array]:
        """Chebyshev filter, orthonormalisation, Rayleigh and Ritz."""
        real = matrix.dtype.type
        self.floor = self._edge(matrix)
        # Polynomials of what is far above the rest must not overflow.
        centre, half = 0.5 * (self.floor + self._cut), 0.5 * (self._cut - self.floor)
        half = max(half, 1e-6, NARROWEST * abs(self._top))
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
        weights = self._weights(values)
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


class PositivePart(Spectraplex):
    """Projections onto positive semidefinite matrices."""

    def _weights(self, values: Array) -> Array:
        return values[values > 0]


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
    from the m of the last call.  Where a support has at least or at most so many features of a
    block, the sum over the block is held, in columns where it would leave its range, with a
    multiplier of its own; which columns these are is seen from one call to the next.

    Parameters
    ----------
    inside : boolean array
        The included features.
    size : int
        Features in a support.
    dtype : numpy dtype
    blocks : sequence of Block
    """

    def __init__(
        self,
        inside: BoolArray,
        size: int,
        dtype: np.dtype[np.floating],
        blocks: Sequence[Block] = (),
    ) -> None:
        n, self.inside = len(inside), inside
        self._any = bool(inside.any())
        others = np.count_nonzero(inside) - inside.astype(int)
        self._weight = (1 + others).astype(dtype)
        self._total = size - 1 - others
        self.labels = labels_of(blocks, n)
        self._rows = [np.flatnonzero(self.labels == c) for c in range(len(blocks) + 1)]
        self._members = (self.labels == np.arange(len(blocks) + 1)[:, None]).astype(dtype)
        # What the entries of a block off the diagonal may sum to, in multiples of d.
        shape = (len(blocks), n)
        here = self.labels == np.arange(1, len(blocks) + 1)[:, None]
        taken = here + (here & inside).sum(axis=1, keepdims=True) - (here & inside).astype(int)
        self._least = np.array([b.least for b in blocks], dtype=int).reshape(-1, 1) - taken
        self._most = np.array([b.most for b in blocks], dtype=int).reshape(-1, 1) - taken
        #: Columns in which a block is held, and at what.
        self._held = np.zeros(shape, bool)
        self._at = np.zeros(shape, int)
        self.m = np.zeros((len(blocks) + 1, n), dtype)
        self.d = np.full(n, 1 / n, dtype)
        self._diagonal = np.diag_indices(n)

    def _by_block(self, table: Array) -> Array:
        """Sums over the rest and over each block that is held; what is not is part of the rest."""
        if len(self._rows) == 1:
            return np.asarray(table.sum(axis=0)[None])
        sums = self._members @ table
        sums[0] += np.where(self._held, 0, sums[1:]).sum(axis=0)
        sums[1:] *= self._held
        return sums

    def __call__(self, V: Array, d: Array, rounds: int, accuracy: float) -> tuple[Array, Array]:
        """Project; V is overwritten, and its diagonal does not count."""
        never, real = V.dtype.type(-1e9), V.dtype.type
        V[self._diagonal] = 0
        target = d
        if self._any:
            target = d + V[self.inside].sum(axis=0)
            V[self.inside] = never
        V[self._diagonal] = never
        weight, m, cap = self._weight, self.m, self.d
        count = np.vstack(
            [self._total - (self._held * self._at).sum(axis=0), self._held * self._at]
        )
        count = count.astype(V.dtype)
        above, capped = np.empty_like(V), np.empty_like(V)
        step = np.zeros_like(m)
        for _ in range(rounds):
            self._above(V, m, above)
            total, positive = above.sum(axis=0), self._by_block(above > 0)
            # The cap that belongs to this m; twice is enough so close to the end.
            for _ in range(2):
                full = np.count_nonzero(above > cap, axis=0)
                np.minimum(above, cap, out=capped)
                excess = total - capped.sum(axis=0) + full * cap
                cap = (target + (count * m).sum(axis=0) + excess) / (weight + full)
                cap = np.maximum(cap, 0).astype(V.dtype)
            over = above > cap
            filled, full = self._by_block(over), np.count_nonzero(over, axis=0)
            np.minimum(above, cap, out=capped)
            missing = self._by_block(capped) - count * cap
            # Newton's matrix is diagonal but for the cap, which all sums have in common.
            diagonal = np.maximum(positive - filled, real(0.5))
            turned = np.where(cap > 0, count - filled, 0)
            through = turned / diagonal
            shared = (through * missing).sum(axis=0)
            shared /= weight + full + (through * turned).sum(axis=0)
            last, step = step, missing / diagonal - through * shared
            # Back and forth between two pieces would go on for ever: back is half of forth at most.
            shorter = np.sign(step) * np.minimum(np.abs(step), real(0.5) * np.abs(last))
            step = np.where(step * last < 0, shorter, step)
            m = (m + step).astype(V.dtype)
            if np.abs(step).max() < accuracy:
                break
        self.m, self.d = m, cap
        self._above(V, m, above)
        np.minimum(above, cap, out=above)
        self._hold(above, cap)
        if self._any:
            above[self.inside] = cap
        above[self._diagonal] = 0
        return above, cap

    def _above(self, V: Array, m: Array, out: Array) -> None:
        if len(m) > 1:
            m = np.vstack([m[:1], np.where(self._held, m[1:], m[0])])[self.labels]
        np.subtract(V, m, out=out)
        np.maximum(out, 0, out=out)

    def _hold(self, t: Array, cap: Array) -> None:
        """See which blocks have to be held in the next call, and at what."""
        for c, rows in enumerate(self._rows[1:]):
            held, at = self._held[c], self._at[c]
            least, most = self._least[c], self._most[c]
            pushed = np.where(at == most, self.m[c + 1] - self.m[0], self.m[0] - self.m[c + 1])
            stays = held & ((pushed > 0) | (least == most))
            share = t[rows].sum(axis=0) / np.maximum(cap, 1e-12)
            out = ~held & ((share > most + 1e-3) | (share < least - 1e-3))
            at = np.where(out, np.where(share > most, most, least), at)
            self.m[c + 1] = np.where(stays, self.m[c + 1], self.m[0])
            self._held[c], self._at[c] = stays | out, at
