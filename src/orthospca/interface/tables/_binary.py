"""Numbers from files that are not text: NumPy, Matrix Market, Parquet."""

from __future__ import annotations

import zipfile
import zlib
from typing import Any

import numpy as np
from scipy import sparse

from orthospca.interface.tables._file import File
from orthospca.interface.tables._finish import positions_of, table_of, unique_names
from orthospca.interface.tables._grid import INDEX_HEADINGS, Reading
from orthospca.interface.tables._table import Table, TableError, listed

#: Arrays of an NPZ file that name the columns of its table, and its rows.
NAMES = ("feature_names", "columns")
ROWS = ("row_names", "sample_names", "index")


def read_numpy(file: File, reading: Reading, key: str | None) -> Table:
    """Read an NPY or NPZ file: an array, or the only table among several arrays."""
    try:
        with file.open() as stream:
            content = np.load(stream, allow_pickle=False)
            if not isinstance(content, np.ndarray):
                arrays = _needed(file, content, key)
    except TableError:
        raise
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        # NumPy takes anything unknown for a pickle, and arrays of objects are pickles.
        reason = "it holds Python objects" if "Object arrays" in str(error) else "or a damaged one"
        raise TableError(
            f"{file} is not an {file.kind.upper()} file of numbers, {reason}"
        ) from None
    how: dict[str, Any] = {"leave_out": reading.leave_out, "transpose": reading.transpose}
    if isinstance(content, np.ndarray):
        return table_of(file, content, **how)
    if not arrays:
        return table_of(file, _sparse(file), **how)
    values = arrays.pop("")
    rows = _names(arrays, ROWS, values, 0)
    names = _names(arrays, NAMES, values, 1)
    return table_of(file, values, names, row_names=tuple(rows) if rows else None, **how)


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
    return {"": content[key], **{name: content[name] for name in (*NAMES, *ROWS) if name in there}}


def _axes(content: Any, name: str) -> int:
    """How many axes an array has, by its header."""
    with content.zip.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        return len(header(member)[0])


def _sparse(file: File) -> Any:
    try:
        with file.open() as stream:
            return sparse.csr_array(sparse.load_npz(stream))
    except (ValueError, KeyError) as error:
        raise TableError(f"{file} holds a damaged sparse matrix: {error}") from None


def _names(
    arrays: dict[str, Any], known: tuple[str, ...], values: Any, axis: int
) -> list[str] | None:
    for name in known:
        names = arrays.get(name)
        if names is not None and values.ndim == 2 and names.shape == (values.shape[axis],):
            return [str(entry) for entry in names.tolist()]
    return None


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
    return table_of(file, values, leave_out=reading.leave_out, transpose=reading.transpose)


def read_parquet(file: File, reading: Reading) -> Table:
    """Read a Parquet file; columns that are not numbers, and a stored index, are labels."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise TableError(
            f"{file} is a Parquet file, and reading it needs pyarrow: "
            'pip install "orthospca[parquet]"'
        ) from None
    try:
        with file.open() as stream:
            content = parquet.read_table(stream)
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{file} is not a Parquet file ({reason})") from None
    stored = (content.schema.pandas_metadata or {}).get("index_columns", [])
    titles, said = unique_names(content.column_names)
    out = positions_of(file, reading.leave_out, titles)
    is_number = arrow.types.is_integer, arrow.types.is_floating, arrow.types.is_decimal
    names, flags, columns = [], [], []
    labels: dict[str, tuple[str, ...]] = {}
    for j, (name, kind) in enumerate(zip(titles, content.schema.types, strict=True)):
        boolean = arrow.types.is_boolean(kind)
        number = boolean or any(test(kind) for test in is_number)
        if j in out or content.column_names[j] in stored or not number:
            texts = ("" if value is None else str(value) for value in content.column(j).to_pylist())
            labels[name] = tuple(texts)
            continue
        names.append(name)
        flags += [name] if boolean else []
        column = content.column(j)
        column = column.cast(arrow.int8()) if boolean else column
        columns.append(column.cast(arrow.float64()).to_numpy())
    if not columns:
        raise TableError(f"{file} holds no numbers")
    if flags:
        said = [*said, f"true and false were read as 1 and 0: {listed(flags)}"]
    return table_of(
        file,
        np.column_stack(columns),
        names,
        label_values=labels,
        row_names=_row_names(labels, stored),
        transpose=reading.transpose,
        notices=said,
    )


def _row_names(labels: dict[str, tuple[str, ...]], stored: list[Any]) -> tuple[str, ...] | None:
    """Row labels: the stored index, or the first labels that are all different."""
    first = [name for name in labels if name in stored or name.lower() in INDEX_HEADINGS]
    for name in [*first, *labels]:
        if len(set(labels[name])) == len(labels[name]):
            return labels[name]
    return None
