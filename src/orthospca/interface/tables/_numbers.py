"""What a cell says: a number, true or false, nothing, or a text.

Numbers are written with a decimal point or with a decimal comma, and digits may be grouped by
thousands. Which of the two it is follows from all cells of a file together; where both readings
are possible, nothing is guessed.
"""

from __future__ import annotations

import math
import re

#: What people and programs write where a value is missing, in lower case.
MISSING = frozenset((
    "", "na", "n/a", "n.a.", "nan", "-nan", "<na>", "null", "none", "nil", "missing", "?", ".", "-",
    "--", "#n/a", "#na", "#n/a n/a", "#null!", "#div/0!", "#value!", "#ref!", "#num!", "#name?",
    "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan",
))  # fmt: skip
BOOLEANS = {"true": 1.0, "false": 0.0}
POINT, COMMA, SPACES, EITHER = ".", ",", " ", "either"
#: Characters that no table has: all controls but tab, the ends of lines and of pages.
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

_EXPONENT = r"(?:[eE][+-]?\d+)?"
#: Spaces of several kinds and apostrophes, with which digits are grouped beside points and commas.
_SPACES = " \u00a0\u202f\u2009'\u2019"
_WITH_POINT = re.compile(
    rf"[+-]?(?=\.?\d)(?:\d+|[1-9]\d{{0,2}}(?:[,{_SPACES}]\d{{3}})+)?(?:\.\d*)?{_EXPONENT}"
)
_WITH_COMMA = re.compile(
    rf"[+-]?(?=,?\d)(?:\d+|[1-9]\d{{0,2}}(?:[.{_SPACES}]\d{{3}})+)?(?:,\d+)?{_EXPONENT}"
)
#: One group of thousands, or a number with three decimals: 1,234.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_GROUPING = str.maketrans("", "", _SPACES)


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.lower() in MISSING


def number_in(cell: str, decimal: str = POINT) -> float | None:
    """The number a cell holds; None for text and for missing values."""
    if decimal == POINT or (COMMA not in cell and POINT not in cell):
        try:
            number = float(cell)
        except ValueError:
            pass
        else:
            # An underscore is allowed between digits in Python, and is a part of a name elsewhere.
            return None if math.isnan(number) or "_" in cell else number
    cell = cell.replace("\u2212", "-")
    form, groups = (_WITH_POINT, COMMA) if decimal == POINT else (_WITH_COMMA, POINT)
    if not form.fullmatch(cell):
        return None
    return float(cell.translate(_GROUPING).replace(groups, "").replace(COMMA, POINT))


def is_grouped(number: str, decimal: str) -> bool:
    """Whether the digits of a number are in groups, as thousands are."""
    return any(mark in number for mark in (COMMA if decimal == POINT else POINT) + _SPACES)


def looks_like_number(cell: str) -> bool:
    """Whether a cell is a number, however its decimals are written, or true or false."""
    numbers = (number_in(cell, decimal) for decimal in (POINT, COMMA))
    return cell.lower() in BOOLEANS or any(number is not None for number in numbers)


def evidence(cell: str) -> str:
    """Which decimal separator a cell speaks for: a comma, a point, either, or none."""
    if COMMA not in cell and POINT not in cell:
        return ""
    if _EITHER.fullmatch(cell):
        # With a point it is what every program writes; with a comma it may be one thousand.
        return EITHER if COMMA in cell else ""
    if COMMA in cell and number_in(cell, COMMA) is not None:
        return COMMA
    if number_in(cell, POINT) is not None:
        return POINT
    # 1.234.567 has no decimals at all, but only those who write decimal commas group so.
    return COMMA if number_in(cell, COMMA) is not None else ""
