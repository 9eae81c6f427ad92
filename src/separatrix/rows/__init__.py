# SPDX-License-Identifier: BSD-3-Clause
"""Where rows live."""

from separatrix.rows.block import Block
from separatrix.rows.counted import Counted
from separatrix.rows.dask.answers import gathered, labels_of
from separatrix.rows.dask.beside import split
from separatrix.rows.dask.collection import is_dask
from separatrix.rows.dask.graph import for_each, task
from separatrix.rows.dask.part import Beside, Place, Task, places
from separatrix.rows.dask.source import answers, refuse_order
from separatrix.rows.dask.told import compute_told, teller
from separatrix.rows.dask.tree import tree_sum
from separatrix.rows.labels import UNLABELLED, encode_labels, encode_shares, is_shares
from separatrix.rows.memory import MAP_BLOCKS, InMemory, as_source, block_rows, join_answers, spans_of
from separatrix.rows.opening import Opened, RowStore, TargetStore, numbers_beside, open_rows, rows_alone
from separatrix.rows.pairing import (
    Labelled,
    LabelRules,
    check_weight,
    pair,
    require_classes,
    require_known,
    require_weight,
)
from separatrix.rows.reader import NamedRows, as_table
from separatrix.rows.source import Addable, RowMap, Source, Stat, ThroughBasis
from separatrix.rows.tensors import CHUNK, DeviceRows, on_host
from separatrix.rows.watch import Progress, begin_pass, watched

__all__ = [
    "CHUNK",
    "MAP_BLOCKS",
    "UNLABELLED",
    "Addable",
    "Beside",
    "Block",
    "Counted",
    "DeviceRows",
    "InMemory",
    "LabelRules",
    "Labelled",
    "NamedRows",
    "Opened",
    "Place",
    "Progress",
    "RowMap",
    "RowStore",
    "Source",
    "Stat",
    "TargetStore",
    "Task",
    "ThroughBasis",
    "answers",
    "as_source",
    "as_table",
    "begin_pass",
    "block_rows",
    "check_weight",
    "compute_told",
    "encode_labels",
    "encode_shares",
    "for_each",
    "gathered",
    "is_dask",
    "is_shares",
    "join_answers",
    "labels_of",
    "numbers_beside",
    "on_host",
    "open_rows",
    "pair",
    "places",
    "refuse_order",
    "require_classes",
    "require_known",
    "require_weight",
    "rows_alone",
    "spans_of",
    "split",
    "task",
    "teller",
    "tree_sum",
    "watched",
]
