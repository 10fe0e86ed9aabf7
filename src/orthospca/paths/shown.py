"""What paths, stabilities and other choices have in common: a table, pictures and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from orthospca._typing import Array
from orthospca.model import showing, views


@dataclass(frozen=True)
class Table:
    """A table for a terminal and for a notebook.

    Attributes
    ----------
    title : str
    headings : sequence of str
        As wide as the columns of the text.
    rows : sequence of sequences of str
    closing : str
        What is said below the table.
    words : sequence of sequences of str
        What belongs to each row, below it in the text and in a column of its own in HTML.
    words_are : str
        The heading of that column.
    numbers : int
        So many columns, the first ones, are aligned to the right.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    closing: str
    words: Sequence[Sequence[str]] = ()
    words_are: str = ""
    numbers: int = 4

    def text(self, width: int) -> str:
        """The table as text; lines of words have at most so many characters."""
        lines = []
        for i, row in enumerate([self.headings, *self.rows]):
            cells = [cell.rjust(len(h)) for cell, h in zip(row, self.headings, strict=True)]
            lines.append("  ".join([*cells[: self.numbers], *row[self.numbers :]]).rstrip())
            if i and self.words:
                lines += views.in_lines(self.words[i - 1], width)
        return "\n".join([*lines, "", self.closing])

    def html(self) -> str:
        """The table as HTML; everything is escaped."""
        headings, rows = list(self.headings), [[*map(escape, row)] for row in self.rows]
        if self.words_are:
            headings.append(self.words_are)
            for row, words in zip(rows, self.words, strict=True):
                row.append(escape(", ".join(words[: views.MOST_ROWS])))
        return views.html_table(self.title, headings, rows, f"{self.closing}.", self.numbers)


class Shown:
    """Something that can be looked at; ``_table`` says what there is to see."""

    #: Its pictures, the usual one first: functions ``plot_…`` of :mod:`orthospca.plotting`.
    PICTURES: ClassVar[tuple[str, ...]]
    #: What it is called by :func:`orthospca.report.write_choice_report`.
    REPORTED: ClassVar[str]

    def _table(self) -> Table:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self._table().html()

    def summary(self, width: int = views.WIDTH) -> str:
        """Return a table that a person can read.

        Parameters
        ----------
        width : int
            Lines of names are broken so that they have at most so many characters.
        """
        return self._table().text(width)

    def plot(self, kind: str | None = None, *given: Any, **options: Any) -> Any:
        """Draw a picture, with matplotlib (``pip install "orthospca[plot]"``).

        Parameters
        ----------
        kind : str, optional
            One of ``PICTURES``; by default the first of them.
        *given, **options
            Other arguments of the function ``plot_<kind>`` of :mod:`orthospca.plotting`.

        Returns
        -------
        Picture
            Shows itself in a notebook; ``picture.save("picture.png")`` keeps it.
        """
        kind = self.PICTURES[0] if kind is None else kind
        return showing.picture(self.PICTURES, kind, self, *given, **options)

    def report(self, path: str | PathLike[str], **about: Any) -> None:
        """Write a report as one HTML file that needs no other file and no network.

        Parameters
        ----------
        path : path
        **about
            Further arguments of :func:`orthospca.report.write_choice_report`: what else is to be in
            it, and where the data come from.
        """
        showing.reports().write_choice_report(path, **{self.REPORTED: self}, **about)


def plain(table: Array) -> Any:
    """Lists of numbers; JSON has no NaN and no infinity: they become None."""
    numbers: Any = table.astype(object)
    numbers[~np.isfinite(table)] = None
    return numbers.tolist()
