"""The best set of components: a bound on all sets, the best set found, and a tree between them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.classical import gershgorin_bound
from orthospca.joint.ascent import SetSearch
from orthospca.joint.bound import spectral_bound
from orthospca.joint.multipliers import first_root, root_of
from orthospca.joint.patterns import Patterns, count_patterns
from orthospca.joint.root import Root, RootBound
from orthospca.joint.tree import Tree
from orthospca.model.clock import Clock
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.result import Component, Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.exact import variance_down
from orthospca.numerics.rigor import proves_below
from orthospca.numerics.rounding import add_up
from orthospca.search.listing import supports_above
from orthospca.search.sequence import Found, run_stages
from orthospca.search.stages import MatrixStages
from orthospca.search.views import MatrixView

#: A gap that floating point can close, relative to the largest entry of Q, for each component.
RESOLUTION = 1e-13
#: A variance is not taken to be smaller than this share of the largest entry of Q.
SMALLEST_SCALE = 0.1
#: Order up to which the bound of ordinary PCA costs next to nothing.
SMALL_SPECTRUM = 300


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
    """

    components: tuple[Component, ...]
    upper: float
    status: Status
    note: str
    root: RootBound | None


class _Part(QuietWatch):
    """A part of the time."""

    def __init__(self, watch: Watch, seconds: float) -> None:
        super().__init__(watch)
        self.clock = Clock(None if math.isinf(seconds) else seconds)
        self.node_limit = watch.node_limit

    def begin_stage(self, stage: int, stages_left: int) -> None:
        """Give a stage its share of this part."""
        self.clock.begin_stage(stages_left)

    def out_of_time(self) -> bool:
        """Whether this part, or the whole, is over."""
        return self._watch.out_of_time() or self.clock.is_up


def solve_jointly(Q: Array, limits: Sequence[int], settings: Settings, watch: Watch) -> Joint:
    """Find components with the largest total variance.

    Parameters
    ----------
    Q : array of shape (n, n)
    limits : sequence of int
        The sparsity of each component.
    settings : Settings
    watch : Watch
    """
    return _JointSolve(Q, tuple(limits), settings, watch).run()


class _JointSolve:
    def __init__(self, Q: Array, limits: tuple[int, ...], settings: Settings, watch: Watch) -> None:
        self.Q, self.limits = Q, limits
        self.settings, self.watch = settings, watch
        self.tuning = settings.tuning.joint
        self.largest = float(np.abs(Q).max(initial=0.0))
        resolution = RESOLUTION * len(limits) * self.largest
        self.tolerance = settings.tolerance.at_resolution(resolution)
        self.search = SetSearch(Q, limits, watch.out_of_time, self.tuning, settings.random_state)
        self.nodes, self.open_nodes = 0, 0
        self.out_of_nodes = False
        self.upper = math.inf
        self.note = ""
        self.root: RootBound | None = None

    def run(self) -> Joint:
        """Solve it."""
        watch = self.watch
        watch.begin_stage(0, 1)
        found = self._stagewise()
        self.search.begin([c.vector for c in found.components])
        if self.settings.proof:
            # What a certificate can hold is the bound of one matrix, and nothing else is used.
            self._at_the_root(found)
            self.note = "with a proof there is no branching, which a certificate does not hold"
            return self._result(Status.PROOF_LIMIT)
        self.upper = min(self._spectral(), _bound_of_stages(found, self.limits))
        self._report()
        n, widest = len(self.Q), max(self.limits)
        if count_patterns(n, widest) <= self.tuning.patterns:
            if not self._done:
                self._first_steps()
                self._branch(Patterns.all_of(n, widest), np.arange(n), -math.inf)
        else:
            if not self._done:
                self._at_the_root(found)
            if not self._done:
                self._branch_on_listed()
        return self._result(Status.WORK_LIMIT)

    def _spectral(self) -> float:
        """The bound of ordinary PCA, or that of the rows where there is no time for it."""
        if not self.Q.any():
            return 0.0
        n = len(self.Q)
        if n <= SMALL_SPECTRUM or self.watch.has_time_for(2.0 * n**3):
            return spectral_bound(self.Q, len(self.limits))
        return add_up(*(gershgorin_bound(self.Q, size) for size in self.limits), 0.0)

    @property
    def _done(self) -> bool:
        return self.tolerance.met(self.search.value, self.upper) or self.watch.out_of_time()

    def _stagewise(self) -> Found:
        part = _Part(self.watch, self.tuning.stagewise_share * self.watch.seconds_left)
        stages = MatrixStages(self.Q, replace(self.settings, proof=False), part)
        return run_stages(stages, self.limits, self.tolerance, part)

    @property
    def _scale(self) -> float:
        """Size of the variance of one component."""
        mean = abs(self.search.value) / len(self.limits)
        return max(mean, SMALLEST_SCALE * self.largest) or 1.0

    def _at_the_root(self, found: Found) -> None:
        self._first_steps()
        root = Root(self.Q, self.limits, self.settings, self.watch, self._scale)
        known = [*(c.vector for c in found.components), *self.search.best]
        self.root = root.run(known, self.tolerance.cutoff(self.search.value))
        self.nodes += 1
        self.upper = min(self.upper, self.root.upper)
        self._report()

    def _first_steps(self) -> None:
        tuning, many = self.tuning, len(self.Q) > self.tuning.many
        for _ in range(tuning.few_steps if many else tuning.first_steps * len(self.limits)):
            self.search.step()

    def _branch_on_listed(self) -> None:
        """Go on with the supports that a better set can use, if they are not too many."""
        root = self.root
        assert root is not None
        cut = self.tolerance.cutoff(self.search.value)
        sets: set[tuple[int, ...]] = set()
        for size, outcome in root.outcomes.items():
            threshold = cut - (root.upper - outcome.upper)
            threshold -= 1e-12 * (abs(cut) + abs(root.upper))
            listed = supports_above(
                MatrixView(Subproblem(root.matrix, size, np.zeros((len(self.Q), 0)))),
                size,
                threshold,
                outcome.rungs,
                self.tuning.listed,
                self.settings.tuning.walk,
                self.watch.out_of_time,
            )
            found = [listed.features[places] for places in listed.supports]
            # A vector may be zero on some of its support, and then it has the value of the rest.
            if not (listed.complete and self._add_parts(sets, found, threshold)):
                self.note = "more supports are left than can be branched on"
                return
            if not found:
                # Some component has no support that a better set could use.
                sets.clear()
                break
        if not sets:
            self.upper = min(self.upper, max(cut, self.search.value))
            return
        used = np.array(sorted(set(itertools.chain.from_iterable(sets))), dtype=np.intp)
        number = {int(j): i for i, j in enumerate(used)}
        patterns = Patterns.within(len(used), ([number[j] for j in s] for s in sets))
        self._branch(patterns, used, cut)

    def _add_parts(
        self, sets: set[tuple[int, ...]], supports: Sequence[IntArray], threshold: float
    ) -> bool:
        """Add supports and their parts, unless proved below the threshold; False if too many."""
        assert self.root is not None
        pending = [tuple(sorted(int(j) for j in support)) for support in supports]
        seen = set(pending)
        while pending:
            members = pending.pop()
            at = list(members)
            if proves_below(self.root.matrix[np.ix_(at, at)], threshold):
                continue
            sets.add(members)
            if len(sets) > self.tuning.patterns:
                return False
            parts = {part for part in itertools.combinations(members, len(members) - 1) if part}
            pending += sorted(parts - seen)
            seen |= parts
        return True

    def _branch(self, patterns: Patterns, places: IntArray, outside: float) -> None:
        here, scale = np.ix_(places, places), self._scale
        start = first_root(len(places), scale)
        if self.root is not None and (self.root.matrix != self.Q).any():
            start = root_of(self.Q[here] - self.root.matrix[here])
        tree = Tree(
            self.Q[here],
            self.limits,
            patterns,
            places,
            outside,
            self.tolerance,
            self.search,
            start,
            scale,
            self.tuning,
        )
        before, limit = self.nodes, self._node_limit

        def stop() -> bool:
            self.out_of_nodes = before + tree.nodes >= limit
            return self.out_of_nodes or self.watch.out_of_time()

        def report() -> None:
            self.nodes, self.open_nodes = before + tree.nodes, tree.open_nodes
            self.upper = min(self.upper, tree.upper)
            self._report()

        tree.run(stop, report)
        if tree.settled_open:
            self.note = "sets of some supports could not be told from better ones"
        elif self.out_of_nodes:
            self.note = (
                f"without a limit of time or nodes a search for a set ends after {limit} nodes"
            )

    @property
    def _node_limit(self) -> float:
        if math.isinf(self.watch.node_limit) and math.isinf(self.watch.seconds_left):
            return self.tuning.nodes
        return self.watch.node_limit

    def _report(self) -> None:
        self.watch.report(self.nodes, self.open_nodes, self.search.value, self.upper)

    def _result(self, by_itself: Status) -> Joint:
        """What was found; ``by_itself`` is why it ended if no limit was met."""
        total, K = self.search.value, len(self.limits)
        upper = max(self.upper, total)
        if self.tolerance.met(total, upper):
            status, note = Status.OPTIMAL, ""
        elif upper <= total + 2 * self.tolerance.resolution:
            status, note = Status.PRECISION, ""
        else:
            verdict = self.watch.verdict(self.nodes if self.out_of_nodes else 0)
            status, note = verdict or by_itself, "" if verdict else self.note
        components = []
        vectors = _ordered(self.Q, self.limits, self.search.best)
        variances = [variance_down(self.Q, x) for x in vectors]
        for k, (x, variance) in enumerate(zip(vectors, variances, strict=True)):
            vector = np.array(x)
            if vector[np.argmax(np.abs(vector))] < 0:
                vector = -vector
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
        return Joint(tuple(components), upper, status, note, self.root)


def _bound_of_stages(found: Found, limits: Sequence[int]) -> float:
    """The bound of the first stage holds for each component that is not denser."""
    if not found.components or max(limits) > limits[0]:
        return math.inf
    return add_up(*([found.components[0].upper_bound] * len(limits)), 0.0)


def _ordered(Q: Array, limits: Sequence[int], vectors: Sequence[Array]) -> list[Array]:
    """The components of each sparsity in the order of their variances."""
    variances = np.array([float(x @ Q @ x) for x in vectors])
    ordered: list[Array] = list(vectors)
    for size in set(limits):
        slots = [k for k, limit in enumerate(limits) if limit == size]
        ranked = sorted(slots, key=lambda k: (-variances[k], k))
        for slot, k in zip(slots, ranked, strict=True):
            ordered[slot] = vectors[k]
    return ordered
