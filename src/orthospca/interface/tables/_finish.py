"""From numbers, names and labels to a table: what all formats have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from orthospca.interface.tables._table import (
    MOST_LEFT_OUT,
    Table,
    TableError,
    counted,
    dense,
    listed,
)


def table_of(
    path: object,
    values: Any,
    columns: Sequence[str] | None = None,
    *,
    label_values: Mapping[str, tuple[str, ...]] | None = None,
    row_names: tuple[str, ...] | None = None,
    leave_out: Sequence[str] = (),
    transpose: bool = False,
    notices: Sequence[str] = (),
) -> Table:
    """Make a table of an array, for formats whose numbers come as one.

    Parameters
    ----------
    path : path
        For the messages.
    values : ndarray or sparse array
    columns : sequence of str, optional
        The names of all columns.
    label_values : dict, optional
        Columns left out already, with their texts.
    row_names : tuple of str, optional
    leave_out : sequence of str
        Names or numbers, from 1, of columns to leave out.
    transpose : bool
        Whether rows of the file are variables; ``columns`` then name the observations.
    notices : sequence of str
    """
    if values.ndim != 2:
        raise TableError(f"{path} holds an array of {values.ndim} dimensions, and a table has two")
    if values.dtype.kind not in "biuf":
        raise TableError(f"{path} holds values of type {values.dtype}, not numbers")
    rows, width = values.shape
    if not rows or not width:
        raise TableError(f"{path} is empty")
    names, said = unique_names(columns if columns is not None else numbered(width))
    out = positions_of(path, leave_out, names)
    kept = [j for j in range(width) if j not in out]
    values = values.astype(np.float64, copy=False)
    texts = dict(label_values or {})
    if out:
        for j in sorted(out):
            column = dense(values[:, [j]]).ravel().tolist()
            texts[names[j]] = tuple(f"{value:.15g}" for value in column)
        values = values[:, kept]
    labels = tuple(texts)
    names = [names[j] for j in kept]
    named = columns is not None
    if transpose:
        values = values.T.tocsr() if sparse.issparse(values) else np.ascontiguousarray(values.T)
        texts = {}  # they were beside the rows of the file, and are above columns now
        given, row_names = row_names, tuple(names) if named else None
        names, also = unique_names(given if given is not None else numbered(values.shape[1]))
        named, said = given is not None, [*said, *also]
    return finish(
        path,
        values,
        names,
        labels=labels,
        label_values=texts,
        named=named,
        row_names=row_names,
        notices=[*notices, *said],
        transposed=transpose,
    )


def finish(
    path: object,
    values: Any,
    names: Sequence[str],
    *,
    labels: Sequence[str],
    label_values: Mapping[str, tuple[str, ...]],
    named: bool,
    row_names: tuple[str, ...] | None = None,
    notices: Sequence[str] = (),
    lines: Sequence[int] = (),
    transposed: bool = False,
) -> Table:
    """Leave out columns without any number, refuse what is infinite or no table at all."""
    said = list(notices)
    empty = _empty_columns(values)
    if empty:
        left = [names[j] for j in empty]
        said.append(
            f"left out {counted(left, 'column')} without any value: {listed(left, MOST_LEFT_OUT)}"
        )
        kept = [j for j in range(len(names)) if j not in set(empty)]
        values = values[:, kept]
        names = [names[j] for j in kept]
        lines = [lines[j] for j in kept] if lines and transposed else lines
    if len(names) < 2:
        which = f"one column of numbers ({names[0]!r})" if names else "no column of numbers"
        raise TableError(f"{path} has {which}, and a component needs two or more")
    table = Table(
        values,
        tuple(names),
        tuple(labels),
        named,
        row_names,
        dict(label_values),
        tuple(said),
        str(path),
        tuple(lines),
        transposed,
    )
    _refuse_infinite(table)
    return table


def numbered(count: int) -> list[str]:
    """Names for columns that have none."""
    return [f"x{j}" for j in range(count)]


def unique_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names, with a suffix where one was there before, and a notice if there are any."""
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
    examples = [f"{name!r} {counts[name]} times" for name in repeated[:5]]
    more = f" and {len(repeated) - 5} more" if len(repeated) > 5 else ""
    first = repeated[0]
    return unique, [
        f"names that are there more than once got a suffix ({first!r}, '{first}.1', …): "
        + ", ".join(examples)
        + more
    ]


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


def _empty_columns(values: Any) -> list[int]:
    """Columns in which every value is missing."""
    if not sparse.issparse(values):
        return [int(j) for j in np.flatnonzero(np.isnan(values).all(axis=0))]
    if not np.isnan(values.data).any():
        return []
    by_column = values.tocsc()
    columns = np.repeat(np.arange(values.shape[1]), np.diff(by_column.indptr))
    missing = np.bincount(columns[np.isnan(by_column.data)], minlength=values.shape[1])
    return [int(j) for j in np.flatnonzero(missing == values.shape[0])]


def _refuse_infinite(table: Table) -> None:
    if sparse.issparse(table.values):
        entries = table.values.tocoo()
        wrong = np.flatnonzero(np.isinf(entries.data))
        places = [(int(entries.row[i]), int(entries.col[i]), entries.data[i]) for i in wrong]
    else:
        wrong = np.argwhere(np.isinf(table.values))[:1]
        places = [(i, j, table.values[i, j]) for i, j in wrong.tolist()]
    if places:
        row, column, value = min(places, key=lambda place: place[:2])
        raise TableError(
            f"{table.path} has '{value}' in {table.place(row, column)}, which is not finite"
        )
