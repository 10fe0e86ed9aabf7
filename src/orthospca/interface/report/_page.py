"""The page around the sections: title, style, what certificates mean, how to repeat the run."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from orthospca.interface.report._content import Section, render
from orthospca.interface.report._html import Html, element, escape, facts, paragraph
from orthospca.interface.report._pictures import draw, has_matplotlib

PACKAGES = ("orthospca", "numpy", "scipy", "scikit-learn", "matplotlib")


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
    Path(path).write_text(page(sections, title, command, files), encoding="utf-8")


def page(
    sections: Sequence[Section],
    title: str,
    command: str | None = None,
    files: Sequence[tuple[str, str]] = (),
) -> str:
    """The report as text."""
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    body = element(
        "main",
        element("h1", title),
        *([] if has_matplotlib() else [_no_pictures()]),
        *(render(section, draw(section)) for section in sections),
        _certificate(sections),
        _repeat(command, files, sections),
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _no_pictures() -> Html:
    return element(
        "p",
        "This report has no pictures, because matplotlib is not installed: ",
        element("code", 'pip install "orthospca[plot]"'),
        " adds them.",
        class_="note",
    )


def _certificate(sections: Sequence[Section]) -> Html:
    return element(
        "section",
        element("h2", "What the certificate says"),
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
        *([_proof(proved)] if (proved := [s for s in sections if s.certificate]) else []),
    )


def _proof(sections: Sequence[Section]) -> Html:
    """How to check what is said."""
    one = len(sections) == 1
    commands: list[object] = []
    for section in sections:
        held = {"matrix.npy", "factor.npy"} & set(section.result.certificate.arrays)
        text = f"orthospca verify {section.certificate}{'' if held else ' --data DATA'}"
        commands += [", " if commands else "", element("code", text)]
    return paragraph(
        element("b", "Nobody has to believe it."),
        f" The proof{'' if one else 's'} of the bounds above {'is' if one else 'are'} beside this "
        f"report, in {' and '.join(section.certificate for section in sections)}. To check "
        f"{'it' if one else 'them'}: ",
        *commands,
        ". The checker is one file of Python that needs NumPy and nothing of the program that "
        "found the components; it computes everything anew. With ",
        element("code", "--data"),
        " it also checks that the matrix is that of the data.",
    )


def _repeat(
    command: str | None, files: Sequence[tuple[str, str]], sections: Sequence[Section]
) -> Html:
    pairs: list[tuple[str, object]] = []
    if command:
        pairs.append(("command", element("code", command)))
    pairs += [(f"SHA-256 of {name}", element("code", checksum)) for name, checksum in files]
    pairs += [
        (f"SHA-256 of the matrix, {s.certificate}", element("code", s.result.certificate.sha256))
        for s in sections
        if s.certificate
    ]
    pairs += [
        ("versions", ", ".join(_versions())),
        ("machine", f"{platform.system()} {platform.machine()}"),
        ("written", datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
    ]
    return element("section", element("h2", "Repeat this"), facts(pairs))


def _versions() -> list[str]:
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found
