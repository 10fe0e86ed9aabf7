"""Certificates of lists of supports to change, and whether what they say is true."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from helpers.certificates import Draft, Rung, forge
from helpers.exact import ExactMatrix, exceeds, nearly_orthogonal_support, stated
from helpers.problems import DATA, MATRICES
from helpers.wide import tuned
from orthospca import DataCovariance, alternatives, solve
from orthospca.model import settings
from orthospca.model.tuning import DEFAULT
from orthospca.verify import ACCURACY, Verdict
from orthospca.verify_ladder import ORTHOGONALITY
from orthospca.verify_sets import LARGEST_EXCESS

SINGLE, SIEVE, CAP, SUMS = range(4)


def list_of(Q: Any, p: int, tolerance: float, **options: Any) -> Draft:
    """What is written of a list, with trees as branched as can be."""
    walk = replace(DEFAULT.walk, enumerate_below=1, full_share=0)
    tuning = tuned(formed=0) if isinstance(Q, DataCovariance) else DEFAULT
    before, settings.DEFAULT = settings.DEFAULT, replace(tuning, walk=walk)
    try:
        found = alternatives(Q, p, tolerance, max_supports=10**6, proof=True, **options)
    finally:
        settings.DEFAULT = before
    assert found.complete, found.note
    assert found.certificate is not None
    return Draft(found.certificate.manifest, found.certificate.arrays).copy()


def random_list(seed: int, largest: int = 7) -> Draft:
    """A list of a small problem of any kind, of a first component or of a later one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, largest + 1))
    p = int(rng.integers(1, min(n, 4) + 1))
    wide = bool(rng.random() < 0.4)
    generators = DATA if wide else MATRICES
    Q: Any = generators[list(generators)[int(rng.integers(len(generators)))]](rng, n)
    Q = DataCovariance(Q) if wide else 0.5 * (Q + Q.T)
    tolerance = float(rng.choice([0.0, 0.01, 0.1, 0.5]))
    previous = None
    if rng.random() < 0.5:
        previous = solve(Q, int(rng.integers(1, p + 1)), int(rng.integers(1, 3))).components
        if wide and len(solve(Q, p, n).components) <= len(previous):
            # Of data it is not proved that nothing is left.
            previous = None
    return list_of(Q, p, tolerance, previous=previous)


def without(draft: Draft, i: int, p: int | None = None) -> Draft:
    """One support of p features less, in all that is said of it; p is the sparsity, or smaller."""
    changed = draft.copy()
    p = p or changed.manifest["problem"]["sparsity"][0]
    changed.manifest["alternatives"]["count"] -= 1
    supports = changed.arrays["list/supports.npy"].reshape(-1, p)
    changed.arrays["list/supports.npy"] = np.delete(supports, i, axis=0).ravel()
    changed.arrays["list/supports_ends.npy"] = changed.arrays["list/supports_ends.npy"][:-1]
    for name in ("loadings", "variances"):
        array = changed.arrays[f"list/{name}.npy"]
        changed.arrays[f"list/{name}.npy"] = np.delete(array, i, axis=0)
    return changed


def with_one_more(draft: Draft, support: list[int]) -> Draft:
    """One support more, with the best vector on it."""
    changed = draft.copy()
    Q = changed.arrays["matrix.npy"][np.ix_(support, support)]
    vectors = np.linalg.eigh(Q)[1]
    arrays = changed.arrays
    changed.manifest["alternatives"]["count"] += 1
    arrays["list/supports.npy"] = np.append(arrays["list/supports.npy"], support).astype(np.int32)
    ends = arrays["list/supports_ends.npy"]
    arrays["list/supports_ends.npy"] = np.append(ends, ends[-1] + len(support))
    arrays["list/loadings.npy"] = np.vstack([arrays["list/loadings.npy"], vectors[:, -1]])
    value = stated(Q, vectors[:, -1])
    arrays["list/variances.npy"] = np.append(arrays["list/variances.npy"], value)
    return changed


def false_list(draft: Any, verdict: Verdict, Q: Any = None) -> str:
    """What of a verified list is not true, decided in exact arithmetic; empty if all of it is."""
    if not verdict.verified:
        return ""
    problem, claims, arrays = (
        draft.manifest["problem"],
        draft.manifest["alternatives"],
        draft.arrays,
    )
    kind = problem["kind"]
    given = arrays[f"{kind}.npy"] if Q is None else np.asarray(Q, dtype=float)
    previous = np.asarray(arrays["previous.npy"], dtype=float)
    spent = {int(np.flatnonzero(x)[0]) for x in previous if np.count_nonzero(x) == 1}
    left = [j for j in range(given.shape[1]) if j not in spent]
    p = min(problem["sparsity"][0], len(left))
    if claims["count"] == 0:
        rest = previous[:, left]
        found = p and nearly_orthogonal_support(rest, p, 0.0) is not None
        return "a vector is left" if found else ""
    level = float(claims["level"])
    variances = np.asarray(arrays["list/variances.npy"], dtype=float)
    if claims["count"] != len(variances):
        return "another count"
    supports = np.asarray(arrays["list/supports.npy"]).reshape(len(variances), p)
    listed = {tuple(support): v for support, v in zip(supports.tolist(), variances, strict=True)}
    if len(listed) < len(variances):
        return "a support twice"

    def part(T: tuple[int, ...]) -> ExactMatrix:
        at = list(T)
        if kind == "matrix":
            return ExactMatrix.of(given[np.ix_(at, at)])
        return ExactMatrix.gram(given[:, at])

    size = float(np.abs(given).max()) if kind == "matrix" else float((given**2).sum(axis=0).max())
    below = math.nextafter(level, -math.inf)
    for T in itertools.combinations(left, p):
        reach = listed[T] + 2 * LARGEST_EXCESS * size if T in listed else below
        if exceeds(part(T), previous[:, list(T)], reach):
            return f"{T} has more than {reach!r}"
    values = []
    for T, loadings in zip(listed, arrays["list/loadings.npy"], strict=True):
        if not set(T) <= set(left):
            return f"{T} is no support"
        x = [Fraction(float(v)) for v in loadings]
        length = sum(v * v for v in x)
        inner = [
            sum(v * Fraction(float(w)) for v, w in zip(x, y[list(T)], strict=True))
            for y in previous
        ]
        if abs(length - 1) > ORTHOGONALITY or any(abs(v) > ORTHOGONALITY for v in inner):
            return f"the vector on {T} is not feasible"
        exact = part(T)
        rows = [sum(q * v for q, v in zip(row, x, strict=True)) for row in exact.integers]
        values.append(sum(v * r for v, r in zip(x, rows, strict=True)) / length / 2**exact.exponent)
        unsaid = values[-1] - Fraction(listed[T])
        if not 0 <= unsaid <= 2 * Fraction(ACCURACY) * Fraction(size):
            return f"{T} has another variance"
        if values[-1] < Fraction(level):
            return f"{T} does not reach the level"
    if Fraction(level) > max(values) - Fraction(float(claims["tolerance"])) * abs(max(values)):
        return "the level is above the tolerance"
    return ""


def forged_lists() -> Iterator[tuple[str, Draft]]:
    """Lists of which one thing is false, or not as it should be."""
    rows = np.random.default_rng(5).standard_normal((9, 5)) * [1.2, 1.1, 1.0, 1.0, 0.6]
    Q = rows.T @ rows
    Q = 0.5 * (Q + Q.T)
    good = list_of(Q, 2, 0.2)
    count = good.manifest["alternatives"]["count"]
    assert 2 < count < 8
    for i in range(count):
        yield f"list without {i}", without(good, i)
    values = np.linalg.eigvalsh(
        np.array([Q[np.ix_(T, T)] for T in itertools.combinations(range(5), 2)])
    )[:, -1]
    supports = list(itertools.combinations(range(5), 2))
    worst, best = supports[int(np.argmin(values))], supports[int(np.argmax(values))]
    yield "list with the worst", with_one_more(good, list(worst))
    yield "list with the best twice", with_one_more(good, list(best))
    yield "list with fewer features", _shortened(with_one_more(good, list(worst)))

    def changed(of: Draft = good, **entries: Any) -> Draft:
        draft = of.copy()
        draft.manifest["alternatives"] |= entries
        return draft

    level = good.manifest["alternatives"]["level"]
    for wrong in (level * 0.9, level * 1.2, math.inf, math.nan, -math.inf):
        draft = changed(level=wrong)
        yield f"list at {wrong}", draft.copy()
        draft.arrays["stage-0/bounds.npy"][-1] = wrong
        yield f"list claimed at {wrong}", draft
    for tolerance in (-0.1, 0.3, 0.9, math.nan):
        yield f"list within {tolerance}", changed(tolerance=tolerance)
    for wrong in (0, count - 1, count + 1):
        yield f"list of {wrong}", changed(count=wrong)
    for i in (0, count - 1):
        for shift in (1e-9, -1e-9, 0.1, -0.1):
            draft = good.copy()
            draft.arrays["list/variances.npy"][i] += shift * values.max()
            yield f"list, variance {i} {shift}", draft
    # Vectors that are not the best on their supports, the level within what is allowed.
    wide = list_of(Q, 2, 0.9)
    draft = wide.copy()
    for i in range(1, len(draft.arrays["list/variances.npy"])):
        x = draft.arrays["list/loadings.npy"][i]
        T = draft.arrays["list/supports.npy"].reshape(-1, 2)[i]
        x[:] = x + 0.05 * np.array([-x[1], x[0]])
        x /= math.sqrt(x @ x)
        draft.arrays["list/variances.npy"][i] = stated(Q[np.ix_(T, T)], x)
    yield "list of less than there is", draft
    draft = good.copy()
    draft.arrays["list/supports.npy"][:2] = draft.arrays["list/supports.npy"][1::-1]
    yield "list not in order", draft
    # Components before: of unit length, orthogonal, and none of their features alone.
    later = list_of(Q, 2, 0.5, previous=solve(Q, 2, 2).components)
    draft = later.copy()
    draft.arrays["previous.npy"][0] *= 1 + 1e-11
    yield "list after a long component", draft
    draft = later.copy()
    draft.arrays["previous.npy"] = draft.arrays["previous.npy"][[0, 0]]
    yield "list after the same twice", draft
    yield "list after fewer", changed(later, previous=1)
    draft = changed(later, previous=0)
    draft.arrays["previous.npy"] = draft.arrays["previous.npy"][:0]
    yield "list after none", draft
    spent = list_of(Q, 2, 0.9, previous=np.eye(5)[:1])
    yield "list with a feature that is used up", with_one_more(spent, [0, 1])
    lean = with_one_more(spent, [0, 1])
    lean.arrays["list/loadings.npy"][-1] = [0.0, 1.0]
    lean.arrays["list/variances.npy"][-1] = Q[1, 1]
    for level in (spent.manifest["alternatives"]["level"], 0.9 * Q[1, 1]):
        yield f"list with one that is not used at {level}", changed(lean, level=level)
    third = np.full((1, 3), math.sqrt(1 / 3))
    third /= math.sqrt((third @ third.T)[0, 0])
    empty = list_of(np.diag([3.0, 2.0, 1.0]), 1, 0.1, previous=third)
    empty.manifest["problem"]["sparsity"] = [2]
    yield "list of nothing", empty
    data = list_of(DataCovariance(rows), 2, 0.2, previous=np.eye(5)[:1])
    for i in range(data.manifest["alternatives"]["count"]):
        yield f"list of data without {i}", without(data, i)
    for version, claim in ((3, "alternatives"), (7, "components"), (7, None), (8, "alternatives")):
        draft = good.copy()
        draft.manifest |= {"version": version, "claim": claim}
        yield f"list of version {version}, {claim}", draft
    draft = good.copy()
    del draft.arrays["stage-0/kinds.npy"]
    yield "list without an argument", draft
    yield from ((f"list of ties, {name}", draft) for name, draft in lists_of_ties())
    for name, wrong in (("count", float(count)), ("previous", 0.0), ("tolerance", "0.2")):
        yield f"list with {name} {wrong!r}", changed(**{name: wrong})
    yield "list with a level of another kind", changed(level=str(level))


def lists_of_ties() -> Iterator[tuple[str, Draft]]:
    """One of many supports that are equally good, and arguments that nothing exceeds the level."""
    leaf = (-1, (), ())
    rows = np.random.default_rng(2).standard_normal((20, 6))
    correlations = np.corrcoef(rows.T)
    correlations = 0.5 * (correlations + correlations.T)
    np.fill_diagonal(correlations, 1.0)
    every = tuple(range(6))
    for name, Q in (("correlations", correlations), ("identity", np.eye(6))):
        for kind in (SINGLE, SUMS, CAP):
            yield f"{name} {kind}", tied(Q, 1, [Rung(kind, 1.0)])
            yield f"{name} {kind} with a tree", tied(Q, 1, [Rung(kind, 1.0, 1.0, every, (leaf,))])
        for kept, tree in ((every, (leaf,)), ((), ()), ((0,), (leaf,)), (every, ())):
            yield f"{name} {kept} {tree}", tied(Q, 1, [Rung(SIEVE, 1.0, 1.0, kept, tree)])
    Q, single = np.eye(6), Rung(SINGLE, 1.0)
    for kind in (SUMS, CAP, SINGLE):
        yield f"pairs {kind}", tied(Q, 2, [single, Rung(kind, 1.0)])
        yield (
            f"pairs {kind} with a tree",
            tied(Q, 2, [single, Rung(kind, 1.0, 1.0, every, (leaf,))]),
        )
    for kept in ((), (0,), (0, 1), every):
        for tree in ((), (leaf,), ((-1, kept, ()),), ((0, (), ()), leaf, leaf)):
            for level in (1.0, 0.9, 1.1):
                yield (
                    f"pairs {kept} {tree} {level}",
                    tied(Q, 2, [single, Rung(SIEVE, 1.0, level, kept, tree)]),
                )
    yield "pairs, few rungs", tied(Q, 2, [single])
    B = np.eye(6)
    yield "factor", tied(B, 1, [Rung(SINGLE, 1.0 + 1e-14)], "factor")
    yield "factor, pairs", tied(B, 2, [Rung(SINGLE, 1.1), Rung(SUMS, 2.1)], "factor")


def tied(Q: Any, p: int, ladder: list[Rung], kind: str = "matrix") -> Draft:
    """A list of the first support alone, at a level of 1, and some argument."""
    draft = forge(Q, [p], np.zeros((0, Q.shape[1])), [], [ladder], kind)
    del draft.arrays["components.npy"], draft.manifest["stages"], draft.manifest["exhausted"]
    draft.manifest |= {
        "claim": "alternatives",
        "alternatives": {"previous": 0, "count": 1, "tolerance": 0.0, "level": 1.0},
    }
    draft.arrays |= {
        "previous.npy": np.zeros((0, Q.shape[1])),
        "list/supports.npy": np.arange(p, dtype=np.int32),
        "list/supports_ends.npy": np.array([p]),
        "list/loadings.npy": np.eye(1, p),
        "list/variances.npy": np.ones(1),
    }
    return draft


def _shortened(draft: Draft) -> Draft:
    """The last support with one feature less, and a loading of zero in its place."""
    draft.arrays["list/supports.npy"] = draft.arrays["list/supports.npy"][:-1]
    draft.arrays["list/supports_ends.npy"][-1] -= 1
    return draft
