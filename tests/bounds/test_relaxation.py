"""Tests of the convex relaxation: its multipliers prove valid bounds, however early it stops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from orthospca.bounds.relaxation.solver import Multipliers, State, dual_bound, solve_relaxation


def random_matrix(seed: int, n: int, *, indefinite: bool = False) -> np.ndarray:
    B = np.random.default_rng(seed).standard_normal((n, n))
    return (B + B.T) / 2 if indefinite else B @ B.T / n


def optimum(
    Q: np.ndarray, p: int, included: tuple[int, ...] = (), previous: np.ndarray | None = None
) -> float:
    """The sparse eigenvalue by looking at every support that contains `included`."""
    best = -np.inf
    for support in combinations(range(len(Q)), p):
        if not set(included) <= set(support):
            continue
        block = Q[np.ix_(support, support)]
        if previous is not None:
            allowed = np.linalg.svd(previous[list(support)][None, :])[2][1:].T
            block = allowed.T @ block @ allowed
        best = max(best, float(np.linalg.eigvalsh(block)[-1]))
    return best


def complement(previous: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the vectors orthogonal to `previous`."""
    return np.linalg.svd(previous[None, :])[2][1:].T


def assert_feasible(m: Multipliers) -> None:
    size = max(1.0, float(np.abs(m.W).max()), float(np.abs(m.A).max()))
    off = ~np.eye(len(m.s), dtype=bool)
    assert np.linalg.eigvalsh(m.W)[0] >= -1e-12 * size
    np.testing.assert_array_equal(m.W, m.W.T)
    np.testing.assert_array_equal(m.N, m.N.T)
    assert (m.s > 0).all()
    assert (np.abs(m.N) <= m.W + m.A + m.A.T + 1e-12 * size)[off].all()
    np.testing.assert_allclose(
        m.N.diagonal(), m.W.diagonal() + 2 * m.A.diagonal(), atol=1e-12 * size
    )


@pytest.fixture(scope="module")
def breast_cancer() -> np.ndarray:
    return np.corrcoef(load_breast_cancer().data.T)


@pytest.mark.parametrize("n", [12, 45])
@pytest.mark.parametrize("iterations", [0, 1, 3, 50])
@pytest.mark.parametrize("indefinite", [False, True])
def test_multipliers_are_feasible_however_early(n, iterations, indefinite):
    """Tests that the multipliers are feasible, and that they prove the bound returned."""
    Q = random_matrix(n, n, indefinite=indefinite)
    scale = float(np.linalg.eigvalsh(Q)[-1]) / 2
    result = solve_relaxation(Q, 4, scale=scale, included=[2], max_iterations=iterations)
    assert_feasible(result.multipliers)
    assert result.iterations <= iterations
    assert result.bound == dual_bound(Q, 4, result.multipliers, included=[2])
    assert result.bound <= np.linalg.eigvalsh(Q)[-1] + 1e-9 * scale
    assert ((result.z >= 0) & (result.z <= 1)).all()
    assert np.linalg.norm(result.direction) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("iterations", [1, 7, 60])
def test_bound_is_valid(seed, iterations):
    """Tests the bound against every support, with and without side constraints."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    p = int(rng.integers(2, n + 1))
    Q = random_matrix(seed + 100, n, indefinite=seed % 2 == 1)
    previous = rng.standard_normal(n)
    included = tuple(int(i) for i in rng.permutation(n)[: rng.integers(1, p)])
    basis = complement(previous)
    scale = optimum(Q, p)
    for forced in ((), included):
        for before, allowed in ((None, None), (previous, basis)):
            result = solve_relaxation(
                Q, p, scale=scale, included=forced, basis=allowed, max_iterations=iterations
            )
            assert_feasible(result.multipliers)
            assert result.bound >= optimum(Q, p, forced, before) - 1e-10 * scale


def test_first_order_updates_do_not_harm():
    """Tests a size where most projections are updates: the bound is close to the optimum."""
    rng = np.random.default_rng(5)
    factor = np.zeros(60)
    factor[:6] = 2.0
    samples = rng.standard_normal((200, 1)) * factor + rng.standard_normal((200, 60))
    Q = np.cov(samples.T)
    value = float(np.linalg.eigvalsh(Q[:6, :6])[-1])
    result = solve_relaxation(Q, 6, scale=value, max_iterations=300)
    assert value * (1 - 1e-12) <= result.bound <= value * (1 + 1e-6)
    assert_feasible(result.multipliers)
    np.testing.assert_allclose(result.z[:6], 1, atol=1e-3)


@pytest.mark.parametrize("n", [15, 40])
def test_restrict_keeps_feasibility_and_validity(n):
    """Tests that deleting variables leaves a proof, of no larger a bound."""
    Q = random_matrix(n, n)
    basis = complement(np.ones(n))
    keep = np.flatnonzero(np.arange(n) % 3 != 1)
    result = solve_relaxation(Q, 3, scale=2.0, basis=basis, max_iterations=40)
    child = result.multipliers.restrict(keep)
    assert_feasible(child)
    block = Q[np.ix_(keep, keep)]
    # Rows of A get shorter, so the diagonal of M can only go down.
    nothing = np.zeros(n, dtype=bool)
    whole = result.multipliers.matrix(Q, 3, nothing)[np.ix_(keep, keep)]
    assert (child.matrix(block, 3, nothing[keep]) <= whole).all()
    bound = dual_bound(block, 3, child, basis=complement(np.ones(len(keep))))
    assert bound <= result.bound + 1e-10
    assert bound >= optimum(block, 3, (), np.ones(len(keep))) - 1e-10


def test_warm_start_is_not_worse(breast_cancer):
    """Tests that a few warm iterations beat as many cold ones, in a parent and in a child."""
    first = solve_relaxation(breast_cancer, 8, scale=7.0, max_iterations=100)
    again = solve_relaxation(breast_cancer, 8, scale=7.5, state=first.state, max_iterations=12)
    assert again.bound <= first.bound + 0.05
    keep = np.delete(np.arange(30), [4, 9])
    child = breast_cancer[np.ix_(keep, keep)]
    warm = solve_relaxation(
        child, 8, scale=7.0, state=first.state.restrict(keep), max_iterations=12
    )
    cold = solve_relaxation(child, 8, scale=7.0, max_iterations=12)
    assert warm.bound < cold.bound


def test_the_input_state_is_left_alone(breast_cancer):
    """Tests that a state can serve several children."""
    state = solve_relaxation(breast_cancer, 8, scale=7.0, max_iterations=20).state
    before = [a.copy() for a in (state.X, state.P, state.Y, state.x, state.z, state.cap)]
    solve_relaxation(breast_cancer, 8, scale=7.0, state=state, max_iterations=20)
    for old, new in zip(
        before, (state.X, state.P, state.Y, state.x, state.z, state.cap), strict=True
    ):
        np.testing.assert_array_equal(old, new)


def test_expand_restores_the_old_variables(breast_cancer):
    """Tests that expanding then restricting is the identity, and that the result can start."""
    positions = np.array([0, 2, 3, 5, 7, 11, 13, 17, 19, 20, 22, 23, 25, 27])
    block = breast_cancer[np.ix_(positions, positions)]
    small = solve_relaxation(block, 8, scale=7.0, max_iterations=60)
    large = small.state.expand(positions, 30)
    assert isinstance(large, State)
    back = large.restrict(positions)
    np.testing.assert_array_equal(back.X, small.state.X)
    np.testing.assert_array_equal(back.cap, small.state.cap)
    warm = solve_relaxation(breast_cancer, 8, scale=7.0, state=large, max_iterations=60)
    assert_feasible(warm.multipliers)
    assert warm.bound >= small.bound * (1 - 1e-2)


def test_known_gap(breast_cancer):
    """Tests that the bound is within 0.1 % of the best known value."""
    result = solve_relaxation(breast_cancer, 8, scale=7.0, max_iterations=400)
    support = np.sort(np.argsort(result.z)[-8:])
    value = float(np.linalg.eigvalsh(breast_cancer[np.ix_(support, support)])[-1])
    assert value <= result.bound <= value * 1.001


def test_target_stops_early(breast_cancer):
    """Tests that the run ends as soon as the bound is good enough."""
    full = solve_relaxation(breast_cancer, 8, scale=7.0, max_iterations=200)
    target = full.bound * 1.02
    result = solve_relaxation(breast_cancer, 8, scale=7.0, target=target, max_iterations=200)
    assert result.converged
    assert result.bound <= target
    assert result.iterations < 60


def test_hopeless_target_stops_early(breast_cancer):
    """Tests that a target out of reach is given up long before the limit."""
    result = solve_relaxation(breast_cancer, 8, scale=7.0, target=6.0, max_iterations=1000)
    assert result.bound > 6.0
    assert result.iterations < 100


def test_should_stop_is_obeyed(breast_cancer):
    """Tests that the run ends with a valid bound once it is asked to."""
    calls = []

    def should_stop() -> bool:
        calls.append(None)
        return len(calls) == 2

    result = solve_relaxation(breast_cancer, 8, scale=7.0, should_stop=should_stop)
    assert len(calls) == 2
    assert not result.converged
    assert_feasible(result.multipliers)


def test_same_input_same_output(breast_cancer):
    """Tests that two runs agree to the last bit."""
    first, second = (
        solve_relaxation(breast_cancer, 8, scale=7.0, max_iterations=50) for _ in range(2)
    )
    assert first.bound == second.bound
    np.testing.assert_array_equal(first.multipliers.W, second.multipliers.W)
    np.testing.assert_array_equal(first.state.X, second.state.X)


def test_every_variable_allowed():
    """Tests that without sparsity the eigenvalue bound is returned, and is the optimum."""
    Q = random_matrix(1, 6)
    result = solve_relaxation(Q, 6, scale=1.0)
    assert result.bound == pytest.approx(np.linalg.eigvalsh(Q)[-1])
    assert result.converged


def test_all_variables_of_the_support_forced():
    """Tests the node whose support is complete."""
    Q = random_matrix(2, 8)
    value = optimum(Q, 3, (0, 4, 6))
    result = solve_relaxation(Q, 3, scale=value, included=[0, 4, 6], max_iterations=400)
    assert value - 1e-10 <= result.bound <= value * 1.05


def test_too_many_forced_variables():
    """Tests that an infeasible node is refused."""
    with pytest.raises(ValueError, match="exceed the sparsity"):
        solve_relaxation(np.eye(5), 2, scale=1.0, included=[0, 1, 2])
