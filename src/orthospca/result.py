"""Public name of :mod:`orthospca.model.result`."""

from orthospca.model.result import (
    Component,
    Progress,
    Result,
    Status,
    Table,
    format_gap,
    relative_gap,
)

__all__ = ["Component", "Progress", "Result", "Status", "Table", "format_gap", "relative_gap"]
