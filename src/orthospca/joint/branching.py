"""How a node of a joint problem is split, so that no set of components is lost.

Two kinds of split.  A feature that several components would like to share is used by one of them
at most, and then it has a price; or by two at least, and then these two are told apart from the
others.  And within a group of components of which the same is known, some number of them uses a
feature and the others do not: which of them does not matter, so there is one child for each number
and not for each choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orthospca._typing import BoolArray
from orthospca.joint.node import Group, Node
from orthospca.joint.patterns import Patterns

#: A feature is shared, in the relaxation, if it is used so much.
SHARED = 1.02


def split(node: Node, patterns: Patterns) -> list[Node] | None:
    """Return nodes that together hold every set of this one; None if there is no way to."""
    inside = patterns.inside
    feature = _shared_feature(node, inside)
    if feature is not None:
        children = _by_sharing(node, feature, inside)
    else:
        choice = _undecided(node, inside)
        if choice is None:
            return None
        children = _by_number(node, *choice, inside)
    kept = []
    for child in children:
        if _propagate(child, inside):
            kept.append(child)
    return kept


def _shared_feature(node: Node, inside: BoolArray) -> int | None:
    """The feature that most components would share, if it is not known whether they do."""
    if node.usage is None:
        return None
    totals = node.usage.sum(axis=0)
    using = sum(group.count * group.used for group in node.groups)
    open_to = np.zeros(len(totals), dtype=int)
    for group in node.groups:
        open_to += group.count * inside[group.patterns].any(axis=0)
    undecided = ~node.exclusive & (using < 2) & (open_to >= 2)
    totals = np.where(undecided, totals, 0.0)
    best = int(np.argmax(totals))
    return best if totals[best] > SHARED else None


def _by_sharing(node: Node, feature: int, inside: BoolArray) -> Iterator[Node]:
    exclusive = node.exclusive.copy()
    exclusive[feature] = True
    yield _child(node, list(node.groups), exclusive)
    groups = node.groups
    using = [g for g, group in enumerate(groups) if group.used[feature]]
    if using:
        # One uses it (more would have been decided), and so does another.
        for h in range(len(groups)):
            if h != using[0]:
                yield from _with_users(node, {h: 1}, feature, inside)
        return
    for g, group in enumerate(groups):
        if group.count >= 2:
            yield from _with_users(node, {g: 2}, feature, inside)
        for h in range(g):
            yield from _with_users(node, {g: 1, h: 1}, feature, inside)


def _with_users(
    node: Node, users: dict[int, int], feature: int, inside: BoolArray
) -> Iterator[Node]:
    """The node in which so many components of some groups use a feature, the others as before."""
    groups: list[Group] = []
    for g, group in enumerate(node.groups):
        number = users.get(g, 0)
        if number:
            user = _using(group, number, feature, inside)
            if len(user.patterns) == 0:
                return
            groups.append(user)
        if group.count > number:
            groups.append(replace(group, count=group.count - number))
    yield _child(node, groups, node.exclusive.copy())


def _undecided(node: Node, inside: BoolArray) -> tuple[int, int] | None:
    """The group and the feature that the relaxation is least decided about."""
    best, choice = 0.0, None
    for g, group in enumerate(node.groups):
        if len(group.patterns) < 2:
            continue
        share = inside[group.patterns].mean(axis=0)
        open_here = (share > 0) & (share < 1)
        if node.usage is None:
            doubt = share * (1 - share)
        else:
            usage = node.usage[g]
            whole = np.abs(usage - np.round(usage))
            # Where the relaxation is whole everywhere, what is left is decided by the patterns.
            doubt = whole + 1e-3 * share * (1 - share)
        doubt = np.where(open_here, doubt, 0.0)
        feature = int(np.argmax(doubt))
        if doubt[feature] > best:
            best, choice = float(doubt[feature]), (g, feature)
    return choice


def _by_number(node: Node, g: int, feature: int, inside: BoolArray) -> Iterator[Node]:
    group = node.groups[g]
    others = [other for h, other in enumerate(node.groups) if h != g]
    for number in range(group.count + 1):
        if number > 1 and node.exclusive[feature]:
            break
        parts = []
        if number:
            parts.append(_using(group, number, feature, inside))
        if number < group.count:
            parts.append(_not_using(replace(group, count=group.count - number), feature, inside))
        if all(len(part.patterns) for part in parts):
            yield _child(node, others + parts, node.exclusive.copy())


def _using(group: Group, count: int, feature: int, inside: BoolArray) -> Group:
    used = group.used.copy()
    used[feature] = True
    return replace(
        group,
        count=count,
        used=used,
        patterns=group.patterns[inside[group.patterns, feature]],
    )


def _not_using(group: Group, feature: int, inside: BoolArray) -> Group:
    return replace(group, patterns=group.patterns[~inside[group.patterns, feature]])


def _child(node: Node, groups: list[Group], exclusive: BoolArray) -> Node:
    return Node(groups, exclusive, node.multipliers, node.upper)


def _propagate(node: Node, inside: BoolArray) -> bool:
    """Draw conclusions; False if no set of components is left."""
    for feature in np.flatnonzero(node.exclusive):
        users = sum(group.count for group in node.groups if group.used[feature])
        if users > 1:
            return False
        if users == 1:
            node.groups = [
                group if group.used[feature] else _not_using(group, int(feature), inside)
                for group in node.groups
            ]
            if any(len(group.patterns) == 0 for group in node.groups):
                return False
    return not _meet_once(node, inside)


def _meet_once(node: Node, inside: BoolArray) -> bool:
    """Whether two components have one feature in common: then they are not orthogonal."""
    settled = [
        inside[group.patterns[0]]
        for group in node.groups
        if len(group.patterns) == 1
        for _ in range(min(group.count, 2))
    ]
    return any(
        np.count_nonzero(settled[a] & settled[b]) == 1
        for a in range(len(settled))
        for b in range(a)
    )
