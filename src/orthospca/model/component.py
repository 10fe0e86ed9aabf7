"""One component with its certificate, why a search ended, and where it stands meanwhile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from orthospca._typing import Array, IntArray


class Status(str, Enum):
    """Why a stage, or a whole solve, ended, and so what its numbers mean.

    In every case the component is feasible (sparse, unit length, orthogonal to the others), and
    ``upper_bound`` is a proved bound on the best possible variance of its stage, *given the
    components before it*.  In a joint result it bounds any other vector in the same place, given
    all the other components.  A limit is named only if you set it and it was reached.
    """

    OPTIMAL = "optimal"
    """Certified: ``upper - lower ≤ max(eps, gap·|lower|)``, exactly."""
    TIME_LIMIT = "time limit"
    """The time limit was reached, with a gap."""
    NODE_LIMIT = "node limit"
    """The node limit was reached, with a gap."""
    THRESHOLD = "threshold"
    """The blocks are solved; the entries that the threshold ignores leave a gap."""
    FEATURE_LIMIT = "feature limit"
    """Too many features are left to form their covariance matrix, which leaves a gap."""
    PRECISION = "precision"
    """The search is complete; rounding leaves a gap."""
    WORK_LIMIT = "work limit"
    """The search gave up with a gap before reaching any limit you set."""
    PROOF_LIMIT = "proof limit"
    """With ``proof=True``: the steps that a certificate can record leave a gap.  Without a proof,
    the search goes further."""
    INTERRUPTED = "interrupted"
    """Ctrl-C or the callback stopped the search, with a gap."""
    EXHAUSTED = "exhausted"
    """For a whole result only: it is proved that no further component exists."""
    PART_OF_SET = "part of a set"
    """For a component only: it was chosen together with others.  Their set is certified, with the
    status of the whole result; the component's own bound is proved too."""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to prove within the tolerance."""
        return self in (Status.OPTIMAL, Status.EXHAUSTED)


class ClosedBy(str, Enum):
    """What closed a component: the last step that its bound needed."""

    CAP = "earlier stage"
    """The bound of an earlier component, which holds for later ones too."""
    ROWS = "row sums"
    """Sums of matrix entries or of variances, which cost next to nothing."""
    WALK = "direct walk"
    """A conditioned search over all features."""
    TRACES = "traces"
    """A conditioned search on the data, which computes few rows of the covariance."""
    BORDER = "border rule"
    """The bound for one feature less leaves too few features for a better support."""
    RUNG = "rung"
    """A conditioned search over the features that the border rule leaves."""
    RELAXATION = "relaxation"
    """One share relaxation."""
    TREE = "tree"
    """Branch and bound."""
    ENUMERATION = "enumeration"
    """All supports were tested."""
    BLOCKS = "blocks"
    """Bounds on all blocks, and on what the threshold ignores."""


@dataclass(frozen=True)
class Progress:
    """The state of a search at one moment.

    Attributes
    ----------
    stage : int
        Which component is being sought, from 0; always 0 with ``objective="joint"``.
    nodes : int
        Nodes bounded so far in this stage.
    open_nodes : int
        Nodes still to be explored.
    lower, upper : float
        The incumbent's variance (``-inf`` if none) and the proved bound of the stage; of a joint
        search the total variance of the best set, and the proved bound of all sets.
    elapsed : float
        Seconds since the solve began.
    block : int
        The block being worked on, if the problem was split into blocks; -1 otherwise.  The numbers
        are always about the whole stage.
    proved_by : ClosedBy or None
        The step that proved the bound, if known.
    forming : float or None
        While the covariance of data is being formed, the share that is done; None otherwise.
    """

    stage: int
    nodes: int
    open_nodes: int
    lower: float
    upper: float
    elapsed: float
    block: int = -1
    proved_by: ClosedBy | None = None
    forming: float | None = None

    @property
    def gap(self) -> float:
        """Relative gap, as in :attr:`Component.gap`."""
        return relative_gap(self.lower, self.upper)


@dataclass(frozen=True, eq=False, repr=False)
class Component:
    """One sparse component with its certificate.

    Two components are equal if their vectors, variances, bounds and statuses are; how long they
    took to find does not matter.

    Attributes
    ----------
    vector : array of shape (n,)
        Unit length; its entry of largest magnitude is positive.
    variance : float
        ``xᵀQx / xᵀx`` in exact arithmetic, rounded down to a double; if Q is defined by data and
        never formed, a lower bound that is just as close.
    upper_bound : float
        Proved: no feasible vector of this stage, given the components before it, has more.  In a
        joint result: no sparse vector in its place, orthogonal to all the others, has more.
    status : Status
        ``PART_OF_SET`` if the component was chosen together with others.  Then the set is
        certified, and :attr:`Result.status` is the one to look at.
    nodes : int
        Nodes bounded in the search; for a set, counted with its first component.
    runtime : float
        Seconds; for a set, counted with its first component.
    deflated_variance : float or None
        Variance in the deflated matrix; only with ``method="deflation"``, whose certificate is
        about that matrix.
    closed_by : ClosedBy or None
        The last step that the bound needed; None if not recorded.
    """

    vector: Array
    variance: float
    upper_bound: float
    status: Status
    nodes: int = 0
    runtime: float = 0.0
    deflated_variance: float | None = None
    closed_by: ClosedBy | None = None

    @property
    def support(self) -> IntArray:
        """Indices of the features used, ascending."""
        return np.flatnonzero(self.vector)

    @property
    def gap(self) -> float:
        """``(upper_bound - value) / |value|``, the value being the one that was maximised."""
        value = self.variance if self.deflated_variance is None else self.deflated_variance
        return relative_gap(value, self.upper_bound)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Component):
            return NotImplemented
        return self._key() == other._key() and np.array_equal(self.vector, other.vector)

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        """What can be hashed of that in which equal components agree."""
        numbers = (self.variance, self.upper_bound, self.deflated_variance)
        return len(self.vector), self.status, *map(comparable, numbers)

    def __repr__(self) -> str:
        used, n = len(self.support), len(self.vector)
        return (
            f"Component({used} of {n} features, variance={self.variance:.6g}, "
            f"upper_bound={self.upper_bound:.6g}, gap={format_gap(self.gap)}, "
            f"status={self.status.value!r})"
        )


def comparable(value: object) -> object:
    """Return what equals itself: NaN, which stands for a missing number, is put in words."""
    return "nan" if value != value else value


def relative_gap(lower: float, upper: float) -> float:
    """Return ``(upper - lower) / |lower|``; 0 if they agree, ``inf`` if there is no lower bound."""
    if upper <= lower:
        return 0.0
    if not math.isfinite(lower) or lower == 0:
        return math.inf
    return (upper - lower) / abs(lower)


def format_gap(gap: float) -> str:
    """Write a relative gap for people: ``0.012 %``, ``<1e-9 %``, ``open``.

    A bound of twice the variance or more is written as such: ``8.2 times the variance``.
    """
    if not math.isfinite(gap):
        return "open"
    if gap >= 1:
        ratio = 1 + gap
        return f"{ratio:{'.0f' if 9.95 <= ratio < 1e6 else '.2g'}} times the variance"
    percent = 100 * gap
    return "<1e-9 %" if percent < 1e-9 else f"{percent:.2g} %"
