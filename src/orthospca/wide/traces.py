"""A conditioned search on data: what is included brings down what variances alone can prove.

The form is positive semidefinite.  With F included at the level L, what is left of it on the other
features is ``S = Q + HᵀH``, ``H = C⁻¹Q_F`` with ``CCᵀ = L·I - Q_F``, again positive semidefinite:
its largest eigenvalue on a support is at most its trace there, and ``S_jj = Q_jj + ‖h_j‖²`` is a
cost of having j in the support that needs no row of Q but those of F.  A node is closed if its q
largest costs sum to less than L, and a feature is out if its own and the q - 1 largest others do.
Rows are formed as features are included; where few features are left, their matrix is formed and
searched.

See ``docs/theory/wide-data.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.walk import Conditioning
from orthospca.model.nodes import Node
from orthospca.model.tuning import Tuning
from orthospca.numerics.rounding import TINY, UNIT, add_up, raised
from orthospca.supports.best import Candidate, best_on_support, upper_on_support

if TYPE_CHECKING:
    from orthospca.wide.view import DataView

#: Bytes of rows that are kept.
LARGEST_CACHE = 2**27


@dataclass(eq=False)
class TraceWalk:
    """Depth-first search over supports of some features at one level.

    Attributes
    ----------
    form : DataView
    features : integer array, ascending
        All others are ruled out already.
    size : int
        Size of a support.
    best : Candidate
        The incumbent; a better vector takes its place, and ends the search.
    level : float
    tuning : Tuning
    upper : float
        Proved bound on all supports, once every one is dealt with.
    """

    form: DataView
    features: IntArray
    size: int
    best: Candidate
    level: float
    tuning: Tuning

    def __post_init__(self) -> None:
        form, features, p = self.form, self.features, self.size
        self.upper, self.steps = self.level, 0
        self._variances = form.variances[features]
        scale = abs(self.level) + float(form.variances.max())
        self._margin = 16 * p * (p + 8) * UNIT * scale + TINY
        self._lowered = self.level - p * form.row_radius - self._margin
        kept = lru_cache(max(LARGEST_CACHE // (8 * max(len(features), 1)), 4 * p))
        self._row = kept(lambda place: form.rows(features[[place]])[features, 0])

    def run(self, budget: int, stop: Callable[[], bool]) -> bool:
        """Search until all is closed, or something better found, or the budget spent: which of it.

        Returns
        -------
        bool
            Whether every support was dealt with.
        """
        inside = np.searchsorted(self.features, self.form.included)
        others = np.setdiff1d(np.arange(len(self.features)), inside)
        # Each node with its share of the tree, halved at every branching.
        pending: list[tuple[tuple[int, ...], IntArray, float]] = [
            (tuple(inside.tolist()), others, 1.0)
        ]
        done, look = 0.0, self.tuning.wide.trace_patience
        while pending:
            if self.steps >= budget or stop():
                return False
            if self.steps >= look:
                if done * budget < self.steps:
                    return False
                look *= 2
            self.steps += 1
            inside_now, free, share = pending.pop()
            children = self._step(inside_now, free)
            if children is None:
                return False
            if not children:
                done += share
            pending.extend((*child, 0.5 * share) for child in children)
        return True

    def _step(
        self, inside: tuple[int, ...], free: IntArray
    ) -> list[tuple[tuple[int, ...], IntArray]] | None:
        """Close a node or branch; None if something better was found."""
        room = self.size - len(inside)
        costs = self._costs(inside, free)
        if room == 0 or len(free) == 0:
            return [] if costs is not None or self._test(inside) else None
        if costs is None:
            # A support stands in the way that is above the level, or almost.
            if not self._test(inside):
                return None
            return self._branch(inside, free, int(np.argmax(self._variances[free])))
        kept = _affordable(costs, room, self._lowered)
        free, costs = free[kept], costs[kept]
        if len(free) == 0:
            return []
        if len(free) + len(inside) <= self.tuning.wide.few_traced:
            closed = self._search(inside, free)
            if closed is None:
                return None
            if closed:
                return []
        return self._branch(inside, free, int(np.argmax(costs)))

    def _branch(
        self, inside: tuple[int, ...], free: IntArray, place: int
    ) -> list[tuple[tuple[int, ...], IntArray]]:
        others = np.delete(free, place)
        return [(inside, others), ((*inside, int(free[place])), others)]

    def _costs(self, inside: tuple[int, ...], free: IntArray) -> Array | None:
        """``S_jj`` of the free features, rounded up; None if F cannot be conditioned on."""
        if not inside:
            return self._variances[free]
        at = np.array(inside)
        rows = np.vstack([self._row(place) for place in inside])
        core = -rows[:, at]
        core = 0.5 * (core + core.T)
        core[np.diag_indices(len(at))] += self._lowered
        cross = rows[:, free]
        factor, info = lapack.dpotrf(core, lower=1, clean=1)
        if info != 0:
            return None
        half, info = lapack.dtrtrs(factor, cross, lower=1)
        residual = 0.5 * self._margin / self.size
        if info != 0 or not (
            np.abs(factor @ factor.T - core).max() <= residual
            and np.abs(factor @ half - cross).max(initial=0.0) <= residual
        ):
            return None
        added = np.einsum("ij,ij->j", half, half)
        return raised(self._variances[free] + added, len(at) + 2)

    def _test(self, inside: tuple[int, ...]) -> bool:
        """Bound what is included by itself; False if it is better than the incumbent."""
        if not inside:
            return True
        problem, kept = self.form.restricted(self.features[np.array(inside)], self.size)
        support = np.searchsorted(kept, np.sort(self.features[np.array(inside)]))
        found = best_on_support(problem, support)
        if found is not None and found.value > max(self.best.value, self.level):
            self.best = found.embedded(kept, self.form.n_features)
            return False
        upper = add_up(upper_on_support(problem, support), self.form.rounding)
        if upper > self.level:
            self.upper = max(self.upper, upper)
        return True

    def _search(self, inside: tuple[int, ...], free: IntArray) -> bool | None:
        """Search a node as a matrix: whether it is closed; None if something better was found."""
        included = np.sort(self.features[np.array(inside, dtype=np.intp)])
        allowed = np.union1d(included, self.features[free])
        problem, kept = self.form.restricted(allowed, self.size)
        node = Node(np.searchsorted(kept, included), np.searchsorted(kept, allowed))
        support = np.flatnonzero(self.best.vector)
        inner = self.level - 2 * self.form.rounding
        # If the incumbent lives elsewhere, only its value counts.
        vector = self.best.vector[kept] if np.isin(support, kept).all() else np.zeros(len(kept))
        incumbent = Candidate(self.best.value, vector)
        search = Conditioning(problem, self.tuning.walk)
        found = search.search(node, incumbent, inner, self.tuning.wide.traced_budget)
        if found.best is not incumbent:
            self.best = found.best.embedded(kept, self.form.n_features)
            return None
        if found.complete:
            self.upper = max(self.upper, add_up(found.upper, self.form.rounding))
        return found.complete


def _affordable(costs: Array, room: int, level: float) -> IntArray:
    """Places whose own cost and the room - 1 largest others sum to the level or more."""
    others = min(room - 1, len(costs) - 1)
    first = len(costs) - others
    base = float(np.partition(costs, first - 1)[first:].sum()) if others else 0.0
    ordered = raised(base + costs, room + 4)
    return np.flatnonzero(~(ordered < level))
