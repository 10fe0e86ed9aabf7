"""The bound that multipliers of the share relaxation prove, whatever they are.

For a symmetric N with zero diagonal, ``G_ij = |N_ij|·r_ij`` with ``r_ij·r_ji ≥ 1`` and any c, every
unit vector x on a support S of p features, orthogonal to the components before, has

    xᵀQx ≤ λmax(Q - N + Diag(τ - c)) + (the largest sum of c over p features),

``τ_j`` being the largest sum of ``G_ij - c_i`` over p - 1 features ``i ≠ j``.  In a node the
features included are part of every such sum.  Nothing is asked of the multipliers, so that they may
come from any method, in any precision; here N, r and c are what they are, sums are rounded
outwards, and the eigenvalue is proved by a shifted Cholesky factorisation.

The proof is in ``docs/theory/share.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthospca._typing import AnyArray, Array, BoolArray, IntArray
from orthospca.bounds.share.projections import Block, labels_of, placed
from orthospca.model.stage import Subproblem
from orthospca.numerics import rigor
from orthospca.numerics.rounding import UNIT, add_up, raised

#: Ratios outside this range are of no use, and would not be finite with their inverses.
SMALLEST_RATIO, LARGEST_RATIO = 2.0**-40, 2.0**40


@dataclass(frozen=True, eq=False)
class Multipliers:
    """N, r and c for some features, in single precision; zeros if any of them is not finite.

    Attributes
    ----------
    features : integer array, ascending
    N : array of shape (m, m)
        Symmetric, with zero diagonal, in multiples of ``unit``.
    ratios : array of shape (m, m)
        ``r_ij``, with ``r_ij·r_ji ≥ 1`` exactly.
    c : array of shape (m,)
        In multiples of ``unit``.
    unit : float
        A power of two.
    """

    features: IntArray
    N: AnyArray
    ratios: AnyArray
    c: AnyArray
    unit: float

    def __post_init__(self) -> None:
        if not all(np.isfinite(numbers).all() for numbers in (self.N, self.ratios, self.c)):
            # Sums of the largest would pass over what is not a number.  Zeros prove the eigenvalue.
            object.__setattr__(self, "N", np.zeros_like(self.N))
            object.__setattr__(self, "ratios", np.ones_like(self.ratios))
            object.__setattr__(self, "c", np.zeros_like(self.c))

    @classmethod
    def of(
        cls, features: IntArray, N: AnyArray, ratios: AnyArray, c: AnyArray, unit: float
    ) -> Multipliers:
        """Round multipliers to single precision so that they still are some.

        Parameters
        ----------
        features : integer array
        N : array
            Its lower triangle counts.
        ratios : array
            Positive; the lower triangle counts, and the upper one is made of inverses.
        c : array
        unit : float
        """
        low = np.tril(N, -1).astype(np.float32)
        r = np.clip(np.tril(ratios, -1), SMALLEST_RATIO, LARGEST_RATIO).astype(np.float32)
        # A little more than the inverse: the product of two such numbers is exact in doubles.
        inverse = ((1 + 2.0**-22) / r.astype(float)).astype(np.float32)
        both = np.tril(r, -1) + np.tril(inverse, -1).T
        return cls(features, low + low.T, both, c.astype(np.float32), unit)

    @classmethod
    def none(cls, features: IntArray, unit: float) -> Multipliers:
        """Return zeros: they prove the largest eigenvalue."""
        m = len(features)
        zeros = np.zeros((m, m), np.float32)
        return cls(features, zeros, np.ones_like(zeros), np.zeros(m, np.float32), unit)

    @property
    def nbytes(self) -> int:
        """Memory taken."""
        return int(self.N.nbytes + self.ratios.nbytes + self.c.nbytes)

    def restrict(self, features: IntArray) -> Multipliers:
        """Return those of some of the features."""
        places = np.searchsorted(self.features, features)
        at = np.ix_(places, places)
        return Multipliers(features, self.N[at], self.ratios[at], self.c[places], self.unit)


class _Ranges:
    """The largest sums over places, so many of them in each of some disjoint blocks."""

    def __init__(self, blocks: Sequence[Block], inside: BoolArray) -> None:
        self._labels = labels_of(blocks, len(inside))
        taken = [int(inside[block.members].sum()) for block in blocks]
        # Those of no block may be any number.
        self._least = np.array([0, *(b.least - t for b, t in zip(blocks, taken, strict=True))])
        self._most = np.array(
            [len(inside), *(b.most - t for b, t in zip(blocks, taken, strict=True))]
        )
        self._rows = [np.flatnonzero(self._labels[~inside] == c) for c in range(len(blocks) + 1)]
        self._free = ~inside

    def largest(
        self, numbers: Array, slots: IntArray, own: IntArray | None = None
    ) -> tuple[Array, Array, Array]:
        """Return the terms of each column's largest sum, the least of them, and the largest other.

        Where there is no such sum, nothing is claimed, and terms are missing.

        Parameters
        ----------
        numbers : array
            A row for each feature that is not included.
        slots : integer array
            Terms of each sum.
        own : integer array, optional
            Columns of these features: each has a place already in its own.
        """
        if len(self._rows) == 1:
            most = min(int(slots.max()) + 1, len(numbers))
            top = -np.sort(np.partition(-numbers, most - 1, axis=0)[:most], axis=0)
            terms = np.where(np.arange(most)[:, None] < slots, top, 0.0)
            columns = np.arange(len(slots))
            last = np.where(slots > 0, top[np.maximum(slots - 1, 0), columns], -math.inf)
            following = np.where(slots < most, top[np.minimum(slots, most - 1), columns], -math.inf)
            return terms, last, following
        forced, eligible = np.zeros_like(numbers, bool), np.zeros_like(numbers, bool)
        ordered = np.empty_like(numbers)
        start = 0
        for c, rows in enumerate(self._rows):
            part = slice(start, start + len(rows))
            ordered[part] = -np.sort(-numbers[rows], axis=0)
            taken = np.zeros(len(slots), int)
            if own is not None:
                taken[own[self._labels[own] == c]] = 1
            rank = np.arange(len(rows))[:, None]
            forced[part] = rank < self._least[c] - taken
            eligible[part] = rank < self._most[c] - taken
            start += len(rows)
        # First what each block must have; then the largest of what it may have.
        optional = np.sort(np.where(eligible & ~forced, -ordered, math.inf), axis=0)
        left = np.maximum(slots - forced.sum(axis=0), 0)
        rank = np.arange(len(optional))[:, None]
        added = np.where(rank < left, -optional, math.inf)
        terms = np.vstack([np.where(forced, ordered, math.inf), added])
        last = terms.min(axis=0)
        last[np.isinf(last)] = -math.inf
        others = np.vstack(
            [np.where(eligible, -math.inf, ordered), np.where(rank < left, -math.inf, -optional)]
        )
        return np.where(np.isfinite(terms), terms, 0.0), last, others.max(axis=0)


class Claim:
    """What multipliers prove of a node: supports of p features, of those given, with the included.

    Parameters
    ----------
    problem : Subproblem
    included : integer array
        Features that all supports contain.
    multipliers : Multipliers
        Their features are those that supports may contain, at least p.
    blocks : sequence of Block
        How many features of each of some disjoint sets a support has.

    Attributes
    ----------
    upper : float
        Proved bound on the node.
    """

    def __init__(
        self,
        problem: Subproblem,
        included: IntArray,
        multipliers: Multipliers,
        blocks: Sequence[Block] = (),
    ) -> None:
        self.problem = problem
        self.features = features = multipliers.features
        self.inside: BoolArray = np.isin(features, included)
        self._room = room = problem.sparsity - len(included)
        self.c = c = multipliers.c.astype(float) * multipliers.unit
        N = multipliers.N.astype(float) * multipliers.unit
        # Products of two numbers of single precision are exact; one rounding is left.
        H = np.abs(N) * multipliers.ratios
        H -= c[:, None]
        H += 2 * UNIT * np.abs(H)
        np.fill_diagonal(H, 0.0)
        self.H = H
        fixed = H[self.inside]
        free = H[~self.inside]
        own = np.flatnonzero(~self.inside)
        free[np.arange(len(own)), own] = -math.inf
        #: Places in the sum of a column: one less for those that take one themselves.
        self.slots: IntArray = np.where(self.inside, room, room - 1)
        ranges = _Ranges(placed(blocks, features), self.inside)
        chosen, self.last, self.following = ranges.largest(free, self.slots, own)
        tau = chosen.sum(axis=0) + fixed.sum(axis=0)
        sizes = np.abs(chosen).sum(axis=0) + np.abs(fixed).sum(axis=0)
        tau = raised(tau, problem.sparsity + 2, sizes)
        of_c, last_c, following_c = ranges.largest(c[~self.inside, None], np.array([room]))
        self._last_c, self._following_c = float(last_c[0]), float(following_c[0])
        taken = np.concatenate([c[self.inside], of_c[:, 0]])
        self.total = float(raised(taken.sum(), len(taken), np.abs(taken).sum()))
        at = np.ix_(features, features)
        M = problem.projected[at] - N
        largest = float(np.abs(M).max())
        diagonal = M.diagonal() + (tau - c)
        sizes = np.abs(M.diagonal()) + np.abs(tau) + np.abs(c)
        M[np.diag_indices(len(M))] = raised(diagonal, 4, sizes)
        # One rounding of what is off the diagonal, and one of what tests take from the diagonal.
        self._radius = problem.projected_radius + 2 * UNIT * (largest + float(sizes.max()))
        #: The matrix whose largest eigenvalue counts, before orthogonality is folded in.
        self.matrix = M

    @cached_property
    def _form(self) -> tuple[Array, float]:
        """The matrix with the orthogonality folded in, and how far its entries may be off."""
        restricted = self.problem.touching(self.features)
        if restricted.shape[1] == 0:
            return self.matrix, self._radius
        # The value on the range of what is forbidden, well below those that count.
        level = float(self.matrix.diagonal().max()) - 10 * float(np.abs(self.matrix).max())
        form, radius = rigor.constrain(self.matrix, restricted, level)
        return form, self._radius + float(radius)

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue, computed and so not proved."""
        # All of them: LAPACK's search for the largest alone fails where several nearly tie, as they
        # do in a good bound, and hardly takes less time.
        return float(np.linalg.eigvalsh(self._form[0])[-1])

    @cached_property
    def upper(self) -> float:
        """Proved bound on the node."""
        form, radius = self._form
        return add_up(rigor.upper_eigenvalue(form, self.eigenvalue, radius), self.total)

    # Features in or out: what the bound would be with a feature in every support, or in none.

    @cached_property
    def reductions(self) -> Array:
        """Row i: what the sums of the columns lose if feature i is in every support, at least."""
        # A column without a place is in no such support; nothing is claimed of it.
        lost = np.maximum(self.last - self.H, 0.0) * (1 - 4 * UNIT)
        np.fill_diagonal(lost, 0.0)
        return lost

    @cached_property
    def dearer(self) -> Array:
        """What the sum of c loses if a feature is in every support, at least."""
        return np.maximum(self._last_c - self.c, 0.0) * (1 - 4 * UNIT)

    def proves_none_of(self, places: IntArray, level: float) -> bool:
        """Whether it is proved that no support above a level contains any of some free features."""
        lost = self.reductions[places].min(axis=0)
        if len(places) > 1:
            # A support may contain just the one whose column it is.
            lost[places] = 0.0
        return self._is_below(lost, float(self.dearer[places].min()), level)

    def proves_all_with(self, place: int, level: float) -> bool:
        """Whether it is proved that every support above a level contains a free feature."""
        if self._room > len(self.c) - int(self.inside.sum()) - 1:
            return True
        lost = np.maximum(self.H[place] - self.following, 0.0)
        lost = np.where(np.isfinite(lost), lost, 0.0) * (1 - 4 * UNIT)
        cheaper = max(float(self.c[place]) - self._following_c, 0.0) * (1 - 4 * UNIT)
        return self._is_below(lost, cheaper, level, place)

    def _is_below(self, lost: Array, cheaper: float, level: float, without: int = -1) -> bool:
        """Whether the bound with less on the diagonal and less added is proved below a level."""
        threshold = -add_up(self.total, -cheaper, -level)
        if not math.isfinite(threshold):
            return False
        form, radius = self._form
        reduced = form.copy()
        reduced[np.diag_indices(len(form))] -= lost
        if without >= 0:
            keep = np.arange(len(form)) != without
            reduced = reduced[np.ix_(keep, keep)]
        return rigor.proves_below(reduced, threshold, radius)
