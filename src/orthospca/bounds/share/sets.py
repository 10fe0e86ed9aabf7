"""The share relaxation of several groups of components that are orthonormal together.

    max Σ_g k_g ⟨Q, X_g⟩   (X_g, T_g) as for one component,  Σ_g k_g X_g ⪯ I,

where group g has ``k_g`` components of which the same is known, and ``X_g``, ``T_g`` are means over
them.  The multiplier of the last condition is a matrix ``M ⪰ 0``; with it each group is a stage
problem of ``Q - M``.  One group needs no copy for it: no eigenvalue of its X is above ``1 / k``.

See ``docs/theory/joint.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from orthospca._typing import AnyArray as Array
from orthospca._typing import IntArray
from orthospca.bounds.share.method import REAL, ShareMethod, iterate
from orthospca.bounds.share.projections import Block, PositivePart


@dataclass(frozen=True, eq=False)
class Group:
    """Components of which the same is known, so that it does not matter which is which.

    Attributes
    ----------
    count : int
    size : int
        Features in a support.
    included, allowed : integer arrays, ascending
        Features of every support, and those that it may have.
    blocks : tuple of Block
        How many features of each of some disjoint sets a support has.
    """

    count: int
    size: int
    included: IntArray
    allowed: IntArray
    blocks: tuple[Block, ...] = field(default=())


class SetMethod:
    """Iterates for all groups together.

    Parameters
    ----------
    groups : sequence of Group
    members : sequence of ShareMethod
        One for each group, all on the same features and with the same penalty.
    """

    def __init__(self, groups: Sequence[Group], members: Sequence[ShareMethod]) -> None:
        self.groups, self.members = tuple(groups), tuple(members)
        self.features, self.unit = members[0].features, members[0].unit
        self.iterations = 0
        #: M in multiples of the penalty and the unit, if there are several groups.
        self._common: Array | None = None
        self._positive = PositivePart()
        for group, member in zip(groups, members, strict=True):
            member.most = np.isin(self.features, group.allowed).astype(REAL)

    @classmethod
    def begun(cls, Q: Array, groups: Sequence[Group], features: IntArray, unit: float) -> SetMethod:
        """Return iterates to begin with.

        Parameters
        ----------
        Q : array of shape (n, n)
        groups : sequence of Group
        features : integer array
            All that any of them may use.
        unit : float
            A power of two about the size of the variance of a component.
        """
        part, nothing = Q[np.ix_(features, features)], np.zeros((len(features), 0))
        members = []
        for g in groups:
            shape = (g.size, features, g.included, unit, g.count, g.blocks)
            members.append(ShareMethod(part, nothing, *shape))
            if len(groups) > 1:
                members[-1].share_with(np.zeros_like(part))
        return cls(groups, members)

    def divided(self, groups: Sequence[Group], origins: Sequence[int], M: Array) -> SetMethod:
        """Return the same iterates for groups that are parts of these.

        Parameters
        ----------
        groups : sequence of Group
        origins : sequence of int
            Of which of these groups each is a part.
        M : array
            The multiplier of what they have in common, on the features.
        """
        features = self.features
        used = np.unique(np.concatenate([g.allowed for g in groups]))
        features = used if len(used) < 0.9 * len(features) else features
        places = np.searchsorted(self.features, features)
        members = []
        for g, origin in zip(groups, origins, strict=True):
            nothing = np.zeros((len(features), 0))
            member = self.members[origin].narrowed(nothing, features, g.included, g.count, g.blocks)
            if len(groups) > 1 and len(self.groups) == 1:
                member.share_with(M[np.ix_(places, places)])
            members.append(member)
        return SetMethod(groups, members)

    @property
    def rho(self) -> float:
        """The penalty."""
        return self.members[0].rho

    @property
    def finite(self) -> bool:
        """Whether there is something to go on with."""
        return all(member.finite for member in self.members)

    @property
    def residuals(self) -> tuple[float, float]:
        """Those of all groups, by the numbers of components."""
        parts = np.array([member.residuals for member in self.members])
        primal, dual = np.array([group.count for group in self.groups]) @ parts
        return float(primal), float(dual)

    def scale(self, factor: float) -> None:
        """Change the penalty."""
        for member in self.members:
            member.scale(factor)
        if self._common is not None:
            self._common /= REAL(factor)

    def run(self, iterations: int, stop: Callable[[], bool]) -> bool:
        """Iterate; False if it was stopped, or nothing finite is left to go on with."""
        return iterate(self, iterations, stop)

    def step(self) -> None:
        """Take one step."""
        self.iterations += 1
        if len(self.members) == 1:
            self.members[0].step()
            return
        copies = [member.uncommon for member in self.members]
        counts = [group.count for group in self.groups]
        # The nearest matrices whose sum is at most the identity.
        total = sum(REAL(count) * copy for count, copy in zip(counts, copies, strict=True))
        total[np.diag_indices(len(total))] -= 1
        values, vectors = self._positive(total)
        self._common = (vectors * (values / REAL(sum(counts)))) @ vectors.T
        for member, copy in zip(self.members, copies, strict=True):
            copy -= self._common
            member.step(copy)

    @property
    def matrix(self) -> Array | None:
        """M on the features, as it is now; None with one group, whose X has no such copy."""
        if self._common is None:
            return None
        return self._common.astype(float) * (self.rho * self.unit)
