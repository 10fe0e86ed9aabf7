"""Loadings as other tools leave them: either way round, with names or without."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.model.given import DEPENDENT
from orthospca.model.validation import column_name, listed


def read_loadings(
    given: Any, n: int, names: Sequence[str] | None, zero: float
) -> tuple[Array, tuple[int, ...], tuple[str, ...]]:
    """Find out which way round they are, match names, and scale each to unit length.

    Parameters
    ----------
    given : array-like, data frame, table of a file, or whatever has components
    n : int
        Features.
    names : sequence of str or None
        Theirs.
    zero : float
        Loadings up to this share of the largest of their vector count as zero.

    Returns
    -------
    array of shape (K, n)
    tuple of int
        The place of each among those given, from 1.
    tuple of str
        What was found and done on the way that their owner should know.
    """
    values, rows, columns = _parts(given)
    found, notes = _turned(values, rows, columns, n, names)
    if not np.isfinite(found).all():
        k, j = (int(place[0]) for place in np.nonzero(~np.isfinite(found)))
        raise InputError(
            f"loadings must be finite, got {found[k, j]} for feature {column_name(names, j)} "
            f"in component {k + 1}"
        )
    largest = np.abs(found).max(axis=1, initial=0.0)
    kept = np.flatnonzero(largest > 0)
    if not len(kept):
        raise InputError("loadings must not be all zero")
    if len(kept) < len(found):
        empty = ", ".join(str(k + 1) for k in np.flatnonzero(largest == 0))
        notes = (*notes, f"component {empty} is all zero and is left out")
    scaled = found[kept] / largest[kept, None]
    scaled[np.abs(scaled) <= zero] = 0.0
    vectors = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return vectors, tuple((kept + 1).tolist()), notes


def _parts(given: Any) -> tuple[Array, list[str] | None, list[str] | None]:
    """Numbers, and the names of their rows and columns if they have any."""
    if isinstance(given, str | os.PathLike):
        raise InputError(
            f"loadings must be numbers, got the path {os.fspath(given)!r}: read it with "
            "orthospca.tables.read_table"
        )
    for name, own in (("components_", "feature_names_in_"), ("components", "feature_names")):
        if hasattr(given, name):
            return _numbers(getattr(given, name)), None, _texts(getattr(given, own, None))
    columns = _texts(getattr(given, "columns", None))
    if hasattr(given, "row_names"):  # a table of a file
        return _numbers(given.values), _texts(given.row_names), columns if given.named else None
    return _numbers(given), _texts(getattr(given, "index", None)), columns


def _texts(names: Any) -> list[str] | None:
    """Names that are texts: numbers of rows are none."""
    if names is None or callable(names):
        return None
    listed = list(names)
    return listed if all(isinstance(name, str) for name in listed) else None


def _numbers(given: Any) -> Array:
    given = given.toarray() if hasattr(given, "toarray") else given
    try:
        values = np.array(given, dtype=np.float64, ndmin=2)
    except (TypeError, ValueError):
        raise InputError(f"loadings must be numbers, got {given!r:.60}") from None
    if values.ndim != 2:
        raise InputError(f"loadings must be a matrix, got shape {values.shape}")
    return values


def _turned(
    values: Array,
    rows: list[str] | None,
    columns: list[str] | None,
    n: int,
    names: Sequence[str] | None,
) -> tuple[Array, tuple[str, ...]]:
    """Components in rows, features as in the data, and what was noticed."""
    ways, known = ((values, columns), (values.T, rows)), set(names or ())
    hits = [len(known.intersection(own or ())) for _, own in ways]
    if max(hits):
        turned, own = ways[hits.index(max(hits))]
        return _matched(turned, own or [], names or ())
    square = values.shape == (n, n)
    for turned, _ in ways:
        if turned.shape[1] == n:
            said = "as many components as features: rows were taken as components"
            return turned, (said,) * square
    unknown = names is not None and (rows or columns) is not None
    none = ", and none of their names is a feature of the data" if unknown else ""
    raise InputError(
        f"loadings must have a row or a column for each of the {n} features, got shape "
        f"{values.shape}{none}"
    )


def _matched(values: Array, own: list[str], names: Sequence[str]) -> tuple[Array, tuple[str, ...]]:
    """Columns in the order of the data; features without a loading have none."""
    places = {name: j for j, name in enumerate(names)}
    if len(places) < len(names) or len(set(own)) < len(own):
        twice = next(x for each in (names, own) for x in each if list(each).count(x) > 1)
        raise InputError(f"loadings cannot be matched by name: {twice!r} is there twice")
    used = np.any(values, axis=0).tolist()
    unknown = [
        name for name, is_used in zip(own, used, strict=True) if is_used and name not in places
    ]
    if unknown:
        raise InputError(
            f"loadings name {listed([*map(repr, unknown)])}, but the data have no such feature"
        )
    found, known = np.zeros((len(values), len(names))), [name in places for name in own]
    found[:, [places[name] for name in own if name in places]] = values[:, known]
    missing = [name for name in names if name not in set(own)]
    if not missing:
        return found, ()
    have = "has no loading and counts" if len(missing) == 1 else "have no loadings and count"
    return found, (f"{listed([*map(repr, missing)])} {have} as zero",)


def basis_of(X: Array) -> tuple[Array, IntArray]:
    """Orthonormal rows, each what is left of a vector when those before are projected out.

    And which vectors they are of: those that are combinations of others, or nearly so, have none.
    """
    kept: list[int] = []
    for k in range(len(X)):
        if np.linalg.svd(X[[*kept, k]], compute_uv=False)[-1] >= 2 * DEPENDENT:
            kept.append(k)
    return np.linalg.qr(X[kept].T)[0].T, np.array(kept)
