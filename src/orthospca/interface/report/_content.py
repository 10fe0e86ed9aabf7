"""What a report says of one result, panel by panel."""

from __future__ import annotations

import json
import math
from typing import Any

from orthospca import words
from orthospca.interface.angles import largest_cosine, write_cosine
from orthospca.interface.report import _figures, _scatter
from orthospca.interface.report._alternatives import alternatives_panel
from orthospca.interface.report._document import Chapter, Panel
from orthospca.interface.report._html import (
    Html,
    element,
    embedded,
    facts,
    named,
    paragraph,
    table,
)
from orthospca.interface.report._section import Section, percent, signed
from orthospca.result import Component, Result, Status, format_gap

METHODS = {
    "branch-and-bound": "branch and bound with the share relaxation",
    "eigenvalue": "branch and bound with eigenvalue, Gershgorin, Frobenius and trace bounds",
    "enumeration": "enumeration of every support",
    "deflation": "deflation (a baseline; its components are not orthogonal)",
}
FOR_SETS = "a bound on all sets at once and, unless a proof was asked for, branch and bound"
#: Components that are seen at once; the others are folded.
MOST_PARTS = 12
#: Loadings of one component that are seen at once.
MOST_BARS = 12
#: Rows of the table of loadings.
MOST_ROWS = 2000
#: Rows that are printed.
MOST_PRINTED = 200
#: Components that have a column each in it.
MOST_COLUMNS = 10
#: Bytes of the result that the page carries for downloads.
MOST_BYTES = 1_200_000


def chapter(section: Section, number: int) -> Chapter:
    """The result as a chapter of the page, the ``number``-th."""
    result = section.result
    panels = [_overview(section)]
    if result.n_components:
        panels += [_components(section), _loadings(section, number)]
        drawn = _scatter.figures(section)
        if drawn:
            lead = "Where the observations lie along the components."
            panels.append(Panel("scores", "Scores", (_figures_of(*drawn),), lead))
        panels.append(_variance(section))
        if len(result.path) > 1:
            charts = (_figures.path_chart(section), _figures.path_map(section))
            lead = "What the first component would explain with fewer variables."
            panels.append(Panel("sparsity", "Fewer variables", (_figures_of(*charts),), lead))
        panels.append(_proof(section))
        if section.alternatives:
            panels.append(alternatives_panel(section.alternatives))
    return Chapter(section.title, (*panels, *section.more), _carried(result))


def _figures_of(*figures: Html | None) -> Html:
    return element("div", *(f for f in figures if f), class_="figures")


def _overview(section: Section) -> Panel:
    result = section.result
    certified = result.status.finished
    total = result.total_variance
    tiles: list[tuple[str, object]] = [("components", result.n_components)]
    if result.n_components:
        if result.method != "deflation" and math.isfinite(total) and total > 0.0:
            beside = ""
            if len(section.eigenvalues):
                dense = float(section.eigenvalues[: result.n_components].sum())
                beside = f" (ordinary PCA: {percent(dense / total)})"
            share = percent(float(result.variances.sum()) / total)
            tiles.append((f"of the total variance{beside}", share))
        tiles += [
            (f"of {result.n_features} variables in use", len(section.order)),
            ("gap of the set", words.gap_of_set(result))
            if words.is_set(result)
            else ("largest gap", format_gap(float(result.gaps.max()))),
        ]
        if result.n_components > 1:
            tiles.append(
                ("largest |cos| between two components", write_cosine(largest_cosine(result)))
            )
    tiles.append(("to find and prove", _seconds(result.runtime)))
    content = (
        element(
            "p",
            element("b", words.verdict(result)),
            " ",
            element("span", f"{words.counted(result)}; {words.meaning(result)}."),
            class_="verdict" if certified else "verdict open",
        ),
        facts(tiles, "tiles"),
        facts(_problem(section)),
        element("div", element("span", "Download:"), class_="controls script", data_result="1"),
    )
    return Panel("overview", "At a glance", content)


def _seconds(seconds: float) -> str:
    if seconds < 0.1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:.0f} s"


def _problem(section: Section) -> list[tuple[str, object]]:
    result, settings = section.result, section.settings
    limits = sorted(set(result.sparsity))
    sparsity = str(limits[0]) if len(limits) == 1 else ", ".join(map(str, result.sparsity))
    gap, eps = settings.get("gap", 1e-4), settings.get("eps", 0.0)
    pairs: list[tuple[str, object]] = [
        ("data", named(section.source or "a matrix")),
        ("matrix", f"{section.matrix_kind}, {result.n_features} × {result.n_features}"),
        ("components asked for", len(result.sparsity)),
        ("objective", words.OBJECTIVES[result.objective]),
        ("nonzero loadings, at most", sparsity),
        ("method", FOR_SETS if words.is_set(result) else METHODS.get(result.method, result.method)),
    ]
    if "gap" in settings:
        # A result does not know what was asked of it.
        whose = ", of the total" if words.is_set(result) else ""
        pairs.append(("tolerance", f"upper − lower ≤ max({eps:g}, {gap:g}·|lower|){whose}"))
    if settings.get("time_limit") is not None:
        pairs.append(("time limit", f"{settings['time_limit']:g} s"))
    if settings.get("node_limit") is not None:
        each = "for the set" if words.is_set(result) else "for each component"
        pairs.append(("node limit", f"{settings['node_limit']} {each}"))
    if result.note:
        pairs.append(("note", result.note))
    return [*pairs, ("nodes of the search", result.nodes)]


def _components(section: Section) -> Panel:
    result = section.result
    cards = [_part(section, k, c) for k, c in enumerate(result.stages, start=1)]
    shown = [element("ol", *cards[:MOST_PARTS], class_="parts")]
    if len(cards) > MOST_PARTS:
        rest = element("ol", *cards[MOST_PARTS:], class_="parts", start=str(MOST_PARTS + 1))
        summary = element("summary", f"{len(cards) - MOST_PARTS} more components")
        shown.append(element("details", summary, rest))
    lead = "The variables of each component, strongest first; red is positive, blue is negative."
    return Panel("components", "Components", tuple(shown), lead)


def _part(section: Section, k: int, component: Component) -> Html:
    """A component with a bar for each of its loadings."""
    total = section.result.total_variance
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    largest = max((abs(component.vector[j]) for j in order), default=1.0)
    bars = []
    for j in order[:MOST_BARS]:
        loading, name = float(component.vector[j]), section.names[j]
        width = f"width:{100 * abs(loading) / largest:.0f}%"
        bars.append(
            element(
                "li",
                element("bdi", name, title=name if len(name) > 24 else ""),
                Html(f'<i style="{width}"></i>'),
                element("b", signed(loading)),
                class_="minus" if loading < 0 else "",
                data_j=str(j),
            )
        )
    share = f" · {percent(component.variance / total)} of the total" if total > 0 else ""
    rest = len(order) - MOST_BARS
    return element(
        "li",
        element("header", element("h4", f"Component {k}"), *_badge(component)),
        paragraph(f"variance {component.variance:#.6g}{share}"),
        element("ul", *bars, class_="bars"),
        *([paragraph(f"and {rest} more, in the table of loadings")] if rest > 0 else []),
        class_="part",
    )


def _badge(component: Component) -> list[Html]:
    """How far a component is proved; nothing if only its set is."""
    if component.status is Status.PART_OF_SET:
        return []
    certified = component.status is Status.OPTIMAL
    text = "certified" if certified else f"gap {format_gap(component.gap)}"
    return [element("span", text, class_="badge" if certified else "badge open")]


def _loadings(section: Section, number: int) -> Panel:
    count, order = section.result.n_components, section.order
    X = section.result.components
    name = f"loadings{number}"
    if count <= MOST_COLUMNS:
        headings = ["variable", *map(str, range(1, count + 1))]
        rows: list[list[object]] = [
            [named(section.names[j]), *(signed(x) if x else "" for x in X[:, j])]
            for j in order[:MOST_ROWS]
        ]
        left_out = len(order) - len(rows)
        numbers = range(1, count + 1)
    else:
        headings = ["variable", "component", "loading"]
        pairs = [(j, k) for j in order for k in range(count) if X[k, j]]
        kept = set(sorted(pairs, key=lambda pair: -abs(X[pair[1], pair[0]]))[:MOST_ROWS])
        rows = [
            [named(section.names[j]), k + 1, signed(X[k, j])] for j, k in pairs if (j, k) in kept
        ]
        left_out = len(pairs) - len(rows)
        numbers = range(1, 3)
    made = table(
        headings,
        rows,
        numbers,
        caption="Loadings by variable",
        kind="sortable",
        name=name,
        tall=True,
    )
    search = Html(
        '<label>Search <input type="search" placeholder="part of a name" '
        f'data-filters="{name}"></label> <output aria-live="polite">{len(rows)} rows</output>'
    )
    beside: list[object] = [element("div", search, class_="controls script"), made]
    if left_out > 0:
        text = f"The {left_out} smallest loadings are not in this table; loadings.csv has all."
        beside.append(paragraph(text, kind="note"))
    # On paper a table of very many rows would be a book.
    kind = "unprinted" if len(rows) > MOST_PRINTED else ""
    content = _figures_of(_figures.loadings_map(section), element("div", *beside, class_=kind))
    return Panel("loadings", "Loadings", (content,))


def _variance(section: Section) -> Panel:
    result, total = section.result, section.result.total_variance
    compared = len(section.eigenvalues) > 0
    lead = "What the components explain" + (", beside ordinary PCA." if compared else ".")
    if result.method == "deflation":
        text = (
            "Components found by deflation are not orthogonal: their variances overlap, and their "
            "total would mean nothing."
        )
        charts = _figures_of(_figures.scree(section))
        return Panel("variance", "Explained variance", (charts, paragraph(text)), lead)
    if not (math.isfinite(total) and total > 0.0):
        text = "The matrix has no positive trace, so there is no total to take a share of."
        charts = _figures_of(_figures.scree(section))
        return Panel("variance", "Explained variance", (charts, paragraph(text)), lead)
    shares = result.variances / total
    columns = [shares, shares.cumsum()]
    headings = ["#", "share of the total", "so far"]
    meaning = (
        "The components are orthogonal, so their variances add up to what their span explains, as "
        "in ordinary PCA, whose components use every variable. "
    )
    if compared:
        dense = section.eigenvalues[: len(shares)] / total
        columns += [dense, dense.cumsum()]
        headings += ["ordinary PCA", "so far"]
        meaning += (
            "No choice of as many orthogonal components explains more than those of ordinary PCA: "
            "the difference is the price of sparsity."
        )
    rows = [[k, *map(percent, row)] for k, row in enumerate(zip(*columns, strict=True), start=1)]
    if result.exhausted:
        meaning += (
            " Here it is proved that no further component exists: there are fewer components than "
            "variables, and what they explain stays below 100 %."
        )
    made = table(headings, rows, len(headings), caption="Shares of the total variance")
    numbers = element("details", element("summary", "The numbers"), made)
    charts = _figures_of(_figures.scree(section), _figures.cumulative(section))
    return Panel("variance", "Explained variance", (charts, numbers, paragraph(meaning)), lead)


def _proof(section: Section) -> Panel:
    result = section.result
    deflated = result.method == "deflation"
    headings = ["#", "variance", "proved upper bound", "gap", "nodes", "seconds", "status"]
    if deflated:
        headings.insert(2, "in the adjusted matrix")
    rows = []
    for line in words.lines(result):
        row: list[object] = [
            line.name,
            f"{line.variance:#.6g}",
            f"{line.upper_bound:#.6g}",
            line.gap,
            "" if line.nodes is None else line.nodes,
            "" if line.runtime is None else f"{line.runtime:.3g}",
            line.status,
        ]
        if deflated:
            row.insert(2, f"{line.deflated_variance:#.6g}")
        rows.append(row)
    made = table(
        headings,
        rows,
        len(headings) - 1,
        caption="Variances and bounds",
        kind="sortable",
        tall=len(rows) > 20,
    )
    content: list[object] = [made]
    lead = "How far each component is proved to be the best of its stage, and how to check it."
    if words.is_set(result):
        lead = "How far the set is proved to be the best one, and how to check it."
        content.append(paragraph(words.IN_ITS_PLACE, kind="note"))
    drawn = [_figures.gaps(section)]
    if 1 < result.n_components <= 20 and largest_cosine(result) > 1e-10:
        drawn.append(_figures.cosines(section))
    if section.certificate:
        drawn.append(_certificate(section))
    if any(drawn):
        content.append(_figures_of(*drawn))
    return Panel("proof", "Proof", tuple(content), lead)


def _certificate(section: Section) -> Html:
    certificate: Any = section.result.certificate
    held = {"matrix.npy", "factor.npy"} & set(certificate.arrays)
    whose = "the bound of the set" if words.is_set(section.result) else "these bounds"
    command = f"orthospca verify {section.certificate}{'' if held else ' --data DATA'}"
    return element(
        "div",
        element("h4", "Nobody has to believe it"),
        paragraph(
            f"The proof of {whose} is beside this report, in ",
            element("code", section.certificate),
            ". The checker is one file of Python that needs NumPy and nothing of the program that "
            "found the components; it computes everything anew. With ",
            element("code", "--data", class_="flag"),
            " it also checks that the matrix is that of the data. To check it:",
        ),
        element("p", element("code", command), class_="copy"),
        facts([("SHA-256 of the matrix", element("code", certificate.sha256))], "long"),
        class_="aside",
    )


def _carried(result: Result) -> Html:
    """The result inside the page, for downloads; what is too much is left out, history first."""
    content = result.to_dict()
    for part in ("", "history", "path"):
        if part:
            content[part] = []
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        if len(text) <= MOST_BYTES:
            return embedded(text, "result")
    return Html("")
