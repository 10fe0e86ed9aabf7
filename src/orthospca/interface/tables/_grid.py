"""From cells of text to a table: which line is the header, which column is what.

What is recognised:

- *a header*: the first line, if none of its cells after the first is a number;
- *row labels*: a first column under an empty heading, or one that the header does not count, or one
  of distinct whole numbers that is called ``id`` or the like;
- *labels*: columns without any number, such as the class of each observation;
- *true and false*: columns of nothing else are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from orthospca.interface.tables._finish import finish, numbered, positions_of, unique_names
from orthospca.interface.tables._numbers import (
    BOOLEANS,
    COMMA,
    POINT,
    Ambiguous,
    find_decimal,
    is_missing,
    looks_like_number,
    number_in,
)
from orthospca.interface.tables._shape import names_variables, transposed_hint
from orthospca.interface.tables._table import Table, TableError, counted, listed

INDEX_HEADINGS = frozenset(
    {"id", "ids", "index", "idx", "row", "rownames", "no", "no.", "nr", "#", "unnamed: 0"}
)
#: What makes a text of a number, at either end.
SIGNS = "%‰€$£¥ \u00a0\u202f"

Row = tuple[int, list[str]]
"""The number of a line, and its cells."""


@dataclass(frozen=True)
class Reading:
    """How cells are to be read, as far as it was said.

    Attributes
    ----------
    header : bool or None
    leave_out : sequence of str
    decimal : {".", ","} or None
    transpose : bool
    """

    header: bool | None = None
    leave_out: Sequence[str] = ()
    decimal: str | None = None
    transpose: bool = False


@dataclass(frozen=True)
class Grid:
    """Cells with headings, all rows equally long.

    Attributes
    ----------
    names : list of str or None
        The headings.
    rows : list of lists of str
    lines : list of int
        The line of each row in the file; of each column if transposed.
    row_names : tuple of str or None
        Known already: the first column is then one like the others.
    transposed : bool
    left_out : tuple of str
        Names of labels that are not among the rows any more.
    """

    names: list[str] | None
    rows: list[list[str]]
    lines: list[int]
    row_names: tuple[str, ...] | None = None
    transposed: bool = False
    left_out: tuple[str, ...] = ()

    def place(self, row: int, column: int, name: str) -> str:
        """Where a cell is, for a message."""
        if self.transposed:
            return f"row {row + 1}, column {name!r} (line {self.lines[column]})"
        return f"row {row + 1} (line {self.lines[row]}), column {name!r}"


def table_from_cells(
    path: object, rows: list[Row], reading: Reading, how_separated: str, notices: Sequence[str] = ()
) -> Table:
    """Make a table of the cells of a text file or of a sheet."""
    said = list(notices)
    full = [(line, cells) for line, cells in rows if any(cells)]
    if not full:
        raise TableError(f"{path} is empty")
    if len(full) < len(rows):
        blank = len(rows) - len(full)
        said.append(f"skipped {blank} line{'' if blank == 1 else 's'} of nothing but separators")
    above = _lines_above(full)
    if above:
        said.append(f"skipped {above} line{'' if above == 1 else 's'} above the table")
    grid = _with_headings(path, full[above:], reading.header, how_separated)
    names, repeated = unique_names(_filled_in(grid.names, len(grid.rows[0])))
    said += repeated
    asked = positions_of(path, reading.leave_out, names)
    if reading.transpose:
        return _read_columns(path, _turned(grid, names, asked), reading.decimal, set(), said)
    return _read_columns(path, grid, reading.decimal, asked, said, names)


def _lines_above(rows: list[Row]) -> int:
    """How many lines come before the table: those that have nothing but a text at the left."""
    for above, (_, cells) in enumerate(rows[:-2]):
        if not cells[0] or any(cells[1:]) or looks_like_number(cells[0]):
            return above
    return 0


def _with_headings(path: object, rows: list[Row], header: bool | None, how_separated: str) -> Grid:
    first = rows[0][1]
    if header is None:
        later = first[1:] or first
        texts = [cell for cell in later if cell]
        header = bool(texts) and not any(looks_like_number(c) or is_missing(c) for c in texts)
    names, rows = (list(first), rows[1:]) if header else (None, rows)
    if not rows:
        raise TableError(f"{path} has a header but no rows")
    width = len(rows[0][1])
    for line, cells in rows:
        if len(cells) != width:
            raise TableError(
                f"{path} is ragged: line {line} has {len(cells)} cells, line {rows[0][0]} has "
                f"{width} ({how_separated})"
            )
    if names is not None and len(names) == width - 1:
        # A separator at the end of each line, or a column of row labels that the header leaves out.
        at_end = not any(cells[-1] for _, cells in rows)
        names = [*names, ""] if at_end else ["", *names]
    if names is not None and len(names) != width:
        raise TableError(
            f"{path} has {len(names)} cells in its header but {width} in line {rows[0][0]}"
        )
    return Grid(names, [cells for _, cells in rows], [line for line, _ in rows])


def _filled_in(names: list[str] | None, width: int) -> list[str]:
    """Names for all columns."""
    if names is None:
        return numbered(width)
    # The first one without a name holds row labels, and keeps none.
    return [name or (f"number {j + 1}" if j else "") for j, name in enumerate(names)]


def _turned(grid: Grid, names: list[str], asked: set[int]) -> Grid:
    """Rows as columns: the first column, if it holds labels, names them."""
    columns = list(zip(*grid.rows, strict=True))
    has_header = grid.names is not None
    first = names_variables(names[0]) or _is_row_label(names[0], columns[0], has_header)
    titles = None
    if first:
        titles = [t or f"line {at}" for t, at in zip(columns[0], grid.lines, strict=True)]
    kept = [
        j
        for j, cells in enumerate(columns)
        if j not in asked and not (j == 0 and first) and not _holds_labels(cells)
    ]
    if not kept:
        raise TableError("with --transpose the file has no columns of numbers")
    return Grid(
        titles,
        [list(columns[j]) for j in kept],
        grid.lines,
        tuple(names[j] for j in kept) if has_header else (),
        transposed=True,
        left_out=tuple(
            name for j, name in enumerate(names) if j not in kept and not (j == 0 and first)
        ),
    )


def _read_columns(
    path: object,
    grid: Grid,
    decimal: str | None,
    asked: set[int],
    said: list[str],
    names: list[str] | None = None,
) -> Table:
    if names is None:
        names, repeated = unique_names(_filled_in(grid.names, len(grid.rows[0])))
        said = [*said, *repeated]
    columns = list(zip(*grid.rows, strict=True))
    heading = names[0] if grid.names is not None and grid.row_names is None else None
    hidden = heading == ""
    is_label = [
        j in asked
        or _holds_labels(cells)
        or (j == 0 and grid.row_names is None and _is_row_label(names[0], cells, grid.names))
        for j, cells in enumerate(columns)
    ]
    numbers = [j for j, label in enumerate(is_label) if not label]
    labels = {names[j]: columns[j] for j, label in enumerate(is_label) if label}
    row_names = grid.row_names or _row_names(labels, hidden)
    shown = {name: texts for name, texts in labels.items() if name}
    chosen = {names[j] for j in asked}
    if not numbers:
        raise TableError(f"{path} holds no numbers, only text")
    with_sign = [name for name, texts in shown.items() if name not in chosen and _has_sign(texts)]
    if with_sign:
        example = next(cell for cell in shown[with_sign[0]] if not is_missing(cell))
        said = [
            *said,
            f"left out as text, because of a sign as in {example!r}: {listed(with_sign)}",
        ]
    flags = [j for j in numbers if _holds_booleans(columns[j])]
    if flags:
        said = [*said, f"true and false were read as 1 and 0: {listed([names[j] for j in flags])}"]
    counted_columns = [j for j in numbers if j not in set(flags)]
    if decimal is None:
        decimal = _decimal(path, grid, columns, names, counted_columns)
    if decimal == COMMA:
        said = [*said, "decimal commas were read as points"]
    kept = [names[j] for j in numbers]
    if not grid.transposed:
        hint = transposed_hint(heading, labels.get(heading or ""), kept, len(grid.rows))
        said = [*said, *hint]
    values = np.empty((len(grid.rows), len(numbers)))
    for k, j in enumerate(numbers):
        if j in flags:
            values[:, k] = [BOOLEANS.get(cell.lower(), np.nan) for cell in columns[j]]
            continue
        try:
            values[:, k] = _column(grid, j, names[j], columns[j], decimal)
        except ValueError as error:
            turn = "" if grid.transposed or not hint else "; if rows are variables, say --transpose"
            raise TableError(f"{path} has {error}{turn}") from None
    lines = [grid.lines[j] for j in numbers] if grid.transposed else grid.lines
    return finish(
        path,
        values,
        kept,
        labels=(*grid.left_out, *shown),
        label_values=shown,
        named=grid.names is not None,
        row_names=row_names or None,
        notices=said,
        lines=lines,
        transposed=grid.transposed,
    )


def _row_names(labels: dict[str, tuple[str, ...]], hidden: bool) -> tuple[str, ...] | None:
    """Row labels: the column without a heading, or the first of labels that are all different."""
    if hidden:
        return labels[""]
    for texts in labels.values():
        if len(set(texts)) == len(texts):
            return texts
    return None


def _is_row_label(heading: str, cells: Sequence[str], has_header: object) -> bool:
    """Whether the first column holds no variable: no heading, or an index by name and content."""
    if not has_header:
        return _holds_labels(cells)
    values = set(cells)
    whole = all(value.lstrip("-").isdecimal() for value in values)
    is_index = heading.lower() in INDEX_HEADINGS and whole and len(values) == len(cells)
    return not heading or is_index or _holds_labels(cells)


def _holds_labels(cells: Sequence[str]) -> bool:
    """Whether there is text and no number, not even a misspelt one, among the cells."""
    if any(looks_like_number(cell) for cell in cells):
        return False
    return not all(is_missing(cell) for cell in cells)


def _has_sign(cells: Sequence[str]) -> bool:
    """Whether all texts are amounts with a sign of percent or of a currency."""
    texts = [cell for cell in cells if not is_missing(cell)]
    return all(cell != cell.strip(SIGNS) and looks_like_number(cell.strip(SIGNS)) for cell in texts)


def _holds_booleans(cells: Sequence[str]) -> bool:
    """Whether there is nothing but true and false, and missing values."""
    if not is_missing(cells[0]) and cells[0].lower() not in BOOLEANS:
        return False
    found = {cell.lower() for cell in cells}
    return bool(found & set(BOOLEANS)) and all(c in BOOLEANS or is_missing(c) for c in found)


def _decimal(
    path: object,
    grid: Grid,
    columns: Sequence[Sequence[str]],
    names: Sequence[str],
    numbers: Sequence[int],
) -> str:
    """Points or commas, from all numbers of the file."""
    if not any(COMMA in cell for j in numbers for cell in columns[j]):
        return POINT
    cells = (
        (cell, i, j)
        for j in numbers
        for i, cell in enumerate(columns[j])
        if COMMA in cell or POINT in cell
    )
    try:
        return find_decimal(cells, lambda i, j: grid.place(i, j, names[j]))
    except Ambiguous as error:
        raise TableError(f"{path} {error}: say --decimal comma or --decimal point") from None


def _column(grid: Grid, j: int, name: str, cells: Sequence[str], decimal: str) -> list[float]:
    """The numbers of a column, NaN where one is missing; ``ValueError`` if a cell is text."""
    with suppress(ValueError):  # the usual case, at once
        if decimal == POINT:
            plain = [float(cell) for cell in cells]
        elif any(POINT in cell for cell in cells):
            raise ValueError
        else:
            plain = [float(cell.replace(COMMA, POINT)) for cell in cells]
        if not any("_" in cell for cell in cells):
            return plain
    numbers, wrong = [], []
    for i, cell in enumerate(cells):
        number = number_in(cell, decimal)
        if number is None:
            if not is_missing(cell):
                wrong.append((i, cell))
            number = np.nan
        numbers.append(number)
    if wrong:
        i, cell = wrong[0]
        other = number_in(cell, POINT if decimal == COMMA else COMMA) is not None
        style = "comma" if decimal == COMMA else "point"
        reason = f"not a number: decimals here need a {style}" if other else "not a number"
        rest = len(wrong) - 1
        more = f" ({counted(wrong[1:], 'more such cell')} in this column)" if rest else ""
        raise ValueError(f"{cell!r} in {grid.place(i, j, name)}, which is {reason}{more}")
    return numbers
