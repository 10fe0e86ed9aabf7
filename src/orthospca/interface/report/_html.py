"""The little HTML that a report needs; text is escaped unless it is :class:`Html` already."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(text: object) -> Html:
    """Make HTML of a text: what a file or a person wrote cannot become markup."""
    return text if isinstance(text, Html) else Html(html.escape(str(text)))


def element(name: str, *content: object, **attributes: str) -> Html:
    """An element; ``class_`` stands for the attribute ``class``."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for key, value in attributes.items()
        if value
    )
    return Html(f"<{name}{given}>{''.join(map(escape, content))}</{name}>")


def paragraph(*content: object) -> Html:
    """A paragraph."""
    return element("p", *content)


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """A list of terms and what they are."""
    return element("dl", *(element("div", element("dt", a), element("dd", b)) for a, b in pairs))


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], numbers: int) -> Html:
    """A table whose first ``numbers`` columns are aligned to the right."""
    sides = ["number" if j < numbers else "" for j in range(len(headings))]
    head = element(
        "tr",
        *(
            element("th", h, class_=side, scope="col")
            for h, side in zip(headings, sides, strict=True)
        ),
    )
    body = [
        element("tr", *(element("td", c, class_=side) for c, side in zip(row, sides, strict=True)))
        for row in rows
    ]
    return element(
        "div", element("table", element("thead", head), element("tbody", *body)), class_="wide"
    )
