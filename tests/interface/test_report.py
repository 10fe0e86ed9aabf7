"""Tests of the report: complete, self-contained, escaped, honest about what is open."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

from orthospca import Certificate, Status, datasets, solve
from orthospca.interface.report import Section, _page, _pictures, write_report

VOID = {"meta", "img", "br"}


class Checker(HTMLParser):
    """Collects elements and text, and fails on elements that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


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


@pytest.mark.usefixtures("sketches")
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
    for piece in (
        "pine props", "13 × 13", "branch and bound", "max(0.5, 0.0001·|lower|)", "9 s",
        "7 for each", "conditional on the components before it", "orthospca fit x.csv", "ab12",
        "numpy",
        f"{part.result.variances.sum() / 13:.1%}",
        f"{np.linalg.eigvalsh(part.matrix)[-1] / 13:.1%}",
    ):  # fmt: skip
        assert piece in text, piece


def test_self_contained(tmp_path):
    """Tests that the page asks for nothing else: no address but data, no script."""
    pytest.importorskip("matplotlib")
    write_report(tmp_path / "r.html", [small_section(), small_section()])
    checker, _ = parse(tmp_path / "r.html")
    for tag, attributes in checker.elements:
        assert tag not in {"script", "link", "iframe"}
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith("data:")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "url(" not in page and "@import" not in page
    assert sum(tag == "img" for tag, _ in checker.elements) == 8


def test_pictures_are_reproducible():
    """Tests that the same result gives the same pictures, byte for byte."""
    pytest.importorskip("matplotlib")
    part = small_section()
    drawn = _pictures.draw(part)
    assert len(drawn) == 4 and drawn == _pictures.draw(part)


def test_names_are_escaped(tmp_path):
    """Tests that names from a file cannot become markup, in tables or anywhere else."""
    part = small_section()
    names = tuple(f"<script>alert({j})</script>&\"'" for j in range(4))
    part = replace(
        part, title="<b>", source="<i>", result=replace(part.result, feature_names=names)
    )
    write_report(tmp_path / "r.html", [part], title="<u>", command="<s>", files=[("<q>", "<a>")])
    checker, text = parse(tmp_path / "r.html")
    tags = {tag for tag, _ in checker.elements}
    assert not tags & {"script", "i", "u", "s", "q", "a"}
    assert "<script>alert(" in text and "<b>" in text


def test_without_matplotlib(tmp_path, monkeypatch):
    """Tests that without matplotlib the report is written all the same, and says so."""
    for module in (_page, _pictures):
        monkeypatch.setattr(module, "has_matplotlib", lambda: False)
    write_report(tmp_path / "r.html", [section()])
    checker, text = parse(tmp_path / "r.html")
    assert "no pictures, because matplotlib is not installed" in text
    assert all(tag != "img" for tag, _ in checker.elements)


@pytest.mark.usefixtures("sketches")
def test_how_to_check_it(tmp_path):
    """Tests that a certificate is named with its matrix and the command that checks it."""
    Q = datasets.load_pitprops().covariance()
    result = solve(Q, 3, 2, proof=True)
    part = section(result=result, certificate="certificate.zip")
    write_report(tmp_path / "r.html", [part])
    _, text = parse(tmp_path / "r.html")
    assert "orthospca verify certificate.zip ." in text
    assert f"SHA-256 of the matrix, certificate.zip {result.certificate.sha256}" in text
    arrays = {name: a for name, a in result.certificate.arrays.items() if name != "matrix.npy"}
    without = replace(result, certificate=Certificate(result.certificate.manifest, arrays))
    write_report(tmp_path / "r.html", [replace(part, result=without), part])
    _, text = parse(tmp_path / "r.html")
    assert "orthospca verify certificate.zip --data DATA ," in text
    write_report(tmp_path / "r.html", [section()])
    _, text = parse(tmp_path / "r.html")
    assert "orthospca verify" not in text


@pytest.mark.usefixtures("sketches")
def test_open_gap(tmp_path):
    """Tests that an open gap is said at the top, with the bound."""
    part = section()
    stage = replace(part.result.stages[2], status=Status.TIME_LIMIT, upper_bound=9.25)
    result = replace(part.result, stages=(*part.result.stages[:2], stage), status=Status.TIME_LIMIT)
    write_report(tmp_path / "r.html", [replace(part, result=result)])
    checker, text = parse(tmp_path / "r.html")
    assert "stopped by the time limit" in text and "9.25000" in text
    assert ("p", {"class": "verdict open"}) in checker.elements


@pytest.mark.usefixtures("sketches")
def test_exhausted(tmp_path):
    """Tests that a proved end is explained."""
    known = datasets.make_exhausting()
    result = solve(known.matrix, known.sparsity, 4)
    write_report(tmp_path / "r.html", [section(result=result, matrix=known.matrix)])
    _, text = parse(tmp_path / "r.html")
    assert "it is proved that no further component exists: there are fewer components" in text


@pytest.mark.usefixtures("sketches")
def test_deflation(tmp_path):
    """Tests that the baseline's variances are not added up."""
    part = section()
    result = solve(part.matrix, 3, 2, method="deflation")
    write_report(tmp_path / "r.html", [replace(part, result=result)])
    _, text = parse(tmp_path / "r.html")
    assert "not orthogonal: their variances overlap" in text
    assert "in the adjusted matrix" in text and not re.search("together [0-9.]+%", text)


def test_no_component(tmp_path):
    """Tests that a result without a component still has a report."""
    part = section()
    result = replace(part.result, stages=(), status=Status.TIME_LIMIT)
    write_report(tmp_path / "r.html", [replace(part, result=result)])
    _, text = parse(tmp_path / "r.html")
    assert "0 components; stopped by the time limit" in text
