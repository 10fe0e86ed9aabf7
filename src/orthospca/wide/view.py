"""A stage on data, of whose covariance parts are formed, as the ladder sees it.

Features are ruled out by what costs least first: by their variances alone, by a search that needs a
few rows, by the largest entries of the rows of what is left, which is formed.  See
``docs/theory/wide-data.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.bounds.border import largest_squares, potential, stays, stays_by_variance
from orthospca.bounds.classical import norm_bounds
from orthospca.bounds.screening import best_shift
from orthospca.data.covariance import DataCovariance
from orthospca.model.result import ClosedBy
from orthospca.model.stage import Subproblem, dual_of, folded_rows
from orthospca.model.tuning import DEFAULT, Tuning
from orthospca.numerics.rounding import TINY, UNIT, add_up, mul_up, raised
from orthospca.numerics.sums import sums_with_each
from orthospca.search.views import Closing, Sieve, sieve_within
from orthospca.supports.best import Candidate, best_on_support, upper_on_support
from orthospca.supports.heuristic_path import HeuristicPath
from orthospca.wide.part import FormedPart
from orthospca.wide.traces import TraceWalk

#: Entries of rows that are looked at together where there is no room for all of them.
ROW_ENTRIES = 2**24


@dataclass(eq=False)
class DataView:
    """One stage: the data with the components before it projected out.

    Attributes
    ----------
    covariance : DataCovariance
    sparsity : int
    previous : array of shape (n, k - 1)
    part : FormedPart
        What has been formed of the covariance; it serves all stages.
    members : boolean array
        The features that a component may use.
    tuning : Tuning
    proof : bool
        Whether features are to be ruled out by variances and the border rule alone.
    included : integer array
        Features of every support.
    """

    covariance: DataCovariance
    sparsity: int
    previous: Array
    part: FormedPart
    members: BoolArray
    tuning: Tuning = DEFAULT
    proof: bool = False
    included: IntArray = field(default_factory=lambda: np.arange(0))

    def __post_init__(self) -> None:
        covariance = self.covariance
        self.n_features = covariance.n_features
        if not self.members.all():
            # Whatever vectors have where no component may be, they are orthogonal to that.
            self.previous = self.previous * self.members[:, None]
        self.is_touched = (self.previous != 0).any(axis=1)
        self.touched = np.flatnonzero(self.is_touched)
        self._dual = np.zeros(self.previous.shape)
        self._dual[self.touched] = dual_of(self.previous[self.touched])
        # No rule for single features speaks of those touched, nor of those included.
        self.is_held = self.is_touched.copy()
        self.is_held[self.included] = True
        self.diagonal = covariance.diagonal.copy()
        self._roots = np.sqrt(self.diagonal) * (1 + 2 * covariance.relative_radius)
        if len(self.touched):
            # Only the variances of features that components use change with them.
            used, everything = self.previous[self.touched], np.arange(len(self.touched))
            changed, _ = folded_rows(self.part.matrix(self.touched), everything, used)
            own = np.maximum(changed.diagonal(), 0.0)
            self.diagonal[self.touched] = own
            self._roots[self.touched] = raised(np.sqrt(own + self.row_radius), 4)
        # A feature that no component may use is as good as one without variance.
        self.diagonal[~self.members] = 0.0
        self._roots[~self.members] = 0.0
        self.closes: Closing | None = None
        self._found: list[Candidate | None] = [None] * (self.sparsity + 1)
        self._climb: tuple[HeuristicPath, IntArray] | None = None
        self._sums: tuple[int, Array] = (-1, np.zeros((0, 0)))
        self._rows: tuple[int, tuple[Array, float]] = (-1, (np.zeros((0, 0)), 0.0))

    @cached_property
    def variances(self) -> Array:
        """Bounds on the diagonal of the form."""
        return raised(np.square(self._roots), 2)

    #: Without the ladder all features are left, too many.
    relaxes = False

    @property
    def rounding(self) -> float:
        """What the rounding of entries may take from the value of a support."""
        largest = float(self.covariance.diagonal.max())
        return mul_up(mul_up(self.sparsity, self.covariance.relative_radius), largest)

    @property
    def resolution(self) -> float:
        """A gap that floating point can close on one support, as of a matrix."""
        return 128 * self.sparsity * (self.sparsity + 8) * UNIT * self.largest_variance

    @cached_property
    def row_radius(self) -> float:
        """Error of an entry of a row of the form."""
        largest = float(self.covariance.diagonal.max())
        if len(self.touched) == 0:
            return mul_up(2 * self.covariance.relative_radius, largest)
        # Each side of (I - XXᵀ)Q(I - XXᵀ) adds up so many times an entry, at most.
        one, other = np.abs(self.previous[self.touched]), np.abs(self._dual[self.touched])
        sizes = max((one @ other.sum(axis=0)).max(), (other @ one.sum(axis=0)).max())
        spread = 1.0 + float(sizes)
        terms = 8 * (len(self.touched) + self.previous.shape[1] + 8) * UNIT
        radius = 2 * self.covariance.relative_radius + terms
        return mul_up(mul_up(radius, spread**2), largest)

    def filled(self, vector: Array) -> IntArray:
        """Return the support that a vector needs: what it uses, and what is included."""
        return np.union1d(np.flatnonzero(vector), self.included)

    def rows(self, features: IntArray) -> Array:
        """Return rows of the form, as columns."""
        return self._products(features[:, None], np.ones((len(features), 1)))

    # Good vectors

    def find(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """Climb on the features that truncated power iterations on the data lead to."""
        problem, kept = self.restricted(self.pool(stop), self.sparsity)
        self._climb = HeuristicPath(problem), kept
        self._climb[0].run(stop)
        return self._take(*self._climb)

    def started(self, support: IntArray) -> Candidate | None:
        """Return the best vector on a support that was offered, if there is one."""
        support = np.union1d(support, self.included)
        problem, kept = self.restricted(support, self.sparsity)
        found = best_on_support(problem, np.searchsorted(kept, support))
        return None if found is None else self.whole([found], kept)[0]

    def refine(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """Let neighbouring sparsities improve each other."""
        if self._climb is not None:
            self._climb[0].refine(stop)
            return self._take(*self._climb)
        return list(self._found)

    def follow(
        self, best: Candidate, size: int, stop: Callable[[], bool]
    ) -> list[Candidate | None]:
        """Find vectors for larger sparsities that a better one for a smaller sparsity leads to."""
        support = np.flatnonzero(best.vector)
        known = [np.flatnonzero(x.vector) for x in self._found if x is not None]
        strongest = self._strongest(support[None, :], best.vector[None, support])
        pool = np.unique(np.concatenate([strongest.ravel(), support, *known]))
        problem, kept = self.restricted(pool[self.members[pool]], self.sparsity)
        climb = HeuristicPath(problem)
        for found in (*self._found, best):
            climb.offer(None if found is None else Candidate(found.value, found.vector[kept]))
        climb.spread(size, size)
        return self._take(climb, kept)

    def _take(self, climb: HeuristicPath, kept: IntArray) -> list[Candidate | None]:
        """Remember what was found; with fewer features than places the last one serves them all."""
        distinct = {id(best): best for best in climb.best if best is not None}
        whole = dict(zip(distinct, self.whole(list(distinct.values()), kept), strict=True))
        found = [None if best is None else whole[id(best)] for best in climb.best]
        self._found = found + [found[-1]] * (self.sparsity + 1 - len(found))
        return list(self._found)

    def whole(self, found: Sequence[Candidate], features: IntArray) -> list[Candidate]:
        """Return candidates of a restricted stage, with values that they have in the data at least.

        Which these are takes long to tell where there are many samples: for a proof it is told of
        all of them, else when the stage ends, of its component.
        """
        vectors = [best.embedded(features, self.n_features).vector for best in found]
        values = [max(best.value - self.rounding, 0.0) for best in found]
        if self.proof:
            values = self.covariance.variances(vectors)
        return [Candidate(value, x) for value, x in zip(values, vectors, strict=True)]

    def pool(self, stop: Callable[[], bool]) -> IntArray:
        """Features that truncated power iterations lead to, from rows that promise much."""
        scores = np.where(self.members, potential(self._roots, self.sparsity), -math.inf)
        supports = np.argsort(-scores, kind="stable")[: self.tuning.wide.starts, None]
        used = [supports.ravel(), self.touched, self.included]
        seen: set[bytes] = set()
        for _ in range(self.tuning.wide.iterations):
            if stop():
                break
            supports = np.unique(self._strongest(supports, self._leading(supports)), axis=0)
            # Most starts lead to the same few supports: each is followed once.
            supports = supports[[support.tobytes() not in seen for support in supports]]
            if len(supports) == 0:
                break
            seen.update(support.tobytes() for support in supports)
            used.append(supports.ravel())
        # The best single feature, whatever the others are.
        alone = np.where(self.members & ~self.is_touched, self.diagonal, -math.inf)
        pool = np.unique(np.concatenate([*used, [np.argmax(alone)]]))
        return pool[self.members[pool]]

    def _leading(self, supports: IntArray) -> Array:
        """The best vector of the form on each support, whether or not it is feasible."""
        if supports.shape[1] == 1:
            return np.ones(supports.shape)
        problem, kept = self.restricted(np.unique(supports), self.sparsity)
        places = np.searchsorted(kept, supports)
        parts = problem.projected[places[:, :, None], places[:, None, :]]
        return np.asarray(np.linalg.eigh(parts)[1][:, :, -1])

    def _strongest(self, supports: IntArray, vectors: Array) -> IntArray:
        """For each vector the features where its product with the form is largest."""
        step = max(self.tuning.wide.columns_at_once // supports.shape[1], 1)
        first = self.n_features - min(self.sparsity, self.n_features)
        found = []
        for start in range(0, len(supports), step):
            part = slice(start, start + step)
            products = np.abs(self._products(supports[part], vectors[part]).T)
            products[:, ~self.members] = -1.0
            found.append(np.argpartition(products, first, axis=1)[:, first:])
        return np.sort(np.vstack(found), axis=1)

    def _products(self, supports: IntArray, vectors: Array) -> Array:
        """``(I - XYᵀ)Q(I - YXᵀ)x`` of vectors on supports, as columns; Y is the dual of X."""
        used, touched = np.union1d(supports, self.touched), self.touched
        x = np.zeros((len(used), len(supports)))
        x[np.searchsorted(used, supports), np.arange(len(supports))[:, None]] = vectors
        before, dual = self.previous[used], self._dual[used]
        products = self.part.times(used, x - dual @ (before.T @ x))
        before, dual = self.previous[touched], self._dual[touched]
        products[touched] -= before @ (dual.T @ products[touched])
        return products

    # Bounds that need no search

    def first_bound(self) -> float:
        """The largest variance of a feature that no component uses."""
        if len(self.included):
            problem, kept = self.restricted(self.included, self.sparsity)
            places = np.searchsorted(kept, self.included)
            return add_up(upper_on_support(problem, places), self.rounding)
        usable = self.members & ~self.is_touched
        return float(np.max(self.variances, where=usable, initial=-math.inf))

    def cheap_bound(self, size: int) -> float:
        """No eigenvalue of a part exceeds the sum of its variances."""
        # A checker does not ask how components have changed some of them.
        variances = self.covariance.diagonal if self.proof else self.variances
        largest = float(np.sort(variances)[-size:].sum())
        return self._with_room(raised(largest * (1 + 2 * self.covariance.relative_radius), size))

    def _with_room(self, upper: float) -> float:
        """A bound from variances that a checker, which adds them up anew, does not exceed."""
        if not self.proof:
            return upper
        return raised(upper, 4 * (self.covariance.n_samples + 16)) + 16 * TINY

    def bound_without_level(self, size: int, below: float) -> float:
        """Take the member of smallest variance out of a support.

        Its variance is at most the size-th largest of all, what is left is at most ``below``, and
        together they are at most the sum, if no component uses that member.  What is included is
        not taken out.
        """
        if len(self.touched):
            return math.inf
        count = int(np.count_nonzero(self.members))
        if count < size:
            return below
        return self._with_room(add_up(max(below, 0.0), self._last_variance(size)))

    def _last_variance(self, size: int) -> float:
        """The largest variance that the smallest of a support's members can have."""
        variances, place = self.variances, size - len(self.included)
        if len(self.included):
            variances = variances.copy()
            variances[self.included] = -math.inf
        return float(np.partition(variances, self.n_features - place)[self.n_features - place])

    @property
    def largest_variance(self) -> float:
        """The largest of the form."""
        return float(self.variances.max())

    def passing(self, size: int, level: float, below: float) -> IntArray:
        """Those whose variances are larger than that of the smallest member can be."""
        passes = self.members & (self.variances > self._last_variance(size))
        passes[self.included] = True
        return np.flatnonzero(passes)

    # What is left

    def restricted(self, features: IntArray, size: int) -> tuple[Subproblem, IntArray]:
        """Return the stage on some features and those that components use."""
        kept = np.union1d(features, self.touched)
        places = self.included
        if len(places):
            kept = np.union1d(kept, places)
            places = np.searchsorted(kept, places)
        matrix, size = self.part.matrix(kept), min(size, len(kept))
        problem = Subproblem(matrix, size, self.previous[kept], places)
        if len(self.touched) and len(self.part.missing(kept)) == 0:
            rows, radius = self._folded()
            problem.fold(rows[:, self.part.places(kept)], radius)
        return problem, kept

    def _folded(self) -> tuple[Array, float]:
        """Rows of touched features in the form, within the part that is formed; their rounding."""
        if self._rows[0] != self.part.version:
            folded = self.part.folded(self.touched, self.previous[self.touched])
            self._rows = self.part.version, folded
        return self._rows[1]

    def sieve(self, size: int, level: float, below: float, stop: Callable[[], bool]) -> Sieve:
        """Find the features that a support above the level can contain."""
        left = self.members.copy()
        if size == 1:
            if not self.proof:
                left &= (self.variances > level) | self.is_held
            return Sieve(np.flatnonzero(left), level)
        if level > below:
            left &= stays_by_variance(level, below, self.variances) | self.is_held
        kept = np.flatnonzero(left)
        if len(kept) <= size:
            return Sieve(kept, level)
        outside = level
        if len(kept) > self.tuning.wide.few and not self.proof:
            kept = self._sieve_by_norms(kept, self._cheap_sums(kept, size), size, level)
        if len(kept) > self.tuning.wide.few:
            closed = self._closed_by_traces(kept, size, level, stop)
            if closed is not None:
                return Sieve(np.arange(0), closed, ClosedBy.TRACES)
            if len(kept) > self.part.largest and level > below:
                kept = self._sieve_by_rows(kept, size, level, below, stop)
            if len(kept) > self.part.largest:
                kept, outside = self._most_promising(kept, size)
            if stop() or not self.part.grow(np.union1d(kept, self.touched), stop) or stop():
                # There is no time left for a matrix of so many, and so nothing is known of them.
                return Sieve(np.flatnonzero(self.is_held), math.inf)
            sums = self._sums_of(kept, size)
            if level > below:
                stay = stays(level, below, self.variances[kept], sums) | self.is_held[kept]
                kept, sums = kept[stay], sums[stay]
            if not self.proof:
                kept = self._sieve_by_norms(kept, sums, size, level)
        if outside > level or stop():
            return Sieve(kept, outside)
        problem, kept = self.restricted(kept, size)
        places = sieve_within(
            problem,
            self.variances[kept],
            np.arange(len(kept)),
            size,
            level,
            below,
            self._entry_radius,
            stop,
        )
        return Sieve(kept[places], level)

    def before_rungs(
        self, size: int, level: float, largest: int
    ) -> tuple[Subproblem, IntArray] | None:
        """All features, if they are few and their covariances are there."""
        kept = np.flatnonzero(self.members)
        if self.proof or len(kept) > min(largest, self.part.largest):
            return None
        return None if len(self.part.missing(kept)) else self.restricted(kept, size)

    @property
    def _entry_radius(self) -> float:
        """Error of an entry of the covariance."""
        return self.covariance.relative_radius * float(self.covariance.diagonal.max())

    def _sums_of(self, kept: IntArray, size: int) -> Array:
        """Sums of the largest squares of rows of the form, within the part that is formed."""
        version, sums = self._sums
        if version != self.part.version:
            rows, rounding = self._folded()
            radius = self.row_radius + rounding
            sums = self.part.sums(self.sparsity - 1, self.touched, rows, radius)
            self._sums = self.part.version, sums
        return sums[self.part.places(kept), size - 2]

    def _cheap_sums(self, kept: IntArray, size: int) -> Array:
        """What the sums are at most: ``Q_kk · (size - 1 largest Q_jj)``, rounded up."""
        variances = self.variances[kept]
        first = len(kept) - (size - 1)
        return raised(variances * float(np.partition(variances, first - 1)[first:].sum()), size + 4)

    def _sieve_by_norms(self, kept: IntArray, sums: Array, size: int, level: float) -> IntArray:
        """Drop what the shifted Frobenius norm of no support with it lifts above the level."""
        best = self._found[size]
        shift = 0.0
        if best is not None:
            problem, among = self.restricted(np.flatnonzero(best.vector), size)
            at = np.searchsorted(among, np.flatnonzero(best.vector))
            shift = best_shift(problem.projected[np.ix_(at, at)])
        off = np.maximum(np.abs(self.variances[kept] - shift), np.abs(self.diagonal[kept] - shift))
        costs = raised(np.square(off + self.row_radius) + sums, size + 16)
        uppers = norm_bounds(shift, sums_with_each(costs, size), size) + self.rounding
        return kept[(uppers > level) | self.is_held[kept]]

    def _sieve_by_rows(
        self, kept: IntArray, size: int, level: float, below: float, stop: Callable[[], bool]
    ) -> IntArray:
        """Apply the border rule to rows of the form that there is no room for, some at a time."""
        stay = np.ones(len(kept), dtype=bool)
        step = max(ROW_ENTRIES // len(kept), 64)
        used = np.searchsorted(kept, self.touched)
        before, dual = self.previous[self.touched], self._dual[self.touched]
        for start in range(0, len(kept), step):
            if stop():
                break
            rows = kept[start : start + step]
            tile = self.covariance.cross(rows, kept)
            # A checker looks at what is left of the form, which is another where X is not zero.
            tile[:, used] -= (tile[:, used] @ dual) @ before.T
            places = np.arange(start, start + len(rows))
            sums = largest_squares(tile, size - 1, self.row_radius, places)[:, -1]
            stay[start : start + step] = stays(level, below, self.variances[rows], sums)
        return kept[stay | self.is_held[kept]]

    def _closed_by_traces(
        self, features: IntArray, size: int, level: float, stop: Callable[[], bool]
    ) -> float | None:
        """Try to close everything by traces; the bound, or None if that fails."""
        best = self._found[size]
        if best is None or self._is_cheap(len(features)) or self._is_flat(features, size, level):
            return None
        walk = TraceWalk(self, features, size, best, level, self.tuning)
        tuning = self.tuning.wide
        budget = tuning.trace_budget if size == self.sparsity else tuning.early_budget
        return walk.upper if walk.run(budget, stop) else None

    def _is_cheap(self, count: int) -> bool:
        """Whether the matrix of so many features is formed without trying first to do without."""
        return self.proof or self.part.price(count) <= self.tuning.wide.cheap_products

    def _is_flat(self, features: IntArray, size: int, level: float) -> bool:
        """Whether many features could fill a support by their variances: traces then prove little.

        So it is with correlations, whose variances are all alike.
        """
        heavy = np.count_nonzero(self.variances[features] * size >= level)
        return bool(heavy > self.tuning.wide.most_heavy)

    def _most_promising(self, kept: IntArray, size: int) -> tuple[IntArray, float]:
        """Keep the features with the largest bounds; a bound on supports that use another one."""
        scores = potential(self._roots, size)
        # A support is bounded by the row that leads it, and that may be one that was kept: the
        # whole of what uses a feature that is left out is bounded by its best leading row.
        # A certificate has no place for that bound, and so nothing is known of what is left out.
        outside = math.inf if self.proof else float(scores.max())
        scores[self.is_held] = math.inf
        order = kept[np.argsort(-scores[kept], kind="stable")]
        return np.sort(order[: self.part.largest]), outside
