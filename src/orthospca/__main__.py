"""``python -m orthospca``: the command line."""

from __future__ import annotations

import os
import sys

#: As of a program that Ctrl-C has ended, by the custom of shells: 128 and the number of SIGINT.
INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C is heard from the first moment on."""
    code: object = 0
    try:
        from orthospca.interface.cli import main as run

        run()
    except KeyboardInterrupt:
        print("orthospca: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except SystemExit as ended:
        code = ended.code
    if code == INTERRUPTED:
        # A KeyboardInterrupt that has passed through a module while it was loaded lets Python end
        # by the signal, although it was handled; there is nothing left to do but to end.
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(INTERRUPTED)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
