"""Which reader a file needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orthospca.interface.tables._binary import read_matrix_market, read_numpy, read_parquet
from orthospca.interface.tables._table import Table, TableError
from orthospca.interface.tables._text import read_text


def read_table(
    path: str | Path,
    *,
    header: bool | None = None,
    label: Sequence[str] = (),
    key: str | None = None,
) -> Table:
    """Read a table of numbers, or raise :class:`TableError` with one sentence.

    Parameters
    ----------
    path : path
        A file whose name ends in ``.parquet``, ``.npy``, ``.npz`` or ``.mtx``; any other is text,
        CSV or TSV, and may be compressed (``.gz``).
    header : bool, optional
        Whether the first line of a text file holds names; found out if not given.
    label : sequence of str
        Columns to leave out, by name or by number from 1, besides those recognised as labels.
    key : str, optional
        The array to take from an NPZ file that holds several tables.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind == ".gz" and Path(path.stem).suffix.lower() == ".mtx":
        kind = ".mtx"
    if key is not None and kind != ".npz":
        raise TableError(f"{path} is not an NPZ file, so it has no array named {key!r}")
    try:
        if kind in (".npy", ".npz"):
            return read_numpy(path, key, label)
        if kind == ".mtx":
            return read_matrix_market(path, label)
        if kind in (".parquet", ".pq"):
            return read_parquet(path, label)
        return read_text(path, header, label)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TableError(f"{path} cannot be read: {reason}") from None
