"""Alternatives as people see them: how many, which variables come first, how far below the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from orthospca import Alternatives, DataCovariance, alternatives
from orthospca._typing import Array, IntArray
from orthospca.result import Result


def to_each(
    Q: Array | DataCovariance,
    result: Result,
    tolerance: float,
    time_limit: float | None,
    n_jobs: int | None,
) -> list[Alternatives]:
    """The alternatives to each component, given those before it; Ctrl-C leaves the others out."""
    found: list[Alternatives] = []
    asked: dict[str, Any] = {"n_jobs": n_jobs, "feature_names": result.feature_names}
    for k in range(result.n_components):
        if time_limit is not None:
            left = max(time_limit - sum(each.runtime for each in found), 0.0)
            asked["time_limit"] = left / (result.n_components - k)
        given = asked | _given_those_before(result, k)
        found.append(alternatives(Q, result.sparsity[k], tolerance, **given))
        if "interrupted" in found[-1].note:
            break
    return found


def _given_those_before(result: Result, k: int) -> dict[str, Any]:
    """What is asked of a component, given those before it."""
    asked = {name: lists[k] for name in ("include", "exclude") if (lists := result.asked.get(name))}
    relation = result.asked.get("relation", "orthogonal")
    if relation == "disjoint":
        later = (j for own in result.asked.get("include", [])[k + 1 :] for j in own)
        asked["exclude"] = sorted({*asked.get("exclude", ()), *later})
    return {**asked, "previous": result.components[:k], "relation": relation}


def rows(found: Sequence[Alternatives], numbered: bool = True) -> Iterator[Sequence[object]]:
    """A line for each support of each component; a name has a column to itself."""
    width = max((len(support) for each in found for support in each.supports), default=0)
    first = ("component",) if numbered else ()
    yield (*first, "rank", "variance", *(f"feature{i}" for i in range(1, width + 1)))
    for k, each in enumerate(found, start=1):
        number = (k,) if numbered else ()
        for i, support in enumerate(each.supports):
            empty = [""] * (width - len(support))
            variance = repr(float(each.variances[i]))
            yield (*number, i + 1, variance, *each.names(support), *empty)


def in_a_sentence(found: Sequence[Alternatives]) -> str:
    """How many there are of each component."""
    counts = ", ".join(f"{'' if each.complete else 'at least '}{len(each)}" for each in found)
    share = f"{100 * found[0].tolerance:.3g} %"
    return f"number of choices within {share} of the best, by component: {counts}"


def most_frequent(found: Alternatives, most: int) -> tuple[IntArray, int]:
    """Return the features that occur, the most frequent first; and how many are left out.

    Of features in as many supports, those that are in better ones come first.
    """
    counts = np.zeros(found.n_features, dtype=np.intp)
    first = np.full(found.n_features, len(found))
    for i in reversed(range(len(found))):
        counts[found.supports[i]] += 1
        first[found.supports[i]] = i
    used = np.flatnonzero(counts)
    order = used[np.lexsort((used, first[used], -counts[used]))]
    return order[:most], max(len(order) - most, 0)
