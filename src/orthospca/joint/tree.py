"""Branch and bound over the patterns of all components together."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.joint.branching import split
from orthospca.joint.multipliers import Multipliers
from orthospca.joint.node import Bounding, Effort, Group, Node
from orthospca.joint.patterns import Patterns
from orthospca.joint.settled import SettledNode
from orthospca.model.tolerance import Tolerance

#: A variance is not taken to be smaller than this share of the largest entry of Q.
SMALLEST_SCALE = 0.1


@dataclass
class Standing:
    """What a search knows.

    Attributes
    ----------
    lower : float
        The variance of the best set found.
    upper : float
        Proved of every set.
    nodes, open_nodes : int
    """

    lower: float
    upper: float
    nodes: int = 0
    open_nodes: int = 0


class Tree:
    """The search for a better set, among some patterns.

    Parameters
    ----------
    Q : array of shape (n, n)
    limits : sequence of int
        The sparsity of each component.
    patterns : Patterns
        All that a better set may use.
    outside : float
        Proved of all sets that use others.
    tolerance : Tolerance
    lower : float
        The variance of a set that is known.
    suggest : callable
        Given patterns, one for each component, and whether they are all that is left of a node,
        returns the variance of the best set known, perhaps one made of them.
    """

    def __init__(
        self,
        Q: Array,
        limits: Sequence[int],
        patterns: Patterns,
        outside: float,
        tolerance: Tolerance,
        lower: float,
        suggest: Callable[[list[IntArray], bool], float],
        start: Multipliers | None = None,
    ) -> None:
        self.state = Standing(lower, math.inf)
        self._tolerance, self._outside, self._suggest = tolerance, outside, suggest
        self._limits = tuple(limits)
        self._patterns = patterns
        scale = max(abs(lower) / len(limits), SMALLEST_SCALE * float(np.abs(Q).max())) or 1.0
        self._bounding = Bounding(Q, patterns, scale)
        self._start = start or Multipliers.begin(len(Q), scale)
        # Bounds of what is not looked at any more, though it is above the cut.
        self._left = -math.inf
        self._cut = self._tolerance.cutoff(lower)

    @property
    def settled_open(self) -> bool:
        """Whether the bound of some supports, one for each component, is above the tolerance."""
        return self._left > self._cut

    def run(
        self, stop: Callable[[Standing], bool], report: Callable[[Standing], float]
    ) -> Standing:
        """Search until the tolerance is met or ``stop`` says so.

        ``report`` hears of every step, and answers with the variance of the best set known.
        """
        state = self.state
        root = self._root()
        asked = partial(stop, state)
        self._bounding.tighten(root, self._cut, Effort.at_the_root(), asked)
        state.nodes = 1
        self._round(root)
        queue: list[tuple[float, int, Node]] = []
        ticket = 0
        if root.upper > self._cut:
            heapq.heappush(queue, (-root.upper, ticket, root))
        self._note(queue, report)
        while queue and not stop(state):
            node = heapq.heappop(queue)[2]
            if node.upper <= self._cut:
                continue
            children = None if node.is_settled else split(node, self._patterns)
            if children is None:
                self._end(node, stop)
            for child in children or []:
                if stop(state):
                    # What is not looked at keeps the bound of the node.
                    ticket += 1
                    child.upper = node.upper
                    heapq.heappush(queue, (-child.upper, ticket, child))
                    continue
                self._bounding.tighten(child, self._cut, Effort(), asked)
                state.nodes += 1
                child.upper = min(child.upper, node.upper)
                if child.upper > self._cut:
                    ticket += 1
                    heapq.heappush(queue, (-child.upper, ticket, child))
                    if state.nodes % 8 == 0:
                        self._round(child)
            self._note(queue, report)
        return state

    def _root(self) -> Node:
        n = self._patterns.n
        groups = []
        for limit in sorted(set(self._limits)):
            those = np.flatnonzero(self._patterns.sizes <= limit)
            count = self._limits.count(limit)
            groups.append(Group(count, those, np.zeros(n, bool)))
        return Node(groups, np.zeros(n, bool), self._start)

    def _end(self, node: Node, stop: Callable[[Standing], bool]) -> None:
        """Bound a node that has nothing to branch on as well as possible."""
        self._round(node)
        self._bounding.tighten(node, self._cut, Effort.at_the_end(), partial(stop, self.state))
        if node.upper > self._cut and node.is_settled:
            patterns = [
                self._patterns.members(int(group.patterns[0]))
                for group in node.groups
                for _ in range(group.count)
            ]
            settled = SettledNode(self._bounding.Q, patterns, self._bounding.scale)
            node.upper = settled.close(self._cut, node.upper, lambda: stop(self.state))
        if node.upper > self._cut:
            self._left = max(self._left, node.upper)

    def _round(self, node: Node) -> None:
        """Try to make a set from what a node prefers."""
        if any(len(group.patterns) == 0 for group in node.groups):
            return
        chosen: list[IntArray] = []
        for group, values in zip(node.groups, node.values, strict=True):
            order = np.argsort(-values, kind="stable")[: group.count]
            for k in range(group.count):
                best = group.patterns[order[min(k, len(order) - 1)]]
                chosen.append(self._patterns.members(int(best)))
        self._learn(self._suggest(chosen, node.is_settled))

    def _learn(self, lower: float) -> None:
        """Take note of a set."""
        self.state.lower = max(self.state.lower, lower)
        self._cut = max(self._cut, self._tolerance.cutoff(self.state.lower))

    def _note(
        self,
        queue: list[tuple[float, int, Node]],
        report: Callable[[Standing], float],
    ) -> None:
        """Put together what is proved."""
        open_upper = -queue[0][0] if queue else -math.inf
        upper = max(open_upper, self._left, self._cut, self._outside)
        self.state.upper = min(self.state.upper, upper)
        self.state.open_nodes = len(queue)
        self._learn(report(self.state))
