"""What may be given: one clear sentence for what may not."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from orthospca._typing import Array

#: Largest |Q_ij - Q_ji|, relative to the largest entry, that counts as rounding.
ASYMMETRY_TOLERANCE = 1e-10


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
