"""Tests of the objectives on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from orthospca import Result
from orthospca.interface.cli import app

EXAMPLE = [[5.0, 1, 0], [1, 5, 2], [0, 2, 2]]


@pytest.fixture(autouse=True)
def matrix(tmp_path, monkeypatch):
    """The example in a file, in the folder where the command runs."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("q.csv", EXAMPLE, delimiter=",")


def fit(*options):
    arguments = ["fit", "q.csv", "--precomputed", "-p", "2", *options]
    return CliRunner().invoke(app, arguments)


def test_joint():
    """Tests what is printed, written and reported of a set."""
    ended = fit("-k", "2", "--objective", "joint", "-o", "out")
    assert ended.exit_code == 0
    assert "it is proved that no such set has more than 11" in " ".join(ended.output.split())
    assert "all 2 components" in ended.output
    result = Result.load("out/result.json")
    assert result.objective == "joint" and result.joint_variance == pytest.approx(11)
    with open("out/report.html", encoding="utf-8") as page:
        assert "it is proved that no such set has more than" in page.read()


def test_lexicographic():
    """Tests that ties are resolved, and said to be."""
    ended = fit("-k", "3", "--objective", "lexicographic", "--json")
    assert ended.exit_code == 0
    variances = [c["variance"] for c in json.loads(ended.stdout)["components"]]
    np.testing.assert_allclose(variances, [6, 5, 1], atol=1e-9)


def test_refusals():
    """Tests what does not go together."""
    assert fit("-k", "2", "--objective", "sum").exit_code == 2
    ended = fit("-k", "2", "--objective", "joint", "--method", "enumeration")
    assert ended.exit_code == 2 and "branch-and-bound" in ended.output
    ended = fit("-k", "2", "--objective", "joint", "--alternatives", "1%", "-o", "out")
    assert ended.exit_code == 2 and "--alternatives" in ended.output
