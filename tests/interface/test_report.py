"""Tests of the report: complete, self-contained, escaped, honest about what is open."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

from helpers.seeds import later
from orthospca import Certificate, DataCovariance, Status, datasets, solve
from orthospca.interface.html import embedded, paragraph
from orthospca.interface.report import Panel, Section, write_report
from orthospca.interface.scores import Scores, scores_of

VOID = {"meta", "link", "input", "br"}
#: Names that would end a string, an element or a line, and letters of other scripts.
NASTY = (
    "</script><script>alert(1)</script>",
    "\"'&<b onmouseover=alert(1)>",
    "line\u2028separator \\u003c \\",
    "\x00\x07 <!--",
    "長さ",
    "الطول",
    "\ud800 lone",
)


class Checker(HTMLParser):
    """Collects elements and text, and fails on elements that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[tuple[str | None, str]] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert len(given) == len(attrs)
        self.elements.append((tag, given))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts.append((self.elements[-1][1].get("class"), data))
        elif "style" not in self.open:
            self.text.append(data)

    def data(self, kind: str) -> list:
        """What the script is told."""
        return [json.loads(text) for name, text in self.scripts if name == kind]


def parse(path) -> tuple[Checker, str]:
    checker = Checker()
    checker.feed(path.read_text(encoding="utf-8"))
    assert not checker.open
    return checker, " ".join(" ".join(checker.text).split())


def section(**changes) -> Section:
    dataset = datasets.load_pitprops()
    Q = dataset.covariance()
    result = replace(solve(Q, 3, 3), feature_names=dataset.feature_names)
    given = {"title": "Pitprops", "result": result, "matrix": Q, "source": "pine props"}
    return Section(**{**given, **changes})


@cache
def small_section() -> Section:
    """Few variables: pictures that are rendered soon."""
    known = datasets.make_exhausting()
    return section(title="small", result=solve(known.matrix, 2, 2), matrix=known.matrix)


def test_what_is_in_it(tmp_path):
    """Tests that problem, certificates, loadings, shares, meaning and versions are all there."""
    part = section(settings={"gap": 1e-4, "eps": 0.5, "time_limit": 9.0, "node_limit": 7})
    write_report(
        tmp_path / "r.html", [part], command="orthospca fit x.csv", files=[("x.csv", "ab12")]
    )
    _, text = parse(tmp_path / "r.html")
    for k, component in enumerate(part.result.stages):
        assert f"{component.variance:#.6g}" in text and f"{component.upper_bound:#.6g}" in text
        for j in component.support:
            shown = f"{component.vector[j]:+.3f}".replace("-", "−")
            assert f"{part.result.feature_names[j]} {shown}" in text, k
    assert "p = " not in text and "the gaps above" not in text
    for piece in (
        "pine props", "13 × 13", "branch and bound", "max(0.5, 0.0001·|lower|)", "9 s",
        "7 for each", "conditional on the components before it", "orthospca fit x.csv", "ab12",
        "numpy",
        f"{100 * part.result.variances.sum() / 13:.1f} %",
        f"{100 * np.linalg.eigvalsh(part.matrix)[-1] / 13:.1f} %",
    ):  # fmt: skip
        assert piece in text, piece


def test_self_contained(tmp_path):
    """Tests that the page asks for nothing else, and that its policy allows nothing else."""
    write_report(tmp_path / "r.html", [small_section(), section()])
    checker, _ = parse(tmp_path / "r.html")
    for tag, attributes in checker.elements:
        assert tag not in {"iframe", "img", "object", "embed", "base", "form"}
        for name in ("src", "href", "xlink:href", "action", "data"):
            address = attributes.get(name, "#")
            assert address.startswith("#") or address == "data:,"
        assert not any(name.startswith("on") for name in attributes)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "url(" not in page and "@import" not in page
    (policy,) = (
        attributes["content"]
        for tag, attributes in checker.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    (code,) = (text for kind, text in checker.scripts if kind is None)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")


def test_charts_need_no_matplotlib(tmp_path, monkeypatch):
    """Tests that every chart is there where matplotlib is not, and is described in words."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_report(tmp_path / "r.html", [with_scores()])
    checker, text = parse(tmp_path / "r.html")
    names = [a["data-name"] for tag, a in checker.elements if tag == "figure"]
    assert names == [
        "loadings", "scores", "variance", "explained", "path", "path-variables", "gaps",
    ]  # fmt: skip
    drawings = [a for tag, a in checker.elements if tag == "svg"]
    assert len(drawings) == len(names)
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in drawings)
    assert "matplotlib" not in text


def test_reports_are_reproducible(tmp_path):
    """Tests that the same result gives the same report, but for the minute it was written in."""
    for name in ("a", "b"):
        write_report(tmp_path / name, [small_section()])
    texts = [(tmp_path / name).read_text(encoding="utf-8") for name in ("a", "b")]
    first, second = (re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", text) for text in texts)
    assert first == second


def with_scores(**changes) -> Section:
    """Wine: observations with classes and names."""
    dataset = datasets.load_wine()
    Q = dataset.correlation()
    result = replace(solve(Q, 4, 3), feature_names=dataset.feature_names)
    values = scores_of(dataset.data, result, correlation=True)
    rows = tuple(f"bottle {i}" for i in range(len(values)))
    given = {"title": "Wine", "result": result, "matrix": Q, "matrix_kind": "correlation"}
    given["scores"] = Scores(values, rows, "cultivar", dataset.target)
    return Section(**{**given, **changes})


def test_biplot(tmp_path):
    """Tests that arrows are drawn for components that share variables, and names beside axes."""
    part = with_scores()
    write_report(tmp_path / "r.html", [part])
    checker, _ = parse(tmp_path / "r.html")
    first, second, *_ = part.result.supports
    assert not set(first.tolist()) & set(second.tolist())
    assert "biplot" not in [a.get("data-name") for _, a in checker.elements]
    (scores,) = checker.data("scores")
    for j in first:
        assert part.result.feature_names[j] in scores["axes"][0]
    # Twice seven of thirteen variables: at least one is in both components.
    Q = datasets.load_wine().correlation()
    result = replace(solve(Q, 7, 2), feature_names=part.result.feature_names)
    scores = replace(part.scores, values=part.scores.values[:, :2])
    write_report(tmp_path / "r.html", [replace(part, result=result, scores=scores)])
    checker, _ = parse(tmp_path / "r.html")
    assert "biplot" in [a.get("data-name") for _, a in checker.elements]
    (arrows,) = (
        c["marks"] for c in checker.data("marks") if "component 2: +" in str(c.get("marks"))
    )
    names = {text.splitlines()[0] for _, _, text in arrows}
    assert names == {result.feature_names[j] for support in result.supports for j in support}


def test_names_are_escaped(tmp_path):
    """Tests that names cannot become markup or script, in tables, charts, titles or data."""
    part = with_scores()
    result = part.result
    names = tuple(NASTY[j % len(NASTY)] for j in range(result.n_features))
    rows = tuple(NASTY[i % len(NASTY)] for i in range(len(part.scores.values)))
    scores = Scores(part.scores.values, rows, NASTY[0], rows)
    part = replace(
        part,
        title=NASTY[1],
        source=NASTY[0],
        certificate="",
        result=replace(result, feature_names=names),
        scores=scores,
        more=[Panel("more", NASTY[1], (NASTY[0],), NASTY[1])],
    )
    write_report(tmp_path / "r.html", [part], title="<u>", command="<s>", files=[("<q>", "<a>")])
    checker, text = parse(tmp_path / "r.html")
    tags = [tag for tag, _ in checker.elements]
    assert not set(tags) & {"b onmouseover=alert(1)", "u", "s", "q"}
    kinds = [a.get("class") for tag, a in checker.elements if tag == "script"]
    assert kinds.count(None) == 1 and set(kinds) == {None, "marks", "scores", "result"}
    for _, attributes in checker.elements:
        assert not any(name.startswith("on") for name in attributes)
    assert NASTY[0] in text and "長さ" in text and "الطول" in text
    (carried,) = checker.data("result")
    (shown,) = checker.data("scores")
    assert carried["feature_names"] == list(names)
    assert shown["rows"] == list(rows)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "\x00" not in page and "\u2028" not in re.sub(r">[^<]*<", "", page)


@pytest.mark.parametrize("text", NASTY)
def test_embedded_data(text):
    """Tests that a string comes back from the page as it was, and ends nothing there."""
    page = embedded(json.dumps([text], ensure_ascii=False), "x")
    inside = page.removeprefix('<script type="application/json" class="x">')
    inside = inside.removesuffix("</script>")
    assert not set(inside) & set("<>&\u2028\u2029")
    assert json.loads(inside) == [text]


def test_what_charts_tell(tmp_path):
    """Tests the data of charts: cells are the loadings, marks the variances, points the scores."""
    part = with_scores()
    write_report(tmp_path / "r.html", [part])
    checker, _ = parse(tmp_path / "r.html")
    cells = checker.data("marks")[0]
    X, names = part.result.components, list(part.result.feature_names)
    found = {
        (names.index(cells["rows"][i]), cells["columns"][k], text) for i, k, text in cells["cells"]
    }
    assert found == {
        (j, f"component {k + 1}", f"{X[k, j]:+.2f}".replace("-", "−"))
        for k, j in zip(*np.nonzero(X), strict=True)
    }
    (scores,) = checker.data("scores")
    np.testing.assert_allclose(np.transpose(scores["values"]), part.scores.values, rtol=1e-5)
    assert scores["by"] == "cultivar"
    labels = {i: group["name"] for group in scores["groups"] for i in group["rows"]}
    assert tuple(labels[i] for i in range(len(labels))) == part.scores.groups
    scree = next(c for c in checker.data("marks") if "ordinary PCA" in str(c.get("marks")))
    assert len(scree["marks"]) == 3
    assert scree["marks"][0][2].startswith(f"component 1: {part.result.variances[0]:.5g}")


def test_scores_come_with_data(tmp_path):
    """Tests that a covariance defined by data gives scores without being told."""
    data = datasets.load_wine().data
    Q = DataCovariance(data, correlation=True)
    result = solve(Q, 4, 2)
    write_report(tmp_path / "r.html", [Section("Wine", result, Q)])
    checker, _ = parse(tmp_path / "r.html")
    (scores,) = checker.data("scores")
    assert len(scores["values"][0]) == len(data)
    variances = np.var(scores["values"], axis=1, ddof=1)
    np.testing.assert_allclose(variances, result.variances, rtol=1e-5)  # six digits are shown
    write_report(tmp_path / "r.html", [Section("Wine", solve(Q, 4), Q)])
    checker, _ = parse(tmp_path / "r.html")
    assert "scores" in [a.get("data-name") for _, a in checker.elements]


def test_one_number_for_the_largest_cosine(tmp_path):
    """Tests that the report says one largest |cos|, and the picture of matplotlib the same."""
    part = section()
    write_report(tmp_path / "r.html", [part])
    _, text = parse(tmp_path / "r.html")
    X = part.result.components
    largest = np.abs(X @ X.T)[np.tril_indices(len(X), -1)].max()
    written = f"{largest:.1e}" if largest else "0"
    assert f"largest |cos| between two components {written}" in text
    assert len(re.findall(r"\d\.\de-1\d", text)) <= 1


@pytest.mark.parametrize("per_component", [50, *later(500)])
def test_large_reports(tmp_path, made_up, per_component):
    """Tests that 100 components of 5000 variables stay below 5 MB, names and loadings included."""
    result = made_up(100, 5000, per_component)
    rng = np.random.default_rng(0)
    rows = tuple(f"patient number {i}" for i in range(20_000))
    scores = Scores(rng.standard_normal((20_000, 100)), rows, "tissue", rows)
    data = rng.standard_normal((100, 5000))
    data *= np.sqrt(result.total_variance / data.var(axis=0, ddof=1).sum())
    part = Section("large", result, DataCovariance(data), scores=scores)
    write_report(tmp_path / "r.html", [part])
    assert (tmp_path / "r.html").stat().st_size < 5_000_000
    checker, text = parse(tmp_path / "r.html")
    assert len(checker.elements) < 40_000
    for component in result.stages:
        strongest = result.feature_names[np.abs(component.vector).argmax()]
        assert strongest in text
    assert "of 20000 observations are drawn" in text


def test_further_panels(tmp_path):
    """Tests that there is room for more: a panel with its entry in the contents."""
    more = [Panel("alternatives", "Near-optimal alternatives", (paragraph("none within 1 %"),))]
    write_report(tmp_path / "r.html", [section(more=more)])
    checker, text = parse(tmp_path / "r.html")
    assert "none within 1 %" in text and text.count("Near-optimal alternatives") == 2
    links = {a["href"][1:] for tag, a in checker.elements if tag == "a"}
    ids = [a["id"] for _, a in checker.elements if "id" in a]
    assert "part1-alternatives" in links and links <= set(ids) and len(ids) == len(set(ids))


def test_how_to_check_it(tmp_path):
    """Tests that a certificate is named with its matrix and the command that checks it."""
    Q = datasets.load_pitprops().covariance()
    result = solve(Q, 3, 2, proof=True)
    part = section(result=result, certificate="certificate.zip")
    write_report(tmp_path / "r.html", [part])
    _, text = parse(tmp_path / "r.html")
    assert "Run: orthospca verify certificate.zip SHA-256 of the matrix" in text
    assert f"SHA-256 of the matrix {result.certificate.sha256}" in text
    arrays = {name: a for name, a in result.certificate.arrays.items() if name != "matrix.npy"}
    without = replace(result, certificate=Certificate(result.certificate.manifest, arrays))
    write_report(tmp_path / "r.html", [replace(part, result=without), part])
    _, text = parse(tmp_path / "r.html")
    assert "orthospca verify certificate.zip --data DATA SHA-256" in text
    write_report(tmp_path / "r.html", [section()])
    _, text = parse(tmp_path / "r.html")
    assert "orthospca verify" not in text


def test_open_gap(tmp_path):
    """Tests that an open gap is said at the top, with the bound."""
    part = section()
    stage = replace(part.result.stages[2], status=Status.TIME_LIMIT, upper_bound=9.25)
    result = replace(part.result, stages=(*part.result.stages[:2], stage), status=Status.TIME_LIMIT)
    write_report(tmp_path / "r.html", [replace(part, result=result)])
    checker, text = parse(tmp_path / "r.html")
    assert "stopped by the time limit" in text and "9.25000" in text
    assert ("p", {"class": "verdict open"}) in checker.elements


def test_exhausted(tmp_path):
    """Tests that a proved end is explained."""
    known = datasets.make_exhausting()
    result = solve(known.matrix, known.sparsity, 4)
    write_report(tmp_path / "r.html", [section(result=result, matrix=known.matrix)])
    _, text = parse(tmp_path / "r.html")
    assert "it is proved that no further component exists: there are fewer components" in text


def test_deflation(tmp_path):
    """Tests that the baseline's variances are not added up."""
    part = section()
    result = solve(part.matrix, 3, 2, method="deflation")
    write_report(tmp_path / "r.html", [replace(part, result=result)])
    _, text = parse(tmp_path / "r.html")
    assert "not orthogonal: their variances do not add up" in text
    assert "in the adjusted matrix" in text
    assert not re.search("together [0-9.]+ %", text)
    first = result.stages[0]
    tilted = replace(first, vector=(3 * first.vector + 4 * np.eye(13)[12]) / 5)
    result = replace(result, stages=(first, tilted))
    write_report(tmp_path / "r.html", [replace(part, result=result)])
    _, text = parse(tmp_path / "r.html")
    assert "Angles between components" in text and "between two components 0.60" in text


def test_no_component(tmp_path):
    """Tests that a result without a component still has a report."""
    part = section()
    result = replace(part.result, stages=(), status=Status.TIME_LIMIT)
    write_report(tmp_path / "r.html", [replace(part, result=result)])
    _, text = parse(tmp_path / "r.html")
    assert "0 components; stopped by the time limit" in text


def test_a_gap_at_the_tolerance(tmp_path, made_up):
    """Tests that a search that stopped at the tolerance is said to be within it, others not."""
    result = made_up(2, 20, 3)  # gaps of 0.005 %
    for tolerance, shown in ((1e-4, "≤ 0.01 %"), (1e-2, "0.005 %"), (1e-5, "0.005 %")):
        section = Section("one", result, settings={"gap": tolerance})
        write_report(tmp_path / "report.html", [section])
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert f"<dt>largest gap</dt><dd>{shown}</dd>" in page
