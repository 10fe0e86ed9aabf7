"""The first attempt on a stage: a conditioned search, at coarser levels if the cutoff is too hard.

Most stages end here.  Of those that do not, the coarser levels give a bound early: proofs become
cheaper, quickly, as the level rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orthospca.model.nodes import Closed, Node, Reason

if TYPE_CHECKING:
    from orthospca.search.tree import BranchAndBound

#: Levels above the incumbent, relative to it, on the way to the cutoff.
RUNGS = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
#: Budgets of the first attempt, of a coarser level, and of the last attempt after all of them.
FIRST_BUDGET = 1500
RUNG_BUDGET = 2000
LAST_BUDGET = 20_000


def descend(search: BranchAndBound, whole: Node, parts: Sequence[Node], outside: float) -> bool:
    """Try to close all supports of interest.

    Parameters
    ----------
    search : BranchAndBound
        Its incumbent, bound and record are updated.
    whole : Node
        Holds all of them.
    parts : sequence of Node
        Cover all of them, one for each candidate row.
    outside : float
        Proved bound on all other supports.

    Returns
    -------
    bool
        Whether everything was closed, and recorded as such.
    """
    if len(whole.allowed) == 0:
        return True
    if sum(len(part.allowed) ** 2 for part in parts) <= len(whole.allowed) ** 2:
        if _close(search, parts, FIRST_BUDGET):
            return True
    elif _close(search, [whole], FIRST_BUDGET):
        return True
    for rung in RUNGS:
        level = search.lower + rung * abs(search.lower)
        if level - search.lower <= 2 * (search.cutoff - search.lower):
            break
        if level >= search.known_upper:
            continue
        dive = search.dive(whole, RUNG_BUDGET, level)
        if not dive.complete:
            return False
        search.tighten(max(dive.upper, outside))
    return _close(search, [whole], LAST_BUDGET)


def _close(search: BranchAndBound, nodes: Sequence[Node], budget: float) -> bool:
    """Whether all of the nodes are closed; they are then recorded."""
    closed = []
    for node in nodes:
        dive = search.dive(node, budget)
        if not dive.complete:
            return False
        reason = Reason.CONDITIONED
        closed.append(Closed(node.included, node.allowed, dive.upper, reason, dive.steps))
    for item in closed:
        search.record(item)
    return True
