"""Parts of a joint problem whose patterns are too many to list: bounds by the share relaxation.

A set has a support of exactly p features for each component, its own features and, where these are
fewer, some others.  A part of the problem says of each group of components which features a
support has, which it may have, and how many it has of some *blocks*: features that stand for each
other.  See ``docs/theory/joint.md``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.share.claim import Claim, Multipliers
from orthospca.bounds.share.fixing import ruled_in, ruled_out
from orthospca.bounds.share.method import ShareMethod
from orthospca.bounds.share.projections import Block
from orthospca.bounds.share.sets import Group, SetMethod
from orthospca.joint.bound import rigorous
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import RelaxedTuning
from orthospca.numerics.rounding import add_up, mul_up

#: Features are in one block if so much of what they have in the mean is in common.
COHERENT = 0.5


@dataclass(eq=False)
class Part:
    """A part of the problem.

    Attributes
    ----------
    groups : list of Group
    upper : float
        Proved.
    method : SetMethod
        Where the iterations stand.
    M : array
        The best multiplier known of what the groups have in common, on all features.
    """

    groups: list[Group]
    upper: float
    method: SetMethod
    M: Array


class Relaxation:
    """Bounds and divides parts.

    Parameters
    ----------
    Q : array of shape (n, n)
    groups : sequence of Group
        The components, by what is asked of them.
    scale : float
        Size of the variance of one component.
    tuning : RelaxedTuning
    disjoint : bool
        Whether a feature serves one component.
    """

    def __init__(
        self,
        Q: Array,
        groups: Sequence[Group],
        scale: float,
        tuning: RelaxedTuning,
        disjoint: bool = False,
    ) -> None:
        self.Q, self._tuning, self.steps = Q, tuning, tuning.steps
        self._exclusive = disjoint and _fill_up_disjointly(groups, len(Q))
        self._groups = [group for group in map(consistent, groups) if group is not None]
        self._unit = 2.0 ** round(math.log2(scale))
        self._blocks: list[IntArray] | None = None

    def root(self) -> Part:
        """The whole problem."""
        features = np.unique(np.concatenate([g.allowed for g in self._groups]))
        method = SetMethod.begun(self.Q, self._groups, features, self._unit)
        return Part(list(self._groups), math.inf, method, np.zeros_like(self.Q))

    def tighten(self, part: Part, cut: float, effort: str, stop: Callable[[], bool]) -> None:
        """Lower the bound of a part, until it is at most ``cut`` or goes down too slowly.

        Features that no better set uses are dropped on the way.
        """
        tuning, best = self._tuning, [math.inf]
        patience = tuning.patience if effort == "node" else tuning.last_patience
        checks = tuning.first_checks if effort == "node" else 2 * tuning.first_checks
        for check in itertools.count():
            went_on = part.method.run(tuning.between_checks, stop)
            if not (went_on or stop()):
                # Nothing finite is left of the iterate.
                part.method = SetMethod.begun(self.Q, part.groups, part.method.features, self._unit)
                went_on = check < tuning.fresh_starts
            upper, claims = self._prove(part)
            if part.upper <= cut or not went_on:
                break
            best.append(min(best[-1], upper))
            before = best[-1 - min(checks, check + 1)]
            if best[-1] - cut > patience * (before - best[-1]):
                # At this pace it takes too long: smaller parts will be easier.
                break
            if upper - cut <= tuning.fix_within * max(abs(cut), self._unit):
                self._fix(part, upper, claims, cut)
                if part.upper <= cut:
                    break

    def _prove(self, part: Part) -> tuple[float, list[Claim]]:
        """The bound that the multipliers prove, and that of each group."""
        multipliers = [
            member.multipliers().restrict(group.allowed)
            for group, member in zip(part.groups, part.method.members, strict=True)
        ]
        M = self._common(part, multipliers)
        used = np.flatnonzero(M.any(axis=1))
        found = rigorous(self.Q, M[np.ix_(used, used)], used)
        if found is None:
            return math.inf, []
        A, trace = found
        claims = [
            Claim(_problem(A, group), group.included, known, group.blocks)
            for group, known in zip(part.groups, multipliers, strict=True)
        ]
        terms = [mul_up(float(g.count), c.upper) for g, c in zip(part.groups, claims, strict=True)]
        upper = add_up(trace, *terms)
        if upper < part.upper:
            part.upper, part.M = upper, M
        return upper, claims

    def _common(self, part: Part, multipliers: Sequence[Multipliers]) -> Array:
        """M: that of the iteration or, for one group, what is above the k-th eigenvalue."""
        M, at = np.zeros_like(self.Q), part.method.features
        matrix = part.method.matrix
        if matrix is None:
            group = part.groups[0]
            at = group.allowed
            claim = Claim(_problem(self.Q, group), group.included, multipliers[0], group.blocks)
            values, vectors = np.linalg.eigh(claim.matrix)
            values, vectors = values[-group.count :], vectors[:, -group.count :]
            matrix = (vectors * (values - values[0])) @ vectors.T
        M[np.ix_(at, at)] = matrix
        return M

    def _fix(self, part: Part, upper: float, claims: Sequence[Claim], cut: float) -> None:
        """Drop features that no better set uses; include those that all of them use."""
        groups: list[Group | None] = []
        for group, member, claim in zip(part.groups, part.method.members, claims, strict=True):
            # Another support takes the place of the best one of the group.
            level = -add_up(upper, -claim.upper, -cut)
            here = np.searchsorted(part.method.features, group.allowed)
            weights, shares = member.X.diagonal()[here].astype(float), member.shares[here]
            out = ruled_out(claim, weights, level)
            into = group.allowed[ruled_in(claim, shares, level)]
            dropped = group.allowed[np.concatenate([np.arange(0), *out])]
            allowed = np.setdiff1d(group.allowed, dropped)
            included = np.union1d(group.included, into)
            groups.append(consistent(replace(group, included=included, allowed=allowed)))
        known = [group for group in groups if group is not None]
        if len(known) < len(groups):
            part.upper = min(part.upper, cut)
        elif any(
            len(a.allowed) < len(b.allowed) or len(a.included) != len(b.included)
            for a, b in zip(known, part.groups, strict=True)
        ):
            part.groups = known
            part.method = part.method.divided(known, range(len(known)), self._on(part))

    def _on(self, part: Part) -> Array:
        return part.M[np.ix_(part.method.features, part.method.features)]

    # Branching.

    def split(self, part: Part) -> list[Part] | None:
        """Return parts that hold every set of this one; None if there is one support for each."""
        rare = self._rare(part)
        if len(rare):
            return self._set_apart(part, rare)
        choice = self._undecided(part)
        if choice is None:
            return None
        g, members, least = choice
        group = part.groups[g]
        children = []
        alone = self._exclusive and len(members) == 1
        for number in range((1 if alone else group.count) + 1):
            pieces: list[tuple[int, Group | None]] = []
            for h, other in enumerate(part.groups):
                if h != g:
                    kept = with_block(other, members, 0, 0) if alone and number else other
                    pieces.append((h, kept))
            for count, limits in (
                (number, (least, group.size)),
                (group.count - number, (0, least - 1)),
            ):
                if count:
                    pieces.append((g, with_block(replace(group, count=count), members, *limits)))
            children.append(self._child(part, pieces))
        return [child for child in children if child is not None]

    def _child(self, part: Part, pieces: Sequence[tuple[int, Group | None]]) -> Part | None:
        """A part with other groups, and of which of the present ones they are; None if empty."""
        groups = [group for _, group in pieces if group is not None]
        if len(groups) < len(pieces):
            return None
        method = part.method.divided(groups, [origin for origin, _ in pieces], self._on(part))
        return Part(groups, part.upper, method, part.M)

    def _rare(self, part: Part) -> IntArray:
        """The half of the features that the relaxed sets use least, if there are many of them."""
        features, groups = part.method.features, part.groups
        if len(features) <= self._tuning.core or any(group.blocks for group in groups):
            return features[:0]
        shares = np.zeros(len(features))
        for group, member in zip(groups, part.method.members, strict=True):
            shares += group.count * member.shares
            shares[np.isin(features, group.included)] = math.inf
        rare = features[np.argsort(-shares, kind="stable")[(len(features) + 1) // 2 :]]
        return np.sort(rare)

    def _set_apart(self, part: Part, rare: IntArray) -> list[Part]:
        """No component has any of some features; or one of some group has, the first such group."""
        without = [(h, with_block(group, rare, 0, 0)) for h, group in enumerate(part.groups)]
        children = [self._child(part, without)]
        for g, group in enumerate(part.groups):
            user = with_block(replace(group, count=1), rare, 1, group.size)
            pieces = [*without[:g], (g, user), *list(enumerate(part.groups))[g + 1 :]]
            if group.count > 1:
                pieces.append((g, replace(group, count=group.count - 1)))
            children.append(self._child(part, pieces))
        return [child for child in children if child is not None]

    def _undecided(self, part: Part) -> tuple[int, IntArray, int] | None:
        """The group, the features and the number of them that the relaxation is undecided about."""
        if self._blocks is None:
            self._blocks = self._coherent(part)
        best, choice = 0.0, None
        for g, (group, member) in enumerate(zip(part.groups, part.method.members, strict=True)):
            if len(group.allowed) <= group.size:
                continue
            mass, share = _shares(group, member, part.method.features)
            free = ~np.isin(group.allowed, group.included)
            for places in self._blocks:
                inside = np.isin(group.allowed, places)
                if np.count_nonzero(inside & free) < 2 or _crosses(group, group.allowed[inside]):
                    continue
                numbers = share[inside].sum(axis=0)
                found = _doubt(numbers, mass, group.count, *_range(group, group.allowed[inside]))
                if found[0] > best:
                    best, choice = found[0], (g, group.allowed[inside], found[1])
            usage = group.count * np.clip(share @ mass, 0.0, 1.0)
            doubt = np.where(free, 0.5 * np.abs(usage - np.round(usage)) + 1e-6, 0.0)
            i = int(np.argmax(doubt))
            if doubt[i] > best:
                best, choice = float(doubt[i]), (g, group.allowed[i : i + 1], 1)
        return choice

    def _coherent(self, part: Part) -> list[IntArray]:
        """Blocks of features that have most of their part in the mean in common."""
        features = part.method.features
        X = np.zeros((len(features), len(features)))
        for group, member in zip(part.groups, part.method.members, strict=True):
            X += group.count * member.X
        size = np.sqrt(np.maximum(X.diagonal(), 1e-9))
        blocks, left = [], np.flatnonzero(X.diagonal() > 0.01)
        while len(left):
            seed = left[int(np.argmax(X.diagonal()[left]))]
            near = left[np.abs(X[seed, left]) >= COHERENT * size[seed] * size[left]]
            if len(near) > 2:
                blocks.append(features[near])
            left = np.setdiff1d(left, [*near, seed])
        return blocks

    def supports(self, part: Part) -> list[IntArray]:
        """Supports near the relaxed ones, one for each component.

        What goes with a feature that has much of the mean is a support; then what goes with a
        feature that is not part of it, and so on.
        """
        found = []
        for group, member in zip(part.groups, part.method.members, strict=True):
            mass, share = _shares(group, member, part.method.features)
            left = mass.copy()
            for _ in range(group.count):
                j = int(np.argmax(left))
                guide = np.where(np.isin(group.allowed, group.included), math.inf, share[:, j])
                chosen = np.argsort(-guide, kind="stable")[: group.size]
                found.append(np.sort(group.allowed[chosen]))
                left *= np.clip(1 - share[:, j], 0.0, 1.0)
        return found


def _shares(group: Group, member: ShareMethod, features: IntArray) -> tuple[Array, Array]:
    """How much of the mean each allowed feature has, and how much of that is with each other."""
    here = np.searchsorted(features, group.allowed)
    mass = np.maximum(member.X.diagonal()[here].astype(float), 1e-9)
    T = member.T[np.ix_(here, here)].astype(float)
    T[np.diag_indices(len(here))] = mass
    return mass / mass.sum(), T / mass


def _fill_up_disjointly(groups: Sequence[Group], n: int) -> bool:
    """Whether disjoint patterns are always parts of disjoint supports of full size."""
    common = np.arange(n)
    for group in groups:
        common = np.setdiff1d(np.intersect1d(common, group.allowed), group.included)
    return len(common) >= sum(g.count * (g.size - len(g.included)) for g in groups)


def _problem(A: Array, group: Group) -> Subproblem:
    return Subproblem(A, group.size, np.zeros((len(A), 0)))


def _doubt(numbers: Array, mass: Array, count: int, low: int, high: int) -> tuple[float, int]:
    """How undecided it is how many components use many features of a block, and what is many."""
    best, least = 0.0, 1
    for b in range(low, high):
        many = numbers > b + 0.5
        part = float(mass[many].sum())
        if 1e-3 < part < 1 - 1e-3:
            above = float(numbers[many] @ mass[many]) / part - b - 0.5
            below = b + 0.5 - float(numbers[~many] @ mass[~many]) / (1 - part)
            doubt = abs(count * part - round(count * part)) * min(above, below)
            if doubt > best:
                best, least = doubt, b + 1
    return best, least


def with_block(group: Group, members: IntArray, least: int, most: int) -> Group | None:
    """Return the group with so many features of a block; None if it has no support."""
    if len(members) == 1:
        if most == 0:
            return consistent(replace(group, allowed=np.setdiff1d(group.allowed, members)))
        return consistent(replace(group, included=np.union1d(group.included, members)))
    low, high = _range(group, members)
    others = [block for block in group.blocks if not np.array_equal(block.members, members)]
    block = Block(members, max(least, low), min(most, high))
    return consistent(replace(group, blocks=(*others, block)))


def _crosses(group: Group, members: IntArray) -> bool:
    """Whether a block has some features in common with another one that is not the same."""
    return any(
        np.isin(members, block.members).any() and not np.array_equal(members, block.members)
        for block in group.blocks
    )


def _range(group: Group, members: IntArray) -> tuple[int, int]:
    """How many features of a block a support has, at least and at most."""
    has = int(np.isin(group.included, members).sum())
    low = max(has, group.size - (len(group.allowed) - len(members)))
    high = min(len(members), group.size - len(group.included) + has)
    for block in group.blocks:
        if np.array_equal(block.members, members):
            low, high = max(low, block.least), min(high, block.most)
    return low, high


def consistent(group: Group) -> Group | None:
    """Return the same group with nothing left to conclude; None if it has no support."""
    included, allowed, size = group.included, group.allowed, group.size
    if len(included) > size or len(allowed) < size or not np.isin(included, allowed).all():
        return None
    if len(included) == size:
        # There is one support.
        allowed = included
    trimmed = tuple(replace(b, members=np.intersect1d(b.members, allowed)) for b in group.blocks)
    group, blocks = replace(group, allowed=allowed, blocks=trimmed), []
    for block in trimmed:
        members = block.members
        least, most = _range(group, members)
        if least > most:
            return None
        free = np.setdiff1d(members, included)
        has = len(members) - len(free)
        if most == has and len(free):
            return consistent(replace(group, allowed=np.setdiff1d(allowed, free)))
        if least == len(members) and len(free):
            return consistent(replace(group, included=np.union1d(included, members)))
        if len(free) and (least, most) != _range(replace(group, blocks=()), members):
            blocks.append(Block(members, least, most))
    if len(included) == size:
        included = included[:0]
    return replace(group, included=included, blocks=tuple(blocks))
