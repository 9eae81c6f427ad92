# SPDX-License-Identifier: BSD-3-Clause
"""A distribution over θ, the weights in the coordinates of a fit: one Gaussian, or a mixture of some.

θ (C, P) has one row of weights per output, with the bias last, relative to the origin of the design. For a row of
regressors φ̃, each Gaussian N(θ | m, S) gives the activations θ φ̃ a mean and a covariance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from separatrix._array import Array, Float, Rows, is_sparse, to_dense
from separatrix.exceptions import DataError
from separatrix.priors import Penalty
from separatrix.stats import Design
from separatrix.weights.information import NOISE_OF_NULL
from separatrix.weights.marginals import Marginals

MAX_MOMENT = 1e300  # sums of larger moments of activations overflow


@dataclass(frozen=True, eq=False)
class Activations:
    """Mean and covariance of the activation of each row: (n,) and (n,) for one output, else (n, C) and (n, C, C).

    If the distribution is a mixture, its components are ``parts``, with ``weights``; otherwise it is Gaussian.
    """

    mean: Float
    cov: Float
    weights: Float | None = None
    parts: tuple[Activations, ...] = ()

    @property
    def is_finite(self) -> Array:
        """Whether the mean and covariance of the activation of each row, and sums of them, are finite, (n,)."""
        small = [(np.abs(part) < MAX_MOMENT).all(axis=tuple(range(1, part.ndim))) for part in (self.mean, self.cov)]
        return np.asarray(small[0] & small[1])

    @property
    def variance(self) -> Float:
        """Variance of each activation, (n,) or (n, C)."""
        return self.cov if self.cov.ndim == 1 else np.asarray(np.diagonal(self.cov, axis1=1, axis2=2))

    def narrowed(self, factor: float) -> Activations:
        """Return the same distribution with the covariances of all parts multiplied by a factor."""
        if factor == 1.0:
            return self
        return replace(self, cov=factor * self.cov, parts=tuple(part.narrowed(factor) for part in self.parts))

    def contrasts(self, Q: Float) -> tuple[Float, Float]:
        """Return means and standard deviations (n, k) of contrasts Q (k, C) of the outputs, without the parts."""
        mean, cov = self.mean, self.cov
        if mean.ndim == 1:
            mean, cov = mean[:, None], cov[:, None, None]
        variance = np.einsum("kc,ncd,kd->nk", Q, cov, Q, optimize=True)
        return mean @ Q.T, np.sqrt(np.maximum(variance, 0.0))


class AbstractApproximation(ABC):
    """A Gaussian over θ, or a mixture of ``parts`` with ``part_weights``.

    A subclass states its ``mean``, its ``structure`` (the part of the covariance that it keeps), its ``log_evidence``,
    and the methods below that are abstract.
    """

    couples_contrasts: ClassVar[bool] = True  # whether contrasts between classes may be correlated
    couples_columns: ClassVar[bool] = True  # whether the weights of two columns may be correlated

    if TYPE_CHECKING:  # at run time, a property would be taken for the default of a subclass's field

        @property
        def mean(self) -> Float: ...
        @property
        def covariance(self) -> Float: ...
        @property
        def structure(self) -> str: ...
        @property
        def log_evidence(self) -> float | None: ...

    @property
    @abstractmethod
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P)."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ, (n, C, P)."""

    @abstractmethod
    def activations(self, X: Rows, design: Design) -> Activations:
        """Return mean and covariance of the activations of rows."""

    @property
    def parts(self) -> tuple[AbstractApproximation, ...]:
        """The Gaussians whose mixture this is."""
        return (self,)

    @property
    def part_weights(self) -> Float:
        """Weights (J,) of the parts."""
        return np.ones(1)

    @property
    def part_widening(self) -> Float:
        """Prior variances (J,) of the parts, relative to their average."""
        return np.ones(1)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t; infinite for a Gaussian."""
        return inf

    @property
    def n_identified(self) -> int:
        """Number of weights that the data identify: only differences between C classes."""
        C, P = map(int, self.mean.shape)
        return max(1, C - 1) * P

    @property
    def widest(self) -> AbstractApproximation:
        """The Gaussian with the best estimate of the covariance, if that differs from the one that predicts best."""
        return self

    @property
    def floats_per_row(self) -> int:
        """Size of the temporary arrays for the activations of one row."""
        return len(self.mean) * self.mean.size

    @property
    def precision_matrix(self) -> Float:
        """Inverse of the covariance that predicts best, (CP, CP); raises if it is not known."""
        raise DataError(
            f"A posterior with structure {self.structure!r} cannot be the prior of the next batch, which needs the "
            "full covariance. Use fewer columns or basis functions, or fit all rows at once."
        )

    def prior_traces(self, prior: Penalty) -> Float:
        """Return Σ_c (Λ S_cc)_pp for each column p, (P,), for the precision Λ of a prior and the covariance S of θ."""
        return np.asarray((prior.diagonal * self.std**2).sum(axis=0))

    def moments_of(self, Z: Rows) -> Activations:
        """Return mean and covariance of θ z for each row z of Z (n, P)."""
        return self.activations(Z, Design(np.zeros(Z.shape[1]), bias=False))

    def functions(self, Z: Rows, Q: Float) -> Marginals:
        """Return the distribution of the contrasts Q (k, C) of θ z, (n, k), for each row z of Z (n, P)."""
        of_parts = (part.widest.moments_of(Z).contrasts(Q) for part in self.parts)
        means, stds = map(np.stack, zip(*of_parts, strict=True))
        return Marginals(self.part_weights, means, stds, self.freedom)

    def identifies(self, Z: Rows, Q: Float) -> Array:
        """Whether the data identify the contrasts Q of θ z for each row z of Z, (n, k)."""
        return np.ones((Z.shape[0], len(Q)), dtype=bool)

    def sample_parts(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ from the parts of a mixture, in random order."""
        sizes = rng.multinomial(n, self.part_weights)
        drawn = [part.sample(size, rng) for part, size in zip(self.parts, sizes, strict=True)]
        return np.asarray(rng.permutation(np.concatenate(drawn)))

    def shifted(self, shift: Float) -> Self:
        """Return the same distribution with ``shift`` (C,) added to the bias."""
        return cast(Self, replace(cast(Any, self), mean=with_bias(self.mean, shift)))


@dataclass(frozen=True, eq=False)
class NormalApproximation(AbstractApproximation):
    """The Gaussian N(θ | mean, covariance), such as the sampling distribution of an estimate.

    If the covariance has an estimated factor, ``degrees`` are those of Student's t. The covariance may be singular.
    ``null`` (r, CP) are directions that the data do not identify: functions along them have no standard deviation.
    """

    mean: Float
    covariance: Float
    degrees: float = inf
    structure: str = "full"
    log_evidence: float | None = None
    null: Float | None = None

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t."""
        return self.degrees

    @property
    def n_identified(self) -> int:
        """Number of weights that the data identify, without the null directions."""
        return super().n_identified - (0 if self.null is None else len(self.null))

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P); NaN if the data do not identify it."""
        std = np.sqrt(np.diag(self.covariance))
        if self.null is not None:
            std[self.null.any(axis=0)] = np.nan
        return np.asarray(std.reshape(self.mean.shape))

    def functions(self, Z: Rows, Q: Float) -> Marginals:
        """Return the distribution of the contrasts Q of θ z; the deviation is NaN if the data do not identify it."""
        found = super().functions(Z, Q)
        stds = cast(Float, found.stds)
        return found if self.null is None else replace(found, stds=np.where(self.identifies(Z, Q), stds, np.nan))

    def identifies(self, Z: Rows, Q: Float) -> Array:
        """Whether the data identify the contrasts Q of θ z for each row z of Z, (n, k)."""
        if self.null is None:
            return super().identifies(Z, Q)
        directions, Z = self.null.reshape(-1, *self.mean.shape), to_dense(Z)
        along = np.einsum("np,rcp,kc->nkr", Z, directions, Q, optimize=True)
        size = np.einsum("np,rcp,kc->nkr", np.abs(Z), np.abs(directions), np.abs(Q), optimize=True)
        return np.asarray((np.abs(along) <= NOISE_OF_NULL * size).all(axis=2))

    def std_along(self, J: Float) -> Float:
        """Return the standard deviation of J θ, for rows of J (Q, CP); NaN if the data do not identify it."""
        std = np.sqrt(np.maximum(np.einsum("qw,qw->q", J @ self.covariance, J), 0.0))
        if self.null is not None:
            along, size = np.abs(J @ self.null.T), np.abs(J) @ np.abs(self.null.T)
            std[(along > NOISE_OF_NULL * size).any(axis=1)] = np.nan
        return np.asarray(std)

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ, (n, C, P)."""
        drawn = rng.multivariate_normal(self.mean.ravel(), self.covariance, size=n, method="eigh")
        return np.asarray(drawn.reshape(n, *self.mean.shape))

    def activations(self, X: Rows, design: Design) -> Activations:
        """Return mean and covariance of the activations of rows."""
        (C, P), Phi = self.mean.shape, to_dense(regressors(X, design))
        S = self.covariance.reshape(C, P, C, P)
        if C == 1:
            return Activations(Phi @ self.mean[0], np.asarray(np.einsum("np,np->n", Phi @ S[0, :, 0], Phi)))
        return Activations(Phi @ self.mean.T, np.einsum("np,cpdr,nr->ncd", Phi, S, Phi, optimize=True))


def regressors(X: Rows, design: Design) -> Any:
    """Return φ̃ of some rows, (n, P). They stay sparse if the design adds nothing, as for linear functions of θ."""
    return X if is_sparse(X) and not design.bias and not design.origin.any() else design.regressors(X)


def row_squares(Z: Float) -> Float:
    """Return |z_n|² of each row."""
    return np.asarray(np.einsum("ni,ni->n", Z, Z))


def with_bias(theta: Float, shift: Float) -> Float:
    """Return weights (..., C, P) with ``shift`` (C,) added to the bias, their last column."""
    return np.concatenate([theta[..., :-1], theta[..., -1:] + shift[:, None]], axis=-1)
