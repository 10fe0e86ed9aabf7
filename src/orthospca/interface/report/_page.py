"""The page itself: one file with style, script and contents list, which asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from importlib import resources
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from string import Template

from orthospca import words
from orthospca.interface.html import Html, element, escape, facts, paragraph
from orthospca.interface.report._parts import Chapter, Panel

PACKAGES = ("orthospca", "numpy", "scipy", "scikit-learn")


def write_page(
    path: str | PathLike[str],
    title: str,
    chapters: Sequence[Chapter],
    *,
    kinds: Iterable[str] = ("stagewise",),
    command: str | None = None,
    files: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a page of chapters, and one about what certificates say and how to repeat it.

    Parameters
    ----------
    path : path
    title : str
    chapters : sequence of Chapter
    kinds : iterable of str
        Of which results there are certificates, as :func:`orthospca.words.kind_of` names them.
    command : str, optional
        The command that made the results.
    files : sequence of (name, checksum)
        What was read.
    """
    kinds = list(dict.fromkeys(kinds))
    meanings = [_meaning(kind, len(kinds) > 1) for kind in kinds]
    about = Chapter("About this report", (*meanings, _repeating(command, files)))
    written = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    text = _document(title, [*chapters, about], f"orthospca, {written}")
    Path(path).write_text(text, encoding="utf-8", errors="replace", newline="\n")


def _meaning(kind: str, several: bool) -> Panel:
    """What a certificate says, and what it does not say."""
    content = (
        paragraph(element("b", about), f" {rest}") if about else paragraph(rest)
        for about, rest in words.explanation(kind)
    )
    name, title = "meaning", "What the certificate says"
    if several:
        name, title = f"meaning-{kind}", f"{title}, {kind}"
    return Panel(name, title, tuple(content))


def _repeating(command: str | None, files: Sequence[tuple[str, str]]) -> Panel:
    """What is needed to do it again."""
    pairs: list[tuple[str, object]] = []
    if command:
        pairs.append(("command", element("span", element("code", command), class_="copy")))
    pairs += [(f"SHA-256 of {name}", element("code", checksum)) for name, checksum in files]
    versions = (f"{package} {version(package)}" for package in PACKAGES)
    pairs.append(("versions", ", ".join([f"Python {platform.python_version()}", *versions])))
    pairs.append(("machine", f"{platform.system()} {platform.machine()}"))
    return Panel("repeat", "Repeat this", (facts(pairs, "long"),))


def _document(title: str, chapters: Sequence[Chapter], lead: str) -> str:
    """The whole file as text.

    A policy in its head lets it run its own script only, known by its checksum, and load nothing:
    even markup that found a way into the page would be dead.
    """
    script = _file("script.js")
    checksum = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{checksum}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return Template(_file("page.html")).substitute(
        policy=escape(policy),
        title=escape(title),
        lead=escape(lead),
        charts=_file("chart.css"),
        style=_file("style.css"),
        script=script,
        contents=_contents(chapters),
        chapters="".join(_chapter(i, c) for i, c in enumerate(chapters, start=1)),
    )


def _file(name: str) -> str:
    # Line ends of a checkout must not change the checksum that browsers compute.
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def _contents(chapters: Sequence[Chapter]) -> Html:
    def item(title: str, address: str, *below: Html, kind: str = "") -> Html:
        return element("li", element("a", title, href=f"#{address}"), *below, class_=kind)

    items = []
    for i, chapter in enumerate(chapters, start=1):
        inner = element("ul", *(item(p.title, f"part{i}-{p.key}") for p in chapter.panels))
        items.append(item(chapter.title, f"part{i}", inner, kind="chapter"))
    folding = f"<details open><summary>Contents</summary>{element('ul', *items)}</details>"
    return element("nav", Html(folding), aria_label="Contents")


def _chapter(number: int, chapter: Chapter) -> Html:
    cards = []
    for panel in chapter.panels:
        address = f"part{number}-{panel.key}"
        heading = element("h3", panel.title, id=f"{address}-h")
        lead = paragraph(panel.lead, kind="lead") if panel.lead else Html("")
        given = {"class_": "card", "id": address, "aria_labelledby": f"{address}-h"}
        cards.append(element("section", heading, lead, *panel.content, **given))
    heading = element("h2", chapter.title, id=f"part{number}")
    return element("div", heading, *cards, Html(chapter.hidden), class_="chapter")
