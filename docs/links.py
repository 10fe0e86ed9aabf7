"""Check the links of the built pages: ``python docs/links.py [FOLDER]``.

A link inside has to lead to a file that is there, and to a place on it that is there.  Nothing may
be loaded from elsewhere: pages are to work without a network.  Links to other sites are listed and
not followed.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that make a browser load something at once; ``href`` does so only on a ``<link>``.
LOADED = {"src", "srcset", "poster", "data"}
IN_STYLES = re.compile(r"""url\(\s*['"]?([^'")]+)['"]?\s*\)|@import\s+['"]([^'"]+)""")
#: Relations of a ``<link>`` that only say something and load nothing.
SAYING = {"canonical", "next", "prev", "index", "search", "author", "alternate", "license"}


@dataclass
class Page:
    """What a page links to, what it loads, and the places on it that can be linked to."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        self.page.places.update(given[name] for name in ("id", "name") if name in given)
        self.page.loads += [given[name].split()[0] for name in LOADED if given.get(name)]
        self.page.loads += _in_styles(given.get("style", ""))
        if "href" in given:
            relations = set(given.get("rel", "").split())
            loaded = tag == "link" and not relations & SAYING
            (self.page.loads if loaded else self.page.links).append(given["href"])

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.page.loads += _in_styles(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False


def _in_styles(text: str) -> list[str]:
    return [a or b for a, b in IN_STYLES.findall(text)]


def read_page(path: Path) -> Page:
    """Read a page of HTML, or a style sheet."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return Page(loads=_in_styles(text))
    reader = _Reader()
    reader.feed(text)
    return reader.page


def is_elsewhere(link: str) -> bool:
    """Whether a link leads to another site; data in the link itself do not."""
    parts = urlsplit(link)
    return bool(parts.netloc) or parts.scheme not in ("", "data", "blob", "about", "javascript")


@dataclass
class Report:
    """What was found: faults, each as a sentence, and links to other sites with their pages."""

    inside: int = 0
    faults: list[str] = field(default_factory=list)
    elsewhere: dict[str, set[str]] = field(default_factory=dict)


def check(folder: Path) -> Report:
    """Check all pages and style sheets below a folder."""
    report = Report()
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".html", ".css"))
    pages = {path.resolve(): read_page(path) for path in files}
    for path, page in pages.items():
        name = path.relative_to(folder.resolve()).as_posix()
        for link in [*page.links, *page.loads]:
            if is_elsewhere(link):
                if link in page.loads:
                    report.faults.append(f"{name} loads {link} from elsewhere")
                else:
                    report.elsewhere.setdefault(link, set()).add(name)
                continue
            if urlsplit(link).scheme:
                continue
            report.inside += 1
            fault = _fault(path, link, pages)
            if fault:
                report.faults.append(f"{name} links to {link}: {fault}")
    return report


def _fault(path: Path, link: str, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return "no such file"
    place = unquote(parts.fragment)
    # A fragment on anything else than a page, such as a picture, is its own affair.
    if place and target in pages and target.suffix == ".html" and place not in pages[target].places:
        return "no such place on that page"
    return None


def main() -> int:
    """Print what was found; return 1 if a link is broken."""
    default = Path(__file__).parent / "_build" / "html"
    report = check(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
    for fault in report.faults:
        print(fault, file=sys.stderr)
    print(f"{report.inside} links inside, {len(report.faults)} broken; other sites, not looked at:")
    for link, pages in sorted(report.elsewhere.items()):
        first = sorted(pages)
        more = f" and {len(first) - 1} more" if len(first) > 1 else ""
        print(f"  {link} ({first[0]}{more})")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
