# SPDX-License-Identifier: BSD-3-Clause
"""The compiled loops of checksum.py. Import this file only where it is used: it pulls in Numba."""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix._array import Array

__all__ = ["FACTOR", "absorb", "total"]

ODD, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)  # 2^64 / golden ratio: no pattern in it
FAR, NEAR = np.uint64(31), np.uint64(13)  # shifts and additions, as not every processor multiplies such words at once
FACTOR = 2**31 + 2**13 + 1
TILE = 2048  # rows, whose sums stay in the fastest cache


@njit(cache=True, nogil=True)
def absorb(columns: Array, r: Array) -> None:
    """r_n <- c r_n + (v_dn ^ v_dn / 2^32), for one column d after the other; (D, n) and (n,), both uint64."""
    for start in range(0, len(r), TILE):
        some = r[start : start + TILE]
        for d in range(len(columns)):
            values = columns[d, start : start + TILE]
            for n in range(len(some)):  # from zero: only then is it known to be vectorised
                word = values[n] ^ (values[n] >> HALF)
                some[n] = (some[n] << FAR) + (some[n] << NEAR) + some[n] + word


@njit(cache=True, nogil=True)
def total(r: Array) -> int:
    """Σ_n h(r_n), where every bit of h depends on every bit of r_n."""
    answer = np.uint64(0)
    for n in range(len(r)):
        z = (r[n] ^ (r[n] >> HALF)) * ODD
        answer += z ^ (z >> HALF)
    return answer  # type: ignore[return-value]  # an unsigned word
