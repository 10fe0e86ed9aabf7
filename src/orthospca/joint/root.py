"""The bound of a joint problem with many features: M on few of them, then the stage solver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.joint.bound import rigorous, spectral_part
from orthospca.joint.multipliers import first_root, minimise, root_of
from orthospca.joint.patterns import extended, filled_up
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.numerics.rounding import add_up, mul_up
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import Outcome
from orthospca.supports.best import values_on_supports
from orthospca.supports.heuristic_path import find_incumbent


@dataclass(frozen=True, eq=False)
class RootBound:
    """What one M proves.

    Attributes
    ----------
    upper : float
        Of all sets.
    matrix : array of shape (n, n)
        ``A``, of which ``Q - A`` is positive semidefinite.
    outcomes : dict
        For each sparsity, how the stage problem of A ended.
    """

    upper: float
    matrix: Array
    outcomes: dict[int, Outcome]


class Root:
    """Seeks a good M.

    Parameters
    ----------
    Q : array of shape (n, n)
    limits : sequence of int
    settings : Settings
    watch : Watch
    scale : float
        Size of the variance of one component.
    """

    def __init__(
        self, Q: Array, limits: Sequence[int], settings: Settings, watch: Watch, scale: float
    ) -> None:
        self.Q, self.limits, self.scale = Q, tuple(limits), scale
        self._settings, self._watch = settings, watch
        self._tuning, self._effort = settings.tuning.joint, settings.tuning.joint.many_features
        self._sizes = sorted(set(limits))
        self._counts = [self.limits.count(size) for size in self._sizes]
        self._supports: list[dict[bytes, IntArray]] = [{} for _ in self._sizes]

    def run(self, known: Sequence[Array], cut: float) -> RootBound:
        """Return the best bound found, or the first that is at most ``cut``.

        Parameters
        ----------
        known : sequence of arrays
            Vectors of good sets.
        cut : float
        """
        for x in known:
            self._add(np.flatnonzero(x))
        A = self.Q
        best = self._prove(A, 0.0, loose=True)
        if self._settings.proof:
            best = self._better(best, spectral_part(self.Q, len(self.limits)), loose=True)
        root: Array | None = None
        at = np.arange(0)
        lowest, kept, idle = math.inf, A, 0
        for turn in range(self._effort.rounds):
            if best.upper <= cut or self._watch.out_of_time():
                return best
            value = self._find(A)
            if turn:
                assert root is not None
                estimate = float(np.square(root).sum()) + value
                idle = 0 if estimate < lowest - 1e-4 * abs(lowest) else idle + 1
                if estimate < lowest:
                    lowest, kept = estimate, A
                # What is left of the time is for the proof.
                if idle > 6 or estimate <= cut or self._watch.clock.is_gone(0.5):
                    break
            at, root = self._minimised(at, root)
            A = self._less(root @ root.T, at)
        return self._better(best, self.Q - kept) if lowest < math.inf else best

    def _better(self, best: RootBound, M: Array | None, loose: bool = False) -> RootBound:
        """What M proves, if that is better."""
        if M is None or not M.any():
            return best
        at = np.flatnonzero(M.any(axis=1))
        found = rigorous(self.Q, M[np.ix_(at, at)], at)
        if found is None:
            return best
        return min(best, self._prove(*found, loose), key=lambda bound: bound.upper)

    def _less(self, M: Array, at: IntArray) -> Array:
        A = self.Q.copy()
        A[np.ix_(at, at)] -= M
        return 0.5 * (A + A.T)

    def _add(self, support: IntArray) -> None:
        for g, size in enumerate(self._sizes):
            part = support if len(support) <= size else support[:size]
            self._supports[g].setdefault(part.tobytes(), part)

    def _find(self, A: Array) -> float:
        """Add supports that A favours; the value of the best of each sparsity, added up."""
        value = 0.0
        nothing = np.zeros((len(A), 0))
        for g, (size, count) in enumerate(zip(self._sizes, self._counts, strict=True)):
            problem = Subproblem(A, size, nothing)
            found = find_incumbent(problem)
            assert found is not None
            near = _neighbours(problem, np.flatnonzero(found.vector), size)
            old = np.array(
                [_filled(s, A, size) for s in self._supports[g].values()], dtype=np.intp
            ).reshape(-1, size)
            everything = np.unique(np.sort(np.vstack([near, old]), axis=1), axis=0)
            values = values_on_supports(problem, everything)
            order = np.argsort(-values, kind="stable")
            value += count * max(float(values[order[0]]), found.value)
            for i in order[: self._effort.working]:
                self._supports[g].setdefault(everything[i].tobytes(), everything[i])
            if len(self._supports[g]) > 12 * self._effort.working:
                kept = [everything[i] for i in order[: 6 * self._effort.working]]
                self._supports[g] = {s.tobytes(): s for s in kept}
        return value

    def _minimised(self, before: IntArray, root: Array | None) -> tuple[IntArray, Array]:
        """The features of the best M for the supports found so far, and its root."""
        every = [s for found in self._supports for s in found.values()]
        used = np.bincount(np.concatenate(every), minlength=len(self.Q))
        at = np.flatnonzero(used)
        if len(at) > self._tuning.largest_matrix:
            order = np.argsort(-used, kind="stable")
            at = np.sort(order[: self._tuning.largest_matrix])
        n = len(at)
        start = first_root(n, self.scale)
        if root is not None:
            # The same M on the features that are still there.
            _, here, place = np.intersect1d(before, at, return_indices=True)
            M = np.zeros((n, n))
            M[np.ix_(place, place)] = root[here] @ root[here].T
            start = root_of(M) + 0.02 * math.sqrt(self.scale) * np.eye(n)
        number = np.full(len(self.Q), -1)
        number[at] = np.arange(n)
        index = []
        for found in self._supports:
            rows = [number[s] for s in found.values() if (number[s] >= 0).all()]
            parts = [np.array([r for r in rows if len(r) == k]) for k in {len(r) for r in rows}]
            index.append(np.vstack([filled_up(part, n, self._sizes[-1]) for part in parts]))
        smoothed = minimise(
            extended(self.Q[np.ix_(at, at)], self._sizes[-1]),
            index,
            self._counts,
            start,
            self.scale,
            self._effort if root is None else self._effort.later,
            stop=self._watch.out_of_time,
        )
        return at, smoothed.root

    def _prove(self, A: Array, trace: float, loose: bool = False) -> RootBound:
        """The bound that A gives, with the stage problems solved."""
        upper, outcomes = trace, {}
        allowed, share = self._settings.tolerance, self._tuning.gap_share
        gap = max(allowed.gap * share, 1e-3 if loose else 1e-9)
        settings = replace(self._settings, tolerance=Tolerance(allowed.eps * share, gap))
        for size, count in zip(self._sizes, self._counts, strict=True):
            problem = Subproblem(A, size, np.zeros((len(A), 0)))
            outcome = solve_stage(problem, settings, QuietWatch(self._watch), None)
            if outcome.best is not None:
                self._add(np.flatnonzero(outcome.best.vector))
            outcomes[size] = outcome
            upper = add_up(upper, mul_up(float(count), outcome.upper))
        return RootBound(upper, A, outcomes)


def _filled(support: IntArray, A: Array, size: int) -> IntArray:
    """A support of full size that contains this one."""
    if len(support) >= size:
        return support[:size]
    strongest = np.argsort(-A.diagonal(), kind="stable")
    rest = strongest[~np.isin(strongest, support)]
    return np.sort(np.concatenate([support, rest[: size - len(support)]]))


def _neighbours(problem: Subproblem, support: IntArray, size: int) -> IntArray:
    """A support and those that differ from it in one feature, among the strongest candidates."""
    A = problem.covariance
    support = _filled(support, A, size)
    others = np.setdiff1d(np.arange(len(A)), support)
    x = np.linalg.eigh(A[np.ix_(support, support)])[1][:, -1]
    pull = np.abs(A[others][:, support] @ x) + np.maximum(A.diagonal()[others], 0.0)
    others = others[np.argsort(-pull, kind="stable")[:40]]
    rows = [support]
    for i in range(size):
        for j in others:
            row = support.copy()
            row[i] = j
            rows.append(np.sort(row))
    return np.array(rows, dtype=np.intp)
