"""Tables of numbers from files: which column is what, and what is wrong with the file.

Files are CSV or TSV, Parquet, NumPy's NPY and NPZ, or Matrix Market; the ending of the name
decides, and any other ending means text. Everything that is not a label has to be a finite number:
a missing value or a text among numbers is an error that names its place.
"""

from orthospca.interface.tables._read import read_table
from orthospca.interface.tables._table import Table, TableError

__all__ = ["Table", "TableError", "read_table"]
