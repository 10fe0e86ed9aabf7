"""The best set of components: a bound on all sets, the best set found, and a tree between them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.classical import gershgorin_bound
from orthospca.joint.ascent import SetSearch
from orthospca.joint.multipliers import Multipliers
from orthospca.joint.patterns import Patterns, count_patterns
from orthospca.joint.root import Root, RootBound
from orthospca.joint.simple import spectral_bound
from orthospca.joint.tree import SMALLEST_SCALE, Standing, Tree
from orthospca.model.clock import Clock
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.result import Component, Status
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.numerics.exact import down, variance_down
from orthospca.numerics.rigor import proves_below
from orthospca.numerics.rounding import add_up
from orthospca.search.listing import supports_above
from orthospca.search.sequence import Found, run_stages
from orthospca.search.stages import MatrixStages
from orthospca.search.views import MatrixView

#: Patterns up to which all of them are looked at.
LARGEST_LIST = 30_000
#: Supports that are listed at most, where not all patterns are looked at.
LARGEST_LISTING = 20_000
#: Share of the time that the stage-wise solution may use.
STAGEWISE_SHARE = 0.25
#: Steps of the search for sets before the tree, for each component; where there are many features
#: steps are dear, and few are made.
FIRST_STEPS, MANY = 8, 100
#: A gap that floating point can close, relative to the largest entry of Q, for each component.
RESOLUTION = 1e-13
#: Nodes of the tree, if neither these nor the time is limited.
DEFAULT_NODES = 400
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
    # Powers of two are divided out and put back exactly.
    largest = float(np.abs(Q).max(initial=0.0))
    unit = 2.0 ** math.frexp(largest)[1] if largest > 0 else 1.0
    if settings.proof or not np.array_equal(Q / unit * unit, Q):
        unit = 1.0
    tolerance = replace(
        settings.tolerance,
        eps=settings.tolerance.eps / unit,
        resolution=RESOLUTION * len(limits) * largest / unit,
    )
    scaled = replace(settings, tolerance=tolerance)
    return _JointSolve(Q / unit, tuple(limits), scaled, watch, unit).run()


class _JointSolve:
    def __init__(
        self, Q: Array, limits: tuple[int, ...], settings: Settings, watch: Watch, unit: float
    ) -> None:
        self.Q, self.limits, self.unit = Q, limits, unit
        self.settings, self.watch = settings, watch
        self.tolerance = settings.tolerance
        self.search: SetSearch
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
        self.search = SetSearch(self.Q, self.limits, watch.out_of_time)
        self.search.begin([c.vector for c in found.components])
        if self.settings.proof:
            # What a certificate can hold is the bound of one matrix, and nothing else is used.
            self._at_the_root(found)
            self.note = "with a proof there is no branching, which a certificate does not hold"
            return self._result(Status.PROOF_LIMIT)
        self.upper = min(self._spectral(), _bound_of_stages(found, self.limits))
        self._report()
        few = count_patterns(len(self.Q), max(self.limits)) <= LARGEST_LIST
        if not (few or self._done):
            self._at_the_root(found)
        if not self._done:
            if few:
                self._branch(Patterns.all_of(len(self.Q), max(self.limits)), -math.inf)
            else:
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
        seconds = STAGEWISE_SHARE * self.watch.seconds_left
        part = _Part(self.watch, seconds)
        stages = MatrixStages(self.Q, replace(self.settings, proof=False), part)
        return run_stages(stages, self.limits, self.tolerance, part)

    def _at_the_root(self, found: Found) -> None:
        largest = float(np.abs(self.Q).max(initial=0.0))
        scale = max(abs(self.search.value) / len(self.limits), SMALLEST_SCALE * largest) or 1.0
        self._first_steps()
        root = Root(self.Q, self.limits, self.settings, self.watch, scale)
        known = [*(c.vector for c in found.components), *self.search.best]
        cut = self.tolerance.cutoff(self.search.value)
        self.root = root.run(known, cut)
        self.nodes += 1
        self.upper = min(self.upper, self.root.upper)
        self._report()

    def _first_steps(self) -> None:
        for _ in range(FIRST_STEPS * len(self.limits) if len(self.Q) <= MANY else 4):
            self.search.step()

    def _branch_on_listed(self) -> None:
        """Go on with the supports that a better set can use, if they are not too many."""
        root = self.root
        assert root is not None
        cut = self.tolerance.cutoff(self.search.value)
        sets: set[tuple[int, ...]] = set()
        for size, level in root.levels.items():
            threshold = cut - (root.upper - level)
            threshold -= 1e-12 * (abs(cut) + abs(root.upper))
            listed = supports_above(
                MatrixView(Subproblem(root.matrix, size, np.zeros((len(self.Q), 0)))),
                size,
                threshold,
                root.outcomes[size].rungs,
                LARGEST_LISTING,
                self.settings.tuning.walk,
                self.watch.out_of_time,
            )
            if not listed.complete:
                self.note = "more supports are left than can be branched on"
                return
            if not listed.supports:
                # Some component has no support that a better set could use.
                self.upper = min(self.upper, max(cut, self.search.value))
                return
            # A vector may be zero on some of its support, and then it has the value of the rest.
            found = [listed.features[places] for places in listed.supports]
            if not _add_parts(sets, found, root.matrix, threshold):
                self.note = "more supports are left than can be branched on"
                return
        used = np.array(sorted(set(itertools.chain.from_iterable(sets))), dtype=np.intp)
        if len(used) == 0:
            self.upper = min(self.upper, max(cut, self.search.value))
            return
        number = {int(j): i for i, j in enumerate(used)}
        patterns = Patterns.within(len(used), ([number[j] for j in s] for s in sets))
        self._branch(patterns, cut, used)

    def _branch(self, patterns: Patterns, outside: float, used: IntArray | None = None) -> None:
        places = np.arange(len(self.Q)) if used is None else used
        start = None
        if self.root is not None and len(self.root.at):
            here = np.ix_(places, places)
            values, vectors = np.linalg.eigh(self.Q[here] - self.root.matrix[here])
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            start = Multipliers(root, np.zeros(len(places)))

        def suggest(chosen: list[IntArray], settled: bool) -> float:
            patterns = [places[pattern] for pattern in chosen]
            return self.search.settle(patterns) if settled else self.search.suggest(patterns)

        tree = Tree(
            self.Q[np.ix_(places, places)],
            self.limits,
            patterns,
            outside,
            self.tolerance,
            self.search.value,
            suggest,
            start,
        )
        if self.root is None:
            self._first_steps()
        before, limit = self.nodes, self._node_limit

        def stop(state: Standing) -> bool:
            self.nodes = before + state.nodes
            self.out_of_nodes = self.nodes >= limit
            return self.out_of_nodes or self.watch.out_of_time()

        def report(state: Standing) -> float:
            self.nodes, self.open_nodes = before + state.nodes, state.open_nodes
            self.upper = min(self.upper, state.upper)
            # The more components, the less a node says of a set.
            while self._steps < state.nodes * (len(self.limits) - 1) // 2:
                self._steps += 1
                self.search.step()
            self._report()
            return self.search.value

        self._steps = 0
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
            return DEFAULT_NODES
        return self.watch.node_limit

    def _report(self) -> None:
        lower, upper = self.search.value * self.unit, self.upper * self.unit
        self.watch.report(self.nodes, self.open_nodes, lower, upper)

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
                    down(Fraction(variance) * Fraction(self.unit)),
                    bound * self.unit,
                    status if K == 1 else Status.PART_OF_SET,
                    self.nodes if k == 0 else 0,
                    self.watch.clock.elapsed if k == 0 else 0.0,
                )
            )
        assert len(components) == K
        return Joint(tuple(components), upper * self.unit, status, note, self.root)


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


def _add_parts(
    sets: set[tuple[int, ...]], supports: Sequence[IntArray], A: Array, threshold: float
) -> bool:
    """Add supports and their parts, but for those proved below the threshold; False if too many."""
    pending = [tuple(sorted(int(j) for j in support)) for support in supports]
    seen = set(pending)
    while pending:
        members = pending.pop()
        at = list(members)
        if proves_below(A[np.ix_(at, at)], threshold):
            continue
        sets.add(members)
        if len(sets) > LARGEST_LIST:
            return False
        for j in members:
            part = tuple(i for i in members if i != j)
            if part and part not in seen:
                seen.add(part)
                pending.append(part)
    return True
