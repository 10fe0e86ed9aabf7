"""The searches of an audit: one for each size, one for each component given those before it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from orthospca._methods import Objective
from orthospca._typing import Array, IntArray
from orthospca.choosing._running import Share, heartbeat
from orthospca.choosing.selection import Counter
from orthospca.data.covariance import DataCovariance
from orthospca.facade import solve_with
from orthospca.joint.bound import spectral_bound
from orthospca.model.demands import NOT_ORTHOGONAL
from orthospca.model.result import Result, Status
from orthospca.model.settings import Settings
from orthospca.model.validation import validate_covariance
from orthospca.numerics.rounding import add_up, mul_up, raised, relative_error, root_of_squares_up
from orthospca.paths.links import Links
from orthospca.routes import is_formed
from orthospca.wide.stage import WideProblem

#: Features, or samples, up to which the bound of ordinary PCA is computed, and numbers of data.
LARGEST_SPECTRUM, LARGEST_DATA = 1000, 2**26


def bound_of(result: Result) -> float:
    """The bound of a search for one component: NaN if there is none, ``inf`` if no time."""
    if result.stages:
        return result.stages[0].upper_bound
    return math.nan if result.exhausted else math.inf


@dataclass(eq=False)
class Search:
    """The searches of an audit, one after another."""

    given: Array | DataCovariance
    vectors: Array
    settings: Settings
    names: tuple[str, ...] | None
    end: float
    callback: Counter | None
    together: bool
    done: list[Result] = field(default_factory=list)
    stopped: Status | None = None

    def run(self, cosines: Array, kept: IntArray) -> tuple[tuple[Result, ...], float]:
        """Look for better vectors in the place of each; and bound all of them together.

        Parameters
        ----------
        cosines : array of shape (K, K)
            Of each vector with those before it.
        kept : integer array
            The vectors that are no linear combinations of those before them.
        """
        X = self.vectors
        sizes = np.count_nonzero(X, axis=1).tolist()
        # What holds for every vector of a size holds for those orthogonal to others too.
        firsts = sorted(set(sizes))
        self.total = len(firsts) + len(X) - 1 + self.together
        self.learnt: WideProblem | None = None
        if isinstance(self.given, DataCovariance) and not is_formed(self.given, self.settings):
            self.learnt = WideProblem(self.given, max(sizes), self.settings)
        bounds, results = {}, []
        links = Links(self.settings.tolerance, self.given)
        for p in firsts:
            result = self._solve(p, self.settings, **({"start": X[0]} if p == sizes[0] else {}))
            bounds[p] = bound_of(result)
            if p == sizes[0]:
                results.append(result)
        few = self.settings.tuning.wide.few
        top = math.inf if self.settings.proof else ordinary_bound(self.given, 1, few)
        bounds = {p: min(top, *(bounds[q] for q in firsts if q >= p)) for p in firsts}
        if results[0].stages and not self.settings.proof:
            results[0] = links.with_upper(results[0], bounds[sizes[0]])
        for k in range(1, len(X)):
            asked: dict[str, Any] = {"previous": X[kept[kept < k]]}
            if cosines[k].max() <= NOT_ORTHOGONAL:
                asked["start"] = X[k]
            result = self._solve(sizes[k], self.settings, **asked)
            if result.stages and not self.settings.proof:  # which says what is certified
                known = bounds[sizes[k]]
                if self.learnt is not None:
                    known = min(known, ordinary_bound(self.given, 1, few, asked["previous"]))
                result = links.with_upper(result, known)
            results.append(result)
        return tuple(results), self._joint_bound(sizes, [bounds[p] for p in sizes])

    def _solve(self, sparsity: int | list[int], settings: Settings, **asked: Any) -> Result:
        """Search one stage, or a set, in its share of the time."""
        share = Share(self.end, max(self.total - len(self.done), 1))
        settings = share.of(settings, time.perf_counter())
        hear = heartbeat(self.callback, self.done, self.total)
        learnt = self.learnt if isinstance(sparsity, int) else None
        given = (self.given, sparsity, np.size(sparsity), settings)
        result = solve_with(*given, 0.0, hear, learnt, names=self.names, asked=asked)
        self.done.append(result)
        stop = self.callback is not None and self.callback(len(self.done), self.total)
        if stop or result.status is Status.INTERRUPTED:
            # Nothing else is begun: what there is has valid bounds.
            self.end, self.stopped = -math.inf, Status.INTERRUPTED
        return result

    def _joint_bound(self, sizes: list[int], single: list[float]) -> float:
        """The smallest bound on all together that there is."""
        upper = add_up(*single, 0.0) if all(map(math.isfinite, single)) else math.inf
        upper = min(upper, ordinary_bound(self.given, len(sizes), self.settings.tuning.wide.few))
        if self.together:
            settings = replace(self.settings, objective=Objective.JOINT, proof=False)
            known = self._solve(sizes, settings).joint_upper_bound
            upper = upper if math.isnan(known) else min(upper, known)
        return upper


def ordinary_bound(
    Q: Array | DataCovariance, count: int, few: int, before: Array | None = None
) -> float:
    """Return a proved bound on the sum of the largest eigenvalues, where it costs little.

    Of data ``Q = BᵀB`` it comes from ``G = BBᵀ``, which has the same positive eigenvalues, if that
    is smaller.  Each entry of G, computed, errs by at most ``γ·‖b_i‖·‖b_j‖``, b_i being the rows
    of B, and so each eigenvalue by at most ``γ·‖B‖²`` in the Frobenius norm.

    A vector x that is orthogonal to the rows of X has ``Bx = (B - CX)x``, whatever C is.  So the
    largest eigenvalue of ``(B - CX)(B - CX)ᵀ`` bounds ``‖Bx‖²``, and with a D that has all that
    rounding took from ``B - CX``, ``(√λ + ‖D‖)²`` does.

    Parameters
    ----------
    Q : array or DataCovariance
    count : int
        How many eigenvalues.
    few : int
        Features up to which the covariance of data is formed.
    before : array of shape (k, n), optional
        For one eigenvalue of data: vectors that others are orthogonal to.
    """
    if not isinstance(Q, DataCovariance):
        return spectral_bound(Q, count) if len(Q) <= LARGEST_SPECTRUM else math.inf
    m, n = Q.n_samples, Q.n_features
    if n <= few:
        return spectral_bound(validate_covariance(Q.submatrix(np.arange(n))), count)
    if m >= n or m > LARGEST_SPECTRUM or m * n > LARGEST_DATA:
        return math.inf
    B, doubt = Q.factor(np.arange(n)), 0.0
    if before is not None:
        C = np.linalg.lstsq(before.T, B.T, rcond=None)[0].T
        sizes = np.abs(B) + np.abs(C) @ np.abs(before)
        length = root_of_squares_up(float(np.square(sizes).sum()), m * n + len(before) + 2)
        doubt = mul_up(relative_error(len(before) + 2), length)
        B = B - C @ before
    G = B @ B.T
    size = raised(float(np.square(B).sum()), m * n)
    slack = mul_up(relative_error(n + 4), size)
    count = min(count, m)  # beyond the number of samples all of them are zero
    upper = add_up(spectral_bound(0.5 * (G + G.T), count), mul_up(float(count), slack))
    root = raised(math.sqrt(max(upper, 0.0)), 1)
    return add_up(upper, mul_up(2.0 * doubt, root), mul_up(doubt, doubt)) if doubt else upper
