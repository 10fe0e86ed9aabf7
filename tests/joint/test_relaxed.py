"""Tests of sets whose patterns are not listed: blocks, bounds of groups, and branching."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from helpers.seeds import seeds, spread
from helpers.share import ShareNode, random_multipliers
from orthospca.bounds.share.claim import Claim
from orthospca.bounds.share.projections import Block, Columns, simplex
from orthospca.bounds.share.sets import Group
from orthospca.facade import solve_with
from orthospca.joint.relaxed import Relaxation, consistent, with_block
from orthospca.model.settings import Settings
from orthospca.model.tuning import DEFAULT, RelaxedTuning
from orthospca.result import Status
from tests.joint.reference import KINDS, _begin, _improved, best_total, matrix_of

#: Without lists of patterns, however few there are.
UNLISTED = replace(DEFAULT, joint=replace(DEFAULT.joint, patterns=0, list_within=-1.0))
#: As if there were many features: some are relaxed first, then those that are left, half of which
#: are set apart.
MANY = RelaxedTuning(at_once=2, first_features=3, core=3)
MANY_FEATURES = replace(DEFAULT, joint=replace(UNLISTED.joint, relaxed=MANY))
#: The same, and a list of the patterns that are left.
LISTED = replace(DEFAULT, joint=replace(DEFAULT.joint, patterns=0, list_within=10.0))


def never() -> bool:
    """Go on to the end."""
    return False


def random_blocks(rng, features, p):
    """Disjoint sets of features, with numbers of them."""
    order = rng.permutation(features)
    cuts = np.sort(rng.integers(0, len(order) + 1, 2))
    parts = [np.sort(part) for part in np.split(order, cuts)[: int(rng.integers(1, 3))]]
    blocks = []
    for part in parts:
        least, most = sorted(rng.integers(0, min(p, max(len(part), 1)) + 1, 2).tolist())
        blocks.append(Block(part, least, most))
    return tuple(blocks)


def in_range(support, blocks):
    """Whether a support has as many features of each block as it must."""
    return all(b.least <= len(set(support) & set(b.members.tolist())) <= b.most for b in blocks)


def check_claims(numbers):
    """Multipliers of any kind, in nodes with blocks, against every support, exactly."""
    proved = 0
    for seed in numbers:
        node, rng = ShareNode.random(seed), np.random.default_rng([seed, 11])
        blocks = random_blocks(rng, node.allowed, node.p)
        among = [T for T in node.supports if in_range(T, blocks)]
        for _ in range(5):
            claim = Claim(node.problem, node.included, random_multipliers(rng, node), blocks)
            assert node.above(claim.upper, among) is None, seed
            free = np.flatnonzero(~claim.inside)
            for place in free.tolist():
                feature = claim.features[place]
                having = [T for T in among if feature in T]
                lacking = [T for T in among if feature not in T]
                values = [node.all.values[T] for T in having]
                for level in (claim.upper, max(values, default=0.0) - 1e-3 * node.scale):
                    if claim.proves_none_of(np.array([place]), level):
                        assert node.above(level, having) is None, seed
                        proved += 1
                    if len(claim.c) > node.p and claim.proves_all_with(place, level):
                        assert node.above(level, lacking) is None, seed
                        proved += 1
    return proved


def test_claims_with_blocks():
    """Tests the bound of supports with so many features of a block, and what it fixes."""
    assert check_claims(range(60)) > 100


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_claims_with_blocks_at_length(part):
    """Tests thousands more."""
    check_claims(spread(60 + part, 1200, 4))


def test_largest_eigenvalues_of_a_mean():
    """Tests the projection on numbers that sum to one, none above one over their count."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        count, n = int(rng.integers(1, 5)), int(rng.integers(5, 12))
        values = np.sort(rng.standard_normal(n) * rng.choice([0.1, 1, 10]))[::-1]
        found = np.zeros(n)
        part = simplex(values, count)
        found[: len(part)] = part
        assert found.sum() == pytest.approx(1) and found.min() >= 0
        assert found.max() <= 1 / count + 1e-12
        # The nearest: the rest has its largest product with what is feasible at this point.
        best = np.sort(values - found)[::-1][:count].mean()
        assert (values - found) @ found == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_columns_with_blocks(seed):
    """Tests that columns keep to the numbers of their blocks after some calls."""
    rng, n, p = np.random.default_rng(seed), 9, 4
    blocks = [Block(np.arange(3), 1, 1), Block(np.arange(5, 8), 0, 2)]
    columns = Columns(np.zeros(n, bool), p, np.dtype(float), blocks)
    V, d = rng.standard_normal((n, n)), rng.random(n) + 1
    for _ in range(8):
        t, cap = columns(V.copy(), d, 200, 1e-13)
    t[np.diag_indices(n)] = cap
    assert (t >= 0).all() and (t <= cap + 1e-9).all()
    np.testing.assert_allclose(t.sum(axis=0), p * cap, atol=1e-7)
    for block in blocks:
        share = t[block.members].sum(axis=0)
        assert (share <= block.most * cap + 1e-6).all()
        assert (share >= block.least * cap - 1e-6).all()


def random_groups(rng, n):
    """Groups of a small problem: features in and out, and blocks."""
    groups = []
    for _ in range(int(rng.integers(1, 3))):
        allowed = np.sort(rng.permutation(n)[: int(rng.integers(max(n - 2, 2), n + 1))])
        size = int(rng.integers(1, min(3, len(allowed)) + 1))
        included = np.sort(rng.permutation(allowed)[: int(rng.choice([0, 0, size - 1]))])
        group = Group(int(rng.integers(1, 3)), size, included, allowed)
        groups.append(replace(group, blocks=random_blocks(rng, allowed, size)))
    return groups


def supports_of(group):
    """All supports of a group."""
    return [
        T
        for T in itertools.combinations(group.allowed.tolist(), group.size)
        if set(group.included.tolist()) <= set(T) and in_range(T, group.blocks)
    ]


@pytest.mark.parametrize("seed", range(60))
def test_consistent(seed):
    """Tests that nothing is lost by conclusions, nor by splitting a group in two."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    for group in random_groups(rng, n):
        supports = supports_of(group)
        found = consistent(group)
        assert supports == ([] if found is None else supports_of(found))
        if found is None or not found.blocks:
            continue
        members = found.blocks[0].members
        for least in range(1, len(members) + 1):
            parts = [with_block(found, members, *limits) for limits in ((least, n), (0, least - 1))]
            both = [T for part in parts if part is not None for T in supports_of(part)]
            assert sorted(both) == supports


def best_of(Q, groups, rng):
    """A good set on supports of the groups, by going through all of them, and its supports."""
    lists = [supports_of(group) for group in groups for _ in range(group.count)]
    best, kept = -math.inf, ()
    for chosen in itertools.product(*lists):
        supports = [np.array(T) for T in chosen]
        most = sum(np.linalg.eigvalsh(Q[np.ix_(s, s)])[-1] for s in supports)
        if most <= best:
            continue
        for start in range(3):
            begun = _begin(Q, supports, rng.permutation(len(supports)), rng if start else None)
            value = -math.inf if begun is None else _improved(Q, supports, begun)
            if value > best:
                best, kept = value, chosen
    return best, kept


def holds(groups, supports):
    """Whether the components of the groups may have these supports, in some order."""
    lists = [supports_of(group) for group in groups for _ in range(group.count)]
    return any(
        all(T in among for T, among in zip(order, lists, strict=True))
        for order in itertools.permutations(supports)
    )


def check_part(seed):
    """Bounds of a part and of all that it is divided into, against a good set on its supports."""
    rng = np.random.default_rng([seed, 5])
    n, kind = int(rng.integers(3, 6)), KINDS[seed % len(KINDS)]
    Q, groups = matrix_of(kind, n, rng), random_groups(rng, n)
    size = float(np.abs(Q).max()) or 1.0
    known = [group for group in map(consistent, groups) if group is not None]
    if len(known) < len(groups) or sum(group.count for group in groups) > 3:
        return 0
    tuning = RelaxedTuning(between_checks=int(rng.integers(1, 30)), core=(150, 2)[seed % 3 == 0])
    relaxation = Relaxation(Q, known, size, tuning)
    best, supports = best_of(Q, known, rng)
    if not supports:
        return 0
    # Features may be dropped, but not those of sets above the cut.
    cut = best - (0.1 if seed % 2 else 1e-6) * size
    parts = [relaxation.root()]
    for effort in ("first", "node", "node", "node"):
        for part in parts:
            relaxation.tighten(part, cut, effort, never)
        holding = [part for part in parts if holds(part.groups, supports)]
        assert any(part.upper >= best - 1e-9 * size for part in holding), seed
        parts = relaxation.split(holding[0]) or parts
    return 1


@pytest.mark.parametrize("seed", seeds(2, 30))
def test_parts(seed):
    """Tests bounds of parts with groups and blocks, and that no good set is lost in branching."""
    check_part(seed)


@pytest.mark.slow
def test_parts_at_length():
    """Tests more of them."""
    assert sum(map(check_part, spread(100, 500))) > 5


def against_brute_force(seed, nodes, tuning):
    """Compare one random problem with brute force."""
    rng = np.random.default_rng([seed, 1])
    kind, n = KINDS[seed % len(KINDS)], int(rng.integers(3, 7))
    K = int(rng.integers(2, min(n, 3) + 1))
    limits = [int(p) for p in rng.integers(1, min(n, 3) + 1, K)]
    if seed % 3:
        limits = [limits[0]] * K
    Q = matrix_of(kind, n, rng)
    size = np.abs(Q).max() or 1.0
    best = best_total(Q, limits, rng)
    settings = Settings.validate(objective="joint", tuning=tuning, node_limit=nodes)
    result = solve_with(Q, limits, K, settings)
    assert best <= result.joint_upper_bound + 1e-11 * size
    if result.status is Status.OPTIMAL:
        assert result.joint_variance >= best - 1e-4 * abs(best) - 1e-10 * size


@pytest.mark.parametrize("tuning", [UNLISTED, MANY_FEATURES, LISTED], ids=["all", "some", "list"])
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_relaxed_against_brute_force(seed, tuning):
    """Tests value and bound where not all patterns are listed."""
    against_brute_force(seed, 3, tuning)


@pytest.mark.slow
def test_relaxed_against_brute_force_at_length():
    """Tests more of them."""
    for seed in spread(50, 250):
        against_brute_force(seed, 12, (UNLISTED, MANY_FEATURES, LISTED)[seed % 3])


def test_alike_features_are_branched_on_as_a_block():
    """Tests that how many of some features that stand for each other are used is decided first.

    Eight copies of one variable, and six features of another: with p = 6 and two components the
    relaxation takes more than one component from the copies.
    """
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((200, 2)), [8, 6], axis=1)
    Q = np.corrcoef((X + 0.1 * rng.standard_normal(X.shape)).T)
    Q[8:, 8:] *= 0.8
    nothing, everything = np.arange(0), np.arange(14)
    relaxation = Relaxation(Q, [Group(2, 6, nothing, everything)], 5.0, RelaxedTuning())
    whole = relaxation.root()
    relaxation.tighten(whole, 0.0, "first", never)
    children = relaxation.split(whole)
    for child in children:
        relaxation.tighten(child, 0.0, "node", never)
    assert any(group.blocks for child in children for group in child.groups)
    # The best set has six of the copies in one component, and the other variable in the other one.
    value = np.linalg.eigvalsh(Q[:6, :6])[-1] + np.linalg.eigvalsh(Q[8:, 8:])[-1]
    assert value < max(child.upper for child in children) < value + 0.5 * (whole.upper - value)
