"""The paper's example, and the places where the paper read literally goes wrong: one test each."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.brute_force import sequence, stage_optimum, support_above
from helpers.cases import check_statuses, supports_of
from helpers.seeds import crossed
from orthospca import Status, datasets, solve

METHODS = ("enumeration", "eigenvalue", "branch-and-bound")

#: Two optima tie in the first stage, and the later variances depend on which is taken.
EXAMPLE = [[5, 1, 0], [1, 5, 2], [0, 2, 2]]


@pytest.mark.parametrize("method", METHODS)
def test_example(method: str) -> None:
    """Tests that the example gives 6, 4, 2 or 6, 5, 1, each with its supports."""
    result = solve(EXAMPLE, 2, 3, method=method, gap=0.0)
    variances = result.variances.round(9).tolist()
    supports = [support.tolist() for support in result.supports]
    if variances == [6.0, 4.0, 2.0]:
        assert supports == [[0, 1], [0, 1], [2]]
    else:
        assert variances == [6.0, 5.0, 1.0]
        assert supports == [[1, 2], [0], [1, 2]]
    check_statuses(result, 5.0)
    assert not result.exhausted or len(result.variances) == 3


@pytest.mark.parametrize("method", METHODS)
def test_example_is_deterministic(method: str) -> None:
    """Tests that of the two optima that tie the same one is returned each time."""
    results = [solve(EXAMPLE, 2, 3, method=method, random_state=seed) for seed in (0, 0, 1, None)]
    assert len({result.components.tobytes() for result in results}) == 1


@pytest.mark.parametrize("method", METHODS)
def test_ties_are_certified_conditionally(method: str) -> None:
    """Tests that each stage's bound is tight given the components returned before it."""
    matrix = np.array(EXAMPLE, dtype=float)
    result = solve(matrix, 2, 3, method=method, gap=0.0)
    for k, bound in enumerate(result.upper_bounds):
        best = stage_optimum(matrix, result.components[:k], 2)
        assert best is not None
        assert bound == pytest.approx(best.value, abs=1e-10)
        assert support_above(matrix, result.components[:k], 2, bound) is None


#: How many components there are, by the number of features in each.
EXIST = {3: 13, 4: 13, 5: 11, 6: 8, 7: 7, 10: 10}


@pytest.mark.parametrize(("p", "method"), crossed(EXIST, METHODS))
def test_a_stage_can_be_infeasible(p: int, method: str) -> None:
    """Tests that a proved end of the sequence has its own status, and no component of value 0."""
    exist = EXIST[p]
    matrix = datasets.load_pitprops().covariance()
    result = solve(matrix, p, 13, method=method)
    assert len(result.components) == exist
    assert result.status is (Status.OPTIMAL if exist == 13 else Status.EXHAUSTED)
    assert result.exhausted or exist == 13
    assert (result.variances > 0.01).all()
    assert set(result.statuses) == {Status.OPTIMAL}
    assert np.abs(result.components @ result.components.T - np.eye(exist)).max() <= 1e-12
    total = result.variances.sum()
    assert total == pytest.approx(13) if exist == 13 else total < 13


@pytest.mark.parametrize("method", METHODS)
def test_as_many_components_as_the_sparsity_exist(method: str) -> None:
    """Tests that p components of sparsity p are always found."""
    rng = np.random.default_rng(7)
    for n, p in [(6, 2), (7, 4), (9, 3), (9, 6)]:
        rows = rng.standard_normal((n + 2, n))
        result = solve(rows.T @ rows, p, p, method=method)
        assert len(result.components) == p
        assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("method", METHODS)
def test_no_spurious_zero_wins(method: str) -> None:
    """Tests that where the true maximum is negative no zero of a projected matrix is returned."""
    result = solve([[-2.0, 1.0], [1.0, -2.0]], 2, 2, method=method, gap=0.0)
    np.testing.assert_allclose(result.variances, [-1.0, -3.0], atol=1e-12)
    np.testing.assert_allclose(result.upper_bounds, [-1.0, -3.0], atol=1e-9)
    result = solve(-np.diag([1.0, 2.0, 3.0]), 2, 3, method=method, gap=0.0)
    np.testing.assert_allclose(result.variances, [-1.0, -2.0, -3.0], atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_singular_matrix_keeps_its_components_orthogonal(method: str) -> None:
    """Tests that zero variances come with real components, orthogonal to the first."""
    vector = np.array([3.0, 2.0, 1.0, 0.0])
    result = solve(np.outer(vector, vector), 3, 4, method=method, gap=0.0)
    np.testing.assert_allclose(result.variances[0], 14.0, rtol=1e-12)
    np.testing.assert_allclose(result.variances[1:], 0.0, atol=1e-12)
    assert len(result.components) == 4
    assert np.abs(result.components @ result.components.T - np.eye(4)).max() <= 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_the_first_vector_may_vanish_when_projected(method: str) -> None:
    """Tests a stage whose best support, unconstrained, holds nothing but the component before it.

    The second stage's matrix has its leading vector on {0, 1} again. Projected on the complement
    of the first component it vanishes, and renormalising that would be noise.
    """
    matrix = np.array(
        [[9.0, 8.0, 0.0, 0.0], [8.0, 9.0, 0.0, 0.0], [0, 0, 2.0, 0.5], [0, 0, 0.5, 2]]
    )
    result = solve(matrix, 2, 4, method=method, gap=0.0)
    np.testing.assert_allclose(result.variances, [17.0, 2.5, 1.5, 1.0], atol=1e-12)
    assert np.abs(result.components @ result.components.T - np.eye(4)).max() <= 1e-12


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_block_can_be_used_up(method: str) -> None:
    """Tests that the search leaves a block on which nothing is orthogonal to what it gave before.

    The strong block of ten features gives ten components. After them every bound still points at
    it, and on the weak features 1e-3·I + 1e-4·J has the value 1e-3 + 10·1e-4.
    """
    rows = np.random.default_rng(0).standard_normal((12, 10))
    matrix = np.zeros((40, 40))
    matrix[:10, :10] = rows.T @ rows
    matrix[10:, 10:] = 1e-3 * np.eye(30) + 1e-4
    expected = [*np.linalg.eigvalsh(matrix[:10, :10])[::-1], 2e-3, 2e-3, 2e-3]
    result = solve(matrix, 10, 14, method=method, gap=1e-6, time_limit=60)
    np.testing.assert_allclose(result.variances[:13], expected, rtol=1e-5)
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("method", METHODS)
def test_noise_does_not_end_the_sequence(method: str) -> None:
    """Tests that a loading that is only rounding noise is not kept.

    The third component is exactly the first feature. With a loading of noise on the second feature
    it would not be orthogonal to the fourth component, and that one would be lost.
    """
    matrix = np.array(
        [
            [1.00000137, -3.18269780e-07, 6.16401293e-06, -2.44957646e-06],
            [-3.18269780e-07, 1.0, 1.85440998e-05, 6.76687709e-07],
            [6.16401293e-06, 1.85440998e-05, 2.0, 9.37119906e-07],
            [-2.44957646e-06, 6.76687709e-07, 9.37119906e-07, 2.0],
        ]
    )
    result = solve(matrix, 3, 4, method=method, gap=1e-9)
    assert result.supports[2].tolist() == [0]
    assert len(result.components) == 4
    assert result.variances.sum() == pytest.approx(np.trace(matrix), rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_trace_is_no_bound_for_an_indefinite_matrix(method: str) -> None:
    """Tests matrices whose largest eigenvalue exceeds the trace of every submatrix."""
    result = solve([[0.0, 1.0], [1.0, 0.0]], 2, method=method, gap=0.0)
    assert result.variances[0] == pytest.approx(1.0, abs=1e-12)
    assert result.upper_bounds[0] >= 1.0
    rng = np.random.default_rng(11)
    hollow = rng.standard_normal((10, 10))
    hollow = hollow + hollow.T
    np.fill_diagonal(hollow, 0.0)
    for p in (2, 5, 8):
        best = stage_optimum(hollow, np.empty((0, 10)), p)
        assert best is not None
        result = solve(hollow, p, method=method, gap=0.0)
        assert result.variances[0] == pytest.approx(best.value, rel=1e-10)
        assert supports_of(hollow, np.empty((0, 10)), p).above(result.upper_bounds[0]) is None


@pytest.mark.parametrize("method", METHODS)
def test_a_thresholded_covariance(method: str, load_matrix) -> None:
    """Tests a covariance whose small entries were set to zero, which made it indefinite."""
    matrix = load_matrix("CovColon_20.csv").copy()
    matrix[np.abs(matrix) < 100] = 0.0
    assert np.linalg.eigvalsh(matrix)[0] == pytest.approx(-471.5, abs=0.1)
    expected = sequence(matrix, [3, 3, 3])
    result = solve(matrix, 3, 3, method=method, gap=1e-12)
    np.testing.assert_allclose(
        result.variances, [optimum.value for optimum in expected], rtol=1e-9, atol=0
    )


@pytest.mark.parametrize("method", METHODS)
def test_small_entries_are_kept(method: str) -> None:
    """Tests that with threshold 0 no entry of the matrix is treated as zero, however small."""
    tiny = 1e-6
    matrix = np.array([[1.0, tiny, 0.0], [tiny, 1.0, 0.0], [0.0, 0.0, tiny]])
    result = solve(matrix, 2, 3, method=method, gap=0.0, threshold=0.0)
    np.testing.assert_allclose(result.variances, [1 + tiny, 1 - tiny, tiny], rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_blocks_along_exact_zeros(method: str) -> None:
    """Tests that the sequence of a block-diagonal matrix is that of its blocks, merged."""
    known = datasets.make_block_diagonal([3, 1, 2, 3], random_state=0)
    n = len(known.matrix)
    result = solve(known.matrix, known.sparsity, n, method=method, gap=0.0)
    np.testing.assert_allclose(result.variances, known.variances, atol=1e-10)
