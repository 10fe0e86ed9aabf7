"""Numbers from a text file: which column is what, and what is wrong with the file.

Files are CSV or TSV (comma, semicolon or tab, found out by itself), in UTF-8. Blank lines and lines
that begin with ``#`` are skipped. What is recognised:

- *a header*: the first line, if none of its cells after the first is a number;
- *row labels*: a first column under an empty heading, or one that the header does not count;
- *labels*: columns without any number, such as the class of each observation.

Labels are kept apart from the numbers. Everything else has to be a finite number: a missing value,
a text among numbers, a line of another length is an error that names its place.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orthospca._typing import Array

SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma"}
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


class TableError(ValueError):
    """A file that does not hold a table of numbers; the message is one sentence for its owner."""


@dataclass(frozen=True, eq=False)
class Table:
    """The numbers of a file with the names of their columns.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns)
    columns : tuple of str
        From the header; ``x0, x1, ...`` without one.
    labels : tuple of str
        Names of the columns that were left out because they hold labels.
    """

    values: Array
    columns: tuple[str, ...]
    labels: tuple[str, ...] = ()

    def covariance(self) -> Array:
        """Covariance of the columns, divisor ``n_rows - 1``."""
        self._need_observations()
        return np.atleast_2d(np.cov(self.values, rowvar=False))

    def correlation(self) -> Array:
        """Correlation of the columns; a constant column is an error."""
        self._need_observations()
        constant = np.flatnonzero(np.ptp(self.values, axis=0) == 0.0)
        if constant.size:
            name = self.columns[constant[0]]
            raise TableError(f"column {name!r} is constant, so it has no correlation")
        R = np.atleast_2d(np.corrcoef(self.values, rowvar=False))
        np.fill_diagonal(R, 1.0)
        return (R + R.T) / 2.0

    def square(self) -> Array:
        """The values themselves, a matrix that must be square."""
        rows, columns = self.values.shape
        if rows != columns:
            raise TableError(
                f"a precomputed matrix must be square, but the file has {rows} rows of numbers "
                f"and {columns} columns"
            )
        return self.values

    def _need_observations(self) -> None:
        if len(self.values) < 2:
            raise TableError("the file has one row of numbers, and a covariance needs two or more")


def read_table(path: str | Path) -> Table:
    """Read a table of numbers, or raise :class:`TableError` with one sentence.

    Parameters
    ----------
    path : path
        A CSV or TSV file.
    """
    path = Path(path)
    numbered = _lines(path)
    separator = _separator(path, [line for _, line in numbered])
    rows = [
        (number, [cell.strip() for cell in _cells(path, number, line, separator)])
        for number, line in numbered
    ]
    header, rows = _split_header(rows)
    if not rows:
        raise TableError(f"{path} has a header but no rows")
    width = len(rows[0][1])
    if header is not None and len(header) == width - 1:
        header = ["", *header]
    if header is not None and len(header) != width:
        raise TableError(
            f"{path} has {len(header)} cells in its header but {width} in line {rows[0][0]}"
        )
    for number, cells in rows:
        if len(cells) != width:
            raise TableError(
                f"{path} is ragged: line {number} has {len(cells)} cells, line {rows[0][0]} has "
                f"{width} (separator: {SEPARATORS[separator]})"
            )
    return _numbers(path, header, rows)


def _lines(path: Path) -> list[tuple[int, str]]:
    """The lines that count, with their numbers."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(f"{path} is not a text file in UTF-8") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TableError(f"{path} cannot be read: {reason}") from None
    if "\x00" in text:
        raise TableError(f"{path} is not a text file")
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise TableError(f"{path} is empty")
    return lines


def _separator(path: Path, lines: list[str]) -> str:
    """The separator that cuts most lines into the same number of cells, two or more."""
    sample = lines[:50]
    best, agreement = "", 0
    for separator in SEPARATORS:
        counts = Counter(line.count(separator) for line in sample if separator in line)
        if counts and counts.most_common(1)[0][1] > agreement:
            best, agreement = separator, counts.most_common(1)[0][1]
    if not best:
        raise TableError(
            f"{path} has one column: cells must be separated by commas, semicolons or tabs"
        )
    return best


def _cells(path: Path, number: int, line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator, strict=True))
    except csv.Error as error:
        raise TableError(f"{path} cannot be read: line {number}: {error}") from None


def _split_header(
    rows: list[tuple[int, list[str]]],
) -> tuple[list[str] | None, list[tuple[int, list[str]]]]:
    first = rows[0][1]
    later = first[1:] or first
    if any(_number(cell) is not None or cell.lower() in MISSING for cell in later):
        return None, rows
    return first, rows[1:]


def _numbers(path: Path, header: list[str] | None, rows: list[tuple[int, list[str]]]) -> Table:
    names = header if header is not None else [f"x{j}" for j in range(len(rows[0][1]))]
    kept: list[str] = []
    labels: list[str] = []
    columns: list[list[float]] = []
    for j, heading in enumerate(names):
        if j == 0 and not heading:
            continue
        name = heading or f"number {j + 1}"
        cells = [(line, cells[j]) for line, cells in rows]
        if _holds_labels(cells):
            labels.append(name)
        else:
            kept.append(name)
            columns.append(_column(path, name, cells))
    if not columns:
        raise TableError(f"{path} holds no numbers, only text")
    if len(columns) == 1:
        raise TableError(
            f"{path} has one column of numbers ({kept[0]!r}), and a component needs two or more"
        )
    return Table(np.array(columns).T.copy(), tuple(kept), tuple(labels))


def _holds_labels(cells: list[tuple[int, str]]) -> bool:
    """Whether there is text and no number, not even a misspelt one, among the cells."""
    if any(_number(cell) is not None or DECIMAL_COMMA.fullmatch(cell) for _, cell in cells):
        return False
    return any(cell.lower() not in MISSING for _, cell in cells)


def _column(path: Path, name: str, cells: list[tuple[int, str]]) -> list[float]:
    numbers = []
    for row, (line, cell) in enumerate(cells, start=1):
        number = _number(cell)
        if number is None or not math.isfinite(number):
            place = f"row {row} (line {line}), column {name!r}"
            if cell.lower() in MISSING:
                raise TableError(f"{path} has a missing value in {place}")
            fault = "not a number" if number is None else "not finite"
            if DECIMAL_COMMA.fullmatch(cell):
                fault = "not a number: decimals need a point"
            raise TableError(f"{path} has {cell!r} in {place}, which is {fault}")
        numbers.append(number)
    return numbers


def _number(cell: str) -> float | None:
    """The number a cell holds; None for text and for missing values."""
    if cell.lower() in MISSING:
        return None
    try:
        return float(cell)
    except ValueError:
        return None
