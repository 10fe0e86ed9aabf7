"""Small matrices and data on which bounds have gone wrong, or might: one generator for each kind.

A matrix may be indefinite; data give the covariance ``BᵀB`` of their prepared columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helpers import strategies

Generator = Callable[[np.random.Generator, int], np.ndarray]


def _symmetric(square: np.ndarray) -> np.ndarray:
    """The upper triangle and its mirror image."""
    return np.triu(square) + np.triu(square, 1).T


def near_duplicates(rng: np.random.Generator, n: int) -> np.ndarray:
    """Features that are equal up to 1e-9 … 1e-15: components nearly depend on each other."""
    B = near_duplicate_columns(rng, n)
    return _symmetric(B.T @ B)


def near_ties(rng: np.random.Generator, n: int) -> np.ndarray:
    """The same block again and again, entries off by a few units in the last place."""
    square = strategies.equal_blocks(rng, n)
    return _symmetric(square * (1 + 2.0**-52 * rng.integers(-3, 4, size=(n, n))))


def wide_range(rng: np.random.Generator, n: int) -> np.ndarray:
    """Entries of either sign and of magnitudes from 1e-8 to 1e8."""
    return _symmetric(rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-8, 8, size=(n, n)))


def nearly_blocks(rng: np.random.Generator, n: int) -> np.ndarray:
    """Blocks joined by entries from 1e-14 to 1e-1."""
    labels = rng.integers(0, 3, size=n)
    sizes = 10.0 ** rng.uniform(-14, -1, size=(n, n)) * rng.choice([-1.0, 1.0], size=(n, n))
    inside = labels[:, None] == labels[None, :]
    return _symmetric(np.where(inside, strategies.psd(rng, n), sizes))


#: Kinds of matrices.
MATRICES: dict[str, Generator] = {
    generator.__name__: generator
    for generator in (
        strategies.psd,
        strategies.correlation,
        strategies.indefinite,
        strategies.hollow,
        strategies.negative_definite,
        strategies.singular,
        strategies.duplicated_columns,
        strategies.zero_rows,
        strategies.block_diagonal,
        strategies.equal_blocks,
        strategies.integers,
        strategies.exchangeable,
        strategies.badly_scaled,
        strategies.tiny,
        strategies.huge,
        strategies.weakly_coupled,
        near_duplicates,
        near_ties,
        wide_range,
        nearly_blocks,
    )
}


def gaussian_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Noise of uneven variances, with means that are not zero."""
    m = int(rng.integers(n + 2, 3 * n + 4))
    scales = rng.uniform(0.5, 2.0, size=n)
    return rng.standard_normal((m, n)) * scales + 10 * rng.standard_normal(n)


def few_samples(rng: np.random.Generator, n: int) -> np.ndarray:
    """Fewer samples than features: the covariance is singular."""
    return rng.standard_normal((max(2, n // 2 + 1), n))


def near_duplicate_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Columns of which some are equal up to 1e-9 … 1e-15."""
    m = int(rng.integers(3, 2 * n + 4))
    copies = rng.integers(0, max(1, (n + 1) // 2), size=n)
    columns = rng.standard_normal((m, n))[:, copies]
    return columns * (1 + 10.0 ** rng.uniform(-15, -9, size=n) * rng.standard_normal((m, n)))


def tied_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """The same numbers in another order in each column: variances that tie but for rounding."""
    numbers = rng.standard_normal(int(rng.integers(3, 2 * n + 4)))
    return np.column_stack([rng.permutation(numbers) for _ in range(n)])


def integer_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Small integers around zero: exact ties, exact zeros and constant columns."""
    half = rng.integers(-1, 2, size=(2 + n // 2, n)).astype(float)
    return np.vstack([half, -half])


def badly_scaled_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Standard deviations from 1e-8 to 1e8."""
    return gaussian_columns(rng, n) * 10.0 ** rng.uniform(-8, 8, size=n)


def weakly_coupled_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Orthogonal columns, with a little of each other from 1e-14 to 1e-2."""
    m = n + int(rng.integers(2, 6))
    columns = np.linalg.qr(rng.standard_normal((m, n)))[0]
    return columns + columns @ (10.0 ** rng.uniform(-14, -2, size=(n, n)))


def grouped_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Groups of columns that share a factor."""
    m = int(rng.integers(n + 2, 3 * n + 4))
    factors = rng.standard_normal((m, 3)) * rng.uniform(0.5, 3.0, size=3)
    return factors[:, rng.integers(0, 3, size=n)] + 0.3 * rng.standard_normal((m, n))


def vanishing_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Two large samples and many whose squares, one by one, vanish in the sum of those before."""
    large = rng.uniform(1.0, 1.4, size=(1, n)) * rng.choice([-1.0, 1.0], size=n)
    small = np.sqrt(0.8 * 2.0**-53 * rng.uniform(0.5, 1.0, size=(100, n)))
    half = np.vstack([large, large * small])
    return np.stack([half, -half], axis=1).reshape(-1, n)


#: Kinds of data.
DATA: dict[str, Generator] = {
    generator.__name__: generator
    for generator in (
        gaussian_columns,
        few_samples,
        near_duplicate_columns,
        tied_columns,
        integer_columns,
        badly_scaled_columns,
        weakly_coupled_columns,
        grouped_columns,
        vanishing_columns,
    )
}


def orthonormal(rng: np.random.Generator, n: int, p: int, m: int, smallest: float) -> np.ndarray:
    """Orthonormal columns whose first p rows have a given smallest singular value.

    They are ``[U C; V S] Wᵀ`` with orthogonal U, V and W, and diagonal C and S, ``C² + S² = I``.

    Parameters
    ----------
    rng : Generator
    n, m : int
        Rows and columns; m is at most p and at most n - p.
    p : int
    smallest : float
        The least of the cosines; the others are far from 0 and 1.
    """
    cosines = np.append(rng.uniform(0.2, 0.9, size=m - 1), smallest)
    sines = np.sqrt(1 - cosines**2)
    upper = rotation(rng, p)[:, :m] * cosines
    lower = rotation(rng, n - p)[:, :m] * sines
    return np.vstack([upper, lower]) @ rotation(rng, m)


def rotation(rng: np.random.Generator, n: int) -> np.ndarray:
    """A random orthogonal matrix."""
    return np.linalg.qr(rng.standard_normal((n, n)))[0]
