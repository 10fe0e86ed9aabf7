"""Problems with another sparsity for each component, of every kind that rounding is hard on."""

from __future__ import annotations

import numpy as np

#: How matrices are made; the seed decides which.
KINDS = (
    "zero",
    "one vector",
    "signs",
    "ties",
    "diagonal",
    "indefinite",
    "singular",
    "small integers",
    "covariance",
    "one large vector",
    "blocks",
)
#: Powers of ten by which some of them are multiplied.
SCALES = (1.0, 1.0, 1.0, 1e12, 1e-9, 1e80, 1e-95)


def unequal_problem(seed: int) -> tuple[np.ndarray, list[int], dict[str, float]]:
    """A matrix, the sparsity of each component, and tolerances."""
    rng = np.random.default_rng([2024, seed])
    n = int(rng.integers(2, 9))
    Q = _matrix(KINDS[seed % len(KINDS)], n, rng)
    Q = 0.5 * (Q + Q.T) * float(rng.choice(SCALES))
    limits = rng.integers(1, n + 1, int(rng.integers(1, min(n, 5) + 1))).tolist()
    scale = float(np.abs(Q).max()) or 1.0
    tolerance = ({}, {"eps": 1e-9 * scale, "gap": 0.0}, {"gap": 1e-9}, {"gap": 0.05}, {"gap": 0.0})
    return Q, limits, dict(tolerance[int(rng.integers(len(tolerance)))])


def _matrix(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "zero":
        return np.zeros((n, n))
    if kind == "one vector":
        v = rng.standard_normal(n)
        return float(rng.choice([-1.0, 1.0])) * np.outer(v, v)
    if kind == "signs":
        v = rng.choice([-1.0, 1.0], n)
        return float(rng.choice([-1.0, 1.0])) * np.outer(v, v)
    if kind == "ties":
        return np.full((n, n), float(rng.integers(-1, 2))) + float(rng.integers(0, 3)) * np.eye(n)
    if kind == "diagonal":
        return np.diag(rng.integers(-1, 3, n).astype(float))
    if kind == "indefinite":
        return np.asarray(rng.standard_normal((n, n)))
    if kind == "singular":
        rows = rng.standard_normal((max(n // 2, 1), n))
        return np.asarray(rows.T @ rows)
    if kind == "small integers":
        return rng.integers(-2, 3, (n, n)).astype(float)
    if kind == "covariance":
        rows = rng.standard_normal((n + 3, n))
        return np.asarray(rows.T @ rows)
    if kind == "one large vector":
        v, rows = rng.standard_normal(n), rng.standard_normal((n, n))
        return np.asarray(10.0 ** int(rng.integers(2, 14)) * np.outer(v, v) + rows.T @ rows)
    Q = np.zeros((n, n))
    half = (n + 1) // 2
    Q[:half, :half], Q[half:, half:] = 1.0, rng.integers(0, 2)
    return Q
