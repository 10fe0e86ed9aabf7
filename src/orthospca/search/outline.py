"""The proof of a branch and bound, put together from what was found out about each node.

Nodes are taken in the order of their bounds; a checker goes through them depth first.  At a level
that is not below the bounds of the nodes that are open, every node can be closed: those that were
branched by their children, the others by the multipliers that their bounds rest on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orthospca.bounds.conditioning.steps import Step, Tree
from orthospca.bounds.share.node import Proved
from orthospca.model.nodes import Closed, Node
from orthospca.supports.best import Candidate


@dataclass(frozen=True, eq=False)
class Evaluated:
    """A node as it was evaluated.

    Attributes
    ----------
    left : Node
        What is left of it, with its bound and the index it is branched on, if it is.
    best : Candidate or None
        The incumbent, or something better.
    closed : Closed or None
        None if it is open.
    removed : Closed or None
        What it does not contain any more.
    steps : sequence of Step
        How it became so small.
    tested : bool
        Whether all supports that are left were tested.
    """

    left: Node
    best: Candidate | None
    closed: Closed | None = None
    removed: Closed | None = None
    steps: Sequence[Step] = ()
    tested: bool = False


class Outline:
    """The nodes of one tree.

    Parameters
    ----------
    sparsity : int
    """

    def __init__(self, sparsity: int) -> None:
        self._sparsity = sparsity
        self._nodes: dict[tuple[int, ...], Evaluated] = {}
        self._counted: set[int] = set()
        #: Memory taken by multipliers.
        self.nbytes = 0

    def enter(self, node: Evaluated) -> None:
        """Take note of a node; all multipliers are kept, and so no two have the same identity."""
        self._nodes[node.left.path] = node
        proofs = [step.multipliers for step in node.steps]
        if isinstance(node.left.proof, Proved):
            proofs.append(node.left.proof.multipliers)
        for multipliers in proofs:
            if multipliers is not None and id(multipliers) not in self._counted:
                self._counted.add(id(multipliers))
                self.nbytes += multipliers.nbytes

    def tree(self, level: float) -> Tree | None:
        """Return a proof that nothing is above a level; None if there is none.

        Parameters
        ----------
        level : float
            Not below the cutoffs at which nodes were evaluated, nor below the bound of one that is
            open.
        """
        steps: list[Step] = []
        pending: list[tuple[int, ...]] = [()]
        while pending:
            path = pending.pop()
            node = self._nodes.get(path)
            if node is None:
                return None
            steps += node.steps
            left = node.left
            nothing = left.free[:0]
            if len(left.free) == 0 and node.steps and len(node.steps[-1].removed):
                continue
            if node.tested or self._is_determined(left):
                steps.append(Step(nothing))
            elif left.upper <= level and isinstance(left.proof, Proved):
                steps.append(Step(left.free, multipliers=left.proof.multipliers))
            elif left.branch >= 0:
                steps.append(Step(nothing, left.branch))
                pending += [(*path, False), (*path, True)]
            else:
                return None
        return Tree.of(steps)

    def _is_determined(self, node: Node) -> bool:
        return len(node.allowed) <= self._sparsity or len(node.included) >= self._sparsity
