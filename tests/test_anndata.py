"""Tests of single cells: components of an AnnData, and of ``.h5ad`` files on the command line."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import orthospca.anndata
from orthospca import DataCovariance, OrthogonalSparsePCA, datasets, solve
from orthospca.interface.cli import app
from orthospca.interface.tables import TableError, read_table

anndata = pytest.importorskip("anndata", reason="anndata is not installed")

K, P = 2, 4


@pytest.fixture(scope="module")
def made():
    """Expression of few genes, in which values below a level were not measured."""
    made = datasets.make_expression(40, 50)
    values = np.maximum(made.data - 7.0, 0.0)
    values[:, 30:] *= 0.01  # genes that hardly vary
    return made, values


@pytest.fixture
def cells(made):
    table, values = made
    adata = anndata.AnnData(values.copy())
    adata.var_names, adata.obs_names = table.feature_names, table.sample_names
    adata.obs["tissue"] = list(table.target)
    adata.obs["depth"] = np.arange(50.0)
    adata.layers["half"] = sparse.csr_matrix(values / 2)
    adata.var["highly_variable"] = values.std(axis=0) > 0.1
    adata.var["odd"] = np.arange(40) % 2 == 1
    return adata


def expected(values: np.ndarray, used: np.ndarray, correlation: bool = False):
    """Loadings of all genes and scores of all cells, by ``solve`` and NumPy."""
    X = values[:, used] - values[:, used].mean(axis=0)
    if correlation:
        X = X / X.std(axis=0, ddof=1)
    result = solve(np.cov(X.T), P, K)
    loadings = np.zeros((values.shape[1], K))
    loadings[used] = result.components.T
    return loadings, X @ result.components.T, result


@pytest.mark.parametrize("kind", ["array", "csr_matrix", "csc_matrix", "csr_array"])
@pytest.mark.parametrize("covariance", ["empirical", "correlation"])
def test_scores_loadings_and_bounds(made, cells, kind, covariance):
    """Tests what is kept, for highly variable genes, dense or sparse, against NumPy."""
    values, used = made[1], cells.var["highly_variable"].to_numpy()
    if kind != "array":
        cells.X = getattr(sparse, kind)(values)
    orthospca.anndata.pca(cells, K, P, covariance=covariance)
    loadings, scores, result = expected(values, used, covariance == "correlation")
    np.testing.assert_allclose(cells.varm["spca"], loadings, atol=1e-7)
    np.testing.assert_allclose(cells.obsm["spca"], scores, atol=1e-6)
    kept = cells.uns["spca"]
    np.testing.assert_allclose(kept["variance"], result.variances)
    np.testing.assert_allclose(kept["variance_ratio"], result.explained_variance_ratio)
    np.testing.assert_allclose(kept["variance"], cells.obsm["spca"].var(axis=0, ddof=1))
    assert (kept["upper_bounds"] >= kept["variance"]).all() and kept["gaps"].max() <= 1e-4
    assert kept["status"] == "optimal"
    assert kept["params"] == {
        "n_components": K, "sparsity": P, "mask_var": "highly_variable", "covariance": covariance,
    }  # fmt: skip


@pytest.mark.parametrize("mask", ["odd", None, "array"])
def test_which_genes(made, cells, mask):
    """Tests a column of var, truth values, and all genes: None is not the same as nothing said."""
    odd = cells.var["odd"].to_numpy()
    orthospca.anndata.pca(cells, K, P, mask_var=odd if mask == "array" else mask, key_added="mine")
    loadings, *_ = expected(made[1], odd if mask else np.ones(40, dtype=bool))
    np.testing.assert_allclose(cells.varm["mine"], loadings, atol=1e-7)
    assert "spca" not in cells.obsm


def test_without_a_mark_all_genes_are_used(made, cells):
    """Tests that nothing said is as with scanpy where no genes are marked."""
    del cells.var["highly_variable"]
    orthospca.anndata.pca(cells, K, P)
    np.testing.assert_allclose(cells.varm["spca"], expected(made[1], np.arange(40))[0], atol=1e-7)


def test_a_layer_and_options(made, cells):
    """Tests a layer, genes by their names, and loadings that are not negative."""
    gene = made[0].feature_names[3]
    options = {"include": [gene], "nonnegative": True, "layer": "half", "mask_var": None}
    orthospca.anndata.pca(cells, 1, P, **options)
    assert cells.varm["spca"].min() >= 0
    direct = solve(np.cov(made[1].T) / 4, P, include=[3], nonnegative=True)
    np.testing.assert_allclose(cells.uns["spca"]["variance"], direct.variances, rtol=1e-4)
    assert cells.uns["spca"]["params"]["include"] == [gene]


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
def test_backed_files(made, cells, dense, tmp_path):
    """Tests files that stay on disk, and that what is kept can be written and read."""
    if not dense:
        cells.X = sparse.csr_matrix(cells.X)
    cells.write_h5ad(tmp_path / "x.h5ad")
    backed = anndata.read_h5ad(tmp_path / "x.h5ad", backed="r")
    orthospca.anndata.pca(backed, K, P)
    orthospca.anndata.pca(cells, K, P)
    np.testing.assert_allclose(backed.obsm["spca"], cells.obsm["spca"], atol=1e-9)
    if dense:
        used = np.array([3, 0, 7])
        in_parts = orthospca.anndata.values_of(backed, None, used, together=7 * backed.n_vars)
        np.testing.assert_array_equal(in_parts[:, 0:3], cells.X[:, used])
    backed.file.close()
    cells.write_h5ad(tmp_path / "y.h5ad")
    again = anndata.read_h5ad(tmp_path / "y.h5ad")
    np.testing.assert_array_equal(again.uns["spca"]["gaps"], cells.uns["spca"]["gaps"])
    assert again.uns["spca"]["params"]["sparsity"] == P


def test_a_sparse_matrix_is_not_made_dense(cells, monkeypatch):
    """Tests that only a few columns at a time are filled."""
    wide = sparse.random(60, 5000, 0.01, "csr", random_state=0)
    adata = anndata.AnnData(wide)

    def refused(*_: object, **__: object):
        raise MemoryError("the data were made dense")

    for kind in (sparse.csr_matrix, sparse.csr_array):
        monkeypatch.setattr(kind, "toarray", refused)
    orthospca.anndata.pca(adata, 1, 5, gap=0.1)
    assert adata.obsm["spca"].shape == (60, 1)


def test_what_is_told(cells):
    """Tests counts, fewer components than asked for, and gaps that stay open."""
    cells.layers["counts"] = np.round(np.expm1(cells.X / 2))
    with pytest.warns(UserWarning, match=r"adata.layers\['counts'\] holds counts: normalise"):
        orthospca.anndata.pca(cells, 1, 3, layer="counts")
    noise = anndata.AnnData(np.random.default_rng(0).standard_normal((80, 99)))
    with pytest.warns(UserWarning, match=r"1 of 1 components are not certified within .*node l"):
        orthospca.anndata.pca(noise, 1, 8, node_limit=1, gap=1e-9, method="eigenvalue")
    two = anndata.AnnData(noise.X[:, :3].copy())
    with pytest.warns(UserWarning, match="n_components=3 was requested, but only 2 exist"):
        orthospca.anndata.pca(two, 3, 1, exclude=[0])


@pytest.mark.parametrize(
    "options, said",
    [
        ({"layer": "log"}, r"layer must be a layer of adata \('half'\), got 'log'"),
        ({"mask_var": "hvg"}, r"mask_var must be a column of adata.var \(.*\), got 'hvg'"),
        ({"mask_var": [True, False]}, "one truth value for each of the 40 genes, got an array of"),
        ({"covariance": "precomputed"}, "covariance must be one of 'empirical', 'correlation'"),
    ],
)
def test_bad_arguments(cells, options, said):
    """Tests sentences that name the argument."""
    with pytest.raises(ValueError, match=said):
        orthospca.anndata.pca(cells, **options)


def test_what_is_no_anndata(cells):
    """Tests an array in its place, and a name under which nothing could be saved."""
    with pytest.raises(ValueError, match="adata must be an AnnData, got ndarray"):
        orthospca.anndata.pca(cells.X, 2, 3)
    with pytest.raises(ValueError, match="key_added must be a string, got 3"):
        orthospca.anndata.pca(cells, 2, 3, key_added=3)
    assert "spca" not in cells.obsm and not cells.uns


def test_an_anndata_elsewhere_is_refused_with_advice(cells):
    """Tests one sentence about what to pass."""
    for ask in (DataCovariance, OrthogonalSparsePCA().fit, lambda adata: solve(adata, 2)):
        with pytest.raises(
            ValueError, match=r"got an AnnData: call orthospca.anndata.pca\(adata\)"
        ):
            ask(cells)


def test_the_command_reads_cells(made, cells, tmp_path, monkeypatch):
    """Tests genes, names of cells, and colours by obs, from an .h5ad file."""
    monkeypatch.chdir(tmp_path)
    cells.X = sparse.csr_matrix(cells.X)
    cells.write_h5ad("x.h5ad")
    ended = CliRunner().invoke(app, ["fit", "x.h5ad", "-k2", "-p4", "-oout", "--covariance"])
    assert ended.exit_code == 0, ended.output
    assert "those marked 'highly_variable', as scanpy does; use --key all" in ended.stderr
    found = json.loads((tmp_path / "out" / "result.json").read_text())
    *_, result = expected(made[1], cells.var["highly_variable"].to_numpy())
    np.testing.assert_allclose([c["variance"] for c in found["components"]], result.variances)
    lines = (tmp_path / "out" / "scores.csv").read_text().splitlines()
    assert lines[0] == "row,tissue,component1,component2"
    assert lines[1].startswith(f"{made[0].sample_names[0]},{made[0].target[0]},")


def test_tables_of_cells(made, cells, tmp_path):
    """Tests layers and marks that are asked for, and what is refused."""
    path = tmp_path / "x.h5ad"
    cells.write_h5ad(path)
    table = read_table(path, layer="half", key="all")
    np.testing.assert_array_equal(table.values.toarray(), made[1] / 2)
    assert table.columns == made[0].feature_names
    assert table.label_values["tissue"] == made[0].target
    assert table.notices == ("read the layer 'half'",)
    assert len(read_table(path, key="odd").columns) == 20
    for options, said in (
        ({"layer": "log"}, r"has no --layer 'log' \(there is half\)"),
        ({"key": "hvg"}, r"has no --key 'hvg' \(there is highly_variable, odd, all\)"),
    ):
        with pytest.raises(TableError, match=said):
            read_table(path, **options)
    with pytest.raises(TableError, match="cannot be read: no such file"):
        read_table(tmp_path / "none.h5ad")
    path.write_text("nonsense")
    with pytest.raises(TableError, match="is not an AnnData file"):
        read_table(path)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="is not an AnnData file, so it has no layer 'x'"):
        read_table(tmp_path / "x.csv", layer="x")


def test_without_the_extra_it_is_said_what_to_install(tmp_path, monkeypatch):
    """Tests one sentence with the command."""
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(TableError, match=r'needs anndata: pip install "orthospca\[anndata\]"'):
        read_table(tmp_path / "x.h5ad")
