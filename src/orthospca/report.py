"""Public name of :mod:`orthospca.interface.report`."""

from orthospca.interface.report import Section, write_choice_report, write_report

__all__ = ["Section", "write_choice_report", "write_report"]
