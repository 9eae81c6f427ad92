# SPDX-License-Identifier: BSD-3-Clause
"""The model of a mean alone, a_n = b + offset_n: where a fit starts, and what its deviance is compared with.

It is a function of targets and offsets. No rows are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Float
from separatrix.discriminative.targets import Targets
from separatrix.exceptions import DataError
from separatrix.likelihoods import MeanLikelihood

__all__ = ["NullModel", "fit_null", "null_deviance"]


@dataclass(frozen=True, eq=False, slots=True)
class NullModel:
    """b, of the likelihood of some targets."""

    likelihood: MeanLikelihood
    targets: Targets
    activation: float

    @property
    def activations(self) -> Float:
        """a_n = b + offset_n."""
        known = self.targets.offset
        return np.full(len(self.targets.t), self.activation) if known is None else self.activation + known

    @property
    def deviance(self) -> float:
        """Σ d."""
        log_p = self.likelihood.derivatives(self.activations, self.targets.t).log_p
        return -2.0 * self.targets.weighted_sum(log_p)

    @property
    def slope_scale(self) -> float:
        """The root mean square slope: what a gradient is small against, in the units of the targets."""
        t, weight = self.targets.t, self.targets.weight
        slope = self.likelihood.derivatives(self.activations, t).slope
        scale = float(np.sqrt(np.average(slope**2, weights=weight)))
        rounding = float(np.finfo(np.float64).eps * np.sqrt(np.average(np.square(t, dtype=np.float64))))
        return max(scale, rounding) or 1.0

    @property
    def working_response(self) -> Float:
        """The activations that targets point at, half way from the mean, where every target has one."""
        mean = self.targets.mean
        middle = 0.5 * (self.targets.t + mean)
        if self.likelihood.link == "log":  # of a normal response, targets may be negative
            middle = np.maximum(middle, 0.1 * mean)
        z = self.likelihood.activation(middle)
        return z if self.targets.offset is None else z - self.targets.offset


def fit_null(likelihood: MeanLikelihood, targets: Targets) -> NullModel:
    """The link of the mean; with offsets, Newton's method in one variable.

    Raises
    ------
    DataError
        Where the mean is one that no finite activation has.
    """
    mean = targets.mean
    likelihood.response.check_mean(mean)
    if likelihood.link == "log" and mean <= 0:
        raise DataError(f"The mean of y is {mean:g}, and a log link has positive means only. Use link='identity'.")
    b = float(likelihood.activation(np.array([mean]))[0])
    if targets.offset is None:
        return NullModel(likelihood, targets, b)
    # Every activation must lie in the domain of the inverse link; elsewhere offsets are taken up on average.
    b -= float(targets.offset.min() if likelihood.link == "inverse" else targets.average(targets.offset))
    for _ in range(100):
        step = _step(NullModel(likelihood, targets, b))
        b += step
        if abs(step) <= 1e-12 * max(1.0, abs(b)):
            break
    return NullModel(likelihood, targets, b)


def null_deviance(likelihood: MeanLikelihood, targets: Targets) -> float:
    """Σ d of the model of a mean alone; where no activation has that mean, of the mean itself, its limit."""
    if targets.offset is None:
        return _deviance_of_mean(likelihood, targets)
    try:
        return fit_null(likelihood, targets).deviance
    except DataError:
        return _deviance_of_mean(likelihood, targets)


def _deviance_of_mean(likelihood: MeanLikelihood, targets: Targets) -> float:
    mean = np.full(len(targets.t), targets.mean)
    return targets.weighted_sum(likelihood.response.deviance(targets.t, mean))


def _step(here: NullModel) -> float:
    """A Newton step, halved until the deviance does not rise."""
    likelihood, targets, a = here.likelihood, here.targets, here.activations
    slope = targets.weighted_sum(likelihood.derivatives(a, targets.t).slope)
    step = slope / targets.weighted_sum(likelihood.safe_curvature(a, targets.t))
    for _ in range(60):
        if NullModel(likelihood, targets, here.activation + step).deviance <= here.deviance:
            return step
        step /= 2
    return 0.0
