# SPDX-License-Identifier: BSD-3-Clause
"""Tables in files, databases and streams. They are read as Arrow record batches; no incomplete file is ever left.

open        open_table and open_writer, which open a path for reading or writing
location    format, compression and table name of a path, and its decompressed bytes
table       TableFile: a table in a file
delimited   CSV and TSV; dialect determines encoding, delimiter and names
records     JSON lines and lists of records
columnar    Parquet and Arrow
workbook    Excel
database    SQLite and DuckDB
writer      TableWriter, and a sink for each format
libsvm      sparse text files
scan        Scan: rows that models read from files (many), queries (query) or streams (stream), with a filter (where)
memory      available memory
"""

from separatrix.files.libsvm import LibsvmFile
from separatrix.files.location import FORMATS, FileReadError, FileWriteError
from separatrix.files.memory import available_memory
from separatrix.files.open import open_table, open_writer
from separatrix.files.query import QueryError
from separatrix.files.scan import Scan, scan
from separatrix.files.table import TableFile
from separatrix.files.writer import TableWriter
