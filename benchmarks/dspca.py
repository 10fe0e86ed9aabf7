"""The ℓ1 semidefinite relaxation (d'Aspremont, El Ghaoui, Jordan, Lanckriet, SIAM Review 2007).

    max ⟨Q, X⟩  subject to  tr X = 1, Σ|Xᵢⱼ| ≤ p, X ⪰ 0

bounds the best variance with p features, because ‖x‖₁² ≤ p for a unit vector with p nonzeros.  Its
dual, ``min λmax(Q + U) + p·max|Uᵢⱼ|``, is given to the open conic solver SCS; whatever U comes
back, those two terms are a bound, so that it need not have converged.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from benchmarks.instances import Array


def l1_semidefinite_bound(matrix: Array, sparsity: int, *, accuracy: float = 1e-5) -> float:
    """The bound at the U that SCS finds, evaluated in floating point."""
    import scs

    n = len(matrix)
    scale = float(np.abs(matrix).max())
    scaled = matrix / scale
    # SCS takes the lower triangle, column after column, with √2 off the diagonal.
    columns, rows = np.triu_indices(n)
    count = len(rows)
    weights = np.where(rows == columns, 1.0, np.sqrt(2.0))
    ones = np.ones(count)
    entries = np.arange(count)
    # The variables: λ, μ, the triangle of U.  μ ± u ≥ 0, then λI − Q − U ⪰ 0.
    identity = sparse.coo_matrix((ones, (entries, entries + 2)), shape=(count, count + 2))
    largest = sparse.coo_matrix((ones, (entries, np.ones(count, int))), shape=(count, count + 2))
    on = rows == columns
    diagonal = sparse.coo_matrix(
        (-ones[on], (entries[on], np.zeros(n, int))), shape=(count, count + 2)
    )
    below = sparse.diags(weights) @ identity + diagonal
    A = sparse.vstack([identity - largest, -identity - largest, below]).tocsc()
    b = np.concatenate([np.zeros(2 * count), -weights * scaled[rows, columns]])
    c = np.concatenate([[1.0, float(sparsity)], np.zeros(count)])
    solver = scs.SCS(
        {"A": A, "b": b, "c": c},
        {"l": 2 * count, "s": [n]},
        eps_abs=accuracy,
        eps_rel=accuracy,
        max_iters=100_000,
        verbose=False,
    )
    found = solver.solve()["x"][2:]
    U = np.zeros((n, n))
    U[rows, columns] = found
    U[columns, rows] = found
    top = float(np.linalg.eigvalsh(scaled + U)[-1])
    return scale * (top + sparsity * float(np.abs(U).max()))
