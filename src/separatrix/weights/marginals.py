# SPDX-License-Identifier: BSD-3-Clause
"""The distributions of numbers that are linear in the weights: mixtures of Gaussians, Student's t, or draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isinf

import numpy as np
from scipy import special

from separatrix._array import Float

N_BISECTIONS = 50  # bisections for a quantile of a mixture, which end at rounding error


@dataclass(frozen=True, eq=False)
class Marginals:
    """The distribution of each of some numbers (...) that are linear in the weights: a mixture of Gaussians, or draws.

    The Gaussians have ``weights`` (J,), ``means`` and ``stds`` (J, ...). If ``stds`` is None, ``means`` are draws. If
    the degrees of ``freedom`` are finite, quantiles and signs are those of Student's t instead of the Gaussian.
    """

    weights: Float
    means: Float
    stds: Float | None = None
    freedom: float = inf

    def __getitem__(self, at: slice) -> Marginals:
        """Return the distributions of some of the numbers, by their first axis."""
        return replace(self, means=self.means[:, at], stds=None if self.stds is None else self.stds[:, at])

    @property
    def mean(self) -> Float:
        """Mean of each number."""
        return np.asarray(np.tensordot(self.weights, self.means, 1))

    @property
    def std(self) -> Float:
        """Standard deviation of each number."""
        within = 0.0 if self.stds is None else self.stds**2
        return np.asarray(np.sqrt(np.tensordot(self.weights, (self.means - self.mean) ** 2 + within, 1)))

    def quantiles(self, levels: Float) -> Float:
        """Return quantiles of each number, (..., levels)."""
        if self.stds is None:
            return weighted_quantiles(np.moveaxis(self.means, 0, -1), self.weights, levels)
        J, shape = len(self.weights), self.means.shape[1:]
        if J == 1:
            z = special.ndtri(levels) if isinf(self.freedom) else special.stdtrit(self.freedom, levels)
            return np.asarray(self.means[0, ..., None] + self.stds[0, ..., None] * z)
        found = mixture_quantiles(self.weights, self.means.reshape(J, -1), self.stds.reshape(J, -1), levels)
        return found.reshape(*shape, -1)

    @property
    def probability_of_sign(self) -> Float:
        """Probability that each number has the sign of its mean."""
        away = np.sign(self.mean) * self.means
        if self.stds is None:
            return np.asarray(np.tensordot(self.weights, away > 0, 1))
        z = away / np.where(self.stds > 0, self.stds, 1.0)
        of_part = special.ndtr(z) if isinf(self.freedom) else special.stdtr(self.freedom, z)
        return np.asarray(np.tensordot(self.weights, of_part, 1))


def mixture_quantiles(weights: Float, mean: Float, std: Float, levels: Float) -> Float:
    """Return quantiles (n, levels) of Σ_j weight_j N(mean_j, std_j²), for means and deviations (J, n), by bisection."""
    ends = mean[..., None] + std[..., None] * special.ndtri(levels)  # quantiles of all nodes enclose the result
    low, high = ends.min(axis=0), ends.max(axis=0)
    unit = np.where(std > 0, std, 1.0)[..., None]
    for _ in range(N_BISECTIONS):
        middle = 0.5 * (low + high)
        is_below = np.tensordot(weights, special.ndtr((middle - mean[..., None]) / unit), 1) < levels
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.asarray(0.5 * (low + high))


def weighted_quantiles(values: Float, weights: Float, levels: Float) -> Float:
    """Return quantiles (..., levels) of values (..., S) with weights (S,), by cumulative weights of sorted values."""
    if weights.min() == weights.max():
        return quantiles(np.array(values, order="C"), levels)
    flat = values.reshape(-1, values.shape[-1])
    order = np.argsort(flat, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1) - 0.5 * weights[order]
    ordered = np.take_along_axis(flat, order, axis=1)
    found = np.stack([np.interp(levels, r, x) for r, x in zip(reached, ordered, strict=True)])
    return found.reshape(*values.shape[:-1], len(levels))


def quantiles(values: Float, levels: Float) -> Float:
    """Return quantiles (..., levels) of values (..., S) with equal weights. The values are sorted in place.

    They are those of `weighted_quantiles`, ten times faster: NumPy sorts with vector instructions, but not indices.
    """
    S = values.shape[-1]
    position = np.clip(levels * S - 0.5, 0, S - 1)
    low = np.floor(position).astype(np.intp)
    high = np.minimum(low + 1, S - 1)
    values.sort(axis=-1)
    return np.asarray(values[..., low] + (position - low) * (values[..., high] - values[..., low]))
