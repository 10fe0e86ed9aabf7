"""Measurements in a process of their own: a limit that always holds, and memory that is theirs.

A peer that hangs in compiled code cannot be stopped from within its process, and the peak of
memory of a process never falls.  So each measurement gets a new one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: What a call in a child gets first: hands a value to the parent, at once.
Send = Callable[[Any], None]

#: Seconds for imports and data, before the measured part begins.
START_SECONDS = 120.0
#: BLAS, OpenMP and Numba run on one thread in children.
ONE_THREAD = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes
    ----------
    values : list
        What it sent, in order.
    in_time : bool
        Whether it came to its end within the limit.
    error : str
        The last line of the exception that ended it, if one did.
    """

    values: list[Any] = field(default_factory=list)
    in_time: bool = True
    error: str = ""


def run_in_child(call: Callable[..., None], *args: Any, limit: float) -> Ended:
    """Run ``call(send, *args)`` in a new process with one thread; end it after ``limit`` seconds.

    The limit counts from the first value sent, which says that imports and data are ready.
    """
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    process = context.Process(target=_work, args=(sending, call, args), daemon=True)
    process.start()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
    sending.close()
    try:
        ended = _listen(receiving, limit)
        if ended.in_time:
            # What said that it ends may clean up.
            process.join(5.0)
        return ended
    finally:
        _end(process)
        receiving.close()


def _end(process: Any) -> None:
    """End a child, with what it has started: a tool written in R goes on by itself otherwise."""
    with contextlib.suppress(AttributeError, ProcessLookupError, PermissionError):
        if os.getpgid(process.pid) != os.getpgid(0):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def _listen(receiving: Any, limit: float) -> Ended:
    values: list[Any] = []
    end = time.monotonic() + START_SECONDS
    while True:
        if not receiving.poll(max(end - time.monotonic(), 0.0)):
            return Ended(values, in_time=False)
        try:
            kind, value = receiving.recv()
        except EOFError:
            return Ended(values, error="the process ended without an answer")
        if kind == "error":
            return Ended(values, error=value)
        if kind == "end":
            return Ended(values)
        if not values:
            end = time.monotonic() + limit
        values.append(value)


def _work(sending: Any, call: Callable[..., None], args: tuple[Any, ...]) -> None:
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    # Peers print what they like; that is not part of a table.
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    try:
        call(lambda value: sending.send(("value", value)), *args)
        sending.send(("end", None))
    except BaseException as error:
        with contextlib.suppress(OSError):
            lines = traceback.format_exception_only(type(error), error)
            sending.send(("error", lines[-1].strip()))


def forget_peak() -> float:
    """Start the peak of memory anew, where the system can; return the megabytes in use now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _memory("VmRSS")


def peak_memory() -> float:
    """Largest number of megabytes in use since the process began, or since :func:`forget_peak`."""
    return _memory("VmHWM")


def _memory(name: str) -> float:
    """A line of the kernel's account; ``ru_maxrss`` would begin with the parent's memory."""
    try:
        for line in Path("/proc/self/status").read_text("ascii").splitlines():
            if line.startswith(name):
                return float(line.split()[1]) / 1024
    except OSError:
        pass
    return float("nan")
