"""The arrays of the compiled loop, and what they say of a walk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.steps import Tree

if TYPE_CHECKING:
    from orthospca.bounds.conditioning.walk import Pending, Walk

#: Steps that are recorded at once, and features that are named in them.
RECORDED, NAMED = 4096, 2**16
#: Entries of matrices that are worked on between two looks at the clock.
QUANTUM = 2**22


class LoopState:
    """The arrays of the loop.

    Parameters
    ----------
    kernel : module
    form : array of shape (m, m)
    level : float
        Lowered as for a frame.
    indices : integer array
        The features that the form is of.
    inside, free : integer arrays
        Places of the node in the form.
    sparsity : int
    most : int
        How many penalties there are, from that of the form on.
    penalty : int
        That of the form.
    """

    def __init__(
        self,
        kernel: Any,
        form: Array,
        level: float,
        indices: IntArray,
        inside: IntArray,
        free: IntArray,
        sparsity: int,
        most: int,
        penalty: int = 0,
    ) -> None:
        self._kernel = kernel
        self._forms, self._levels = form[None].copy(), np.array([level])
        self._indices, self._penalty, self._most = indices, penalty, most
        self._sparsity = sparsity
        m, n = len(form), len(free)
        width = max(m, 8)
        self._B = np.empty(max(3 * m * m, 64))
        self._ids = np.empty(max(8 * m, 64), dtype=np.int64)
        self._ids[:n] = free
        self._inside = np.zeros(max(sparsity, len(inside)) + 1, dtype=np.int64)
        self._inside[: len(inside)] = inside
        self._work = (
            np.empty(width * width),
            np.empty(kernel.NUMBERS * width),
            np.empty(kernel.PLACES * width, dtype=np.int64),
        )
        # Comparisons with what is no number prove nothing, and could seem to.
        finite = bool(np.isfinite(form).all())
        order = self._lay_out(0, n, len(inside)) if finite else -1
        self._slots = np.zeros((sparsity + 2, 6), dtype=np.int64)
        self._slots[0] = (n, order, 0, 0, len(inside), 0)
        self._state = np.zeros(4, dtype=np.int64)
        self._effort = np.zeros(1)
        named = max(NAMED, 4 * width)
        self._record = tuple(
            np.empty(size, dtype=np.int64) for size in (RECORDED, named, RECORDED, named, RECORDED)
        )

    def _lay_out(self, first: int, n: int, inside: int) -> int:
        return int(
            self._kernel._lay_out(
                self._forms[0],
                self._B,
                0,
                self._inside,
                inside,
                self._ids[first:],
                n,
                self._levels[0],
                self._work[1],
            )
        )

    @classmethod
    def of(cls, kernel: Any, walk: Walk, node: Pending) -> LoopState:
        """The state in which a node, in a frame of its own, is begun."""
        frame, problem = node.frame, walk.problem
        most = len(walk.tuning.penalties) - node.penalty if problem.constrained else 1
        places = (frame.indices, node.inside, node.free)
        return cls(kernel, frame.matrix, frame.level, *places, problem.sparsity, most, node.penalty)

    def advance(self, tuning: tuple[int, ...], most: float = math.inf) -> int:
        """Take some steps, about so many at most; why no more of them."""
        slot = max(int(self._state[self._kernel.SLOT]), 0)
        n = int(self._slots[slot, self._kernel.COUNT])
        return int(
            self._kernel.walk(
                self._forms,
                self._levels,
                self._most,
                self._B,
                self._ids,
                self._slots,
                self._inside,
                self._state,
                self._effort,
                self._sparsity,
                tuning,
                self._record,
                *self._work,
                int(max(min(QUANTUM // max(n * n, 1), most + 1), 1)),
            )
        )

    def spent(self) -> float:
        """What the steps have cost since this was asked for last."""
        effort = float(self._effort[0])
        self._effort[0] = 0.0
        return effort

    def penalise(self, walk: Walk) -> None:
        """Add the form with the next penalty."""
        penalty = walk.tuning.penalties[self._penalty + len(self._forms)]
        frame = walk.conditioning.frame(self._indices, walk.level, penalty)
        self._forms = np.concatenate([self._forms, frame.matrix[None]])
        self._levels = np.append(self._levels, frame.level)

    def enlarge(self) -> None:
        """Make room for the matrices and features of the next slot."""
        slot = self._slots[self._state[self._kernel.SLOT]]
        n, order, at, first, inside, _ = (int(v) for v in slot)
        needed = at + max(order * order, (n + inside) ** 2) + n * n
        if needed > len(self._B):
            self._B = np.concatenate([self._B, np.empty(max(len(self._B), needed - len(self._B)))])
        if first + 2 * n > len(self._ids):
            more = np.empty(max(len(self._ids), 2 * n), dtype=np.int64)
            self._ids = np.concatenate([self._ids, more])

    def recorded(self) -> Tree:
        """Return the steps since this was asked for last."""
        count = int(self._state[self._kernel.STEPS])
        branches, removed, removed_ends, forced, forced_ends = self._record
        gone, must = (int(self._state[i]) for i in (self._kernel.REMOVED, self._kernel.FORCED))
        self._state[self._kernel.STEPS :] = 0
        steps = Tree(
            branches[:count],
            removed[:gone],
            removed_ends[:count].copy(),
            forced[:must],
            forced_ends[:count].copy(),
        )
        return steps.embedded(self._indices)

    def take(self, walk: Walk) -> Pending:
        """Take the next node out."""
        slot = int(self._state[self._kernel.SLOT])
        n, _, _, first, inside, penalty = (int(v) for v in self._slots[slot])
        self._state[self._kernel.SLOT] = slot - 1
        within, free = self._inside[:inside], self._ids[first : first + n]
        return walk.node(self._indices[within], self._indices[free], self._penalty + penalty)

    def remaining(self, walk: Walk) -> list[Pending]:
        """Take all nodes out, in the order of the walk."""
        left = []
        while self._state[self._kernel.SLOT] >= 0:
            left.append(self.take(walk))
        return left
