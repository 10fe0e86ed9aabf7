"""Tables of numbers from files: which column is what, and what is wrong with the file.

Files are text (CSV, TSV, columns with spaces), series matrices of GEO, GCT, Parquet, Excel
workbooks, NumPy's NPY and NPZ, or Matrix Market; the ending of the name decides, and the content
if the ending says nothing. What is not a label has to be a finite number: a text among numbers is
an error that names its place, and so are missing values unless it is said what to do with them.
What was recognised or left out on the way is in the notices of the table.
"""

from orthospca.interface.tables._file import File as File
from orthospca.interface.tables._missing import WAYS as WAYS
from orthospca.interface.tables._missing import complete as complete
from orthospca.interface.tables._read import read_as_it_is as read_as_it_is
from orthospca.interface.tables._read import read_table as read_table
from orthospca.interface.tables._reading import Reading as Reading
from orthospca.interface.tables._shape import kind_of_matrix as kind_of_matrix
from orthospca.interface.tables._table import Table as Table
from orthospca.interface.tables._table import TableError as TableError
