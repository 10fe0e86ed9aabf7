"""Paths and resamples as the commands need them: what they refuse, and the lines of their files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orthospca import Audit, Significance
    from orthospca.choosing.cross_validation import CrossValidation
    from orthospca.choosing.selection import Stability
    from orthospca.path import SparsityPath

Rows = Iterator[Sequence[object]]


def path_rows(found: SparsityPath) -> Rows:
    """A line for each component of each sparsity."""
    yield "sparsity", "component", "variance", "upper_bound", "gap", "status"
    for sparsity, result in zip(found.sparsities, found.results, strict=True):
        for k, c in enumerate(result.stages, start=1):
            yield sparsity, k, c.variance, c.upper_bound, c.gap, c.status.value


def held_out_rows(found: CrossValidation) -> Rows:
    """A line for each sparsity."""
    yield "sparsity", "held_out", "standard_error", "fitted"
    columns = (found.mean.tolist(), found.standard_error.tolist(), found.fitted_mean.tolist())
    yield from zip(found.sparsities, *columns, strict=True)


def stability_rows(found: Sequence[Stability]) -> Rows:
    """A line for each variable that was ever selected, for each sparsity."""
    width = max((len(each.frequencies) for each in found), default=0)
    yield "sparsity", "variable", *(f"component{k}" for k in range(1, width + 1)), "any"
    for each in found:
        used = (each.overall > 0) | each.result.components.any(axis=0)
        for j in used.nonzero()[0].tolist():
            numbers = each.frequencies[:, j].tolist()
            numbers += [""] * (width - len(numbers))
            sparsity = max(each.result.sparsity)
            yield sparsity, each.feature_names[j], *numbers, float(each.overall[j])


def audit_rows(found: Audit) -> Rows:
    """A line for each component."""
    yield "component", "nonzeros", "variance", "cosine", "added", "upper_bound", "gap", "better"
    columns = (found.variances, found.cosines.max(axis=1), found.added, found.upper_bounds)
    numbers = (column.tolist() for column in (*columns, found.gaps))
    better = ("" if result is None else float(result.variances[0]) for result in found.better)
    yield from zip(found.numbers, found.sparsity, *numbers, better, strict=True)


def significance_rows(found: Significance) -> Rows:
    """A line for each component, with the bound of each permutation."""
    numbers = range(1, found.null.shape[1] + 1)
    yield "component", "variance", "p_value", *(f"permutation{b}" for b in numbers)
    for k, (variance, p) in enumerate(zip(found.variances, found.p_values, strict=True)):
        yield k + 1, float(variance), float(p), *found.null[k].tolist()
