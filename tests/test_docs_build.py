"""Tests of the built documentation: it needs no network, and shows what there is to show."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MATH = re.compile(r"<math.*?</math>", re.DOTALL)
SOURCE = re.compile(r"<annotation.*?</annotation>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
#: In units of the font, of which an em has a thousand.
HEIGHT_OF_PLAIN_PRIME = 350

# One process builds the pages, once.
pytestmark = pytest.mark.xdist_group("documentation")


def loaded(name: str) -> ModuleType:
    """A module of the documentation, which is no package."""
    spec = importlib.util.spec_from_file_location(Path(name).stem, DOCS / name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Records look their own module up there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def links() -> ModuleType:
    return loaded("links.py")


@pytest.fixture(scope="module")
def formulas() -> ModuleType:
    return loaded("_ext/offline_math.py")


def build(builder: str, folder: Path) -> Path:
    """Build the pages as ``make docs`` does: a warning is an error."""
    options = ["-q", "-W", "--keep-going", "-b", builder, "-d", str(folder / "trees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(folder / builder)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / builder


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """All pages, with their pictures and the example report."""
    return build("html", tmp_path_factory.mktemp("pages"))


@pytest.mark.slow
def test_pages_are_read_without_a_warning(tmp_path):
    """Tests every page, docstring and reference, without drawing pictures or writing HTML."""
    build("dummy", tmp_path)


def theory(built: Path) -> list[Path]:
    return sorted((built / "theory").glob("*.html"))


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere_and_no_link_is_broken(built, links):
    """Tests every link inside, with its place on the page, and everything that a page loads."""
    report = links.check(built)
    assert not report.faults, "\n".join(report.faults)
    assert report.inside > 1000


@pytest.mark.slow
def test_formulas_are_mathml(built):
    """Tests that formulas are set by the browser alone: as many as there are, and no script."""
    for page in theory(built):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<script[^>]*(mathjax|katex)", text, re.IGNORECASE)
        assert r"\(" not in TAG.sub("", MATH.sub("", text)), page.name
    shown = sum(len(MATH.findall(page.read_text(encoding="utf-8"))) for page in theory(built))
    source = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "theory").glob("*.md"))
    assert shown >= source.count("$$") / 2 > 50


@pytest.mark.slow
def test_numbers_of_formulas_are_shown(built):
    """Tests that a tag in the source is a number at the margin of the page."""
    source = (DOCS / "theory" / "conditioning.md").read_text(encoding="utf-8")
    page = (built / "theory" / "conditioning.html").read_text(encoding="utf-8")
    for tag in re.findall(r"\\tag\{(\w+)\}", source):
        assert f'<span class="formula-number">({tag})</span>' in page


@pytest.mark.slow
def test_the_font_has_every_character_of_the_formulas(built):
    """Tests that the font is there with its mathematical table, for all that pages show."""
    from fontTools.ttLib import TTFont

    font = TTFont(built / "_static" / "formulas.woff")
    assert "MATH" in font
    # A prime is drawn as tall as an exponent has to be before it is made small.
    prime = font["glyf"][font.getBestCmap()[0x2032]]
    assert prime.yMax - prime.yMin > HEIGHT_OF_PLAIN_PRIME
    shown: set[str] = set()
    for page in built.rglob("*.html"):
        for formula in MATH.findall(page.read_text(encoding="utf-8")):
            shown.update(unescape(TAG.sub("", SOURCE.sub("", formula))))
    # Spaces are set by the browser, and a selector of variants is no character by itself.
    missing = {c for c in shown if ord(c) not in font.getBestCmap()} - {"\ufe00", "\ufe01"}
    assert not {character for character in missing if not character.isspace()}
    assert "formulas.woff" in (built / "_static" / "pages.css").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_gallery_shows_every_plot(built):
    """Tests that each public plotting function has a picture, and the call that draws it."""
    from orthospca import plotting

    page = (built / "gallery.html").read_text(encoding="utf-8")
    shown = re.sub(r"\s", "", unescape(TAG.sub("", page)))
    names = [name for name in vars(plotting) if name.startswith("plot_")]
    assert names
    for name in names:
        picture = built / "_static" / "gallery" / f"{name}.svg"
        assert picture.exists() and picture.stat().st_size > 1000, name
        assert f"{name}.svg" in page and f"plotting.{name}(" in shown


@pytest.mark.slow
def test_pictures_say_what_they_show(built):
    """Tests that no picture of our own pages has an empty description."""
    for page in [built / "index.html", built / "gallery.html"]:
        found = re.findall(r'<img class="picture"[^>]*>', page.read_text(encoding="utf-8"))
        assert found
        for picture in found:
            assert re.search(r'alt="[^"]{10,}"', picture), picture


@pytest.mark.slow
def test_the_landing_page_shows_an_example_report(built):
    """Tests that the report is what the command line writes, with its files beside it."""
    page = (built / "index.html").read_text(encoding="utf-8")
    assert '<iframe class="report" src="example/report.html"' in page
    report = (built / "example" / "report.html").read_text(encoding="utf-8")
    assert "breast-cancer" in report and "worst perimeter" in report
    for name in ("loadings.csv", "result.json", "certificate.zip"):
        assert f'href="example/{name}"' in page and (built / "example" / name).exists()


@pytest.mark.slow
def test_nothing_is_generated_into_the_source(built):
    """Tests that a build leaves the checkout as it was."""
    for name in ("example", "_static/gallery", "_static/formulas.woff"):
        assert not (DOCS / name).exists()


def test_formulas_are_converted_or_refused(formulas):
    """Tests that an unknown command is not passed over, and that tags are set apart."""
    import math_core

    with pytest.raises(math_core.LatexError, match="unknown"):
        formulas.to_mathml(r"\unknown{x}", display=False)
    assert "\u29f5" in formulas.to_mathml(r"U \setminus F", display=False)
    assert formulas.split_tag(r"a = b \tag{3}") == ("a = b", "3")
    assert formulas.split_tag("a = b") == ("a = b", None)


def test_broken_links_and_requests_are_found(links, tmp_path):
    """Tests the check itself: a missing file, a missing place, a script and a font elsewhere."""
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">fine</a><a href="b.html#there">no</a><a href="c.html">no</a>'
        '<script src="https://cdn.example/mathjax.js"></script>'
        '<a href="https://example.org">listed</a><img src="data:image/png;base64,AA">',
        encoding="utf-8",
    )
    (tmp_path / "b.html").write_text('<p id="here">', encoding="utf-8")
    (tmp_path / "s.css").write_text("a { background: url(//example.org/x.png) }", encoding="utf-8")
    report = links.check(tmp_path)
    assert sorted(report.faults) == [
        "a.html links to b.html#there: no such place on that page",
        "a.html links to c.html: no such file",
        "a.html loads https://cdn.example/mathjax.js from elsewhere",
        "s.css loads //example.org/x.png from elsewhere",
    ]
    assert report.elsewhere == {"https://example.org": {"a.html"}}
