"""Certificates written by hand for claims that are false: none is accepted.

A component that is not the best one leaves room for a bound between its variance and the truth.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from helpers.certificates import Draft, Rung, falsehood, forge, optimum
from helpers.exact import ExactMatrix, exact_variance_of_data, rounded_down, stated
from helpers.forger import checker, lowest_bound, sieved, stage_of, tree_for
from helpers.problems import DATA, MATRICES
from helpers.seeds import crossed, later, spread

SINGLE, SIEVE, CAP, SUMS = range(4)
#: By how much, relative to the truth, a claim is false.
SHARES = (1e-9, 1e-6, 1e-3)


def accepted(draft: Draft) -> bool:
    """Whether a forgery is; fail if what is then taken for proved is false."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = checker.verify(draft)
    false = falsehood(draft, verdict)
    assert not false, f"{verdict}: {false}"
    return bool(verdict)


def worst_feature(Q: np.ndarray) -> tuple[np.ndarray, float]:
    """A component that is as bad as can be, and its variance."""
    j = int(np.argmin(Q.diagonal()))
    return np.eye(len(Q))[j : j + 1], float(Q[j, j])


def psd(seed: int, n: int) -> np.ndarray:
    """A matrix of some covariance."""
    rows = np.random.default_rng(seed).standard_normal((n + 2, n))
    return np.asarray(rows.T @ rows)


def ladders(bound: float, single: float, n: int, s: int) -> Iterator[list[Rung]]:
    """Arguments for a bound that a forger might think of; s is 2 or 3."""
    everything = tuple(range(n))
    first = [Rung(SINGLE, single)]
    if s == 3:
        first = [Rung(SINGLE, single), Rung(SUMS, 1e9)]
    yield []
    yield first[:1]
    yield first
    for kind in (SINGLE, CAP, SUMS):
        yield [*first, Rung(kind, bound, bound)]
        yield [Rung(kind, bound, bound)] * s
    yield [Rung(SIEVE, bound, bound)] * s
    yield [Rung(SINGLE, -math.inf), *first[1:], Rung(SIEVE, bound, bound)]
    yield [*first[:-1], Rung(CAP, bound), Rung(SIEVE, bound, bound)]
    leaf, closed = (-1, (), ()), (-1, everything, ())
    trees: tuple[tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...], ...] = (
        (),
        (leaf,),
        (closed,),
        (leaf, leaf),
        ((-1, (), everything),),
        ((-1, (), everything[:1]), leaf),
        ((-1, (), everything[: s + 1]),),
        ((-1, everything[1:], ()),),
        ((-1, everything[:1], everything[1:]),),
        ((0, (), ()), leaf),
        ((0, (), ()), leaf, leaf),
        ((0, (), ()), closed, closed),
        ((0, everything[1:], ()), leaf, leaf),
        ((0, everything[1:], ()), (-1, (), ()), (-1, (), ())),
        ((0, (0,), ()), leaf, leaf),
        ((0, (), (1,)), leaf, leaf),
    )
    for kept in ((), everything[:1], everything[: s - 1], everything[:s], everything):
        for tree in trees:
            for level in (bound, bound + 1.0, 1e3 * abs(bound), -1e3, 0.0):
                yield [*first, Rung(SIEVE, bound, level, kept, tree)]
    for level in (math.nan, math.inf, -math.inf, 1e300, -1e300, 1e200):
        for tree in ((), (leaf,), (closed,)):
            yield [*first, Rung(SIEVE, bound, level, (), tree)]
            yield [*first, Rung(SIEVE, bound, level, everything, tree)]
    odd_lists = ((0, 0), (1, 0), (-1, 0), (n - 1, n), tuple(range(2 * n)), (0,) * n)
    for kept in odd_lists:
        yield [*first, Rung(SIEVE, bound, bound, kept, (closed,))]
        yield [*first, Rung(SIEVE, bound, bound, everything, ((-1, kept, ()),))]
        yield [*first, Rung(SIEVE, bound, bound, everything, ((-1, (), kept),))]


@pytest.mark.parametrize(("share", "s"), crossed(SHARES, [2, 3]))
def test_arguments_by_hand(share: float, s: int) -> None:
    """Tests that no argument makes a bound below the truth acceptable."""
    Q = psd(s, 4)
    truth = [optimum(ExactMatrix.of(Q), np.zeros((0, 4)), q) for q in range(1, s + 1)]
    components, variance = worst_feature(Q)
    false = truth[-1] * (1 - share)
    for ladder in ladders(false, truth[0], 4, s):
        assert not accepted(forge(Q, [s], components, [(variance, false)], [ladder]))


@pytest.mark.parametrize("share", [SHARES[0], *later(*SHARES[1:])])
def test_arguments_by_hand_of_data(share: float) -> None:
    """Tests the same of a matrix that is given by its factor."""
    B = np.random.default_rng(3).standard_normal((5, 4))
    exact = ExactMatrix.gram(B)
    truth = [optimum(exact, np.zeros((0, 4)), q) for q in (1, 2)]
    components, _ = worst_feature(exact.rounded)
    variance = exact.stated(components[0])
    false = truth[-1] * (1 - share)
    for ladder in ladders(false, truth[0] * (1 + 1e-12), 4, 2):
        draft = forge(B, [2], components, [(variance, false)], [ladder], "factor")
        assert not accepted(draft)


def test_arguments_by_hand_in_a_later_stage() -> None:
    """Tests that an earlier stage lends nothing that it does not have."""
    Q = psd(5, 4)
    exact = ExactMatrix.of(Q)
    j = int(np.argmin(Q.diagonal()))
    others = [i for i in range(4) if i != j]
    second = min(others, key=lambda i: Q[i, i])
    components = np.eye(4)[[j, second]]
    first = [optimum(exact, components[:0], q) for q in (1, 2)]
    truth = [optimum(exact, components[:1], q) for q in (1, 2)]
    values = [float(Q[j, j]), float(Q[second, second])]
    top = np.nextafter(first[1] * (1 + 1e-9), math.inf)
    everything = tuple(range(4))
    good = [Rung(SINGLE, first[0]), Rung(SIEVE, top, top, everything, ((-1, everything, ()),))]
    for share in (1e-6,):
        false = truth[1] * (1 - share)
        claims = [(values[0], float(top)), (values[1], false)]
        for ladder in ladders(false, truth[0], 4, 2):
            assert not accepted(forge(Q, [2, 2], components, claims, [good, ladder]))
    # One feature in the first stage says nothing of two in the second.
    claims = [(values[0], first[0]), (values[1], first[0])]
    single = [Rung(SINGLE, first[0])]
    for ladder in ([], single, [*single, Rung(CAP, first[0])], [Rung(CAP, first[0])] * 2):
        assert not accepted(forge(Q, [1, 2], components, claims, [single, ladder]))
    assert accepted(forge(Q, [1, 1], components, claims, [single, []]))


def test_claims_by_hand() -> None:
    """Tests what a manifest may say although nothing of it is so."""
    Q = psd(1, 4)
    components, variance = worst_feature(Q)
    truth = optimum(ExactMatrix.of(Q), components[:0], 1)
    single = [Rung(SINGLE, truth)]
    good = forge(Q, [1], components, [(variance, truth)], [single])
    assert accepted(good)
    for limits in ([2], [0], [-1], [5], [True], [1.0], ["1"], [None], [], 1, None, {}, "1", [[1]]):
        draft = good.copy()
        draft.manifest["problem"]["sparsity"] = limits
        assert not accepted(draft), limits
    for n in (3, 5, 0, -4, "4", None, [4], math.nan, 4.5, 2**70):
        draft = good.copy()
        draft.manifest["problem"]["features"] = n
        assert not accepted(draft), n
    for kind in ("factor", "", None, 0, [], "Matrix"):
        draft = good.copy()
        draft.manifest["problem"]["kind"] = kind
        assert not accepted(draft), kind
    for upper in (math.nan, math.inf, -math.inf, "nan", None, [], truth - 1e-9, 10**400, {}):
        draft = good.copy()
        draft.manifest["stages"][0]["upper_bound"] = upper
        assert not accepted(draft), upper
    for value in (math.nan, math.inf, -math.inf, None, [], variance + 1e-9, variance - 1e-9):
        draft = good.copy()
        draft.manifest["stages"][0]["variance"] = value
        assert not accepted(draft), value
    draft = good.copy()
    draft.manifest["exhausted"] = True
    assert not accepted(draft)


def test_components_by_hand() -> None:
    """Tests that components are unit vectors, sparse and orthogonal."""
    Q = psd(2, 4)
    top = float(np.abs(Q).sum())

    def claim(*rows: list[float], limits: tuple[int, ...] = (2, 2)) -> bool:
        components = np.array(rows)
        values = [(stated(Q, x), top) for x in components]
        ladder = [Rung(SUMS, top)] * 2
        return accepted(forge(Q, list(limits), components, values, [ladder] * len(rows)))

    half = math.sqrt(0.5)
    assert claim([1, 0, 0, 0], [0, half, half, 0])
    assert claim([half, half, 0, 0], [half, -half, 0, 0])
    assert not claim([1, 0, 0, 0], [half, half, 0, 0])
    assert not claim([1, 0, 0, 0], [1, 0, 0, 0])
    assert not claim([0, 0, 0, 0])
    assert not claim([1 + 1e-11, 0, 0, 0])
    assert not claim([half, half, 1e-200, 0])
    assert not claim([0.5, 0.5, 0.5, 0.5])
    assert not claim([half, half, 0, 0], [half, -half * (1 + 1e-11), 0, 0])
    assert not claim([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0])


@pytest.mark.parametrize("scale", [1.0, 1e12])
def test_variances_by_hand(scale: float) -> None:
    """Tests that no component is said to have more than it has, by however little.

    With a component of large variance before it, (1, -1)/√2 has the variance 2 in
    ``scale·11ᵀ + diag(1, 3)``: what is 1e-11 of the largest entry of that is far more.
    """
    Q = scale * np.ones((2, 2)) + np.diag([1.0, 3.0])
    half = math.sqrt(0.5)
    components = np.array([[half, half], [half, -half]])
    has = [stated(Q, x) for x in components]
    top = 4 * scale + 8.0

    def claim(*values: float) -> bool:
        claims = [(value, top) for value in values]
        return accepted(forge(Q, [2, 2], components, claims, [[Rung(SUMS, top)] * 2] * 2))

    assert abs(has[1] - 2.0) < 1e-3
    assert claim(*has)
    for more in (math.nextafter(has[1], math.inf), has[1] * (1 + 1e-12), has[1] + 1e-12 * scale):
        assert not claim(has[0], more)
    assert not claim(math.nextafter(has[0], math.inf), has[1])


def test_variances_of_data_by_hand() -> None:
    """Tests the same where only the data are given."""
    B = np.random.default_rng(5).standard_normal((6, 4)) * [1e6, 1.0, 1e-3, 1.0]
    x = np.array([[0.6, 0.0, 0.8, 0.0]])
    x /= np.linalg.norm(x)
    has, top = rounded_down(exact_variance_of_data(B, x[0])), float(np.square(B).sum()) * 2

    def claim(value: float) -> bool:
        ladder = [[Rung(SUMS, top)] * 2]
        return accepted(forge(B, [2], x, [(value, top)], ladder, kind="factor"))

    assert claim(has)
    assert not claim(math.nextafter(has, math.inf))
    assert not claim(has * (1 + 1e-12))


def test_exhaustion_by_hand() -> None:
    """Tests that nothing is called exhausted while a vector is left."""
    Q = psd(4, 3)
    top = float(np.abs(Q).sum())
    third = math.sqrt(1 / 3)

    def claim(rows: list[list[float]], limits: list[int]) -> bool:
        components = np.array(rows).reshape(-1, 3)
        values = [(stated(Q, x), top) for x in components]
        ladder = [[Rung(SUMS, top)] * p for p in limits[: len(components)]]
        return accepted(forge(Q, limits, components, values, ladder, exhausted=True))

    full = np.full(3, third)
    full /= math.sqrt(full @ full)
    assert claim([full.tolist()], [3, 1])
    assert not claim([full.tolist()], [3, 2])
    assert not claim([full.tolist()], [3])
    assert not claim([[1, 0, 0]], [1, 1])
    assert not claim([[1, 0, 0], [0, 1, 0]], [1, 1, 1])
    assert not claim([], [1])
    assert claim([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [1, 1, 1, 1])


def stages(seed: int) -> tuple[np.ndarray, str, ExactMatrix, np.ndarray, int]:
    """A random stage: a matrix or a factor, components that need not be good, a sparsity."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    s, k = int(rng.integers(2, min(n, 4) + 1)), min(int(rng.integers(0, 3)), n - 1)
    kind = "factor" if rng.random() < 0.35 else "matrix"
    generators = DATA if kind == "factor" else MATRICES
    Q = generators[list(generators)[int(rng.integers(len(generators)))]](rng, n)
    Q = Q - Q.mean(axis=0) if kind == "factor" else 0.5 * (Q + Q.T)
    exact = ExactMatrix.gram(Q) if kind == "factor" else ExactMatrix.of(Q)
    turned = np.linalg.qr(rng.standard_normal((n, n)))[0]
    few = min(n, int(rng.integers(max(2, k), 4)))
    block = np.eye(n)
    block[:few, :few] = np.linalg.qr(rng.standard_normal((few, few)))[0]
    nearly = np.linalg.qr(np.eye(n) + 10.0 ** rng.uniform(-13, -1) * rng.standard_normal((n, n)))[0]
    bases = (turned, np.eye(n), block, nearly)
    previous = bases[int(rng.integers(4))][:k][:, rng.permutation(n)]
    return Q, kind, exact, previous, s


def check_levels_below(seed: int) -> int:
    """No level below the truth has kept features and a tree that pass; returns the attempts."""
    Q, kind, exact, previous, s = stages(seed)
    stage = stage_of(Q, previous, kind)
    truths = [optimum(exact, previous, q) for q in range(1, s + 1)]
    below, truth = truths[-2:]
    if truth == -math.inf:
        return 0
    assert stage.first_bound(0.0) >= truths[0]
    assert stage.source.largest_sum(s, stage.usable) >= truth
    scale = abs(truth) + float(np.abs(exact.rounded).max())
    levels = {math.nextafter(truth, -math.inf)}
    levels |= {truth - share * scale for share in (2.0**-53, 1e-15, 1e-13, 1e-10, 1e-6, 1e-2)}
    for level in sorted(levels - {truth}):
        kept = sieved(stage, s, level, below)
        assert len(kept) >= s or level <= below, (level, truth, kept)
        for leaves in (False, True):
            tree = tree_for(stage, s, level, level, kept, leaves)
            assert tree is None, (level, truth, kept, tree)
    return len(levels)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_few_levels_below_the_truth() -> None:
    """Tests that a prover who tries everything finds no argument for what is false."""
    assert sum(check_levels_below(seed) for seed in range(6)) > 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("part", range(8))
def test_levels_below_the_truth(part: int) -> None:
    """Tests more of them."""
    for seed in spread(100 + 12 * part, 112 + 12 * part):
        check_levels_below(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("seed", range(12))
def test_the_lowest_level_is_at_the_truth(seed: int) -> None:
    """Tests that the edge of what passes is above the truth, and close to it."""
    Q, kind, exact, previous, s = stages(seed)
    stage = stage_of(Q, previous, kind)
    below, truth = (optimum(exact, previous, q) for q in (s - 1, s))
    if truth == -math.inf:
        return
    scale = abs(truth) + float(np.abs(exact.rounded).max()) + 1e-280
    found = lowest_bound(
        stage, s, below, truth + 3 * scale, truth - 0.01 * scale, leaves=bool(seed % 2)
    )
    if found is not None:
        assert found[0] >= truth
