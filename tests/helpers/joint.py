"""Certificates of sets as a whole, to change, and whether what they say is true."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from helpers.certificates import Draft, Rung, forge, wrong_component
from helpers.exact import (
    ExactMatrix,
    as_integers,
    exact_variance_of_data,
    is_psd,
    rounded_down,
    stated,
    support_above,
)
from helpers.problems import MATRICES
from orthospca import solve
from orthospca.bounds.share.sets import Group
from orthospca.certificate.joint import make_joint_certificate
from orthospca.joint.relaxed import Relaxation
from orthospca.joint.root import RootBound, bound_of
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import DEFAULT
from orthospca.search.methods import solve_stage
from orthospca.verify import Verdict
from orthospca.verify_ladder import SINGLE, SUMS

#: Unit vectors that are orthogonal up to 4e-13.
TURNED = np.array([[1.0, 0.0, 0.0], [4e-13, 1.0, 0.0]])
#: Trees as branched as can be.
BRANCHED = replace(DEFAULT, walk=replace(DEFAULT.walk, enumerate_below=1, full_share=0))


def settings_of(gap: float = 1e-4, **options: Any) -> Settings:
    """Settings with a proof."""
    return Settings.validate(gap=gap, proof=True, tuning=BRANCHED, **options)


def root_of(
    Q: np.ndarray, limits: Sequence[int], components: np.ndarray, **options: Any
) -> RootBound:
    """The bound that the solver finds for these sparsities."""
    settings = settings_of(**options)
    watch = settings.watch(None)
    watch.begin_stage(0, 1)
    total = float(np.einsum("ki,ij,kj->", components, Q, components))
    sizes = sorted(set(limits))
    everything = np.arange(len(Q))
    groups = [Group(list(limits).count(p), p, np.arange(0), everything) for p in sizes]
    scale = abs(total) / len(limits) or 1.0
    relaxation = Relaxation(Q, groups, scale, settings.tuning.joint.relaxed)
    part = relaxation.root()
    relaxation.tighten(part, -math.inf, "first", lambda: False)
    found = bound_of(Q, part.M, list(limits), settings, watch)
    assert found is not None
    return found


def set_of(Q: np.ndarray, limits: Sequence[int], **options: Any) -> Draft:
    """What is written of the bound that the solver finds, and of components one by one."""
    components = solve(Q, list(limits), len(limits)).components
    root = root_of(Q, limits, components, **options)
    ladders = {p: outcome.rungs for p, outcome in root.outcomes.items()}
    made = make_joint_certificate(Q, limits, components, root.matrix, ladders)
    assert made.manifest["joint"]["upper_bound"] <= root.upper
    return Draft(made.manifest, made.arrays).copy()


def set_with(Q: np.ndarray, limits: Sequence[int], M: np.ndarray, gap: float = 1e-4) -> Draft:
    """What is written of the bound that some M gives; it is lifted where it is not zero."""
    used = np.flatnonzero(M.any(axis=1))
    part = 0.5 * (M + M.T)[np.ix_(used, used)]
    size = float(np.abs(Q).max(initial=0.0) + np.abs(M).max(initial=0.0))
    A = Q.copy()
    A[np.ix_(used, used)] -= part + 1e-11 * size * np.eye(len(used))
    A = 0.5 * (A + A.T)
    settings = settings_of(gap)
    watch = settings.watch(None)
    watch.begin_stage(0, 1)
    ladders = {}
    for p in set(limits):
        problem = Subproblem(A, p, np.zeros((len(A), 0)))
        ladders[p] = solve_stage(problem, settings, watch, None).rungs
    components = solve(Q, list(limits), len(limits)).components
    made = make_joint_certificate(Q, limits, components, A, ladders)
    return Draft(made.manifest, made.arrays).copy()


def random_set(seed: int, largest: int = 6) -> Draft:
    """A set of a small problem of any kind, with an M of any kind."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, largest + 1))
    Q = MATRICES[list(MATRICES)[int(rng.integers(len(MATRICES)))]](rng, n)
    Q = 0.5 * (Q + Q.T)
    count = int(rng.integers(1, min(n, 3) + 1))
    limits = [int(p) for p in rng.integers(1, min(n, 3) + 1, size=count)]
    if rng.random() < 0.4:
        limits = limits[:1] * count
    # A later one may be impossible: one nonzero each is not, if these come first.
    limits = sorted(limits) if len(solve(Q, limits, count).components) == count else [1] * count
    values, vectors = np.linalg.eigh(Q)
    way = int(rng.integers(4))
    M = np.zeros((n, n))
    if way == 1:
        M = (vectors * np.maximum(values - values[-count], 0.0)) @ vectors.T
    elif way == 2:
        at = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        root = rng.standard_normal((len(at), len(at)))
        M[np.ix_(at, at)] = rng.uniform(0, 0.3) * np.abs(values).max() * (root @ root.T)
    elif way == 3:
        M = np.diag(np.maximum(Q.diagonal() - np.sort(Q.diagonal())[-count], 0.0))
    if len(solve(Q, limits, count).components) < count:
        limits = limits[:1]
    return set_with(Q, limits, M, float(rng.choice([0.0, 1e-6, 1e-3])))


# The truth


def adjusted(draft: Any) -> np.ndarray:
    """The matrix A of a certificate."""
    A = np.array(draft.arrays["matrix.npy"], dtype=float)
    at = np.asarray(draft.arrays["joint/at.npy"])
    A[np.ix_(at, at)] = draft.arrays["joint/block.npy"]
    return A


def is_below(A: np.ndarray, Q: np.ndarray) -> bool:
    """Whether Q - A is positive semidefinite, in integers."""
    both, _ = as_integers(np.concatenate([Q, A]))
    n = len(Q)
    return is_psd([[q - a for q, a in zip(both[i], both[n + i], strict=True)] for i in range(n)])


def false_set(draft: Any, verdict: Verdict) -> str:
    """What of a verified set is not true, decided in exact arithmetic; empty if all of it is.

    The bound is what is proved: A is below Q, no vector has more than its rung says in A, and the
    sum is not above the bound.
    """
    if not verdict.verified:
        return "" if verdict.joint_upper_bound is None else "a bound although it is refused"
    Q, limits = draft.arrays["matrix.npy"], draft.manifest["problem"]["sparsity"]
    claims, A = draft.manifest["joint"], adjusted(draft)
    if not ((Q == Q.T).all() and (A == A.T).all()):
        return "not symmetric"
    components = draft.arrays["components.npy"]
    if not len(components) == len(limits) == len(claims["variances"]):
        return "another number of components"
    matrix = ExactMatrix.of(Q)
    for k, (p, value) in enumerate(zip(limits, claims["variances"], strict=True)):
        wrong = wrong_component(matrix, components, k, p, {"variance": value})
        if wrong:
            return f"component {k + 1}: {wrong}"
    if not is_below(A, Q):
        return "A is not below Q"
    bound = sum((Fraction(float(q)) for q in Q.diagonal()), Fraction(0))
    bound -= sum((Fraction(float(a)) for a in A.diagonal()), Fraction(0))
    for k, p in enumerate(sorted(set(limits))):
        rung = float(draft.arrays[f"stage-{k}/bounds.npy"][p - 1])
        if support_above(ExactMatrix.of(A), np.zeros((0, len(A))), p, rung) is not None:
            return f"{rung!r} is no bound for {p}"
        bound += limits.count(p) * Fraction(rung)
    assert verdict.joint_upper_bound is not None
    if not bound <= Fraction(verdict.joint_upper_bound):
        return "the sum is above the bound"
    if not verdict.joint_upper_bound <= float(claims["upper_bound"]):
        return "more is claimed than proved"
    if not sum(map(Fraction, map(float, claims["variances"]))) <= float(claims["upper_bound"]):
        return "a bound below the variance"
    return ""


def best_disjoint(Q: np.ndarray, limits: Sequence[int]) -> float:
    """The largest total of vectors on supports without a feature in common."""
    best = -math.inf

    def extend(k: int, left: tuple[int, ...], total: float) -> None:
        nonlocal best
        if k == len(limits):
            best = max(best, total)
            return
        for size in range(1, min(limits[k], len(left)) + 1):
            for T in itertools.combinations(left, size):
                value = float(np.linalg.eigvalsh(Q[np.ix_(T, T)])[-1])
                extend(k + 1, tuple(j for j in left if j not in T), total + value)

    extend(0, tuple(range(len(Q))), 0.0)
    return best


# Forgeries


def by_hand(
    Q: Any,
    limits: list[int],
    components: Any,
    at: list[int],
    block: Any,
    ladders: list[list[Rung]],
    upper: float,
    kind: str = "matrix",
) -> Draft:
    """A certificate of whatever one likes; a ladder for each sparsity, the smallest first."""
    components = np.array(components, dtype=float)
    draft = forge(Q, limits, components, [(0.0, 0.0)] * len(components), ladders, kind)
    del draft.manifest["stages"], draft.manifest["exhausted"]
    given = np.array(Q, dtype=float)
    values = [
        stated(given, x) if kind == "matrix" else rounded_down(exact_variance_of_data(given, x))
        for x in components
    ]
    draft.manifest["claim"] = "joint"
    draft.manifest["joint"] = {"variances": values, "upper_bound": upper}
    draft.arrays["joint/at.npy"] = np.array(at, dtype=np.int32)
    draft.arrays["joint/block.npy"] = np.array(block, dtype=float).reshape(len(at), len(at))
    return draft


def nearly_singular(units: int) -> Draft:
    """Q - A = [[1, 1 - e], [1 - e, 1]] and A = 0, e being so many units in the last place."""
    Q = np.array([[1.0, 1.0 - units * 2.0**-53], [1.0 - units * 2.0**-53, 1.0]])
    ladder = [Rung(SINGLE, 0.0), Rung(SUMS, 0.0)]
    return by_hand(Q, [2, 2], np.eye(2), [0, 1], np.zeros((2, 2)), [ladder], 2.0)


def altered(draft: Draft, change: Callable[[Draft], Any]) -> Draft:
    """A copy with a change."""
    changed = draft.copy()
    change(changed)
    return changed


def claimed(draft: Draft, **entries: Any) -> Draft:
    """A copy with other claims."""
    return altered(draft, lambda changed: changed.manifest["joint"].update(entries))


def small_set() -> Draft:
    """Two components of three features, A below Q in two of them; the bound is 8, and reached."""
    Q = np.array([[4.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    half = math.sqrt(0.5)
    components = np.array([[half, half, 0.0], [half, -half, 0.0]])
    components /= np.sqrt((components**2).sum(axis=1))[:, None]
    block = [[2.0, 0.0], [0.0, 2.0]]
    ladder = [Rung(SINGLE, 2.0), Rung(SUMS, 2.0)]
    draft = by_hand(Q, [2, 2], components, [0, 1], block, [ladder], 8.0)
    return claimed(draft, variances=[5.0, 3.0])


def forged_sets() -> Iterator[tuple[str, Draft]]:
    """Sets of which one thing is false, or not as it should be."""
    good = small_set()
    for upper in (7.9, math.nextafter(8.0, 0.0), math.inf, -math.inf, math.nan, 5.0):
        yield f"set below {upper}", claimed(good, upper_bound=upper)
    values = good.manifest["joint"]["variances"]
    for wrong in (values[:1], [*values, 1.0], [5.0, 3.1], [5.1, 3.0], [5.0, math.nan], []):
        yield f"set with variances {wrong}", claimed(good, variances=wrong)
    yield "set with a little more", claimed(good, variances=[v + 1e-12 for v in values])
    # Orthogonal up to 1e-12, and so above the bound.
    near = altered(good, lambda draft: draft.arrays.update({"components.npy": TURNED}))
    Q = good.arrays["matrix.npy"]
    yield "set above its bound", claimed(near, variances=[stated(Q, x) for x in TURNED])
    for units in (1, 4, 8, 11, 12, 13, 14):
        yield f"set, {units} units from singular", nearly_singular(units)

    def block(*entries: float, upper: float = 100.0, of: Draft = good) -> Draft:
        draft = claimed(of, upper_bound=upper)
        draft.arrays["joint/block.npy"] = np.array(entries).reshape(2, 2)
        return draft

    # Not below Q: the trace is as small as one likes.
    yield "set, not below", block(2.0, -2.0, -2.0, 2.0)
    yield "set, above", block(2.0, 0.0, 0.0, 4.5)
    yield "set, singular", block(3.0, 0.0, 0.0, 3.0)
    yield "set, the same", block(4.0, 1.0, 1.0, 4.0)
    yield "set, not symmetric", block(2.0, 0.5, 0.0, 2.0)
    yield "set, not symmetric either", block(2.0, 0.0, 0.5, 2.0)
    for number in (math.nan, math.inf, -math.inf, -1e160, -1e300):
        yield f"set, entry {number}", block(number, 0.0, 0.0, 2.0)
        yield f"set, entries {number}", block(2.0, number, number, 2.0)

    def at(*features: int) -> Draft:
        values = np.array(features, dtype=np.int32)
        return altered(good, lambda draft: draft.arrays.__setitem__("joint/at.npy", values))

    for features in ((1, 0), (0, 0), (1, 1), (0, 2), (-1, 0), (0, 3), (0,), (0, 1, 2), ()):
        yield f"set at {features}", at(*features)
    # Components far below the bound, which is 10: nothing but the argument counts.
    Q, rows = good.arrays["matrix.npy"], np.eye(3)
    rest = ([0, 1], [[2.0, 0.0], [0.0, 2.0]])
    loose = [Rung(SINGLE, 2.0), Rung(SUMS, 3.0)]
    poor = by_hand(Q, [2, 2], rows[[0, 2]], *rest, [loose], 10.0)
    for upper in (math.nextafter(10.0, 0.0), 7.0, 6.0):
        yield f"poor set below {upper}", claimed(poor, upper_bound=upper)
    yield "poor set, not symmetric", block(2.0, 0.5, 0.0, 2.0, of=poor)
    yield "poor set, not symmetric either", block(2.0, 0.0, 0.5, 2.0, of=poor)
    yield "poor set, not below", block(2.0, -1.0, -1.0, 2.0, of=poor)
    # Rungs: too low, for another sparsity, or not there.
    for bound in (1.9, 1.0, -math.inf, math.nan):
        draft = good.copy()
        draft.arrays["stage-0/bounds.npy"][:] = bound
        yield f"set, rungs {bound}", draft
    ladders = [[Rung(SINGLE, 2.0)], [Rung(SINGLE, 2.0), Rung(SUMS, 2.0)]]
    rows = rows[:2]
    yield "set, two sparsities", by_hand(Q, [1, 2], rows, *rest, ladders, 7.9)
    yield "set, two ladders in another order", by_hand(Q, [1, 2], rows, *rest, ladders[::-1], 8.0)
    yield "set without a ladder", by_hand(Q, [1, 2], rows, *rest, ladders[:1], 8.0)
    yield "set of short ladders", by_hand(Q, [2, 2], rows, *rest, ladders[:1], 8.0)
    infinite = [[Rung(SINGLE, 2.0), Rung(SUMS, math.inf)]]
    yield "set of infinite rungs", by_hand(Q, [2, 2], rows, *rest, infinite, 8.0)
    yield (
        "set too dense",
        by_hand(Q, [1, 1], good.arrays["components.npy"], *rest, ladders[:1], 8.0),
    )
    yield "set of the same", by_hand(Q, [2, 2], rows[[0, 0]], *rest, ladders[1:], 8.0)
    yield "set too long", by_hand(Q, [2, 2], rows * (1 + 1e-11), *rest, ladders[1:], 8.0)
    for count in (1, 3):
        yield (
            f"set of {count}",
            altered(good, lambda d, c=count: d.manifest["problem"].update(sparsity=[2] * c)),
        )
    B = np.diag([2.0, 2.0, 1.0])
    yield "set of data", by_hand(B, [2, 2], rows, [], [], ladders[1:], 100.0, "factor")
    for version, claim in ((3, "joint"), (8, "joint"), (7, "components"), (7, "alternatives")):
        draft = good.copy()
        draft.manifest |= {"version": version, "claim": claim}
        yield f"set of version {version}, {claim}", draft
