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
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning import compiled
from orthospca.bounds.conditioning.step import Frame
from orthospca.bounds.conditioning.steps import NO_STEPS, Step, StepLog, Tree
from orthospca.model.nodes import Node
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import WalkTuning
from orthospca.numerics.rounding import TINY, UNIT, dot_radius
from orthospca.supports.best import Candidate, best_on_support
from orthospca.supports.enumeration import count_supports, enumerate_supports
from orthospca.supports.heuristics import polish


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
    steps : Tree
        The tree, from which the bound can be checked again; if not complete, its first node.
    level : float
        At which it was searched.
    work : float
        What it has cost, in the unit of budgets.
    """

    complete: bool
    upper: float
    best: Candidate
    allowed: IntArray
    steps: Tree = NO_STEPS
    level: float = math.inf
    work: float = 0.0


#: Seconds, for each entry of a form, until the compiled loop has been set up and taken a step.
SETTING_UP = 2e-7


@dataclass
class Tally:
    """What conditioned searches of one stage have cost: long ones are worth other means."""

    work: float = 0.0


def _forever() -> float:
    return math.inf


class Conditioning:
    """Searches nodes of one stage.

    Parameters
    ----------
    problem : Subproblem
    tuning : WalkTuning
    tally : Tally, optional
        What searches of the same stage have cost so far.
    seconds_left : callable, optional
        Seconds until the stage must end.
    n_jobs : int, optional
        Jobs for a long walk.
    """

    def __init__(
        self,
        problem: Subproblem,
        tuning: WalkTuning | None = None,
        tally: Tally | None = None,
        seconds_left: Callable[[], float] = _forever,
        n_jobs: int | None = 1,
    ) -> None:
        self.problem = problem
        self.tuning = tuning or WalkTuning()
        self.tally = tally or Tally()
        self.seconds_left = seconds_left
        self.n_jobs = n_jobs
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
        walk = Walk(self, node, incumbent, level, cutoff)
        stop = stop or _never
        while walk.pending:
            if walk.hopeless(budget) or stop():
                return _unfinished(node, walk)
            if self._is_for_the_kernel(walk):
                complete = compiled.finish(walk, budget, stop, self.n_jobs)
                if not complete and walk.best is incumbent:
                    return _unfinished(node, walk)
            else:
                walk.step()
            if walk.best is not incumbent:
                return Dive(False, math.inf, walk.best, node.allowed, work=walk.work)
        steps = walk.steps.tree()
        return Dive(True, walk.upper, walk.best, node.allowed, steps, walk.level, walk.work)

    def _is_for_the_kernel(self, walk: Walk) -> bool:
        """Whether a walk has become so long that the compiled loop is worth its set-up."""
        work, left = self.tally.work + walk.work, self.seconds_left()
        if work < self.tuning.compiled_after or not compiled.is_ready(left):
            return False
        # The set-up and its first step cannot be stopped.
        return len(walk.pending[-1].free) ** 2 * SETTING_UP <= left

    def alone(self) -> Conditioning:
        """Return one that can be sent elsewhere."""
        return Conditioning(self.problem, self.tuning)

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


def _never() -> bool:
    return False


def _unfinished(node: Node, walk: Walk) -> Dive:
    """What the first step has ruled out is not lost."""
    if not len(walk.steps):
        return Dive(False, -math.inf, walk.best, node.allowed, work=walk.work)
    first = walk.steps.first
    allowed = np.setdiff1d(node.allowed, first.removed, assume_unique=True)
    return Dive(False, walk.level, walk.best, allowed, Tree.of([first]), work=walk.work)


@dataclass(frozen=True, eq=False)
class Pending:
    """A node of the walk: places in a frame."""

    frame: Frame
    penalty: int
    inside: IntArray
    free: IntArray


class Walk:
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
        self.steps = StepLog()
        self.work = 0.0
        frame = conditioning.frame(node.allowed, level, self.tuning.penalties[0])
        inside = np.searchsorted(node.allowed, node.included)
        free = np.searchsorted(node.allowed, node.free)
        self.pending = [Pending(frame, 0, inside, free)]

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
            node = self.gathered(node, node.penalty)
        while True:
            found = node.frame.condition(node.inside)
            if found is not None and found[1][node.free].min() > 0:
                break
            if not self.can_be_penalised(node):
                self._give_way(node, found)
                return
            node = self.gathered(node, node.penalty + 1)
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

    def _include(self, node: Pending, removed: IntArray, forced: IntArray, room: int) -> None:
        """Go on with what nothing above the level can do without."""
        self.upper = max(self.upper, self.level)
        self.steps.append(Step(removed, forced=node.frame.indices[forced]))
        if len(forced) <= room:
            inside = np.union1d(node.inside, forced)
            free = np.setdiff1d(node.free, forced, assume_unique=True)
            self.pending.append(replace(node, inside=inside, free=free))

    def gathered(self, node: Pending, penalty: int) -> Pending:
        """Return the node in a frame of its own."""
        places = np.union1d(node.inside, node.free)
        indices = node.frame.indices[places]
        frame = self.conditioning.frame(indices, self.level, self.tuning.penalties[penalty])
        inside = np.searchsorted(places, node.inside)
        return Pending(frame, penalty, inside, np.searchsorted(places, node.free))

    def can_be_penalised(self, node: Pending) -> bool:
        """Whether vectors that are not feasible can be pushed further down."""
        return self.problem.constrained and node.penalty + 1 < len(self.tuning.penalties)

    def node(self, inside: IntArray, free: IntArray, penalty: int) -> Pending:
        """Return a node with these features in a frame of its own."""
        indices = np.union1d(inside, free)
        frame = self.conditioning.frame(indices, self.level, self.tuning.penalties[penalty])
        places = np.searchsorted(indices, np.sort(inside)), np.searchsorted(indices, np.sort(free))
        return Pending(frame, penalty, *places)

    def take(self, steps: Tree) -> None:
        """Take steps that were found elsewhere to rule something out at the level."""
        if len(steps):
            self.upper = max(self.upper, self.level)
            self.steps.extend(steps)

    @classmethod
    def of_a_part(
        cls, conditioning: Conditioning, incumbent: Candidate, level: float, cutoff: float
    ) -> Walk:
        """Return a walk that has no node yet."""
        nothing = Node(np.arange(0), np.arange(0))
        walk = cls(conditioning, nothing, incumbent, level, cutoff)
        walk.pending = []
        return walk

    def _branch(self, node: Pending, removed: IntArray, place: int) -> None:
        self.steps.append(Step(removed, int(node.frame.indices[place])))
        others = node.free[node.free != place]
        inside = np.sort(np.append(node.inside, place))
        self.pending.append(replace(node, free=others))
        self.pending.append(replace(node, inside=inside, free=others))

    def _give_way(self, node: Pending, found: tuple[Array, Array] | None) -> None:
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

    def _enumerate(self, node: Pending) -> None:
        included = node.frame.indices[node.inside]
        allowed = np.union1d(included, node.frame.indices[node.free])
        tested = enumerate_supports(self.problem, included, allowed, self.best, self.cutoff)
        self.upper = max(self.upper, tested.upper)
        if tested.best is not None and tested.best.value > self.best.value:
            self.best = tested.best
