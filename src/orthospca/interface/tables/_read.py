"""Which reader a file needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orthospca.interface.tables._binary import read_matrix_market, read_numpy, read_parquet
from orthospca.interface.tables._excel import read_excel
from orthospca.interface.tables._file import File
from orthospca.interface.tables._grid import Reading
from orthospca.interface.tables._missing import complete
from orthospca.interface.tables._numbers import COMMA, POINT
from orthospca.interface.tables._table import Table, TableError
from orthospca.interface.tables._text import read_text

DECIMALS = {None: None, "point": POINT, "comma": COMMA, POINT: POINT, COMMA: COMMA}


def read_table(
    path: str | Path,
    *,
    header: bool | None = None,
    label: Sequence[str] = (),
    key: str | None = None,
    missing: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    transpose: bool = False,
) -> Table:
    """Read a table of numbers, or raise :class:`TableError` with one sentence.

    Parameters
    ----------
    path : path
        A file whose name ends in ``.parquet``, ``.npy``, ``.npz``, ``.mtx`` or ``.xlsx``, or a text
        file, which may be compressed (``.gz``); ``"-"`` is standard input.
    header : bool, optional
        Whether the first line of a text file holds names; detected if not given.
    label : sequence of str
        Columns to leave out, by name or by number from 1, besides those recognised as labels.
    key : str, optional
        The array to take from an NPZ file that holds several tables, or the sheet of a workbook.
    missing : {"drop-rows", "mean", "pairwise"}, optional
        What to do with missing values: leave out rows that have one, put the mean of the column, or
        keep them and compute each covariance from the rows that have both variables.  By default
        they are an error that says how many there are and where.
    decimal : {"point", "comma"}, optional
        How decimals are written in a text file; detected if not given.
    encoding : str, optional
        Of a text file; if not given it is UTF-8, UTF-16, or else Latin-1, with a notice.
    transpose : bool
        Whether rows of the file are variables and its columns observations.
    """
    table = read_as_it_is(
        File(path),
        header=header,
        label=label,
        key=key,
        decimal=decimal,
        encoding=encoding,
        transpose=transpose,
    )
    return complete(table, missing)


def read_as_it_is(
    file: File,
    *,
    header: bool | None = None,
    label: Sequence[str] = (),
    key: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    transpose: bool = False,
) -> Table:
    """As :func:`read_table`, with missing values as NaN."""
    if decimal not in DECIMALS:
        raise TableError(f"decimal must be 'point' or 'comma', got {decimal!r}")
    reading = Reading(header, label, DECIMALS[decimal], transpose)
    try:
        kind = file.kind
        if key is not None and kind not in ("npz", "xlsx"):
            raise TableError(
                f"{file} is not an NPZ file or a workbook, so it has no part named {key!r}"
            )
        if kind in ("npy", "npz"):
            return read_numpy(file, reading, key)
        if kind == "mtx":
            return read_matrix_market(file, reading)
        if kind == "parquet":
            return read_parquet(file, reading)
        if kind == "xlsx":
            return read_excel(file, reading, key)
        if kind in ("xls", "ods"):
            whose = "an old Excel file (.xls)" if kind == "xls" else "an OpenDocument sheet"
            raise TableError(f"{file} is {whose}: save it as .xlsx or as CSV")
        return read_text(file, reading, encoding)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TableError(f"{file} cannot be read: {reason}") from None
