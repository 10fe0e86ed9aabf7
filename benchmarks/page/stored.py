"""The stored tables, and how their numbers are shown."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PUBLISHED = ROOT / "benchmarks" / "peers" / "published.csv"

#: Keeps a number and its unit on one line.
NBSP = "\u00a0"

Rows = list[dict[str, str]]


@cache
def table(name: str) -> Rows:
    """Rows of a stored table; ``published`` are the figures of others."""
    path = PUBLISHED if name == "published" else RESULTS / f"{name}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def machines() -> dict[str, Any]:
    """Where and when each table was measured."""
    return dict(json.loads((RESULTS / "machine.json").read_text("utf-8")))


def rows_of(name: str, **wanted: object) -> Rows:
    """Rows whose columns have the values wanted; of column names, spaces are underscores."""
    found = table(name)
    for column, value in wanted.items():
        key = column.replace("_", " ")
        found = [row for row in found if row[key] == str(value)]
    return found


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]], right: str = "") -> str:
    """A table; the columns named in ``right`` by their place, such as "45", stand to the right."""
    marks = ["---:" if str(place) in right.split() else "---" for place in range(len(header))]
    rows = ["| " + " | ".join(cells) + " |" for cells in (header, marks, *lines)]
    return "\n".join(rows)


def percent(value: str | float) -> str:
    """``0.7775`` as ``77.8 %``: three digits."""
    return f"{plain(100 * float(value), 3)}{NBSP}%"


def gap(value: str | float, digits: int = 2) -> str:
    """A gap as a percentage."""
    shown = 100 * float(value)
    if shown < 1e-7:
        return f"0{NBSP}%"
    if shown < 1e-3:
        return f"{shown:.0e}{NBSP}%"
    return f"{plain(shown, digits)}{NBSP}%"


def plain(value: str | float, digits: int = 2) -> str:
    """A few significant digits, without an exponent, thousands apart."""
    number = float(value)
    if number == 0:
        return "0"
    text = f"{number:.{digits}g}"
    number = float(text)
    if number >= 1000:
        return f"{number:,.0f}".replace(",", NBSP)
    if number < 1e-4:
        return f"{number:.0e}"
    return f"{number:f}".rstrip("0").rstrip(".") if "e" in text or "." in text else text


def seconds(value: str | float) -> str:
    """Seconds, or milliseconds, with two digits."""
    number = float(value)
    if number < 1e-3:
        return f"<{NBSP}1{NBSP}ms"
    return f"{plain(1000 * number)}{NBSP}ms" if number < 0.1 else f"{plain(number)}{NBSP}s"


def cosine(value: str | float) -> str:
    """A cosine: two decimals, or a power of ten where it is rounding."""
    number = float(value)
    if number == 0:
        return "0"
    return f"{number:.2f}" if number >= 0.005 else f"{number:.0e}"


def nonzeros(row: dict[str, str]) -> str:
    """One number, or from the fewest to the most."""
    if row["fewest"] == row["most"]:
        return row["fewest"]
    return f"{row['fewest']}–{row['most']}"


def spread(values: Iterable[float], digits: int = 2) -> str:
    """``2 to 7``, from the least to the largest."""
    known = sorted(values)
    low, high = plain(known[0], digits), plain(known[-1], digits)
    return low if low == high else f"{low} to {high}"
