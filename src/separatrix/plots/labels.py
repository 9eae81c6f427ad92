# SPDX-License-Identifier: BSD-3-Clause
"""Labels of rows as positions among the classes of the model that judges them, whatever the table of the rows is."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._array import Array, Codes
from separatrix.exceptions import DataError
from separatrix.geometry import codes_of
from separatrix.meta import listed

__all__ = ["true_codes"]


def true_codes(y: Any, classes: Array, n_rows: int) -> Codes:
    """Positions (N,) of the labels among the classes; a `DataError` where rows or labels do not fit."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows but y has shape {labels.shape}; they must pair up.")
    codes = codes_of(labels, classes)
    unknown = list(dict.fromkeys(labels[codes == len(classes)].tolist()))
    if unknown:
        raise DataError(
            f"y has labels that the model never saw: {listed(unknown)}. It knows {listed(classes.tolist())}."
        )
    return codes
