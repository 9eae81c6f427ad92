# SPDX-License-Identifier: BSD-3-Clause
"""What an array is here: its types, and the precision that arithmetic on it runs in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

Array = NDArray[Any]
Float = NDArray[np.float64]
Codes = NDArray[np.intp]
Rows = Any  # an (n, D) ndarray of float32 or float64, or a CSR array of them


def working_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The precision of one block: float32 stays float32, everything else becomes float64.

    Sums over blocks are float64 always: a float32 table costs half the memory traffic and loses
    nothing but the rounding of single products.
    """
    return np.dtype(np.float32) if np.dtype(dtype) in (np.float32, np.float16) else np.dtype(np.float64)


def bincount(codes: Array, weight: Array | None, length: int) -> Float:
    """Σ of weights (or of ones) for each code, always float64."""
    return np.bincount(codes, weight, minlength=length).astype(np.float64, copy=False)


def is_sparse(X: Rows) -> bool:
    """Whether the rows are stored as a SciPy sparse matrix or array."""
    return bool(sparse.issparse(X))


def to_dense(X: Rows) -> Array:
    """The rows of one block as an ndarray."""
    return np.asarray(X.toarray() if is_sparse(X) else X)
