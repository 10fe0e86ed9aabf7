"""Tests of the shifted norm, which bounds every support whatever the shift."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers import strategies
from helpers.brute_force import sequence
from helpers.cases import supports_of
from orthospca.bounds.classical import frobenius_bound, norm_bounds
from orthospca.bounds.screening import best_shift
from orthospca.model.stage import Subproblem


def lopsided(rng: np.random.Generator, n: int) -> np.ndarray:
    """A few hugely negative variances: large squares that no support of interest contains."""
    matrix = strategies.correlation(rng, n)
    size = 10.0 ** rng.uniform(6, 12)
    matrix[np.diag_indices(n)] -= size * (rng.random(n) < 0.3)
    return matrix


def wide(rng: np.random.Generator, n: int) -> np.ndarray:
    """Indefinite, with entries from 1e-8 to 1e8."""
    square = strategies.indefinite(rng, n) * 10.0 ** rng.uniform(-4, 4, size=(n, n))
    return (square + square.T) / 2


KINDS = (
    *(getattr(strategies, kind.replace("-", "_")) for kind in strategies.KINDS),
    lopsided,
    wide,
)


class Case:
    """A random problem with the value of each of its supports."""

    def __init__(self, kind, seed: int) -> None:
        self.rng = rng = np.random.default_rng([seed, KINDS.index(kind)])
        n = int(rng.integers(1, 9))
        p = int(rng.choice([1, min(2, n), n, rng.integers(1, n + 1)]))
        self.matrix = kind(rng, n)
        previous = np.empty((0, n))
        if seed % 2 and n > 1:
            found = sequence(self.matrix, [p] * int(rng.integers(1, 3)))
            previous = np.array([optimum.vector for optimum in found])
        self.problem = Subproblem(self.matrix, p, np.ascontiguousarray(previous.T))
        self.supports = supports_of(self.matrix, previous, p)
        self.values, self.scale = self.supports.values, self.supports.scale

    def shifts(self) -> list[float]:
        """Zero, the best for the best support, and absurd ones."""
        scale = self.scale
        found = [0.0, float(self.rng.standard_normal()) * scale, 1e3 * scale, -1e3 * scale]
        if self.values:
            T = max(self.values, key=self.values.__getitem__)
            found.append(best_shift(self.problem.projected[np.ix_(T, T)]))
        return found


def shifted_norm(matrix: np.ndarray, T: tuple[int, ...], shift: float, radius: float) -> float:
    """The bound of one support, from the squares of its entries."""
    part = matrix[np.ix_(T, T)] - shift * np.eye(len(T))
    return float(norm_bounds(shift, np.square(part).sum(), len(T), radius))


@pytest.mark.parametrize("kind", KINDS)
def test_shifted_norm_bounds_every_support(kind) -> None:
    """Tests the norm with every shift, absurd ones too, in rational arithmetic."""
    for seed in range(10):
        case = Case(kind, seed)
        matrix, radius = case.problem.projected, case.problem.projected_radius
        for shift in case.shifts():
            for T in case.values:
                assert not case.supports.exceeds(T, shifted_norm(matrix, T, shift, radius)), shift


@pytest.mark.parametrize("scale", [1e-140, 1e-155, 1e-162, 1e-170, 1e-250])
def test_squares_that_vanish(scale: float) -> None:
    """Tests entries whose squares underflow, as those of a small part of a matrix may."""
    for seed in range(20):
        case = Case(strategies.psd, 2 * seed)
        matrix, p = scale * case.matrix, case.problem.sparsity
        supports = supports_of(matrix, np.empty((0, len(matrix))), p)
        assert supports.above(frobenius_bound(matrix, p)) is None
        for T in supports.values:
            assert not supports.exceeds(T, shifted_norm(matrix, T, 0.0, 0.0))


@pytest.mark.parametrize("adjusted", ["projected", "penalised"])
def test_adjusted_covariance_keeps_the_form_of_feasible_vectors(adjusted: str) -> None:
    """Tests ``zᵀAz = zᵀQz`` up to the radius, in rational arithmetic, for z orthogonal to X."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 7))
        z = rng.integers(-3, 4, size=n)
        z[0] = 1
        X = np.zeros((n, int(rng.integers(1, 3))))
        for column in X.T:
            # Orthogonal to z in integers, then shorter than one by a power of two.
            for _ in range(3):
                i, j = rng.permutation(n)[:2]
                column[i] += z[j]
                column[j] -= z[i]
            column *= 2.0 ** -math.ceil(math.log2(np.linalg.norm(column) + 1))
        square = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-3, 3, size=(n, n))
        problem = Subproblem(square + square.T, int(rng.integers(1, n + 1)), X)
        form = exact_form(getattr(problem, adjusted), z) - exact_form(problem.covariance, z)
        radius = Fraction(getattr(problem, f"{adjusted}_radius"))
        assert abs(form) <= radius * int(np.abs(z).sum()) ** 2


def exact_form(matrix: np.ndarray, z: np.ndarray) -> Fraction:
    """``zᵀ matrix z`` for integers z."""
    terms = (
        Fraction(float(value)) * int(z[i]) * int(z[j]) for (i, j), value in np.ndenumerate(matrix)
    )
    return sum(terms, Fraction(0))


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5])
def test_best_shift_is_best(p: int) -> None:
    """Tests that no other shift makes the Frobenius bound of a support smaller."""
    rng = np.random.default_rng(p)
    for _ in range(50):
        matrix = strategies.indefinite(rng, p)

        def bound(shift: float, matrix: np.ndarray = matrix) -> float:
            return shift + float(np.linalg.norm(matrix - shift * np.eye(len(matrix))))

        best = best_shift(matrix)
        assert bound(best) >= np.linalg.eigvalsh(matrix)[-1] - 1e-12
        for other in best + rng.standard_normal(20) * 10.0 ** rng.uniform(-3, 2, size=20):
            assert bound(best) <= bound(float(other)) + 1e-9
