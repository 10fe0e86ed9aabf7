"""Small files that would need much memory, or much time: refused, whatever they say.

Each is checked by a process of its own whose address space is limited.
"""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest

from helpers.certificates import Rung, forge, npy
from helpers.forger import checker
from orthospca.verify import fingerprint

#: Bytes of address space that a check of a small file may take, and seconds before it is ended.
SPACE, LONGEST = 2**30, 20.0
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc"
)
SCRIPT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({space}, {space}))
from orthospca.verify import Unreadable, verify
try:
    print(verify(sys.argv[1], max_bytes={most}))
except Unreadable:
    print("UNREADABLE")
# Of this program alone: what the system says of a child begins with the size of its parent.
status = open("/proc/self/status").read()
print(int(status[status.index("VmHWM:") + 6 :].split()[0]) // 1024)
"""


def answer(path: Path, space: int = SPACE, most: float = checker.MAX_BYTES) -> tuple[str, int]:
    """What a limited process says of a file, and the megabytes that it took."""
    assert path.stat().st_size < 2**21
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT.format(space=space, most=most), str(path)],
        capture_output=True,
        text=True,
        timeout=10 * LONGEST,
    )
    assert found.returncode == 0, found.stderr
    verdict, megabytes = found.stdout.splitlines()
    return verdict, int(megabytes)


def packed(path: Path, members: Mapping[str, Iterable[tuple[bytes, int]]]) -> Path:
    """A zip of members given by pieces and how often each is repeated."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, pieces in members.items():
            with archive.open(name, "w", force_zip64=True) as stream:
                for piece, times in pieces:
                    for _ in range(times):
                        stream.write(piece)
    return path


def header(descr: str, *shape: int) -> bytes:
    """The head of an array."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def manifest(Q: np.ndarray) -> bytes:
    """Of one stage with two features."""
    draft = forge(Q, [2], np.eye(Q.shape[1])[:1], [(1.0, 1.0)], [])
    return json.dumps(draft.manifest).encode()


def test_more_than_a_file_may_hold(tmp_path: Path) -> None:
    """Tests that a member is not unpacked if the sizes are beyond the limit, which is named."""
    file = packed(tmp_path / "x.zip", {"x.npy": [(bytes(2**20), 3)]})
    data = bytearray(file.read_bytes())
    # The directory says three gigabytes; so do two members of half of that.
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 3 * 2**30)
    file.write_bytes(data)
    verdict, megabytes = answer(file)
    assert verdict.startswith("UNDECIDED") and "raise max_bytes (--max-bytes)" in verdict
    assert megabytes < 150


def test_a_size_that_is_a_lie(tmp_path: Path) -> None:
    """Tests that no more is unpacked than the directory says, however much there is."""
    pieces = {"manifest.json": [(manifest(np.eye(2)), 1)], "x.npy": [(bytes(2**20), 200)]}
    file = packed(tmp_path / "x.zip", pieces)
    data = bytearray(file.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 1000)
    file.write_bytes(data)
    verdict, megabytes = answer(file)
    assert verdict == "UNREADABLE"
    assert megabytes < 150


@pytest.mark.parametrize("shape", [(2**40,), (2**31, 2**31), (2**62, 4), (10**30,)])
def test_a_shape_that_is_a_lie(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Tests that nothing is set aside for numbers that are not there."""
    pieces = {
        "manifest.json": [(manifest(np.eye(2)), 1)],
        "matrix.npy": [(header("<f8", *shape), 1), (bytes(64), 1)],
    }
    verdict, megabytes = answer(packed(tmp_path / "x.zip", pieces))
    assert verdict == "UNREADABLE"
    assert megabytes < 300


def test_many_members(tmp_path: Path) -> None:
    """Tests that a file of very many members is refused."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(checker.MOST_MEMBERS + 1):
            archive.writestr(str(number), b"")
    with pytest.raises(checker.Unreadable):
        checker.read(io.BytesIO(buffer.getvalue()))


@pytest.mark.slow
def test_a_large_manifest(tmp_path: Path) -> None:
    """Tests that a text of brackets does not become a hundred times as many bytes."""
    pieces = {"manifest.json": [(b"[[]", 1), (b",[]" * 350_000, 30), (b"]", 1)]}
    verdict, megabytes = answer(packed(tmp_path / "x.zip", pieces), 4 * SPACE)
    assert verdict == "UNREADABLE"
    assert megabytes < 300


@pytest.mark.slow
def test_a_large_array(tmp_path: Path) -> None:
    """Tests that an array is copied once at most while it is unpacked."""
    count = 400 * 2**17
    pieces = {
        "manifest.json": [(manifest(np.eye(2)), 1)],
        "x.npy": [(header("<f8", count), 1), (bytes(2**20), 400)],
    }
    file = packed(tmp_path / "x.zip", pieces)
    verdict, megabytes = answer(file)
    assert verdict.startswith("UNDECIDED") and megabytes < 150
    verdict, megabytes = answer(file, 4 * SPACE, 2**30)
    assert "does not hold the matrix" in verdict
    assert megabytes < 1000


@pytest.mark.slow
def test_very_many_steps(tmp_path: Path) -> None:
    """Tests that a tree of millions of steps takes no object for each before it is walked."""
    Q, count, chunk = np.eye(2), 1, 2**20
    total = count * chunk
    arrays = {
        "matrix.npy": Q,
        "components.npy": np.array([[1.0, 0.0]]),
        "stage-0/kinds.npy": np.array([0, 1], dtype="<i4"),
        "stage-0/bounds.npy": np.ones(2),
        "stage-0/levels.npy": np.ones(2),
        "stage-0/kept.npy": np.array([0, 1], dtype="<i4"),
        "stage-0/kept_ends.npy": np.array([0, 2]),
        "stage-0/steps_ends.npy": np.array([0, total]),
        "stage-0/removed.npy": np.zeros(0, dtype="<i4"),
        "stage-0/forced.npy": np.zeros(0, dtype="<i4"),
    }
    pieces = {"manifest.json": [(manifest(Q), 1)]}
    pieces |= {name: [(npy(array), 1)] for name, array in arrays.items()}
    pieces["stage-0/steps.npy"] = [(header("<i4", total), 1), (bytes(4 * chunk), count)]
    for name in ("removed", "forced"):
        head = header("<i8", total)
        pieces[f"stage-0/{name}_ends.npy"] = [(head, 1), (bytes(8 * chunk), count)]
    assert fingerprint(Q) in manifest(Q).decode()
    verdict, megabytes = answer(packed(tmp_path / "x.zip", pieces), 4 * SPACE)
    assert verdict.startswith("REJECTED")
    assert megabytes < 250


def test_a_large_part_of_a_matrix(tmp_path: Path) -> None:
    """Tests that a matrix that is given by a factor is not formed because all is kept."""
    n = 30_000
    everything = tuple(range(n))
    ladder = [Rung(3, 2.0), Rung(1, 2.5, 2.5, everything, ((-1, (), ()),))]
    draft = forge(np.ones((1, n)), [2], np.eye(1, n), [(1.0, 3.0)], [ladder], "factor")
    file = tmp_path / "x.zip"
    file.write_bytes(draft.to_bytes())
    verdict, megabytes = answer(file)
    assert verdict.startswith("REJECTED")
    assert megabytes < 300


@pytest.mark.slow
def test_large_sums_of_rows(tmp_path: Path) -> None:
    """Tests that a large sparsity does not fill the memory with sums."""
    n, p = 30_000, 3000
    ladder = [Rung(3, 2.0 * s + 5) for s in range(1, p)] + [Rung(1, 3.0 * n, 3.0 * n - 1)]
    draft = forge(np.ones((1, n)), [p], np.eye(1, n), [(1.0, 3.0 * n)], [ladder], "factor")
    file = tmp_path / "x.zip"
    file.write_bytes(draft.to_bytes())
    verdict, megabytes = answer(file)
    assert verdict.startswith("REJECTED")
    assert megabytes < 300
