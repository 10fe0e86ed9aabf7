"""Public name of :mod:`orthospca.interface.report` and of the report for choosing p and K."""

from orthospca.interface.choosing_report import write_choice_report
from orthospca.interface.report import Section, write_report

__all__ = ["Section", "write_choice_report", "write_report"]
