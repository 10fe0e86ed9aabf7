"""Include, exclude, previous and disjoint, against brute force in rational arithmetic."""

from __future__ import annotations

import zlib
from itertools import combinations

import numpy as np
import pytest

from helpers.demands import CONSTRAINTS, check, some_demands
from helpers.routes import ROUTES, PathRoute
from helpers.stages import exact_matrix_of
from orthospca import solve

#: Every combination of what may be asked.
ASKED = [c for size in (1, 2, 3, 4) for c in combinations(CONSTRAINTS, size)]
#: Every way through the package that is certified.
WAYS = [name for name, route in ROUTES.items() if not isinstance(route, PathRoute)]
#: Problems of each combination on each route: about 500 in all, and 5000.
COUNTS = [1, pytest.param(12, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("constraints", ASKED, ids="+".join)
def test_bounds_hold_on_every_route(constraints: tuple[str, ...], count: int) -> None:
    """Tests that no feasible vector is above a bound, until nothing feasible is left."""
    for name in WAYS:
        for seed in range(count):
            _solve_and_check(name, constraints, seed)


def _solve_and_check(
    name: str, constraints: tuple[str, ...], seed: int, proof: bool = False
) -> None:
    route = ROUTES[name]
    rng = np.random.default_rng([zlib.crc32(f"{name} {constraints}".encode()), seed])
    kind = list(route.kinds)[int(rng.integers(len(route.kinds)))]
    n = int(rng.integers(2, 7))
    drawn = route.kinds[kind](rng, n)
    with pytest.MonkeyPatch.context() as monkeypatch:
        route.force(monkeypatch, rng)
        given = route.given(rng, drawn)
        exact = exact_matrix_of(given)
        options = route.options(rng, exact.rounded, n) | route._tolerances(rng, exact.rounded)
        p = int(rng.integers(1, n + 1))
        limits = options.pop("sparsity", [p] * n)
        asked = some_demands(rng, n, limits, constraints)
        options |= {"method": route.method, "proof": proof}
        result = solve(given, limits, n, **options, **asked)
    try:
        check(exact, result, asked, options["eps"], options["gap"])
        if proof and result.n_components:
            assert result.certificate.verify().reason == ""
    except AssertionError as error:
        raise AssertionError(f"{name}, {kind}, {constraints}, seed {seed}: {asked}") from error


#: Ways to a certificate; where there is no room for a matrix it does not hold all arguments.
PROVED = [
    name for name in WAYS if ROUTES[name].method == "branch-and-bound" and name != "wide remainder"
]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("constraints", ASKED, ids="+".join)
def test_certificates_are_verified(constraints: tuple[str, ...], count: int) -> None:
    """Tests that a proof is one, on every route to it."""
    for name in PROVED:
        for seed in range(count):
            _solve_and_check(name, constraints, seed, proof=True)
