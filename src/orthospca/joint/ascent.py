"""Good sets of components: one is improved at a time, then some are sought anew."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.joint.partition import best_blocks
from orthospca.joint.turning import turned
from orthospca.model.stage import Subproblem
from orthospca.numerics.exact import total_down, variance_down
from orthospca.numerics.rigor import ORTHOGONALITY
from orthospca.supports.best import Candidate, best_on_support, complement_basis
from orthospca.supports.heuristic_path import find_incumbent
from orthospca.supports.heuristics import polish

#: Rounds in which every component is sought anew.
ROUNDS = 60
#: Supports that are all tried for the best response; with more of them it is sought.
ALL_TRIED = 3000
#: Penalties for not being orthogonal, relative to the largest eigenvalue, one after the other.
PENALTIES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.5, 4.0, 20.0)
#: A penalty that leaves nothing but orthogonal vectors, up to little.
HARD = 1e4
#: Features up to which components are sought anew: with more of them a step costs too much.
LARGEST = 200
#: Rounds in which all pairs are improved, and how near to the best a set must be for that.
TURNS, PROMISING = 10, 0.01
#: Steps without a better set after which it is begun anew.
PATIENCE = 25


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

    Attributes
    ----------
    best : list of arrays
        Orthonormal, each sparse enough.
    value : float
        Their total variance, rounded down.
    """

    def __init__(self, Q: Array, limits: Sequence[int], stop: Callable[[], bool]) -> None:
        self.Q, self.limits = Q, tuple(limits)
        self._stop = stop
        self._rng = np.random.default_rng(0)
        self._respond = {limit: _Response(Q, limit) for limit in set(limits)}
        self._largest = _largest_eigenvalue(Q)
        self._present: list[Array] | None = None
        self._idle = 0
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
        sizes = np.count_nonzero(X, axis=1)
        off = float(np.abs(X @ X.T - np.eye(len(X))).max())
        if off <= ORTHOGONALITY and (sizes <= np.array(self.limits)).all():
            self.best, self.value = [np.array(x) for x in components], value

    def begin(self, stagewise: Sequence[Array], starts: int = 6) -> None:
        """Improve the stage-wise components, and sets on disjoint blocks."""
        wanted = np.arange(0)
        if len(stagewise) == len(self.limits):
            self.offer(stagewise)
            self._ascend(list(stagewise))
            wanted = np.flatnonzero(np.array(stagewise).any(axis=0))
        # Unit vectors are orthonormal and as sparse as can be: there is always a set.
        places = np.argsort(-self.Q.diagonal(), kind="stable")[: len(self.limits)]
        self.offer([np.eye(1, len(self.Q), int(j))[0] for j in places])
        if len(self.limits) > 1:
            for _ in range(starts):
                if self._stop():
                    return
                blocks = best_blocks(
                    self.Q, min(self.limits), len(self.limits), wanted, self._rng, self._stop
                )
                if len(blocks) == len(self.limits):
                    self._ascend(blocks)

    def suggest(self, patterns: Sequence[IntArray]) -> float:
        """Make a set of vectors with these features, and improve it; the value of the best one."""
        vectors = []
        for pattern in patterns:
            x = np.zeros(len(self.Q))
            x[pattern] = np.linalg.eigh(self.Q[np.ix_(pattern, pattern)])[1][:, -1]
            vectors.append(x)
        # The sizes tell which component is which.
        order = np.argsort([len(pattern) for pattern in patterns], kind="stable")
        slots = np.argsort(self.limits, kind="stable")
        placed: list[Array] = [vectors[0]] * len(vectors)
        for slot, i in zip(slots, order, strict=True):
            placed[slot] = vectors[i]
        made = self._repaired(placed)
        if made is not None and total(self.Q, made) > 0.95 * self.value:
            self._ascend(made)
        return self.value

    def settle(self, patterns: Sequence[IntArray]) -> float:
        """Find the best set with these features, from many starts; the value of the best one."""
        K, rng = len(patterns), np.random.default_rng(1)
        slots = np.argsort(self.limits, kind="stable")
        ranks = np.argsort([len(pattern) for pattern in patterns], kind="stable")
        for turn in range(2 * K + 6):
            order = rng.permutation(K)
            vectors = self._begun_on(patterns, order, rng if turn >= K else None)
            if vectors is None:
                continue
            self._ascend_on(patterns, vectors)
            vectors = self._turn(patterns, vectors)
            # The sizes tell which component is which.
            placed = list(vectors)
            for slot, i in zip(slots, ranks, strict=True):
                placed[slot] = vectors[i]
            self.offer(placed)
        return self.value

    def _begun_on(
        self, patterns: Sequence[IntArray], order: IntArray, rng: np.random.Generator | None
    ) -> list[Array] | None:
        """Orthonormal vectors on patterns: the best one after the other, or random ones."""
        vectors: dict[int, Array] = {}
        for place, k in enumerate(order.tolist()):
            problem = self._problem(k, list(vectors.values()))
            best = best_on_support(problem, patterns[k])
            if best is None:
                return None
            vectors[k] = np.array(best.vector)
            if rng is not None and place < len(order) - 1:
                basis = complement_basis(problem.touching(patterns[k]))
                basis = np.eye(len(patterns[k])) if basis is None else basis
                mixed = basis @ rng.standard_normal(basis.shape[1])
                vectors[k] = np.zeros(len(self.Q))
                vectors[k][patterns[k]] = mixed / np.linalg.norm(mixed)
        return [vectors[k] for k in range(len(patterns))]

    def _turn(self, patterns: Sequence[IntArray], vectors: list[Array]) -> list[Array]:
        """Improve pairs that share features, as long as it helps."""
        rng = np.random.default_rng(2)
        value = total(self.Q, vectors)
        pairs = list(itertools.combinations(range(len(patterns)), 2))
        for _ in range(TURNS):
            before = value
            for pair in pairs:
                if self._stop():
                    return vectors
                vectors = turned(self.Q, patterns, vectors, pair, rng)
            self._ascend_on(patterns, vectors)
            value = total(self.Q, vectors)
            if value <= before + 1e-9 * abs(before):
                break
        return vectors

    def _ascend_on(self, patterns: Sequence[IntArray], vectors: list[Array]) -> None:
        """Improve vectors one at a time, each on its own pattern."""
        value = total(self.Q, vectors)
        for _ in range(ROUNDS):
            before = value
            for k, pattern in enumerate(patterns):
                problem = self._problem(k, vectors[:k] + vectors[k + 1 :])
                best = best_on_support(problem, pattern)
                if best is not None and best.value > float(vectors[k] @ self.Q @ vectors[k]):
                    vectors[k] = np.array(best.vector)
            value = total(self.Q, vectors)
            if value <= before + 1e-12 * abs(before) or self._stop():
                return

    def step(self) -> None:
        """Seek some components anew, first with little regard to orthogonality."""
        if len(self.limits) < 2 or len(self.Q) > LARGEST or self._stop():
            return
        rng, K = self._rng, len(self.limits)
        if self._present is None or self._idle > PATIENCE:
            X = np.array([self._random(k) for k in range(K)])
            for penalty in PENALTIES:
                self._sweep(X, rng.permutation(K), penalty)
            self._present, self._idle = None, 0
        else:
            X = np.array(self._present)
            chosen = rng.choice(K, int(rng.integers(2, min(K, 4) + 1)), replace=False)
            X[chosen[0]] = self._random(int(chosen[0]))
            first = float(rng.choice([0.1, 0.2, 0.4]))
            for penalty in (first, 2 * first, 1.0, 4.0, 20.0):
                self._sweep(X, rng.permutation(chosen if penalty < 4 else K), penalty)
        made = self._repaired(list(X))
        value = -math.inf if self._present is None else total(self.Q, self._present)
        self._idle += 1
        if made is None or total(self.Q, made) < value - 0.015 * abs(value):
            return
        made = self._ascend(made)
        if total(self.Q, made) > value + 1e-9 * abs(value):
            self._present, self._idle = made, 0

    def _random(self, k: int) -> Array:
        noise = self._rng.standard_normal((len(self.Q), len(self.Q)))
        noise = noise @ noise.T * (self._largest / len(self.Q))
        return self._respond[self.limits[k]].best(self.Q - noise)

    def _sweep(self, X: Array, order: IntArray, penalty: float) -> None:
        for k in order:
            others = X.T @ X - np.outer(X[k], X[k])
            limit = self.limits[k]
            X[k] = self._respond[limit].best(self.Q - penalty * self._largest * others)

    def _repaired(self, vectors: Sequence[Array]) -> list[Array] | None:
        """Orthonormal vectors on the supports given, as far as there are any."""
        order = np.argsort([-float(x @ self.Q @ x) for x in vectors], kind="stable")
        found: list[Array] = []
        for k in order:
            problem = self._problem(int(k), found)
            best = best_on_support(problem, np.flatnonzero(vectors[k]))
            if best is None:
                best = _best(problem, None)
            if best is None:
                return None
            found.append(np.array(best.vector))
        placed = [found[0]] * len(found)
        for place, k in enumerate(order):
            placed[k] = found[place]
        return placed

    def _problem(self, k: int, others: Sequence[Array]) -> Subproblem:
        columns = np.column_stack([np.zeros((len(self.Q), 0)), *others])
        return Subproblem(self.Q, self.limits[k], np.ascontiguousarray(columns))

    def _ascend(self, start: Sequence[Array]) -> list[Array]:
        """Improve components one at a time, each orthogonal to the others, as long as it helps."""
        found = [np.array(x) for x in start]
        value = total(self.Q, found)
        for _ in range(ROUNDS):
            before = value
            for k in range(len(found)):
                if self._stop():
                    break
                others = found[:k] + found[k + 1 :]
                problem = self._problem(k, others)
                present = float(found[k] @ self.Q @ found[k])
                respond = self._respond[self.limits[k]]
                if respond.is_exact:
                    taken = HARD * self._largest * np.array(others).T @ np.array(others)
                    best = best_on_support(problem, np.flatnonzero(respond.best(self.Q - taken)))
                else:
                    best = _best(problem, Candidate(present, found[k]))
                if best is not None and best.value > present:
                    found[k] = np.array(best.vector)
            value = total(self.Q, found)
            if value <= before + 1e-12 * abs(before) or self._stop():
                break
        if value > self.value - PROMISING * abs(self.value) and not self._stop():
            found = self._turn([np.flatnonzero(x) for x in found], found)
        self.offer(found)
        return found


class _Response:
    """The best sparse vector for a matrix."""

    def __init__(self, Q: Array, limit: int) -> None:
        n = len(Q)
        self.limit = min(limit, n)
        self._supports: IntArray | None = None
        if math.comb(n, self.limit) <= ALL_TRIED:
            flat = itertools.chain.from_iterable(itertools.combinations(range(n), self.limit))
            self._supports = np.fromiter(flat, np.intp).reshape(-1, self.limit)

    @property
    def is_exact(self) -> bool:
        """Whether all supports are tried."""
        return self._supports is not None

    def best(self, A: Array) -> Array:
        """Return it, or a good one."""
        if self._supports is None:
            found = find_incumbent(Subproblem(A, self.limit, np.zeros((len(A), 0))))
            assert found is not None
            return np.array(found.vector)
        rows = self._supports
        matrices = A[rows[:, :, None], rows[:, None, :]]
        leader = int(np.argmax(np.linalg.eigvalsh(matrices)[:, -1]))
        x = np.zeros(len(A))
        x[rows[leader]] = np.linalg.eigh(matrices[leader])[1][:, -1]
        return x


def _best(problem: Subproblem, present: Candidate | None) -> Candidate | None:
    """A good vector orthogonal to the others, not worse than the one there is."""
    part, kept = problem.without_spent_features()
    if len(kept) == 0:
        return None
    better = []
    if present is not None:
        better.append(polish(part, Candidate(present.value, present.vector[kept])))
    found = find_incumbent(part)
    if found is not None:
        better.append(found)
    if not better:
        return None
    best = max(better, key=lambda candidate: candidate.value)
    return best.embedded(kept, problem.n_features)


def _largest_eigenvalue(Q: Array) -> float:
    """An estimate of the largest magnitude of an eigenvalue, by a few steps of power iteration."""
    x = np.ones(len(Q)) / math.sqrt(len(Q))
    size = 0.0
    for _ in range(20):
        y = Q @ x
        size = float(np.linalg.norm(y))
        if size == 0.0:
            break
        x = y / size
    return max(size, float(np.abs(Q.diagonal()).max(initial=0.0)))
