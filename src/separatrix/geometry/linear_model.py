# SPDX-License-Identifier: BSD-3-Clause
"""Weights and biases of a fitted linear model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Float
from separatrix.exceptions import DataError

__all__ = ["linear_functions"]


def linear_functions(model: Any) -> tuple[Float, Float]:
    """W (C, D) and w0 (C,) of a fitted linear model of x: C = 1 for two classes, K otherwise."""
    check_is_fitted(model)
    name = type(model).__name__
    if getattr(model, "basis_", None) is not None:
        raise DataError(
            f"{name} was fitted with a basis, so its boundaries are not planes in the space of x. Use "
            "grid_predictions, or fit it without a basis."
        )
    W, w0 = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if W is None or w0 is None:
        raise DataError(f"{name} has no coef_ and intercept_: its boundaries are not planes.")
    W = np.atleast_2d(np.asarray(W, dtype=np.float64))
    return W, np.broadcast_to(np.asarray(w0, dtype=np.float64), len(W))
