"""A certificate in memory and as a file: a zip of one JSON text and NumPy arrays."""

from __future__ import annotations

import contextlib
import io
import json
import os
import uuid
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from orthospca._typing import Array
from orthospca.verify import MAX_BYTES, Verdict, read, verify

#: Measurements hardly shrink, and packing many of them takes longer than the solve.
MEASURED = ("matrix.npy", "factor.npy")
#: Bytes of them that are packed all the same.
LARGEST_PACKED = 2**16
#: The same bytes for the same content, whenever it is written.
NO_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was found, and the argument that nothing is much better.

    Attributes
    ----------
    manifest : dict
        The problem, the components' variances and the bounds that are claimed.
    arrays : dict of arrays
        The components, and of each stage the rungs of its ladder and their trees.

    Examples
    --------
    >>> from orthospca import datasets, solve
    >>> result = solve(datasets.load_pitprops().covariance(), 5, 2, proof=True)
    >>> result.certificate.verify().verified
    True
    """

    manifest: dict[str, Any]
    arrays: dict[str, Array]

    @property
    def sha256(self) -> str:
        """Fingerprint of the matrix."""
        return str(self.manifest["problem"]["sha256"])

    @property
    def claim(self) -> str:
        """What it is about.

        ``"components"`` and their bounds, a list of ``"alternatives"``, or a set as a whole,
        ``"joint"``.
        """
        return str(self.manifest.get("claim", "components"))

    def verify(self, Q: Any = None, **options: Any) -> Verdict:
        """Check it with :func:`orthospca.verify.verify`, which has the same arguments."""
        return verify(self, Q, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, all or nothing."""
        target = Path(path)
        # Not a temporary file of the library, which nobody else may read.
        part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
        try:
            with open(part, "xb") as stream:
                self._write(stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(part, target)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        buffer = io.BytesIO()
        self._write(buffer)
        return buffer.getvalue()

    def _write(self, stream: IO[bytes]) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            text = json.dumps(self.manifest, indent=1, allow_nan=False)
            archive.writestr(zipfile.ZipInfo("manifest.json", NO_DATE), text)
            for name in sorted(self.arrays):
                array = np.ascontiguousarray(self.arrays[name])
                member = zipfile.ZipInfo(name, NO_DATE)
                member.compress_type = zipfile.ZIP_DEFLATED
                member.file_size = array.nbytes
                if name in MEASURED and array.nbytes > LARGEST_PACKED:
                    member.compress_type = zipfile.ZIP_STORED
                with archive.open(member, "w") as entry:
                    _write_array(entry, array)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: float | None = MAX_BYTES) -> Certificate:
        """Read a file; nothing of it is believed before it has been verified.

        Parameters
        ----------
        path : path
        max_bytes : int or None
            Bytes that it may unpack to; None for any number.
        """
        return cls(*read(path, max_bytes))


def _write_array(stream: IO[bytes], array: Array) -> None:
    """Write an array in NumPy's own format, without a copy of it in between."""
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(stream, header)
    if array.nbytes:
        stream.write(array.data.cast("B"))
