"""From numbers, names and labels to a table: what all formats have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._shape import without_numbering
from orthospca.interface.tables._table import Table, TableError, dense, places


def table_of(
    path: object,
    values: Any,
    reading: Reading,
    columns: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    labels: Mapping[str, tuple[str, ...]] | None = None,
    notices: Sequence[str] = (),
) -> Table:
    """Make a table of an array, for formats whose numbers come as one.

    Parameters
    ----------
    path : path
        For the messages.
    values : ndarray or sparse array
    reading : Reading
    columns, row_names : sequence of str, optional
        What the columns and the rows of the file are called.
    labels : dict, optional
        The texts of columns that are not among the values.
    notices : sequence of str
    """
    if values.ndim != 2:
        raise TableError(f"{path} holds an array of {values.ndim} dimensions instead of 2")
    if values.dtype.kind not in "biuf":
        raise TableError(f"{path} holds values of type {values.dtype}, not numbers")
    if not all(values.shape):
        raise TableError(f"{path} is empty")
    values = values.astype(np.float64, copy=False)
    names, said = unique_names(columns, values.shape[1])
    kept = [names[j] for j in positions_of(path, reading.keep, names)]
    out = sorted(positions_of(path, reading.label, names))
    texts = dict(labels or {})
    for j in out:
        texts[names[j]] = tuple(f"{x:.15g}" for x in dense(values[:, [j]]).ravel().tolist())
    left_out = tuple(texts)
    if out:
        values = values[:, [j for j in range(len(names)) if j not in out]]
        names = [name for name in names if name not in texts]
    if reading.transpose:
        values = values.T.tocsr() if sparse.issparse(values) else np.ascontiguousarray(values.T)
        texts = {}  # they were beside the rows of the file, and are above columns now
        columns, row_names = row_names, names if columns is not None else None
        names, also = unique_names(columns, values.shape[1])
        said += also
    rows = None if row_names is None else tuple(row_names)
    about = (left_out, columns is not None, rows, texts, (*notices, *said), str(path))
    return finish(Table(values, tuple(names), *about, transposed=reading.transpose), kept)


def finish(table: Table, kept: Sequence[str]) -> Table:
    """Leave out what holds or means no numbers, refuse what is infinite or no table at all."""
    rows, width = table.values.shape
    missing = np.bincount(places(table.values, np.isnan)[1], minlength=width)
    table = table.without(np.flatnonzero(missing == rows), "empty column")
    if not table.columns:
        raise TableError(f"{table.path} has no column of numbers; at least two are needed")
    table.refuse(np.isinf, "'{}'", "which is not finite")
    return without_numbering(table, kept)


def unique_names(names: Sequence[str] | None, count: int) -> tuple[list[str], list[str]]:
    """The names, with a suffix where one was there before, and a notice if there are any.

    Columns that have none are numbered.
    """
    if names is None:
        return [f"x{j}" for j in range(count)], []
    counts = Counter(names)
    repeated = [name for name, count in counts.items() if count > 1]
    if not repeated:
        return list(names), []
    taken, seen, unique = set(counts), Counter[str](), []
    for name in names:
        seen[name] += 1
        chosen, number = name, seen[name] - 1
        while number and chosen in taken:
            chosen, number = f"{name}.{number}", number + 1
        taken.add(chosen)
        unique.append(chosen)
    first, rest = repeated[0], len(repeated) - 5
    examples = ", ".join(f"{name!r} {counts[name]} times" for name in repeated[:5])
    more = f" and {rest} more" if rest > 0 else ""
    notice = f"added suffixes to repeated names ({first!r}, '{first}.1', …): {examples}{more}"
    return unique, [notice]


def positions_of(path: object, wanted: Sequence[str], names: Sequence[str]) -> set[int]:
    """Where the columns with these names, or numbers from 1, are."""
    positions = set()
    for name in wanted:
        if name in names:
            positions.add(list(names).index(name))
        elif name.isdecimal() and 1 <= int(name) <= len(names):
            positions.add(int(name) - 1)
        else:
            shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
            raise TableError(f"{path} has no column {name!r} (it has {shown})")
    return positions
