"""Ways to damage a certificate, one at a time, chosen at random."""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.certificates import Draft, npy, strings_of, zipped
from helpers.exact import stated
from orthospca.verify import fingerprint

Random = np.random.Generator
Corruption = Callable[[Draft, Random], Draft]
Damage = Callable[[bytes, Random], bytes]

ODD_FLOATS = (0.0, -0.0, math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, 1.0, -1.0)
ODD_INTEGERS = (-1, -2, 0, 1, 2, 3, 2**31 - 1, -(2**31))
ODD_ENTRIES: tuple[Any, ...] = (
    None,
    True,
    False,
    "",
    "x",
    "1",
    [],
    {},
    [[]],
    -1,
    0,
    1,
    2,
    1.5,
    10**400,
    -(10**400),
    2**63,
    math.nan,
    math.inf,
    -math.inf,
    1e300,
)


def other_float(value: float, rng: Random) -> float:
    """Another number: near, far, or none at all."""
    way = int(rng.integers(8))
    if way == 0:
        return float(np.nextafter(value, rng.choice([-np.inf, np.inf])))
    if way == 1:
        return value * (1 + float(rng.choice([-1e-6, 1e-6])))
    if way == 2:
        return value * (1 + float(rng.choice([-1, 1])) * 10.0 ** float(rng.uniform(-13, -1)))
    if way == 3:
        return value * float(rng.choice([-1.0, 0.5, 2.0, 10.0, 1e-3, 1e3]))
    if way == 4:
        return value + float(rng.normal())
    return float(rng.choice(ODD_FLOATS))


def _name(draft: Draft, rng: Random, floats: bool | None = None) -> str:
    """An array that has entries."""
    names = [
        name
        for name, array in sorted(draft.arrays.items())
        if array.size and floats in (None, array.dtype.kind == "f")
    ]
    return names[int(rng.integers(len(names)))]


def _named(draft: Draft, rng: Random, last: str) -> str:
    names = [name for name in sorted(draft.arrays) if name.endswith(f"/{last}.npy")]
    return names[int(rng.integers(len(names)))]


def _place(array: np.ndarray, rng: Random) -> tuple[int, ...]:
    return tuple(int(rng.integers(size)) for size in array.shape)


# Arrays


def change_float(draft: Draft, rng: Random) -> Draft:
    """One number of an array of reals."""
    array = draft.arrays[_name(draft, rng, True)]
    at = _place(array, rng)
    array[at] = other_float(float(array[at]), rng)
    return draft


def change_integer(draft: Draft, rng: Random) -> Draft:
    """One number of an array of integers."""
    names = [n for n, a in sorted(draft.arrays.items()) if a.size and a.dtype.kind == "i"]
    array = draft.arrays[names[int(rng.integers(len(names)))]]
    at = _place(array, rng)
    near = int(array[at]) + int(rng.choice([-2, -1, 1, 2]))
    array[at] = near if rng.random() < 0.6 else int(rng.choice(ODD_INTEGERS))
    return draft


def drop_entry(draft: Draft, rng: Random) -> Draft:
    """An array that is one shorter."""
    name = _name(draft, rng)
    array = draft.arrays[name]
    draft.arrays[name] = np.delete(array, int(rng.integers(len(array))), axis=0)
    return draft


def repeat_entry(draft: Draft, rng: Random) -> Draft:
    """An entry twice."""
    name = _name(draft, rng)
    array = draft.arrays[name]
    at = int(rng.integers(len(array)))
    draft.arrays[name] = np.insert(array, at, array[at], axis=0)
    return draft


def swap_entries(draft: Draft, rng: Random) -> Draft:
    """Two entries in each other's place."""
    array = draft.arrays[_name(draft, rng)]
    i, j = rng.integers(len(array), size=2)
    array[[i, j]] = array[[j, i]]
    return draft


def drop_array(draft: Draft, rng: Random) -> Draft:
    """An array that is not there."""
    names = sorted(draft.arrays)
    del draft.arrays[names[int(rng.integers(len(names)))]]
    return draft


def swap_arrays(draft: Draft, rng: Random) -> Draft:
    """Two arrays in each other's place."""
    names = sorted(draft.arrays)
    i, j = rng.integers(len(names), size=2)
    a, b = names[int(i)], names[int(j)]
    draft.arrays[a], draft.arrays[b] = draft.arrays[b], draft.arrays[a]
    return draft


def copy_array(draft: Draft, rng: Random) -> Draft:
    """An array in the place of another one."""
    names = sorted(draft.arrays)
    i, j = rng.integers(len(names), size=2)
    draft.arrays[names[int(i)]] = np.array(draft.arrays[names[int(j)]])
    return draft


def reshape(draft: Draft, rng: Random) -> Draft:
    """Transposed, flat, in a column, or a single number."""
    name = _name(draft, rng)
    array = draft.arrays[name]
    shapes = (array.T, array.reshape(-1), array.reshape(-1, 1), array[None], array.reshape(-1)[0])
    draft.arrays[name] = np.array(shapes[int(rng.integers(len(shapes)))], order="C")
    return draft


def other_type(draft: Draft, rng: Random) -> Draft:
    """Numbers of another kind, or none."""
    name = _name(draft, rng)
    array = draft.arrays[name]
    kinds = ("<f4", ">f8", "<i8", ">i4", "i1", "u8", "O", "U30", "S30", "c16", "?", "m8[s]", "f2")
    with np.errstate(all="ignore"):
        kind = kinds[int(rng.integers(len(kinds)))]
        if kind == "m8[s]":
            draft.arrays[name] = np.zeros(array.shape, kind)
        else:
            draft.arrays[name] = np.nan_to_num(array).astype(kind)
    return draft


def structured(draft: Draft, rng: Random) -> Draft:
    """Numbers as fields of a record."""
    name = _name(draft, rng)
    array = np.ascontiguousarray(draft.arrays[name])
    draft.arrays[name] = array.view([("value", array.dtype)])
    return draft


def empty_array(draft: Draft, rng: Random) -> Draft:
    """No numbers at all."""
    name = _name(draft, rng)
    draft.arrays[name] = draft.arrays[name][:0]
    return draft


# The argument


def move_level(draft: Draft, rng: Random) -> Draft:
    """A level that is a little, or much, lower or higher."""
    levels = draft.arrays[_named(draft, rng, "levels")]
    at = int(rng.integers(len(levels)))
    levels[at] += _shift(rng) * (abs(levels[at]) + 1e-3)
    return draft


def move_bound(draft: Draft, rng: Random) -> Draft:
    """The bound of a rung that is a little, or much, lower or higher; its level perhaps with it."""
    name = _named(draft, rng, "bounds")
    bounds, levels = draft.arrays[name], draft.arrays[name.replace("bounds", "levels")]
    at, shift = int(rng.integers(len(bounds))), _shift(rng)
    if np.isfinite(bounds[at]):
        bounds[at] += shift * (abs(bounds[at]) + 1e-3)
    if rng.random() < 0.5:
        levels[at] += shift * (abs(levels[at]) + 1e-3)
    return draft


def lower_everything(draft: Draft, rng: Random) -> Draft:
    """Bounds, levels and claims of a stage, all lower by the same share."""
    k = int(rng.integers(len(draft.manifest["stages"])))
    share = 10.0 ** float(rng.uniform(-9, -1))
    stage = draft.manifest["stages"][k]
    stage["upper_bound"] -= share * abs(stage["upper_bound"])
    stage["variance"] = min(stage["variance"], stage["upper_bound"])
    for name in ("bounds", "levels"):
        array = draft.arrays.get(f"stage-{k}/{name}.npy")
        if array is not None:
            array[np.isfinite(array)] -= share * np.abs(array[np.isfinite(array)])
    return draft


def lower_claim(draft: Draft, rng: Random) -> Draft:
    """The bound of a stage, lower by one part in a million or another number."""
    stages = draft.manifest["stages"]
    stage = stages[int(rng.integers(len(stages)))]
    share = 1e-6 if rng.random() < 0.5 else 10.0 ** float(rng.uniform(-12, -1))
    stage["upper_bound"] -= share * abs(stage["upper_bound"])
    return draft


def raise_variance(draft: Draft, rng: Random) -> Draft:
    """A variance that is larger than it is, its bound perhaps with it."""
    stages = draft.manifest["stages"]
    stage = stages[int(rng.integers(len(stages)))]
    stage["variance"] += 10.0 ** float(rng.uniform(-12, 0)) * abs(stage["variance"])
    if rng.random() < 0.5:
        stage["upper_bound"] = max(stage["upper_bound"], stage["variance"])
    return draft


def change_kind(draft: Draft, rng: Random) -> Draft:
    """Another reason for a rung, with a lower bound perhaps."""
    name = _named(draft, rng, "kinds")
    kinds, bounds = draft.arrays[name], draft.arrays[name.replace("kinds", "bounds")]
    at = int(rng.integers(len(kinds)))
    kinds[at] = rng.integers(5)
    if rng.random() < 0.5 and np.isfinite(bounds[at]):
        bounds[at] += _shift(rng) * (abs(bounds[at]) + 1e-3)
    return draft


def change_part(draft: Draft, rng: Random) -> Draft:
    """One list of features with one more or one less, its end moved with it."""
    name = _named(draft, rng, str(rng.choice(["kept", "removed", "forced"])))
    values, ends = draft.arrays[name], draft.arrays[name.replace(".npy", "_ends.npy")]
    if not len(ends):
        return draft
    part = int(rng.integers(len(ends)))
    start, stop = int(ends[part - 1]) if part else 0, int(ends[part])
    members = set(values[start:stop].tolist())
    n = int(draft.manifest["problem"]["features"])
    others = sorted(set(range(n)) - members)
    if members and (rng.random() < 0.6 or not others):
        members.remove(sorted(members)[int(rng.integers(len(members)))])
    elif others:
        members.add(others[int(rng.integers(len(others)))])
    changed = np.array(sorted(members), dtype=values.dtype)
    draft.arrays[name] = np.concatenate([values[:start], changed, values[stop:]])
    ends[part:] += len(changed) - (stop - start)
    return draft


def change_branch(draft: Draft, rng: Random) -> Draft:
    """Another feature that is branched on, or none."""
    steps = draft.arrays[_named(draft, rng, "steps")]
    if len(steps):
        n = int(draft.manifest["problem"]["features"])
        steps[int(rng.integers(len(steps)))] = rng.integers(-1, n)
    return draft


def drop_step(draft: Draft, rng: Random) -> Draft:
    """A step of a tree that is gone, with all that belongs to it."""
    name = _named(draft, rng, "steps")
    folder = name.rsplit("/", 1)[0]
    steps = draft.arrays[name]
    if not len(steps):
        return draft
    at = int(rng.integers(len(steps)))
    draft.arrays[name] = np.delete(steps, at)
    for part in ("removed", "forced"):
        _drop_part(draft, f"{folder}/{part}", at)
    ends = draft.arrays[f"{folder}/steps_ends.npy"]
    ends[ends > at] -= 1
    return draft


def drop_rung(draft: Draft, rng: Random) -> Draft:
    """The last rung, or any, with all that belongs to it."""
    name = _named(draft, rng, "kinds")
    folder = name.rsplit("/", 1)[0]
    count = len(draft.arrays[name])
    at = count - 1 if rng.random() < 0.5 else int(rng.integers(count))
    ends = draft.arrays[f"{folder}/steps_ends.npy"]
    start, stop = int(ends[at - 1]) if at else 0, int(ends[at])
    for step in reversed(range(start, stop)):
        draft.arrays[f"{folder}/steps.npy"] = np.delete(draft.arrays[f"{folder}/steps.npy"], step)
        for part in ("removed", "forced"):
            _drop_part(draft, f"{folder}/{part}", step)
    ends[at:] -= stop - start
    draft.arrays[f"{folder}/steps_ends.npy"] = np.delete(ends, at)
    for array in ("kinds", "bounds", "levels"):
        full = f"{folder}/{array}.npy"
        draft.arrays[full] = np.delete(draft.arrays[full], at)
    _drop_part(draft, f"{folder}/kept", at)
    return draft


def drop_tree(draft: Draft, rng: Random) -> Draft:
    """All trees of a stage, and perhaps what they keep."""
    folder = _named(draft, rng, "steps").rsplit("/", 1)[0]
    names = ["steps", "removed", "forced", "removed_ends", "forced_ends"]
    for array in names + (["kept"] if rng.random() < 0.5 else []):
        full = f"{folder}/{array}.npy"
        draft.arrays[full] = draft.arrays[full][:0]
    draft.arrays[f"{folder}/steps_ends.npy"][:] = 0
    if len(draft.arrays[f"{folder}/kept.npy"]) == 0:
        draft.arrays[f"{folder}/kept_ends.npy"][:] = 0
    return draft


def _drop_part(draft: Draft, name: str, at: int) -> None:
    values, ends = draft.arrays[f"{name}.npy"], draft.arrays[f"{name}_ends.npy"]
    start, stop = int(ends[at - 1]) if at else 0, int(ends[at])
    draft.arrays[f"{name}.npy"] = np.delete(values, np.arange(start, stop))
    ends[at:] -= stop - start
    draft.arrays[f"{name}_ends.npy"] = np.delete(ends, at)


def _shift(rng: Random) -> float:
    return float(rng.choice([-1.0, 1.0])) * 10.0 ** float(rng.uniform(-15, 0))


# The problem


def swap_stages(draft: Draft, rng: Random) -> Draft:
    """Two stages in each other's place: claims, arguments, components, or all of these."""
    count = len(draft.manifest["stages"])
    i, j = (int(v) for v in rng.integers(count, size=2))
    stages, components = draft.manifest["stages"], draft.arrays["components.npy"]
    if rng.random() < 0.7:
        stages[i], stages[j] = stages[j], stages[i]
    if rng.random() < 0.7:
        components[[i, j]] = components[[j, i]]
    if rng.random() < 0.7:
        for name in [n for n in draft.arrays if n.startswith(f"stage-{i}/")]:
            other = name.replace(f"stage-{i}/", f"stage-{j}/")
            if other in draft.arrays:
                draft.arrays[name], draft.arrays[other] = draft.arrays[other], draft.arrays[name]
    return draft


def change_component(draft: Draft, rng: Random) -> Draft:
    """A component that is turned a little, and perhaps still feasible."""
    components = draft.arrays["components.npy"]
    k = int(rng.integers(len(components)))
    x = components[k]
    way = int(rng.integers(5))
    at = np.flatnonzero(x) if rng.random() < 0.6 else np.arange(len(x))
    if way == 0:
        x *= -1
    elif way == 1:
        x[at] += 10.0 ** float(rng.uniform(-17, 0)) * rng.standard_normal(len(at))
    elif way == 2:
        x *= 1 + _shift(rng)
    elif way == 3:
        x[:] = x[rng.permutation(len(x))]
    else:
        x[:] = np.eye(len(x))[int(rng.integers(len(x)))]
    if rng.random() < 0.6 and x.any():
        x /= np.sqrt(x @ x)
    if rng.random() < 0.4 and draft.manifest["problem"]["kind"] == "matrix":
        Q = draft.arrays["matrix.npy"]
        if np.isfinite(x).all():
            draft.manifest["stages"][k]["variance"] = stated(Q, x)
    return draft


def other_matrix(draft: Draft, rng: Random) -> Draft:
    """Another matrix, with its own fingerprint or with that of the first."""
    kind = draft.manifest["problem"]["kind"]
    Q = draft.arrays[f"{kind}.npy"]
    i, j = _place(Q, rng)
    Q[i, j] = other_float(float(Q[i, j]), rng)
    if kind == "matrix" and rng.random() < 0.8:
        Q[j, i] = Q[i, j]
    if rng.random() < 0.8:
        draft.manifest["problem"]["sha256"] = fingerprint(Q)
    return draft


def other_sparsity(draft: Draft, rng: Random) -> Draft:
    """Another number of features allowed."""
    limits = draft.limits
    limits[int(rng.integers(len(limits)))] += int(rng.choice([-2, -1, 1, 2, 100]))
    return draft


def more_or_less_stages(draft: Draft, rng: Random) -> Draft:
    """Stages or sparsities that are dropped, or added."""
    way = int(rng.integers(4))
    if way == 0:
        draft.manifest["stages"].pop()
    elif way == 1:
        draft.limits.pop()
    elif way == 2:
        draft.limits.append(1)
        draft.manifest["exhausted"] = bool(rng.random() < 0.7)
    else:
        draft.manifest["stages"].pop()
        draft.arrays["components.npy"] = draft.arrays["components.npy"][:-1]
        draft.manifest["exhausted"] = bool(rng.random() < 0.5)
    return draft


def flip_exhausted(draft: Draft, rng: Random) -> Draft:
    """The claim that there are no more, or that there may be more."""
    draft.manifest["exhausted"] = not draft.manifest["exhausted"]
    return draft


def change_manifest(draft: Draft, rng: Random) -> Draft:
    """Any entry of the manifest: another number, or something else altogether."""
    places = list(strings_of(draft.manifest))
    path = places[int(rng.integers(len(places)))]
    holder = draft.manifest
    for key in path[:-1]:
        holder = holder[key]
    value = holder[path[-1]]
    if type(value) in (int, float) and rng.random() < 0.5:
        holder[path[-1]] = other_float(float(value), rng)
    elif rng.random() < 0.2:
        del holder[path[-1]]
    else:
        holder[path[-1]] = ODD_ENTRIES[int(rng.integers(len(ODD_ENTRIES)))]
    return draft


def change_twice(draft: Draft, rng: Random) -> Draft:
    """Two or three changes at once."""
    for _ in range(int(rng.integers(2, 4))):
        names = list(ARGUMENTS)
        draft = ARGUMENTS[names[int(rng.integers(len(names)))]](draft, rng)
    return draft


ARRAYS: dict[str, Corruption] = {
    how.__name__: how
    for how in (
        change_float,
        change_integer,
        drop_entry,
        repeat_entry,
        swap_entries,
        drop_array,
        swap_arrays,
        copy_array,
        reshape,
        other_type,
        structured,
        empty_array,
    )
}
ARGUMENTS: dict[str, Corruption] = {
    how.__name__: how
    for how in (
        move_level,
        move_bound,
        lower_everything,
        lower_claim,
        raise_variance,
        change_kind,
        change_part,
        change_branch,
        drop_step,
        drop_rung,
        drop_tree,
    )
}
PROBLEMS: dict[str, Corruption] = {
    how.__name__: how
    for how in (
        swap_stages,
        change_component,
        other_matrix,
        other_sparsity,
        more_or_less_stages,
        flip_exhausted,
        change_manifest,
    )
}
#: All of them, of what a certificate says.
CORRUPTIONS: dict[str, Corruption] = {
    **ARRAYS,
    **ARGUMENTS,
    **PROBLEMS,
    "change_twice": change_twice,
}


# Files


def truncate(data: bytes, rng: Random) -> bytes:
    """A file that ends too early."""
    return data[: int(rng.integers(len(data)))]


def cut_out(data: bytes, rng: Random) -> bytes:
    """A file that lacks some bytes in the middle."""
    start = int(rng.integers(len(data)))
    return data[:start] + data[start + int(rng.integers(1, 100)) :]


def flip_bytes(data: bytes, rng: Random) -> bytes:
    """A few bytes that are others."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        changed[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
    return bytes(changed)


def flip_directory(data: bytes, rng: Random) -> bytes:
    """A byte of the directory at the end of the zip."""
    changed = bytearray(data)
    start = data.find(b"PK\x01\x02")
    changed[int(rng.integers(start, len(data)))] ^= int(rng.integers(1, 256))
    return bytes(changed)


def padded(data: bytes, rng: Random) -> bytes:
    """Bytes before, or after."""
    junk = rng.bytes(int(rng.integers(1, 50)))
    return junk + data if rng.random() < 0.5 else data + junk


def repacked(data: bytes, rng: Random) -> bytes:
    """The same members packed in another way."""
    ways = (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED)
    return zipped(members_of(data), ways[int(rng.integers(4))])


def lying_sizes(data: bytes, rng: Random) -> bytes:
    """A size in the directory, of what is packed or unpacked, that is another."""
    at = [i for i in range(len(data)) if data[i : i + 4] == b"PK\x01\x02"]
    start = at[int(rng.integers(len(at)))] + int(rng.choice([20, 24]))
    size = int(rng.choice([0, 1, 100, 2**20, 2**31 - 1, 2**32 - 1]))
    return data[:start] + struct.pack("<I", size) + data[start + 4 :]


def other_members(data: bytes, rng: Random) -> bytes:
    """Members that are gone, or that have no place in a certificate."""
    members = members_of(data)
    way = int(rng.integers(3))
    names = list(members)
    name = names[int(rng.integers(len(names)))]
    if way == 0:
        del members[name]
    elif way == 1:
        members[str(rng.choice(["../x", "/etc/x", "stage-0/../x.npy", "é.npy"]))] = members[name]
    else:
        members[name] = members[names[int(rng.integers(len(names)))]]
    return zipped(members)


def repeated_member(data: bytes, rng: Random) -> bytes:
    """A member twice."""
    members = members_of(data)
    name = list(members)[int(rng.integers(len(members)))]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for key, content in members.items():
            archive.writestr(key if key != name else f"{'x' * len(name)}", content)
        archive.writestr(name, members[name])
    return buffer.getvalue().replace(("x" * len(name)).encode(), name.encode())


def other_text(data: bytes, rng: Random) -> bytes:
    """A manifest that is no JSON, or not what is meant by it."""
    members = members_of(data)
    text = members["manifest.json"]
    odd = (
        b"",
        b"[]",
        b"null",
        b"\xff" + text,
        b"\xef\xbb\xbf" + text,
        text.decode().encode("utf-16"),
        text[:-1],
        text + b"}",
        b"[" * 100_000,
        b"[" * 5000 + b"]" * 5000,
        b'{"format": ' * 3000,
        b"1" * 10_000,
        text.replace(b'"version": 7', b'"version": ' + b"1" * 5000),
        text.replace(b'"version": 7', b'"version": 3'),
        text.replace(b'"version": 7', b'"version": 7.0'),
        text.replace(b'"version": 7', b'"version": 7, "version": 7'),
        text.replace(b'"format"', b'"form"'),
        json.dumps([json.loads(text)]).encode(),
    )
    members["manifest.json"] = odd[int(rng.integers(len(odd)))]
    return zipped(members)


def other_header(data: bytes, rng: Random) -> bytes:
    """An array whose header is of another version, or does not fit."""
    members = members_of(data)
    names = [name for name in members if name.endswith(".npy")]
    name = names[int(rng.integers(len(names)))]
    array = np.load(io.BytesIO(members[name]))
    shapes = ((2**40,), (2**62, 2), (-1,), (-1, -1), (2**62, 4, 0), (0,), (), (True,), (2**70,))
    way = int(rng.integers(6))
    if way == 0:
        members[name] = npy(array, (2, 0))
    elif way == 1:
        members[name] = npy(array, (3, 0))
    elif way == 2:
        members[name] = npy(np.asfortranarray(array))
    elif way == 3:
        members[name] = members[name] + b"\0" * 8
    elif way == 4:
        shape = shapes[int(rng.integers(len(shapes)))]
        members[name] = with_header(members[name], array.dtype.str, shape)
    else:
        odd = ("|O", "<U8", ">f8", "|V8", "<c16", [("a", "<f8")], "<f8,<f8", "nonsense", "<M8[s]")
        descr = odd[int(rng.integers(len(odd)))]
        members[name] = with_header(members[name], descr, array.shape)
    return zipped(members)


def with_header(data: bytes, descr: Any, shape: tuple[int, ...]) -> bytes:
    """The numbers of an array under another header."""
    buffer = io.BytesIO(data)
    np.lib.format.read_magic(buffer)
    np.lib.format.read_array_header_1_0(buffer)
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data[buffer.tell() :]


def members_of(data: bytes) -> dict[str, bytes]:
    """The members of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


#: All of them, of what a file is.
DAMAGES: dict[str, Damage] = {
    how.__name__: how
    for how in (
        truncate,
        cut_out,
        flip_bytes,
        flip_directory,
        padded,
        repacked,
        lying_sizes,
        other_members,
        repeated_member,
        other_text,
        other_header,
    )
}
