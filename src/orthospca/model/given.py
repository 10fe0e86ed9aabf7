"""Features and vectors as people give them: by names or numbers, in one list or several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.model.validation import column_name, listed, names_of

#: Vectors whose smallest singular value, at unit length, is below this count as dependent.
DEPENDENT = 1e-8
#: One list of features for each component.
Lists = tuple[tuple[int, ...], ...]


def named(features: Iterable[int], names: Sequence[str] | None) -> str:
    """Some features in a message: their names, or their numbers."""
    what = "feature " if names is None else ""
    return listed([f"{what}{column_name(names, j)}" for j in features])


def lists_of(name: str, given: Any, count: int, n: int, names: Sequence[str] | None) -> Lists:
    """Return one list of features for each component; none at all if nothing is asked."""
    if given is None:
        return ()
    if isinstance(given, str | int | np.integer):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise InputError(f"{name} must be a list of features, got {given!r}")
    entries = list(given)
    nested = [x is None or (isinstance(x, Iterable) and not isinstance(x, str)) for x in entries]
    if not entries:
        return ()
    if not any(nested):
        return (_one_list(name, entries, n, names),) * count
    if not all(nested):
        raise InputError(f"{name} must be one list of features or one for each component, got both")
    if len(entries) != count:
        raise InputError(
            f"{name} must be one list of features or one for each of the {count} components, "
            f"got {len(entries)} lists"
        )
    lists = tuple(
        _one_list(f"{name}[{k}]", () if x is None else x, n, names) for k, x in enumerate(entries)
    )
    return lists if any(lists) else ()


def _one_list(
    name: str, given: Iterable[Any], n: int, names: Sequence[str] | None
) -> tuple[int, ...]:
    """Return features, given by names or by numbers, in ascending order."""
    found: list[int] = []
    for entry in given:
        if isinstance(entry, str):
            places = [j for j, known in enumerate(names or ()) if known == entry]
            if len(places) != 1:
                known = f"has {len(places)} of that name" if places else "has no such feature"
                if names is None:
                    known = "has no names: give numbers"
                raise InputError(f"{name} names {str(entry)!r}, but Q {known}")
            found += places
        elif isinstance(entry, int | np.integer) and not isinstance(entry, bool):
            if not 0 <= entry < n:
                raise InputError(
                    f"{name} has the number {int(entry)}, but features are numbered 0 to {n - 1}"
                )
            found.append(int(entry))
        else:
            raise InputError(f"{name} must hold names or numbers of features, got {entry!r}")
        if found[-1] in found[:-1]:
            raise InputError(f"{name} has {named(found[-1:], names)} twice")
    return tuple(sorted(found))


def refuse_other_order(name: str, given: Any, names: Sequence[str] | None) -> None:
    """Refuse a data frame that has the features, by their names, in another order."""
    own = names_of(given)
    if own is not None and names is not None and set(own) == set(names) and own != tuple(names):
        j = next(j for j, (a, b) in enumerate(zip(own, names, strict=False)) if a != b)
        raise InputError(
            f"{name} must have the features in their order, got {own[j]!r} in the place of "
            f"{names[j]!r}"
        )


def vectors_of(name: str, given: Any, n: int) -> Array:
    """Return vectors as rows of finite numbers, or raise ``ValueError``."""
    try:
        rows = np.array(given, dtype=float, ndmin=2)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be vectors of numbers, got {given!r:.60}") from None
    if rows.ndim != 2 or rows.shape[1] != n:
        raise InputError(f"{name} must be vectors of {n} features in rows, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError(f"{name} must be finite, got {rows[~np.isfinite(rows)][0]}")
    return rows


def rows_of(name: str, given: Any, n: int) -> Array:
    """Vectors that are not zero, as rows."""
    rows = vectors_of(name, given, n)
    largest = np.abs(rows).max(axis=1, initial=0.0)
    if not (largest > 0).all():
        raise InputError(f"{name}: vector {int(np.argmin(largest)) + 1} is zero")
    # By powers of two: nothing is rounded, unless it is hardly there.
    return np.ldexp(rows, -np.frexp(largest)[1][:, None])


def vectors_before(previous: Any, n: int) -> Array | None:
    """Return vectors in rows, scaled by powers of two to a length between ½ and 2."""
    if previous is None or np.size(previous) == 0:
        return None
    rows = rows_of("previous", previous, n)
    lengths = np.sqrt(np.square(rows).sum(axis=1))
    rows = np.ldexp(rows, -np.rint(np.log2(lengths)).astype(int)[:, None])
    rows = np.ascontiguousarray(np.where(np.abs(rows) < 1e-200, 0.0, rows))
    units = rows / np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    for k in range(len(units)):
        if k >= n or np.linalg.svd(units[: k + 1], compute_uv=False)[-1] < DEPENDENT:
            raise InputError(
                f"previous must be linearly independent, but vector {k + 1} is a combination of "
                "those before it, or nearly so"
            )
    rows.flags.writeable = False
    return rows
