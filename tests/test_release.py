"""Tests that what a release is made of agrees: versions, files, dependencies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def project_version() -> str:
    found = re.search(r'^version = "(.+)"$', PROJECT, re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_version_is_the_same_everywhere():
    """Tests the citation and the changelog against the one place where the version stands."""
    version = project_version()
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {version}\n" in citation
    released = re.search(r"^date-released: (\d{4}-\d{2}-\d{2})$", citation, re.MULTILINE)
    assert released is not None
    assert f"\n## {version}, {released[1]}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"version = {{{version}}}" in (ROOT / "README.md").read_text("utf-8")


def test_the_changelog_has_its_versions_in_order():
    """Tests that what is not released yet comes first, then the newest version."""
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heads[0] == "Unreleased"
    numbers = [tuple(map(int, head.split(",")[0].split("."))) for head in heads[1:]]
    assert numbers == sorted(numbers, reverse=True)


def test_the_oldest_versions_are_those_that_are_promised():
    """Tests each line of the constraints against what pyproject.toml asks for."""
    text = (ROOT / "constraints" / "minimum.txt").read_text("utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)$", text, re.MULTILINE))
    asked = dict(re.findall(r'"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)"', PROJECT))
    assert pinned
    # Others are pinned because newer ones do not go with these.
    for name, version in ((name, pinned[name]) for name in pinned if name in asked):
        # 13.0 asks for 13.0.0.
        assert version.removesuffix(".0").startswith(asked[name].removesuffix(".0")), name
    needed = re.search(r"^dependencies = \[(.*?)^\]", PROJECT, re.MULTILINE | re.DOTALL)
    assert needed is not None
    for name in re.findall(r'"([\w-]+)>=', needed[1]):
        assert name in pinned


@pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="not part of what was installed")
def test_workflows_call_targets_that_exist():
    """Tests that the public checks run what contributors run."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    called = set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        called |= set(re.findall(r"run: make ([a-z-]+)", path.read_text("utf-8")))
    assert {"test", "test-all", "test-minimum", "docs", "dist", "test-dist", "demo"} <= called
    assert called <= targets


def test_the_sdist_has_all_that_the_tests_need():
    """Tests that nothing at the top of the repository is left out by accident."""
    found = re.search(r"targets\.sdist\].*?include = \[(.*?)\]", PROJECT, re.DOTALL)
    assert found is not None
    included = re.findall(r'"/(.+?)"', found[1])
    made = {".venv", ".venv-minimum", "build", "dist", "htmlcov", "orthospca-out", "PKG-INFO"}
    for path in ROOT.iterdir():
        made_here = path.name in made or path.name.startswith((".git", ".coverage"))
        if path.name.endswith("_cache") or path.name in (".hypothesis", "__pycache__") or made_here:
            continue
        wanted = path.name in included or (path.suffix == ".md" and "*.md" in included)
        assert wanted or path.name == "pyproject.toml", f"{path.name} is not in the sdist"
