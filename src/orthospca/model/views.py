"""Results for people: as text, as HTML in a notebook, and as data frames."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from orthospca.model import words
from orthospca.model.component import Component
from orthospca.model.validation import validate_choice

if TYPE_CHECKING:
    from orthospca.model.result import Result

#: Characters of a line of text.
WIDTH = 96
#: In a notebook only so many components, and of each so many loadings, the largest, are shown.
MOST_ROWS, MOST_LOADINGS = 50, 20
#: Colours of positive and of negative loadings, which show on light and on dark ground.
PLUS, MINUS = "31, 119, 199", "217, 115, 26"
#: The first columns of every table of components.
HEADINGS = ("#", "variance", "of total", "upper bound", "gap")
#: What :func:`frame` can show.
FRAMES = ("loadings", "components")


def summary(result: Result, width: int) -> str:
    """The components as text: a line of numbers for each, and its loadings below."""
    table = "{:>3}  {:>12}  {:>8}  {:>12}  {:>9}  {:>7}  {}"
    lines = [table.format(*HEADINGS, "nodes", "status")]
    for line, component in zip_longest(words.lines(result), result.stages):
        nodes = "" if line.nodes is None else line.nodes
        lines.append(table.format(*_numbers(result, line), nodes, line.status))
        if component is not None:
            pairs = loadings(result, component)
            lines += in_lines((f"{name} {signed(x)}" for name, x in pairs), width)
    lines += ["", f"{words.counted(result)}; {result.runtime:.3g} s; {words.meaning(result)}"]
    if words.is_set(result):
        lines.append(words.IN_ITS_PLACE)
    if result.note:
        lines.append(result.note)
    return "\n".join(lines)


def in_lines(parts: Iterable[str], width: int, indent: int = 5) -> list[str]:
    """Break a list of words, none of which is broken itself, into lines."""
    # A space within a word must not be where a line ends.
    text = ", ".join(word.replace(" ", "\0") for word in parts)
    space = " " * indent
    lines = textwrap.wrap(
        text,
        max(width, indent + 1),
        initial_indent=space,
        subsequent_indent=space,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def loadings(result: Result, component: Component) -> list[tuple[str, float]]:
    """The features of a component with their loadings, the largest first."""
    names = result.feature_names
    order = sorted(component.support.tolist(), key=lambda j: (-abs(component.vector[j]), j))
    return [(str(j) if names is None else names[j], float(component.vector[j])) for j in order]


def signed(loading: float) -> str:
    """A loading with its sign."""
    return f"{loading:+.3f}".replace("-", "−")


def _numbers(result: Result, line: words.Line) -> list[str]:
    """What the columns of ``HEADINGS`` have in a line."""
    total, variance = result.total_variance, line.variance
    share = percent(variance / total) if total > 0 else ""
    return [line.name, f"{variance:.6g}", share, f"{line.upper_bound:.6g}", line.gap]


def percent(share: float) -> str:
    """A share of the whole; nothing if there is no whole."""
    return f"{share:.1%}" if math.isfinite(share) else ""


def short(result: Result) -> str:
    """The result in one line, for its ``repr``."""
    limits = sorted(set(result.sparsity))
    sparsity = str(limits[0]) if len(limits) == 1 else str(list(result.sparsity))
    return (
        f"Result({words.counted(result)}, n_features={result.n_features}, sparsity={sparsity}, "
        f"status={result.status.value!r})"
    )


def html(result: Result) -> str:
    """The result as HTML without script or style sheet, for a notebook; names are escaped."""
    headings = [*HEADINGS, "status", "loadings"]
    rows = []
    for line, component in zip_longest(words.lines(result), result.stages):
        chips = "" if component is None else _chips(loadings(result, component))
        rows.append([*_numbers(result, line), line.status, chips])
    closing = f"{words.counted(result)}; {words.meaning(result)}."
    if words.is_set(result):
        closing += f" {words.IN_ITS_PLACE}"
    left_out = result.n_components - MOST_ROWS
    if left_out > 0:
        # The line of the set, which comes last, stays.
        del rows[MOST_ROWS : result.n_components]
        closing = f"{left_out} more components are not shown. {closing}"
    return html_table("Orthogonal sparse components", headings, rows, closing, numbers=5)


def html_table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], closing: str, numbers: int
) -> str:
    """A table in the colours of the notebook; cells are HTML, everything else is text.

    Parameters
    ----------
    title, closing : str
        Above the table, and below it.
    headings : sequence of str
    rows : iterable of sequence of str
    numbers : int
        So many columns, the first ones, are aligned to the right.
    """
    right, left = "text-align:right;white-space:nowrap", "text-align:left"
    sides = [right if j < numbers else left for j in range(len(headings))]
    head = "".join(
        f'<th scope="col" style="{side}">{escape(heading)}</th>'
        for heading, side in zip(headings, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{side};vertical-align:top">{cell}</td>'
            for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="orthospca" style="overflow-x:auto"><p><b>{escape(title)}</b></p>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{escape(closing)}</p></div>"
    )


def _chips(found: list[tuple[str, float]]) -> str:
    """Names and loadings, the stronger the larger: blue is positive, orange negative."""
    shown = "".join(
        f'<span style="display:inline-block;white-space:nowrap;padding:0 .4em;margin:0 .2em .2em 0;'
        f"border-radius:.3em;background:rgba({PLUS if x > 0 else MINUS}, "
        f'{0.1 + 0.5 * abs(x):.2f})">{escape(name)} <b>{signed(x)}</b></span>'
        for name, x in found[:MOST_LOADINGS]
    )
    more = len(found) - MOST_LOADINGS
    return f"{shown} and {more} more" if more > 0 else shown


def frame(result: Result, kind: str) -> Any:
    """The result as a data frame of pandas."""
    validate_choice("kind", kind, FRAMES)
    pandas = pandas_or_error("Result.to_frame")
    if kind == "loadings":
        names = result.feature_names or range(result.n_features)
        columns = [f"component{k}" for k in range(1, result.n_components + 1)]
        index = pandas.Index(list(names), name="feature")
        return pandas.DataFrame(result.components.T, index=index, columns=columns)
    ratio = result.explained_variance_ratio
    used = [tuple(name for name, _ in loadings(result, c)) for c in result.stages]
    content = {
        "variance": result.variances,
        "explained_variance_ratio": ratio,
        "upper_bound": result.upper_bounds,
        "gap": result.gaps,
        "status": [status.value for status in result.statuses],
        "nodes": [component.nodes for component in result.stages],
        "features": used,
    }
    index = pandas.RangeIndex(1, result.n_components + 1, name="component")
    return pandas.DataFrame(content, index=index)


def pandas_or_error(who: str) -> Any:
    """Return the module pandas, which only data frames need, or say how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError(f"{who} needs pandas: pip install pandas") from None
    return pandas
