"""The command line: a module for each command, and options that are declared once.

All commands go the same way: read, compute, write, show.  What is numerical is imported inside
them, because loading it takes about a second, and help answers without it.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from orthospca._errors import InputError
from orthospca.interface.cli.alternatives import alternatives
from orthospca.interface.cli.audit import audit
from orthospca.interface.cli.demo import demo
from orthospca.interface.cli.fit import fit
from orthospca.interface.cli.options import BAD_INPUT, INTERRUPTED, SOLVED
from orthospca.interface.cli.paper import paper
from orthospca.interface.cli.path import path
from orthospca.interface.cli.significance import significance
from orthospca.interface.cli.stability import stability
from orthospca.interface.cli.verify import verify
from orthospca.interface.streams import lasting_streams


class _Flags:
    """Help says nothing about the values of options that take none."""

    def get_params(self, ctx: Any) -> Any:
        """All parameters."""
        found = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return found


class Command(_Flags, TyperCommand):
    """One command."""


class Commands(_Flags, TyperGroup):
    """All commands; what is wrong with their input is one sentence and an exit code.

    Only what is known to be about the input is treated so: any other exception is a fault of the
    program, and hiding its traceback would hide the fault.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            typer.echo(f"orthospca: {self._as_typed(str(error), ctx)}", err=True)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            typer.echo("orthospca: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None

    def _as_typed(self, message: str, ctx: Any) -> str:
        """What is wrong with an argument, named as the option is: ``--components``."""
        argument, space, rest = message.partition(" ")
        for option in self.commands[ctx.invoked_subcommand].params:
            if option.name == argument and option.opts[-1].startswith("--"):
                argument = option.opts[-1]
        return argument + space + rest


app = typer.Typer(
    cls=Commands,
    name="orthospca",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Sparse principal components that are exactly orthogonal and provably optimal.\n\n"
    "For example: `orthospca demo`, or `orthospca fit data.csv -k 3 -p 5 --correlation`",
    epilog="Exit codes: 0 certified within the tolerance, or verified; 1 certificate rejected; 2 "
    "bad input, or output cannot be written; 3 stopped with an open gap; 130 interrupted before "
    "there was a result.",
)
# In the order in which help lists them.
for _command in (fit, path, alternatives, stability, significance, audit, verify, demo, paper):
    app.command(cls=Command)(_command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"orthospca {version('orthospca')}")
        raise typer.Exit


VERSION = typer.Option(
    "--version", "-V", metavar="", callback=_version, is_eager=True, help="Show the version."
)


@app.callback()
def _options(wanted: Annotated[bool, VERSION] = False) -> None:
    pass


def main() -> None:
    """Run the command line.

    A reader of its output that leaves early, as ``head`` does, changes nothing; output that cannot
    be written for another reason is an error, when everything else is done.
    """
    code: object = SOLVED
    with lasting_streams() as output:
        try:
            app()
        except SystemExit as ended:
            code = ended.code
        output.flush()
        if output.error is not None and not output.is_closed:
            reason = (output.error.strerror or str(output.error)).lower()
            print(f"orthospca: cannot write to standard output: {reason}", file=sys.stderr)
            code = BAD_INPUT
    raise SystemExit(code)
