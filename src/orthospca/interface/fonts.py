"""Names in any script, in pictures that matplotlib draws.

Its own font knows Latin, Greek and Cyrillic letters; of others it draws boxes, and warns.  Fonts of
this list that are installed come after it, so that each letter is taken from the first that has it.
"""

from __future__ import annotations

from collections.abc import Iterable

#: What the fonts of one large family are called after, the scripts of most readers first.
NOTO = (
    *("CJK SC", "CJK JP", "SC", "JP", "KR", "Arabic", "Hebrew", "Devanagari", "Bengali", "Tamil"),
    *("Thai", "Georgian", "Armenian", "Ethiopic", "Symbols 2"),
)
#: Fonts with many scripts, or with one that is read by many; of Linux, macOS and Windows.
FALLBACKS = (
    *(f"Noto Sans {script}" for script in NOTO),
    *("WenQuanYi Zen Hei", "Droid Sans Fallback"),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo"),
    *("Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Nirmala UI", "Leelawadee UI", "Segoe UI"),
    *("Arial Unicode MS", "Segoe UI Symbol"),
)
#: Beyond this, letters are in other scripts than Latin, Greek and Cyrillic.
LAST_OF_THE_FIRST = 0x052F


def families(texts: Iterable[str]) -> list[str] | None:
    """The fonts for some texts: None, for matplotlib's own, if that has every letter."""
    if all(ord(letter) <= LAST_OF_THE_FIRST for text in texts for letter in text):
        return None
    from matplotlib import font_manager, rcParams

    installed = {font.name for font in font_manager.fontManager.ttflist}
    own = rcParams["font.family"]
    own = [own] if isinstance(own, str) else list(own)
    return [*own, *(name for name in FALLBACKS if name in installed)]


def without_formulas(text: str) -> str:
    """The text as it is: a dollar sign would start a formula."""
    return text.replace("$", r"\$")
