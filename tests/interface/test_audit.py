"""Audits for people: the command with files of other tools, the picture, the report."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orthospca import Audit, audit, datasets, solve
from orthospca.interface.cli import app

NASTY = "</script><script>alert(1)</script><b>x</b>"


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write to the folder they are called in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table(tmp_path) -> Path:
    """Measurements with names."""
    wine = datasets.load_wine()
    with open(tmp_path / "wine.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(wine.feature_names)
        writer.writerows(wine.data.tolist())
    return tmp_path / "wine.csv"


def thresholded() -> np.ndarray:
    """Ordinary components with their small loadings cut off, in columns."""
    vectors = np.linalg.eigh(datasets.load_wine().correlation())[1][:, ::-1][:, :2].copy()
    vectors[np.abs(vectors) < 0.3] = 0.0
    return vectors


@pytest.fixture(scope="module")
def judged() -> Audit:
    names = (NASTY, *datasets.load_wine().feature_names[1:])
    return audit(datasets.load_wine().correlation(), thresholded(), feature_names=names)


def test_files_of_r_and_of_fit(table):
    """Tests that both ways to write loadings are read, and that the numbers are those of audit."""
    names, values = datasets.load_wine().feature_names, thresholded()
    lines = ['"","PC1","PC2"']
    lines += [f'"{name}",{a!r},{b!r}' for name, (a, b) in zip(names, values.tolist(), strict=True)]
    Path("rotation.csv").write_text("\n".join(lines) + "\n")
    ended = run("audit", table, "rotation.csv", "--correlation", "-o", "out")
    assert ended.exit_code == 0, ended.output
    written = json.loads(Path("out/audit.json").read_text())
    expected = audit(datasets.load_wine().correlation(), values)
    assert written["sparsity"] == list(expected.sparsity)
    assert written["variances"] == pytest.approx(expected.variances.tolist())
    assert {file.name for file in Path("out").iterdir()} == {
        "audit.json", "audit.csv", "audit.png", "audit.html"
    }  # fmt: skip
    with open("out/audit.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["variance"]) for row in rows] == pytest.approx(written["variances"])
    assert run("fit", table, "-p", 4, "-k", 2, "--correlation", "-o", "fitted").exit_code == 0
    own = run("audit", table, "fitted/loadings.csv", "--correlation", "--json")
    told = json.loads(own.stdout)
    assert max(told["gaps"]) <= 2e-4 and told["better"] == [None, None]


def test_wrong_files(table):
    """Tests that names that are not those of the data are refused in a sentence."""
    Path("other.csv").write_text("name,PC1\nalcohol,1\nsugar,2\n")
    ended = run("audit", table, "other.csv", "--json")
    assert ended.exit_code == 2
    assert "loadings name 'sugar', but the data have no such feature" in ended.output


def test_report_and_picture(judged, tmp_path):
    """Tests that the report tells what the table does, and escapes names."""
    judged.report(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert NASTY not in text
    assert "How good are these components?" in text and "better in its place" in text
    assert f"{judged.joint_variance:#.6g}" in text
    pytest.importorskip("matplotlib")
    assert judged.plot().axes.get_title() == "Given components and what is possible"
    assert "better in its place" in judged._repr_html_()


def test_report_of_what_is_best(tmp_path):
    """Tests that certified components are said to be near the best, with nothing better."""
    Q = datasets.load_pitprops().covariance()
    audit(Q, solve(Q, 4, 2)).report(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Near the best." in text and "better in its place" not in text
    # Nothing is said to be worse than another unless that one was found.
    planted = datasets.make_planted_samples(60, 40, sparsity=5, n_groups=3, random_state=1)
    Q = np.cov(planted.data.T)
    audit(Q, solve(Q, 25, 2, gap=0.05), time_limit=0.0).report(tmp_path / "late.html")
    text = (tmp_path / "late.html").read_text(encoding="utf-8")
    assert "Gap open." in text and "Not the best." not in text
    # Loadings that share variance are named for that.
    slanted = [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    audit(np.diag([3.0, 3.0, 1.0]), slanted).report(tmp_path / "slanted.html")
    assert "Not orthogonal." in (tmp_path / "slanted.html").read_text(encoding="utf-8")
