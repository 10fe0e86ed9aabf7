"""Observations by label: which of them have a colour of their own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from orthospca._typing import Array
from orthospca.interface.plots.text import plain

#: How many colours there are.
TONES = 8
#: A column of so many different numbers is a scale, cut into so many parts.
SCALE, PARTS = 8, 5


@dataclass(frozen=True)
class Group:
    """Rows of one colour: ``tone`` is its number, those of a scale after the others; -1 is grey."""

    name: str
    rows: list[int]
    tone: int


def grouped(labels: tuple[str, ...] | None, kept: list[int]) -> list[Group]:
    """Rows by label: the frequent ones have a colour each, the others are grey together.

    Numbers, if there are many different ones, are cut into ranges of equally many rows.
    """
    if labels is None:
        return [Group("", kept, 0)]
    given = [labels[i] for i in kept]
    numbers = _numbers(given)
    if numbers is not None:
        edges = np.unique(np.quantile(numbers, np.linspace(0.0, 1.0, PARTS + 1)))
        part = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
        rows = np.array(kept)
        return [
            Group(f"{plain(low)} to {plain(high)}", rows[part == g].tolist(), TONES + g)
            for g, (low, high) in enumerate(pairwise(edges))
        ]
    counts = Counter(given)
    most = TONES if len(counts) <= TONES else TONES - 1
    frequent = sorted(name for name, _ in counts.most_common(most))
    found = [
        Group(name or "(empty)", [i for i in kept if labels[i] == name], tone)
        for tone, name in enumerate(frequent)
    ]
    rest = [i for i in kept if labels[i] not in frequent]
    if rest:
        # Painted first, so that they cover none of the others.
        found.insert(0, Group(f"{len(counts) - len(frequent)} others", rest, -1))
    return found


def _numbers(labels: list[str]) -> Array | None:
    """The labels as numbers, if they are, and if they are many."""
    if len(set(labels)) <= SCALE:
        return None
    try:
        values = np.array([float(label) for label in labels])
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None
