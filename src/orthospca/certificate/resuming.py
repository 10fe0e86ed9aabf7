"""Going on from a saved certificate: what is finished in it is not done again."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.steps import Tree
from orthospca.bounds.share.claim import Multipliers
from orthospca.certificate.files import Certificate
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.result import Component, Status
from orthospca.model.tolerance import Tolerance
from orthospca.numerics.exact import factor_variance_down, inner_product, variance_down
from orthospca.search.outcome import Argument, Ground, Part, Rung
from orthospca.search.stages import images_of
from orthospca.supports.best import Candidate
from orthospca.verify import ACCURACY, DEMANDS, Rejected, Unreadable
from orthospca.verify_ladder import ORTHOGONALITY, Lists


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
    path: Path,
    matrix: Array,
    of_this_problem: Certificate,
    tolerance: Tolerance,
    demands: Demands = NO_DEMANDS,
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
    demands : Demands
    """
    saved = opened(path, matrix, of_this_problem)
    if saved is None or not saved.manifest.get("stages"):
        # It was stopped before anything was found.
        return Saved()
    components: list[Component] = []
    ladders: list[tuple[Rung, ...]] = []
    kind, vectors = of_this_problem.manifest["problem"]["kind"], saved.arrays["components.npy"]
    for k, stage in enumerate(saved.manifest["stages"]):
        vector = np.array(vectors[k])
        vector.flags.writeable = False
        value = _variance(matrix, kind, vector)
        upper = max(float(stage["upper_bound"]), value)
        try:
            ladders.append(_Ladder(saved, k, matrix, demands).rungs())
        except (LookupError, TypeError, ValueError, Rejected) as error:
            raise InputError(f"resume: {str(path)!r} is damaged (stage {k + 1}: {error})") from None
        if not tolerance.met(value, upper):
            return Saved(tuple(components), tuple(ladders), Candidate(value, vector))
        components.append(Component(vector, value, upper, Status.OPTIMAL))
    return Saved(tuple(components), tuple(ladders))


def opened(path: Path, matrix: Array, of_this_problem: Certificate) -> Certificate | None:
    """Read a certificate of a problem, and verify it; None if there is no file.

    Parameters
    ----------
    path, matrix, of_this_problem
        As in :func:`read_saved`.
    """
    if not path.absolute().parent.is_dir():
        raise InputError(f"resume: there is no folder {str(path.absolute().parent)!r}")
    if not path.exists():
        return None
    try:
        saved = Certificate.load(path, max_bytes=None)
    except Unreadable as error:
        raise InputError(f"resume: {error}") from None
    if saved.claim != of_this_problem.claim:
        what = "a set as a whole" if saved.claim == "joint" else saved.claim
        raise InputError(f"resume: {str(path)!r} is a certificate of {what}")
    asked, found = of_this_problem.manifest["problem"], saved.manifest.get("problem", {})
    for name in ("kind", "features", "sha256", "sparsity", *DEMANDS):
        same = found.get(name) == asked.get(name)
        if same and name == "previous" and name in asked:
            vectors = saved.arrays.get("previous.npy", matrix[:0])
            same = np.array_equal(vectors, of_this_problem.arrays["previous.npy"])
        if not same:
            raise InputError(f"resume: {str(path)!r} is for another problem (its {name} differs)")
    given = {"Q" if asked["kind"] == "matrix" else "factor": matrix}
    if "joint" in saved.manifest or saved.manifest.get("stages"):
        verdict = saved.verify(**given, time_limit=None)
        if not verdict.verified:
            raise InputError(f"resume: {str(path)!r} cannot be verified ({verdict.reason})")
    return saved


def _variance(matrix: Array, kind: str, vector: Array) -> float:
    """What a vector has, rounded down, whatever is said of it."""
    if kind == "matrix":
        return variance_down(matrix, vector)
    support = np.flatnonzero(vector)
    return factor_variance_down(matrix[:, support], vector[support])


class _Ladder:
    """The rungs of a stage, as they were written."""

    def __init__(self, saved: Certificate, k: int, matrix: Array, demands: Demands) -> None:
        folder, arrays = f"stage-{k}/", saved.arrays
        self._folder, self._held = folder, arrays
        self.arrays = _folder(arrays, folder)
        self.matrix, self.kind = matrix, saved.manifest["problem"]["kind"]
        given = demands.before(matrix.shape[1]).T
        self.previous = np.concatenate([given, arrays["components.npy"][:k]])
        self.demand = demands.stage(k, self.previous.T)
        if demands.uncorrelated:
            self.previous = images_of(matrix, self.previous.T).T
        self.first = max(len(self.demand.included), 1)

    def rungs(self) -> tuple[Rung, ...]:
        """Return them all; what a checker does not look at is checked here."""
        arrays = self.arrays
        if "kinds" not in arrays:
            return ()
        kept = self._lists("kept", len(arrays["kinds"]))
        names = ("steps", "removed", "removed_ends", "forced", "forced_ends")
        branches, removed, removed_ends, forced, forced_ends = (
            arrays[name].astype(np.intp) for name in names
        )
        steps = Tree(branches, removed, removed_ends, forced, forced_ends, *self._multipliers())
        ends = [0, *arrays["steps_ends"].tolist()]
        rungs = []
        for i, (kind, best) in enumerate(zip(arrays["kinds"].tolist(), self._best(), strict=True)):
            level, upper = float(arrays["levels"][i]), float(arrays["bounds"][i])
            argument = Argument(Ground(kind), level, kept[i], Tree.of(steps[ends[i] : ends[i + 1]]))
            rungs.append(Rung(self.first + i, best, upper, argument=argument))
        if "parts" in arrays:
            rungs[-1] = replace(rungs[-1], parts=tuple(self._parts()))
        return tuple(rungs)

    def _parts(self) -> Iterator[Part]:
        """The parts of a stage, as they were written."""
        cuts = self.arrays["parts"].reshape(-1, 2).astype(int).tolist()
        lists = self._lists("faces", len(self.arrays["faces_ends"]))
        weights = np.split(self.arrays["weights"], self.arrays["faces_ends"][:-1])
        faces = dict(zip((tuple(face.tolist()) for face in lists), weights, strict=False))
        for number, (i, j) in enumerate(cuts):
            part = copy.copy(self)
            part._folder = f"{self._folder}part-{number}/"
            part.arrays = _folder(self._held, part._folder)
            yield Part((int(i), int(j)), part.rungs(), faces if number == 0 else {})

    def _multipliers(self) -> tuple[IntArray, tuple[Multipliers, ...]]:
        """Which multipliers each step rests on, and these; none if no step does."""
        arrays = self.arrays
        if "claims" not in arrays:
            return np.full(len(arrays["steps"]), -1), ()
        found = []
        pairs, prices = 0, 0
        for features, unit in zip(
            self._lists("shared", len(arrays["units"])), arrays["units"].tolist(), strict=True
        ):
            m = len(features)
            N, ratios = np.zeros((m, m)), np.ones((m, m))
            at, end = np.tril_indices(m, -1), pairs + m * (m - 1) // 2
            N[at], ratios[at] = arrays["pairs"][pairs:end], arrays["ratios"][pairs:end]
            c = arrays["prices"][prices : prices + m]
            found.append(Multipliers.of(features, N, ratios, c, unit))
            pairs, prices = end, prices + m
        return arrays["claims"].astype(np.intp), tuple(found)

    def _best(self) -> Iterator[Candidate | None]:
        """The vectors that were found for each sparsity."""
        if "values" not in self.arrays:
            yield from [None] * len(self.arrays["kinds"])
            return
        n, count = self.matrix.shape[1], len(self.arrays["kinds"])
        supports = self._lists("found", count)
        loadings = _numbers(self.arrays["loadings"], sum(map(len, supports)))
        values = _numbers(self.arrays["values"], count)
        at = 0
        for i, support in enumerate(supports):
            if len(support) == 0:
                yield None
                continue
            vector = np.zeros(n)
            vector[support] = loadings[at : at + len(support)]
            at += len(support)
            size = self.first + i
            allowed = self.demand.allows(vector, size)
            if not (allowed and self._is_feasible(vector[support], support, size)):
                raise ValueError(f"the vector of rung {size} is not what it says")
            vector.flags.writeable = False
            value = _variance(self.matrix, self.kind, vector)
            if values[i] > value + ACCURACY * abs(value):
                raise ValueError(f"the vector of rung {size} has not the variance stated")
            yield Candidate(value, vector)

    def _is_feasible(self, loading: Array, support: IntArray, size: int) -> bool:
        """Whether a vector is sparse, of unit length and orthogonal to the components before."""
        products = [abs(inner_product(loading, x[support])) for x in self.previous]
        return bool(
            len(support) <= size
            and loading.all()
            and abs(inner_product(loading, loading) - 1) <= ORTHOGONALITY
            and max(products, default=0) <= ORTHOGONALITY
        )

    def _lists(self, name: str, count: int) -> list[IntArray]:
        """Lists of features that were written end to end, each in ascending order."""
        lists = Lists(self._held, f"{self._folder}{name}", self.matrix.shape[1], count)
        return [lists[i].astype(np.intp) for i in range(count)]


def _folder(arrays: Mapping[str, Array], folder: str) -> dict[str, Array]:
    """Arrays of a folder, and of those in it, by their names there."""
    return {
        name.removeprefix(folder).removesuffix(".npy"): array
        for name, array in arrays.items()
        if name.startswith(folder)
    }


def _numbers(array: Array, count: int) -> Array:
    """So many numbers that are finite."""
    if array.dtype != np.float64 or array.shape != (count,) or not np.isfinite(array).all():
        raise ValueError(f"{count} numbers are expected")
    return array
