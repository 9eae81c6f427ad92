# SPDX-License-Identifier: BSD-3-Clause
"""Array types, and conversions between dense and sparse arrays, precisions and devices."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

Array = NDArray[Any]
Float = NDArray[np.float64]
Codes = NDArray[np.intp]
Rows = Any  # an (n, D) ndarray or CSR array of float32 or float64
MIN_STD = 1e-125  # columns with a smaller standard deviation count as constant: its inverse square would overflow


def working_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Precision of one block: float32 for float16 and float32, float64 for all other types.

    Sums over blocks are always float64. A float32 table halves the memory traffic, and only single products are rounded
    to float32.
    """
    return np.dtype(np.float32 if np.dtype(dtype).char in "ef" else np.float64)


def in_single(*arrays: Float) -> tuple[Array, ...]:
    """Return the arrays in float32, or unchanged if one of them would overflow."""
    with np.errstate(over="ignore", under="ignore"):
        single = tuple(each.astype(np.float32) for each in arrays)
    pairs = zip(single, arrays, strict=True)
    return single if all(np.array_equal(np.isfinite(a), np.isfinite(b)) for a, b in pairs) else arrays


def bincount(codes: Array, weight: Array | None, length: int) -> Float:
    """Sum of the weights of each code, or its count if there are no weights, in float64."""
    return np.bincount(codes, weight, minlength=length).astype(np.float64, copy=False)


def is_sparse(X: Rows) -> bool:
    """Whether the rows are stored as a SciPy sparse matrix or array."""
    return type(X) is not np.ndarray and bool(sparse.issparse(X))  # SciPy's check takes as long as a small product


def to_dense(X: Rows) -> Array:
    """Return the rows of one block as an ndarray."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


DEVICE_LIBRARIES = ("torch", "cupy")
Function = TypeVar("Function")


def is_tensor(X: Any) -> bool:
    """Whether X is an array of a library that supports GPUs. The check imports no library."""
    return type(X).__module__.partition(".")[0] in DEVICE_LIBRARIES


def to_tensor(X: Any) -> Any:
    """Return a torch tensor over the same memory, detached from any autograd graph."""
    try:
        import torch
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "Rows on a GPU need PyTorch, which is not installed: pip install 'separatrix[gpu]'"
        ) from missing
    tensor = X if isinstance(X, torch.Tensor) else torch.from_dlpack(X)
    return tensor.detach()


def to_host(x: Any) -> Any:
    """Copy a tensor to a NumPy array; return anything else unchanged."""
    if not is_tensor(x):
        return x
    tensor = to_tensor(x).cpu()
    return tensor.float().numpy() if str(tensor.dtype) == "torch.bfloat16" else tensor.numpy()


def device_aware(function: Function) -> Function:
    """Mark a function of blocks or rows that accepts rows on a GPU. Other functions get a copy in host memory."""
    function.is_device_aware = True  # type: ignore[attr-defined]
    return function


def is_device_aware(function: Any) -> bool:
    """Whether a function, or the function of a partial one, is marked as `device_aware`."""
    return bool(getattr(getattr(function, "func", function), "is_device_aware", False))


def read_only(array: Array) -> Array:
    """A view that cannot be written to. Compiled loops have one version for all arrays if they get such views."""
    view = array.view()
    view.flags.writeable = False
    return view
