"""``python -m orthospca``: the command line."""

from __future__ import annotations

import sys

#: As of a program that Ctrl-C has ended, by the custom of shells: 128 and the number of SIGINT.
INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C is heard from the first moment on."""
    try:
        from orthospca.interface.cli import main as run

        run()
    except KeyboardInterrupt:
        print("orthospca: interrupted before the end", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
