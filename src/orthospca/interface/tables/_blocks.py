"""Numbers of a long text file, block by block.

The careful reader looks at the beginning of the file and says what its columns are; here NumPy's
parser reads everything.  Whatever is not like the beginning is :class:`Unexpected`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from orthospca._typing import Array
from orthospca.interface.tables._file import File
from orthospca.interface.tables._finish import positions_of
from orthospca.interface.tables._grid import Grid, Unexpected, find_decimal
from orthospca.interface.tables._numbers import BOOLEANS, COMMA, CONTROLS, MISSING, POINT, SPACES
from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._shape import names_variables

#: Controls that are spaces to those who parse numbers.
_AS_SPACES = "\x1c\x1d\x1e\x1f"
_QUOTED = re.compile(r'"([^"]*)"')


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
        is_text = grid.labels(names, positions_of(file, reading.label, names))
        is_text[0] |= reading.transpose and names_variables(names[0])
        self._grid, self._file, self._separator = grid, file, separator
        self._width = len(names)
        self._texts = [j for j, text in enumerate(is_text) if text]
        self._numbers = [j for j, text in enumerate(is_text) if not text]
        cells = {cell.lower() for j in self._numbers for cell in grid.columns[j][:1]}
        if cells & set(BOOLEANS) or (separator == SPACES and self._texts):
            raise Unexpected
        self.decimal = reading.decimal or find_decimal(file, grid, names, self._numbers)
        if self.decimal == separator:
            raise Unexpected
        missing = "|".join(re.escape(word) for word in sorted(MISSING - {""}))
        mark = re.escape(separator)
        self._missing = re.compile(rf"(^|{mark})(?:{missing})?(?=$|{mark})", re.M | re.I)

    def read(self, start: str, stream: Any) -> Grid:
        """All columns, with the rows that ``start`` begins with and ``stream`` goes on with."""
        texts: dict[int, list[str]] = {j: [] for j in self._texts}
        block = np.empty((0, len(self._numbers)))
        for text in self._pieces(start, stream):
            part = self._parse(text)
            block.resize((len(block) + len(part), block.shape[1]), refcheck=False)
            block[-len(part) :] = part
            if texts:
                self._take_texts(text, texts)
        names = self._grid.names
        if names is not None and names[-1] == "" and not np.isnan(block[:, -1]).all():
            raise Unexpected  # not a separator at the end of each line
        columns: list[Any] = [()] * self._width
        for k, j in enumerate(self._numbers):
            columns[j] = block[:, k]
        for j, cells in texts.items():
            columns[j] = tuple(cells)
        first = self._grid.lines[0]
        lines = range(first, first + len(block))
        return replace(self._grid, columns=columns, lines=lines, block=block)

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
        if any(mark in text for mark in _AS_SPACES) or (self._separator == SPACES and '"' in text):
            raise Unexpected
        rows = text.count("\n") + 1
        if self.decimal == COMMA:
            if POINT in text:
                raise Unexpected  # thousands, perhaps
            text = text.replace(COMMA, POINT)
        try:
            values = self._load(text)
        except ValueError:
            values = self._load(self._missing.sub(r"\1nan", text))
            if np.isnan(values).all(axis=1).any():
                raise Unexpected from None  # nothing but separators
        if values.shape != (rows, len(self._numbers)):
            raise Unexpected
        return values

    def _load(self, text: str) -> Array:
        return np.loadtxt(
            io.StringIO(text),
            delimiter=None if self._separator == SPACES else self._separator,
            comments=None,
            quotechar='"',
            usecols=self._numbers if self._texts else None,
            ndmin=2,
        )

    def _take_texts(self, text: str, texts: dict[int, list[str]]) -> None:
        separator, width = self._separator, self._width
        for line in text.split("\n"):
            if line.count(separator) != width - 1 or line.lstrip().startswith("#"):
                raise Unexpected
            for j, cells in texts.items():
                # From the nearer end.
                if 2 * j < width:
                    cell = line.split(separator, j + 1)[j].strip()
                else:
                    cell = line.rsplit(separator, width - j)[1].strip()
                if '"' in cell:
                    quoted = _QUOTED.fullmatch(cell)
                    if quoted is None:
                        raise Unexpected
                    cell = quoted[1].strip()
                if CONTROLS.search(cell):
                    raise Unexpected
                cells.append(cell)
