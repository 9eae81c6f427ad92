# SPDX-License-Identifier: BSD-3-Clause
"""Where rows live."""

from separatrix.data.block import Block
from separatrix.data.counted import Counted
from separatrix.data.dask.answers import gathered, labels_of
from separatrix.data.dask.source import answers
from separatrix.data.labels import encode_labels, encode_shares, is_shares
from separatrix.data.memory import InMemory, as_source
from separatrix.data.opening import RowStore, numbers_beside, open_rows, rows_alone
from separatrix.data.pairing import Labelled, LabelRules, check_weight, require_classes, require_weight
from separatrix.data.reader import as_table
from separatrix.data.source import Source, ThroughBasis

__all__ = [
    "Block",
    "Counted",
    "InMemory",
    "LabelRules",
    "Labelled",
    "RowStore",
    "Source",
    "ThroughBasis",
    "answers",
    "as_source",
    "as_table",
    "check_weight",
    "encode_labels",
    "encode_shares",
    "gathered",
    "is_shares",
    "labels_of",
    "numbers_beside",
    "open_rows",
    "require_classes",
    "require_weight",
    "rows_alone",
]
