"""Tests of the command line on files as people have them: what it says, asks and refuses."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orthospca import OrthogonalSparsePCA, Result, datasets
from orthospca.interface.cli import app
from orthospca.interface.cli import source as _source
from orthospca.interface.cli.source import Source


def run(*arguments: object, stdin: bytes | None = None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def found(ended) -> dict[str, object]:
    """The result that --json printed."""
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write to the folder they are called in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table(tmp_path) -> Path:
    """20 observations of 4 variables, three values missing."""
    X = np.random.default_rng(0).standard_normal((20, 4)) @ np.diag([4.0, 3.0, 2.0, 1.0])
    lines = [",".join(f"{value:.6f}" for value in row) for row in X]
    lines[2] = "NA," + lines[2].split(",", 1)[1]
    lines[4] = lines[4].rsplit(",", 1)[0] + ","
    lines[7] = "," + lines[7].split(",", 1)[1]
    return write(tmp_path / "table.csv", "\n".join(["a,b,c,d", *lines]) + "\n")


def test_missing_values(table, tmp_path):
    """Tests that each way is offered, gives its own result, and is told in the report."""
    ended = run("fit", table, "-k", 1, "-p", 2)
    assert ended.exit_code == 2 and ended.stdout == ""
    assert "3 missing values in 2 columns of 4: 2 in 'a' (first in row 3, line 4)" in ended.stderr
    assert "drop-rows (keeps 17 of 20 rows)" in ended.stderr and ended.stderr.count("\n") == 1
    assert not (tmp_path / "orthospca-out").exists()
    variances = {}
    for way, notice in (
        ("drop-rows", "note: dropped 3 of 20 rows for 3 missing values"),
        ("mean", "note: replaced 3 missing values by column means"),
        ("pairwise", "the matrix may be indefinite"),
    ):
        ended = run("fit", table, "-k", 1, "-p", 2, "--missing", way, "-o", tmp_path / way)
        assert ended.exit_code == 0 and notice in ended.stderr, ended.output
        report = (tmp_path / way / "report.html").read_text(encoding="utf-8")
        assert notice.removeprefix("note: ") in report
        variances[way] = Result.load(tmp_path / way / "result.json").variances[0]
    assert len(set(variances.values())) == 3
    ended = run("fit", table, "--precomputed", "--missing", "mean")
    assert ended.exit_code == 2 and "--missing needs observations" in ended.stderr
    ended = run("path", table, "--missing", "pairwise", "--correlation", "-p", "1:3", "--json")
    assert len(found(ended)["sparsities"]) == 3


def test_an_indefinite_matrix_is_solved(tmp_path):
    """Tests that correlations by pairs may be indefinite, that this is said, and solved, proved."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12, 6)) + rng.standard_normal((12, 1))
    X[rng.random(X.shape) < 0.35] = np.nan
    np.save(tmp_path / "x.npy", X)
    how = ("--missing", "pairwise", "--correlation")
    ended = run("fit", tmp_path / "x.npy", "-k", 2, "-p", 3, "--proof", "-o", tmp_path, *how)
    assert ended.exit_code == 0, ended.output
    assert "note: the matrix is indefinite (smallest eigenvalue -" in ended.stderr
    verified = run("verify", tmp_path / "certificate.zip", "--data", tmp_path / "x.npy", *how)
    assert verified.exit_code == 0 and "VERIFIED" in verified.output, verified.output
    other = run(
        "verify", tmp_path / "certificate.zip", "--data", tmp_path / "x.npy", "--missing", "mean"
    )
    assert other.exit_code == 1 and "REJECTED" in other.output
    alone = run("verify", tmp_path / "certificate.zip", "--missing", "mean")
    assert alone.exit_code == 2 and "need --data" in alone.output


@pytest.mark.filterwarnings("ignore:.*unless all features have the same unit:UserWarning")
@pytest.mark.parametrize("option", [[], ["--correlation"]], ids=["covariance", "correlation"])
def test_constant_columns(tmp_path, option):
    """Tests that constant columns are left out, all listed, and the estimator finds the same."""
    wine = datasets.load_wine()
    X = np.column_stack([np.full(178, 0.1), wine.data[:, :5], np.zeros(178), wine.data[:, 5]])
    names = ["k", *wine.feature_names[:5], "zero", wine.feature_names[5]]
    np.savez(tmp_path / "x.npz", X=X, feature_names=names)
    ended = run("fit", tmp_path / "x.npz", "-k", 2, "-p", 3, "--json", *option)
    result = found(ended)
    assert "note: left out 2 constant columns: 'k', 'zero'" in ended.stderr
    assert "178 observations, 6 variables" in ended.stderr
    kind = "correlation" if option else "empirical"
    fitted = OrthogonalSparsePCA(2, 3, covariance=kind).fit(X)
    assert "2 constant features have no variance: 0, 6" in fitted.result_.note
    chosen = [[result["feature_names"][j] for j in c["support"]] for c in result["components"]]
    assert chosen == [[names[j] for j in np.flatnonzero(x)] for x in fitted.components_]
    variances = [component["variance"] for component in result["components"]]
    np.testing.assert_allclose(variances, fitted.explained_variance_)


def test_default_sparsity(tmp_path):
    """Tests that the default is at most the number of variables, and that a wish is not changed."""
    file = write(tmp_path / "x.csv", "a,b,c\n1,2,1\n2,1,5\n4,9,2\n")
    assert found(run("fit", file, "--json"))["sparsity"] == [3, 3]
    assert found(run("path", file, "--json"))["sparsities"] == [1, 2, 3]
    ended = run("fit", file, "-p", 5)
    assert ended.exit_code == 2 and "sparsity must be at most 3" in ended.output
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.standard_normal((9, 7)))
    assert found(run("fit", tmp_path / "x.npy", "-k", 1, "--json"))["sparsity"] == [5]


def test_standard_input(tmp_path):
    """Tests that - reads a text, a packed text or an array, and where results then go."""
    text = "größe;b;c\n1,5;2;1\n2;1,25;5\n4;9;2\n".encode("latin-1")
    ended = run("fit", "-", "-k", 1, "-p", 2, stdin=text)
    assert ended.exit_code == 0, ended.output
    assert "standard input: 3 observations, 3 variables" in ended.stderr
    folder = tmp_path / "orthospca-out" / "stdin"
    assert Result.load(folder / "result.json").feature_names == ("größe", "b", "c")
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert hashlib.sha256(text).hexdigest() in report and "standard input" in report
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((9, 3)))
    content = (tmp_path / "x.npy").read_bytes()
    piped = found(run("fit", "-", "--json", stdin=content))["components"]
    named = found(run("fit", tmp_path / "x.npy", "--json"))["components"]
    assert [c["loadings"] for c in piped] == [c["loadings"] for c in named]
    ended = run("fit", "-", stdin=b"")
    assert ended.exit_code == 2 and "standard input is empty" in ended.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_read_once(tmp_path):
    """Tests a file that cannot be read again, as the shell's <(...) is."""
    text = "a,b\n1,2\n2,1\n4,9\n"
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(text,), daemon=True)
    writer.start()
    ended = run("fit", "pipe", "-k", 1, "-p", 1, "-o", "out")
    assert ended.exit_code == 0, ended.output
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


CORRELATIONS = "a,b,c\n1,0.5,0.25\n0.5,1,0.1\n0.25,0.1,1\n"


def test_a_matrix_is_asked_about(tmp_path):
    """Tests that without a terminal a table that looks like a matrix is refused, until told."""
    file = write(tmp_path / "q.csv", CORRELATIONS)
    ended = run("fit", file, "-k", 1)
    assert ended.exit_code == 2 and ended.output.count("\n") == 1
    assert "q.csv is a symmetric 3 × 3 matrix with ones on its diagonal: use --precomputed if" in (
        ended.stderr
    )
    assert "or --observations" in ended.stderr
    ended = run("path", file, "--correlation")
    assert ended.exit_code == 2 and "--precomputed instead of --correlation" in ended.stderr
    as_matrix = found(run("fit", file, "-k", 1, "--precomputed", "--json"))
    as_data = found(run("fit", file, "-k", 1, "--observations", "--json"))
    assert as_matrix["total_variance"] == 3 and as_data["total_variance"] < 1
    assert run("fit", file, "-k", 1, "--observations", "--correlation", "--json").exit_code == 0
    covariance = write(tmp_path / "s.csv", CORRELATIONS.replace("\n1,", "\n4,"))
    ended = run("fit", covariance)
    assert ended.exit_code == 2 and "if it is the covariance matrix itself" in ended.stderr


@pytest.mark.parametrize(
    ("typed", "is_matrix"),
    [("\n", True), ("Y\n", True), ("n\n", False), ("maybe\nno\n", False), ("", None)],
)
def test_someone_at_a_terminal_is_asked(tmp_path, monkeypatch, capsys, typed, is_matrix):
    """Tests the question, its answers, and that it is asked once; no answer is no choice."""
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    source = Source(write(tmp_path / "q.csv", CORRELATIONS))
    if is_matrix is None:
        with pytest.raises(ValueError, match="use --precomputed if"):
            source.read()
        return
    read, Q = source.read()
    assert source.is_matrix == is_matrix and Q.shape == (3, 3)
    assert ("matrix, 3 variables" in source.describe(read)) == is_matrix
    questions = shown.getvalue().count("Is it the correlation matrix itself (y), or a table of")
    assert questions == (2 if "maybe" in typed else 1)


def test_standard_input_that_is_a_terminal(monkeypatch):
    """Tests that nothing waits for someone to type a table."""
    monkeypatch.setattr(_source.sys.stdin, "isatty", lambda: True, raising=False)
    with pytest.raises(ValueError, match="- means standard input, but nothing is piped in"):
        Source(Path("-")).read()


def test_transpose_and_other_options(tmp_path):
    """Tests that the options arrive: --transpose, --decimal, --encoding, --key."""
    genes = write(
        tmp_path / "genes.tsv",
        "gene\ts1\ts2\ts3\nclass\tA\tB\tA\nG1\t1\t2\t3\nG2\t4\t5\t7\nG3\t0\t1\t0\n",
    )
    ended = run("fit", genes, "-k", 1, "-p", 2)
    assert ended.exit_code == 2 and "if rows are variables, use --transpose" in ended.stderr
    ended = run("fit", genes, "-k", 1, "-p", 2, "--transpose", "--json")
    assert found(ended)["feature_names"] == ["G1", "G2", "G3"]
    assert "3 observations, 3 variables; labels left out: class" in ended.stderr
    plain = write(tmp_path / "plain.tsv", "gene\ta\tb\nG1\t1\t2\nG2\t4\t9\nG3\t0\t1\n")
    ended = run("path", plain, "-p", 1, "--json")
    assert ended.exit_code == 0 and "--transpose" in ended.stderr
    text = write(tmp_path / "x.tsv", "身長\tb\n1,234\t2\n3,456\t5\n".encode("shift-jis"))
    ended = run("fit", text, "--encoding", "shift-jis")
    assert ended.exit_code == 2 and "use --decimal comma or --decimal point" in ended.stderr
    how = ("--encoding", "shift-jis", "--decimal", "comma")
    assert found(run("fit", text, "-k", 1, "--json", *how))["feature_names"] == ["身長", "b"]
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for name in ("one", "two"):
        sheet = book.create_sheet(name)
        for row in ([f"{name}1", f"{name}2"], [1, 2], [3, 5], [2, 2]):
            sheet.append(row)
    book.save(tmp_path / "x.xlsx")
    ended = run("fit", tmp_path / "x.xlsx", "-k", 1)
    assert ended.exit_code == 2 and "name one with --key" in ended.stderr
    ended = run("fit", tmp_path / "x.xlsx", "-k", 1, "--key", "two", "--json")
    assert found(ended)["feature_names"] == ["two1", "two2"]


def test_numbers_that_cannot_be_squared(tmp_path):
    """Tests that the column is named, in one sentence."""
    for number, size in (("1e-180", "1e-180"), ("-3e180", "3e+180")):
        file = write(tmp_path / "x.csv", f"a,b,c\n1,2,{number}\n2,1,0\n4,9,0\n")
        for option in ([], ["--correlation"], ["--method", "enumeration"]):
            ended = run("fit", file, *option)
            assert ended.exit_code == 2 and ended.output.count("\n") == 1
            assert "column 'c'" in ended.output and f"got {size}: rescale" in ended.output
