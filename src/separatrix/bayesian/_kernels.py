# SPDX-License-Identifier: BSD-3-Clause
"""Compiled table look-up for logistic_normal.py. Import it only inside the function that uses it: it loads Numba.

``look_up.py_func`` is the same loop in plain Python.
"""

from __future__ import annotations

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
