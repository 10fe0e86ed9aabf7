"""Tests of covariances that are defined by data and never formed in full."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from helpers.truth import best_of_stage, is_proved_of_data
from helpers.wide import solve_as_wide, tuned
from orthospca import DataCovariance, block_diagonalize, solve
from orthospca._errors import InputError
from orthospca.bounds.border import potential
from orthospca.model.limits import Watch
from orthospca.model.result import Status
from orthospca.model.settings import Settings
from orthospca.search.outcome import Request
from orthospca.wide.part import bytes_for
from orthospca.wide.stage import WideProblem


def samples(m: int = 40, n: int = 30, seed: int = 0) -> np.ndarray:
    """Noise of uneven variances with three planted groups of four columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * np.sqrt(rng.uniform(0.2, 2.0, n)) + rng.standard_normal(n)
    places = rng.permutation(n)
    for group, strength in enumerate((6.0, 4.0, 3.0)):
        columns = places[4 * group : 4 * group + 4]
        X[:, columns] += np.sqrt(strength) * rng.standard_normal((m, 1))
    return X


class Slices:
    """Anything with a shape that can be sliced by columns."""

    def __init__(self, X: np.ndarray) -> None:
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, key: object) -> np.ndarray:
        return self.X[key]


@pytest.mark.parametrize("correlation", [False, True])
@pytest.mark.parametrize("kind", ["array", "float32", "sparse", "memmap", "slices", "frame"])
def test_pieces_agree_with_numpy(kind: str, correlation: bool, tmp_path) -> None:
    """Tests that diagonal, submatrices and cross products are those of numpy's covariance."""
    X = samples()
    expected = np.corrcoef(X.T) if correlation else np.cov(X.T)
    data: object = X
    if kind == "float32":
        data = X.astype(np.float32)
    elif kind == "sparse":
        data = sparse.csr_array(X)
    elif kind == "memmap":
        np.save(tmp_path / "x.npy", X)
        data = np.load(tmp_path / "x.npy", mmap_mode="r")
    elif kind == "slices":
        data = Slices(X)
    elif kind == "frame":
        pandas = pytest.importorskip("pandas")
        data = pandas.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])
    Q = DataCovariance(data, correlation=correlation)
    tolerance = 1e-5 if kind == "float32" else 1e-12
    everything = np.arange(30)
    np.testing.assert_allclose(Q.submatrix(everything), expected, atol=tolerance * 10)
    np.testing.assert_allclose(Q.diagonal, expected.diagonal(), atol=tolerance * 10)
    np.testing.assert_allclose(
        Q.cross(everything[:3], everything[5:]), expected[:3, 5:], atol=tolerance * 10
    )
    assert (Q.submatrix(everything) == Q.submatrix(everything).T).all()
    if kind == "frame":
        assert Q.feature_names == tuple(f"g{j}" for j in range(30))


def test_bad_data_is_refused() -> None:
    """Tests that bad data get a sentence that names the place."""
    X = samples()
    X[3, 7] = np.nan
    with pytest.raises(ValueError, match="row 3, column 7"):
        DataCovariance(X)
    with pytest.raises(ValueError, match="shape"):
        DataCovariance(np.zeros(4))
    with pytest.raises(ValueError, match="rows"):
        DataCovariance(np.zeros((1, 4)))
    with pytest.raises(ValueError, match="numbers"):
        DataCovariance(np.array([["a", "b"], ["c", "d"]]))


TOO_FAR = r"must be between 1e-50 and 1e\+50 in magnitude, or all zero, got .*: rescale the data"


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("unit", [1e-200, 1e-60, 1e60, 1e200])
def test_extremes_are_refused(unit: float, container: Any) -> None:
    """Tests that data whose squares overflow or vanish get a sentence, and no warnings."""
    X = samples()
    for correlation in (False, True):
        with pytest.raises(InputError, match=TOO_FAR):
            DataCovariance(container(unit * X), correlation=correlation)
    X[:, 5] *= unit
    with pytest.raises(InputError, match=rf"column 5.* {TOO_FAR}"):
        DataCovariance(container(X), correlation=True)
    if unit > 1:
        with pytest.raises(InputError, match=rf"in column 5, {TOO_FAR}"):
            DataCovariance(container(X))
    elif unit < 1e-150:
        with pytest.raises(InputError, match="range of column 5 of data must not vanish when"):
            DataCovariance(container(X))
    else:
        assert DataCovariance(container(X)).diagonal.max() > 1


@pytest.mark.parametrize("unit", [1e-45, 1e45])
def test_what_is_not_extreme_is_solved(unit: float) -> None:
    """Tests that the result does not depend on the unit, up to the ends of the range."""
    X = samples()
    expected = solve(DataCovariance(X), 4, 3, gap=1e-6)
    found = solve_as_wide(DataCovariance(unit * X), 4, 3, gap=1e-6)
    formed = solve(DataCovariance(unit * X), 4, 3, gap=1e-6)
    for result in (found, formed):
        assert result.status is Status.OPTIMAL
        np.testing.assert_allclose(result.variances / unit**2, expected.variances, rtol=1e-6)


def test_constant_columns_have_no_variance() -> None:
    """Tests that a constant column is zero, not noise blown up by its scale."""
    X = samples()
    X[:, 4] = 1e6 / 3
    Q = DataCovariance(X, correlation=True)
    assert Q.constant.tolist() == [j == 4 for j in range(30)]
    assert Q.diagonal[4] == 0
    np.testing.assert_allclose(np.delete(Q.diagonal, 4), 1.0)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0, 1e9])
def test_graph_has_the_edges_of_the_matrix(threshold: float, monkeypatch) -> None:
    """Tests the tiled graph against the whole matrix, with tiles smaller than it."""
    monkeypatch.setattr("orthospca.data.columns.TILE", 7)
    X = samples()
    expected = np.triu(np.abs(np.cov(X.T)) >= threshold, 1)
    graph = DataCovariance(X).graph(threshold).toarray()
    found = np.triu((graph != 0) | (graph != 0).T, 1)
    assert (found == expected).all()


@pytest.mark.parametrize("p", [1, 2, 5])
def test_potential_bounds_every_row_sum(p: int) -> None:
    """Tests that the bound without products is above every row's Gershgorin bound."""
    matrix = np.cov(samples().T)
    sums = np.sort(np.abs(matrix - np.diag(matrix.diagonal())), axis=1)[:, ::-1]
    rows = matrix.diagonal() + sums[:, : p - 1].sum(axis=1)
    assert (potential(np.sqrt(matrix.diagonal()), p) >= rows).all()


@pytest.mark.parametrize("gap", [1e-2, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_wide_path_equals_the_matrix_path(seed: int, gap: float) -> None:
    """Tests that reduction and search on data give the optimum of the whole covariance."""
    X = samples(m=80, n=50, seed=seed)
    Q = DataCovariance(X)
    exact = solve(np.cov(X.T), 4, 4, gap=1e-9)
    wide = solve_as_wide(Q, 4, 4, gap=gap)
    assert wide.status is Status.OPTIMAL
    assert (wide.gaps <= gap).all()
    assert np.abs(wide.components @ wide.components.T - np.eye(4)).max() <= 1e-12
    # Certificates are conditional on the components before: the first is comparable as such.
    assert wide.variances[0] >= exact.variances[0] * (1 - gap)
    support, nothing = exact.supports[0], np.zeros((0, 50))
    assert is_proved_of_data(Q.factor(support), nothing, support, wide.upper_bounds[0])


@pytest.mark.parametrize("seed", range(8))
def test_reduction_never_loses_a_better_support(seed: int) -> None:
    """Tests each stage's bound against a solve of the whole matrix given the same components."""
    room = bytes_for(25 if seed % 2 else 60)
    settings = Settings.validate(gap=1e-3, tuning=tuned(few=0, starts=2), memory_limit=room)
    X = samples(m=30, n=60, seed=100 + seed)
    Q, whole = DataCovariance(X), np.cov(X.T)
    problem = WideProblem(Q, 3, settings)
    previous = np.zeros((60, 0))
    for _ in range(4):
        outcome = problem.solve_stage(Request(3, previous), settings, Watch())
        truth = best_of_stage(whole, 3, previous.T)
        assert outcome.best is not None
        support = np.flatnonzero(truth.best.vector)
        assert is_proved_of_data(Q.factor(support), previous.T, support, outcome.upper)
        assert outcome.best.value <= truth.upper
        if outcome.status is Status.OPTIMAL:
            assert settings.tolerance.met(outcome.best.value, outcome.upper)
        previous = np.column_stack([previous, outcome.best.vector])


def test_what_needs_the_matrix_says_how_much_memory() -> None:
    """Tests that a matrix is formed if there is room, and what is said if there is not."""
    Q = DataCovariance(samples())
    for options in (
        {"method": "enumeration"},
        {"method": "deflation"},
        {"objective": "lexicographic"},
    ):
        with pytest.raises(ValueError, match=r"7\.2 KB for 30 features, but memory_limit is 7 KB"):
            solve(Q, 2, memory_limit="7KB", **options)
        assert solve(Q, 2, memory_limit="8 kb", gap=1e-2, **options).n_components == 1
    for bad in ("much", "-1", -1, "4 XB", float("nan")):
        with pytest.raises(ValueError, match="memory_limit"):
            solve(Q, 2, memory_limit=bad)


def test_blocks_that_do_not_fit_are_refused() -> None:
    """Tests blocks of other data, and blocks that the matrix would be needed for."""
    Q = DataCovariance(samples())
    other = block_diagonalize(np.eye(7), 0.5)
    printed = block_diagonalize(Q, 0.5, inside="thresholded")
    for threshold in (other, printed):
        with pytest.raises(ValueError, match="30"):
            solve_as_wide(Q, 3, threshold=threshold)
    assert solve_as_wide(Q, 3, gap=1e-2).status is Status.OPTIMAL


def test_time_limit_on_wide_data() -> None:
    """Tests that a limit that has passed leaves a feasible component and a valid bound."""
    X = samples(n=200)
    Q = DataCovariance(X)
    result = solve_as_wide(Q, 4, gap=1e-9, time_limit=0.0)
    support = solve(np.cov(X.T), 4, gap=1e-9).supports[0]
    upper = float(result.upper_bounds[0])
    assert is_proved_of_data(Q.factor(support), np.zeros((0, 200)), support, upper)
    assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)


def test_memory_map_gives_the_same_components(tmp_path) -> None:
    """Tests that a memory map gives what the array in memory gives."""
    X = samples(m=60, n=120)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    results = [solve_as_wide(DataCovariance(data), 4, 3, gap=1e-3) for data in (X, mapped)]
    assert results[0].components.tobytes() == results[1].components.tobytes()
