"""Tests that the benchmarks keep up with the package that they measure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_module_can_be_imported(module: str) -> None:
    """Tests that nothing is imported that is not there any more."""
    command = [sys.executable, "-c", f"import benchmarks.{module}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
