"""Check certificates of lists of supports, and of sets of components as a whole.

A part of the checker ``verify.py``, which calls it, and with ``verify_ladder.py`` all that it needs
of the package.  ``docs/theory/trust.md`` derives every inequality used here.

A list says of some supports: *no other one reaches the level L*.  The argument is a ladder as that
of a component, but that it ends with a tree, which may end in supports listed.

A set says: *no such set of components, one orthogonal to the other, has a total variance above U*.
The argument is a matrix A with Q - A positive semidefinite, and for each sparsity a ladder of A:
``Σ xᵀQx ≤ tr(Q - A) + Σ xᵀAx`` for orthonormal x.  Or it is a tree of nodes, each with a matrix of
its own, over the patterns that components may have.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

#: No vector on a listed support has more than is said, up to this share of the largest entry.
LARGEST_EXCESS = 1e-9
#: Patterns of components, at most, that are looked at.
MOST_PATTERNS = 100_000

Array = Any
# ``base`` is the module verify.py, whichever way it was loaded, and ``check`` its check.


def check_list(base: Any, check: Any, source: Any, limits: list[int], asked: Any) -> None:
    """Every support that is listed has its variance, and no other one reaches the level."""
    ladder, Rejected = base.ladder, base.Rejected
    n, claims = source.n, base._entry(check.manifest, "alternatives", dict)
    (p,) = limits
    count = base._entry(claims, "count", int)
    given = base._entry(claims, "previous", int)
    previous = ladder.numbers(check.arrays, "previous.npy", (given, n))
    for k, x in enumerate(previous):
        base.check_vector(x, previous[:k], n, f"previous component {k + 1}")
    if len(asked.previous) or asked.disjoint or asked.uncorrelated:
        raise Rejected("problem: of a list no more is asked than features in or out")
    X, F, E = asked.stage(0, previous, source)
    spent = ladder.used_up(X, F, E)
    p = min(p, n - len(spent))
    if count == 0:
        base.check_exhausted(p, X, F, E)
        check.proved.append(-math.inf)
        check.statement = f"no vector on {base._several(limits[0], 'feature')} is left"
        return
    tolerance = base._entry(claims, "tolerance", float)
    level, within = Fraction(base._entry(claims, "level", float)), Fraction(tolerance)
    variances = ladder.numbers(check.arrays, "list/variances.npy", (count,))
    loadings = ladder.numbers(check.arrays, "list/loadings.npy", (count, p))
    supports = ladder.Lists(check.arrays, "list/supports", n, count)
    listed: dict[tuple[int, ...], float] = {}
    best = -math.inf
    entries = np.abs(source.given) if source.formed else np.square(source.given).sum(axis=0)
    size = float(entries.max()) or 1.0
    for i, value in enumerate(variances.tolist()):
        ladder.check_time()
        where, T = f"support {i + 1}", tuple(supports[i].tolist())
        if len(T) != p or T in listed or not spent.isdisjoint(T):
            raise Rejected(f"{where}: {list(T)} is not one more choice of {p} features")
        if not F.issubset(T):
            raise Rejected(f"{where}: {list(T)} lacks what is included")
        x = np.zeros(n)
        x[supports[i]] = loadings[i]
        exact = base.check_component(source, x, previous, p, value, where, F, E)
        if exact < level:
            raise Rejected(f"{where}: {value!r} does not reach the level")
        best = max(best, exact)
        listed[T] = value + LARGEST_EXCESS * size
    if within < 0 or level > best - within * abs(best):
        raise Rejected(f"list: what is within {tolerance!r} of the best may be below it")

    def reach(T: tuple[int, ...], claimed: float) -> float:
        """How far a support may reach; a feature that is used up is in none that counts."""
        if len(T) == p and not spent.isdisjoint(T):
            return math.inf
        return listed.get(T, claimed)

    proof = ladder.Stage(source, X, F, E, reach)
    bounds = dict(check.ladder(proof, "stage-0", p, [], "list", listing=True))
    if not bounds.get(p, math.inf) <= level:
        raise Rejected(f"list: {float(level)!r} is claimed and only {bounds.get(p)!r} proved")
    check.proved.append(bounds[p])
    for i, (T, value) in enumerate(zip(listed, variances.tolist(), strict=True), start=1):
        features = ", ".join(str(j + 1) for j in T)
        check.said.append(f"support {i}: variance {base._shown(value, False)}, features {features}")
    # As it is written, so that 0.3 are 30 %.
    share = base._shown(100 * Fraction(repr(tolerance)), False)
    check.statement = (
        f"{base._several(count, 'support')} of {n} features{asked.words()} within {share} % of the "
        f"best variance; every other one is below {base._shown(bounds[p], True)}"
    )


def check_set(base: Any, check: Any, source: Any, limits: list[int], asked: Any) -> None:
    """Every component has its variance, and no set of that kind has more than the bound.

    For orthonormal x and M = Q - A ≥ 0, ``Σ xᵀMx ≤ tr M`` because ``Σ xxᵀ ≤ I``.
    """
    ladder, Rejected = base.ladder, base.Rejected
    if not source.formed:
        raise Rejected("problem: only of a matrix is a set certified as a whole")
    if len(asked.previous) or asked.uncorrelated or asked.nonnegative:
        raise Rejected("problem: of a set no more is asked than features, and that none is shared")
    claims = base._entry(check.manifest, "joint", dict)
    values = base._entries(claims, "variances", float)
    upper = base._entry(claims, "upper_bound", float)
    if len(values) != len(limits):
        raise Rejected(f"problem: {len(limits)} components are asked for, not {len(values)}")
    components = ladder.numbers(check.arrays, "components.npy", (len(limits), source.n))
    for k, (x, p) in enumerate(zip(components, limits, strict=True)):
        _, F, E = asked.stage(k, components[:k], source)
        if asked.disjoint:
            E = E.union(*(own for m, own in enumerate(asked.include) if m != k))
        where = f"component {k + 1}"
        base.check_component(source, x, components[:k], p, values[k], where, F, E)
    total = sum(map(Fraction, values), Fraction(0))
    if "joint/steps.npy" in check.arrays:
        _Tree(base, check, source.given, limits, upper, asked).run()
        proved = Fraction(upper)
    else:
        form, proved = _adjusted(base, check, source)
        proof = ladder.Stage(form, np.zeros((source.n, 0)))
        for k, p in enumerate(sorted(set(limits))):
            bounds = dict(check.ladder(proof, f"stage-{k}", p, [], f"sparsity {p}"))
            if not abs(bounds.get(p, math.inf)) < math.inf:
                raise Rejected(f"sparsity {p}: nothing is proved")
            proved += limits.count(p) * Fraction(bounds[p])
    if not proved <= upper:
        raise Rejected(f"set: {upper!r} is claimed and only {rounded_up(proved)!r} proved")
    if total > upper:
        raise Rejected(f"set: {upper!r} is claimed and the components have {float(total)!r}")
    check.joint = (-rounded_up(-total), rounded_up(proved))
    check.said += [
        f"component {k + 1}: variance {base._shown(value, False)}" for k, value in enumerate(values)
    ]
    check.statement = (
        f"{base._several(len(limits), 'component')} of {source.n} features{asked.words()}, "
        f"with a total variance of {base._shown(total, False)}; "
        f"no such set exceeds {base._shown(proved, True)}; "
        f"the gap is {base._percent(base._gap(total, proved))}"
    )


def _adjusted(base: Any, check: Any, source: Any) -> tuple[Any, Fraction]:
    """A, which is Q but for some features, with Q - A positive semidefinite; its trace."""
    ladder, Rejected, Q = base.ladder, base.Rejected, source.given
    at = ladder.integers(check.arrays, "joint/at.npy", 0, source.n - 1)
    if not (np.diff(at) > 0).all():
        raise Rejected("joint/at: features are not in order")
    block = ladder.numbers(check.arrays, "joint/block.npy", (len(at), len(at)), 1e150)
    if not (block == block.T).all():
        raise Rejected("joint/block: the matrix is not symmetric")
    difference = Q[np.ix_(at, at)] - block
    # The only rounding so far, and relative to what came out.
    radius = ladder.UNIT * float(np.abs(difference).max(initial=0))
    if not ladder.is_positive_definite(difference, radius):
        raise Rejected("joint/block: the matrix is not proved to be below the one in question")
    A = Q.copy()
    A[np.ix_(at, at)] = block
    pairs = zip(Q.diagonal()[at].tolist(), block.diagonal().tolist(), strict=True)
    trace = sum((Fraction(q) - Fraction(a) for q, a in pairs), Fraction(0))
    return ladder.Source(A, "matrix", source.count + 1), trace


class _Tree:
    """A search over the patterns of the components, done again.

    A pattern is the set of features on which a vector is not zero.  Components of which the same
    is known are a group: a number of them, and the patterns that each may have.  With a matrix A as
    above, and levels that no pattern of a group exceeds in A, no set of a node has more than
    ``tr(Q - A)`` and the levels; a pattern that is so low that a set with it is below the bound
    claimed is dropped.  A node is split by how many components of a group use a feature.

    Each use of a feature may have a price: of the form on a pattern the prices of its features are
    taken, and feature i costs ``(Q - A)_ii`` and its price for each of its users, or nothing if
    there is none; at worst, as far as the node knows how many there are.
    """

    def __init__(
        self, base: Any, check: Any, Q: Array, limits: list[int], upper: float, asked: Any
    ) -> None:
        self.base, self.Q, self.upper, n = base, Q, upper, len(Q)
        self.tick, ladder = check._tick, base.ladder
        sizes = range(1, max(limits) + 1)
        if sum(math.comb(n, s) for s in sizes) > MOST_PATTERNS:
            raise base.Rejected("set: more patterns than can be looked at")
        #: Patterns by size, and which features each of them has.
        self.rows: list[Array] = [
            np.array(list(itertools.combinations(range(n), s)), dtype=np.int64) for s in sizes
        ]
        self.inside = np.zeros((sum(map(len, self.rows)), n), dtype=bool)
        self.starts = np.cumsum([0, *map(len, self.rows)])
        for start, rows in zip(self.starts, self.rows, strict=False):
            self.inside[start + np.arange(len(rows))[:, None], rows] = True
        self.disjoint = asked.disjoint
        slots = [self._slot(k, p, asked) for k, p in enumerate(limits)]
        self.groups = [
            (slots.count(slot), self._allowed(*slot), np.zeros(n, bool), np.ones(n, bool))
            for slot in dict.fromkeys(sorted(slots, key=lambda slot: slot[0]))
        ]
        steps = ladder.integers(check.arrays, "joint/steps.npy", -2, 2**31 - 1)
        self.steps = steps.reshape(-1, 3).tolist()
        number = len(check.arrays["joint/matrices.npy"])
        shape = (number, n * (n + 1) // 2)
        self.matrices = ladder.numbers(check.arrays, "joint/matrices.npy", shape, 1e150)
        self.prices = np.zeros((number, n))
        if "joint/prices.npy" in check.arrays:
            self.prices = ladder.numbers(check.arrays, "joint/prices.npy", (number, n), 1e150)

    def _slot(self, k: int, p: int, asked: Any) -> tuple[int, Any, Any]:
        """Sparsity, and features in and out; of disjoint ones, those of all others are out."""
        others = [F for m, F in enumerate(asked.include) if m != k] if asked.disjoint else []
        E = asked.exclude[k].union(*others)
        return min(p, len(self.Q) - len(E)), asked.include[k], E

    def _allowed(self, p: int, F: Any, E: Any) -> Array:
        """Patterns that with what is included have p features at most, and none that is out."""
        more = self.inside.sum(axis=1) - self.inside[:, list(F)].sum(axis=1)
        return ~self.inside[:, list(E)].any(axis=1) & (more + len(F) <= p)

    def run(self) -> None:
        """Every set is in a node whose bound is not above what is claimed, or that is empty."""
        Rejected = self.base.Rejected
        pending: list[tuple[list[Any], Any]] = [(self.groups, math.inf)]
        for number, (g, feature, matrix) in enumerate(self.steps):
            self.tick()
            where = f"set, step {number + 1}"
            if not pending:
                raise Rejected(f"{where}: nothing is left to do")
            groups, bound = pending.pop()
            if matrix >= 0:
                groups, bound = self._bounded(groups, bound, matrix, where)
            if g == -2:
                pending.append((groups, bound))
            elif g >= 0:
                pending += self._split(groups, bound, g, feature)
            elif not (bound <= self.upper or self._is_empty(groups)):
                raise Rejected(f"{where}: a node is above the bound")
        if pending:
            raise Rejected("set: the tree ends too early")

    def _split(self, groups: Any, bound: Any, g: int, feature: int) -> list[Any]:
        """Nodes for each number of components of a group that use a feature, the first one last.

        If components are disjoint, one at most uses it, and then no other one does.
        """
        (count, *own), nodes = groups[g], []
        for number in range(min(count, 1) if self.disjoint else count, -1, -1):
            others = groups[:g] + groups[g + 1 :]
            if self.disjoint and number:
                others = [(k, *self._using(feature, False, *known)) for k, *known in others]
            parts = [
                (k, *self._using(feature, uses, *own))
                for k, uses in ((number, True), (count - number, False))
                if k
            ]
            nodes.append((others + parts, bound))
        return nodes

    def _using(self, feature: int, uses: bool, which: Array, must: Array, may: Array) -> Any:
        """Patterns with or without a feature, and the features that all and that any may have."""
        here = np.arange(len(must)) == feature
        if uses:
            return which & self.inside[:, feature], must | here, may
        return which & ~self.inside[:, feature], must, may & ~here

    def _cost(self, groups: Any, A: Array, prices: Array) -> Fraction:
        """What the features cost at worst, with as many users as the node allows."""
        total = Fraction(0)
        for i, price in enumerate(map(Fraction, prices.tolist())):
            least = sum(count for count, _, must, _ in groups if must[i])
            most = sum(count for count, _, _, may in groups if may[i])
            most = min(most, 1) if self.disjoint else most
            own = Fraction(float(self.Q[i, i])) - Fraction(float(A[i, i]))
            # It is linear in the number of users, from one of them on.
            numbers = (max(least, 1), most) if most else ()
            costs = [own + price * users for users in numbers]
            total += max([*costs, Fraction(0)] if least == 0 else costs)
        return total

    def _is_empty(self, groups: Any) -> bool:
        """Whether a group has no pattern, or two patterns have one feature in common; or any.

        Two vectors are not orthogonal if there is just one feature where neither is zero.
        """
        if not all(which.any() for _, which, *_ in groups):
            return True
        settled = [
            self.inside[np.flatnonzero(which)[0]]
            for count, which, *_ in groups
            if np.count_nonzero(which) == 1
            for _ in range(min(count, 2))
        ]
        common = [np.count_nonzero(a & b) for a, b in itertools.combinations(settled, 2)]
        return any(common) if self.disjoint else 1 in common

    def _bounded(self, groups: Any, bound: Any, number: int, where: str) -> tuple[Any, Any]:
        """The bound that a matrix and prices prove, and the patterns that are not below it."""
        ladder, n, prices = self.base.ladder, len(self.Q), self.prices[number]
        A, at = np.zeros((n, n)), np.tril_indices(n)
        A[at] = A.T[at] = self.matrices[number]
        difference = self.Q - A
        radius = ladder.UNIT * float(np.abs(difference).max())
        if not ladder.is_positive_definite(difference, radius):
            raise self.base.Rejected(f"{where}: the matrix is not proved to be below")
        if not all(which.any() for _, which, *_ in groups):
            return groups, bound
        levels = [self._level(A, which, prices) for _, which, *_ in groups]
        if not all(map(math.isfinite, levels)):
            return groups, bound
        total = self._cost(groups, A, prices) + sum(
            count * Fraction(level) for (count, *_), level in zip(groups, levels, strict=True)
        )
        left = []
        for (count, which, *known), level in zip(groups, levels, strict=True):
            # A set with a pattern below this is below the bound that is claimed.
            threshold = -rounded_up(total - Fraction(level) - Fraction(self.upper))
            left.append((count, which & ~self._below(A, which, threshold, prices), *known))
        return left, min(bound, total)

    def _level(self, A: Array, which: Array, prices: Array) -> float:
        """A number that no pattern of a group exceeds in A, less what it costs."""
        size = float(np.abs(A).max()) + float(np.abs(prices).max())
        top, slack = -math.inf, 1e-13 * (size + 1e-280)
        for rows in self._chosen(which):
            if len(rows):
                stack = A[rows[:, :, None], rows[:, None, :]]
                values = np.linalg.eigvalsh(stack)[:, -1] - prices[rows].sum(axis=1)
                top = max(top, float(values.max()))
        for _ in range(12):
            if self._below(A, which, top + slack, prices)[which].all():
                return top + slack
            slack *= 8
        return math.inf

    def _chosen(self, which: Array) -> Iterator[Array]:
        """Some patterns, by their size."""
        for start, rows in zip(self.starts, self.rows, strict=False):
            yield rows[which[start : start + len(rows)]]

    def _below(self, A: Array, which: Array, level: float, prices: Array) -> Array:
        """Of which patterns it is proved that the eigenvalues of A, less prices, are below."""
        parts = []
        for rows in self._chosen(which):
            # Sums of a few numbers: twice their roundings, and what underflows, is taken off.
            paid = prices[rows]
            sizes = np.abs(paid).sum(axis=1) + abs(level)
            unit, tiny = self.base.ladder.UNIT, self.base.ladder.TINY
            levels = paid.sum(axis=1) + level - 2 * (rows.shape[1] + 4) * unit * sizes - tiny
            parts.append(self._stack_is_below(A, rows, levels))
        proved = np.zeros(len(which), dtype=bool)
        proved[which] = np.concatenate(parts)
        return proved

    def _stack_is_below(self, A: Array, rows: Array, levels: Array) -> Array:
        """The test of definiteness of ``verify_ladder.py``, of many matrices at once."""
        unit, tiny, n = self.base.ladder.UNIT, self.base.ladder.TINY, rows.shape[1]
        stack = -A[rows[:, :, None], rows[:, None, :]]
        own = np.arange(n)
        stack[:, own, own] += levels[:, None]
        diagonal = stack[:, own, own]
        proved = (diagonal >= 0).all(axis=1)
        stack[:, own, own] -= (1.01 * (n + 4) * unit * diagonal.sum(axis=1) + tiny)[:, None]
        for k in range(n):
            pivot = stack[:, k, k]
            proved &= pivot > 0
            column = stack[:, k + 1 :, k] / np.sqrt(np.where(proved, pivot, 1.0))[:, None]
            stack[:, k + 1 :, k + 1 :] -= column[:, :, None] * column[:, None, :]
        return proved & np.isfinite(stack).all(axis=(1, 2))


def rounded_up(exact: Fraction) -> float:
    """Return the least double that is not below a number."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


CHECKS = {"alternatives": check_list, "joint": check_set}
