"""Public name of :mod:`orthospca.interface.tables`."""

from orthospca.interface.tables import Table, TableError, read_table

__all__ = ["Table", "TableError", "read_table"]
