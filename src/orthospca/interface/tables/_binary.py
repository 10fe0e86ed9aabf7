"""Numbers from files that are not text: NumPy, Matrix Market, Parquet."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from orthospca.interface.tables._file import File
from orthospca.interface.tables._finish import positions_of, table_of, unique_names
from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._shape import distinct, numbers_rows
from orthospca.interface.tables._table import Table, TableError, listed

#: Arrays of an NPZ file that name the rows of its table, and its columns.
NAMES = ("row_names", "sample_names", "index"), ("feature_names", "columns")


def read_numpy(file: File, reading: Reading) -> Table:
    """Read an NPY or NPZ file: an array, or the only table among several arrays."""
    try:
        with file.open() as stream:
            content = np.load(stream, allow_pickle=False)
            if isinstance(content, np.ndarray):
                return table_of(file, content, reading)
            arrays = _needed(file, content, reading.key)
    except TableError:
        raise
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        # NumPy takes anything unknown for a pickle, and arrays of objects are pickles.
        kind = f"not an {file.kind.upper()} file of numbers"
        objects = "Object arrays" in str(error)
        what = f"{kind}, it holds Python objects" if objects else f"damaged or {kind}"
        raise TableError(f"{file} is {what}") from None
    if not arrays:
        return table_of(file, _sparse(file), reading)
    values = arrays.pop("")
    return table_of(file, values, reading, _names(arrays, values, 1), _names(arrays, values, 0))


def _needed(file: File, content: Any, key: str | None) -> dict[str, Any]:
    """The table of an NPZ file, under no name, and what names its rows and columns.

    Nothing else is loaded; a sparse matrix is left to others.
    """
    there = content.files
    if {"format", "shape", "data"} <= set(there):
        return {}
    if key is not None and key not in there:
        raise TableError(f"{file} has no array {key!r} (it has {', '.join(there) or 'none'})")
    if key is None:
        tables = [name for name in there if _axes(content, name) == 2]
        if len(tables) != 1:
            found = f"several tables ({', '.join(tables)})" if tables else "no table of two axes"
            hint = ": name one with --key" if tables else ""
            raise TableError(f"{file} holds {found}{hint}")
        (key,) = tables
    names = {name: content[name] for known in NAMES for name in known if name in there}
    return {"": content[key], **names}


def _axes(content: Any, name: str) -> int:
    """How many axes an array has, by its header."""
    formats = np.lib.format
    with content.zip.open(f"{name}.npy") as member:
        first = formats.read_magic(member) == (1, 0)
        read = formats.read_array_header_1_0 if first else formats.read_array_header_2_0
        return len(read(member)[0])


def _sparse(file: File) -> Any:
    try:
        with file.open() as stream:
            return sparse.csr_array(sparse.load_npz(stream))
    except (ValueError, KeyError) as error:
        raise TableError(f"{file} holds a damaged sparse matrix: {error}") from None


def _names(arrays: dict[str, Any], values: Any, axis: int) -> list[str] | None:
    """The names of rows or of columns, if there is one for each."""
    there = [arrays[name] for name in NAMES[axis] if name in arrays]
    fitting = (names for names in there if names.shape == values.shape[axis : axis + 1])
    return next(([str(entry) for entry in names.tolist()] for names in fitting), None)


def read_matrix_market(file: File, reading: Reading) -> Table:
    """Read a Matrix Market file; a sparse one stays sparse."""
    from scipy import io

    if not file.head:
        raise TableError(f"{file} is empty")
    try:
        with file.open() as stream:
            values = io.mmread(stream)
    except (ValueError, OverflowError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise TableError(f"{file} is not a Matrix Market file ({reason})") from None
    if sparse.issparse(values):
        values = sparse.csr_array(values)
    return table_of(file, values, reading)


def read_parquet(file: File, reading: Reading) -> Table:
    """Read a Parquet file; columns that are not numbers, and a stored index, are labels."""
    arrow = file.library("pyarrow", "a Parquet file", "parquet")
    from pyarrow import parquet

    try:
        with file.open() as stream:
            content = parquet.read_table(stream)
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{file} is not a Parquet file ({reason})") from None
    stored = (content.schema.pandas_metadata or {}).get("index_columns", [])
    titles, said = unique_names(content.column_names, content.num_columns)
    out, stay = (positions_of(file, given, titles) for given in (reading.label, reading.keep))
    is_number = arrow.types.is_integer, arrow.types.is_floating, arrow.types.is_decimal
    numbers, labels, flags = {}, {}, []
    for j, (name, column) in enumerate(zip(titles, content.columns, strict=True)):
        kept = j not in out and (j in stay or content.column_names[j] not in stored)
        if kept and arrow.types.is_boolean(column.type):
            flags.append(name)
            column = column.cast(arrow.int8())
        if kept and any(test(column.type) for test in is_number):
            numbers[name] = column.cast(arrow.float64()).to_numpy()
        else:
            labels[name] = tuple("" if v is None else str(v) for v in column.to_pylist())
    if not numbers:
        raise TableError(f"{file} holds no numbers")
    if flags:
        said.append(f"true and false were read as 1 and 0: {listed(flags)}")
    first = [name for name in labels if name in stored or numbers_rows(name, True)]
    rows = distinct(labels, first)
    values = np.column_stack(list(numbers.values()))
    reading = replace(reading, label=(), keep=[titles[j] for j in stay])
    return table_of(file, values, reading, list(numbers), rows, labels, said)
