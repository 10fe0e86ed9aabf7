"""``python -m benchmarks.page``: write the pages and the pictures from the stored tables."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.page import audits, sentences, tables
from benchmarks.page.pictures import PICTURES
from benchmarks.page.stored import ROOT

#: Pages with blocks.
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "evidence.md",
    *sorted((ROOT / "docs" / "evidence").glob("*.md")),
    ROOT / "docs" / "how-to" / "benchmarks.md",
    ROOT / "docs" / "how-to" / "scale.md",
    ROOT / "docs" / "theory" / "kernel.md",
)
STATIC = ROOT / "docs" / "_static"
BLOCK = re.compile(r"(<!-- evidence: ([\w-]+) -->\n)(.*?)(\n<!-- end of evidence -->)", re.DOTALL)

BLOCKS: dict[str, Callable[[], str]] = {
    "headline": sentences.headline,
    "skipped": sentences.skipped,
    "audits": audits.tables,
    "audits-summary": audits.summary,
    "pitprops": tables.pitprops,
    "constrained": tables.constrained,
    "snp500": tables.snp500,
    "cells": tables.cells,
    "peers": tables.peers,
    "readme": tables.readme,
    "readme-growth": sentences.readme_growth,
    "beside-published": tables.beside_published,
    "optimal-spca": tables.optimal_spca,
    "others-published": tables.others_published,
    "grid": tables.grid,
    "sets": tables.sets,
    "grid-summary": sentences.grid_summary,
    "relaxations": tables.relaxations,
    "growth": tables.growth,
    "exponents": tables.exponents,
    "growth-summary": sentences.growth_summary,
    "limits": sentences.limits,
    "strong": tables.strong,
    "kernel": tables.kernel,
    "scale": tables.scale,
    "wide": tables.wide,
    "where": sentences.measured_where,
}


def rendered(page: str) -> str:
    """The text of a page with its blocks made anew."""

    def made(found: re.Match[str]) -> str:
        return f"{found[1]}\n{BLOCKS[found[2]]()}\n{found[4]}"

    return BLOCK.sub(made, page)


def outdated() -> list[Path]:
    """Pages and pictures that differ from what the tables give."""
    wrong = [page for page in PAGES if rendered(page.read_text("utf-8")) != page.read_text("utf-8")]
    for name, draw in PICTURES.items():
        path = STATIC / name
        if not path.is_file() or path.read_text("utf-8") != draw():
            wrong.append(path)
    return wrong


def main(arguments: list[str] | None = None) -> int:
    """Write, or with ``--check`` only compare; the exit code is 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args(arguments)
    wrong = outdated()
    for path in wrong:
        print(f"{'differs' if options.check else 'wrote'}: {path.relative_to(ROOT)}")
    if options.check:
        return 1 if wrong else 0
    for page in PAGES:
        page.write_text(rendered(page.read_text("utf-8")), "utf-8")
    for name, draw in PICTURES.items():
        (STATIC / name).write_text(draw(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
