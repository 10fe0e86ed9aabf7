"""A file, or what comes in at standard input: its content, and which format that is."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from orthospca.interface.tables._table import TableError

STDIN = "-"
#: Endings that decide how a file is read; any other is left to what the file begins with.
ENDINGS = {
    ".npy": "npy",
    ".npz": "npz",
    ".mtx": "mtx",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_BEGINNINGS = {
    b"\x93NUMPY": "npy",
    b"%%MatrixMarket": "mtx",
    b"PAR1": "parquet",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "xls",
}


class File:
    """A file by its path, or standard input by the path ``-``.

    Parameters
    ----------
    path : path

    Attributes
    ----------
    name : str
        For messages.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.is_stdin = str(path) == STDIN
        self.name = "standard input" if self.is_stdin else str(path)

    def __str__(self) -> str:
        return self.name

    @cached_property
    def raw(self) -> bytes:
        """The bytes as they are."""
        if not self.is_stdin:
            return self.path.read_bytes()
        if sys.stdin.isatty():
            raise TableError(
                "- means standard input, which is a terminal: pipe a file into the command, or "
                "name one"
            )
        return sys.stdin.buffer.read()

    @cached_property
    def content(self) -> bytes:
        """The bytes, unpacked if they are compressed."""
        if not self.raw.startswith(_GZIP) and self.path.suffix.lower() != ".gz":
            return self.raw
        try:
            return gzip.decompress(self.raw)
        except (OSError, EOFError, zlib.error):
            raise TableError(f"{self} is not a gzip file, or a damaged one") from None

    @cached_property
    def kind(self) -> str:
        """The format: ``"text"``, or a key of the readers."""
        path = Path(self.path.stem) if self.path.suffix.lower() == ".gz" else self.path
        known = ENDINGS.get(path.suffix.lower())
        if known:
            return known
        for beginning, kind in _BEGINNINGS.items():
            if self.content.startswith(beginning):
                return kind
        if not self.content.startswith(_ZIP):
            return "text"
        head = self.content[:4096]
        if b"opendocument.spreadsheet" in head:
            return "ods"
        return "xlsx" if b"[Content_Types].xml" in head or b"xl/" in head else "npz"

    @property
    def is_read(self) -> bool:
        """Whether the whole file is in memory."""
        return "raw" in self.__dict__

    def open(self) -> BinaryIO:
        """The unpacked content as a stream; a plain file is not read into memory for it."""
        packed = self.path.suffix.lower() == ".gz"
        if self.is_stdin or packed or self.is_read:
            return io.BytesIO(self.content)
        return open(self.path, "rb")
