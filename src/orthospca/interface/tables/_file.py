"""A file, or what comes in at standard input: its content, and which format that is."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from orthospca.interface.tables._table import TableError

STDIN = "-"
#: Characters from which the format of a long text file is detected.
SAMPLE = 2**20
#: Characters of it that are parsed at once.
BLOCK = 2**22
#: Bytes to which a compressed file may unpack in memory.
MOST_UNPACKED = 2**33
#: Endings that decide how a file is read; any other is left to what the file begins with.
ENDINGS = {f".{kind}": kind for kind in ("npy", "npz", "mtx", "parquet", "xlsx", "h5ad")}
ENDINGS |= {".pq": "parquet", ".xlsm": "xlsx"}
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_ZIPPED = {b"opendocument.spreadsheet": "ods", b"[Content_Types].xml": "xlsx", b"xl/": "xlsx"}
_BEGINNINGS = {
    b"\x93NUMPY": "npy",
    b"%%MatrixMarket": "mtx",
    b"PAR1": "parquet",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "xls",
    b"!Series_": "geo",
    b"#1.2": "gct",
    b"#1.3": "gct",
}


class File:
    """A file by its path, or standard input by the path ``-``.

    Parameters
    ----------
    path : path
    sample : int
        Text files with more bytes are read in blocks.
    block : int
        Characters of a block.
    most_unpacked : int
        Bytes to which a compressed file may unpack in memory.

    Attributes
    ----------
    name : str
        For messages.
    progress : callable
        Gets the share of a long file that is read, now and then.
    """

    def __init__(
        self,
        path: str | Path,
        sample: int = SAMPLE,
        block: int = BLOCK,
        most_unpacked: int = MOST_UNPACKED,
    ) -> None:
        self.path = Path(path)
        self.is_stdin = str(path) == STDIN
        self.name = "standard input" if self.is_stdin else str(path)
        self.sample, self.block = sample, block
        self.progress: Callable[[float], object] = float
        self._most_unpacked = most_unpacked

    def __str__(self) -> str:
        return self.name

    @cached_property
    def raw(self) -> bytes:
        """The bytes as they are."""
        if not self.is_stdin:
            return self.path.read_bytes()
        if sys.stdin.isatty():
            raise TableError(
                "- means standard input, but nothing is piped in: pipe a file into the command, "
                "or name one"
            )
        return sys.stdin.buffer.read()

    @cached_property
    def _is_once(self) -> bool:
        """Whether it can be read only once, as a pipe can."""
        return self.is_stdin or not self.path.is_file()

    def _open_raw(self) -> BinaryIO:
        return io.BytesIO(self.raw) if self._is_once else open(self.path, "rb")

    @cached_property
    def _is_packed(self) -> bool:
        with self._open_raw() as stream:
            return self.path.suffix.lower() == ".gz" or stream.read(2) == _GZIP

    def _read(self, count: int) -> bytes:
        """The first bytes, unpacked."""
        with self.stream() as stream:
            return bytes(stream.read(count))

    @cached_property
    def content(self) -> bytes:
        """The bytes, unpacked if they are compressed."""
        if not self._is_packed:
            return self.raw
        content = self._read(self._most_unpacked + 1)
        self._refuse_more(len(content))
        return content

    def _refuse_more(self, unpacked: int) -> None:
        """Refuse a compressed file of which more is unpacked than is allowed."""
        if unpacked > self._most_unpacked:
            most = f"{self._most_unpacked / 2**30:.3g} GB"
            raise TableError(f"{self} unpacks to more than {most}: unpack it first")

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the content."""
        return self._read(4096)

    @cached_property
    def kind(self) -> str:
        """The format: ``"text"``, or a key of the readers."""
        path = Path(self.path.stem) if self.path.suffix.lower() == ".gz" else self.path
        if known := ENDINGS.get(path.suffix.lower()):
            return known
        if not self.head.startswith(_ZIP):
            begun = (kind for mark, kind in _BEGINNINGS.items() if self.head.startswith(mark))
            return next(begun, "text")
        return next((kind for mark, kind in _ZIPPED.items() if mark in self.head), "npz")

    @property
    def is_read(self) -> bool:
        """Whether the whole file is in memory."""
        return "raw" in self.__dict__

    @property
    def size(self) -> int:
        """Bytes of the file as it is."""
        return len(self.raw) if self._is_once else self.path.stat().st_size

    def library(self, module: str, kind: str, extra: str) -> Any:
        """The module that a format needs, or what to install for it."""
        try:
            return import_module(module)
        except ImportError:
            package, what = module.partition(".")[0], f'pip install "orthospca[{extra}]"'
            raise TableError(f"{self} is {kind}, which needs {package}: {what}") from None

    def open(self) -> BinaryIO:
        """The unpacked content as a stream; a plain file is not read into memory for it."""
        return io.BytesIO(self.content) if self._is_packed else self._open_raw()

    @contextmanager
    def stream(self) -> Iterator[Any]:
        """The unpacked content as a stream that is read once, from its beginning to its end."""
        try:
            with self._open_raw() as self._opened:
                self._unpacked = gzip.GzipFile(fileobj=self._opened) if self._is_packed else None
                yield self._unpacked or self._opened
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise TableError(f"{self} is damaged or not a gzip file") from None

    def tell_progress(self) -> None:
        """Tell how much of the stream was read, and refuse too much."""
        self.progress(self._opened.tell() / max(self.size, 1))
        if self._unpacked is not None:
            self._refuse_more(self._unpacked.tell())
