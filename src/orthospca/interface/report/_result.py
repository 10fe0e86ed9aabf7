"""The report of one or more results: what it says of each, panel by panel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from orthospca import words
from orthospca.interface.angles import largest_cosine, write_cosine
from orthospca.interface.grouping import grouped
from orthospca.interface.html import Html, element, facts, named, paragraph, table
from orthospca.interface.plots import choosing, results
from orthospca.interface.plots import scores as score_plots
from orthospca.interface.plots.text import percent, signed
from orthospca.interface.report._choosing import alternatives_panel
from orthospca.interface.report._page import write_page
from orthospca.interface.report._parts import (
    Chapter,
    Panel,
    carried,
    figure,
    folded,
    side_by_side,
    verdict,
)
from orthospca.interface.report._section import Section
from orthospca.path import SparsityPath
from orthospca.result import Component, Result, Status, Table, format_gap

METHODS = {
    "branch-and-bound": "branch and bound with the share relaxation",
    "eigenvalue": "branch and bound with eigenvalue, Gershgorin, Frobenius and trace bounds",
    "enumeration": "enumeration of every support",
    "deflation": "deflation (a baseline; its components are not orthogonal)",
}
FOR_SETS = "a bound on all sets at once and, unless a proof was asked for, branch and bound"
#: Components that are seen at once, and loadings of one; the others are folded.
MOST_PARTS, MOST_BARS = 12, 12
#: Variables and components whose loadings have room for names beside them.
MOST_NAMES, MOST_NUMBERS = 60, 20
#: Rows of the table of loadings, those that are printed, and those that are seen without scrolling;
#: components that have a column in it, and those for which it stands beside the picture.
MOST_ROWS, MOST_PRINTED, MOST_AT_ONCE, MOST_COLUMNS, MOST_BESIDE = 2000, 200, 30, 10, 4
#: Stages in the picture of gaps: those that took longest.
MOST_STAGES = 16
#: Observations that are drawn, scores that are kept for other axes, and how many axes there are.
MOST_POINTS, MOST_SCORES, MOST_AXES = 4000, 40_000, 12
#: Arrows of a biplot: the largest loadings.  Where there is none, the scores have this width.
MOST_ARROWS, WIDE = 24, 760.0
#: Bytes of the result that the page carries for downloads.
MOST_BYTES = 1_200_000


def write_report(
    path: str | PathLike[str],
    sections: Sequence[Section],
    *,
    title: str = "Orthogonal sparse principal components",
    command: str | None = None,
    files: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a report of one or more results as a single HTML file.

    Parameters
    ----------
    path : path
    sections : sequence of Section
        One for each result.
    title : str
    command : str, optional
        The command that made the results.
    files : sequence of (name, checksum)
        What was read.
    """
    matrices = [
        (f"the matrix, {section.certificate}", section.result.certificate.sha256)
        for section in sections
        if section.certificate
    ]
    chapters = [_chapter(section, i) for i, section in enumerate(sections, start=1)]
    kinds = [words.kind_of(section.result) for section in sections]
    write_page(path, title, chapters, kinds=kinds, command=command, files=[*files, *matrices])


def _chapter(section: Section, number: int) -> Chapter:
    """The result as a chapter of the page, the ``number``-th."""
    panels = [_overview(section)]
    if section.result.n_components:
        panels += [_components(section), _loadings(section, number)]
        drawn = _scores(section)
        if drawn:
            lead = "Where the observations lie along the components."
            panels.append(Panel("scores", "Scores", (side_by_side(*drawn),), lead))
        panels.append(_variance(section))
        if len(section.result.path) > 1:
            panels.append(_fewer_variables(section))
        panels.append(_proof(section))
        if section.alternatives:
            panels.append(alternatives_panel(section.alternatives))
    return Chapter(section.title, (*panels, *section.more), _result(section.result))


def _overview(section: Section) -> Panel:
    result, total = section.result, section.result.total_variance
    tiles: list[tuple[str, object]] = [("components", result.n_components)]
    if result.n_components:
        if result.orthogonal and math.isfinite(total) and total > 0.0:
            beside = ""
            if len(section.eigenvalues):
                dense = float(section.eigenvalues[: result.n_components].sum())
                beside = f" (ordinary PCA: {percent(dense / total)})"
            share = percent(float(result.variances.sum()) / total)
            tiles.append((f"of the total variance{beside}", share))
        tiles.append((f"of {result.n_features} variables in use", len(section.order)))
        if words.is_set(result):
            tiles.append(("gap of the set", words.gap_of_set(result)))
        else:
            widest, tolerance = float(result.gaps.max()), section.settings.get("gap", 0.0)
            # A search that stopped at the tolerance says no more than that.
            stopped = 0.1 * tolerance < widest <= tolerance
            gap = f"≤ {100 * tolerance:g} %" if stopped else format_gap(widest)
            tiles.append(("largest gap", gap))
        if result.n_components > 1:
            largest = write_cosine(largest_cosine(result))
            tiles.append(("largest |cos| between two components", largest))
    seconds = result.runtime
    digits = 2 if seconds < 100 else 0
    took = f"{1000 * seconds:.0f} ms" if seconds < 0.1 else f"{seconds:.{digits}f} s"
    sentence = f"{words.counted(result)}; {words.meaning(result)}."
    content = (
        verdict(words.verdict(result), sentence, result.status.finished),
        facts([*tiles, ("to find and prove", took)], "tiles"),
        facts(_problem(section)),
        element("div", element("span", "Download:"), class_="controls script", data_result="1"),
    )
    return Panel("overview", "At a glance", content)


def _problem(section: Section) -> list[tuple[str, object]]:
    result, settings = section.result, section.settings
    limits = sorted(set(result.sparsity))
    sparsity = str(limits[0]) if len(limits) == 1 else ", ".join(map(str, result.sparsity))
    together = words.is_set(result)
    pairs: list[tuple[str, object]] = [
        ("data", named(section.source or "a matrix")),
        ("matrix", f"{section.matrix_kind}, {result.n_features} × {result.n_features}"),
        ("components requested", len(result.sparsity)),
        ("objective", words.OBJECTIVES[result.objective]),
        ("nonzero loadings, at most", sparsity),
        ("method", FOR_SETS if together else METHODS.get(result.method, result.method)),
    ]
    if "gap" in settings:
        # A result does not know what was asked of it.
        allowed = f"max({settings.get('eps', 0.0):g}, {settings['gap']:g}·|lower|)"
        pairs.append(("tolerance", f"upper − lower ≤ {allowed}{', of the total' * together}"))
    if settings.get("time_limit") is not None:
        pairs.append(("time limit", f"{settings['time_limit']:g} s"))
    if settings.get("node_limit") is not None:
        each = "for the set" if together else "for each component"
        pairs.append(("node limit", f"{settings['node_limit']} {each}"))
    if result.note:
        pairs.append(("note", result.note))
    return [*pairs, ("nodes of the search", result.nodes)]


def _components(section: Section) -> Panel:
    cards = [_part(section, k, c) for k, c in enumerate(section.result.stages, start=1)]
    shown = [element("ol", *cards[:MOST_PARTS], class_="parts")]
    if len(cards) > MOST_PARTS:
        rest = element("ol", *cards[MOST_PARTS:], class_="parts", start=str(MOST_PARTS + 1))
        shown.append(folded(f"{len(cards) - MOST_PARTS} more components", rest))
    lead = "The variables of each component, strongest first; red is positive, blue is negative."
    return Panel("components", "Components", tuple(shown), lead)


def _part(section: Section, k: int, component: Component) -> Html:
    """A component with a bar for each of its loadings, and how far it is proved."""
    total = section.result.total_variance
    order = results.strongest(component.vector, component.support)
    largest = max((abs(component.vector[j]) for j in order), default=1.0)
    bars = []
    for j in order[:MOST_BARS]:
        loading, name = float(component.vector[j]), section.names[j]
        label = element("bdi", name, title=name if len(name) > 24 else "")
        bar = Html(f'<i style="width:{100 * abs(loading) / largest:.0f}%"></i>')
        given = {"class_": "minus" if loading < 0 else "", "data_j": str(j)}
        bars.append(element("li", label, bar, element("b", signed(loading)), **given))
    heading: list[object] = [element("h4", f"Component {k}")]
    if component.status is Status.OPTIMAL:
        heading.append(element("span", "certified", class_="badge"))
    elif component.status is not Status.PART_OF_SET:  # of a component of a set nothing is proved
        heading.append(element("span", f"gap {format_gap(component.gap)}", class_="badge open"))
    share = f" · {percent(component.variance / total)} of the total" if total > 0 else ""
    rest = len(order) - MOST_BARS
    return element(
        "li",
        element("header", *heading),
        paragraph(f"variance {component.variance:#.6g}{share}"),
        element("ul", *bars, class_="bars"),
        *([paragraph(f"and {rest} more, in the table of loadings")] if rest > 0 else []),
        class_="part",
    )


def _loadings(section: Section, number: int) -> Panel:
    count, order, X = section.result.n_components, section.order, section.result.components
    if count <= MOST_COLUMNS:
        used, left_out = order[:MOST_ROWS], len(order) - MOST_ROWS
        columns = {str(k): [signed(x[j]) if x[j] else "" for j in used] for k, x in enumerate(X, 1)}
    else:
        pairs = [(j, k) for j in order for k in range(count) if X[k, j]]
        kept = set(sorted(pairs, key=lambda pair: -abs(X[pair[1], pair[0]]))[:MOST_ROWS])
        left_out = len(pairs) - MOST_ROWS
        pairs = [pair for pair in pairs if pair in kept]
        used = [j for j, _ in pairs]
        columns = {"component": [str(k + 1) for _, k in pairs]}
        columns["loading"] = [signed(X[k, j]) for j, k in pairs]
    names: dict[str, list[str]] = {"variable": [section.names[j] for j in used]}
    name, rows = f"loadings{number}", len(used)
    listed = Table("Loadings by variable", names | columns, left=("variable",))
    made = table(listed, kind="sortable", name=name, tall=rows > MOST_AT_ONCE)
    search = Html(
        '<label>Search <input type="search" placeholder="part of a name" '
        f'data-filters="{name}"></label> <output aria-live="polite">{rows} rows</output>'
    )
    beside: list[object] = [element("div", search, class_="controls script"), made]
    if left_out > 0:
        text = f"The {left_out} smallest loadings are not in this table; loadings.csv has all."
        beside.append(paragraph(text, kind="note"))
    # On paper a table of very many rows would be a book.
    kinds = ["full" * (MOST_BESIDE < count <= MOST_COLUMNS), "unprinted" * (rows > MOST_PRINTED)]
    drawn = figure(results.loadings(section.result, section.names, MOST_NAMES))
    content = side_by_side(drawn, element("div", *beside, class_=" ".join(filter(None, kinds))))
    return Panel("loadings", "Loadings", (content,))


def _scores(section: Section) -> list[Html]:
    """The scatter of the scores and the biplot; of one component, its scores by row."""
    scores, result, names = section.known_scores, section.result, section.names
    if scores is None:
        return []
    values = scores.values[:, :MOST_AXES]
    # The rows with all scores, and of very many every second, third and so on.
    whole = np.flatnonzero(np.isfinite(values).all(axis=1))
    kept = whole[:: max(1, math.ceil(len(whole) / MOST_POINTS))].tolist()
    if not kept:
        return []
    count = values.shape[1]
    alone = count == 1 or score_plots.disjoint(result)
    # Where no arrows show the variables of the axes, these have room to be named beside them.
    width = WIDE if alone else 460.0
    points = score_plots.scatter(result, names, scores, kept, width=width)
    if count == 1:
        return [figure(points)]
    axes = max(2, min(count, MOST_SCORES // len(kept)))
    place = {row: n for n, row in enumerate(kept)}
    data = {
        "names": [f"component {k + 1}" for k in range(axes)],
        "axes": [score_plots.axis_name(result, names, k, width - 80.0) for k in range(axes)],
        "up": [score_plots.axis_name(result, names, k, 320.0) for k in range(axes)],
        "rows": [f"row {i + 1}" if scores.rows is None else scores.rows[i] for i in kept],
        "by": scores.by,
        "groups": [
            {"name": group.name, "rows": [place[i] for i in group.rows]}
            for group in grouped(scores.groups, kept)
        ],
        "values": [[float(f"{v:.6g}") for v in values[kept, k]] for k in range(axes)],
    }
    drawn = [figure(points, scores=data)]
    if not alone:
        drawn.append(figure(score_plots.biplot(points, result, names, (0, 1), MOST_ARROWS)))
    return drawn


def _variance(section: Section) -> Panel:
    result, total = section.result, section.result.total_variance
    compared = len(section.eigenvalues) > 0
    lead = "What the components explain" + (", beside ordinary PCA." if compared else ".")
    drawn = [figure(results.scree(result, section.eigenvalues))]
    if not result.orthogonal:
        which = "found by deflation" if result.method == "deflation" else "with uncorrelated scores"
        meaning = (
            f"Components {which} are not orthogonal: their variances do not add up to what they "
            "explain together."
        )
    elif not (math.isfinite(total) and total > 0.0):
        meaning = "The matrix has no positive trace, so there is no total to take a share of."
    else:
        shares = {"share of the total": result.variances / total}
        meaning = (
            "The components are orthogonal, so their variances add up to what their span explains, "
            "as in ordinary PCA, whose components use every variable. "
        )
        if compared:
            shares["ordinary PCA"] = section.eigenvalues[: result.n_components] / total
            meaning += (
                "No choice of as many orthogonal components explains more than those of ordinary "
                "PCA: the difference is the price of sparsity."
            )
        if result.exhausted:
            meaning += (
                " Here it is proved that no further component exists: there are fewer components "
                "than variables, and what they explain stays below 100 %."
            )
        columns = {"#": [str(k) for k in range(1, result.n_components + 1)]}
        for name, share in shares.items():
            columns[name] = [percent(value) for value in share]
            columns[f"{name}, so far"] = [percent(value) for value in share.cumsum()]
        numbers = Table("Shares of the total variance", columns)
        drawn.append(figure(results.explained(result, section.eigenvalues), numbers=numbers))
    content = (side_by_side(*drawn), paragraph(meaning))
    return Panel("variance", "Explained variance", content, lead)


def _fewer_variables(section: Section) -> Panel:
    path, names = SparsityPath.of_first(section.result), section.names
    about = (
        "The best first component for every smaller number of variables, proved along the way. "
        "Where the line is flat, a sparser component does as well."
    )
    drawn = [figure(choosing.path_variance(path, about), numbers=path.table())]
    X = path.loadings()
    if np.any(X, axis=0).sum() <= MOST_NAMES // 2 and len(path) <= 2 * MOST_NUMBERS:
        grid = choosing.path_loadings(X, path.sparsities, names, 0, MOST_NAMES)
        drawn.append(figure(replace(grid, name="path-variables")))
    lead = "What the first component would explain with fewer variables."
    return Panel("sparsity", "Fewer variables", (side_by_side(*drawn),), lead)


def _proof(section: Section) -> Panel:
    result = section.result
    tall = result.n_components > 20
    numbers = table(
        result.table(True).numbers, caption="Variances and bounds", kind="sortable", tall=tall
    )
    content: list[object] = [numbers]
    lead = "How far each component is proved to be the best of its stage, and how to check it."
    if words.is_set(result):
        lead = "How far the set is proved to be the best one, and how to check it."
        content.append(paragraph(words.IN_ITS_PLACE, kind="note"))
    drawn = [figure(results.gaps(result, MOST_STAGES))] if result.history else []
    if 1 < result.n_components <= MOST_NUMBERS and largest_cosine(result) > results.ROUNDING:
        drawn.append(figure(results.angles(result)))
    if section.certificate:
        drawn.append(_certificate(section))
    content += [side_by_side(*drawn)] if drawn else []
    return Panel("proof", "Proof", tuple(content), lead)


def _certificate(section: Section) -> Html:
    certificate: Any = section.result.certificate
    held = {"matrix.npy", "factor.npy"} & set(certificate.arrays)
    whose = "the bound of the set" if words.is_set(section.result) else "these bounds"
    command = f"orthospca verify {section.certificate}{'' if held else ' --data DATA'}"
    return element(
        "div",
        element("h4", "Check it yourself"),
        paragraph(
            f"The proof of {whose} is next to this report, in ",
            element("code", section.certificate),
            ". The checker is a short Python program that needs only NumPy, shares no code with "
            "the solver and recomputes everything. With ",
            element("code", "--data", class_="flag"),
            " it also checks that the matrix is that of the data. Run:",
        ),
        element("p", element("code", command), class_="copy"),
        facts([("SHA-256 of the matrix", element("code", certificate.sha256))], "long"),
        class_="aside",
    )


def _result(result: Result) -> Html:
    """The result inside the page, for downloads; what is too much is left out, history first."""
    content = result.to_dict()
    for part in ("", "history", "path"):
        if part:
            content[part] = []
        text = carried(content, "result")
        if len(text) <= MOST_BYTES:
            return text
    return Html("")
