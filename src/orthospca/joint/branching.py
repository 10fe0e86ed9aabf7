"""How a node of a joint problem is split, so that no set of components is lost.

Within a group of components of which the same is known, some number of them uses a feature and the
others do not: which of them does not matter, so there is one child for each number and not for each
choice.
"""

from __future__ import annotations

import itertools

import numpy as np

from orthospca._typing import BoolArray
from orthospca.joint.node import Group, Node
from orthospca.joint.patterns import Patterns


def split(node: Node, patterns: Patterns) -> list[Node] | None:
    """Return nodes that hold every set of this one; None if each component has one pattern left."""
    inside = patterns.inside
    choice = _undecided(node, inside)
    if choice is None:
        return None
    g, feature = choice
    group = node.groups[g]
    others = [other for h, other in enumerate(node.groups) if h != g]
    has = inside[group.patterns, feature]
    children = []
    for number in range(group.count + 1):
        parts = [
            Group(count, group.patterns[which])
            for count, which in ((number, has), (group.count - number, ~has))
            if count
        ]
        child = Node(others + parts, node.root, node.upper)
        if not _meet_once(child, inside):
            children.append(child)
    return children


def _undecided(node: Node, inside: BoolArray) -> tuple[int, int] | None:
    """The group and the feature that the relaxation is least decided about."""
    best, choice = 0.0, None
    for g, group in enumerate(node.groups):
        share = inside[group.patterns].mean(axis=0)
        # Where the relaxation is whole everywhere, what is left is decided by the patterns.
        doubt = share * (1 - share)
        if node.usage is not None:
            usage = node.usage[g]
            doubt = np.where(doubt > 0, np.abs(usage - np.round(usage)) + 1e-3 * doubt, 0.0)
        feature = int(np.argmax(doubt))
        if doubt[feature] > best:
            best, choice = float(doubt[feature]), (g, feature)
    return choice


def _meet_once(node: Node, inside: BoolArray) -> bool:
    """Whether two components have one feature in common: then they are not orthogonal."""
    settled = [
        inside[group.patterns[0]]
        for group in node.groups
        if len(group.patterns) == 1
        for _ in range(min(group.count, 2))
    ]
    return any(np.count_nonzero(a & b) == 1 for a, b in itertools.combinations(settled, 2))
