"""Tests of what people see of alternatives: the picture, the section of a report, the commands."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orthospca import Alternatives, Certificate, alternatives, datasets, solve
from orthospca.interface.alternatives import most_frequent
from orthospca.interface.cli import app
from orthospca.report import Section, write_choice_report, write_report

NASTY = ("</script><b>", "\"'&<i onclick=x>", "a\u2028b", "長さ", "$x$ costs $5")


def pitprops(p: int = 4, tolerance: float = 0.05, **options: object) -> Alternatives:
    dataset = datasets.load_pitprops()
    names = {"feature_names": dataset.feature_names} | options
    return alternatives(dataset.covariance(), p, tolerance, **names)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write to the folder they are called in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def wine(tmp_path) -> Path:
    """178 observations of 13 variables, whose names have spaces."""
    dataset = datasets.load_wine()
    with open(tmp_path / "wine.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([name.replace("_", " ") for name in dataset.feature_names])
        writer.writerows(dataset.data.tolist())
    return tmp_path / "wine.csv"


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_order_of_features():
    """Tests that those in the most supports come first, and of equals those of better ones."""
    found = pitprops()
    rows, left_out = most_frequent(found, 100)
    assert left_out == 0
    assert found.names(rows[:2]) == ["topdiam", "length"]
    counts = [sum(j in T for T in found.supports) for j in rows]
    assert counts == sorted(counts, reverse=True)
    assert most_frequent(found, 2)[1] == len(rows) - 2
    assert found.below_best()[0] == "the best"
    assert found.below_best()[1] == "1.9 % below"


def test_picture():
    """Tests that cells are the supports, with names in full, and bars the frequencies."""
    pytest.importorskip("matplotlib")
    from orthospca.plotting import plot_alternatives

    names = tuple(f"a rather long name of a variable, with a number: {j}" for j in range(13))
    found = pitprops(feature_names=names)
    ax = plot_alternatives(found)
    rows = most_frequent(found, 40)[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == found.names(rows)
    cells = np.ma.filled(ax.images[0].get_array(), 0.0) != 0
    assert cells.shape == (len(rows), len(found))
    for i, support in enumerate(found.supports):
        assert set(rows[cells[:, i]]) == set(support.tolist())
    bars = [bar.get_width() for bar in ax.patches]
    assert np.allclose(np.array(bars) / max(bars), found.frequencies[rows])
    assert [text.get_text() for text in ax.texts] == ["100%", "100%", "75%", "50%", "50%", "25%"]
    assert "no other exists" in ax.get_title()
    # Nothing is cut off.
    ax.figure.draw_without_rendering()
    box, page = ax.get_tightbbox(), ax.figure.bbox
    assert box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1
    assert box.y0 >= page.y0 - 1 and box.y1 <= page.y1 + 1


def test_picture_of_many_and_of_none(tmp_path):
    """Tests what is left out, names in other scripts, an empty list, axes that are given."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from orthospca.plotting import plot_alternatives

    many = pitprops(4, 0.3)
    ax = plot_alternatives(many, max_features=5, max_supports=10)
    assert ax.images[0].get_array().shape == (5, 10)
    assert f"10 of {len(many)}" in ax.get_title()
    assert "variables not shown" in ax.get_title()
    cut = plot_alternatives(pitprops(4, 0.3, max_supports=3))
    assert "there may be more" in cut.get_title()
    none = alternatives(np.eye(2), 2, previous=np.eye(2))
    assert "there are none" in plot_alternatives(none).get_title()
    given = Figure().add_subplot()
    assert plot_alternatives(many, ax=given) is given
    odd = pitprops(feature_names=(*NASTY, *(f"v{j}" for j in range(8))))
    odd.plot().save(tmp_path / "odd.png")
    assert (tmp_path / "odd.png").stat().st_size > 1000
    with pytest.raises(ValueError, match="kind must be one of 'alternatives'"):
        odd.plot("scree")


def texts_of(path: Path) -> str:
    content = re.sub(r"<(script|style).*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.S)
    return " ".join(re.sub(r"<[^>]*>", " ", content).split())


def test_section_of_a_report(tmp_path):
    """Tests that a report has the lists of all components, complete without its script."""
    dataset = datasets.load_pitprops()
    Q = dataset.covariance()
    result = replace(solve(Q, 4, 3), feature_names=dataset.feature_names)
    lists = [
        alternatives(
            Q, 4, 0.05, previous=result.components[:k], feature_names=dataset.feature_names
        )
        for k in range(3)
    ]
    lists[2] = alternatives(Q, 4, 0.5, max_supports=5, feature_names=dataset.feature_names)
    path = tmp_path / "r.html"
    write_report(path, [Section("Pitprops", result, Q, alternatives=lists)])
    page, text = path.read_text(encoding="utf-8"), texts_of(path)
    assert (
        "4 supports within 5 % of the best variance, and it is proved that there is no other"
        in text
    )
    assert "in all of them: topdiam, length." in text
    assert f"Component 2, given the one before it: {len(lists[1])} supports, complete" in text
    assert "Component 3, given those before it: 5 supports, perhaps not all" in text
    assert "max_supports is 5" in text
    for found in lists:
        for value, support in zip(found.variances, found.supports, strict=True):
            assert f"{value:#.6g}" in text
            assert ", ".join(found.names(support)) in text
    label = re.search(r'aria-label="(4 choices within 5 %[^"]*)"', page)
    assert label is not None and label[1].endswith(": 6 rows, 4 columns (choices, the best first).")
    result.report(tmp_path / "same.html", Q, alternatives=lists)
    assert "4 supports within 5 %" in texts_of(tmp_path / "same.html")
    write_report(path, [Section("Pitprops", result, Q)])
    assert "Alternatives" not in texts_of(path)


def test_report_of_a_list(tmp_path):
    """Tests a page of its own: nasty names are text, an empty list is told."""
    path = tmp_path / "a.html"
    names = (*NASTY, *(f"v{j}" for j in range(8)))
    pitprops(feature_names=names).report(path, source="pine props")
    page = path.read_text(encoding="utf-8")
    assert "pine props" in page
    assert "</script><b>" not in page
    assert "<i onclick" not in page
    none = alternatives(np.eye(2), 2, previous=np.eye(2))
    write_choice_report(path, alternatives=none)
    assert "no vector with so few features is left." in texts_of(path)
    alone = alternatives(np.diag([3.0, 1.0]), 1)
    write_choice_report(path, alternatives=alone)
    assert "1 support within 1 % of the best variance" in texts_of(path)


def test_command(wine):
    """Tests what is written, and that the proof is checked, with the data and without."""
    found = run(
        "alternatives", wine, "-p", 5, "--within", "2%", "--correlation", "--proof", "-o", "near"
    )
    assert found.exit_code == 0, found.output
    names = {"alternatives.json", "alternatives.csv", "alternatives.html", "certificate.zip"}
    assert names <= {file.name for file in Path("near").iterdir()}
    rows = list(csv.reader(Path("near/alternatives.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["rank", "variance", *(f"feature{i}" for i in range(1, 6))]
    written = json.loads(Path("near/alternatives.json").read_text(encoding="utf-8"))
    assert rows[1][2:] == written["supports"][0]["features"]
    assert Certificate.load("near/certificate.zip").claim == "alternatives"
    checked = run("verify", "near/certificate.zip", "-v")
    assert checked.exit_code == 0
    assert "VERIFIED: 2 supports of 13 features within 2 % of the best variance" in checked.output
    assert checked.output.count("support ") == 2
    again = run("verify", "near/certificate.zip", "--data", wine, "--correlation")
    assert again.exit_code == 0
    other = run("verify", "near/certificate.zip", "--data", wine)
    assert other.exit_code == 1
    assert "not the matrix that was certified" in other.output


def test_command_without_a_proof(wine):
    """Tests that a list that is cut short has no certificate, and says so."""
    cut = run(
        "alternatives", wine, "-p", 5, "--within", "30%", "--most", 2, "--proof", "-o", "cut"
    )  # fmt: skip
    assert cut.exit_code == 3
    assert "certificate.zip not written" in cut.output
    assert not Path("cut/certificate.zip").exists()
    refused = run("alternatives", wine, "--proof", "--json")
    assert refused.exit_code == 2
    assert "--proof with --json needs -o" in refused.output
    assert run("alternatives", wine, "--within", "-1%").exit_code == 2


def test_fit(wine):
    """Tests that fit lists the alternatives of each component, given those before."""
    found = run(
        "fit", wine, "-k", 2, "-p", 5, "--correlation", "--alternatives", "2%", "-o", "out"
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "by component: 2, 2" in found.output
    rows = list(csv.reader(Path("out/alternatives.csv").read_text(encoding="utf-8").splitlines()))
    assert [row[0] for row in rows] == ["component", "1", "1", "2", "2"]
    written = json.loads(Path("out/alternatives.json").read_text(encoding="utf-8"))
    assert [each["complete"] for each in written["components"]] == [True, True]
    assert "Component 2, given the one before it" in texts_of(Path("out/report.html"))
    for wrong in (("--alternatives", "x"), ("--alternatives", "1%", "--method", "deflation")):
        assert run("fit", wine, *wrong).exit_code == 2
    assert run("fit", wine, "--alternatives", "1%", "--json").exit_code == 2
    limited = run(
        "fit", wine, "-k", 2, "-p", 5, "--alternatives", "1%", "--time-limit", "0", "-o", "none"
    )  # fmt: skip
    assert limited.exit_code == 3
    assert "at least" in limited.output
