"""Certificates that rest on multipliers of the share relaxation, and forged ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from helpers.certificates import (
    Draft,
    Rung,
    count_of_claims,
    forge,
    relaxed,
    solved_by_relaxation,
)
from helpers.forger import checker, lowest
from helpers.wide import tuned
from orthospca import DataCovariance

SINGLE, SIEVE = range(2)


@cache
def base(kind: str = "matrix") -> Draft:
    """A certificate with branches, groups and forced features that rest on multipliers."""
    A = np.random.default_rng(3).standard_normal((12, 10))
    result = (
        solved_by_relaxation(A.T @ A, 4, 2, gap=1e-6)
        if kind == "matrix"
        else solved_by_relaxation(DataCovariance(A), 4, 2, tuning=relaxed(tuned(formed=0)))
    )
    draft = Draft(result.certificate.manifest, result.certificate.arrays).copy()
    assert checker.verify(draft).verified
    assert count_of_claims(draft) > 3
    return draft


def change(name: str, how: Callable[[Any], Any]) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.arrays[f"stage-0/{name}.npy"] = how(draft.arrays[f"stage-0/{name}.npy"])

    return apply


def put(value: float) -> Callable[[Any], Any]:
    def apply(array: Any) -> Any:
        array = array.copy()
        array[len(array) // 2] = value
        return array

    return apply


def lowered(draft: Draft) -> None:
    """Everything as it is, and a level below the optimum."""
    value = 0.999 * draft.manifest["stages"][0]["variance"]
    draft.arrays["stage-0/levels.npy"][-1] = draft.arrays["stage-0/bounds.npy"][-1] = value


REFUSED: dict[str, Callable[[Draft], None]] = {
    "a ratio that is not a number": change("ratios", put(math.nan)),
    "a ratio that is infinite": change("ratios", put(math.inf)),
    "a ratio that is negative": change("ratios", put(-1.0)),
    "a ratio that is zero": change("ratios", put(0.0)),
    "N that is not a number": change("pairs", put(math.nan)),
    "N that is infinite": change("pairs", put(-math.inf)),
    "N that is large": change("pairs", put(1e4)),
    "c that is not a number": change("prices", put(math.nan)),
    "c that is infinite": change("prices", put(math.inf)),
    "c that is large": change("prices", lambda a: np.append(np.float32(1e5), a[1:])),
    "N in double precision": change("pairs", lambda a: a.astype(float)),
    "c as integers": change("prices", lambda a: a.astype(np.int32)),
    "N cut off": change("pairs", lambda a: a[:-1]),
    "ratios cut off": change("ratios", lambda a: a[:-1]),
    "c cut off": change("prices", lambda a: a[:-1]),
    "N that is too long": change("pairs", lambda a: np.append(a, a[:1])),
    "N as a matrix": change("pairs", lambda a: a[None]),
    "units in single precision": change("units", lambda a: a.astype(np.float32)),
    "a unit that is not a number": change("units", put(math.nan)),
    "a unit that is infinite": change("units", put(math.inf)),
    "another unit": change("units", lambda a: a * 64),
    "one unit less": change("units", lambda a: a[:-1]),
    "other features": change("shared", lambda a: a[::-1].copy()),
    "a feature that is not there": change("shared", put(10)),
    "ends that do not add up": change("shared_ends", lambda a: a - 1),
    "an index out of range": change("claims", put(1000)),
    "an index below all": change("claims", put(-2)),
    "no multipliers": change("claims", lambda a: np.full_like(a, -1)),
    "fewer claims than steps": change("claims", lambda a: a[:-1]),
    "more claims than steps": change("claims", lambda a: np.append(a, np.int32(-1))),
    "fewer steps": change("steps_ends", lambda a: np.append(a[:-1], a[-1] - 1)),
    "a level below the optimum": lowered,
    "an older version": lambda draft: draft.manifest.update(version=2),
    "a version of lists": lambda draft: draft.manifest.update(version=3),
    "a newer version": lambda draft: draft.manifest.update(version=5),
}


def resting(
    draft: Draft, claims: list[int], N: Any, features: tuple[int, ...] | None = None
) -> Draft:
    """Let steps of a forged tree rest on N, with ratios of one and no prices."""
    N = np.array(N, dtype=np.float32)
    features = tuple(range(len(N))) if features is None else features
    low = np.tril_indices(len(features), -1)
    arrays = {
        "claims": np.array(claims, dtype=np.int32),
        "shared": np.array(features, dtype=np.int32),
        "shared_ends": np.array([len(features)], dtype=np.int64),
        "units": np.ones(1),
        "pairs": N[low],
        "ratios": np.ones(len(low[0]), dtype=np.float32),
        "prices": np.zeros(len(features), dtype=np.float32),
    }
    draft.arrays |= {f"stage-0/{name}.npy": array for name, array in arrays.items()}
    return draft


def by_hand() -> Iterator[tuple[str, Draft]]:
    """Trees of a few steps, each of them true but for one; a single pair is above the level."""
    Q = np.eye(4)
    Q[0, 2] = Q[2, 0] = 0.9
    leaf, every = (-1, (), ()), (0, 1, 2, 3)
    none, pair = np.zeros((4, 4)), Q - np.eye(4)

    def made(tree: Any, kept: tuple[int, ...] = every) -> Draft:
        # It is the last rung that is false: 1.9 is the optimum.
        ladder = [Rung(SINGLE, 1.0), Rung(SIEVE, 1.5, 1.5, kept, tree)]
        n = len(kept)
        return forge(Q[:n, :n], [2], np.eye(n)[:1], [(1.0, 1.5)], [ladder])

    yield "two forced at once", resting(made(((-1, (), (0, 1)), leaf)), [0, -1], none)
    yield "removed and forced", resting(made(((-1, (2,), (0,)), leaf)), [0, -1], none)
    yield "nothing after one is removed", resting(made(((-1, (3,), ()),)), [0], pair)
    # Both are inside, and one feature is left.
    full = ((0, (), ()), (1, (), ()), (-1, (2,), ()))
    yield "no room", resting(made(full, every[:3]), [-1, -1, 0], none[:3, :3])
    some = resting(made(((-1, every, ()),)), [0], none[:2, :2])
    yield "multipliers of some features", some


def forged_multipliers() -> Iterator[tuple[str, Draft]]:
    """Those above, and more than multipliers show at once."""
    yield from by_hand()
    for what, how in REFUSED.items():
        draft = base().copy()
        how(draft)
        yield what, draft
    claims = base().arrays["stage-0/claims.npy"]
    for at in np.flatnonzero(claims >= 0)[:6]:
        draft = base().copy()
        draft.arrays["stage-0/steps.npy"][at] = 0
        yield f"a branch at {at}", draft
    for name in ("removed", "forced"):
        draft = base().copy()
        draft.arrays[f"stage-0/{name}.npy"] = draft.arrays[f"stage-0/{name}.npy"][:0]
        draft.arrays[f"stage-0/{name}_ends.npy"][:] = 0
        yield f"nothing {name}", draft


def edges_of_multipliers() -> Iterator[tuple[str, Draft]]:
    """Levels that are refused by a few units in the last place."""
    # N is all there is off the diagonal, so that each rounding of its ratios counts.
    Q = np.array([[-1.0, 1.5], [1.5, -1.0]])

    def bare(level: float) -> Draft:
        ladder = [Rung(SINGLE, -1.0), Rung(SIEVE, 9.0, level, (0, 1), ((-1, (0, 1), ()),))]
        return resting(forge(Q, [2], np.eye(2)[:1], [(-1.0, 9.0)], [ladder]), [0], Q)

    least = lowest(lambda level: checker.verify(bare(level)).verified, 0.4, 1.0)
    for units in (1, 2, 4):
        yield f"ratios, {units}", bare(least - units * math.ulp(least))
    for kind in ("matrix", "factor"):

        def at(level: float, kind: str = kind) -> Draft:
            draft = base(kind).copy()
            top = 9.0 * draft.manifest["stages"][0]["variance"]
            draft.manifest["stages"][0]["upper_bound"] = top
            draft.arrays["stage-0/bounds.npy"][-1] = top
            draft.arrays["stage-0/levels.npy"][-1] = level
            return draft

        level = float(base(kind).arrays["stage-0/levels.npy"][-1])
        level = lowest(lambda number: checker.verify(at(number)).verified, 0.9 * level, level)
        for units in (1, 4, 16, 64):
            yield f"multipliers of a {kind}, {units}", at(level - units * math.ulp(level))
