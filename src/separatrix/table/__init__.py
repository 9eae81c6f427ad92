# SPDX-License-Identifier: BSD-3-Clause
"""From a real table to numbers: facts that add, types inferred from them, and an encoder for batches.

``table_facts(batch)``      what is in each column; a statistic: facts of batches add
``infer_types(facts)``      what each column becomes: a `Schema`
``Schema.encode(batch)``    the numbers
``TableEncoder``            all of it as a scikit-learn transformer
``encode_target(column)``   the labels
"""

from separatrix.table.batch import Batch, open_batch
from separatrix.table.encoder import TableEncoder
from separatrix.table.facts import ColumnFacts, TableFacts, table_facts
from separatrix.table.hashing import HashPlan
from separatrix.table.inference import infer_types
from separatrix.table.parse import GAP_WORDS
from separatrix.table.plans import CYCLES, MISSING, OTHER, CategoryPlan, DatePlan, NumberPlan, Plan
from separatrix.table.readings import number_readings
from separatrix.table.schema import Schema
from separatrix.table.target import Target, encode_target
from separatrix.table.values import as_text, read_values

__all__ = [
    "CYCLES",
    "GAP_WORDS",
    "MISSING",
    "OTHER",
    "Batch",
    "CategoryPlan",
    "ColumnFacts",
    "DatePlan",
    "HashPlan",
    "NumberPlan",
    "Plan",
    "Schema",
    "TableEncoder",
    "TableFacts",
    "Target",
    "as_text",
    "encode_target",
    "infer_types",
    "number_readings",
    "open_batch",
    "read_values",
    "table_facts",
]
