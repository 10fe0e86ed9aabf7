"""Tests of series matrices of GEO and of GCT files: genes are variables, samples have labels."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from typer.testing import CliRunner

from orthospca import datasets
from orthospca.interface.cli import app
from orthospca.interface.scores import labels_of
from orthospca.interface.tables import TableError, read_table

#: As GEO writes it: an irregular characteristic, quotes, a missing value, and an end.
SERIES = """!Series_title	"A title with a	tab"
!Series_geo_accession	"GSE1"

!Sample_title	"liver 1"	"liver 2"	"kidney 1"	"kidney 2"
!Sample_geo_accession	"GSM1"	"GSM2"	"GSM3"	"GSM4"
!Sample_source_name_ch1	"biopsy"	"biopsy"	"biopsy"	"biopsy"
!Sample_characteristics_ch1	"tissue: liver"	"tissue: liver"	"tissue: kidney"	"tissue: kidney"
!Sample_characteristics_ch1	"age: 51"	"sex: f"	"age: 60"	"age: 48"
!series_matrix_table_begin
"ID_REF"	"GSM1"	"GSM2"	"GSM3"	"GSM4"
"1007_s_at"	7.5	8.25	6	7
"1053_at"	1.5e0	2	null	4
"117_at"	-1	0	1	3
!series_matrix_table_end
"""
GCT = "#1.2\n2\t3\nName\tDescription\tS1\tS2\tS3\nA\tfirst\t1\t2\t4\nB\t\t3\t5\t9\n"
GCT3 = (
    "#1.3\n2\t3\t1\t2\nid\tsymbol\tS1\tS2\tS3\ndose\tna\t0\t1\t1\nplate\tna\tp\tp\tp\n"
    "A\tx\t1\t2\t4\nB\ty\t3\t5\t9\n"
)
VALUES = np.array([[1.0, 3.0], [2.0, 5.0], [4.0, 9.0]])


def file(tmp_path, text: str, name: str = "x.txt"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["GSE1_series_matrix.txt", "GSE1_series_matrix.txt.gz"])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_series_matrix(name, transpose, tmp_path):
    """Tests that probes are variables whether --transpose is given or not, and what is known."""
    path = file(tmp_path, SERIES, name)
    with pytest.raises(TableError, match="missing value in row 3, column '1053_at'"):
        read_table(path, transpose=transpose)
    table = read_table(path, transpose=transpose, missing="drop-rows")
    assert table.columns == ("1007_s_at", "1053_at", "117_at")
    np.testing.assert_array_equal(table.values, [[7.5, 1.5, -1], [8.25, 2, 0], [7, 4, 3]])
    assert table.row_names == ("GSM1", "GSM2", "GSM4")
    assert table.label_values["tissue"] == ("liver", "liver", "kidney")
    assert table.label_values["age"] == ("51", "", "48")
    assert set(table.labels) == {"tissue", "age", "sex", "title"}
    assert table.notices[0] == (
        "a GEO series matrix: its 3 rows are variables, its columns observations"
    )


@pytest.mark.parametrize("text, labels", [(GCT, ()), (GCT3, ("dose",))], ids=["1.2", "1.3"])
def test_gct(text, labels, tmp_path):
    """Tests both versions: one column of descriptions, or lines and columns of them."""
    table = read_table(file(tmp_path, text, "x.gct"))
    np.testing.assert_array_equal(table.values, VALUES)
    assert (table.columns, table.row_names) == (("A", "B"), ("S1", "S2", "S3"))
    assert table.labels == labels
    assert "a GCT file: its 2 rows are variables" in table.notices[0]


@pytest.mark.parametrize(
    "text, said",
    [
        (SERIES.partition("!series_matrix_table_begin")[0], "holds no table: its values may be"),
        (SERIES.partition('"ID_REF"')[0], "ends before its table"),
        (SERIES.partition('"1007')[0], "is empty"),
        (SERIES.replace("8.25", "high"), "'high' in line 11, column 'GSM2', which is not a number"),
        (SERIES.replace("\t3\n!", "\n!"), "ragged: line 13 has 4 cells, line 10 has 5"),
        (GCT.replace("2\t3\n", "two\n"), "no numbers of rows and columns in line 2"),
        (GCT.replace("2\t4", "2\tinf"), "which is not finite"),
    ],
)
def test_what_is_wrong_is_named(text, said, tmp_path):
    """Tests that damaged files are refused with the place, and none ends in a traceback."""
    with pytest.raises(TableError, match=said):
        read_table(file(tmp_path, text))


def test_a_file_that_was_cut_off(tmp_path):
    """Tests a download that broke off."""
    path = file(tmp_path, SERIES, "x.txt.gz")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(TableError, match="damaged or not a gzip file"):
        read_table(path)


@pytest.mark.parametrize(
    "name", ["x_series_matrix.txt.gz", "x_series_matrix.txt", "x.gct", "x.csv", "x.tsv.gz"]
)
def test_made_up_expression_in_files(name, tmp_path):
    """Tests that what is written is what was made, genes in rows, and comes back."""
    made = datasets.make_expression(30, 12)
    made.save(tmp_path / name)
    table = read_table(tmp_path / name, transpose=name.startswith(("x.csv", "x.tsv")))
    np.testing.assert_array_equal(table.values, made.data)
    assert (table.columns, table.row_names) == (made.feature_names, made.sample_names)
    if "series" in name:
        colours = labels_of(table)
        assert (colours["by"], colours["groups"]) == ("tissue", made.target)


def test_programmes_are_found_from_a_series_matrix(tmp_path, monkeypatch):
    """Tests the command on a series matrix as it is downloaded, and the groups that it finds."""
    monkeypatch.chdir(tmp_path)
    made = datasets.make_expression()
    made.save("x_series_matrix.txt.gz")
    ended = CliRunner().invoke(app, ["fit", "x_series_matrix.txt.gz", "-k3", "-p8", "-oout", "-q"])
    assert ended.exit_code == 0, ended.output
    table = np.loadtxt("out/loadings.csv", delimiter=",", skiprows=1, usecols=(1, 2, 3))
    found = {tuple(np.array(made.feature_names)[column != 0]) for column in table.T}
    assert found == set(made.programmes.values())
    assert (tmp_path / "out" / "scores.csv").read_text().startswith("row,tissue,component1")


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (SERIES.split("!series_matrix_table_end")[0], "x.txt", "no line !series_matrix_table_end"),
        (SERIES.split('"117_at"')[0], "x.txt", "and here are 2 × 4: is it complete?"),
        (GCT.replace("2\t3\n", "5\t3\n"), "x.gct", "it announces 5 × 3, and here are 2 × 3"),
        (GCT.replace("2\t3\n", "2\t4\n"), "x.gct", "it announces 2 × 4, and here are 2 × 3"),
        (SERIES, "x.txt", ""),
        (GCT, "x.gct", ""),
        (GCT3, "x.gct", ""),
    ],
)
def test_a_table_that_was_cut_off(text, name, told, tmp_path):
    """Tests that a file with fewer rows than it should have is read with a note."""
    notices = read_table(file(tmp_path, text, name), missing="mean").notices
    asked = [notice for notice in notices if "is it complete?" in notice]
    assert len(asked) == bool(told) and all(told in notice for notice in asked)
