"""Which reader a file needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from orthospca.interface.tables._binary import read_matrix_market, read_numpy, read_parquet
from orthospca.interface.tables._excel import read_excel
from orthospca.interface.tables._expression import read_expression
from orthospca.interface.tables._file import File
from orthospca.interface.tables._h5ad import read_h5ad
from orthospca.interface.tables._missing import complete
from orthospca.interface.tables._numbers import COMMA, POINT
from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._table import Table, TableError
from orthospca.interface.tables._text import read_text

#: By the format of a file; see :attr:`File.kind`.
READERS: dict[str, Callable[[File, Reading], Table]] = {
    "text": read_text,
    "npy": read_numpy,
    "npz": read_numpy,
    "mtx": read_matrix_market,
    "parquet": read_parquet,
    "xlsx": read_excel,
    "h5ad": read_h5ad,
    "geo": read_expression,
    "gct": read_expression,
}
UNREAD = {"xls": "an old Excel file (.xls)", "ods": "an OpenDocument sheet"}
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
    na: Sequence[str] = (),
    layer: str | None = None,
    keep: Sequence[str] = (),
) -> Table:
    """Read a table of numbers, or raise :class:`TableError` with one sentence.

    Parameters
    ----------
    path : path
        A file whose name ends in ``.parquet``, ``.npy``, ``.npz``, ``.mtx``, ``.xlsx`` or
        ``.h5ad``, or a text file, a series matrix of GEO or a GCT file, which may be compressed
        (``.gz``); ``"-"`` is standard input.
    header : bool, optional
        Whether the first line of a text file holds names; detected if not given.
    label : sequence of str
        Columns to leave out, by name or by number from 1, besides those recognised as labels.
    key : str, optional
        The array to take from an NPZ file that holds several tables, the sheet of a workbook, or
        the column of ``var`` that marks genes of an AnnData file, or ``"all"``.
    missing : {"drop-rows", "mean", "pairwise"}, optional
        What to do with missing values: drop rows that have one, fill in the mean of the column, or
        keep them and compute each covariance from the rows that have both variables.  By default
        they are an error that says how many there are and where.
    decimal : {"point", "comma"}, optional
        How decimals are written in a text file; detected if not given.
    encoding : str, optional
        Encoding of a text file; by default UTF-8, UTF-16 or, with a notice, Latin-1.
    transpose : bool
        Whether rows of the file are variables and its columns observations.
    na : sequence of str
        Texts that mark missing values, such as ``"<LOD"``, in addition to ``NA`` and the like.
    layer : str, optional
        Layer of an AnnData file to use instead of its ``X``.
    keep : sequence of str
        Columns that are variables although they look like row numbers or names.
    """
    reading = Reading(header, label, key, decimal, encoding, transpose, na, layer, keep)
    return complete(read_as_it_is(File(path), reading).of_several(), missing)


def read_as_it_is(file: File, reading: Reading) -> Table:
    """As :func:`read_table`, with missing values as NaN."""
    if reading.decimal not in DECIMALS:
        raise TableError(f"decimal must be 'point' or 'comma', got {reading.decimal!r}")
    reading = replace(reading, decimal=DECIMALS[reading.decimal])
    try:
        kind = file.kind
        if reading.key is not None and kind not in ("npz", "xlsx", "h5ad"):
            raise TableError(
                f"{file} is not an NPZ file or a workbook, so it has no part named {reading.key!r}"
            )
        if reading.layer is not None and kind != "h5ad":
            raise TableError(f"{file} is not an AnnData file, so it has no layer {reading.layer!r}")
        if kind in UNREAD:
            raise TableError(f"{file} is {UNREAD[kind]}: save it as .xlsx or as CSV")
        return READERS[kind](file, reading)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TableError(f"{file} cannot be read: {reason}") from None
