# SPDX-License-Identifier: BSD-3-Clause
"""Rows on a GPU. They stay there: what comes back to the host are sums over rows, or a few numbers for each row.

A statistic that knows of such rows (`device_aware`) gets blocks of `DeviceRows`, whose products run on the device. Any
other gets a copy of one block at a time in host memory: slower, and the same numbers.

A tensor on a CPU takes the same path.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from separatrix._array import Array, Float, Rows, is_tensor, to_host, to_tensor
from separatrix.exceptions import DataError
from separatrix.rows.block import Block
from separatrix.rows.labels import HEAD
from separatrix.rows.memory import join_answers
from separatrix.rows.pairing import Labelled, LabelRules, pair
from separatrix.rows.source import Source, Stat
from separatrix.rows.tensors import CHUNK, DeviceRows, DeviceVector, on_host

__all__ = ["OnDevice", "OpenedTensor"]

State = TypeVar("State")
Answer = TypeVar("Answer")

BLOCK_SHARE = (
    8  # of the memory of a GPU, the part that is a block: temporary arrays may be as large as the block itself
)
BLOCK_BYTES = 2**23  # of a block elsewhere, where caches are what counts
LEAST_ROWS = 1024  # in a block, before the device is said to be too small


@dataclass(frozen=True, eq=False)
class OnDevice:
    """A table on a device, with targets and weights on both sides."""

    tensor: Any
    rows_per_block: int
    t: Any = None
    weight: Float | None = None
    offset: Float | None = None
    beside: tuple[tuple[Array, Any], ...] = ()

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.tensor.shape[0])

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Tensors have no names."""
        return tuple(f"x{d}" for d in range(self.tensor.shape[1]))

    def with_numbers(self, t: Array | DeviceVector | None, weight: Float | None, offset: Float | None) -> OnDevice:
        """The rows with what belongs to each of them, which is copied to the device once."""
        import torch

        given = [array for array in (t, weight, offset) if isinstance(array, np.ndarray)]
        beside = tuple((array, torch.as_tensor(array, device=self.tensor.device)) for array in given)
        return replace(self, t=t, weight=weight, offset=offset, beside=beside)

    def sized_for(self, width: int) -> OnDevice:
        """The same rows in blocks that suit ``width`` numbers per row."""
        return replace(self, rows_per_block=block_rows(self.tensor, width))

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass; in smaller blocks where the memory of the device does not suffice."""
        block = self._block if _is_aware(statistic) else self._host_block
        with _full_precision():
            return _while_memory_lasts(
                self, lambda self: functools.reduce(operator.add, (statistic(block(s)) for s in self._spans()))
            )

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """Ordered work is the host's: one block of rows at a time is copied there."""
        spans = list(self._spans())
        for i in range(len(spans)) if rng is None else rng.permutation(len(spans)):
            block = self._host_block(spans[i])
            state = step(state, block if rng is None else block.take(rng.permutation(len(block))))
        return state

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """``row_function`` of every row, in host memory."""
        is_aware = _is_aware(row_function)

        def answers(self: OnDevice) -> Array:
            rows = (self.tensor[span] for span in self._spans())
            found = (row_function(DeviceRows(part) if is_aware else to_host(part)) for part in rows)
            return join_answers(found, list(self._spans()), self.n_rows)

        with _full_precision():
            return _while_memory_lasts(self, answers)

    def _spans(self) -> Iterator[slice]:
        for start in range(0, self.n_rows, self.rows_per_block):
            yield slice(start, min(start + self.rows_per_block, self.n_rows))

    def _block(self, span: slice) -> Block:
        views = {id(whole): (whole[span], copy[span]) for whole, copy in self.beside}
        t, weight, offset = (
            views[id(whole)][0] if id(whole) in views else None if whole is None else whole[span]
            for whole in (self.t, self.weight, self.offset)
        )
        rows = DeviceRows(self.tensor[span], tuple(views.values()))
        return Block(rows, t, weight, range(span.start, span.stop), offset)

    def _host_block(self, span: slice) -> Block:
        return on_host(self._block(span))


@dataclass(frozen=True, eq=False)
class OpenedTensor:
    """A tensor of two dimensions, of any type that stands for numbers."""

    source: OnDevice

    @classmethod
    def of(cls, X: Any) -> OpenedTensor:
        """Half precision becomes single, whole numbers and booleans double, as they do in host memory."""
        import torch

        tensor = to_tensor(X)
        if tensor.ndim != 2:
            raise DataError(
                f"X is a tensor of shape {tuple(tensor.shape)}; rows and columns are expected. Reshape it: one column "
                "is X.reshape(-1, 1), one row X.reshape(1, -1)."
            )
        if 0 in tensor.shape:
            what = "sample(s)" if tensor.shape[0] == 0 else "feature(s)"
            raise DataError(
                f"Found array with 0 {what} (shape={tuple(tensor.shape)}) while a minimum of 1 is required."
            )
        if tensor.is_sparse or tensor.is_complex():
            raise DataError(f"X is a {'sparse' if tensor.is_sparse else 'complex'} tensor; give a dense, real one.")
        half = tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)
        tensor = tensor.to(torch.float32 if half else torch.float64)
        return cls(OnDevice(tensor, block_rows(tensor, int(tensor.shape[1]))))

    @property
    def likeness(self) -> Array:
        """No rows, as many columns."""
        return np.empty((0, self.source.tensor.shape[1]), DeviceRows(self.source.tensor).dtype)

    @property
    def n_rows(self) -> int:
        """N."""
        return self.source.n_rows

    def rows(self, *, read_once: bool = False) -> Source:
        """The rows alone."""
        return self.source

    def labelled(self, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Labels and weights may be tensors too, on any device."""
        is_plain = rules.known is None and isinstance(rules.unlabelled, str) and rules.unlabelled == "error"
        if is_tensor(y) and sample_weight is None and is_plain and rules.least == LabelRules().least:
            found = _device_codes(to_tensor(y).to(self.source.tensor.device), self.n_rows)
            if found is not None:
                return Labelled(self.source.with_numbers(found[1], None, None), found[0])
        targets = pair(to_host(y), to_host(sample_weight), self.n_rows, rules)
        source = self.source.with_numbers(targets.t, targets.weight, None)
        return Labelled(source, targets.classes, int(np.count_nonzero(targets.t < 0)), targets.is_soft)

    def attached(self, t: Array, weight: Float | None, offset: Float | None) -> Source:
        """With numbers beside the rows."""
        return self.source.with_numbers(t, weight, offset)


def _device_codes(y: Any, n_rows: int) -> tuple[Array, DeviceVector] | None:
    """Classes and codes of whole numbers on a device; None where they are something else, which is the host's to judge.

    Classes are guessed from the first rows, as in `labels`; a full sort would take as long as the fit.
    """
    import torch

    if y.shape != (n_rows,) or y.dtype.is_floating_point or y.dtype.is_complex:
        return None
    labels = y.long().contiguous()
    classes = torch.unique(labels[:HEAD])
    low, high = (int(classes[end]) for end in (0, -1))
    if high - low == len(classes) - 1:  # whole numbers in a row, as most labels are: nothing has to be looked up
        codes = labels - low if low else labels
        least, most = codes.aminmax()
        is_so = (least >= 0) & (most < len(classes))
    else:
        codes = torch.searchsorted(classes, labels).clamp_(max=len(classes) - 1)
        is_so = (classes[codes] == labels).all()
    if not bool(is_so):
        classes, codes = torch.unique(labels, return_inverse=True)
    if len(classes) < 2:
        return None
    return np.asarray(to_host(classes.to(y.dtype))), DeviceVector(codes)


def block_rows(tensor: Any, width: int) -> int:
    """Rows of a block of ``width`` numbers each; whole chunks.

    It depends on the device and not on how much of its memory is free: the same rows give the same bits.
    """
    import torch

    is_gpu = tensor.device.type == "cuda"
    n_bytes = torch.cuda.get_device_properties(tensor.device).total_memory // BLOCK_SHARE if is_gpu else BLOCK_BYTES
    return int(max(LEAST_ROWS, n_bytes // tensor.element_size() // max(width, 1) // CHUNK * CHUNK))


def _is_aware(function: Any) -> bool:
    inner = function.func if isinstance(function, partial) else function
    return bool(getattr(inner, "is_device_aware", False))


def _while_memory_lasts(source: OnDevice, work: Callable[[OnDevice], Answer]) -> Answer:
    """The work done block by block; with blocks of half as many rows for as long as they do not fit."""
    import torch

    device = source.tensor.device
    # Kernels are launched on the current device, which need not be that of the rows.
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        try:
            return work(source)
        except torch.OutOfMemoryError as error:
            fewer = source.rows_per_block // 2
            if fewer < LEAST_ROWS:
                raise MemoryError(
                    f"{device} has no memory left for a block of {source.rows_per_block} rows of "
                    f"{source.tensor.shape[1]} columns beside the rows themselves. Free some of it, or give the "
                    "rows in host memory: X.cpu()."
                ) from error
    torch.cuda.empty_cache()
    return _while_memory_lasts(replace(source, rows_per_block=fewer), work)


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
