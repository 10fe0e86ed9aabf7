"""The little HTML of reports and drawings; text is escaped unless it is :class:`Html` already."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable

from orthospca.result import Table

#: Characters that HTML has no place for, not even as references.
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
#: What could end a script, begin a comment in it, or break a line where JavaScript sees one.
UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029\x7f\ufffe\uffff"}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(text: object) -> Html:
    """Make HTML of a text: what a file or a person wrote cannot become markup."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(FORBIDDEN.sub("\ufffd", str(text))))


def element(name: str, *content: object, **attributes: str) -> Html:
    """An element; ``class_`` stands for the attribute ``class``, an empty one is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value
    )
    return Html(f"<{name}{given}>{''.join(map(escape, content))}</{name}>")


def embedded(text: str, kind: str) -> Html:
    """JSON inside the page: whatever its strings hold, they cannot end the element.

    Everything unsafe can stand inside a string only, and there it may be written with a backslash.
    """
    safe = text.translate(UNSAFE).encode("utf-8", "backslashreplace").decode("utf-8")
    return Html(f'<script type="application/json" class="{kind}">{safe}</script>')


def paragraph(*content: object, kind: str = "") -> Html:
    """A paragraph."""
    return element("p", *content, class_=kind)


def named(text: object) -> Html:
    """A name, whose direction of writing does not turn what stands around it."""
    turns = any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in str(text))
    return element("bdi", text) if turns else escape(text)


def facts(pairs: Iterable[tuple[str, object]], kind: str = "") -> Html:
    """A list of terms and what they are."""
    items = (element("div", element("dt", a), element("dd", b)) for a, b in pairs)
    return element("dl", *items, class_=kind)


def table(
    made: Table, *, caption: str | None = None, kind: str = "", name: str = "", tall: bool = False
) -> Html:
    """A table that scrolls within itself where it is too wide.

    Parameters
    ----------
    made : Table
    caption : str, optional
        What the table is, for those who hear it; by default its title.
    kind : str
        Classes: ``sortable``.
    name : str
        Its ``id``.
    tall : bool
        Whether it scrolls downwards too.
    """
    caption = made.title if caption is None else caption
    content = Html(made.markup(named, ' class="n"', ""))
    shown = element("table", element("caption", caption), content, class_=kind, id=name)
    given = {"role": "region", "tabindex": "0", "aria_label": caption}
    return element("div", shown, class_="wide tall" if tall else "wide", **given)
