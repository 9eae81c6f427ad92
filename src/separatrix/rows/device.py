# SPDX-License-Identifier: BSD-3-Clause
"""Rows on a GPU. They stay there: only sums over rows, or a few values per row, are copied to the host.

A statistic that supports such rows (`device_aware`) gets blocks of `DeviceRows`, whose products run on the device. Any
other statistic gets copies of the blocks in host memory, which is slower and gives the same result. Tensors on a CPU
are processed in the same way.

Products of float32 rows are float32. Rows are summed in their own precision within chunks of `CHUNK_ROWS` rows, and the
sums of the chunks are added in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix._array import Array, Float, Rows, is_device_aware, is_tensor, to_host, to_tensor
from separatrix._lazy import torch
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.rows.block import Block, Targets
from separatrix.rows.labels import FIRST_LABELS, Labelled, LabelRules
from separatrix.rows.memory import Memory, block_rows, default_names
from separatrix.rows.source import Runner, Source
from separatrix.rows.threads import ONE_THREAD, THREADS

BLOCKS_PER_GPU = 8  # a block takes 1/8 of the GPU's memory, because temporary arrays may be as large as the block
CPU_BLOCK_BYTES = 2**23  # size of a block of a tensor on a CPU
MIN_DEVICE_ROWS = 1024  # rows of the smallest block; an error is raised if it does not fit into memory
WIDE_ROWS = 2**18  # rows that are converted to double precision at a time
CHUNK_ROWS = 4096  # rows that are summed in single precision; the rounding error grows with this number


@dataclass(frozen=True, eq=False)
class _OnDevice:
    """A tensor that NumPy can read by copying it to the host."""

    tensor: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(int, self.tensor.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
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

    __hash__ = None  # type: ignore[assignment]  # == compares elements, as for arrays

    def __invert__(self) -> DeviceVector:
        return DeviceVector(~self.tensor)

    def all(self) -> bool:
        return bool(self.tensor.all())

    def sum(self) -> float:
        return float(self.tensor.sum())


@dataclass(frozen=True, eq=False)
class DeviceRows(_OnDevice):
    """Rows (n, M) on a device. ``copies`` are pairs (host array, device copy), for arrays such as weights."""

    copies: tuple[tuple[Array, Any], ...] = ()

    def __getitem__(self, rows: Any) -> DeviceRows:
        return DeviceRows(self.tensor[_index(rows, self.tensor)])

    def astype(self, dtype: Any, copy: bool = True) -> DeviceRows:
        return DeviceRows(self.tensor.to(getattr(torch, np.dtype(dtype).name)), self.copies)

    def on(self, array: Any) -> Any:
        """Return the device copy of a host array; make one if needed. Tensors are returned unchanged."""
        if array is None or is_tensor(array):
            return array
        if isinstance(array, DeviceVector):
            return array.tensor
        for host, copy in self.copies:
            if host is array:
                return copy
        return torch.as_tensor(np.ascontiguousarray(array), device=self.tensor.device)

    def like(self, array: Array) -> Any:
        """Copy a small host array to the device, in the precision of the rows."""
        return self.on(np.asarray(array, dtype=self.dtype))

    def mapped(self, function: Callable[..., Any], *arrays: Array) -> DeviceRows:
        """Return rows φ(x): call ``function`` on the device with the rows and copies of the host arrays."""
        return DeviceRows(function(self.tensor, *map(self.on, arrays)), self.copies)

    def in_one_class(self) -> DeviceVector:
        """Class codes that are all zero."""
        return DeviceVector(torch.zeros(len(self), dtype=torch.long, device=self.tensor.device))

    def __sub__(self, row: Array) -> DeviceRows:
        return DeviceRows(self.tensor - self.like(row), self.copies)

    def __matmul__(self, W: Array) -> Float:
        """X W, (n,) or (n, C), in float64: if columns are far from zero, float32 is too inaccurate."""
        wide = self.on(W).double()
        return np.asarray(to_host(torch.cat([part.double() @ wide for part in self.tensor.split(WIDE_ROWS)])))

    def sums(self, slope: Any) -> Any:
        """Σ_n slope_n x_n' on the device, in float64: (M,) for slopes (n,), (C, M) for slopes (n, C)."""
        S = slope.to(self.tensor.dtype)
        whole = len(self) - len(self) % CHUNK_ROWS
        S = S[:, None] if slope.ndim == 1 else S
        total = S[whole:].T.double() @ self.tensor[whole:].double()
        if whole:
            X = self.tensor[:whole].reshape(-1, CHUNK_ROWS, self.shape[1])
            S = S[:whole].reshape(-1, CHUNK_ROWS, S.shape[1])
            total = total + (S.transpose(1, 2) @ X).double().sum(dim=0)
        return total[0] if slope.ndim == 1 else total

    def row_squares(self, R: Float, shift: Float) -> Any:
        """|x_n R + shift|² for each row, (n,), on the device, in float64."""
        wide, row = self.on(R).double(), self.on(shift).double()
        parts = (part.double() @ wide + row for part in self.tensor.split(WIDE_ROWS))
        return torch.cat([(Z * Z).sum(dim=1) for Z in parts])

    def concatenated(self, parts: list[DeviceRows]) -> DeviceRows:
        """Columns of several functions of these rows, side by side."""
        return DeviceRows(torch.cat([part.tensor for part in parts], dim=1), self.copies)

    @staticmethod
    def joined(parts: list[DeviceRows]) -> DeviceRows:
        return DeviceRows(torch.cat([part.tensor for part in parts]))


def on_host(block: Block) -> Block:
    """Return a copy of the block in host memory."""
    return replace(block, X=np.asarray(block.X), t=None if block.t is None else np.asarray(block.t))


def _index(rows: Any, like: Any) -> Any:
    """Copy an index array to the device; return slices unchanged."""
    if isinstance(rows, DeviceVector):
        return rows.tensor
    if not isinstance(rows, np.ndarray):
        return rows
    return torch.as_tensor(rows, device=like.device)


class Device(Memory):
    """A partition of rows: a tensor (N, D) on a device. Its columns are named x0, x1, ..."""

    def __init__(self, tensor: Any) -> None:
        self.tensor, self.n_rows, self.columns = tensor, int(tensor.shape[0]), default_names(int(tensor.shape[1]))
        self.max_height = self.n_rows  # rows per block; lower after a pass has run out of memory

    def height_for(self, width: float) -> int:
        """Number of rows per block if each row has ``width`` values: `MIN_DEVICE_ROWS` or a multiple of `CHUNK_ROWS`.

        It depends on the device's total memory, not on its free memory, so that repeated runs are bit-identical.
        """
        return int(max(MIN_DEVICE_ROWS, self.block_values // max(int(width), 1) // CHUNK_ROWS * CHUNK_ROWS))

    @cached_property
    def block_values(self) -> int:
        """Largest number of values in a block; the temporary arrays of its rows may be as large."""
        device = self.tensor.device
        is_gpu = device.type == "cuda"
        n_bytes = torch.cuda.get_device_properties(device).total_memory // BLOCKS_PER_GPU if is_gpu else CPU_BLOCK_BYTES
        return int(n_bytes // self.tensor.element_size())

    def read(self, piece: Any) -> Rows:
        return DeviceRows(self.tensor[piece])


@dataclass(frozen=True, eq=False)
class DeviceTargets(Targets):
    """Targets, weights and offsets. ``copies`` has a tensor for each of them that is a NumPy array, otherwise None."""

    copies: tuple[Any, ...] = (None, None, None)

    def block(self, X: Any, piece: slice, first: int) -> Block:
        """Return the block of rows of a span, with targets on the host and on the device."""
        block = super().block(X, piece, first)
        pairs = zip((block.t, block.weight, block.offset), self.copies, strict=True)
        copies = tuple((part, copy[piece]) for part, copy in pairs if copy is not None)
        return replace(block, X=DeviceRows(X.tensor, copies))  # type: ignore[arg-type]  # copies are tensors, not arrays


def open_tensor(X: Any) -> Source:
    """Open a tensor (N, D). Half precision becomes float32; integers and booleans become float64, as in host memory."""
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
    """The runner for a device. It processes one block after the other, and smaller blocks if memory runs out."""

    def reduce(self, source: Source, statistic: Callable[[Block], Any]) -> Any:
        """Sum the statistic, on the device if the statistic supports it; otherwise threads get copies of blocks."""
        if is_device_aware(statistic):
            return _retry_with_smaller_blocks(source, lambda source: ONE_THREAD.reduce(source, statistic))
        (rows,) = source.partitions
        here = replace(source, height=block_rows(rows.block_values / source.height))
        return THREADS.reduce(here, lambda block: statistic(on_host(block)))

    def fold(
        self, source: Source, step: Callable[[Any, Block], Any], state: Any, rng: np.random.Generator | None
    ) -> Any:
        """Return the state after all blocks. Steps run on the host, to which one block at a time is copied."""
        return ONE_THREAD.fold(source, lambda state, block: step(state, on_host(block)), state, rng)

    def map(self, source: Source, row_function: Callable[[Rows], Array], height: int) -> Array:
        work = row_function if is_device_aware(row_function) else lambda X: row_function(np.asarray(X))
        found: Array = _retry_with_smaller_blocks(source, lambda source: ONE_THREAD.map(source, work, source.height))
        return found

    def attach(self, source: Source, t: Any, weight: Any, offset: Any) -> tuple[Any, ...]:
        """Copy targets to the device."""
        device = source.partitions[0].tensor.device
        copies = [
            torch.as_tensor(array, device=device) if isinstance(array, np.ndarray) else None
            for array in (t, weight, offset)
        ]
        return (DeviceTargets(t, weight, offset, copies=tuple(copies)),)

    def label(self, source: Source, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Encode labels. Labels and weights may be tensors on any device."""
        is_plain = rules.known is None and isinstance(rules.unlabelled, str) and rules.unlabelled == "error"
        if is_tensor(y) and sample_weight is None and is_plain and rules.least == LabelRules().least:
            found = _device_codes(to_tensor(y).to(source.partitions[0].tensor.device), source.n_rows)
            if found is not None:
                return Labelled(self.attach(source, found[1], None, None), found[0])
        paired = super().label(source, to_host(y), to_host(sample_weight), rules)
        (targets,) = paired.targets
        return paired._replace(targets=self.attach(source, targets.t, targets.weight, None))


def _device_codes(y: Any, n_rows: int) -> tuple[Array, DeviceVector] | None:
    """Encode integer labels on a device; None for other labels, which are encoded on the host.

    Classes are first taken from a few rows, as in `encode_labels`: sorting all labels would take as long as the fit.
    """
    if y.shape != (n_rows,) or y.dtype.is_floating_point or y.dtype.is_complex:
        return None
    labels = y.long().contiguous()
    classes = torch.unique(labels[:FIRST_LABELS])
    low, high = (int(classes[end]) for end in (0, -1))
    if high - low == len(classes) - 1:  # consecutive integers, the common case, need no search
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


def _retry_with_smaller_blocks(source: Source, work: Callable[[Source], Any]) -> Any:
    """Call ``work``. If the device runs out of memory, retry with blocks of half the height; later passes keep it."""
    (rows,) = source.partitions
    device, source = rows.tensor.device, replace(source, height=min(source.height, rows.max_height))
    # PyTorch launches kernels on the current device, which may not be the device of the rows.
    with _full_precision(), torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        try:
            return work(source)
        except torch.OutOfMemoryError as error:
            height = source.height // 2
            if height < MIN_DEVICE_ROWS:
                raise MemoryError(
                    f"{device} has no memory left for a block of {counted(source.height, 'row')} of "
                    f"{counted(rows.tensor.shape[1], 'column')} next to the rows themselves. Free some memory, or "
                    "give the rows in host memory: X.cpu()."
                ) from error
    torch.cuda.empty_cache()
    rows.max_height = height
    return _retry_with_smaller_blocks(source, work)


@contextmanager
def _full_precision() -> Iterator[None]:
    """Compute products of float32 in float32, even if the user allows TF32, which keeps only three digits."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_float32_matmul_precision(before)
