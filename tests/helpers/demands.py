"""Random demands, and what a result with demands promises, checked in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from helpers.exact import ExactMatrix, exceeds, nearly_orthogonal_support, within_tolerance
from orthospca import Result, Status

#: What may be asked, in every combination that makes sense.
CONSTRAINTS = ("include", "exclude", "previous", "disjoint")


def some_demands(
    rng: np.random.Generator, n: int, limits: list[int], constraints: tuple[str, ...]
) -> dict[str, Any]:
    """Arguments of a solve: those named, for all components or for each of its own."""
    count, free = len(limits), list(range(n))
    asked: dict[str, Any] = {}
    if "previous" in constraints:
        asked["previous"] = some_vectors(rng, n)
    if "disjoint" in constraints:
        asked["relation"] = "disjoint"
        used = np.flatnonzero(np.any(asked.get("previous", np.zeros((1, n))), axis=0))
        free = [j for j in free if j not in used]
    each = bool(rng.random() < 0.5) or ("disjoint" in constraints and count > 1)
    included: list[list[int]] = [[] for _ in range(count)]
    if "include" in constraints:
        left = list(rng.permutation(free))
        for k in range(count):
            most = min(limits[k] if each else min(limits), len(left))
            some = int(rng.integers(0, most + 1))
            included[k] = [int(j) for j in rng.permutation(left)[:some]]
            if "disjoint" in constraints:
                left = [j for j in left if j not in included[k]]
            if not each:
                included = [included[0]] * count
                break
        asked["include"] = included if each else included[0]
    if "exclude" in constraints:
        excluded = []
        for k in range(count):
            left = [j for j in range(n) if j not in included[k]]
            some = int(rng.integers(0, min(len(left), n - 1) + 1))
            excluded.append([int(j) for j in rng.permutation(left)[:some]])
        asked["exclude"] = excluded if each else excluded[0]
    return asked


def some_vectors(rng: np.random.Generator, n: int) -> np.ndarray:
    """A few sparse vectors of any length: integers, orthonormal ones, or nearly dependent ones."""
    count = int(rng.integers(1, max(2, n // 2 + 1)))
    kind = rng.integers(3)
    for _ in range(50):
        rows = rng.standard_normal((count, n)) * 10.0 ** rng.integers(-3, 4, size=(count, 1))
        if kind == 0:
            rows = rng.integers(-2, 3, size=(count, n)).astype(float)
        if kind == 1:
            rows = np.linalg.qr(rng.standard_normal((n, count)))[0].T
        else:
            rows *= rng.random((count, n)) < rng.choice([0.3, 0.7, 1.0])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if lengths.all() and np.linalg.svd(rows / lengths)[1][-1] > 1e-6:
            return rows
    return np.eye(n)[:count]


def supports(n: int, p: int, included: list[int], excluded: set[int]) -> Iterator[list[int]]:
    """All supports that are as large as can be."""
    others = [j for j in range(n) if j not in excluded and j not in included]
    for rest in combinations(others, min(p - len(included), len(others))):
        yield sorted((*included, *rest))


def check(
    matrix: ExactMatrix, result: Result, asked: dict[str, Any], eps: float, gap: float
) -> int:
    """Check every promise of a result; how many bounds there were."""
    n = matrix.n_features
    before = np.reshape(asked.get("previous", np.zeros((0, n))), (-1, n))
    unit = before / np.linalg.norm(before, axis=1, keepdims=True)
    for k, stage in enumerate(result.stages):
        x, upper = stage.vector, stage.upper_bound
        included, excluded = of_stage(asked, k, len(result.sparsity), before, result.components)
        used = set(np.flatnonzero(x).tolist())
        assert len(used.union(included)) <= result.sparsity[k]
        assert not used & excluded
        vectors = np.vstack([unit, result.components[:k]])
        assert abs(x @ x - 1) <= 1e-12
        assert np.abs(vectors @ x).max(initial=0.0) <= 2e-12
        assert stage.variance <= upper
        assert Fraction(stage.variance) <= _value(matrix, x)
        if stage.status is Status.OPTIMAL:
            assert within_tolerance(stage.variance, upper, eps, gap)
        exact = np.vstack([before, result.components[:k]])
        for support in supports(n, result.sparsity[k], included, excluded):
            assert not exceeds_on(matrix, exact, support, upper), (k, support, upper)
    if result.exhausted:
        k = result.n_components
        included, excluded = of_stage(asked, k, len(result.sparsity), before, result.components)
        vectors = np.vstack([unit, result.components])
        for support in supports(n, result.sparsity[k], included, excluded):
            if support:
                rows = vectors[:, support]
                assert nearly_orthogonal_support(rows, len(support), 0.0) is None, (k, support)
    return result.n_components


def of_stage(
    asked: dict[str, Any], k: int, count: int, before: np.ndarray, found: np.ndarray
) -> tuple[list[int], set[int]]:
    """What the k-th component has to contain, and what it must not."""
    included, excluded = lists(asked, "include", count), lists(asked, "exclude", count)
    out = set(excluded[k])
    if asked.get("relation") == "disjoint":
        out |= set(np.flatnonzero(np.any(np.vstack([before, found[:k]]), axis=0)).tolist())
        out |= {j for later in included[k + 1 :] for j in later}
    return included[k], out


def lists(asked: dict[str, Any], name: str, count: int) -> list[list[int]]:
    """One list for each component."""
    given = asked.get(name, [])
    return given if given and isinstance(given[0], list) else [given] * count


def exceeds_on(matrix: ExactMatrix, previous: np.ndarray, support: list[int], bound: float) -> bool:
    """Whether a vector on a support, orthogonal to the rows before, is above a bound."""
    if not support or bound == math.inf:
        return False
    part = ExactMatrix(
        [[matrix.integers[i][j] for j in support] for i in support],
        matrix.exponent,
        matrix.rounded[np.ix_(support, support)],
    )
    if bound == -math.inf:
        return nearly_orthogonal_support(previous[:, support], len(support), 0.0) is not None
    return exceeds(part, previous[:, support], bound)


def _value(matrix: ExactMatrix, x: np.ndarray) -> Fraction:
    used = np.flatnonzero(x).tolist()
    loading = {i: Fraction(float(x[i])) for i in used}
    form = sum(loading[i] * loading[j] * matrix.integers[i][j] for i in used for j in used)
    return Fraction(form) / sum(v * v for v in loading.values()) / 2**matrix.exponent
