"""A stage on data whose covariance is never formed in full, as the ladder sees it.

Features are ruled out by what costs least first: by their variances alone, by norms of rows that
are bounded by variances, by the largest entries of rows, found tile by tile.  The covariance of the
few that are left is formed.  See ``docs/theory/wide-data.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.bounds.border import stays, stays_by_variance
from orthospca.bounds.classical import norm_bounds
from orthospca.bounds.screening import best_shift
from orthospca.data.covariance import DataCovariance
from orthospca.data.profiles import RowProfiles, potential
from orthospca.data.tiles import joined
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import DEFAULT, Tuning
from orthospca.numerics.rounding import (
    TINY,
    UNIT,
    add_up,
    dot_radius,
    mul_up,
    raised,
    relative_error,
    sqrt_up,
)
from orthospca.numerics.sums import best_sums
from orthospca.search.views import Sieve, sieve_within
from orthospca.supports.best import Candidate
from orthospca.supports.heuristic_path import HeuristicPath
from orthospca.wide.traces import TraceWalk

#: Entries of columns that are brought into this process together, at most.
LARGEST_READ = 2**21


class DataView:
    """One stage: the data with the components before it projected out.

    Parameters
    ----------
    covariance : DataCovariance
    sparsity : int
    previous : array of shape (n, k - 1)
    profiles : RowProfiles
        What is known of the rows of the covariance; it serves all stages.
    members : boolean array, optional
        The features that a component may use; all of them, if not given.
    tuning : Tuning
    proof : bool
        Whether features are to be ruled out by variances and the border rule alone.
    """

    def __init__(
        self,
        covariance: DataCovariance,
        sparsity: int,
        previous: Array,
        profiles: RowProfiles,
        members: BoolArray | None = None,
        tuning: Tuning = DEFAULT,
        proof: bool = False,
    ) -> None:
        self.proof = proof
        self.tuning = tuning.wide
        self._all_tuning = tuning
        self.covariance = covariance
        self.n_features = covariance.n_features
        self.sparsity = sparsity
        self.previous = previous
        self.profiles = profiles
        self.members = np.ones(self.n_features, dtype=bool) if members is None else members
        self.touched = np.flatnonzero((previous != 0).any(axis=1))
        self.is_touched = np.zeros(self.n_features, dtype=bool)
        self.is_touched[self.touched] = True
        used = covariance.factor(self.touched)
        self.images = used @ previous[self.touched]
        # Only the columns that components use change when these are projected out.  With any
        # matrix in place of the images the form on feasible vectors would be the same: the rounding
        # of the difference is all that counts.
        self.touched_columns = used - self.images @ previous[self.touched].T
        largest_root = sqrt_up(float(covariance.diagonal.max()))
        sizes = largest_root + float(np.sqrt(np.square(self.images).sum(axis=0)).sum())
        terms = previous.shape[1] + covariance.n_samples
        error = dot_radius(terms, sizes) if len(self.touched) else 0.0
        self.projection_radius = error / largest_root if largest_root else 0.0
        self.diagonal = covariance.diagonal.copy()
        columns = self.touched_columns
        self.diagonal[self.touched] = np.einsum("ij,ij->j", columns, columns)
        # A feature that no component may use is as good as one without variance.
        self.diagonal[~self.members] = 0.0
        self._roots = np.sqrt(self.diagonal) * (1 + 2 * covariance.relative_radius)
        self._roots[self.touched] += error
        self._roots[~self.members] = 0.0
        self._core: tuple[IntArray, Array] = (np.arange(0), np.zeros((0, 0)))
        self._found: list[Candidate | None] = [None] * (sparsity + 1)
        self.largest_matrix = 0

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

    def columns(self, indices: IntArray) -> Array:
        """Return columns of the data with the previous components projected out."""
        B = self.covariance.factor(indices)
        if len(self.touched):
            B = B - self.images @ self.previous[indices].T
        return B

    #: It is not a matrix.
    problem = None

    # Good vectors

    def find(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """Climb on the features that truncated power iterations on the data lead to."""
        problem, kept = self.restricted(self._pool(stop), self.sparsity)
        climb = HeuristicPath(problem)
        climb.run(stop)
        climb.refine(stop)
        return self._take(climb, kept)

    def refine(self, stop: Callable[[], bool]) -> list[Candidate | None]:
        """All that was found: power iterations cost more than what follows them."""
        return list(self._found)

    def follow(
        self, best: Candidate, size: int, stop: Callable[[], bool]
    ) -> list[Candidate | None]:
        """Find vectors for larger sparsities that a better one for a smaller sparsity leads to."""
        support = np.flatnonzero(best.vector)
        image = self.columns(support) @ best.vector[support]
        pool = np.union1d(self._strongest(image[:, None]), support)
        known = [np.flatnonzero(x.vector) for x in self._found if x is not None]
        pool = np.unique(np.concatenate([pool, *known]))
        problem, kept = self.restricted(pool[self.members[pool]], self.sparsity)
        climb = HeuristicPath(problem)
        for found in (*self._found, best):
            if found is not None:
                climb.offer(Candidate(found.value, found.vector[kept]))
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
        """Return candidates of a restricted stage, with the values that they have in the data."""
        vectors = [best.embedded(features, self.n_features).vector for best in found]
        values = self.covariance.variances(vectors)
        return [Candidate(value, x) for value, x in zip(values, vectors, strict=True)]

    def _pool(self, stop: Callable[[], bool]) -> IntArray:
        scores = np.where(self.members, potential(self._roots, self.sparsity), -math.inf)
        rows = np.argsort(-scores, kind="stable")[: self.tuning.starts]
        directions = self.columns(rows)
        used = [rows]
        seen: set[bytes] = set()
        for _ in range(self.tuning.iterations):
            if stop():
                break
            supports = np.unique(self._strongest_of(directions, stop), axis=0)
            # Most starts lead to the same few supports: each is followed once.
            supports = supports[[support.tobytes() not in seen for support in supports]]
            if len(supports) == 0:
                break
            seen.update(support.tobytes() for support in supports)
            used.append(supports.ravel())
            directions = self._leading(supports, stop)
        # The best single feature, whatever the others are.
        alone = np.where(self.members & ~self.is_touched, self.diagonal, -math.inf)
        pool = np.unique(np.concatenate([*used, self.touched, [np.argmax(alone)]]))
        return pool[self.members[pool]]

    def _strongest_of(self, samples: Array, stop: Callable[[], bool]) -> IntArray:
        """As :meth:`_strongest`, of as many vectors as there is time for, the first at least."""
        width = max(int(self.tuning.products_at_once // self.covariance.source.entries), 1)
        found = [self._strongest(samples[:, :width])]
        for start in range(width, samples.shape[1], width):
            if stop():
                break
            found.append(self._strongest(samples[:, start : start + width]))
        return np.vstack(found)

    def _strongest(self, samples: Array) -> IntArray:
        """For each vector the features whose columns have the largest products with it."""
        count = min(self.sparsity + len(self.touched), self.n_features)
        values, features = self.covariance.strongest(samples, count)
        # Columns that components use have changed: their products are computed anew.
        values = np.where(self.is_touched[features], -1.0, values)
        own = np.abs(samples.T @ self.touched_columns)
        touched = np.broadcast_to(self.touched, own.shape)
        return np.sort(joined([(values, features), (own, touched)], self.sparsity)[1], axis=1)

    def _leading(self, supports: IntArray, stop: Callable[[], bool]) -> Array:
        """Sample-space directions of the best vectors on supports, ``B x``; of the first at least.

        If there is no time for more of them, of those.
        """
        directions: list[Array] = []
        # Few reads of a few columns: on a cluster each one has to wait for its answer.
        width = min(self.tuning.columns_at_once, LARGEST_READ // self.covariance.n_samples)
        step = max(width // self.sparsity, 1)
        for start in range(0, len(supports), step):
            if directions and stop():
                break
            used, places = np.unique(supports[start : start + step], return_inverse=True)
            columns = self.columns(used)
            for place in places.reshape(-1, self.sparsity):
                B = columns[:, place]
                directions.append(B @ np.linalg.eigh(B.T @ B)[1][:, -1])
        return np.column_stack(directions)

    # Bounds that need no search

    def first_bound(self) -> float:
        """The largest variance of a feature that no component uses."""
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
        together they are at most the sum, if no component uses that member.
        """
        if len(self.touched):
            return math.inf
        count = int(np.count_nonzero(self.members))
        if count < size:
            return below
        last = float(np.partition(self.variances, self.n_features - size)[self.n_features - size])
        return self._with_room(add_up(max(below, 0.0), last))

    @property
    def largest_variance(self) -> float:
        """The largest of the form."""
        return float(self.variances.max())

    def passing(self, size: int, level: float, below: float) -> IntArray:
        """Those whose variances are larger than that of the smallest member can be."""
        last = float(np.partition(self.variances, self.n_features - size)[self.n_features - size])
        return np.flatnonzero(self.members & (self.variances > last))

    # What is left

    def restricted(self, features: IntArray, size: int) -> tuple[Subproblem, IntArray]:
        """Return the stage on some features and those that components use."""
        kept = np.union1d(features, self.touched)
        formed = self._form(kept, lambda: False)
        assert formed
        core, matrix = self._core
        at = np.searchsorted(core, kept)
        part = matrix if len(at) == len(core) else matrix[np.ix_(at, at)]
        return Subproblem(part, min(size, len(kept)), self.previous[kept]), kept

    def _form_with_touched(self, kept: IntArray, stop: Callable[[], bool]) -> bool:
        return self._form(np.union1d(kept, self.touched), stop)

    def _form(self, kept: IntArray, stop: Callable[[], bool]) -> bool:
        """Form the matrix of some features, if it is not there; False if that was stopped."""
        core, _ = self._core
        at = np.searchsorted(core, kept)
        if len(core) and bool((core[np.minimum(at, len(core) - 1)] == kept).all()):
            return True
        core = np.union1d(core, kept)
        if len(core) > max(self.tuning.few, 2 * len(kept)):
            core = kept
        matrix = self.covariance.formed(core, lambda done: stop())
        if matrix is None:
            return False
        self._core = core, matrix
        self.largest_matrix = max(self.largest_matrix, len(core))
        return True

    def sieve(self, size: int, level: float, below: float, stop: Callable[[], bool]) -> Sieve:
        """Find the features that a support above the level can contain."""
        left = self.members.copy()
        if level > below:
            left &= stays_by_variance(level, below, self.variances) | self.is_touched
        if np.count_nonzero(left) > self.tuning.few:
            closed = self._closed_by_traces(np.flatnonzero(left), size, level, stop)
            if closed is not None:
                return Sieve(np.arange(0), closed)
            left = self._sieve_by_rows(left, size, level, below, stop)
        kept = np.flatnonzero(left)
        sieve = None
        if len(kept) > self.tuning.largest_matrix:
            sieve = self._most_promising(kept, size)
            kept = sieve.kept
        elif len(kept) <= size:
            return Sieve(kept, level)
        if len(kept) > self.tuning.few and (stop() or not self._form_with_touched(kept, stop)):
            # There is no time left for a matrix of so many, and so nothing is known of them.
            return Sieve(self.touched, math.inf)
        if sieve is not None:
            return sieve
        problem, kept = self.restricted(kept, size)
        radius = self.covariance.relative_radius * float(self.covariance.diagonal[kept].max())
        places = sieve_within(
            problem, self.variances[kept], np.arange(len(kept)), size, level, below, radius, stop
        )
        return Sieve(kept[places], level)

    def _closed_by_traces(
        self, features: IntArray, size: int, level: float, stop: Callable[[], bool]
    ) -> float | None:
        """Try to close everything by traces; the bound, or None if that fails."""
        best = self._found[size]
        if best is None or self._rows_are_cheap or self._is_flat(features, size, level):
            return None
        walk = TraceWalk(self, features, size, best, level, self._all_tuning)
        last = size == self.sparsity
        found = walk.run(self.tuning.trace_budget if last else self.tuning.early_budget, stop)
        return found.upper if found.complete else None

    @property
    def _rows_are_cheap(self) -> bool:
        """Whether rows are looked at without trying first to do without."""
        products = float(self.n_features) ** 2 * self.covariance.n_samples
        return self.proof or products <= self.tuning.cheap_products

    def _is_flat(self, features: IntArray, size: int, level: float) -> bool:
        """Whether many features could fill a support by their variances: traces then prove little.

        So it is with correlations, whose variances are all alike.
        """
        heavy = np.count_nonzero(self.variances[features] * size >= level)
        return bool(heavy > self.tuning.most_heavy)

    def bound_before_rungs(
        self, best: Candidate, size: int, level: float, stop: Callable[[], bool]
    ) -> float:
        """Where rows are dear, a search by traces for the sparsity asked for comes first."""
        features = np.flatnonzero(self.members)
        if self._rows_are_cheap or self._is_flat(features, size, level):
            return math.inf
        walk = TraceWalk(self, features, size, best, level, self._all_tuning)
        found = walk.run(self.tuning.trace_budget, stop)
        return found.upper if found.complete else math.inf

    @property
    def row_radius(self) -> float:
        """Error of an entry of a row."""
        radius = 8 * self.covariance.relative_radius + 4 * self.projection_radius
        return radius * max(float(self.covariance.diagonal.max()), float(self.variances.max()))

    def row(self, feature: int) -> Array:
        """Return a row of the form."""
        column = self.columns(np.array([feature]))
        row = self.covariance.times(column)[:, 0]
        row[self.touched] = self.touched_columns.T @ column[:, 0]
        return row

    def _most_promising(self, kept: IntArray, size: int) -> Sieve:
        """Keep the features with the largest bounds; the others keep theirs."""
        scores = potential(self._roots, size)
        scores[self.touched] = math.inf
        order = kept[np.argsort(-scores[kept], kind="stable")]
        count = self.tuning.largest_matrix
        rest = float(np.max(scores[order[count:]], initial=-math.inf))
        # A support is bounded by the row that leads it, and that may be one that was kept: the
        # whole of what uses a feature that is left out is bounded by its best leading row.
        outside = max(rest, float(potential(self._roots, size).max()))
        return Sieve(np.sort(order[:count]), outside)

    def _sieve_by_rows(
        self, left: BoolArray, size: int, level: float, below: float, stop: Callable[[], bool]
    ) -> BoolArray:
        """Drop what norms and the border rule exclude, looking at rows in the order of their costs.

        The costs are sums of squares of rows (``docs/theory/screening.md``); of a row that has not
        been looked at yet, ``Q_kj² ≤ Q_kk Q_jj`` bounds them without a product.
        """
        profiles, shift = self.profiles, self._shift(size)
        costs = self._cheap_costs(left, size, shift)
        costs[self.touched] = self._touched_costs(size, shift)
        looked_at = profiles.known | self.is_touched
        rows = np.flatnonzero(profiles.known & left & ~self.is_touched)
        batch = self.tuning.first_batch
        while True:
            if len(rows):
                costs[rows] = np.minimum(costs[rows], self._costs(rows, size, shift))
                if level > below:
                    left[rows] &= self._stays(rows, size, level, below)
            costs[~left] = 0.0
            if not self.proof:
                left &= (self._uppers(costs, size, shift) > level) | self.is_touched
            open_rows = np.flatnonzero(left & ~looked_at)
            if len(open_rows) == 0 or np.count_nonzero(left) <= self.tuning.few:
                return left
            rows = open_rows[np.argsort(-costs[open_rows], kind="stable")[:batch]]
            if not profiles.ensure(rows, stop):
                return left
            looked_at[rows] = True
            batch *= 2

    def _stays(self, rows: IntArray, size: int, level: float, below: float) -> BoolArray:
        """Apply the border rule to rows of the covariance itself, by their largest entries."""
        kept = np.zeros(len(rows), dtype=bool)
        for start in range(0, len(rows), self.tuning.lists_at_once):
            part = rows[start : start + self.tuning.lists_at_once]
            values = self.profiles.values[part].astype(float)
            entries = values + self._row_slack(part)[:, None]
            sums = raised(_largest_squares(entries, size - 1), size + 4)
            found = stays(level, below, self.variances[part], sums)
            kept[start : start + self.tuning.lists_at_once] = found
        return kept

    def _shift(self, size: int) -> float:
        """Return the best μ of the Frobenius bound on the support of a good vector."""
        best = self._found[size]
        if best is None:
            return 0.0
        B = self.columns(np.flatnonzero(best.vector))
        return best_shift(B.T @ B)

    def _uppers(self, costs: Array, size: int, shift: float) -> Array:
        """Bound on the supports that contain each feature: ``μ + √(dearest support with it)``."""
        _, with_each = best_sums(costs, np.zeros(len(costs), dtype=bool), size)
        # The entries were computed with an error that the values on supports do not have.
        return norm_bounds(shift, with_each, size) + self.rounding

    def _cheap_costs(self, left: BoolArray, size: int, shift: float) -> Array:
        """``(Q_kk - μ)² + Q_kk · (size - 1 largest Q_jj)``, rounded up."""
        variances = np.where(left, self.variances, 0.0)
        first = len(variances) - (size - 1)
        largest = float(np.partition(variances, first)[first:].sum()) if size > 1 else 0.0
        costs = (self.diagonal - shift) ** 2 + variances * largest
        return costs * (1 + relative_error(8 * (self.covariance.n_samples + size)))

    def _costs(self, rows: IntArray, size: int, shift: float) -> Array:
        """Costs of rows that have been looked at and that no component touches."""
        costs = np.empty(len(rows))
        for start in range(0, len(rows), self.tuning.lists_at_once):
            part = rows[start : start + self.tuning.lists_at_once]
            slack = self._row_slack(part)
            entries = self._entries(part) + slack[:, None]
            costs[start : start + self.tuning.lists_at_once] = self._cost_of(
                part, entries, slack, size, shift
            )
        return costs

    def _row_slack(self, rows: IntArray) -> Array:
        """Error of an entry in the profile of each row."""
        error = self.profiles.relative_radius + self.covariance.relative_radius
        error += self.projection_radius
        largest_root = math.sqrt(float(self.covariance.diagonal.max()))
        return error * np.sqrt(self.diagonal[rows]) * largest_root

    @cached_property
    def _touched_products(self) -> Array:
        """``|Q'_ij|`` of all features with those that components use, shape (n, touched)."""
        if len(self.touched) == 0:
            return np.zeros((self.n_features, 0))
        products = self.covariance.times(self.touched_columns)
        products[self.touched] = self.touched_columns.T @ self.touched_columns
        products[~self.members] = 0.0
        return np.asarray(np.abs(products, out=products))

    def _touched_costs(self, size: int, shift: float) -> Array:
        """Costs of the features that components use: their rows are computed in full."""
        rows = self._touched_products.T.copy()
        rows[np.arange(len(self.touched)), self.touched] = 0.0
        slack = np.full(len(self.touched), self.row_radius)
        return self._cost_of(self.touched, rows + slack[:, None], slack, size, shift)

    def _cost_of(
        self, rows: IntArray, entries: Array, slack: Array, size: int, shift: float
    ) -> Array:
        own = (np.abs(self.diagonal[rows] - shift) + slack) ** 2
        costs = own + _largest_squares(entries, size - 1)
        return costs * (1 + relative_error(8 * (size + 8)))

    def _entries(self, rows: IntArray) -> Array:
        """Largest ``|Q'_ij|`` of rows that no component touches; what is unknown is bounded."""
        profiles = self.profiles
        values = profiles.values[rows].astype(float)
        if len(self.touched):
            # Entries with touched features have changed: they are replaced by their new values,
            # and what an unlisted entry could be takes their place in the list.
            changed = self.is_touched[profiles.indices[rows]]
            values = np.where(changed, profiles.tail[rows, None], values)
            values = np.hstack([values, self._touched_products[rows]])
        return values


def _largest_squares(entries: Array, count: int) -> Array:
    """Sum of the ``count`` largest squares of each row; entries are not kept."""
    if count == 0:
        return np.zeros(len(entries))
    width = entries.shape[1]
    if count < width:
        entries.partition(width - count, axis=1)
        entries = entries[:, width - count :]
    return np.asarray(np.einsum("ij,ij->i", entries, entries))
