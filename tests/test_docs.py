"""Tests that the examples of the README and the documentation print what they say."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`(tests/(?:\w+/)?test_\w+\.py)::(test_\w+)`")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[!_]*/*.md"))]
WITH_CODE = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_print_what_they_say(page, tmp_path, monkeypatch):
    """Tests each block of Python against the block of text that follows it, if one does."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    for index, (language, code) in enumerate(blocks):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        if index + 1 < len(blocks) and blocks[index + 1][0] == "text":
            expected = blocks[index + 1][1]
            checker = doctest.OutputChecker()
            assert checker.check_output(expected, printed.getvalue(), doctest.ELLIPSIS), (
                f"the example prints\n{printed.getvalue()}\nand not\n{expected}"
            )


def test_there_are_examples():
    """Tests that the pages were found."""
    assert {"README.md", "first-steps.md"} <= {page.name for page in WITH_CODE}


def test_the_tests_named_in_the_theory_exist():
    """Tests that each test that a page of the theory rests on is there, under that name."""
    for page in sorted((ROOT / "docs" / "theory").glob("*.md")):
        for file, name in NAMED.findall(page.read_text(encoding="utf-8")):
            source = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {name}(" in source, f"{page.name} names {file}::{name}"
