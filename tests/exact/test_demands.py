"""Include, exclude, previous and disjoint, against brute force in rational arithmetic."""

from __future__ import annotations

import zlib
from itertools import combinations

import numpy as np
import pytest

from helpers.demands import CONSTRAINTS, check, some_demands
from helpers.problems import MATRICES
from helpers.routes import ROUTES, PathRoute
from helpers.stages import exact_matrix_of
from orthospca import solve

#: Every combination of what may be asked.
ASKED = [c for size in (1, 2, 3, 4) for c in combinations(CONSTRAINTS, size)]
#: Kinds of matrices with many ties.
TIED = [MATRICES[kind] for kind in ("integers", "equal_blocks", "exchangeable", "hollow")]
#: Every way through the package that is certified.
WAYS = [name for name, route in ROUTES.items() if not isinstance(route, PathRoute)]
#: Ways to a certificate.
PROVED = [name for name in WAYS if ROUTES[name].method == "branch-and-bound"]
#: Problems of each combination on each route: about 150 in all, and 5000.
COUNTS = [1, pytest.param(12, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("constraints", ASKED, ids="+".join)
def test_bounds_hold_on_every_route(constraints: tuple[str, ...], count: int) -> None:
    """Tests that no feasible vector is above a bound, until nothing feasible is left."""
    for name in in_turn(WAYS, constraints, count, 0):
        for seed in range(count):
            _solve_and_check(name, constraints, seed)


def in_turn(ways: list[str], constraints: tuple[str, ...], count: int, turn: int) -> list[str]:
    """Every fifth way, and the others with the next combinations; of many problems, all ways."""
    return ways if count > 1 else ways[(ASKED.index(constraints) + turn) % 5 :: 5]


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


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("constraints", ASKED, ids="+".join)
def test_certificates_are_verified(constraints: tuple[str, ...], count: int) -> None:
    """Tests that a proof is one, on every route to it."""
    for name in in_turn(PROVED, constraints, count, 1):
        for seed in range(count):
            _solve_and_check(name, constraints, seed, proof=True)


@pytest.mark.parametrize("count", [2, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("constraints", ASKED, ids="+".join)
def test_ties_are_resolved_among_what_is_feasible(constraints: tuple[str, ...], count: int) -> None:
    """Tests the lexicographic objective: no bound is wrong, and no first variance smaller."""
    for seed in range(count):
        rng = np.random.default_rng([zlib.crc32(f"ties {constraints}".encode()), seed])
        matrix = TIED[seed % len(TIED)](rng, int(rng.integers(2, 6)))
        n = len(matrix)
        limits = [int(rng.integers(1, n + 1))] * min(n, 3)
        asked = some_demands(rng, n, limits, constraints)
        options = {"gap": 1e-6, "proof": bool(seed % 2), **asked}
        result = solve(matrix, limits, len(limits), objective="lexicographic", **options)
        check(exact_matrix_of(matrix), result, asked, 0.0, 1e-6)
        plain = solve(matrix, limits, len(limits), gap=1e-6, **asked)
        pairs = zip(plain.variances, result.variances, strict=False)
        gain = next((b - a for a, b in pairs if abs(b - a) > 1e-5 * abs(matrix).max()), 0.0)
        # A larger second component may use up what a third one would need: (9, 9), not (9, 6, 6).
        assert gain > 0 or (gain == 0 and len(plain) <= len(result))
        if result.certificate is not None and len(result):
            assert result.certificate.verify().reason == ""
