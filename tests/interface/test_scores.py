"""Tests of scores: what they are, what is written of them, how they are coloured and drawn."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

from orthospca import DataCovariance, Result, datasets, plotting, solve
from orthospca._errors import InputError
from orthospca.interface.cli import app
from orthospca.interface.folders import Folder
from orthospca.interface.grouping import grouped
from orthospca.interface.scores import Scores, labels_of, scores_of
from orthospca.interface.tables import read_table


@pytest.fixture(scope="module")
def wine() -> tuple[datasets.Dataset, Result]:
    dataset = datasets.load_wine()
    result = solve(dataset.correlation(), 4, 3)
    return dataset, replace(result, feature_names=dataset.feature_names)


@pytest.fixture
def flowers(tmp_path):
    """Twelve rows with a name, a species, a year and three measurements."""
    rng = np.random.default_rng(0)
    path = tmp_path / "flowers.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["plant", "species", "a", "b", "c"])
        for i in range(12):
            numbers = rng.standard_normal(3).round(3) + np.array([i % 3, 0.0, 0.0])
            writer.writerow([f"plant {i}", "xyz"[i % 3], *numbers])
    return path


def read(path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_scores_have_the_variance_of_the_component(wine):
    """Tests that the sample variance of scores is the certified variance, and their mean zero."""
    dataset, result = wine
    scores = scores_of(dataset.data, result, correlation=True)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), result.variances)
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-12)
    Q = np.cov(dataset.data.T)
    plain = solve(Q, 3, 2)
    scores = scores_of(dataset.data, plain)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), plain.variances)
    for data in (sparse.csr_array(dataset.data), DataCovariance(dataset.data)):
        np.testing.assert_allclose(scores_of(data, plain), scores, rtol=1e-9, atol=1e-9)


def test_missing_values(wine):
    """Tests that a row has no score on a component that uses a value it misses, and others."""
    dataset, result = wine
    data = dataset.data.copy()
    j = next(j for j in result.supports[0] if not result.components[1:, j].any())
    data[5, j] = np.nan
    found = np.isnan(scores_of(data, result, correlation=True))
    assert found[5, 0] and found.sum() == 1


def test_what_is_written(tmp_path):
    """Tests the file: names, labels, numbers to the last digit, nothing where a score misses."""
    values = np.array([[1 / 3, np.nan], [2.0, -1.5]])
    place = Folder(tmp_path)
    scores = Scores(values, ("first", 'sec"ond'), "kind", ("a", "b,c"))
    place.write("scores.csv", scores.lines())
    assert read(tmp_path / "scores.csv") == [
        {"row": "first", "kind": "a", "component1": repr(1 / 3), "component2": ""},
        {"row": 'sec"ond', "kind": "b,c", "component1": "2.0", "component2": "-1.5"},
    ]
    place.write("scores.csv", Scores(values).lines())
    assert [row["row"] for row in read(tmp_path / "scores.csv")] == ["1", "2"]
    with pytest.raises(InputError, match="groups must have an entry for each of the 2 rows, got 1"):
        Scores(values, None, "kind", ("a",))


def test_fit_writes_scores(flowers, tmp_path):
    """Tests that fit writes scores with the names of rows and their species, and shows them."""
    out = tmp_path / "out"
    ended = CliRunner().invoke(app, ["fit", str(flowers), "-k", "2", "-p", "2", "-o", str(out)])
    assert ended.exit_code == 0, ended.output
    rows = read(out / "scores.csv")
    assert [row["row"] for row in rows] == [f"plant {i}" for i in range(12)]
    assert [row["species"] for row in rows] == [*"xyz"] * 4
    result = Result.load(out / "result.json")
    scores = np.array([[float(row[f"component{k}"]) for k in (1, 2)] for row in rows])
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), result.variances)
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "Colours are those of “species”" in report and "plant 11" in report


def test_color(flowers, tmp_path):
    """Tests --color with a column of labels, with a variable, with a name that is not there."""
    for column in ("plant", "b"):
        arguments = ["fit", str(flowers), "-p", "2", "-o", str(tmp_path / "out"), "--color", column]
        ended = CliRunner().invoke(app, arguments)
        assert ended.exit_code == 0, ended.output
        report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
        assert f"Colours are those of “{column}”" in report
        assert column in read(tmp_path / "out" / "scores.csv")[0]
    ended = CliRunner().invoke(app, ["fit", str(flowers), "--color", "colour"])
    assert ended.exit_code == 2 and "--color must be the name of a column" in ended.output
    np.savetxt(tmp_path / "Q.csv", np.eye(3), delimiter=",")
    arguments = ["fit", str(tmp_path / "Q.csv"), "--precomputed", "--color", "a"]
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 2 and "--color needs observations" in ended.output


def test_labels_of_a_table(flowers):
    """Tests that rows have the names of a column without repetitions, and colours of few labels."""
    labels = labels_of(read_table(flowers))
    assert labels["rows"][0] == "plant 0"
    assert labels["by"] == "species" and labels["groups"] is not None
    assert labels_of(read_table(flowers), "plant")["by"] == "plant"


def test_groups():
    """Tests that frequent labels have colours, rare ones are grey, many numbers are ranges."""
    labels = tuple("ab" * 5 + "cdefghijk")
    groups = grouped(labels, list(range(len(labels))))
    assert [group.tone for group in groups] == [-1, *range(7)]
    assert groups[0].name == "4 others" and groups[1].name == "a" and len(groups[1].rows) == 5
    assert sorted(i for group in groups for i in group.rows) == list(range(len(labels)))
    numbers = tuple(str(x) for x in range(50))
    groups = grouped(numbers, list(range(50)))
    assert [group.name for group in groups][:2] == ["0 to 9.8", "9.8 to 19.6"]
    assert [len(group.rows) for group in groups] == [10] * 5
    assert grouped(("1", "2") * 9, list(range(18)))[1].name == "2"
    assert [group.name for group in grouped(None, [0, 2])] == [""]


def test_plot_scores(wine):
    """Tests that points lie at the scores, in a colour for each class, other components too."""
    pytest.importorskip("matplotlib")
    dataset, result = wine
    ax = plotting.plot_scores(
        result, dataset.data, components=(3, 1), labels=dataset.target, correlation=True
    )
    points = np.vstack([np.asarray(found.get_offsets()) for found in ax.collections])
    scores = scores_of(dataset.data, result, correlation=True)[:, [2, 0]]
    np.testing.assert_allclose(np.sort(points, axis=0), np.sort(scores, axis=0))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == sorted(set(dataset.target))
    assert ax.get_xlabel().startswith("component 3 (")


def test_plot_biplot(wine):
    """Tests that every variable of the two components has its name, the strongest if not all."""
    pytest.importorskip("matplotlib")
    dataset, result = wine
    ax = plotting.plot_biplot(result, dataset.data, correlation=True)
    used = {dataset.feature_names[j] for support in result.supports[:2] for j in support}
    assert {text.get_text() for text in ax.texts if text.get_text()} == used
    ax = plotting.plot_biplot(result, dataset.data, correlation=True, max_features=3)
    assert sum(bool(text.get_text()) for text in ax.texts) == 3
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"components": (1, 4)}, r"components must be two different numbers from 1 to 3"),
        ({"components": (2, 2)}, r"components must be two different numbers"),
        ({"labels": ["a"]}, r"labels must have an entry for each of the 178 observations, got 1"),
        ({"X": np.zeros((4, 5))}, r"X must have a column for each of the 13 features"),
    ],
)
def test_bad_arguments(wine, arguments, message):
    """Tests that what does not fit is named."""
    dataset, result = wine
    with pytest.raises(ValueError, match=message):
        plotting.plot_scores(result, **{"X": dataset.data, **arguments})
