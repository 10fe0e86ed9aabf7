"""A feasible point of the dual of the relaxation: what makes a proof of an upper bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, ArrayLike, BoolArray
from orthospca.numerics.sums import row_sums


@dataclass(frozen=True)
class Multipliers:
    """A feasible point of the dual: a proof of an upper bound.

    Attributes
    ----------
    W : (n, n) array
        Positive semidefinite.
    A : (n, n) array
        Any real matrix; row ``i`` is ``a_i``.
    s : (n,) array
        Positive.
    N : (n, n) array
        Symmetric, ``|N_ij| <= W_ij + A_ij + A_ji`` off the diagonal, ``N_ii = W_ii + 2 A_ii``.
    """

    W: Array
    A: Array
    s: Array
    N: Array

    def matrix(self, Q: Array, sparsity: int, inside: BoolArray) -> Array:
        """Return ``M = Q - N + Diag(r_i / s_i)``.

        ``r_i`` is the largest ``||a_i restricted to T||^2`` over the supports T that contain i and
        the variables forced in (`inside`): y lives on T, so no other entry of a_i counts.
        """
        M = Q - self.N
        M.flat[:: len(M) + 1] += row_sums(self.A * self.A, inside, sparsity) / self.s
        return M

    def costs(self) -> Array:
        """Return ``c_i = W_ii + s_i``, the price of having variable ``i`` in the support."""
        return self.W.diagonal() + self.s

    def restrict(self, keep: ArrayLike) -> Multipliers:
        """Return the multipliers of the variables at positions `keep`; they stay feasible."""
        keep = np.asarray(keep, dtype=np.intp)
        block = np.ix_(keep, keep)
        return Multipliers(self.W[block], self.A[block], self.s[keep], self.N[block])
