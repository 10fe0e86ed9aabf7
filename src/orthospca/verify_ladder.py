"""Why a bound of a certificate holds: ladders, sieves and trees, and the arithmetic they rest on.

A part of the checker ``verify.py``, which says what is claimed; like it, it needs Python and NumPy
and nothing else of the package, and is copied with it.  ``docs/theory/trust.md`` derives every
inequality used here.

The argument for a bound on all vectors with at most p nonzeros that are orthogonal to some others
is a ladder.  For s = 1, 2, …, p a rung claims a bound b_s for s nonzeros, for one of these reasons:

- SINGLE: b_1 is the largest variance of a feature that no component uses;
- SIEVE: at a level L, the border rule rules out every feature that is not kept, and a tree deals
  with every support among those kept, by conditioning or by multipliers of the share relaxation;
- CAP: an earlier stage, in which more vectors are feasible, has that bound;
- SUMS: no support has rows with larger sums, or of data variances with a larger sum.

Where features F are included, the ladder begins with a rung for F alone, and the border rule does
not speak of F.  Everything is computed anew, in floating point, with errors bounded on the
unfavourable side.
"""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

SINGLE, SIEVE, CAP, SUMS = range(4)
#: Unit roundoff of double precision, and more than all that underflow can take from a sum.
UNIT, TINY = 2.0**-53, 1e-290
#: Components are unit vectors, and orthogonal to each other, up to this.
ORTHOGONALITY = 1e-12
#: Where it is claimed that no orthogonal vector is left, there is none that is so up to this.
SINGULAR = 0.98 * ORTHOGONALITY
#: At most: sums of squares of rows that are kept, features of which a part of ``BᵀB`` is formed …
MOST_SUMS, LARGEST_PART = 2**25, 6000
#: … and supports of one leaf that are tested one by one.
LARGEST_LEAF = 100_000
#: Multiples of the level by which vectors that are not feasible are pushed down, tried in turn.
PENALTIES = (0.0, 10.0, 1e3, 1e5)
#: Rounds of weights that a step is given, and whether what each of them shows is used.
WEIGHTS = ((3, False), (8, True))

Array = Any
Features = frozenset[int]
Reach = Callable[[tuple[int, ...], float], float]


class Unreadable(ValueError):
    """The file is not a certificate, or damaged so that nothing can be said of it."""


class Undecided(Unreadable):
    """A limit was met, or something is not there: nothing is proved, and nothing refuted."""


class Rejected(Exception):
    """Something that the certificate claims does not follow."""


#: When the check began, and how long it may take.
LIMIT: ContextVar[tuple[float, float]] = ContextVar("LIMIT", default=(0.0, math.inf))


def check_time() -> None:
    """Asked wherever work may go on for long."""
    begin, limit = LIMIT.get()
    if time.monotonic() - begin > limit:
        raise Undecided(
            f"the time limit of {limit:g} s was reached: raise time_limit (--time-limit)"
        )


# What is written in arrays


def numbers(
    arrays: Mapping[str, Array],
    name: str,
    shape: tuple[int, ...],
    largest: float = 1e300,
    kind: type = np.float64,
) -> Array:
    """An array of floating-point numbers within limits."""
    array = arrays.get(name)
    if array is None or array.dtype != kind or array.shape != shape:
        raise Rejected(f"{name}: an array of shape {shape} is expected")
    if not (np.abs(array) <= largest).all():
        raise Rejected(f"{name}: entries that are not numbers")
    return array


def integers(arrays: Mapping[str, Array], name: str, least: int, most: int) -> Array:
    """A list of integers within limits."""
    array = arrays[name]
    if array.dtype.kind != "i" or array.ndim != 1:
        raise Rejected(f"{name}: a list of integers is expected")
    if len(array) and not (array.min() >= least and array.max() <= most):
        raise Rejected(f"{name}: a number that cannot be")
    return array.astype(np.int64)


def _parts(arrays: Mapping[str, Array], name: str, count: int, total: int) -> Array:
    """Where lists that were written end to end begin, and where the last one ends."""
    ends = integers(arrays, f"{name}_ends.npy", 0, total)
    if len(ends) != count or (np.diff(ends) < 0).any() or (ends[-1] if count else 0) != total:
        raise Rejected(f"{name}: the parts do not add up")
    return np.concatenate([[0], ends])


class Lists:
    """Lists of features, each in ascending order; one is cut out when it is asked for."""

    def __init__(self, arrays: Mapping[str, Array], name: str, n: int, count: int) -> None:
        self.values = integers(arrays, f"{name}.npy", 0, n - 1)
        self.ends = _parts(arrays, name, count, len(self.values))
        falls = np.flatnonzero(np.diff(self.values) <= 0) + 1
        if not np.isin(falls, self.ends).all():
            raise Rejected(f"{name}: features are not in order")

    def __getitem__(self, i: int) -> Array:
        return self.values[self.ends[i] : self.ends[i + 1]]


# Ladders


def prove(
    arrays: Mapping[str, Array],
    proof: Stage,
    folder: str,
    p: int,
    caps: list[dict[int, float]],
    where: str,
    tick: Callable[[], None],
    listing: bool = False,
) -> Iterator[tuple[int, float]]:
    """Prove the rungs of a ladder, of whatever matrix it is, from the first to the last."""
    n = proof.n
    if f"{folder}/kinds.npy" not in arrays:
        return
    kinds = integers(arrays, f"{folder}/kinds.npy", SINGLE, SUMS)
    first, count = max(len(proof.included), 1), len(kinds)
    if first - 1 + count > p:
        raise Rejected(f"{where}: more rungs than there can be")
    bounds = numbers(arrays, f"{folder}/bounds.npy", (count,), math.inf)
    levels = numbers(arrays, f"{folder}/levels.npy", (count,))
    kept = Lists(arrays, f"{folder}/kept", n, count)
    branches = integers(arrays, f"{folder}/steps.npy", -1, n - 1)
    begins = _parts(arrays, f"{folder}/steps", count, len(branches))
    removed = Lists(arrays, f"{folder}/removed", n, len(branches))
    forced = Lists(arrays, f"{folder}/forced", n, len(branches))
    claims = _claims(arrays, folder, n, len(branches))
    below = -math.inf
    for i, kind in enumerate(kinds.tolist()):
        check_time()
        s, claimed, level = first + i, float(bounds[i]), float(levels[i])
        place, steps = f"{where}, rung {s}", range(begins[i], begins[i + 1])
        if listing and s == p and not (kind == SIEVE and len(steps)):
            # A bound that some reach says nothing of the others: they must be below it.
            raise Rejected(f"{place}: a list needs a tree that ends in what is listed")
        if kind == SINGLE and s == first:
            bound = proof.first_bound(claimed)
        elif kind == CAP:
            bound = min((r.get(s, math.inf) for r in caps), default=math.inf)
        elif kind == SUMS:
            bound = proof.source.largest_sum(s, proof.usable)
        elif kind == SIEVE:
            tree = ((int(branches[j]), removed[j], forced[j], claims(j)) for j in steps)
            proof.check_sieve(s, level, below, kept[i], place)
            # Supports among fewer than s features have fewer than s of them.
            bound = max(level, below)
            if len(steps) or len(kept[i]) >= s:
                proof.check_tree(s, level, claimed, kept[i], tree, place, tick)
                bound = level
        else:
            raise Rejected(f"{place}: no such reason")
        if not bound <= claimed:
            raise Rejected(f"{place}: {claimed!r} is claimed and only {bound!r} proved")
        below = claimed
        yield s, claimed


# The matrix in question


class Source:
    """Q itself, or ``Q = BᵀB`` of data, of which only parts are ever formed."""

    def __init__(self, given: Array, kind: str, largest: int) -> None:
        self.given, self.n, self.formed = given, given.shape[1], kind == "matrix"
        self.diagonal, self.entry = given.diagonal(), 0.0
        if not self.formed:
            squares, error = np.einsum("ij,ij->j", given, given), rel(len(given) + 4)
            #: How far an entry may be off; the diagonal is rounded up.
            self.entry = error * float(squares.max()) + TINY
            self.diagonal = squares * (1 + error) + TINY
        self.count = max(largest - 1, 1)
        if self.n * self.count > MOST_SUMS:
            raise Rejected("problem: more rows and a larger sparsity than can be checked")
        self._squares = np.full((self.n, self.count), math.inf)

    def part(self, rows: Array, columns: Array) -> Array:
        """Q on some rows and columns, up to ``entry``."""
        if self.formed:
            return self.given[np.ix_(rows, columns)]
        return self.given[:, rows].T @ self.given[:, columns]

    def block(self, at: Array) -> Array:
        """Q on some features, up to ``entry``."""
        if not self.formed and len(at) > LARGEST_PART:
            raise Rejected(f"{len(at)} features are left, too many")
        Q = self.part(at, at)
        return 0.5 * (Q + Q.T)

    def squares(self, s: int, wanted: Array) -> Array:
        """Sums of the s - 1 largest squares of each row, right for the rows that are wanted."""
        new, every = wanted[np.isinf(self._squares[wanted, 0])], np.arange(self.n)
        self._squares[new] = _largest_squares(
            lambda at: np.abs(self.part(at, every)) + self.entry, new, self.count
        )
        return self._squares[:, s - 2]

    def largest_sum(self, s: int, usable: Array) -> float:
        """Gershgorin, with the s - 1 largest entries of each row; of data, the largest trace."""
        diagonal = self.diagonal[usable]
        if not self.formed:
            return float(np.sort(diagonal)[-s:].sum()) * (1 + rel(s))
        rows = np.abs(self.block(usable))
        np.fill_diagonal(rows, 0.0)
        sums = -np.sort(-rows, axis=1)[:, : s - 1].sum(axis=1)
        raised = diagonal + sums + rel(s + 2) * (np.abs(diagonal) + sums) + TINY
        return float(np.where(sums == 0.0, diagonal, raised).max(initial=-math.inf))


def _largest_squares(rows: Callable[[Array], Array], at: Array, count: int) -> Array:
    """Sums of the 1, 2, … largest squares off the diagonal of some rows, rounded up."""
    sums = np.zeros((len(at), count))
    for start in range(0, len(at), 256):
        check_time()
        own = at[start : start + 256]
        tile = rows(own)
        tile[np.arange(len(own)), own] = 0.0
        width = min(count, tile.shape[1])
        tile.partition(tile.shape[1] - width, axis=1)
        top = -np.sort(-tile[:, tile.shape[1] - width :], axis=1)
        sums[start : start + 256, :width] = np.cumsum(top * top, axis=1)
        sums[start : start + 256, width:] = sums[start : start + 256, width - 1 : width]
    return sums * (1 + rel(count + 4)) + TINY


# One stage


class Stage:
    """The form of a stage: ``Q + XBᵀ + BXᵀ``, which is that of Q on every feasible vector.

    A feature that is all of some component is zero in every feasible vector; where Q is formed it
    is left out.  What a support that is tested may reach is the bound that is claimed, unless
    ``reach`` says otherwise of it.
    """

    def __init__(
        self,
        source: Source,
        X: Array,
        F: Features = frozenset(),
        E: Features = frozenset(),
        reach: Reach = lambda T, claimed: claimed,
    ) -> None:
        self.source, self.n, self.reach = source, source.n, reach
        self.included: Array = np.array(sorted(F), dtype=np.int64)
        unusable = used_up(X, F, E) if source.formed else E
        self.spent = np.isin(np.arange(self.n), list(unusable))
        # What is spent is zero in every feasible vector: nothing of X is left there.
        X = np.where(self.spent[:, None], 0.0, X)
        self.X = X[:, X.any(axis=0)]
        self.touched = (self.X != 0).any(axis=1)
        #: The border rule speaks neither of these nor of what is included.
        self.held = self.touched | np.isin(np.arange(self.n), self.included)
        self.usable = np.flatnonzero(~self.spent)
        self.core = (self.usable[:0], np.zeros((0, 0)), np.zeros((0, 0)), 0.0)

    def part(self, at: Array) -> tuple[Array, Array, float]:
        """Q and the form on some features, and how far an entry of these may be off."""
        if not within(at, self.core[0]):
            core = self.usable if self.source.formed else at
            Q = self.source.block(core)
            M, radius = constrained(Q, self.X[core], 0.0)
            self.core = core, Q, M, radius + self.source.entry
        features, Q, M, radius = self.core
        places: Array = np.searchsorted(features, at)
        return Q[np.ix_(places, places)], M[np.ix_(places, places)], radius

    def first_bound(self, claimed: float) -> float:
        """What is included alone, or else the largest variance of a feature that none uses."""
        F = self.included
        if not len(F):
            free = ~self.touched & ~self.spent
            return float(np.max(self.source.diagonal, where=free, initial=-math.inf))
        if claimed == -math.inf:
            return -math.inf if nothing_orthogonal(self.X[F]) else math.inf
        walk = Walk(self, F, len(F), claimed, claimed)
        return claimed if walk.is_below(np.arange(len(F)), claimed) else math.inf

    def check_sieve(self, s: int, level: float, below: float, kept: Array, where: str) -> None:
        """Every feature that is not kept is ruled out by the border rule.

        With x = y + t·e_j, no component using j, y is feasible with one nonzero less, and so
        ``xᵀQx`` is below the level if ``(L - U)(L - Q_jj) > β_j``, U bounding such y.  If Q ≥ 0 it
        is below ``U + Q_jj`` as well.
        """
        stays = np.isin(np.arange(self.n), kept)
        if (self.spent & stays).any():
            raise Rejected(f"{where}: a feature is kept that is used up")
        alive, room = ~self.spent, level - self.source.diagonal
        if not self.source.formed and below > -math.inf:
            total = (self.source.diagonal + max(below, 0.0)) * (1 + rel(2))
            alive &= stays | self.held | ~(total < level)
        beta, of_all = self.source.squares(s, np.flatnonzero(alive & ~stays)), True
        while (alive & ~stays).any():
            check_time()
            product = (level - below) * np.maximum(room, 0.0) * (1 - rel(4))
            out = (product > beta) & (room > 0) & ~self.held & alive
            if not level > below > -math.inf or not (out.any() or of_all):
                lost = int(np.flatnonzero(alive & ~stays)[0])
                raise Rejected(f"{where}: feature {lost} is not ruled out")
            alive &= ~out
            # What is left has shorter rows, and those of the form itself.
            at, of_all = np.flatnonzero(alive), False
            if (alive & ~stays).any():
                _, M, radius = self.part(at)
                M, beta = np.abs(M) + radius, np.full(self.n, math.inf)
                beta[at] = _largest_squares(M.__getitem__, np.arange(len(at)), s - 1)[:, -1]

    def check_tree(
        self,
        s: int,
        level: float,
        claimed: float,
        kept: Array,
        tree: Iterator[tuple[int, Array, Array, Multipliers | None]],
        where: str,
        tick: Callable[[], None],
    ) -> None:
        """Every support of s features among those kept is below the level, or tested."""
        if not within(np.flatnonzero(self.held), kept):
            raise Rejected(f"{where}: a feature that components use, or must, is not kept")
        walk = Walk(self, kept, s, level, claimed)
        pending = [(self.included, np.setdiff1d(kept, self.included))]
        for number, (branch, removed, forced, multipliers) in enumerate(tree):
            place = f"{where}, step {number + 1}"
            tick()
            if not pending:
                raise Rejected(f"{place}: nothing is left to do")
            inside, free = pending.pop()
            left = np.setdiff1d(free, removed, assume_unique=True)
            others = np.setdiff1d(left, [*forced, branch])
            if not (within(removed, free) and within(forced, left)):
                raise Rejected(f"{place}: a feature that is not there")
            if multipliers is not None:
                if branch >= 0 or (len(removed) > 0) + len(forced) != 1:
                    raise Rejected(f"{place}: more than multipliers show at once")
                walk.check_claim(inside, free, removed, forced, multipliers, place)
                if len(left):
                    pending.append((np.union1d(inside, forced), others))
                continue
            if branch < 0 and not len(forced) and (len(left) or not len(free)):
                if len(removed):
                    raise Rejected(f"{place}: features are left")
                walk.check_supports(inside, free, place)
                continue
            if len(removed) or len(forced):
                walk.check_step(inside, free, removed, forced, place)
            if branch >= 0:
                if len(forced) or branch not in left:
                    raise Rejected(f"{place}: a feature that is not there")
                pending.append((inside, others))
                forced = np.array([branch])
            # More features than there is room for are in no support.
            if 0 < len(forced) <= s - len(inside):
                pending.append((np.union1d(inside, forced), others))
        if pending:
            raise Rejected(f"{where}: the tree ends too early")


def used_up(X: Array, F: Features, E: Features) -> Features:
    """Features that are zero in every feasible vector, and have no place in a support.

    They are excluded, or all that some component has of those that are not.
    """
    X = X.copy()
    X[list(E)] = 0.0
    alone = np.count_nonzero(X, axis=0) == 1
    return E.union(np.flatnonzero((X[:, alone] != 0).any(axis=1)).tolist()) - F


class Walk:
    """Steps and leaves of one tree, at one level.

    With F included and ``L·I - A_F = CCᵀ``, ``H = C⁻¹A_F``, a support ``F ∪ R`` is below the level
    if and only if ``I - W_R`` is positive definite, W being ``A + HᵀH`` off its diagonal, scaled by
    the roots of ``d = L - diag(A + HᵀH)``.  Rounding is taken from the level beforehand.
    """

    def __init__(self, stage: Stage, kept: Array, s: int, level: float, claimed: float) -> None:
        self.kept, self.s, self.level, self.claimed = kept, s, level, claimed
        self.Q, self.M, self.radius = stage.part(kept)
        self.entry, self.reach, self.X = stage.source.entry, stage.reach, stage.X[kept]
        self.scale = float(np.abs(self.M).max(initial=0.0)) or 1.0
        self.heaviest = float(np.square(self.X).sum(axis=1).max(initial=0.0))

    def check_step(
        self, inside: Array, free: Array, removed: Array, forced: Array, where: str
    ) -> None:
        """No support above the level has a removed feature or lacks a forced one."""
        F: Array = np.searchsorted(self.kept, inside)
        U: Array = np.searchsorted(self.kept, free)
        gone, must = np.isin(free, removed), np.isin(free, forced)
        for penalty in PENALTIES if self.X.any() else PENALTIES[:1]:
            found = self._condition(F, U, penalty)
            if found is not None and self._rules_out(*found, self.s - len(F), gone, must):
                return
        raise Rejected(f"{where}: does not follow")

    def _condition(self, F: Array, U: Array, penalty: float) -> tuple[Array, Array] | None:
        """``A + HᵀH`` on the free features, and the d of each; None if F reaches the level."""
        s, level = self.s, self.level
        kappa = penalty * max(abs(level), 1e-3 * self.scale)
        size, radius = kappa * self.heaviest + self.scale, self.radius
        if kappa:
            radius += 2 * (self.X.shape[1] + 4) * UNIT * size + TINY
        margin = 16 * s * (s + 8) * UNIT * (abs(level) + size) + TINY
        level = level - s * radius - margin
        at = np.concatenate([F, U])
        A = self.M[np.ix_(at, at)] - kappa * (self.X[at] @ self.X[at].T)
        core, cross, A = -A[: len(F), : len(F)], A[: len(F), len(F) :], A[len(F) :, len(F) :]
        if len(F):
            core[np.diag_indices(len(F))] += level
            try:
                C = np.linalg.cholesky(core)
                H = np.linalg.solve(C, cross)
            except np.linalg.LinAlgError:
                return None
            off = np.maximum(np.abs(C @ C.T - core).max(), np.abs(C @ H - cross).max(initial=0))
            if not off <= 0.5 * margin / s or np.triu(C, 1).any():
                return None
            A = A + H.T @ H
        d = level - A.diagonal()
        return (A, d) if (d > 0).all() and np.isfinite(A).all() else None

    def _rules_out(self, A: Array, d: Array, room: int, gone: Array, must: Array) -> bool:
        """Whether all that is to be removed or forced follows from costs and weighted rows."""
        if gone.all() and len(d) <= 8 * room:
            complement = -A
            complement[np.diag_indices(len(d))] = d
            if is_positive_definite(complement):
                return True
        W = np.abs(A / np.sqrt(d) / np.sqrt(d)[:, None])
        np.fill_diagonal(W, 0.0)
        # Not every choice of weights gets further with fewer features: two orders are tried.
        return any(_follows(W, room, gone, must, *way) for way in WEIGHTS)

    def check_claim(
        self,
        inside: Array,
        free: Array,
        removed: Array,
        forced: Array,
        multipliers: Multipliers,
        where: str,
    ) -> None:
        """No support above the level has a removed feature, or lacks the one that is forced.

        For x on S, ``G_ij = |N_ij|·r_ij`` and ``H_ij = G_ij - c_i``,

            xᵀQx ≤ xᵀ(Q - N)x + Σ_j x_j² (Σ_{i∈S, i≠j} H_ij - c_j) + Σ_{i∈S} c_i

        and the sums are at most those of the largest numbers that S, with all that is inside and
        something that is removed, can have.
        """
        if len(forced):
            # What lacks it is among the others.
            free = removed = np.setdiff1d(free, forced)
        T = np.union1d(inside, free)
        room, size = min(self.s - len(inside), len(free)), len(T) + 8
        if room < 1 or not len(removed) or not within(T, multipliers.features):
            raise Rejected(f"{where}: the multipliers do not speak of that")
        at: Array = np.searchsorted(self.kept, T)
        N, r, c = multipliers.on(T)
        own, gone = np.isin(T, free), np.isin(T, removed)
        H = np.abs(N) * r * (1 + rel(2)) + TINY - c[:, None]
        H += 4 * UNIT * np.abs(H)
        np.fill_diagonal(H, 0.0)
        fixed = H[~own]
        np.fill_diagonal(H, -math.inf)
        # A support may have no other removed feature than that whose column it is.
        some = np.where(gone, math.inf, H[gone].max(axis=0))
        tau, sizes = _largest_sums(H[own], room - own.astype(int), some)
        sizes = sizes + np.abs(fixed).sum(axis=0)
        tau = tau + fixed.sum(axis=0) + rel(size) * sizes + TINY
        (total,), (much,) = _largest_sums(c[own][:, None], np.array([room]), c[gone].max())
        much += np.abs(c[~own]).sum()
        total += c[~own].sum() + rel(size) * much + TINY
        M = self.M[np.ix_(at, at)] - N
        radius = 2 * UNIT * float(np.abs(M).max())
        much = np.abs(M.diagonal()) + np.abs(tau) + np.abs(c)
        M[np.diag_indices(len(T))] += tau - c + rel(4) * much
        low = float(M.diagonal().max()) - 10 * float(np.abs(M).max())
        M, more = constrained(M, self.X[at], low)
        unsure = self.s * self.radius
        lowered = self.level - total - unsure
        lowered -= rel(4) * (abs(self.level) + abs(total) + unsure) + TINY
        if not proves_below(M, lowered, radius + more):
            raise Rejected(f"{where}: does not follow")

    def check_supports(self, inside: Array, free: Array, where: str) -> None:
        """Every largest support of a leaf, one by one, is below what it may reach."""
        chosen = min(self.s - len(inside), len(free))
        if chosen < 0 or math.comb(len(free), chosen) > LARGEST_LEAF:
            raise Rejected(f"{where}: too many supports to look at")
        for rest in itertools.combinations(free.tolist(), chosen):
            check_time()
            features = sorted((*inside.tolist(), *rest))
            bound = self.reach(tuple(features), self.claimed)
            T = np.searchsorted(self.kept, features)
            if features and not (bound == math.inf or self.is_below(T, bound)):
                raise Rejected(f"{where}: the support {features} is not below the bound")

    def is_below(self, T: Array, bound: float) -> bool:
        """Whether no feasible vector on some places has more."""
        X, M = self.X[T], self.M[np.ix_(T, T)]
        if not X.any():
            return proves_below(M, bound, self.radius)
        kappa = 1e5 * self.scale * 2 * self.s
        radius = self.radius + 2 * (X.shape[1] + 4) * UNIT * (kappa * self.heaviest + self.scale)
        if proves_below(M - kappa * (X @ X.T), bound, radius + TINY):
            return True
        matrix, radius = constrained(self.Q[np.ix_(T, T)], X, bound - 0.1 * self.scale)
        return proves_below(matrix, bound, radius + self.entry) or nothing_orthogonal(X)


# Conditioning


def _follows(W: Array, room: int, gone: Array, must: Array, rounds: int, every: bool) -> bool:
    """Whether costs and weights rule out what is gone, and force what must be in."""
    at, shown = np.arange(len(W)), ~must
    before = len(W) + 1
    while gone[at].any() or not shown.all():
        check_time()
        if len(at) == before:
            return False
        before = len(at)
        if room <= 1 or before <= 1:
            return True
        at = at[_stays_by_costs(W[np.ix_(at, at)], room) | ~gone[at]]
        if len(at) <= 1 or len(at) <= 0.95 * before:
            continue
        left = np.ones(len(at), dtype=bool)
        found = list(_by_weights(W[np.ix_(at, at)], room, rounds))
        for stays, forced in found if every else found[-1:]:
            # What one choice of weights shows is true whatever the others show.
            shown[at[forced]] = True
            left &= stays | ~gone[at]
        at = at[left]
    return True


def _stays_by_costs(W: Array, room: int) -> Array:
    """``λmax(W_R)² ≤ (r-1)/r ‖W_R‖²``: whether the dearest R with an index can reach 1."""
    squares = W * W
    count = min(room - 1, len(W) - 1)
    squares.partition(len(W) - count, axis=1)
    costs = squares[:, len(W) - count :].sum(axis=1)
    ordered = np.sort(costs)[::-1]
    dearest = np.minimum(ordered[:room].sum(), ordered[: room - 1].sum() + costs)
    return dearest >= room / (room - 1) * (1 - rel(4 * room * room + 60))


def _by_weights(W: Array, room: int, rounds: int) -> Iterator[tuple[Array, Array]]:
    """Collatz and Wielandt with the r - 1 largest products of each row, for better weights.

    Yields which indices an R that reaches 1 can contain, and which ones it must contain.
    """
    m, count = len(W), min(room - 1, len(W) - 1)
    limit = 1 - rel(8 * room + 60)
    weights = np.ones(m)
    for _ in range(rounds):
        products = W * weights
        ordered = np.sort(products, axis=1)
        sums = ordered[:, m - count :].sum(axis=1)
        last, following = ordered[:, m - count], ordered[:, m - count - 1]
        if (sums < limit * weights).all():
            yield np.zeros(m, dtype=bool), np.ones(m, dtype=bool)
            return
        rounding = rel(count + 4) * sums
        # An index with a weight of its own, which its own row allows.
        own = sums / limit * (1 + rel(4))
        fits = (np.maximum(sums - last, 0.0) + rounding)[:, None] + W * own
        fits = fits < limit * weights[:, None]
        np.fill_diagonal(fits, True)
        # All rows without an index.
        less = np.where(products >= last[:, None], products - following[:, None], 0.0)
        without = (sums + rounding)[:, None] - less < limit * weights[:, None]
        np.fill_diagonal(without, True)
        yield ~fits.all(axis=0), without.all(axis=0)
        weights = np.maximum(sums / sums.max(), 1e-9)


# Multipliers of the share relaxation


@dataclass(frozen=True)
class Multipliers:
    """N, symmetric with zeros on its diagonal, ``r_ij·r_ji ≥ 1``, and c, of some features.

    N and r are given by what is below their diagonals.  Rounding changes which numbers they are,
    and nothing that is asked of them.
    """

    features: Array
    N: Array
    r: Array
    c: Array

    def on(self, T: Array) -> tuple[Array, Array, Array]:
        """N, r and c of some of the features."""
        m = len(self.features)
        low: Array = np.tril_indices(m, -1)
        N, r = np.zeros((m, m)), np.ones((m, m))
        N[low] = N.T[low] = self.N
        r[low] = self.r
        r.T[low] = 1 / self.r * (1 + 4 * UNIT)
        at: Array = np.searchsorted(self.features, T)
        return N[np.ix_(at, at)], r[np.ix_(at, at)], self.c[at]


def _claims(
    arrays: Mapping[str, Array], folder: str, n: int, steps: int
) -> Callable[[int], Multipliers | None]:
    """The multipliers that a step rests on, if it does."""
    if f"{folder}/claims.npy" not in arrays:
        return lambda j: None
    count = len(arrays[f"{folder}/units.npy"])
    units = numbers(arrays, f"{folder}/units.npy", (count,), 1e100)
    features = Lists(arrays, f"{folder}/shared", n, count)
    which = integers(arrays, f"{folder}/claims.npy", -1, count - 1)
    lengths = np.diff(features.ends)
    pairs = np.concatenate([[0], np.cumsum(lengths * (lengths - 1) // 2)])
    N, r, c = (
        numbers(arrays, f"{folder}/{name}.npy", (ends[-1],), 1e38, np.float32).astype(float)
        for name, ends in (("pairs", pairs), ("ratios", pairs), ("prices", features.ends))
    )
    if len(which) != steps or not (r > 0).all():
        raise Rejected(f"{folder}/claims: not one for each step, or a ratio that is not positive")

    @functools.lru_cache(maxsize=1)
    def laid_out(i: int) -> Multipliers:
        part, own = slice(*pairs[i : i + 2]), slice(*features.ends[i : i + 2])
        return Multipliers(features[i], N[part] * units[i], r[part], c[own] * units[i])

    return lambda j: None if which[j] < 0 else laid_out(int(which[j]))


def _largest_sums(rows: Array, counts: Array, some: Array) -> tuple[Array, Array]:
    """Of each column the largest sum of so many numbers, and the size of what it is made of.

    One of them, at least, is not larger than ``some`` of the column.
    """
    ordered = -np.sort(-rows, axis=0)
    chosen = np.where(np.arange(len(rows))[:, None] < counts, ordered, 0.0)
    last = np.where(counts > 0, ordered[counts - 1, np.arange(len(counts))], -math.inf)
    lost = np.maximum(last - some, 0.0)
    return chosen.sum(axis=0) - lost, np.abs(chosen).sum(axis=0) + lost


# Definiteness (S. M. Rump, Verification of positive definiteness, BIT 46, 2006).  An entry of the
# factor passes n + 1 roundings at most, also if reciprocals of pivots multiply; n + 4 are allowed.


def is_positive_definite(matrix: Array, radius: float = 0.0) -> bool:
    """Whether all symmetric matrices within the radius are positive definite, proved."""
    n = len(matrix)
    trace = float(matrix.diagonal().sum())
    if not (math.isfinite(float(np.abs(matrix).sum())) and (matrix.diagonal() >= 0).all()):
        return False
    shifted = matrix.copy()
    shift = 1.01 * (n + 4) * UNIT * trace + TINY + n * radius * (1 + 4 * UNIT)
    shifted[np.diag_indices(n)] -= shift
    try:
        factor = np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(factor).all())


def proves_below(matrix: Array, threshold: float, radius: float) -> bool:
    """Whether all eigenvalues are below a threshold, proved."""
    negated = -matrix
    negated[np.diag_indices(len(matrix))] += threshold
    return is_positive_definite(negated, radius)


def constrained(matrix: Array, V: Array, level: float) -> tuple[Array, float]:
    """A form that is the same where ``Vᵀx = 0``, and how far an entry may be off.

    It is ``Q + VBᵀ + BVᵀ`` in the widest numbers there are, with B such that it has the value
    ``level`` on the range of V; any B is valid, so that only the rounding of the sum counts.
    """
    at = np.flatnonzero(V.any(axis=1))
    if len(at) == 0:
        return matrix, 0.0
    wide, used = np.longdouble, V[at]
    left, singular, right = np.linalg.svd(used, full_matrices=False)
    kept = singular > 0.99 * ORTHOGONALITY
    left = left * kept
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=kept)
    G = matrix[:, at] @ left
    G[at] -= 0.5 * left @ (left.T @ G[at]) + 0.5 * level * left
    B = -(G * inverse) @ right
    product, sizes = used.astype(wide) @ B.astype(wide).T, np.abs(used) @ np.abs(B).T
    product[:, at] += product[:, at].T
    sizes[:, at] += sizes[:, at].T
    folded = matrix.copy()
    folded[at] = matrix[at] + product
    folded[:, at] = folded[at].T
    unit, largest = float(np.finfo(wide).eps), float((sizes + np.abs(matrix[at])).max())
    radius = 2 * (2 * V.shape[1] + 4) * unit * largest * (1 + 1e-6) + TINY
    return folded, radius + 2 * UNIT * float(np.abs(folded[at]).max())


def nothing_orthogonal(rows: Array) -> bool:
    """Whether no unit vector is orthogonal to all columns, not even up to ``SINGULAR``.

    That is so if and only if ``VVᵀ - τ²I`` is positive definite: elimination in rational arithmetic
    meets no pivot that is not positive.  Floating point decides where nothing is near.
    """
    if len(rows) > rows.shape[1]:
        return False
    gram = rows @ rows.T
    radius = rel(rows.shape[1] + 4) * float(gram.diagonal().max(initial=0.0)) + SINGULAR**2
    if is_positive_definite(gram, radius + TINY):
        return True
    exact = [[Fraction(float(v)) for v in row] for row in rows]
    table = [[inner(a, b) for b in exact] for a in exact]
    for k, pivot in enumerate(table):
        check_time()
        pivot[k] -= Fraction(SINGULAR) ** 2
        if pivot[k] <= 0:
            return False
        for i in range(k + 1, len(table)):
            factor = table[i][k] / pivot[k]
            table[i] = [a - factor * b for a, b in zip(table[i], pivot, strict=True)]
    return True


def inner(x: Any, y: Any) -> Fraction:
    """Return the inner product of two vectors, exactly."""
    return sum((Fraction(v) * Fraction(w) for v, w in zip(x, y, strict=True)), Fraction(0))


def within(part: Array, whole: Array) -> bool:
    """Whether all of some features are among others."""
    return bool(np.isin(part, whole).all())


def rel(operations: int) -> float:
    """Relative error of so many roundings of numbers of one sign (up to a hundred million)."""
    return (operations + 4) * UNIT


def check_machine() -> None:
    """Rounding to nearest, no flushing to zero: what all of the above rests on."""
    one, ulp = np.float64(1.0), np.float64(UNIT)
    rounds = one + ulp == one and one + np.float64(1.5) * ulp == one + 2 * ulp
    if not rounds or np.float64(1e-308) * np.float64(1e-10) == 0.0:
        raise Rejected("this machine does not round to nearest, or loses small numbers")
