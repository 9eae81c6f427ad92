# SPDX-License-Identifier: BSD-3-Clause
"""Conjugate gradients for A x = b with a positive semidefinite A that is known only by its products. Hestenes & Stiefel

With the diagonal D of A as preconditioner, step k minimises the error over the span of D⁻¹b, D⁻¹AD⁻¹b, ... The number
of steps grows with the root of the condition number of D^-½ A D^-½, the correlations, so units do not matter. From a
start at zero, the solution of a singular system is the one of minimum norm, in the units D^-½.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix._array import Float
from separatrix.solvers.result import Solution, Status


def conjugate_gradients(
    product: Callable[[Float], Float],
    B: Float,
    diagonal: Float,
    *,
    tol: Float,
    max_steps: int,
    is_enough: Callable[[Float], bool] | None = None,
) -> Solution[Float]:
    """Solve A x = b for each row b of B (C, P); ``product`` returns A v for some rows v, in one pass.

    Row k is solved when √(r'D⁻¹r) of its residual r is ``tol[k]`` times that of b; the last row also when
    ``is_enough(x)``. Unknowns with D = 0 stay zero.
    """
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    X, R, V, step = np.zeros_like(B), B.copy(), B * inverse, 0
    size = np.einsum("kp,kp->k", R, V)
    goal = tol**2 * size
    while len(live := np.flatnonzero(size > goal)) and step < max_steps:
        v, before = V[live], size[live]
        Av = product(v)
        curvature = np.einsum("kp,kp->k", v, Av)  # zero only by rounding, along directions without curvature
        length = np.divide(before, curvature, out=np.zeros_like(before), where=curvature > 0)[:, None]
        X[live] += length * v
        R[live] -= length * Av
        z = R[live] * inverse
        size[live] = np.einsum("kp,kp->k", R[live], z)
        V[live] = z + (size[live] / before)[:, None] * v
        if is_enough is not None and is_enough(X[-1]):
            size[-1] = 0.0
        step += 1
    return Solution(X, Status.MAX_STEPS if len(live) else Status.GRADIENT, step, step)
