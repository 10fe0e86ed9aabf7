"""Sets of components of data whose covariance is not formed.

M lives on the features that good sets use; its bound needs the largest value of ``Q - M`` on p
features.  On some features, S, that is a stage of a small matrix.  Every other feature is priced by
the border rule, sparsity by sparsity: its row is that of Q, since M is zero there.  See
``docs/theory/joint.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.border import largest_squares, potential
from orthospca.joint.root import RootBound, bound_of
from orthospca.joint.solving import Joint, JointSolve, PartOfTime
from orthospca.model.demands import NO_DEMANDS, Demands
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.numerics.rounding import add_up, mul_up, raised
from orthospca.search.outcome import Outcome, Request
from orthospca.search.sequence import Found, run_stages
from orthospca.wide.stage import WideProblem, WideStages
from orthospca.wide.view import ROW_ENTRIES, DataView

#: How often features are added whose price is too high, and how many there may be in the end.
ROUNDS, MOST = 4, 1200


@dataclass(frozen=True, eq=False)
class Others:
    """What the border rule asks of features.

    Attributes
    ----------
    variances : array
        Bounds on their diagonal entries.
    sums : array of shape (count, p - 1)
        Bounds on the sums of the 1, 2, … largest squares of their rows.
    """

    variances: Array
    sums: Array

    def prices(self, uppers: Sequence[float]) -> Array:
        """Return, for each, a bound on the form on supports that have it, and other features.

        Parameters
        ----------
        uppers : sequence of float
            Bounds for 1, 2, …, p of the features that are not among these.
        """
        prices = self.variances
        for s, sums in enumerate(self.sums.T[: len(uppers) - 1]):
            # The larger eigenvalue of a matrix of order two, with the others as one.
            below = max(uppers[s], float(prices.max(initial=-math.inf)))
            root = np.sqrt(np.square(0.5 * (below - self.variances)) + sums)
            sizes = abs(below) + np.abs(self.variances) + root
            prices = raised(0.5 * (below + self.variances) + root, 16, sizes)
        return prices


def solve_wide_jointly(
    data: WideProblem,
    limits: Sequence[int],
    settings: Settings,
    watch: Watch,
    demands: Demands = NO_DEMANDS,
) -> Joint:
    """Find components of data with the largest total variance.

    Parameters
    ----------
    data : WideProblem
    limits : sequence of int
        The sparsity of each component.
    settings : Settings
    watch : Watch
    demands : Demands
        Features in or out, and whether components are disjoint; nothing else.
    """
    watch.begin_stage(0, 1)
    share = settings.tuning.joint.stagewise_share
    part = PartOfTime(watch, share * watch.seconds_left)
    stages = WideStages(data, settings, part)
    found = run_stages(stages, limits, settings.tolerance, part, demands=demands)
    n, nothing = data.covariance.n_features, np.zeros((data.covariance.n_features, 0))
    view = data.view(Request(max(limits), nothing))
    vectors = [component.vector for component in found.components]
    kept = _promising(view, vectors, settings.tuning.joint.relaxed.first_features, demands)
    places = np.full(n, -1)
    places[kept] = np.arange(len(kept))
    within = replace(
        demands,
        include=tuple(tuple(places[list(f)].tolist()) for f in demands.include),
        exclude=tuple(
            tuple(p for p in places[list(f)].tolist() if p >= 0) for f in demands.exclude
        ),
        start=(),
    )
    inside = _Inside(view, kept, tuple(limits), settings, watch, within)
    return inside.solve(found)


def _promising(view: DataView, vectors: Sequence[Array], most: int, demands: Demands) -> IntArray:
    """Features that components use, that go with them, and of large variance."""
    lists = [np.argsort(-potential(np.sqrt(view.variances), view.sparsity), kind="stable")]
    wanted = [np.array(features, dtype=int) for features in demands.include]
    for x in vectors:
        used = np.flatnonzero(x)
        products = np.abs(view.part.times(used, x[used, None])[:, 0])
        lists.append(np.argsort(-products, kind="stable"))
        wanted.append(used)
    kept = np.unique(np.concatenate([np.arange(0), *wanted]))
    for turn in range(min(most, view.n_features)):
        if len(kept) >= most:
            break
        kept = np.union1d(kept, [ranked[turn] for ranked in lists])
    return kept


class _Inside(JointSolve):
    """The problem on some features, and what is proved of the others."""

    def __init__(
        self,
        view: DataView,
        kept: IntArray,
        limits: tuple[int, ...],
        settings: Settings,
        watch: Watch,
        demands: Demands,
    ) -> None:
        super().__init__(view.part.matrix(kept), limits, settings, watch, demands)
        self._view, self._kept = view, kept
        # M has to do for all features: none is dropped on the way.
        relaxed = replace(self.tuning.relaxed, fix_within=-1.0)
        self.tuning = replace(self.tuning, relaxed=relaxed)
        #: What rounding of entries may hide.
        largest = float(view.covariance.diagonal.max())
        self._hidden = mul_up(mul_up(sum(limits), view.covariance.relative_radius), largest)
        self.tolerance = settings.tolerance.at_resolution(
            self.tolerance.resolution + 4 * self._hidden
        )

    def solve(self, found: Found) -> Joint:
        """Find a good set on the features, and bound all sets."""
        stagewise = [component.vector[self._kept] for component in found.components]
        self.search.begin(stagewise)
        self.upper = self.bound_of_stages(found)
        self.report()
        if not self.done:
            self.search.improve_first(stagewise)
            self.report()
            relaxation, part = self.relaxed_root(np.arange(len(self._kept)))
            self.search.near(relaxation.supports(part))
            self.report()
            self._price(part.M)
            self.note = "features outside good sets are bounded together, without branching"
        return self.result(Status.FEATURE_LIMIT)

    def _price(self, M: Array) -> None:
        """The bound of M, with features added as long as their price is too high."""
        kept, watch = self._kept, QuietWatch(self.watch)
        settings = replace(self.settings, rungs=True)
        for _ in range(ROUNDS):
            matrix = self._view.part.matrix(kept)
            larger = np.zeros_like(matrix)
            at = np.searchsorted(kept, self._kept)
            larger[np.ix_(at, at)] = M
            root = bound_of(matrix, larger, self.limits, settings, watch)
            if root is None or self.watch.out_of_time():
                return
            others = np.setdiff1d(np.arange(self._view.n_features), kept)
            upper, prices = root.trace, np.full(len(others), -math.inf)
            for size, outcome in root.outcomes.items():
                uppers = _uppers(root, outcome, size)
                found = self._prices(others, kept, uppers)
                prices = np.maximum(prices, found - uppers[-1])
                highest = max(uppers[-1], float(found.max(initial=-math.inf)))
                upper = add_up(upper, mul_up(float(self.limits.count(size)), highest))
            self.upper = min(self.upper, add_up(upper, self._hidden))
            self.report()
            dear = others[np.argsort(-prices, kind="stable")]
            dear = dear[: min(np.count_nonzero(prices > 0), MOST - len(kept))]
            if len(dear) == 0 or self.done:
                return
            kept = np.union1d(kept, dear)

    def _prices(self, others: IntArray, kept: IntArray, uppers: Sequence[float]) -> Array:
        """Prices of all other features: rows are looked at where variances do not do."""
        view, count = self._view, len(uppers) - 1
        variances = view.variances
        largest = np.sort(variances)[::-1][:count]
        sums = raised(np.outer(variances[others], np.cumsum(largest)), count + 4)
        prices = Others(variances[others], sums).prices(uppers)
        dear = np.flatnonzero(prices > uppers[-1])
        step = max(ROW_ENTRIES // view.n_features, 1)
        for start in range(0, len(dear), step):
            if self.watch.out_of_time():
                break
            at = dear[start : start + step]
            rows = view.rows(others[at]).T
            sums[at] = np.minimum(
                sums[at], largest_squares(rows, count, view.row_radius, others[at])
            )
        return Others(variances[others], sums).prices(uppers)

    def told(self, vectors: Sequence[Array]) -> tuple[list[Array], list[float]]:
        """The components, on all features, and their variances in the data."""
        whole = []
        for x in vectors:
            vector = np.zeros(self._view.n_features)
            vector[self._kept] = x
            whole.append(vector)
        return whole, self._view.covariance.variances(whole)


def _uppers(root: RootBound, outcome: Outcome, size: int) -> list[float]:
    """Bounds for the sparsities 1, 2, … up to one, on the features of a matrix."""
    known = {rung.size: rung.upper for rung in outcome.rungs}
    uppers = [known.get(s, math.inf) for s in range(1, size)] + [outcome.upper]
    uppers[0] = min(uppers[0], float(root.matrix.diagonal().max()))
    # With fewer features there is no more.
    return np.minimum.accumulate(uppers[::-1])[::-1].tolist()
