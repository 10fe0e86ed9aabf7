"""Tests of the statements about eigenvalues that hold in spite of rounding: no false proof.

The matrices have integer entries (times a power of two) and a largest eigenvalue that is known
exactly, with an eigenvector of integers. Every threshold up to that eigenvalue is adversarial: to
prove it would be wrong. Numbers are compared exactly, as floats, integers or fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from helpers.exact import exceeds
from helpers.seeds import FULL, crossed
from orthospca.numerics import rigor, rounding

#: Adversarial thresholds that each of the tests must try.
THRESHOLDS = 100_000 if FULL else 25_000
#: How far above the eigenvalue a proof may be, relative to the size of the matrix.
TIGHTNESS = 1e-11
#: No components to be orthogonal to.
NOTHING = np.empty((0, 0))


@dataclass(frozen=True)
class Known:
    """A matrix whose largest eigenvalue is known exactly, with an integer eigenvector of it."""

    matrix: np.ndarray
    largest: float
    vector: np.ndarray

    @property
    def size(self) -> float:
        """The largest absolute row sum, which bounds all eigenvalues (tiny for the zero matrix)."""
        return max(float(np.abs(self.matrix).sum(axis=1).max()), 1e-270)


def known(matrix: np.ndarray, largest: int, vector: np.ndarray) -> Known:
    """Check the eigenvector in integers, and that all numbers are represented exactly."""
    assert np.abs(matrix).max() < 2**52
    assert (matrix @ vector == largest * vector).all()
    assert vector.any()
    return Known(matrix.astype(float), float(largest), vector)


def rank_one(rng: np.random.Generator) -> Known:
    """``k v vᵀ + d I``."""
    v = rng.integers(-9, 10, size=int(rng.integers(2, 13)))
    v[0] = rng.integers(1, 10)
    k, d = int(rng.integers(1, 1000)), int(rng.integers(-1000, 1000))
    return known(k * np.outer(v, v) + d * np.eye(len(v), dtype=int), k * int(v @ v) + d, v)


def reflected(rng: np.random.Generator) -> Known:
    """``H D H`` with the integer reflection ``H = vᵀv I - 2vvᵀ``; the largest may be multiple."""
    n = int(rng.integers(2, 13))
    v = rng.integers(-3, 4, size=n)
    v[0] = 2
    H = int(v @ v) * np.eye(n, dtype=int) - 2 * np.outer(v, v)
    values = rng.integers(-50, 51, size=n)
    values[rng.random(n) < 0.3] = values.max()
    top = int(values.argmax())
    return known((H * values) @ H, int(v @ v) ** 2 * int(values[top]), H[:, top])


def hadamard(rng: np.random.Generator) -> Known:
    """``H D Hᵀ`` with a Hadamard matrix: eigenvectors of ±1, entries of very different sizes."""
    H = np.array([[1]])
    for _ in range(int(rng.integers(1, 5))):
        H = np.block([[H, H], [H, -H]])
    values = rng.integers(-(10 ** int(rng.integers(0, 8))), 10 ** int(rng.integers(0, 8)), len(H))
    top = int(values.argmax())
    return known((H * values) @ H.T, len(H) * int(values[top]), H[:, top])


def circulant(rng: np.random.Generator) -> Known:
    """Constant row sums and nothing negative beside the diagonal: the row sum is the largest."""
    n = int(rng.integers(2, 16))
    row = rng.integers(0, 100, size=n)
    row[0] = rng.integers(-1000, 1000)
    offsets = np.abs(np.arange(n)[:, None] - np.arange(n))
    matrix = row[np.minimum(offsets, n - offsets)]
    return known(matrix, int(matrix[0].sum()), np.ones(n, dtype=int))


def bipartite(rng: np.random.Generator) -> Known:
    """A complete bipartite graph: indefinite, with a spectrum that is symmetric about zero."""
    a, b = ((1, 4), (2, 8), (4, 9), (1, 9), (3, 12), (1, 1), (5, 5), (9, 1))[rng.integers(8)]
    matrix = np.zeros((a + b, a + b), dtype=int)
    matrix[:a, a:] = matrix[a:, :a] = 1
    root = math.isqrt(a * b)
    return known(matrix, root, np.repeat([root, a], [a, b]))


def laplacian(rng: np.random.Generator) -> Known:
    """The Laplacian of a complete graph: the largest eigenvalue n - 1 times, and zero."""
    n = int(rng.integers(2, 20))
    vector = np.zeros(n, dtype=int)
    vector[[0, -1]] = 1, -1
    return known(n * np.eye(n, dtype=int) - 1, n, vector)


def hypercube(rng: np.random.Generator) -> Known:
    """A hypercube graph: sparse, and half of all differences of eigenvalues coincide."""
    bits = int(rng.integers(1, 6))
    corner = np.arange(2**bits)
    distance = np.vectorize(int.bit_count, otypes=[int])(corner[:, None] ^ corner)
    return known((distance == 1).astype(int), bits, np.ones(2**bits, dtype=int))


SIMPLE = (rank_one, reflected, hadamard, circulant, bipartite, laplacian, hypercube)


def blocks(rng: np.random.Generator) -> Known:
    """Two of them side by side."""
    one, two = (SIMPLE[rng.integers(len(SIMPLE))](rng) for _ in range(2))
    if one.largest < two.largest:
        one, two = two, one
    n = len(one.matrix)
    matrix = np.zeros((n + len(two.matrix),) * 2, dtype=np.int64)
    matrix[:n, :n], matrix[n:, n:] = one.matrix, two.matrix
    return known(matrix, int(one.largest), np.append(one.vector, 0 * two.vector))


FAMILIES = (*SIMPLE, blocks)


def disguised(rng: np.random.Generator, family: Callable[[np.random.Generator], Known]) -> Known:
    """A member of a family, shifted, scaled by a power of two and with permuted signs and rows."""
    base = family(rng)
    n = len(base.matrix)
    shift = int(rng.choice([0, 0, 1, -1])) * 10 ** int(rng.integers(0, 10))
    matrix = base.matrix.astype(np.int64) + shift * np.eye(n, dtype=np.int64)
    order, signs = rng.permutation(n), rng.choice([-1, 1], size=n)
    matrix = (matrix * np.outer(signs, signs))[np.ix_(order, order)]
    found = known(matrix, int(base.largest) + shift, (base.vector * signs)[order])
    scale = 2.0 ** int(rng.choice([0, 0, 0, rng.integers(-300, 300)]))
    return Known(found.matrix * scale, found.largest * scale, found.vector)


def thresholds_up_to(rng: np.random.Generator, largest: float, size: float, count: int) -> list:
    """Numbers that are at most `largest`: itself, its neighbours, and others a little below."""
    below = [largest, math.nextafter(largest, -math.inf), largest - abs(largest) * 2.0**-52]
    for unit in (2.0**-53 * abs(largest), 2.0**-53 * size, size):
        below.extend(largest - unit * rng.integers(1, 30, size=count // 6))
        below.extend(largest - unit * 10.0 ** rng.uniform(-17, 3, size=count // 6))
    return [t for t in map(float, below) if t <= largest]


def float_below(number: Fraction) -> float:
    """The largest float that is at most `number`."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def is_upper_bound(matrix: np.ndarray, bound: float) -> bool:
    """Whether no eigenvalue exceeds `bound`, decided in rational arithmetic."""
    return not exceeds(matrix, NOTHING, bound)


@pytest.mark.parametrize("family", FAMILIES)
def test_eigenvalue_up_to_the_largest_is_never_proved(family) -> None:
    """Tests thresholds up to λmax, 100 000 in all families together: none is proved."""
    rng = np.random.default_rng(FAMILIES.index(family))
    tried = 0
    while tried * len(FAMILIES) < THRESHOLDS:
        case = disguised(rng, family)
        for threshold in thresholds_up_to(rng, case.largest, case.size, 90):
            assert not rigor.proves_below(case.matrix, threshold), (case, threshold)
            tried += 1


@pytest.mark.parametrize("family", FAMILIES)
def test_eigenvalue_is_proved_from_just_above(family) -> None:
    """Tests that the proof, which always errs on the safe side, errs only a little."""
    rng = np.random.default_rng(FAMILIES.index(family))
    for _ in range(200):
        case = disguised(rng, family)
        assert rigor.proves_below(case.matrix, case.largest + TIGHTNESS * case.size)


@pytest.mark.parametrize("family", FAMILIES)
def test_singular_matrix_is_never_proved_definite(family) -> None:
    """Tests ``λmax I - Q``, exact in integers, and what is slightly less: it is not definite."""
    rng = np.random.default_rng(100 + FAMILIES.index(family))
    tried = 0
    while tried * len(FAMILIES) < THRESHOLDS / 2:
        case = disguised(rng, family)
        singular = -case.matrix
        singular[np.diag_indices(len(singular))] += case.largest
        assert not rigor.proves_positive_definite(singular)
        units = 2.0**-53 * case.size * 10.0 ** rng.uniform(-2, 5, size=100)
        for less in units:
            # Lowered in an eigenvector's direction, or on the diagonal, which rounds downwards.
            at = int(np.flatnonzero(case.vector)[0])
            lowered = singular.copy()
            lowered[at, at] = math.nextafter(lowered[at, at] - less, -math.inf)
            assert not rigor.proves_positive_definite(lowered)
            tried += 1


@pytest.mark.parametrize("family", FAMILIES)
def test_eigenvalues_of_a_stack_are_never_proved_falsely(family) -> None:
    """Tests the batched factorisation on signed permutations, which share their eigenvalues."""
    rng = np.random.default_rng(200 + FAMILIES.index(family))
    tried = 0
    while tried * len(FAMILIES) < THRESHOLDS:
        case = disguised(rng, family)
        n = len(case.matrix)
        orders = np.array([rng.permutation(n) for _ in range(40)])
        signs = rng.choice([-1.0, 1.0], size=(40, n))
        copies = case.matrix[orders[:, :, None], orders[:, None, :]]
        copies = copies * signs[:, :, None] * signs[:, None, :]
        stack = np.ascontiguousarray(copies.transpose(1, 2, 0))
        for threshold in thresholds_up_to(rng, case.largest, case.size, 60):
            assert not rigor.proved_below_stacked(stack.copy(), threshold, 0.0).any()
            tried += len(copies)
        above = case.largest + TIGHTNESS * case.size
        assert rigor.proved_below_stacked(stack.copy(), above, 0.0).all()


@pytest.mark.parametrize("p", [1, 2, 3, 5, 8, 12])
def test_eigenvalues_on_supports_are_never_proved_falsely(p: int) -> None:
    """Tests supports of ``k v vᵀ + d I``: on T the largest eigenvalue is ``k‖v_T‖² + d``."""
    rng = np.random.default_rng(p)
    tried = 0
    while tried * 6 < THRESHOLDS:
        v = rng.integers(-9, 10, size=30)
        k = int(rng.integers(1, 1000))
        d = int(rng.choice([-1, 0, 1])) * 10 ** int(rng.integers(0, 10))
        matrix = (k * np.outer(v, v) + d * np.eye(30, dtype=int)).astype(float)
        supports = np.array([np.sort(rng.permutation(30)[:p]) for _ in range(200)])
        largest = (k * np.square(v[supports]).sum(axis=1) + d).astype(float)
        size = float(np.abs(matrix).max()) * p
        for chosen in rng.integers(0, 200, size=10):
            for threshold in thresholds_up_to(rng, float(largest[chosen]), size, 12):
                proved = rigor.proved_below_on_supports(matrix, supports, threshold)
                assert not (proved & (largest >= threshold)).any()
                assert proved[largest < threshold - TIGHTNESS * size].all()
                tried += int(np.count_nonzero(largest >= threshold))


def test_supports_beyond_one_sweep() -> None:
    """Tests that more supports than fit in one sweep are all answered, each for itself."""
    rng = np.random.default_rng(0)
    v = rng.integers(-5, 6, size=16)
    matrix = np.outer(v, v).astype(float)
    supports = np.array(list(combinations(range(16), 5)))
    assert len(supports) > rigor.SUPPORTS_AT_ONCE
    largest = np.square(v[supports]).sum(axis=1)
    threshold = float(np.median(largest)) + 0.5
    proved = rigor.proved_below_on_supports(matrix, supports, threshold)
    np.testing.assert_array_equal(proved, largest < threshold)


@pytest.mark.parametrize("family", FAMILIES)
def test_upper_eigenvalue_is_above_and_tight(family) -> None:
    """Tests that the bound is above λmax exactly, and within 1e-11 of it."""
    rng = np.random.default_rng(300 + FAMILIES.index(family))
    for _ in range(400):
        case = disguised(rng, family)
        upper = rigor.upper_eigenvalue(case.matrix)
        assert case.largest < upper <= case.largest + TIGHTNESS * case.size


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_upper_eigenvalue_of_any_matrix(n: int) -> None:
    """Tests matrices of random floats in rational arithmetic, with estimates good and absurd."""
    rng = np.random.default_rng(n)
    for _ in range(60):
        square = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-6, 6, size=(n, n))
        matrix = square + square.T
        size = float(np.abs(matrix).sum(axis=1).max())
        estimates = [None, -size, size, 0.0, 1e3 * size, float(matrix[0, 0])]
        for estimate in estimates:
            upper = rigor.upper_eigenvalue(matrix, estimate)
            assert upper == math.inf or is_upper_bound(matrix, upper)
        assert math.isfinite(rigor.upper_eigenvalue(matrix))


@pytest.mark.parametrize("estimate", [0.0, -1.0, 1e-200, 5.0])
def test_bad_estimate_only_costs_time(estimate: float) -> None:
    """Tests that a bad estimate still leads to a bound, as the documentation promises."""
    upper = rigor.upper_eigenvalue(np.array([[0.0, 1.0], [1.0, 0.0]]), estimate)
    assert 1 < upper < math.inf


@pytest.mark.parametrize("family", FAMILIES)
def test_radius_covers_the_worst_perturbation(family) -> None:
    """Tests that entries off by the radius, all in the direction of the eigenvector, are covered.

    With ``E = ρ sign(x) sign(x)ᵀ`` the Rayleigh quotient of the known eigenvector x rises by
    ``ρ ‖x‖₁² / ‖x‖²``: nothing up to there may be proved.
    """
    rng = np.random.default_rng(400 + FAMILIES.index(family))
    for _ in range(150 if FULL else 50):
        case = disguised(rng, family)
        length = Fraction(int(np.abs(case.vector).sum()) ** 2, int(case.vector @ case.vector))
        radius = case.size * 2.0 ** float(rng.integers(-60, 2))
        reached = Fraction(case.largest) + Fraction(radius) * length
        top = float_below(reached)
        stack = np.repeat(case.matrix[:, :, None], 3, axis=2)
        everything = np.arange(len(case.matrix))[None]
        for threshold in (top, math.nextafter(top, -math.inf), case.largest):
            assert not rigor.proves_below(case.matrix, threshold, radius)
            assert not rigor.proved_below_on_supports(
                case.matrix, everything, threshold, radius
            ).any()
            radii = np.full(3, radius)
            assert not rigor.proved_below_stacked(stack.copy(), threshold, radii).any()
        upper = rigor.upper_eigenvalue(case.matrix, radius=radius)
        assert Fraction(upper) > reached
        n = len(case.matrix)
        assert upper <= case.largest + 8 * n * radius + TIGHTNESS * case.size


@pytest.mark.parametrize("n", [1, 2, 3])
def test_radius_covers_any_perturbation(n: int) -> None:
    """Tests random perturbations up to the radius, decided in rational arithmetic."""
    rng = np.random.default_rng(n)
    for _ in range(100):
        # Multiples of 2⁻⁴⁰ below 2⁷: the perturbed matrix is represented exactly.
        matrix = np.tril(rng.integers(-50, 51, size=(n, n))).astype(float)
        matrix = matrix + np.tril(matrix, -1).T
        radius = 2.0 ** float(rng.integers(-40, 3))
        upper = rigor.upper_eigenvalue(matrix, radius=radius)
        for _ in range(4):
            signs = np.tril(rng.choice([-1, 1], size=(n, n)))
            signs = signs + np.tril(signs, -1).T
            assert is_upper_bound(matrix + radius * signs, upper)


def test_radius_of_a_single_number() -> None:
    """Tests the order one, without factorisation: the sum is rounded upwards, if at all."""
    rng = np.random.default_rng(0)
    for _ in range(2000):
        value = float(rng.standard_normal() * 10.0 ** rng.uniform(-10, 10))
        radius = float(10.0 ** rng.uniform(-20, 12))
        upper = rigor.upper_eigenvalue(np.array([[value]]), radius=radius)
        assert Fraction(upper) >= Fraction(value) + Fraction(radius), (value, radius)
        assert rigor.upper_eigenvalue(np.array([[value]])) == value


@pytest.mark.parametrize("n", [1, 2, 3, 8, 40, 150])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nothing_is_proved_of_what_is_not_a_number(n: int, bad: float) -> None:
    """Tests that entries, thresholds or radii that are not finite never lead to a proof.

    LAPACK implementations differ in whether a pivot that is not a number counts as a failure.
    """
    for at in {(0, 0), (n - 1, 0), (n - 1, n // 2), (n - 1, n - 1)}:
        matrix = np.eye(n)
        matrix[at] = matrix[at[::-1]] = bad
        with np.errstate(all="ignore"):
            assert not rigor.proves_positive_definite(matrix)
            assert not rigor.proves_below(matrix, 2.0) or (at[0] == at[1] and bad == -math.inf)
            assert rigor.upper_eigenvalue(matrix, 1.0) == math.inf or bad == -math.inf
            stack = np.repeat(matrix[:, :, None], 2, axis=2)
            assert not rigor.proved_below_stacked(stack, 2.0, 0.0).any()
    with np.errstate(all="ignore"):
        if bad != -math.inf:
            assert not rigor.proves_positive_definite(np.eye(n), radius=bad)
            assert rigor.upper_eigenvalue(np.eye(n), 1.0, radius=bad) == math.inf or n == 1
        assert not rigor.proves_below(np.eye(n), math.nan)
        assert not rigor.proves_below(np.eye(n), -math.inf)


def test_empty_matrix() -> None:
    """Tests the order zero: no vector, so no value, and everything is proved."""
    empty = np.empty((0, 0))
    assert rigor.proves_positive_definite(empty)
    assert rigor.proves_below(empty, -5.0)
    assert rigor.upper_eigenvalue(empty) == -math.inf


@pytest.mark.parametrize("exponent", [-1074, -1050, -1000, -960, 900, 1000])
def test_ends_of_the_range_of_floats(exponent: int) -> None:
    """Tests underflow and overflow: no false proof, and no exception."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        v = rng.integers(-2, 3, size=5)
        v[0] = 1
        matrix = np.outer(v, v) * 2.0**exponent
        largest = float(v @ v) * 2.0**exponent
        with np.errstate(over="ignore", invalid="ignore"):
            for threshold in (largest, 0.75 * largest, 0.0):
                assert not rigor.proves_below(matrix, threshold)
            assert rigor.upper_eigenvalue(matrix) > largest


def orthogonal_to(rng: np.random.Generator, z: np.ndarray) -> np.ndarray:
    """A random vector of small integers that is exactly orthogonal to the integers z."""
    v = np.zeros(len(z), dtype=int)
    while not v.any():
        for _ in range(3):
            i, j = rng.permutation(len(z))[:2]
            factor = int(rng.integers(-2, 3))
            v[i] += factor * z[j]
            v[j] -= factor * z[i]
    return v


def exact_form(matrix: np.ndarray, z: np.ndarray) -> Fraction:
    """``zᵀ matrix z`` for integers z."""
    n = len(z)
    return sum(
        (Fraction(float(matrix[i, j])) * int(z[i]) * int(z[j]) for i in range(n) for j in range(n)),
        Fraction(0),
    )


@pytest.mark.parametrize(
    ("closeness", "batched", "extended"),
    crossed([0, 10, 20, 33, 42, 47], [False, True], [False, True]),
)
def test_constraints_keep_the_form_on_the_complement(
    closeness: int, batched: bool, extended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests ``zᵀCz = zᵀQz`` up to the radius, exactly, for rational null vectors z.

    Columns of V differ by a multiple of 2^-closeness, so its singular values reach from 1 to about
    1e-6, 1e-10, and past the one from which they count as zero. Large matrices do without extended
    precision, and so do small ones here.
    """
    if not extended:
        monkeypatch.setattr(rigor, "SMALL", 0)
    rng = np.random.default_rng(closeness)
    for _ in range(80):
        n = int(rng.integers(2, 6))
        z = rng.integers(-3, 4, size=n)
        z[0] = 1
        columns = [orthogonal_to(rng, z) for _ in range(3)]
        V = np.array(
            [columns[0], columns[0] + 2.0**-closeness * columns[1], columns[2]], dtype=float
        ).T
        V = 2.0**-4 * V[:, : int(rng.integers(1, 4))]
        assert all(sum(Fraction(float(v[i])) * int(z[i]) for i in range(n)) == 0 for v in V.T)
        square = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-3, 3)
        matrix = square + square.T
        level = float(rng.choice([0.0, -1.0, 1.0, -1e6])) * float(np.abs(matrix).max())
        if batched:
            many, radii = rigor.constrain(np.stack([matrix] * 2), np.stack([V] * 2), level)
            constrained, radius = many[1], float(radii[1])
        else:
            constrained, radii = rigor.constrain(matrix, V, level)
            radius = float(radii)
        # A factorisation reads one triangle: either of them must be within the radius.
        lower = np.tril(constrained) + np.tril(constrained, -1).T
        upper = np.triu(constrained) + np.triu(constrained, 1).T
        for read in (lower, upper):
            error = abs(exact_form(read, z) - exact_form(matrix, z))
            assert error <= Fraction(radius) * int(np.abs(z).sum()) ** 2


def test_constraints_leave_the_eigenvalue_of_the_complement() -> None:
    """Tests that a bound on the constrained form is tight where the constraints are well posed."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(2, 9))
        V = np.linalg.qr(rng.standard_normal((n, int(rng.integers(1, n)))))[0]
        square = rng.standard_normal((n, n))
        matrix = square + square.T
        basis = np.linalg.svd(V, full_matrices=True)[0][:, V.shape[1] :]
        largest = float(np.linalg.eigvalsh(basis.T @ matrix @ basis)[-1])
        constrained, radius = rigor.constrain(matrix, V, largest - 1.0)
        upper = rigor.upper_eigenvalue(constrained, largest, float(radius))
        assert upper == pytest.approx(largest, abs=1e-11 * n)
        assert upper > largest - 1e-14 * n


def factorised(
    A: np.ndarray, rng: np.random.Generator, reciprocals: bool, worst: bool
) -> list[list[Fraction]] | None:
    """An upper factor whose every operation is rounded; sums in a random order and grouping.

    With ``worst`` the operations are exact but for a factor of 1 ± u, whichever chance says; this
    is all that a proof may assume of rounding.
    """

    def rounded(exact: Fraction) -> Fraction:
        if worst:
            return exact * (1 + int(rng.choice([-1, 1])) * Fraction(rounding.UNIT))
        return Fraction(float(exact))

    n = len(A)
    R = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            terms = [Fraction(float(A[i, j]))] + [-rounded(R[k][i] * R[k][j]) for k in range(i)]
            while len(terms) > 1:
                a, b = (terms.pop(int(rng.integers(len(terms)))) for _ in range(2))
                terms.append(rounded(a + b))
            (total,) = terms
            if i == j:
                if total <= 0:
                    return None
                # More digits than count, and then the rounding.
                root = Fraction(math.isqrt(int(total * 4**600)), 2**600)
                R[i][i] = rounded(root)
            elif reciprocals:
                R[i][j] = rounded(total * rounded(1 / R[i][i]))
            else:
                R[i][j] = rounded(total / R[i][i])
    return R


@pytest.mark.parametrize(("reciprocals", "worst"), crossed([False, True], [False, True]))
def test_reciprocals_are_within_the_count(reciprocals: bool, worst: bool) -> None:
    """Tests the error of a factorisation, entry by entry, against the count of its roundings."""
    closest = 0.0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 7))
        B = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-3, 3, n)
        A = B.T @ B + 10.0 ** rng.uniform(-8, 0) * np.eye(n)
        R = factorised(0.5 * (A + A.T), rng, reciprocals, worst)
        if R is None:
            continue
        for i in range(n):
            for j in range(i, n):
                products = [R[k][i] * R[k][j] for k in range(i + 1)]
                error = abs(Fraction(float(0.5 * (A + A.T)[i, j])) - sum(products))
                # Rows are counted from 0 here.
                count = i + 1 + (reciprocals or i == j)
                assert count <= n + (i == j)
                gamma = count * Fraction(rounding.UNIT) / (1 - count * Fraction(rounding.UNIT))
                allowed = gamma * sum(map(abs, products))
                assert error <= allowed
                closest = max(closest, float(error / allowed))
    assert closest > 0.5
