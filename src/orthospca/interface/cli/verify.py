"""``orthospca verify``: read a certificate, and the data if they are named, and check."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import orthospca
from orthospca._errors import InputError
from orthospca.interface.cli.options import REJECTED, SOLVED, Reading, command, of_command, of_input

if TYPE_CHECKING:
    from orthospca.interface.cli.source import Source


@dataclass(frozen=True)
class Check:
    """What is compared, how much is said, and what it may take."""

    data: Path | None = of_input(
        "Compute the matrix from this file, as fit does, and check that it is the certified one.",
        metavar="DATA",
    )
    details: bool = of_command("Also show a line per component.", "-v --verbose", default=False)
    quiet: bool = of_command("Print nothing; see the exit code.", "-q --quiet", default=False)
    # The limits of the checker, which is not loaded for help.
    max_bytes: float = of_command(
        "Most bytes FILE may unpack to; default 268435456.",
        default=2.0**28,
        metavar="N",
        show_default=False,
    )
    time_limit: float = of_command(
        "Most seconds the check may take; default 3600.",
        default=3600.0,
        metavar="S",
        show_default=False,
    )


@command
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate written by --proof.")],
    *,
    asked: Check,
    reading: Reading,
) -> int:
    """Check a certificate without trusting the solver that wrote it.

    The exit code is 0 if every claim in FILE is proved again, 1 if one is not, and 2 if this cannot
    be decided (FILE cannot be read, or a limit was reached). The options for reading DATA are those
    of `fit`.

    For example:

    `orthospca verify results/certificate.zip -v`

    `orthospca verify certificate.zip --data measurements.csv --correlation`
    """
    from orthospca.interface.cli.source import Source
    from orthospca.interface.screen import Screen
    from orthospca.verify import Unreadable

    screen = Screen(asked.quiet, asked.details)
    if (
        asked.data is None
        and replace(reading, label=reading.label or None, keep=reading.keep or None) != Reading()
    ):
        raise InputError("options for reading the data need --data")
    source = None if asked.data is None else Source(asked.data, reading)
    try:
        certificate = orthospca.Certificate.load(file, asked.max_bytes)
    except Unreadable as error:
        raise InputError(str(error)) from None
    given = {} if source is None else _matrix(certificate, source)
    with screen.bar("checking") as show:
        verdict = orthospca.verify.verify(
            certificate, **given, time_limit=asked.time_limit, progress=show
        )
    if verdict.undecided:
        raise InputError(verdict.reason)
    if not asked.quiet:
        print(*verdict.lines(source and source.file, asked.details), sep="\n")
    return SOLVED if verdict.verified else REJECTED


def _matrix(certificate: orthospca.Certificate, source: Source) -> dict[str, Any]:
    """The matrix, or the factor, that a file gives, as ``fit`` computes it."""
    import numpy as np

    problem = certificate.manifest.get("problem")
    known = problem if isinstance(problem, dict) else {}
    _, Q = source.read()
    if not isinstance(Q, orthospca.DataCovariance):
        return {"Q": Q}
    everything = np.arange(Q.n_features)
    if known.get("kind") == "factor":
        return {"factor": Q.factor(everything)}
    # Of another number of features it is not formed: the shape alone is refused.
    fits = Q.n_features == known.get("features")
    return {"Q": Q.submatrix(everything) if fits else Q.factor(everything)}
