"""Memory: how much is free, and how it is written."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from orthospca._errors import InputError
from orthospca.model.validation import validate_nonnegative

UNITS = ("B", "KB", "MB", "GB", "TB")


def free_memory() -> float:
    """Bytes that this process could still take, as the system sees it."""
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable"))
        return 1024.0 * int(free.split()[1])
    with suppress(OSError, ValueError, AttributeError):
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    return 2.0**32


def validate_memory(given: Any) -> float | None:
    """Return a limit in bytes; None if there is none.  A bad one is a ``ValueError``."""
    if given is None:
        return None
    if not isinstance(given, str):
        return validate_nonnegative("memory_limit", given)
    found = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?B?)\s*", given.upper())
    if found is None:
        raise InputError(f"memory_limit must be bytes, or a size such as '4GB', got {given!r}")
    number, unit = found.groups()
    return float(number) * 1000.0 ** UNITS.index(unit.rstrip("B") + "B")


def size_of(n_bytes: float) -> str:
    """Write a size for people: 4.0 GB."""
    unit = 0
    while n_bytes >= 999.5 and unit + 1 < len(UNITS):
        n_bytes, unit = n_bytes / 1000, unit + 1
    return f"{n_bytes:.3g} {UNITS[unit]}"
