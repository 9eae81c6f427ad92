# SPDX-License-Identifier: BSD-3-Clause
"""Hashes of values that are the same in every process and version, unlike Python's, because saved schemas use them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from separatrix._array import Array

MAX_EXACT = 2**53  # float64 represents all whole numbers up to this one
N_HASHES = 2**64  # hashes are smaller


def hash_levels(levels: Iterable[str | float]) -> NDArray[np.uint64]:
    """Hashes of texts or of numbers."""
    levels = list(levels)
    if levels and isinstance(levels[0], str):
        checksums = (zlib.crc32(str(text).encode("utf-8", "surrogatepass")) for text in levels)
        return _mix(np.fromiter(checksums, np.uint64))
    return hash_numbers(np.array(levels, dtype=object))


def hash_numbers(numbers: Array) -> NDArray[np.uint64]:
    """Hashes of an array of numbers; equal numbers of different types have equal hashes."""
    floats = numbers.astype(np.float64) + 0.0  # + 0.0 turns -0.0 into 0.0
    bits = floats.view(np.uint64)
    if numbers.dtype.kind != "f":
        rounded = np.abs(floats) > MAX_EXACT
        bits[rounded] = [int(number) % N_HASHES for number in numbers[rounded].tolist()]
    return _mix(bits)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finaliser of splitmix64, a one-to-one map of 64-bit integers that looks random."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
