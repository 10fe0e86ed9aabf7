"""Choosing p and K for people: pictures, the report, `path` with other rows, and `stability`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orthospca import (
    Status,
    cross_validate_sparsity,
    datasets,
    significance,
    sparsity_path,
    stability,
    stability_path,
)
from orthospca.choosing.cross_validation import CrossValidation
from orthospca.choosing.selection import Stability, StabilityPath
from orthospca.interface.cli import app
from orthospca.interface.plots.choosing import most_selected, path_loadings
from orthospca.path import SparsityPath
from orthospca.report import write_choice_report

NASTY = "</script><script>alert(1)</script><b>x</b>"


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write to the folder they are called in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def wine() -> np.ndarray:
    return datasets.load_wine().data


@pytest.fixture(scope="module")
def names() -> tuple[str, ...]:
    return (NASTY, *datasets.load_wine().feature_names[1:])


@pytest.fixture(scope="module")
def path(names) -> SparsityPath:
    Q = datasets.load_wine().correlation()
    return sparsity_path(Q, range(1, 6), n_components=2, feature_names=names)


@pytest.fixture(scope="module")
def held_out(wine) -> CrossValidation:
    return cross_validate_sparsity(wine, range(1, 6), 2, cv=3, correlation=True)


@pytest.fixture(scope="module")
def steady(wine, names) -> StabilityPath:
    return stability_path(wine, [2, 4], 2, n_resamples=4, correlation=True, feature_names=names)


@pytest.fixture
def table(tmp_path) -> Path:
    """A table as a person keeps it."""
    data = datasets.load_wine()
    with open(tmp_path / "wine.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(data.feature_names)
        writer.writerows(data.data.tolist())
    return tmp_path / "wine.csv"


def read(file: Path) -> list[dict[str, str]]:
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


# ---------------------------------------------------------------------------- pictures


def test_pictures_draw(path, held_out, steady):
    """Tests that each picture draws what it is given, and says what it is."""
    pytest.importorskip("matplotlib")
    titles = {
        "Component 2 by sparsity": path.plot("path_loadings", 1),
        "Variance of 2 components together by sparsity": path.plot(),
        "Variance of 2 components together, 3-fold": held_out.plot(),
        "How often variables are selected": steady[0].plot(),
        "Stability of the selection by sparsity": steady.plot(),
    }
    for title, picture in titles.items():
        assert picture.axes.get_title() == title
        assert picture._repr_png_()[0].startswith(b"\x89PNG")
    labels = [text.get_text() for text in titles["Component 2 by sparsity"].axes.get_xticklabels()]
    assert labels == ["1", "2", "3", "4", "5"]


def test_pictures_of_nothing(wine):
    """Tests that pictures of what was stopped at once say so."""
    pytest.importorskip("matplotlib")
    from dataclasses import replace

    found = cross_validate_sparsity(wine, [2], cv=2)
    nothing = replace(found, held_out=np.zeros((0, 1, 1)), fitted=np.zeros((0, 1, 1)))
    assert "no fold was done" in nothing.plot().axes.get_title()


def test_features_come_in_the_order_in_which_they_enter():
    """Tests the order of rows, and that what is left out is what is used least."""
    X = np.array([[0, 0, 1.0, 0], [0.5, 0, 0.5, 0], [0.5, 0.2, 0, 0]])
    shown = path_loadings(X, [1, 2, 3], None, 0, 9)
    assert list(shown.rows) == ["2", "0", "1"] and not shown.left_out
    shown = path_loadings(X, [1, 2, 3], None, 0, 2)
    assert list(shown.rows) == ["2", "0"] and shown.left_out == "1 variable not shown"


def test_features_are_grouped_by_component(wine):
    """Tests that features of the reference come first, grouped by component, then the others."""
    found = stability(wine, 3, 2, n_resamples=4, correlation=True)
    rows, left_out = most_selected(found, 6)
    own = [set(support.tolist()) for support in found.result.supports]
    assert set(rows.tolist()) == own[0] | own[1]
    assert set(rows[:3].tolist()) == own[0]
    ever = int(((found.overall > 0) | found.result.components.any(axis=0)).sum())
    assert left_out == ever - 6


# ---------------------------------------------------------------------------- the report


def test_report_has_everything(path, held_out, steady, tmp_path):
    """Tests that the report has its panels, no request and no markup from names."""
    file = tmp_path / "path.html"
    write_choice_report(
        file,
        path,
        cross_validation=held_out,
        stability=steady,
        title="How many?",
        source="wine <i>",
        command="orthospca path wine.csv",
        files=[("wine.csv", "0123")],
    )
    text = file.read_text(encoding="utf-8")
    for words in (
        "How many?",
        "What more variables add",
        "Which variables enter and leave",
        "In held-out rows",
        "Stability",
        "says nothing about sampling noise",
        "orthospca path wine.csv",
        f"{held_out.suggested} variables are the fewest within one standard error",
    ):
        assert words in text, words
    assert "<script>alert" not in text
    assert "<b>x</b>" not in text
    assert "wine <i>" not in text
    assert "http://" not in text.replace("http://www.w3.org/", "")
    assert "https://" not in text


def test_report_of_parts(path, steady, tmp_path):
    """Tests that what is not given is left out, and that its absence is said."""
    path.report(tmp_path / "path.html")
    text = (tmp_path / "path.html").read_text(encoding="utf-8")
    assert "This report has neither held-out rows nor stability" in text
    assert "In held-out rows" not in text
    steady[1].report(tmp_path / "stability.html", title="Steady?")
    text = (tmp_path / "stability.html").read_text(encoding="utf-8")
    assert "Steady?" in text
    assert "What more variables add" not in text
    assert "How often variables are selected" in text


def test_report_of_an_open_path(tmp_path):
    """Tests that open gaps are not called certified."""
    Q = np.corrcoef(np.random.default_rng(1).standard_normal((20, 14)).T)
    found = sparsity_path(Q, [5, 6], gap=0.0, method="eigenvalue", node_limit=1)
    assert found.status is Status.NODE_LIMIT
    found.report(tmp_path / "open.html")
    text = (tmp_path / "open.html").read_text(encoding="utf-8")
    assert "Gap open." in text
    assert "Certified." not in text
    assert "left to prove" in text


def test_report_is_small_for_many_features(tmp_path):
    """Tests that many features and components do not make a page that cannot be opened."""
    rng = np.random.default_rng(0)
    n, K, B = 5000, 4, 10
    base = stability(rng.standard_normal((12, 8)), 2, n_resamples=2)
    vectors = np.zeros((K, n))
    for k in range(K):
        vectors[k, 100 * k : 100 * k + 100] = 0.1
    from dataclasses import replace

    stage = base.result.stages[0]
    stages = tuple(replace(stage, vector=vector) for vector in vectors)
    result = replace(
        base.result, stages=stages, n_features=n, sparsity=(100,) * K, feature_names=None
    )
    found = Stability(
        result=result,
        frequencies=rng.random((K, n)),
        overall=rng.random(n),
        similarities=rng.random((B, K)),
        overlaps=rng.random((B, K)),
        n_resamples=B,
        n_rows=6,
        n_samples=12,
        bootstrap=False,
        certified=B,
        status=Status.OPTIMAL,
    )
    found.report(tmp_path / "large.html")
    assert (tmp_path / "large.html").stat().st_size < 1_000_000
    assert len(found._repr_html_()) < 100_000


# ---------------------------------------------------------------------------- the commands


def test_path_command_writes_its_report(table):
    """Tests that `path` has a report of its own, without other rows unless they are asked."""
    ended = run("path", table, "-p", "1:4", "--correlation", "-o", "out")
    assert ended.exit_code == 0, ended.output
    text = Path("out/path.html").read_text(encoding="utf-8")
    assert "What more variables add" in text
    assert "In held-out rows" not in text
    assert not Path("out/path-held-out.csv").exists()


def test_path_command_asks_other_rows(table):
    """Tests folds and resamples: on the terminal, in files and in the report."""
    ended = run(
        "path", table, "-p", "1:3", "-k", 2, "--correlation", "--cv", 3, "--stability", 4,
        "-o", "out",
    )  # fmt: skip
    assert ended.exit_code == 0, ended.output
    assert "suggested" in ended.output
    assert "stability: 1 if every resample selects the same features" in ended.output
    held = read(Path("out/path-held-out.csv"))
    assert [line["sparsity"] for line in held] == ["1", "2", "3"]
    expected = cross_validate_sparsity(
        datasets.load_wine().data, [1, 2, 3], 2, cv=3, correlation=True
    )
    np.testing.assert_allclose([float(line["held_out"]) for line in held], expected.mean)
    lines = read(Path("out/path-stability.csv"))
    assert {line["sparsity"] for line in lines} == {"1", "2", "3"}
    assert all(0 <= float(line["any"]) <= 1 for line in lines)
    text = Path("out/path.html").read_text(encoding="utf-8")
    assert "In held-out rows" in text
    assert "Stability by sparsity" in text


def test_path_command_as_json(table):
    """Tests that names, folds and frequencies are in the JSON."""
    ended = run("path", table, "-p", "2", "--correlation", "--cv", 2, "--stability", 2, "--json")
    assert ended.exit_code == 0, ended.output
    content = json.loads(ended.stdout)
    assert content["results"][0]["feature_names"][0] == "alcohol"
    assert content["cross_validation"]["suggested"] == 2
    assert len(content["stability"]["stabilities"][0]["frequencies"][0]) == 13


def test_stability_command(table):
    """Tests a whole run: text, stability.csv, stability.json, stability.html, exit code."""
    ended = run("stability", table, "-p", 3, "-k", 2, "-n", 5, "--correlation", "-o", "out")
    assert ended.exit_code == 0, ended.output
    data = datasets.load_wine()
    expected = stability(
        data.data, 3, 2, n_resamples=5, correlation=True, feature_names=data.feature_names
    )
    assert "5 resamples of 89 of 178 rows" in ended.output
    content = json.loads(Path("out/stability.json").read_text(encoding="utf-8"))
    assert content["frequencies"] == expected.frequencies.tolist()
    lines = {line["variable"]: line for line in read(Path("out/stability.csv"))}
    for j, name in enumerate(data.feature_names):
        if expected.overall[j]:
            assert float(lines[name]["component1"]) == expected.frequencies[0, j]
    assert "How often variables are selected" in Path("out/stability.html").read_text("utf-8")


def test_stability_command_as_json(table):
    """Tests that only the JSON is printed, and nothing written."""
    ended = run("stability", table, "-n", 2, "-k", 1, "--bootstrap", "--seed", 3, "--json")
    assert ended.exit_code == 0, ended.output
    content = json.loads(ended.stdout)
    assert content["bootstrap"] is True
    assert content["n_rows"] == 178
    assert not Path("orthospca-out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("stability", "-n", 1), "resamples must be at least 2, got 1"),
        (("stability", "--fraction", 2), "fraction must be more than 0 and at most 1, got 2.0"),
        (("stability", "-p", 99), "sparsity must be at most 13"),
        (("path", "--cv", 1), "cv must be 0 or at least 2 folds, got 1"),
        (("path", "--cv", 999), "cv must be at most 178"),
        (("path", "--stability", -2), "stability must be 0 or at least 2 resamples, got -2"),
    ],
)
def test_bad_input(table, arguments, message):
    """Tests that what cannot be done is one sentence and exit code 2."""
    command, *options = arguments
    ended = run(command, table, *options)
    assert ended.exit_code == 2
    assert message in " ".join(ended.output.split())
    assert "Traceback" not in ended.output


def test_a_matrix_has_no_rows(tmp_path):
    """Tests that a matrix without its rows cannot be resampled, and that this is said."""
    file = tmp_path / "matrix.csv"
    np.savetxt(file, datasets.load_pitprops().covariance(), delimiter=",")
    ended = run("path", file, "--precomputed", "--cv", 5)
    assert ended.exit_code == 2
    assert "need observations" in " ".join(ended.output.split())


def test_no_resamples(table):
    """Tests that a stability without resamples is refused."""
    ended = run("stability", table, "-n", 0)
    assert ended.exit_code == 2


# ---------------------------------------------------------------------------- noise


def test_significance_command_report_and_picture(table, wine, names, tmp_path):
    """Tests that the command writes the numbers of the function, and the report escapes names."""
    ended = run("significance", table, "-p", 3, "-k", 2, "--correlation", "--seed", 3, "-o", "out")
    assert ended.exit_code == 0, ended.output
    content = json.loads(Path("out/significance.json").read_text())
    found = significance(
        wine, 3, 2, correlation=True, random_state=3, feature_names=names, n_jobs=1
    )
    np.testing.assert_allclose(content["null"], found.null)
    assert content["n_components"] == found.n_components == 2
    rows = read(Path("out/significance.csv"))
    assert [float(row["p_value"]) for row in rows] == pytest.approx(found.p_values.tolist())
    assert Path("out/significance.html").is_file() and "more than noise" in ended.output
    found.report(tmp_path / "noise.html")
    text = (tmp_path / "noise.html").read_text(encoding="utf-8")
    assert NASTY not in text and "How many components are more than noise?" in text
    pytest.importorskip("matplotlib")
    assert found.plot().axes.get_title() == "Components beside noise"


def test_sparsity_chosen_by_held_out_rows(table, wine):
    """Tests that `-p auto` takes the fewest variables within one standard error of the best."""
    ended = run("fit", table, "-p", "auto", "-k", 2, "--correlation", "--json")
    assert ended.exit_code == 0, ended.output
    held = cross_validate_sparsity(wine, range(1, 14), 2, correlation=True, gap=1e-3)
    assert json.loads(ended.stdout)["sparsity"] == [held.suggested] * 2
    assert held.elbow <= held.suggested <= held.best
    assert held.mean[held.sparsities.index(held.elbow)] >= 0.9 * held.mean.max()
    np.savetxt("matrix.csv", np.eye(4), delimiter=",")
    refused = run("fit", "matrix.csv", "-p", "auto", "--precomputed", "--json")
    assert refused.exit_code == 2 and "-p auto needs observations" in refused.output
