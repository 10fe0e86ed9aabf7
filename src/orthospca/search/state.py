"""What is known of a stage while it is being solved: incumbent, bounds, what is closed and open."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from orthospca.bounds.conditioning.steps import Tree
from orthospca.bounds.conditioning.walk import Tally
from orthospca.model.limits import Watch
from orthospca.model.nodes import Closed, Node
from orthospca.model.result import ClosedBy, Status
from orthospca.model.tolerance import Tolerance
from orthospca.search.outcome import Argument, Outcome
from orthospca.supports.best import Candidate

#: Is told of every node that is closed, and why.
Observer = Callable[[Closed], None]


class OpenNodes:
    """Nodes that are waiting, the one with the largest bound first, and those being worked on.

    An interrupt may come between any two lines: every node that is not closed is in one of the two
    places, or in both, at all times.
    """

    def __init__(self, working: Sequence[Node]) -> None:
        self.working = list(working)
        self._waiting: list[tuple[float, int, Node]] = []
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def upper(self) -> float:
        """Proved bound on everything that is open."""
        pending = max((node.upper for node in self.working), default=-math.inf)
        return max(pending, -self._waiting[0][0] if self._waiting else -math.inf)

    def push(self, node: Node) -> None:
        """Let a node wait."""
        heapq.heappush(self._waiting, (-node.upper, next(self._order), node))

    def take(self, count: float) -> None:
        """Move the most promising nodes among those being worked on, until there are so many."""
        while self._waiting and len(self.working) < count:
            self.working.append(self._waiting[0][2])
            heapq.heappop(self._waiting)


class Featured(Protocol):
    """Something with features."""

    @property
    def n_features(self) -> int:
        """How many."""


P = TypeVar("P", bound=Featured)


class StageState(Generic[P]):
    """What is known of a stage, and how it is told.

    Parameters
    ----------
    problem : Subproblem, or another stage with features
    tolerance : Tolerance
    watch : Watch
    best : Candidate, optional
        The incumbent.
    upper : float
        A bound on the whole stage known beforehand.
    observer : callable, optional
        Told of every node that is closed.

    Attributes
    ----------
    best : Candidate or None
    nodes : int
        Nodes evaluated.
    open : OpenNodes
        Until a search begins, everything.
    trying : ClosedBy
        What is at work on the open nodes, and has closed the others.
    argument : Argument or None
        Why the bound known of the whole stage holds.
    tree : tuple of float and Tree, or None
        The lowest level at which one tree has closed everything, and that tree.
    tally : Tally
        What conditioned searches have cost.
    """

    def __init__(
        self,
        problem: P,
        tolerance: Tolerance,
        watch: Watch,
        best: Candidate | None = None,
        upper: float = math.inf,
        observer: Observer | None = None,
    ) -> None:
        self.problem = problem
        self.tolerance = tolerance
        self.watch = watch
        self.best = best
        self.nodes = 0
        self.open = OpenNodes([Node(np.arange(0), np.arange(problem.n_features))])
        self.trying = ClosedBy.WALK
        self.argument: Argument | None = None
        self.tree: tuple[float, Tree] | None = None
        self.tally = Tally()
        self._known_upper, self._known_by = upper, ClosedBy.CAP
        self._closed_upper = -math.inf
        self._observer = observer

    @property
    def lower(self) -> float:
        """Value of the incumbent."""
        return -math.inf if self.best is None else self.best.value

    @property
    def cutoff(self) -> float:
        """Nodes with a bound up to this one need not be explored."""
        return self.tolerance.cutoff(self.lower)

    @property
    def searched_upper(self) -> float:
        """Proved bound from nodes alone: the largest of what is closed, open and in hand."""
        return max(self._closed_upper, self.open.upper, self.lower)

    @property
    def upper(self) -> float:
        """Proved bound on the stage."""
        return max(min(self._known_upper, self.searched_upper), self.lower)

    @property
    def proved_by(self) -> ClosedBy:
        """What the bound rests on."""
        return self._known_by if self._known_upper <= self.searched_upper else self.trying

    def improve(self, candidate: Candidate | None) -> None:
        """Take a candidate if it is better than the incumbent."""
        if candidate is not None and candidate.value > self.lower:
            self.best = candidate

    def tighten(self, upper: float, by: ClosedBy, argument: Argument | None = None) -> None:
        """Take note of a bound on the whole stage, of what proved it, and of why it holds."""
        if upper < self._known_upper:
            self._known_upper, self._known_by, self.argument = upper, by, argument

    def close(self, closed: Closed) -> None:
        """Take note of a node that is closed: nothing in it exceeds its bound."""
        self._closed_upper = max(self._closed_upper, closed.upper)
        if self._observer is not None:
            self._observer(closed)

    def settle(self, upper: float, by: ClosedBy) -> None:
        """Close the whole stage: nothing in it exceeds the bound."""
        everything = np.arange(self.problem.n_features)
        self.trying = by
        self.close(Closed(everything[:0], everything, upper))
        self.open.working = []

    def tell(self, open_nodes: int | None = None) -> None:
        """Report where the stage stands."""
        count = len(self.open) if open_nodes is None else open_nodes
        self.watch.report(self.nodes, count, self.lower, self.upper, self.proved_by)

    def interrupted(self) -> Outcome:
        """End as it stands."""
        self.watch.interrupted = True
        return self.outcome(Status.INTERRUPTED)

    def outcome(self, verdict: Status | None = None) -> Outcome:
        """End for a reason, or because nothing is open any more."""
        upper = self.upper
        if self.best is not None and self.tolerance.met(self.lower, upper):
            verdict = Status.OPTIMAL
        elif verdict is None:
            # All nodes are closed: what is left of the gap is rounding.
            nothing = self.best is None and upper == -math.inf
            verdict = Status.EXHAUSTED if nothing else Status.PRECISION
        return Outcome(self.best, upper, verdict, self.nodes, self.proved_by)
