"""Every variance that is told is what the vector has, in exact arithmetic, or a hair less."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from helpers.exact import (
    exact_variance,
    exact_variance_of_data,
    rounded_down,
    within_tolerance,
)
from helpers.seeds import spread
from helpers.wide import solve_as_wide
from orthospca import (
    Component,
    DataCovariance,
    Status,
    alternatives,
    solve,
    sparsity_path,
    verify,
)

GAP = 1e-4


def nearly_one_vector(seed: int) -> tuple[np.ndarray, int, int]:
    """``10^e·vvᵀ`` and something small: the first component carries nearly everything."""
    rng = np.random.default_rng([7, seed])
    n, K = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    p = int(rng.integers(2, n + 1))
    v = rng.standard_normal(n) if seed % 2 else rng.integers(-3, 4, n).astype(float)
    rows = rng.standard_normal((n, n))
    small = rows.T @ rows if seed % 3 else np.diag(rng.integers(1, 5, n).astype(float))
    Q = 10.0 ** (2 + seed % 12) * np.outer(v, v) + small
    return 0.5 * (Q + Q.T), p, K


def check_told(Q: np.ndarray, told: Iterable[Component], gap: float = GAP) -> None:
    """Each variance is the exact one, and what is called optimal is so with that."""
    for component in told:
        exact = exact_variance(Q, component.vector)
        assert component.variance == rounded_down(exact)
        assert Fraction(component.upper_bound) >= component.variance
        if component.status is Status.OPTIMAL:
            assert Fraction(component.upper_bound) - exact <= Fraction(gap) * abs(exact)


def check_matrices(seeds: range) -> None:
    """Solve some matrices, and look at every stage and every point of the path."""
    for seed in seeds:
        Q, p, K = nearly_one_vector(seed)
        result = solve(Q, p, K, gap=GAP)
        check_told(Q, result)
        check_told(Q, result.path)
        total = sum(exact_variance(Q, x.vector) for x in result)
        assert Fraction(result.joint_variance) <= total
        assert result.joint_variance <= result.joint_upper_bound
        lowers = [entry.lower for entry in result.history if entry.stage == K - 1]
        if len(result) == K and lowers:
            assert max(lowers) <= result[-1].variance


def test_what_cancels() -> None:
    """Tests ``2³⁸·9·11ᵀ + diag(1, 3)``: the second vector has 2, and products add up to 2.0001."""
    Q = 2.0**38 * 9 * np.ones((2, 2)) + np.diag([1.0, 3.0])
    result = solve(Q, 2, 2, gap=GAP)
    assert result[1].variance == pytest.approx(2.0, abs=1e-6)
    check_told(Q, result)


@pytest.mark.parametrize("part", range(4))
def test_one_vector_and_little_else(part: int) -> None:
    """Tests a few dozen matrices of which one vector is nearly all."""
    check_matrices(range(12 * part, 12 * (part + 1)))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_of_one_vector_and_little_else(part: int) -> None:
    """Tests a thousand of them."""
    check_matrices(spread(50 * part, 50 * (part + 1)))


@pytest.mark.parametrize("method", ["enumeration", "eigenvalue", "deflation"])
@pytest.mark.parametrize("seed", [8, 9, 10, 11])
def test_other_methods(method: str, seed: int) -> None:
    """Tests every method; of a deflated matrix both variances."""
    Q, p, K = nearly_one_vector(seed)
    result = solve(Q, p, K, method=method, gap=GAP)
    for component in result:
        assert component.variance == rounded_down(exact_variance(Q, component.vector))
    if method != "deflation":
        check_told(Q, result)
        return
    adjusted = Q
    for component in result:
        x, value = component.vector, component.deflated_variance
        assert value == rounded_down(exact_variance(adjusted, x))
        assert value <= component.upper_bound
        image = adjusted @ x
        adjusted = adjusted - np.outer(x, image) - np.outer(image, x)
        adjusted = adjusted + float(x @ image) * np.outer(x, x)
        adjusted = 0.5 * (adjusted + adjusted.T)


@pytest.mark.parametrize("seed", [6, 7, 8, 9, 10, 11])
def test_blocks(seed: int) -> None:
    """Tests components of blocks, some entries between and inside which are left out."""
    first, p, K = nearly_one_vector(seed)
    n = len(first)
    Q = np.zeros((2 * n, 2 * n))
    Q[:n, :n], Q[n:, n:] = first, 3.0 * first
    check_told(Q, solve(Q, p, K + 1, gap=GAP))
    Q[0, n] = Q[n, 0] = 0.01
    result = solve(Q, p, K + 1, gap=GAP, threshold=0.02)
    check_told(Q, result)
    for component in result:
        short = Fraction(component.upper_bound) - exact_variance(Q, component.vector)
        assert short <= Fraction(max(result.guarantee, component.upper_bound - component.variance))


@pytest.mark.parametrize("seed", [8, 9, 10, 11])
@pytest.mark.parametrize("objective", ["lexicographic", "joint"])
def test_other_objectives(objective: str, seed: int) -> None:
    """Tests sets, and the total of one."""
    Q, p, K = nearly_one_vector(seed)
    result = solve(Q, min(p, 3), K, objective=objective, gap=GAP, node_limit=20)
    for component in result:
        assert component.variance == rounded_down(exact_variance(Q, component.vector))
    total = sum(exact_variance(Q, x.vector) for x in result)
    assert Fraction(result.joint_variance) <= total
    if objective == "joint" and result.status is Status.OPTIMAL:
        assert within_tolerance(result.joint_variance, result.joint_upper_bound, 0.0, GAP)
    if objective == "joint":
        for k, component in enumerate(result):
            others = sum(exact_variance(Q, x.vector) for j, x in enumerate(result) if j != k)
            assert Fraction(component.upper_bound) >= Fraction(component.variance)
            assert others + Fraction(component.upper_bound) >= Fraction(result.joint_variance)


@pytest.mark.parametrize("seed", [6, 8, 9, 10, 11])
def test_paths_and_alternatives(seed: int) -> None:
    """Tests paths by sparsity, and lists of supports, after a component that has everything."""
    Q, _, _ = nearly_one_vector(seed)
    n = len(Q)
    path = sparsity_path(Q, range(1, n + 1), n_components=2)
    for result in path.results:
        check_told(Q, result)
    single = sparsity_path(Q, range(1, n + 1))
    for result in single.results:
        check_told(Q, result)
    first = solve(Q, n, 1).components
    for found in (
        alternatives(Q, 3, 0.05, previous=first),
        alternatives(Q, 3, 0.05, previous=first, max_supports=2),
        alternatives(Q, 3, 0.05, previous=first, proof=True),
    ):
        for support, variance in zip(found.supports, found.variances, strict=True):
            # No vector on the support that is orthogonal, even nearly so, has much less or more.
            assert variance <= best_with_room(Q, first[0], support)
        if found.certificate is not None:
            assert verify(found.certificate, Q)
            vectors = np.zeros((len(found), n))
            for row, T, x in zip(
                vectors, found.supports, found.certificate.arrays["list/loadings.npy"], strict=True
            ):
                row[T] = x
            for x, variance in zip(vectors, found.variances, strict=True):
                assert variance == rounded_down(exact_variance(Q, x))


def best_with_room(Q: np.ndarray, previous: np.ndarray, support: np.ndarray) -> float:
    """A bound on the variance of a unit vector on a support, orthogonal up to 1e-15 or so.

    What the component before has is ``v``; a vector that is turned to it by t has at most
    ``2t·‖Q‖`` more than one that is orthogonal.
    """
    part, x = Q[np.ix_(support, support)], previous[support]
    basis = np.linalg.svd(x[:, None], full_matrices=True)[0][:, 1:]
    value = float(np.linalg.eigvalsh(basis.T @ part @ basis)[-1])
    return value + 1e-13 * float(np.abs(Q).max()) + 1e-9 * abs(value)


@pytest.mark.parametrize("threshold", [0.0, 0.5])
@pytest.mark.parametrize("correlation", [False, True])
def test_data(correlation: bool, threshold: float) -> None:
    """Tests a covariance that is never formed: below what the data have, by less than 1e-13."""
    rng = np.random.default_rng(3)
    common = rng.standard_normal((30, 1))
    X = 1e5 * common @ rng.standard_normal((1, 40)) + rng.standard_normal((30, 40))
    covariance = DataCovariance(X, correlation=correlation)
    B = covariance.factor(np.arange(40))
    result = solve_as_wide(covariance, 4, 3, threshold=threshold)
    for component in (*result, *result.path):
        exact = exact_variance_of_data(B, component.vector)
        assert Fraction(component.variance) <= exact
        assert exact - Fraction(component.variance) <= exact * Fraction(1, 10**13)
        assert component.variance <= component.upper_bound


@pytest.mark.parametrize("seed", [9, 10, 11])
def test_resumed(tmp_path: Path, seed: int) -> None:
    """Tests that a run that is taken up tells what it told before."""
    Q, p, K = nearly_one_vector(seed)
    file = tmp_path / "certificate.zip"
    first = solve(Q, p, K, resume=file)
    again = solve(Q, p, K, resume=file)
    check_told(Q, first)
    check_told(Q, again)
    assert again.variances.tolist() == first.variances.tolist()
    assert [c.variance for c in again.path] == [c.variance for c in first.path]
    assert math.isfinite(again.joint_variance)
