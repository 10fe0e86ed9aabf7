"""Tests of the exact decisions themselves, against plain fractions and a slower brute force."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers import brute_force
from helpers.exact import (
    ORTHOGONAL,
    ExactMatrix,
    nearly_orthogonal_support,
    support_above,
    within_tolerance,
)
from helpers.problems import DATA, MATRICES, orthonormal
from orthospca import solve


@pytest.mark.parametrize("kind", MATRICES)
def test_fast_decision_is_the_slow_one(kind: str) -> None:
    """Tests bounds above, at and below each stage's optimum, by a few units in the last place."""
    rng = np.random.default_rng(len(kind))
    matrix = MATRICES[kind](rng, 4)
    p = int(rng.integers(2, 4))
    result = solve(matrix, p, 4, gap=1e-6)
    exact = ExactMatrix.of(matrix)
    for k, value in enumerate(result.variances):
        previous = result.components[:k]
        # Not all of it is orthogonal: the exact optimum is a little above or below.
        for bound in (value, *(value + j * math.ulp(value) for j in (-9, -2, -1, 1, 2, 9))):
            fast = support_above(exact, previous, p, bound)
            slow = brute_force.support_above(matrix, previous, p, bound)
            assert (fast is None) == (slow is None)


@pytest.mark.parametrize("smallest", [0.0, 1e-16, 1e-12, 1e-8, 1e-5, 1e-3])
def test_nearly_dependent_components(smallest: float) -> None:
    """Tests the decision where components nearly vanish on a support that holds the optimum."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        previous = orthonormal(rng, 5, 2, 2, smallest).T
        matrix = np.diag(rng.uniform(1, 2, size=5))
        matrix[:2, :2] *= 100
        value = brute_force.stage_optimum(matrix, previous, 2, 1e-14)
        for bound in ([] if value is None else [value.value, 0.999999 * value.value]) + [99.0]:
            fast = support_above(ExactMatrix.of(matrix), previous, 2, bound)
            slow = brute_force.support_above(matrix, previous, 2, bound)
            assert (fast is None) == (slow is None)


def test_infinite_bound_holds() -> None:
    """Tests the bound of a stage of which nothing is known."""
    assert support_above(ExactMatrix.of(np.eye(2)), np.zeros((0, 2)), 1, math.inf) is None


@pytest.mark.parametrize("kind", DATA)
def test_gram_matrix_is_not_rounded(kind: str) -> None:
    """Tests products of columns against sums of fractions."""
    columns = DATA[kind](np.random.default_rng(0), 3)
    exact = ExactMatrix.gram(columns)
    for i, row in enumerate(exact.integers):
        for j, entry in enumerate(row):
            pairs = zip(columns[:, i].tolist(), columns[:, j].tolist(), strict=True)
            expected = sum(Fraction(a) * Fraction(b) for a, b in pairs)
            assert Fraction(entry, 2**exact.exponent) == expected
            assert exact.rounded[i, j] == float(expected)


def test_tolerance_is_decided_exactly() -> None:
    """Tests gaps that are a unit in the last place above and below what is allowed."""
    assert within_tolerance(1.0, 1.0, 0.0, 0.0)
    assert not within_tolerance(1.0, 1.0 + 2.0**-52, 0.0, 0.0)
    assert within_tolerance(1.0, 1.0 + 2.0**-52, 0.0, 2.0**-52)
    assert within_tolerance(-1.0, -0.5, 0.0, 0.5)
    assert not within_tolerance(-1.0, math.nextafter(-0.5, 0.0), 0.0, 0.5)
    # 1.1 - 1 is rounded to less than 0.1 is: the difference of the numbers themselves is more.
    assert not within_tolerance(1.0, 1.1, 0.1, 0.0)


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.9999, 1.0001, 2.0, 1e6])
def test_nearly_orthogonal_vectors(factor: float) -> None:
    """Tests the edge of what counts as orthogonal to all components."""
    components = np.diag([1.0, factor * ORTHOGONAL])
    assert (nearly_orthogonal_support(components, 2) is None) == (factor > 1)
    assert (nearly_orthogonal_support(components, 1) is None) == (factor > 1)
    assert nearly_orthogonal_support(components[:1], 2) == (0, 1)
