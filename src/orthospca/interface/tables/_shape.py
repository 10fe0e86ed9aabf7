"""What the shape of a table says about its meaning: whether to ask before it is analysed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from orthospca.interface.tables._table import Table

#: Headings of a column that names variables, not observations.
_VARIABLE = re.compile(
    r"(gene|genes|symbol|probe|probes|probeset|probe ?set|id ref|ensembl|entrez|transcript|protein"
    r"|uniprot|metabolite|compound|otu|asv|taxon|taxa|species id|mirna|cpg|snp|rsid|marker|peptide"
    r"|feature|variable|analyte)( ?(id|ids|name|names|symbol|symbols))?",
    re.IGNORECASE,
)
#: Names of genes, probes, methylation sites and variants in the usual catalogues.
_CATALOGUED = re.compile(r"ENS[A-Z]{0,4}[GTP]\d{6,}(\.\d+)?|.+_at|cg\d{6,}|rs\d{3,}|N[MR]_\d{4,}.*")
#: Names of samples that are numbered.
_SAMPLE = re.compile(
    r"(sample|s|patient|pat|subject|donor|tumou?r|normal|control|ctrl|case|array|cell|rep|replicate"
    r"|gsm|tcga|mouse|lane)[-_. ]?[\w.-]*\d+[\w.-]*",
    re.IGNORECASE,
)
#: Headings of a column that numbers observations: certainly, and if its numbers differ.
_NUMBERED = re.compile(
    r"(sample|patient|subject|participant|person|respondent|donor|case|customer|client|user|row|obs"
    r"|observation|record|specimen|animal|plot|site|item|order|account) ?(id|ids|no|nr|num|number"
    r"|code|index|#)",
    re.IGNORECASE,
)
_NUMBERED_IF_DISTINCT = re.compile(
    r"id|ids|uid|pid|index|idx|row|rows|rownames|rowid|no|nr|num|number|#|unnamed: ?0|level 0"
    r"|sample|samples|patient|subject|participant|person|respondent|donor|case|observation|obs|record",
    re.IGNORECASE,
)
#: What such columns are called where they are left out, and what can be done about it.
NUMBERING, KEEP = "row-number column", "; use --keep if it is a variable"
#: Rows, or columns, from which consecutive numbers are no coincidence.
FEWEST_NUMBERED = 5
#: Differences between halves of a matrix, and from one on its diagonal, that printing may leave.
_PRINTED = 1e-6


def transposed_hint(
    heading: str | None, row_labels: Sequence[str] | None, columns: Sequence[str], n_rows: int
) -> list[str]:
    """A notice if the rows look like variables and the columns like observations.

    Parameters
    ----------
    heading : str or None
        Of the first column.
    row_labels : sequence of str or None
        What is in it, if it holds labels.
    columns : sequence of str
        Names of the variables.
    n_rows : int
    """
    if row_labels is None or n_rows < 3:
        return []
    if heading and names_variables(heading):
        reason = f"its first column is called {heading!r}"
    elif _most(_CATALOGUED, row_labels):
        reason = f"its rows are called {row_labels[0]!r}, {row_labels[1]!r}, …"
    elif n_rows > len(columns) and _most(_SAMPLE, columns) and not _most(_SAMPLE, row_labels):
        reason = f"its columns are called {columns[0]!r}, {columns[1]!r}, …" if columns[1:] else ""
    else:
        return []
    return [
        f"rows look like variables ({reason}) but are read as observations; use --transpose if "
        "they are variables"
    ]


def names_variables(heading: str) -> bool:
    """Whether a heading is that of a column with the names of variables."""
    return bool(_VARIABLE.fullmatch(re.sub(r"[\s_.-]+", " ", heading).strip()))


def numbers_rows(heading: str, distinct: bool) -> bool:
    """Whether a heading is that of a column which numbers observations."""
    words = re.sub(r"[\s_.-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", heading)).strip()
    return bool(_NUMBERED.fullmatch(words) or (distinct and _NUMBERED_IF_DISTINCT.fullmatch(words)))


def without_numbering(table: Table, kept: Sequence[str]) -> Table:
    """The table with what only numbers its rows among the labels, and a notice.

    That is a first column of consecutive whole numbers, and any column of whole numbers that is
    called so, unless it is to be kept.  A matrix is left as it is, and so are sparse data and rows
    that were columns.
    """
    if table.transposed or sparse.issparse(table.values) or kind_of_matrix(table):
        return table
    texts = {}
    for j, name in enumerate(table.columns):
        cells, may_be = table.values[:, j], table.named and numbers_rows(name, distinct=True)
        if name in kept or not (may_be or j == 0) or not (cells == np.round(cells)).all():
            continue
        steps = np.diff(cells)
        in_turn = j == 0 and len(cells) >= FEWEST_NUMBERED and steps[0] in (1, -1)
        named = may_be and numbers_rows(name, len(np.unique(cells)) == len(cells))
        if named or (in_turn and (steps == steps[0]).all()):
            texts[name] = tuple(f"{cell:.0f}" for cell in cells.tolist())
    left = table.without(np.array([table.columns.index(name) for name in texts]), NUMBERING, KEEP)
    return replace(
        left,
        labels=(*table.labels, *texts),
        row_names=table.row_names or distinct(texts),
        label_values={**table.label_values, **texts},
    )


def distinct(
    labels: Mapping[str, tuple[str, ...]], first: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """Row labels: the first texts that are all different."""
    ordered = (labels[name] for name in (*first, *labels))
    return next((texts for texts in ordered if len(set(texts)) == len(texts)), None)


def _most(pattern: re.Pattern[str], names: Sequence[str]) -> bool:
    return sum(bool(pattern.fullmatch(name)) for name in names) > 0.9 * len(names)


def kind_of_matrix(table: Table) -> str:
    """``"correlation"`` or ``"covariance"`` if the table looks like such a matrix, else ``""``.

    It does if it is square and symmetric and no entry is more than the diagonal allows, which
    observations practically never are.
    """
    rows, columns = table.values.shape
    if rows != columns or table.has_missing:
        return ""
    A = table.values
    largest = float(abs(A).max())
    if largest == 0.0 or float(abs(A - A.T).max()) > _PRINTED * largest:
        return ""
    diagonal = A.diagonal()
    if (diagonal < 0).any():
        return ""
    roots = np.sqrt(diagonal)
    entries = sparse.coo_array(A)
    allowed = (1 + _PRINTED) * roots[entries.row] * roots[entries.col]
    if (np.abs(entries.data) > allowed).any():
        return ""
    return "correlation" if np.abs(diagonal - 1.0).max() <= _PRINTED else "covariance"
