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
    finally:
        # Python notes a KeyboardInterrupt that passes through code given as text, as there is in
        # many a module while it is loaded, and ends by the signal in the end although it was
        # handled.  Other code given as text makes it forget that.
        exec("")


if __name__ == "__main__":
    main()
