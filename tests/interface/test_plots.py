"""Tests that both renderers draw what a picture says, and that names of arrows keep apart."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from orthospca import alternatives, datasets, solve, stability
from orthospca.interface.plots import choosing, results, scores
from orthospca.interface.plots.mpl import draw
from orthospca.interface.plots.spec import XY, Axis, Grid, Line, Plot, placed
from orthospca.interface.plots.svg import render
from orthospca.interface.scores import Scores
from orthospca.path import SparsityPath
from orthospca.result import Status


def pictures() -> dict[str, Plot]:
    """One of every kind, of a result with an open gap."""
    wine = datasets.load_wine()
    Q, names = wine.correlation(), wine.feature_names
    result = solve(Q, 7, 2)
    still_open = replace(result.stages[1], status=Status.TIME_LIMIT, upper_bound=4.0)
    result = replace(result, stages=(result.stages[0], still_open), status=Status.TIME_LIMIT)
    path = [replace(c, status=Status.TIME_LIMIT) if p else c for p, c in enumerate(result.path)]
    known = Scores(wine.data[:, :2], groups=wine.target)
    points = scores.scatter(result, names, known, list(range(len(wine.data))))
    steady = stability(wine.data, 2, n_resamples=3, correlation=True, random_state=0)
    return {
        "loadings": results.loadings(result, names, 5),
        "scree": results.scree(result, np.linalg.eigvalsh(Q)[::-1]),
        "gaps": results.gaps(result),
        "angles": results.angles(result),
        "path": choosing.path_variance(
            SparsityPath.of_first(replace(result, known_path=tuple(path)))
        ),
        "scores": points,
        "biplot": scores.biplot(points, result, names, (0, 1), 5),
        "stability": choosing.selection(steady, 9),
        "alternatives": choosing.alternatives(alternatives(Q, 4, 0.1), 9, 9),
    }


@pytest.fixture(scope="module", params=range(9))
def picture(request) -> Plot:
    return list(pictures().values())[request.param]


def texts_of(svg: str) -> list[str]:
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_both_renderers_agree(picture):
    """Tests that names, titles, legends, limits and written values are the same in both."""
    pytest.importorskip("matplotlib")
    chart, ax = render(picture), draw(picture)
    written = texts_of(chart.svg)
    assert ax.get_title().startswith(picture.title) and picture.left_out in ax.get_title()
    assert chart.svg.count("aria-label") == 1 and len(picture.told) > 20
    if isinstance(picture, XY):
        limits = picture.ranges()
        np.testing.assert_allclose([ax.get_xlim(), ax.get_ylim()], limits)
        assert ax.get_xlabel() == picture.x.label and ax.get_ylabel() == picture.y.label
        legend = ax.get_legend()
        named = {text.get_text() for text in legend.get_texts()} if legend else set()
        assert named <= set(written)
        assert {mark.name for mark in picture.marks} - {""} <= named
        assert len(chart.data["marks"]) == sum(len(mark.tips) for mark in picture.marks)
    else:
        rows = [label.get_text() for label in ax.get_yticklabels()]
        assert rows == list(picture.rows) and set(rows) <= set(written)
        inside = [text.get_text() for text in ax.texts]
        cells = [text for _, _, text in chart.data["cells"]]
        assert len(cells) == np.count_nonzero(picture.values)
        assert inside == cells if picture.beside is None else len(inside) == len(rows)


def test_hollow_points_are_named():
    """Tests that an open gap is in the legend of both, and only if there is one."""
    pytest.importorskip("matplotlib")
    for is_open in (True, False):
        line = Line("certified", [1, 2], [3.0, 4.0], hollow=[False, is_open])
        spec = XY("x", "X", "", [line], Axis("p"), Axis("v"))
        legend = [text.get_text() for text in draw(spec).get_legend().get_texts()]
        assert ("gap open" in legend) is ("gap open" in texts_of(render(spec).svg)) is is_open


def test_shades():
    """Tests colours: linear with sign, nothing for zero and NaN."""
    values = np.array([[0.0, -0.5], [1.0, np.nan]])
    grid = Grid("g", "G", "", values, ["a", "b"], ["1", "2"])
    assert grid.shades().tolist() == [[0.0, -0.5], [1.0, 0.0]]
    assert grid.cells() == [(0, 1), (1, 0)]


def test_names_of_arrows_keep_apart():
    """Tests that no two names overlap, that all stay inside, and that what has no room is told."""
    rng = np.random.default_rng(0)
    ends = [(float(x), 200.0) for x in rng.uniform(210, 390, 8)] + [(200.0, 40.0), (60.0, 200.0)]
    widths = [90.0] * len(ends)
    places = placed(ends, widths, (200.0, 200.0), (0.0, 400.0))
    shown = [place for place in places if place is not None]
    assert len(shown) == len(ends)
    assert all(0.0 <= x <= 310.0 for x, _ in shown)
    for (x, y), (u, v) in combinations(shown, 2):
        assert abs(x - u) >= 90.0 or abs(y - v) >= 14.0
    crowd = placed([(300.0, 200.0)] * 20, [90.0] * 20, (200.0, 200.0), (0.0, 400.0))
    assert crowd.count(None) == 7
