"""Tests of data that are Dask arrays: products are computed where the chunks are."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest

from helpers.clocks import until
from helpers.seeds import crossed
from helpers.wide import solve_as_wide
from orthospca import DataCovariance, datasets
from orthospca.data import cluster as cluster_module
from orthospca.data import columns as columns_module
from orthospca.data.cluster import ClusterColumns
from orthospca.model.result import Result, Status

da = pytest.importorskip("dask.array")


@pytest.fixture
def small_blocks(monkeypatch) -> None:
    """Blocks and tiles of any size, so that small data have many."""
    monkeypatch.setattr(cluster_module, "NARROWEST", 1)
    monkeypatch.setattr(cluster_module, "SMALLEST_CHUNK", 1)
    monkeypatch.setattr(columns_module, "TILE", 19)
    monkeypatch.setattr(cluster_module, "TILES_AT_ONCE", 5)


def samples(m: int = 40, n: int = 90) -> np.ndarray:
    """Noise with means and variances that differ much, and a constant column."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n)) * np.exp(rng.standard_normal(n)) + 10 * rng.standard_normal(n)
    X[:, :6] += rng.standard_normal((m, 1))
    X[:, 50] = 1e6 / 3
    return X


def covariance_of(X: np.ndarray, correlation: bool = False) -> np.ndarray:
    """The covariance by numpy, with zeros for constant columns."""
    Q = np.cov(X.T)
    roots = np.sqrt(Q.diagonal())
    constant = np.ptp(X, axis=0) == 0
    if correlation:
        Q = Q / np.outer(np.where(constant, 1.0, roots), np.where(constant, 1.0, roots))
    Q[constant] = Q[:, constant] = 0.0
    return Q


CHUNKS = [(40, 90), (40, 20), (7, 90), (9, 23), (5, 45)]


@pytest.mark.parametrize(("chunks", "correlation"), crossed(CHUNKS, [False, True]))
def test_pieces_agree_with_numpy(chunks, correlation, small_blocks) -> None:
    """Tests every piece of the covariance, with chunks along one axis or both."""
    X = samples()
    Q = DataCovariance(da.from_array(X, chunks=chunks), correlation=correlation)
    expected = covariance_of(X, correlation)
    np.testing.assert_allclose(Q.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(Q.diagonal, expected.diagonal(), rtol=1e-9, atol=1e-12)
    rows, columns = np.array([3, 80, 41, 50]), np.arange(90)[::-3]
    np.testing.assert_allclose(Q.submatrix(columns), expected[np.ix_(columns, columns)], atol=1e-9)
    np.testing.assert_allclose(Q.cross(rows, columns), expected[np.ix_(rows, columns)], atol=1e-9)
    B = Q.factor(columns)
    np.testing.assert_allclose(B.T @ B, expected[np.ix_(columns, columns)], atol=1e-9)
    np.testing.assert_allclose(Q.times(B), expected[:, columns], atol=1e-9)
    first = Q.submatrix(columns[:7])
    grown = Q.formed(columns, lambda done: False, first)
    np.testing.assert_allclose(grown, expected[np.ix_(columns, columns)], atol=1e-9)
    assert (grown[:7, :7] == first).all() and (grown == grown.T).all()
    assert Q.factor(np.arange(0)).shape == (40, 0)
    assert Q.submatrix(np.arange(0)).shape == (0, 0)


@pytest.mark.parametrize(("chunks", "threshold"), crossed(CHUNKS, [0.3, 0.0, 1.5, 1e9]))
def test_graph_has_the_edges_of_the_matrix(chunks, threshold, small_blocks) -> None:
    """Tests the graph found on the chunks against the whole matrix."""
    X = samples()
    expected = covariance_of(X)
    graph = DataCovariance(da.from_array(X, chunks=chunks)).graph(threshold).toarray()
    found = np.triu((np.abs(expected) >= threshold) & (expected != 0), 1)
    np.testing.assert_allclose(graph, np.where(found, expected, 0.0), atol=1e-9)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_radius_covers_sums_over_chunks(chunks, small_blocks) -> None:
    """Tests computed entries against exact ones, up to the radius that is accounted for."""
    Q = DataCovariance(da.from_array(samples(), chunks=chunks))
    everything = np.arange(90)
    B = Q.factor(everything).astype(np.longdouble)
    exact = B.T @ B
    roots = np.sqrt(exact.diagonal())
    diagonal_error = np.abs(Q.diagonal - exact.diagonal())
    assert (diagonal_error <= Q.relative_radius * exact.diagonal()).all()
    error = np.abs(Q.submatrix(everything) - exact)
    assert (error <= Q.relative_radius * np.outer(roots, roots)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_bad_data_are_refused(value, small_blocks) -> None:
    """Tests that bad data get a sentence that names the place."""
    X = samples()
    X[33, 71] = value
    with pytest.raises(ValueError, match=rf"finite, got {value} at row 33, column 71"):
        DataCovariance(da.from_array(X, chunks=(10, 20)))
    unknown = da.from_array(samples(), chunks=(10, 20))
    unknown = unknown[unknown[:, 0] > 0]
    with pytest.raises(ValueError, match=r"compute_chunk_sizes"):
        DataCovariance(unknown)
    with pytest.raises(ValueError, match="rows"):
        DataCovariance(da.from_array(samples()[:1], chunks=(1, 20)))
    with pytest.raises(ValueError, match="at least one column"):
        DataCovariance(da.zeros((5, 0)))


def test_chunks_without_samples_are_no_matter(small_blocks) -> None:
    """Tests chunks that a selection has emptied."""
    X = samples()
    X[:, 0] = np.arange(40)
    data = da.from_array(X, chunks=(10, 30))
    data = data[(data[:, 0] < 10) | (data[:, 0] >= 20)].compute_chunk_sizes()
    assert 0 in data.chunks[0]
    Q = DataCovariance(data)
    kept = np.delete(X, np.arange(10, 20), axis=0)
    np.testing.assert_allclose(Q.diagonal, covariance_of(kept).diagonal(), rtol=1e-9)


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((100, 50_000), (1, 50_000)),
        ((100, 50_000), (100, 1000)),
        ((100, 50_000), (100, 10)),
        ((100_000, 3000), (100_000, 3000)),
        ((100_000, 3000), (10, 3000)),
        ((30, 20), (1, 1)),
    ],
)
def test_chunks_are_worth_a_task(shape, chunks) -> None:
    """Tests that chunks which are far too small or large are replaced, and others are not."""
    data = da.zeros(shape, chunks=chunks)
    heights, widths = cluster_module.with_good_chunks(data).chunks
    assert sum(heights) == shape[0] and sum(widths) == shape[1]
    assert max(widths) <= cluster_module.WIDEST
    assert max(heights) * max(widths) <= cluster_module.LARGEST_CHUNK
    smallest = min(cluster_module.SMALLEST_CHUNK, shape[0] * shape[1])
    assert np.mean(heights) * np.mean(widths) >= 0.5 * smallest
    if chunks == (100, 1000):
        assert (heights, widths) == data.chunks


N, M, P = 1200, 120, 6


@pytest.fixture(scope="module")
def planted() -> np.ndarray:
    """Samples of many features."""
    return datasets.make_planted_samples(N, M, sparsity=P, strengths=(12.0, 6.0)).data


@pytest.fixture(scope="module")
def in_memory(planted) -> Result:
    """The components of the array in memory."""
    result = solve_as_wide(DataCovariance(planted), P, 3, gap=1e-2)
    assert result.status is Status.OPTIMAL
    return result


@pytest.fixture(scope="module")
def client() -> Iterator:
    """A client of two worker processes."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        # Any free port: other clusters may run on the machine.
        distributed.LocalCluster(dashboard_address=":0", **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def assert_same(result: Result, expected: Result) -> None:
    """The same components, and certificates that hold for both."""
    assert result.status is expected.status
    np.testing.assert_allclose(result.components, expected.components, atol=1e-9)
    np.testing.assert_allclose(result.variances, expected.variances, rtol=1e-12)
    np.testing.assert_allclose(result.upper_bounds, expected.upper_bounds, rtol=1e-9)
    assert (result.upper_bounds >= expected.variances).all()


@pytest.mark.xdist_group("cluster")
@pytest.mark.parametrize("chunks", [(M, 520), (50, 520)])
def test_threads_give_the_same_components(chunks, planted, in_memory) -> None:
    """Tests the scheduler that Dask has by default."""
    Q = DataCovariance(da.from_array(planted, chunks=chunks))
    assert_same(solve_as_wide(Q, P, 3, gap=1e-2), in_memory)


@pytest.mark.xdist_group("cluster")
def test_cluster_gives_the_same_components(planted, in_memory, client, monkeypatch) -> None:
    """Tests two worker processes, and that the data never come to this one."""
    returned = []
    compute = cluster_module.compute

    def watched(*what, **options):
        found = compute(*what, **options)
        for item in found:
            parts = item if isinstance(item, tuple) else [item]
            returned.extend(part.size for part in parts if isinstance(part, np.ndarray))
        return found

    def refuse(self, *arguments, **options):
        raise AssertionError("the array came to this process")

    monkeypatch.setattr(cluster_module, "compute", watched)
    data = da.from_array(planted, chunks=(50, 520))
    monkeypatch.setattr(da.Array, "compute", refuse)
    monkeypatch.setattr(da.Array, "__array__", refuse)
    Q = DataCovariance(data)
    assert Q.source.kept
    assert_same(solve_as_wide(Q, P, 3, gap=1e-2), in_memory)
    assert max(returned) < M * N / 2

    graph, expected = Q.graph(4.0), DataCovariance(planted).graph(4.0)
    assert expected.nnz > 0
    assert (graph != 0).toarray().tobytes() == (expected != 0).toarray().tobytes()
    np.testing.assert_allclose(graph.data, expected.data, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_cluster_loses_a_worker(planted, in_memory, client, monkeypatch) -> None:
    """Tests that a worker killed on the way, and its blocks with it, changes nothing."""
    processes = client.run(os.getpid)
    killed = []
    square = ClusterColumns.square

    def kill_and_go_on(self, *arguments):
        if not killed:
            killed.append(next(iter(processes)))
            os.kill(processes[killed[0]], signal.SIGKILL)
        return square(self, *arguments)

    monkeypatch.setattr(ClusterColumns, "square", kill_and_go_on)
    Q = DataCovariance(da.from_array(planted, chunks=(50, 520)))
    assert_same(solve_as_wide(Q, P, 3, gap=1e-2), in_memory)
    assert len(killed) == 1
    # The scheduler hears of it when the connection breaks.
    until(lambda: killed[0] not in client.scheduler_info()["workers"])


@pytest.mark.xdist_group("cluster")
def test_cluster_without_room_reads_again(planted, in_memory, client, monkeypatch) -> None:
    """Tests that blocks which the workers cannot keep are made anew for each product."""
    monkeypatch.setattr(cluster_module, "SHARE_OF_MEMORY", 0.0)
    Q = DataCovariance(da.from_array(planted, chunks=(50, 520)))
    assert not Q.source.kept
    expected = solve_as_wide(DataCovariance(planted), P, 1, gap=1e-2)
    assert_same(solve_as_wide(Q, P, 1, gap=1e-2), expected)
