"""Problems whose optimal components are known, each with the proof that they are.

Most proofs use the same fact. *If the first k - 1 components are eigenvectors of the k - 1 largest
eigenvalues, then no unit vector orthogonal to them exceeds the k-th eigenvalue (Courant and
Fischer); so an eigenvector that happens to be sparse enough is optimal for the k-th stage, and if
its eigenvalue is simple it is the only optimum up to its sign.* Below this is called the eigenvalue
argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from orthospca._errors import InputError
from orthospca._typing import Array


@dataclass(frozen=True, eq=False)
class KnownAnswer:
    """A problem and an optimal sequence of its components, stage after stage.

    Attributes
    ----------
    name : str
        The function that made it.
    matrix : ndarray of shape (n, n)
        The symmetric matrix Q.
    sparsity : int
        The largest number p of nonzeros in a component.
    components : ndarray of shape (K, n)
        Orthonormal vectors, each optimal for its stage given those before.
    variances : ndarray of shape (K,)
        The optimal values ``x' Q x`` of the K stages.
    unique : bool
        Whether the components are the only optimal ones up to sign; if not, other components reach
        the same variances.
    exhausted : bool
        Whether no further component exists after these.
    data : ndarray of shape (m, n) or None
        Observations whose covariance is the matrix, up to rounding.
    """

    name: str
    matrix: Array
    sparsity: int
    components: Array
    variances: Array
    unique: bool = True
    exhausted: bool = False
    data: Array | None = None

    @property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """The indices of the nonzeros of each component."""
        return tuple(tuple(np.flatnonzero(x).tolist()) for x in self.components)


def make_planted_blocks(
    n_features: int = 30,
    sparsity: int = 5,
    n_components: int = 3,
    *,
    strengths: Sequence[float] | None = None,
    noise: float = 1.0,
    n_samples: int | None = None,
    random_state: int | None = None,
) -> KnownAnswer:
    """Sparse directions of unequal strength on disjoint supports, in white noise.

    ``Q = noise * I + sum_i strengths_i u_i u_i'``, every ``u_i`` a unit vector with ``sparsity``
    nonzeros.

    *Proof.* The ``u_i`` are orthogonal, so they are the eigenvectors of the largest eigenvalues
    ``noise + strengths_i``, and they are sparse enough: the eigenvalue argument applies. Every
    later stage has the value ``noise``. ∎

    Parameters
    ----------
    n_features, sparsity, n_components : int
        Size of the matrix, nonzeros in a planted direction, number of planted directions; the
        supports must fit, ``sparsity * n_components <= n_features``.
    strengths : sequence of float, optional
        Positive and strictly decreasing; by default ``n_components, ..., 2, 1``.
    noise : float, default=1.0
        Variance of the noise, at least 0.
    n_samples : int, optional
        If given, ``data`` holds this many observations, with covariance Q up to rounding; it must
        exceed the rank of Q (``n_features``, or ``n_components`` without noise).
    random_state : int, optional
        Seed.

    Examples
    --------
    >>> from orthospca import datasets
    >>> planted = datasets.make_planted_blocks(12, 3, 2, noise=0.5, random_state=0)
    >>> planted.variances
    array([2.5, 1.5])
    """
    if sparsity < 1 or n_components < 1 or sparsity * n_components > n_features:
        raise InputError(
            f"{n_components} disjoint supports of {sparsity} do not fit into {n_features} features"
        )
    theta = np.arange(n_components, 0, -1.0) if strengths is None else np.array(strengths, float)
    if theta.shape != (n_components,) or theta[-1] <= 0.0 or (np.diff(theta) >= 0.0).any():
        raise InputError(
            f"strengths must be {n_components} positive, strictly decreasing numbers, not {theta}"
        )
    if noise < 0.0:
        raise InputError(f"noise must not be negative, not {noise}")
    rng = np.random.default_rng(random_state)
    U = np.zeros((n_components, n_features))
    order = rng.permutation(n_features)
    for i in range(n_components):
        # Entries that are clearly nonzero.
        u = rng.uniform(0.5, 1.0, sparsity) * rng.choice([-1.0, 1.0], sparsity)
        U[i, order[i * sparsity : (i + 1) * sparsity]] = u / np.linalg.norm(u)
    Q = noise * np.eye(n_features) + (U.T * theta) @ U
    data = None
    if n_samples is not None:
        root = np.sqrt(theta)[:, None] * U
        if noise > 0.0:
            lift = np.sqrt(noise + theta) - np.sqrt(noise)
            root = (U.T * lift) @ U + np.sqrt(noise) * np.eye(n_features)
        data = _observations(rng, n_samples, root)
    full = n_components == n_features
    return KnownAnswer(
        "make_planted_blocks", Q, sparsity, U, theta + noise, exhausted=full, data=data
    )


def make_block_diagonal(
    sizes: Sequence[int] = (3, 4, 2, 4),
    *,
    eigenvalues: Sequence[float] | None = None,
    random_state: int | None = None,
) -> KnownAnswer:
    """Blocks no larger than the sparsity, scattered over the coordinates.

    *Proof.* An eigenvector of a block has at most ``max(sizes)`` nonzeros, which is the sparsity,
    so all n eigenvectors are sparse enough: by the eigenvalue argument the sparse components are
    those of ordinary PCA, to the last. ∎

    Parameters
    ----------
    sizes : sequence of int
        The sizes of the blocks; the largest is the sparsity.
    eigenvalues : sequence of float, optional
        ``sum(sizes)`` different numbers, dealt out to the blocks at random; by default
        ``n, ..., 2, 1``. Zero makes the matrix singular, a negative number makes it indefinite.
    random_state : int, optional
        Seed.

    Examples
    --------
    >>> from orthospca import datasets
    >>> known = datasets.make_block_diagonal([2, 1], random_state=0)
    >>> known.sparsity, known.variances
    (2, array([3., 2., 1.]))
    """
    sizes = [int(size) for size in sizes]
    if not sizes or min(sizes) < 1:
        raise InputError(f"sizes must be positive integers, not {sizes}")
    n = sum(sizes)
    values = np.arange(n, 0, -1.0) if eigenvalues is None else np.array(eigenvalues, float)
    if values.shape != (n,) or np.unique(values).size != n:
        raise InputError(f"eigenvalues must be {n} different numbers, not {values}")
    rng = np.random.default_rng(random_state)
    return _from_blocks("make_block_diagonal", rng, sizes, rng.permutation(values), unique=True)


def make_tied(
    n_blocks: int = 3, block_size: int = 3, *, random_state: int | None = None
) -> KnownAnswer:
    """Blocks with the same eigenvalues, so that every stage has several optima.

    The eigenvalues ``block_size, ..., 2, 1`` occur once in each block; the sparsity is the size of
    a block.

    *Proof.* Eigenvectors of one eigenvalue that belong to different blocks have disjoint supports
    of ``block_size`` indices, so the sparse vectors of an eigenspace are these alone and no mixture
    of them. Whichever is taken, the rest is the same problem with one copy less, and by the
    eigenvalue argument the variances are the eigenvalues of Q. ∎

    Parameters
    ----------
    n_blocks, block_size : int
        How many blocks, and their common size.
    random_state : int, optional
        Seed.
    """
    if n_blocks < 1 or block_size < 1:
        raise InputError(
            f"n_blocks and block_size must be positive, not {n_blocks} and {block_size}"
        )
    rng = np.random.default_rng(random_state)
    values = np.tile(np.arange(block_size, 0, -1.0), n_blocks)
    return _from_blocks("make_tied", rng, [block_size] * n_blocks, values, unique=n_blocks == 1)


def make_rank_one(
    n_features: int = 12,
    sparsity: int = 4,
    *,
    strength: float = 1.0,
    random_state: int | None = None,
) -> KnownAnswer:
    """One dense direction, ``Q = strength * v v'`` with the unit vector v and different ``|v_i|``.

    The components are v cut into pieces of ``sparsity`` entries, largest first, each normalised.

    *Proof.* Let T be the indices used so far and x orthogonal to the pieces: then
    ``v'x = sum_{i not in T} v_i x_i``, whose square is at most the sum of the ``sparsity`` largest
    ``v_i^2`` outside T, with equality only for the next piece. ∎ When v is used up, every later
    stage has the value 0.

    Parameters
    ----------
    n_features, sparsity : int
        Size of the matrix, largest number of nonzeros.
    strength : float, default=1.0
        The only nonzero eigenvalue, positive.
    random_state : int, optional
        Seed.
    """
    if not 1 <= sparsity <= n_features:
        raise InputError(f"sparsity must be between 1 and {n_features}, not {sparsity}")
    if strength <= 0.0:
        raise InputError(f"strength must be positive, not {strength}")
    rng = np.random.default_rng(random_state)
    v = rng.permutation(np.arange(1.0, n_features + 1.0)) * rng.choice([-1.0, 1.0], n_features)
    v /= np.linalg.norm(v)
    order = np.argsort(-np.abs(v))
    # Row by row, the entries of one piece and zeros.
    number = np.empty(n_features, dtype=int)
    number[order] = np.arange(n_features) // sparsity
    X = np.where(number == np.arange(number.max() + 1)[:, None], v, 0.0)
    lengths = np.linalg.norm(X, axis=1)
    X, variances = X / lengths[:, None], strength * lengths**2
    Q = strength * np.outer(v, v)
    full = len(X) == n_features
    return KnownAnswer("make_rank_one", Q, sparsity, X, variances, exhausted=full)


def make_exhausting() -> KnownAnswer:
    """A 4 x 4 matrix that has three components of sparsity 3, and no fourth.

    *Proof.* Q has the eigenvalues 4, 3, 2, 1; the first three eigenvectors, (1, 1, 1, 0),
    (1, -1, 0, 2) and (0, 2, -2, 1) up to length, have three nonzeros, so by the eigenvalue argument
    they are the components. A vector orthogonal to them is a multiple of (3, -1, -2, -2), which has
    four. ∎

    Examples
    --------
    >>> from orthospca import datasets
    >>> known = datasets.make_exhausting()
    >>> known.variances, known.exhausted
    (array([4., 3., 2.]), True)
    """
    V = np.array([[1, 1, 1, 0], [1, -1, 0, 2], [0, 2, -2, 1], [3, -1, -2, -2]], dtype=float)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    values = np.array([4.0, 3.0, 2.0, 1.0])
    Q = (V.T * values) @ V
    return KnownAnswer(
        "make_exhausting", (Q + Q.T) / 2.0, 3, V[:3].copy(), values[:3].copy(), exhausted=True
    )


def make_path_dependent() -> tuple[KnownAnswer, KnownAnswer]:
    """A 3 x 3 matrix whose later variances depend on which of two first optima is taken.

    With sparsity 2 the first stage of [[5, 1, 0], [1, 5, 2], [0, 2, 2]] has two optima of variance
    6; one leads to the variances (6, 4, 2), the other to (6, 5, 1). Both are returned.

    *Proof.* The three supports of two indices have the largest eigenvalues 6, 5 and 6. After
    (1, 1, 0) a vector with two nonzeros that is orthogonal to it is (1, -1, 0), of variance 4, or
    the third unit vector, of variance 2; after (0, 2, 1) it is the first unit vector, of variance
    5, or (0, 1, -2), of variance 1. ∎

    References
    ----------
    D. Cheng, Q. Hu, "A Decomposition Framework for Certifiably Optimal Orthogonal Sparse PCA",
    section "Discussion for future works".
    """
    Q = np.array([[5.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 2.0]])

    def answer(X: list[list[float]], variances: list[float]) -> KnownAnswer:
        vectors = np.array(X) / np.linalg.norm(X, axis=1, keepdims=True)
        return KnownAnswer(
            "make_path_dependent", Q.copy(), 2, vectors, np.array(variances), False, True
        )

    first = answer([[1, 1, 0], [1, -1, 0], [0, 0, 1]], [6.0, 4.0, 2.0])
    return first, answer([[0, 2, 1], [1, 0, 0], [0, 1, -2]], [6.0, 5.0, 1.0])


def _from_blocks(
    name: str, rng: np.random.Generator, sizes: list[int], values: Array, *, unique: bool
) -> KnownAnswer:
    """A matrix with a random rotation in each block and the given eigenvalues, block by block."""
    n = sum(sizes)
    coordinates = rng.permutation(n)
    rotations = [np.linalg.qr(rng.standard_normal((size, size)))[0] for size in sizes]
    V = np.zeros((n, n))
    V[:, coordinates] = block_diag(*rotations)
    order = np.argsort(-values, kind="stable")
    V, values = V[order], values[order]
    Q = (V.T * values) @ V
    # All n components exist here, so nothing is left after them.
    return KnownAnswer(name, (Q + Q.T) / 2.0, max(sizes), V, values, unique, exhausted=True)


def _observations(rng: np.random.Generator, n_samples: int, root: Array) -> Array:
    """Centred observations X with ``X'X / (n_samples - 1) = root' root`` up to rounding."""
    rank = root.shape[0]
    if n_samples <= rank:
        raise InputError(f"n_samples must exceed the rank {rank} of the matrix, not {n_samples}")
    Z = rng.standard_normal((n_samples, rank))
    Z, _ = np.linalg.qr(Z - Z.mean(axis=0))
    return np.sqrt(n_samples - 1.0) * Z @ root
