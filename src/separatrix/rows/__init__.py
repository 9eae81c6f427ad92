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

from separatrix.rows.batches import MAX_LABELS as MAX_LABELS
from separatrix.rows.batches import ArrowRows as ArrowRows
from separatrix.rows.batches import Batches as Batches
from separatrix.rows.batches import BatchPlan as BatchPlan
from separatrix.rows.batches import LabelCounts as LabelCounts
from separatrix.rows.batches import batch_rows as batch_rows
from separatrix.rows.batches import column_in_memory as column_in_memory
from separatrix.rows.batches import count_labels as count_labels
from separatrix.rows.batches import cut_batches as cut_batches
from separatrix.rows.batches import has_label as has_label
from separatrix.rows.batches import is_number as is_number
from separatrix.rows.batches import join_batches as join_batches
from separatrix.rows.batches import label_from_column as label_from_column
from separatrix.rows.batches import open_batches as open_batches
from separatrix.rows.batches import precision as precision
from separatrix.rows.batches import tally_labels as tally_labels
from separatrix.rows.block import Block as Block
from separatrix.rows.block import Targets as Targets
from separatrix.rows.class_weight import class_factors as class_factors
from separatrix.rows.class_weight import class_totals as class_totals
from separatrix.rows.class_weight import weigh_classes as weigh_classes
from separatrix.rows.device import CHUNK_ROWS as CHUNK_ROWS
from separatrix.rows.device import DeviceRows as DeviceRows
from separatrix.rows.device import on_host as on_host
from separatrix.rows.labels import UNLABELLED as UNLABELLED
from separatrix.rows.labels import Labelled as Labelled
from separatrix.rows.labels import LabelRules as LabelRules
from separatrix.rows.labels import check_weight as check_weight
from separatrix.rows.labels import encode_labels as encode_labels
from separatrix.rows.labels import encode_shares as encode_shares
from separatrix.rows.labels import is_dask as is_dask
from separatrix.rows.labels import is_shares as is_shares
from separatrix.rows.labels import is_unlabelled as is_unlabelled
from separatrix.rows.labels import pair as pair
from separatrix.rows.labels import recode_classes as recode_classes
from separatrix.rows.labels import require_classes as require_classes
from separatrix.rows.labels import require_weight as require_weight
from separatrix.rows.memory import NamedRows as NamedRows
from separatrix.rows.memory import as_frame as as_frame
from separatrix.rows.memory import as_table as as_table
from separatrix.rows.memory import block_rows as block_rows
from separatrix.rows.memory import require_distinct as require_distinct
from separatrix.rows.open import RowStore as RowStore
from separatrix.rows.open import as_source as as_source
from separatrix.rows.open import dask_runner as dask_runner
from separatrix.rows.open import in_memory as in_memory
from separatrix.rows.open import labels_of as labels_of
from separatrix.rows.open import open_rows as open_rows
from separatrix.rows.open import readable_again as readable_again
from separatrix.rows.open import targets_in_memory as targets_in_memory
from separatrix.rows.open import without_targets as without_targets
from separatrix.rows.source import RowMap as RowMap
from separatrix.rows.source import Source as Source
from separatrix.rows.source import Summed as Summed
from separatrix.rows.threads import Threads as Threads
from separatrix.rows.threads import watched as watched
