# SPDX-License-Identifier: BSD-3-Clause
"""The posterior over weights in the user's units, a(x) = w'φ(x) + w0, and its table of intervals.

The bias b of the fit is the activation at the mean c of the columns, and w0 = b - w'c is the activation at x = 0. The
map T from θ = (w, b) to (w, w0) is linear, so the posterior is still Gaussian, with covariance T A⁻¹ T'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from separatrix._arguments import check_count, check_positive, generator
from separatrix._array import Float
from separatrix._output import as_frame
from separatrix.bayesian.posterior import (
    AnyApproximation,
    Approximation,
    AveragedApproximation,
    DualApproximation,
    mixture_quantiles,
)
from separatrix.exceptions import DataError
from separatrix.priors import Penalty
from separatrix.stats import Design


@dataclass(frozen=True, eq=False)
class WeightPosterior:
    """p(w | data) as a Gaussian, or as a mixture of Gaussians after an average over the scales of the prior.

    The weights of a class are consecutive: weights of the columns, then the bias.

    Attributes
    ----------
    mean, std : ndarray of shape (P,) for two classes, (K, P) for more
    covariance : ndarray of shape (P, P), or (KP, KP)
    structure : str, "full", or the parts of the covariance that are kept
    names : tuple of str, names of the P weights
    """

    approximation: AnyApproximation
    design: Design
    names: tuple[str, ...]

    @property
    def structure(self) -> str:
        """Parts of the covariance that are kept."""
        return str(self.approximation.structure)

    @property
    def mean(self) -> Float:
        """Mean of each weight."""
        return np.asarray(self._in_user_units(self.approximation.mean[None])[0])

    @property
    def std(self) -> Float:
        """Standard deviation of each weight."""
        std = self.approximation.std.copy()
        if self.design.bias and isinstance(self.approximation, Approximation):  # w0 = b - w'c
            root = self.approximation.root.reshape(*self.approximation.mean.shape, -1)
            std[:, -1] = np.linalg.norm(self._map[-1] @ root, axis=1)
        elif self.design.bias:  # the activation at x = 0
            at_zero = self.approximation.activations(np.zeros((1, len(self.design.origin))), self.design)
            std[:, -1] = np.sqrt(at_zero.variance)[0]
        return std[0] if len(std) == 1 else std

    @property
    def components(self) -> tuple[Float, Float, Float]:
        """Weights (J,), means and standard deviations (J, weights) of the Gaussians whose mixture this is."""
        averaged = getattr(self.approximation, "thin", self.approximation)
        nodes = [replace(self, approximation=node) for node in getattr(self.approximation, "nodes", ())] or [self]
        weights = averaged.weights if isinstance(averaged, AveragedApproximation) else np.ones(1)
        return weights, np.stack([np.ravel(q.mean) for q in nodes]), np.stack([np.ravel(q.std) for q in nodes])

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, class after class."""
        T = np.kron(np.eye(len(self.approximation.mean)), self._map)
        return np.asarray(T @ self.approximation.covariance @ T.T)

    def sample(self, n: int, rng: Any = None) -> Float:
        """Return draws of the weights, (n, P) or (n, K, P)."""
        count = check_count("WeightPosterior.sample", "n", n)
        return self._in_user_units(self.approximation.sample(count, generator(rng)))

    def as_prior(self) -> Penalty:
        """Return this Gaussian as the prior of the next batch; raises if the structure is not full."""
        if not isinstance(self.approximation, Approximation):
            raise DataError(
                f"A posterior with structure {self.structure!r} cannot be the prior of the next batch, which needs the "
                "full covariance. Use fewer columns or basis functions, or fit all rows at once."
            )
        C, P = self.approximation.mean.shape
        back = np.kron(np.eye(C), np.linalg.inv(self._map))  # exact, because the inverse only changes the sign of c
        precision = back.T @ self.approximation.factor.matrix @ back
        return Penalty(self.mean.reshape(C, P), np.asarray(0.5 * (precision + precision.T)))

    def shifted(self, shift: Float) -> WeightPosterior:
        """The same distribution with ``shift`` added to the intercepts: (1,) for two classes, (K,) for more."""
        approximation = self.approximation
        if not shift.any():
            return self

        def moved(gaussian: Any) -> Any:
            if isinstance(gaussian, AveragedApproximation):
                gaussian = replace(gaussian, nodes=tuple(map(moved, gaussian.nodes)))
            return replace(gaussian, mean=with_bias(gaussian.mean, shift))

        if isinstance(approximation, DualApproximation):  # the thin problem has the bias
            return replace(self, approximation=replace(approximation, thin=moved(approximation.thin)))
        return replace(self, approximation=moved(approximation))

    def _in_user_units(self, theta: Float) -> Float:
        """Return T θ for each θ of an array (n, C, P)."""
        moved = theta.copy()
        if self.design.bias:
            moved[..., -1] -= theta[..., :-1] @ self.design.origin
        return moved[:, 0] if moved.shape[1] == 1 else moved

    @property
    def _map(self) -> Float:
        """The map T, (P, P): the identity, except for the last row, w0 = b - w'c."""
        T = np.eye(self.design.width)
        if self.design.bias:
            T[-1, :-1] = -self.design.origin
        return T

    def __repr__(self) -> str:
        return f"WeightPosterior({len(self.names)} weights, structure={self.structure!r})"


@dataclass(frozen=True, eq=False)
class WeightSummary:
    """A table with one line for each weight, and notes on the fit. Its columns are attributes."""

    names: tuple[str, ...]
    coefficient: Float
    sd: Float
    lower: Float
    upper: Float
    probability_of_sign: Float
    level: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Float]:
        """Return the columns as a dict, by name."""
        names = ("coefficient", "sd", "lower", "upper", "probability_of_sign")
        return {name: getattr(self, name) for name in names}

    def to_frame(self) -> Any:
        """Return a pandas data frame, one row for each weight."""
        return as_frame(self.to_dict(), self.names)

    def __str__(self) -> str:
        width = max(map(len, self.names))
        head = f"{'':{width}}  {'coefficient':>12}  {'sd':>10}  {'lower':>10}  {'upper':>10}  P(sign)"
        columns = zip(self.names, *self.to_dict().values(), strict=True)
        lines = [
            f"{name:{width}}  {w:12.5g}  {sd:10.4g}  {low:10.4g}  {high:10.4g}  {sign:7.4f}"
            for name, w, sd, low, high, sign in columns
        ]
        foot = f"{100 * self.level:g} % credible intervals, in the units of the columns"
        return "\n".join([head, *lines, foot, *self.notes])


def with_bias(theta: Float, shift: Float) -> Float:
    """Weights (..., C, P) with ``shift`` (C,) added to the bias, their last column."""
    return np.concatenate([theta[..., :-1], theta[..., -1:] + shift[:, None]], axis=-1)


def interval_tails(owner: str, level: float) -> Float:
    """Return the probabilities of the two quantiles that bound a central interval: 0.025 and 0.975 for 0.95."""
    check_positive(owner, "level", level)
    if level >= 1:
        raise ValueError(f"{owner}(level={level!r}): level must be between 0 and 1, for example 0.95.")
    return np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])


def summarise(
    posterior: WeightPosterior, classes: tuple[str, ...], level: float, notes: tuple[str, ...] = ()
) -> WeightSummary:
    """Return mean, standard deviation, credible interval and the probability of the sign of each weight."""
    tails = interval_tails("summary", level)
    weights, means, stds = posterior.components
    mean, std = np.ravel(posterior.mean), np.ravel(posterior.std)
    lower, upper = mixture_quantiles(weights, means, stds, tails).T
    names = posterior.names
    if posterior.mean.ndim > 1:
        names = tuple(f"{label}: {name}" for label in classes for name in names)
    sign = weights @ special.ndtr(np.sign(mean) * means / np.where(stds > 0, stds, 1.0))
    return WeightSummary(names, mean, std, lower, upper, sign, level, notes)
