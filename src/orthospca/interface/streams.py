"""Standard output and standard error that may go away while a command is running.

``orthospca fit … | head -1`` closes the pipe after a line, and a device may be full.  Neither is a
reason to lose a search that is under way, or what it has found: who prints goes on, and the end of
the program says what could not be shown.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

#: What a reader that has seen enough leaves behind: on Windows a closed pipe is the second one.
CLOSED = (errno.EPIPE, errno.EINVAL)


class Outlet:
    """A text stream whose writing never fails; what went wrong is kept.

    Parameters
    ----------
    stream : text stream

    Attributes
    ----------
    error : OSError or None
        Why nothing is written any more.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Write, as long as that is possible."""
        try:
            return int(self._stream.write(text))
        except OSError as error:
            self._give_up(error)
            return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several strings."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Pass on what was written, as long as that is possible."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    @property
    def is_closed(self) -> bool:
        """Whether the reader has gone, which is nobody's fault."""
        return self.error is not None and self.error.errno in CLOSED

    def _give_up(self, error: OSError) -> None:
        """Write into nothing from now on, also what is left in a buffer until Python ends."""
        self.error = self.error or error
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def lasting_streams() -> Iterator[Outlet]:
    """Put outlets in the place of standard output and standard error.

    Yields
    ------
    Outlet
        Of standard output: its ``error`` says whether something could not be shown.
    """
    before = sys.stdout, sys.stderr
    # A stream that was closed when the program began is None, and everything may be said to it.
    output, errors = (Outlet(io.StringIO() if stream is None else stream) for stream in before)
    sys.stdout, sys.stderr = cast(Any, output), cast(Any, errors)
    try:
        yield output
    finally:
        output.flush()
        errors.flush()
        sys.stdout, sys.stderr = before
