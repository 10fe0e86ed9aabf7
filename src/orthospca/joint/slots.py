"""What is asked of each component of a set: its sparsity, and features in and out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orthospca._errors import InputError
from orthospca._typing import Array, BoolArray, IntArray
from orthospca.model.demands import NO_DEMANDS, Demands


@dataclass(frozen=True)
class Slot:
    """What is asked of one component; those of which the same is asked are equal.

    Attributes
    ----------
    size : int
        The sparsity.
    included, excluded : tuples of int
    """

    size: int
    included: tuple[int, ...] = ()
    excluded: tuple[int, ...] = ()

    def admits(self, vector: Array) -> bool:
        """Whether a vector and what is included have so many features, and none that is out."""
        used = np.flatnonzero(vector)
        return (
            len(np.union1d(used, self.included)) <= self.size
            and not np.isin(used, self.excluded).any()
        )

    def patterns(self, inside: BoolArray) -> IntArray:
        """Return which of some patterns it may have.

        Parameters
        ----------
        inside : boolean array of shape (N, n)
            Which features each of them has.
        """
        out = inside[:, list(self.excluded)].any(axis=1)
        have = inside.sum(axis=1) - inside[:, list(self.included)].sum(axis=1)
        return np.flatnonzero(~out & (have + len(self.included) <= self.size))

    def allowed(self, n: int) -> IntArray:
        """Return the features that it may have."""
        return np.setdiff1d(np.arange(n), self.excluded)


def slots_of(limits: Sequence[int], n: int, demands: Demands = NO_DEMANDS) -> tuple[Slot, ...]:
    """Return what is asked of each component."""
    slots = []
    for k, size in enumerate(limits):
        included = demands.include[k] if demands.include else ()
        excluded = set(demands.exclude[k] if demands.exclude else ())
        if demands.disjoint:
            # What another component must have is not for this one.
            for m, others in enumerate(demands.include):
                excluded |= set(others) if m != k else set()
        slots.append(Slot(min(size, n - len(excluded)), included, tuple(sorted(excluded))))
    return tuple(slots)


def single_features(Q: Array, slots: Sequence[Slot]) -> list[int]:
    """Return a feature for each component, all different, with the largest total variance.

    If there are none, there is no set: some components have fewer features than they are.
    """
    from scipy.optimize import linear_sum_assignment  # not needed where the package is imported

    n = len(Q)
    size = float(np.abs(Q.diagonal()).max(initial=0.0)) or 1.0
    gains = np.tile(Q.diagonal() / size, (len(slots), 1))
    for k, slot in enumerate(slots):
        full = len(slot.included) == slot.size
        allowed = np.array(slot.included, dtype=int) if full else slot.allowed(n)
        gains[k, np.setdiff1d(np.arange(n), allowed)] = -1e6
    rows, columns = linear_sum_assignment(gains, maximize=True)
    if len(rows) < len(slots) or gains[rows, columns].min() < -1e5:
        raise InputError("include and exclude leave too few features for this many components")
    return [int(j) for j in columns]
