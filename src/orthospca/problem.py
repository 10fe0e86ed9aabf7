"""A validated, immutable problem, and the subproblem of one stage."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthospca import rigor
from orthospca._typing import Array, IntArray
from orthospca.sums import strongest_sums

#: Largest |Q_ij - Q_ji|, relative to the largest entry, that counts as rounding.
ASYMMETRY_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Problem:
    """Find orthogonal components of ``covariance``, the k-th with at most ``sparsity[k]`` features.

    Attributes
    ----------
    covariance : array of shape (n, n)
        Exactly symmetric, finite, read-only; it may be indefinite.
    sparsity : tuple of int
        One limit for each component asked for.
    feature_names : tuple of str or None
    """

    covariance: Array
    sparsity: tuple[int, ...]
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def validate(cls, Q: Any, sparsity: Any, n_components: Any = 1) -> Problem:
        """Check the arguments of ``solve``; a bad one is a ``ValueError`` that names it."""
        given = Q.submatrix(np.arange(Q.n_features)) if hasattr(Q, "submatrix") else Q
        covariance = validate_covariance(given)
        n = len(covariance)
        count = validate_integer("n_components", n_components, 1, n, "the number of features")
        limits = validate_sparsity(sparsity, count, n)
        return cls(covariance, limits, names_of(Q))

    @property
    def n_features(self) -> int:
        """The order of Q."""
        return len(self.covariance)

    @property
    def n_components(self) -> int:
        """How many components are asked for."""
        return len(self.sparsity)


@dataclass(frozen=True, eq=False)
class Subproblem:
    """The k-th stage: ``max xᵀQx`` with ``‖x‖ = 1``, ``‖x‖₀ ≤ sparsity`` and ``previousᵀx = 0``.

    Attributes
    ----------
    covariance : array of shape (n, n)
    sparsity : int
    previous : array of shape (n, k - 1)
        The components before this one, as columns.
    """

    covariance: Array
    sparsity: int
    previous: Array

    @property
    def n_features(self) -> int:
        """The order of Q."""
        return len(self.covariance)

    @property
    def constrained(self) -> bool:
        """Whether there are components to be orthogonal to."""
        return self.previous.shape[1] > 0

    @cached_property
    def scale(self) -> float:
        """Largest magnitude of an entry of Q (1 for the zero matrix)."""
        return float(np.abs(self.covariance).max()) or 1.0

    @cached_property
    def penalised(self) -> Array:
        """``Q - κXXᵀ``: the same form as Q on the feasible vectors, strongly negative off them.

        Its submatrices therefore bound the value of a support from above without a basis of the
        complement, and nearly exactly where κ is large against ``‖Q‖``.
        """
        if not self.constrained:
            return self.covariance
        return self.covariance - self.penalty * (self.previous @ self.previous.T)

    @cached_property
    def penalty(self) -> float:
        """The κ of :attr:`penalised`: large against Q, small against what rounding allows."""
        return 1e5 * self.scale * min(self.n_features, 2 * self.sparsity)

    @cached_property
    def penalised_radius(self) -> float:
        """Rounding error of an entry of :attr:`penalised`."""
        if not self.constrained:
            return 0.0
        terms = self.previous.shape[1] + 4
        largest = float(np.square(self.previous).sum(axis=1).max())
        return 2 * terms * rigor.UNIT * (self.penalty * largest + self.scale)

    @cached_property
    def projected(self) -> Array:
        """``(I - XXᵀ)Q(I - XXᵀ)``, the adjusted covariance: the same form on feasible vectors."""
        if not self.constrained:
            return self.covariance
        X = self.previous
        image = self.covariance @ X
        cross = X @ image.T
        projected = self.covariance - cross - cross.T + X @ (X.T @ image) @ X.T
        return 0.5 * (projected + projected.T)

    @cached_property
    def projected_radius(self) -> float:
        """Rounding error of an entry of :attr:`projected`.

        With s the largest absolute row sum of Q, row i of QX is computed with an error of norm at
        most ``n·√m·u·s``, and rows of X have norms of at most one, so that each of the four
        products adds at most ``√m·(n + √m + 4)·u·s`` to an entry.
        """
        if not self.constrained:
            return 0.0
        n, m = self.previous.shape
        size = float(np.abs(self.covariance).sum(axis=1).max())
        return 4 * math.sqrt(max(m, 4)) * (n + m + 4) * rigor.UNIT * size

    @cached_property
    def row_strengths(self) -> Array:
        """Sum of the p - 1 largest off-diagonal magnitudes of each row of :attr:`projected`."""
        return strongest_sums(self.projected, self.sparsity - 1)

    def touching(self, support: IntArray) -> Array:
        """Return X on ``support``, without the columns that vanish there."""
        rows = self.previous[support]
        if rows.shape[1] == 0:
            return rows
        return rows[:, np.abs(rows).max(axis=0, initial=0.0) > 0]


def validate_covariance(Q: Any) -> Array:
    """Return Q as a read-only, exactly symmetric float array, or raise ``ValueError``."""
    if hasattr(Q, "toarray"):
        Q = Q.toarray()
    try:
        given = np.asarray(Q)
        if np.iscomplexobj(given):
            raise ValueError(f"Q must be real, got {given.dtype} numbers")
        matrix = np.array(given, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        if "Q must" in str(error):
            raise
        raise ValueError(f"Q must be a square matrix of numbers, got {_describe(Q)}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"Q must be a square matrix, got shape {matrix.shape}")
    if matrix.size == 0:
        raise ValueError("Q must have at least one row, got shape (0, 0)")
    finite = np.isfinite(matrix)
    if not finite.all():
        i, j = np.argwhere(~finite)[0]
        raise ValueError(f"Q must be finite, got {matrix[i, j]} at row {i}, column {j}")
    with np.errstate(over="ignore"):
        difference = np.abs(matrix - matrix.T)
    largest = float(np.abs(matrix).max())
    if largest > 1e100 or (0 < largest < 1e-100):
        raise ValueError(
            f"Q must have its largest magnitude between 1e-100 and 1e100, got {largest}"
        )
    if difference.max() > ASYMMETRY_TOLERANCE * largest:
        i, j = np.argwhere(difference > ASYMMETRY_TOLERANCE * largest)[0]
        raise ValueError(
            f"Q must be symmetric, got {matrix[i, j]} at row {i}, column {j} "
            f"but {matrix[j, i]} at row {j}, column {i}"
        )
    if difference.any():
        matrix = 0.5 * (matrix + matrix.T)
    matrix.flags.writeable = False
    return matrix


def names_of(Q: Any) -> tuple[str, ...] | None:
    """Feature names of a data frame, else None."""
    names = getattr(Q, "feature_names", None)
    if names is None:
        names = getattr(Q, "columns", None)
    return None if names is None or callable(names) else tuple(str(name) for name in names)


def validate_sparsity(sparsity: Any, n_components: int, n: int) -> tuple[int, ...]:
    """Return one sparsity limit for each component."""
    if isinstance(sparsity, Sequence | np.ndarray) and not isinstance(sparsity, str | bytes):
        if np.ndim(sparsity) == 0:
            sparsity = np.asarray(sparsity).item()
        elif len(sparsity) != n_components:
            raise ValueError(
                f"sparsity must be one integer or one for each of the {n_components} components, "
                f"got {len(sparsity)} of them"
            )
        else:
            return tuple(
                validate_integer(f"sparsity[{k}]", limit, 1, n, "the number of features")
                for k, limit in enumerate(sparsity)
            )
    return (validate_integer("sparsity", sparsity, 1, n, "the number of features"),) * n_components


def validate_integer(
    name: str, value: Any, smallest: int, largest: int | None = None, largest_is: str = ""
) -> int:
    """Return ``value`` as an int within the limits, or raise ``ValueError``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise ValueError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    if number < smallest:
        raise ValueError(f"{name} must be at least {smallest}, got {number}")
    if largest is not None and number > largest:
        raise ValueError(f"{name} must be at most {largest} ({largest_is}), got {number}")
    return number


def validate_nonnegative(name: str, value: Any) -> float:
    """Return ``value`` as a finite float ≥ 0, or raise ``ValueError``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name} must be a number, got {value!r}")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be finite and not negative, got {value}")
    return float(value)


def _describe(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:50]}…"
