"""Features that a claim proves out of every support above a level, or in all of them."""

from __future__ import annotations

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.share.claim import Claim

#: Tests one by one that may fail before the rest is given up.
FAILURES = 4
#: A feature is tried for "in all" if so much of it is in the relaxed support.
NEARLY_IN = 0.95


def ruled_out(claim: Claim, weights: Array, level: float) -> list[IntArray]:
    """Return places of features that no support above a level contains, in groups.

    Many are tested at once, with what all of them have in common, the most hopeless first; where
    that fails, in smaller groups.

    Parameters
    ----------
    claim : Claim
    weights : array
        How much each feature matters to the eigenvalue, about: the diagonal of X.
    level : float
    """
    missing = claim.eigenvalue + claim.total - level
    share = np.maximum(weights, 0.0)
    share = share / max(float(share.sum()), 1e-300)
    promise = claim.reductions @ share + claim.dearer
    hopeful = np.flatnonzero((promise > missing) & ~claim.inside)
    hopeful = hopeful[np.argsort(-promise[hopeful], kind="stable")]
    out: list[IntArray] = []
    start, size, failures = 0, max(len(hopeful) // 4, 1), 0
    while start < len(hopeful) and failures < FAILURES:
        group = hopeful[start : start + size]
        if claim.proves_none_of(group, level):
            out.append(group)
            start += len(group)
        elif len(group) > 1:
            size = max(len(group) // 3, 1)
        else:
            start, failures = start + 1, failures + 1
    return out


def ruled_in(claim: Claim, shares: Array, level: float) -> IntArray:
    """Return places of features that every support above a level contains.

    Parameters
    ----------
    claim : Claim
    shares : array
        How much each feature is in the relaxed support.
    level : float
    """
    nearly = np.flatnonzero((shares > NEARLY_IN) & ~claim.inside)
    gains = np.maximum(claim.H[nearly] - claim.following, 0.0).sum(axis=1)
    into: list[int] = []
    failures = 0
    for place in nearly[np.argsort(-gains, kind="stable")].tolist():
        if claim.proves_all_with(place, level):
            into.append(place)
        else:
            failures += 1
            if failures >= FAILURES:
                break
    return np.sort(np.array(into, dtype=np.intp))
