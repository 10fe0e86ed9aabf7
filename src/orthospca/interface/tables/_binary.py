"""Numbers from files that are not CSV: NumPy, Matrix Market, Parquet."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from orthospca.interface.tables._table import Table, TableError, positions_of, table_of

#: Arrays of an NPZ file that name the columns of its table.
NAMES = ("feature_names", "columns")


def read_numpy(path: Path, key: str | None, leave_out: Sequence[str]) -> Table:
    """Read an NPY or NPZ file: an array, or the only table among several arrays."""
    try:
        with open(path, "rb") as file:
            content = np.load(file, allow_pickle=False)
            if not isinstance(content, np.ndarray):
                arrays = {name: content[name] for name in content.files}
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        # NumPy takes anything unknown for a pickle, and arrays of objects are pickles.
        reason = "it holds Python objects" if "Object arrays" in str(error) else "or a damaged one"
        kind = path.suffix[1:].upper()
        raise TableError(f"{path} is not an {kind} file of numbers, {reason}") from None
    if isinstance(content, np.ndarray):
        return table_of(path, content, leave_out=leave_out)
    if {"format", "shape", "data"} <= set(arrays):
        return table_of(path, _sparse(path), leave_out=leave_out)
    if key is not None and key not in arrays:
        raise TableError(f"{path} has no array {key!r} (it has {', '.join(arrays) or 'none'})")
    if key is None:
        tables = [name for name, array in arrays.items() if array.ndim == 2]
        if len(tables) != 1:
            found = f"several tables ({', '.join(tables)})" if tables else "no table of two axes"
            hint = ": name one with --key" if tables else ""
            raise TableError(f"{path} holds {found}{hint}")
        (key,) = tables
    return table_of(path, arrays[key], _names(arrays, arrays[key]), leave_out=leave_out)


def _sparse(path: Path) -> Any:
    try:
        return sparse.csr_array(sparse.load_npz(path))
    except (ValueError, KeyError) as error:
        raise TableError(f"{path} holds a damaged sparse matrix: {error}") from None


def _names(arrays: dict[str, Any], values: Any) -> list[str] | None:
    for name in NAMES:
        names = arrays.get(name)
        if names is not None and values.ndim == 2 and names.shape == (values.shape[1],):
            return [str(entry) for entry in names.tolist()]
    return None


def read_matrix_market(path: Path, leave_out: Sequence[str]) -> Table:
    """Read a Matrix Market file; a sparse one stays sparse."""
    from scipy import io

    if path.is_file() and not path.stat().st_size:
        raise TableError(f"{path} is empty")
    try:
        values = io.mmread(path)
    except (ValueError, OverflowError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise TableError(f"{path} is not a Matrix Market file ({reason})") from None
    if sparse.issparse(values):
        values = sparse.csr_array(values)
    return table_of(path, values, leave_out=leave_out)


def read_parquet(path: Path, leave_out: Sequence[str]) -> Table:
    """Read a Parquet file; columns that are not numbers, and a stored index, are labels."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise TableError(
            f"{path} is a Parquet file, and reading it needs pyarrow: "
            'pip install "orthospca[parquet]"'
        ) from None
    try:
        content = parquet.read_table(path)
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{path} is not a Parquet file ({reason})") from None
    stored = (content.schema.pandas_metadata or {}).get("index_columns", [])
    out = positions_of(path, leave_out, content.column_names)
    names, labels, columns = [], [], []
    for j, (name, kind) in enumerate(zip(content.column_names, content.schema.types, strict=True)):
        is_number = arrow.types.is_integer, arrow.types.is_floating, arrow.types.is_decimal
        if j in out or name in stored or not any(test(kind) for test in is_number):
            labels.append(name)
        else:
            names.append(name)
            columns.append(content.column(j).cast(arrow.float64()).to_numpy())
    if not columns:
        raise TableError(f"{path} holds no numbers")
    return table_of(path, np.column_stack(columns), names, labels)
