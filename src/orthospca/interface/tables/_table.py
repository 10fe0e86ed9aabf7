"""The record in which a file's numbers come, and the matrices made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from orthospca import DataCovariance
from orthospca._errors import InputError
from orthospca._typing import Array

#: With more variables than this, a covariance matrix would fill the memory of most machines.
MOST_VARIABLES = 20_000


class TableError(InputError):
    """A file that does not hold a table of numbers; the message is one sentence for its owner."""


@dataclass(frozen=True, eq=False)
class Table:
    """The numbers of a file with the names of their columns.

    Attributes
    ----------
    values : ndarray or sparse array of shape (n_rows, n_columns)
    columns : tuple of str
        From the file; ``x0, x1, ...`` if it has no names.
    labels : tuple of str
        Names of the columns that were left out because they hold labels.
    named : bool
        Whether the names come from the file.
    """

    values: Any
    columns: tuple[str, ...]
    labels: tuple[str, ...] = ()
    named: bool = True

    def covariance(self) -> Array:
        """Covariance of the columns, divisor ``n_rows - 1``."""
        self._need_observations()
        self._need_memory()
        return DataCovariance(self.values).submatrix(np.arange(len(self.columns)))

    def correlation(self) -> Array:
        """Correlation of the columns; a constant column is an error."""
        self._need_observations()
        self._need_memory()
        self._need_variation()
        covariance = DataCovariance(self.values, correlation=True)
        R = covariance.submatrix(np.arange(len(self.columns)))
        np.fill_diagonal(R, 1.0)
        return R

    def data_covariance(self, correlation: bool = False) -> DataCovariance:
        """The covariance or correlation as the data define it, without the matrix."""
        self._need_observations()
        if correlation:
            self._need_variation()
        return DataCovariance(self.values, correlation=correlation)

    def square(self) -> Array:
        """The values themselves, a matrix that must be square."""
        rows, columns = self.values.shape
        if rows != columns:
            hint = ""
            if rows == columns + 1 and not self.named:
                hint = "; if its first line holds names, say --header"
            raise TableError(
                f"a precomputed matrix must be square, but the file has {rows} rows of numbers "
                f"and {columns} columns{hint}"
            )
        self._need_memory()
        return self.values.toarray() if sparse.issparse(self.values) else self.values

    def _need_variation(self) -> None:
        constant = np.flatnonzero(DataCovariance(self.values).constant)
        if constant.size:
            name = self.columns[constant[0]]
            raise TableError(f"column {name!r} is constant, so it has no correlation")

    def _need_observations(self) -> None:
        if self.values.shape[0] < 2:
            raise TableError("the file has one row of numbers, and a covariance needs two or more")

    def _need_memory(self) -> None:
        count = len(self.columns)
        if count > MOST_VARIABLES:
            raise TableError(
                f"the file has {count} variables, and with more than {MOST_VARIABLES} their "
                "matrix is too large to be formed, as --precomputed, a threshold and the methods "
                "'enumeration' and 'deflation' need it"
            )


def table_of(
    path: object,
    values: Any,
    columns: Sequence[str] | None = None,
    labels: Sequence[str] = (),
    leave_out: Sequence[str] = (),
) -> Table:
    """Make a table of an array; what is missing, or not a table at all, is an error.

    Parameters
    ----------
    path : path
        For the messages.
    values : ndarray or sparse array
    columns : sequence of str, optional
        The names of all columns.
    labels : sequence of str
        Columns left out already.
    leave_out : sequence of str
        Names or numbers, from 1, of columns to leave out.
    """
    if values.ndim != 2:
        raise TableError(f"{path} holds an array of {values.ndim} dimensions, and a table has two")
    if values.dtype.kind not in "biuf":
        raise TableError(f"{path} holds values of type {values.dtype}, not numbers")
    rows, width = values.shape
    if not rows or not width:
        raise TableError(f"{path} is empty")
    names = [f"x{j}" for j in range(width)] if columns is None else list(columns)
    out = positions_of(path, leave_out, names)
    kept = [j for j in range(width) if j not in out]
    if len(kept) < 2:
        raise TableError(
            f"{path} has {'one' if kept else 'no'} column of numbers, and a component needs two or "
            "more"
        )
    values = values.astype(np.float64, copy=False)
    if out:
        values = values[:, kept]
    left, names = [names[j] for j in sorted(out)], [names[j] for j in kept]
    _refuse_if_not_finite(path, values, names)
    return Table(values, tuple(names), (*labels, *left), named=columns is not None)


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


def _refuse_if_not_finite(path: object, values: Any, names: Sequence[str]) -> None:
    if sparse.issparse(values):
        entries = values.tocoo()
        wrong = np.flatnonzero(~np.isfinite(entries.data))
        places = [(int(entries.row[i]), int(entries.col[i]), entries.data[i]) for i in wrong]
    else:
        wrong = np.argwhere(~np.isfinite(values))[:1]
        places = [(i, j, values[i, j]) for i, j in wrong.tolist()]
    if places:
        row, column, value = min(places, key=lambda place: place[:2])
        place = f"row {row + 1}, column {names[column]!r}"
        if np.isnan(value):
            raise TableError(f"{path} has a missing value in {place}")
        raise TableError(f"{path} has '{value}' in {place}, which is not finite")
