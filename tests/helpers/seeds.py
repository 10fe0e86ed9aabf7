"""How many random problems a test is given: a few at each change, all of them now and then."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(fast: int, total: int) -> list[Any]:
    """Parameters 0, 1, … of a test: the first few always, the others with the slow tests.

    Problems that differ by nothing but their seed seldom fail alone: what a few of them do not
    show, ``make test-all`` does.
    """
    return [*range(fast), *(pytest.param(s, marks=pytest.mark.slow) for s in range(fast, total))]
