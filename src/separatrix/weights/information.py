# SPDX-License-Identifier: BSD-3-Clause
"""The inverse of an information matrix, on the directions that the data identify.

For C classes, adding a vector to the weights of every class changes no probability, so the information I (CP, CP) is
singular. With an orthonormal basis Q (C-1, C) of the contrasts, whose rows sum to zero, the covariance is

    S = (Q ⊗ 1)' [(Q ⊗ 1) I (Q ⊗ 1)']⁻¹ (Q ⊗ 1),

the pseudo-inverse of I among weights that sum to zero. It gives the variance of every contrast of classes. If columns
are constant or collinear, the inverse is replaced by a generalised inverse, and the directions without information are
returned: functions along them have no variance.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from separatrix._array import Float
from separatrix._linalg import SINGULAR_PER_COLUMN, SingularError, cholesky_of_correlation
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError

NOISE_OF_NULL = 1e-6  # relative; a smaller component of a direction without information is rounding error
MAX_COVARIANCE_WEIGHTS = 10_000  # a covariance matrix of 0.8 GB


def inverse_information(information: Float, n_outputs: int = 1) -> tuple[Float, Float | None]:
    """Return the inverse of an information matrix (CP, CP), and its null directions (r, CP), None if there are none."""
    C, P = n_outputs, len(information) // n_outputs
    if C > 1:
        basis = linalg.helmert(C)
        blocks = np.einsum("ac,cpdq,bd->apbq", basis, information.reshape(C, P, C, P), basis, optimize=True)
        information = blocks.reshape((C - 1) * P, (C - 1) * P)
    with single_thread_blas():
        try:
            scale, L = cholesky_of_correlation(information)
            inverse, null = linalg.cho_solve((L, True), np.eye(len(L))) / np.outer(scale, scale), None
        except SingularError:
            inverse, null = _generalised_inverse(information)
        if C > 1:
            back = np.einsum("ac,apbq,bd->cpdq", basis, inverse.reshape(C - 1, P, C - 1, P), basis, optimize=True)
            inverse = back.reshape(C * P, C * P)
            if null is not None:
                null = np.einsum("rap,ac->rcp", null.reshape(-1, C - 1, P), basis).reshape(len(null), C * P)
    return np.asarray(0.5 * (inverse + inverse.T)), null


def _generalised_inverse(A: Float) -> tuple[Float, Float]:
    """Return an inverse of A on the directions with information, and the other directions (r, P)."""
    scale = np.sqrt(np.maximum(np.diag(A), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    values, V = linalg.eigh(A * inverse[:, None] * inverse)
    kept = values > SINGULAR_PER_COLUMN * len(A) * values[-1]
    root = inverse[:, None] * V[:, kept] / np.sqrt(values[kept])
    null = np.where(np.abs(V) > NOISE_OF_NULL, V, 0.0)[:, ~kept] * np.where(scale > 0, inverse, 1.0)[:, None]
    return np.asarray(root @ root.T), np.asarray(null.T)


def require_few_weights(owner: str, n_weights: int) -> None:
    """Raise if the covariance of so many weights would not fit into memory."""
    if n_weights > MAX_COVARIANCE_WEIGHTS:
        raise DataError(
            f"{owner} has {n_weights} weights, and their covariance is a matrix of {8e-9 * n_weights**2:.2g} GB. "
            f"Standard errors are available for at most {MAX_COVARIANCE_WEIGHTS} weights: drop or combine columns, or "
            "use BayesianLogisticRegression(structure='diagonal')."
        )
