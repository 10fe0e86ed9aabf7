"""The first attempt on a stage: a conditioned search, at coarser levels if the cutoff is too hard.

Most stages end here.  Of those that do not, the coarser levels give a bound early: proofs become
cheaper, quickly, as the level rises.
"""

from __future__ import annotations

from collections.abc import Sequence

from orthospca.bounds.conditioning import compiled
from orthospca.bounds.conditioning.walk import Conditioning, Dive
from orthospca.model.nodes import Closed, Node, Reason
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import DescentTuning
from orthospca.search.knowledge import Knowledge


def descend(
    known: Knowledge[Subproblem],
    conditioning: Conditioning,
    whole: Node,
    parts: Sequence[Node],
    outside: float,
    tuning: DescentTuning,
) -> bool:
    """Try to close all supports of interest.

    Parameters
    ----------
    known : Knowledge
        Incumbent, bound and record are updated.
    conditioning : Conditioning
    whole : Node
        Holds all of them.
    parts : sequence of Node
        Cover all of them, one for each candidate row.
    outside : float
        Proved bound on all other supports.
    tuning : DescentTuning

    Returns
    -------
    bool
        Whether everything was closed, and recorded as such.
    """
    known.nodes += 1
    # What is not closed yet counts with its bound, here as everywhere.
    known.open.working = [whole]
    closed = _Descent(known, conditioning, tuning).run(whole, parts, outside)
    if closed:
        known.open.working = []
    if not known.watch.interrupted:
        known.tell(0 if closed else 1)
    return closed


class _Descent:
    def __init__(
        self, known: Knowledge[Subproblem], conditioning: Conditioning, tuning: DescentTuning
    ) -> None:
        self.known = known
        self.conditioning = conditioning
        self.tuning = tuning

    def run(self, whole: Node, parts: Sequence[Node], outside: float) -> bool:
        if len(whole.allowed) == 0:
            return True
        together = sum(len(part.allowed) ** 2 for part in parts) > len(whole.allowed) ** 2
        budget = self.tuning.first_budget
        if compiled.is_installed():
            budget *= self.tuning.compiled_share
        if self._close([whole] if together else parts, budget):
            return True
        known = self.known
        for step in self.tuning.levels:
            level = known.lower + step * abs(known.lower)
            if level - known.lower <= 2 * (known.cutoff - known.lower):
                break
            if level >= known.upper:
                continue
            dive = self._dive(whole, self.tuning.level_budget, level)
            if not dive.complete:
                return False
            known.tree = dive.level, dive.steps
            known.tighten(max(dive.upper, outside))
            known.tell(1)
        return self._close([whole], self.tuning.last_budget)

    def _dive(self, node: Node, budget: float, level: float) -> Dive:
        """Search a node at a level."""
        known = self.known
        assert known.best is not None
        stop = known.watch.out_of_time
        dive = self.conditioning.dive(node, known.best, known.tolerance, budget, stop, level)
        known.tally.work += dive.work
        known.improve(dive.best)
        return dive

    def _close(self, nodes: Sequence[Node], budget: float) -> bool:
        """Whether all of the nodes are closed at the cutoff; they are then recorded."""
        closed, reason = [], Reason.CONDITIONED
        for node in nodes:
            dive = self._dive(node, budget, self.known.cutoff)
            if not dive.complete:
                return False
            closed.append(Closed(node.included, node.allowed, dive.upper, reason, dive.steps))
        for item in closed:
            self.known.record.enter(item)
        if len(nodes) == 1:
            self.known.tree = dive.level, dive.steps
        return True
