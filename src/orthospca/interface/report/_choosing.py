"""The report for choosing p and K: what is proved by sparsity, and what holds on other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from orthospca.choosing.selection import Stability, StabilityPath, in_words
from orthospca.interface.alternatives import below_best
from orthospca.interface.html import Html, facts, named, paragraph, table
from orthospca.interface.plots import choosing, judging
from orthospca.interface.plots.text import counted, percent
from orthospca.interface.report._page import write_page
from orthospca.interface.report._parts import Chapter, Panel, figure, folded, side_by_side, verdict
from orthospca.result import Status, Table, format_gap
from orthospca.words import of_path

if TYPE_CHECKING:
    from orthospca import Alternatives, Audit, Significance
    from orthospca.choosing.cross_validation import CrossValidation
    from orthospca.path import SparsityPath

#: Variables that have a row in a picture, supports that have a column in one.
MOST_ROWS, MOST_COLUMNS = 60, 80
#: Variables that are selected less often are not drawn.
LEAST = 0.02
#: Lines of a table of supports, and of one of variables.
MOST_SUPPORTS, MOST_LINES = 1000, 500
#: Components whose variables are shown by sparsity.
MOST_COMPONENTS = 6
#: What is known of rows held out.
NEAR = (
    "Which other choices of variables come close. A list is complete where it is proved that no "
    "other choice of as many variables comes as close."
)
#: A gap up to which given components count as near the best.
CLOSE, NEAR_THE_BEST = 0.01, "Near the best."
AUDITED = (
    "Each component is compared with every unit vector that uses no more variables and is "
    "orthogonal to the components given before it. The upper bound is proved: none has more. The "
    "gap is the bound, less the variance as given, as a share of it; |cos| is the largest with a "
    "component before, and what a component adds is the variance of what is left when those "
    "before are projected out."
)
IN_PLACE = (
    "Each has no more variables than the one given in its place, and is orthogonal to those given "
    "before. They do not form a set: each is only about its own place."
)
PERMUTED = (
    "Each column is permuted on its own, so that the variables share nothing, after the components "
    "before were projected out. The p-value is the share of permutations, and the data themselves, "
    "in which a component of as many variables could have as much variance, by a proved bound."
)
NOISE = (
    "A certificate says that no other choice of variables has more variance in these data. It says "
    "nothing about sampling noise: other rows from the same source might have led to other "
    "variables. How much of the choice is repeated when rows are left out is shown here."
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
    if isinstance(stability, Stability):
        stability = StabilityPath((stability.result.sparsity[0],), (stability,))
    panels = [] if audit is None else _audit(audit)
    by_sparsity = any(x is not None for x in (found, cross_validation, stability))
    if audit is None and (by_sparsity or (alternatives, significance) == (None, None)):
        panels.append(_overview(found, cross_validation, stability))
    if alternatives is not None:
        panels.append(alternatives_panel([alternatives]))
    if significance is not None:
        panels.append(_significance(significance))
    if source:
        told = facts([("data", named(source))])
        panels[0] = replace(panels[0], content=(*panels[0].content, told))
    drawn, suggested = [], 0
    if cross_validation is not None and cross_validation.n_folds:
        held_out, suggested = choosing.held_out(cross_validation), cross_validation.suggested
        drawn.append(figure(held_out, numbers=cross_validation.table()))
    if found is not None and len(found):
        drawn.insert(0, figure(choosing.path_variance(found), numbers=found.table()))
        panels.append(Panel("variance", "What more variables bring", (side_by_side(*drawn),)))
        panels.append(_variables(found))
    elif drawn:
        panels.append(Panel("held-out", "Rows held out", (side_by_side(*drawn),)))
    if stability is not None:
        panels.append(_stability(stability, suggested))
    chapter = "Choosing" if audit is None else "Audit"
    write_page(path, title, [Chapter(chapter, panels)], command=command, files=files)


def _audit(found: Audit) -> list[Panel]:
    """What given components explain, how far they are from the best, and what is better."""
    numbers = found.table()
    word = _judgement(found)
    share = found.joint_variance / found.total_variance if found.total_variance > 0 else np.nan
    tiles: list[tuple[str, object]] = [
        ("components", len(found)),
        ("better ones found", sum(result is not None for result in found.better)),
        ("largest |cos|", f"{found.cosines.max(initial=0.0):.2g}"),
    ]
    tiles += [("of the total variance, in all", percent(share))] if np.isfinite(share) else []
    told = verdict(word, numbers.sentence, word == NEAR_THE_BEST)
    drawn = side_by_side(figure(judging.audited(found)))
    rows = zip(found.numbers, found.variances, found.better, numbers.words, strict=True)
    better = [
        (str(k), f"{v:#.6g}", f"{r.variances[0]:#.6g}", words) for k, v, r, words in rows if r
    ]
    panels = [
        Panel("overview", "At a glance", (told, facts(tiles, "tiles"))),
        Panel("components", "Each component", (drawn, table(numbers.numbers)), AUDITED),
    ]
    if better:
        *cells, words = zip(*better, strict=True)
        columns = dict(zip(("#", "variance as given", "found"), cells, strict=True))
        listed = Table("Components that have more variance", columns, "", words, "variables")
        panels.append(Panel("better", "Better in their place", (table(listed),), IN_PLACE))
    return panels


def _judgement(found: Audit) -> str:
    """Whether components are near the best, in a word that is proved."""
    pairs = zip(found.better, found.variances.tolist(), strict=True)
    if any(r is not None and r.variances[0] > v + CLOSE * abs(v) for r, v in pairs):
        return "Not the best."
    if not all(found.orthogonal):
        return "Not orthogonal."
    gaps = found.gaps[~np.isnan(found.gaps)]
    return NEAR_THE_BEST if gaps.max(initial=0.0) <= CLOSE else "Gap open."


def _significance(found: Significance) -> Panel:
    """Which components are more than noise."""
    numbers = found.table()
    count = found.n_components
    told = verdict(f"{counted(count, 'component')}.", numbers.sentence, count > 0)
    drawn = side_by_side(figure(judging.against_noise(found), numbers=numbers))
    return Panel("noise", "More than noise?", (told, drawn), PERMUTED)


def _overview(
    found: SparsityPath | None,
    cross_validation: CrossValidation | None,
    stability: StabilityPath | None,
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
        proved = "every component is proved to be the best of its stage, within the tolerance"
        sentences.append(f"{len(found)} sparsities; {proved if certified else of_path(found)}.")
    if cross_validation is not None and cross_validation.n_folds:
        best = cross_validation.suggested
        tiles.append(("variables are nearly as good as any number, in held-out rows", best))
        sentences.append(
            f"In rows held out, {best} variables are within one standard error of the best."
        )
    if stability is not None:
        if stability[0].n_resamples:
            tiles += _steadiness(stability)
            sentences.append(_resampled(stability))
        certified = certified and stability.status is not Status.INTERRUPTED
    if stability is None and cross_validation is None:
        sentences.append(
            "Held-out rows and stability were not asked for (--cv 5, --stability 50): what is here "
            "is proved of these data, and says nothing about sampling noise."
        )
    word = ("Certified." if certified else "Gap open.") if found is not None else "Resampled."
    told = verdict(word, " ".join(sentences), certified)
    return Panel("overview", "At a glance", (told, facts(tiles, "tiles")))


def _steadiness(found: StabilityPath) -> list[tuple[str, object]]:
    """The stability of the first component, from sparsity to sparsity, or of each component."""
    if len(found) == 1:
        place = ["the first component", *(f"component {k}" for k in range(2, MOST_COMPONENTS + 1))]
        pairs = zip(place, found.indices[0], strict=False)
        return [(f"stability of {whose}", in_words(index)) for whose, index in pairs]
    first = found.indices[:, 0]
    known = first[np.isfinite(first)]
    words = dict.fromkeys(in_words(v) for v in (known.min(), known.max())) if known.size else ()
    return [("stability of the first component", " to ".join(words))]


def _resampled(found: StabilityPath) -> str:
    """What was drawn, and how far the fits are certified, in a sentence."""
    first = found[0]
    fits = sum(each.n_resamples for each in found)
    certified = sum(each.certified for each in found)
    proved = "all certified" if certified == fits else f"{certified} of {fits} fits certified"
    return f"{first.drawn}, {proved}: how often they select the same variables is shown below."


def _variables(found: SparsityPath) -> Panel:
    count = found.variances.shape[1]
    content: list[Html] = []
    for k in range(min(count, MOST_COMPONENTS)):
        X, names = found.loadings(k), found.feature_names
        drawn = figure(choosing.path_loadings(X, found.sparsities, names, k, MOST_ROWS))
        changes = found.changes(k)
        columns = {
            "variables": [str(change.sparsity) for change in changes],
            "enter": [", ".join(change.entered) for change in changes],
            "leave": [", ".join(change.left) for change in changes],
        }
        title = f"What enters and leaves component {k + 1}"
        listed = table(Table(title, columns, left=("enter", "leave")))
        numbers = folded(f"Component {k + 1}: enters and leaves", listed)
        body = Html(side_by_side(drawn) + numbers)
        content.append(folded(f"Component {k + 1}", body) if k else body)
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


def _stability(found: StabilityPath, unfolded: int) -> Panel:
    """Stability; of several sparsities one is unfolded, the last if there is no such one."""
    first = found[0]
    content: list[object] = []
    if len(found) > 1:
        drawn = figure(choosing.stability_by_sparsity(found), numbers=found.table())
        content.append(side_by_side(drawn))
    unfolded = unfolded if unfolded in found.sparsities else found.sparsities[-1]
    for p, one in zip(found.sparsities, found, strict=True):
        if one.n_resamples:
            drawn = side_by_side(figure(choosing.selection(one, MOST_ROWS, LEAST)))
            body = Html(drawn + _selection_table(one))
            title = f"{counted(p)} in a component"
            content.append(body if len(found) == 1 else folded(title, body, unfolded=p == unfolded))
    text = (
        f"{first.drawn}. Components of a resample are matched with those of all rows so that the "
        "|cos| of the angles between partners add up to the most. Stability is 1 if every "
        "resample selects the same variables and about 0 if they might as well be random."
    )
    content.append(paragraph(text if first.n_resamples else "No resample was done."))
    return Panel("stability", "Stability", tuple(content), NOISE)


def _selection_table(found: Stability) -> Html:
    rows, _ = choosing.most_selected(found, MOST_LINES)
    components = found.result.components
    columns = {"variable": [found.feature_names[j] for j in rows]}
    for k, shares in enumerate(found.frequencies, start=1):
        columns[f"component {k}"] = [f"{shares[j]:.0%}" for j in rows]
    columns["any"] = [f"{found.overall[j]:.0%}" for j in rows]
    used = (np.flatnonzero(components[:, j]) + 1 for j in rows)
    columns["in all rows"] = [", ".join(map(str, each)) for each in used]
    made = Table("How often variables are selected", columns, left=("variable", "in all rows"))
    numbers = table(made, kind="sortable", tall=True)
    caption = "Agreement of the components of resamples with those of all rows"
    agreement = table(found.table().numbers, caption=caption)
    return Html(agreement + folded("The numbers", numbers))


def alternatives_panel(lists: Sequence[Alternatives]) -> Panel:
    """The lists of one component after the other."""
    content: list[object] = []
    for k, found in enumerate(lists, start=1):
        body = _alternatives(found, k)
        if k > 1:
            given = "the one before it" if k == 2 else "those before it"
            known = "complete" if found.complete else "perhaps not all"
            title = f"Component {k}, given {given}: {counted(len(found), 'support')}, {known}"
            body = folded(title, body)
        content.append(body)
    return Panel("alternatives", "Alternatives", tuple(content), NEAR)


def _alternatives(found: Alternatives, number: int) -> Html:
    word = "Complete." if found.complete else "Perhaps not all."
    told = verdict(word, _in_words(found), found.complete)
    if len(found) < 2:
        return told
    columns = {
        "#": [str(i) for i in range(1, len(found) + 1)][:MOST_SUPPORTS],
        "variance": [f"{variance:#.6g}" for variance in found.variances[:MOST_SUPPORTS]],
        "below the best": below_best(found)[:MOST_SUPPORTS],
    }
    words = [found.names(support) for support in found.supports[:MOST_SUPPORTS]]
    made = Table("Choices of variables", columns, "", words, "variables")
    numbers = table(made, tall=len(words) > 20)
    rest = len(found) - MOST_SUPPORTS
    if rest > 0:
        numbers = Html(numbers + paragraph(f"{rest} more are in alternatives.csv.", kind="note"))
    grid = choosing.alternatives(found, MOST_ROWS, MOST_COLUMNS, number)
    return Html(told + side_by_side(figure(grid, numbers=numbers)))


def _in_words(found: Alternatives) -> str:
    """How many, how near, and what they share."""
    if not len(found):
        return "No vector with so few variables is left." if found.complete else found.note
    near = f"within {100 * found.tolerance:.3g} % of the best variance"
    if len(found) == 1:
        claim = "no other choice comes near" if found.complete else found.note
        names, variance = ", ".join(found.names(found.supports[0])), f"{found.variances[0]:#.6g}"
        return f"One choice of variables {near}, {claim}: {names} (variance {variance})."
    claim = "it is proved that there is no other" if found.complete else found.note
    common = ", ".join(found.names(found.in_all))
    shared = f"In all of them: {common}." if common else "No variable is in all of them."
    return f"{len(found)} choices of variables {near}; {claim}. {shared}"
