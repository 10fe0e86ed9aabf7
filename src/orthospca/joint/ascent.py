"""Good sets of components: one is improved at a time, then some are sought anew."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.joint.partition import best_blocks
from orthospca.joint.slots import Slot, single_features, slots_of
from orthospca.joint.turning import turned
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import JointTuning
from orthospca.numerics.exact import total_down, variance_down
from orthospca.numerics.rigor import ORTHOGONALITY
from orthospca.supports.best import Candidate, best_on_support, complement_basis
from orthospca.supports.heuristic_path import find_incumbent
from orthospca.supports.heuristics import polish

#: A penalty that leaves nothing but orthogonal vectors, up to little.
HARD = 1e4


def total(Q: Array, components: Iterable[Array]) -> float:
    """Variance of a set, up to rounding."""
    return math.fsum(float(x @ Q @ x) for x in components)


class SetSearch:
    """The best set found so far, and ways to find better ones.

    The same calls in the same order give the same sets.

    Parameters
    ----------
    Q : array of shape (n, n)
    limits : sequence of int
        The sparsity of each component; there are at most n of them.
    stop : callable
        Asked often.
    tuning : JointTuning
    seed : int
        Of random numbers.
    slots : sequence of Slot, optional
        What is asked of each component beyond its sparsity.
    disjoint : bool
        Whether a feature serves one component.

    Attributes
    ----------
    best : list of arrays
        Orthonormal, each sparse enough.
    value : float
        Their total variance, rounded down.
    """

    def __init__(
        self,
        Q: Array,
        limits: Sequence[int],
        stop: Callable[[], bool],
        tuning: JointTuning,
        seed: int = 0,
        slots: Sequence[Slot] | None = None,
        disjoint: bool = False,
    ) -> None:
        self.Q, self.limits, self._disjoint = Q, tuple(limits), disjoint
        self._slots = slots_of(limits, len(Q)) if slots is None else tuple(slots)
        self._free = not disjoint and all(slot == Slot(slot.size) for slot in self._slots)
        self.stop, self._tuning = stop, tuning
        self._rng, self._seed = np.random.default_rng(seed), seed
        self._supports = {slot: self._all_supports(slot) for slot in set(self._slots)}
        # The largest eigenvalue, or something above it where that is dear.
        self._largest = float(np.linalg.norm(Q, 2 if len(Q) <= tuning.too_many else 1))
        self._present: list[Array] | None = None
        self._idle = 0
        #: Supports that were tried, and values of sets that were improved in earnest.
        self._seen: set[tuple[tuple[int, ...], ...]] = set()
        self._reached: set[str] = set()
        self.best: list[Array] = []
        self.value = -math.inf

    def offer(self, components: Sequence[Array]) -> None:
        """Take a set if it is one, and better."""
        if not total(self.Q, components) > self.value:
            return
        value = total_down(variance_down(self.Q, x) for x in components)
        if not value > self.value:
            return
        X = np.array(components)
        off = float(np.abs(X @ X.T - np.eye(len(X))).max())
        fits = all(slot.admits(x) for slot, x in zip(self._slots, X, strict=True))
        alone = not self._disjoint or np.count_nonzero(X, axis=0).max() <= 1
        if off <= ORTHOGONALITY and fits and alone:
            self.best, self.value = [np.array(x) for x in components], value

    def begin(self, stagewise: Sequence[Array]) -> None:
        """Take the stage-wise components; or unit vectors, so that there is always a set."""
        if len(stagewise) == len(self.limits):
            self.offer(stagewise)
        chosen = single_features(self.Q, self._slots)
        self.offer([np.eye(1, len(self.Q), j)[0] for j in chosen])

    def improve_first(self, stagewise: Sequence[Array]) -> None:
        """Improve the stage-wise components, and sets on disjoint blocks."""
        n, K = len(self.Q), len(self.limits)
        wanted = np.arange(0)
        if len(stagewise) == K:
            # In turn, a component may use what an earlier one includes at zero: that is no set.
            fits = all(slot.admits(x) for slot, x in zip(self._slots, stagewise, strict=True))
            self._improve(stagewise if fits else self.best)
            wanted = np.flatnonzero(np.array(stagewise).any(axis=0))
        strongest = np.argsort(-self.Q.diagonal(), kind="stable")
        places, most = np.arange(n), self._tuning.divided
        if n > most:
            places = np.union1d(wanted, strongest[: max(most - len(wanted), min(self.limits))])
        part = self.Q[np.ix_(places, places)]
        for _ in range(self._tuning.divisions if K > 1 and self._free else 0):
            if self.stop():
                return
            blocks = best_blocks(part, min(self.limits), K, self._rng, self.stop)
            if len(blocks) == K:
                self._improve([Candidate(0.0, x).embedded(places, n).vector for x in blocks])

    def near(self, supports: Sequence[IntArray]) -> None:
        """Improve the best vectors on some supports; then seek such ones anew, if that is cheap.

        Every third time it is done where it is dear.
        """
        placed = self._placed(supports)
        key = tuple(tuple(support.tolist()) for support in placed)
        if key in self._seen or self.stop():
            return
        self._seen.add(key)
        made = self._one_by_one(placed, np.arange(len(placed)))
        if made is None:
            return
        self._improve_new(made)
        cheap = all(rows is not None for rows in self._supports.values())
        if len(made) > 1 and (cheap or len(self._seen) % 3 == 0):
            loose = self._loosened(np.array(made), self._tuning.loosened)
            if loose is not None:
                self._improve_new(loose)

    def _improve_new(self, made: Sequence[Array]) -> None:
        """Improve a set, a little at first; in earnest if it is good, and was not so before."""
        made = self._ascend(made, briefly=True)
        # Features that stand in for each other make many sets of one value.
        value = f"{total(self.Q, made):.9g}"
        if self._is_near(made, self._tuning.worth_improving) and value not in self._reached:
            self._reached.add(value)
            self._improve(made)

    def _loosened(self, X: Array, penalties: Sequence[float]) -> list[Array] | None:
        """Seek components anew, with more and more regard to orthogonality; None if in vain."""
        for penalty in penalties:
            self._sweep(X, self._rng.permutation(len(X)), penalty)
        order = np.argsort([-float(x @ self.Q @ x) for x in X], kind="stable")
        return self._one_by_one([np.flatnonzero(x) for x in X], order)

    def _placed(self, patterns: Sequence[IntArray]) -> list[IntArray]:
        """The pattern of each component: the sizes tell which is which."""
        slots = np.argsort(self.limits, kind="stable")
        ranks = np.argsort([len(pattern) for pattern in patterns], kind="stable")
        placed = list(patterns)
        for slot, i in zip(slots, ranks, strict=True):
            placed[slot] = patterns[i]
        return placed

    def settle(self, patterns: Sequence[IntArray]) -> None:
        """Find the best set with these features, from many starts."""
        placed = self._placed(patterns)
        K, rng = len(placed), np.random.default_rng(self._seed + 1)
        for turn in range(2 * K + 6):
            begun = self._one_by_one(placed, rng.permutation(K), rng if turn >= K else None)
            if begun is not None:
                self.offer(self._turn(placed, self._ascend(begun, placed)))

    def step(self) -> None:
        """Seek some components anew, first with little regard to orthogonality."""
        K, rng = len(self.limits), self._rng
        if K < 2 or len(self.Q) > self._tuning.too_many or self.stop():
            return
        if self._present is None or self._idle > self._tuning.patience:
            X = np.array([self._random(k) for k in range(K)])
            made = self._loosened(X, self._tuning.penalties)
            self._present, self._idle = None, 0
        else:
            X = np.array(self._present)
            chosen = rng.choice(K, int(rng.integers(2, min(K, 4) + 1)), replace=False)
            X[chosen[0]] = self._random(int(chosen[0]))
            first = float(rng.choice([0.1, 0.2, 0.4]))
            for penalty in (first, 2 * first, 1.0):
                self._sweep(X, rng.permutation(chosen), penalty)
            made = self._loosened(X, (4.0, 20.0))
        value = -math.inf if self._present is None else total(self.Q, self._present)
        self._idle += 1
        if made is None or total(self.Q, made) < value - 0.015 * abs(value):
            return
        made = self._improve(made)
        if total(self.Q, made) > value + 1e-9 * abs(value):
            self._present, self._idle = made, 0

    def _random(self, k: int) -> Array:
        noise = self._rng.standard_normal((len(self.Q), len(self.Q)))
        noise = noise @ noise.T * (self._largest / len(self.Q))
        return self._response(k, self.Q - noise)

    def _sweep(self, X: Array, order: IntArray, penalty: float) -> None:
        for k in order:
            others = X.T @ X - np.outer(X[k], X[k])
            X[k] = self._response(k, self.Q - penalty * self._largest * others)

    def _one_by_one(
        self, patterns: Sequence[IntArray], order: IntArray, rng: np.random.Generator | None = None
    ) -> list[Array] | None:
        """Orthonormal vectors, each the best on its pattern, or with ``rng`` a random one.

        Where nothing is left of a pattern it is another; None if there is no vector at all.
        """
        found: dict[int, Array] = {}
        for k in order.tolist():
            problem = self._problem(k, list(found.values()))
            best = self._on(problem, patterns[k])
            if best is None and rng is None:
                best = _best(problem, None)
            if best is None:
                return None
            found[k] = np.array(best.vector)
            if rng is not None and len(found) < len(order) and self._free:
                basis = complement_basis(problem.touching(patterns[k]))
                basis = np.eye(len(patterns[k])) if basis is None else basis
                loadings = basis @ rng.standard_normal(basis.shape[1])
                found[k][patterns[k]] = loadings / np.linalg.norm(loadings)
        return [found[k] for k in range(len(order))]

    def _improve(self, start: Sequence[Array]) -> list[Array]:
        """Improve components one at a time and, if that comes near the best set, two at a time."""
        found = self._ascend(start)
        if self._is_near(found, self._tuning.promising) and not self.stop():
            found = self._turn([np.flatnonzero(x) for x in found], found)
        self.offer(found)
        return found

    def _is_near(self, components: Sequence[Array], share: float) -> bool:
        """Whether a set is nearly as good as the best one."""
        return total(self.Q, components) > self.value - share * abs(self.value)

    def _ascend(
        self,
        start: Sequence[Array],
        patterns: Sequence[IntArray] | None = None,
        briefly: bool = False,
    ) -> list[Array]:
        """Improve components one at a time, on patterns if these are given, as long as it helps.

        Briefly, what there is is improved, and nothing is sought anew.
        """
        found = [np.array(x) for x in start]
        value = total(self.Q, found)
        for _ in range(self._tuning.rounds):
            before = value
            for k in range(len(found)):
                if self.stop():
                    break
                on = None if patterns is None else patterns[k]
                found[k] = self._better(k, found, on, briefly)
            value = total(self.Q, found)
            if value <= before + 1e-12 * abs(before) or self.stop():
                break
        return found

    def _better(
        self, k: int, vectors: Sequence[Array], pattern: IntArray | None, briefly: bool
    ) -> Array:
        """A component that is better than the k-th one, orthogonal to the others; or itself."""
        others = [*vectors[:k], *vectors[k + 1 :]]
        problem = self._problem(k, others)
        present = Candidate(float(vectors[k] @ self.Q @ vectors[k]), vectors[k])
        if pattern is None and self._free and self._supports[self._slots[k]] is not None:
            taken = HARD * self._largest * np.array(others).T @ np.array(others)
            pattern = np.flatnonzero(self._response(k, self.Q - taken))
        best = (
            self._on(problem, pattern) if pattern is not None else _best(problem, present, briefly)
        )
        return vectors[k] if best is None or best.value <= present.value else np.array(best.vector)

    def _turn(self, patterns: Sequence[IntArray], vectors: list[Array]) -> list[Array]:
        """Improve pairs that share features, as long as it helps."""
        # Planes of its own, so that they do not depend on what was sought before.
        value, rng = total(self.Q, vectors), np.random.default_rng(self._seed + 2)
        for _ in range(self._tuning.turns):
            before = value
            for pair in itertools.combinations(range(len(patterns)), 2):
                if self.stop():
                    return vectors
                vectors = turned(self.Q, patterns, vectors, pair, rng)
            vectors = self._ascend(vectors, patterns)
            value = total(self.Q, vectors)
            if value <= before + 1e-11 * abs(before):
                break
        return vectors

    def _problem(self, k: int, others: Sequence[Array]) -> Subproblem:
        columns = np.column_stack([np.zeros((len(self.Q), 0)), *others])
        slot = self._slots[k]
        included, excluded = np.array(slot.included, dtype=int), np.array(slot.excluded, dtype=int)
        if self._disjoint:
            excluded = np.union1d(excluded, np.flatnonzero(columns.any(axis=1)))
            columns = columns[:, :0]
        columns = np.ascontiguousarray(columns)
        return Subproblem(self.Q, slot.size, columns, included, excluded)

    def _on(self, problem: Subproblem, pattern: IntArray) -> Candidate | None:
        """The best vector on a pattern, or on what the problem leaves of it."""
        if not self._free:
            pattern = np.setdiff1d(pattern, problem.excluded)
            others = np.setdiff1d(pattern, problem.included)
            room = problem.sparsity - len(problem.included)
            pattern = np.union1d(problem.included, others[:room])
        return best_on_support(problem, pattern) if len(pattern) else None

    def _all_supports(self, slot: Slot) -> IntArray | None:
        """All supports of a component, if they are few."""
        free = np.setdiff1d(slot.allowed(len(self.Q)), slot.included)
        room = min(slot.size - len(slot.included), len(free))
        if math.comb(len(free), room) > self._tuning.all_tried:
            return None
        rows = [(*slot.included, *more) for more in itertools.combinations(free.tolist(), room)]
        return np.sort(np.array(rows, dtype=np.intp).reshape(len(rows), -1), axis=1)

    def _response(self, k: int, A: Array) -> Array:
        """The best sparse vector of a matrix, or a good one."""
        rows = self._supports[self._slots[k]]
        if rows is None:
            found = _best(replace(self._problem(k, []), covariance=A), None)
            assert found is not None
            return np.array(found.vector)
        matrices = A[rows[:, :, None], rows[:, None, :]]
        leader = int(np.argmax(np.linalg.eigvalsh(matrices)[:, -1]))
        x = np.zeros(len(A))
        x[rows[leader]] = np.linalg.eigh(matrices[leader])[1][:, -1]
        return x


def _best(
    problem: Subproblem, present: Candidate | None, briefly: bool = False
) -> Candidate | None:
    """A good vector orthogonal to the others, not worse than the one there is."""
    part, kept = problem.without_spent_features()
    if len(kept) == 0:
        return None
    found = [] if briefly else [find_incumbent(part)]
    if present is not None:
        found.append(polish(part, Candidate(present.value, present.vector[kept])))
    best = max((x for x in found if x is not None), key=lambda x: x.value, default=None)
    return None if best is None else best.embedded(kept, problem.n_features)
