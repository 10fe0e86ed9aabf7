"""How a command ends: its exit codes, and one sentence for what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from orthospca._errors import InputError

SOLVED, REJECTED, BAD_INPUT, OPEN_GAP = 0, 1, 2, 3
#: Ctrl-C before there is anything to show, by the custom of shells: 128 and the number of SIGINT.
INTERRUPTED = 130
_interruption_told = False


def say_interrupted() -> None:
    """Say so, once."""
    global _interruption_told
    if not _interruption_told:
        typer.echo("orthospca: interrupted before the end", err=True)
    _interruption_told = True


@contextmanager
def one_sentence_errors(quiet: bool = False, verbose: bool = False) -> Iterator[None]:
    """Turn what is wrong with the input into one sentence and exit code 2.

    Only what is known to be about the input is treated so: any other exception is a fault of the
    program, and hiding its traceback would hide the fault.
    """
    global _interruption_told
    _interruption_told = False
    try:
        if quiet and verbose:
            raise InputError("--quiet and --verbose exclude each other")
        from orthospca.interface.output import set_loudness

        set_loudness(quiet, verbose)
        yield
    except InputError as error:
        typer.echo(f"orthospca: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        say_interrupted()
        raise typer.Exit(INTERRUPTED) from None
