"""How a node of a joint problem is split, so that no set of components is lost.

Within a group of components of which the same is known, some number of them uses a feature and the
others do not: which of them does not matter, so there is one child for each number and not for each
choice.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.joint.patterns import Patterns


@dataclass(frozen=True, eq=False)
class Group:
    """Components of which the same is known, so that it does not matter which is which.

    Attributes
    ----------
    count : int
    patterns : integer array
        Those that a set better than the best known may use, by number.
    must, may : boolean arrays of shape (n,)
        Features that all of them use and that they may use, by what was branched on.
    """

    count: int
    patterns: IntArray
    must: BoolArray
    may: BoolArray

    @classmethod
    def of_all(cls, count: int, patterns: IntArray, n: int) -> Group:
        """Return a group of which nothing is decided."""
        return cls(count, patterns, np.zeros(n, bool), np.ones(n, bool))

    def using(self, feature: int, uses: bool, inside: BoolArray, count: int | None = None) -> Group:
        """Return the same group, or so many of it, with or without a feature."""
        here = np.arange(len(self.must)) == feature
        return Group(
            self.count if count is None else count,
            self.patterns[inside[self.patterns, feature] == uses],
            self.must | here if uses else self.must,
            self.may if uses else self.may & ~here,
        )


@dataclass(eq=False)
class Node:
    """A part of the problem.

    Attributes
    ----------
    groups : list of Group
    root : array of shape (n, n)
        Of the best M known.
    prices : array of shape (n,)
        What goes with it, for each use of a feature.
    upper : float
        Proved.
    values : list of arrays
        For each group, the value of each pattern, as computed.
    weights : list of pairs of arrays
        For each group, some patterns and how many components have each in the convex relaxation.
    kept : bool
        Whether the following is kept, for a certificate.
    cut : pair of int
        The group and the feature that it was split by; -1 twice if it was not.
    children : list of Node
        What it was split into, with what turned out to hold no set.
    proofs : list of pairs of arrays
        Each A that something was proved with, and its prices.
    """

    groups: list[Group]
    root: Array
    prices: Array
    upper: float = math.inf
    values: list[Array] = field(default_factory=list)
    weights: list[tuple[IntArray, Array]] = field(default_factory=list)
    kept: bool = False
    cut: tuple[int, int] = (-1, -1)
    children: list[Node] = field(default_factory=list)
    proofs: list[tuple[Array, Array]] = field(default_factory=list)

    def users(self, disjoint: bool) -> tuple[IntArray, IntArray]:
        """Return how many components use each feature, at least and at most."""
        least = sum(group.count * group.must.astype(int) for group in self.groups)
        most = sum(group.count * group.may.astype(int) for group in self.groups)
        return np.asarray(least), np.asarray(np.minimum(most, 1) if disjoint else most)


def split(node: Node, patterns: Patterns, disjoint: bool = False) -> list[Node] | None:
    """Return nodes that hold every set of this one; None if each component has one pattern left.

    If components are to be disjoint, one of them at most uses a feature, and then no other does.
    """
    inside = patterns.inside
    choice = _undecided(node, inside)
    if choice is None:
        return None
    node.cut = g, feature = choice
    group = node.groups[g]
    others = [other for h, other in enumerate(node.groups) if h != g]
    without = [other.using(feature, False, inside) for other in others]
    children = []
    for number in range((1 if disjoint else group.count) + 1):
        parts = [
            group.using(feature, uses, inside, count)
            for count, uses in ((number, True), (group.count - number, False))
            if count
        ]
        groups = (without if disjoint and number else others) + parts
        child = Node(groups, node.root, node.prices, node.upper, kept=node.kept)
        if node.kept:
            node.children.append(child)
        if all(len(g.patterns) for g in groups) and not _conflict(child, inside, disjoint):
            children.append(child)
    return children


def written(root: Node) -> tuple[Array, Array, Array]:
    """Return the steps of a tree, and the matrices and prices that they rest on.

    A step is the group and the feature that a node is split by, -1 twice if it is not, -2 twice if
    another matrix follows; and the number of its matrix, or -1.  A node comes before its children.
    """
    steps: list[tuple[int, int, int]] = []
    proofs: list[tuple[Array, Array]] = []
    pending = [root]
    while pending:
        node = pending.pop()
        for proof in node.proofs[:-1]:
            steps.append((-2, -2, len(proofs)))
            proofs.append(proof)
        steps.append((*node.cut, len(proofs) if node.proofs else -1))
        proofs += node.proofs[-1:]
        pending += reversed(node.children)
    matrices, prices = zip(*proofs, strict=True) if proofs else ((), ())
    return np.array(steps, dtype=np.int32), np.array(matrices), np.array(prices)


def _undecided(node: Node, inside: BoolArray) -> tuple[int, int] | None:
    """The group and the feature that the relaxation is least decided about."""
    best, choice = 0.0, None
    for g, group in enumerate(node.groups):
        share = inside[group.patterns].mean(axis=0)
        # Where the relaxation is whole everywhere, what is left is decided by the patterns.
        doubt = share * (1 - share)
        if node.weights:
            which, weights = node.weights[g]
            usage = weights @ inside[which]
            doubt = np.where(doubt > 0, np.abs(usage - np.round(usage)) + 1e-3 * doubt, 0.0)
        feature = int(np.argmax(doubt))
        if doubt[feature] > best:
            best, choice = float(doubt[feature]), (g, feature)
    return choice


def _conflict(node: Node, inside: BoolArray, disjoint: bool) -> bool:
    """Whether two components have one feature in common, and so are not orthogonal; or any."""
    settled = [
        inside[group.patterns[0]]
        for group in node.groups
        if len(group.patterns) == 1
        for _ in range(min(group.count, 2))
    ]
    common = [np.count_nonzero(a & b) for a, b in itertools.combinations(settled, 2)]
    return any(common) if disjoint else 1 in common
