"""From cells of text to a table: which line is the header, which column is what.

What is recognised:

- *a header*: the first line, if none of its cells after the first is a number, or if they count the
  columns;
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
    FEWEST_NUMBERED,
    distinct,
    names_variables,
    numbers_rows,
    transposed_hint,
)
from orthospca.interface.tables._table import Table, TableError, counted, listed, place

#: What makes a text of a number, at either end.
SIGNS = "%‰€$£¥ \u00a0\u202f"
COMMAS = "decimal commas were read as points"

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
        Cells of text; of columns of a long file that are numbers, the first ones.
    lines : sequence of int
        The line of each row in the file; of each column if transposed.
    said : list of str
        What was noticed so far.
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

    def labels(self, names: list[str], asked: set[int], kept: set[int]) -> list[bool]:
        """Which columns hold labels: those that were asked for, and those that look like it."""
        found = [j in asked or _holds_labels(cells) for j, cells in enumerate(self.columns)]
        if self.row_names is None:
            found[0] |= 0 not in kept and _is_row_label(names[0], self.columns[0], self.names)
        return found

    def numbers(
        self, path: object, names: list[str], chosen: list[int], decimal: str | None, turn: str
    ) -> tuple[Array, list[str]]:
        """The numbers of some columns, NaN where one is missing, and what was noticed."""
        said, columns = [], [self.columns[j] for j in chosen]
        flags = [j for j in chosen if holds_booleans(self.columns[j])]
        if flags:
            said.append(f"true and false were read as 1 and 0: {listed([names[j] for j in flags])}")
        others = [j for j in chosen if j not in flags]
        decimal = decimal or find_decimal(path, self, names, others)
        if decimal == COMMA:
            said.append(COMMAS)
        values = np.empty((len(columns[0]), len(chosen)))
        for k, (j, cells) in enumerate(zip(chosen, columns, strict=True)):
            if j in flags:
                values[:, k] = [BOOLEANS.get(cell.lower(), np.nan) for cell in cells]
                continue
            found = [number_in(cell, decimal) for cell in cells]
            wrong = [i for i, x in enumerate(found) if x is None and not is_missing(cells[i])]
            if wrong:
                at = self.place(wrong[0], j, names[j])
                told = _refusal([cells[i] for i in wrong], at, decimal)
                raise TableError(f"{path} has {told}{turn}")
            values[:, k] = [np.nan if number is None else number for number in found]
        texts = (cell for j in others for cell in self.columns[j])
        if example := next((cell for cell in texts if is_grouped(cell, decimal)), ""):
            said.append(f"thousands separators were removed, as in {example!r}")
        return values, said


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
    counts = header is None and _counts_columns(full[0][1], full[1][1] if full[1:] else [])
    names = full[0][1] if counts or _has_header(full[0][1], header) else None
    if counts:
        said.append(
            "the first line, of consecutive whole numbers, was read as names; use --no-header if "
            "it is an observation"
        )
    elif header is None and len(_consecutive(full[0][1])) > 2:
        said.append(
            "the first line, of consecutive whole numbers, was read as an observation; use "
            "--header if it holds names"
        )
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


def _consecutive(first: list[str]) -> list[str]:
    """Consecutive whole numbers, as programs name columns; perhaps after a heading of labels."""
    numbers = first if first[0].isdecimal() else first[1:]
    if len(numbers) < 2 or not all(cell.isdecimal() for cell in numbers):
        return []
    found = [int(cell) for cell in numbers]
    return numbers if found == list(range(found[0], found[0] + len(found))) else []


def _counts_columns(first: list[str], below: list[str]) -> bool:
    """Whether the first line holds consecutive whole numbers that are names.

    Few of them are no coincidence either above other numbers than whole ones, after the empty
    heading of row labels, or where row labels have no heading at all.
    """
    numbers = _consecutive(first)
    if not numbers:
        return False
    whole = all(cell.lstrip("-").isdecimal() for cell in below[-len(numbers) :])
    few = not whole and (numbers[0] in ("0", "1") or len(numbers) > 2)
    shorter = len(first) == len(below) - 1 and below[-1] != ""
    return len(numbers) >= FEWEST_NUMBERED or not first[0] or shorter or few


def table_from_grid(
    path: object, grid: Grid, reading: Reading, values: Array | None = None
) -> Table:
    """Make a table: which columns hold labels, and what the numbers are, if not known yet."""
    names, said = grid.unique_names()
    said = [*grid.said, *said]
    asked, kept = (positions_of(path, given, names) for given in (reading.label, reading.keep))
    if 0 in kept and not names[0]:
        names[0] = "number 1"  # of a variable, as of others without a heading
    stay = [names[j] for j in kept]
    if reading.na:
        missing = dict.fromkeys(reading.na, "")
        given = [tuple(missing.get(cell, cell) for cell in cells) for cells in grid.columns]
        grid = replace(grid, columns=given)
    if reading.transpose:
        grid, values = _turned(grid, names, asked, values)
        names, repeated = grid.unique_names()
        asked = kept = set()
        said += repeated
    columns = grid.columns
    is_label = grid.labels(names, asked, kept)
    heading = names[0] if grid.names is not None and grid.row_names is None else None
    numbers = [j for j, label in enumerate(is_label) if not label]
    labels = {names[j]: columns[j] for j, label in enumerate(is_label) if label}
    shown = {name: texts for name, texts in labels.items() if name}
    if not numbers:
        raise TableError(f"{path} holds no numbers, only text")
    chosen = {names[j] for j in asked}
    if is_label[0] and not names[0] and 0 not in asked and not _are_distinct(labels[""]):
        said.append(
            "left out a first column of numbers, which has no heading; use --keep 1 if it is a "
            "variable"
        )
    with_sign = [name for name, texts in shown.items() if name not in chosen and _has_sign(texts)]
    if with_sign:
        example = next(cell for cell in shown[with_sign[0]] if not is_missing(cell))
        said.append(
            f"read as text because of a sign, as in {example!r}, and left out: {listed(with_sign)}"
        )
    hint = []
    if not grid.transposed:
        count = len(columns[0]) if values is None else len(values)
        row_labels = labels.get(heading or "")
        hint = transposed_hint(heading, row_labels, [names[j] for j in numbers], count)
    if values is None:
        turn = "; if rows are variables, use --transpose" if hint else ""
        values, noticed = grid.numbers(path, names, numbers, reading.decimal, turn)
        said += noticed
    elif values.shape[1] != len(numbers):
        raise Unexpected  # numbers further down among texts
    elif reading.decimal == COMMA:
        said.append(COMMAS)
    found, left_out = tuple(names[j] for j in numbers), (*grid.left_out, *shown)
    rows = grid.row_names or labels.get("") or distinct(labels)
    about = (left_out, grid.names is not None, rows, shown, (*said, *hint), str(path))
    lines = tuple(grid.lines[j] for j in numbers) if grid.transposed else tuple(grid.lines)
    return finish(Table(values, found, *about, lines, grid.transposed), stay)


def _turned(
    grid: Grid, names: list[str], asked: set[int], values: Array | None
) -> tuple[Grid, Array | None]:
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
    if values is None:
        rows: list[Any] = list(zip(*(columns[j] for j in kept), strict=True))
    elif values.shape[1] != len(kept):
        raise Unexpected
    else:
        rows, values = [()] * len(values), np.ascontiguousarray(values.T)
    row_names = tuple(names[j] for j in kept) if has_header else ()
    return Grid(titles, rows, grid.lines, [], row_names, True, labels), values


def _is_row_label(heading: str, cells: Sequence[str], has_header: object) -> bool:
    """Whether the first column holds no variable: no heading, or an index by name and content."""
    if not has_header:
        return _holds_labels(cells)
    values = set(cells)
    whole = all(value.lstrip("-").isdecimal() for value in values)
    is_index = whole and numbers_rows(heading, len(values) == len(cells))
    return not heading or is_index or _holds_labels(cells)


def _are_distinct(cells: Sequence[str]) -> bool:
    """Whether cells are labels beyond doubt: texts, or whole numbers that are all different."""
    whole = all(cell.lstrip("-").isdecimal() for cell in cells)
    return len(set(cells)) == len(cells) if whole else _holds_labels(cells)


def _holds_labels(cells: Sequence[str]) -> bool:
    """Whether there is text and no number, not even a misspelt one, among the cells."""
    return not any(map(looks_like_number, cells)) and not all(map(is_missing, cells))


def _has_sign(cells: Sequence[str]) -> bool:
    """Whether all texts are amounts with a sign of percent or of a currency."""
    texts = [cell for cell in cells if not is_missing(cell)]
    return all(cell != cell.strip(SIGNS) and looks_like_number(cell.strip(SIGNS)) for cell in texts)


def holds_booleans(cells: Sequence[str]) -> bool:
    """Whether there is nothing but true and false, and missing values."""
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


def _refusal(wrong: list[str], place: str, decimal: str) -> str:
    """What is wrong with the first of some cells of a column, and what may be done about it."""
    other = number_in(wrong[0], POINT if decimal == COMMA else COMMA) is not None
    style = "comma" if decimal == COMMA else "point"
    reason = f": decimals here need a {style}" if other else ""
    more = f" ({counted(len(wrong) - 1, 'more such cell')} in this column)" if wrong[1:] else ""
    texts = list(dict.fromkeys(wrong))
    if len(texts) <= 4 and not other and not any("," in text for text in texts):
        more += f"; if such cells are missing values, use --na {','.join(texts)!r}"
    return f"{wrong[0]!r} in {place}, which is not a number{reason}{more}"
