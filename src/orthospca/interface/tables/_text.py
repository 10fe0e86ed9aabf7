"""Numbers from a text file: CSV or TSV in UTF-8; comma, semicolon or tab is found out.

Blank lines and lines that begin with ``#`` are skipped. What is recognised:

- *a header*: the first line, if none of its cells after the first is a number;
- *row labels*: a first column under an empty heading, or one that the header does not count, or one
  of distinct whole numbers that is called ``id`` or the like;
- *labels*: columns without any number, such as the class of each observation.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from orthospca.interface.tables._table import Table, TableError, positions_of

SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma"}
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
INDEX_HEADINGS = frozenset({"id", "ids", "index", "idx", "row", "no", "no.", "nr", "#"})
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")

Row = tuple[int, list[str]]
"""The number of a line, and its cells."""


def read_text(path: Path, header: bool | None, leave_out: Sequence[str]) -> Table:
    """Read a CSV or TSV file; see :func:`orthospca.interface.tables.read_table`."""
    numbered = _lines(path)
    separator = _separator(path, [line for _, line in numbered])
    rows = [
        (number, [cell.strip() for cell in _cells(path, number, line, separator)])
        for number, line in numbered
    ]
    names, rows = _split_header(rows, header)
    if not rows:
        raise TableError(f"{path} has a header but no rows")
    width = len(rows[0][1])
    if names is not None and len(names) == width - 1:
        names = ["", *names]
    if names is not None and len(names) != width:
        raise TableError(
            f"{path} has {len(names)} cells in its header but {width} in line {rows[0][0]}"
        )
    for number, cells in rows:
        if len(cells) != width:
            raise TableError(
                f"{path} is ragged: line {number} has {len(cells)} cells, line {rows[0][0]} has "
                f"{width} (separator: {SEPARATORS[separator]})"
            )
    return _numbers(path, names, rows, leave_out)


def _lines(path: Path) -> list[tuple[int, str]]:
    """The lines that count, with their numbers."""
    content = path.read_bytes()
    try:
        if path.suffix.lower() == ".gz":
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(f"{path} is not a text file in UTF-8") from None
    except (OSError, EOFError, zlib.error):
        raise TableError(f"{path} is not a gzip file, or a damaged one") from None
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


def _split_header(rows: list[Row], header: bool | None) -> tuple[list[str] | None, list[Row]]:
    first = rows[0][1]
    if header is None:
        later = first[1:] or first
        header = not any(_number(cell) is not None or cell.lower() in MISSING for cell in later)
    return (first, rows[1:]) if header else (None, rows)


def _numbers(
    path: Path, header: list[str] | None, rows: list[Row], leave_out: Sequence[str]
) -> Table:
    names = header if header is not None else [f"x{j}" for j in range(len(rows[0][1]))]
    asked = positions_of(path, leave_out, names)
    kept: list[str] = []
    labels: list[str] = []
    columns: list[list[float]] = []
    for j, heading in enumerate(names):
        if j == 0 and not heading:
            continue
        name = heading or f"number {j + 1}"
        cells = [(line, cells[j]) for line, cells in rows]
        if j in asked or _holds_labels(cells) or (j == 0 and _is_index(heading, cells)):
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
    return Table(np.array(columns).T.copy(), tuple(kept), tuple(labels), header is not None)


def _is_index(heading: str, cells: list[tuple[int, str]]) -> bool:
    """Whether the first column is called an index and holds distinct whole numbers."""
    values = {cell for _, cell in cells}
    whole = all(value.lstrip("-").isdecimal() for value in values)
    return heading.lower() in INDEX_HEADINGS and whole and len(values) == len(cells)


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
    try:
        number = float(cell)
    except ValueError:
        return None
    return None if math.isnan(number) else number
