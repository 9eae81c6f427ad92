# SPDX-License-Identifier: BSD-3-Clause
"""The distribution of the weights in the user's units, a(x) = w'φ(x) + w0.

The bias b of a fit is the activation at the mean c of the columns, and w0 = b - w'c is the activation at x = 0. The map
T from θ = (w, b) to (w, w0) is linear, so a Gaussian stays Gaussian, with the covariance T A⁻¹ T'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from separatrix._arguments import check_count, generator
from separatrix._array import Array, Float, Rows, is_sparse
from separatrix._text import counted
from separatrix.priors import Penalty
from separatrix.stats import MAX_SPREAD_ENTRIES, Design
from separatrix.weights.approximation import AbstractApproximation, Activations, with_bias
from separatrix.weights.blend import Blend
from separatrix.weights.draws import Draws
from separatrix.weights.marginals import Marginals

CANCELLED = 1e-12  # a smaller fraction of a coefficient, left by a difference, is rounding error


@dataclass(frozen=True, eq=False)
class WeightDistribution:
    """What is known of the weights after a fit: a posterior, or the sampling distribution of an estimate.

    Predictions, intervals, summaries and effects are computed from it alone. Moments are those of a Gaussian, or of a
    mixture of Gaussians. If there are draws, quantiles, probabilities of signs and samples come from them.

    Attributes
    ----------
    mean, std : ndarray of shape (P,) for two classes, (K, P) for more
        The weights of a class are consecutive: weights of the columns, then the intercept.
    covariance : ndarray of shape (P, P), or (KP, KP)
    structure : str
        "full", or the parts of the covariance that are kept.
    names : tuple of str
        Names of the P weights.
    log_evidence : float
        ln p(D) of the last fit; None for an estimate.
    draws
        Weighted draws of θ; None if the Gaussians describe the distribution.
    variance_factor : float
        Factor of the variances of activations in averages of probabilities. It is 1 unless other variances predict
        held-out rows better, and 0 if averages would be misleading: probabilities are then those of the mean.
    blend
        Averages and weight vectors that probabilities combine, because this predicts held-out rows better; None if they
        are averages over this distribution.
    is_sampling : bool
        Whether this is the sampling distribution of an estimate without a prior, so that tests of w = 0 have a meaning.
    """

    approximation: AbstractApproximation
    design: Design
    names: tuple[str, ...]
    draws: Draws | None = None
    variance_factor: float = 1.0
    blend: Blend | None = None
    is_sampling: bool = False

    @property
    def structure(self) -> str:
        """Parts of the covariance that are kept."""
        return self.approximation.structure

    @property
    def log_evidence(self) -> float | None:
        """ln p(D) of the last fit; None for an estimate."""
        return self.approximation.log_evidence

    @property
    def mean(self) -> Float:
        """Mean of each weight."""
        return np.asarray(self._in_user_units(self.approximation.mean[None])[0])

    @property
    def std(self) -> Float:
        """Standard deviation of each weight."""
        std = self.approximation.std.copy()
        if self.design.bias:  # that of the activation at x = 0
            at_zero = self.approximation.widest.activations(np.zeros((1, len(self.design.origin))), self.design)
            std[:, -1] = np.sqrt(at_zero.variance)[0]
        return std[0] if len(std) == 1 else std

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, class after class."""
        T = np.kron(np.eye(len(self.approximation.mean)), self._map)
        return np.asarray(T @ self.approximation.covariance @ T.T)

    def functions(self, L: Any, contrasts: Float | None = None) -> Marginals:
        """Return the distribution of l'(w, w0) for each row l of ``L`` (n, P): (n,) for two classes, (n, k) for more.

        With more than two classes, the k numbers of a row are ``contrasts`` (k, C) of those of the classes. The data
        determine only contrasts whose rows sum to zero, such as the difference of two classes.
        """
        n, (C, P) = L.shape[0], self.approximation.mean.shape
        Q, source = np.eye(C) if contrasts is None else contrasts, self.draws or self.approximation
        batches = gen_batches(n, max(1, MAX_SPREAD_ENTRIES // (C * C * P)))
        parts = [source.functions(self.in_fit_units(L[rows]), Q) for rows in batches]

        def joined(name: str) -> Any:
            each = [getattr(part, name) for part in parts]
            found = None if each[0] is None else np.concatenate(each, axis=1)
            return found[..., 0] if found is not None and C == 1 else found

        return replace(parts[0], means=joined("means"), stds=joined("stds"))

    def sample(self, n: int, rng: Any = None) -> Float:
        """Return draws of the weights, (n, P) or (n, K, P)."""
        source = self.draws or self.approximation
        return self._in_user_units(source.sample(check_count("sample", "n", n), generator(rng)))

    def activations(self, X: Rows) -> Activations:
        """Return mean and covariance of the activations of rows."""
        return self.approximation.activations(X, self.design)

    def activations_at_mean(self, X: Rows) -> Activations:
        """Return the activations of rows at the mean of the weights, with the variance zero."""
        a = self.design.regressors(X) @ self.approximation.mean.T
        return Activations(a if a.shape[1] > 1 else a[:, 0], np.zeros(len(a)))

    def map_activations(self, X: Rows, function: Callable[[Activations], Array]) -> Array:
        """Apply a function to the activations of rows, in batches that limit the memory for K classes."""
        at_once = max(1, MAX_SPREAD_ENTRIES // self.approximation.floats_per_row)
        if len(self.approximation.mean) == 1 or X.shape[0] <= at_once:
            return function(self.activations(X))
        return np.concatenate([function(self.activations(X[rows])) for rows in gen_batches(X.shape[0], at_once)])

    def activation_moments(self, X: Rows) -> tuple[Float, Float]:
        """Return mean and variance of the activations of rows, (n,) or (n, C)."""
        if self.draws is not None:
            return self.draws.activation_moments(X, self.design)
        moments = self.map_activations(X, lambda a: np.stack([a.mean, a.variance], axis=1))
        return moments[:, 0], moments[:, 1]

    def as_prior(self) -> Penalty:
        """Return this Gaussian as the prior of the next batch; raises if the structure is not full."""
        C, P = self.approximation.mean.shape
        back = np.kron(np.eye(C), np.linalg.inv(self._map))  # exact, because the inverse only changes the sign of c
        precision = back.T @ self.approximation.precision_matrix @ back
        return Penalty(self.mean.reshape(C, P), np.asarray(0.5 * (precision + precision.T)))

    def shifted(self, shift: Float) -> WeightDistribution:
        """The same distribution with ``shift`` added to the intercepts: (1,) for two classes, (K,) for more."""
        if not shift.any():
            return self
        draws = None if self.draws is None else self.draws.shifted(shift)
        blend = self.blend and replace(self.blend, theta=with_bias(self.blend.theta, shift))
        return replace(self, approximation=self.approximation.shifted(shift), draws=draws, blend=blend)

    def _in_user_units(self, theta: Float) -> Float:
        """Return T θ for each θ of an array (n, C, P)."""
        moved = theta.copy()
        if self.design.bias:
            moved[..., -1] -= theta[..., :-1] @ self.design.origin
        return moved[:, 0] if moved.shape[1] == 1 else moved

    def in_fit_units(self, L: Any) -> Any:
        """Return T'l for each row l of L (n, P), because l'(w, w0) = l'T θ."""
        if not self.design.bias:
            return L
        origin = np.append(self.design.origin, 0.0)[None]
        moved = L - L[:, [-1]] @ (sparse.csr_array(origin) if is_sparse(L) else origin)
        is_rounding = abs(moved) < CANCELLED * abs(L)
        return moved - (moved.multiply(is_rounding) if is_sparse(L) else moved * is_rounding)

    @property
    def _map(self) -> Float:
        """The map T, (P, P): the identity, except for the last row, w0 = b - w'c."""
        T = np.eye(self.design.width)
        if self.design.bias:
            T[-1, :-1] = -self.design.origin
        return T

    def __repr__(self) -> str:
        return f"WeightDistribution({counted(len(self.names), 'weight')}, structure={self.structure!r})"
