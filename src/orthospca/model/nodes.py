"""Nodes of the search tree and what is found out about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from orthospca._typing import IntArray
from orthospca.model.limits import Watch


@dataclass(frozen=True, eq=False)
class Node:
    """All supports T with ``included ⊆ T ⊆ allowed`` and ``|T| ≤ p``: the paper's (l, u).

    Attributes
    ----------
    included, allowed : integer arrays, ascending
    upper : float
        Proved bound on the values in the node.
    branch : int
        The index to branch on; -1 as long as the node has not been bounded.
    payload : object
        What the bound hands down to the children (multipliers, a warm start).
    proof : object
        What the bound rests on: it may be that of a larger node.
    path : tuple of int
        The branches from the root to it, true where the index is in.
    """

    included: IntArray
    allowed: IntArray
    upper: float = math.inf
    branch: int = -1
    payload: Any = None
    proof: Any = None
    path: tuple[int, ...] = ()

    @property
    def free(self) -> IntArray:
        """Allowed indices that are not included."""
        return np.setdiff1d(self.allowed, self.included, assume_unique=True)

    def children(self) -> tuple[Node, Node]:
        """Return the nodes with the branching index in, and with it out."""
        inside = np.sort(np.append(self.included, self.branch))
        outside = self.allowed[self.allowed != self.branch]
        handed = {"payload": self.payload, "proof": self.proof}
        return (
            Node(inside, self.allowed, self.upper, **handed, path=(*self.path, True)),
            Node(self.included, outside, self.upper, **handed, path=(*self.path, False)),
        )


@dataclass(frozen=True, eq=False)
class Closed:
    """A closed node: nothing in it exceeds ``upper``.

    Attributes
    ----------
    included, allowed : integer arrays
    upper : float
    kept : tuple of two integer arrays, or None
        If given, only the supports of the node that are *not* between these included and allowed
        indices are closed: the rest was kept as a smaller node.
    """

    included: IntArray
    allowed: IntArray
    upper: float
    kept: tuple[IntArray, IntArray] | None = None


@dataclass(frozen=True, eq=False)
class NodeBound:
    """What a bound says of a node.

    Attributes
    ----------
    upper : float
        Proved.
    branch : int
        The index to branch on if the node stays open.
    supports : tuple of integer arrays
        Supports worth trying for a better incumbent.
    included, allowed : integer arrays
        The node after fixing: every support of the node that could beat the cutoff is still there.
    fixed_upper : float
        Proved bound on what fixing removed.
    payload, proof : object
    steps : tuple
        How the node was made smaller, step by step.
    """

    upper: float
    included: IntArray
    allowed: IntArray
    branch: int = -1
    supports: tuple[IntArray, ...] = ()
    fixed_upper: float = -math.inf
    payload: Any = None
    proof: Any = None
    steps: tuple[Any, ...] = ()


class Bound(Protocol):
    """An upper bound on nodes: the parameter of the search."""

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        """Bound a node; the work may stop as soon as ``upper ≤ cutoff``."""
