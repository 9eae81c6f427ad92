# SPDX-License-Identifier: BSD-3-Clause
"""Which columns hold NaN, infinity, or numbers too large to square. Asked only when a sum came out wrong."""

from __future__ import annotations

import numpy as np

from separatrix._array import Array, Codes
from separatrix.exceptions import DataError
from separatrix.rows import Block, Source, ThroughBasis
from separatrix.stats.extent import extent
from separatrix.stats.tally import Tally

__all__ = ["nonfinite", "require_finite", "require_squares"]


def nonfinite(block: Block) -> Tally:
    """NaN and infinite values per column."""
    return Tally(block.nonfinite())


def infinite(block: Block) -> Tally:
    """Infinite values per column, NaN apart."""
    return Tally(block.nonfinite() - block.missing())


def require_finite(source: Source, *, allow_nan: bool = False) -> None:
    """Raise, naming columns and counts, if any value is infinite, or NaN where that is not a missing value.

    Of rows seen through a basis, the rows are blamed first; if they are in order, the functions are.
    """
    if isinstance(source, ThroughBasis):
        require_finite(source.raw, allow_nan=allow_nan)
    count = source.reduce(infinite if allow_nan else nonfinite).count
    bad = np.flatnonzero(count)
    if len(bad):
        said = _listed(source, bad, [f"{count[d]} of {source.n_rows} rows" for d in bad])
        if isinstance(source, ThroughBasis):
            raise DataError(
                f"The basis overflows or is undefined: {said} came out NaN or infinite, although X is finite. "
                "Bring the columns of X to unit scale first (for example with sklearn.preprocessing.StandardScaler), "
                "or choose another basis."
            )
        raise DataError(
            f"Input X contains {'infinity' if allow_nan else 'NaN or infinity'} in {said}. Drop those rows "
            f"(of a scan with where={_condition(source.columns[bad[0]], allow_nan=allow_nan)!r}), or fill them in (for "
            "example with sklearn.impute.SimpleImputer)."
        )


def require_squares(source: Source) -> None:
    """Raise, naming columns, if sums of squares overflow although every value is finite."""
    with np.errstate(over="ignore"):
        reach = source.reduce(extent)
    largest = np.maximum(np.abs(reach.low), np.abs(reach.high))
    for dtype, where, remedy in (
        (np.float64, "", "Divide those columns by a constant first."),
        (np.float32, " in float32", "Convert the table to float64."),
    ):
        bad = np.flatnonzero(largest > np.sqrt(float(np.finfo(dtype).max) / source.n_rows) / 2)
        if len(bad):
            said = _listed(source, bad, [f"up to {largest[d]:.3g}" for d in bad])
            raise DataError(f"Values too large to square{where}: {said}. {remedy}")


def _condition(column: str, *, allow_nan: bool) -> str:
    """What holds for the rows to keep, in SQL."""
    quoted = '"' + column.replace('"', '""') + '"'
    return f"{quoted} IS NULL OR NOT isinf({quoted})" if allow_nan else f"isfinite({quoted})"


def _listed(source: Source, columns: Codes | Array, remarks: list[str], most: int = 8) -> str:
    names = [f"column {source.columns[d]!r} ({why})" for d, why in zip(columns[:most], remarks, strict=False)]
    return ", ".join(names) + (f" and {len(columns) - most} more columns" if len(columns) > most else "")
