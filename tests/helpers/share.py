"""Nodes for the bound of the share relaxation, and multipliers for it: bad, good and critical.

What is claimed of a node is compared with each of its supports in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from helpers import strategies
from helpers.brute_force import sequence
from helpers.cases import largest_entry, supports_of
from orthospca.bounds.share.claim import Claim, Multipliers
from orthospca.bounds.share.method import ShareMethod
from orthospca.model.stage import Subproblem

#: What a matrix of some kind is multiplied by.
SCALES = (1.0, 1.0, 1.0, 1e12, 1e-12, 3.0)


def power_of_two(size: float) -> float:
    """The power of two next to a positive number."""
    return float(2.0 ** np.round(np.log2(size)))


class ShareNode:
    """A stage and a node of it: supports of p allowed features, the included ones among them."""

    def __init__(
        self,
        matrix: np.ndarray,
        previous: np.ndarray,
        p: int,
        included: np.ndarray,
        allowed: np.ndarray,
    ) -> None:
        self.matrix, self.previous, self.p = matrix, previous, p
        self.included, self.allowed = included, allowed
        self.problem = Subproblem(matrix, p, np.ascontiguousarray(previous.T))
        self.all = supports_of(matrix, previous, p)
        low, high = set(included.tolist()), set(allowed.tolist())
        self.supports = [T for T in self.all.values if low <= set(T) <= high]
        self.scale = largest_entry(matrix)

    @classmethod
    def random(cls, seed: int, largest: int = 7) -> ShareNode:
        """Every kind of matrix, stages one to three, some features in and some out."""
        rng = np.random.default_rng([seed, 7])
        kind = strategies.KINDS[seed % len(strategies.KINDS)].replace("-", "_")
        n = int(rng.integers(2, largest + 1))
        p = int(rng.integers(1, min(4, n) + 1))
        matrix = getattr(strategies, kind)(rng, n) * float(rng.choice(SCALES))
        previous = _components(rng, matrix, p)
        allowed = np.sort(rng.permutation(n)[: int(rng.choice([n, n, rng.integers(p, n + 1)]))])
        forced = int(rng.choice([0, 0, rng.integers(0, p)]))
        included = np.sort(rng.permutation(allowed)[:forced])
        return cls(matrix, previous, p, included, allowed)

    @property
    def free(self) -> np.ndarray:
        return np.setdiff1d(self.allowed, self.included)

    @property
    def optimum(self) -> float:
        """The best value in the node, in floating point; -inf if nothing is feasible."""
        return max((self.all.values[T] for T in self.supports), default=-np.inf)

    def above(self, bound: float, among: Iterable[tuple[int, ...]] | None = None) -> object:
        """A support of the node with more than the bound, decided exactly, or None."""
        return self.all.above(bound, self.supports if among is None else among)

    def having(self, features: np.ndarray) -> list[tuple[int, ...]]:
        """The supports that contain some of the features."""
        return [T for T in self.supports if set(T) & set(features.tolist())]

    def lacking(self, feature: int) -> list[tuple[int, ...]]:
        """The supports that do not contain a feature."""
        return [T for T in self.supports if feature not in T]

    def claim(self, multipliers: Multipliers) -> Claim:
        return Claim(self.problem, self.included, multipliers)

    def method(self) -> ShareMethod:
        """The first-order method on the node, at its start."""
        Q = self.problem.projected[np.ix_(self.allowed, self.allowed)]
        optimum = self.optimum if self.supports else 0.0
        unit = power_of_two(max(abs(optimum), 1e-3 * self.problem.scale))
        W = self.problem.touching(self.allowed)
        return ShareMethod(Q, W, self.p, self.allowed, self.included, unit)

    def converged(self, iterations: int) -> Multipliers:
        """Multipliers after so many iterations."""
        method = self.method()
        method.run(iterations, lambda: False)
        return method.multipliers()


def _components(rng: np.random.Generator, matrix: np.ndarray, p: int) -> np.ndarray:
    """No components, one or two of the sequence, or some that have nothing to do with it."""
    n, choice = len(matrix), rng.integers(4)
    if choice <= 1:
        return np.empty((0, n))
    if choice == 2:
        found = sequence(matrix, [p] * int(rng.integers(1, 3)))
        return np.array([optimum.vector for optimum in found])
    count = int(rng.integers(1, min(3, n)))
    vectors = rng.standard_normal((n, count)) * (rng.random((n, 1)) < 0.6)
    vectors[0] += 1.0
    return np.ascontiguousarray(np.linalg.qr(vectors)[0].T)


def random_multipliers(rng: np.random.Generator, node: ShareNode) -> Multipliers:
    """Mostly bad ones: N, ratios and c of any signs and sizes, absurd ones among them."""
    m = len(node.allowed)
    unit = power_of_two(node.scale) * 2.0 ** int(rng.choice([0, 0, 0, -20, 20]))
    Q = node.problem.projected[np.ix_(node.allowed, node.allowed)] / unit
    noise = rng.standard_normal((m, m))
    N = (
        np.zeros((m, m)),
        Q,
        Q * rng.uniform(0, 1.2, size=(m, m)),
        Q * (rng.random((m, m)) < 0.5),
        np.clip(Q, -0.3, 0.3),
        noise * 10.0 ** rng.uniform(-6, 2),
        noise * 10.0 ** rng.uniform(-25, 25),
    )[int(rng.integers(7))]
    size = 10.0 ** float(rng.choice([0.0, 0.0, -1.0, rng.uniform(-12, 12)]))
    c = (
        np.zeros(m),
        np.abs(rng.standard_normal(m)) * size,
        rng.standard_normal(m) * size,
        -np.abs(rng.standard_normal(m)) * size,
        np.full(m, float(rng.standard_normal()) * size),
        rng.integers(-1, 2, size=m) * size,
        rng.standard_normal(m) * 10.0 ** rng.uniform(-12, 12, size=m),
    )[int(rng.integers(7))]
    ratios = (
        np.ones((m, m)),
        10.0 ** rng.uniform(-1, 1, size=(m, m)),
        10.0 ** rng.uniform(-20, 20, size=(m, m)),
        np.outer(noise[0], 1 / noise[0]) ** 2,
    )[int(rng.integers(4))]
    multipliers = Multipliers.of(node.allowed, N, ratios, c, unit)
    if rng.random() < 0.2:
        # Ratios that are their own inverses, without the little more.
        exact = 2.0 ** rng.integers(-3, 4, size=(m, m)).astype(float)
        both = np.tril(exact, -1) + np.tril(1 / exact, -1).T
        multipliers = Multipliers(
            node.allowed, multipliers.N, both.astype(np.float32), multipliers.c, unit
        )
    return multipliers


class Tight:
    """Sets of features for which the bound is their value up to rounding.

    On a set S of p features let y have powers of two for entries, and let Q have any entries in
    single precision off the diagonal and the diagonal for which ``Q(sy) = λ(sy)``, the signs s
    being such that all ``s_i Q_ij s_j ≥ 0``.  With N = Q off the diagonal and
    ``G_ij = |Q_ij| y_i / y_j`` the matrix ``Q - N + Diag(Σ_i G_ij)`` is λ on S; and λ is the
    largest eigenvalue of Q there, as ``sy`` is its vector of Perron and Frobenius.  There is one
    such set that is all there is, where any c will do; or a second one at a level a little below,
    and zero between the two.  There may be a component before, to which ``sy`` is orthogonal
    exactly.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng([seed, 11])
        self.p = p = int(rng.integers(1, 5))
        self.alone = bool(rng.random() < 0.3)
        extra = 0 if self.alone else int(rng.integers(0, 3))
        n = p if self.alone else 2 * p + extra
        self.unit = unit = power_of_two(float(rng.choice([1.0, 1.0, 1e12, 1e-12])))
        Q, ratios = np.zeros((n, n)), np.ones((n, n))
        top = float(rng.choice([1.0, -1.0, 0.0])) * rng.uniform(0.5, 40) * unit
        order = rng.permutation(n)
        self.sets = [np.sort(order[:p]), np.sort(order[p : 2 * p])][: 1 if self.alone else 2]
        below = top - unit * float(rng.choice([0.0, 1e-15, 1e-9, 1e-3, 1.0]))
        equal = bool(rng.random() < 0.5)
        leading: list[np.ndarray] = []
        for S, value in zip(self.sets, (top, below), strict=False):
            size = rng.uniform(0.1, 2, size=(p, p)).astype(np.float32)
            y = 2.0 ** rng.integers(-2, 3, size=p)
            if equal:
                size[:], y[:] = rng.uniform(0.1, 2), 1.0
            block = (np.tril(size, -1) + np.tril(size, -1).T).astype(float) * unit
            signs = rng.choice([-1.0, 1.0], size=p)
            leading.append(signs * y)
            share = y[:, None] / y
            diagonal = value - (block * share).sum(axis=0)
            Q[np.ix_(S, S)] = block * np.outer(signs, signs) + np.diag(diagonal)
            ratios[np.ix_(S, S)] = share
        rest = order[2 * p :]
        Q[rest, rest] = below - unit * rng.uniform(0, 5, size=extra)
        previous = np.zeros((int(p > 1 and rng.random() < 0.4), n))
        if len(previous):
            # Exactly orthogonal to the leading vector, and perhaps nearly nothing on the set.
            (a, b), small = leading[0][:2] / 8, 2.0 ** -int(rng.choice([0, 0, 20, 30]))
            previous[0, self.sets[0][:2]] = small * b, -small * a
            previous[0, rest[:1]] = 0.75
        forced = int(rng.choice([0, 0, p - 1, rng.integers(0, p)]))
        included = np.sort(rng.permutation(self.sets[0])[:forced])
        self.node = ShareNode(Q, previous, p, included, np.arange(n))
        self._N = ((Q - np.diag(Q.diagonal())) / unit).astype(np.float32)
        self._ratios = ratios.astype(np.float32)

    def multipliers(self, size: float) -> Multipliers:
        """Those above, with a c of some size."""
        n = len(self.node.matrix)
        c = self.rng.standard_normal(n if self.alone else 1) * size
        c = np.broadcast_to(c, n).astype(np.float32)
        return Multipliers(np.arange(n), self._N, self._ratios, c, self.unit)
