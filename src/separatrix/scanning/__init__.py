# SPDX-License-Identifier: BSD-3-Clause
"""Rows in files and databases, read anew for every pass, in memory that does not grow with their number.

``scan(source)``        a `Scan`, which takes the place of X in ``fit`` and ``predict``
``Scan.parts()``        its pieces, for several machines to share; `blocks_of` makes the blocks of one
``watched(callback)``   who is told how far a pass is
"""

from separatrix.rows import watched
from separatrix.scanning.errors import QueryError, RowsChangedError
from separatrix.scanning.labels import LabelTally, tally_labels
from separatrix.scanning.part import BlockPlan, Part, block_of, blocks_of, pieces_of
from separatrix.scanning.scan import EncodedScan, Scan, scan

__all__ = [
    "BlockPlan",
    "EncodedScan",
    "LabelTally",
    "Part",
    "QueryError",
    "RowsChangedError",
    "Scan",
    "block_of",
    "blocks_of",
    "pieces_of",
    "scan",
    "tally_labels",
    "watched",
]
