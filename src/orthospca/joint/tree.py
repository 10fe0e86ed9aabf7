"""Branch and bound over all components together."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, Protocol

from orthospca._typing import IntArray
from orthospca.joint.ascent import SetSearch
from orthospca.model.tolerance import Tolerance


class Division(Protocol):
    """How a problem is bounded and divided; a node is what it says it is, with an ``upper``.

    Attributes
    ----------
    steps : float
        Steps of the search for sets that go with a node.
    """

    steps: float

    def root(self) -> Any:
        """Return the whole problem."""

    def tighten(self, node: Any, cut: float, effort: str, stop: Callable[[], bool]) -> None:
        """Lower the bound of a node: the ``"first"`` one, a ``"node"``, or the ``"last"`` time."""

    def split(self, node: Any) -> list[Any] | None:
        """Return nodes that hold every set of this one; None if nothing is left to divide."""

    def supports(self, node: Any) -> list[IntArray] | None:
        """Return features for each component that may be a good set; None if there are none."""


class Tree:
    """The search for a better set.

    Parameters
    ----------
    division : Division
    outside : float
        Proved of all sets that it does not hold.
    tolerance : Tolerance
    search : SetSearch
        Has the best set found, and makes others of what nodes prefer.

    Attributes
    ----------
    upper : float
        Proved of every set.
    nodes, open_nodes : int
    root : node
        The whole problem.
    """

    def __init__(
        self, division: Division, outside: float, tolerance: Tolerance, search: SetSearch
    ) -> None:
        self.upper, self.nodes = math.inf, 0
        self._division, self._outside = division, outside
        self._tolerance, self._search = tolerance, search
        self._queue: list[tuple[float, int, Any]] = []
        # Bounds of what is not looked at any more, though it is above the cut.
        self._left = -math.inf
        self._cut = tolerance.cutoff(search.value)
        self._tickets = self._steps = 0
        self.root: Any = None

    @property
    def open_nodes(self) -> int:
        """Nodes that are left to branch on."""
        return len(self._queue)

    @property
    def settled_open(self) -> bool:
        """Whether the bound of some supports, one for each component, is above the tolerance."""
        return self._left > self._cut

    def run(self, stop: Callable[[], bool], report: Callable[[], None], root: Any = None) -> None:
        """Search until the tolerance is met or ``stop`` says so; ``report`` hears of every step.

        Parameters
        ----------
        stop, report : callables
        root : node, optional
            The whole problem, if it is bounded already.
        """
        if root is None:
            root = self._division.root()
            self._bound(root, "first", stop)
        self.root = root
        self._push(root)
        self._note(report)
        while self._queue and not stop():
            node = heapq.heappop(self._queue)[2]
            if node.upper <= self._cut:
                continue
            children = self._division.split(node)
            if children is None:
                self._end(node, stop)
            for child in children or []:
                # What is not looked at keeps the bound of the node.
                if not stop():
                    self._bound(child, "node", stop)
                self._push(child)
            self._note(report)

    def _bound(self, node: Any, effort: str, stop: Callable[[], bool]) -> None:
        self._division.tighten(node, self._cut, effort, stop)
        self.nodes += 1
        supports = self._division.supports(node) if node.upper > self._cut else None
        if supports is not None:
            self._search.near(supports)
            self._learn()

    def _push(self, node: Any) -> None:
        if node.upper > self._cut:
            self._tickets += 1
            heapq.heappush(self._queue, (-node.upper, self._tickets, node))

    def _end(self, node: Any, stop: Callable[[], bool]) -> None:
        """Bound a node with one support for each component as well as possible."""
        supports = self._division.supports(node)
        if supports is not None:
            self._search.settle(supports)
            self._learn()
        self._division.tighten(node, self._cut, "last", stop)
        if node.upper > self._cut:
            self._left = max(self._left, node.upper)

    def _learn(self) -> None:
        """Take note of the best set."""
        self._cut = max(self._cut, self._tolerance.cutoff(self._search.value))

    def _note(self, report: Callable[[], None]) -> None:
        """Put together what is proved, and look for better sets meanwhile."""
        open_upper = -self._queue[0][0] if self._queue else -math.inf
        self.upper = min(self.upper, max(open_upper, self._left, self._cut, self._outside))
        while self._steps < int(self.nodes * self._division.steps):
            self._steps += 1
            self._search.step()
        self._learn()
        report()
