"""The record in which a file's numbers come, and the matrices made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from orthospca import DataCovariance, missing
from orthospca._errors import InputError
from orthospca._typing import AnyArray, Array

#: With more variables than this, a covariance matrix would fill the memory of most machines.
MOST_VARIABLES = 20_000
#: Names in a message before the rest is counted; of what was left out, all that can be read.
MOST_NAMES, MOST_LEFT_OUT = 8, 100
#: Differences between halves of a matrix, by its largest entry, that are more than rounding.
ASYMMETRIC = 1e-10

Test = Callable[[Any], Any]
"""Of numbers, such as ``np.isnan``."""


class TableError(InputError):
    """A file that does not hold a table of numbers; the message is one sentence for its owner."""


@dataclass(frozen=True, eq=False)
class Table:
    """The numbers of a file with the names of their columns.

    Attributes
    ----------
    values : ndarray or sparse array of shape (n_rows, n_columns)
        With NaN where a value is missing, if missing values were asked to be kept.
    columns : tuple of str
        From the file; ``x0, x1, ...`` if it has no names.  Each name is there once.
    labels : tuple of str
        Names of the columns that were left out because they hold labels.
    named : bool
        Whether the names come from the file.
    row_names : tuple of str or None
        What the rows are called, if the file says so.
    label_values : dict
        The texts of the columns that hold labels, one for each row, by the name of the column.
    notices : tuple of str
        What was found and done on the way that the owner of the file should know.
    path : str
        For the messages.
    lines : tuple of int
        The line of the file that each row came from, or, in a transposed table, each column.
    transposed : bool
        Whether rows of the file are columns of the table.
    """

    values: Any
    columns: tuple[str, ...]
    labels: tuple[str, ...] = ()
    named: bool = True
    row_names: tuple[str, ...] | None = None
    label_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    path: str = "the file"
    lines: tuple[int, ...] = ()
    transposed: bool = False

    def covariance(self) -> Array:
        """Covariance of the columns, divisor ``n_rows - 1``; of each pair, where values miss."""
        return self.matrix(correlation=False)

    def correlation(self) -> Array:
        """Correlation of the columns; a constant column is an error."""
        return self.matrix(correlation=True)

    def matrix(self, correlation: bool) -> Array:
        """One or the other."""
        self._need_observations()
        self._need_memory()
        if self.has_missing:
            try:
                return missing.pairwise_matrix(dense(self.values), correlation, self.columns)
            except InputError as error:
                raise TableError(
                    f"{self.path} has {error}: leave one of them out with --label, or use "
                    "--missing mean"
                ) from None
        Q = self.data_covariance(correlation).submatrix(np.arange(len(self.columns)))
        if correlation:
            np.fill_diagonal(Q, 1.0)
        return Q

    def data_covariance(self, correlation: bool = False) -> DataCovariance:
        """The covariance or correlation as the data define it, without the matrix."""
        self._need_observations()
        try:
            covariance = DataCovariance(self.values, correlation=correlation)
        except InputError as error:
            told = re.sub(r"column (\d+)", lambda found: self._column(found[1]), str(error))
            raise TableError(told.replace("data", str(self.path), 1)) from None
        if correlation and covariance.constant.any():
            names = self._names(np.flatnonzero(covariance.constant))
            noun = "column" if len(names) == 1 else "columns"
            raise TableError(f"no correlations exist for constant {noun} {listed(names)}")
        return covariance

    def square(self) -> Array:
        """The values themselves, a matrix that must be square."""
        rows, columns = self.values.shape
        if rows != columns:
            hint = ""
            if rows == columns + 1 and not self.named:
                hint = "; if its first line holds names, use --header"
            if rows == columns - 1 and self.named:
                hint = "; if its first line holds no names, use --no-header"
            raise TableError(
                f"a precomputed matrix must be square, but the file has {rows} rows of numbers "
                f"and {columns} columns{hint}"
            )
        self._need_memory()
        self.refuse(np.isnan, "a missing value", "and a precomputed matrix must have none")
        values = dense(self.values)
        difference = np.abs(values - values.T)
        if difference.max() > ASYMMETRIC * float(np.abs(values).max()):
            i, j = divmod(int(difference.argmax()), rows)
            raise TableError(
                f"a precomputed matrix must be symmetric, but {self.path} has {values[i, j]:g} in "
                f"{self.place(i, j)}, and {values[j, i]:g} in {self.place(j, i)}; leave "
                "--precomputed out if its rows are observations"
            )
        return values

    def refuse(self, test: Test, what: str, why: str) -> None:
        """Refuse the first entry of which a test is true, if there is one."""
        for row, column in zip(*places(self.values, test), strict=True):
            said = what.format(self.values[row, column])
            raise TableError(f"{self.path} has {said} in {self.place(row, column)}, {why}")

    @property
    def has_missing(self) -> bool:
        """Whether a value is missing."""
        return places(self.values, np.isnan)[0].size > 0

    def of_several(self) -> Table:
        """The table itself, unless it has one column only."""
        if len(self.columns) < 2:
            which = f"only one column of numbers ({self.columns[0]!r})" if self.columns else "none"
            left = "".join(f" ({said})" for said in self.notices if said.startswith("left out"))
            raise TableError(f"{self.path} has {which}; at least two are needed{left}")
        return self

    def varying(self) -> Table:
        """The table without its constant columns, with a notice that lists them."""
        if self.has_missing:
            self._need_observations()
            low, high = np.nanmin(self.values, axis=0), np.nanmax(self.values, axis=0)
            constant = np.flatnonzero(low == high)
        else:
            constant = np.flatnonzero(self.data_covariance().constant)
        left = len(self.columns) - len(constant)
        if constant.size and left < 2:
            rest = f"all its columns but {left}" if left else "all its columns"
            raise TableError(f"{self.path} has nothing to analyse: {rest} are constant")
        return self.without(constant, "constant column")

    def noted(self, *notices: str) -> Table:
        """The table with more notices."""
        return replace(self, notices=(*self.notices, *notices))

    def without(self, columns: AnyArray, what: str, hint: str = "") -> Table:
        """The table without some columns, with a notice that says what they are."""
        if not len(columns):
            return self
        names = self._names(columns)
        notice = f"left out {counted(len(names), what)}: {listed(names, MOST_LEFT_OUT)}{hint}"
        kept = np.setdiff1d(np.arange(len(self.columns)), columns)
        lines = tuple(self.lines[j] for j in kept) if self.transposed else self.lines
        left = replace(self, values=self.values[:, kept], columns=self._names(kept), lines=lines)
        return left.noted(notice)

    def place(self, row: int, column: int) -> str:
        """Where an entry is, for a message."""
        return place(self.lines, self.transposed, row, column, self.columns[column])

    def row_place(self, row: int) -> str:
        """Where a row is, for a message."""
        line = f", line {self.lines[row]}" if self.lines and not self.transposed else ""
        return f"row {row + 1}{line}"

    def _names(self, columns: AnyArray) -> tuple[str, ...]:
        return tuple(self.columns[j] for j in columns)

    def _column(self, number: str) -> str:
        return f"column {self.columns[int(number)]!r}"

    def _need_observations(self) -> None:
        if self.values.shape[0] < 2:
            raise TableError("the file has one row of numbers; a covariance needs at least two")

    def _need_memory(self) -> None:
        count = len(self.columns)
        if count > MOST_VARIABLES:
            raise TableError(
                f"the file has {count} variables; --precomputed, --missing pairwise and the "
                "methods 'enumeration' and 'deflation' need their matrix, which is formed for at "
                f"most {MOST_VARIABLES}"
            )


def dense(values: Any) -> Array:
    """The values as an ndarray."""
    return np.asarray(values.toarray() if sparse.issparse(values) else values)


def places(values: Any, test: Test) -> tuple[AnyArray, AnyArray]:
    """Rows and columns of the entries of which a test is true, as it is of no zero."""
    if not sparse.issparse(values):
        rows, columns = np.nonzero(test(values))
        return rows, columns
    entries = values.tocoo()
    found = test(entries.data)
    rows, columns = entries.row[found], entries.col[found]
    order = np.lexsort((columns, rows))
    return rows[order], columns[order]


def place(lines: Sequence[int], transposed: bool, row: int, column: int, name: str) -> str:
    """Where an entry is, for a message; a line of the file is a row, or a column if transposed."""
    line = f" (line {lines[column if transposed else row]})" if lines else ""
    of_row, of_column = ("", line) if transposed else (line, "")
    return f"row {row + 1}{of_row}, column {name!r}{of_column}"


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names with commas; what is more than ``most`` is counted."""
    shown = ", ".join(map(repr, names[:most]))
    rest = len(names) - most
    return f"{shown} and {rest} more" if rest > 0 else shown


def counted(count: int, noun: str) -> str:
    """How many things there are."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
