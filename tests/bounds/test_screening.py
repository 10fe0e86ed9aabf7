"""Tests of what rows rule out: nothing above the cutoff is lost, and the rest is bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from helpers import strategies
from helpers.brute_force import sequence
from helpers.cases import supports_of
from orthospca.blocks.posterior import shifted_frobenius
from orthospca.bounds.classical import frobenius_bound, row_bounds
from orthospca.bounds.screening import best_shift, neighbours, row_slack
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

    @property
    def optimum(self) -> float:
        return max(self.values.values(), default=-math.inf)

    def cutoffs(self) -> list[float]:
        """At, near and far from the optimum, and at the values of other supports."""
        if not self.values:
            return [0.0]
        top, scale = self.optimum, self.scale
        relative = [0.0, 1e-15, -1e-15, 1e-9, -1e-9, 0.1, -0.1, -0.5, 1.0, -2.0]
        others = self.rng.choice(list(self.values.values()), size=3)
        return [top + x * scale for x in relative] + [float(v) for v in others]

    def shifts(self) -> list[float]:
        """Zero, the best for the best support, and absurd ones."""
        scale = self.scale
        found = [0.0, float(self.rng.standard_normal()) * scale, 1e3 * scale, -1e3 * scale]
        if self.values:
            T = max(self.values, key=self.values.__getitem__)
            found.append(best_shift(self.problem.projected[np.ix_(T, T)]))
        return found


@dataclass(frozen=True)
class Screened:
    """What is in the neighbourhood of each candidate row, and a bound on everything else."""

    neighbourhoods: dict[int, set[int]]
    uppers: np.ndarray
    outside: float


def screen(problem: Subproblem, cutoff: float) -> Screened:
    """The neighbourhoods at a cutoff, put together as the bound of blocks does."""
    matrix, p = problem.projected, problem.sparsity
    slack = row_slack(problem)
    uppers = row_bounds(matrix.diagonal(), problem.row_strengths, p, problem.projected_radius)
    outside = float(np.max(uppers, where=uppers <= cutoff, initial=-math.inf))
    found = {}
    for row in np.flatnonzero(uppers > cutoff).tolist():
        allowed, far = neighbours(matrix, row, p, cutoff, float(slack[row]))
        assert (np.diff(allowed) > 0).all()
        found[row] = set(allowed.tolist())
        outside = max(outside, far)
    return Screened(found, uppers, outside)


@pytest.mark.parametrize("kind", KINDS)
def test_neighbourhoods_cover_every_support_above_the_cutoff(kind) -> None:
    """Tests against every support, at each cutoff, with and without components."""
    for seed in range(10):
        case = Case(kind, seed)
        for cutoff in case.cutoffs():
            screened = screen(case.problem, cutoff)
            assert screened.outside <= cutoff
            assert case.supports.above(float(screened.uppers.max())) is None
            assert all(row in allowed for row, allowed in screened.neighbourhoods.items())
            for T in case.values:
                covering = [
                    float(screened.uppers[row])
                    for row, allowed in screened.neighbourhoods.items()
                    if {row} <= set(T) <= allowed
                ]
                # Some row of it bounds a support: one of a neighbourhood, or of what is outside.
                assert not case.supports.exceeds(T, max([*covering, screened.outside])), (T, cutoff)
                if not covering:
                    assert not case.supports.exceeds(T, cutoff), (T, cutoff)


@pytest.mark.parametrize("kind", KINDS)
def test_shifted_norm_bounds_every_support(kind) -> None:
    """Tests the norm with every shift, absurd ones too, in rational arithmetic."""
    for seed in range(10):
        case = Case(kind, seed)
        problem = case.problem
        for shift in case.shifts():
            matrix, p = problem.projected, problem.sparsity
            bound = shifted_frobenius(matrix, p, shift, problem.projected_radius)
            assert case.supports.above(bound) is None, shift


def test_huge_negative_variance() -> None:
    """Tests that a large number, which takes the digits of small ones, rules nothing out.

    The support {0, 1} has the value 2, above the cutoff.
    """
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, -1e9]])
    problem = Subproblem(matrix, 2, np.empty((3, 0)))
    assert {0, 1} <= screen(problem, 1.5).neighbourhoods[0]
    for shift in (0.0, 1.0, -1e9):
        assert shifted_frobenius(matrix, 2, shift) >= 2.0


@pytest.mark.parametrize("scale", [1e-140, 1e-155, 1e-162, 1e-170, 1e-250])
def test_squares_that_vanish(scale: float) -> None:
    """Tests entries whose squares underflow, as those of a small part of a matrix may."""
    for seed in range(20):
        case = Case(strategies.psd, 2 * seed)
        matrix, p = scale * case.matrix, case.problem.sparsity
        problem = Subproblem(matrix, p, np.empty((len(matrix), 0)))
        supports = supports_of(matrix, np.empty((0, len(matrix))), p)
        assert supports.above(frobenius_bound(matrix, p)) is None
        assert supports.above(shifted_frobenius(matrix, p, 0.0)) is None
        for cutoff in (0.0, 0.5 * scale, float(max(supports.values.values()))):
            screened = screen(problem, cutoff)
            for T in supports.values:
                parts = screened.neighbourhoods.items()
                if not any({row} <= set(T) <= allowed for row, allowed in parts):
                    assert not supports.exceeds(T, screened.outside)


@pytest.mark.parametrize("gap", [1e-4, 1e-3, 0.1])
def test_bound_outside_keeps_the_cutoff_to_the_last_digit(gap: float) -> None:
    """Tests many random cutoffs: one digit too much would leave a gap open."""
    rng = np.random.default_rng(0)
    for _ in range(600):
        n = int(rng.integers(2, 12))
        matrix = strategies.psd(rng, n)
        p = int(rng.integers(1, n + 1))
        cutoff = float(rng.uniform(0.5, 1.0) * np.linalg.eigvalsh(matrix)[-1]) * (1 + gap)
        problem = Subproblem(matrix, p, np.empty((n, 0)))
        assert screen(problem, cutoff).outside <= cutoff


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


def test_exactly_tied_rows() -> None:
    """Tests the cutoff at the very value of the rows: all of them tie, and all may be removed."""
    for n, p in combinations(range(2, 7), 2):
        size, places = max(n, p), min(n, p)
        matrix = np.ones((size, size))
        problem = Subproblem(matrix, places, np.empty((size, 0)))
        below = screen(problem, places - 0.5)
        assert len(below.neighbourhoods) == size
        assert below.uppers.max() >= places
        above = screen(problem, places + 0.5)
        assert above.neighbourhoods == {}
        assert places <= above.outside <= places + 0.5


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
