"""Reported bounds against exact optima, on every route that leads to one.

Problems are small, so that all supports can be looked at, and sent through the code for large ones
by force where that is needed (`helpers.forced`).
"""

from __future__ import annotations

from functools import cache

import pytest

from helpers.audit import PROMISES, Audit
from helpers.routes import ROUTES


@cache
def audit(name: str, slow: bool) -> Audit:
    """Check all that the solves of a route promise; several tests ask for it."""
    route = ROUTES[name]
    kinds = list(route.kinds)
    seeds, largest = (2, 8) if slow else (1, 3)
    if name.startswith("wide") and slow:
        seeds = 4
    if name.startswith("dask"):
        # Each product is a call of the scheduler, which takes longer than all else.
        seeds, largest = 1, min(largest, 6)
        kinds = kinds if slow else kinds[2:3]
    elif not slow:
        # A third of the kinds, not the same ones on all routes.
        kinds = kinds[list(ROUTES).index(name) % 3 :: 3]
    found = Audit()
    for kind in kinds:
        for seed in range(seeds):
            for solved in route.solves(name, kind, seed, largest):
                found.check(solved)
    return found


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("route", ROUTES)
def test_promise(route: str, promise: str) -> None:
    """Tests that what is promised of each result holds exactly, on up to three features."""
    found = audit(route, False)
    assert not found.broken[promise], found.message(promise)


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("route", ROUTES)
def test_promise_on_many_problems(route: str, promise: str) -> None:
    """Tests the same on up to eight features."""
    found = audit(route, True)
    assert not found.broken[promise], found.message(promise)


@pytest.mark.parametrize(
    ("slow", "enough"), [(False, 500), pytest.param(True, 20_000, marks=pytest.mark.slow)]
)
def test_enough_bounds_are_checked(slow: bool, enough: int) -> None:
    """Tests that problems do not end so early that hardly anything is checked."""
    assert sum(audit(route, slow).bounds for route in ROUTES) >= enough
