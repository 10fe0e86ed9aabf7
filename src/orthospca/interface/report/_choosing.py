"""The report for choosing p and K: what is proved by sparsity, and what holds on other rows.

Whatever is given has a panel: what it comes to in a sentence, its pictures, and its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from orthospca.choosing.selection import Stability, StabilityPath
from orthospca.interface.html import Html, facts, named, paragraph, table
from orthospca.interface.plots import choosing, judging
from orthospca.interface.plots.text import counted
from orthospca.interface.report._page import write_page
from orthospca.interface.report._parts import Chapter, Panel, figure, folded, side_by_side, verdict

if TYPE_CHECKING:
    from orthospca import Alternatives, Audit, Significance
    from orthospca.choosing.cross_validation import CrossValidation
    from orthospca.path import SparsityPath

#: Variables that have a row in a picture, supports that have a column in one.
MOST_ROWS, MOST_COLUMNS = 60, 80
#: Variables that are selected less often are not drawn.
LEAST = 0.02
#: Lines of a table of supports.
MOST_SUPPORTS = 1000
#: Components whose variables are shown by sparsity.
MOST_COMPONENTS = 6
NEAR = (
    "Which other choices of variables come close. A list is complete if it is proved that no other "
    "choice of as many variables comes as close."
)
#: A gap up to which given components count as near the best.
CLOSE, NEAR_THE_BEST = 0.01, "Near the best."
AUDITED = (
    "Each component is compared with all unit vectors that use no more variables and are "
    "orthogonal to the given components before it. The upper bound is proved: none has more "
    "variance. The gap is how far the bound is above the variance, relative to the variance. |cos| "
    "is the largest cosine with an earlier component. What a component adds is its variance after "
    "the earlier ones are projected out. Each better component is for its own place only: together "
    "they do not form a set."
)
PERMUTED = (
    "After the earlier components are projected out, each column is permuted independently, so "
    "that the variables share nothing. The p-value is the share of permutations (counting the data "
    "themselves as one) in which, by a proved bound, a component with as many variables could have "
    "as much variance."
)
NOISE = (
    "A certificate says that no other choice of variables has more variance in these data. It says "
    "nothing about sampling noise: other rows from the same source might have led to other "
    "variables. This panel shows how much of the choice recurs when rows are left out."
)
NOT_ASKED = (
    "This report has neither held-out rows nor stability (--cv 5, --stability 50). What it shows "
    "is proved for these data and says nothing about sampling noise."
)


def write_choice_report(
    path: str | PathLike[str],
    found: SparsityPath | None = None,
    *,
    cross_validation: CrossValidation | None = None,
    stability: Stability | StabilityPath | None = None,
    alternatives: Alternatives | None = None,
    significance: Significance | None = None,
    audit: Audit | None = None,
    title: str | None = None,
    source: str = "",
    command: str | None = None,
    files: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a report for choosing sparsity and number of components as a single HTML file.

    Panels for arguments that are not given are left out.

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
    significance : Significance, optional
        From :func:`orthospca.significance`.
    audit : Audit, optional
        From :func:`orthospca.audit`.
    title : str, optional
    source : str
        What the data are, in a few words.
    command : str, optional
        The command that made the results.
    files : sequence of (name, checksum)
        What was read.
    """
    titles = {
        "How many variables?": found if cross_validation is None else cross_validation,
        "How good are these components?": audit,
        "How many components are more than noise?": significance,
        "Stability of components": stability,
    }
    title = title or next((t for t, x in titles.items() if x is not None), "Alternatives")
    panels = [] if audit is None else [_audit(audit)]
    if found is not None or cross_validation is not None:
        panels.append(_variance(found, cross_validation, stability is not None))
    if found is not None and len(found):
        panels.append(_variables(found))
    if stability is not None:
        panels.append(_stability(stability))
    if alternatives is not None:
        panels.append(alternatives_panel([alternatives]))
    if significance is not None:
        panels.append(_significance(significance))
    if source and panels:
        told = facts([("data", named(source))])
        panels[0] = replace(panels[0], content=(*panels[0].content, told))
    chapter = "Choosing" if audit is None else "Audit"
    write_page(path, title, [Chapter(chapter, panels)], command=command, files=files)


def _audit(found: Audit) -> Panel:
    """What given components explain, how far they are from the best, and what is better."""
    numbers, word = found.table(), _judgement(found)
    told = verdict(word, numbers.sentence, word == NEAR_THE_BEST)
    drawn = side_by_side(figure(judging.audited(found)))
    return Panel("components", "Each component", (told, drawn, table(numbers)), AUDITED)


def _judgement(found: Audit) -> str:
    """Whether components are near the best, in a word that is proved."""
    pairs = zip(found.better, found.variances.tolist(), strict=True)
    if any(r is not None and r.variances[0] > v + CLOSE * abs(v) for r, v in pairs):
        return "Not the best."
    if not all(found.orthogonal):
        return "Not orthogonal."
    gaps = found.gaps[~np.isnan(found.gaps)]
    return NEAR_THE_BEST if gaps.max(initial=0.0) <= CLOSE else "Gap open."


def _variance(
    found: SparsityPath | None, held_out: CrossValidation | None, resampled: bool
) -> Panel:
    """Variance by sparsity, in these rows and in rows held out."""
    told, drawn = [], []
    if found is not None and len(found):
        numbers, certified = found.table(), found.status.finished
        told.append(
            verdict("Certified." if certified else "Gap open.", numbers.sentence, certified)
        )
        drawn.append(figure(choosing.path_variance(found), numbers=numbers))
    if held_out is not None and held_out.n_folds:
        best = counted(held_out.suggested)
        sentence = f"In held-out rows, {best} are within one standard error of the best."
        told.append(verdict(f"{best}.", sentence, True))
        drawn.append(figure(choosing.held_out(held_out), numbers=held_out.table()))
    elif held_out is None and not resampled:
        told.append(paragraph(NOT_ASKED, kind="note"))
    return Panel("variance", "What more variables add", (*told, side_by_side(*drawn)))


def _variables(found: SparsityPath) -> Panel:
    count = found.variances.shape[1]
    content: list[Html] = []
    for k in range(min(count, MOST_COMPONENTS)):
        X, names = found.loadings(k), found.feature_names
        grid = choosing.path_loadings(X, found.sparsities, names, k, MOST_ROWS)
        body = side_by_side(figure(grid))
        content.append(folded(f"Component {k + 1}", body) if k else body)
    lead = (
        "A variable enters a component where its row begins. Optimal sets need not be nested: one "
        "that leaves has been replaced by others that do better together."
    )
    if count > 1:
        lead += (
            " Each component is compared with the one in the same place at the previous sparsity. "
            "Later ones depend on those before them, so all of their variables may change at once."
        )
    if count > MOST_COMPONENTS:
        lead += f" The first {MOST_COMPONENTS} of {count} components are shown."
    return Panel("variables", "Which variables enter and leave", tuple(content), lead)


def _stability(found: Stability | StabilityPath) -> Panel:
    """Stability; of several sparsities the last is unfolded."""
    each = list(found) if isinstance(found, StabilityPath) else [found]
    content = []
    if isinstance(found, StabilityPath):
        drawn = figure(choosing.stability_by_sparsity(found), numbers=found.table())
        content.append(side_by_side(drawn))
    for one in each:
        numbers = one.table()
        body = paragraph(numbers.sentence)
        if one.n_resamples:
            grid = choosing.selection(one, MOST_ROWS, LEAST)
            body = Html(side_by_side(figure(grid)) + table(numbers) + body)
        if len(each) > 1:
            title = f"{counted(one.result.sparsity[0])} in a component"
            body = folded(title, body, unfolded=one is each[-1])
        content.append(body)
    return Panel("stability", "Stability", tuple(content), NOISE)


def _significance(found: Significance) -> Panel:
    """Which components are more than noise."""
    numbers, count = found.table(), found.n_components
    told = verdict(f"{counted(count, 'component')}:", numbers.sentence, count > 0)
    drawn = side_by_side(figure(judging.against_noise(found), numbers=numbers))
    return Panel("noise", "More than noise?", (told, drawn), PERMUTED)


def alternatives_panel(lists: Sequence[Alternatives]) -> Panel:
    """The lists of one component after the other."""
    content: list[object] = []
    for k, found in enumerate(lists, start=1):
        numbers = found.table(MOST_SUPPORTS)
        word = "Complete." if found.complete else "Perhaps not all."
        body = verdict(word, numbers.sentence, found.complete)
        if len(found):
            grid = choosing.alternatives(found, MOST_ROWS, MOST_COLUMNS, k)
            body = Html(body + side_by_side(figure(grid, numbers=numbers)))
        if k > 1:
            given = "the one before it" if k == 2 else "those before it"
            known = "complete" if found.complete else "perhaps not all"
            title = f"Component {k}, given {given}: {counted(len(found), 'support')}, {known}"
            body = folded(title, body)
        content.append(body)
    return Panel("alternatives", "Alternatives", tuple(content), NEAR)
