"""Forged branching: parts of non-negative stages, and nodes of sets, that prove what is false."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.certificates import Draft, Rung, forge
from helpers.joint import by_hand
from helpers.questions import asked

SINGLE, SUMS = 0, 3
#: The best vector is (1, 1), with 3; single features have 2.
Q = np.array([[2.0, 1.0], [1.0, 2.0]])
#: A bound that it exceeds.
LOW = 2.5


def _parts(cuts: Any, faces: dict[tuple[int, ...], Any], upper: float = LOW) -> Draft:
    """A stage in parts, of which single features have ladders."""
    ladder = [Rung(SUMS, 9.0)] * 2
    draft = asked(forge(Q, [2], np.eye(2)[:1], [(2.0, upper)], [ladder]), nonnegative=True)
    single = forge(Q, [1], np.eye(2)[:1], [(2.0, 2.2)], [[Rung(SINGLE, 2.2)]]).arrays
    for number in (2, 3):
        for name, array in single.items():
            if name.startswith("stage-0/"):
                draft.arrays[f"stage-0/part-{number}/{name.removeprefix('stage-0/')}"] = array
    draft.arrays |= {
        "stage-0/parts.npy": np.array(cuts, dtype=np.int32).ravel(),
        "stage-0/faces.npy": np.array([j for face in faces for j in face], dtype=np.int32),
        "stage-0/faces_ends.npy": np.cumsum([len(face) for face in faces]).astype(np.int64),
        "stage-0/weights.npy": np.array([v for y in faces.values() for v in y], dtype=float),
    }
    return draft


def forged_parts() -> Iterator[tuple[str, Draft]]:
    """Parts that do not prove the bound, for one reason each."""
    whole = [(0, 1), (-1, -1), (-1, -1), (-1, -1)]
    for name, y in (("missing", None), ("zero", [0, 0]), ("negative", [-1, -1]), ("low", [1, 1])):
        yield f"parts, weights {name}", _parts(whole, {} if y is None else {(0, 1): y})
    yield "parts too few", _parts([(0, 1)], {})
    yield "parts too many", _parts([(-1, -1), (-1, -1)], {}, 9.0)
    yield "parts of one part", _parts([(-1, -1)], {})


def _tree(steps: Any, matrices: Any, upper: float = LOW, **problem: Any) -> Draft:
    draft = by_hand(Q, [2], np.eye(2)[:1], [], [], [], upper)
    for name in ("joint/at.npy", "joint/block.npy"):
        del draft.arrays[name]
    draft.manifest["problem"] |= problem
    draft.arrays |= {
        "joint/steps.npy": np.array(steps, dtype=np.int32).ravel(),
        "joint/matrices.npy": np.array([A[np.tril_indices(2)] for A in matrices]),
    }
    return draft


def forged_trees() -> Iterator[tuple[str, Draft]]:
    """Trees over patterns that do not prove the bound, for one reason each."""
    below, beside = Q - 0.01 * np.eye(2), np.diag([2.0, 2.0])
    end = (-1, -1, 0)
    yield "tree that is open", _tree([end], [below])
    yield "tree with a matrix that is not below", _tree([end], [beside])
    yield "tree that ends too early", _tree([(0, 0, 0), end], [below])
    yield "tree that goes on", _tree([end, end], [below], 9.0)
    yield "tree that is not begun", _tree(np.zeros((0, 3)), [below])
    good = [(0, 0, -1), end, end]
    for name, more in (
        ("nonnegative", {"nonnegative": True}),
        ("uncorrelated", {"relation": "uncorrelated"}),
    ):
        yield f"tree of a set that is {name}", _tree(good, [below], 9.0, **more)
    draft = asked(_tree(good, [below], 9.0), vectors=np.eye(2)[1:])
    yield "tree of a set after vectors", draft
