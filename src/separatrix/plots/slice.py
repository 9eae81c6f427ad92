# SPDX-License-Identifier: BSD-3-Clause
"""An objective of two weights: where it is lowest, how it curves there, and what it is elsewhere.

Weights that are confined to a plane, w = s_0 d_0 + s_1 d_1, make a model of the two columns z = (d_0'x, d_1'x), with no
bias: its objective is the slice of the whole one through that plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Float
from separatrix.priors import Flat, Prior
from separatrix.solvers import Newton, Posterior, separability

__all__ = ["Slice", "take_slice"]

REACH = 5.0  # standard deviations around the minimum that are shown
STEEP = 10.0  # without a minimum: the activation of the typical row at the greatest length that is shown
CERTAIN = 50.0  # an activation of which every likelihood is certain


@dataclass(frozen=True, eq=False)
class Slice:
    """E(s) for s (2,), with its lowest point.

    ``point`` is the minimum, or None where E falls for ever along ``direction``; ``floor`` is E there, or what it falls
    towards; ``hess`` (2, 2) is the Hessian at the minimum, and ``typical`` the median |s'z| at unit length.
    """

    objective: Posterior
    point: Float | None
    direction: Float
    floor: float
    hess: Float | None
    typical: float

    def evaluate(self, S: Float) -> Float:
        """E at points (..., 2)."""
        flat = [self.objective.value_grad(s[None]).value for s in S.reshape(-1, 2)]
        return np.array(flat).reshape(S.shape[:-1])

    def parabola(self, S: Float) -> Float | None:
        """The quadratic that touches E at its minimum, which is Laplace's approximation; None without a minimum."""
        if self.point is None or self.hess is None:
            return None
        step = S - self.point
        return np.asarray(self.floor + 0.5 * np.einsum("...i,ij,...j->...", step, self.hess, step))

    def window(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Angles, in degrees, and lengths worth showing: around the minimum, or all the way where there is none."""
        angle = float(np.degrees(np.arctan2(self.direction[1], self.direction[0])))
        if self.point is None or self.hess is None:
            return (angle - 180, angle + 180), (0.0, STEEP / self.typical)
        covariance = np.linalg.inv(self.hess)
        across = np.array([-self.direction[1], self.direction[0]])
        along, aside = (REACH * float(np.sqrt(d @ covariance @ d)) for d in (self.direction, across))
        length = float(np.linalg.norm(self.point))
        turn = min(float(np.degrees(aside / length)), 180.0) if length > 0 else 180.0
        return (angle - turn, angle + turn), (max(length - along, 0.0), length + along)


def take_slice(objective: Posterior, prior: Prior) -> Slice:
    """Find the lowest point of an objective of two weights and no bias, or the direction in which it falls."""
    found = separability(objective.source, 2, fit_intercept=False) if isinstance(prior, Flat) else None
    if found:
        direction = found.coef[0]
        a = np.abs(objective.source.map(lambda rows: rows @ direction))
        far = direction * (CERTAIN / a[a > 0].min(initial=np.inf)) if a.any() else direction
        return Slice(objective, None, direction, objective.value_grad(far[None]).value, None, float(np.median(a)))
    point = Newton().minimise(objective, np.zeros((1, 2))).value[0]
    here = objective.value_grad_hess(point[None])
    length = float(np.linalg.norm(point))
    direction = point / length if length > 0 else np.array([1.0, 0.0])
    typical = float(np.median(np.abs(objective.source.map(lambda rows: rows @ direction))))
    return Slice(objective, point, direction, here.value, here.hess, typical)
