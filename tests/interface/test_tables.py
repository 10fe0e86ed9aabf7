"""Tests of files in: every format, what is recognised in it, what is refused."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse
from typer.testing import CliRunner

from orthospca.interface import tables
from orthospca.interface.cli import app
from orthospca.interface.tables import TableError, read_table

X = np.array([[1.0, 2.0, 0.5], [3.0, 4.0, 0.0], [0.0, 7.0, 1.0], [2.0, 2.0, 2.0]])


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a,b\n1,2\n3,4\n", ("a", "b")),
        ("1,2\n3,4\n", ("x0", "x1")),
        ("a\tb\n1\t2\n3\t4\n", ("a", "b")),
        ("a;b\r\n1;2\r\n3;4\r\n", ("a", "b")),
        ('"a, inch";"b"\n1;2\n3;4\n', ("a, inch", "b")),
        ("\ufeffa,b\n1,2\n3,4\n", ("a", "b")),
        ("# note\na, b\n 1 , 2\n\n3,4e0\n", ("a", "b")),
        (",a,b\n0,1,2\n1,3,4\n", ("a", "b")),
        ("a,b\nr1,1,2\nr2,3,4\n", ("a", "b")),
        ("id,a,b\nr1,1,2\nr2,3,4\n", ("a", "b")),
        ("ID,a,b\n7,1,2\n9,3,4\n", ("a", "b")),
        ("r1,1,2\nr2,3,4\n", ("x1", "x2")),
        ("a,b,kind\n1,2,red\n3,4,\n", ("a", "b")),
    ],
)
def test_views_of_text(tmp_path, text, columns):
    """Tests separators, headers, row labels and columns of labels."""
    table = read_table(write(tmp_path / "x.csv", text))
    assert table.columns == columns
    np.testing.assert_array_equal(table.values, [[1.0, 2.0], [3.0, 4.0]])
    packed = write(tmp_path / "x.csv.gz", gzip.compress(text.encode()))
    np.testing.assert_array_equal(read_table(packed).values, table.values)


def test_an_id_that_repeats_is_a_variable(tmp_path):
    """Tests that a column is an index only if it is called one and its numbers are distinct."""
    assert read_table(write(tmp_path / "x.csv", "id,a\n1,2\n1,4\n")).columns == ("id", "a")
    assert read_table(write(tmp_path / "x.csv", "age,a\n1,2\n2,4\n")).columns == ("age", "a")


def test_label_option(tmp_path):
    """Tests that columns are left out by name or by number, and that an unknown one is named."""
    file = write(tmp_path / "x.csv", "year,a,b,c\n2001,1,2,3\n2002,4,5,6\n")
    table = read_table(file, label=["year", "4"])
    assert (table.columns, table.labels) == (("a", "b"), ("year", "c"))
    with pytest.raises(TableError, match=r"no column 'month' \(it has 'year', 'a'"):
        read_table(file, label=["month"])
    np.save(tmp_path / "x.npy", X)
    table = read_table(tmp_path / "x.npy", label=["2"])
    assert (table.columns, table.labels) == (("x0", "x2"), ("x1",))
    np.testing.assert_array_equal(table.values, X[:, [0, 2]])


def test_header_option(tmp_path):
    """Tests that names which are numbers need --header, and that an error says so."""
    matrix = write(tmp_path / "q.csv", "1999,2000\n2,1\n1,2\n")
    assert read_table(matrix, header=True).columns == ("1999", "2000")
    assert read_table(matrix).values.shape == (3, 2)
    ended = CliRunner().invoke(app, ["fit", str(matrix), "--precomputed", "-k", "1", "-p", "1"])
    assert ended.exit_code == 2 and "use --header" in ended.output
    texts = write(tmp_path / "t.csv", "a,b\n1,2\n3,4\n")
    with pytest.raises(TableError, match="'a' in row 1"):
        read_table(texts, header=False)


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("0,1,2\n0.5,1,2\n1.5,3,9\n", ("0", "1", "2"), 2),  # pandas, without its index
        (",0,1,2\n0,5,1,2\n1,15,3,9\n", ("0", "1", "2"), 2),  # and with it
        ("1990;1991;1992\n0,5;1;2\n1,5;3;9\n", ("1990", "1991", "1992"), 2),
        ("7 8 9\nr1 0.5 1 2\nr2 1.5 3 9\n", ("7", "8", "9"), 2),
        ("4,5,6,7,8\n9,1,2,0,1\n1,3,9,5,4\n", ("4", "5", "6", "7", "8"), 2),
        ("id,0,1,2\nx,0.5,1,2\ny,1.5,3,9\n", ("0", "1", "2"), 2),
        ("7,8\nr1,5,1\nr2,15,3\n", ("7", "8"), 2),  # as R writes it
        ("0,1,2\n5,1,2\n15,3,9\n", ("x0", "x1", "x2"), 3),  # an observation like the others
        ("4,5,6,7,9\n9,1,2,0,1.5\n1,3,9,5,4\n", ("x0", "x1", "x2", "x3", "x4"), 3),
        ("5,6\n1.5,2\n3,9\n", ("x0", "x1"), 3),
        ("0,1\n", ("x0", "x1"), 1),
    ],
)
def test_a_first_line_that_counts(tmp_path, text, columns, rows):
    """Tests that consecutive whole numbers above others are names, with a note."""
    file = write(tmp_path / "x.csv", text)
    table = read_table(file)
    assert (table.columns, len(table.values)) == (columns, rows)
    said = any("consecutive whole numbers, was read as names" in x for x in table.notices)
    assert said == (columns[0] != "x0")
    asked = any("was read as an observation; use --header" in x for x in table.notices)
    assert asked == (columns == ("x0", "x1", "x2"))
    if said and text[0] not in "7i":
        assert len(read_table(file, header=False, missing="mean").values) == rows + 1


@pytest.mark.parametrize("n", range(2, 12))
def test_names_with_spaces(tmp_path, n):
    """Tests that tabs separate cells, however many words the names above them have."""
    head = "\t".join(["sample", *(f"v {j}" for j in range(n))])
    rows = ["\t".join([f"s{i}", *(str(i * j % 7) for j in range(n))]) for i in range(1, 14)]
    for count in range(2, len(rows)):
        table = read_table(write(tmp_path / "x.tsv", "\n".join([head, *rows[:count]]) + "\n"))
        assert table.columns == tuple(f"v {j}" for j in range(n))


def test_matrix_that_counts(tmp_path):
    """Tests that a matrix without a line of names is told how to keep its first one."""
    line = np.arange(1.0, 6.0)
    matrix = np.outer(line, line)
    file = write(tmp_path / "q.csv", "\n".join(",".join(f"{x:g}" for x in row) for row in matrix))
    asked = ["fit", str(file), "--precomputed", "-k", "1", "-p", "1", "-o", str(tmp_path / "out")]
    ended = CliRunner().invoke(app, asked)
    assert ended.exit_code == 2 and "use --no-header" in ended.output
    assert CliRunner().invoke(app, [*asked, "--no-header"]).exit_code == 0


def test_a_matrix_that_is_not_symmetric(tmp_path):
    """Tests that entries are named by line and column of the file, and what can be done."""
    file = write(tmp_path / "q.csv", ",a,b\na,2,1\nb,0.5,3\n")
    ended = CliRunner().invoke(app, ["fit", str(file), "--precomputed", "-k", "1", "-p", "1"])
    assert ended.exit_code == 2
    assert "q.csv has 1 in row 1 (line 2), column 'b', and 0.5 in row 2 (line 3)" in ended.output
    assert "leave --precomputed out" in ended.output and "DataCovariance" not in ended.output


def test_first_column_without_a_heading(tmp_path):
    """Tests that measurements are not taken for row labels without a word."""
    told = "left out a first column of numbers, which has no heading; use --keep 1"
    for first, noted in (("0.5 0.25 7", True), ("3 3 4", True), ("2 1 0", False), ("a b c", False)):
        rows = [f"{x},{j},{j * j}\n" for j, x in enumerate(first.split())]
        file = write(tmp_path / "x.csv", ",a,b\n" + "".join(rows))
        table = read_table(file)
        assert table.columns == ("a", "b")
        assert any(notice.startswith(told) for notice in table.notices) == noted
        if noted:
            assert read_table(file, keep=["1"]).columns == ("number 1", "a", "b")
            assert read_table(file, label=["1"]).notices == ()


def test_what_was_left_out_is_said_where_little_is_left(tmp_path):
    """Tests that the error about a single column names the one that counts rows."""
    rows = "".join(f"2020-01-{j:02d},{j},{j * j}\n" for j in range(1, 9))
    file = write(tmp_path / "x.csv", "date,a,b\n" + rows)
    ended = CliRunner().invoke(app, ["fit", str(file)])
    assert ended.exit_code == 2
    assert "only one column of numbers ('b')" in ended.output
    assert "left out 1 row-number column: 'a'; use --keep" in ended.output
    assert read_table(file, keep=["a"]).columns == ("a", "b")


def test_numpy_files(tmp_path):
    """Tests NPY, NPZ with names, with several tables and with a sparse matrix."""
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    np.testing.assert_array_equal(read_table(tmp_path / "x.npy").values, X)
    np.savez(tmp_path / "x.npz", X=X, y=np.arange(4), feature_names=["a", "b", "c"])
    table = read_table(tmp_path / "x.npz")
    assert table.columns == ("a", "b", "c")
    np.savez(tmp_path / "two.npz", A=X, B=2 * X)
    np.testing.assert_array_equal(read_table(tmp_path / "two.npz", key="B").values, 2 * X)
    with pytest.raises(TableError, match=r"several tables \(A, B\): name one with --key"):
        read_table(tmp_path / "two.npz")
    with pytest.raises(TableError, match=r"no array 'C' \(it has A, B\)"):
        read_table(tmp_path / "two.npz", key="C")
    with pytest.raises(TableError, match="not an NPZ file"):
        read_table(tmp_path / "x.npy", key="A")
    sparse.save_npz(tmp_path / "s.npz", sparse.csc_matrix(X))
    check_sparse(read_table(tmp_path / "s.npz"))


def test_only_what_is_needed_of_an_npz_file_is_loaded(tmp_path):
    """Tests that other arrays are not loaded: here it would fail, they are Python objects."""
    other = np.array([{}, []], dtype=object)
    np.savez(tmp_path / "x.npz", X=X, other=other, columns=["a", "b", "c"])
    assert read_table(tmp_path / "x.npz").columns == ("a", "b", "c")
    with pytest.raises(TableError, match="it holds Python objects"):
        read_table(tmp_path / "x.npz", key="other")


def check_sparse(table: tables.Table) -> None:
    """A sparse table stays sparse and has the covariance and correlation of the dense one."""
    assert sparse.issparse(table.values) and table.columns == ("x0", "x1", "x2")
    np.testing.assert_allclose(table.covariance(), np.cov(X.T), atol=1e-14)
    np.testing.assert_allclose(table.correlation(), np.corrcoef(X.T), atol=1e-14)


def test_matrix_market(tmp_path):
    """Tests dense, sparse, symmetric and compressed Matrix Market files."""
    io.mmwrite(tmp_path / "dense.mtx", X)
    np.testing.assert_array_equal(read_table(tmp_path / "dense.mtx").values, X)
    io.mmwrite(tmp_path / "sparse.mtx", sparse.coo_matrix(X))
    check_sparse(read_table(tmp_path / "sparse.mtx"))
    packed = write(tmp_path / "p.mtx.gz", gzip.compress((tmp_path / "sparse.mtx").read_bytes()))
    check_sparse(read_table(packed))
    io.mmwrite(tmp_path / "q.mtx", sparse.coo_matrix(X.T @ X), symmetry="symmetric")
    np.testing.assert_allclose(read_table(tmp_path / "q.mtx").square(), X.T @ X)


def test_parquet(tmp_path):
    """Tests that numbers and their names are read, and that text and a stored index are labels."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"a": [1, 2, 3], "kind": ["r", "g", "b"], "b": [0.5, 1.5, 2.5], "ok": [True] * 3}
    parquet.write_table(arrow.table(columns), tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet")
    assert (table.columns, table.labels) == (("a", "b", "ok"), ("kind",))
    np.testing.assert_array_equal(
        table.values, np.transpose([[1, 2, 3], [0.5, 1.5, 2.5], [1, 1, 1]])
    )
    assert table.notices == ("true and false were read as 1 and 0: 'ok'",)
    assert table.row_names == ("r", "g", "b")
    columns["c"] = [1.0, None, 3.0]
    parquet.write_table(arrow.table(columns), tmp_path / "y.parquet")
    with pytest.raises(TableError, match="missing value in row 2, column 'c'"):
        read_table(tmp_path / "y.parquet")
    assert read_table(tmp_path / "y.parquet", label=["5", "kind"]).columns == ("a", "b", "ok")
    stored = arrow.table({"a": [1, 2], "b": [2, 1], "__index_level_0__": [5, 6]})
    stored = stored.replace_schema_metadata(
        {b"pandas": b'{"index_columns": ["__index_level_0__"], "columns": []}'}
    )
    parquet.write_table(stored, tmp_path / "z.parquet")
    assert read_table(tmp_path / "z.parquet").columns == ("a", "b")
    for name, content in (("empty", b""), ("garbage", b"PAR1" + bytes(range(256)))):
        with pytest.raises(TableError, match="is not a Parquet file"):
            read_table(write(tmp_path / f"{name}.parquet", content))


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    """Tests that a missing optional dependency is one clear sentence."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r'needs pyarrow: pip install "orthospca\[parquet\]"'):
        read_table(write(tmp_path / "x.parquet", b""))


def npy(array: object) -> bytes:
    import io as memory

    buffer = memory.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


BAD_FILES = {
    "empty.npy": (b"", "not an NPY file"),
    "garbage.npy": (bytes(range(256)), "not an NPY file"),
    "short.npy": (npy(X)[:-9], "not an NPY file"),
    "objects.npy": (npy(np.array([[1, "a"], [2, None]], dtype=object)), "holds Python objects"),
    "text.npy": (npy(np.array([["a", "b"]])), "not numbers"),
    "complex.npy": (npy(1j * X), "complex128, not numbers"),
    "vector.npy": (npy(X[0]), "array of 1 dimensions"),
    "column.npy": (npy(X[:, :1]), "one column of numbers"),
    "none.npy": (npy(X[:0]), "is empty"),
    "nan.npy": (npy(np.where(X == 7.0, np.nan, X)), "missing value in row 3, column 'x1'"),
    "inf.npy": (npy(np.where(X == 0.5, np.inf, X)), "'inf' in row 1, column 'x2'"),
    "garbage.npz": (b"PK\x03\x04" + bytes(range(256)), "not an NPZ file"),
    "empty.mtx": (b"", "is empty"),
    "garbage.mtx": (bytes(range(128, 256)), "not a Matrix Market file"),
    "short.mtx": (b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n", "not a Matrix Market"),
    "nan.mtx": (
        b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 nan\n",
        "missing value in row 2, column 'x1'",
    ),
    "damaged.csv.gz": (b"\x1f\x8bnothing", "is damaged or not a gzip file"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(tmp_path, name):
    """Tests that each bad file is one sentence and exit code 2."""
    content, message = BAD_FILES[name]
    file = write(tmp_path / name, content)
    ended = CliRunner().invoke(app, ["fit", str(file), "-k", "1", "-p", "1", "--json"])
    assert ended.exit_code == 2, ended.output
    assert message in ended.stderr and ended.stdout == ""
    assert ended.stderr.startswith("orthospca: ") and ended.stderr.count("\n") == 1


def test_too_many_variables(tmp_path):
    """Tests that a covariance matrix too large for the memory is refused before it is formed."""
    np.save(tmp_path / "x.npy", np.tile(X[:2], 7000))
    with pytest.raises(TableError, match="21000 variables; --precomputed"):
        read_table(tmp_path / "x.npy").covariance()


def test_reference_files(data_folder):
    """Tests that reference files are read as they are meant."""
    table = read_table(data_folder / "mtcars.csv")
    assert table.values.shape == (32, 11) and table.labels == ("model",)
    published = read_table(data_folder / "mtcars_corr_11.csv").square()
    np.testing.assert_allclose(table.correlation(), published, atol=1e-12)
    assert read_table(data_folder / "spls_lymphoma_X_62x4026.npz").values.shape == (62, 4026)


def test_a_table_error_is_a_value_error(tmp_path):
    """Tests that library users can catch what is wrong with a file as a ValueError."""
    with pytest.raises(ValueError, match="is empty") as caught:
        read_table(write(tmp_path / "x.csv", ""))
    assert isinstance(caught.value, TableError)
