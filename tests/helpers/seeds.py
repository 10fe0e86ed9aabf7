"""How many random problems a test is given: a few at each change, more of them now and then."""

from __future__ import annotations

import os
from itertools import product
from typing import Any

import pytest

#: Whether everything is tested at length, as ``make test-all`` does.
FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
#: Of the long loops, the slow tests run every so many-th problem; ``TEST_STRIDE=1`` runs all, for
#: hours.  A prime, so that every kind of problem has its turn.
STRIDE = int(os.environ.get("TEST_STRIDE", "23"))
#: The part of them that is run.
SHARE = 1 / STRIDE


def seeds(fast: int, total: int) -> list[Any]:
    """Parameters 0, 1, … of a test: the first few always, the others with the slow tests.

    Problems that differ by nothing but their seed seldom fail alone: what a few of them do not
    show, ``make test-all`` does.
    """
    return [*range(fast), *(pytest.param(s, marks=pytest.mark.slow) for s in range(fast, total))]


def later(*values: Any) -> list[Any]:
    """Parameters of the slow tests."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def split(problems: range, fast: int) -> list[Any]:
    """Two parameters: the first few problems of a loop always, the others with the slow tests."""
    return [
        pytest.param(problems[:fast], id="few"),
        pytest.param(problems[fast:], id="others", marks=pytest.mark.slow),
    ]


def crossed(*axes: Any) -> list[Any]:
    """All combinations of some parameters: as many as give each value its turn, the others slow."""
    lists = [list(axis) for axis in axes]
    sizes = [len(axis) for axis in lists]
    # Of two lists that are equally long, the second goes on by one more after each round.
    rounds = [sizes[:k].count(size) for k, size in enumerate(sizes)]
    always = {
        tuple((i + r * (i // size)) % size for size, r in zip(sizes, rounds, strict=True))
        for i in range(max(sizes))
    }
    return [
        pytest.param(*values, marks=() if places in always else pytest.mark.slow)
        for places, values in zip(
            product(*(range(len(axis)) for axis in lists)), product(*lists), strict=True
        )
    ]


def spread(start: int, stop: int, step: int = 1) -> range:
    """A part of ``range(start, stop, step)``, spread over all of it; how much is ``SHARE``."""
    return range(start, stop, step * STRIDE)
