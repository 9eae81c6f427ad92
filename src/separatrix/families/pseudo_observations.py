# SPDX-License-Identifier: BSD-3-Clause
"""Conjugate priors without a standard name: gamma, beta and Dirichlet.

p(η | χ, ν) = exp(ν η'χ - ν A(η)) / Z(ν, χ) is determined by ν pseudo-observations with mean statistics χ. It is stored
as the `LogMoments` of these pseudo-observations, to which the statistics of the data are added. Z is an integral that
each family computes, over one dimension for gamma, two for beta, and D for Dirichlet. Then

    ln p(x_1 .. x_n) = ln Z(posterior) - ln Z(prior) + Σ ln h(x_n).

The predictive density is this marginal likelihood with n = 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from separatrix._array import Array, Float
from separatrix.families.family import Density, Family, Prior, Size
from separatrix.families.sufficient_statistics import FactsError, LogMoments, require

N_METROPOLIS_STEPS = 40  # of the chain of each draw


class PositiveFamily(Family[LogMoments]):
    """Base class of gamma, beta and Dirichlet, whose statistics are the `LogMoments` of positive components of x."""

    @staticmethod
    @abstractmethod
    def parts(x: Any) -> Float:
        """Positive components of x, on the last axis."""

    @classmethod
    def facts(cls, x: Array, R: Array) -> LogMoments:
        return LogMoments.of(cls.parts(np.asarray(x, dtype=np.float64)), R)


D = TypeVar("D", bound=PositiveFamily)


@dataclass(frozen=True)
class PseudoObservations(Prior[D, LogMoments]):
    """A conjugate prior, stored as `LogMoments` with ν = count and χ = ln(mean) - gap/count.

    The last axis of ``mean`` and ``gap`` has one entry per component of x (see `PositiveFamily.parts`).
    """

    count: Float
    mean: Float
    gap: Float
    event = (0, 1, 1)
    positive = ("count", "mean")

    def __post_init__(self) -> None:
        super().__post_init__()
        some = np.broadcast_to((self.gap > 0).any(axis=-1, keepdims=True), self.gap.shape)
        require(self, "gap", some & (self.gap >= 0), "positive (equal observations do not determine a variance)")

    @property
    def facts(self) -> LogMoments:
        return LogMoments(self.count, self.mean, self.gap)

    @property
    @abstractmethod
    def log_partition(self) -> Float:
        """Log normaliser ln Z(ν, χ)."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: Size = ()) -> D:
        """Draw distributions from p(η | χ, ν)."""

    @classmethod
    def weak(cls, facts: LogMoments, worth: float = 1.0) -> Self:
        """Prior with ``worth`` pseudo-observations that have the mean and gap of all classes together."""
        overall = facts.overall()
        FactsError.unless(~overall.is_constant, "all values are equal", "drop the column", overall=True)
        return cls(np.full(overall.batch, worth), overall.mean, worth * overall.mean_gap)

    def updated(self, facts: LogMoments) -> Self:
        return type(self)(*(self.facts + facts).arrays)

    @property
    def mode(self) -> D:
        """Maximum-likelihood estimate from the pseudo-observations."""
        mode: D = self.family.ml(self.facts)
        return mode

    def log_marginal(self, facts: LogMoments) -> Float:
        """ln Z(posterior) - ln Z(prior) + Σ ln h(x), with h(x) = 1/Π x."""
        return np.asarray(self.updated(facts).log_partition - self.log_partition - facts.total_log.sum(axis=-1))

    def predictive(self) -> PseudoPredictive:
        """The predictive density; each value requires one integral."""
        return PseudoPredictive(self)


@dataclass(frozen=True)
class PseudoPredictive(Density):
    """p(x) = h(x) Z(ν + 1, χ')/Z(ν, χ). Each x requires one integral; the result is accurate in the tails too."""

    prior: PseudoObservations[Any]

    def __post_init__(self) -> None:
        """Set ``vector`` as in the family. The arrays of the prior are already checked."""
        object.__setattr__(self, "vector", self.prior.family.vector)

    @property
    def batch(self) -> tuple[int, ...]:
        return self.prior.batch

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.prior[index])

    def log_density(self, x: Any) -> Float:
        """Log marginal likelihood of a single observation."""
        parts = self.prior.family.parts(np.asarray(x, dtype=np.float64))
        ok = np.asarray((parts > 0).all(axis=-1))
        x = np.where(ok[..., None], parts, self.prior.mean)
        one = LogMoments(np.ones(x.shape[:-1]), x, np.zeros_like(x))
        return np.where(ok, self.prior.log_marginal(one), -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw a distribution from the posterior, then x from this distribution."""
        return np.asarray(self.prior.draw(rng, size).sample(rng))


def metropolis(
    log_target: Callable[[Float], Float], mode: Float, factor: Float, rng: np.random.Generator, shape: tuple[int, ...]
) -> Float:
    """Draw independently from a unimodal density, (*shape, P). Each draw is the last state of its own chain.

    Proposals have a Student-t distribution with 5 degrees of freedom, centred at the mode, with the scale matrix
    ``factor`` ``factor``'. They do not depend on the state, and more than half are accepted. The dependence on the
    first state therefore decays like a power of the rejection rate, and is negligible after 40 steps.
    """
    P, dof = mode.shape[-1], 5.0

    def propose() -> tuple[Float, Float]:
        z = rng.standard_normal((*shape, P)) / np.sqrt(rng.chisquare(dof, shape) / dof)[..., None]
        theta = np.clip(mode + np.einsum("...ij,...j->...i", factor, z), -500.0, 500.0)
        return theta, log_target(theta) + 0.5 * (dof + P) * np.log1p((z**2).sum(axis=-1) / dof)

    state, weight = propose()
    for _ in range(N_METROPOLIS_STEPS):
        new, new_weight = propose()
        accept = -rng.standard_exponential(shape) < new_weight - weight
        state = np.where(accept[..., None], new, state)
        weight = np.where(accept, new_weight, weight)
    return state


def sinh_grid(nu: Float) -> tuple[Float, Float]:
    """Nodes sinh v and log weights of the trapezoidal rule for a unimodal function with exponential tails.

    If ν >= 20, the function is nearly normal, and a smaller grid is enough.
    """
    reach, steps = (5.5, 40) if nu.min(initial=np.inf) < 20 else (4.25, 25)
    v = np.linspace(-reach, reach, 2 * steps + 1)
    return np.sinh(v), np.log(np.cosh(v) * (v[1] - v[0]))
