"""Cells from a text file: its encoding, its separator, its lines.

Comma, semicolon, tab, vertical bar or spaces are found out. Blank lines and lines that begin with
``#`` are skipped.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator

from orthospca.interface.tables._file import File
from orthospca.interface.tables._grid import Reading, Row, table_from_cells
from orthospca.interface.tables._numbers import looks_like_number
from orthospca.interface.tables._table import Table, TableError

SPACES = " "
SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "vertical bar", SPACES: "spaces"}
#: Lines, and characters, from which the separator is found out.
SAMPLE, MOST_CHARACTERS = 50, 50_000
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
#: Characters that no table has: all controls but tab, the ends of lines and of pages.
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def read_text(file: File, reading: Reading, encoding: str | None) -> Table:
    """Read a CSV or TSV file; see :func:`orthospca.interface.tables.read_table`."""
    text, notices = _decoded(file, encoding)
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
    return table_from_cells(file, rows, reading, how, notices)


def _decoded(file: File, encoding: str | None) -> tuple[str, list[str]]:
    """The text of a file, and a notice if its encoding had to be guessed."""
    content = file.content
    notices: list[str] = []
    if encoding is None:
        encoding = next((name for mark, name in MARKS.items() if content.startswith(mark)), None)
    try:
        if encoding is not None:
            text = content.decode(encoding)
        else:
            text, notices = _guessed(content)
    except LookupError:
        raise TableError(f"encoding must be a name such as utf-8, got {encoding!r}") from None
    except UnicodeDecodeError:
        known = encoding or "UTF-8, UTF-16 or Latin-1"
        raise TableError(f"{file} is not a text file in {known}") from None
    if CONTROLS.search(text):
        raise TableError(f"{file} is not a text file")
    return text, notices


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
        notice = "read as Latin-1 (Windows-1252), because it is not UTF-8: else say --encoding"
        return content.decode("cp1252"), [notice]


def _separator(file: File, lines: list[tuple[int, str]]) -> str:
    """The separator that cuts most lines into the same number of cells, most of them numbers."""
    best, most = "", (0.0, 0.0)
    sample = lines[: max(4, min(SAMPLE, MOST_CHARACTERS // (1 + len(lines[0][1]))))]
    for separator in SEPARATORS:
        rows = [cells for _, cells in _split(sample, separator, strict=False)]
        widths = Counter(len(cells) for cells in rows if len(cells) > 1)
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        agreement = count / len(rows)
        cells = [cell for row in rows if len(row) == width for cell in row]
        numbers = sum(map(looks_like_number, cells)) / len(cells)
        if (agreement * numbers, agreement) > most:
            best, most = separator, (agreement * numbers, agreement)
    if not best:
        raise TableError(
            f"{file} has one column: cells must be separated by commas, semicolons or tabs, "
            "vertical bars or spaces"
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
