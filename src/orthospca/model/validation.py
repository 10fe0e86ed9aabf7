"""What may be given: one clear sentence for what may not."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from orthospca._errors import InputError
from orthospca._typing import Array

#: Largest |Q_ij - Q_ji|, relative to the largest entry, that counts as rounding.
ASYMMETRY_TOLERANCE = 1e-10
#: The largest magnitude of Q lies in this range: squares of it, and of what rounding leaves of it,
#: then neither overflow nor vanish.
RANGE = (1e-100, 1e100)


def validate_range(name: str, largest: float, power: float = 1.0) -> None:
    """Refuse numbers whose products could overflow or vanish: one rule for matrices and data.

    Parameters
    ----------
    name : str
    largest : float
    power : float
        One half for data, whose squares are the entries of a matrix.
    """
    smallest, most = RANGE[0] ** power, RANGE[1] ** power
    if largest != 0 and not smallest <= largest <= most:
        raise InputError(
            f"{name} must be between {smallest:g} and {most:g} in magnitude, or all zero, "
            f"got {largest:g}: rescale the data"
        )


def validate_covariance(Q: Any) -> Array:
    """Return Q as a read-only, exactly symmetric float array, or raise ``ValueError``."""
    refuse_anndata(Q, "Q")
    refuse_masked(Q, "Q")
    if hasattr(Q, "toarray"):
        Q = Q.toarray()
    try:
        given = np.asarray(Q)
        if np.iscomplexobj(given):
            raise InputError(f"Q must be real, got {given.dtype} numbers")
        # The sign of a zero says nothing, and a fingerprint would tell it apart.
        matrix = np.array(given, dtype=float, order="C") + 0.0
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        found = _describe(Q)
        if texts := columns_of_text(Q):
            found = f"a data frame of shape {given.shape} with text in {_columns(texts)}"
            found += _if_data(given.shape)
        raise InputError(f"Q must be a square matrix of numbers, got {found}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"Q must be a square matrix, got shape {matrix.shape}{_if_data(matrix.shape)}"
        )
    if matrix.size == 0:
        raise InputError("Q must have at least one row, got shape (0, 0)")
    finite = np.isfinite(matrix)
    if not finite.all():
        i, j = np.argwhere(~finite)[0]
        raise InputError(f"Q must be finite, got {matrix[i, j]} at row {i}, column {j}")
    with np.errstate(over="ignore"):
        difference = np.abs(matrix - matrix.T)
    largest = float(np.abs(matrix).max())
    validate_range("the largest entry of Q", largest)
    if difference.max() > ASYMMETRY_TOLERANCE * largest:
        i, j = np.argwhere(difference > ASYMMETRY_TOLERANCE * largest)[0]
        raise InputError(
            f"Q must be symmetric, got {matrix[i, j]} at row {i}, column {j} "
            f"but {matrix[j, i]} at row {j}, column {i}{_if_data(matrix.shape)}"
        )
    if difference.any():
        matrix = 0.5 * (matrix + matrix.T)
    matrix.flags.writeable = False
    return matrix


def columns_of_text(frame: Any) -> list[str]:
    """Names of the columns of a data frame that hold something else than numbers."""
    names = names_of(frame)
    wrong = []
    for name, key in zip(names or (), getattr(frame, "columns", ()), strict=False):
        try:
            column = np.asarray(frame[key])
            column.astype(float)
        except (TypeError, ValueError):
            wrong.append(name)
        else:
            wrong += [name] * (column.dtype.kind in "mM")  # days become numbers, but mean none
    return wrong


def numbers_of(frame: Any, what: str = "data") -> Any:
    """The numbers of a data frame, true and false being 1 and 0; text is named and refused."""
    values = frame.to_numpy()
    if values.dtype.kind in "biuf" or values.ndim != 2:
        return values
    if texts := columns_of_text(frame):
        raise InputError(f"{what} must be real numbers, got text in {_columns(texts)}")
    return values.astype(float)


def validate_complete(X: Any, names: Sequence[str] | None) -> None:
    """Refuse observations with missing values: how many, where, and what to do.

    Parameters
    ----------
    X : ndarray or sparse matrix
    names : sequence of str or None
        Of the features.
    """
    if not np.isnan(X.data if sparse.issparse(X) else X).any():
        return
    rows, columns, values = sparse.find(X)
    rows, columns = rows[np.isnan(values)], columns[np.isnan(values)]
    first = np.lexsort((columns, rows))[0]
    found, counts = np.unique(columns, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    what = "feature " if names is None else ""
    shown = [f"{counts[k]} in {what}{column_name(names, found[k])}" for k in order]
    noun = "value" if len(rows) == 1 else "values"
    raise InputError(
        f"X contains NaN: {len(rows)} missing {noun} in {len(found)} of {X.shape[1]} features "
        f"({listed(shown)}), the first at row {rows[first]}, feature "
        f"{column_name(names, columns[first])}; fill them in first, as "
        "make_pipeline(SimpleImputer(), OrthogonalSparsePCA()) does, or leave these rows out"
    )


def column_name(names: Sequence[str] | None, j: Any) -> str:
    """What a column is called in a message: its name, or else its number from 0."""
    return str(int(j)) if names is None else repr(str(names[int(j)]))


def names_at(names: Sequence[str] | None, features: Iterable[Any]) -> list[str]:
    """Return the names of some features, or their numbers if they have none."""
    return [str(int(j)) if names is None else names[int(j)] for j in features]


def refuse_anndata(X: Any, what: str = "data") -> None:
    """Say what to do with an AnnData in the place of an array."""
    if hasattr(X, "var_names") and hasattr(X, "obs_names"):
        raise InputError(
            f"{what} must be an array, got an AnnData: call orthospca.anndata.pca(adata), or pass "
            "adata.X"
        )


def refuse_masked(X: Any, what: str = "data") -> None:
    """Refuse masked entries, below which NumPy would take whatever is there."""
    if np.ma.is_masked(X):
        count, first = int(np.ma.count_masked(X)), np.argwhere(np.ma.getmaskarray(X))[0].tolist()
        raise InputError(
            f"{what} must have no masked entries, got {count}, the first at {tuple(first)}: fill "
            "them in first"
        )


def names_of(Q: Any) -> tuple[str, ...] | None:
    """Feature names of a data frame, else None."""
    names = getattr(Q, "feature_names", None)
    if names is None:
        names = getattr(Q, "columns", None)
    return None if names is None or callable(names) else tuple(str(name) for name in names)


def validate_names(given: Any, n: int, own: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return one name for each feature: those given, else the matrix's own."""
    if given is None:
        return own
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise InputError(f"feature_names must be a sequence of names, got {given!r}")
    names = tuple(str(name) for name in given)
    if len(names) != n:
        raise InputError(
            f"feature_names must have one name for each of the {n} features, got {len(names)}"
        )
    return names


def validate_sparsity(sparsity: Any, n_components: int, n: int) -> tuple[int, ...]:
    """Return one sparsity limit for each component."""
    if isinstance(sparsity, Sequence | np.ndarray) and not isinstance(sparsity, str | bytes):
        if np.ndim(sparsity) == 0:
            sparsity = np.asarray(sparsity).item()
        elif len(sparsity) != n_components:
            raise InputError(
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
        raise InputError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    if number < smallest:
        raise InputError(f"{name} must be at least {smallest}, got {number}")
    if largest is not None and number > largest:
        raise InputError(f"{name} must be at most {largest} ({largest_is}), got {number}")
    return number


def validate_nonnegative(name: str, value: Any) -> float:
    """Return ``value`` as a finite float ≥ 0, or raise ``ValueError``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} must be a number, got {value!r}")
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{name} must be finite and not negative, got {value}")
    return float(value)


def validate_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of the names."""
    known = [str(choice) for choice in choices]
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")


def validate_flag(name: str, value: Any) -> bool:
    """Return ``value`` as a bool, or raise ``ValueError``."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def validate_path(name: str, value: Any) -> Path | None:
    """Return ``value`` as a path, or raise ``ValueError``; None stays None."""
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{name} must be a path, got {value!r}")
    return Path(value)


def listed(names: Sequence[str], most: int = 6) -> str:
    """Some names, or other words, in a message: the first, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _columns(names: Sequence[str]) -> str:
    return f"column{'' if len(names) == 1 else 's'} {listed([*map(repr, names)])}"


def _if_data(shape: tuple[int, ...]) -> str:
    """What to do with observations that were given in the place of a matrix."""
    if len(shape) != 2 or min(shape) < 2:
        return ""
    return (
        f"; if these are {shape[0]} observations of {shape[1]} variables, pass "
        "orthospca.DataCovariance(X), or fit OrthogonalSparsePCA to X"
    )


def _describe(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:50]}…"
