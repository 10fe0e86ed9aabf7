"""Tests that the benchmarks keep up with the package that they measure."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    ".".join(path.relative_to(ROOT / "benchmarks").with_suffix("").parts)
    for path in (ROOT / "benchmarks").rglob("[!_]*.py")
)

#: Imports each module that is named, and prints what went wrong, by module.
IMPORTS = """
import importlib, json, sys, traceback
failed = {}
for module in sys.argv[1:]:
    try:
        importlib.import_module(f"benchmarks.{module}")
    except BaseException:
        failed[module] = traceback.format_exc()
print(json.dumps(failed))
"""


@cache
def failed_imports() -> dict[str, str]:
    """The modules that cannot be imported, and why: all in one process of their own."""
    command = [sys.executable, "-c", IMPORTS, *MODULES]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(ended.stdout)


@pytest.mark.parametrize("module", MODULES)
def test_module_can_be_imported(module: str) -> None:
    """Tests that nothing is imported that is not there any more."""
    assert module not in failed_imports(), failed_imports()[module]
