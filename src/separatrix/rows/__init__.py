# SPDX-License-Identifier: BSD-3-Clause
"""Where rows live: any table -> a `Source` of blocks, with labels and weights.

``open_rows(X)``            a `Source`, wherever the rows are
``.with_labels(y, weight)`` class codes and weights       ``.mapped(basis)``   the rows as basis functions
``.reduce(statistic)``      a sum over blocks: one pass   ``.map(function)``   results of all rows

- open: any table of a user -> Source          - source: Source, and what partitions and runners do
- memory, batches, device: partitions          - threads, device, dask: runners
- labels: labels and weights in memory         - block: Block, Targets
"""

from separatrix.rows.batches import (
    ArrowRows,
    Batches,
    BatchPlan,
    RowsChangedError,
    batch_rows,
    column_in_memory,
    cut_batches,
    is_number,
    join_batches,
    label_from_column,
    open_batches,
    precision,
)
from separatrix.rows.block import Block, Targets
from separatrix.rows.device import CHUNK_ROWS, DeviceRows, on_host
from separatrix.rows.labels import (
    UNLABELLED,
    Labelled,
    LabelRules,
    check_weight,
    encode_labels,
    encode_shares,
    is_dask,
    is_shares,
    pair,
    require_classes,
    require_weight,
)
from separatrix.rows.memory import NamedRows, as_table, block_rows, cut_spans
from separatrix.rows.open import (
    RowStore,
    as_source,
    dask_runner,
    in_memory,
    labels_of,
    open_rows,
    targets_in_memory,
    without_targets,
)
from separatrix.rows.source import Addable, RowMap, Source, Stat
from separatrix.rows.threads import Threads, watched

__all__ = [
    "CHUNK_ROWS",
    "UNLABELLED",
    "Addable",
    "ArrowRows",
    "BatchPlan",
    "Batches",
    "Block",
    "DeviceRows",
    "LabelRules",
    "Labelled",
    "NamedRows",
    "RowMap",
    "RowStore",
    "RowsChangedError",
    "Source",
    "Stat",
    "Targets",
    "Threads",
    "as_source",
    "as_table",
    "batch_rows",
    "block_rows",
    "check_weight",
    "column_in_memory",
    "cut_batches",
    "cut_spans",
    "dask_runner",
    "encode_labels",
    "encode_shares",
    "in_memory",
    "is_dask",
    "is_number",
    "is_shares",
    "join_batches",
    "label_from_column",
    "labels_of",
    "on_host",
    "open_batches",
    "open_rows",
    "pair",
    "precision",
    "require_classes",
    "require_weight",
    "targets_in_memory",
    "watched",
    "without_targets",
]
