"""Tests of what is seen in a notebook: pictures, tables and a bar, however they are called."""

from __future__ import annotations

import logging

import pytest

from orthospca import datasets, solve

#: Ten cells as people write them, and what each has to show: pictures, tables, bars.
CELLS = {
    "from orthospca import *\nfrom orthospca import plotting, datasets\n"
    "wine = datasets.load_wine(); Q = wine.correlation(); names = wine.feature_names\n"
    "result = solve(Q, 4, 2, feature_names=names)": "",
    "result": "table",
    "result.plot()": "picture",
    "result.plot();": "picture",
    "ax = result.plot()": "picture",
    "plotting.plot_loadings(result)": "picture",
    "picture = result.plot('scree', Q)\nkept = 1": "picture",
    "picture": "picture",
    "near = alternatives(Q, 4, 0.02, feature_names=names)\nnear": "table",
    "solve(Q, 3, 2, verbose=True).status": "bar",
    "OrthogonalSparsePCA(2, 4, covariance='correlation', verbose=1).fit(wine.data);": "bar",
    "sparsity_path(Q, [1, 2, 3])": "table",
    "near.plot(); x = plotting.plot_orthogonality(result)": "picture picture",
}


@pytest.mark.slow
def test_a_notebook(tmp_path):
    """Tests each cell of a notebook that is really executed."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(page, timeout=120, kernel_name="python3").execute(cwd=tmp_path)
    for cell, wanted in zip(page.cells, CELLS.values(), strict=True):
        shown = [output.get("data", {}) for output in cell.outputs]
        pages = [data.get("text/html", "") for data in shown]
        seen = ["picture" for data in shown if "image/png" in data]
        seen += ["bar" for text in pages if "<progress" in text]
        seen += ["table" for text in pages if "<table" in text]
        assert seen == wanted.split(), (cell.source, cell.outputs)


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    return pyplot


@pytest.fixture(scope="module")
def result():
    return solve(datasets.load_pitprops().covariance(), 3, 2)


def test_figures_are_those_of_pyplot_where_it_is_loaded(pyplot, result):
    """Tests that pyplot has the figure, which shows itself once: there, or as a picture."""
    before = set(pyplot.get_fignums())
    picture = result.plot()
    assert {picture.figure.number} == set(pyplot.get_fignums()) - before
    assert picture._repr_png_() is None
    pyplot.close(picture.figure)
    assert picture._repr_png_()[0].startswith(b"\x89PNG")


def test_pictures_of_commands_are_let_go(pyplot, result, tmp_path):
    """Tests that a figure which was only written does not stay open."""
    from orthospca.interface.folders import Folder

    before = pyplot.get_fignums()
    Folder(tmp_path).write("x.png", lambda: result.plot().axes)
    assert (tmp_path / "x.png").exists() and pyplot.get_fignums() == before


@pytest.mark.parametrize("verbose", [False, True])
def test_solve_tells_and_logs(verbose, capsys, caplog):
    """Tests a line for each component, printed if asked for, and logged at the level INFO."""
    heard = []
    Q = datasets.load_pitprops().covariance()
    with caplog.at_level(logging.INFO, logger="orthospca"):
        solve(Q, 3, 2, verbose=verbose, callback=heard.append)
    lines = [record.getMessage() for record in caplog.records if record.name == "orthospca"]
    assert [line.partition(":")[0] for line in lines] == [
        "component 1 of 2 done", "component 2 of 2 done",
    ]  # fmt: skip
    assert heard
    printed = [f"[solve] {line}" for line in lines] if verbose else []
    assert capsys.readouterr().out.splitlines() == printed


def test_a_callback_still_stops_it():
    """Tests that whoever listens beside the printer is heard."""
    Q = datasets.load_pitprops().covariance()
    assert solve(Q, 5, 3, verbose=1, callback=lambda _: True).status.name == "INTERRUPTED"


def test_nobody_is_told_what_nobody_asked(capsys, caplog):
    """Tests that a plain solve is silent."""
    solve(datasets.load_pitprops().covariance(), 3, 2)
    assert capsys.readouterr().out == "" and not caplog.records
