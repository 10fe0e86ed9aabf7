"""Tables, said once as columns of cells: for a terminal of any width, as text, for a notebook."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import zip_longest
from typing import Any

#: Spaces between columns, and where every column counts.
APART, CLOSE = 3, 1
#: Words stand beside the numbers if they have this width there, and need no more lines than these.
ROOM, LINES = 40, 4
INDENT = 4
#: Words of a row that are shown anywhere but in text, and rows in a notebook.
MOST_WORDS, MOST_ROWS = 40, 50
#: The attributes of cells in a notebook.
NUMBER = ' style="text-align:right;white-space:nowrap;vertical-align:top"'
TEXT = ' style="text-align:left;vertical-align:top"'
#: Headings where there is little room.
SHORT = {
    "of total": "share",
    "upper bound": "bound",
    "in the adjusted matrix": "adjusted",
    "largest gap": "gap",
    "sparsity": "p",
    "components": "K",
}


@dataclass(frozen=True)
class Table:
    """Columns of short cells and, for each row, a list of words.

    Attributes
    ----------
    title : str
    columns : mapping of str to sequence of str
        The cells below each heading.
    closing : str
        What is said below the table.
    words : sequence of sequences of str
        For each row, what is separated by commas and not broken; empty for a table without.
    words_are : str
        Their heading, where they stand beside the numbers.
    left : collection of str
        Headings of columns of text; numbers end at the right.
    """

    title: str
    columns: Mapping[str, Sequence[str]]
    closing: str = ""
    words: Sequence[Sequence[str]] = ()
    words_are: str = ""
    left: Collection[str] = ("status",)

    @property
    def sentence(self) -> str:
        """What is said below the table, with a full stop."""
        return f"{self.closing.removesuffix('.')}." if self.closing else ""

    @property
    def numbers(self) -> Table:
        """The table without its words."""
        return replace(self, words=(), words_are="")

    def listed(self) -> list[list[str]]:
        """The words of each row; of very many the first."""
        rest = ((row, len(row) - MOST_WORDS) for row in self.words)
        return [[*r[:MOST_WORDS], f"and {n} more"] if n > 0 else list(r) for r, n in rest]

    def text(self, width: int) -> str:
        """The table as text, words below the numbers; lines of words have at most this width."""
        head, *rows = self._numbers(False, CLOSE + 1)
        lines = [line for line, _ in self._below(self.words, [[row] for row in rows], width)]
        return "\n".join([head.rstrip(), *lines, "", self.closing])

    def html(self) -> str:
        """The table for a notebook, without script or style sheet; of very many rows the first.

        The last row stays, which may be that of all together.
        """
        shown, rest = self, max(map(len, self.columns.values()), default=0) - MOST_ROWS
        if rest > 0:
            kept = [*range(MOST_ROWS - 1), MOST_ROWS + rest - 1]
            columns = {name: [cells[i] for i in kept] for name, cells in self.columns.items()}
            words = [self.words[i] for i in kept] if self.words else ()
            closing = f"{rest} more rows are not shown. {self.closing}"
            shown = replace(self, columns=columns, words=words, closing=closing)
        return (
            f'<div class="orthospca" style="overflow-x:auto"><p><b>{escape(self.title)}</b></p>'
            f"<table>{shown.markup()}</table>"
            f"<p>{escape(shown.sentence).replace(chr(10), '<br>')}</p></div>"
        )

    def markup(
        self, write: Callable[[str], str] = escape, number: str = NUMBER, text: str = TEXT
    ) -> str:
        """Head and body of the table as HTML.

        Parameters
        ----------
        write : callable
            Makes HTML of what is in a cell.
        number, text : str
            The attributes of cells with numbers, and with text.
        """
        columns = dict(self.columns)
        if self.words_are:
            columns[self.words_are] = [", ".join(words) for words in self.listed()]
        sides = [text if h in (*self.left, self.words_are) else number for h in columns]
        head = (
            f'<th scope="col"{side}>{write(h)}</th>' for h, side in zip(columns, sides, strict=True)
        )
        rows = (
            "".join(f"<td{side}>{write(c)}</td>" for c, side in zip(row, sides, strict=True))
            for row in zip(*columns.values(), strict=True)
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<thead><tr>{''.join(head)}</tr></thead><tbody>{body}</tbody>"

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.text import Text

        for line, style in self.lines(options.max_width, "-" if options.ascii_only else "─"):
            shown = line.replace("−", "-") if options.ascii_only else line
            yield Text(shown, style, no_wrap=True, overflow="ignore")

    def lines(self, width: int, rule: str = "─") -> Iterator[tuple[str, str]]:
        """The lines for a terminal and their styles, none longer than the width if possible."""
        words = self.listed()
        head, *rows = self._numbers(False, APART)
        total = width_of(head)
        beside = width - total - APART
        wrapped = [wrap(row, beside) for row in words]
        if words and beside >= ROOM and max(map(len, wrapped)) <= LINES:
            longest = max(
                width_of(line) for lines in [[self.words_are], *wrapped] for line in lines
            )
            yield f"{head}{' ' * APART}{self.words_are}", "bold"
            yield rule * min(width, total + APART + longest), "dim"
            for row, lines in zip(rows, wrapped, strict=True):
                for left, line in zip_longest([row], lines or [""], fillvalue=" " * total):
                    yield f"{left}{' ' * APART}{line}".rstrip(), ""
            return
        for short, apart in ((False, APART), (False, CLOSE + 1), (True, CLOSE + 1), (True, CLOSE)):
            head, *rows = self._numbers(short, apart)
            if width_of(head) <= width:
                yield head.rstrip(), "bold"
                yield rule * width_of(head), "dim"
                yield from self._below(words, [[row] for row in rows], width)
                return
        # Where not even the numbers fit: each with its name.
        named = (
            [f"{SHORT.get(h, h)} {cell}" for h, cell in zip(self.columns, row, strict=True) if cell]
            for row in zip(*self.columns.values(), strict=True)
        )
        stacked = (wrap(row, width - 2) for row in named)
        yield from self._below(words, [[f[0], *("  " + x for x in f[1:])] for f in stacked], width)

    def _below(
        self, words: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], width: int
    ) -> Iterator[tuple[str, str]]:
        """The lines of each row, and its words below them."""
        for row, listed in zip_longest(rows, words, fillvalue=()):
            yield from ((line.rstrip(), "bold" if words else "") for line in row)
            yield from ((" " * INDENT + line, "") for line in wrap(listed, width - INDENT))

    def _numbers(self, short: bool, apart: int) -> list[str]:
        """Headings and rows, all as wide as the table."""
        padded = []
        for heading, cells in self.columns.items():
            column = [SHORT.get(heading, heading) if short else heading, *cells]
            width = max(map(width_of, column))
            spaces = (" " * (width - width_of(cell)) for cell in column)
            pairs = zip(column, spaces, strict=True)
            padded.append([c + s if heading in self.left else s + c for c, s in pairs])
        return [(" " * apart).join(cells) for cells in zip(*padded, strict=True)]


def width_of(text: str) -> int:
    """Columns that a text takes: wide letters two, and those that are put above others none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def wrap(words: Sequence[str], width: int) -> list[str]:
    """Put words with commas between them into lines; one that is too long is broken."""
    lines = [""]
    for index, word in enumerate(words):
        piece = word if index == len(words) - 1 else f"{word},"
        if lines[-1] and width_of(lines[-1]) + 1 + width_of(piece) > width:
            lines.append("")
        lines[-1] += f" {piece}" if lines[-1] else piece
        while width_of(lines[-1]) > max(width, 1):
            line = lines.pop()
            kept = next(n for n in range(len(line), 0, -1) if width_of(line[:n]) <= width or n == 1)
            lines += [line[:kept], line[kept:]]
    return [line for line in lines if line]
