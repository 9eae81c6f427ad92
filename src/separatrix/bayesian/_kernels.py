# SPDX-License-Identifier: BSD-3-Clause
"""Compiled loops for logistic_normal.py. Import them only inside the functions that use them: they load Numba.

``look_up.py_func`` is the same loop in plain Python.
"""

from __future__ import annotations

from math import exp, log, pi, sqrt

import numpy as np
from numba import njit

from separatrix._array import Float


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def look_up(u: Float, kappa: Float, table: Float, per_unit: int, columns: int, out: Float) -> None:
    """Evaluate the polynomial of the cell that contains (u, κ); the result is NaN outside the table and for NaN.

    ``table`` (cells, 28) holds coefficients c_ij of x^i y^j by decreasing i, and by increasing j for each i; x and y
    run from -1 to 1 across a cell. There are ``per_unit`` cells per unit of u, and ``columns`` cells from κ = 0 to 1.
    """
    rows = table.shape[0] // columns
    for n in range(u.shape[0]):
        x, y = u[n] * per_unit, kappa[n] * columns
        if not (0.0 <= x < rows and 0.0 <= y <= columns):
            out[n] = np.nan
            continue
        i, j = int(x), min(int(y), columns - 1)  # κ = 1 is in the last cell
        x, y = 2 * (x - i) - 1, 2 * (y - j) - 1
        c = table[i * columns + j]
        value = c[0]  # Horner's scheme, written out: loops take twice as long
        value = value * x + (c[1] + y * c[2])
        value = value * x + (c[3] + y * (c[4] + y * c[5]))
        value = value * x + (c[6] + y * (c[7] + y * (c[8] + y * c[9])))
        value = value * x + (c[10] + y * (c[11] + y * (c[12] + y * (c[13] + y * c[14]))))
        value = value * x + (c[15] + y * (c[16] + y * (c[17] + y * (c[18] + y * (c[19] + y * c[20])))))
        value = value * x + (c[21] + y * (c[22] + y * (c[23] + y * (c[24] + y * (c[25] + y * (c[26] + y * c[27]))))))
        out[n] = value


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def trapezoid(m: Float, s: Float, widest: float, steepest: float, reach: float, out: Float) -> None:
    """Write ln E[σ], ln E[σ'], E[σ'']/E[σ'] and E[σ''']/E[σ'] over a ~ N(-m, s²), m ≥ 0, to ``out`` (4, n).

    Nodes y are ``widest`` apart, or ``steepest`` in units of a if that is less, up to ± ``reach``. To keep exponents
    small, e^(s²/2 - m) or e^(-z²/2) is factored out of the Gaussian φ(x):

        m ≥ s²    x = y + s,  a = s² - m + s y,      φ(x) σ(a) ∝ φ(y) σ(-a)
        m < s²    x = y + z,  a = s y,               φ(x) σ(a) ∝ φ(y) e^(-z y) σ(a),        z = m/s

    From one node to the next, e^a and the Gaussian are multiplied by factors, without an exponential.
    """
    for n in range(len(m)):
        is_tail = m[n] >= s[n] ** 2
        h = min(widest, steepest / max(s[n], 1e-3))
        z = 0.0 if is_tail else m[n] / s[n]
        top = 0.5 * s[n] ** 2 - m[n] if is_tail else -0.5 * z**2
        middle, rise, fall = exp(s[n] ** 2 - m[n]) if is_tail else 1.0, exp(s[n] * h), exp(-h * h)
        q = c = c1 = c2 = 0.0
        for side in range(2):
            e, step = middle, rise if side == 0 else 1.0 / rise  # e^a
            density, ratio = 1.0, exp(-0.5 * h * h - (z if side == 0 else -z) * h)
            for j in range(int(reach / h) + 1):
                p = 1.0 / (1.0 + e)  # σ(-a)
                weight = density if is_tail else density * e
                if j == 0:
                    weight *= 0.5  # y = 0 is on both sides
                q += weight * p
                bend = weight * p * p
                c += bend
                c1 += bend * (2.0 * p - 1.0)
                c2 += bend * (1.0 - 6.0 * e * p * p)
                e, density, ratio = e * step, density * ratio, ratio * fall
        unit = h / sqrt(2.0 * pi)
        out[0, n], out[1, n], out[2, n], out[3, n] = top + log(q * unit), top + log(c * unit), c1 / c, c2 / c
