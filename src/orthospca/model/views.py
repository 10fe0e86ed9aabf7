"""Results for people: as text, as HTML in a notebook, and as data frames."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from orthospca._errors import InputError
from orthospca.model.component import Component, Status, format_gap

if TYPE_CHECKING:
    from orthospca.model.result import Result

#: Characters of a line of text.
WIDTH = 96
#: In a notebook only so many components, and of each so many loadings, the largest, are shown.
MOST_ROWS, MOST_LOADINGS = 50, 20
#: Colours of positive and of negative loadings, which show on light and on dark ground.
PLUS, MINUS = "31, 119, 199", "217, 115, 26"
#: What :func:`frame` can show.
FRAMES = ("loadings", "components")


def summary(result: Result, width: int) -> str:
    """The components as text: a line of numbers for each, and its loadings below."""
    header = (
        f"{'#':>3}  {'variance':>12}  {'of total':>8}  {'upper bound':>12}  {'gap':>9}  "
        f"{'nodes':>7}  status"
    )
    lines = [header]
    shares = result.explained_variance_ratio
    for k, (component, share) in enumerate(zip(result.stages, shares, strict=True), start=1):
        lines.append(
            f"{k:>3}  {component.variance:>12.6g}  {percent(share):>8}  "
            f"{component.upper_bound:>12.6g}  {_gap(component):>9}  {component.nodes:>7}  "
            f"{component.status.value}"
        )
        words = (f"{name} {signed(x)}" for name, x in loadings(result, component))
        lines += in_lines(words, width)
    lines += ["", f"{_found(result)}; {result.runtime:.3g} s; {_meaning(result)}"]
    if result.objective == "joint":
        lines.append(together(result))
    if result.note:
        lines.append(result.note)
    return "\n".join(lines)


def in_lines(words: Iterable[str], width: int, indent: int = 5) -> list[str]:
    """Break a list of words, none of which is broken itself, into lines."""
    # A space within a word must not be where a line ends.
    text = ", ".join(word.replace(" ", "\0") for word in words)
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


def percent(share: float) -> str:
    """A share of the whole; nothing if there is no whole."""
    return f"{share:.1%}" if math.isfinite(share) else ""


def _gap(component: Component) -> str:
    if component.status is Status.OPTIMAL and not math.isfinite(component.gap):
        # A variance of zero has no relative gap.
        return f"{component.upper_bound - component.variance:.1g}"
    return format_gap(component.gap)


def together(result: Result) -> str:
    """What is proved of the components as a set."""
    return (
        f"together {result.joint_variance:.6g}, and no such set has more than "
        f"{result.joint_upper_bound:.6g} ({format_gap(result.joint_gap)})"
    )


def _found(result: Result) -> str:
    count = result.n_components
    found = f"{count} component{'' if count == 1 else 's'}"
    if result.method == "deflation":
        return f"{found} (not orthogonal: their variances do not add up)"
    if result.total_variance > 0:
        found += f", {result.explained_variance_ratio.sum():.1%} of the total variance"
    return found


def _meaning(result: Result) -> str:
    if result.status is Status.OPTIMAL and result.objective == "joint":
        return "the set is certified within tolerance"
    if result.status is Status.OPTIMAL:
        return "all certified within tolerance"
    if result.status is Status.EXHAUSTED:
        return "proved that no further component exists"
    if result.status is Status.THRESHOLD:
        return "the blocks are solved; the gaps above are what the threshold leaves open"
    if result.status is Status.PRECISION:
        return "everything was searched; the gaps above are what rounding leaves open"
    return f"stopped: {result.status.value}; the gaps above are proved all the same"


def short(result: Result) -> str:
    """The result in one line, for its ``repr``."""
    limits = sorted(set(result.sparsity))
    sparsity = str(limits[0]) if len(limits) == 1 else str(list(result.sparsity))
    return (
        f"Result({_found(result)}, n_features={result.n_features}, sparsity={sparsity}, "
        f"status={result.status.value!r})"
    )


def html(result: Result) -> str:
    """The result as HTML without script or style sheet, for a notebook; names are escaped."""
    headings = ["#", "variance", "of total", "upper bound", "gap", "status", "loadings"]
    rows = [
        [
            str(k),
            f"{component.variance:.6g}",
            percent(share),
            f"{component.upper_bound:.6g}",
            _gap(component),
            component.status.value,
            _chips(loadings(result, component)),
        ]
        for k, (component, share) in enumerate(
            zip(result.stages[:MOST_ROWS], result.explained_variance_ratio, strict=False), start=1
        )
    ]
    closing = f"{_found(result)}; {_meaning(result)}."
    left_out = result.n_components - len(rows)
    if left_out > 0:
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
    if kind not in FRAMES:
        raise InputError(f"kind must be one of {', '.join(map(repr, FRAMES))}, got {kind!r}")
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
