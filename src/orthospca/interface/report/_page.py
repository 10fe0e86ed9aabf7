"""The report as a whole: a chapter for each result, what certificates mean, how to repeat it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from orthospca import words
from orthospca.interface.report._content import chapter
from orthospca.interface.report._document import Chapter, Panel, document
from orthospca.interface.report._html import element, facts, paragraph
from orthospca.interface.report._section import Section

PACKAGES = ("orthospca", "numpy", "scipy", "scikit-learn")


def write_report(
    path: str | Path,
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
    text = page(sections, title, command, files)
    Path(path).write_text(text, encoding="utf-8", errors="replace", newline="\n")


def page(
    sections: Sequence[Section],
    title: str,
    command: str | None = None,
    files: Sequence[tuple[str, str]] = (),
) -> str:
    """The report as text."""
    chapters = [chapter(section, i) for i, section in enumerate(sections, start=1)]
    kinds = dict.fromkeys(words.kind_of(section.result) for section in sections)
    meanings = [meaning(kind, len(kinds) > 1) for kind in kinds]
    about = Chapter("About this report", (*meanings, repeating(command, files, sections)))
    written = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return document(title, [*chapters, about], f"orthospca, {written}")


def meaning(kind: str = "stagewise", several: bool = False) -> Panel:
    """What a certificate says, and what it does not say.

    Parameters
    ----------
    kind : str
        Of which results, as :func:`orthospca.words.kind_of` names it.
    several : bool
        Whether there are others, of another kind.
    """
    content = (
        paragraph(element("b", about), f" {rest}") if about else paragraph(rest)
        for about, rest in words.explanation(kind)
    )
    name, title = "meaning", "What the certificate says"
    if several:
        name, title = f"meaning-{kind}", f"{title}, {kind}"
    return Panel(name, title, tuple(content))


def repeating(
    command: str | None, files: Sequence[tuple[str, str]], sections: Sequence[Section] = ()
) -> Panel:
    """What is needed to do it again."""
    pairs: list[tuple[str, object]] = []
    if command:
        pairs.append(("command", element("span", element("code", command), class_="copy")))
    pairs += [(f"SHA-256 of {name}", element("code", checksum)) for name, checksum in files]
    pairs += [
        (f"SHA-256 of the matrix, {s.certificate}", element("code", s.result.certificate.sha256))
        for s in sections
        if s.certificate
    ]
    pairs += [
        ("versions", ", ".join(_versions())),
        ("machine", f"{platform.system()} {platform.machine()}"),
    ]
    return Panel("repeat", "Repeat this", (facts(pairs, "long"),))


def _versions() -> list[str]:
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found
