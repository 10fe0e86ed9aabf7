"""Scores: where each observation lies along each component."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthospca import DataCovariance
from orthospca._errors import InputError
from orthospca._typing import Array
from orthospca.interface.tables import Table
from orthospca.result import Result

#: Labels that colour the scores unasked.
MOST_GROUPS = 12


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a table's rows, and what is known of the rows.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_components)
        NaN where a value that the component needs is missing.
    rows : tuple of str or None
        What the rows are called.
    by : str
        The name of a column of labels; empty if there is none.
    groups : tuple of str or None
        That column: the label of each row.
    """

    values: Array
    rows: tuple[str, ...] | None = None
    by: str = ""
    groups: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        count = len(self.values)
        for name, given in (("rows", self.rows), ("groups", self.groups)):
            if given is not None and len(given) != count:
                raise InputError(
                    f"{name} must have an entry for each of the {count} rows, got {len(given)}"
                )

    def lines(self) -> Iterator[Sequence[object]]:
        """The lines of ``scores.csv``: for each row its name, its label and its scores."""
        names = self.rows or range(1, len(self.values) + 1)
        groups: Any = [] if self.groups is None else [[self.by, *self.groups]]
        head = [f"component{k}" for k in range(1, self.values.shape[1] + 1)]
        numbers = (["" if math.isnan(v) else v for v in row] for row in self.values.tolist())
        for name, *label, row in zip(["row", *names], *groups, [head, *numbers], strict=True):
            yield [name, *label, *row]


def scores_of(values: Any, result: Result, *, correlation: bool = False) -> Array:
    """The scores ``(X - mean) @ components.T``, of standardised columns with ``correlation``.

    Only the columns that some component uses are read.  The sample variance of a column of scores
    is the variance of its component.

    Parameters
    ----------
    values : ndarray, sparse array of shape (m, n), or DataCovariance
        The observations.  NaN is a missing value: rows that miss one have no score on the
        components that use its column.
    result : Result
    correlation : bool
        Whether the matrix that was solved is the correlation matrix.
    """
    X = result.components
    used = np.flatnonzero(np.abs(X).max(axis=0, initial=0.0))
    if isinstance(values, DataCovariance):
        return math.sqrt(values.n_samples - 1) * (values.factor(used) @ X[:, used].T)
    columns = _dense(values[:, used])
    found = np.zeros((len(columns), len(X)))
    if not len(used):
        return found
    columns -= np.nanmean(columns, axis=0)
    if correlation:
        columns /= np.nanstd(columns, axis=0, ddof=1)
    for k, component in enumerate(X[:, used]):
        chosen = np.flatnonzero(component)  # a zero loading asks for nothing, a missing value too
        found[:, k] = columns[:, chosen] @ component[chosen]
    return found


def _dense(columns: Any) -> Array:
    """A few columns, sparse or not, as an array of their own."""
    return np.array(
        columns.tocsc().toarray() if hasattr(columns, "tocsc") else columns, dtype=float
    )


def labels_of(table: Table, color: str | None = None) -> dict[str, Any]:
    """What :class:`Scores` says of the rows of a table: their names, and their colours.

    If no column is asked for, the first one with a few labels, each of several rows, gives the
    colours.

    Parameters
    ----------
    table : Table
    color : str, optional
        The column that was asked for: one of labels, or one of the variables.
    """
    rows, count = table.row_names, table.values.shape[0]
    if color is not None:
        return {"rows": rows, "by": color, "groups": _column(color, table)}
    for name, texts in table.label_values.items():
        if 2 <= len(set(texts)) <= min(MOST_GROUPS, count // 2):
            return {"rows": rows, "by": name, "groups": texts}
    return {"rows": rows}


def _column(name: str, table: Table) -> tuple[str, ...]:
    if name in table.label_values:
        return table.label_values[name]
    if name in table.columns:
        column = _dense(table.values[:, [table.columns.index(name)]])
        return tuple(f"{value:.10g}" for value in column.ravel().tolist())
    known = [*table.label_values, *table.columns]
    shown = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
    raise InputError(f"--color must be the name of a column, got {name!r} (there are {shown})")
