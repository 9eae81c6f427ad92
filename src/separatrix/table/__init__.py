# SPDX-License-Identifier: BSD-3-Clause
"""Encode a table of mixed columns as numbers.

text        parses numbers, dates and missing values that are written as text
kinds       finds the kind of a column of text, of Python values or of Arrow values
values      reads columns of any data frame library into one representation
words       counts and weighs the words of free text
statistics  computes statistics of each column, which can be added over batches
inference   infers the types of the columns from these statistics
plans       encodes one column
schema      encodes a table; can be saved as JSON
encoder     TableEncoder, a scikit-learn transformer
target      encodes the labels
"""

from separatrix.table.encoder import TableEncoder, check_types
from separatrix.table.inference import infer_types
from separatrix.table.kinds import Kind, cast_texts, join, kind_of_texts, kind_of_type, kind_of_values, values_to_arrow
from separatrix.table.plans import (
    CYCLES,
    MISSING,
    OTHER,
    CategoryPlan,
    DatePlan,
    HashPlan,
    NumberPlan,
    OddCells,
    Plan,
    TextPlan,
)
from separatrix.table.schema import TYPICAL_TERMS, Schema
from separatrix.table.statistics import ColumnStatistics, TableStatistics, table_statistics, text_readings
from separatrix.table.target import Target, clean_labels, encode_target, positive_label
from separatrix.table.values import Batch, Values, as_text, open_batch, read_values, row_place
