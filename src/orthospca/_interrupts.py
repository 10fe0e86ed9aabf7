"""Ctrl-C that is noted instead of tearing apart what is being done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def heeding(note: Callable[[], object]) -> Iterator[None]:
    """Call a function at Ctrl-C; a second one raises ``KeyboardInterrupt`` as usual.

    Handlers that the program has set up itself are left alone, and so are threads other than the
    main one.
    """
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )

    def hear(number: int, frame: FrameType | None) -> None:
        note()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if ours:
        signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
