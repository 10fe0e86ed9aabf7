"""What ``orthospca verify`` does: read a certificate, and the data if they are named, and check."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from orthospca import Certificate, DataCovariance
from orthospca._errors import InputError
from orthospca.interface.output import remarks
from orthospca.interface.source import Source
from orthospca.verify import MAX_BYTES, TIME_LIMIT, Unreadable, Verdict, verify

#: A program of one line that needs nothing but the checker.
CHECK = "import sys; from orthospca.verify import verify; print(verify(sys.argv[1]))"


def run_verify(
    file: Path,
    source: Source | None,
    details: bool,
    quiet: bool,
    max_bytes: float | None = None,
    time_limit: float | None = None,
) -> bool:
    """Check a certificate and say what came of it; whether all of it is proved."""
    try:
        certificate = Certificate.load(file, MAX_BYTES if max_bytes is None else max_bytes)
    except Unreadable as error:
        raise InputError(str(error)) from None
    given = {} if source is None else _computed(certificate, source)
    verdict = _check(certificate, given, TIME_LIMIT if time_limit is None else time_limit)
    if verdict.undecided:
        raise InputError(verdict.reason)
    if not quiet:
        print(*verdict.lines(source and source.file, details), sep="\n")
    return verdict.verified


def check_elsewhere(file: Path) -> str:
    """What another process, which knows nothing but the file, says of a certificate."""
    ended = subprocess.run(
        [sys.executable, "-c", CHECK, str(file)], capture_output=True, text=True, check=False
    )
    lines = (ended.stdout.strip() or ended.stderr.strip() or "no answer").splitlines()
    return lines[-1]


def _check(certificate: Certificate, given: dict[str, Any], time_limit: float) -> Verdict:
    """Run the checker, with a bar on standard error if that is a terminal."""
    console = remarks()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("checking", total=1.0)

        def show(share: float) -> None:
            bar.update(task, completed=share)

        return verify(certificate, **given, time_limit=time_limit, progress=show)


def _computed(certificate: Certificate, source: Source) -> dict[str, Any]:
    """The matrix, or the factor, that a file gives, as ``fit`` computes it."""
    problem = certificate.manifest.get("problem")
    known = problem if isinstance(problem, dict) else {}
    _, Q = source.read({"method": "branch-and-bound"})
    if not isinstance(Q, DataCovariance):
        return {"Q": Q}
    everything = np.arange(Q.n_features)
    if known.get("kind") == "factor":
        return {"factor": Q.factor(everything)}
    # Of another number of features it is not formed: the shape alone is refused.
    fits = Q.n_features == known.get("features")
    return {"Q": Q.submatrix(everything) if fits else Q.factor(everything)}
