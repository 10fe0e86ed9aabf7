"""Tests of the pictures: what is drawn, that it is readable, and that no global state changes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from orthospca import Result, Status, datasets, solve
from orthospca.interface import plotting
from orthospca.path import SparsityPath

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def pitprops() -> tuple[np.ndarray, Result]:
    dataset = datasets.load_pitprops()
    Q = dataset.covariance()
    return Q, replace(solve(Q, 4, 4), feature_names=dataset.feature_names)


@pytest.fixture(scope="module")
def large() -> tuple[np.ndarray, Result]:
    """Ten components of four variables each."""
    planted = datasets.make_planted_blocks(60, 4, 10, random_state=0)
    names = tuple(f"a rather long name of variable {j}" for j in range(60))
    return planted.matrix, replace(solve(planted.matrix, 4, 10), feature_names=names)


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_loadings(pitprops):
    """Tests that every nonzero loading is written in the row of its variable, and nothing else."""
    _, result = pitprops
    ax = plotting.plot_loadings(result)
    rows = [label.get_text() for label in ax.get_yticklabels()]
    written = {
        (rows[round(text.get_position()[1])], round(text.get_position()[0])): text.get_text()
        for text in ax.texts
    }
    names = result.feature_names
    expected = {
        (names[j], k): f"{x:+.2f}".replace("-", "−")
        for (k, j), x in np.ndenumerate(result.components)
        if x
    }
    assert written == expected
    assert rows[0] in {names[j] for j in result.supports[0]}


def overlapping(labels, renderer) -> bool:
    boxes = [label.get_window_extent(renderer) for label in labels if label.get_text()]
    return any(a.overlaps(b) for a, b in pairwise(boxes))


@pytest.mark.parametrize("draw", [plotting.plot_loadings, plotting.plot_orthogonality])
def test_large_pictures_are_readable(large, draw):
    """Tests that with ten components and forty variables no labels run into each other."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    _, result = large
    ax = draw(result)
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    assert not overlapping(ax.get_yticklabels(), renderer)
    assert not overlapping(ax.get_xticklabels(), renderer)
    assert not overlapping(ax.texts, renderer)


def test_at_most_so_many_variables(large):
    """Tests that variables beyond the limit are left out and that the title says so."""
    _, result = large
    assert len(plotting.plot_loadings(result).get_yticks()) == 40
    ax = plotting.plot_loadings(result, max_features=12)
    assert len(ax.get_yticks()) == 12
    assert "28 variables not shown" in ax.get_title()


def test_scree(pitprops):
    """Tests bars against variances, and the line against the eigenvalues."""
    Q, result = pitprops
    ax = plotting.plot_scree(result, Q)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], result.variances)
    np.testing.assert_allclose(
        ax.lines[0].get_ydata(), np.linalg.eigvalsh(Q)[::-1][: result.n_components]
    )
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    share = f"{100 * result.variances.sum() / 13:.1f}\N{NO-BREAK SPACE}%"
    assert f"sparse, orthogonal: {share} in all" in labels


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_legend_covers_no_bar(pitprops, count):
    """Tests that legend and bars of a scree plot have places of their own."""
    Q, result = pitprops
    ax = plotting.plot_scree(replace(result, stages=result.stages[:count]), Q)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(bar.get_window_extent().overlaps(legend) for bar in ax.patches)
    points = ax.transData.transform(np.column_stack(ax.lines[0].get_data()))
    assert not legend.count_contains(points)


def test_scree_shows_open_gaps(pitprops):
    """Tests that a bound that is not met is drawn, and that deflation is called what it is."""
    Q, result = pitprops
    stage = replace(result.stages[1], status=Status.TIME_LIMIT, upper_bound=3.0)
    stages = (result.stages[0], stage, *result.stages[2:])
    ax = plotting.plot_scree(replace(result, stages=stages, status=Status.TIME_LIMIT), Q)
    (bounds,) = ax.collections
    ((_, first), (_, second)) = bounds.get_segments()[0]
    assert first == second == 3.0
    legend = plotting.plot_scree(solve(Q, 3, 2, method="deflation"), Q).get_legend()
    assert any("not orthogonal" in text.get_text() for text in legend.get_texts())


def test_orthogonality(pitprops):
    """Tests that orthogonal components are shown so, and others with their cosines."""
    _, result = pitprops
    title = plotting.plot_orthogonality(result).get_title()
    X = result.components
    largest = np.abs(X @ X.T)[np.tril_indices(len(X), -1)].max()
    assert title.endswith(f"|cos| is {largest:.1e}" if largest else "|cos| is 0")
    x = replace(result.stages[0], vector=np.eye(13)[0])
    y = replace(result.stages[0], vector=(3 * np.eye(13)[0] + 4 * np.eye(13)[1]) / 5)
    ax = plotting.plot_orthogonality(replace(result, stages=(x, y)))
    assert texts(ax) == ["0.60"] and ax.get_title().endswith("|cos| is 0.60")


def test_convergence(pitprops):
    """Tests that each component's gap ends where its certificate says."""
    _, result = pitprops
    ax = plotting.plot_convergence(result)
    assert texts(ax) == ["1", "2", "3", "4"]
    ends = [line.get_ydata()[-1] for line in ax.lines if len(line.get_ydata()) == 1]
    np.testing.assert_allclose(ends, np.maximum(result.gaps, 1e-9), rtol=1e-6)


def test_sparsity_path():
    """Tests that a path shows the explained share, and open gaps differently."""
    Q = datasets.load_pitprops().covariance()
    results = [solve(Q, p) for p in (1, 2, 3)]
    open_stage = replace(results[2].stages[0], status=Status.NODE_LIMIT, upper_bound=4.0)
    results[2] = replace(results[2], stages=(open_stage,), status=Status.NODE_LIMIT)
    empty = np.zeros((3, 1))
    path = SparsityPath((1, 2, 3), empty, empty, empty, tuple(results), Status.NODE_LIMIT)
    ax = plotting.plot_sparsity_path(path)
    shares = 100 / 13 * np.array([r.variances[0] for r in results])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), shares)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["certified", "gap open"]


@pytest.mark.parametrize("count", [0, 1])
def test_few_components(count):
    """Tests that every picture can be drawn of one component, and of none."""
    Q = np.diag([3.0, 2.0, 1.0])
    result = solve(Q, 1)
    result = replace(result, stages=result.stages[:count])
    for ax in (
        plotting.plot_loadings(result),
        plotting.plot_scree(result, Q),
        plotting.plot_orthogonality(result),
        plotting.plot_convergence(replace(result, history=())),
    ):
        ax.figure.canvas.draw()


def test_given_axes_and_names(pitprops):
    """Tests that axes can be given, and that names may hold what mathematics would misread."""
    from matplotlib.figure import Figure

    _, result = pitprops
    ax = Figure().add_subplot()
    names = [f"${j}_^" for j in range(13)]
    assert plotting.plot_loadings(result, feature_names=names, ax=ax) is ax
    ax.figure.canvas.draw()


@pytest.mark.filterwarnings("error")
def test_names_in_other_scripts(pitprops, monkeypatch):
    """Tests that letters the first font does not have are taken from one that has them."""
    from matplotlib import font_manager

    from orthospca.interface import fonts

    assert fonts.families(["Ärger", "ось", "βάρος", "x²"]) is None
    installed = [font_manager.FontEntry(name=name) for name in ("DejaVu Sans", "Noto Sans Thai")]
    with monkeypatch.context() as patched:
        patched.setattr(font_manager.fontManager, "ttflist", installed)
        assert fonts.families(["長さ"])[-1] == "Noto Sans Thai"
    if not {font.name for font in font_manager.fontManager.ttflist} & set(fonts.FALLBACKS[:13]):
        pytest.skip("no font with Chinese letters is installed")
    _, result = pitprops
    ax = plotting.plot_loadings(result, feature_names=[f"长度{j}" for j in range(13)])
    ax.figure.canvas.draw()


def test_no_global_state(tmp_path):
    """Tests that drawing does not import pyplot, and that importing does not import matplotlib."""
    code = (
        "import sys\n"
        "from orthospca import plotting, solve\n"
        "assert 'matplotlib' not in sys.modules\n"
        "result = solve([[2.0, 1.0], [1.0, 2.0]], 2, 2)\n"
        "plotting.plot_loadings(result).figure.savefig(sys.argv[1])\n"
        "plotting.plot_convergence(result)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "x.png")], check=True)


def test_without_matplotlib(monkeypatch, pitprops):
    """Tests that a missing matplotlib is one clear sentence."""
    _, result = pitprops
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "orthospca\[plot\]"'):
        plotting.plot_convergence(result)
