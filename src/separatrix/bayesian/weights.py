# SPDX-License-Identifier: BSD-3-Clause
"""The posterior over weights in the user's units, a(x) = w'φ(x) + w0, and its table of intervals.

The bias b of the fit is the activation at the mean c of the columns, and w0 = b - w'c is the activation at x = 0. The
map T from θ = (w, b) to (w, w0) is linear, so the posterior is still Gaussian, with covariance T A⁻¹ T'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse, special
from sklearn.utils import gen_batches

from separatrix._arguments import check_count, check_positive, generator
from separatrix._array import Float, to_dense
from separatrix._output import as_frame
from separatrix._text import counted, listed
from separatrix.bayesian.draws import Draws, weighted_quantiles
from separatrix.bayesian.posterior import (
    AnyApproximation,
    Approximation,
    AveragedApproximation,
    DualApproximation,
    mixture_quantiles,
)
from separatrix.exceptions import DataError
from separatrix.priors import Penalty
from separatrix.stats import MAX_SPREAD_ENTRIES, Design


@dataclass(frozen=True, eq=False)
class Marginals:
    """The distribution of each of some numbers (...) that are linear in the weights: a mixture of Gaussians, or draws.

    The Gaussians have ``weights`` (J,), ``means`` and ``stds`` (J, ...). If ``stds`` is None, ``means`` are draws.
    """

    weights: Float
    means: Float
    stds: Float | None = None

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
        J = len(self.weights)
        found = mixture_quantiles(self.weights, self.means.reshape(J, -1), self.stds.reshape(J, -1), levels)
        return found.reshape(*self.means.shape[1:], -1)

    @property
    def probability_of_sign(self) -> Float:
        """Probability that each number has the sign of its mean."""
        away = np.sign(self.mean) * self.means
        of_part = away > 0 if self.stds is None else special.ndtr(away / np.where(self.stds > 0, self.stds, 1.0))
        return np.asarray(np.tensordot(self.weights, of_part, 1))


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
    draws : weighted draws of θ, from which intervals are computed; None if the Gaussians describe the posterior
    """

    approximation: AnyApproximation
    design: Design
    names: tuple[str, ...]
    draws: Draws | None = None

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

    def functions(self, L: Any, contrasts: Float | None = None) -> Marginals:
        """Return the distribution of l'(w, w0) for each row l of ``L`` (n, P): (n,) for two classes, (n, k) for more.

        With more than two classes, the k numbers of a row are ``contrasts`` (k, C) of those of the classes. The data
        determine only contrasts whose rows sum to zero, such as the difference of two classes.
        """
        n, (C, P) = L.shape[0], self.approximation.mean.shape
        Q, parts = np.eye(C) if contrasts is None else contrasts, []
        for rows in gen_batches(n, max(1, MAX_SPREAD_ENTRIES // (C * C * P))):
            Z = np.array(to_dense(L[rows]), dtype=np.float64)
            if self.design.bias:  # l'(w, w0) = l'T θ
                Z[:, :-1] -= Z[:, -1:] * self.design.origin
            parts.append(self._functions_of_fit(Z, Q))
        joined = [np.concatenate(each, axis=1) for each in zip(*(part[1:] for part in parts), strict=True)]
        return Marginals(parts[0][0], *(each[..., 0] if C == 1 else each for each in joined))

    def _functions_of_fit(self, Z: Float, Q: Float) -> tuple[Float, ...]:
        """Weights (J,), means and, without draws, deviations (J, n, k) of the contrasts Q of θ z, for rows z (n, P)."""
        if self.draws is not None:
            return self.draws.weights, np.einsum("np,scp,kc->snk", Z, self.draws.theta, Q, optimize=True)
        as_given, means, stds = Design(np.zeros(Z.shape[1]), bias=False), [], []
        for node in getattr(self.approximation, "nodes", ()) or [self.approximation]:
            wide = getattr(node, "moments", None)  # a skewed posterior is wider than the Gaussian that predicts best
            a = (replace(node, factor=wide) if wide is not None else node).activations(Z, as_given)
            mean, cov = (a.mean, a.cov) if len(Q) > 1 or a.mean.ndim > 1 else (a.mean[:, None], a.cov[:, None, None])
            means.append(mean @ Q.T)
            stds.append(np.sqrt(np.maximum(np.einsum("kc,ncd,kd->nk", Q, cov, Q, optimize=True), 0.0)))
        return self.mixture_weights, np.stack(means), np.stack(stds)

    @property
    def mixture_weights(self) -> Float:
        """Weights (J,) of the Gaussians whose mixture this is."""
        averaged = getattr(self.approximation, "thin", self.approximation)
        return averaged.weights if isinstance(averaged, AveragedApproximation) else np.ones(1)

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
        return f"WeightPosterior({counted(len(self.names), 'weight')}, structure={self.structure!r})"


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
        foot = f"{100 * float(self.level):g} % credible intervals, in the units of the columns"
        return "\n".join([head, *lines, foot, *self.notes])


def with_bias(theta: Float, shift: Float) -> Float:
    """Weights (..., C, P) with ``shift`` (C,) added to the bias, their last column."""
    return np.concatenate([theta[..., :-1], theta[..., -1:] + shift[:, None]], axis=-1)


def interval_tails(owner: str, level: float) -> Float:
    """Return the probabilities of the two quantiles that bound a central interval: 0.025 and 0.975 for 0.95."""
    check_positive(owner, "level", level)
    if level >= 1:
        raise ValueError(f"{owner}(level={level!r}): level must be between 0 and 1, for example 0.95.")
    half = 0.5 * float(level)
    return np.array([0.5 - half, 0.5 + half])


def class_contrasts(classes: Sequence[Any], reference: Any = None) -> tuple[Float, tuple[int, ...]]:
    """Return contrasts (k, K) of K classes and the class of each: with the mean of all classes, or with ``reference``.

    The contrast with the reference class itself is left out.
    """
    K, labels = len(classes), list(classes)
    if reference is None:
        return np.eye(K) - 1.0 / K, tuple(range(K))
    if reference not in labels:
        raise ValueError(f"reference={reference!r} is not a class. The classes are {listed(labels)}.")
    at = labels.index(reference)
    others = tuple(k for k in range(K) if k != at)
    Q = np.eye(K)[list(others)]
    Q[:, at] = -1.0
    return Q, others


def summarise(
    posterior: WeightPosterior,
    classes: Sequence[Any],
    level: float,
    notes: tuple[str, ...] = (),
    *,
    reference: Any = None,
) -> WeightSummary:
    """Return mean, standard deviation, credible interval and the probability of the sign of each weight.

    Only differences between the weights of K classes change predictions, and only those are determined by the data. The
    weights of each class are therefore differences from the mean of the classes, or from the class ``reference``.
    """
    tails, names, P = interval_tails("summary", level), posterior.names, len(posterior.names)
    each = sparse.eye_array(P, format="csr")
    if len(posterior.approximation.mean) == 1:
        found = posterior.functions(each)
        if reference is not None and reference not in classes:
            class_contrasts(classes, reference)
        if reference is not None and reference == classes[1]:
            found = replace(found, means=-found.means)
    else:
        Q, shown = class_contrasts(classes, reference)
        found = posterior.functions(each, Q)
        names = tuple(f"{classes[k]}: {name}" for k in shown for name in names)
        against = "the mean of the classes" if reference is None else f"class {reference}"
        notes = (f"Weights of a class are differences from {against}.", *notes)
    lower, upper = np.moveaxis(found.quantiles(tails), -1, 0)
    columns = (found.mean, found.std, lower, upper, found.probability_of_sign)
    mean, std, lower, upper, sign = (np.ravel(column.T) for column in columns)  # class after class
    return WeightSummary(names, mean, std, lower, upper, sign, level, notes)
