# SPDX-License-Identifier: BSD-3-Clause
"""The inner loop of the perceptron, compiled. ``perceptron_rows.py_func`` is the same loop in plain Python.

Each row is read once and needs one dot product per output, so an epoch runs at memory speed. This module imports Numba,
which is slow; import this module only inside the functions that use it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from separatrix._array import Array, Codes, Float, Rows, is_sparse, read_only

# The compiler may reorder sums, which makes the loop fast. NaN and infinity are handled as usual.
FASTMATH = {"reassoc", "contract", "nsz"}


class Csr(NamedTuple):
    """The three arrays of a compressed sparse row matrix."""

    data: Array
    indices: Array
    indptr: Array


class OnlineState(NamedTuple):
    """State of the online algorithm. The arrays are updated in place.

    ``w`` (C, M) and ``w0`` (C,) are the weights; C = 1 for two classes, otherwise C = K. ``late`` and ``late0`` are
    Σ clock[0] · update, so that the average of all weights so far is w - late / clock[0]. ``pocket`` and ``pocket0``
    are the weights with the longest run of rows without a mistake. ``clock`` contains the number of rows processed,
    the length of the current run, and the length of the longest run.
    """

    w: Float
    w0: Float
    late: Float
    late0: Float
    pocket: Float
    pocket0: Float
    clock: Codes


def start(n_outputs: int, width: int) -> OnlineState:
    """State in which all weights are zero."""
    w, w0 = np.zeros((n_outputs, width)), np.zeros(n_outputs)
    return OnlineState(w, w0, w.copy(), w0.copy(), w.copy(), w0.copy(), np.zeros(3, np.int64))


def storage(X: Rows) -> Any:
    """Rows in the form that the compiled loop reads: a C-ordered array, or the three arrays of a CSR matrix."""
    if is_sparse(X):
        return Csr(*map(read_only, (X.data, X.indices, X.indptr)))
    return read_only(np.ascontiguousarray(X))


def _dense_dot(rows: Any, n: int, w: Float) -> float:
    a = 0.0
    for m in range(w.shape[0]):
        a += rows[n, m] * w[m]
    return a


def _csr_dot(rows: Any, n: int, w: Float) -> float:
    a = 0.0
    for i in range(rows.indptr[n], rows.indptr[n + 1]):
        a += rows.data[i] * w[rows.indices[i]]
    return a


def _dense_add(rows: Any, n: int, factor: float, w: Float) -> None:
    for m in range(w.shape[0]):
        w[m] += factor * rows[n, m]


def _csr_add(rows: Any, n: int, factor: float, w: Float) -> None:
    for i in range(rows.indptr[n], rows.indptr[n + 1]):
        w[rows.indices[i]] += factor * rows.data[i]


def row_dot(rows: Any, n: int, w: Float) -> float:
    """Return w'x_n."""
    return _csr_dot(rows, n, w) if isinstance(rows, Csr) else _dense_dot(rows, n, w)


def row_add(rows: Any, n: int, factor: float, w: Float) -> None:
    """Add factor x_n to w, in place."""
    (_csr_add if isinstance(rows, Csr) else _dense_add)(rows, n, factor, w)


@overload(row_dot, jit_options={"fastmath": FASTMATH})
def _compiled_dot(rows: Any, n: int, w: Float) -> Any:
    return _dense_dot if isinstance(rows, types.Array) else _csr_dot


@overload(row_add, jit_options={"fastmath": FASTMATH})
def _compiled_add(rows: Any, n: int, factor: float, w: Float) -> Any:
    return _dense_add if isinstance(rows, types.Array) else _csr_add


@njit(cache=True, nogil=True)
def perceptron_rows(  # noqa: PLR0912 (one loop over the rows, kept together for the compiler)
    rows: Any, t: Codes, step: Float, bias: float, state: OnlineState
) -> int:
    """Process each row once; return the number of mistakes, or -1 if an activation is not finite.

    With two classes (C = 1), a row is a mistake if s w'φ <= 0, s = ±1, and then w += step s φ   (PRML 4.55).
    With K classes, a row is a mistake if another class scores at least as high as the true class. Then step φ is added
    to the weights of the true class, and subtracted from those of the other class with the highest score. ``step[n]``
    is the learning rate times the row's weight; rows with step 0 are skipped. ``bias`` is φ_0: 1, or 0 without w0.
    """
    # This is one long function because helpers that take the state would count references to its arrays at every
    # call, which makes an epoch over 50 columns five times slower.
    w, w0, late, late0, pocket, pocket0, clock = state
    mistakes = 0
    for n in range(t.shape[0]):
        if step[n] == 0.0:
            continue
        if w.shape[0] == 1:
            right, other = 0, -1
            sign = 2.0 * t[n] - 1.0
            lead = sign * (row_dot(rows, n, w[0]) + w0[0])
        else:
            right, other = t[n], -1
            sign = 1.0
            own, best = 0.0, -np.inf
            for k in range(w.shape[0]):
                a = row_dot(rows, n, w[k]) + w0[k]
                if k == right:
                    own = a
                elif a > best or other < 0:
                    best, other = a, k
            lead = own - best
        if not np.isfinite(lead):
            return -1
        if lead > 0.0:
            clock[1] += 1
        else:
            mistakes += 1
            if clock[1] > clock[2]:
                clock[2] = clock[1]
                for k in range(w.shape[0]):  # `pocket[:] = w` takes three seconds more to compile
                    pocket0[k] = w0[k]
                    for m in range(w.shape[1]):
                        pocket[k, m] = w[k, m]
            clock[1] = 0
            gain = sign * step[n]
            row_add(rows, n, gain, w[right])  # (4.55)
            row_add(rows, n, gain * clock[0], late[right])
            w0[right] += gain * bias
            late0[right] += gain * bias * clock[0]
            if other >= 0:
                row_add(rows, n, -gain, w[other])
                row_add(rows, n, -gain * clock[0], late[other])
                w0[other] -= gain * bias
                late0[other] -= gain * bias * clock[0]
        clock[0] += 1
    return mistakes
