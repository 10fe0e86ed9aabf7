"""Cells from a sheet of a workbook (``.xlsx``)."""

from __future__ import annotations

import datetime
import io
import zipfile
from typing import Any

from orthospca.interface.tables._file import File
from orthospca.interface.tables._grid import Row, grid_from_cells, table_from_grid
from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._table import Table, TableError


def read_excel(file: File, reading: Reading) -> Table:
    """Read the only sheet with cells in it, or the one that ``key`` names."""
    openpyxl = file.library("openpyxl", "an Excel workbook", "excel")
    try:
        # Numbers that formulas had when the file was saved, not the formulas.
        content = io.BytesIO(file.content)
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError):
        raise TableError(f"{file} is damaged or not an Excel workbook") from None
    key, names = reading.key, [sheet.title for sheet in book.worksheets]
    if key is not None and key not in names:
        raise TableError(f"{file} has no sheet {key!r} (it has {', '.join(names) or 'none'})")
    sheets = {name: rows for name in names if key in (None, name) and (rows := _rows(book[name]))}
    # A sheet of remarks beside the table, of one row or column, is no reason to ask.
    sheets = {s: rows for s, rows in sheets.items() if rows[1:] and rows[0][1][1:]} or sheets
    if len(sheets) > 1:
        raise TableError(f"{file} holds several sheets ({', '.join(sheets)}): name one with --key")
    if not sheets:
        raise TableError(f"{file} is empty")
    ((name, rows),) = sheets.items()
    notices = [f"read the sheet {name!r}"] if len(names) > 1 else []
    grid = grid_from_cells(file, rows, reading.header, f"sheet {name!r}", notices)
    return table_from_grid(file, grid, reading)


def _rows(sheet: Any) -> list[Row]:
    """The cells as text, without empty rows and without empty columns at either side."""
    texts = ([_text(value) for value in values] for values in sheet.iter_rows(values_only=True))
    rows = [(number, cells) for number, cells in enumerate(texts, start=1) if any(cells)]
    used = [j for _, cells in rows for j, cell in enumerate(cells) if cell]
    first, last = min(used, default=0), max(used, default=0)
    return [
        (number, [*cells, *[""] * (last + 1 - len(cells))][first : last + 1])
        for number, cells in rows
    ]


def _text(value: Any) -> str:
    """A cell as it would be written in a text file."""
    if value is None:
        return ""
    if isinstance(value, datetime.date | datetime.time):
        # A day is stored as its midnight.
        return value.isoformat().removesuffix("T00:00:00")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).strip()
