# SPDX-License-Identifier: BSD-3-Clause
"""Tables in files, databases and streams, read as Arrow record batches and written completely or not at all.

open        open_table, open_writer: a path as a table to read or to write
location    format, compression and bytes of a path
table       TableFile: a table in a file
delimited   CSV and TSV, with encoding and dialect
records     JSON lines and lists of records
columnar    Parquet and Arrow
workbook    Excel
database    SQLite and DuckDB
writer      TableWriter: writing in each format
libsvm      sparse text files
scan        Scan: rows for models from files (many), queries (query) and streams (stream), with conditions (where)
memory      available memory
"""

from separatrix.files.database import quoted
from separatrix.files.libsvm import LibsvmFile, is_libsvm
from separatrix.files.location import COMPRESSIONS, FORMATS, FileReadError, FileWriteError
from separatrix.files.memory import available_memory
from separatrix.files.open import open_table, open_writer
from separatrix.files.query import QueryError
from separatrix.files.scan import Scan, scan
from separatrix.files.table import TableFile
from separatrix.files.writer import TableWriter

__all__ = [
    "COMPRESSIONS",
    "FORMATS",
    "FileReadError",
    "FileWriteError",
    "LibsvmFile",
    "QueryError",
    "Scan",
    "TableFile",
    "TableWriter",
    "available_memory",
    "is_libsvm",
    "open_table",
    "open_writer",
    "quoted",
    "scan",
]
