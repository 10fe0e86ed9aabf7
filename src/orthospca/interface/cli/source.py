"""The file that a command is given: how it is read, and what is said of it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path

import numpy as np
import typer

from orthospca import DataCovariance
from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface import tables
from orthospca.interface.cli.options import Reading
from orthospca.interface.tables import (
    File,
    Table,
    TableError,
    complete,
    kind_of_matrix,
    read_as_it_is,
)
from orthospca.spectrum import unevenness

DEFAULT_FOLDER = Path("orthospca-out")
#: Variables up to which it is looked at once more whether a matrix is indefinite.
MOST_EIGENVALUES = 1000
#: What to do where one variable drowns the others.
ADVICE = "use --correlation, or --covariance if all variables have the same unit"
ADVICE_ON_MATRIX = "use a correlation matrix unless all variables have the same unit"
#: Methods that need no matrix, however many variables there are.
NEED_NO_MATRIX = ("branch-and-bound", "eigenvalue")


@dataclass(frozen=True)
class Source:
    """A file and how to read it; the path ``-`` is standard input."""

    path: Path
    how: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        if self.how.correlation and self.how.precomputed:
            raise InputError("use --correlation or --precomputed, not both")
        if self.how.precomputed and self.how.missing is not None:
            raise InputError("--missing needs observations, not --precomputed")

    def load(self, progress: Callable[[float], object]) -> None:
        """Read the file already, and tell how far that is."""
        self.file.progress = progress
        self._table  # noqa: B018

    def read(self, method: str = "branch-and-bound") -> tuple[Table, Array | DataCovariance]:
        """The table, and what to solve: the matrix, or the data that define it."""
        table, correlation = self._table, bool(self.how.correlation)
        if self.is_matrix:
            Q = table.square()
            return self._noted(table, np.diagonal(Q), ADVICE_ON_MATRIX), Q
        table = complete(table, self.how.missing).varying()
        if method in NEED_NO_MATRIX and not table.has_missing:
            data = table.data_covariance(correlation)
            return self._noted(table, data.diagonal), data
        Q = table.matrix(correlation)
        if table.has_missing:
            table = _judged(table, Q)
        return self._noted(table, np.diagonal(Q)), Q

    def _noted(self, table: Table, variances: Array, advice: str = ADVICE) -> Table:
        """The table with a notice if variances differ much, unless it was said what is meant."""
        seen = unevenness(variances, table.columns) if self.how.correlation is None else ""
        return table.noted(f"{seen}: {advice}") if seen else table

    @cached_property
    def file(self) -> File:
        """The file, read once."""
        return File(self.path)

    @cached_property
    def _table(self) -> Table:
        """What is in the file, before anything is left out."""
        names = (each.name for each in fields(tables.Reading))
        said = {x: given for x in names if (given := getattr(self.how, x)) is not None}
        if self.how.na is not None:
            said["na"] = tuple(map(str.strip, self.how.na.split(",")))
        return read_as_it_is(self.file, tables.Reading(**said)).of_several()

    @cached_property
    def is_matrix(self) -> bool:
        """Whether the file holds a matrix: as was said, or as someone answers who is asked."""
        if self.how.precomputed is not None:
            return self.how.precomputed
        kind = kind_of_matrix(self._table)
        if not kind:
            return False
        n = len(self._table.columns)
        ones = " with ones on its diagonal" if kind == "correlation" else ""
        seen = f"{self.name} is a symmetric {n} × {n} matrix{ones}"
        question = f"{seen}. Is it the {kind} matrix itself (y), or a table of observations (n)?"
        # It may be said, but hardly be meant: correlations of correlations.
        said = bool(self.how.correlation)
        answer = None if said else ask(question)
        if answer is None:
            raise TableError(
                f"{seen}: use --precomputed{' instead of --correlation' * said} if it is the "
                f"{kind} matrix itself, or --observations{' as well' * said} if its rows are "
                "observations"
            )
        return answer

    @property
    def name(self) -> str:
        """What the file is called."""
        return "standard input" if self.file.is_stdin else self.path.name

    @property
    def matrix_kind(self) -> str:
        """What the matrix is."""
        if self.is_matrix:
            return "as given"
        kind = "correlation" if self.how.correlation else "covariance"
        by_pairs = self.how.missing == "pairwise" and self._table.has_missing
        return f"{kind}, by pairs of variables" if by_pairs else kind

    def describe(self, table: Table) -> str:
        """The file in a few words."""
        rows = f"{table.values.shape[0]} observations"
        left_out = f"; labels left out: {', '.join(table.labels)}" if table.labels else ""
        kind = "matrix" if self.is_matrix else rows
        return f"{self.file}: {kind}, {len(table.columns)} variables{left_out}"

    def describe_fully(self, table: Table) -> str:
        """The file in a few words, and what was noticed in it."""
        return "; ".join([self.describe(table), *table.notices])

    def checksum(self) -> tuple[str, str]:
        """The name of the file and the SHA-256 of its content."""
        digest = hashlib.sha256()
        if self.file.is_read:
            # What was read is what counts, and a pipe cannot be read again.
            digest.update(self.file.raw)
        else:
            with open(self.path, "rb") as file:
                while piece := file.read(2**20):
                    digest.update(piece)
        return self.name, digest.hexdigest()

    @property
    def folder(self) -> Path:
        """Where to write if nothing is said."""
        named = "stdin" if self.file.is_stdin else self.path.name.split(".")[0]
        return DEFAULT_FOLDER / (named or "data")


def ask(question: str) -> bool | None:
    """The answer of someone at a terminal, yes if nothing is typed; None if nobody is there."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    try:
        return typer.confirm(question, default=True, err=True)
    except typer.Abort:
        return None


def _judged(table: Table, Q: Array) -> Table:
    """The table with a notice whether a matrix by pairs is indefinite, if that is soon known."""
    if len(Q) > MOST_EIGENVALUES:
        return table
    values = np.linalg.eigvalsh(Q)
    sign = "positive semidefinite" if values[0] >= -1e-12 * abs(values[-1]) else "indefinite"
    return table.noted(f"the matrix is {sign} (smallest eigenvalue {values[0]:.3g})")
