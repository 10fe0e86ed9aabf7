"""The checker without one of its conditions at a time: something false then slips through."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

#: Each is a minute or two, most of it the certificates that fail by a rounding, made once.
PARTS = 12


@functools.cache
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
@pytest.mark.parametrize("part", range(PARTS))
def test_every_condition_is_needed(part: int) -> None:
    """Tests that each mutation is noticed, or has a reason why it cannot be."""
    found = mutations().run(part, PARTS, every=False)
    unnoticed = [name for name, what in found.items() if not what]
    assert not unnoticed


def test_reasons_name_what_there_is() -> None:
    """Tests that whatever has a reason not to be noticed is a mutation."""
    script = mutations()
    names = script.names()
    assert len(names) > 250
    assert not set(script.REDUNDANT) - set(names)
