"""Tests of the tolerance: a gap counts as closed only if it is, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.cases import is_met
from orthospca import Status, solve
from orthospca.model.tolerance import Tolerance

TOLERANCES = [(0.0, 0.0), (0.1, 0.0), (0.0, 1e-4), (1e-3, 0.1), (1e-300, 3.0)]


def numbers(seed: int, count: int = 2000) -> list[float]:
    """Numbers of both signs and any size."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(count) * 10.0 ** rng.uniform(-8, 8, size=count)).tolist()


@pytest.mark.parametrize(("eps", "gap"), TOLERANCES)
def test_cutoff_keeps_the_tolerance(eps: float, gap: float) -> None:
    """Tests that a node closed at the cutoff leaves the tolerance met, in spite of rounding."""
    tolerance = Tolerance(eps, gap)
    assert tolerance.cutoff(-math.inf) == -math.inf
    for lower in numbers(0):
        cutoff = tolerance.cutoff(lower)
        assert cutoff >= lower
        assert tolerance.met(lower, cutoff)
        assert is_met(lower, cutoff, eps, gap)


@pytest.mark.parametrize(("eps", "gap"), TOLERANCES)
def test_met_is_decided_without_rounding(eps: float, gap: float) -> None:
    """Tests the last bound that meets the tolerance, and the next float, which does not."""
    tolerance = Tolerance(eps, gap)
    for lower in (*numbers(1), 0.0, 5e-324, -5e-324, 1e300, -1e300):
        exact = Fraction(lower)
        largest = exact + max(Fraction(eps), Fraction(gap) * abs(exact))
        upper = float(largest)
        if Fraction(upper) > largest:
            upper = math.nextafter(upper, -math.inf)
        above = math.nextafter(upper, math.inf)
        assert tolerance.met(lower, upper), (lower, upper)
        assert not tolerance.met(lower, above), (lower, above)
        assert tolerance.met(lower, lower)
        assert tolerance.met(lower, math.nextafter(lower, -math.inf))


def test_what_is_not_finite_is_not_met() -> None:
    """Tests that without a component, or without a bound, no tolerance is met."""
    tolerance = Tolerance(1e6, 1e6)
    assert not tolerance.met(-math.inf, 1.0)
    assert not tolerance.met(-math.inf, -math.inf)
    assert not tolerance.met(-math.inf, math.inf)
    assert not tolerance.met(1.0, math.inf)
    for upper in (math.nan, 1.0):
        assert not tolerance.met(math.nan, upper)
    assert not tolerance.met(1.0, math.nan)


def test_resolution_is_where_the_search_ends_and_no_excuse() -> None:
    """Tests that less than the resolution is not searched for, and not said to be reached."""
    tolerance = Tolerance(0.0, 1e-9).at_resolution(1e-6)
    assert tolerance == Tolerance(0.0, 1e-9, 1e-6)
    assert tolerance.cutoff(1.0) == 1.0 + 1e-6
    assert not tolerance.met(1.0, 1.0 + 1e-6)
    # Where the tolerance is wider, the resolution is of no account.
    assert tolerance.cutoff(1e10) == Tolerance(0.0, 1e-9).cutoff(1e10)
    assert tolerance.allowed(1e4) == Tolerance(0.0, 1e-9).allowed(1e4)


@pytest.mark.parametrize("gap", [1e-12, 1e-11, 1e-9, 1e-4])
@pytest.mark.parametrize("lower", [2.9174831316082, -0.3, 1e-80, 7e90])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_rounding_does_not_spoil_what_is_aimed_at(lower: float, gap: float, share: float) -> None:
    """Tests that a bound at the cutoff is within the tolerance, also with some rounding added."""
    tolerance = Tolerance(0.0, gap)
    resolution = share * tolerance.allowed(lower)
    upper = tolerance.at_resolution(resolution).cutoff(lower) + 0.1 * resolution
    assert lower < upper and tolerance.met(lower, upper)


@pytest.mark.parametrize("proof", [False, True])
def test_small_tolerances_are_met(proof: bool) -> None:
    """Tests that what floating point can close is called optimal."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((12, 7))
    result = solve(rows.T @ rows, 4, 4, gap=1e-11, proof=proof)
    assert result.status is Status.OPTIMAL
