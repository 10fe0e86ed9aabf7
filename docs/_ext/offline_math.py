"""Formulas as MathML, and a font for them: the pages need no network and no script.

TeX becomes MathML Core while the pages are built, which browsers set themselves.  They need a font
with a table of mathematical measures, or brackets do not grow, and not every system has one.  So
the part of STIX Two Math that formulas use is put beside the pages.  A formula that cannot be
converted is a warning, and ``make docs`` takes warnings for errors.
"""

from __future__ import annotations

import logging as standard_logging
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from fontTools import subset
from fontTools.ttLib import TTFont
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

FONT = "formulas.woff"
#: Letters, punctuation, accents, Greek, arrows, operators, delimiters, styled alphabets.
CHARACTERS = (
    (0x20, 0x7E),
    (0xA0, 0xFF),
    (0x2C6, 0x2DD),
    (0x300, 0x338),
    (0x391, 0x3F6),
    (0x2010, 0x2064),
    (0x20D0, 0x20EF),
    (0x2100, 0x214F),
    (0x2190, 0x21FF),
    (0x2200, 0x22FF),
    (0x2308, 0x230B),
    (0x23B4, 0x23B5),
    (0x23DC, 0x23DF),
    (0x27C2, 0x27C2),
    (0x27E8, 0x27E9),
    (0x27F5, 0x27FF),
    (0x29F5, 0x29F5),
    (0x2A7D, 0x2ABA),
    (0x1D400, 0x1D7FF),
)

#: TeX's sign for a difference of sets is the larger of two.
SMALL_SETMINUS, SETMINUS = "\u2216", "\u29f5"
#: The forms of a character for exponents are alternatives in the font.  Chromium does not take them
#: for primes, which are never anything but exponents: so these have no other form here.
PRIMES = (0x2032, 0x2033, 0x2034)

_TAG = re.compile(r"\\tag\{([^{}]*)\}")
_logger = logging.getLogger(__name__)


@cache
def _converter() -> LatexToMathML:
    # The source stays in the page as an annotation, for whoever copies a formula.
    return LatexToMathML(annotation=True, fancy_error=False)


def split_tag(source: str) -> tuple[str, str | None]:
    r"""Return a formula without its ``\tag``, and the tag: the page sets it, at the margin."""
    found = _TAG.search(source)
    return (_TAG.sub("", source).strip(), found[1] if found else None)


def to_mathml(source: str, *, display: bool) -> str:
    """Return a formula as MathML; raise :class:`math_core.LatexError` if it cannot be converted."""
    found = _converter().convert_with_local_state(source, displaystyle=display)
    return found.replace(SMALL_SETMINUS, SETMINUS)


def _converted(self: HTML5Translator, node: nodes.Element, source: str, *, display: bool) -> str:
    try:
        return to_mathml(source, display=display)
    except LatexError as error:
        _logger.warning("formula %r: %s", source, error, location=node)
        return f"<code>{escape(source)}</code>"


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(_converted(self, node, node.astext(), display=False))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own, with its number."""
    source, tag = split_tag(node.astext())
    number = tag or node.get("number")
    formula = _converted(self, node, source, display=True)
    # Wide formulas scroll in their box; a box that scrolls can be reached with the keyboard.
    start = self.starttag(node, "div", "", CLASS="formula", tabindex="0", role="group")
    end = f'<span class="formula-number">({escape(str(number))})</span>' if number else ""
    self.body.append(f"{start}{formula}{end}</div>\n")
    raise nodes.SkipNode


def write_font(folder: Path) -> Path:
    """Write the font of the formulas into a folder, in the web's format."""
    package = find_spec("ziamath")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError(
            "the font of the formulas comes with ziamath, of the extra 'docs'"
        )
    whole = Path(package.submodule_search_locations[0]) / "fonts" / "STIXTwoMath-Regular.ttf"
    # The features are those that browsers use for formulas: small forms for exponents, low accents.
    options = subset.Options(
        flavor="woff", hinting=False, layout_features=["ssty", "dtls", "flac"], name_IDs=["*"]
    )
    standard_logging.getLogger("fontTools").setLevel(standard_logging.WARNING)
    font = subset.load_font(str(whole), options)
    chosen = subset.Subsetter(options)
    chosen.populate(unicodes=list(_characters()))
    chosen.subset(font)
    _raise_primes(font)
    folder.mkdir(parents=True, exist_ok=True)
    subset.save_font(font, str(folder / FONT), options)
    return folder / FONT


def _raise_primes(font: TTFont) -> None:
    table = font["GSUB"].table
    records = [r for r in table.FeatureList.FeatureRecord if r.FeatureTag == "ssty"]
    places = {place for record in records for place in record.Feature.LookupListIndex}
    forms: dict[str, str] = {}
    for place in sorted(places):
        for lookup in table.LookupList.Lookup[place].SubTable:
            for glyph, found in getattr(lookup, "alternates", {}).items():
                forms.setdefault(glyph, found[0])
            for glyph, found in getattr(lookup, "mapping", {}).items():
                forms.setdefault(glyph, found)
    for characters in font["cmap"].tables:
        for code in PRIMES:
            if code in getattr(characters, "cmap", {}):
                glyph = characters.cmap[code]
                characters.cmap[code] = forms.get(glyph, glyph)


def _characters() -> Iterator[int]:
    for first, last in CHARACTERS:
        yield from range(first, last + 1)


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        write_font(Path(app.outdir) / "_static")


def setup(app: Sphinx) -> dict[str, object]:
    """Register the renderer; ``html_math_renderer = "mathml"`` chooses it."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", _finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
