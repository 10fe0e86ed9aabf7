"""What can be ruled out of a stage on many features without a search.

The shifted Frobenius bound of ``screening``, with row sums from the diagonal where that is enough
and from row profiles elsewhere, and the rows that can lead a support.  See
``docs/theory/wide-data.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.bounds.screening import best_shift
from orthospca.data.covariance import DataCovariance
from orthospca.data.profiles import RowProfiles, potential
from orthospca.data.tiles import joined
from orthospca.model.limits import Watch
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.numerics import rigor
from orthospca.numerics.sums import best_sums
from orthospca.search.methods import StageSolver
from orthospca.search.outcome import Outcome
from orthospca.supports.best import Candidate
from orthospca.supports.heuristics import find_incumbent
from orthospca.wide.leading import led_features

#: Features that may be left after a reduction; with more, the most promising of them are searched.
LARGEST_REDUCED = 6000
#: Features with the largest variances from which the first supports are grown.
STARTS = 48
#: Truncated power iterations from them.
ITERATIONS = 6
#: Features of which a matrix is formed without a closer look at their rows.
FEW = 400
#: With more features left than this, the rows that can lead a support are looked at.
MANY = 1000
#: Columns that are brought into this process together.
COLUMNS_AT_ONCE = 512
#: Rows looked at in the first round of a reduction; each further round takes twice as many.
FIRST_BATCH = 1024


@dataclass(frozen=True, eq=False)
class Reduction:
    """Features that can matter, and a proved bound on every support that uses another one."""

    kept: IntArray
    removed_upper: float


class LargeStage:
    """One stage: the data with the previous components projected out."""

    def __init__(
        self,
        covariance: DataCovariance,
        sparsity: int,
        previous: Array,
        members: BoolArray | None = None,
    ) -> None:
        self.covariance = covariance
        self.outside = np.arange(0) if members is None else np.flatnonzero(~members)
        self.sparsity = sparsity
        self.previous = previous
        self.touched = np.flatnonzero(np.abs(previous).max(axis=1, initial=0.0) > 0)
        used = covariance.columns(self.touched)
        self.images = used @ previous[self.touched]
        # Only the columns that components use change when these are projected out.
        self.touched_columns = used - self.images @ previous[self.touched].T
        # Rounding of these columns, relative to the largest column: inner products with unit
        # vectors whose 1-norms are at most the roots of the numbers of their entries.
        sizes = previous[self.touched].shape
        self.projection_radius = 2 * (sum(sizes) + 8) * math.sqrt(math.prod(sizes)) * rigor.UNIT
        self.diagonal = covariance.diagonal.copy()
        columns = self.touched_columns
        self.diagonal[self.touched] = np.einsum("ij,ij->j", columns, columns)
        # A feature that no component may use is as good as one without variance.
        self.diagonal[self.outside] = 0.0
        self.potential = potential(self.diagonal, sparsity)

    def columns(self, indices: IntArray) -> Array:
        """Return columns of the data with the previous components projected out."""
        B = self.covariance.columns(indices)
        if len(self.touched):
            B = B - self.images @ self.previous[indices].T
        return B

    def times(self, samples: Array) -> Array:
        """``Bᵀ samples`` for the projected data, shape (n, k)."""
        result = self.covariance.times(samples)
        if len(self.touched):
            result[self.touched] = self.touched_columns.T @ samples
        result[self.outside] = 0.0
        return result

    def incumbent(self) -> Candidate | None:
        """Truncated power iterations on the data, then the usual heuristics on what they used."""
        rows = np.argsort(-self.potential, kind="stable")[:STARTS]
        directions = self.columns(rows)
        used = [rows]
        seen: set[bytes] = set()
        for _ in range(ITERATIONS):
            supports = np.unique(self._strongest(directions), axis=0)
            # Most starts lead to the same few supports: each is followed once.
            supports = supports[[support.tobytes() not in seen for support in supports]]
            if len(supports) == 0:
                break
            seen.update(support.tobytes() for support in supports)
            used.append(supports.ravel())
            directions = self._leading(supports)
        kept = np.setdiff1d(np.concatenate([*used, self.touched]), self.outside)
        found = find_incumbent(self._matrix_problem(kept))
        return None if found is None else self._embed(found, kept)

    def _strongest(self, samples: Array) -> IntArray:
        """For each vector the features whose columns have the largest products with it."""
        count = min(self.sparsity + len(self.touched), self.covariance.n_features)
        values, features = self.covariance.strongest(samples, count)
        # Columns that components use have changed: their products are computed anew.
        values = np.where(np.isin(features, self.touched), -1.0, values)
        own = np.abs(samples.T @ self.touched_columns)
        touched = np.broadcast_to(self.touched, own.shape)
        return np.sort(joined([(values, features), (own, touched)], self.sparsity)[1], axis=1)

    def shift(self, incumbent: Candidate | None) -> float:
        """Return the best μ of the Frobenius bound on the incumbent's support."""
        if incumbent is None:
            return 0.0
        B = self.columns(np.flatnonzero(incumbent.vector))
        return best_shift(B.T @ B)

    def _leading(self, supports: IntArray) -> Array:
        """Sample-space directions of the best vectors on supports: ``B x``."""
        directions = []
        # Few reads of a few columns: on a cluster each one has to wait for its answer.
        step = max(COLUMNS_AT_ONCE // self.sparsity, 1)
        for start in range(0, len(supports), step):
            used, places = np.unique(supports[start : start + step], return_inverse=True)
            columns = self.columns(used)
            for place in places.reshape(-1, self.sparsity):
                B = columns[:, place]
                directions.append(B @ np.linalg.eigh(B.T @ B)[1][:, -1])
        return np.column_stack(directions)

    def reduce(
        self, profiles: RowProfiles, cutoff: float, shift: float, stop: Callable[[], bool]
    ) -> Reduction:
        """Drop the features that no support of norm above the cutoff can contain.

        The costs are those of ``screening.fix_by_frobenius``; of a row that has not been looked at
        yet, ``Q_kj² ≤ Q_kk Q_jj`` bounds them without a product.
        """
        costs = self._cheap_costs(shift)
        costs[self.touched] = self._touched_costs(shift)
        looked_at = profiles.known.copy()
        looked_at[self.touched] = True
        known = np.flatnonzero(profiles.known)
        costs[known] = np.minimum(costs[known], self._costs(profiles, known, shift))
        batch = FIRST_BATCH
        while True:
            uppers = self._uppers(costs, shift)
            open_rows = np.flatnonzero((uppers > cutoff) & ~looked_at)
            if len(open_rows) == 0 or np.count_nonzero(uppers > cutoff) <= FEW:
                break
            rows = open_rows[np.argsort(-costs[open_rows], kind="stable")[:batch]]
            rows = np.setdiff1d(rows, self.touched, assume_unique=True)
            if not profiles.ensure(rows, stop):
                break
            looked_at[rows] = True
            costs[rows] = np.minimum(costs[rows], self._costs(profiles, rows, shift))
            batch *= 2
        keep = uppers > cutoff
        keep[self.touched] = True
        kept, removed = np.flatnonzero(keep), float(np.max(uppers, where=~keep, initial=-math.inf))
        if len(kept) > MANY:
            led = led_features(self, profiles, keep, cutoff, stop)
            if led is not None:
                # What is led by no row, or out of reach of the one that leads, is below the cutoff.
                kept, removed = led, max(removed, cutoff)
        if len(kept) > LARGEST_REDUCED:
            return self.most_promising(uppers)
        return Reduction(kept, removed)

    def most_promising(self, uppers: Array | None = None) -> Reduction:
        """Keep the features with the largest bounds; the others keep theirs in the certificate."""
        count = LARGEST_REDUCED
        score = (self._uppers(self._cheap_costs(0.0), 0.0) if uppers is None else uppers).copy()
        bound = score.copy()
        score[self.touched] = math.inf
        order = np.argsort(-score, kind="stable")
        order = order[score[order] > -math.inf]
        rest = order[count:]
        return Reduction(np.sort(order[:count]), float(np.max(bound[rest], initial=-math.inf)))

    def _uppers(self, costs: Array, shift: float) -> Array:
        """Bound on the supports that contain each feature: ``μ + √(dearest support with it)``."""
        p = self.sparsity
        if len(self.outside):
            costs = costs.copy()
            costs[self.outside] = 0.0
        _, with_each = best_sums(costs, np.zeros(len(costs), dtype=bool), p)
        inflation = 1 + 8 * (p + 8) * rigor.UNIT
        uppers = shift + np.sqrt(with_each) * inflation + 8 * rigor.UNIT * abs(shift)
        uppers[self.outside] = -math.inf
        return uppers

    def _cheap_costs(self, shift: float) -> Array:
        """``(Q_kk - μ)² + Q_kk · (p - 1 largest Q_jj)``, rounded up."""
        largest = float(np.sort(self.diagonal)[::-1][: self.sparsity - 1].sum())
        costs = (self.diagonal - shift) ** 2 + self.diagonal * largest
        return costs * (1 + 16 * (self.covariance.n_samples + self.sparsity) * rigor.UNIT)

    def _costs(self, profiles: RowProfiles, rows: IntArray, shift: float) -> Array:
        """Costs of rows that have been looked at and that no component touches."""
        costs = np.empty(len(rows))
        for start in range(0, len(rows), 4096):
            part = rows[start : start + 4096]
            slack = self.row_slack(profiles, part)
            entries = self.entries(profiles, part) + slack[:, None]
            costs[start : start + 4096] = self._cost_of(part, entries, slack, shift)
        return costs

    def row_slack(self, profiles: RowProfiles, rows: IntArray) -> Array:
        """Error of an entry in the profile of each row."""
        error = profiles.relative_radius + self.covariance.relative_radius + self.projection_radius
        largest_root = math.sqrt(float(self.covariance.diagonal.max()))
        return error * np.sqrt(self.diagonal[rows]) * largest_root

    @property
    def full_row_slack(self) -> float:
        """Error of an entry of a row that is computed in full."""
        radius = 8 * self.covariance.relative_radius + 4 * self.projection_radius
        return radius * float(self.covariance.diagonal.max())

    @cached_property
    def touched_products(self) -> Array:
        """``|Q'_ij|`` of all features with those that components use, shape (n, touched)."""
        if len(self.touched) == 0:
            return np.zeros((self.covariance.n_features, 0))
        return np.abs(self.times(self.touched_columns))

    def _touched_costs(self, shift: float) -> Array:
        """Costs of the features that components use: their rows are computed in full."""
        rows = self.touched_products.T.copy()
        rows[np.arange(len(self.touched)), self.touched] = 0.0
        slack = np.full(len(self.touched), self.full_row_slack)
        return self._cost_of(self.touched, rows + slack[:, None], slack, shift)

    def _cost_of(self, rows: IntArray, entries: Array, slack: Array, shift: float) -> Array:
        count = self.sparsity - 1
        own = (np.abs(self.diagonal[rows] - shift) + slack) ** 2
        if count == 0:
            return own
        entries.partition(entries.shape[1] - count, axis=1)
        top = entries[:, entries.shape[1] - count :]
        return (own + np.einsum("ij,ij->i", top, top)) * (1 + 16 * (count + 8) * rigor.UNIT)

    def entries(self, profiles: RowProfiles, rows: IntArray) -> Array:
        """Largest ``|Q'_ij|`` of rows that no component touches; what is unknown is bounded."""
        values = profiles.values[rows].astype(float)
        if len(self.touched):
            # Entries with touched features have changed: they are replaced by their new values,
            # and what an unlisted entry could be takes their place in the list.
            changed = np.isin(profiles.indices[rows], self.touched)
            values = np.where(changed, profiles.tail[rows, None], values)
            values = np.hstack([values, self.touched_products[rows]])
        return values

    def _matrix_problem(self, kept: IntArray) -> Subproblem:
        size = min(self.sparsity, len(kept))
        return Subproblem(self.covariance.submatrix(kept), size, self.previous[kept])

    def _embed(self, candidate: Candidate, kept: IntArray) -> Candidate:
        vector = np.zeros(self.covariance.n_features)
        vector[kept] = candidate.vector
        vector.flags.writeable = False
        return Candidate(candidate.value, vector)

    def solve(
        self,
        reduction: Reduction,
        incumbent: Candidate | None,
        tolerance: Tolerance,
        watch: Watch,
        solver: StageSolver,
        n_jobs: int | None,
    ) -> Outcome:
        """Solve the stage on the kept features."""
        used = np.arange(0) if incumbent is None else np.flatnonzero(incumbent.vector)
        kept = np.union1d(reduction.kept, used)
        known = None
        if incumbent is not None:
            known = Candidate(incumbent.value, incumbent.vector[kept])
        outcome = solver(self._matrix_problem(kept), tolerance, watch, n_jobs, known)
        best = None if outcome.best is None else self._embed(outcome.best, kept)
        return Outcome(best, outcome.upper, outcome.status, outcome.nodes)
