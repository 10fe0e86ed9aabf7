"""Non-negative loadings, against brute force in integers."""

from __future__ import annotations

import zlib
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from helpers.demands import some_demands
from helpers.exact import ExactMatrix
from helpers.nonnegative import above, check
from helpers.problems import MATRICES
from helpers.routes import ROUTES, PathRoute
from helpers.stages import exact_matrix_of
from orthospca import solve
from orthospca.supports.nonnegative import best_nonnegative, nonnegative_part

#: What may be asked beside it, in every combination.
ASKED = [c for size in range(4) for c in combinations(("include", "exclude", "previous"), size)]
WAYS = [name for name, route in ROUTES.items() if not isinstance(route, PathRoute)]
#: Problems of each combination: on every third way to it, or many on all of them.
COUNTS = [1, pytest.param(15, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("constraints", ASKED, ids=lambda c: "+".join(c) or "alone")
def test_bounds_hold_on_every_route(constraints: tuple[str, ...], count: int) -> None:
    """Tests that no non-negative vector is above a bound, until nothing feasible is left."""
    for name in in_turn(WAYS, constraints, count):
        for seed in range(count):
            _solve_and_check(name, constraints, seed)


def in_turn(ways: list[str], constraints: tuple[str, ...], count: int) -> list[str]:
    """Every third way, and the others with the next combinations; of many problems, all ways."""
    return ways if count > 1 else ways[ASKED.index(constraints) % 3 :: 3]


def _demands(
    rng: np.random.Generator, n: int, limits: list[int], constraints: tuple[str, ...]
) -> dict[str, Any]:
    asked = some_demands(rng, n, limits, (*constraints, "disjoint"))
    if "previous" in asked:
        asked["previous"] = np.abs(asked["previous"])
        if np.linalg.matrix_rank(asked["previous"], tol=1e-6) < len(asked["previous"]):
            asked["previous"] = asked["previous"][:1]
        used = np.flatnonzero(asked["previous"].any(axis=0)).tolist()
        assert not any(j in used for own in asked.get("include", []) for j in np.ravel(own))
    if rng.random() < 0.5:
        del asked["relation"]
    return asked | {"nonnegative": True}


def _solve_and_check(
    name: str, constraints: tuple[str, ...], seed: int, proof: bool = False
) -> None:
    route = ROUTES[name]
    rng = np.random.default_rng([zlib.crc32(f"nonnegative {name} {constraints}".encode()), seed])
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
        asked = _demands(rng, n, limits, constraints)
        options |= {"method": route.method, "proof": proof}
        result = solve(given, limits, n, **options, **asked)
    try:
        check(exact, result, asked, options["eps"], options["gap"])
        if proof and result.n_components:
            assert result.certificate.verify().reason == ""
    except AssertionError as error:
        raise AssertionError(f"{name}, {kind}, {constraints}, seed {seed}: {asked}") from error


@pytest.mark.parametrize("count", [6, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", MATRICES)
def test_one_support(kind: str, count: int) -> None:
    """Tests that a bound on one support is one, and that there is a vector near it."""
    for seed in range(count):
        rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
        matrix = MATRICES[kind](rng, int(rng.integers(1, 7)))
        n = len(matrix)
        leaf = best_nonnegative(matrix, -np.inf, 10_000)
        exact = ExactMatrix.of(matrix)
        assert above(exact, [tuple(range(n))], leaf.upper) is None
        assert (leaf.loading >= 0).all()
        assert leaf.value <= exact.stated(leaf.loading)
        assert leaf.upper - leaf.value <= 1e-6 * np.abs(matrix).max() + 1e-280, (kind, seed)


def test_entries_are_not_below() -> None:
    """Tests Q⁺: no entry is below that of Q, the diagonal and what is inside are the same."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((7, 7))
    Q = A + A.T
    inside = np.array([1, 3, 4])
    part = nonnegative_part(Q, inside)
    assert (part >= Q).all()
    assert (part.diagonal() == Q.diagonal()).all()
    assert (part[np.ix_(inside, inside)] == Q[np.ix_(inside, inside)]).all()
    off = ~np.eye(7, dtype=bool)
    off[np.ix_(inside, inside)] = False
    assert (part[off] >= 0).all()


#: Ways from a matrix to a certificate.
PROVED = [
    name
    for name in WAYS
    if ROUTES[name].method == "branch-and-bound" and ROUTES[name].kinds is MATRICES
]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("constraints", ASKED, ids=lambda c: "+".join(c) or "alone")
def test_certificates_are_verified(constraints: tuple[str, ...], count: int) -> None:
    """Tests that what a file proves is what the result says, and true."""
    for name in in_turn(PROVED, constraints, count):
        for seed in range(count):
            _solve_and_check(name, constraints, seed, proof=True)
