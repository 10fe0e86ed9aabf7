"""A report for people: one HTML file with tables, pictures and what they mean.

The file needs nothing else, no network and no other file. Without matplotlib it has no pictures and
says so.
"""

from orthospca.interface.report._content import Section
from orthospca.interface.report._page import write_report

__all__ = ["Section", "write_report"]
