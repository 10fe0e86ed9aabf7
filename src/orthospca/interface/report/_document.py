"""The page itself: one file with style, script and contents list, which asks for nothing else.

``document(title, chapters, lead)`` makes a page of :class:`Chapter` and :class:`Panel` objects.  A
panel is a card with a heading and an entry in the contents list; a chapter is a row of panels.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

from orthospca.interface.report._html import Html, element, escape, paragraph


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
    """Panels under a heading; ``hidden`` is JSON for the script (see ``_html.embedded``)."""

    title: str
    panels: Sequence[Panel] = field(default_factory=tuple)
    hidden: str = ""


def document(title: str, chapters: Sequence[Chapter], lead: str = "") -> str:
    """The whole file as text.

    A policy in its head lets it run its own script only, known by its checksum, and load nothing:
    even markup that found a way into the page would be dead.
    """
    style, charts, script = _file("style.css"), _file("chart.css"), _file("script.js")
    checksum = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{checksum}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    body = element(
        "div",
        element(
            "header",
            element("div", element("h1", title), paragraph(lead) if lead else Html("")),
            Html('<button type="button" id="theme" class="script">Dark</button>'),
        ),
        _contents(chapters),
        element("main", *(_chapter(i, c) for i, c in enumerate(chapters, start=1)), id="main"),
        class_="frame",
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'
        f'<title>{escape(title)}</title>\n<style id="chart-style">\n{charts}</style>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">To the content</a>\n{body}\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _file(name: str) -> str:
    # Line ends of a checkout must not change the checksum that browsers compute.
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def address(chapter: int, panel: Panel | None = None) -> str:
    """The ``id`` of a chapter, or of a panel in it."""
    return f"part{chapter}" + (f"-{panel.key}" if panel else "")


def _contents(chapters: Sequence[Chapter]) -> Html:
    items = []
    for i, chapter in enumerate(chapters, start=1):
        inner = [
            element("li", element("a", panel.title, href=f"#{address(i, panel)}"))
            for panel in chapter.panels
        ]
        link = element("a", chapter.title, href=f"#{address(i)}")
        items.append(element("li", link, element("ul", *inner), class_="chapter"))
    return element(
        "nav",
        Html(f"<details open><summary>Contents</summary>{element('ul', *items)}</details>"),
        aria_label="Contents",
    )


def _chapter(number: int, chapter: Chapter) -> Html:
    cards = [
        element(
            "section",
            element("h3", panel.title, id=f"{address(number, panel)}-h"),
            paragraph(panel.lead, kind="lead") if panel.lead else Html(""),
            *panel.content,
            class_="card",
            id=address(number, panel),
            aria_labelledby=f"{address(number, panel)}-h",
        )
        for panel in chapter.panels
    ]
    heading = element("h2", chapter.title, id=address(number))
    return element("div", heading, *cards, Html(chapter.hidden), class_="chapter")
