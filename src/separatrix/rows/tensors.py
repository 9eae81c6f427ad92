# SPDX-License-Identifier: BSD-3-Clause
"""Rows and class codes that live on a device: products with them run there, NumPy gets copies.

Products of float32 rows are float32, and sums over rows are float64: of each `CHUNK` rows first, in the precision of
the rows, then of the chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._array import Array, Float, to_host
from separatrix.rows.block import Block

__all__ = ["CHUNK", "DeviceRows", "DeviceVector", "on_host"]

WIDE_ROWS = 2**18  # rows of which a copy in double precision is made at a time
CHUNK = 4096  # rows summed in single precision: rounding grows with their number


@dataclass(frozen=True, eq=False)
class _Held:
    """A tensor that NumPy can look at, at the price of a copy."""

    tensor: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,) or (n, M)."""
        return tuple(map(int, self.tensor.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        """By its NumPy name."""
        return np.dtype(str(self.tensor.dtype).removeprefix("torch."))

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(to_host(self.tensor), dtype=dtype)


@dataclass(frozen=True, eq=False)
class DeviceVector(_Held):
    """Class codes on a device, which come to the host only where someone looks at them there."""

    @property
    def ndim(self) -> int:
        """1."""
        return int(self.tensor.ndim)

    def __getitem__(self, rows: Any) -> DeviceVector:
        return DeviceVector(self.tensor[_index(rows, self.tensor)])

    def __ge__(self, number: int) -> DeviceVector:
        return DeviceVector(self.tensor >= number)

    def __lt__(self, number: int) -> DeviceVector:
        return DeviceVector(self.tensor < number)

    def __gt__(self, number: int) -> DeviceVector:
        return DeviceVector(self.tensor > number)

    def __eq__(self, number: object) -> Any:
        return DeviceVector(self.tensor == number)

    __hash__ = None  # type: ignore[assignment]  # compared value by value, as arrays are

    def __invert__(self) -> DeviceVector:
        return DeviceVector(~self.tensor)

    def all(self) -> bool:
        """Of truth values."""
        return bool(self.tensor.all())

    def sum(self) -> float:
        """Of the codes, or the number of truths."""
        return float(self.tensor.sum())


@dataclass(frozen=True, eq=False)
class DeviceRows(_Held):
    """Rows (n, M) on a device; ``beside``, pairs of an array in host memory and its copy on the device."""

    beside: tuple[tuple[Array, Any], ...] = ()

    def __getitem__(self, rows: Any) -> DeviceRows:
        return DeviceRows(self.tensor[_index(rows, self.tensor)])

    def astype(self, dtype: Any, copy: bool = True) -> DeviceRows:
        """The rows in another precision."""
        return DeviceRows(self.tensor.to(self._dtype(dtype)), self.beside)

    def on(self, array: Array | DeviceVector | None) -> Any:
        """An array of the host on the device: the copy that is there, or a new one."""
        if array is None or isinstance(array, DeviceVector):
            return None if array is None else array.tensor
        for host, copy in self.beside:
            if host is array:
                return copy
        import torch

        return torch.as_tensor(np.ascontiguousarray(array), device=self.tensor.device)

    def like(self, array: Array) -> Any:
        """A small array of the host on the device, in the precision of the rows."""
        return self.on(np.asarray(array, dtype=self.dtype))

    def in_one_class(self) -> DeviceVector:
        """A code of zero for each row."""
        import torch

        return DeviceVector(torch.zeros(len(self), dtype=torch.long, device=self.tensor.device))

    def __sub__(self, row: Array) -> DeviceRows:
        return DeviceRows(self.tensor - self.like(row), self.beside)

    def __matmul__(self, W: Array) -> Float:
        """X W in float64: (n,) or (n, C). Far from zero, products of single precision would leave few digits."""
        import torch

        wide = self.on(W).double()
        return np.asarray(to_host(torch.cat([part.double() @ wide for part in self.tensor.split(WIDE_ROWS)])))

    def sums(self, slope: Any) -> Any:
        """Σ_n slope_n x_n' on the device, float64: (M,) of (n,) slopes, (C, M) of (n, C)."""
        S = slope.to(self.tensor.dtype)
        whole = len(self) - len(self) % CHUNK
        S = S[:, None] if slope.ndim == 1 else S
        total = S[whole:].T.double() @ self.tensor[whole:].double()
        if whole:
            X = self.tensor[:whole].reshape(-1, CHUNK, self.shape[1])
            S = S[:whole].reshape(-1, CHUNK, S.shape[1])
            total = total + (S.transpose(1, 2) @ X).double().sum(dim=0)
        return total[0] if slope.ndim == 1 else total

    def row_squares(self, R: Float, shift: Float) -> Float:
        """|x_n R + shift|² of each row, (n,), in float64."""
        import torch

        wide, row = self.on(R).double(), self.on(shift).double()
        parts = (part.double() @ wide + row for part in self.tensor.split(WIDE_ROWS))
        return np.asarray(to_host(torch.cat([(Z * Z).sum(dim=1) for Z in parts])))

    def _dtype(self, dtype: Any) -> Any:
        import torch

        return getattr(torch, np.dtype(dtype).name)

    @staticmethod
    def joined(parts: list[DeviceRows]) -> DeviceRows:
        """Rows one after another."""
        import torch

        return DeviceRows(torch.cat([part.tensor for part in parts]))


def on_host(block: Block) -> Block:
    """A copy of the block in host memory."""
    return replace(block, X=np.asarray(block.X), t=None if block.t is None else np.asarray(block.t))


def _index(rows: Any, like: Any) -> Any:
    """An index of the host as one on the device."""
    if isinstance(rows, DeviceVector):
        return rows.tensor
    if not isinstance(rows, np.ndarray):
        return rows
    import torch

    return torch.as_tensor(rows, device=like.device)
