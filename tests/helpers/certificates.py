"""Certificates to be attacked, and the truth about what they claim, in exact arithmetic."""

from __future__ import annotations

import copy
import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from helpers.exact import ExactMatrix, nearly_orthogonal_support, support_above
from helpers.problems import DATA, MATRICES
from helpers.wide import tuned
from orthospca import DataCovariance
from orthospca.facade import solve_with
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT, Tuning
from orthospca.verify import ACCURACY, VERSION, Verdict, fingerprint
from orthospca.verify_ladder import ORTHOGONALITY


@dataclass(eq=False)
class Draft:
    """A certificate that may be changed.

    Attributes
    ----------
    manifest : dict
    arrays : dict of arrays
    """

    manifest: Any
    arrays: dict[str, Any]

    def copy(self) -> Draft:
        """One that can be changed without changing this one."""
        arrays = {name: np.array(array, order="C") for name, array in self.arrays.items()}
        return Draft(copy.deepcopy(self.manifest), arrays)

    @property
    def limits(self) -> list[int]:
        """The sparsities."""
        found: list[int] = self.manifest["problem"]["sparsity"]
        return found

    def to_bytes(self) -> bytes:
        """The content of a file; anything goes."""
        members = {"manifest.json": json.dumps(self.manifest).encode()}
        members |= {name: npy(array) for name, array in self.arrays.items()}
        return zipped(members)


def npy(array: Any, version: tuple[int, int] | None = None) -> bytes:
    """An array as a file, of whatever kind it is."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), version=version)
    return buffer.getvalue()


def zipped(members: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


# The truth


def falsehood(draft: Any, verdict: Verdict, Q: Any = None) -> str:
    """What a verdict takes for proved although it is not true; empty if there is no such thing.

    Whatever was verified is looked at, and of a certificate that was rejected the bounds that the
    verdict lists all the same.  Nothing here is taken from the checker but its tolerances.
    """
    if not verdict.verified and not verdict.upper_bounds:
        return ""
    manifest, arrays = draft.manifest, draft.arrays
    problem = manifest["problem"]
    limits = problem["sparsity"]
    given = arrays[f"{problem['kind']}.npy"] if Q is None else np.asarray(Q, dtype=float)
    if problem["kind"] == "matrix" and not (given == given.T).all():
        return "the matrix is not symmetric"
    matrix = (ExactMatrix.of if problem["kind"] == "matrix" else ExactMatrix.gram)(given)
    components = np.asarray(arrays["components.npy"], dtype=float)
    stages = manifest["stages"] if verdict.verified else verdict.upper_bounds
    for k in range(len(stages)):
        wrong = wrong_component(matrix, components, k, limits[k], manifest["stages"][k])
        if wrong:
            return f"stage {k + 1}: {wrong}"
    for k, bound in enumerate(verdict.upper_bounds):
        if _is_exceeded(matrix, components[:k], limits[k], bound):
            return f"stage {k + 1}: {bound!r} is no bound"
    if verdict.verified:
        claimed = [float(stage["upper_bound"]) for stage in manifest["stages"]]
        if len(verdict.upper_bounds) != len(claimed):
            return "stages without a bound"
        if not all(a <= b for a, b in zip(verdict.upper_bounds, claimed, strict=True)):
            return "bounds below those proved"
        if manifest["exhausted"] and (
            len(stages) >= len(limits)
            or nearly_orthogonal_support(components, limits[len(stages)], 0.0) is not None
        ):
            return "not exhausted"
    return ""


def wrong_component(
    matrix: ExactMatrix, components: np.ndarray, k: int, p: int, stage: Mapping[str, Any]
) -> str:
    """What a component is not that it should be; empty if all is right."""
    x = [Fraction(float(v)) for v in components[k]]
    if not 0 < sum(v != 0 for v in x) <= p:
        return "too many nonzeros"
    if abs(sum(v * v for v in x) - 1) > Fraction(ORTHOGONALITY):
        return "not a unit vector"
    for j in range(k):
        inner = sum(v * Fraction(float(w)) for v, w in zip(x, components[j], strict=True))
        if abs(inner) > Fraction(ORTHOGONALITY):
            return "not orthogonal"
    rows = [sum(q * v for q, v in zip(row, x, strict=True)) for row in matrix.integers]
    form = sum(v * r for v, r in zip(x, rows, strict=True)) / 2**matrix.exponent
    size = max(abs(form), Fraction(float(np.abs(matrix.rounded).max())))
    unsaid = form / sum(v * v for v in x) - Fraction(float(stage["variance"]))
    if not 0 <= unsaid <= 2 * Fraction(ACCURACY) * size:
        return "another variance"
    return ""


def _is_exceeded(matrix: ExactMatrix, previous: np.ndarray, p: int, bound: float) -> bool:
    """Whether some feasible vector has more."""
    if bound == -math.inf:
        return len(previous) == 0 or nearly_orthogonal_support(previous, p, 0.0) is not None
    return support_above(matrix, previous, p, bound) is not None


def optimum(matrix: ExactMatrix, previous: np.ndarray, p: int) -> float:
    """The least double that bounds a stage; -inf if nothing is feasible."""
    if _is_exceeded(matrix, previous, p, -math.inf):
        low, high = -1.0, 1.0
        while not _is_exceeded(matrix, previous, p, low):
            low *= 4.0
        while _is_exceeded(matrix, previous, p, high):
            high *= 4.0
        while True:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                return high
            if _is_exceeded(matrix, previous, p, middle):
                low = middle
            else:
                high = middle
    return -math.inf


# Certificates to begin with


def draft_of(seed: int, kind: str | None = None, **options: Any) -> Draft:
    """What the solver writes of a small problem of any kind, with trees as branched as can be."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    p, count = int(rng.integers(1, min(n, 4) + 1)), int(rng.integers(1, min(n, 3) + 1))
    wide = bool(rng.random() < 0.4) if kind is None else kind == "factor"
    few = int(rng.choice([1, 1, 64]))
    walk = replace(DEFAULT.walk, enumerate_below=few, full_share=int(rng.choice([0, 4])))
    generators = DATA if wide else MATRICES
    name = list(generators)[int(rng.integers(len(generators)))]
    Q = generators[name](rng, n)
    tuning = replace(tuned(formed=0) if wide else DEFAULT, walk=walk)
    asked = {"gap": float(rng.choice([0.0, 1e-6, 1e-3])), "eps": 0.0} | options
    sparsity = [int(s) for s in rng.integers(1, p + 1, size=count)] if rng.random() < 0.3 else p
    settings = Settings.validate(tuning=tuning, proof=True, **asked)
    result = solve_with(DataCovariance(Q) if wide else Q, sparsity, count, settings)
    return Draft(result.certificate.manifest, result.certificate.arrays).copy()


def draft_of_matrix(Q: Any, sparsity: Any, count: int = 1, **options: Any) -> Draft:
    """What the solver writes of a matrix, with trees as branched as can be."""
    tuning = replace(DEFAULT, walk=replace(DEFAULT.walk, enumerate_below=1, full_share=0))
    settings = Settings.validate(tuning=tuning, proof=True, **options)
    result = solve_with(np.array(Q, dtype=float), sparsity, count, settings)
    return Draft(result.certificate.manifest, result.certificate.arrays).copy()


# Certificates by hand


@dataclass
class Rung:
    """A rung as a forger writes it: its tree is a list of (branch, removed, forced)."""

    kind: int
    bound: float
    level: float = 0.0
    kept: tuple[int, ...] = ()
    tree: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...] = ()


def forge(
    Q: np.ndarray,
    limits: list[int],
    components: np.ndarray,
    claims: list[tuple[float, float]],
    ladders: list[list[Rung]],
    kind: str = "matrix",
    exhausted: bool = False,
) -> Draft:
    """A certificate of whatever one likes."""
    Q = np.array(Q, dtype=float)
    n = Q.shape[1]
    arrays: dict[str, Any] = {
        f"{kind}.npy": Q,
        "components.npy": np.array(components, dtype=float).reshape(len(claims), n),
    }
    for k, ladder in enumerate(ladders):
        steps = [step for rung in ladder for step in rung.tree]
        arrays[f"stage-{k}/kinds.npy"] = np.array([r.kind for r in ladder], dtype=np.int32)
        arrays[f"stage-{k}/bounds.npy"] = np.array([r.bound for r in ladder], dtype=float)
        arrays[f"stage-{k}/levels.npy"] = np.array([r.level for r in ladder], dtype=float)
        arrays[f"stage-{k}/steps.npy"] = np.array([step[0] for step in steps], dtype=np.int32)
        ends = np.cumsum([len(r.tree) for r in ladder]).astype(np.int64)
        arrays[f"stage-{k}/steps_ends.npy"] = ends
        for name, parts in (
            ("kept", [r.kept for r in ladder]),
            ("removed", [step[1] for step in steps]),
            ("forced", [step[2] for step in steps]),
        ):
            values = [v for part in parts for v in part]
            arrays[f"stage-{k}/{name}.npy"] = np.array(values, dtype=np.int32)
            ends = np.cumsum([len(part) for part in parts]).astype(np.int64)
            arrays[f"stage-{k}/{name}_ends.npy"] = ends
    manifest = {
        "format": "orthospca-certificate",
        "version": VERSION,
        "problem": {
            "kind": kind,
            "features": n,
            "sha256": fingerprint(Q),
            "sparsity": limits,
            "eps": 0.0,
            "gap": 0.0,
        },
        "stages": [
            {"variance": variance, "upper_bound": upper, "status": "optimal"}
            for variance, upper in claims
        ],
        "exhausted": exhausted,
    }
    return Draft(manifest, arrays)


def strings_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all entries of a manifest."""
    if path:
        yield path
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, entry in entries:
        yield from strings_of(entry, (*path, key))


# Certificates that rest on multipliers


def relaxed(base: Tuning = DEFAULT, tested: int = 1) -> Tuning:
    """Numbers with which no walk gets anywhere, so that the relaxation closes what is left."""
    return replace(
        base,
        share=replace(base.share, cost=-1.0),
        walk=replace(base.walk, rung_budget=-1.0),
        tree=replace(base.tree, enumerate_below_proved=tested),
    )


def solved_by_relaxation(Q: Any, sparsity: Any, count: int = 1, **options: Any) -> Any:
    """A result with a certificate for which no walk was of use."""
    tuning = options.pop("tuning", relaxed())
    settings = Settings.validate(tuning=tuning, proof=True, **options)
    return solve_with(Q, sparsity, count, settings)


def count_of_claims(certificate: Any) -> int:
    """Steps that rest on multipliers."""
    return sum(
        int((array >= 0).sum())
        for name, array in certificate.arrays.items()
        if name.endswith("/claims.npy")
    )
