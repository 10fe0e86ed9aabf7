"""A report for people: one HTML file with tables, charts and what they mean.

The file needs nothing else: no network, no other file, and no library to draw with.  It can be read
without its script, which adds hovering, sorting, searching, other axes and downloads.

``_page.py`` fills the page (``page.html``), ``_parts.py`` is what it is built of, ``_section.py``
what a report of results is given; ``_result.py`` and ``_choosing.py`` have the panels.  The charts
are said in ``plots/``.
"""

from orthospca.interface.report._choosing import write_choice_report
from orthospca.interface.report._parts import Chapter, Panel
from orthospca.interface.report._result import write_report
from orthospca.interface.report._section import Section

__all__ = ["Chapter", "Panel", "Section", "write_choice_report", "write_report"]
