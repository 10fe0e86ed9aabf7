"""Going on from a saved certificate: what is finished in it is not done again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.steps import Tree
from orthospca.certificate.files import Certificate
from orthospca.model.result import Component, Status
from orthospca.model.tolerance import Tolerance
from orthospca.search.outcome import Argument, Ground, Rung
from orthospca.supports.best import Candidate
from orthospca.verify import ACCURACY, ORTHOGONALITY, Unreadable


@dataclass(frozen=True, eq=False)
class Saved:
    """What a saved certificate has to say.

    Attributes
    ----------
    finished : tuple of Component
        Of the stages that are within the tolerance, up to the first that is not.
    ladders : tuple of tuples of Rung
        Theirs, and that of the stage that is not.
    hint : Candidate or None
        What was found in that stage.
    """

    finished: tuple[Component, ...] = ()
    ladders: tuple[tuple[Rung, ...], ...] = ()
    hint: Candidate | None = None


def read_saved(
    path: Path, matrix: Array, of_this_problem: Certificate, tolerance: Tolerance
) -> Saved:
    """Read a certificate, verify it, and return what need not be done again.

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
        return Saved()
    try:
        saved = Certificate.load(path, max_bytes=None)
    except Unreadable as error:
        raise InputError(f"resume: {error}") from None
    if saved.claim != of_this_problem.claim:
        what = "a set as a whole" if saved.claim == "joint" else saved.claim
        raise InputError(f"resume: {str(path)!r} is a certificate of {what}")
    asked, found = of_this_problem.manifest["problem"], saved.manifest.get("problem", {})
    for name in ("kind", "features", "sha256", "sparsity"):
        if found.get(name) != asked[name]:
            raise InputError(f"resume: {str(path)!r} is of another problem (its {name} differs)")
    if not saved.manifest.get("stages"):
        # It was stopped before anything was found.
        return Saved()
    given = {"Q" if asked["kind"] == "matrix" else "factor": matrix}
    verdict = saved.verify(**given, time_limit=None)
    if not verdict.verified:
        raise InputError(f"resume: {str(path)!r} is not verified ({verdict.reason})")
    components: list[Component] = []
    ladders: list[tuple[Rung, ...]] = []
    vectors = saved.arrays["components.npy"]
    for k, stage in enumerate(saved.manifest["stages"]):
        value, upper = float(stage["variance"]), float(stage["upper_bound"])
        vector = np.array(vectors[k])
        vector.flags.writeable = False
        try:
            ladders.append(_Ladder(saved.arrays, k, matrix, asked["kind"]).rungs())
        except (LookupError, ValueError) as error:
            raise InputError(f"resume: {str(path)!r} is damaged (stage {k + 1}: {error})") from None
        if not tolerance.met(value, upper):
            return Saved(tuple(components), tuple(ladders), Candidate(value, vector))
        components.append(Component(vector, value, upper, Status.OPTIMAL))
    return Saved(tuple(components), tuple(ladders))


class _Ladder:
    """The rungs of a stage, as they were written."""

    def __init__(self, arrays: dict[str, Array], k: int, matrix: Array, kind: str) -> None:
        folder = f"stage-{k}/"
        self.arrays = {
            name.removeprefix(folder).removesuffix(".npy"): array
            for name, array in arrays.items()
            if name.startswith(folder)
        }
        self.matrix, self.kind = matrix, kind
        self.previous = arrays["components.npy"][:k]

    def rungs(self) -> tuple[Rung, ...]:
        """Return them all; what a checker does not look at is checked here."""
        arrays = self.arrays
        if "kinds" not in arrays:
            return ()
        kept = self._lists("kept")
        names = ("steps", "removed", "removed_ends", "forced", "forced_ends")
        steps = Tree(*(arrays[name].astype(np.intp) for name in names))
        ends = [0, *arrays["steps_ends"].tolist()]
        rungs = []
        for i, (kind, best) in enumerate(zip(arrays["kinds"].tolist(), self._best(), strict=True)):
            level, upper = float(arrays["levels"][i]), float(arrays["bounds"][i])
            argument = Argument(Ground(kind), level, kept[i], Tree.of(steps[ends[i] : ends[i + 1]]))
            rungs.append(Rung(i + 1, best, upper, argument=argument))
        return tuple(rungs)

    def _best(self) -> Iterator[Candidate | None]:
        """The vectors that were found for each sparsity."""
        if "values" not in self.arrays:
            yield from [None] * len(self.arrays["kinds"])
            return
        loadings, at = self.arrays["loadings"], 0
        for i, support in enumerate(self._lists("found")):
            if len(support) == 0:
                yield None
                continue
            vector = np.zeros(self.matrix.shape[1])
            vector[support] = loadings[at : at + len(support)]
            at += len(support)
            value = float(self.arrays["values"][i])
            if not self._is_right(value, vector, support, i + 1):
                raise ValueError(f"the vector of rung {i + 1} is not what it says")
            vector.flags.writeable = False
            yield Candidate(value, vector)

    def _is_right(self, value: float, vector: Array, support: IntArray, size: int) -> bool:
        """Whether a vector is feasible and has its value."""
        products = np.abs(self.previous @ vector)
        part = self.matrix[:, support]
        part = part[support] if self.kind == "matrix" else part.T @ part
        x, scale = vector[support], float(np.abs(part).max())
        return bool(
            len(support) <= size
            and abs(float(x @ x) - 1) <= ORTHOGONALITY
            and products.max(initial=0.0) <= ORTHOGONALITY
            and abs(float(x @ part @ x) - value) <= ACCURACY * scale
        )

    def _lists(self, name: str) -> list[IntArray]:
        """Lists that were written end to end."""
        values, ends = self.arrays[name].astype(np.intp), self.arrays[f"{name}_ends"]
        return list(np.split(values, ends[:-1].astype(np.intp))) if len(ends) else []
