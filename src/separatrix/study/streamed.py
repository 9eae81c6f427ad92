# SPDX-License-Identifier: BSD-3-Clause
"""Tables larger than memory: models are compared on rows spread over them, and the one chosen is fitted to all.

The fit reads the file again for each pass; the comparison needs no more rows than its figures of merit have digits for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from separatrix._array import Array
from separatrix.exceptions import DataError
from separatrix.meta import listed
from separatrix.scanning import Scan
from separatrix.stats import drawn_numbers
from separatrix.study.progress import Stages
from separatrix.tables import TableClassifier

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["fit_streamed", "spread_rows"]

MOST_SPREAD = 200_000  # rows that are looked at: twice as many as models are compared on


def spread_rows(batches: Iterable[pa.RecordBatch], n_rows: int, most: int = MOST_SPREAD) -> pa.Table:
    """Some rows of a table that is read once, one from each stretch of equal length: at most about ``most``."""
    import pyarrow as pa

    length, start, parts = -(-n_rows // most), 0, []
    for batch in batches:
        stop = start + batch.num_rows
        parts.append(pa.table(batch.take(pa.array(drawn_numbers(start, stop, length) - start))))
        start = stop
    return pa.concat_tables(parts).combine_chunks()


def fit_streamed(candidate: TableClassifier, rows: Scan, classes: Array, tell: Stages) -> TableClassifier:
    """The candidate, fitted to all rows as they are read; ``tell`` hears of every pass.

    Raises
    ------
    DataError
        Where the rows have other classes than those that were compared on: one so rare that none of them showed it.
    """
    with tell.watching():
        model: Any = clone(candidate).fit(rows)
    if model.classes_.tolist() != classes.tolist():
        raise DataError(
            f"The rows that models were compared on have the classes {listed(classes.tolist())}, all rows have "
            f"{listed(model.classes_.tolist())}: some are too rare to be judged. Leave out their rows, or rename them."
        )
    return model  # type: ignore[no-any-return]  # as it was given
