"""Going on from a saved certificate: what is finished in it is not done again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.walk import Step
from orthospca.certificate.files import Certificate
from orthospca.model.result import Component, Status
from orthospca.model.tolerance import Tolerance
from orthospca.search.outcome import Argument, Ground, Rung
from orthospca.verify import Unreadable


def finished_stages(
    path: Path, matrix: Array, of_this_problem: Certificate, tolerance: Tolerance
) -> tuple[list[Component], list[tuple[Rung, ...]]]:
    """Read a certificate, verify it, and return the stages that are within the tolerance.

    Parameters
    ----------
    path : Path
        If there is no such file, nothing is finished.
    matrix : array
        Q, or B of ``Q = BᵀB``.
    of_this_problem : Certificate
        One without any stage.
    tolerance : Tolerance
    """
    if not path.exists():
        return [], []
    try:
        saved = Certificate.load(path)
    except Unreadable as error:
        raise InputError(f"resume: {error}") from None
    asked, found = of_this_problem.manifest["problem"], saved.manifest.get("problem", {})
    for name in ("kind", "features", "sha256", "sparsity"):
        if found.get(name) != asked[name]:
            raise InputError(f"resume: {str(path)!r} is of another problem (its {name} differs)")
    verdict = saved.verify(matrix)
    if not verdict.verified:
        raise InputError(f"resume: {str(path)!r} is not verified ({verdict.reason})")
    components: list[Component] = []
    ladders: list[tuple[Rung, ...]] = []
    for k, stage in enumerate(saved.manifest["stages"]):
        value, upper = float(stage["variance"]), float(stage["upper_bound"])
        if not tolerance.met(value, upper):
            break
        vector = np.array(saved.arrays["components.npy"][k])
        vector.flags.writeable = False
        components.append(Component(vector, value, upper, Status.OPTIMAL))
        ladders.append(_ladder(saved.arrays, k))
    return components, ladders


def _ladder(arrays: dict[str, Array], k: int) -> tuple[Rung, ...]:
    """The rungs of a stage, as they were written."""
    folder = f"stage-{k}"
    if f"{folder}/kinds.npy" not in arrays:
        return ()
    kept = _split(arrays, f"{folder}/kept", arrays[f"{folder}/kept.npy"])
    removed = _split(arrays, f"{folder}/removed", arrays[f"{folder}/removed.npy"])
    forced = _split(arrays, f"{folder}/forced", arrays[f"{folder}/forced.npy"])
    branches = arrays[f"{folder}/steps.npy"].tolist()
    steps = [Step(r, b, f) for r, b, f in zip(removed, branches, forced, strict=True)]
    ends = [0, *arrays[f"{folder}/steps_ends.npy"].tolist()]
    rungs = []
    for i, kind in enumerate(arrays[f"{folder}/kinds.npy"].tolist()):
        level = float(arrays[f"{folder}/levels.npy"][i])
        argument = Argument(Ground(kind), level, kept[i], tuple(steps[ends[i] : ends[i + 1]]))
        upper = float(arrays[f"{folder}/bounds.npy"][i])
        rungs.append(Rung(i + 1, None, upper, argument=argument))
    return tuple(rungs)


def _split(arrays: dict[str, Array], name: str, values: Array) -> list[IntArray]:
    ends = arrays[f"{name}_ends.npy"]
    parts = np.split(values.astype(np.intp), ends[:-1].astype(np.intp)) if len(ends) else []
    return list(parts)
