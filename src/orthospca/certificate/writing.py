"""From what the stages have proved to the arrays of a certificate.

The format is described in ``docs/reference/certificate.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.steps import Tree
from orthospca.certificate.files import Certificate
from orthospca.search.outcome import Part, Rung, with_arguments
from orthospca.verify import FORMAT, VERSION, fingerprint

#: Bytes of a matrix up to which the certificate holds it.
LARGEST_HELD = 2**24


def assembled(
    matrix: Array,
    kind: str,
    sparsity: Sequence[int],
    said: dict[str, Any],
    arrays: dict[str, Array],
    ladders: Sequence[Sequence[Rung]],
    asked: dict[str, Any] | None = None,
    sha256: str = "",
) -> Certificate:
    """Return the certificate of a problem, of what is said of it and of the arguments.

    Parameters
    ----------
    matrix : array of shape (n, n), or (m, n)
        Q, or B of ``Q = BᵀB``.
    kind : {"matrix", "factor"}
    sparsity : sequence of int
        One for each component asked for.
    said : dict
        Entries of the manifest beside the problem; ``"claim"`` is components without one.
    arrays : dict of arrays
        What is claimed, without its arguments.
    ladders : sequence of sequences of Rung
        The arguments; of each the rungs up to the first without an argument are written.
    asked : dict, optional
        More of the problem: tolerances, and what is asked beyond the sparsity.
    sha256 : str
        Fingerprint of the matrix, if it is known.
    """
    held = {f"{kind}.npy": matrix} if matrix.nbytes <= LARGEST_HELD else {}
    written = {
        f"stage-{k}/{name}": array
        for k, ladder in enumerate(ladders)
        if (known := with_arguments(ladder))
        for name, array in written_rungs(known).items()
    }
    problem = {
        "kind": kind,
        "features": matrix.shape[1],
        "sha256": sha256 or fingerprint(matrix),
        "sparsity": [int(p) for p in sparsity],
        **(asked or {}),
    }
    manifest = {"format": FORMAT, "version": VERSION, "problem": problem, **said}
    return Certificate(manifest, {**arrays, **held, **written})


def written_rungs(rungs: Sequence[Rung]) -> dict[str, Array]:
    """Return the arrays of a ladder."""
    arguments = [rung.argument for rung in rungs if rung.argument is not None]
    steps = Tree.joined(argument.steps for argument in arguments)
    arrays: dict[str, Array] = {
        "kinds.npy": np.array([argument.ground for argument in arguments], dtype=np.int32),
        "bounds.npy": np.array([rung.upper for rung in rungs], dtype=float),
        "levels.npy": np.array([argument.level for argument in arguments], dtype=float),
        "steps.npy": steps.branches.astype(np.int32),
        "steps_ends.npy": np.cumsum([len(a.steps) for a in arguments]).astype(np.int64),
    }
    arrays["kept.npy"], arrays["kept_ends.npy"] = end_to_end([a.kept for a in arguments])
    for name in ("removed", "forced"):
        values, ends = getattr(steps, name), getattr(steps, f"{name}_ends")
        arrays[f"{name}.npy"] = _ascending(values, ends)
        arrays[f"{name}_ends.npy"] = ends.astype(np.int64)
    if steps.multipliers:
        arrays |= _written_multipliers(steps)
    if parts := rungs[-1].parts:
        arrays |= _written_parts(parts)
    # What was found for each sparsity: nothing is proved by it, and a resumed run has it back.
    vectors = [np.zeros(0) if rung.best is None else rung.best.vector for rung in rungs]
    supports = [np.flatnonzero(vector) for vector in vectors]
    arrays["found.npy"], arrays["found_ends.npy"] = end_to_end(supports)
    loadings = [vector[support] for vector, support in zip(vectors, supports, strict=True)]
    arrays["loadings.npy"] = np.concatenate([np.zeros(0), *loadings])
    arrays["values.npy"] = np.array([0.0 if r.best is None else r.best.value for r in rungs])
    return arrays


def _written_parts(parts: Sequence[Part]) -> dict[str, Array]:
    """Return the arrays of the parts of a stage."""
    faces = {face: weights for part in parts for face, weights in part.faces.items()}
    features, ends = end_to_end([np.array(face) for face in faces])
    arrays: dict[str, Any] = {
        "parts.npy": np.array([part.cut for part in parts], dtype=np.int32).ravel(),
        "faces.npy": features,
        "faces_ends.npy": ends,
        "weights.npy": np.concatenate([np.zeros(0), *faces.values()]),
    }
    for number, part in enumerate(parts):
        if known := with_arguments(part.rungs):
            ladder = written_rungs(known)
            arrays |= {f"part-{number}/{name}": array for name, array in ladder.items()}
    return arrays


def _written_multipliers(steps: Tree) -> dict[str, Any]:
    """Return the arrays of multipliers, and which step rests on which."""
    parts = steps.multipliers
    shared, ends = end_to_end([one.features for one in parts])
    lower = [np.tril_indices(len(one.features), -1) for one in parts]
    pairs = [one.N[at] for one, at in zip(parts, lower, strict=True)]
    ratios = [one.ratios[at] for one, at in zip(parts, lower, strict=True)]
    return {
        "claims.npy": steps.claims.astype(np.int32),
        "shared.npy": shared,
        "shared_ends.npy": ends,
        "pairs.npy": np.concatenate(pairs).astype(np.float32),
        "ratios.npy": np.concatenate(ratios).astype(np.float32),
        "prices.npy": np.concatenate([one.c for one in parts]).astype(np.float32),
        "units.npy": np.array([one.unit for one in parts]),
    }


def _ascending(values: IntArray, ends: IntArray) -> Any:
    """Lists of features that are end to end already, each in ascending order."""
    owners = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    return values[np.lexsort((values, owners))].astype(np.int32)


def end_to_end(parts: Sequence[IntArray]) -> tuple[Any, Any]:
    """Return lists of features in one, and where each of them ends."""
    ends = np.cumsum([len(part) for part in parts]).astype(np.int64)
    values = np.concatenate([np.arange(0), *(np.sort(part) for part in parts)])
    return values.astype(np.int32), ends
