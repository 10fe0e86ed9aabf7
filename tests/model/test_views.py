"""Results as people meet them: equality, iteration, text, HTML, data frames, pictures, reports."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from orthospca import Component, Result, Status, datasets, solve
from orthospca.model.component import Progress, format_gap
from orthospca.model.printing import INTERVAL, ProgressPrinter

NASTY = '<script>alert("x")</script> & Länge'


def pitprops(**options) -> Result:
    data = datasets.load_pitprops()
    options = {"feature_names": data.feature_names, **options}
    return solve(data.covariance(), 3, 2, **options)


def empty() -> Result:
    return Result(stages=(), n_features=3, sparsity=(2,), status=Status.TIME_LIMIT)


# ---------------------------------------------------------------------------- equality


def test_the_same_answer_is_equal():
    """Tests that two solves of the same problem are equal, and usable in sets and as keys."""
    first, second = pitprops(), pitprops(n_jobs=2)
    second = replace(second, runtime=first.runtime + 1.0)
    assert first == second
    assert hash(first) == hash(second)
    assert len({first, second}) == 1
    assert first.stages[0] == second.stages[0]
    assert hash(first.stages[0]) == hash(second.stages[0])


@pytest.mark.parametrize(
    "change",
    [
        {"feature_names": None},
        {"sparsity": (3, 4)},
        {"status": Status.PRECISION},
        {"method": "eigenvalue"},
        {"total_variance": 12.0},
        {"total_variance": math.nan},
        {"n_features": 14},
        {"exhausted": True},
        {"stages": ()},
    ],
)
def test_another_question_or_answer_is_not_equal(change):
    """Tests that a difference in anything that was asked or answered is one."""
    result = pitprops()
    assert replace(result, **change) != result


def test_how_it_was_found_does_not_matter():
    """Tests that equality looks at the answer, not at the way to it."""
    result = pitprops()
    assert replace(result, runtime=9.0, history=(), note="by hand", certificate=3) == result
    stage = result.stages[0]
    assert replace(stage, nodes=99, runtime=9.0) == stage
    assert replace(stage, vector=-stage.vector) != stage
    assert replace(stage, upper_bound=9.0) != stage
    assert replace(stage, deflated_variance=1.0) != stage


def test_equality_with_what_is_no_result():
    """Tests that a comparison with anything else is false and no error."""
    result = pitprops()
    assert result != "result"
    assert result != result.stages
    assert result is not None
    assert result.stages[0] != result.components[0].tolist()


def test_missing_numbers_are_equal():
    """Tests that NaN, which stands for a number that is missing, does not make results differ."""
    assert empty() == empty()
    assert hash(empty()) == hash(empty())


def test_a_result_equals_itself_after_saving(tmp_path):
    """Tests that saving and loading gives an equal result."""
    result = pitprops()
    result.save(tmp_path / "result.json")
    assert Result.load(tmp_path / "result.json") == result


# ---------------------------------------------------------------------------- a sequence


def test_a_result_is_a_sequence_of_components():
    """Tests length, iteration, indexing and slicing."""
    result = pitprops()
    assert len(result) == 2
    assert list(result) == list(result.stages)
    assert all(isinstance(component, Component) for component in result)
    assert result[0] is result.stages[0]
    assert result[-1] is result.stages[1]
    assert result[1:] == result.stages[1:]
    assert len(empty()) == 0
    assert list(empty()) == []
    with pytest.raises(IndexError):
        result[2]


def test_explained_variance_ratio():
    """Tests the shares of the trace, and that there are none without a positive trace."""
    result = pitprops()
    np.testing.assert_allclose(result.explained_variance_ratio, result.variances / 13)
    assert np.isnan(solve([[-2.0, 1.0], [1.0, -3.0]], 1).explained_variance_ratio).all()
    assert empty().explained_variance_ratio.shape == (0,)


# ---------------------------------------------------------------------------- names


def frames():
    """Covariances as data frames of the libraries that people use."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    wine = datasets.load_wine()
    table = pandas.DataFrame(wine.data, columns=wine.feature_names)
    yield table.cov()
    yield table.corr()
    yield polars.DataFrame(wine.covariance(), schema=list(wine.feature_names))
    yield polars.DataFrame(wine.data, schema=list(wine.feature_names)).corr()


def test_names_of_data_frames():
    """Tests that names come from a covariance that is a data frame, of pandas or polars."""
    for Q in frames():
        result = solve(Q, 3)
        assert result.feature_names == datasets.load_wine().feature_names
        assert result.to_frame().index.tolist() == list(result.feature_names)


def test_names_that_are_given():
    """Tests that names given win over those of the matrix, and that a bad list is refused."""
    Q = next(frames())
    names = [f"v{j}" for j in range(13)]
    assert solve(Q, 3, feature_names=names).feature_names == tuple(names)
    assert solve(np.eye(2), 1).feature_names is None
    with pytest.raises(ValueError, match="one name for each of the 2 features, got 3"):
        solve(np.eye(2), 1, feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="feature_names must be a sequence of names, got 'ab'"):
        solve(np.eye(2), 1, feature_names="ab")
    with pytest.raises(ValueError, match="feature_names must be a sequence of names, got 3"):
        solve(np.eye(2), 1, feature_names=3)


# ---------------------------------------------------------------------------- text and HTML


def test_reprs_are_short():
    """Tests that a result and its components say what they are in a line."""
    result = pitprops()
    assert repr(result) == (
        "Result(2 components, 36.0% of the total variance, n_features=13, sparsity=3, "
        "status='optimal')"
    )
    assert repr(result[0]).startswith("Component(3 of 13 features, variance=2.47533, ")
    assert repr(empty()) == "Result(0 components, n_features=3, sparsity=2, status='time limit')"
    assert "sparsity=[2, 1]" in repr(solve(np.eye(3), [2, 1], 2))


def test_long_names_do_not_break_within():
    """Tests that lines of loadings are of bounded width and no name is torn apart."""
    names = [f"a variable with a very long name, number {j}" for j in range(13)]
    result = solve(datasets.load_pitprops().covariance(), 8, feature_names=names)
    lines = result.summary().splitlines()
    assert max(map(len, lines)) <= 100
    for j in result.supports[0]:
        assert any(names[j] in line for line in lines)


def test_html_of_a_result():
    """Tests that the notebook's view has a row for each component, and every loading."""
    result = pitprops()
    text = result._repr_html_()
    assert text.count("<tr>") == 3
    for name in ("length", "topdiam", "ringbut"):
        assert name in text
    assert "each is certified within the tolerance" in text
    assert "<script" not in text
    assert empty()._repr_html_().count("<tr>") == 1


def test_html_of_names_is_escaped():
    """Tests that a name cannot become markup."""
    names = [NASTY, *"bcdefghijklm"]
    result = solve(datasets.load_pitprops().covariance(), 13, feature_names=names)
    text = result._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_html_of_many_is_bounded():
    """Tests that a result with many components and loadings has a view of bounded size."""
    result = solve(np.diag(np.arange(1.0, 81.0)), 1, 80)
    assert result._repr_html_().count("<tr>") == 51
    assert "30 more rows are not shown" in result._repr_html_()
    wide = solve(np.ones((60, 60)), 60)
    assert "and 20 more" in wide._repr_html_()


# ---------------------------------------------------------------------------- data frames


def test_frame_of_loadings():
    """Tests that the frame has every loading, by name, and is no view of the result."""
    pytest.importorskip("pandas")
    result = pitprops()
    frame = result.to_frame()
    assert frame.shape == (13, 2)
    assert frame.columns.tolist() == ["component1", "component2"]
    np.testing.assert_array_equal(frame.to_numpy(), result.components.T)
    frame.iloc[0, 0] = 7.0
    assert result.components[0, 0] != 7.0
    assert empty().to_frame().shape == (3, 0)
    assert solve(np.eye(3), 1).to_frame().index.tolist() == [0, 1, 2]


def test_frame_of_components():
    """Tests the frame with a row for each component."""
    pytest.importorskip("pandas")
    result = pitprops()
    frame = result.to_frame("components")
    assert frame.index.tolist() == [1, 2]
    np.testing.assert_array_equal(frame["variance"], result.variances)
    np.testing.assert_array_equal(frame["upper_bound"], result.upper_bounds)
    assert frame["status"].tolist() == ["optimal", "optimal"]
    assert frame["features"].iloc[0] == ("length", "topdiam", "bowdist")
    with pytest.raises(ValueError, match="kind must be one of 'loadings', 'components', got 'x'"):
        result.to_frame("x")


def test_frame_without_pandas(monkeypatch):
    """Tests that a missing pandas is named, with what to do about it."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"Result\.to_frame needs pandas: pip install pandas"):
        pitprops().to_frame()


# ---------------------------------------------------------------------------- pictures


def test_plot_shows_itself():
    """Tests that a result draws itself, and that the picture is a PNG for notebooks."""
    pytest.importorskip("matplotlib")
    result = pitprops()
    for kind in ("loadings", "orthogonality", "convergence"):
        picture = result.plot(kind)
        data, size = picture._repr_png_()
        assert data.startswith(b"\x89PNG")
        assert size["width"] > 100
        assert picture.figure is picture.axes.figure
    assert "Loadings" in repr(result.plot())
    Q = datasets.load_pitprops().covariance()
    assert result.plot("scree", Q).axes.get_ylabel() == "variance"
    left_out = len(set().union(*(support.tolist() for support in result.supports))) - 2
    title = result.plot(max_features=2).axes.get_title()
    assert title.startswith("Loadings") and f"{left_out} variables not shown" in title


def test_a_picture_is_kept(tmp_path):
    """Tests that a picture can be written to a file."""
    pytest.importorskip("matplotlib")
    pitprops().plot().save(tmp_path / "loadings.svg")
    assert "<svg" in (tmp_path / "loadings.svg").read_text(encoding="utf-8")


def test_unknown_pictures_are_refused():
    """Tests that the kinds are listed where an unknown one is asked for."""
    with pytest.raises(ValueError, match="kind must be one of 'loadings', 'scree'"):
        pitprops().plot("pie")


def test_nothing_is_drawn_with_before_somebody_asks():
    """Tests that results do not load what draws them."""
    import subprocess

    code = (
        "import sys, orthospca as o; r = o.solve([[2.0, 1.0], [1.0, 2.0]], 1); r.summary(); "
        "r._repr_html_(); loaded = {m.split('.')[0] for m in sys.modules}; "
        "assert not any(m.startswith('orthospca.interface') for m in sys.modules); "
        "assert not loaded & {'matplotlib', 'pandas', 'rich'}, loaded; "
        "assert 'scipy.optimize' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_report_of_a_result(tmp_path):
    """Tests that a result writes its report, with the matrix and without."""
    result = solve(datasets.load_pitprops().covariance(), 3, 2, feature_names=[NASTY, *range(12)])
    result.report(tmp_path / "alone.html")
    alone = (tmp_path / "alone.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert" in alone
    assert "<script>alert" not in alone
    assert "price of sparsity" not in alone
    result.report(tmp_path / "whole.html", datasets.load_pitprops().covariance(), title="Props")
    whole = (tmp_path / "whole.html").read_text(encoding="utf-8")
    assert "price of sparsity" in whole
    assert "Props" in whole


# ---------------------------------------------------------------------------- telling


def progress(stage: int, elapsed: float) -> Progress:
    return Progress(stage, 5, 0, 1.0, 1.5, elapsed)


def tell(verbose, *entries: Progress) -> list[str]:
    """What is printed if the entries come at their times."""
    lines: list[str] = []
    now = [0.0]
    teller = ProgressPrinter("Solver", 2, verbose, lines.append, lambda: now[0])
    for entry in entries:
        now[0] = entry.elapsed
        teller(entry)
    teller.close()
    teller.close()
    return lines


def test_a_line_for_each_component():
    """Tests that each component is told once, when it is done."""
    lines = tell(1, progress(0, 0.1), progress(0, 0.2), progress(1, 0.3), progress(1, 0.4))
    assert lines == [
        "[Solver] component 1 of 2 done: variance 1, proved bound 1.5, gap 50 %, 5 nodes, 0.2 s",
        "[Solver] component 2 of 2 done: variance 1, proved bound 1.5, gap 50 %, 5 nodes, 0.4 s",
    ]
    assert tell(True, progress(0, 0.1)) == tell(1, progress(0, 0.1))


def test_lines_while_a_search_takes_long():
    """Tests that level 2 speaks every few seconds, and level 1 does not."""
    entries = [progress(0, t * INTERVAL / 2) for t in range(5)]
    assert len(tell(1, *entries)) == 1
    lines = tell(2, *entries)
    assert len(lines) == 3
    assert "so far" in lines[0]
    assert "done" in lines[-1]


def test_silence():
    """Tests that level 0 prints nothing, and that a bad level is refused."""
    assert tell(0, progress(0, 0.1), progress(1, 100.0)) == []
    for bad in (-1, "yes", 1.5):
        with pytest.raises(ValueError, match="verbose must be"):
            tell(bad)


def test_large_gaps_and_missing_components():
    """Tests that large gaps are told in times of the variance, and how many were asked for."""
    gaps = {0.5: "50 %", 1.0: "2 times the variance", 7.2: "8.2 times the variance"}
    gaps |= {41.6: "43 times the variance", 2e9: "2e+09 times the variance", math.inf: "open"}
    assert {gap: format_gap(gap) for gap in gaps} == gaps
    result = solve(np.diag([3.0, 2.0]), 1, 2)
    assert "2 components, 100.0%" in result.summary()
    fewer = replace(result, stages=result.stages[:1])
    assert "1 component of 2 requested, 60.0% of the total variance" in fewer.summary()
