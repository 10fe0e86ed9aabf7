"""Every way through the package that ends in a certificate, on random problems of every kind.

A route draws problems of one kind with at most `largest` features, and solves each of them for all
sparsities and for as many components as there are.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from helpers.audit import Solved
from helpers.forced import forced_branching, forced_chunks, forced_weakness, forced_wide
from helpers.problems import DATA, MATRICES, Generator
from helpers.stages import exact_matrix_of
from orthospca import DataCovariance, block_diagonalize, solve, sparsity_path
from orthospca.model.result import Progress

#: Tolerances asked for, and coarse ones for searches that are to end early.
GAPS = (0.0, 1e-9, 1e-6, 1e-4, 1e-2)
COARSE_GAPS = (0.03, 0.1, 0.3, 1.0, 3.0)

#: Options of a solve, given the covariance as numbers and a sparsity.
Options = Callable[[np.random.Generator, np.ndarray, int], dict[str, Any]]
Force = Callable[[pytest.MonkeyPatch, np.random.Generator], None]


class Listener:
    """A callback that keeps what it hears and asks to stop after so many records."""

    def __init__(self, patience: float = np.inf) -> None:
        self.heard: list[Progress] = []
        self._patience = patience

    def __call__(self, entry: Progress) -> bool:
        self.heard.append(entry)
        return len(self.heard) > self._patience


def nothing(rng: np.random.Generator, matrix: np.ndarray, p: int) -> dict[str, Any]:
    """No options."""
    return {}


def unforced(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Everything as it is."""


@dataclass(frozen=True)
class Route:
    """How problems are given and solved.

    Attributes
    ----------
    kinds : dict
        Generators of matrices, or of data.
    given : callable
        What is handed to the solver: a matrix from a matrix, a covariance from data.
    options : callable
        Of the solve, besides the tolerances.
    force : callable
        Patches that send small problems through code for large ones.
    gaps : tuple of float
    method : str
    """

    kinds: dict[str, Generator] = field(default_factory=lambda: MATRICES)
    given: Callable[[np.random.Generator, np.ndarray], Any] = lambda rng, matrix: matrix
    options: Options = nothing
    force: Force = unforced
    gaps: tuple[float, ...] = GAPS
    method: str = "branch-and-bound"

    def solves(self, name: str, kind: str, seed: int, largest: int) -> Iterator[Solved]:
        """Draw a problem and solve it for all sparsities."""
        rng = np.random.default_rng([zlib.crc32(f"{name} {kind}".encode()), seed])
        n = int(rng.integers(min(2, largest), largest + 1))
        drawn = self.kinds[kind](rng, n)
        for p in range(1, n + 1):
            with pytest.MonkeyPatch.context() as monkeypatch:
                self.force(monkeypatch, rng)
                given = self.given(rng, drawn)
                exact = exact_matrix_of(given)
                tolerances = self._tolerances(rng, exact.rounded)
                options = self.options(rng, exact.rounded, p) | tolerances
                listener = options.pop("callback", Listener())
                sparsity = options.pop("sparsity", p)
                options |= {"method": self.method, "callback": listener}
                result = solve(given, sparsity, n, **options)
            label = f"{name}, {kind}, seed {seed}, n={n}, p={p}, {tolerances}"
            yield Solved(label, exact, result, told=listener.heard, **tolerances)

    def _tolerances(self, rng: np.random.Generator, matrix: np.ndarray) -> dict[str, float]:
        gap = float(rng.choice(self.gaps))
        eps = float(rng.choice([0.0, 0.0, 1e-6, 1e-2]) * np.abs(matrix).max())
        return {"eps": eps, "gap": gap}


@dataclass(frozen=True)
class PathRoute(Route):
    """All sparsities in one call."""

    def solves(self, name: str, kind: str, seed: int, largest: int) -> Iterator[Solved]:
        """Draw a problem and solve it for all sparsities."""
        rng = np.random.default_rng([zlib.crc32(f"{name} {kind}".encode()), seed])
        n = int(rng.integers(min(2, largest), largest + 1))
        given = self.given(rng, self.kinds[kind](rng, n))
        exact = exact_matrix_of(given)
        tolerances = self._tolerances(rng, exact.rounded)
        count = int(rng.integers(1, min(n, 3) + 1))
        with pytest.MonkeyPatch.context() as monkeypatch:
            self.force(monkeypatch, rng)
            options = self.options(rng, exact.rounded, n) | tolerances
            path = sparsity_path(given, range(1, n + 1), n_components=count, **options)
        for p, result in zip(path.sparsities, path.results, strict=True):
            label = f"{name}, {kind}, seed {seed}, n={n}, K={count}, p={p}, {tolerances}"
            yield Solved(label, exact, result, **tolerances)


def along_zeros(rng: np.random.Generator, matrix: np.ndarray) -> np.ndarray:
    """Zeros between blocks, whatever the matrix was."""
    labels = rng.integers(0, 3, size=len(matrix))
    return np.where(labels[:, None] == labels[None, :], matrix, 0.0)


def covariance_of(rng: np.random.Generator, data: np.ndarray) -> DataCovariance:
    """A covariance, or sometimes a correlation."""
    return DataCovariance(data, correlation=bool(rng.random() < 0.3))


def dask_covariance_of(rng: np.random.Generator, data: np.ndarray) -> DataCovariance:
    """The same of a Dask array, in chunks of samples or of samples and features."""
    da = pytest.importorskip("dask.array")
    m, n = data.shape
    chunks = [(max(m // 2, 1), n), (max(m // 3, 1), max(n // 2, 1))][int(rng.integers(2))]
    return DataCovariance(da.from_array(data, chunks=chunks), correlation=bool(rng.random() < 0.3))


def a_threshold(rng: np.random.Generator, matrix: np.ndarray, p: int) -> dict[str, Any]:
    """One of the entries, or half or twice as much."""
    entries = np.abs(matrix[np.triu_indices(len(matrix), 1)])
    entries = entries[entries > 0]
    if len(entries) == 0:
        return {"threshold": 0.5}
    return {"threshold": float(rng.choice(entries) * rng.choice([0.5, 1.0, 1.0 + 1e-15, 2.0]))}


def thresholded(rng: np.random.Generator, matrix: np.ndarray, p: int) -> dict[str, Any]:
    """Blocks without their own small entries."""
    threshold = a_threshold(rng, matrix, p)["threshold"]
    return {"threshold": block_diagonalize(matrix, threshold, inside="thresholded")}


def given_blocks(rng: np.random.Generator, matrix: np.ndarray, p: int) -> dict[str, Any]:
    """Blocks that were found beforehand."""
    return {"threshold": block_diagonalize(matrix, a_threshold(rng, matrix, p)["threshold"])}


def foreign_blocks(rng: np.random.Generator, matrix: np.ndarray, p: int) -> dict[str, Any]:
    """Any partition: the blocks of another matrix."""
    other = along_zeros(rng, rng.standard_normal(matrix.shape))
    return {"threshold": block_diagonalize(other + other.T, 0.0)}


def a_limit(rng: np.random.Generator, matrix: np.ndarray, p: int) -> dict[str, Any]:
    """No time, few nodes, or a callback that asks to stop; sometimes with blocks."""
    limits: list[dict[str, Any]] = [
        {"time_limit": 0.0},
        {"node_limit": int(rng.integers(1, 5))},
        {"callback": Listener(int(rng.integers(0, 6)))},
    ]
    chosen = limits[int(rng.integers(3))]
    return chosen | a_threshold(rng, matrix, p) if rng.random() < 0.3 else chosen


def sparsities(rng: np.random.Generator, matrix: np.ndarray, p: int) -> dict[str, Any]:
    """A sparsity for each component; sometimes with blocks."""
    n = len(matrix)
    chosen = {"sparsity": rng.integers(1, n + 1, size=n).tolist()}
    return chosen | a_threshold(rng, matrix, p) if rng.random() < 0.3 else chosen


def branching(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, **how: Any) -> None:
    """Nodes are bounded, not enumerated."""
    forced_branching(monkeypatch, **how)


def weak(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Nodes are bounded, and the heuristics are bad."""
    forced_branching(monkeypatch, conditioning=bool(rng.random() < 0.5))
    forced_weakness(monkeypatch, rng)


def wide(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, **how: Any) -> None:
    """Data count as wide."""
    forced_wide(monkeypatch, **how)


def chunked(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, **how: Any) -> None:
    """Data count as wide, and their chunks as large enough."""
    forced_wide(monkeypatch, **how)
    forced_chunks(monkeypatch)


def weak_wide(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, **how: Any) -> None:
    """Data count as wide, and the heuristics are bad."""
    forced_wide(monkeypatch, **how)
    forced_weakness(monkeypatch, rng)


_wide = partial(Route, DATA, covariance_of)
#: Rows of wide data are looked at however few they are, after a search by traces or without.
_rows, _plain_rows = {"few": 0}, {"few": 0, "traces": False}

ROUTES: dict[str, Route] = {
    "branch-and-bound": Route(),
    "eigenvalue": Route(method="eigenvalue"),
    "enumeration": Route(method="enumeration"),
    "conditioning": Route(force=branching),
    "relaxation": Route(force=partial(branching, conditioning=False)),
    "features fixed": Route(force=partial(branching, conditioning=False, eager=True)),
    "rungs resist": Route(force=partial(branching, rungs=False)),
    "eigenvalue nodes": Route(force=branching, method="eigenvalue"),
    "limits": Route(options=a_limit, force=branching, method="eigenvalue"),
    "sparsities": Route(options=sparsities),
    "weak": Route(force=weak, gaps=COARSE_GAPS),
    "path": PathRoute(options=a_threshold),
    "zeros": Route(given=along_zeros),
    "threshold": Route(options=a_threshold),
    "thresholded": Route(options=thresholded),
    "foreign blocks": Route(options=foreign_blocks),
    "weak blocks": Route(options=a_threshold, force=weak, gaps=COARSE_GAPS),
    "wide": _wide(force=wide),
    "wide eigenvalue": _wide(force=wide, method="eigenvalue"),
    "wide rows": _wide(force=partial(wide, **_rows)),
    "wide plain rows": _wide(force=partial(wide, **_plain_rows)),
    "wide limits": _wide(options=a_limit, force=partial(wide, **_rows)),
    "wide sparsities": _wide(options=sparsities, force=partial(wide, **_rows)),
    "wide remainder": _wide(force=partial(wide, largest_matrix=3, **_plain_rows)),
    "wide weak rows": _wide(force=partial(weak_wide, **_rows), gaps=COARSE_GAPS),
    "wide weak plain rows": _wide(force=partial(weak_wide, **_plain_rows), gaps=COARSE_GAPS),
    "wide path": PathRoute(DATA, covariance_of, force=wide),
    "wide threshold": _wide(options=a_threshold, force=wide),
    "wide large blocks": _wide(options=a_threshold, force=partial(wide, **_plain_rows)),
    "wide given blocks": _wide(options=given_blocks, force=wide),
    "dask": Route(DATA, dask_covariance_of, force=partial(chunked, **_rows)),
    "dask threshold": Route(DATA, dask_covariance_of, a_threshold, force=chunked),
}
