"""What a page is built of: chapters of panels, and in them figures, verdicts, folded parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from orthospca.interface.html import Html, element, embedded, table
from orthospca.interface.plots.spec import Plot
from orthospca.interface.plots.svg import render
from orthospca.result import Table

#: A wider picture takes the width of the page.
WIDEST = 560.0


@dataclass(frozen=True)
class Panel:
    """A card of the page.

    Attributes
    ----------
    key : str
        Its address within the chapter: letters and hyphens.
    title : str
    content : tuple
        :class:`Html`, or text, which is escaped.
    lead : str
        What is in it, in a sentence.
    """

    key: str
    title: str
    content: tuple[object, ...] = ()
    lead: str = ""


@dataclass(frozen=True)
class Chapter:
    """Panels under a heading; ``hidden`` is JSON for the script (see ``html.embedded``)."""

    title: str
    panels: Sequence[Panel] = field(default_factory=tuple)
    hidden: str = ""


def carried(data: Any, kind: str) -> Html:
    """Data inside the page, for its script."""
    return embedded(json.dumps(data, ensure_ascii=False, separators=(",", ":")), kind)


def figure(picture: Plot, *, numbers: Table | None = None, scores: Any = None) -> Html:
    """A picture with its title, what to see in it, and buttons for a download.

    Parameters
    ----------
    picture : XY or Grid
    numbers : Table, optional
        The same, to unfold.
    scores : mapping, optional
        Scores of other components, which the reader can choose as axes.
    """
    chart = render(picture)
    between = []
    if scores is not None:
        chart.data["marks"] = []  # the script makes them of the scores
        choices = [_choice(name, scores["names"], k) for k, name in enumerate(("across", "up"))]
        controls = element("div", *choices, class_="controls script")
        between = [controls, carried(scores, "scores")]
    note = f"{picture.left_out[:1].upper()}{picture.left_out[1:]}." if picture.left_out else ""
    caption = " ".join(filter(None, [picture.caption, note]))
    return element(
        "figure",
        element("div", element("h4", picture.title), element("div", class_="tools"), class_="head"),
        *between,
        element("div", chart.svg, class_="plot"),
        carried(chart.data, "marks"),
        *([element("figcaption", caption)] if caption else []),
        *([folded("The numbers", table(numbers))] if numbers is not None else []),
        class_="full" if chart.width > WIDEST else "",
        data_name=picture.name,
    )


def _choice(name: str, options: Sequence[str], chosen: int) -> Html:
    made = [
        Html(f"<option{' selected' * (k == chosen)}>{option}</option>")
        for k, option in enumerate(options)
    ]
    return element("label", f"{name} ", element("select", *made))


def side_by_side(*shown: Html | None) -> Html:
    """Figures beside each other, where there is room."""
    return element("div", *(one for one in shown if one), class_="figures")


def folded(title: str, *content: object, unfolded: bool = False) -> Html:
    """What is seen when its title is pressed."""
    given = {"open": "open"} if unfolded else {}
    return element("details", element("summary", title), *content, **given)


def verdict(word: str, sentence: str, closed: bool) -> Html:
    """The first thing to read: green if there is nothing left to prove."""
    kind = "verdict" if closed else "verdict open"
    return element("p", element("b", word), " ", element("span", sentence), class_=kind)
