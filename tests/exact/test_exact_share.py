"""The bound of the share relaxation against every support of a node, in rational arithmetic.

Multipliers are of any kind: absurd ones, those of the method, and critical ones, for which the
bound is the optimum up to the last digits, so that rounding decides.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers import strategies
from helpers.critical import first_level
from helpers.seeds import SHARE, seeds, spread
from helpers.share import ShareNode, Tight, random_multipliers
from orthospca.bounds.share.claim import Claim, Multipliers

#: Multipliers tried in each node; the first are those of the method.
TRIALS = 6
#: Nodes of the fast tests.
NODES = 76
#: What a critical bound may be above the optimum, relative to the numbers that it is made of.
ROUNDING = 1e-12


def check_bounds(seeds: range) -> int:
    """The bound of many multipliers in each node; how many there were."""
    count = 0
    for seed in seeds:
        node, rng = ShareNode.random(seed), np.random.default_rng([seed, 3])
        for trial in range(TRIALS):
            good = trial == 0
            multipliers = (
                node.converged(int(rng.integers(1, 120))) if good else random_multipliers(rng, node)
            )
            upper = node.claim(multipliers).upper
            assert node.above(upper) is None, (seed, trial)
            # A bound of infinity would be easy to be right about.
            assert math.isfinite(upper)
            count += 1
    return count


@pytest.mark.parametrize("part", seeds(1, 4))
def test_any_multipliers_prove_a_bound(part: int) -> None:
    """Tests hundreds of multipliers, most of them bad, against every support of the node."""
    assert check_bounds(range(part, NODES, 4)) >= 100


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_any_multipliers_prove_a_bound_at_length(part: int) -> None:
    """Tests four thousand more of them."""
    assert check_bounds(spread(NODES + part, NODES + 700, 4)) >= 1000 * SHARE


def test_multipliers_that_are_not_finite_prove_the_eigenvalue() -> None:
    """Tests that sums of the largest do not pass over what is not a number."""
    Q = np.eye(5)
    Q[0, 1] = Q[1, 0] = 10.0
    node = ShareNode(Q, np.empty((0, 5)), 2, np.arange(0), np.arange(5))
    for bad in (math.nan, math.inf, -math.inf):
        for which in range(3):
            N, ratios, c = Q.copy(), np.ones((5, 5)), np.zeros(5)
            if which == 0:
                N[1, 0] = bad
            elif which == 1:
                ratios[1, 0] = bad
            else:
                c[0] = bad
            multipliers = Multipliers.of(np.arange(5), N, ratios, c, 1.0)
            for part in (multipliers, multipliers.restrict(np.array([0, 1, 3]))):
                upper = node.claim(part).upper
                # A ratio that is infinite is the largest there is.
                assert upper >= 11
                assert upper < 11 + 1e-6 or (which == 1 and not math.isnan(bad))
    off = np.ones((5, 5))
    off[0, 1] = off[1, 0] = math.nan
    direct = Multipliers(np.arange(5), (Q - np.eye(5)), off, np.zeros(5), 1.0)
    assert 11 <= node.claim(direct).upper < 11 + 1e-6


def sizes(tight: Tight, c: float) -> float:
    """The size of the numbers that a critical bound is made of."""
    return tight.node.scale + tight.p * c * tight.unit


def check_critical(seeds: range) -> None:
    """Bounds that are the optimum but for rounding."""
    for seed in seeds:
        tight = Tight(seed)
        node = tight.node
        for c in (0.0, 1.0, 1e-3, 1e4, 1e9):
            upper = node.claim(tight.multipliers(c)).upper
            assert node.above(upper) is None, (seed, c)
            doubt = 1e10 if len(node.previous) else 1.0
            assert upper <= node.optimum + doubt * ROUNDING * sizes(tight, c), (seed, c)


def test_critical_bounds() -> None:
    """Tests multipliers that leave nothing between the bound and the optimum but rounding."""
    check_critical(range(100))


def test_largest_eigenvalues_that_nearly_tie() -> None:
    """Tests a form in which LAPACK does not find the largest eigenvalue if asked for it alone."""
    tight = Tight(171)
    for c in (0.0, 1.0):
        assert tight.node.above(tight.node.claim(tight.multipliers(c)).upper) is None


@pytest.mark.slow
def test_critical_bounds_at_length() -> None:
    """Tests a thousand such problems more."""
    check_critical(spread(100, 1100))


def lowest(truth: float, size: float, claim: Claim, proves) -> float | None:
    """A level at which a claim begins to prove something: looked for close to the truth first."""
    near = None
    if math.isfinite(truth):
        near = first_level(truth - 1e-12 * size, truth + 1e-11 * size, proves)
    return first_level(-10 * size, claim.upper + size, proves) if near is None else near


def check_fixing(node: ShareNode, claim: Claim, rng: np.random.Generator, size: float) -> int:
    """Features that are proved out, one by one and in groups, or in; how often they are."""
    values, proved = node.all.values, 0
    free = np.flatnonzero(~claim.inside)
    groups = [np.array([place]) for place in free]
    groups += [rng.permutation(free)[: int(rng.integers(1, len(free) + 1))] for _ in range(3)]
    for group in groups:
        having = node.having(claim.features[group])
        truth = max((values[T] for T in having), default=-math.inf)
        level = lowest(truth, size, claim, lambda x, g=group: claim.proves_none_of(g, x))
        if level is not None:
            assert node.above(level, having) is None, (group, level)
            proved += 1
    for place in free.tolist():
        lacking = node.lacking(int(claim.features[place]))
        truth = max((values[T] for T in lacking), default=-math.inf)
        level = lowest(truth, size, claim, lambda x, i=place: claim.proves_all_with(i, x))
        if level is not None:
            assert node.above(level, lacking) is None, (place, level)
            proved += 1
    return proved


def check_critical_fixing(seeds: range) -> int:
    proved = 0
    for seed in seeds:
        tight = Tight(seed)
        for c in (0.0, 1.0, 1e6):
            claim = tight.node.claim(tight.multipliers(c))
            proved += check_fixing(tight.node, claim, tight.rng, sizes(tight, c))
    return proved


@pytest.mark.parametrize("part", seeds(1, 2))
def test_features_at_critical_levels(part: int) -> None:
    """Tests the first level at which a feature, or a group, is proved out, or in."""
    assert check_critical_fixing(range(part, 24, 2)) >= 300


@pytest.mark.slow
def test_features_at_critical_levels_at_length() -> None:
    """Tests hundreds of such problems more."""
    assert check_critical_fixing(spread(24, 400)) >= 9000 * SHARE


def check_fixing_of_nodes(seeds: range) -> int:
    """Converged multipliers, and one of the others, in each node."""
    proved = 0
    for seed in seeds:
        node, rng = ShareNode.random(seed), np.random.default_rng([seed, 5])
        good = node.converged(int(rng.integers(20, 400)))
        for multipliers in (good, random_multipliers(rng, node)):
            claim = node.claim(multipliers)
            size = node.scale + abs(claim.upper)
            proved += check_fixing(node, claim, rng, size)
    return proved


@pytest.mark.parametrize("part", seeds(1, 2))
def test_features_of_nodes(part: int) -> None:
    """Tests the same with multipliers of the method and others, on problems of all kinds."""
    assert check_fixing_of_nodes(range(part, 19, 2)) >= 75


@pytest.mark.slow
def test_features_of_nodes_at_length() -> None:
    """Tests hundreds of nodes more."""
    assert check_fixing_of_nodes(spread(19, 260)) >= 2000 * SHARE


#: Features, places, and features included: the smallest nodes, and those with hardly a choice.
CORNERS = [
    (2, 1, 0),
    (5, 1, 0),
    (2, 2, 0),
    (3, 2, 0),
    (3, 2, 1),
    (5, 2, 1),
    (4, 4, 0),
    (4, 4, 3),
    (5, 4, 0),
    (5, 4, 3),
    (6, 4, 3),
    (1, 1, 0),
]


def check_corner(n: int, p: int, forced: int, kinds: tuple[str, ...]) -> None:
    for seed, kind in enumerate(kinds):
        rng = np.random.default_rng([seed, n, p, forced])
        matrix = getattr(strategies, kind.replace("-", "_"))(rng, n)
        vector = rng.standard_normal((seed % 2, n))
        previous = vector / np.linalg.norm(vector, axis=1, keepdims=True)
        included = np.sort(rng.permutation(n)[:forced])
        node = ShareNode(matrix, previous, p, included, np.arange(n))
        chosen = [random_multipliers(rng, node) for _ in range(2)]
        if n > p:
            chosen.append(node.converged(100))
        for multipliers in chosen:
            claim = node.claim(multipliers)
            assert node.above(claim.upper) is None
            check_fixing(node, claim, rng, node.scale + abs(claim.upper))


@pytest.mark.parametrize(("n", "p", "forced"), CORNERS)
def test_corners(n: int, p: int, forced: int) -> None:
    """Tests nodes with one place left, with one support, with p + 1 features, with p = 1 and 2."""
    check_corner(n, p, forced, strategies.KINDS[(n + forced) % 12 :: 12])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p", "forced"), CORNERS)
def test_corners_at_length(n: int, p: int, forced: int) -> None:
    """Tests the same with matrices of every kind."""
    check_corner(n, p, forced, strategies.KINDS)


@pytest.mark.parametrize(("n", "p"), [(1, 1), (3, 3), (4, 2)])
def test_no_place_is_left(n: int, p: int) -> None:
    """Tests that a feature is in all supports if fewer than p are left without it, at any level."""
    rng = np.random.default_rng(n)
    included = np.arange(n - p, n - 1)
    allowed = np.arange(n - p, n)
    node = ShareNode(strategies.psd(rng, n), np.empty((0, n)), p, included, allowed)
    claim = node.claim(random_multipliers(rng, node))
    assert claim.proves_all_with(p - 1, -1e300)
    assert not claim.proves_none_of(np.array([p - 1]), 0.5 * node.optimum)
