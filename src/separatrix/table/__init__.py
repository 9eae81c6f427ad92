# SPDX-License-Identifier: BSD-3-Clause
"""Encode a table of mixed columns as numbers.

text        parses numbers, dates and missing values that are written as text
kinds       finds the kind of a column of text, of Python values or of Arrow values
values      reads columns of any data frame library into one representation
statistics  computes statistics of each column, which can be added over batches
inference   infers the types of the columns from these statistics
plans       encodes one column
schema      encodes a table; can be saved as JSON
encoder     TableEncoder, a scikit-learn transformer
target      encodes the labels
"""

from separatrix.table.encoder import TableEncoder as TableEncoder
from separatrix.table.inference import infer_types as infer_types
from separatrix.table.kinds import Kind as Kind
from separatrix.table.kinds import cast_texts as cast_texts
from separatrix.table.kinds import join as join
from separatrix.table.kinds import kind_of_texts as kind_of_texts
from separatrix.table.kinds import kind_of_type as kind_of_type
from separatrix.table.kinds import kind_of_values as kind_of_values
from separatrix.table.kinds import values_to_arrow as values_to_arrow
from separatrix.table.plans import CYCLES as CYCLES
from separatrix.table.plans import MISSING as MISSING
from separatrix.table.plans import OTHER as OTHER
from separatrix.table.plans import CategoryPlan as CategoryPlan
from separatrix.table.plans import DatePlan as DatePlan
from separatrix.table.plans import HashPlan as HashPlan
from separatrix.table.plans import NumberPlan as NumberPlan
from separatrix.table.plans import OddCells as OddCells
from separatrix.table.plans import Plan as Plan
from separatrix.table.schema import Schema as Schema
from separatrix.table.statistics import ColumnStatistics as ColumnStatistics
from separatrix.table.statistics import TableStatistics as TableStatistics
from separatrix.table.statistics import table_statistics as table_statistics
from separatrix.table.statistics import text_readings as text_readings
from separatrix.table.target import Target as Target
from separatrix.table.target import clean_labels as clean_labels
from separatrix.table.target import encode_target as encode_target
from separatrix.table.values import Batch as Batch
from separatrix.table.values import as_text as as_text
from separatrix.table.values import open_batch as open_batch
from separatrix.table.values import read_values as read_values
from separatrix.table.values import row_place as row_place
