"""Missing values: how many there are and where, and what may be done about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from orthospca import missing
from orthospca._typing import AnyArray
from orthospca.interface.tables._table import Table, TableError, counted, places

#: What may be asked for; without any of them a missing value is an error.
WAYS = ("drop-rows", "mean", "pairwise")
#: Columns with missing values that a message names, and rows.
MOST_COLUMNS, MOST_ROWS = 6, 8


def complete(table: Table, how: str | None) -> Table:
    """Do with missing values what was asked for; raise if nothing was, and there are some.

    Parameters
    ----------
    table : Table
    how : {"drop-rows", "mean", "pairwise"}, optional
        Leave out rows that have one, put the mean of the column, or leave them to the covariance.
    """
    if how is not None and how not in WAYS:
        known = ", ".join(map(repr, WAYS))
        raise TableError(f"missing must be one of {known}, or None, got {how!r}")
    if not table.has_missing:
        return table
    rows, columns = places(table.values, np.isnan)
    amount, values = counted(len(rows), "missing value"), table.values
    if how is None:
        raise TableError(_refusal(table, rows, columns, amount))
    by_column = _by_column(table, columns)
    if how == "drop-rows":
        return _without_rows(table, np.unique(rows), f"{amount} ({by_column})")
    if how == "mean":
        from sklearn.impute import SimpleImputer

        notice = f"replaced {amount} by column means ({by_column}), which understates variances"
        values = SimpleImputer().fit_transform(values)
    elif sparse.issparse(values):
        raise TableError(
            f"{table.path} is a sparse matrix with {amount}: --missing pairwise needs a dense one, "
            "drop-rows and mean do not"
        )
    else:
        least = int(missing.together(values)[1].min())
        notice = (
            f"{amount} ({by_column}): each matrix entry uses the rows that have both variables (at "
            f"least {least} of {len(values)}); the matrix may be indefinite"
        )
    return replace(table, values=values, notices=(*table.notices, notice))


def _by_column(table: Table, columns: AnyArray, firsts: dict[int, int] | None = None) -> str:
    """The columns with missing values, those with most first, how many, and the first rows."""
    found, counts = np.unique(columns, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    shown = [f"{counts[k]} in {table.columns[found[k]]!r}" for k in order[:MOST_COLUMNS]]
    if firsts is not None:
        places = [table.row_place(firsts[int(found[k])]) for k in order[:MOST_COLUMNS]]
        shown = [f"{what} (first in {where})" for what, where in zip(shown, places, strict=True)]
    rest = len(found) - len(shown)
    return ", ".join(shown) + (f" and {rest} more columns" if rest else "")


def _refusal(table: Table, rows: AnyArray, columns: AnyArray, amount: str) -> str:
    """What is missing where, and what may be said."""
    total = table.values.shape[0]
    keeps = f"keeps {total - len(np.unique(rows))} of {total} rows"
    ways = f"use --missing drop-rows ({keeps}), --missing mean or --missing pairwise"
    if len(rows) == 1:
        place = table.place(int(rows[0]), int(columns[0]))
        return f"{table.path} has a missing value in {place}: {ways}"
    affected = f"{counted(len(np.unique(columns)), 'column')} of {len(table.columns)}"
    firsts = {int(j): int(i) for i, j in zip(rows[::-1], columns[::-1], strict=True)}
    where = _by_column(table, columns, firsts)
    return f"{table.path} has {amount} in {affected}: {where}; {ways}"


def _without_rows(table: Table, out: AnyArray, what: str) -> Table:
    total = table.values.shape[0]
    kept = np.setdiff1d(np.arange(total), out)
    if len(kept) < 2:
        raise TableError(
            f"{table.path} has {what}, and {len(kept) or 'none'} of its {total} rows is complete: "
            "leave columns out with --label, or use --missing mean or --missing pairwise"
        )
    shown = [str(row + 1) for row in out[:MOST_ROWS]] + ["…"] * (len(out) > MOST_ROWS)
    noun = "row" if len(out) == 1 else "rows"
    notice = f"dropped {len(out)} of {total} rows for {what}: {noun} {', '.join(shown)}"

    def of_kept(texts: Any) -> Any:
        return texts and tuple(texts[i] for i in kept)

    return replace(
        table,
        values=table.values[kept],
        row_names=of_kept(table.row_names),
        label_values={name: of_kept(texts) for name, texts in table.label_values.items()},
        lines=table.lines if table.transposed else of_kept(table.lines),
        notices=(*table.notices, notice),
    )
