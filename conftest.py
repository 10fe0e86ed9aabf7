"""What is collected: the compiled loop only where there is something to compile it with."""

from __future__ import annotations

import importlib.util

collect_ignore: list[str] = []
if importlib.util.find_spec("numba") is None:
    collect_ignore.append("src/orthospca/bounds/conditioning/kernel.py")
