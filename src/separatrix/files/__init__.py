# SPDX-License-Identifier: BSD-3-Clause
"""Tables in files: read in batches of Arrow, and written whole or not at all.

``scan("data/*.parquet", target=...)``   a `Scan`, which models take in place of X
``open_table("customers.csv.gz")``      a `TableFile`: batches, any number of times, in constant memory
``open_writer("scores.parquet")``       a `TableWriter`: nothing is at the path unless the block ends well
"""

from separatrix.files.errors import FileReadError, FileWriteError
from separatrix.files.location import COMPRESSIONS, FORMATS, STANDARD, find
from separatrix.files.memory import available_memory
from separatrix.files.opening import open_table, open_writer
from separatrix.files.parquet import read_groups, reading_group
from separatrix.files.query import QueryError
from separatrix.files.scan import EncodedScan, Scan, scan
from separatrix.files.sparse import LibsvmFile, is_libsvm
from separatrix.files.sqlite import STORED, quoted
from separatrix.files.table import TableFile, TableWriter
from separatrix.table import Kind, join, values_to_arrow

__all__ = [
    "COMPRESSIONS",
    "FORMATS",
    "STANDARD",
    "STORED",
    "EncodedScan",
    "FileReadError",
    "FileWriteError",
    "Kind",
    "LibsvmFile",
    "QueryError",
    "Scan",
    "TableFile",
    "TableWriter",
    "available_memory",
    "find",
    "is_libsvm",
    "join",
    "open_table",
    "open_writer",
    "quoted",
    "read_groups",
    "reading_group",
    "scan",
    "values_to_arrow",
]
