"""Tests of tables as people have them: missing values, constants, extremes, matrices, sheets."""

from __future__ import annotations

import datetime
import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from orthospca.interface.tables import TableError, kind_of_matrix, read_table


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def read(tmp_path):
    """Read a text as if it were the content of a file."""

    def from_text(text: str | bytes, name: str = "x.csv", **options):
        return read_table(write(tmp_path / name, text), **options)

    return from_text


# ---------------------------------------------------------------------------- missing values


MISSING = "a,b,c\n1,2,3\nNA,5,1\n7,,2\n?,4,9\n2,1,0\n3,8,#N/A\n"
WITH_NAN = np.array(
    [[1, 2, 3], [np.nan, 5, 1], [7, np.nan, 2], [np.nan, 4, 9], [2, 1, 0], [3, 8, np.nan]]
)


def test_missing_values_are_counted(read):
    """Tests that the refusal says how many, in which columns, where, and what may be said."""
    with pytest.raises(TableError) as caught:
        read(MISSING)
    assert str(caught.value).endswith(
        "x.csv has 4 missing values in 3 columns of 3: 2 in 'a' (first in row 2, line 3), 1 in 'b' "
        "(first in row 3, line 4), 1 in 'c' (first in row 6, line 7); use --missing drop-rows "
        "(keeps 2 of 6 rows), --missing mean or --missing pairwise"
    )
    header = ",".join(f"v{j}" for j in range(9))
    many = "\n".join(",".join("" if i == j else "1" for j in range(9)) for i in range(9))
    with pytest.raises(TableError, match=r"9 missing values in 9 columns of 9: .* and 3 more col"):
        read(f"{header}\n{many}\n")


def test_drop_rows(read, tmp_path):
    """Tests that rows with a missing value are left out, with their numbers."""
    table = read(MISSING, missing="drop-rows")
    np.testing.assert_array_equal(table.values, [[1, 2, 3], [2, 1, 0]])
    assert table.notices[0].startswith("dropped 4 of 6 rows for 4 missing values (2 in 'a', ")
    assert table.notices[0].endswith("rows 2, 3, 4, 6") and table.lines == (2, 6)
    with pytest.raises(TableError, match="none of its 2 rows is complete"):
        read("a,b\n1,\n,2\n", missing="drop-rows")
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(WITH_NAN))
    kept = read_table(tmp_path / "s.npz", missing="drop-rows").values
    np.testing.assert_array_equal(kept.toarray(), [[1, 2, 3], [2, 1, 0]])


def test_mean(read, tmp_path):
    """Tests that the mean of a column is put in, in dense and in sparse tables."""
    expected = np.where(np.isnan(WITH_NAN), np.nanmean(WITH_NAN, axis=0), WITH_NAN)
    table = read(MISSING, missing="mean")
    np.testing.assert_allclose(table.values, expected)
    assert table.notices[0].startswith("replaced 4 missing values by column means")
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(WITH_NAN))
    filled = read_table(tmp_path / "s.npz", missing="mean").values
    assert sparse.issparse(filled)
    np.testing.assert_allclose(filled.toarray(), expected)


def test_pairwise(tmp_path):
    """Tests that covariances and correlations are those of pandas, which go by pairs as well."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5)) @ rng.standard_normal((5, 5)) + 1e4
    X[rng.random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.to_csv(tmp_path / "x.csv", index=False)
    table = read_table(tmp_path / "x.csv", missing="pairwise")
    np.testing.assert_allclose(table.covariance(), frame.cov(), rtol=1e-9)
    np.testing.assert_allclose(table.correlation(), frame.corr(), rtol=1e-9)
    assert (table.correlation() == table.correlation().T).all()
    there = frame.notna().to_numpy().astype(int)
    assert f"at least {(there.T @ there).min()} of 30" in table.notices[0]
    assert "the matrix may be indefinite" in table.notices[0]


def test_pairs_that_have_no_covariance(read, tmp_path):
    """Tests that a pair without rows in common, or without variation there, is named."""
    with pytest.raises(TableError, match="1 rows with both 'a' and 'b'"):
        read("a,b,c\n1,,2\n2,,1\n4,2,1\n,3,5\n", missing="pairwise").covariance()
    table = read("a,b,c\n0.1,,2\n0.1,5,1\n0.1,2,1\n9,,5\n", missing="pairwise")
    assert table.covariance()[0, 1] == pytest.approx(0, abs=1e-15)
    with pytest.raises(TableError, match="'a' is constant on the rows that have 'b' too"):
        table.correlation()
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(WITH_NAN))
    with pytest.raises(TableError, match="--missing pairwise needs a dense one"):
        read_table(tmp_path / "s.npz", missing="pairwise")
    with pytest.raises(TableError, match=r"missing must be one of 'drop-rows', .* got 'ignore'"):
        read(MISSING, missing="ignore")


def test_a_matrix_may_not_lack_entries(read):
    """Tests that of a precomputed matrix the missing entry is named."""
    table = read("a,b\n1,\n0.5,1\n", missing="pairwise")
    with pytest.raises(
        TableError, match=r"missing value in row 1 \(line 2\), column 'b', and a pre"
    ):
        table.square()


# ---------------------------------------------------------------------------- columns, matrices


def test_constant_columns(read, tmp_path):
    """Tests that all constant columns are named, and are left out where that is asked for."""
    text = "a,b,c,d,e\n1,5,2,0.1,7\n2,5,1,0.1,7\n4,5,9,0.1,7\n"
    table = read(text)
    with pytest.raises(TableError, match="for constant columns 'b', 'd', 'e'"):
        table.correlation()
    varying = table.varying()
    assert varying.columns == ("a", "c")
    assert varying.notices == ("left out 3 constant columns: 'b', 'd', 'e'",)
    np.testing.assert_array_equal(varying.values, table.values[:, [0, 2]])
    assert varying.varying() is varying
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(table.values))
    assert read_table(tmp_path / "s.npz").varying().columns == ("x0", "x2")
    rounded = np.column_stack([2 * np.arange(9.0), np.full(9, 1e5 / 3), np.arange(9.0) ** 2])
    rounded[::2, 1] = np.nextafter(1e5 / 3, 1e6)
    np.save(tmp_path / "x.npy", rounded)
    assert read_table(tmp_path / "x.npy").varying().columns == ("x0", "x2")
    with pytest.raises(TableError, match="nothing to analyse: all its columns are constant"):
        read("a,b\n1,2\n1,2\n").varying()
    with pytest.raises(TableError, match="nothing to analyse: all its columns but 1 are const"):
        read("a,b\n1,2\n1,3\n").varying()


@pytest.mark.parametrize("unit", [1e-180, 1e180])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_numbers_that_cannot_be_squared(tmp_path, unit, container):
    """Tests that the column is named whose squares are none, beside others that are fine."""
    X = np.random.default_rng(0).standard_normal((9, 4))
    X[:, 2] *= unit
    X = container(X)
    if sparse.issparse(X):
        sparse.save_npz(tmp_path / "x.npz", X)
    else:
        np.savez(tmp_path / "x.npz", X=X)
    table = read_table(tmp_path / "x.npz")
    for use in (table.covariance, table.correlation, table.varying, table.data_covariance):
        with pytest.raises(TableError, match=r"column 'x2'.* got .*: rescale the data"):
            use()


def test_what_looks_like_a_matrix(read, tmp_path):
    """Tests which tables are asked about: symmetric, and within what the diagonal allows."""
    assert kind_of_matrix(read("a,b\n1,0.5\n0.5,1\n")) == "correlation"
    assert kind_of_matrix(read("a,b\n4,0.5\n0.5,1\n")) == "covariance"
    assert kind_of_matrix(read("a,b\n1,2\n2,1\n")) == ""
    assert kind_of_matrix(read("a,b\n1,0.5\n0.4,1\n")) == ""
    assert kind_of_matrix(read("a,b\n-1,0.5\n0.5,1\n")) == ""
    assert kind_of_matrix(read("a,b\n0,0\n0,0\n")) == ""
    assert kind_of_matrix(read("a,b\n1,0.5\n0.5,1\n0,0\n")) == ""
    assert kind_of_matrix(read("a,b\n1,0.5\n,1\n", missing="pairwise")) == ""
    Q = np.corrcoef(np.random.default_rng(0).standard_normal((5, 20)))
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(Q))
    assert kind_of_matrix(read_table(tmp_path / "s.npz")) == "correlation"


# ---------------------------------------------------------------------------- formats


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


SHEET = [
    ["id", "day", "a", "b", "ok", "kind"],
    [1, datetime.date(2020, 1, 2), 1.5, 2, True, "x"],
    [2, datetime.date(2020, 1, 3), 1 / 3, 4, False, "y"],
    [None] * 6,
    [3, datetime.date(2020, 1, 4), -2, 5.0, True, "x"],
]


def test_excel(tmp_path):
    """Tests that a sheet is read as a text file would be, and its numbers exactly."""
    table = read_table(workbook(tmp_path / "x.xlsx", data=SHEET))
    assert (table.columns, table.labels) == (("a", "b", "ok"), ("id", "day", "kind"))
    np.testing.assert_array_equal(table.values, [[1.5, 2, 1], [1 / 3, 4, 0], [-2, 5, 1]])
    assert table.row_names == ("1", "2", "3") and table.label_values["day"][0] == "2020-01-02"
    shifted = [[], [], *[[None, None, *row] for row in SHEET]]
    table = read_table(workbook(tmp_path / "y.xlsx", data=shifted, remarks=[["see mail"]]))
    assert table.columns == ("a", "b", "ok") and table.lines == (4, 5, 7)
    with pytest.raises(TableError, match=r"missing value in row 2 \(line 3\), column 'b'"):
        read_table(workbook(tmp_path / "z.xlsx", s=[["a", "b"], [1, 2], [3, None], [4, 5]]))


def test_sheets(tmp_path):
    """Tests that several sheets with tables need a name, and that bad names are told."""
    two = workbook(tmp_path / "x.xlsx", one=[["a", "b"], [1, 2], [3, 5]], two=SHEET, none=[])
    with pytest.raises(TableError, match=r"several sheets \(one, two\): name one with --key"):
        read_table(two)
    assert read_table(two, key="two").columns == ("a", "b", "ok")
    with pytest.raises(TableError, match=r"no sheet 'three' \(it has one, two, none\)"):
        read_table(two, key="three")
    with pytest.raises(TableError, match="is empty"):
        read_table(two, key="none")


def test_excel_without_openpyxl(tmp_path, monkeypatch):
    """Tests that a missing optional dependency is one clear sentence, and so is a damaged file."""
    pytest.importorskip("openpyxl")
    with pytest.raises(TableError, match="is damaged or not an Excel workbook"):
        read_table(write(tmp_path / "x.xlsx", b"PK\x03\x04" + bytes(range(256))))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(TableError, match=r'needs openpyxl: pip install "orthospca\[excel\]"'):
        read_table(write(tmp_path / "x.xlsx", b""))


def test_the_content_decides_where_the_name_does_not(tmp_path):
    """Tests files with a wrong ending, or none, and formats that are known but not read."""
    X = np.arange(6.0).reshape(3, 2) ** 2
    buffer = io.BytesIO()
    np.save(buffer, X)
    np.testing.assert_array_equal(read_table(write(tmp_path / "x", buffer.getvalue())).values, X)
    packed = write(tmp_path / "x.dat", gzip.compress(b"a b\n1 2\n3 4\n"))
    assert read_table(packed).columns == ("a", "b")
    text = write(tmp_path / "x.xls", "a\tb\n1\t2\n3\t4\n")
    assert read_table(text).columns == ("a", "b")
    book = workbook(tmp_path / "x.xlsx", data=SHEET).read_bytes()
    assert read_table(write(tmp_path / "book.csv", book)).columns == ("a", "b", "ok")
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100)
    with pytest.raises(TableError, match=r"an old Excel file .* save it as .xlsx or as CSV"):
        read_table(write(tmp_path / "x.xls", old))
