# SPDX-License-Identifier: BSD-3-Clause
"""Tables in files: read in batches of Arrow, and written whole or not at all.

``open_table("customers.csv.gz")``      a `TableFile`: batches, any number of times, in constant memory
``open_writer("scores.parquet")``       a `TableWriter`: nothing is at the path unless the block ends well
"""

from separatrix.data.files.errors import FileReadError, FileWriteError
from separatrix.data.files.location import COMPRESSIONS, FORMATS
from separatrix.data.files.memory import available_memory
from separatrix.data.files.opening import open_table, open_writer
from separatrix.data.files.table import TableFile, TableWriter

__all__ = [
    "COMPRESSIONS",
    "FORMATS",
    "FileReadError",
    "FileWriteError",
    "TableFile",
    "TableWriter",
    "available_memory",
    "open_table",
    "open_writer",
]
