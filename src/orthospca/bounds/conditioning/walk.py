"""A search of its own for a node: condition on the included indices, bound the rest by norms.

Suppose F is included and ``λmax(Q_F) < L``.  By the Schur complement, a support ``T = F ∪ R`` has
``λmax(Q_T) < L`` exactly if

    L·I - Q_R - Q_RF (L·I - Q_F)⁻¹ Q_FR

is positive definite: what F can add at the level L is added to Q once, and a problem with only
``r = p - |F|`` places is left.  Scaled to a diagonal of ones it is ``I - W_R``, W with zeros on its
diagonal, and ``λmax(W_R)² ≤ (r-1)/r · ‖W_R‖²_F``, since the eigenvalues of ``W_R`` sum to zero.
The squared norm is a sum over the rows in R, and a row's part is at most the sum of its r - 1
largest squares: a cost of having the index in the support, so that an index is out if the dearest
support with it stays below 1, and the node is closed if none is left.

The few strong indices that carry a component make all bounds without conditioning weak.  Taken into
F they stop doing so, and without them little is left: depth-first branching on the dearest index
closes most nodes within a few dozen steps, each a matrix product and a partial sort.

Under orthogonality Q stands for ``(I - XXᵀ)Q(I - XXᵀ) - κXXᵀ``, whose form on the feasible vectors
is that of Q for every κ; κ is raised only where F could not be conditioned on otherwise.

See ``docs/theory/conditioning.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.step import Frame
from orthospca.model.nodes import Node
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import WalkTuning
from orthospca.numerics.rounding import TINY, UNIT, dot_radius
from orthospca.supports.best import Candidate, best_on_support
from orthospca.supports.enumeration import count_supports, enumerate_supports
from orthospca.supports.heuristics import polish


@dataclass(frozen=True, eq=False)
class Step:
    """One node of the tree, in the order of a depth-first walk, the branch with the index first.

    Attributes
    ----------
    removed : integer array
        Indices ruled out at the level.
    branch : int
        The index branched on, or -1 if the node was closed: by conditioning, or by testing its
        supports one by one.
    forced : integer array
        Indices without which nothing reaches the level.  If there are any, the node has one child,
        in which they are included; none, if there are more of them than places.
    """

    removed: IntArray
    branch: int = -1
    forced: IntArray = field(default_factory=lambda: np.arange(0))


@dataclass(frozen=True, eq=False)
class Dive:
    """What came of the search of a node.

    Attributes
    ----------
    complete : bool
        Whether every support of the node has been dealt with.
    upper : float
        Proved bound on what has been dealt with: the node if complete, the supports with an index
        that is not allowed any more if not.
    best : Candidate
        The incumbent given, or something better.
    allowed : integer array
        What the first step left of the node's indices; supports with others are at most ``upper``.
    steps : tuple of Step
        The tree, from which the bound can be checked again; if not complete, its first node.
    level : float
        At which it was searched.
    """

    complete: bool
    upper: float
    best: Candidate
    allowed: IntArray
    steps: tuple[Step, ...] = ()
    level: float = math.inf


class Conditioning:
    """Searches nodes of one stage.

    Parameters
    ----------
    problem : Subproblem
    tuning : WalkTuning
    """

    def __init__(self, problem: Subproblem, tuning: WalkTuning | None = None) -> None:
        self.problem = problem
        self.tuning = tuning or WalkTuning()
        self._scale = problem.scale
        # Largest squared norm of a row of X: what κXXᵀ adds to an entry is at most κ times it.
        self._heaviest = float(np.square(problem.previous).sum(axis=1).max(initial=0.0))

    def dive(
        self,
        node: Node,
        incumbent: Candidate,
        tolerance: Tolerance,
        budget: float,
        stop: Callable[[], bool] | None = None,
        level: float = -math.inf,
    ) -> Dive:
        """Search a node at the cutoff of the tolerance, or at a level above it.

        A better component found on the way is polished, and the search begins anew with it.
        """
        while True:
            cutoff = max(level, tolerance.cutoff(incumbent.value))
            found = self.search(node, incumbent, cutoff, budget, stop)
            if found.best.value <= incumbent.value:
                return found
            incumbent = polish(self.problem, found.best)

    def search(
        self,
        node: Node,
        incumbent: Candidate,
        cutoff: float,
        budget: float,
        stop: Callable[[], bool] | None = None,
    ) -> Dive:
        """Search a node until it is closed, something better is found, or the budget is spent.

        Parameters
        ----------
        node : Node
        incumbent : Candidate
        cutoff : float
            Values up to this one are of no interest.
        budget : float
            In steps on ``tuning.smallest_step`` indices; a negative one allows no step at all.
        stop : callable, optional
            Asked between steps.
        """
        lost = self.problem.sparsity * self._radius(0.0) + self._margin(0.0, incumbent.value)
        # Nothing closer to the incumbent than this can be closed; the bound says so.
        level = max(cutoff, incumbent.value + 4 * lost)
        walk = _Walk(self, node, incumbent, level, cutoff)
        while walk.pending:
            if walk.hopeless(budget) or (stop is not None and stop()):
                return _unfinished(node, walk)
            walk.step()
            if walk.best is not incumbent:
                return Dive(False, math.inf, walk.best, node.allowed)
        return Dive(True, walk.upper, walk.best, node.allowed, tuple(walk.steps), walk.level)

    def frame(self, indices: IntArray, level: float, penalty: float) -> Frame:
        """Gather the form on some indices, and lower the level by all that rounding may add."""
        problem, p = self.problem, self.problem.sparsity
        kappa = penalty * max(abs(level), 1e-3 * self._scale)
        matrix: Array = problem.projected[np.ix_(indices, indices)]
        if kappa > 0:
            previous = problem.previous[indices]
            matrix -= kappa * (previous @ previous.T)
        margin = self._margin(kappa, level)
        lowered = level - p * self._radius(kappa) - margin
        return Frame(indices, matrix, lowered, 0.5 * margin / p, self.tuning)

    def _radius(self, kappa: float) -> float:
        """Rounding error of an entry of the form."""
        radius = self.problem.projected_radius
        if kappa > 0:
            terms = self.problem.previous.shape[1]
            radius += dot_radius(terms, kappa * self._heaviest + self._scale)
        return radius

    def _margin(self, kappa: float, level: float) -> float:
        """Bound on the norm of the difference between the matrix and its factors multiplied out.

        Rows of the factors have squared norms of at most ``|level| + ‖Q‖max``, so that an inner
        product of at most p terms errs by less than ``4(p + 8)`` units of that; p entries in a row
        make the norm.
        """
        p = self.problem.sparsity
        size = abs(level) + self._scale + kappa * self._heaviest
        return 16 * p * (p + 8) * UNIT * size + TINY


def _unfinished(node: Node, walk: _Walk) -> Dive:
    """What the first step has ruled out is not lost."""
    if not walk.steps:
        return Dive(False, -math.inf, walk.best, node.allowed)
    first = walk.steps[0]
    allowed = np.setdiff1d(node.allowed, first.removed, assume_unique=True)
    return Dive(False, walk.level, walk.best, allowed, (first,))


@dataclass(frozen=True, eq=False)
class _Pending:
    """A node of the walk: places in a frame."""

    frame: Frame
    penalty: int
    inside: IntArray
    free: IntArray


class _Walk:
    """The depth-first walk below one node."""

    def __init__(
        self,
        conditioning: Conditioning,
        node: Node,
        incumbent: Candidate,
        level: float,
        cutoff: float,
    ) -> None:
        self.conditioning = conditioning
        self.problem = conditioning.problem
        self.tuning = conditioning.tuning
        self.best = incumbent
        self.level = level
        self.cutoff = cutoff
        self.upper = -math.inf
        self.steps: list[Step] = []
        self.work = 0.0
        frame = conditioning.frame(node.allowed, level, self.tuning.penalties[0])
        inside = np.searchsorted(node.allowed, node.included)
        free = np.searchsorted(node.allowed, node.free)
        self.pending = [_Pending(frame, 0, inside, free)]

    def hopeless(self, budget: float) -> bool:
        """Whether the budget is spent."""
        return self.work > budget and len(self.steps) > self.tuning.free_steps * budget

    def step(self) -> None:
        """Close the next node, or branch."""
        node = self.pending.pop()
        inside, free = len(node.inside), len(node.free)
        self.work += max(free / self.tuning.smallest_step, 1.0) ** self.tuning.step_growth
        if (
            count_supports(inside, inside + free, self.problem.sparsity)
            <= self.tuning.enumerate_below
        ):
            self._enumerate(node)
            self.steps.append(Step(node.frame.indices[:0]))
            return
        if inside + free < 0.5 * len(node.frame.indices):
            node = self._gathered(node, node.penalty)
        while True:
            found = node.frame.condition(node.inside)
            if found is not None and found[1][node.free].min() > 0:
                break
            if node.penalty + 1 == len(self.tuning.penalties) or not self.problem.constrained:
                self._give_way(node, found)
                return
            node = self._gathered(node, node.penalty + 1)
        room = self.problem.sparsity - inside
        left = node.frame.eliminate(*found, node.free, room)
        if len(left.kept) < free:
            self.upper = max(self.upper, self.level)
        removed = node.frame.indices[np.setdiff1d(node.free, left.kept, assume_unique=True)]
        node = replace(node, free=left.kept)
        if len(left.kept) == 0:
            self.steps.append(Step(removed))
        elif len(left.forced):
            self._include(node, removed, left.forced, room)
        else:
            self._branch(node, removed, left.branch)

    def _include(self, node: _Pending, removed: IntArray, forced: IntArray, room: int) -> None:
        """Go on with what nothing above the level can do without."""
        self.upper = max(self.upper, self.level)
        self.steps.append(Step(removed, forced=node.frame.indices[forced]))
        if len(forced) <= room:
            inside = np.union1d(node.inside, forced)
            free = np.setdiff1d(node.free, forced, assume_unique=True)
            self.pending.append(replace(node, inside=inside, free=free))

    def _gathered(self, node: _Pending, penalty: int) -> _Pending:
        """Return the node in a frame of its own."""
        places = np.union1d(node.inside, node.free)
        indices = node.frame.indices[places]
        frame = self.conditioning.frame(indices, self.level, self.tuning.penalties[penalty])
        inside = np.searchsorted(places, node.inside)
        return _Pending(frame, penalty, inside, np.searchsorted(places, node.free))

    def _branch(self, node: _Pending, removed: IntArray, place: int) -> None:
        self.steps.append(Step(removed, int(node.frame.indices[place])))
        others = node.free[node.free != place]
        inside = np.sort(np.append(node.inside, place))
        self.pending.append(replace(node, free=others))
        self.pending.append(replace(node, inside=inside, free=others))

    def _give_way(self, node: _Pending, found: tuple[Array, Array] | None) -> None:
        """Branch where a support stands in the way that is above the level, or almost.

        It may be better than the incumbent.
        """
        inside, free, indices = node.inside, node.free, node.frame.indices
        if found is None:
            place = int(free[np.argmax(node.frame.matrix.diagonal()[free])])
            support = indices[inside]
        else:
            place = int(free[np.argmin(found[1][free])])
            support = np.sort(np.append(indices[inside], indices[place]))
        candidate = best_on_support(self.problem, support)
        if candidate is not None and candidate.value > self.best.value:
            self.best = candidate
        self._branch(node, indices[:0], place)

    def _enumerate(self, node: _Pending) -> None:
        included = node.frame.indices[node.inside]
        allowed = np.union1d(included, node.frame.indices[node.free])
        tested = enumerate_supports(self.problem, included, allowed, self.best, self.cutoff)
        self.upper = max(self.upper, tested.upper)
        if tested.best is not None and tested.best.value > self.best.value:
            self.best = tested.best
