# SPDX-License-Identifier: BSD-3-Clause
"""Where one class gives way to another: a number for each class and point of a grid, zero on the outline of its region.

Codes of predictions alone would draw stairs. The difference between the score of a class and the best of its rivals is
smooth, crosses zero where the prediction changes, and a contour of it is a line. A rule that does not decide for the
largest score, as one of costs or one that rejects, has no such number: there, codes are blurred by a cell or so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._array import Codes, Float
from separatrix.geometry import grid_values

__all__ = ["blurred", "margins"]

BLUR = 0.9  # cells


def margins(model: Any, X: Any, codes: Codes, resolution: int) -> Float:
    """(n, n, K + 1): above zero in the region of each class, and last in the one where the model rejects."""
    K = len(model.classes_)
    for name in ("decision_function", "predict_proba"):
        ask = getattr(model, name, None)
        if ask is None:
            continue
        scores = _of_classes(np.asarray(grid_values(ask, X, resolution=resolution).values, dtype=np.float64))
        lead = _lead(scores)
        decided = np.take_along_axis(lead, np.minimum(codes, K - 1)[..., None], axis=-1)[..., 0]
        if scores.shape[-1] == K and (codes < K).all() and (decided >= 0).all():
            return np.concatenate([lead, np.full((*codes.shape, 1), -1.0)], axis=-1)
    return blurred(codes, K)


def blurred(codes: Codes, n_classes: int) -> Float:
    """The same from codes alone: a half less than the share of each class around each point."""
    from scipy.ndimage import gaussian_filter

    inside = [gaussian_filter((codes == k).astype(np.float64), BLUR, mode="nearest") for k in range(n_classes + 1)]
    return np.stack(inside, axis=-1) - 0.5


def _of_classes(scores: Float) -> Float:
    """One for each class: of two, a single activation is for the second and against the first."""
    return np.stack([-scores, scores], axis=-1) if scores.ndim == 2 else scores


def _lead(scores: Float) -> Float:
    """Each score less the largest of the others."""
    order = np.sort(scores, axis=-1)
    best, second = order[..., -1:], order[..., -2:-1]
    return np.asarray(scores - np.where(scores == best, second, best))
