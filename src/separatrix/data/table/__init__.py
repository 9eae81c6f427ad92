# SPDX-License-Identifier: BSD-3-Clause
"""From a real table to numbers: facts that add, types inferred from them, and an encoder for batches.

``table_facts(batch)``      what is in each column; a statistic: facts of batches add
``infer_types(facts)``      what each column becomes: a `Schema`
``Schema.encode(batch)``    the numbers
``TableEncoder``            all of it as a scikit-learn transformer
``encode_target(column)``   the labels
"""

from separatrix.data.table.encoder import TableEncoder
from separatrix.data.table.facts import ColumnFacts, TableFacts, table_facts
from separatrix.data.table.inference import infer_types
from separatrix.data.table.schema import Schema
from separatrix.data.table.target import Target, encode_target

__all__ = [
    "ColumnFacts",
    "Schema",
    "TableEncoder",
    "TableFacts",
    "Target",
    "encode_target",
    "infer_types",
    "table_facts",
]
