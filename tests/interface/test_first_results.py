"""Tests that a first result is never nonsense without a word: messy files, and what is said."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from orthospca import DataCovariance, OrthogonalSparsePCA, cross_validate_sparsity, solve
from orthospca.interface.cli import app
from orthospca.interface.cli.options import Reading
from orthospca.interface.cli.source import Source
from orthospca.interface.tables import TableError

ROWS = 8
NUMBERS = np.random.default_rng(0).standard_normal((ROWS, 3)).round(3)


def csv(separator: str = ",", **columns: object) -> str:
    """A table of three variables a, b and c, with other columns before and after them."""
    frame = pd.DataFrame({name: columns[name] for name in columns if not name.endswith("_")})
    frame[["a", "b", "c"]] = NUMBERS
    for name in columns:
        if name.endswith("_"):
            frame[name[:-1]] = columns[name]
    return frame.to_csv(index=False, sep=separator)


UP, PLATES = np.arange(1, ROWS + 1), [4, 17, 2, 90, 31, 8, 55, 12]
DAYS = pd.date_range("2024-01-01", periods=ROWS)
#: Files, what a note has to say, and the variables that are left.
FILES = {
    "numbers of rows under any heading": (csv(plate=UP), "1 row-number column: 'plate'", "abc"),
    "numbers from zero": (csv(well=UP - 1), "row-number column: 'well'", "abc"),
    "numbers backwards": (csv(rank=UP[::-1]), "row-number column: 'rank'", "abc"),
    "years in turn": (csv(year=UP + 1990), "row-number column: 'year'", "abc"),
    "no heading at all": (csv(plate=UP).partition("\n")[2], "row-number column: 'x0'", 3),
    "written as decimals": (csv(plate=UP + 0.0), "row-number column: 'plate'", "abc"),
    "row numbers of spreadsheets": (csv(**{"Unnamed: 0": UP}), "labels left out: Unnamed: 0", 3),
    "numbers of samples": (csv(sample=PLATES), "labels left out: sample", "abc"),
    "numbers of patients": (csv(PatientID=PLATES), "labels left out: PatientID", "abc"),
    "after a text": (csv(who=list("stuvwxyz"), subject_id=PLATES), "column: 'subject_id'", "abc"),
    "at the end": (csv(patient_no_=PLATES), "1 row-number column: 'patient_no'", "abc"),
    "two of them": (csv(plate=UP, sample_id_=PLATES), "columns: 'plate', 'sample_id'", "abc"),
    "patients several times": (csv(patient_id=UP // 2), "labels left out: patient_id", "abc"),
    "days": (csv(day=DAYS), "labels left out: day", "abc"),
    "classes": (csv(kind=["x", "y"] * 4), "labels left out: kind", "abc"),
    "one variable in other units": (csv(pay_=1e4 * NUMBERS[:, 0]), "'pay' holds 100 %", "abcpay"),
    "postal codes": (csv(zip_=12345 + 997 * np.square(UP)), "'zip' holds 100 %", "abczip"),
    "days as numbers": (csv(seen_=20240100 + 100 * UP), "'seen' holds", "abcseen"),
    "spreads far apart": (
        csv(x_=200 * NUMBERS[::-1, 1], y_=150 * NUMBERS[::-1, 2]), "standard deviations differ", 5
    ),
    "empty columns": (csv(none=[""] * ROWS), "left out 1 empty column: 'none'", "abc"),
    "constants": (csv(batch=[3] * ROWS), "left out 1 constant column: 'batch'", "abc"),
    "semicolons and commas": (
        csv(";", plate=UP).replace(".", ","), "decimal commas were read as points", "abc"
    ),
    "currencies": (csv(price=["$5"] * ROWS), "read as text because of a sign", "abc"),
    "genes in rows": (
        "gene,s1,s2,s3\n" + "".join(f"G{i},{i * i % 7},{i % 3},{i % 5}\n" for i in range(8)),
        "rows look like variables", 3,
    ),
    "names twice": (csv(plate=UP).replace("b,c", "b,b"), "added suffixes to repeated names", 3),
}  # fmt: skip
REFUSED = {
    "numbers of rows, and one variable": ("id,x\n" + "".join(f"{i},{i % 3}\n" for i in UP), "one"),
    "nothing but numbers of rows": ("i,sample\n" + "".join(f"{i},{9 * i}\n" for i in UP), "none"),
    "text among numbers": (csv(age=[1, 2, "two", 3, 4, 5, 6, 7]), "'two' in row 3"),
    "missing values": (csv(age=[1, 2, "", 3, 9, 5, 6, 7]), "a missing value in row 3"),
    "a matrix, perhaps": ("a,b\n1,0.5\n0.5,1\n", "use --precomputed if it is the correlation"),
}  # fmt: skip


def source(tmp_path, content: str | bytes, name: str = "x.csv", **how: object) -> Source:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Source(path, Reading(**how))


@pytest.mark.parametrize("content, said, left", FILES.values(), ids=FILES)
def test_a_messy_file_is_read_with_a_word(content, said, left, tmp_path):
    """Tests that what is no variable is left out, or at least told, before anything is solved."""
    file = source(tmp_path, content)
    table, Q = file.read()
    assert said in file.describe_fully(table)
    assert Q.shape[0] == len(table.columns)
    if isinstance(left, int):
        assert len(table.columns) == left
    else:
        assert "".join(table.columns) == left


@pytest.mark.parametrize("content, said", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_with_a_word(content, said, tmp_path):
    """Tests files of which nothing sensible could be certified."""
    with pytest.raises(TableError, match=said):
        source(tmp_path, content).read()


@pytest.mark.parametrize("ending", ["parquet", "xlsx", "npy"])
def test_numbers_of_rows_in_other_formats(ending, tmp_path):
    """Tests that the rule is one for all formats."""
    frame, stream = pd.read_csv(io.StringIO(csv(plate=UP))), io.BytesIO()
    if ending == "npy":
        np.save(stream, frame.to_numpy())
    else:
        getattr(frame, "to_parquet" if ending == "parquet" else "to_excel")(stream, index=False)
    table, _ = source(tmp_path, stream.getvalue(), f"x.{ending}").read()
    np.testing.assert_array_equal(table.values, NUMBERS)
    assert table.row_names == tuple(map(str, UP))


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "npy"])
@pytest.mark.parametrize("named", [True, False], ids=["by name", "by number"])
def test_a_column_that_counts_can_be_kept(ending, named, tmp_path):
    """Tests that years in turn, or what is called an index, are variables if that is said."""
    frame, stream = pd.read_csv(io.StringIO(csv(index=UP + 1990))), io.BytesIO()
    if ending == "npy":
        np.save(stream, frame.to_numpy())
    elif ending == "csv":
        frame.to_csv(stream, index=False)
    else:
        getattr(frame, "to_parquet" if ending == "parquet" else "to_excel")(stream, index=False)
    keep = ["index" if named and ending != "npy" else "1"]
    table, _ = source(tmp_path, stream.getvalue(), f"x.{ending}", keep=keep).read()
    np.testing.assert_array_equal(table.values, np.column_stack([UP + 1990, NUMBERS]))
    with pytest.raises(TableError, match="no column 'foo'"):
        source(tmp_path, stream.getvalue(), f"x.{ending}", keep=["foo"]).read()


def test_what_only_looks_like_numbers_of_rows_stays(tmp_path):
    """Tests matrices, few rows, variables that rise, and rows that are variables."""
    matrix = np.diag([1.0, 2, 3, 4, 5])
    matrix[0], matrix[:, 0] = UP[:5], UP[:5]
    np.fill_diagonal(matrix, 30.0)
    text = "\n".join(",".join(map(str, row)) for row in matrix.tolist())
    assert source(tmp_path, text, precomputed=True).read()[1].shape == (5, 5)
    few = "\n".join(["dose,a", "1,5", "2,3", "3,4"])
    assert source(tmp_path, few).read()[0].columns == ("dose", "a")
    assert source(tmp_path, csv(dose=2 * UP)).read()[0].columns == ("dose", *"abc")
    assert source(tmp_path, csv(a1_=UP)).read()[0].columns == (*"abc", "a1")
    genes = "gene,s1,s2,s3,s4,s5\nG1,1,2,3,4,5\nG2,3,1,4,1,5\n"
    assert source(tmp_path, genes, transpose=True).read()[0].columns == ("G1", "G2")


@pytest.mark.parametrize("how", [{"correlation": True}, {"correlation": False}])
def test_nothing_is_said_of_variances_where_it_was_said_what_is_meant(how, tmp_path):
    """Tests --correlation and its opposite."""
    table, _ = source(tmp_path, csv(pay_=1e4 * NUMBERS[:, 0]), **how).read()
    assert table.notices == ()


def test_a_matrix_of_uneven_variances(tmp_path):
    """Tests that the advice is one that can be followed."""
    file = source(tmp_path, "a,b\n900,1\n1,2\n", precomputed=True)
    (notice,) = file.read()[0].notices
    assert notice == (
        "'a' holds 99.8 % of the variance: use a correlation matrix unless all variables have the "
        "same unit"
    )


def test_the_command_says_it_before_it_solves(tmp_path):
    """Tests the notes of the command line, and that --covariance is known."""
    path = source(tmp_path, csv(plate=UP, pay_=1e4 * NUMBERS[:, 0])).path
    ended = CliRunner().invoke(app, ["fit", str(path), "-k", "1", "-p", "2", "--json"])
    assert "note: left out 1 row-number column: 'plate'" in ended.stderr
    assert "'pay' holds 100 % of the variance: use --correlation, or" in ended.stderr
    ended = CliRunner().invoke(app, ["fit", str(path), "-k", "1", "--json", "--covariance", "-p1"])
    assert "holds" not in ended.stderr and json.loads(ended.stdout)["status"] == "OPTIMAL"


def test_the_estimator_warns_once():
    """Tests one warning a fit, by name, and none for correlations or even variances."""
    X = pd.DataFrame(NUMBERS, columns=list("abc"))
    X["pay"] = 1e4 * X.a
    with pytest.warns(UserWarning, match="'pay' holds 100 % of the variance: use covari") as caught:
        OrthogonalSparsePCA(2, 2).fit(X)
    assert len(caught) == 1 and caught[0].filename == __file__
    OrthogonalSparsePCA(2, 2, covariance="correlation").fit(X)
    OrthogonalSparsePCA(2, 2).fit(NUMBERS)
    with pytest.warns(UserWarning, match="feature 1 holds 100 %"):
        OrthogonalSparsePCA(1, 1).fit(NUMBERS[:, :2] * [1, 1e6])


@pytest.mark.parametrize("formed", [True, False])
def test_single_features_of_correlations_tie(formed):
    """Tests that one feature of correlations is said to be any of them."""
    data = DataCovariance(NUMBERS, correlation=True)
    Q = data.submatrix(np.arange(3)) if formed else data
    assert "with sparsity 1 all 3 features tie" in solve(Q, 1, 2).note
    assert solve(Q, 2).note == "" and "tie" not in solve(np.diag([1.0, 2.0, 3.0]), 1).note


@pytest.mark.parametrize("column", [list("abcdefgh"), DAYS], ids=["text", "days"])
def test_a_text_column_is_named(column):
    """Tests that a frame with one column too many is refused by the name of that column."""
    X = pd.DataFrame(NUMBERS, columns=list("abc")).assign(who=column)
    asked = (
        lambda: DataCovariance(X),
        lambda: OrthogonalSparsePCA(1, 2).fit(X),
        lambda: cross_validate_sparsity(X, [1, 2]),
        lambda: solve(X, 2),
    )
    for ask in asked:
        with pytest.raises(ValueError, match="text in column 'who'"):
            ask()
