"""The first attempt on a stage: a conditioned search, at coarser levels if the cutoff is too hard.

Most stages end here.  Of those that do not, the coarser levels give a bound early: proofs become
cheaper, quickly, as the level rises.
"""

from __future__ import annotations

import numpy as np

from orthospca.bounds.conditioning import compiled
from orthospca.bounds.conditioning.walk import Conditioning, Dive
from orthospca.model.nodes import Closed, ClosedBy, Node
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import DescentTuning
from orthospca.search.state import StageState


def descend(
    known: StageState[Subproblem],
    conditioning: Conditioning,
    tuning: DescentTuning,
) -> bool:
    """Try to close a stage.

    Parameters
    ----------
    known : StageState
        Incumbent, bound and record are updated.
    conditioning : Conditioning
    tuning : DescentTuning

    Returns
    -------
    bool
        Whether everything was closed, and recorded as such.
    """
    known.nodes += 1
    everything = np.arange(known.problem.n_features)
    whole = Node(everything[:0], everything)
    # What is not closed yet counts with its bound, here as everywhere.
    known.open.working = [whole]
    closed = _Descent(known, conditioning, tuning).run(whole)
    if closed:
        known.open.working = []
    if not known.watch.interrupted:
        known.tell(0 if closed else 1)
    return closed


class _Descent:
    def __init__(
        self, known: StageState[Subproblem], conditioning: Conditioning, tuning: DescentTuning
    ) -> None:
        self.known = known
        self.conditioning = conditioning
        self.tuning = tuning

    def run(self, whole: Node) -> bool:
        budget = self.tuning.first_budget
        if compiled.is_installed():
            budget *= self.tuning.compiled_share
        if self._close(whole, budget):
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
            known.tighten(dive.upper)
            known.tell(1)
        return self._close(whole, self.tuning.last_budget)

    def _dive(self, node: Node, budget: float, level: float) -> Dive:
        """Search a node at a level."""
        known = self.known
        assert known.best is not None
        stop = known.watch.out_of_time
        dive = self.conditioning.dive(node, known.best, known.tolerance, budget, stop, level)
        known.tally.work += dive.work
        known.improve(dive.best)
        return dive

    def _close(self, whole: Node, budget: float) -> bool:
        """Whether the stage is closed at the cutoff; that is then recorded."""
        known = self.known
        dive = self._dive(whole, budget, known.cutoff)
        if dive.complete:
            reason = ClosedBy.CONDITIONED
            known.record.enter(
                Closed(whole.included, whole.allowed, dive.upper, reason, dive.steps)
            )
            known.tree = dive.level, dive.steps
        return dive.complete
