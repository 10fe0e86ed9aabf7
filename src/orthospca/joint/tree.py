"""Branch and bound over the patterns of all components together."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.joint.ascent import SetSearch
from orthospca.joint.branching import split
from orthospca.joint.node import Bounding, Group, Node
from orthospca.joint.patterns import Patterns
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import JointTuning


class Tree:
    """The search for a better set, among some patterns.

    Parameters
    ----------
    Q : array of shape (n, n)
    limits : sequence of int
        The sparsity of each component.
    patterns : Patterns
        All that a better set may use.
    places : integer array
        Which features of the search for sets these are.
    outside : float
        Proved of all sets that use others.
    tolerance : Tolerance
    search : SetSearch
        Has the best set found, and makes others of what nodes prefer.
    start : array of shape (n, n)
        The root of M to begin with.
    scale : float
        Size of the variance of one component.
    tuning : JointTuning

    Attributes
    ----------
    upper : float
        Proved of every set.
    nodes, open_nodes : int
    """

    def __init__(
        self,
        Q: Array,
        limits: Sequence[int],
        patterns: Patterns,
        places: IntArray,
        outside: float,
        tolerance: Tolerance,
        search: SetSearch,
        start: Array,
        scale: float,
        tuning: JointTuning,
    ) -> None:
        self.upper, self.nodes = math.inf, 0
        self._limits, self._patterns, self._places = tuple(limits), patterns, places
        self._tolerance, self._outside = tolerance, outside
        self._search, self._tuning, self._start = search, tuning, start
        self._bounding = Bounding(Q, patterns, scale, tuning.enough * scale)
        self._queue: list[tuple[float, int, Node]] = []
        # Bounds of what is not looked at any more, though it is above the cut.
        self._left = -math.inf
        self._cut = tolerance.cutoff(search.value)
        self._tickets = self._steps = 0

    @property
    def open_nodes(self) -> int:
        """Nodes that are left to branch on."""
        return len(self._queue)

    @property
    def settled_open(self) -> bool:
        """Whether the bound of some supports, one for each component, is above the tolerance."""
        return self._left > self._cut

    def run(self, stop: Callable[[], bool], report: Callable[[], None]) -> None:
        """Search until the tolerance is met or ``stop`` says so; ``report`` hears of every step."""
        root = self._root()
        self._bounding.tighten(root, self._cut, self._tuning.first, stop)
        self.nodes = 1
        self._push(root)
        self._note(report)
        while self._queue and not stop():
            node = heapq.heappop(self._queue)[2]
            if node.upper <= self._cut:
                continue
            children = split(node, self._patterns)
            if children is None:
                self._end(node, stop)
            for child in children or []:
                # What is not looked at keeps the bound of the node.
                if not stop():
                    self._bounding.tighten(child, self._cut, self._tuning.node, stop)
                    self.nodes += 1
                self._push(child)
            self._note(report)

    def _root(self) -> Node:
        groups = []
        for limit in sorted(set(self._limits)):
            those = np.flatnonzero(self._patterns.sizes <= limit)
            groups.append(Group(self._limits.count(limit), those))
        return Node(groups, self._start)

    def _push(self, node: Node) -> None:
        if node.upper > self._cut:
            self._tickets += 1
            heapq.heappush(self._queue, (-node.upper, self._tickets, node))

    def _end(self, node: Node, stop: Callable[[], bool]) -> None:
        """Bound a node with one pattern for each component as well as possible."""
        patterns = [
            self._places[self._patterns.members(int(group.patterns[0]))]
            for group in node.groups
            for _ in range(group.count)
        ]
        self._search.settle(patterns)
        self._learn()
        self._bounding.tighten(node, self._cut, self._tuning.last, stop)
        if node.upper > self._cut:
            self._left = max(self._left, node.upper)

    def _learn(self) -> None:
        """Take note of the best set."""
        self._cut = max(self._cut, self._tolerance.cutoff(self._search.value))

    def _note(self, report: Callable[[], None]) -> None:
        """Put together what is proved, and look for better sets meanwhile."""
        open_upper = -self._queue[0][0] if self._queue else -math.inf
        self.upper = min(self.upper, max(open_upper, self._left, self._cut, self._outside))
        # The more components, the less a node says of a set.
        while self._steps < self.nodes * (len(self._limits) - 1) // 2:
            self._steps += 1
            self._search.step()
        self._learn()
        report()
