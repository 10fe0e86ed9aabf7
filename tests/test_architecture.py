"""Tests that the house is as its map says: who imports whom, and what the documentation names."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.seeds import crossed

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "orthospca"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts),
]
#: A name of the package with at least one dot, not part of a path or an address.
DOTTED = re.compile(r"(?<![\w/.-])orthospca(?:\.[A-Za-z_]\w*)+")

#: The contract that is broken, the module that breaks it, and what it imports.
VIOLATIONS = {
    "upwards": ("Rooms import only rooms below them", "model/nodes.py", "search.tree"),
    "past the public names": (
        "What people see is built on public names",
        "interface/display.py",
        "search.methods",
    ),
    "bounds from data": (
        "Covariances of data stand on the model alone",
        "bounds/screening.py",
        "data.covariance",
    ),
}
#: Ways to write an import, and to hide one.
WAYS = {
    "plain": "\n\nimport orthospca.{name}\n",
    "for types only": "\n\nif TYPE_CHECKING:\n    import orthospca.{name}\n",
    "in a function": "\n\ndef hidden():\n    import orthospca.{name}\n",
}


#: Colours, which older versions of import-linter print whoever reads.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts on the package in a folder."""
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert command is not None, "import-linter belongs to the environment of the tests"
    found = subprocess.run(
        [command, "--no-cache", "--config", str(ROOT / ".importlinter")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONUTF8": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    found.stdout = COLOUR.sub("", found.stdout)
    return found


@pytest.fixture
def copied(tmp_path):
    """A copy of the package that may be spoilt."""
    shutil.copytree(PACKAGE, tmp_path / "orthospca", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_contracts_are_kept(copied):
    """Tests that every room imports only what it may, and that all contracts were looked at."""
    found = lint_imports(copied)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "3 kept, 0 broken" in found.stdout


@pytest.mark.parametrize(("what", "how"), crossed(VIOLATIONS, WAYS))
def test_violations_are_noticed(copied, what, how):
    """Tests that an import that is not allowed breaks its contract, however it is hidden."""
    contract, module, name = VIOLATIONS[what]
    way = WAYS[how]
    file = copied / "orthospca" / module
    text = file.read_text(encoding="utf-8")
    file.write_text(text + way.format(name=name), encoding="utf-8")
    found = lint_imports(copied)
    assert found.returncode != 0
    assert f"{contract} BROKEN" in found.stdout
    importer = f"orthospca.{module.removesuffix('.py').replace('/', '.')}"
    assert f"{importer} -> orthospca.{name}" in found.stdout


def test_a_new_room_needs_a_place(copied):
    """Tests that a module at the top that no layer names is noticed."""
    (copied / "orthospca" / "attic.py").write_text('"""Nobody knows."""\n', encoding="utf-8")
    found = lint_imports(copied)
    assert found.returncode != 0
    assert "attic" in found.stdout + found.stderr


def test_the_picture_is_that_of_the_code():
    """Tests that the picture of the house shows the rooms and imports that there are now."""
    house = runpy.run_path(str(ROOT / "docs" / "house.py"))
    drawn = (ROOT / "docs" / "_static" / "house.svg").read_text(encoding="utf-8")
    assert drawn == house["picture"](), "draw it anew: python docs/house.py"


def test_the_map_names_every_room():
    """Tests that the map in CONTRIBUTING.md has a line for each room."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.name for path in PACKAGE.glob("*.py") if path.name != "__init__.py"}
    missing = [f"{name}/" for name in packages if f"`{name}/`" not in text]
    missing += [name for name in modules if f"`{name}`" not in text]
    assert not missing


def defined() -> dict[str, set[str]]:
    """What each module and each class of the package defines, by its last name."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for name, owner in ((path.stem, tree), *((node.name, node) for node in classes)):
            found.setdefault(name, set()).update(names_in(owner.body))
    return found


def names_in(body: list[ast.stmt]) -> set[str]:
    names = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def test_the_walk_names_what_there_is():
    """Tests that each function on the walk from `solve` to `Result` is where it is said to be."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walk = text[text.index("## The walk") : text.index("## Where to add things")]
    named = re.findall(r"`(\w+)\.(\w+)`", walk)
    known = defined()
    assert len(named) > 40
    assert [f"{a}.{b}" for a, b in named if b not in known.get(a, ())] == []


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something that a module or a class has."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        break
    for part in parts[length:]:
        if not hasattr(found, part):
            # A field of a dataclass need not be an attribute of the class.
            return part == parts[-1] and part in getattr(found, "__dataclass_fields__", ())
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_in_the_documentation_resolve(page):
    """Tests that every dotted name of the package that a page mentions can be imported."""
    names = sorted(set(DOTTED.findall(page.read_text(encoding="utf-8"))))
    if importlib.util.find_spec("numba") is None:
        # The compiled loop cannot be imported without its compiler.
        names = [name for name in names if ".conditioning.kernel" not in name]
    assert [name for name in names if not resolves(name)] == []


def test_names_that_do_not_resolve_are_noticed():
    """Tests the check itself."""
    assert resolves("orthospca.solve")
    assert resolves("orthospca.model.stage.Subproblem.projected")
    assert resolves("orthospca.model.stage.Subproblem.covariance")
    assert not resolves("orthospca.model.stage.Subproblem.nothing")
    assert not resolves("orthospca.nowhere.solve")
    assert not resolves("orthospca.solve.nothing")
    assert DOTTED.findall("`orthospca.a.b` and src/orthospca.c, orthospca: d") == ["orthospca.a.b"]
