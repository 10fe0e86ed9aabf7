"""Variables in or out on the command line: what is asked is said wherever the answer is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from orthospca import verify
from orthospca.interface.cli import app

COLUMNS = [*"abcdef", "g,h"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Observations of seven variables, one of whose names has a comma."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((40, 1)) * np.linspace(2, 0.5, 7)
    table = pd.DataFrame(factor + rng.standard_normal((40, 7)), columns=COLUMNS)
    table.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_fit_says_what_was_asked(file: Path) -> None:
    """Tests table, file, report and certificate."""
    asked = ("--include", "f", "--exclude", "a,2")
    ended = run("fit", file, "-k", 2, "-p", 3, *asked, "--proof", "--alternatives", "5%", "-o", "o")
    assert ended.exit_code == 0, ended.output
    assert "2 components with f without a, b" in ended.output
    told = json.loads(Path("o/result.json").read_text())
    assert told["asked"] == {"include": [[5], [5]], "exclude": [[0, 1], [0, 1]]}
    assert "with f without a, b" in Path("o/report.html").read_text()
    verdict = verify("o/certificate.zip")
    assert verdict.verified
    assert "with 6, without 1, 2" in verdict.statement
    for line in Path("o/alternatives.csv").read_text().splitlines()[1:]:
        features = line.split(",")[3:]
        assert "f" in features
        assert not {"a", "b"} & set(features)


def test_disjoint_components_of_a_file(file: Path) -> None:
    """Tests that each variable is in one component, and in one list of alternatives."""
    ended = run("fit", file, "-k", 2, "-p", 3, "--relation", "disjoint", "-o", "o")
    assert ended.exit_code == 0, ended.output
    assert "that share no variable" in ended.output
    loadings = pd.read_csv("o/loadings.csv", index_col=0)
    assert (np.count_nonzero(loadings, axis=1) <= 1).all()


def test_signs_and_scores_of_a_file(file: Path) -> None:
    """Tests loadings that are not negative, and scores that are uncorrelated."""
    ended = run("fit", file, "-k", 2, "-p", 3, "--nonnegative", "--proof", "-o", "o")
    assert ended.exit_code == 0, ended.output
    assert "2 components with non-negative loadings" in ended.output
    loadings = pd.read_csv("o/loadings.csv", index_col=0)
    assert (loadings.to_numpy() >= 0).all()
    assert json.loads(Path("o/result.json").read_text())["asked"] == {"nonnegative": True}
    assert "with non-negative loadings" in Path("o/report.html").read_text()
    assert "non-negative" in verify("o/certificate.zip").statement
    ended = run("fit", file, "-k", 2, "-p", 3, "--relation", "uncorrelated", "-o", "o2")
    assert ended.exit_code == 0, ended.output
    assert "with uncorrelated scores (not orthogonal" in ended.output
    scores = pd.read_csv("o2/scores.csv", index_col=0)[["component1", "component2"]]
    assert abs(scores.corr().iloc[0, 1]) < 1e-10
    assert "uncorrelated with those of the components" in Path("o2/report.html").read_text()


def test_names_with_commas_and_several_options(file: Path) -> None:
    """Tests a name that has a comma, and an option that is given twice."""
    ended = run("fit", file, "-k", 1, "-p", 3, "--include", "g,h", "--include", "1", "--json")
    assert json.loads(ended.stdout)["asked"] == {"include": [[0, 6]]}


@pytest.mark.parametrize("relation", ["orthogonal", "disjoint", "uncorrelated"])
def test_alternatives_of_related_components(file: Path, relation: str) -> None:
    """Tests that the best choice for each component, given those before it, is the component."""
    asked = ("--relation", relation, "--alternatives", "5%", "--gap", 1e-8, "-o", "o")
    ended = run("fit", file, "-k", 2, "-p", 3, *asked)
    assert ended.exit_code == 0, ended.output
    lists = json.loads(Path("o/alternatives.json").read_text())["components"]
    loadings = pd.read_csv("o/loadings.csv", index_col=0)
    for k, each in enumerate(lists, start=1):
        used = loadings.index[loadings[f"component{k}"] != 0]
        assert each["complete"] and each["supports"][0]["features"] == list(used)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--include", "z"), "--include: 'z' is none of the 7 variables"),
        (("--exclude", "8"), "--exclude: '8' is none of the 7 variables"),
        (("--include", "a", "--exclude", "a"), "include and exclude both have 'a'"),
        (("--include", "a,b,c,d"), "include has 4 features"),
        (
            ("--relation", "uncorrelated", "--objective", "joint"),
            "relation='uncorrelated' does not",
        ),
        (("--nonnegative", "--objective", "joint"), "nonnegative=True does not work with"),
        (
            ("--nonnegative", "--alternatives", "1%", "-o", "o"),
            "--alternatives does not work with --nonnegative",
        ),
        (
            ("--method", "deflation", "--alternatives", "1%", "-o", "o"),
            "--alternatives needs orthogonal components",
        ),
    ],
)
def test_what_cannot_be(file: Path, arguments: tuple[str, ...], sentence: str) -> None:
    """Tests one sentence and exit code 2."""
    ended = run("fit", file, "-k", 2, "-p", 3, *arguments)
    assert ended.exit_code == 2
    assert sentence in " ".join(ended.output.split())


def test_other_commands(file: Path) -> None:
    """Tests that each of them asks the same."""
    path = run("path", file, "-p", "2:4", "--include", "f", "--cv", 3, "--json")
    assert path.exit_code == 0, path.output
    assert [each["asked"] for each in json.loads(path.stdout)["results"]] == [
        {"include": [[5]]}
    ] * 3
    near = run("alternatives", file, "-p", 3, "--exclude", "a", "--within", "10%", "--json")
    assert all("a" not in each["features"] for each in json.loads(near.stdout)["supports"])
    steady = run("stability", file, "-p", 3, "-k", 1, "-n", 3, "--include", "f", "--json")
    assert steady.exit_code == 0, steady.output
