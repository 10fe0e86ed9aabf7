"""Uncorrelated scores, against brute force in rational arithmetic."""

from __future__ import annotations

import math
import zlib
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from helpers.demands import exceeds_on, lists, some_demands, supports
from helpers.exact import ExactMatrix, nearly_orthogonal_support, within_tolerance
from helpers.problems import MATRICES
from helpers.routes import ROUTES, PathRoute
from orthospca import Result, Status, solve

#: What may be asked beside it, in every combination.
ASKED = [c for size in range(4) for c in combinations(("include", "exclude", "previous"), size)]
#: Every way from a matrix.
WAYS = [
    name
    for name, route in ROUTES.items()
    if not isinstance(route, PathRoute) and route.kinds is MATRICES
]
COUNTS = [1, pytest.param(20, marks=pytest.mark.slow)]


@pytest.mark.parametrize("proof", [False, True])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("constraints", ASKED, ids=lambda c: "+".join(c) or "alone")
def test_bounds_hold_on_every_route(constraints: tuple[str, ...], count: int, proof: bool) -> None:
    """Tests that no uncorrelated vector is above a bound, until nothing feasible is left."""
    # One problem is on every second way, and the others have theirs with the next combination.
    for name in WAYS if count > 1 else WAYS[ASKED.index(constraints) % 2 :: 2]:
        if proof and ROUTES[name].method != "branch-and-bound":
            continue
        for seed in range(count):
            _solve_and_check(name, constraints, seed, proof)


def _solve_and_check(name: str, constraints: tuple[str, ...], seed: int, proof: bool) -> None:
    route = ROUTES[name]
    rng = np.random.default_rng([zlib.crc32(f"uncorrelated {name} {constraints}".encode()), seed])
    kind = list(route.kinds)[int(rng.integers(len(route.kinds)))]
    n = int(rng.integers(2, 7))
    drawn = route.kinds[kind](rng, n)
    with pytest.MonkeyPatch.context() as monkeypatch:
        route.force(monkeypatch, rng)
        given = route.given(rng, drawn)
        options = route.options(rng, given, n) | route._tolerances(rng, given)
        p = int(rng.integers(1, n + 1))
        limits = options.pop("sparsity", [p] * n)
        asked = some_demands(rng, n, limits, constraints) | {"relation": "uncorrelated"}
        options |= {"method": route.method, "proof": proof}
        result = solve(given, limits, n, **options, **asked)
    try:
        check(given, result, asked, options["eps"], options["gap"])
        # Where next to nothing of Q is left, a checker may not see in rounded numbers what is true.
        clear = np.abs(result.variances).min(initial=np.inf) > 1e-8 * np.abs(given).max()
        if proof and result.n_components and clear:
            assert result.certificate.verify().reason == ""
    except AssertionError as error:
        raise AssertionError(f"{name}, {kind}, {constraints}, seed {seed}: {asked}") from error


def images(Q: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What components are orthogonal to: Qx, unless that is but rounding, of length about 1."""
    found = [np.zeros((0, len(Q)))]
    for x in rows:
        terms = [[float(a) * float(b) for a, b in zip(row, x, strict=True) if b] for row in Q]
        image = np.array([math.fsum(each) for each in terms])
        largest = float(np.abs(image).max())
        if largest > 1e-12 * np.abs(Q).max():
            scaled = np.ldexp(image, -math.frexp(largest)[1])
            found.append(np.ldexp(scaled, -round(math.log2(np.linalg.norm(scaled))))[None])
    return np.concatenate(found)


def check(Q: np.ndarray, result: Result, asked: dict[str, Any], eps: float, gap: float) -> None:
    """Check every promise of a result."""
    n, matrix = len(Q), ExactMatrix.of(Q)
    before = np.reshape(asked.get("previous", np.zeros((0, n))), (-1, n))
    count = len(result.sparsity)
    included, excluded = lists(asked, "include", count), lists(asked, "exclude", count)
    for k, stage in enumerate(result.stages):
        x, upper = stage.vector, stage.upper_bound
        used = set(np.flatnonzero(x).tolist())
        assert len(used.union(included[k])) <= result.sparsity[k]
        assert not used & set(excluded[k])
        rows = images(Q, _scaled(before, result.components[:k]))
        assert abs(x @ x - 1) <= 1e-12
        assert np.abs(rows @ x).max(initial=0.0) <= 2e-12
        assert stage.variance <= matrix.stated(x)
        assert stage.variance <= upper
        if stage.status is Status.OPTIMAL:
            assert within_tolerance(stage.variance, upper, eps, gap)
        for support in supports(n, result.sparsity[k], included[k], set(excluded[k])):
            assert not exceeds_on(matrix, rows, support, upper), (k, support, upper)
    if result.exhausted:
        k = result.n_components
        rows = images(Q, _scaled(before, result.components))
        for support in supports(n, result.sparsity[k], included[k], set(excluded[k])):
            if support:
                free = nearly_orthogonal_support(rows[:, support], len(support), 0.0)
                assert free is None, (k, support)


def _scaled(before: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Vectors that were given are scaled by powers of two before anything else is done."""
    largest = np.abs(before).max(axis=1, initial=0.0)
    rows = np.ldexp(before, -np.frexp(largest)[1][:, None])
    lengths = np.linalg.norm(rows, axis=1)
    return np.vstack([np.ldexp(rows, -np.rint(np.log2(lengths)).astype(int)[:, None]), found])
