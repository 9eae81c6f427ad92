# SPDX-License-Identifier: BSD-3-Clause
"""Priors on the weights of a linear model: Gaussian, flat, or an elastic net. The bias has a separate prior.

    Gaussian      -ln p(w) = ½ (w - m0)' S0⁻¹ (w - m0) + const
    ElasticNet    -ln p(w) = alpha (l1_ratio |w|₁ + ½ (1 - l1_ratio) |w|²) + const

Users specify one of them, or `Flat`. `penalty` converts it to a `Penalty` on the parameters θ of a fit, which have one
row (w, w0) for each output. A `Penalty` has a mean, a precision in one of three shapes, and perhaps a `Corner`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg

from separatrix._arguments import check_number, check_numbers
from separatrix._array import Array, Codes, Float
from separatrix._text import counted
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError


@dataclass(frozen=True, eq=False)
class Gaussian:
    """w ~ N(mean, scale²), or N(mean, scale² covariance); the bias w0 ~ N(0, intercept_scale²).

    Parameters
    ----------
    scale : float or array of shape (M,), default 1.0
        Prior standard deviation of the weights, common or one per column. ``alpha = 1/scale**2``.
    mean : float or array of shape (M,), default 0.0
        Prior mean m0.
    covariance : array of shape (M, M), optional
        Prior covariance for the scale 1; ``scale`` must then be one number.
    intercept_scale : float, default infinity
        Prior standard deviation of the bias. Infinity is a flat prior, with which the origin of X does not matter.

    Examples
    --------
    >>> from separatrix.priors import Gaussian
    >>> Gaussian(scale=0.5)
    Gaussian(scale=0.5)
    """

    scale: Any = 1.0
    mean: Any = 0.0
    covariance: Any = None
    intercept_scale: float = np.inf

    def __repr__(self) -> str:
        """Arguments that differ from their defaults, as scikit-learn prints them."""
        given = ((field, getattr(self, field.name)) for field in fields(self))
        shown = [
            f"{field.name}={value!r}"
            for field, value in given
            if not (value is field.default or (isinstance(value, Real) and value == field.default))
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True)
class Flat:
    """Flat prior, which gives the maximum-likelihood estimate."""


@dataclass(frozen=True, eq=False)
class ElasticNet:
    """Prior with a corner at zero, so that most weights are exactly zero. The bias has no prior.

    -ln p(w) = alpha (l1_ratio Σ_g |w_g| + ½ (1 - l1_ratio) |w|²), where each weight is a group g, or the weights of
    several columns are.

    Parameters
    ----------
    alpha : float, default 1.0
        Strength of the prior, ``1/C`` of scikit-learn.
    l1_ratio : float in [0, 1], default 1.0
        1 is the lasso, a Laplace prior on each weight; 0 is a Gaussian prior of precision ``alpha``.
    groups : sequence of M labels, optional
        Group of each column. The weights of a group, of all its columns and all classes, are zero together or not at
        all; |w_g| is then their length times the square root of their number (Yuan & Lin 2006).

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = sx.LogisticRegression(prior=sx.ElasticNet(alpha=20.0)).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    >>> int((model.coef_ != 0).sum())
    5
    """

    alpha: float = 1.0
    l1_ratio: float = 1.0
    groups: Any = None

    __repr__ = Gaussian.__repr__


Prior = Gaussian | Flat | ElasticNet


@dataclass(frozen=True, eq=False, slots=True)
class Corner:
    """Σ_g λ_g |θ_g| for θ (C, P), the part of a penalty that has a corner at zero.

    ``threshold`` (P,) is λ_g for each column, and 0 for the bias. ``groups`` (P,) numbers the group of each column; it
    is None if each weight is a group.
    """

    threshold: Float
    groups: Codes | None = None

    def lengths(self, theta: Float) -> Float:
        """|θ_g| for each weight, (C, P)."""
        if self.groups is None:
            return np.abs(theta)
        squares = np.bincount(self.groups, (theta**2).sum(axis=0))
        return np.broadcast_to(np.sqrt(squares)[self.groups], theta.shape)

    def directions(self, theta: Float) -> Float:
        """θ_g / |θ_g|, and 0 for θ_g = 0."""
        length = self.lengths(theta)
        return np.asarray(theta / np.where(length > 0, length, 1.0))

    def value(self, theta: Float) -> float:
        """Σ_g λ_g |θ_g|, computed as the sum of λ_g θ²/|θ_g| over all weights."""
        return float((self.threshold * theta * self.directions(theta)).sum())

    def violation(self, theta: Float, grad: Float) -> Float:
        """The part of the gradient of the smooth terms that the corner does not balance, zero at the minimum."""
        length = self.lengths(grad)
        excess = 1 - self.threshold / np.maximum(length, self.threshold + (length == 0))
        return np.where(self.lengths(theta) > 0, grad + self.threshold * self.directions(theta), excess * grad)

    def on_columns(self, kept: Codes) -> Corner:
        """The same penalty for some of the P weights."""
        groups = None if self.groups is None else np.unique(self.groups[kept], return_inverse=True)[1]
        return Corner(self.threshold[kept], groups)


@dataclass(frozen=True, eq=False, slots=True)
class Penalty:
    """-ln p(θ) = ½ (θ - m)' Λ (θ - m) for θ (C, P), with P weights for each of C outputs, without the constant.

    ``precision`` is Λ: the diagonal (P,) or matrix (P, P) of every output, or a matrix (CP, CP) for all outputs. A
    ``corner`` is added to it; `value_grad` and `dot` are of the quadratic part alone.
    """

    mean: Float
    precision: Float
    corner: Corner | None = None

    def dot(self, V: Float) -> Float:
        """Λ V for V (C, P)."""
        if self.precision.ndim == 1:
            return V * self.precision
        if len(self.precision) == V.shape[1]:
            return V @ self.precision
        return (self.precision @ V.ravel()).reshape(V.shape)

    def value_grad(self, theta: Float) -> tuple[float, Float]:
        """½ (θ - m)' Λ (θ - m) and Λ (θ - m)."""
        away = theta - self.mean
        pull = self.dot(away)
        return 0.5 * float(np.vdot(away, pull)), pull

    @property
    def diagonal(self) -> Float:
        """The diagonal of Λ, (C, P)."""
        diagonal = self.precision if self.precision.ndim == 1 else np.diag(self.precision)
        return np.broadcast_to(diagonal.reshape(-1, self.mean.shape[1]), self.mean.shape)

    def add_to(self, hess: Float) -> Float:
        """Add Λ to ``hess`` (CP, CP) in place, and return it."""
        P = self.mean.shape[1]
        if self.precision.ndim == 1:
            np.einsum("ii->i", hess).reshape(-1, P)[:] += self.precision  # a view of the diagonal
        elif len(self.precision) == len(hess):
            hess += self.precision
        else:
            for start in range(0, len(hess), P):
                hess[start : start + P, start : start + P] += self.precision
        return hess

    @property
    def free(self) -> Array:
        """Whether each of the P weights has no prior, (P,)."""
        free = self.precision == 0 if self.precision.ndim == 1 else np.asarray((self.diagonal == 0).all(axis=0))
        return free if self.corner is None else free & (self.corner.threshold == 0)

    def per_unit(self, units: Float) -> Penalty:
        """Prior on θ, if this is the prior on θ times ``units`` (P,), the weights per standard deviation."""
        if self.precision.ndim == 1:
            return Penalty(self.mean / units, self.precision * units**2)
        every = np.resize(units, len(self.precision))
        return Penalty(self.mean / units, self.precision * np.outer(every, every))

    def about(self, origin: Float) -> Penalty:
        """Prior on (w, b) with the bias b = w0 + w'origin at ``origin`` (M,), if this is the prior on (w, w0)."""
        P = self.mean.shape[1]
        if not origin.any():
            return self
        T: Float = np.eye(P)
        T[-1, :-1] = -origin  # w0 = b - origin'w
        back = T.copy()
        back[-1, :-1] = origin
        wide = np.diag(self.precision) if self.precision.ndim == 1 else self.precision
        if len(wide) > P:
            T = np.asarray(np.kron(np.eye(len(self.mean)), T), dtype=np.float64)
        return Penalty(self.mean @ back.T, T.T @ wide @ T)

    def matrix(self) -> Float:
        """Λ for all weights, (CP, CP)."""
        return self.add_to(np.zeros((self.mean.size, self.mean.size)))

    def log_det(self) -> float:
        """ln |Λ| over all weights; minus infinity if a weight has no prior."""
        repeats = self.mean.size // len(self.precision)
        with np.errstate(divide="ignore"):
            if self.precision.ndim == 1:
                return repeats * float(np.log(self.precision).sum())
            L, failed = linalg.lapack.dpotrf(self.precision, lower=True)
            if failed:
                return repeats * float(np.linalg.slogdet(self.precision)[1])
            return 2 * repeats * float(np.log(L.diagonal()).sum())


def penalty(prior: Prior, shape: tuple[int, int], *, fit_intercept: bool, columns: tuple[str, ...]) -> Penalty:
    """Prior on θ of shape (C, P); with ``fit_intercept``, the last weight is the bias.

    Raises DataError if a scale, mean or covariance does not match the columns, or is invalid.
    """
    P, M = shape[1], shape[1] - fit_intercept
    if isinstance(prior, Flat):
        return Penalty(np.zeros(shape), np.zeros(P))
    if isinstance(prior, ElasticNet):
        return _elastic_net(prior, shape, columns)
    mean = np.zeros(shape)
    mean[:, :M] = _per_column("mean", prior.mean, columns, is_scale=False)
    bias = _per_column("intercept_scale", prior.intercept_scale, ("the bias",))[0] ** -2.0
    if prior.covariance is not None:
        if np.ndim(prior.scale):
            raise DataError(
                "Gaussian(scale=..., covariance=...): with a covariance, scale must be one number. Multiply the "
                "covariance by np.outer(scale, scale) instead."
            )
        precision = np.zeros((P, P))
        scale = _per_column("scale", prior.scale, ("all columns",))[0]
        precision[:M, :M] = _inverse(prior.covariance, columns) / scale**2
        if fit_intercept:
            precision[M, M] = bias
    else:
        precision = np.full(P, bias)
        precision[:M] = _per_column("scale", prior.scale, columns) ** -2.0
    return Penalty(mean, precision)


def _elastic_net(prior: ElasticNet, shape: tuple[int, int], columns: tuple[str, ...]) -> Penalty:
    """The quadratic part and the corner of an elastic net."""
    alpha = check_number("ElasticNet", "alpha", prior.alpha, low=0.0)
    ratio = check_number("ElasticNet", "l1_ratio", prior.l1_ratio, low=0.0, high=1.0)
    (C, P), M = shape, len(columns)
    of_columns = (np.arange(P) < M).astype(np.float64)  # the bias has no prior
    ridge, threshold, groups = alpha * (1 - ratio) * of_columns, alpha * ratio * of_columns, None
    if prior.groups is not None:
        labels = np.asarray(prior.groups)
        if labels.shape != (M,):
            raise DataError(
                f"ElasticNet(groups=...) has shape {labels.shape}, but there are {counted(M, 'column')}: use one label "
                "per column."
            )
        try:
            groups = np.unique(labels, return_inverse=True)[1]
        except TypeError:
            raise DataError("ElasticNet(groups=...): labels must be all numbers or all text.") from None
        threshold[:M] *= np.sqrt(C * np.bincount(groups))[groups]
        groups = np.append(groups, np.full(P - M, groups.max(initial=-1) + 1))
    return Penalty(np.zeros(shape), ridge, Corner(threshold, groups) if threshold.any() else None)


def _per_column(name: str, value: Any, columns: tuple[str, ...], *, is_scale: bool = True) -> Float:
    """One value per column. A scalar is repeated. A scale must be greater than 0, a mean finite."""
    numbers = check_numbers("Gaussian", name, value)
    if numbers.shape not in ((), (len(columns),)):
        raise DataError(
            f"Gaussian({name}=...) has shape {numbers.shape}, but there are {counted(len(columns), 'column')}: "
            "use one number, or one per column."
        )
    is_valid = numbers > 0 if is_scale else np.isfinite(numbers)
    numbers = np.full(len(columns), numbers)
    if not is_valid.all():
        wrong = np.flatnonzero(~np.broadcast_to(is_valid, numbers.shape))
        must = "it must be finite" if not is_scale else "a scale must be greater than 0. Use infinity for no prior"
        raise DataError(f"Gaussian({name}=...) is {numbers[wrong[0]]:g} for {columns[wrong[0]]}; {must}.")
    return numbers


def _inverse(covariance: Any, columns: tuple[str, ...]) -> Float:
    """Return S0⁻¹; raise if S0 is not a covariance matrix."""
    S = check_numbers("Gaussian", "covariance", covariance)
    M = len(columns)
    if S.shape != (M, M):
        raise DataError(
            f"Gaussian(covariance=...) has shape {S.shape}, but there are {counted(M, 'column')}: it must be ({M}, "
            f"{M})."
        )
    unit = np.sqrt(np.abs(np.diag(S)))
    if not np.isfinite(S).all() or not (np.abs(S - S.T) <= 1e-10 * np.outer(unit, unit)).all():
        raise DataError(
            "Gaussian(covariance=...) must be symmetric and finite. If only rounding is the cause, use (S + S.T) / 2."
        )
    with single_thread_blas():
        try:
            return np.asarray(linalg.cho_solve(linalg.cho_factor(S, lower=True), np.eye(M)))
        except linalg.LinAlgError:
            values, vectors = linalg.eigh(S)
    largest = columns[int(np.abs(vectors[:, 0]).argmax())]
    raise DataError(
        f"Gaussian(covariance=...) is not positive definite: its smallest eigenvalue is {values[0]:.3g}, mostly "
        f"along {largest!r}. Add a small multiple of the identity, or drop a column that repeats others."
    )
