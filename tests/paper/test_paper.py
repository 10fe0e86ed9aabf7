"""Tests of the paper's experiments: known optima, the twelve panels, and what is said of them."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import itertools
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.seeds import crossed
from helpers.truth import is_proved
from orthospca import datasets
from orthospca.interface.cli import app
from orthospca.paper import _experiments, _run
from orthospca.paper._experiments import deflation_run, load_covcolon, orthogonal_run
from orthospca.paper._splits import Split, percent, split

AGREEMENT = 1e-9
TINY = _run.Plan(
    sparsities=(2, 3, 4),
    sweep=(2, 3),
    counts=(1, 2, 3),
    repeats=1,
    thresholds=(60.0, 70.0),
    orders=(9,),
    growth_sparsity=3,
    growth_count=2,
)


@pytest.fixture(scope="module")
def small_matrix() -> np.ndarray:
    """A matrix in place of the genes, so that the experiments can run without them."""
    rng = np.random.default_rng(3)
    B = rng.standard_normal((30, 9)) * np.linspace(1.0, 3.0, 9)
    return B.T @ B


class Run(NamedTuple):
    """What all experiments found, wrote and said."""

    found: _run.Experiments
    folder: Path
    printed: str


@pytest.fixture(scope="module")
def experiments(small_matrix, tmp_path_factory) -> Run:
    """All experiments, run once."""
    folder, printed = tmp_path_factory.mktemp("paper") / "out", io.StringIO()
    with contextlib.redirect_stdout(printed):
        found = _run.run_paper(folder, TINY, leading(small_matrix))
    return Run(found, folder, printed.getvalue())


def leading(Q: np.ndarray):
    """What loads the leading part of a matrix."""
    return lambda order: (Q[:order, :order], "random")


@functools.cache
def split_genes(p: int, threshold: float) -> Split:
    """The genes, split into blocks and solved as a whole."""
    Q, _ = load_covcolon()
    (made,) = split(Q, p, 20, threshold, TINY)
    return made


@pytest.mark.parametrize(
    ("method", "p"), crossed(["enumeration", "eigenvalue", "branch-and-bound"], [3, 5, 8])
)
def test_orthogonal_optima(p, method, data_folder, optima):
    """Tests that GS-SPCA, by every method, has the variances, supports and end of the reference."""
    Q, origin = load_covcolon()
    assert origin == "CovColon_20.csv"
    run = orthogonal_run(Q, p, 20, method)
    expected = [entry for entry in optima[f"covcolon20_gs_p{p}"] if entry[0] is not None]
    np.testing.assert_allclose(run.variances, [value for value, _ in expected], rtol=AGREEMENT)
    assert run.exhausted == (len(expected) < 20)
    assert _experiments.deviations(run)[-1] < 1e-10
    for x, (_, support) in zip(run.components, expected, strict=True):
        assert set(np.flatnonzero(x)) <= set(support)


@pytest.mark.parametrize("p", [3, 5])
def test_deflation_optima(p, data_folder, optima):
    """Tests that the baseline has the variances and the angles of the reference."""
    Q, _ = load_covcolon()
    run = deflation_run(Q, p, 20)
    plain, deflated = np.array(optima[f"covcolon20_defl_p{p}"]).T
    np.testing.assert_allclose(run.variances, plain, rtol=AGREEMENT)
    np.testing.assert_allclose(run.deflated_variances, deflated, rtol=AGREEMENT)
    cosines = np.array(optima[f"covcolon20_defl_p{p}_maxabscos"])
    away = np.sin(np.radians(_experiments.deviations(run)))
    np.testing.assert_allclose(away, cosines, atol=1e-8)


def test_where_the_components_end(data_folder, optima):
    """Tests that the ends told in the documentation are those of the reference."""
    counts = {p: sum(v is not None for v, _ in optima[f"covcolon20_gs_p{p}"]) for p in (3, 5, 8)}
    assert counts == {3: 20, 5: 17, 8: 10}


def test_derived_matrix(data_folder, tmp_path, monkeypatch):
    """Tests that the matrix derived from the expression data agrees with the published one."""
    published, _ = load_covcolon()
    derived = datasets.load_colon(variant="covcolon").covariance()[:20, :20]
    np.testing.assert_allclose(derived, published, rtol=2e-4)
    for file in Path(data_folder).iterdir():
        if "CovColon" not in file.name:
            (tmp_path / file.name).symlink_to(file)
    monkeypatch.setenv("ORTHOSPCA_DATA", str(tmp_path))
    matrix, origin = load_covcolon()
    assert origin == "derived from the expression data"
    np.testing.assert_array_equal(matrix, derived)


def test_blocks():
    """Tests Algorithm 2 on a matrix whose blocks are plain to see."""
    Q = np.eye(5)
    Q[0, 1] = Q[1, 0] = 0.5
    Q[1, 2] = Q[2, 1] = -0.3
    Q[3, 4] = Q[4, 3] = 0.9
    assert _experiments.largest_block(Q, 0.0).tolist() == [0, 1, 2]
    assert _experiments.largest_block(Q, 0.4).tolist() == [0, 1]
    assert _experiments.largest_joining_threshold(Q) == 0.0
    assert _experiments.largest_joining_threshold(Q[:3, :3]) == 0.3


@pytest.mark.xdist_group("experiments")
def test_all_experiments(experiments):
    """Tests that the panels, the tables, the words and the pictures are complete."""
    found, folder, printed = experiments
    with open(folder / "panels.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["panel"] for row in rows} == set("abcdefghijkl")
    shown = [
        float(row["value"]) for row in rows if row["panel"] == "k" and row["algorithm"] == "GS-SPCA"
    ]
    np.testing.assert_array_equal(shown, found.orthogonal[3].variances)
    assert {row["r"] for row in rows if row["panel"] == "h"} == {"2"}
    with open(folder / "speed.csv", encoding="utf-8", newline="") as file:
        speeds = list(csv.DictReader(file))
    on_the_matrix = [row for row in speeds if float(row["threshold"]) == 0.0]
    assert len(on_the_matrix) == 3 * 3 + 2
    assert len(speeds) - len(on_the_matrix) == 3 * len(found.splits) and found.splits
    for row in speeds:
        assert int(row["largest_block"]) < 9 or float(row["threshold"]) == 0.0
    with open(folder / "decomposition.csv", encoding="utf-8", newline="") as file:
        decomposed = list(csv.DictReader(file))
    assert len(decomposed) == sum(made.original.n_components for made in found.splits)
    assert "Sequences" in printed and "Paths" in printed and "Time of every method" in printed
    assert all(made.agree for made in found.splits) and "same variances as a whole" in printed
    pytest.importorskip("matplotlib")
    assert (folder / "panels.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.xdist_group("genes")
@pytest.mark.parametrize("threshold", [150.0, 200.0])
@pytest.mark.parametrize("p", [5, pytest.param(3, marks=pytest.mark.slow)])
def test_decomposition(p, threshold, data_folder):
    """Tests Theorem 1 on the genes: the blocks have the components of the block-diagonal matrix."""
    made = split_genes(p, threshold)
    assert made.sizes == {150.0: (16, 1, 1, 1, 1), 200.0: (7, *[1] * 13)}[threshold]
    whole, *others = made.runs.values()
    assert list(made.runs) == ["enumeration", "blocks-enumeration", "blocks-branch-and-bound"]
    for run in others:
        np.testing.assert_allclose(run.variances, whole.variances, rtol=AGREEMENT)
        cosines = np.abs(np.einsum("ij,ij->i", run.components, whole.components))
        np.testing.assert_allclose(cosines, 1.0, rtol=1e-9)
        assert run.exhausted == whole.exhausted
    assert made.agree


@pytest.mark.xdist_group("genes")
def test_certificate_of_the_original_matrix(data_folder, optima):
    """Tests that the bounds of a decomposition hold in the original matrix."""
    Q, _ = load_covcolon()
    made = split_genes(5, 150.0)
    original = made.original
    (best, _), *_ = optima["covcolon20_gs_p5"]
    assert original.variances[0] == pytest.approx(best) and original.gaps[0] < 1e-6
    assert made.certified() == 3 and original.gaps.max() > 1.0
    # The gap of the fourth is a loss: after the same three, much more is possible.
    without = orthogonal_run(Q, 5, 4, "enumeration")
    cosines = np.einsum("ij,ij->i", without.components[:3], original.components[:3])
    np.testing.assert_allclose(np.abs(cosines), 1.0, rtol=1e-9)
    assert original.variances[3] == pytest.approx(101.43, abs=0.01)
    assert without.variances[3] == pytest.approx(273.04, abs=0.01)
    for k, stage in enumerate(original.stages):
        x = stage.vector
        assert x @ Q @ x == pytest.approx(stage.variance)
        if k in (1, 4):
            before = original.components[:k]
            assert is_proved(Q, before, 5, stage.upper_bound)
            assert not is_proved(Q, before, 5, stage.variance * (1 - 1e-9))


def test_nothing_to_split(small_matrix):
    """Tests that a threshold that leaves one block is left out."""
    assert split(small_matrix, 2, 2, 0.0, TINY) == []
    plan = replace(TINY, thresholds=(0.0,))
    found = _run.measure(small_matrix, plan, leading(small_matrix))
    assert found.splits == []


def test_large_gaps_in_words():
    """Tests that a gap is written as people read it."""
    assert [percent(gap) for gap in (0.0, 0.0123, 1.7)] == ["<1e-9 %", "1.2 %", "170 %"]


@pytest.mark.xdist_group("experiments")
def test_twelve_panels(experiments):
    """Tests that each panel is lettered and labelled, and shows both algorithms."""
    pytest.importorskip("matplotlib")
    from orthospca.paper._figure import draw_panels

    figure = draw_panels(experiments.found)
    assert [ax.get_title(loc="left") for ax in figure.axes] == [f"({x})" for x in "abcdefghijkl"]
    assert all(ax.get_xlabel() for ax in figure.axes)
    assert all(len({line.get_color() for line in ax.lines}) >= 2 for ax in figure.axes)


def test_without_the_data(tmp_path, monkeypatch):
    """Tests that without data and without a way to get them, one sentence says what is needed."""
    monkeypatch.setitem(sys.modules, "pooch", None)
    for folder in (None, str(tmp_path)):
        monkeypatch.delenv("ORTHOSPCA_DATA", raising=False)
        if folder:
            monkeypatch.setenv("ORTHOSPCA_DATA", folder)
        ended = CliRunner().invoke(app, ["paper", "-o", str(tmp_path / "out")])
        assert ended.exit_code == 2 and "ORTHOSPCA_DATA" in ended.output
        assert ended.output.count("\n") == 1
    (tmp_path / "CovColon_20.csv").write_text("not a matrix")
    ended = CliRunner().invoke(app, ["paper", "-o", str(tmp_path / "out")])
    assert ended.exit_code == 2 and "CovColon_20.csv" in ended.output


@pytest.mark.slow
def test_the_command(data_folder, tmp_path):
    """Tests the command on the genes themselves."""
    ended = CliRunner().invoke(app, ["paper", "--quick", "-o", str(tmp_path)])
    assert ended.exit_code == 0, ended.output
    assert "17 (no more exist)" in ended.output and "10 (no more exist)" in ended.output


TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "gene-expression.md"


@pytest.mark.slow
def test_gene_expression_tutorial(data_folder, tmp_path, monkeypatch):
    """Tests that the tutorial, which needs the data, prints what it says."""
    monkeypatch.chdir(tmp_path)
    page = TUTORIAL.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    for (language, code), (following, expected) in itertools.pairwise([*blocks, ("", "")]):
        if language == "py":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, TUTORIAL.name, "exec"), names)
            if following == "text":
                assert printed.getvalue() == expected
    ended = CliRunner().invoke(app, ["fit", "colon.csv", "-k", "1", "-p", "5", "--gap", "0.01"])
    assert ended.exit_code == 0 and "62 observations, 500 variables" in ended.output
