"""A report for people: one HTML file with tables, charts and what they mean.

The file needs nothing else: no network, no other file, and no library to draw with.  It can be read
without its script, which adds hovering, sorting, searching, other axes and downloads.

``_document.py`` is the page, ``_charts.py`` says how to draw, ``_section.py`` is what a report is
given, and ``_page.py`` puts the panels together.
"""

from orthospca.interface.report._document import Chapter, Panel
from orthospca.interface.report._page import write_report
from orthospca.interface.report._section import Section

__all__ = ["Chapter", "Panel", "Section", "write_report"]
