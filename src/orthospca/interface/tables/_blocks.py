"""Numbers of a long text file, block by block.

The careful reader looks at the beginning of the file and says what its columns are; here NumPy's
parser reads everything.  Whatever is not like the beginning is :class:`Unexpected`.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.interface.tables._file import File
from orthospca.interface.tables._finish import positions_of
from orthospca.interface.tables._grid import (
    Grid,
    Unexpected,
    find_decimal,
    holds_booleans,
    table_from_grid,
)
from orthospca.interface.tables._numbers import COMMA, CONTROLS, MISSING, POINT, SPACES
from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._shape import names_variables
from orthospca.interface.tables._table import Table

#: Controls that are spaces to those who parse numbers.
_AS_SPACES = "\x1c\x1d\x1e\x1f"
_COMMENT = re.compile(r"^[ \t]*#", re.M)


class Blocks:
    """What the beginning of a file says of everything else in it.

    Parameters
    ----------
    grid : Grid
        Of the beginning.
    reading : Reading
    separator : str
    file : File
    """

    def __init__(self, grid: Grid, reading: Reading, separator: str, file: File) -> None:
        names, _ = grid.unique_names()
        asked, kept = (positions_of(file, given, names) for given in (reading.label, reading.keep))
        is_text = grid.labels(names, asked, kept)
        is_text[0] |= reading.transpose and names_variables(names[0])
        self._grid, self._file, self._separator = grid, file, separator
        self._texts = [j for j, text in enumerate(is_text) if text]
        self._numbers = [j for j, text in enumerate(is_text) if not text]
        flags = any(holds_booleans(grid.columns[j]) for j in self._numbers)
        if flags or (separator == SPACES and self._texts):
            raise Unexpected
        decimal = reading.decimal or find_decimal(file, grid, names, self._numbers)
        if decimal == separator:
            raise Unexpected
        self._reading = replace(reading, decimal=decimal)
        missing = "|".join(re.escape(word) for word in sorted(MISSING - {""}))
        mark = re.escape(separator)
        self._misquoted = re.compile(rf'"[^"{mark}\n]*"[^{mark}\n]')
        if separator != SPACES:
            missing += "|"  # nothing between two separators
        self._missing = re.compile(rf"(^|{mark})(?:{missing})(?=$|{mark})", re.M | re.I)

    def read(self, start: str, stream: Any) -> Table:
        """Make a table of the rows that ``start`` begins with and ``stream`` goes on with."""
        values, texts = np.empty((0, len(self._numbers))), []
        for text in self._pieces(start, stream):
            part = self._parse(text)
            values.resize((len(values) + len(part), values.shape[1]), refcheck=False)
            values[-len(part) :] = part
            if self._texts:
                texts.append(self._cells(text))
        names = self._grid.names
        if names is not None and names[-1] == "" and not np.isnan(values[:, -1]).all():
            raise Unexpected  # not a separator at the end of each line
        columns = list(self._grid.columns)
        for j, cells in zip(self._texts, zip(*texts, strict=True), strict=False):
            columns[j] = tuple(itertools.chain(*cells))
        first = self._grid.lines[0]
        grid = replace(self._grid, columns=columns, lines=range(first, first + len(values)))
        return table_from_grid(self._file, grid, self._reading, values)

    def _pieces(self, start: str, stream: Any) -> Iterator[str]:
        """Whole lines, without the end of the last one."""
        while start:
            following = stream.read(self._file.block)
            following += stream.readline()
            text = start[:-1] if start.endswith("\n") else start
            if not following.strip("\n"):
                yield text.rstrip("\n")
                return
            yield text
            self._file.tell_progress()
            start = following

    def _parse(self, text: str) -> Array:
        """The numbers."""
        quoted = self._separator == SPACES and '"' in text
        if quoted or not text.strip() or any(mark in text for mark in _AS_SPACES):
            raise Unexpected
        rows = text.count("\n") + 1
        if self._reading.decimal == COMMA:
            if POINT in text:
                raise Unexpected  # thousands, perhaps
            text = text.replace(COMMA, POINT)
        try:
            values = self._load(text, self._numbers, float)
        except ValueError:
            values = self._load(self._missing.sub(r"\1nan", text), self._numbers, float)
            if np.isnan(values).all(axis=1).any():
                raise Unexpected from None  # nothing but separators
        if values.shape != (rows, len(self._numbers)):
            raise Unexpected
        return values

    def _cells(self, text: str) -> list[list[str]]:
        """The columns of text."""
        rows, width = text.count("\n") + 1, len(self._texts) + len(self._numbers)
        ragged = text.count(self._separator) != rows * (width - 1)
        if ragged or _COMMENT.search(text) or ('"' in text and self._misquoted.search(text)):
            raise Unexpected
        columns = [
            [cell.strip() for cell in column]
            for column in self._load(text, self._texts, object).T.tolist()
        ]
        whole = "".join(itertools.chain(*columns))
        if '"' in whole or CONTROLS.search(whole):
            raise Unexpected
        return columns

    def _load(self, text: str, columns: list[int], kind: type) -> Any:
        separator = None if self._separator == SPACES else self._separator
        used = columns if self._texts else None
        given: dict[str, Any] = {"delimiter": separator, "usecols": used, "quotechar": '"'}
        return np.loadtxt(io.StringIO(text), kind, ndmin=2, comments=None, **given)
