"""Random small problems of every kind that has ever broken a sparse PCA solver.

Each kind of matrix has a name in `KINDS`; `problems(kind)` draws a matrix of that kind with n ≤ 8
and a sparsity that is p = 1, p = n or anything between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

LARGEST = 8


@dataclass(frozen=True)
class Problem:
    """A matrix and a sparsity (an integer, or one per component), and what kind it is."""

    kind: str
    matrix: np.ndarray
    sparsity: int | list[int]

    @property
    def n(self) -> int:
        return self.matrix.shape[0]

    @property
    def scale(self) -> float:
        """The size of the matrix, against which rounding is measured; 1 for the zero matrix."""
        return float(np.abs(self.matrix).max()) * self.n or 1.0

    def sparsity_of(self, stage: int) -> int:
        """The sparsity of a stage, counted from 0."""
        return self.sparsity if isinstance(self.sparsity, int) else self.sparsity[stage]

    def __repr__(self) -> str:
        return (
            f"Problem({self.kind!r}, np.array({self.matrix.tolist()!r}), sparsity={self.sparsity})"
        )


def _symmetric(square: np.ndarray) -> np.ndarray:
    return (square + square.T) / 2


def _gaussian(rng: np.random.Generator, n: int) -> np.ndarray:
    rows = rng.standard_normal((n + 3, n))
    return rows.T @ rows / (n + 3)


def psd(rng: np.random.Generator, n: int) -> np.ndarray:
    """A covariance of full rank."""
    return _gaussian(rng, n)


def correlation(rng: np.random.Generator, n: int) -> np.ndarray:
    """A correlation rounded to three decimals: equal diagonal, a few near ties."""
    covariance = _gaussian(rng, n)
    deviations = np.sqrt(np.diag(covariance))
    return np.round(covariance / np.outer(deviations, deviations), 3)


def indefinite(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eigenvalues of both signs."""
    return _symmetric(rng.standard_normal((n, n)))


def hollow(rng: np.random.Generator, n: int) -> np.ndarray:
    """A zero diagonal: every trace is zero, so a trace bound would be wrong."""
    square = indefinite(rng, n)
    np.fill_diagonal(square, 0.0)
    return square


def negative_definite(rng: np.random.Generator, n: int) -> np.ndarray:
    """Every variance is negative: a spurious zero would win."""
    return -_gaussian(rng, n) - 0.1 * np.eye(n)


def singular(rng: np.random.Generator, n: int) -> np.ndarray:
    """A covariance of fewer observations than variables."""
    rows = rng.standard_normal((max(1, n // 2), n))
    return rows.T @ rows


def rank_one(rng: np.random.Generator, n: int) -> np.ndarray:
    """An outer product, some of whose entries may be zero."""
    vector = rng.standard_normal(n) * (rng.random(n) < 0.8)
    return np.outer(vector, vector)


def duplicated_columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Variables that occur more than once: exact ties, and a singular matrix."""
    copies = rng.integers(0, max(1, n // 2), size=n)
    return _gaussian(rng, n)[np.ix_(copies, copies)]


def zero_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """Variables that are constant."""
    kept = (rng.random(n) < 0.6).astype(float)
    return _gaussian(rng, n) * np.outer(kept, kept)


def block_diagonal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Blocks along exact zeros, in shuffled order."""
    labels = rng.integers(0, 3, size=n)
    return _gaussian(rng, n) * (labels[:, None] == labels[None, :])


def equal_blocks(rng: np.random.Generator, n: int) -> np.ndarray:
    """The same block again and again: ties between blocks."""
    size = int(rng.integers(1, max(2, n // 2 + 1)))
    block = _gaussian(rng, size)
    square = np.zeros((n, n))
    for start in range(0, n - size + 1, size):
        square[start : start + size, start : start + size] = block
    return square


def integers(rng: np.random.Generator, n: int) -> np.ndarray:
    """Small integers: many ties, exact and inexact arithmetic mixed."""
    upper = np.triu(rng.integers(-2, 3, size=(n, n)))
    return (upper + np.triu(upper, 1).T).astype(float)


def identity_multiple(rng: np.random.Generator, n: int) -> np.ndarray:
    """A multiple of the identity, zero and negative ones included: everything ties."""
    return float(rng.integers(-2, 3)) * np.eye(n)


def exchangeable(rng: np.random.Generator, n: int) -> np.ndarray:
    """Unchanged by any permutation: a constant diagonal and a constant beside it."""
    diagonal, beside = rng.integers(-3, 4, size=2)
    return float(beside) * np.ones((n, n)) + float(diagonal) * np.eye(n)


def circulant(rng: np.random.Generator, n: int) -> np.ndarray:
    """Unchanged by a cyclic shift: repeated eigenvalues."""
    row = rng.standard_normal(n)
    offsets = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    return row[np.minimum(offsets, n - offsets)]


def badly_scaled(rng: np.random.Generator, n: int) -> np.ndarray:
    """Standard deviations from 1e-4 to 1e4, so variances from 1e-8 to 1e8."""
    deviations = 10.0 ** rng.uniform(-4, 4, size=n)
    return _gaussian(rng, n) * np.outer(deviations, deviations)


def tiny(rng: np.random.Generator, n: int) -> np.ndarray:
    """A well-conditioned matrix times 1e-8."""
    return 1e-8 * indefinite(rng, n)


def huge(rng: np.random.Generator, n: int) -> np.ndarray:
    """A well-conditioned matrix times 1e8."""
    return 1e8 * indefinite(rng, n)


def weakly_coupled(rng: np.random.Generator, n: int) -> np.ndarray:
    """A diagonal matrix and entries near the rounding level: loadings that almost vanish."""
    sizes = 10.0 ** rng.uniform(-14, -2, size=(n, n))
    return np.diag(rng.integers(1, 4, size=n).astype(float)) + _symmetric(
        sizes * rng.choice([-1.0, 1.0], size=(n, n))
    )


_GENERATORS = {
    generator.__name__.replace("_", "-"): generator
    for generator in (
        psd,
        correlation,
        indefinite,
        hollow,
        negative_definite,
        singular,
        rank_one,
        duplicated_columns,
        zero_rows,
        block_diagonal,
        equal_blocks,
        integers,
        identity_multiple,
        exchangeable,
        circulant,
        badly_scaled,
        tiny,
        huge,
        weakly_coupled,
    )
}

#: The names of the kinds of matrices.
KINDS = tuple(_GENERATORS)


@st.composite
def matrices(draw: st.DrawFn, kind: str, largest: int = LARGEST) -> np.ndarray:
    """A symmetric matrix of one kind."""
    n = draw(st.integers(1, largest), label="n")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    return _GENERATORS[kind](rng, n)


def sparsities(n: int) -> st.SearchStrategy[int]:
    """A sparsity, the two ends often."""
    return st.one_of(st.integers(1, n), st.just(1), st.just(n), st.just(min(2, n)))


@st.composite
def problems(
    draw: st.DrawFn, kind: str | None = None, largest: int = LARGEST, per_component: bool = False
) -> Problem:
    """A problem of one kind, or of any; with one sparsity, or one per component."""
    chosen = kind if kind is not None else draw(st.sampled_from(KINDS), label="kind")
    matrix = draw(matrices(chosen, largest), label="matrix")
    n = matrix.shape[0]
    if per_component:
        sparsity = draw(st.lists(sparsities(n), min_size=n, max_size=n), label="sparsity")
        return Problem(chosen, matrix, sparsity)
    return Problem(chosen, matrix, draw(sparsities(n), label="sparsity"))
