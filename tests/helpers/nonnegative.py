"""What a result with non-negative loadings promises, decided in integers.

``U`` bounds ``xᵀQx`` over unit vectors ``x ≥ 0`` on a support if and only if ``U·I - Q`` is
copositive there.  Keller's theorem (see Cottle, Habetler, Lemke, Linear Algebra and its
Applications 3, 1970, 295-310): a symmetric matrix is strictly copositive if and only if every
principal submatrix whose last row has positive cofactors only has a positive determinant.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from helpers.demands import of_stage
from helpers.exact import ExactMatrix, within_tolerance
from orthospca import Result, Status

#: Where a matrix is copositive, it is strictly so with this added to its diagonal.
A_LITTLE = Fraction(1, 2**200)


def determinant(rows: list[list[int]]) -> int:
    """By elimination without fractions (Bareiss)."""
    rows, sign, last = [row[:] for row in rows], 1, 1
    for k in range(len(rows) - 1):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        for i in range(k + 1, len(rows)):
            for j in range(k + 1, len(rows)):
                rows[i][j] = (rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]) // last
        last = rows[k][k]
    return sign * rows[-1][-1] if rows else 1


def violates(rows: list[list[int]]) -> bool:
    """Whether a principal submatrix shows that the whole is not strictly copositive."""
    last = len(rows) - 1
    for j in range(len(rows)):
        minor = [[row[c] for c in range(len(rows)) if c != j] for row in rows[:last]]
        if (-1) ** (last + j) * determinant(minor) <= 0:
            return False
    return determinant(rows) <= 0


def above(matrix: ExactMatrix, supports: list[tuple[int, ...]], bound: float) -> Any:
    """A support on which a non-negative vector is above a bound; None if there is none."""
    if bound == math.inf:
        return None
    shifted = matrix.below(Fraction(bound) + A_LITTLE)
    smaller = {s for T in supports for k in range(1, len(T) + 1) for s in combinations(T, k)}
    for support in sorted(smaller, key=len):
        if violates([[shifted[i][j] for j in support] for i in support]):
            return support
    return None


def check(
    matrix: ExactMatrix, result: Result, asked: dict[str, Any], eps: float, gap: float
) -> None:
    """Check every promise of a result."""
    n = matrix.n_features
    before = np.reshape(asked.get("previous", np.zeros((0, n))), (-1, n))
    disjoint = asked | {"relation": "disjoint"}
    count = len(result.sparsity)
    for k, stage in enumerate(result.stages):
        x, upper = stage.vector, stage.upper_bound
        included, excluded = of_stage(disjoint, k, count, before, result.components)
        used = set(np.flatnonzero(x).tolist())
        assert (x >= 0).all()
        assert len(used.union(included)) <= result.sparsity[k]
        assert not used & excluded
        assert abs(x @ x - 1) <= 1e-12
        assert stage.variance <= upper
        assert stage.variance <= matrix.stated(x)
        if stage.status is Status.OPTIMAL:
            assert within_tolerance(stage.variance, upper, eps, gap)
        supports = allowed(n, result.sparsity[k], included, excluded)
        assert (found := above(matrix, supports, upper)) is None, (k, found, upper)
    if result.exhausted:
        k = result.n_components
        included, excluded = of_stage(disjoint, k, count, before, result.components)
        assert not any(allowed(n, result.sparsity[k], included, excluded))


def allowed(n: int, p: int, included: list[int], excluded: set[int]) -> list[tuple[int, ...]]:
    """All supports that are as large as can be."""
    others = [j for j in range(n) if j not in excluded and j not in included]
    size = min(p - len(included), len(others))
    return [tuple(sorted((*included, *rest))) for rest in combinations(others, size)]
