# SPDX-License-Identifier: BSD-3-Clause
"""Rows on a GPU. They stay there: only sums over rows, or a few numbers for each row, come back to the host.

A statistic that supports such rows (`device_aware`) gets blocks of `DeviceRows`, whose products run on the device. Any
other gets a copy of one block at a time in host memory: slower, with the same result. A tensor on a CPU takes the same
path.

Products of float32 rows are float32, and sums over rows are float64: first over `CHUNK_ROWS` rows in the precision of
the rows, then over the chunks.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._array import Array, Float, Rows, is_tensor, to_host, to_tensor
from separatrix.exceptions import DataError
from separatrix.rows.block import Block, Targets
from separatrix.rows.labels import FIRST_LABELS, Labelled, LabelRules
from separatrix.rows.memory import Memory, default_names
from separatrix.rows.source import Runner, Source, stack

BLOCKS_PER_GPU = 8  # a block takes this fraction of the GPU's memory: temporary arrays may be as large as the block
CPU_BLOCK_BYTES = 2**23  # bytes of a block of a tensor on a CPU
MIN_DEVICE_ROWS = 1024  # rows of the smallest block before the device is reported as too small
WIDE_ROWS = 2**18  # rows that are copied to double precision at a time
CHUNK_ROWS = 4096  # rows summed in single precision: the rounding error grows with their number


@dataclass(frozen=True, eq=False)
class _OnDevice:
    """A tensor that NumPy can read, at the price of a copy."""

    tensor: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,) or (n, M)."""
        return tuple(map(int, self.tensor.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the same name."""
        return np.dtype(str(self.tensor.dtype).removeprefix("torch."))

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(to_host(self.tensor), dtype=dtype)


@dataclass(frozen=True, eq=False)
class DeviceVector(_OnDevice):
    """Class codes on a device, copied to the host only if NumPy reads them."""

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
        """Whether all values are true."""
        return bool(self.tensor.all())

    def sum(self) -> float:
        """Sum of the values."""
        return float(self.tensor.sum())


@dataclass(frozen=True, eq=False)
class DeviceRows(_OnDevice):
    """Rows (n, M) on a device. ``copies`` are pairs of an array in host memory and its copy on the device."""

    copies: tuple[tuple[Array, Any], ...] = ()

    def __getitem__(self, rows: Any) -> DeviceRows:
        return DeviceRows(self.tensor[_index(rows, self.tensor)])

    def astype(self, dtype: Any, copy: bool = True) -> DeviceRows:
        """Return the rows in another precision."""
        import torch

        return DeviceRows(self.tensor.to(getattr(torch, np.dtype(dtype).name)), self.copies)

    def on(self, array: Array | DeviceVector | None) -> Any:
        """Return an array of the host on the device: the existing copy, or a new one."""
        if array is None or isinstance(array, DeviceVector):
            return None if array is None else array.tensor
        for host, copy in self.copies:
            if host is array:
                return copy
        import torch

        return torch.as_tensor(np.ascontiguousarray(array), device=self.tensor.device)

    def like(self, array: Array) -> Any:
        """Return a small array of the host on the device, in the precision of the rows."""
        return self.on(np.asarray(array, dtype=self.dtype))

    def in_one_class(self) -> DeviceVector:
        """Return a code of zero for each row."""
        import torch

        return DeviceVector(torch.zeros(len(self), dtype=torch.long, device=self.tensor.device))

    def __sub__(self, row: Array) -> DeviceRows:
        return DeviceRows(self.tensor - self.like(row), self.copies)

    def __matmul__(self, W: Array) -> Float:
        """X W in float64, (n,) or (n, C): far from zero, products in single precision would leave few digits."""
        import torch

        wide = self.on(W).double()
        return np.asarray(to_host(torch.cat([part.double() @ wide for part in self.tensor.split(WIDE_ROWS)])))

    def sums(self, slope: Any) -> Any:
        """Σ_n slope_n x_n' on the device, float64: (M,) of (n,) slopes, (C, M) of (n, C)."""
        S = slope.to(self.tensor.dtype)
        whole = len(self) - len(self) % CHUNK_ROWS
        S = S[:, None] if slope.ndim == 1 else S
        total = S[whole:].T.double() @ self.tensor[whole:].double()
        if whole:
            X = self.tensor[:whole].reshape(-1, CHUNK_ROWS, self.shape[1])
            S = S[:whole].reshape(-1, CHUNK_ROWS, S.shape[1])
            total = total + (S.transpose(1, 2) @ X).double().sum(dim=0)
        return total[0] if slope.ndim == 1 else total

    def row_squares(self, R: Float, shift: Float) -> Float:
        """|x_n R + shift|² of each row, (n,), in float64."""
        import torch

        wide, row = self.on(R).double(), self.on(shift).double()
        parts = (part.double() @ wide + row for part in self.tensor.split(WIDE_ROWS))
        return np.asarray(to_host(torch.cat([(Z * Z).sum(dim=1) for Z in parts])))

    @staticmethod
    def joined(parts: list[DeviceRows]) -> DeviceRows:
        """Concatenate rows."""
        import torch

        return DeviceRows(torch.cat([part.tensor for part in parts]))


def on_host(block: Block) -> Block:
    """Return a copy of the block in host memory."""
    return replace(block, X=np.asarray(block.X), t=None if block.t is None else np.asarray(block.t))


def _index(rows: Any, like: Any) -> Any:
    """Return an index of the host as one on the device."""
    if isinstance(rows, DeviceVector):
        return rows.tensor
    if not isinstance(rows, np.ndarray):
        return rows
    import torch

    return torch.as_tensor(rows, device=like.device)


class Device(Memory):
    """A partition of rows: a tensor (N, D) on a device. Tensors have no names: the columns are x0, x1, ..."""

    def __init__(self, tensor: Any) -> None:
        self.tensor, self.n_rows, self.columns = tensor, int(tensor.shape[0]), default_names(int(tensor.shape[1]))

    def height_for(self, width: float) -> int:
        """Rows of a block of ``width`` numbers each, in whole chunks.

        It depends on the device and not on how much of its memory is free: the same rows give the same bits.
        """
        import torch

        device = self.tensor.device
        is_gpu = device.type == "cuda"
        n_bytes = torch.cuda.get_device_properties(device).total_memory // BLOCKS_PER_GPU if is_gpu else CPU_BLOCK_BYTES
        rows = n_bytes // self.tensor.element_size() // max(int(width), 1)
        return int(max(MIN_DEVICE_ROWS, rows // CHUNK_ROWS * CHUNK_ROWS))

    def read(self, piece: Any) -> Rows:
        """Return the rows of a span, on the device."""
        return DeviceRows(self.tensor[piece])


@dataclass(frozen=True, eq=False)
class DeviceTargets(Targets):
    """Targets, weights and offsets in host memory, each with a copy on the device; None if already there."""

    copies: tuple[Any, ...] = (None, None, None)

    def block(self, X: Any, piece: slice, first: int) -> Block:
        """Return the rows of a span with their targets on both sides."""
        block = super().block(X, piece, first)
        pairs = zip((block.t, block.weight, block.offset), self.copies, strict=True)
        copies = tuple((part, copy[piece]) for part, copy in pairs if copy is not None)
        return replace(block, X=DeviceRows(X.tensor, copies))  # type: ignore[arg-type]  # parts that have a copy


def open_tensor(X: Any) -> Source:
    """Open a tensor (N, D): half precision becomes single; integers and booleans become double, as in host memory."""
    import torch

    tensor = to_tensor(X)
    if tensor.ndim != 2:
        raise DataError(
            f"X is a tensor of shape {tuple(tensor.shape)}; rows and columns are expected. Reshape it: one column "
            "is X.reshape(-1, 1), one row X.reshape(1, -1)."
        )
    if 0 in tensor.shape:
        what = "sample(s)" if tensor.shape[0] == 0 else "feature(s)"
        raise DataError(f"Found array with 0 {what} (shape={tuple(tensor.shape)}) while a minimum of 1 is required.")
    if tensor.is_sparse or tensor.is_complex():
        raise DataError(f"X is a {'sparse' if tensor.is_sparse else 'complex'} tensor; give a dense, real one.")
    is_short = tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)
    rows = Device(tensor.to(torch.float32 if is_short else torch.float64))
    template = np.empty((0, tensor.shape[1]), DeviceRows(rows.tensor).dtype)
    height = rows.height_for(tensor.shape[1])
    return Source((rows,), Stream(), rows.columns, height, template, targets=(DeviceTargets(),))


@dataclass(frozen=True)
class Stream(Runner):
    """The runner for a device: block after block in its own queue, in smaller blocks if memory runs out."""

    def reduce(self, source: Source, statistic: Callable[[Block], Any]) -> Any:
        """Sum of the statistic, on the device if it supports such rows."""
        is_aware = _is_aware(statistic)

        def total(source: Source) -> Any:
            (rows,), (targets,) = source.partitions, source.targets
            blocks = (targets.block(rows.read(span), span, source.first) for span in rows.pieces(source.height))
            return functools.reduce(operator.add, (statistic(b if is_aware else on_host(b)) for b in blocks))

        return _while_memory_lasts(source, total)

    def fold(
        self, source: Source, step: Callable[[Any, Block], Any], state: Any, rng: np.random.Generator | None
    ) -> Any:
        """State after all blocks. Ordered work runs on the host: one block at a time is copied there."""
        (rows,), (targets,) = source.partitions, source.targets
        for span in rows.pieces(source.height, (), rng):
            block = on_host(targets.block(rows.read(span), span, source.first))
            state = step(state, block if rng is None else block.take(rng.permutation(len(block))))
        return state

    def map(self, source: Source, row_function: Callable[[Rows], Array], height: int) -> Array:
        """Results of all rows, in host memory."""
        is_aware = _is_aware(row_function)

        def results(source: Source) -> Array:
            (rows,) = source.partitions
            parts = (rows.read(span) for span in rows.pieces(source.height))
            return stack((row_function(part if is_aware else np.asarray(part)) for part in parts), rows.n_rows)

        found: Array = _while_memory_lasts(source, results)
        return found

    def attach(self, source: Source, t: Any, weight: Any, offset: Any) -> tuple[Any, ...]:
        """Targets, which are copied to the device once."""
        import torch

        device = source.partitions[0].tensor.device
        copies = [
            torch.as_tensor(array, device=device) if isinstance(array, np.ndarray) else None
            for array in (t, weight, offset)
        ]
        return (DeviceTargets(t, weight, offset, copies=tuple(copies)),)

    def label(self, source: Source, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Class codes; labels and weights may be tensors too, on any device."""
        is_plain = rules.known is None and isinstance(rules.unlabelled, str) and rules.unlabelled == "error"
        if is_tensor(y) and sample_weight is None and is_plain and rules.least == LabelRules().least:
            found = _device_codes(to_tensor(y).to(source.partitions[0].tensor.device), source.n_rows)
            if found is not None:
                return Labelled(self.attach(source, found[1], None, None), found[0])
        paired = super().label(source, to_host(y), to_host(sample_weight), rules)
        (targets,) = paired.targets
        return paired._replace(targets=self.attach(source, targets.t, targets.weight, None))


def _device_codes(y: Any, n_rows: int) -> tuple[Array, DeviceVector] | None:
    """Classes and codes of integer labels on a device; None for other labels, which the host checks.

    Classes are guessed from the first rows, as in `labels`: sorting all labels would take as long as the fit.
    """
    import torch

    if y.shape != (n_rows,) or y.dtype.is_floating_point or y.dtype.is_complex:
        return None
    labels = y.long().contiguous()
    classes = torch.unique(labels[:FIRST_LABELS])
    low, high = (int(classes[end]) for end in (0, -1))
    if high - low == len(classes) - 1:  # consecutive integers, the common case: a subtraction instead of a search
        codes = labels - low if low else labels
        least, most = codes.aminmax()
        is_complete = (least >= 0) & (most < len(classes))
    else:
        codes = torch.searchsorted(classes, labels).clamp_(max=len(classes) - 1)
        is_complete = (classes[codes] == labels).all()
    if not bool(is_complete):
        classes, codes = torch.unique(labels, return_inverse=True)
    if len(classes) < 2:
        return None
    return np.asarray(to_host(classes.to(y.dtype))), DeviceVector(codes)


def _is_aware(function: Any) -> bool:
    inner = function.func if isinstance(function, partial) else function
    return bool(getattr(inner, "is_device_aware", False))


def _while_memory_lasts(source: Source, work: Callable[[Source], Any]) -> Any:
    """Do the work block by block; halve the blocks whenever they do not fit into the device's memory."""
    import torch

    device = source.partitions[0].tensor.device
    # Kernels are launched on the current device, which need not be that of the rows.
    with _full_precision(), torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        try:
            return work(source)
        except torch.OutOfMemoryError as error:
            height = source.height // 2
            if height < MIN_DEVICE_ROWS:
                raise MemoryError(
                    f"{device} has no memory left for a block of {source.height} rows of "
                    f"{source.partitions[0].tensor.shape[1]} columns next to the rows themselves. Free some memory, or "
                    "give the rows in host memory: X.cpu()."
                ) from error
    torch.cuda.empty_cache()
    return _while_memory_lasts(replace(source, height=height), work)


@contextmanager
def _full_precision() -> Iterator[None]:
    """Products of float32 in float32, whatever the user allows elsewhere: TF32 keeps three digits of each factor."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_float32_matmul_precision(before)
