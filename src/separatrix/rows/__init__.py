# SPDX-License-Identifier: BSD-3-Clause
"""Access to rows: any table becomes a `Source` of blocks of rows, with labels and weights.

``open_rows(X)``            opens a table of any kind     ``.mapped(basis)``   evaluates basis functions
``.with_labels(y, weight)`` adds class codes and weights  ``.map(function)``   returns the results of all rows
``.reduce(statistic)``      sums a statistic over the blocks: one pass

- open: converts any table to a Source         - source: Source, and the interfaces Partition and Runner
- memory, batches, device: partitions          - threads, device, dask: runners
- labels: labels and weights in memory         - class_weight: weights of classes
- block: Block, Targets
"""

from separatrix.rows.batches import (
    MAX_LABELS,
    ArrowRows,
    Batches,
    BatchPlan,
    ColumnTargets,
    LabelCounts,
    batch_rows,
    column_in_memory,
    count_labels,
    cut_batches,
    has_label,
    is_number,
    join_batches,
    label_from_column,
    open_batches,
    precision,
    tally_labels,
)
from separatrix.rows.block import Block, Targets
from separatrix.rows.class_weight import class_factors, class_totals, weigh_classes
from separatrix.rows.device import CHUNK_ROWS, DeviceRows, on_host
from separatrix.rows.labels import (
    NOT_NUMBERS,
    UNLABELLED,
    Labelled,
    LabelRules,
    accuracy,
    check_weight,
    encode_labels,
    encode_shares,
    given_classes,
    is_class,
    is_dask,
    is_hashable,
    is_missing,
    is_shares,
    is_single,
    is_unlabelled,
    label_kind,
    pair,
    recode_classes,
    require_classes,
    require_weight,
    to_numbers,
)
from separatrix.rows.memory import NamedRows, as_array, as_frame, as_table, block_rows, require_distinct, unmasked
from separatrix.rows.open import (
    RowStore,
    as_source,
    dask_runner,
    in_memory,
    labels_of,
    open_rows,
    readable_again,
    targets_in_memory,
    without_targets,
)
from separatrix.rows.source import RowMap, Source, Summed
from separatrix.rows.threads import Threads, watched
