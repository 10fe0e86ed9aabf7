"""``orthospca verify``: read a certificate, and the data if they are named, and check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import orthospca
from orthospca._errors import InputError
from orthospca.interface.cli.options import (
    INPUT,
    REJECTED,
    SOLVED,
    Reading,
    command,
    option,
)

if TYPE_CHECKING:
    from orthospca.interface.cli.source import Source


@command
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate written by --proof.")],
    *,
    data: Annotated[
        Path | None,
        option(
            "--data",
            panel=INPUT,
            metavar="DATA",
            help="Compute the matrix from this file, as fit does, and check that it is "
            "the certified one.",
        ),
    ] = None,
    reading: Reading,
    details: Annotated[
        bool, option("-v", "--verbose", help="Also show a line per component.")
    ] = False,
    quiet: Annotated[
        bool, option("-q", "--quiet", help="Print nothing; see the exit code.")
    ] = False,
    max_bytes: Annotated[
        float | None,
        option(metavar="N", help="Most bytes FILE may unpack to; default 268435456."),
    ] = None,
    time_limit: Annotated[
        float | None, option(metavar="S", help="Most seconds the check may take; default 3600.")
    ] = None,
) -> int:
    """Check a certificate without trusting the solver that wrote it.

    Exits with 0 if every claim in FILE is proved again, 1 if one is not, and 2 if this cannot be
    decided (FILE cannot be read, or a limit was reached). The options for reading DATA are those of
    `fit`.

    For example:

    `orthospca verify results/certificate.zip -v`

    `orthospca verify certificate.zip --data measurements.csv --correlation`
    """
    from orthospca.interface.cli.source import Source
    from orthospca.interface.screen import Screen
    from orthospca.verify import MAX_BYTES, TIME_LIMIT, Unreadable

    screen = Screen(quiet, details)
    if data is None and replace(reading, label=reading.label or None) != Reading():
        raise InputError("options for reading the data need --data")
    source = None if data is None else Source(data, reading)
    try:
        certificate = orthospca.Certificate.load(
            file, MAX_BYTES if max_bytes is None else max_bytes
        )
    except Unreadable as error:
        raise InputError(str(error)) from None
    given = {} if source is None else _matrix(certificate, source)
    limit = TIME_LIMIT if time_limit is None else time_limit
    with screen.bar("checking") as show:
        verdict = orthospca.verify.verify(certificate, **given, time_limit=limit, progress=show)
    if verdict.undecided:
        raise InputError(verdict.reason)
    if not quiet:
        print(*verdict.lines(source and source.file, details), sep="\n")
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
