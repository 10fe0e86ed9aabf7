"""Tables for a terminal of any width: what does not fit beside the numbers goes below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions
from rich.text import Text

#: Spaces between columns, and where every column counts.
APART, CLOSE = 3, 1
#: Words stand beside the numbers if they have this width there, and need no more lines than these.
ROOM, LINES = 40, 4
INDENT = 4


@dataclass(frozen=True)
class Column:
    """A column of short cells.

    Attributes
    ----------
    heading, short : str
        What stands above it, and what does where there is little room.
    cells : sequence of str
    left : bool
        Whether cells begin at the left; numbers end at the right.
    """

    heading: str
    short: str
    cells: Sequence[str]
    left: bool = False

    def width(self, short: bool) -> int:
        """Of the widest cell, or the heading."""
        heading = self.short if short else self.heading
        return max(cell_len(text) for text in (heading, *self.cells))


@dataclass(frozen=True)
class Layout:
    """Columns of numbers and, for each row, a list of words, laid out for the width there is.

    Attributes
    ----------
    columns : sequence of Column
    words : sequence of sequences of str
        For each row, what is separated by commas and not broken; empty for a table without.
    heading : str
        Above the words, where they stand beside the numbers.
    """

    columns: Sequence[Column]
    words: Sequence[Sequence[str]] = ()
    heading: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        rule = "-" if options.ascii_only else "─"
        for line, style in self.lines(options.max_width, rule):
            yield Text(line, style, no_wrap=True, overflow="ignore")

    def lines(self, width: int, rule: str = "─") -> Iterator[tuple[str, str]]:
        """The lines of the table and their styles, none longer than the width if possible."""
        beside = width - self._total(False, APART) - APART
        wrapped = [wrap(row, beside) for row in self.words]
        if self.words and beside >= ROOM and max(map(len, wrapped), default=0) <= LINES:
            yield from self._beside(wrapped, width, rule)
            return
        for short, apart in ((False, APART), (False, CLOSE + 1), (True, CLOSE + 1), (True, CLOSE)):
            if self._total(short, apart) <= width:
                head, *rows = self._numbers(short, apart)
                yield head.rstrip(), "bold"
                yield rule * self._total(short, apart), "dim"
                yield from self._below([[row.rstrip()] for row in rows], width)
                return
        # Where not even the numbers fit: each with its name.
        rows_of_names = (
            [f"{c.short} {c.cells[i]}" for c in self.columns if c.cells[i]]
            for i in range(len(self.columns[0].cells))
        )
        stacked = (wrap(named, width - 2) for named in rows_of_names)
        yield from self._below([[f[0], *("  " + line for line in f[1:])] for f in stacked], width)

    def _total(self, short: bool, apart: int) -> int:
        return sum(column.width(short) + apart for column in self.columns) - apart

    def _beside(
        self, wrapped: Sequence[Sequence[str]], width: int, rule: str
    ) -> Iterator[tuple[str, str]]:
        head, *rows = self._numbers(False, APART)
        gap, total = " " * APART, self._total(False, APART)
        longest = max((cell_len(line) for lines in wrapped for line in lines), default=0)
        yield f"{head}{gap}{self.heading}".rstrip(), "bold"
        yield rule * min(width, total + APART + max(longest, len(self.heading))), "dim"
        for row, lines in zip(rows, wrapped, strict=True):
            for left, line in zip_longest([row], lines or [""], fillvalue=" " * total):
                yield f"{left}{gap}{line}".rstrip(), ""

    def _below(self, rows: Sequence[Sequence[str]], width: int) -> Iterator[tuple[str, str]]:
        """The lines of each row, and its words below them."""
        for row, words in zip_longest(rows, self.words, fillvalue=()):
            yield from ((line, "bold" if self.words else "") for line in row)
            yield from ((" " * INDENT + line, "") for line in wrap(words, width - INDENT))

    def _numbers(self, short: bool, apart: int) -> list[str]:
        """Heading and rows."""
        padded = []
        for column in self.columns:
            heading, width = column.short if short else column.heading, column.width(short)
            padded.append([_pad(cell, width, column.left) for cell in (heading, *column.cells)])
        return [(" " * apart).join(cells) for cells in zip(*padded, strict=True)]


def wrap(words: Sequence[str], width: int) -> list[str]:
    """Put words with commas between them into lines; one that is too long is broken."""
    lines: list[str] = []
    line = ""
    for index, word in enumerate(words):
        piece = word if index == len(words) - 1 else f"{word},"
        if line and cell_len(line) + 1 + cell_len(piece) > width:
            lines.append(line)
            line = ""
        *full, line = chop_cells(f"{line} {piece}" if line else piece, max(width, 1)) or [""]
        lines += full
    return [*lines, line] if line else lines


def _pad(text: str, width: int, left: bool) -> str:
    space = " " * (width - cell_len(text))
    return text + space if left else space + text
