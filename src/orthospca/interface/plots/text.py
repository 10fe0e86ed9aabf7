"""Numbers and names as pictures and reports write them, and the room that they need."""

from __future__ import annotations

import math
import unicodedata

#: Size of the letters in a drawing, and what one takes of the width on average, as a share of it.
LETTER, LETTER_WIDTH = 12.0, 0.56


def width_of(text: str, size: float = LETTER) -> float:
    """About how wide a text is; East Asian letters are twice as wide as others."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (LETTER_WIDTH * (len(text) - wide) + wide)


def shortened(text: str, room: float, size: float = LETTER) -> str:
    """As much of a text as there is room for, with an ellipsis if that is not all of it."""
    if width_of(text, size) <= room:
        return text
    kept = text
    while kept and width_of(kept, size) > room - size:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def plain(number: float, digits: int = 4) -> str:
    """A number for people: few digits, a true minus sign, no exponent where none is needed."""
    if not math.isfinite(number):
        return "∞" if number > 0 else "−∞" if number < 0 else "–"
    text = f"{number:.{digits}g}"
    if "e" in text and 1e-4 <= abs(number) < 1e7:
        text = f"{number:.0f}" if abs(number) >= 1.0 else f"{number:.{digits + 3}f}".rstrip("0")
    return text.replace("-", "−")


def signed(loading: float, digits: int = 3) -> str:
    """A loading with its sign."""
    return f"{loading:+.{digits}f}".replace("-", "−")


def percent(share: float) -> str:
    """A share for people."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%".replace("-", "−")


def counted(number: int, thing: str = "variable") -> str:
    """So many things."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def not_shown(number: int) -> str:
    """So many variables are left out; nothing if none is."""
    return f"{counted(number)} not shown" if number else ""
