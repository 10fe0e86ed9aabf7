"""Tests that the README and the documentation are true: examples, commands, names and links."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from helpers.clocks import ticking

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`(tests/(?:\w+/)?test_\w+\.py)::(test_\w+)`")
ROLE = re.compile(r"\{(?:func|class|meth|attr|mod|exc)\}`(?:[^`<]*<)?~?(orthospca[\w.]*)>?`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|\{doc\}`(?:[^`<]*<)?([^`>]+)>?`")
SOURCES = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("[!_]*/*.md"))]
PAGES = [ROOT / "README.md", *SOURCES]
#: What a look at the clock takes where a limit of time is shown.
SECONDS = {"limits-and-interrupts.md": 0.01}


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the text of each block of code."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [(language, code) for _, language, code in found]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def having(language: str) -> list[Path]:
    return [page for page in PAGES if any(found == language for found, _ in blocks(page))]


def slowly(pages: list[Path]) -> list[Any]:
    """The pages, as parameters; those that solve for seconds are slow."""
    long = {"one-after-another-or-together.md", "choose-sparsity.md", "scale.md"}
    return [
        pytest.param(page, marks=pytest.mark.slow if page.name in long else ()) for page in pages
    ]


def run_page(page: Path, language: str) -> None:
    """Run the blocks of one language; a block of text after one is what it has to print."""
    names: dict[str, object] = {}
    found = blocks(page)
    for index, (kind, code) in enumerate(found):
        if kind != language:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        if index + 1 < len(found) and found[index + 1][0] == "text":
            expected = found[index + 1][1]
            checker = doctest.OutputChecker()
            assert checker.check_output(expected, printed.getvalue(), doctest.ELLIPSIS), (
                f"the example prints\n{printed.getvalue()}\nand not\n{expected}"
            )


@pytest.mark.parametrize("page", slowly(having("python")), ids=named)
def test_examples_print_what_they_say(page, tmp_path, monkeypatch):
    """Tests each block of Python against the block of text that follows it, if one does."""
    monkeypatch.chdir(tmp_path)
    with ticking(SECONDS.get(page.name, 1e-6)):
        run_page(page, "python")


def test_the_gene_expression_tutorial_prints_what_it_says(tmp_path, monkeypatch):
    """Tests the tutorial whose data are not bundled, where they are at hand."""
    from orthospca import datasets

    try:
        datasets.load_colon()
    except (OSError, ImportError) as error:
        pytest.skip(str(error))
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "docs" / "tutorials" / "gene-expression.md", "py")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_tutorial_on_single_cells_prints_what_it_says(tmp_path, monkeypatch):
    """Tests the tutorial whose data come with scanpy, where that is installed."""
    pytest.importorskip("scanpy", reason="scanpy is not installed: pip install orthospca[scanpy]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    run_page(ROOT / "docs" / "tutorials" / "single-cells.md", "py")


@pytest.mark.slow
def test_the_page_for_r_prints_what_it_says(tmp_path):
    """Tests the page where R and reticulate are installed, and know this NumPy."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed (Debian: r-base-core, r-cran-reticulate)")
    environment = {
        "ORTHOSPCA_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT / "src"),
        **os.environ,
    }

    def run(code: str) -> subprocess.CompletedProcess[str]:
        command = ["Rscript", "--vanilla", "-e", code]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
        )

    page = blocks(ROOT / "docs" / "how-to" / "from-r.md")
    code = [text for language, text in page if language == "r"]
    known = run(f"{code[0]}\ncat(py_numpy_available())")
    if not known.stdout.endswith("TRUE"):
        pytest.skip("reticulate is not installed, or older than 1.38 with NumPy 2")
    ended = run("\ncat('---')\n".join(code))
    assert ended.returncode == 0, ended.stderr
    printed = ended.stdout.split("---")[1:]
    expected = [text for language, text in page if language == "text"]
    assert [text.split() for text in printed] == [text.split() for text in expected]


@pytest.mark.parametrize("page", having("py"), ids=named)
def test_examples_that_are_not_run_are_python_all_the_same(page):
    """Tests that blocks which need a cluster or other data are at least well formed."""
    for language, code in blocks(page):
        if language == "py":
            compile(code, page.name, "exec")


def test_every_tutorial_has_examples_that_are_run():
    """Tests that the pages were found, and that the landing page and the answers are among them."""
    run = {named(page) for page in having("python")}
    assert {"README.md", "docs/index.md", "docs/faq.md", "docs/gallery.md"} <= run
    for page in (ROOT / "docs" / "tutorials").glob("*.md"):
        assert named(page) in run or page.name == "single-cells.md"


def commands_in(page: Path) -> list[list[str]]:
    """The command lines of ``orthospca`` that a page shows, as words."""
    found = []
    for _, code in blocks(page):
        for line in code.replace("\\\n", " ").splitlines():
            if line.startswith("orthospca "):
                found.append(shlex.split(line, comments=True)[1:])
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if commands_in(page)], ids=named)
def test_commands_have_the_options_that_are_shown(page):
    """Tests that each command exists, and each of its options."""
    from typer.main import get_command

    from orthospca.interface.cli import app

    known = get_command(app).commands
    for words in commands_in(page):
        assert words[0] in known, f"{named(page)} shows orthospca {words[0]}"
        options = {"--help", "--"}
        for parameter in known[words[0]].params:
            options.update(parameter.opts, parameter.secondary_opts)
        for word in words[1:]:
            if re.match(r"--?[a-z]", word):
                assert word.partition("=")[0] in options, f"{named(page)}: {' '.join(words)}"


@pytest.mark.parametrize("page", SOURCES, ids=named)
def test_names_that_pages_refer_to_exist(page):
    """Tests that functions and classes which a page names can be imported."""
    for name in ROLE.findall(page.read_text(encoding="utf-8")):
        parts = name.split(".")
        thing = importlib.import_module(parts[0])
        for place, part in enumerate(parts[1:], start=2):
            try:
                thing = getattr(thing, part)
            except AttributeError:
                thing = importlib.import_module(".".join(parts[:place]))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=named)
def test_links_lead_to_files(page):
    """Tests the links between sources; places on pages are checked where pages are built."""
    for link, document in LINK.findall(page.read_text(encoding="utf-8")):
        if document:
            folder = ROOT / "docs" if document.startswith("/") else page.parent
            target = folder / f"{document.lstrip('/')}.md"
        else:
            parts = urlsplit(link)
            if parts.scheme or not parts.path:
                continue
            target = page.parent / parts.path
        assert target.exists(), f"{named(page)} links to {link or document}"


def test_the_tests_named_in_the_theory_exist():
    """Tests that each test that a page of the theory rests on is there, under that name."""
    for page in sorted((ROOT / "docs" / "theory").glob("*.md")):
        for file, name in NAMED.findall(page.read_text(encoding="utf-8")):
            source = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {name}(" in source, f"{page.name} names {file}::{name}"


def test_the_readme_names_every_extra():
    """Tests that what can be installed in addition is in the table of the README."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = re.findall(r"^(\w+) = \[", section, re.MULTILINE)
    assert "plot" in extras
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("\n## Extras\n")[2].partition("\n## ")[0]
    assert {f"`{extra}`" for extra in extras} <= set(re.findall(r"`\w+`", table))
