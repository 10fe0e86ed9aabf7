"""The report as a whole: a chapter for each result, what certificates mean, how to repeat it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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
    about = Chapter("About this report", (meaning(), repeating(command, files, sections)))
    written = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return document(title, [*chapters, about], f"orthospca, {written}")


def meaning() -> Panel:
    """What a certificate says, and what it does not say."""
    content = (
        paragraph(
            "The k-th component maximises the variance xᵀQx over all unit vectors x with at most "
            "p nonzero loadings that are orthogonal to the components before it. Finding a good "
            "one is easy; the point is to know how good it is. The upper bound is proved for the "
            "matrix as given: whatever variables and loadings are chosen, no such vector has more "
            "variance. The gap, (upper bound − variance) / variance, is what is left to prove, and "
            "a component is called optimal only if its gap is within the tolerance."
        ),
        paragraph(
            element(
                "b", "The certificate of a component is conditional on the components before it."
            ),
            " Where a stage has several optima, or is solved to a tolerance, another choice could "
            "lead to other components later. It is not claimed that the components together "
            "explain the most variance that any set of as many could.",
        ),
        paragraph(
            "If a limit or an interrupt stopped the search, the component is still feasible and "
            "its bound still valid: only the gap is larger. “Exhausted” means that it is proved "
            "that no further vector with so few nonzero loadings is orthogonal to all found."
        ),
        paragraph(
            "A proof speaks of the matrix, not of the population it was sampled from: another "
            "sample may have other components."
        ),
    )
    return Panel("meaning", "What the certificate says", content)


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
