"""Tests of the screening: nothing above the cutoff is ruled out, and the rest is bounded."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from helpers import strategies
from helpers.brute_force import sequence
from helpers.cases import supports_of
from orthospca.bounds.classical import frobenius_bound
from orthospca.bounds.screening import Screening, best_shift, fix_by_frobenius, refine, screen
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


def check(case: Case, screening: Screening, cutoff: float) -> None:
    """The neighbourhoods cover what is above the cutoff; the rest is bounded by what they say."""
    for T in case.values:
        covering = [
            part.upper
            for part in screening.neighbourhoods
            if {part.row} <= set(T) <= {*part.allowed}
        ]
        # Some row of it bounds a support: that of its neighbourhoods, or of what is outside.
        upper = max([*covering, screening.removed_upper])
        assert not case.supports.exceeds(T, upper), (T, cutoff)
        if not covering:
            assert not case.supports.exceeds(T, cutoff), (T, cutoff)
    assert screening.removed_upper <= cutoff
    assert case.supports.above(screening.upper) is None
    for part in screening.neighbourhoods:
        assert part.row in part.allowed
        assert (np.diff(part.allowed) > 0).all()
        assert part.upper <= screening.upper
    rows = [part.row for part in screening.neighbourhoods]
    assert len(set(rows)) == len(rows)
    assert set(screening.allowed) == {
        int(i) for part in screening.neighbourhoods for i in part.allowed
    }


@pytest.mark.parametrize("kind", KINDS)
def test_neighbourhoods_cover_every_support_above_the_cutoff(kind) -> None:
    """Tests against every support, for each cutoff and shift, with and without components."""
    for seed in range(10):
        case = Case(kind, seed)
        for cutoff in case.cutoffs():
            screening = screen(case.problem, cutoff)
            check(case, screening, cutoff)
            for shift in case.shifts():
                check(case, refine(case.problem, screening, cutoff, shift), cutoff)


@pytest.mark.parametrize("kind", KINDS)
def test_many_candidate_rows(kind) -> None:
    """Tests that rows which are not looked at one by one keep all their neighbours."""
    for seed in range(3):
        case = Case(kind, seed)
        for cutoff in case.cutoffs():
            check(case, screen(case.problem, cutoff, many=2), cutoff)


@pytest.mark.parametrize("kind", KINDS)
def test_frobenius_keeps_every_support_above_the_cutoff(kind) -> None:
    """Tests random nodes against every support in them."""
    for seed in range(8):
        case = Case(kind, seed)
        rng, p, n = case.rng, case.problem.sparsity, len(case.matrix)
        for cutoff in case.cutoffs():
            allowed = np.sort(rng.permutation(n)[: int(rng.integers(p, n + 1))])
            included = np.sort(rng.permutation(allowed)[: int(rng.integers(0, p + 1))])
            within = [T for T in case.values if set(included) <= set(T) <= set(allowed)]
            for shift in case.shifts():
                fixed = fix_by_frobenius(case.problem, included, allowed, cutoff, shift)
                assert set(fixed.allowed) <= set(allowed)
                assert set(included) <= set(fixed.allowed) or len(fixed.allowed) == 0
                gone = [T for T in within if not set(T) <= set(fixed.allowed)]
                assert case.supports.above(fixed.removed_upper, gone) is None
                assert fixed.removed_upper <= cutoff


def test_frobenius_with_a_huge_negative_variance() -> None:
    """Tests that a large square, which takes the digits of the small ones, rules nothing out.

    The support {0, 1} has the value 2, above the cutoff.
    """
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, -1e9]])
    problem = Subproblem(matrix, 2, np.empty((3, 0)))
    fixed = fix_by_frobenius(problem, np.array([0]), np.arange(3), cutoff=1.5)
    assert {0, 1} <= set(fixed.allowed)
    rows = [part for part in screen(problem, 1.5).neighbourhoods if part.row == 0]
    assert any({0, 1} <= set(part.allowed) for part in rows)


@pytest.mark.parametrize("scale", [1e-140, 1e-155, 1e-162, 1e-170, 1e-250])
def test_squares_that_vanish(scale: float) -> None:
    """Tests entries whose squares underflow, as those of a small part of a matrix may."""
    for seed in range(20):
        case = Case(strategies.psd, 2 * seed)
        matrix, p = scale * case.matrix, case.problem.sparsity
        problem = Subproblem(matrix, p, np.empty((len(matrix), 0)))
        supports = supports_of(matrix, np.empty((0, len(matrix))), p)
        everything = np.arange(len(matrix))
        assert supports.above(frobenius_bound(matrix, p)) is None
        for cutoff in (0.0, 0.5 * scale, float(max(supports.values.values()))):
            fixed = fix_by_frobenius(problem, everything[:0], everything, cutoff)
            gone = [T for T in supports.values if not set(T) <= set(fixed.allowed)]
            assert supports.above(fixed.removed_upper, gone) is None
            screening = refine(problem, screen(problem, cutoff), cutoff)
            assert supports.above(max(screening.upper, screening.removed_upper)) is None
            for T in supports.values:
                parts = screening.neighbourhoods
                if not any({part.row} <= set(T) <= {*part.allowed} for part in parts):
                    assert not supports.exceeds(T, screening.removed_upper)


@pytest.mark.parametrize("gap", [1e-4, 1e-3, 0.1])
def test_removed_upper_keeps_the_cutoff_to_the_last_digit(gap: float) -> None:
    """Tests many random cutoffs: one digit too much would turn "optimal" into "node limit"."""
    rng = np.random.default_rng(0)
    for _ in range(600):
        n = int(rng.integers(2, 12))
        matrix = strategies.psd(rng, n)
        p = int(rng.integers(1, n + 1))
        cutoff = float(rng.uniform(0.5, 1.0) * np.linalg.eigvalsh(matrix)[-1]) * (1 + gap)
        problem = Subproblem(matrix, p, np.empty((n, 0)))
        screening = screen(problem, cutoff)
        assert screening.removed_upper <= cutoff
        refined = refine(problem, screening, cutoff, float(rng.standard_normal()))
        assert refined.removed_upper <= cutoff


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
        assert below.upper >= places
        above = screen(problem, places + 0.5)
        assert above.neighbourhoods == ()
        assert above.allowed.size == 0
        assert places <= above.removed_upper <= places + 0.5


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
