"""Cells from a text file: its encoding, its separator, its lines.

Comma, semicolon, tab, vertical bar or spaces are detected. Blank lines and lines that begin with
``#`` are skipped.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from orthospca.interface.tables._blocks import Blocks
from orthospca.interface.tables._file import File
from orthospca.interface.tables._grid import Grid, Row, Unexpected, grid_from_cells, table_from_grid
from orthospca.interface.tables._numbers import CONTROLS, SPACES, looks_like_number
from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._table import Table, TableError

SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "vertical bar", SPACES: "spaces"}
#: Lines, and characters, from which the separator is detected.
SAMPLE, MOST_CHARACTERS = 50, 50_000
#: Lines of a long file that are looked at closely, or more.
FEWEST_LINES = 8
#: A cell among spaces, in quotes or not.
WORD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')
#: Marks at the beginning of a file that name its encoding; those of four bytes first.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_text(file: File, reading: Reading) -> Table:
    """Read a CSV or TSV file; see :func:`orthospca.interface.tables.read_table`."""
    if file.size > file.sample:
        # Whatever is unusual in a long file, the careful reader deals with it, or says what it is.
        unusual = (Unexpected, TableError, ValueError, LookupError, EOFError, zlib.error)
        with suppress(*unusual, csv.Error):  # with Python 3.10, of zero bytes
            return _read_long(file, reading)
    text, notices = _decoded(file, reading.encoding)
    return table_from_grid(file, _grid(file, text, reading, notices)[0], reading)


def _grid(file: File, text: str, reading: Reading, notices: list[str]) -> tuple[Grid, str]:
    """The cells of a text, and what separates them."""
    lines = [
        (number, line)
        for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    separator = ""
    if lines and (said := re.fullmatch(r"sep=(.)", lines[0][1].strip('\ufeff" '))):
        separator, lines = said.group(1), lines[1:]  # a line that Excel writes and reads
    if not lines:
        raise TableError(f"{file} is empty")
    separator = separator or _separator(file, lines)
    rows = list(_records(file, lines, separator))
    how = f"separator: {SEPARATORS.get(separator, separator)}"
    return grid_from_cells(file, rows, reading.header, how, notices), separator


def _read_long(file: File, reading: Reading) -> Table:
    """Read a file of which the beginning is understood, and everything else is like it."""
    encoding = reading.encoding or _marked(file.head) or "utf-8"
    with file.stream() as raw, io.TextIOWrapper(raw, encoding, newline=None) as stream:
        sample = stream.read(file.sample)
        while sample.count("\n") < FEWEST_LINES and (more := stream.readline()):
            sample += more
        sample += stream.readline()
        grid, separator = _grid(file, sample, reading, [])
        start = "\n".join(sample.split("\n")[grid.lines[0] - 1 :])
        return Blocks(grid, reading, separator, file).read(start, stream)


def _decoded(file: File, encoding: str | None) -> tuple[str, list[str]]:
    """The text of a file, and a notice if its encoding had to be guessed."""
    content = file.content
    encoding = encoding or _marked(content)
    try:
        text, notices = (content.decode(encoding), []) if encoding else _guessed(content)
    except LookupError:
        raise TableError(f"encoding must be a name such as utf-8, got {encoding!r}") from None
    except UnicodeDecodeError:
        known = encoding or "UTF-8, UTF-16 or Latin-1"
        raise TableError(f"{file} is not a text file in {known}") from None
    if CONTROLS.search(text):
        raise TableError(f"{file} is not a text file")
    return text, notices


def _marked(content: bytes) -> str | None:
    """The encoding that a mark at the beginning names."""
    return next((name for mark, name in MARKS.items() if content.startswith(mark)), None)


def _guessed(content: bytes) -> tuple[str, list[str]]:
    """UTF-8; UTF-16, where every other byte is zero; or the one byte a character of Windows."""
    head = content[:2000]
    pairs = len(head) // 2
    for name, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if pairs >= 2 and zeros.count(0) > 0.7 * pairs:
            return content.decode(name), ["read as UTF-16"]
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError:
        notice = "not UTF-8, read as Latin-1 (Windows-1252); if that is wrong, use --encoding"
        return content.decode("cp1252"), [notice]


def _separator(file: File, lines: list[tuple[int, str]]) -> str:
    """The separator that cuts most lines into the same number of cells, most of them numbers."""
    best, most = "", (0.0, 0.0)
    sample = lines[: max(4, min(SAMPLE, MOST_CHARACTERS // (1 + len(lines[0][1]))))]
    for separator in SEPARATORS:
        if not any(separator in line for _, line in sample):
            continue  # a long line is too long for one cell
        rows = [cells for _, cells in _split(sample, separator, strict=False)]
        widths = Counter(len(cells) for cells in rows if len(cells) > 1)
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        agreement = count / len(rows)
        cells = [cell for row in rows if len(row) == width for cell in row]
        numbers = sum(map(looks_like_number, cells)) / len(cells)
        # Rounded, so that the same share is the same: names with spaces do not cut a line there.
        share = (round(agreement * numbers, 9), agreement)
        if share > most:
            best, most = separator, share
    if not best:
        raise TableError(
            f"{file} has one column: separate cells with commas, semicolons, tabs, vertical bars "
            "or spaces"
        )
    return best


def _records(file: File, lines: list[tuple[int, str]], separator: str) -> Iterator[Row]:
    """The cells of each line; a cell in quotes may go on in the next line."""
    try:
        yield from _split(lines, separator, strict=True)
    except csv.Error as error:
        raise TableError(f"{file} cannot be read: line {error.args[1]}: {error.args[0]}") from None


def _split(lines: list[tuple[int, str]], separator: str, strict: bool) -> Iterator[Row]:
    if separator == SPACES:
        for number, line in lines:
            words = (quoted or plain for quoted, plain in WORD.findall(line))
            yield number, [word.replace('""', '"') for word in words]
        return
    reader = csv.reader(
        (line + "\n" for _, line in lines),
        delimiter=separator,
        skipinitialspace=separator != "\t",
        strict=strict,
    )
    while True:
        number = lines[min(reader.line_num, len(lines) - 1)][0]
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise csv.Error(str(error), number) from None
        if cells is None:
            return
        yield number, [" ".join(cell.split("\n")).strip() for cell in cells]
