"""The checker without one of its conditions at a time: something false then slips through."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


def mutations() -> Any:
    """The script beside this file."""
    path = Path(__file__).with_name("mutations.py")
    spec = importlib.util.spec_from_file_location("certificate_mutations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_every_condition_is_needed() -> None:
    """Tests that each mutation is noticed, or has a reason why it cannot be."""
    script = mutations()
    found = script.run(every=False)
    assert len(found) > 120
    unnoticed = [name for name, what in found.items() if not what]
    assert not unnoticed
