"""A report for choosing p and K: what is proved by sparsity, and what holds on other rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timezone
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from orthospca.choosing.selection import in_words
from orthospca.interface.choosing_plots import entering_order
from orthospca.interface.report._alternatives import alternatives_panel
from orthospca.interface.report._charts import Axis, Band, Line, figure, xy_chart
from orthospca.interface.report._document import Chapter, Panel, document
from orthospca.interface.report._heat import heat_map
from orthospca.interface.report._html import Html, element, facts, named, table
from orthospca.interface.report._layers import Layer
from orthospca.interface.report._page import meaning, repeating
from orthospca.interface.report._section import percent, signed
from orthospca.interface.stability_panel import figures_of, stability_panel
from orthospca.result import Status, format_gap
from orthospca.words import of_path

if TYPE_CHECKING:
    from orthospca.choosing.alternatives import Alternatives
    from orthospca.choosing.cross_validation import CrossValidation
    from orthospca.choosing.selection import Stability, StabilityPath
    from orthospca.path import SparsityPath

#: Features that have a row in a picture; components whose features are shown by sparsity.
MOST_ROWS, MOST_COMPONENTS = 60, 6


def write_choice_report(
    path: str | PathLike[str],
    found: SparsityPath | None = None,
    *,
    cross_validation: CrossValidation | None = None,
    stability: Stability | StabilityPath | None = None,
    alternatives: Alternatives | None = None,
    title: str | None = None,
    source: str = "",
    command: str | None = None,
    files: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a report for choosing sparsity and number of components as a single HTML file.

    What is not given is left out of it.

    Parameters
    ----------
    path : path
        Where to write.
    found : SparsityPath, optional
        From :func:`orthospca.sparsity_path`.
    cross_validation : CrossValidation, optional
        From :func:`orthospca.cross_validate_sparsity`.
    stability : Stability or StabilityPath, optional
        From :func:`orthospca.stability` or :func:`orthospca.stability_path`.
    alternatives : Alternatives, optional
        From :func:`orthospca.alternatives`.
    title : str, optional
    source : str
        What the data are, in a few words.
    command : str, optional
        The command that made the results.
    files : sequence of (name, checksum)
        What was read.
    """
    if title is None:
        title = "How many variables?"
        if found is None and cross_validation is None:
            title = "Alternatives" if stability is None else "Stability of components"
    panels = []
    if (found, cross_validation, stability) != (None, None, None) or alternatives is None:
        panels.append(_overview(found, cross_validation, stability, source))
    if alternatives is not None:
        panels.append(alternatives_panel([alternatives], source=source if not panels else ""))
    if found is not None and len(found):
        panels += [_variance(found, cross_validation), _variables(found)]
    elif cross_validation is not None and cross_validation.n_folds:
        panels.append(
            Panel("held-out", "Rows held out", (figures_of(_held_out(cross_validation)),))
        )
    if stability is not None:
        unfolded = 0
        if cross_validation is not None and cross_validation.n_folds:
            unfolded = cross_validation.suggested
        panels.append(stability_panel(stability, unfolded))
    about = Chapter("About this report", (meaning(), repeating(command, files)))
    written = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    text = document(title, [Chapter("Choosing", panels), about], f"orthospca, {written}")
    Path(path).write_text(text, encoding="utf-8", errors="replace", newline="\n")


def _overview(
    found: SparsityPath | None,
    cross_validation: CrossValidation | None,
    stability: Stability | StabilityPath | None,
    source: str,
) -> Panel:
    tiles: list[tuple[str, object]] = []
    sentences = []
    certified = True
    if found is not None and len(found):
        low, high = found.sparsities[0], found.sparsities[-1]
        tiles += [
            ("variables in a component", f"{low} to {high}" if low < high else low),
            ("components for each", found.variances.shape[1]),
        ]
        ratio = found.explained_variance_ratio
        if np.isfinite(ratio).all():
            shares = f"{percent(float(ratio[0]))} to {percent(float(ratio[-1]))}"
            tiles.append(("of the total variance", shares))
        tiles.append(("largest gap", format_gap(float(np.nanmax(found.gaps)))))
        certified = found.status.finished
        sentences.append(
            f"{len(found)} sparsities; every component is proved to be the best of its stage, "
            "within the tolerance."
            if certified
            else f"{len(found)} sparsities; {of_path(found)}."
        )
    if cross_validation is not None and cross_validation.n_folds:
        best = cross_validation.suggested
        tiles.append(("variables do nearly as well in rows held out as any number", best))
        sentences.append(
            f"In rows held out, {best} variables are within one standard error of the best."
        )
    if stability is not None:
        several = list(getattr(stability, "stabilities", ())) or [stability]
        if several[0].n_resamples:
            tiles.append(("stability of the first component", _steadiest(stability)))
            tiles += [
                (f"stability of component {k + 1}", in_words(index))
                for k, index in enumerate(stability.indices if len(several) == 1 else ())
                if k and k < MOST_COMPONENTS
            ]
            sentences.append(_resampled(several))
        certified = certified and stability.status is not Status.INTERRUPTED
    if stability is None and cross_validation is None:
        sentences.append(
            "Held-out rows and stability were not asked for (--cv 5, --stability 50): what is here "
            "is proved of these data, and says nothing about the noise of sampling."
        )
    content = [facts(tiles, "tiles")]
    if source:
        content.append(facts([("data", named(source))]))
    word = "Certified." if certified else "Gap open."
    verdict = element(
        "p",
        element("b", word if found is not None else "Resampled."),
        " ",
        element("span", " ".join(sentences)),
        class_="verdict" if certified else "verdict open",
    )
    return Panel("overview", "At a glance", (verdict, *content))


def _resampled(found: Sequence[Stability]) -> str:
    """What was drawn, and how far the fits are certified, in a sentence."""
    first = found[0]
    fits = sum(each.n_resamples for each in found)
    certified = sum(each.certified for each in found)
    proved = "all certified" if certified == fits else f"{certified} of {fits} fits certified"
    return (
        f"{first.n_resamples} resamples of {first.n_rows} of {first.n_samples} rows, {proved}: how "
        "often they select the same variables is told below."
    )


def _steadiest(stability: Stability | StabilityPath) -> str:
    table_of = np.atleast_2d(stability.indices)
    finite = table_of[:, 0][np.isfinite(table_of[:, 0])] if table_of.size else table_of
    if not finite.size:
        return ""
    low, high = float(finite.min()), float(finite.max())
    low_word, high_word = in_words(low), in_words(high)
    return low_word if low_word == high_word else f"{low_word} to {high_word}"


def _variance(found: SparsityPath, cross_validation: CrossValidation | None) -> Panel:
    p = list(found.sparsities)
    total = found.results[0].total_variance
    scale = 100.0 / total if total > 0 else 1.0
    sums = [scale * float(result.variances.sum()) for result in found]
    bounds = [scale * float(np.maximum(r.upper_bounds, r.variances).sum()) for r in found]
    is_open = [not result.status.finished for result in found]
    unit = "% of the total variance" if total > 0 else "variance"
    tips = [
        f"{q} variables: {a:.4g}{' %' if total > 0 else ''}\nproved bound {b:.4g}"
        for q, a, b in zip(p, sums, bounds, strict=True)
    ]
    layers: list[Layer] = [Line("certified", p, sums, tips, hollow=is_open)]
    if any(is_open) and all(map(math.isfinite, bounds)):
        layers.insert(0, Band("left to prove", p, sums, bounds))
    count = found.variances.shape[1]
    what = "the first component" if count == 1 else f"{count} components together"
    chart = xy_chart(
        layers,
        x=Axis("variables in a component", whole=True),
        y=Axis(unit, zero=True),
        label=f"Line: variance of {what} by sparsity.",
        near="x",
    )
    caption = (
        f"Variance of {what}. Take the point from which further variables are no longer worth "
        "reading." + (" Hollow points have an open gap." if any(is_open) else "")
    )
    rows = [
        [
            q,
            f"{result.variances.sum():#.6g}",
            percent(float(result.variances.sum()) / total) if total > 0 else "",
            format_gap(float(result.gaps.max())),
            result.status.value,
        ]
        for q, result in zip(p, found, strict=True)
    ]
    headings = ["variables", "variance", "of total", "largest gap", "status"]
    numbers = table(headings, rows, 4, caption="Variance by sparsity")
    shown = [figure(chart, "path", "Variance by sparsity", caption, numbers=numbers)]
    if cross_validation is not None and cross_validation.n_folds:
        shown.append(_held_out(cross_validation))
    return Panel("variance", "What more variables bring", (figures_of(*shown),))


def _variables(found: SparsityPath) -> Panel:
    count = found.variances.shape[1]
    content: list[Html] = []
    for k in range(min(count, MOST_COMPONENTS)):
        part = figures_of(_map_of(found, k))
        changes = table(
            ["variables", "enter", "leave"],
            [[c.sparsity, ", ".join(c.entered), ", ".join(c.left)] for c in found.changes(k)],
            1,
            caption=f"What enters and leaves component {k + 1}",
        )
        title = f"Component {k + 1}: enters and leaves"
        body = Html(part + element("details", element("summary", title), changes))
        if k == 0:
            content.append(body)
        else:
            heading = element("summary", f"Component {k + 1}")
            content.append(element("details", heading, body))
    lead = (
        "A variable enters a component where its row begins. Optimal sets need not be nested: one "
        "that leaves has been replaced by others that do better together."
    )
    if count > 1:
        lead += (
            " A component is compared with the one in the same place for the sparsity before. "
            "Later ones depend on those before them: all of their variables may change at once."
        )
    if count > MOST_COMPONENTS:
        lead += f" The first {MOST_COMPONENTS} of {count} components are shown."
    return Panel("variables", "Which variables enter and leave", tuple(content), lead)


def _map_of(found: SparsityPath, component: int) -> Html:
    X = found.loadings(component)
    rows, left_out = entering_order(X, MOST_ROWS)
    names = found.feature_names
    columns = [str(p) for p in found.sparsities]
    chart = heat_map(
        X[:, rows].T,
        [str(j) if names is None else names[j] for j in rows],
        columns,
        label=f"Heat map: loadings of component {component + 1} by sparsity.",
        column_label="variables allowed",
        write=lambda v: signed(v, 2),
        largest=1.0,
        cell=(min(44.0, max(12.0, 560.0 / len(columns))), 20.0),
    )
    chart.data["columns"] = [f"at most {p}" for p in columns]
    caption = "Red is positive, blue is negative, and an empty cell is an exact zero."
    if left_out:
        caption += f" {left_out} variables that are in use for few sparsities are not drawn."
    title = f"Component {component + 1} by sparsity"
    return figure(chart, f"variables-{component + 1}", title, caption)


def _held_out(found: CrossValidation) -> Html:
    p = list(found.sparsities)
    mean, fitted = 100 * found.mean, 100 * found.fitted_mean
    error = np.nan_to_num(100 * found.standard_error)
    tips = [
        f"{q} variables, held out: {a:.1f} ± {e:.1f} %\nin the rows fitted: {b:.1f} %"
        for q, a, e, b in zip(p, mean, error, fitted, strict=True)
    ]
    chart = xy_chart(
        [
            Band("± one standard error", p, (mean - error).tolist(), (mean + error).tolist()),
            Line("in the rows fitted", p, fitted.tolist(), tone=-1),
            Line("in rows held out", p, mean.tolist(), tips),
        ],
        x=Axis("variables in a component", whole=True),
        y=Axis("% of the variance of these rows", zero=True),
        label="Two lines: variance explained in rows held out and in rows fitted, by sparsity.",
        near="x",
    )
    rows = [
        [q, f"{a:.1f} %", f"{e:.1f} %", f"{b:.1f} %", "suggested" * (q == found.suggested)]
        for q, a, e, b in zip(p, mean, error, fitted, strict=True)
    ]
    headings = ["variables", "held out", "± s.e.", "fitted", ""]
    numbers = table(headings, rows, 4, caption="Variance in rows held out, by sparsity")
    count = found.held_out.shape[2]
    caption = (
        f"{found.n_folds} folds of {found.n_samples} rows. Components, means and scales come from "
        "the rows outside a fold; measured is the variance of its own rows along "
        + ("the component" if count == 1 else f"the {count} components")
        + f", as a share of all of theirs. {found.suggested} variables are the fewest within one "
        "standard error of the best. Folds share most of their rows, so that the error is a guide."
    )
    return figure(chart, "held-out", "In rows held out", caption, numbers=numbers)
