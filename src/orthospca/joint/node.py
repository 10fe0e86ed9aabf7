"""A part of a joint problem: what each component must and may use, and its proved bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.joint.bound import rigorous
from orthospca.joint.multipliers import Multipliers, minimise, never
from orthospca.joint.patterns import Patterns, extended
from orthospca.numerics.rounding import UNIT, add_up, mul_up

#: How far below the cut a bound over some patterns may be, relative to the variance of a component,
#: before all of them are looked at again.
ENOUGH = 0.1


@dataclass(frozen=True, eq=False)
class Group:
    """Components of which the same is known, so that it does not matter which is which.

    Attributes
    ----------
    count : int
    patterns : integer array
        Those that a set better than the best known may use, by number.
    used : boolean array of shape (n,)
        The features that each of the components uses.
    """

    count: int
    patterns: IntArray
    used: BoolArray


@dataclass(eq=False)
class Node:
    """A part of the problem.

    Attributes
    ----------
    groups : list of Group
    exclusive : boolean array of shape (n,)
        The features that at most one component uses.
    multipliers : Multipliers
        The best ones known.
    upper : float
        Proved.
    values : list of arrays
        For each group, the value of each pattern less its prices, as computed.
    usage : array of shape (groups, n) or None
        How many components of each group use a feature, in the convex relaxation.
    """

    groups: list[Group]
    exclusive: BoolArray
    multipliers: Multipliers
    upper: float = math.inf
    values: list[Array] = field(default_factory=list)
    usage: Array | None = None

    @property
    def is_settled(self) -> bool:
        """Whether each component has one pattern left."""
        return all(len(group.patterns) == 1 for group in self.groups)


@dataclass(frozen=True)
class Effort:
    """How hard a node is worked on.

    Attributes
    ----------
    rounds : int
        Of choosing patterns and minimising over them.
    working : int
        Patterns of a group that are added in a round.
    temperatures : tuple of float
        Of the smoothed maximum, relative to the variance of a component.
    iterations : int
    """

    rounds: int = 5
    working: int = 40
    temperatures: tuple[float, ...] = (1e-2, 1e-3)
    iterations: int = 40

    @classmethod
    def at_the_root(cls) -> Effort:
        """More, since all other nodes begin with what is found there."""
        return cls(14, 120, (1e-1, 1e-2, 1e-3, 3e-4), 80)

    @classmethod
    def at_the_end(cls) -> Effort:
        """More, where nothing is left to branch on."""
        return cls(10, 40, (1e-2, 1e-3, 1e-4, 1e-5), 150)


class Bounding:
    """Bounds the nodes of one problem.

    Parameters
    ----------
    Q : array of shape (n, n)
    patterns : Patterns
    scale : float
        Size of the variance of one component.
    """

    def __init__(self, Q: Array, patterns: Patterns, scale: float) -> None:
        self.Q, self.patterns, self.scale = Q, patterns, scale
        self._larger = extended(Q, patterns.width)
        self._inside = patterns.inside

    def tighten(
        self, node: Node, cut: float, effort: Effort, stop: Callable[[], bool] = never
    ) -> None:
        """Lower the bound of a node, until it is at most ``cut`` or the effort is spent.

        Patterns that cannot be part of a set of more than ``cut`` are dropped.
        """
        multipliers = node.multipliers
        working = [np.zeros(0, np.intp) for _ in node.groups]
        exclusive = np.flatnonzero(node.exclusive)
        best, idle = math.inf, 0
        for turn in range(effort.rounds + 1):
            values = self._values(node, multipliers)
            upper = self._estimate(node, multipliers, values)
            idle = 0 if upper < best - 0.02 * max(best - cut, 0.0) or turn == 0 else idle + 1
            if upper < best:
                best, node.multipliers, node.values = upper, multipliers, values
            if best <= cut or turn == effort.rounds or idle > 1 or stop():
                break
            for g, found in enumerate(values):
                working[g] = _widened(working[g], found, effort.working)
            root = multipliers.root
            if turn == 0:
                # A direction that L has not got, its slope does not show.
                root = root + 0.03 * math.sqrt(self.scale) * np.eye(len(root))
            hot = effort.temperatures if turn == 0 else effort.temperatures[-2:]
            index = [
                self.patterns.index[group.patterns[chosen]]
                for group, chosen in zip(node.groups, working, strict=True)
            ]
            try:
                smoothed = minimise(
                    self._larger,
                    index,
                    [group.count for group in node.groups],
                    replace(multipliers, root=root),
                    exclusive,
                    [temperature * self.scale for temperature in hot],
                    effort.iterations,
                    cut - ENOUGH * self.scale,
                    stop,
                )
            except np.linalg.LinAlgError:
                # It has run away; what was found before is as good as ever.
                break
            multipliers = smoothed.multipliers
            node.usage = np.array(
                [
                    share @ self._inside[group.patterns[chosen]]
                    for share, group, chosen in zip(
                        smoothed.weights, node.groups, working, strict=True
                    )
                ]
            )
        self.prove(node, cut)

    def prove(self, node: Node, cut: float) -> None:
        """Turn the multipliers of a node into a proved bound, and drop what is below the cut."""
        found = rigorous(self.Q, node.multipliers.matrix, np.arange(self.patterns.n))
        if found is None:
            return
        A, trace = found
        prices = np.where(node.exclusive, node.multipliers.prices, 0.0)
        paid = prices if prices.any() else None
        levels = [
            self._proved_level(A, group.patterns, values, paid)
            for group, values in zip(node.groups, node.values, strict=True)
        ]
        terms = [
            mul_up(float(g.count), level) for g, level in zip(node.groups, levels, strict=True)
        ]
        upper = add_up(trace, *terms, *(prices[prices > 0].tolist()), 0.0)
        if not upper < math.inf:
            return
        node.upper = min(node.upper, upper)
        groups, values = [], []
        for group, level, known in zip(node.groups, levels, node.values, strict=True):
            # Another one takes the place of one component's level.
            threshold = -add_up(upper, -level, -cut)
            drop = known < threshold
            at = np.flatnonzero(drop)
            drop[at] = self.patterns.proved_below(A, group.patterns[at], threshold, paid)
            groups.append(replace(group, patterns=group.patterns[~drop]))
            values.append(known[~drop])
        node.groups, node.values = groups, values
        if any(len(group.patterns) == 0 for group in groups):
            node.upper = min(node.upper, cut)

    def _values(self, node: Node, multipliers: Multipliers) -> list[Array]:
        A = self.Q - multipliers.matrix
        prices = np.where(node.exclusive, multipliers.prices, 0.0)
        found = []
        for group in node.groups:
            values = self.patterns.values(A, group.patterns)
            if prices.any():
                values -= self._inside[group.patterns] @ prices
            found.append(values)
        return found

    @staticmethod
    def _estimate(node: Node, multipliers: Multipliers, values: list[Array]) -> float:
        total = float(np.square(multipliers.root).sum() + multipliers.prices[node.exclusive].sum())
        for group, found in zip(node.groups, values, strict=True):
            total += group.count * float(found.max())
        return total

    def _proved_level(
        self, A: Array, which: IntArray, values: Array, prices: Array | None
    ) -> float:
        """A number that no pattern of a group exceeds."""
        size = float(np.abs(A).max(initial=0.0)) + (0.0 if prices is None else float(prices.sum()))
        top = float(values.max())
        slack = 64 * (self.patterns.width + 4) ** 2 * UNIT * size
        pending = which
        for _ in range(40):
            level = top + slack
            pending = pending[~self.patterns.proved_below(A, pending, level, prices)]
            if len(pending) == 0:
                return level
            slack *= 4
        return math.inf


def _widened(working: IntArray, values: Array, more: int) -> IntArray:
    """Return the patterns worked with, and the best of the others."""
    count = min(more, len(values))
    best = np.argpartition(-values, count - 1)[:count]
    union: IntArray = np.union1d(working, best)
    if len(union) > 4 * more:
        union = np.sort(union[np.argsort(-values[union], kind="stable")[: 3 * more]])
    return union
