"""The share relaxation as a bound of nodes: iterate, prove, fix features, round, hand down."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthospca._typing import IntArray
from orthospca.bounds.conditioning.steps import Step
from orthospca.bounds.share.claim import Claim, Multipliers
from orthospca.bounds.share.fixing import ruled_in, ruled_out
from orthospca.bounds.share.method import ShareMethod
from orthospca.model.limits import Watch
from orthospca.model.nodes import Node, NodeBound
from orthospca.model.result import ClosedBy
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import ShareTuning

#: Features up to which the relaxation of a whole stage is worth while.
LARGEST_RELAXED = 2000
#: The relaxation is scaled by the value of a vector, unless that is so much smaller than Q.
SMALLEST_SCALE = 1e-3


def relaxation_cost(features: int, tuning: ShareTuning) -> float:
    """What a relaxation is expected to cost, in the unit in which walks are counted."""
    return tuning.cost * max(features / 100, 1.0) ** tuning.cost_growth


@dataclass(frozen=True, eq=False)
class Proved:
    """Multipliers, and what is included: all that the bound of a node rests on."""

    included: IntArray
    multipliers: Multipliers


@dataclass(eq=False)
class ShareBound:
    """Bounds nodes of one stage.

    Attributes
    ----------
    problem : Subproblem
    value : float
        Of a good vector: the size of the numbers to expect.
    tuning : ShareTuning
    """

    problem: Subproblem
    value: float
    tuning: ShareTuning

    def __post_init__(self) -> None:
        size = max(abs(self.value), SMALLEST_SCALE * self.problem.scale)
        self.unit = 2.0 ** round(math.log2(size))

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        """Bound a node; the work stops as soon as ``upper ≤ cutoff``, or will not get there."""
        inherited = node.payload if isinstance(node.payload, ShareMethod) else None
        work = _Work(self, node, inherited)
        patience = self.tuning.patience if inherited is None else self.tuning.later_patience
        work.run(cutoff, watch, patience)
        return work.outcome(cutoff)

    def method(
        self, features: IntArray, included: IntArray, inherited: ShareMethod | None
    ) -> ShareMethod:
        """Return an iterate on some features: that of a larger node, or a new one."""
        W = self.problem.touching(features)
        if inherited is not None and len(np.setdiff1d(features, inherited.features)) == 0:
            return inherited.narrowed(W, features, included)
        at = np.ix_(features, features)
        Q = self.problem.projected[at]
        return ShareMethod(Q, W, self.problem.sparsity, features, included, self.unit)


class _Work:
    """One node: what is left of it, and what is proved."""

    def __init__(self, bound: ShareBound, node: Node, inherited: ShareMethod | None) -> None:
        self.bound = bound
        self.problem = bound.problem
        self.included, self.allowed = node.included, node.allowed
        self.whole = len(self.included) == 0 and len(self.allowed) == bound.problem.n_features
        self.upper, self.removed = node.upper, -math.inf
        self.proved: Proved | None = node.proof if isinstance(node.proof, Proved) else None
        self.steps: list[Step] = []
        self.supports: list[IntArray] = []
        self.iterate = bound.method(self.allowed, self.included, inherited)

    @property
    def determined(self) -> bool:
        size = self.problem.sparsity
        return len(self.allowed) <= size or len(self.included) >= size

    def run(self, cutoff: float, watch: Watch, patience: float) -> None:
        tuning, last = self.bound.tuning, math.inf
        checks = 0
        while not self.determined:
            went_on = self.iterate.run(tuning.between_checks, watch.out_of_time)
            multipliers = self.iterate.multipliers()
            claim = self._claim(multipliers)
            checks += 1
            if self.whole:
                watch.report_bound(max(self.upper, self.removed), ClosedBy.RELAXATION)
            if self.upper <= cutoff or not went_on:
                break
            gain, missing = last - claim.upper, self.upper - cutoff
            if checks > tuning.first_checks and missing > patience * max(gain, 0.0):
                # At this pace it takes too long: smaller nodes will be easier; unless single
                # precision is what is missing, and the largest eigenvalue all there is to it.
                self._claim(Multipliers.none(self.allowed, self.bound.unit))
                break
            last = claim.upper
            if missing <= tuning.fix_within * max(abs(cutoff), self.bound.unit):
                self._fix(claim, multipliers, cutoff)
                if self.upper <= cutoff:
                    break
        self._round()

    def _claim(self, multipliers: Multipliers) -> Claim:
        """Prove what multipliers are worth."""
        claim = Claim(self.problem, self.included, multipliers)
        if claim.upper < self.upper:
            self.upper, self.proved = claim.upper, Proved(self.included, multipliers)
        return claim

    def _fix(self, claim: Claim, multipliers: Multipliers, level: float) -> None:
        """Drop features that no support above the level contains; include those that all do."""
        iterate, features = self.iterate, claim.features
        groups = [
            np.sort(features[group])
            for group in ruled_out(claim, iterate.X.diagonal().astype(float), level)
        ]
        into = features[ruled_in(claim, iterate.shares, level)]
        out = np.concatenate([features[:0], *groups])
        if len(out) == 0 and len(into) == 0:
            return
        self.removed = max(self.removed, level)
        neither = np.intersect1d(into, out)
        if len(neither) or len(into) > self.problem.sparsity - len(self.included):
            # What every support must have none can have: there is no such support.
            groups, into = [], neither[:1] if len(neither) else into
            self.upper = min(self.upper, level)
            self.proved = Proved(np.union1d(self.included, into), multipliers)
        self.steps += [Step(group, multipliers=multipliers) for group in groups]
        self.allowed = np.setdiff1d(features, np.concatenate([features[:0], *groups]))
        if len(self.allowed) == len(self.included):
            # Nothing can be added to what is included, and alone it is in some support of a group.
            self.upper = min(self.upper, level)
        for i in range(len(into)):
            if self.determined:
                break
            self.steps.append(Step(features[:0], -1, into[i : i + 1], multipliers))
            self.included = np.union1d(self.included, into[i : i + 1])
        if self.upper > level and not self.determined:
            self.iterate = self.bound.method(self.allowed, self.included, iterate)

    def _round(self) -> None:
        """Supports near the relaxed one: the largest shares, and the largest loadings."""
        size, features = self.problem.sparsity, self.iterate.features
        if len(features) <= size:
            return
        for guide in (self.iterate.shares, np.abs(self.iterate.direction)):
            guide = np.where(np.isin(features, self.included), math.inf, guide)
            chosen = np.argsort(-guide, kind="stable")[:size]
            self.supports.append(np.sort(features[chosen]))

    def outcome(self, cutoff: float) -> NodeBound:
        """What the search needs to go on."""
        free = np.setdiff1d(self.allowed, self.included, assume_unique=True)
        branch = int(free[0]) if len(free) else -1
        payload = None
        if self.upper > cutoff and not self.determined:
            payload = self.iterate
            shares = self.iterate.shares
            undecided = np.abs(shares - self.bound.tuning.branch_near)
            undecided[np.isin(self.iterate.features, self.included)] = math.inf
            branch = int(self.iterate.features[np.argmin(undecided)])
        return NodeBound(
            self.upper,
            self.included,
            self.allowed,
            branch=branch,
            supports=tuple(self.supports),
            fixed_upper=self.removed,
            payload=payload,
            proof=self.proved,
            steps=tuple(self.steps),
        )
