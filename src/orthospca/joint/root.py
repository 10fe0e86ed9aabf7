"""The bound of a joint problem with many features: M on few of them, then the stage solver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.joint.bound import rigorous
from orthospca.joint.multipliers import Multipliers, minimise
from orthospca.joint.patterns import extended, filled_up
from orthospca.joint.simple import spectral_part
from orthospca.model.limits import QuietWatch, Watch
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tolerance import Tolerance
from orthospca.numerics.rounding import add_up, mul_up
from orthospca.search.methods import solve_stage
from orthospca.search.outcome import Outcome
from orthospca.supports.best import values_on_supports
from orthospca.supports.heuristic_path import find_incumbent

#: Features that M is of, at most.
LARGEST = 64
#: Rounds of finding supports for M, and M for the supports.
ROUNDS = 40
#: Supports next to the best one that are added in a round.
NEIGHBOURS = 40
#: Temperatures of the smoothed maximum, relative to the variance of a component.
TEMPERATURES = (3e-2, 3e-3, 3e-4)
#: Gap to which the last stage problem is solved, as a share of the one that is asked for.
SHARE = 0.1


@dataclass(frozen=True, eq=False)
class RootBound:
    """What one M proves.

    Attributes
    ----------
    upper : float
        Of all sets.
    matrix : array of shape (n, n)
        ``A``, of which ``Q - A`` is positive semidefinite.
    trace : float
        Bound on ``tr(Q - A)``.
    levels : dict
        For each sparsity, the proved bound of a vector's value in A.
    at : integer array
        Where Q and A differ.
    outcomes : dict
        For each sparsity, how the stage problem ended.
    """

    upper: float
    matrix: Array
    trace: float
    levels: dict[int, float]
    at: IntArray
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
        best = self._prove(A, 0.0, np.arange(0), loose=True)
        if self._settings.proof:
            best = self._with_spectrum(best)
        multipliers: Multipliers | None = None
        at = np.arange(0)
        lowest, idle = math.inf, 0
        for turn in range(ROUNDS):
            if best.upper <= cut or self._watch.out_of_time():
                return best
            value = self._find(A)
            if turn:
                assert multipliers is not None
                estimate = float(np.square(multipliers.root).sum()) + value
                idle = 0 if estimate < lowest - 1e-4 * abs(lowest) else idle + 1
                if estimate < lowest:
                    lowest, kept = estimate, (A, at)
                # What is left of the time is for the proof.
                if idle > 6 or estimate <= cut or self._watch.clock.is_gone(0.5):
                    break
            at, multipliers = self._minimised(at, multipliers)
            A = self._less(multipliers, at)
        if lowest < math.inf:
            better = self._certified(*kept)
            if better is not None and better.upper < best.upper:
                best = better
        return best

    def _with_spectrum(self, best: RootBound) -> RootBound:
        """The bound of ordinary PCA, as one of a matrix, if it is better."""
        M = spectral_part(self.Q, len(self.limits))
        everything = np.arange(len(self.Q))
        found = None if M is None else rigorous(self.Q, M, everything)
        if found is None:
            return best
        other = self._prove(*found, everything, loose=True)
        return other if other.upper < best.upper else best

    def _less(self, multipliers: Multipliers, at: IntArray) -> Array:
        A = self.Q.copy()
        A[np.ix_(at, at)] -= multipliers.matrix
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
            for i in order[:NEIGHBOURS]:
                self._supports[g].setdefault(everything[i].tobytes(), everything[i])
            if len(self._supports[g]) > 12 * NEIGHBOURS:
                kept = [everything[i] for i in order[: 6 * NEIGHBOURS]]
                self._supports[g] = {s.tobytes(): s for s in kept}
        return value

    def _minimised(
        self, before: IntArray, multipliers: Multipliers | None
    ) -> tuple[IntArray, Multipliers]:
        """The best M for the supports found so far."""
        every = [s for found in self._supports for s in found.values()]
        used = np.bincount(np.concatenate(every), minlength=len(self.Q))
        at = np.flatnonzero(used)
        if len(at) > LARGEST:
            at = np.sort(np.argsort(-used, kind="stable")[:LARGEST])
        n = len(at)
        start = Multipliers.begin(n, self.scale)
        if multipliers is not None:
            # The same M on the features that are still there.
            place = np.searchsorted(at, before)
            here = (place < n) & (at[np.minimum(place, n - 1)] == before)
            M = np.zeros((n, n))
            M[np.ix_(place[here], place[here])] = multipliers.matrix[np.ix_(here, here)]
            values, vectors = np.linalg.eigh(M)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            start = Multipliers(root + 0.02 * math.sqrt(self.scale) * np.eye(n), np.zeros(n))
        number = np.full(len(self.Q), -1)
        number[at] = np.arange(n)
        index = []
        for found in self._supports:
            rows = [number[s] for s in found.values() if (number[s] >= 0).all()]
            parts = [np.array([r for r in rows if len(r) == k]) for k in {len(r) for r in rows}]
            index.append(np.vstack([filled_up(part, n, self._sizes[-1]) for part in parts]))
        temperatures = TEMPERATURES if multipliers is None else TEMPERATURES[1:]
        smoothed = minimise(
            extended(self.Q[np.ix_(at, at)], self._sizes[-1]),
            index,
            self._counts,
            start,
            np.arange(0),
            [t * self.scale for t in temperatures],
            60,
            stop=self._watch.out_of_time,
        )
        return at, smoothed.multipliers

    def _certified(self, A: Array, at: IntArray) -> RootBound | None:
        M = self.Q[np.ix_(at, at)] - A[np.ix_(at, at)]
        found = rigorous(self.Q, M, at)
        if found is None:
            return None
        return self._prove(found[0], found[1], at)

    def _prove(self, A: Array, trace: float, at: IntArray, loose: bool = False) -> RootBound:
        """The bound that A gives, with the stage problems solved."""
        upper, levels, outcomes = trace, {}, {}
        allowed = self._settings.tolerance
        gap = max(allowed.gap * SHARE, 1e-9)
        if loose:
            gap = max(gap, 1e-3)
        settings = replace(self._settings, tolerance=Tolerance(allowed.eps * SHARE, gap))
        for size, count in zip(self._sizes, self._counts, strict=True):
            problem = Subproblem(A, size, np.zeros((len(A), 0)))
            outcome = solve_stage(problem, settings, QuietWatch(self._watch), None)
            if outcome.best is not None:
                self._add(np.flatnonzero(outcome.best.vector))
            outcomes[size], levels[size] = outcome, outcome.upper
            upper = add_up(upper, mul_up(float(count), outcome.upper))
        return RootBound(upper, A, trace, levels, at, outcomes)


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
