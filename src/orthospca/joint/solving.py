"""The best set of components: a bound on all sets, the best set found, and a tree between them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.classical import gershgorin_bound
from orthospca.bounds.share.sets import Group
from orthospca.joint.ascent import SetSearch
from orthospca.joint.bound import spectral_bound, spectral_part
from orthospca.joint.branching import Group as PatternGroup
from orthospca.joint.branching import Node
from orthospca.joint.multipliers import first_root, root_of
from orthospca.joint.node import Bounding
from orthospca.joint.patterns import Patterns, count_patterns
from orthospca.joint.relaxed import Part, Relaxation
from orthospca.joint.root import RootBound, bound_of, features_above, patterns_above
from orthospca.joint.slots import Slot, slots_of
from orthospca.joint.tree import Tree
from orthospca.model.clock import Clock
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.result import Component, Status
from orthospca.model.settings import Settings
from orthospca.numerics.exact import total_down, variance_down
from orthospca.numerics.rounding import add_up
from orthospca.search.sequence import Found, run_stages
from orthospca.search.stages import MatrixStages
from orthospca.supports.best import direction

#: A gap that floating point can close, relative to the largest entry of Q, for each component.
RESOLUTION = 1e-13
#: A variance is not taken to be smaller than this share of the largest entry of Q.
SMALLEST_SCALE = 0.1
#: Order up to which the bound of ordinary PCA costs next to nothing.
SMALL_SPECTRUM = 300
#: Bytes of matrices that a certificate holds, at most.
LARGEST_TREE = 2**27
#: What a checker may find a bound to be higher, relative: it rounds in its own way.
ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class Joint:
    """A set of components, and what is proved of all sets.

    Attributes
    ----------
    components : tuple of Component
    upper : float
        Proved bound on the total variance of every set.
    status : Status
    note : str
        Why the gap is what it is; empty where it is closed.
    root : RootBound or None
        The bound of one matrix, which a certificate can hold.
    tree : Node or None
        For a certificate, the nodes that prove the bound, if one matrix does not.
    """

    components: tuple[Component, ...]
    upper: float
    status: Status
    note: str
    root: RootBound | None
    tree: Node | None = None


class PartOfTime(QuietWatch):
    """A part of the time."""

    def __init__(self, watch: Watch, seconds: float) -> None:
        super().__init__(watch)
        self._watch = watch
        self.clock = Clock(None if math.isinf(seconds) else seconds)
        self.node_limit = watch.node_limit

    def begin_stage(self, stage: int, stages_left: int) -> None:
        """Give a stage its share of this part."""
        self.clock.begin_stage(stages_left)

    def out_of_time(self) -> bool:
        """Whether this part, or the whole, is over."""
        return self._watch.out_of_time() or self.clock.is_up


def solve_jointly(
    Q: Array,
    limits: Sequence[int],
    settings: Settings,
    watch: Watch,
    demands: Demands = NO_DEMANDS,
    known: Sequence[Array] = (),
    upper: float = math.inf,
) -> Joint:
    """Find components with the largest total variance.

    Parameters
    ----------
    Q : array of shape (n, n)
    limits : sequence of int
        The sparsity of each component.
    settings : Settings
    watch : Watch
    demands : Demands
        Features in or out, and whether components are disjoint; nothing else.
    known : sequence of arrays
        A set that was found before.
    upper : float
        What was proved before.
    """
    solving = JointSolve(Q, tuple(limits), settings, watch, demands)
    solving.upper = upper
    if len(known):
        solving.search.offer(known)
    return solving.run()


class JointSolve:
    """One problem, given by its matrix: as :func:`solve_jointly`."""

    def __init__(
        self,
        Q: Array,
        limits: tuple[int, ...],
        settings: Settings,
        watch: Watch,
        demands: Demands,
    ) -> None:
        self.Q, self.limits, self.demands = Q, limits, demands
        self.slots = slots_of(limits, len(Q), demands)
        self.settings, self.watch = settings, watch
        self.tuning = settings.tuning.joint
        self.largest = float(np.abs(Q).max(initial=0.0))
        resolution = RESOLUTION * len(limits) * self.largest
        self.tolerance = settings.tolerance.at_resolution(resolution)
        wanted = (settings.random_state, self.slots, demands.disjoint)
        self.search = SetSearch(Q, limits, watch.out_of_time, self.tuning, *wanted)
        self.nodes, self.open_nodes = 0, 0
        self.out_of_nodes = False
        self.upper = math.inf
        self.note = ""
        self.root: RootBound | None = None
        self.tree: Node | None = None

    def run(self) -> Joint:
        """Solve it."""
        self.watch.begin_stage(0, 1)
        if self.search.best and self.done:
            return self.result(Status.PROOF_LIMIT)
        found = self._stagewise()
        stagewise = [c.vector for c in found.components]
        self.search.begin(stagewise)
        if self.settings.proof:
            self.first_sets(stagewise)
            # What a certificate can hold is the bound of one matrix, or a tree of patterns.
            self._certify()
            self.note = "the certificate holds the bound of one matrix, without branching"
            if self._few and not self.done:
                self._branch_for_certificate()
            return self.result(Status.PROOF_LIMIT)
        # Bounds that cost little are often enough where features stand in for each other.
        self.upper = min(self.upper, self.bound_of_stages(found))
        if not self.tolerance.met(self.search.value, self.upper):
            self.upper = min(self.upper, self._spectral())
        self.report()
        if not self.done:
            self.first_sets(stagewise)
            self.report()
        if not self.done:
            n = len(self.Q)
            if self._few:
                self._branch_on(Patterns.all_of(n, max(self.limits)), np.arange(n), -math.inf)
            else:
                self._relax()
        return self.result(Status.WORK_LIMIT)

    @property
    def _few(self) -> bool:
        """Whether all patterns can be listed."""
        return count_patterns(len(self.Q), max(self.limits)) <= self.tuning.patterns

    @property
    def _different(self) -> list[tuple[Slot, int]]:
        """What is asked of components, and of how many."""
        ordered = sorted(self.slots, key=lambda slot: slot.size)
        return [(slot, self.slots.count(slot)) for slot in dict.fromkeys(ordered)]

    def _spectral(self) -> float:
        """The bound of ordinary PCA, or that of the rows where there is no time for it."""
        if not self.Q.any():
            return 0.0
        n = len(self.Q)
        if n <= SMALL_SPECTRUM or self.watch.has_time_for(2.0 * n**3):
            return spectral_bound(self.Q, len(self.limits))
        return add_up(*(gershgorin_bound(self.Q, size) for size in self.limits), 0.0)

    @property
    def done(self) -> bool:
        """Whether the tolerance is met, or the time is up."""
        return self.tolerance.met(self.search.value, self.upper) or self.watch.out_of_time()

    def _stagewise(self) -> Found:
        part = PartOfTime(self.watch, self.tuning.stagewise_share * self.watch.seconds_left)
        stages = MatrixStages(self.Q, replace(self.settings, proof=False), part)
        return run_stages(stages, self.limits, self.tolerance, part, demands=self.demands)

    @property
    def _scale(self) -> float:
        """Size of the variance of one component."""
        mean = abs(self.search.value) / len(self.limits)
        return max(mean, SMALLEST_SCALE * self.largest) or 1.0

    def first_sets(self, stagewise: Sequence[Array]) -> None:
        """Seek good sets, for a part of the time where nodes are dear and find sets themselves."""
        share = math.inf if self._few else self.tuning.first_share
        part = PartOfTime(self.watch, share * self.watch.seconds_left)
        self.search.stop = part.out_of_time
        self.search.improve_first(stagewise)
        for _ in range(self.tuning.first_steps * len(self.limits)):
            self.search.step()
        self.search.stop = self.watch.out_of_time

    def _certify(self) -> None:
        """The bound of one matrix, with stages that a certificate can hold: the best of some."""
        part = self.relaxed_root(self._promising())[1]
        spectral = spectral_part(self.Q, len(self.limits))
        watch = QuietWatch(self.watch)
        for M, gap in ((np.zeros_like(self.Q), 1e-3), (spectral, 1e-3), (part.M, 1e-9)):
            cut = self.tolerance.cutoff(self.search.value)
            if M is None or (self.root is not None and (not M.any() or self.root.upper <= cut)):
                continue
            found = bound_of(self.Q, M, self.limits, self.settings, watch, gap)
            if found is not None and (self.root is None or found.upper < self.root.upper):
                self.root = found
                self.upper = min(self.upper, found.upper)
        self.report()

    def _branch_for_certificate(self) -> None:
        """Branch on patterns, with what a checker needs to do so again."""
        n, upper, tolerance = len(self.Q), self.upper, self.tolerance
        # A little is left for the rounding of others.
        share = 1 - 1e-6
        self.tolerance = replace(tolerance, eps=share * tolerance.eps, gap=share * tolerance.gap)
        self.upper = math.inf
        tree = self._branch_on(Patterns.all_of(n, max(self.limits)), np.arange(n), -math.inf)
        self.tolerance = tolerance
        self.upper = add_up(tree.upper, ROUNDING * max(abs(tree.upper), self.largest))
        self.note = "the certificate can hold no more nodes"
        if self.upper < upper:
            self.tree = tree.root
        else:
            self.upper = upper

    def relaxed_root(self, features: IntArray) -> tuple[Relaxation, Part]:
        """The share relaxation of sets on some features."""
        groups = []
        for slot, count in self._different:
            included, allowed = np.array(slot.included, dtype=int), slot.allowed(len(self.Q))
            allowed = np.union1d(included, np.intersect1d(allowed, features))
            groups.append(Group(count, min(slot.size, len(allowed)), included, allowed))
        asked = (self._scale, self.tuning.relaxed, self.demands.disjoint)
        relaxation = Relaxation(self.Q, groups, *asked)
        part = relaxation.root()
        cut = self.tolerance.cutoff(self.search.value)
        relaxation.tighten(part, cut, "first", self.watch.out_of_time)
        self.nodes += 1
        return relaxation, part

    def _promising(self) -> IntArray:
        """Features of good sets, and those that may contribute most, if there are many."""
        n, most = len(self.Q), self.tuning.relaxed.first_features
        if n <= self.tuning.relaxed.at_once:
            return np.arange(n)
        size = max(self.limits)
        pull = np.partition(np.abs(self.Q), n - size, axis=0)[n - size :].sum(axis=0)
        used = np.flatnonzero(np.array(self.search.best).any(axis=0))
        pull[used] = math.inf
        return np.sort(np.argsort(-pull, kind="stable")[:most])

    def _relax(self) -> None:
        """Branch on the patterns that the relaxation leaves, if they are few; or on it."""
        features = self._promising()
        whole = len(features) == len(self.Q)
        relaxation, part = self.relaxed_root(features)
        if whole:
            self.upper = min(self.upper, part.upper)
        self.report()
        self.search.near(relaxation.supports(part))
        cut = self.tolerance.cutoff(self.search.value)
        if self.done:
            return
        within = part.upper - cut <= self.tuning.list_within * abs(cut)
        within &= not self.demands.binding
        outside = -math.inf
        if within or not whole:
            # What is proved of all sets holds for those that are as is asked.
            watch = PartOfTime(self.watch, self.tuning.list_share * self.watch.seconds_left)
            watch.node_limit = self.tuning.list_nodes
            self.root = bound_of(self.Q, part.M, self.limits, self.settings, watch)
            if self.root is not None:
                self.upper = min(self.upper, self.root.upper)
                self.report()
                sets = patterns_above(self.root, cut, self.settings, watch) if within else None
                if sets is not None:
                    self._branch_on_listed(sets, cut, part.M)
                    return
        if not whole:
            left = None if self.root is None else self._left(self.root, cut)
            if left is None or len(left) > self.tuning.relaxed.features:
                self.note = "too many features are left to branch on"
                return
            relaxation, part = self.relaxed_root(left)
            outside = cut
        self._run(Tree(relaxation, outside, self.tolerance, self.search), part)

    def _left(self, root: RootBound, cut: float) -> IntArray | None:
        """Features that a better set can use; None if that is not known."""
        left = np.arange(0)
        for size in root.outcomes:
            kept = features_above(root, size, cut, self.watch.out_of_time)
            if kept is None:
                return None
            left = np.union1d(left, kept)
        return left

    def _branch_on_listed(self, sets: set[tuple[int, ...]], cut: float, M: Array) -> None:
        if not sets:
            self.upper = min(self.upper, max(cut, self.search.value))
            return
        used = np.array(sorted(set(itertools.chain.from_iterable(sets))), dtype=np.intp)
        number = {int(j): i for i, j in enumerate(used)}
        patterns = Patterns.within(len(used), ([number[j] for j in s] for s in sets))
        self._branch_on(patterns, used, cut, M[np.ix_(used, used)])

    def _branch_on(
        self, patterns: Patterns, places: IntArray, outside: float, M: Array | None = None
    ) -> Tree:
        """Branch on patterns; M is one to begin with."""
        scale = self._scale
        groups = [
            PatternGroup.of_all(count, slot.patterns(patterns.inside), patterns.n)
            for slot, count in self._different
        ]
        start = first_root(len(places), scale) if M is None or not M.any() else root_of(M)
        part = self.Q[np.ix_(places, places)]
        kept = (start, scale, self.tuning, self.demands.disjoint, self.settings.proof)
        bounding = Bounding(part, groups, patterns, places, *kept)
        tree = Tree(bounding, outside, self.tolerance, self.search)
        self._run(tree)
        return tree

    def _run(self, tree: Tree, root: Part | None = None) -> None:
        before = self.nodes

        def stop() -> bool:
            self.out_of_nodes = before + tree.nodes >= self.watch.node_limit
            full = self.settings.proof and 8.0 * tree.nodes * self.Q.size > LARGEST_TREE
            return full or self.out_of_nodes or self.watch.out_of_time()

        def report() -> None:
            self.nodes, self.open_nodes = before + tree.nodes, tree.open_nodes
            self.upper = min(self.upper, tree.upper)
            self.report()

        tree.run(stop, report, root)
        if tree.settled_open:
            self.note = "for some supports, it is undecided whether a better set exists"

    def bound_of_stages(self, found: Found) -> float:
        """The bound of the first stage holds for each component that is feasible there."""
        count, limits = len(self.limits), self.limits
        nested = all(self.demands.nests(0, k) for k in range(count))
        if not found.components or max(limits) > limits[0] or not nested:
            return math.inf
        return add_up(*([found.components[0].upper_bound] * count), 0.0)

    def report(self) -> None:
        """Say where it stands."""
        self.watch.report(self.nodes, self.open_nodes, self.search.value, self.upper)

    def told(self, vectors: Sequence[Array]) -> tuple[list[Array], list[float]]:
        """The components, and their variances, rounded down."""
        return list(vectors), [variance_down(self.Q, x) for x in vectors]

    def result(self, by_itself: Status) -> Joint:
        """What was found; ``by_itself`` is why it ended if no limit was met."""
        K = len(self.limits)
        vectors, variances = self.told(_ordered(self.Q, self.slots, self.search.best))
        total = total_down(variances)
        upper = max(self.upper, total)
        if self.tolerance.met(total, upper):
            status, note = Status.OPTIMAL, ""
        elif upper <= total + 2 * self.tolerance.resolution:
            status, note = Status.PRECISION, ""
        else:
            verdict = self.watch.verdict(self.nodes if self.out_of_nodes else 0)
            status, note = verdict or by_itself, "" if verdict else self.note
        components = []
        for k, (x, variance) in enumerate(zip(vectors, variances, strict=True)):
            vector = direction(x) * np.asarray(x)
            vector.flags.writeable = False
            # In its place, with the others as they are, no vector has more.
            others = [-v for j, v in enumerate(variances) if j != k]
            bound = max(add_up(upper, *(others or [0.0])), variance)
            components.append(
                Component(
                    vector,
                    variance,
                    bound,
                    status if K == 1 else Status.PART_OF_SET,
                    self.nodes if k == 0 else 0,
                    self.watch.clock.elapsed if k == 0 else 0.0,
                )
            )
        return Joint(tuple(components), upper, status, note, self.root, self.tree)


def _ordered(Q: Array, asked: Sequence[Slot], vectors: Sequence[Array]) -> list[Array]:
    """The components of which the same is asked in the order of their variances."""
    variances = np.array([float(x @ Q @ x) for x in vectors])
    ordered: list[Array] = list(vectors)
    for one in set(asked):
        slots = [k for k, slot in enumerate(asked) if slot == one]
        ranked = sorted(slots, key=lambda k: (-variances[k], k))
        for slot, k in zip(slots, ranked, strict=True):
            ordered[slot] = vectors[k]
    return ordered
