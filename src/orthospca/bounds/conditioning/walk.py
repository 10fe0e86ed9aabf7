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
from dataclasses import dataclass, field

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning import compiled, parts
from orthospca.bounds.conditioning.step import Elimination, Frame
from orthospca.bounds.conditioning.steps import NO_STEPS, Step, StepLog, Tree
from orthospca.model.nodes import Node
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.model.tuning import DEFAULT, WalkTuning
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
        Proved bound on the node; infinite if not complete.
    best : Candidate
        The incumbent given, or something better.
    steps : Tree
        The tree, from which the bound can be checked again, if complete.
    level : float
        At which it was searched.
    work : float
        What it has cost, in the unit of budgets.
    """

    complete: bool
    upper: float
    best: Candidate
    steps: Tree = NO_STEPS
    level: float = math.inf
    work: float = 0.0


@dataclass
class Tally:
    """What conditioned searches of one stage have cost: long ones are worth other means."""

    work: float = 0.0


def _forever() -> float:
    return math.inf


@dataclass(eq=False)
class Conditioning:
    """Searches nodes of one stage.

    Attributes
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

    problem: Subproblem
    tuning: WalkTuning = DEFAULT.walk
    tally: Tally = field(default_factory=Tally)
    seconds_left: Callable[[], float] = _forever
    n_jobs: int | None = 1

    def __post_init__(self) -> None:
        # How much cheaper steps are once they are compiled; not whether they already are.
        self.speed = self.tuning.compiled_speed if compiled.is_installed() else 1.0
        self._scale = self.problem.scale
        # Largest squared norm of a row of X: what κXXᵀ adds to an entry is at most κ times it.
        self._heaviest = float(np.square(self.problem.previous).sum(axis=1).max(initial=0.0))

    def dive(
        self,
        node: Node,
        incumbent: Candidate,
        tolerance: Tolerance,
        budget: float,
        stop: Callable[[], bool] | None = None,
    ) -> Dive:
        """Search a node at the cutoff of the tolerance.

        A better component found on the way is polished, and the search begins anew with it.
        """
        while True:
            found = self.search(node, incumbent, tolerance.cutoff(incumbent.value), budget, stop)
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
        walk = Walk(self, level, cutoff, incumbent, node)
        stop = stop or _never
        alone = max(self.tuning.compiled_after - self.tally.work, 0.0) + self.tuning.split_after
        complete = walk.advance(min(alone, budget), stop)
        if not (complete or walk.improved or stop() or walk.hopeless(budget)):
            complete = parts.close(walk, budget, stop, self.n_jobs)
        if walk.improved or not complete:
            return Dive(False, math.inf, walk.best, work=walk.work)
        return Dive(True, walk.upper, walk.best, walk.steps.tree(), level, walk.work)

    def alone(self) -> Conditioning:
        """Return one for parts of a long walk, which can be sent elsewhere."""
        other = Conditioning(self.problem, self.tuning, Tally(math.inf))
        other.speed = self.speed
        return other

    def frame(self, indices: IntArray, level: float, penalty: float) -> Frame:
        """Gather the form on some indices, and lower the level by all that rounding may add."""
        problem, p = self.problem, self.problem.sparsity
        kappa = penalty * max(abs(level), 1e-3 * self._scale)
        matrix: Array = problem.projected[np.ix_(indices, indices)]
        if kappa > 0:
            previous = problem.previous[indices]
            matrix -= kappa * (previous @ previous.T)
        return Frame(matrix, level - p * self._radius(kappa) - self._margin(kappa, level))

    def _radius(self, kappa: float) -> float:
        """Rounding error of an entry of the form."""
        radius = self.problem.projected_radius
        if kappa > 0:
            terms = self.problem.previous.shape[1]
            radius += dot_radius(terms, kappa * self._heaviest + self._scale)
        return radius

    def _margin(self, kappa: float, level: float) -> float:
        """Bound on the norm of what rounding may add to a matrix while p features are included.

        What they add has squares of at most ``|level| + ‖Q‖max``, so that p sums of products err by
        less than ``4(p + 8)`` units of that; p entries in a row make the norm.
        """
        p = self.problem.sparsity
        size = abs(level) + self._scale + kappa * self._heaviest
        return 16 * p * (p + 8) * UNIT * size + TINY


def _never() -> bool:
    return False


@dataclass(frozen=True, eq=False)
class Pending:
    """A node of the walk.

    Attributes
    ----------
    frame : Frame or None
        Of the free features; None if those inside are not below the level, as far as can be told.
    penalty : int
        Which one the frame has.
    inside, free : integer arrays
        Features, those inside in the order of their inclusion, those free in ascending order.
    """

    frame: Frame | None
    penalty: int
    inside: IntArray
    free: IntArray

    def count(self, sparsity: int) -> int:
        """Return how many supports it has."""
        inside = len(self.inside)
        return count_supports(inside, inside + len(self.free), sparsity)


class Walk:
    """A depth-first walk, at a level, of what is pending.

    Parameters
    ----------
    conditioning : Conditioning
    level : float
        At which nodes are closed.
    cutoff : float
        Values up to this one are of no interest.
    incumbent : Candidate
    node : Node, optional
        Where it begins.
    """

    def __init__(
        self,
        conditioning: Conditioning,
        level: float,
        cutoff: float,
        incumbent: Candidate,
        node: Node | None = None,
    ) -> None:
        self.conditioning = conditioning
        self.problem = conditioning.problem
        self.tuning = conditioning.tuning
        self.incumbent = self.best = incumbent
        self.level = level
        self.cutoff = cutoff
        self.upper = -math.inf
        self.steps = StepLog()
        self.work = 0.0
        self.pending = [] if node is None else [self.node(node.included, node.free)]
        self._begins = node is not None

    @property
    def improved(self) -> bool:
        """Whether something better than the incumbent was found."""
        return self.best is not self.incumbent

    def hopeless(self, budget: float) -> bool:
        """Whether the budget is spent."""
        return self.work > budget and len(self.steps) > self.tuning.free_steps * budget

    def advance(self, budget: float, stop: Callable[[], bool]) -> bool:
        """Walk on; whether everything is closed, and nothing better than the incumbent found."""
        while self.pending:
            if self.improved or self.hopeless(budget) or stop():
                return False
            self.step()
        return not self.improved

    def step(self) -> None:
        """Close the next node, or branch."""
        node = self.pending.pop()
        self._charge(len(node.free))
        few = node.count(self.problem.sparsity) <= self.tuning.enumerate_below
        begins, self._begins = self._begins, False
        if few and begins:
            self._enumerate(node)
            return
        room = self.problem.sparsity - len(node.inside)
        while True:
            frame = node.frame
            if frame is not None and room == 0:
                self._close(node.free[:0])
                return
            left = None if frame is None else frame.eliminate(room, self.tuning)
            if left is not None:
                break
            if not self._can_be_penalised(node):
                (self._enumerate if few else self._give_way)(node)
                return
            node = self.node(node.inside, node.free, node.penalty + 1)
        kept = left.kept
        if len(kept) == 0:
            self._close(node.free)
            return
        if few:
            self._enumerate(node)
            return
        removed = node.free[:0]
        if len(kept) < len(node.free):
            self.upper = max(self.upper, self.level)
            gone = np.ones(len(node.free), dtype=bool)
            gone[kept] = False
            removed = node.free[gone]
        if len(left.forced):
            self._include(node, removed, left)
        else:
            self._branch(node, removed, kept, left.branch)

    def _charge(self, features: int) -> None:
        """Count what a step costs: less from when on it is compiled, if there is time for that."""
        size = features / self.tuning.smallest_step
        cost = size**self.tuning.step_growth if size > 1.0 else 1.0
        if self.conditioning.tally.work + self.work >= self.tuning.compiled_after:
            cost /= self.conditioning.speed
            if compiled.loaded() is None:
                compiled.ask(self.conditioning.seconds_left())
        self.work += cost

    def _close(self, removed: IntArray) -> None:
        self.upper = max(self.upper, self.level)
        self.steps.append(Step(removed))

    def _include(self, node: Pending, removed: IntArray, left: Elimination) -> None:
        """Go on with what nothing above the level can do without."""
        self.upper = max(self.upper, self.level)
        forced = node.free[left.forced]
        self.steps.append(Step(removed, forced=forced))
        if len(node.inside) + len(forced) > self.problem.sparsity:
            return
        places = np.searchsorted(left.kept, left.forced)
        assert node.frame is not None
        matrix = node.frame.matrix[left.kept[:, None], left.kept]
        frame = Frame(matrix, node.frame.level).conditioned(places)
        free = np.delete(node.free[left.kept], places)
        self.pending.append(Pending(frame, node.penalty, np.append(node.inside, forced), free))

    def node(self, inside: IntArray, free: IntArray, penalty: int = 0) -> Pending:
        """Return a node with a frame of its own."""
        indices = np.union1d(inside, free)
        frame = self.conditioning.frame(indices, self.level, self.tuning.penalties[penalty])
        return Pending(frame.conditioned(np.searchsorted(indices, inside)), penalty, inside, free)

    def _can_be_penalised(self, node: Pending) -> bool:
        """Whether vectors that are not feasible can be pushed further down."""
        return self.problem.constrained and node.penalty + 1 < len(self.tuning.penalties)

    def begun_anew(self) -> Walk:
        """Return a walk like this one, of which nothing is done and nothing is pending."""
        return Walk(self.conditioning.alone(), self.level, self.cutoff, self.incumbent)

    def take(self, steps: Tree) -> None:
        """Take steps that were found elsewhere to rule something out at the level."""
        if len(steps):
            self.upper = max(self.upper, self.level)
            self.steps.extend(steps)

    def _branch(self, node: Pending, removed: IntArray, kept: IntArray, place: int) -> None:
        feature = node.free[place]
        self.steps.append(Step(removed, int(feature)))
        rest = kept[kept != place]
        without = within = None
        if node.frame is not None:
            without, within = node.frame.split(rest, place)
        free = node.free[rest]
        inside = np.append(node.inside, feature)
        self.pending.append(Pending(without, node.penalty, node.inside, free))
        self.pending.append(Pending(within, node.penalty, inside, free))

    def _give_way(self, node: Pending) -> None:
        """Branch where a support stands in the way that is above the level, or almost."""
        if node.frame is None:
            place = int(np.argmax(self.problem.projected.diagonal()[node.free]))
            self._look_at(np.sort(node.inside))
        else:
            place = int(np.argmax(node.frame.matrix.diagonal()))
            self._look_at(np.union1d(node.inside, node.free[place]))
        self._branch(node, node.free[:0], np.arange(len(node.free)), place)

    def _look_at(self, support: IntArray) -> None:
        """See whether a support is better than the incumbent."""
        candidate = best_on_support(self.problem, support)
        if candidate is not None and candidate.value > self.best.value:
            self.best = candidate

    def _enumerate(self, node: Pending) -> None:
        """Test the supports of a node one by one."""
        allowed = np.union1d(node.inside, node.free)
        inside = np.sort(node.inside)
        tested = enumerate_supports(self.problem, inside, allowed, self.best, self.cutoff)
        self.upper = max(self.upper, tested.upper)
        if tested.best is not None and tested.best.value > self.best.value:
            self.best = tested.best
        self.steps.append(Step(node.free[:0]))
