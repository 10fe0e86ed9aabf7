"""Thresholds on data whose covariance is not formed: the same blocks, components, certificates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest

from helpers.seeds import seeds
from helpers.truth import best_of_stage, is_proved_of_data
from helpers.wide import solve_as_wide, tuned
from orthospca import DataCovariance, Result, Status, block_diagonalize, solve
from orthospca.blocks.partitioned import PartitionedData
from orthospca.blocks.state import Singles
from orthospca.model.settings import Settings
from orthospca.numerics.rounding import add_up
from orthospca.wide.stage import WideProblem

Solve = Callable[..., Result]


def samples(seed: int, m: int = 40, groups: int = 5, size: int = 6, alone: int = 20) -> np.ndarray:
    """Groups of features that share a factor, of unequal strength, and features of noise."""
    rng = np.random.default_rng(seed)
    parts = []
    for strength in rng.uniform(0.5, 2.0, size=groups):
        factor = rng.standard_normal((m, 1))
        loadings = strength * rng.uniform(0.5, 1.0, size=(1, size))
        parts.append(factor @ loadings + 0.3 * rng.standard_normal((m, size)))
    parts.append(rng.standard_normal((m, alone)) * rng.uniform(0.2, 1.5, size=alone))
    X = np.hstack(parts)
    return X[:, rng.permutation(X.shape[1])]


#: Features up to which a matrix is formed; none of the blocks have more, or most of them do.
LARGEST = {"matrix blocks": 49, "wide blocks": 3}


@pytest.fixture(params=LARGEST)
def wide(request: pytest.FixtureRequest) -> Solve:
    """Treat small data as wide, and blocks as ones that can or cannot be formed."""
    return partial(solve_as_wide, largest=LARGEST[request.param])


def check_certificates(Q: DataCovariance, sparsity: int, result: Result) -> None:
    """Each bound holds for its stage of the covariance of the data, given those before it."""
    X, matrix = result.components, Q.submatrix(np.arange(Q.n_features))
    assert np.abs(X @ X.T - np.eye(len(X))).max() <= 1e-12
    for k, component in enumerate(result.stages):
        assert len(component.support) <= sparsity
        truth = best_of_stage(matrix, sparsity, X[:k])
        support = np.flatnonzero(truth.best.vector)
        best = partial(is_proved_of_data, Q.factor(support), X[:k], support)
        assert best(component.upper_bound)
        assert best(add_up(component.variance, result.guarantee))
        assert component.variance <= truth.upper
        assert component.upper_bound <= add_up(component.variance, result.guarantee)


@cache
def solve_formed(seed: int, share: float) -> tuple[float, Result]:
    """A threshold, and the components by the blocks of the matrix formed in full."""
    matrix = np.cov(samples(seed).T)
    off = np.abs(matrix - np.diag(matrix.diagonal()))
    delta = share * float(off.max())
    return delta, solve(matrix, 4, 5, threshold=delta, gap=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("seed", seeds(2, 6))
def test_same_as_the_matrix(wide: Solve, seed: int, share: float) -> None:
    """Tests components and certificates against the blocks of the matrix formed in full."""
    X = samples(seed)
    matrix = np.cov(X.T)
    delta, formed = solve_formed(seed, share)
    Q = DataCovariance(X)
    result = wide(Q, 4, 5, threshold=delta, gap=1e-6)
    np.testing.assert_allclose(result.variances, formed.variances, rtol=2e-6)
    np.testing.assert_allclose(result.variances, [x @ matrix @ x for x in result.components])
    check_certificates(Q, 4, result)
    assert "the whole matrix was not formed" in result.note


@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_of_data(seed: int, delta: float) -> None:
    """Tests the partition, and that the bound on entries between blocks holds."""
    X = samples(seed)
    matrix = np.cov(X.T)
    for inside in ("kept", "thresholded"):
        mine = block_diagonalize(DataCovariance(X), delta, inside=inside)
        theirs = block_diagonalize(matrix, delta, inside=inside)
        assert mine.labels.tolist() == theirs.labels.tolist()
        assert mine.permutation.tolist() == theirs.permutation.tolist()
        assert (mine.threshold, mine.inside) == (delta, inside)
        assert theirs.cross * (1 - 1e-12) <= mine.cross <= delta * (1 + 1e-12)


@pytest.mark.parametrize("name", LARGEST)
def test_kinds_of_blocks(name: str) -> None:
    """Tests that blocks are formed up to the largest matrix, and single features are one list."""
    Q = DataCovariance(samples(0))
    largest = LARGEST[name]
    problem = WideProblem(Q, 4, Settings(tuning=tuned(formed=largest)))
    *others, last = PartitionedData(problem, block_diagonalize(Q, 0.5)).states()
    assert isinstance(last, Singles) and len(others) > 1
    for state in others:
        assert state.data is (None if len(state.indices) <= largest else problem)
    assert any(state.data is (None if largest == 49 else problem) for state in others)


def test_blocks_along_exact_zeros() -> None:
    """Tests the threshold 0, for which the matrix is formed."""
    X = np.zeros((8, 4))
    X[:4, :2] = [[1, 1], [-1, -1], [1, 1], [-1, -1]]
    X[4:, 2:] = [[2, 1], [-2, -1], [2, 1], [-2, -1]]
    blocks = block_diagonalize(DataCovariance(X), 0.0)
    assert [block.tolist() for block in blocks.blocks] == [[0, 1], [2, 3]]
    assert blocks.cross == 0.0


def test_every_feature_alone(wide: Solve) -> None:
    """Tests a threshold above all entries: the components are the largest variances."""
    X = samples(0)
    matrix = np.cov(X.T)
    Q = DataCovariance(X)
    result = wide(Q, 3, 6, threshold=1e3, gap=1e-6)
    largest = np.sort(matrix.diagonal())[::-1][:6]
    np.testing.assert_allclose(result.variances, largest, rtol=1e-12)
    check_certificates(Q, 3, result)


def test_until_nothing_is_left() -> None:
    """Tests that all components come, singles included, and that the end is a proved one."""
    X = samples(1, groups=2, size=4, alone=4)
    matrix = np.cov(X.T)
    delta = 0.6 * float(np.abs(matrix - np.diag(matrix.diagonal())).max())
    Q = DataCovariance(X)
    result = solve_as_wide(Q, 2, 12, largest=11, threshold=delta, gap=1e-9)
    assert len(result.components) <= 12
    assert result.exhausted or len(result.components) == 12
    check_certificates(Q, 2, result)


def test_one_block_is_solved_as_one(wide: Solve) -> None:
    """Tests a threshold that joins everything."""
    X = samples(2)
    result = wide(DataCovariance(X), 4, 2, threshold=1e-9, gap=1e-4)
    assert result.status is Status.OPTIMAL
    assert "1 blocks" in result.note or "1 block" in result.note


def test_blocks_given(wide: Solve) -> None:
    """Tests blocks found beforehand: the same as the threshold that gave them."""
    X = samples(3)
    Q = DataCovariance(X)
    delta = 0.3
    given = wide(Q, 4, 3, threshold=block_diagonalize(Q, delta), gap=1e-4)
    asked = wide(Q, 4, 3, threshold=delta, gap=1e-4)
    assert given.components.tobytes() == asked.components.tobytes()
    np.testing.assert_array_equal(given.upper_bounds, asked.upper_bounds)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_any_number_of_jobs(wide: Solve, n_jobs: int) -> None:
    """Tests that jobs change no bit."""
    X = samples(4)
    one = wide(DataCovariance(X), 4, 4, threshold=0.3, gap=1e-4)
    more = wide(DataCovariance(X), 4, 4, threshold=0.3, gap=1e-4, n_jobs=n_jobs)
    assert one.components.tobytes() == more.components.tobytes()
    assert one.upper_bounds.tobytes() == more.upper_bounds.tobytes()


def test_no_time(wide: Solve) -> None:
    """Tests that a limit that has passed leaves valid bounds."""
    Q = DataCovariance(samples(5))
    matrix = Q.submatrix(np.arange(Q.n_features))
    result = wide(Q, 4, 3, threshold=0.3, gap=1e-9, time_limit=0.0)
    for k, component in enumerate(result.stages):
        before = result.components[:k]
        support = np.flatnonzero(best_of_stage(matrix, 4, before, 1e-6).best.vector)
        assert is_proved_of_data(Q.factor(support), before, support, component.upper_bound)


def test_really_wide_data() -> None:
    """Tests more features than a covariance matrix is formed for, nothing patched."""
    rng = np.random.default_rng(0)
    m, n = 60, 4500
    X = rng.standard_normal((m, n)) * rng.uniform(0.2, 1.0, size=n)
    for g in range(3):
        X[:, 10 * g : 10 * g + 8] += (4.0 - g) * rng.standard_normal((m, 1))
    Q = DataCovariance(X)
    result = solve(Q, 8, 3, threshold=2.0, gap=1e-2)
    whole = solve(Q, 8, 3, gap=1e-2)
    assert result.status is Status.OPTIMAL
    np.testing.assert_allclose(result.variances, whole.variances, rtol=1e-2)
    assert (result.gaps <= 1e-2).all()
