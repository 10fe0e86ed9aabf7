"""Tests of text files as people have them: decimals, separators, encodings, names, direction."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from typer.testing import CliRunner

from orthospca.interface.cli import app
from orthospca.interface.tables import TableError, read_table
from orthospca.interface.tables._numbers import COMMA, POINT, looks_like_number, number_in

VALUES = [[1.5, -2.0, 1234.25], [3.0, 4.75, 0.0], [0.5, 7.0, 1e-3]]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def read(tmp_path):
    """Read a text as if it were the content of a file."""

    def from_text(text: str | bytes, name: str = "x.csv", **options):
        return read_table(write(tmp_path / name, text), **options)

    return from_text


# ---------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("cell", "with_point", "with_comma"),
    [
        ("12", 12, 12),
        ("-1.5", -1.5, None),
        ("-1,5", None, -1.5),
        ("\u22121.5", -1.5, None),
        ("1,234.5", 1234.5, None),
        ("1.234,5", None, 1234.5),
        ("1\u202f234,5", None, 1234.5),
        ("1'234.5", 1234.5, None),
        ("1,234,567", 1234567, None),
        ("1.234.567", None, 1234567),
        ("1,234", 1234, 1.234),
        ("0,123", None, 0.123),
        ("12,34,567", None, None),
        ("1,5e3", None, 1500),
        (".5", 0.5, None),
        (",5", None, 0.5),
        ("5,", None, None),
        ("e5", None, None),
        ("1_000", None, None),
        ("12%", None, None),
        ("nan", None, None),
        ("", None, None),
    ],
)
def test_numbers(cell, with_point, with_comma):
    """Tests what a cell means with decimal points and with decimal commas."""
    assert number_in(cell, POINT) == with_point
    assert number_in(cell, COMMA) == with_comma


def test_any_text_is_a_number_or_none():
    """Tests that no cell, whatever is in it, is an exception."""
    draw = random.Random(0)
    for _ in range(20_000):
        cell = "".join(draw.choices("0123456789.,-+eE '\u00a0_x", k=draw.randint(0, 7)))
        for decimal in (POINT, COMMA):
            found = number_in(cell, decimal)
            assert found is None or looks_like_number(cell)


def layouts() -> dict[str, str]:
    """The same table in the ways in which programs write it."""

    def rows(separator: str, decimal: str, quote: str = "") -> str:
        lines = [
            separator.join(f"{quote}{value:g}{quote}".replace(".", decimal) for value in row)
            for row in VALUES
        ]
        return "\n".join([separator.join(f"{quote}{name}{quote}" for name in "abc"), *lines])

    return {
        "semicolons and commas": rows(";", ","),
        "tabs and commas": rows("\t", ","),
        "spaces": rows(" ", "."),
        "many spaces": "  " + rows("    ", ".").replace("\n", "  \n "),
        "spaces and commas": rows(" ", ","),
        "bars": rows("|", "."),
        "quoted commas": rows(",", ",", '"'),
        "a comma and a space": rows(", ", "."),
        "what Excel adds": "sep=;\r\n" + rows(";", ",").replace("\n", "\r\n"),
        "a separator at each end": rows(",", ".").replace("\n", ",\n") + ",",
        "grouped digits": "a;b;c\n1,5;-2;1.234,25\n3;4,75;0\n0,5;7;0,001",
    }


@pytest.mark.parametrize("name", layouts())
def test_layouts(read, name):
    """Tests that separators and decimals are found out."""
    table = read(layouts()[name])
    assert table.columns == ("a", "b", "c")
    np.testing.assert_allclose(table.values, VALUES, rtol=1e-5)
    commas = any(word in name for word in ("commas", "Excel", "grouped"))
    assert ("decimal commas were read as points" in table.notices) == commas


def test_a_separator_after_the_numbers_only(read):
    """Tests that rows longer than the header by an empty cell do not shift the names."""
    table = read("a,b\n1,2,\n3,4,\n")
    assert table.columns == ("a", "b")
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    assert table.notices == ("left out 1 empty column: 'number 3'",)


def test_a_table_of_r(read):
    """Tests what write.table writes: spaces, quotes, and row names that the header leaves out."""
    table = read('"a" "b c"\n"first row" 1 2\n"second ""row""" 3 4.5\n')
    assert (table.columns, table.row_names) == (("a", "b c"), ("first row", 'second "row"'))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4.5]])


def test_cells_with_line_breaks(read):
    """Tests that a quoted cell may go on in the next line, and that places stay right."""
    table = read('"weight\n(kg)",b\n1,2\n3,\n', missing="mean")
    assert table.columns == ("weight (kg)", "b")
    with pytest.raises(TableError, match=r"row 2 \(line 4\), column 'b'"):
        read('"weight\n(kg)",b\n1,2\n3,\n')


def test_lines_of_separators(read):
    """Tests that lines without any cell are skipped, with a notice."""
    table = read("a,b\n1,2\n,\n3,4\n,\n,\n")
    assert table.values.shape == (2, 2)
    assert table.notices == ("skipped 3 empty lines",)


def test_lines_above_the_table(read):
    """Tests that titles are skipped, with a notice, and that places stay right."""
    table = read("Survey of 2020\n\nfirst draft,,\na,b,c\n1,2,3\n4,5,7\n")
    assert table.columns == ("a", "b", "c") and table.values.shape == (2, 3)
    assert table.notices == ("skipped 2 lines above the table",) and table.lines == (5, 6)
    assert (
        read("1,,\n2,3,4\n5,6,8\n", missing="mean")
        .notices[0]
        .startswith("replaced 2 missing values by column means")
    )
    assert read("a,b\n1,2\n3,4\n").notices == ()


def test_amounts_with_a_sign(read):
    """Tests that a column of percentages or prices is not left out without a word."""
    table = read("a,b,share,price,day\n1,2,12 %,$5,2020-01-02\n3,5,7%,$6.5,2020-01-03\n")
    assert table.labels == ("share", "price", "day")
    assert table.notices == (
        "read as text because of a sign, as in '12 %', and left out: 'share', 'price'",
    )
    assert read("a,b,c\n1,2,5%\n2,5,6%\n", label=["c"]).notices == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b\n1,5;2\n3;4.5\n", r"comma in '1,5' \(row 1 .*'a'\) and a decimal point in '4.5' "),
        ("a;b\n1,234;2\n3;4\n", r"'1,234' \(row 1 \(line 2\), column 'a'\), which may be"),
    ],
)
def test_decimals_that_cannot_be_told(read, text, message):
    """Tests that nothing is guessed, that both readings can be asked for, and what then happens."""
    with pytest.raises(TableError, match=message + r".*use --decimal comma or --decimal point"):
        read(text)
    if "1,234" in text:
        assert read(text, decimal="comma").values[0, 0] == 1.234
        assert read(text, decimal="point").values[0, 0] == 1234
    else:
        with pytest.raises(TableError, match=r"'4.5' .* decimals here need a comma"):
            read(text, decimal="comma")
        with pytest.raises(TableError, match=r"'1,5' .* decimals here need a point"):
            read(text, decimal="point")
    with pytest.raises(TableError, match="decimal must be 'point' or 'comma', got 'dot'"):
        read(text, decimal="dot")


def test_a_mistake_is_counted(read):
    """Tests that further texts in a column of numbers are counted."""
    with pytest.raises(TableError, match=r"'x' in row 1 .*not a number \(2 more such cells"):
        read("a,b\n1,x\n2,y\n3,z\n4,5\n")


# ---------------------------------------------------------------------------- encodings


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252"],
)
def test_encodings(read, encoding):
    """Tests that names survive in every encoding, and that a guess is said to be one."""
    table = read("größe;façade;Maß\n1,5;2;3\n4;5;6\n".encode(encoding))
    assert table.columns == ("größe", "façade", "Maß")
    assert any("read as" in notice and "--encoding" in notice for notice in table.notices) == (
        encoding in ("latin-1", "cp1252")
    )


def test_encoding_option(read):
    """Tests that an encoding can be named, and that a wrong name or a wrong one is refused."""
    text = "身長,体重\n1,2\n3,5\n"
    assert read(text.encode("shift-jis"), encoding="shift-jis").columns == ("身長", "体重")
    with pytest.raises(TableError, match="is not a text file in ascii"):
        read(text, encoding="ascii")
    with pytest.raises(TableError, match="encoding must be a name such as utf-8, got 'klingon'"):
        read(text, encoding="klingon")


# ---------------------------------------------------------------------------- names and labels


def test_duplicate_names(read):
    """Tests that names that repeat get suffixes that are free, with a notice."""
    table = read("a,b,a,a.1,a\n1,2,3,4,5\n2,4,6,8,1\n")
    assert table.columns == ("a", "b", "a.2", "a.1", "a.3")
    assert len(table.notices) == 1 and "'a' 3 times" in table.notices[0]
    assert read("a,b,a\n1,2,3\n4,5,7\n", label=["a.1"]).columns == ("a", "b")


def test_booleans(read):
    """Tests that true and false, in whatever case, are 1 and 0, and may be missing."""
    table = read("a,b,c\n1,TRUE,x\n2,false,y\n3,NA,z\n", missing="pairwise")
    assert (table.columns, table.labels) == (("a", "b"), ("c",))
    np.testing.assert_array_equal(table.values[:, 1], [1, 0, np.nan])
    assert "true and false were read as 1 and 0: 'b'" in table.notices
    assert read("TRUE,FALSE\nFALSE,TRUE\n").columns == ("x0", "x1")


def test_labels_are_kept(read, tmp_path):
    """Tests that row names and the texts of label columns come along, for scores."""
    table = read("name,a,kind,b\nr1,1,red,2\nr2,3,blue,\nr3,5,red,6\n", missing="drop-rows")
    assert table.row_names == ("r1", "r3")
    assert table.label_values == {"name": ("r1", "r3"), "kind": ("red", "red")}
    assert read(",a,b\n7,1,2\n8,3,5\n").row_names == ("7", "8")
    assert read("a,b,kind\n1,2,red\n3,5,red\n").row_names is None
    np.savez(tmp_path / "x.npz", X=np.eye(3), row_names=["p", "q", "r"])
    table = read_table(tmp_path / "x.npz", label=["1"])
    assert table.row_names == ("p", "q", "r") and table.label_values == {"x0": ("1", "0", "0")}


def test_empty_columns(read, tmp_path):
    """Tests that columns without any value are left out, with a notice, in every format."""
    table = read("a,b,c,d\n1,2,,NA\n3,4,,\n")
    assert table.columns == ("a", "b")
    assert table.notices == ("left out 2 empty columns: 'c', 'd'",)
    X = np.array([[1.0, np.nan, 2.0], [3.0, np.nan, 5.0]])
    np.save(tmp_path / "x.npy", X)
    assert read_table(tmp_path / "x.npy").columns == ("x0", "x2")
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(X))
    assert read_table(tmp_path / "s.npz").columns == ("x0", "x2")


# ---------------------------------------------------------------------------- transposed


GENES = "gene\ts1\ts2\ts3\nclass\tA\tB\tA\nG1\t1\t2\t3\nG2\t4\t5\t7\nG3\t0\t1\t0\nG4\t2\t2\t1\n"


def test_transpose(read):
    """Tests that rows become variables, and that rows of text become labels."""
    table = read(GENES, "x.tsv", transpose=True)
    assert table.columns == ("G1", "G2", "G3", "G4")
    assert table.row_names == ("s1", "s2", "s3")
    assert table.label_values == {"class": ("A", "B", "A")}
    np.testing.assert_array_equal(table.values, [[1, 4, 0, 2], [2, 5, 1, 2], [3, 7, 0, 1]])
    with pytest.raises(TableError, match=r"'A' in row 1 .*if rows are variables, use --transpose"):
        read(GENES, "x.tsv")
    with pytest.raises(TableError, match=r"'x' in row 3, column 'G2' \(line 4\), which is not"):
        read(GENES.replace("7", "x"), "x.tsv", transpose=True)
    with pytest.raises(TableError, match=r"missing value in row 3, column 'G2' \(line 4\)"):
        read(GENES.replace("7", ""), "x.tsv", transpose=True)


def test_transpose_without_names(read, tmp_path):
    """Tests tables without a header, with numbers for names, with remarks, and other formats."""
    table = read("1,2,3\n4,5,6\n", transpose=True)
    assert (table.columns, table.row_names) == (("x0", "x1"), None)
    np.testing.assert_array_equal(table.values, [[1, 4], [2, 5], [3, 6]])
    table = read("gene_id,about,s1,s2\n101,kinase,1,2\n205,unknown,4,5\n", transpose=True)
    assert (table.columns, table.labels) == (("101", "205"), ("about",))
    np.testing.assert_array_equal(table.values, [[1, 4], [2, 5]])
    table = read("g,s1,s2,s3\nx,1,2,9\nx,4,5,9\n", transpose=True, label=["s3"])
    assert table.columns == ("x", "x.1") and table.values.shape == (2, 2)
    X = np.arange(6.0).reshape(2, 3)
    np.savez(tmp_path / "x.npz", X=X, columns=["a", "b", "c"], row_names=["p", "q"])
    table = read_table(tmp_path / "x.npz", transpose=True)
    assert (table.columns, table.row_names) == (("p", "q"), ("a", "b", "c"))
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(X))
    table = read_table(tmp_path / "s.npz", transpose=True)
    np.testing.assert_array_equal(table.values.toarray(), X.T)
    pd.DataFrame(X, columns=list("abc"), index=["p", "q"]).to_parquet(tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet", transpose=True).columns == ("p", "q")


@pytest.mark.parametrize(
    ("text", "hinted"),
    [
        ("Gene Symbol,a,b\nTP53,1,2\nMYC,3,4\nEGFR,5,7\n", True),
        (",a,b\nENSG00000141510.5,1,2\nENSG00000136997,3,4\nENSG00000146648,5,7\n", True),
        ("name,sample1,sample2\nTP53,1,2\nMYC,3,4\nEGFR,5,7\n", True),
        ("name,a,b\nsample1,1,2\nsample2,3,4\nsample3,5,7\n", False),
        ("patient,height,weight\nAnn,1,2\nBob,3,4\nCy,5,7\n", False),
        ("a,b\n1,2\n3,4\n5,7\n", False),
        ("species,length,width\nsetosa,1,2\nsetosa,3,4\nvirginica,5,7\n", False),
    ],
)
def test_hint_to_transpose(read, text, hinted):
    """Tests that a table that looks like genes by samples is read, with a hint."""
    notices = read(text).notices
    assert [("--transpose" in notice) for notice in notices] == [True] * hinted


def test_texts_that_stand_for_missing_values(tmp_path):
    """Tests that the error about such cells says how to read them, and that this works."""
    file = tmp_path / "levels.csv"
    file.write_text("a,b\n1,2\nn.d.,3\n<LOD,5\n4,7\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"missing values, use --na 'n\.d\.,<LOD'"):
        read_table(file)
    table = read_table(file, na=("n.d.", "<LOD"), missing="drop-rows")
    assert table.values.tolist() == [[1.0, 2.0], [4.0, 7.0]]
    common = ["fit", str(file), "-p", "1", "-k", "1", "--correlation", "--json"]
    ended = CliRunner().invoke(app, [*common, "--na", "n.d., <LOD", "--missing", "mean"])
    assert ended.exit_code == 0 and "replaced 2 missing values" in ended.output
    file.write_text("a,b\n1,2\na,3\nb,5\nc,1\nd,2\ne,3\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"not a number \(4 more such cells in this column\)$"):
        read_table(file)


def test_thousands_are_told(tmp_path):
    """Tests a note where thousands separators were removed, and none elsewhere."""
    file = tmp_path / "amounts.csv"
    file.write_text('a,b\n"1,200.5",2\n"3,400.0",3\n"2,100.0",5\n', encoding="utf-8")
    table = read_table(file)
    assert table.values[:, 0].tolist() == [1200.5, 3400.0, 2100.0]
    assert "thousands separators were removed, as in '1,200.5'" in table.notices
    file.write_text("a;b\n1,5;2\n3,25;3\n", encoding="utf-8")
    assert not any("thousands" in notice for notice in read_table(file).notices)
