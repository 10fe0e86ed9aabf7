"""Pictures for choosing p and K: by sparsity, in rows held out, in resamples, and near the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from orthospca import Alternatives
from orthospca._typing import Array, IntArray
from orthospca.choosing.selection import in_words
from orthospca.interface.alternatives import most_frequent
from orthospca.interface.plots.results import NOTHING, in_groups
from orthospca.interface.plots.spec import XY, Axis, Band, Dots, Grid, Line, Mark
from orthospca.interface.plots.text import counted, not_shown, plain, signed
from orthospca.result import format_gap

if TYPE_CHECKING:
    from orthospca.choosing.cross_validation import CrossValidation
    from orthospca.choosing.selection import Stability, StabilityPath
    from orthospca.path import SparsityPath

BY_SPARSITY = Axis("variables in a component", whole=True)


def together(count: int) -> str:
    """So many components."""
    return "the first component" if count == 1 else f"{count} components together"


def path_variance(path: SparsityPath, about: str = "") -> XY:
    """Variance by sparsity, with what is proved; something else may be said about it."""
    results = path.results
    total = results[0].total_variance if results else math.nan
    scale, unit = (100.0 / total, " %") if total > 0.0 else (1.0, "")
    values = [scale * float(result.variances.sum()) for result in results]
    bounds = [scale * float(np.maximum(r.upper_bounds, r.variances).sum()) for r in results]
    is_open = [not result.status.finished for result in results]
    count = max((result.n_components for result in results), default=1)
    caption = about or (
        f"Variance of {together(count)}. Choose the point beyond which more variables add little."
    )
    tips = [
        f"at most {counted(p)}: {plain(v)}{unit}\nproved bound {plain(b)}{unit}, gap "
        f"{format_gap(float(result.gaps.max()))}"
        for p, v, b, result in zip(path.sparsities, values, bounds, results, strict=True)
    ]
    marks: list[Mark] = [Line("certified", path.sparsities, values, tips, hollow=is_open)]
    if any(is_open):
        caption += " Hollow points have an open gap, and the band is what is left to prove."
        if all(map(math.isfinite, bounds)):
            marks.insert(0, Band("", path.sparsities, values, upper=bounds))
    return XY(
        "path",
        f"Variance of {together(count)} by sparsity",
        caption,
        marks,
        BY_SPARSITY,
        Axis("% of the total variance" if total > 0.0 else "variance", zero=True),
        near="x",
    )


def path_loadings(
    X: Array, sparsities: Sequence[int], names: Sequence[str] | None, component: int, most: int
) -> Grid:
    """Which variables a component uses by sparsity: who enters, who leaves, who comes back.

    Parameters
    ----------
    X : ndarray of shape (number of sparsities, n)
        The component for each sparsity.
    sparsities : sequence of int
    names : sequence of str, optional
    component : int
        Which one it is, from 0.
    most : int
        Variables that have a row.
    """
    # Those that enter first come first.
    rows, left_out = in_groups(np.count_nonzero(X, axis=0), X != 0, most)
    columns = [str(p) for p in sparsities]
    return Grid(
        f"variables-{component + 1}",
        f"Component {component + 1} by sparsity",
        "A variable enters where its row begins; one that leaves has been replaced. Red is "
        "positive, blue is negative, and an empty cell is an exact zero.",
        X[:, rows].T,
        [str(j) if names is None else names[j] for j in rows],
        columns,
        column_label="variables allowed",
        column_names=[f"at most {p}" for p in columns],
        write=lambda v: signed(v, 2),
        largest=1.0,
        value_label="loading",
        cell=(min(44.0, max(12.0, 560.0 / max(len(columns), 1))), 20.0),
        left_out=not_shown(left_out),
        empty="" if len(rows) else NOTHING,
    )


def held_out(found: CrossValidation) -> XY:
    """Variance explained in rows held out, by sparsity, beside that of the rows fitted."""
    if not found.n_folds:
        title, why = "Cross-validated variance", "no fold was done"
        return XY("held-out", title, "", [], BY_SPARSITY, BY_SPARSITY, empty=why)
    p, best = list(found.sparsities), found.suggested
    mean, fitted = 100 * found.mean, (100 * found.fitted_mean).tolist()
    error = np.nan_to_num(100 * found.standard_error)
    tips = [
        f"{q} variables, held out: {a:.1f} ± {e:.1f} %\nin the rows fitted: {b:.1f} %"
        for q, a, e, b in zip(p, mean, error, fitted, strict=True)
    ]
    count = found.held_out.shape[2]
    whose = "the component" if count == 1 else f"the {count} components"
    lower, upper = (mean - error).tolist(), (mean + error).tolist()
    return XY(
        "held-out",
        f"Variance of {together(count)}, {found.n_folds}-fold",
        f"{found.n_folds} folds of {found.n_samples} rows. Components, means and scales come from "
        f"the rows outside a fold. The share is the variance of its own rows along {whose}, "
        f"relative to their total. {best} variables are the fewest within one standard error of "
        f"the best, and {found.elbow} the fewest with 90 % of it. Folds share most of their rows, "
        "so the error is only a guide.",
        [
            Band("± 1 s.e.", p, lower, upper=upper),
            Line("in the rows fitted", p, fitted, tone=-1),
            Line("in rows held out", p, mean.tolist(), tips),
            Dots(f"fewest within 1 s.e.: {best}", [best], [mean[p.index(best)]], (), 1, "ring"),
        ],
        BY_SPARSITY,
        Axis("% of the variance of these rows", zero=True),
        near="x",
    )


def most_selected(found: Stability, most: int, least: float = 0.0) -> tuple[IntArray, int]:
    """Return the features that are ever selected, by component; and how many are left out.

    Parameters
    ----------
    found : Stability
    most : int
    least : float
        Features selected less often count as left out, unless they are in the reference.
    """
    own = found.result.components != 0
    strength = found.frequencies.max(axis=0, initial=0.0) + own.any(axis=0)
    ever = np.flatnonzero((found.overall > 0) | own.any(axis=0))
    often = ever[strength[ever] >= least]
    rows, _ = in_groups(strength, found.frequencies + own, most, often)
    return rows, len(ever) - len(rows)


def selection(found: Stability, most: int, least: float = 0.0) -> Grid:
    """How often each variable is selected: a row for each, a column for each component."""
    rows, left_out = most_selected(found, most, least)
    numbers = range(1, len(found.frequencies) + 1)
    return Grid(
        f"stability-{found.result.sparsity[0]}",
        "How often variables are selected",
        f"Share of {found.n_resamples} resamples in which a variable is selected. Framed variables "
        "are in the components of all rows. Each column is labelled with the number of the "
        "component and its stability: 1 if every resample selects the same variables, 0 if as at "
        "random.",
        found.frequencies[:, rows].T,
        [found.feature_names[j] for j in rows],
        [f"{k}: {in_words(s)}" for k, s in zip(numbers, found.indices, strict=True)],
        column_label="component: stability",
        column_names=[f"component {k}" for k in numbers],
        write=lambda v: f"{v:.0%}",
        largest=1.0,
        signed=False,
        value_label=f"share of {found.n_resamples} resamples",
        cell=(min(72.0, max(30.0, 560.0 / max(len(numbers), 1))), 20.0),
        framed=found.result.components[:, rows].T != 0,
        left_out=not_shown(left_out),
        empty="" if len(rows) and found.n_resamples else "no resample was done",
    )


def stability_by_sparsity(found: StabilityPath) -> XY:
    """Stability of each component by sparsity."""
    marks = []
    for k, column in enumerate(found.indices.T.tolist()):
        name = f"component {k + 1}"
        known = {q: v for q, v in zip(found.sparsities, column, strict=True) if math.isfinite(v)}
        tips = [f"{name}, {counted(q)}: {in_words(v)}" for q, v in known.items()]
        marks.append(Line(name, list(known), list(known.values()), tips, tone=k % 8))
    return XY(
        "stability-path",
        "Stability of the selection by sparsity",
        "1: every resample selects the same variables; 0: as if chosen at random.",
        marks,
        BY_SPARSITY,
        Axis("stability", zero=True),
    )


def alternatives(found: Alternatives, most: int, supports: int, number: int = 1) -> Grid:
    """Which variables are in each support, and beside it how often each of them occurs.

    Parameters
    ----------
    found : Alternatives
    most, supports : int
        Variables that have a row, and supports that have a column.
    number : int
        Of the component, from 1.
    """
    rows, left_out = most_frequent(found, most)
    count = min(len(found), supports)
    inside = np.zeros((count, found.n_features))
    for place, support in zip(inside, found.supports, strict=False):
        place[support] = 0.65
    inside[:, found.in_all] = 1.0
    drawn = counted(len(found), "choice") if count == len(found) else f"{count} of {len(found)}"
    known = "no other exists" if found.complete else "there may be more"
    within = f"within {100 * found.tolerance:.3g} % of the best; {known}"
    below = zip(found.variances.tolist(), found.below_best(), strict=True)
    return Grid(
        f"alternatives-{number}",
        f"{drawn} {within}" if count else "Alternatives",
        "A column is a choice of variables, the best one first; the bars say how many of all "
        f"{len(found)} choices contain a variable. Variables that never share a column replace "
        "each other; dark ones are in all choices.",
        inside[:, rows].T,
        found.names(rows),
        [str(i + 1) for i in range(count)],
        column_label="choices, the best first",
        column_names=[f"choice {i + 1}" for i in range(count)],
        tips=[f"variance {variance:.6g}, {away}" for variance, away in below][:count],
        largest=1.0,
        signed=False,
        cell=(min(26.0, max(7.0, 420.0 / max(count, 1))), 20.0),
        beside=found.frequencies[rows].tolist(),
        left_out=not_shown(left_out),
        empty="" if len(rows) else "there are none",
    )
