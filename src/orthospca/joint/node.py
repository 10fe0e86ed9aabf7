"""A part of a joint problem: what each component must and may use, and its proved bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.joint.bound import cost_of_users, rigorous
from orthospca.joint.branching import Group, Node, split
from orthospca.joint.multipliers import first_root, minimise
from orthospca.joint.patterns import Patterns, extended
from orthospca.model.tuning import Effort, JointTuning
from orthospca.numerics.rounding import UNIT, add_up, mul_up


class Bounding:
    """Bounds and divides the nodes of one problem.

    Parameters
    ----------
    Q : array of shape (n, n)
    groups : sequence of Group
        The components, by the patterns that they may have.
    patterns : Patterns
    places : integer array
        What the features are called outside.
    start : array of shape (n, n)
        The root of M to begin with.
    scale : float
        Size of the variance of one component.
    tuning : JointTuning
    disjoint : bool
        Whether a feature serves one component.
    kept : bool
        Whether nodes keep what a certificate needs.
    """

    def __init__(
        self,
        Q: Array,
        groups: Sequence[Group],
        patterns: Patterns,
        places: IntArray,
        start: Array,
        scale: float,
        tuning: JointTuning,
        disjoint: bool = False,
        kept: bool = False,
    ) -> None:
        self.Q, self.patterns, self.scale, self._tuning = Q, patterns, scale, tuning
        self._groups, self._places, self._start = groups, places, start
        self._disjoint, self._kept = disjoint, kept
        # The more components, the less a node says of a set.
        self.steps = 0.5 * (sum(group.count for group in groups) - 1)
        self._larger = extended(Q, patterns.width)

    def root(self) -> Node:
        """Return the whole problem."""
        prices = np.zeros(self.patterns.n)
        node = Node(list(self._groups), self._start, prices, kept=self._kept)
        if any(len(group.patterns) == 0 for group in self._groups):
            node.upper = -math.inf
        return node

    def split(self, node: Node) -> list[Node] | None:
        """Return nodes that hold every set of this one; None if each has one pattern left."""
        return split(node, self.patterns, self._disjoint)

    def supports(self, node: Node) -> list[IntArray]:
        """Return a pattern for each component: of much weight, with little in common with others.

        They are those of the node where it has one for each component.
        """
        found, taken = [], np.zeros(self.patterns.n)
        for g, group in enumerate(node.groups):
            which, weights = group.patterns, np.ones(len(group.patterns))
            if node.weights and len(which) > 1:
                which, weights = node.weights[g]
            for _ in range(group.count):
                common = self.patterns.inside[which] @ taken / self.patterns.sizes[which]
                i = int(which[np.argmax(weights * (1 - common))])
                taken = np.maximum(taken, self.patterns.inside[i])
                found.append(self._places[self.patterns.members(i)])
        return found

    def tighten(self, node: Node, cut: float, effort: str, stop: Callable[[], bool]) -> None:
        """Lower the bound of a node, until it is at most ``cut`` or the effort is spent.

        Patterns that cannot be part of a set of more than ``cut`` are dropped.
        """
        if node.upper > cut:
            self._tighten(node, cut, getattr(self._tuning, effort), stop)

    def _tighten(self, node: Node, cut: float, effort: Effort, stop: Callable[[], bool]) -> None:
        root, prices, users = node.root, node.prices, node.users(self._disjoint)
        # Where one pattern is left for each there is nothing that a price could tell apart.
        priced = any(len(group.patterns) > 1 for group in node.groups)
        if not priced and prices.any():
            root, prices = first_root(len(root), self.scale), np.zeros_like(prices)
        working = [np.zeros(0, np.intp) for _ in node.groups]
        best, idle = math.inf, 0
        for turn in range(effort.rounds + 1):
            A = self.Q - root @ root.T
            values = [self.patterns.values(A, group.patterns, prices) for group in node.groups]
            upper = cost_of_users(self.Q, A, prices, users)
            for group, found in zip(node.groups, values, strict=True):
                upper += group.count * float(found.max())
            idle = 0 if upper < best - 0.02 * max(best - cut, 0.0) or turn == 0 else idle + 1
            if upper < best:
                best, node.root, node.prices, node.values = upper, root, prices, values
            if best <= cut or turn == effort.rounds or idle > 1 or stop():
                break
            for g, found in enumerate(values):
                working[g] = _widened(working[g], found, effort.working)
            if turn == 0:
                # A direction that L has not got, its slope does not show.
                root = root + 0.03 * math.sqrt(self.scale) * np.eye(len(root))
            chosen = [
                group.patterns[part] for group, part in zip(node.groups, working, strict=True)
            ]
            try:
                smoothed = minimise(
                    self._larger,
                    [self.patterns.index[part] for part in chosen],
                    [group.count for group in node.groups],
                    users,
                    (root, prices),
                    self.scale,
                    effort if turn == 0 else effort.later,
                    enough=cut - self._tuning.enough * self.scale,
                    stop=stop,
                    priced=priced,
                )
            except np.linalg.LinAlgError:
                # It has run away; what was found before is as good as ever.
                break
            root, prices = smoothed.root, smoothed.prices
            node.weights = list(zip(chosen, smoothed.shares, strict=True))
        self.prove(node, cut)

    def prove(self, node: Node, cut: float) -> None:
        """Turn M and prices of a node into a proved bound, and drop what is below the cut."""
        found = rigorous(self.Q, node.root @ node.root.T, np.arange(self.patterns.n))
        if found is None:
            return
        A, prices = found[0], node.prices
        cost = cost_of_users(self.Q, A, prices, node.users(self._disjoint))
        levels = [
            self._proved_level(A, group.patterns, values, prices)
            for group, values in zip(node.groups, node.values, strict=True)
        ]
        terms = [
            mul_up(float(g.count), level) for g, level in zip(node.groups, levels, strict=True)
        ]
        upper = add_up(cost, *terms)
        if not upper < math.inf:
            return
        if node.kept:
            node.proofs.append((A, prices))
        node.upper = min(node.upper, upper)
        groups, values = [], []
        for group, level, known in zip(node.groups, levels, node.values, strict=True):
            # Another one takes the place of one component's level.
            threshold = -add_up(upper, -level, -cut)
            drop = known < threshold
            at = np.flatnonzero(drop)
            drop[at] = self.patterns.proved_below(A, group.patterns[at], threshold, prices)
            groups.append(replace(group, patterns=group.patterns[~drop]))
            values.append(known[~drop])
        node.groups, node.values = groups, values
        if any(len(group.patterns) == 0 for group in groups):
            node.upper = min(node.upper, cut)

    def _proved_level(self, A: Array, which: IntArray, values: Array, prices: Array) -> float:
        """A number that no pattern of a group exceeds, less what it costs."""
        top = float(values.max())
        size = float(np.abs(A).max(initial=0.0)) + float(np.abs(prices).max(initial=0.0))
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
