"""Tests of the data sets, and of the known answers against an independent brute force."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from helpers import brute_force
from orthospca import datasets
from orthospca.datasets import Dataset, KnownAnswer, _colon


def assert_feasible(known: KnownAnswer) -> None:
    """The stated components are sparse, orthonormal, and have the stated variances."""
    X = known.components
    np.testing.assert_allclose(X @ X.T, np.eye(len(X)), atol=1e-12)
    assert max(map(len, known.supports)) <= known.sparsity
    scale = np.abs(known.matrix).max()
    np.testing.assert_allclose(
        np.einsum("ki,ij,kj->k", X, known.matrix, X), known.variances, atol=1e-12 * scale
    )
    np.testing.assert_array_equal(known.matrix, known.matrix.T)


def assert_optimal(known: KnownAnswer) -> None:
    """Brute force finds the same value in every stage, and no more stages if so stated."""
    assert_feasible(known)
    for k, variance in enumerate(known.variances):
        previous = known.components[:k]
        best = brute_force.stage_optimum(known.matrix, previous, known.sparsity)
        assert best is not None
        assert best.value == pytest.approx(variance, abs=1e-10 * np.abs(known.matrix).max())
        if known.unique:
            assert abs(best.vector @ known.components[k]) == pytest.approx(1.0, abs=1e-8)
    further = brute_force.stage_optimum(known.matrix, known.components, known.sparsity)
    assert (further is None) == known.exhausted


KNOWN = {
    "planted": lambda seed: datasets.make_planted_blocks(9, 3, 2, random_state=seed),
    "planted, no noise": lambda seed: datasets.make_planted_blocks(
        8, 2, 3, noise=0.0, strengths=[4.0, 2.0, 0.5], random_state=seed
    ),
    "planted, filling": lambda seed: datasets.make_planted_blocks(8, 4, 2, random_state=seed),
    "planted, p = 1": lambda seed: datasets.make_planted_blocks(3, 1, 3, random_state=seed),
    "block diagonal": lambda seed: datasets.make_block_diagonal([3, 1, 2, 3], random_state=seed),
    "indefinite": lambda seed: datasets.make_block_diagonal(
        [3, 3], eigenvalues=[2.0, 1.0, 0.0, -0.5, -1.0, -3.0], random_state=seed
    ),
    "negative": lambda seed: datasets.make_block_diagonal(
        [2, 3], eigenvalues=[-1.0, -2.0, -3.0, -4.0, -5.0], random_state=seed
    ),
    "rank one": lambda seed: datasets.make_rank_one(8, 3, strength=2.5, random_state=seed),
    "rank one, p = 1": lambda seed: datasets.make_rank_one(5, 1, random_state=seed),
    "rank one, p = n": lambda seed: datasets.make_rank_one(5, 5, random_state=seed),
    "tied": lambda seed: datasets.make_tied(3, 3, random_state=seed),
    "identity": lambda seed: datasets.make_tied(4, 1, random_state=seed),
    "exhausting": lambda seed: datasets.make_exhausting(),
    "path a": lambda seed: datasets.make_path_dependent()[0],
    "path b": lambda seed: datasets.make_path_dependent()[1],
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers_are_optimal(name):
    """Tests that every stated sequence is optimal, stage by stage, to its end."""
    for seed in range(3):
        assert_optimal(KNOWN[name](seed))


def test_same_seed_same_problem():
    """Tests that a seed determines the problem to the last bit."""
    for make in (
        datasets.make_planted_blocks,
        datasets.make_block_diagonal,
        datasets.make_rank_one,
        datasets.make_tied,
    ):
        one, two, other = (make(random_state=seed) for seed in (4, 4, 5))
        np.testing.assert_array_equal(one.matrix, two.matrix)
        assert (one.matrix != other.matrix).any()


@pytest.mark.parametrize(("noise", "n_samples"), [(1.0, 40), (0.0, 6), (0.25, 13)])
def test_planted_observations_have_the_planted_covariance(noise, n_samples):
    """Tests that the generated observations have exactly the covariance whose optimum is known."""
    known = datasets.make_planted_blocks(12, 3, 2, noise=noise, n_samples=n_samples, random_state=1)
    assert known.data is not None and known.data.shape == (n_samples, 12)
    np.testing.assert_allclose(np.cov(known.data, rowvar=False), known.matrix, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: datasets.make_planted_blocks(8, 3, 3), "3 disjoint supports of 3 do not fit"),
        (lambda: datasets.make_planted_blocks(8, 2, 2, strengths=[1, 1]), "strictly decreasing"),
        (lambda: datasets.make_planted_blocks(8, 2, 2, noise=-1.0), "noise must not be negative"),
        (lambda: datasets.make_planted_blocks(8, 2, 2, n_samples=8), "exceed the rank 8"),
        (lambda: datasets.make_block_diagonal([]), "sizes must be positive"),
        (lambda: datasets.make_block_diagonal([2], eigenvalues=[1, 1]), "2 different numbers"),
        (lambda: datasets.make_rank_one(4, 5), "sparsity must be between 1 and 4, not 5"),
        (lambda: datasets.make_rank_one(4, 2, strength=0.0), "strength must be positive"),
        (lambda: datasets.make_tied(0, 2), "must be positive, not 0 and 2"),
    ],
)
def test_generators_refuse_what_they_cannot_make(make, message):
    """Tests that an impossible request is a ValueError that says why."""
    with pytest.raises(ValueError, match=message):
        make()


def test_pitprops_is_the_published_table(data_folder):
    """Tests the bundled table against the reference copy, entry by entry."""
    published = np.loadtxt(data_folder / "pitprops_13.csv", delimiter=",")
    np.testing.assert_array_equal(datasets.load_pitprops().covariance(), published)


def test_pitprops_is_a_correlation_matrix():
    """Tests that the bundled table is symmetric, positive definite, with unit diagonal."""
    pitprops = datasets.load_pitprops()
    Q = pitprops.covariance()
    assert Q.shape == (13, 13) and len(set(pitprops.feature_names)) == 13
    np.testing.assert_array_equal(Q, Q.T)
    np.testing.assert_array_equal(np.diag(Q), 1.0)
    assert np.linalg.eigvalsh(Q)[0] > 0.0
    np.testing.assert_array_equal(pitprops.correlation(), Q)
    assert np.linalg.eigvalsh(Q)[-1] == pytest.approx(4.2186, abs=5e-5)


def test_a_copy_is_handed_out():
    """Tests that what a caller does to the matrix does not change the data set."""
    pitprops = datasets.load_pitprops()
    pitprops.covariance()[0, 0] = 7.0
    assert pitprops.covariance()[0, 0] == 1.0


@pytest.mark.parametrize(
    ("load", "shape"),
    [
        (datasets.load_wine, (178, 13)),
        (datasets.load_breast_cancer, (569, 30)),
        (datasets.load_digits, (1797, 61)),
    ],
)
def test_scikit_learn_data(load, shape):
    """Tests shapes, names and that the correlation matrix is one."""
    dataset = load()
    assert dataset.data.shape == shape
    assert len(dataset.target) == shape[0] and len(set(dataset.target)) > 1
    assert dataset.n_features == shape[1] == len(set(dataset.feature_names))
    R = dataset.correlation()
    np.testing.assert_array_equal(np.diag(R), 1.0)
    np.testing.assert_allclose(R, np.corrcoef(dataset.data, rowvar=False), atol=1e-12)


def test_wine_agrees_with_the_reference(load_matrix):
    """Tests covariance and correlation of wine against the published ones (six digits)."""
    wine = datasets.load_wine()
    np.testing.assert_allclose(wine.covariance(), load_matrix("wine_13.csv"), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(wine.correlation(), load_matrix("normwine_13.csv"), atol=1e-5)


def test_constant_pixels_have_no_correlation():
    """Tests that constant variables are kept on request, and named when they are in the way."""
    digits = datasets.load_digits(drop_constant=False)
    assert digits.n_features == 64
    with pytest.raises(ValueError, match="constant variables pixel_0_0, pixel_4_0, pixel_4_7"):
        digits.correlation()


def test_dataset_refuses_contradictions():
    """Tests that a data set without numbers, or with the wrong number of names, is refused."""
    with pytest.raises(ValueError, match="neither observations nor a matrix"):
        Dataset("nothing", "", ("a",))
    with pytest.raises(ValueError, match="1 feature names for 2 columns"):
        Dataset("few", "", ("a",), data=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="1 feature names for a matrix"):
        Dataset("few", "", ("a",), matrix=np.eye(2))


def test_colon_raw(data_folder):
    """Tests the raw colon data from a folder."""
    colon = datasets.load_colon(data_folder)
    assert colon.data.shape == (62, 2000)
    assert colon.target.count("tumour") == 40 and colon.target.count("normal") == 22
    assert datasets.load_colon().data.shape == (62, 2000), "the folder of ORTHOSPCA_DATA"


def test_covcolon_is_the_published_matrix(data_folder, load_matrix):
    """Tests that the recipe gives the published matrix and the published choice of genes."""
    covcolon = datasets.load_colon(data_folder, variant="covcolon")
    genes = np.loadtxt(data_folder / "CovColon_geneindex.csv", dtype=int)
    assert covcolon.feature_names == tuple(f"gene{j}" for j in genes)
    published = load_matrix("CovColon_500.csv")
    Q = covcolon.covariance()
    assert np.linalg.norm(Q - published) < 1e-4 * np.linalg.norm(published)
    np.testing.assert_allclose(covcolon.data.T @ covcolon.data, Q)
    assert np.linalg.matrix_rank(Q) <= 62


def test_colon_that_is_nowhere(tmp_path, monkeypatch):
    """Tests that one sentence says what to do when the data are not there."""
    monkeypatch.delenv("ORTHOSPCA_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r"name a folder .* or install pooch"):
        datasets.load_colon()
    with pytest.raises(FileNotFoundError, match="holds no file alon_colon_X_62x2000"):
        datasets.load_colon(tmp_path)
    with pytest.raises(ValueError, match="variant must be 'raw' or 'covcolon', not 'log'"):
        datasets.load_colon(variant="log")
    with pytest.raises(ValueError, match="n_genes must be between 1 and 2000, not 0"):
        datasets.load_colon(variant="covcolon", n_genes=0)


def test_colon_of_the_wrong_shape(tmp_path):
    """Tests that a table of another shape, or without positive numbers, is refused."""
    file = tmp_path / "alon_colon_X_62x2000.csv"
    file.write_text("1,2\n3,4\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"shape \(2, 2\), not \(62, 2000\)"):
        datasets.load_colon(tmp_path)
    np.savetxt(file, np.zeros((62, 2000)), delimiter=",", fmt="%g")
    with pytest.raises(ValueError, match="not positive"):
        datasets.load_colon(tmp_path)


def test_colon_download(tmp_path, monkeypatch):
    """Tests the download path with pages of the authors' form and a stand-in for the transport."""
    rng = np.random.default_rng(0)
    expression = np.round(rng.uniform(6.0, 9000.0, (2000, 62)), 4)
    rows = "\n".join("  ".join(f"{v:.4f}" for v in row) for row in expression)
    pages = {
        "I2000.html": f"<html><title>I2000</title><body><font size=1>\n{rows}\n</font></html>",
        "tissues.html": "<html><pre>\n"
        + "\n".join(str(-i if i % 3 else i) for i in range(1, 63))
        + "\n</pre></html>",
    }
    asked = {}

    def retrieve(url: str, known_hash: str, fname: str, path: Path) -> str:
        asked[url] = known_hash
        (tmp_path / fname).write_text(pages[fname], encoding="latin-1")
        return str(tmp_path / fname)

    stand_in = types.SimpleNamespace(retrieve=retrieve, os_cache=lambda name: tmp_path / name)
    monkeypatch.setitem(sys.modules, "pooch", stand_in)
    monkeypatch.delenv("ORTHOSPCA_DATA", raising=False)
    colon = datasets.load_colon()
    np.testing.assert_array_equal(colon.data, expression.T)
    assert colon.target[:3] == ("tumour", "tumour", "normal")
    assert set(asked) == {_colon.SOURCE + name for name in _colon.PAGES}
    assert all(known.startswith("sha256:") for known in asked.values())


def test_scikit_learn_is_imported_only_when_needed():
    """Tests that the bundled data do not cost the import of scikit-learn."""
    code = (
        "import sys; from orthospca import datasets; datasets.load_pitprops();"
        "sys.exit(any(name.split('.')[0] == 'sklearn' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
