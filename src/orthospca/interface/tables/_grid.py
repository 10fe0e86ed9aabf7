"""From cells of text to a table: which line is the header, which column is what.

What is recognised:

- *a header*: the first line, if none of its cells after the first is a number;
- *row labels*: a first column under an empty heading, or one that the header does not count, or one
  of distinct whole numbers that is called ``id``, ``patient`` or the like;
- *labels*: columns without any number, such as the class of each observation;
- *true and false*: columns of nothing else are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.interface.tables._finish import finish, positions_of, unique_names
from orthospca.interface.tables._numbers import (
    BOOLEANS,
    COMMA,
    EITHER,
    POINT,
    evidence,
    is_grouped,
    is_missing,
    looks_like_number,
    number_in,
)
from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._shape import (
    distinct,
    names_variables,
    numbers_rows,
    transposed_hint,
)
from orthospca.interface.tables._table import Table, TableError, counted, listed, place

#: What makes a text of a number, at either end.
SIGNS = "%‰€$£¥ \u00a0\u202f"

Row = tuple[int, list[str]]
"""The number of a line, and its cells."""


class Unexpected(Exception):
    """A long file is not like its beginning: it needs the careful reader."""


@dataclass(frozen=True)
class Grid:
    """Columns with headings, all equally long.

    Attributes
    ----------
    names : list of str or None
        The headings.
    columns : list
        Cells of text or, of columns that were read as numbers already, arrays.
    lines : sequence of int
        The line of each row in the file; of each column if transposed.
    said : list of str
        What was noticed so far.
    block : ndarray, optional
        All columns that are numbers already, beside each other.
    row_names : tuple of str or None
        Known already: the first column is then one like the others.
    transposed : bool
    left_out : tuple of str
        Names of labels that are not among the columns any more.
    """

    names: list[str] | None
    columns: list[Any]
    lines: Sequence[int]
    said: list[str]
    block: Array | None = None
    row_names: tuple[str, ...] | None = None
    transposed: bool = False
    left_out: tuple[str, ...] = ()

    def place(self, row: int, column: int, name: str) -> str:
        """Where a cell is, for a message."""
        return place(self.lines, self.transposed, row, column, name)

    def unique_names(self) -> tuple[list[str], list[str]]:
        """Names for all columns, each there once, and a notice if that took something."""
        # The first one without a name holds row labels, and keeps none.
        given = self.names and [
            name or (f"number {j + 1}" if j else "") for j, name in enumerate(self.names)
        ]
        return unique_names(given, len(self.columns))

    def labels(self, names: list[str], asked: set[int]) -> list[bool]:
        """Which columns hold labels: those that were asked for, and those that look like it."""
        found = [j in asked or _holds_labels(cells) for j, cells in enumerate(self.columns)]
        if self.row_names is None:
            found[0] |= _is_row_label(names[0], self.columns[0], self.names)
        return found


def grid_from_cells(
    path: object, rows: list[Row], header: bool | None, how_separated: str, notices: Sequence[str]
) -> Grid:
    """Find the table among the cells of a text file or of a sheet, and its headings."""
    said = list(notices)
    full = [(line, cells) for line, cells in rows if any(cells)]
    if not full:
        raise TableError(f"{path} is empty")
    if len(full) < len(rows):
        said.append(f"skipped {counted(len(rows) - len(full), 'empty line')}")
    above = _lines_above(full)
    if above:
        said.append(f"skipped {counted(above, 'line')} above the table")
    full = full[above:]
    names = full[0][1] if _has_header(full[0][1], header) else None
    if names is not None:
        full = full[1:]
    if not full:
        raise TableError(f"{path} has a header but no rows")
    width = len(full[0][1])
    for line, cells in full:
        if len(cells) != width:
            raise TableError(
                f"{path} is ragged: line {line} has {len(cells)} cells, line {full[0][0]} has "
                f"{width} ({how_separated})"
            )
    columns: list[Any] = list(zip(*(cells for _, cells in full), strict=True))
    if names is not None and len(names) == width - 1:
        # A separator at the end of each line, or a column of row labels that the header leaves out.
        names = ["", *names] if any(columns[-1]) else [*names, ""]
    if names is not None and len(names) != width:
        raise TableError(
            f"{path} has {len(names)} cells in its header but {width} in line {full[0][0]}"
        )
    return Grid(names, columns, [line for line, _ in full], said)


def _lines_above(rows: list[Row]) -> int:
    """How many lines come before the table: those that have nothing but a text at the left."""
    for above, (_, cells) in enumerate(rows[:-2]):
        if not cells[0] or any(cells[1:]) or looks_like_number(cells[0]):
            return above
    return 0


def _has_header(first: list[str], said: bool | None) -> bool:
    if said is not None:
        return said
    texts = [cell for cell in first[1:] or first if cell]
    return bool(texts) and not any(looks_like_number(c) or is_missing(c) for c in texts)


def table_from_grid(path: object, grid: Grid, reading: Reading) -> Table:
    """Make a table of columns: which of them hold labels, and what the numbers are."""
    names, repeated = grid.unique_names()
    asked = positions_of(path, reading.label, names)
    grid = replace(grid, said=[*grid.said, *repeated])
    if reading.na:
        missing = dict.fromkeys(reading.na, "")
        grid = replace(grid, columns=[_replaced(cells, missing) for cells in grid.columns])
    if reading.transpose:
        grid = _turned(grid, names, asked)
        names, repeated = grid.unique_names()
        asked = set()
        grid.said.extend(repeated)
    columns, said, decimal = grid.columns, grid.said, reading.decimal
    is_label = grid.labels(names, asked)
    heading = names[0] if grid.names is not None and grid.row_names is None else None
    numbers = [j for j, label in enumerate(is_label) if not label]
    labels = {names[j]: columns[j] for j, label in enumerate(is_label) if label}
    row_names = grid.row_names or (labels[""] if heading == "" else distinct(labels))
    shown = {name: texts for name, texts in labels.items() if name}
    if not numbers:
        raise TableError(f"{path} holds no numbers, only text")
    chosen = {names[j] for j in asked}
    with_sign = [name for name, texts in shown.items() if name not in chosen and _has_sign(texts)]
    if with_sign:
        example = next(cell for cell in shown[with_sign[0]] if not is_missing(cell))
        said.append(
            f"read as text because of a sign, as in {example!r}, and left out: {listed(with_sign)}"
        )
    flags = {j for j in numbers if _holds_booleans(columns[j])}
    if flags:
        flagged = listed([names[j] for j in numbers if j in flags])
        said.append(f"true and false were read as 1 and 0: {flagged}")
    if decimal is None:
        decimal = find_decimal(path, grid, names, [j for j in numbers if j not in flags])
    if decimal == COMMA:
        said.append("decimal commas were read as points")
    kept = [names[j] for j in numbers]
    n_rows = len(columns[0])
    hint = []
    if not grid.transposed:
        hint = transposed_hint(heading, labels.get(heading or ""), kept, n_rows)
        said.extend(hint)
    if grid.block is not None and grid.block.shape[1] == len(numbers):
        values = grid.block
    else:
        values = np.empty((n_rows, len(numbers)))
        for k, j in enumerate(numbers):
            try:
                values[:, k] = _column(grid, j, names[j], decimal, j in flags)
            except ValueError as error:
                turn = "; if rows are variables, use --transpose" if hint else ""
                raise TableError(f"{path} has {error}{turn}") from None
        texts = (x for j in numbers if not isinstance(columns[j], np.ndarray) for x in columns[j])
        if example := next((cell for cell in texts if is_grouped(cell, decimal)), ""):
            said.append(f"separators of thousands were left out, as in {example!r}")
    table = Table(
        values,
        tuple(kept),
        (*grid.left_out, *shown),
        grid.names is not None,
        row_names or None,
        shown,
        tuple(said),
        str(path),
        tuple(grid.lines[j] for j in numbers) if grid.transposed else tuple(grid.lines),
        grid.transposed,
    )
    return finish(table)


def _replaced(cells: Any, texts: dict[str, str]) -> Any:
    return cells if isinstance(cells, np.ndarray) else [texts.get(cell, cell) for cell in cells]


def _turned(grid: Grid, names: list[str], asked: set[int]) -> Grid:
    """Rows as columns: the first column, if it holds labels, names them."""
    columns, has_header = grid.columns, grid.names is not None
    first = names_variables(names[0]) or _is_row_label(names[0], columns[0], has_header)
    titles = None
    if first:
        titles = [str(t) or f"line {at}" for t, at in zip(columns[0], grid.lines, strict=True)]
    out = [j in asked or _holds_labels(cells) for j, cells in enumerate(columns)]
    labels = tuple(name for j, name in enumerate(names) if out[j] and not (j == 0 and first))
    kept = [j for j, left in enumerate(out) if not left and not (j == 0 and first)]
    if not kept:
        raise TableError("with --transpose the file has no columns of numbers")
    block = None
    if grid.block is not None:
        if grid.block.shape[1] != len(kept):
            raise Unexpected
        block = np.ascontiguousarray(grid.block.T)
    rows = grid.block if block is not None else zip(*(columns[j] for j in kept), strict=True)
    assert rows is not None
    row_names = tuple(names[j] for j in kept) if has_header else ()
    return Grid(titles, list(rows), grid.lines, grid.said, block, row_names, True, labels)


def _is_row_label(heading: str, cells: Any, has_header: object) -> bool:
    """Whether the first column holds no variable: no heading, or an index by name and content."""
    if isinstance(cells, np.ndarray):
        return False
    if not has_header:
        return _holds_labels(cells)
    values = set(cells)
    whole = all(value.lstrip("-").isdecimal() for value in values)
    is_index = whole and numbers_rows(heading, len(values) == len(cells))
    return not heading or is_index or _holds_labels(cells)


def _holds_labels(cells: Any) -> bool:
    """Whether there is text and no number, not even a misspelt one, among the cells."""
    if isinstance(cells, np.ndarray) or any(looks_like_number(cell) for cell in cells):
        return False
    return not all(is_missing(cell) for cell in cells)


def _has_sign(cells: Sequence[str]) -> bool:
    """Whether all texts are amounts with a sign of percent or of a currency."""
    texts = [cell for cell in cells if not is_missing(cell)]
    return all(cell != cell.strip(SIGNS) and looks_like_number(cell.strip(SIGNS)) for cell in texts)


def _holds_booleans(cells: Any) -> bool:
    """Whether there is nothing but true and false, and missing values."""
    if isinstance(cells, np.ndarray):
        return False
    if not is_missing(cells[0]) and cells[0].lower() not in BOOLEANS:
        return False
    found = {cell.lower() for cell in cells}
    return bool(found & set(BOOLEANS)) and all(c in BOOLEANS or is_missing(c) for c in found)


def find_decimal(path: object, grid: Grid, names: list[str], numbers: Sequence[int]) -> str:
    """Points or commas, from all numbers of the file that are text still.

    Nothing is guessed: decimal commas and decimal points together are an error, and so is a file
    with nothing but numbers such as ``1,234``.
    """
    cells = [
        (cell, i, j)
        for j in numbers
        if not isinstance(grid.columns[j], np.ndarray)
        for i, cell in enumerate(grid.columns[j])
        if COMMA in cell or POINT in cell
    ]
    if not any(COMMA in cell for cell, _, _ in cells):
        return POINT
    seen: dict[str, str] = {}
    for cell, i, j in cells:
        # What speaks for the same again need not be looked at.
        if (COMMA in seen and POINT not in cell) or (POINT in seen and COMMA not in cell):
            continue
        kind = evidence(cell)
        if kind and kind not in seen:
            seen[kind] = f"{cell!r} ({grid.place(i, j, names[j])})"
    if COMMA in seen and POINT in seen:
        why = f"a decimal comma in {seen[COMMA]} and a decimal point in {seen[POINT]}"
    elif set(seen) == {EITHER}:
        why = f"{seen[EITHER]}, which may be a decimal comma or thousands"
    else:
        return COMMA if COMMA in seen else POINT
    raise TableError(f"{path} has {why}: use --decimal comma or --decimal point")


def _column(grid: Grid, j: int, name: str, decimal: str, boolean: bool) -> Any:
    """The numbers of a column, NaN where one is missing; ``ValueError`` if a cell is text."""
    cells = grid.columns[j]
    if isinstance(cells, np.ndarray):
        return cells
    if boolean:
        return [BOOLEANS.get(cell.lower(), np.nan) for cell in cells]
    found = [number_in(cell, decimal) for cell in cells]
    wrong = [i for i, number in enumerate(found) if number is None and not is_missing(cells[i])]
    if wrong:
        i, *others = wrong
        other = number_in(cells[i], POINT if decimal == COMMA else COMMA) is not None
        style = "comma" if decimal == COMMA else "point"
        reason = f"not a number: decimals here need a {style}" if other else "not a number"
        more = f" ({counted(len(others), 'more such cell')} in this column)" if others else ""
        texts = list(dict.fromkeys(cells[i] for i in wrong))
        na = f"; if such cells are missing values, use --na {','.join(texts)!r}"
        few = len(texts) <= 4 and not any("," in text for text in texts)
        suggested = na if few and not other else ""
        at = f"{cells[i]!r} in {grid.place(i, j, name)}"
        raise ValueError(f"{at}, which is {reason}{more}{suggested}")
    return [np.nan if number is None else number for number in found]
