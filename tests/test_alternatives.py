"""Tests of the list of supports that are nearly as good as the best."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.clocks import ticking
from helpers.problems import MATRICES
from helpers.seeds import split
from orthospca import DataCovariance, alternatives, datasets, solve
from orthospca._errors import InputError
from orthospca.choosing._near import NearSearch
from orthospca.data.problem import Problem
from orthospca.interface.cli import app
from orthospca.model.limits import Watch
from orthospca.model.settings import Settings
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import DEFAULT
from orthospca.supports.best import values_on_supports


def listed(found: object) -> set[tuple[int, ...]]:
    return {tuple(support.tolist()) for support in found.supports}


def enumerated(
    Q: np.ndarray, p: int, tolerance: float, previous: np.ndarray | None = None
) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:
    """Supports that must be listed, and those that may be: rounding decides between them."""
    n = len(Q)
    X = np.zeros((n, 0)) if previous is None else np.ascontiguousarray(previous.T)
    supports = np.array(list(itertools.combinations(range(n), p)))
    values = values_on_supports(Subproblem(Q, p, X), supports)
    best = values.max()
    level, slack = best - tolerance * abs(best), 1e-9 * (float(np.abs(Q).max()) + 1e-300)
    must = {tuple(s) for s, v in zip(supports.tolist(), values, strict=True) if v >= level + slack}
    may = {tuple(s) for s, v in zip(supports.tolist(), values, strict=True) if v >= level - slack}
    return must, may


@pytest.mark.parametrize("p", [3, 4, 5, 6])
@pytest.mark.parametrize("tolerance", [0.01, 0.05, 0.1, 0.3])
def test_pitprops(p: int, tolerance: float) -> None:
    """Tests the list against every support."""
    Q = datasets.load_pitprops().covariance()
    found = alternatives(Q, p, tolerance)
    must, may = enumerated(Q, p, tolerance)
    assert must == may == listed(found)
    assert found.complete and found.note == ""
    assert (np.diff(found.variances) <= 0).all()
    assert found.frequencies.sum() == pytest.approx(p)


@pytest.mark.parametrize("problems", split(range(12), 4))
@pytest.mark.parametrize("kind", MATRICES)
def test_random_problems(kind: str, problems: range) -> None:
    """Tests every kind of matrix, with ties and without, first components and later ones."""
    for seed in problems:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 9))
        p = int(rng.integers(1, n))
        Q = MATRICES[kind](rng, n)
        Q = 0.5 * (Q + Q.T)
        previous = None
        if seed % 3 == 0:
            previous = solve(Q, p, 1).components
        tolerance = float(rng.choice([0.0, 0.01, 0.2, 1.0]))
        must, may = enumerated(Q, p, tolerance, previous)
        if previous is not None and np.count_nonzero(previous) == 1:
            # What is used up is in no support; the others have the size that is asked for.
            spent = int(np.flatnonzero(previous)[0])
            must = {T for T in must if spent not in T}
        found = alternatives(Q, p, tolerance, previous=previous, max_supports=10_000)
        assert found.complete
        assert must <= listed(found) <= may


def test_exact_ties() -> None:
    """Tests matrices in which many supports are the best."""
    ones = np.ones((8, 8))
    assert len(alternatives(ones, 3, 0.0)) == 56
    assert len(alternatives(np.eye(7), 2, 0.0)) == 21
    two = np.kron(np.eye(2), np.full((3, 3), 2.0) + np.eye(3))
    found = alternatives(two, 3, 0.01)
    assert listed(found) == {(0, 1, 2), (3, 4, 5)}
    assert len(found.in_all) == len(found.in_none) == 0


def tied(rng: np.random.Generator) -> np.ndarray:
    """A matrix of few different numbers, in which whole groups of features can be exchanged."""
    groups, size = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    between = rng.integers(-2, 3, size=(groups, groups)).astype(float)
    Q = np.kron(between + between.T, np.ones((size, size)))
    Q += np.diag(np.repeat(rng.integers(2, 6, size=groups).astype(float), size))
    order = rng.permutation(len(Q))
    return Q[np.ix_(order, order)]


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.05, 0.1])
def test_random_problems_with_exact_ties(tolerance: float) -> None:
    """Tests that all of several supports with the same variance are listed, or none of them."""
    several = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        Q = tied(rng)
        p = int(rng.integers(1, len(Q)))
        previous = solve(Q, p, 1).components if seed % 3 == 0 else None
        must, may = enumerated(Q, p, tolerance, previous)
        if previous is not None and np.count_nonzero(previous) == 1:
            spent = int(np.flatnonzero(previous)[0])
            must, may = ({T for T in each if spent not in T} for each in (must, may))
        found = alternatives(Q, p, tolerance, previous=previous, max_supports=10_000)
        assert found.complete
        assert must <= listed(found) <= may
        several += len(found) > 1
    assert several > 15


@pytest.mark.parametrize("cheap", [True, False])
def test_wide_data(cheap: bool) -> None:
    """Tests data whose covariance is not formed against the matrix, also where rows are dear."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((30, 4100)) * np.geomspace(3, 0.5, 4100)
    data, tuning = DataCovariance(rows), DEFAULT
    if not cheap:
        tuning = replace(DEFAULT, wide=replace(DEFAULT.wide, cheap_products=0.0))
    settings = Settings.validate(gap=1e-6, tuning=tuning)
    search = NearSearch(Problem(data, (3,)), np.zeros((4100, 0)), settings, Watch())
    found = search.run(0.02, 1000)
    matrix = np.cov(rows[:, :300], rowvar=False)
    expected = alternatives(matrix, 3, 0.02)
    assert not found.note
    assert listed(found) >= listed(expected)
    assert found.values[0] >= expected.variances[0] - 1e-9


def test_caps() -> None:
    """Tests that a list that was cut short says so."""
    Q = datasets.load_pitprops().covariance()
    few = alternatives(Q, 5, 0.3, max_supports=7)
    assert len(few) == 7 and not few.complete and "max_supports is 7" in few.note
    assert "max_supports is 7" in few.summary()
    # What is listed is true, and begins with the best.
    best, near = alternatives(Q, 5, 0.0), listed(alternatives(Q, 5, 0.3))
    for most in (1, 7):
        cut = alternatives(Q, 5, 0.3, max_supports=most)
        assert len(cut) == most
        assert cut.supports[0].tolist() == best.supports[0].tolist()
        assert listed(cut) <= near
    noise = np.corrcoef(np.random.default_rng(0).standard_normal((80, 60)).T)
    for looks in (10.0, 400.0):
        with ticking():
            short = alternatives(noise, 10, 0.05, time_limit=looks, max_supports=10**6)
        assert not short.complete and "stopped" in short.note
        assert len(short) >= 1
    assert len(alternatives(noise, 10, 0.05, time_limit=0.0)) == 1
    asked = iter(range(10**9))
    ended = alternatives(
        noise, 10, 0.05, max_supports=10**6, callback=lambda state: next(asked) > 3
    )
    assert not ended.complete and "interrupted" in ended.note
    assert len(ended) >= 1


@pytest.mark.parametrize("seed", range(4))
def test_vectors_before_need_not_be_orthonormal(seed: int) -> None:
    """Tests that they count by what they span, whatever their lengths and angles."""
    Q = datasets.load_pitprops().covariance()
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2, 13)) * (rng.random((2, 13)) < 0.5) * [[1e3], [1e-3]]
    for given in (Q, DataCovariance(np.linalg.cholesky(Q).T @ np.eye(13))):
        found = alternatives(given, 4, 0.03, previous=rows)
        other = alternatives(given, 4, 0.03, previous=np.linalg.qr(rows.T)[0].T)
        assert listed(found) == listed(other) and found.complete and other.complete
        np.testing.assert_allclose(found.variances, other.variances, rtol=1e-9)
    must, may = enumerated(Q, 4, 0.03, np.linalg.qr(rows.T)[0].T)
    assert must <= listed(alternatives(Q, 4, 0.03, previous=rows)) <= may


def test_bad_input() -> None:
    """Tests one sentence for each."""
    Q = np.eye(4)
    with pytest.raises(InputError, match="tolerance must be"):
        alternatives(Q, 2, -0.1)
    with pytest.raises(InputError, match="max_supports must be"):
        alternatives(Q, 2, max_supports=0)
    with pytest.raises(InputError, match=r"previous must be vectors of 4 features in rows"):
        alternatives(Q, 2, previous=np.eye(3))
    with pytest.raises(InputError, match="previous must be orthonormal rows with proof=True"):
        alternatives(Q, 2, previous=np.ones((1, 4)), proof=True)
    with pytest.raises(InputError, match="previous must be linearly independent"):
        alternatives(Q, 2, previous=np.ones((2, 4)))
    with pytest.raises(InputError, match="previous: vector 1 is zero"):
        alternatives(Q, 2, previous=np.zeros((1, 4)))
    nearly = np.eye(4)[:1] * (1 + 2e-12)
    assert alternatives(Q, 2, previous=nearly).complete
    with pytest.raises(InputError, match="previous must be orthonormal"):
        alternatives(Q, 2, previous=nearly, proof=True)
    with pytest.raises(InputError, match="previous must be vectors of numbers, got 'abc'"):
        alternatives(Q, 2, previous="abc")


def test_colon() -> None:
    """Tests five hundred genes: complete within one percent."""
    folder = os.environ.get("ORTHOSPCA_DATA")
    if not folder:
        pytest.skip("the environment variable ORTHOSPCA_DATA names no folder of reference data")
    Q = np.loadtxt(Path(folder) / "CovColon_500.csv", delimiter=",", comments="#", ndmin=2)
    found = alternatives(0.5 * (Q + Q.T), 10, 0.01)
    assert found.complete
    assert len(found) >= 1


def test_command(tmp_path: Path) -> None:
    """Tests the command: table, files, exit codes."""
    table = tmp_path / "x.csv"
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6))
    text = "\n".join([",".join("abcdef"), *(",".join(map(repr, row.tolist())) for row in rows)])
    table.write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    run = CliRunner().invoke(
        app, ["alternatives", str(table), "-p", "2", "--within", "20%", "-o", str(out)]
    )
    assert run.exit_code == 0, run.output
    assert "no other" in run.output
    written = json.loads((out / "alternatives.json").read_text(encoding="utf-8"))
    assert written["complete"] is True
    assert (out / "alternatives.csv").read_text(encoding="utf-8").startswith("rank,variance")
    wrong = CliRunner().invoke(app, ["alternatives", str(table), "--within", "much"])
    assert wrong.exit_code == 2
    cut = CliRunner().invoke(
        app, ["alternatives", str(table), "-p", "3", "--within", "90%", "--most", "1", "--json"]
    )
    assert cut.exit_code == 3


def test_notebook():
    """Tests that a notebook shows a row for each support, with names that are escaped."""
    Q = datasets.load_pitprops().covariance()
    names = ["<b>", *"abcdefghijkl"]
    found = alternatives(Q, 4, 0.02, feature_names=names)
    text = found._repr_html_()
    assert text.count("<tr>") == 1 + len(found)
    table, _, below = text.partition("</table>")
    assert table.count("&lt;b&gt;") == sum(0 in support for support in found)
    assert "within 2 % of the best variance" in below and "in all of them: &lt;b&gt;" in below
