"""Tests of the command line on data with more variables than a covariance matrix is formed for."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse
from typer.testing import CliRunner

from orthospca import DataCovariance, Result, datasets, solve, sparsity_path
from orthospca.data.columns import CHUNK
from orthospca.interface.cli import app
from orthospca.interface.cli.source import Source
from orthospca.model.tuning import DEFAULT

N = 6000
GAP = 0.05


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write to the folder they are called in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def dense(tmp_path) -> Path:
    """30 samples of 6000 variables."""
    np.save(tmp_path / "dense.npy", datasets.make_planted_samples(N, 30).data)
    return tmp_path / "dense.npy"


def sparse_counts() -> sparse.csr_array:
    """400 samples, 2 % of them nonzero, with groups of ten variables that occur together."""
    rng = np.random.default_rng(0)
    counts = sparse.random(400, N, density=0.02, random_state=rng, format="csr")
    for group in range(3):
        rows = rng.permutation(400)[:80]
        columns = np.arange(10 * group, 10 * group + 10)
        together = np.repeat(rng.uniform(3.0, 4.0, 80) * (3 - 0.6 * group), 10)
        counts += sparse.csr_matrix(
            (together, (np.repeat(rows, 10), np.tile(columns, 80))), shape=counts.shape
        )
    return sparse.csr_array(counts)


def test_dense(dense, tmp_path):
    """Tests that the result is that of the library, in the table, the files and the report."""
    ended = run("fit", dense, "-k", 2, "-p", 5, "--gap", GAP, "-o", tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    assert f"30 observations, {N} variables" in ended.output
    X = np.load(dense)
    direct = solve(DataCovariance(X), 5, 2, gap=GAP)
    found = Result.load(tmp_path / "out" / "result.json")
    np.testing.assert_array_equal(found.components, direct.components)
    np.testing.assert_array_equal(found.upper_bounds, direct.upper_bounds)
    assert found.note == direct.note and found.feature_names[-1] == f"x{N - 1}"
    with open(tmp_path / "out" / "loadings.csv", encoding="utf-8", newline="") as file:
        assert sum(1 for _ in csv.reader(file)) == N + 1
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    B = X - X.mean(axis=0)
    first = np.linalg.svd(B, compute_uv=False)[0] ** 2 / np.square(B).sum()
    assert f"{100 * first:.1f}\N{NO-BREAK SPACE}%" in report and direct.note in report


@pytest.mark.parametrize(
    "option", [[], pytest.param(["--correlation"], marks=pytest.mark.slow)], ids=" ".join
)
def test_json(dense, option):
    """Tests that --json prints the result of the library, and writes nothing."""
    ended = run("fit", dense, "-k", 1, "-p", 4, "--gap", GAP, "--json", *option)
    assert ended.exit_code == 0, ended.output
    printed = json.loads(ended.stdout)
    direct = solve(DataCovariance(np.load(dense), correlation=bool(option)), 4, gap=GAP)
    assert printed["components"][0]["support"] == direct.supports[0].tolist()
    assert printed["components"][0]["variance"] == direct.variances[0]
    assert not Path("orthospca-out").exists()


@pytest.mark.parametrize("name", ["counts.mtx", "counts.npz"])
def test_sparse_stays_sparse(name, tmp_path, monkeypatch):
    """Tests that a sparse file gives the library's result, and is made dense only piecemeal."""
    counts = sparse_counts()
    if name.endswith("mtx"):
        io.mmwrite(tmp_path / name, counts, precision=17)
    else:
        sparse.save_npz(tmp_path / name, counts)
    zero = int(N - np.count_nonzero(abs(counts).sum(axis=0)))
    assert zero > 0  # columns without any count are left out, with a notice
    varies = np.flatnonzero(abs(counts).sum(axis=0))
    direct = solve(DataCovariance(counts[:, varies]), 10, 3, gap=0.01)
    widths = []
    made_dense = sparse.csc_matrix.toarray

    def counted(matrix, *arguments, **keywords):
        widths.append(matrix.shape[1])
        return made_dense(matrix, *arguments, **keywords)

    def refused(*arguments, **keywords):
        raise MemoryError("the data were made dense")

    monkeypatch.setattr(sparse.csc_matrix, "toarray", counted)
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array, sparse.coo_matrix):
        monkeypatch.setattr(kind, "toarray", refused)
    ended = run("fit", tmp_path / name, "-k", 3, "-p", 10, "--gap", 0.01, "-o", tmp_path / "out")
    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert max(widths, default=0) <= CHUNK < N
    assert f"{N - zero} variables" in ended.output
    assert f"left out {zero} constant columns" in ended.output
    found = Result.load(tmp_path / "out" / "result.json")
    np.testing.assert_array_equal(found.components, direct.components)
    assert [set(s) for s in found.supports] == [set(range(10 * g, 10 * g + 10)) for g in range(3)]
    assert (tmp_path / "out" / "report.html").exists()


def test_path(dense, tmp_path):
    """Tests that a path on wide data is that of the library."""
    ended = run("path", dense, "-p", "2,4", "--gap", GAP, "-o", tmp_path / "out", "--json")
    assert ended.exit_code == 0, ended.output
    direct = sparsity_path(DataCovariance(np.load(dense)), [2, 4], gap=GAP)
    assert json.loads(ended.stdout)["variances"] == direct.variances.tolist()
    assert (tmp_path / "out" / "path.csv").exists()


def test_open_gap(dense, tmp_path):
    """Tests that a limit on wide data ends with code 3 and a report."""
    ended = run("fit", dense, "-p", 8, "-k", 1, "--gap", 0, "--time-limit", 0, "-o", tmp_path)
    assert ended.exit_code == 3, ended.output
    assert (tmp_path / "report.html").exists()


def test_what_needs_the_matrix(tmp_path):
    """Tests that only other methods get the matrix, up to the number that has one."""
    n = DEFAULT.wide.formed + 50
    np.save(tmp_path / "x.npy", datasets.make_planted_samples(n, 30).data)
    read = Source(tmp_path / "x.npy").read
    assert isinstance(read()[1], DataCovariance)
    assert isinstance(read("eigenvalue")[1], DataCovariance)
    assert isinstance(read("deflation")[1], np.ndarray)
    n = 20_001
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((3, n)))
    for option in (["--method", "enumeration"], ["--method", "deflation"]):
        ended = run("fit", tmp_path / "x.npy", "-k", 1, "-p", 2, *option)
        assert ended.exit_code == 2 and f"the file has {n} variables" in ended.output
    for arguments, message in (
        (["-p", n + 1], f"--sparsity must be at most {n}"),
        (["-k", n + 1], f"--components must be at most {n}"),
        (["--gap", -1], "gap must be finite"),
    ):
        ended = run("fit", tmp_path / "x.npy", *arguments)
        assert (ended.exit_code, message in ended.output) == (2, True), ended.output


def test_bad_data(tmp_path):
    """Tests that wide data are refused for the same reasons as others."""
    X = np.ones((3, N))
    X[0, :-1] = 2.0
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "x.npy", X[:1])
    ended = run("fit", tmp_path / "x.npy")
    assert ended.exit_code == 2 and "a covariance needs at least two" in ended.output
    X[1, 7] = np.nan
    np.save(tmp_path / "x.npy", X)
    ended = run("fit", tmp_path / "x.npy")
    assert ended.exit_code == 2 and "missing value in row 2, column 'x7'" in ended.output
