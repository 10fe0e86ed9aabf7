"""What the leading rows of supports leave of many features.

A support with a value above the cutoff is led by a candidate row, and lies in that row's
neighbourhood (see ``screening``).  Where norms rule out little, as with correlations, whose
variances are all alike, there are often few candidate rows, with few neighbours: all of them
together may fit into a matrix.  Rows come from their profiles; a row whose neighbourhood reaches
beyond its list is computed in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.data.profiles import RowProfiles
from orthospca.numerics import rigor

if TYPE_CHECKING:
    from orthospca.wide.reduction import LargeStage

#: More rows than this are not computed in full.
LARGEST_FULL = 2000
#: Rows looked at together: in their lists, and in full.
LISTS_AT_ONCE = 4096
ROWS_AT_ONCE = 256


def led_features(
    stage: LargeStage,
    profiles: RowProfiles,
    keep: BoolArray,
    cutoff: float,
    stop: Callable[[], bool],
) -> IntArray | None:
    """Return the features that supports above the cutoff can contain, as far as rows tell.

    Parameters
    ----------
    stage : LargeStage
    profiles : RowProfiles
    keep : boolean array
        Features that such supports can contain, as far as is known.
    cutoff : float
    stop : callable

    Returns
    -------
    integer array or None
        None if rows have not been looked at, if too many would have to be computed in full, or if
        it was stopped.
    """
    occurs = np.zeros(len(keep), dtype=bool)
    occurs[stage.touched] = True
    plain = np.setdiff1d(np.flatnonzero(keep), stage.touched, assume_unique=True)
    if stage.sparsity == 1 or not profiles.known[plain].all():
        return None
    incomplete = []
    for start in range(0, len(plain), LISTS_AT_ONCE):
        part = plain[start : start + LISTS_AT_ONCE]
        slack = stage.row_slack(profiles, part)
        entries = stage.entries(profiles, part) + slack[:, None]
        leads, needed = _reach(stage, part, entries, slack, cutoff)
        beyond = leads & (profiles.tail[part] + slack > needed)
        incomplete.append(part[beyond])
        listed = np.flatnonzero(leads & ~beyond)
        occurs[part[listed]] = True
        # Columns after those of the list are features that components use: they occur anyway.
        near = entries[listed, : profiles.count] > needed[listed, None]
        occurs[profiles.indices[part[listed]][near]] = True
    rows = np.concatenate([*incomplete, stage.touched])
    if len(rows) > LARGEST_FULL:
        return None
    for start in range(0, len(rows), ROWS_AT_ONCE):
        if stop():
            return None
        _look_at_all(stage, rows[start : start + ROWS_AT_ONCE], cutoff, occurs)
    return np.flatnonzero(occurs & keep)


def _look_at_all(stage: LargeStage, rows: IntArray, cutoff: float, occurs: BoolArray) -> None:
    """Mark rows that lead, and their neighbours, from rows computed in full."""
    entries = np.abs(stage.times(stage.columns(rows))).T
    slack = np.full(len(rows), stage.full_row_slack)
    entries[np.arange(len(rows)), rows] = 0.0
    entries += slack[:, None]
    leads, needed = _reach(stage, rows, entries.copy(), slack, cutoff)
    occurs[rows[leads]] = True
    occurs |= (entries[leads] > needed[leads, None]).any(axis=0)


def _reach(
    stage: LargeStage, rows: IntArray, entries: Array, slack: Array, cutoff: float
) -> tuple[BoolArray, Array]:
    """Whether each row can lead, and the magnitude that every other member must exceed."""
    count = min(stage.sparsity - 1, entries.shape[1])
    top = np.partition(entries, entries.shape[1] - count, axis=1)[:, entries.shape[1] - count :]
    own = stage.diagonal[rows] + slack
    inflation = 1 + 8 * (count + 8) * rigor.UNIT
    largest = top.sum(axis=1)
    leads: BoolArray = (own + largest) * inflation > cutoff
    others = top[:, 1:] if count < 2 else np.sort(top, axis=1)[:, 1:]
    needed = cutoff - (own + others.sum(axis=1)) * inflation
    return leads, needed - 8 * rigor.UNIT * (abs(cutoff) + own + largest)
