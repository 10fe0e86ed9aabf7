"""Packages of R, where R and they are installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.instances import Array
from benchmarks.peers.problems import Problem

#: Those that ``tools.R`` knows how to call.
PACKAGES = ("msPCA", "nsprcomp", "elasticnet", "PMA", "irlba")
#: Less than the limit of a child.
SECONDS = 57.0
SCRIPT = Path(__file__).with_name("tools.R")


def missing(package: str) -> str:
    """A sentence that says why a package cannot be run, or nothing."""
    if shutil.which("Rscript") is None:
        return f"{package} is skipped: R is not installed."
    return "" if package in _versions() else f"{package} is skipped: R does not have it."


def version(package: str) -> str:
    """Version of a package that is installed."""
    return _versions()[package]


@cache
def _versions() -> dict[str, str]:
    names = ", ".join(f'"{name}"' for name in PACKAGES)
    code = (
        f"for (name in c({names})) if (nzchar(system.file(package = name))) "
        "cat(name, as.character(packageVersion(name)), '\\n')"
    )
    command = ["Rscript", "--vanilla", "-e", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return dict(line.split()[:2] for line in printed.splitlines() if line.strip())


def fit(call: str, problem: Problem, seed: int = 0) -> tuple[Array, float]:
    """Components, and the seconds of the processor that R counted for the fit alone.

    The call is one of those of ``tools.R``.
    """
    with tempfile.TemporaryDirectory() as folder:
        # R stores columns one after another.
        problem.data.T.tofile(Path(folder, "data"))
        rows, columns = problem.data.shape
        count, sparsity = problem.n_components, problem.sparsity
        words = [call, folder, rows, columns, count, sparsity, problem.divisor, seed]
        command = ["Rscript", "--vanilla", str(SCRIPT), *map(str, words)]
        # R would outlive a child that is ended by its parent, so it ends before.
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        if ended.returncode:
            last = ended.stderr.strip().splitlines()[-1:] or ["no message"]
            raise RuntimeError(f"R: {last[0]}")
        components = np.fromfile(Path(folder, "loadings")).reshape(count, columns)
        seconds = float(Path(folder, "seconds").read_text("ascii"))
    return components, seconds
