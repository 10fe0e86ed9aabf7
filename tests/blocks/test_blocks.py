"""Blocks of a matrix: Algorithm 2, and all its block structures in one pass."""

from __future__ import annotations

import numpy as np
import pytest

import orthospca
from orthospca import solve
from orthospca.blocks.partition import Blocks, block_diagonalize, threshold_sweep
from orthospca.model.result import ClosedBy


def components_by_search(matrix: np.ndarray, threshold: float) -> list[list[int]]:
    """Connected components by a plain search, in the order of their smallest indices."""
    left = set(range(len(matrix)))
    found = []
    while left:
        reached, new = set(), {min(left)}
        while new:
            reached |= new
            new = {
                j
                for i in new
                for j in left - reached
                if abs(matrix[i, j]) >= threshold and matrix[i, j] != 0
            }
        found.append(sorted(reached))
        left -= reached
    return found


def random_matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    """Few different magnitudes, so that ties occur, and many zeros."""
    upper = np.triu(rng.integers(-3, 4, (n, n)) * (rng.random((n, n)) < 0.3), 1)
    return (upper + upper.T + np.diag(rng.integers(-1, 5, n))).astype(float)


@pytest.mark.parametrize("seed", range(40))
def test_blocks_are_connected_components(seed: int) -> None:
    """Tests that blocks, labels, permutation and the largest cross entry fit the graph."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    Q = random_matrix(rng, n)
    for threshold in (0.0, 1.0, 1.5, 2.0, 3.0, 9.0):
        blocks = block_diagonalize(Q, threshold)
        assert [block.tolist() for block in blocks.blocks] == components_by_search(Q, threshold)
        assert blocks.n_blocks == len(blocks.blocks)
        assert blocks.permutation.tolist() == np.concatenate(blocks.blocks).tolist()
        assert blocks.sizes.tolist() == [len(block) for block in blocks.blocks]
        assert all((blocks.labels[block] == b).all() for b, block in enumerate(blocks.blocks))
        apart = blocks.labels[:, None] != blocks.labels[None, :]
        assert blocks.cross == np.abs(Q[apart]).max(initial=0.0)
        assert blocks.cross < threshold or blocks.cross == 0.0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("inside", ["kept", "thresholded"])
def test_both_variants(seed: int, inside: str) -> None:
    """Tests what becomes of small entries, and that ``A + E`` is Q to the last bit."""
    rng = np.random.default_rng(seed)
    Q = random_matrix(rng, 9) + 0.25 * np.eye(9)
    blocks = block_diagonalize(Q, 2.0, inside=inside)
    A, E = blocks.matrix(Q), blocks.remainder(Q)
    together = blocks.labels[:, None] == blocks.labels[None, :]
    expected = np.where(together, Q, 0.0)
    if inside == "thresholded":
        expected = np.where(np.abs(Q) >= 2.0, Q, 0.0)
    np.testing.assert_array_equal(A, expected)
    np.testing.assert_array_equal(A + E, Q)
    assert np.abs(E).max() < 2.0
    for b, block in enumerate(blocks.blocks):
        np.testing.assert_array_equal(blocks.submatrix(Q, b), A[np.ix_(block, block)])
    permuted = A[np.ix_(blocks.permutation, blocks.permutation)]
    start = 0
    for block in blocks.blocks:
        stop = start + len(block)
        assert not permuted[start:stop, stop:].any()
        start = stop


@pytest.mark.parametrize("seed", range(40))
def test_sweep_knows_every_threshold(seed: int) -> None:
    """Tests that the sweep agrees with the blocks of each threshold, and between them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    Q = (
        random_matrix(rng, n)
        if seed % 2
        else np.cov(rng.standard_normal((n + 4, n)).T).reshape(n, n)
    )
    sweep = threshold_sweep(Q)
    assert (np.diff(sweep.magnitudes) < 0).all()
    for threshold in [0.0, 0.01, 0.5, 1.0, 2.5, 100.0, *sweep.magnitudes]:
        blocks = block_diagonalize(Q, threshold)
        assert sweep.at(threshold) == (blocks.n_blocks, blocks.largest, blocks.cross)
    for cross in (0.0, 0.1, 1.0, 2.0, np.inf):
        threshold = sweep.threshold_for(cross)
        assert block_diagonalize(Q, threshold).cross <= cross
        coarser = sweep.magnitudes[sweep.magnitudes > threshold]
        if len(coarser):
            assert block_diagonalize(Q, coarser[-1]).cross > cross


def test_threshold_zero_splits_along_zeros_only() -> None:
    """Tests that with threshold 0 the smallest entry joins, and an exact zero does not."""
    Q = np.diag([1.0, 1.0, 1.0])
    Q[0, 2] = Q[2, 0] = 5e-324
    blocks = orthospca.block_diagonalize(Q, 0)
    assert isinstance(blocks, orthospca.Blocks)
    assert [block.tolist() for block in blocks.blocks] == [[0, 2], [1]]
    assert blocks.cross == 0.0


def test_a_full_row_is_seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no graph is built where one row joins everything."""
    monkeypatch.setattr("orthospca.blocks.partition.connected_components", None)
    Q = np.eye(5)
    Q[0] = Q[:, 0] = 1.0
    assert block_diagonalize(Q, 1.0).n_blocks == 1
    reordered = np.roll(Q, (3, 3), axis=(0, 1))
    reordered[3, 3] = 2.0
    assert block_diagonalize(reordered, 0.0).n_blocks == 1


def test_results_cannot_be_changed() -> None:
    """Tests that the arrays of a partition are read-only."""
    blocks = block_diagonalize(np.eye(3), 0.0)
    for array in (blocks.labels, blocks.permutation, *blocks.blocks):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2]], 0.0), "Q must be a square matrix"),
        (([[1.0, np.nan], [np.nan, 1.0]], 0.0), "Q must be finite, got nan at row 0, column 1"),
        ((np.eye(2), -1.0), "threshold must be finite and not negative, got -1.0"),
        ((np.eye(2), "auto"), "threshold must be a number, got 'auto'"),
        ((np.eye(2), np.inf), "threshold must be finite and not negative, got inf"),
    ],
)
def test_bad_arguments(arguments: tuple, message: str) -> None:
    """Tests that a bad argument is named."""
    with pytest.raises(ValueError, match=message):
        block_diagonalize(*arguments)


def test_bad_variant() -> None:
    """Tests that an unknown variant is named."""
    with pytest.raises(ValueError, match="inside must be one of 'kept', 'thresholded', got 'some'"):
        block_diagonalize(np.eye(2), 0.0, inside="some")


@pytest.mark.parametrize(
    ("threshold", "count", "largest"),
    [(50, 136, 365), (100, 287, 214), (150, 395, 106), (200, 466, 35), (250, 492, 9)],
)
def test_colon(threshold: float, count: int, largest: int, load_matrix) -> None:
    """Tests the blocks of the colon covariance, by a threshold and by the sweep."""
    Q = load_matrix("CovColon_500.csv")
    blocks: Blocks = block_diagonalize(Q, threshold)
    assert (blocks.n_blocks, blocks.largest) == (count, largest)
    assert threshold_sweep(Q).at(threshold) == (count, largest, blocks.cross)


def test_thresholded_blocks_are_indefinite(load_matrix) -> None:
    """Tests that thresholding as printed leaves a covariance indefinite, and keeping does not."""
    Q = load_matrix("CovColon_20.csv")
    thresholded = block_diagonalize(Q, 100.0, inside="thresholded").matrix(Q)
    assert np.linalg.eigvalsh(thresholded)[0] == pytest.approx(-471, abs=1)
    kept = block_diagonalize(Q, 100.0).matrix(Q)
    assert np.linalg.eigvalsh(kept)[0] > -1e-9


def test_what_closed_a_component_of_blocks() -> None:
    """Tests that the bounds of blocks are named, and an earlier stage only where it is smaller."""
    block = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
    Q = np.kron(np.diag([3.0, 2.0, 1.0]), block)
    result = solve(Q, 2, 3)
    assert result.stages[0].closed_by is ClosedBy.BLOCKS
    assert {c.closed_by for c in result} <= {ClosedBy.BLOCKS, ClosedBy.CAP}
