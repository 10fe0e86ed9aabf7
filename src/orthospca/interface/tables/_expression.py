"""Expression tables: series matrices of GEO and GCT files, which have a row for each gene.

The genes become the variables of the table, and what is known of the samples its labels.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from orthospca.interface.tables._file import File
from orthospca.interface.tables._finish import table_of
from orthospca.interface.tables._numbers import is_missing, number_in
from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._table import Table, TableError, counted

#: Lines of a series matrix that say something of its samples.
CHARACTERISTICS, SOURCE, TITLE = (
    f"!Sample_{what}" for what in ("characteristics_ch1", "source_name_ch1", "title")
)
BEGIN, END = "!series_matrix_table_begin", "!series_matrix_table_end"
#: Lines between two reports of progress.
STEP = 1000

Line = tuple[int, list[str]]
"""The number of a line, and its cells."""


def read_expression(file: File, reading: Reading) -> Table:
    """Read a series matrix or a GCT file; rows are variables, whether that was said or not."""
    read, encoding = (_series_matrix if file.kind == "geo" else _gct), reading.encoding or "utf-8"
    try:
        with file.stream() as raw, io.TextIOWrapper(raw, encoding, "replace") as text:
            return read(file, _lines(file, text), reading)
    except StopIteration:
        raise TableError(f"{file} ends before its table") from None


def _lines(file: File, text: Any) -> Iterator[Line]:
    for number, cells in enumerate(csv.reader(text, delimiter="\t"), start=1):
        if number % STEP == 0:
            file.tell_progress()
        if cells:
            yield number, [cell.strip() for cell in cells]


def _series_matrix(file: File, lines: Iterator[Line], reading: Reading) -> Table:
    known: dict[str, dict[int, str]] = {}
    for _, (what, *cells) in lines:
        if what == BEGIN:
            break
        for j, cell in enumerate(cells):
            key, colon, value = cell.partition(": ")
            if what == CHARACTERISTICS and colon:
                known.setdefault(key, {})[j] = value
            elif what in (SOURCE, TITLE):
                known.setdefault(what.removeprefix("!Sample_").replace("_ch1", ""), {})[j] = cell
    else:
        raise TableError(
            f"{file} holds no table: its values may be in supplementary files of the series"
        )
    head = next(lines)
    count = len(head[1]) - 1
    texts = {key: tuple(of.get(j, "") for j in range(count)) for key, of in known.items()}
    return _table(file, lines, head, 1, texts, reading, "a GEO series matrix", END)


def _gct(file: File, lines: Iterator[Line], reading: Reading) -> Table:
    next(lines)
    at, sizes = next(lines)
    if len(sizes) not in (2, 4) or not all(size.isdecimal() for size in sizes):
        raise TableError(f"{file} has no numbers of rows and columns in line {at}, as GCT has")
    before, above = (int(size) for size in (sizes[2:] or ("1", "0")))
    head = next(lines)
    rows = (cells for _, cells in (next(lines) for _ in range(above)))
    texts = {cells[0]: tuple(cells[before + 1 :]) for cells in rows}
    found = (int(sizes[0]), int(sizes[1]))
    return _table(file, lines, head, before + 1, texts, reading, "a GCT file", found)


def _table(
    file: File,
    lines: Iterator[Line],
    head: Line,
    before: int,
    texts: dict[str, tuple[str, ...]],
    reading: Reading,
    what: str,
    end: str | tuple[int, int],
) -> Table:
    """Read the table below its head, with so many columns before the numbers.

    What tells whether it is whole is the line at its end, or how many rows and columns there are.
    """
    samples = head[1][before:]
    genes: list[str] = []
    values: list[Any] = []
    whole = False
    for number, cells in lines:
        if cells[0].startswith("!"):
            whole = cells[0] == end
            break
        if len(cells) != len(head[1]):
            raise TableError(
                f"{file} is ragged: line {number} has {len(cells)} cells, line {head[0]} has "
                f"{len(head[1])}"
            )
        genes.append(cells[0] or f"line {number}")
        values.append(_numbers(file, number, cells[before:], samples))
    if not samples or not genes:
        raise TableError(f"{file} is empty")
    # What is the same for all samples says nothing about any.
    labels = {name: cells for name, cells in texts.items() if len(set(cells)) > 1}
    said = [f"{what}: its {counted(len(genes), 'row')} are variables, its columns observations"]
    if not whole and end != (len(genes), len(samples)):
        missing = f"has no line {end}" if isinstance(end, str) else f"announces {end[0]} × {end[1]}"
        said.append(f"it {missing}, and here are {len(genes)} × {len(samples)}: is it complete?")
    X = np.ascontiguousarray(np.array(values).T)
    reading = replace(reading, transpose=False)
    return table_of(file, X, reading, genes, samples, labels, said)


def _numbers(file: File, line: int, cells: list[str], samples: list[str]) -> Any:
    """The numbers of a line; one by one if need be: NaN where one is missing."""
    with suppress(ValueError):
        return np.array(cells, dtype=float)
    found = [np.nan if is_missing(cell) else number_in(cell) for cell in cells]
    for number, cell, sample in zip(found, cells, samples, strict=True):
        if number is None:
            raise TableError(
                f"{file} has {cell!r} in line {line}, column {sample!r}, which is not a number"
            )
    return [number for number in found if number is not None]
