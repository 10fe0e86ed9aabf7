"""Where the compiled step comes from: from disk, or from a process that compiles it meanwhile.

Nothing waits for it.  A walk that turns out long asks for it and goes on in NumPy; another process
compiles and leaves its work where Numba keeps such things; then it is loaded, and all walks of this
process use it from their first step on.  What is found and proved is the same either way.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from orthospca._typing import Array, IntArray

#: Rows of numbers and of places that the step works with.
NUMBERS, PLACES = 8, 3

#: Seconds that must be left to load it; at a time limit nothing is begun that cannot be stopped.
LOADING = 2.0

#: What the process that compiles is told to do.
COMPILE = (
    "from orthospca.bounds.conditioning import compiled; raise SystemExit(compiled.load() is None)"
)

Step = Callable[..., tuple[int, int, int]]

_log = logging.getLogger("orthospca")
_lock = threading.Lock()


class _Child(subprocess.Popen[bytes]):
    """A process that nobody waits for: it may outlive this one, and does no harm if it fails."""

    def __del__(self, *_: Any) -> None:
        """Say nothing of a process that is still running."""


class _State:
    """What this process has."""

    step: Step | None = None
    child: _Child | None = None
    failed = False


@cache
def _is_there() -> bool:
    return importlib.util.find_spec("numba") is not None


def is_installed() -> bool:
    """Whether there is something to compile with, as far as can be told without loading it."""
    return _is_there() and not _State.failed


def space(n: int) -> tuple[Array, IntArray]:
    """Return numbers and places that the step works with, for n features."""
    return np.empty((NUMBERS, n)), np.empty((PLACES, n), dtype=np.int64)


def loaded() -> Step | None:
    """Return the compiled step, if it is there by now."""
    return _State.step


def ask(seconds_left: float) -> None:
    """Load it if it has been compiled, and have it compiled if not; cheap to call again."""
    if _State.step is not None or not is_installed() or not _lock.acquire(blocking=False):
        return
    try:
        child = _State.child
        if child is not None and child.poll() is None:
            return
        if seconds_left < LOADING:
            return
        if child is not None and child.returncode:
            _give_up(f"the process that compiles it ended with {child.returncode}")
        elif child is not None or _is_compiled():
            load()
        elif is_installed():
            _State.child = _start()
    except OSError as error:
        _give_up(error)
    finally:
        _lock.release()


def load() -> Step | None:
    """Load it, or compile it here and now."""
    kernel = _module()
    if kernel is not None and _State.step is None:
        # Whatever is walked, the types are the same.
        kernel.eliminate(np.eye(2), np.ones(2), 2, 1, np.empty((2, 2)), *space(2))
        _State.step = kernel.eliminate
    return _State.step


def _module() -> Any:
    """The module with the step, not compiled yet; None if it cannot be loaded."""
    try:
        from orthospca.bounds.conditioning import kernel
    except Exception as error:  # another NumPy than it knows, or no place to keep what is compiled
        _give_up(error)
        return None
    return kernel


def _give_up(why: object) -> None:
    _log.info("orthospca: the search is not compiled (%s)", why)
    _State.failed = True


def _is_compiled() -> bool:
    """Whether an earlier process has left its work for this one; if in doubt, not."""
    kernel = _module()
    if kernel is None:
        return False
    written = Path(kernel.__file__).stat().st_mtime
    found = Path(kernel.eliminate.stats.cache_path).glob("kernel.eliminate-*.nbi")
    return any(index.stat().st_mtime >= written for index in found)


def _start() -> _Child | None:
    """Start a process that compiles and is on its own from then on."""
    if getattr(sys, "frozen", False) or not sys.executable:
        raise OSError("there is no interpreter to start")
    nothing = subprocess.DEVNULL
    # In a group of its own: Ctrl-C in this terminal is not meant for it.
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.DETACHED_PROCESS}
    return _Child(
        [sys.executable, "-c", COMPILE],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
        **apart,
    )
