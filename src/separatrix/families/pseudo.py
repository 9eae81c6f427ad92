# SPDX-License-Identifier: BSD-3-Clause
"""Conjugate priors that have no name: gamma, beta and Dirichlet.

p(η | χ, ν) = exp(ν η'χ - ν A(η)) / Z(ν, χ) is defined by ν pseudo-observations with mean statistics χ, and so
it is kept: as facts, to which the facts of the data are added. Z is an integral over the one or two (C for
Dirichlet) parameters; each family says how it is computed. Then

    ln p(x_1 .. x_n) = ln Z(posterior) - ln Z(prior) + Σ ln h(x_n),

and the predictive density is the same with n = 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from separatrix._array import Float
from separatrix.families.facts import LogMoments
from separatrix.families.family import Density, Family, Prior, Size
from separatrix.families.record import require

__all__ = ["PseudoObservations", "PseudoPredictive", "metropolis"]

D = TypeVar("D", bound=Family[LogMoments])


class PseudoObservations(Prior[D, LogMoments]):
    """A conjugate prior kept as `LogMoments`: ν = count, χ = ln(mean) - gap/count."""

    count: Float
    mean: Float
    gap: Float
    vector: bool = False

    def _check(self) -> None:
        require(self, "count", self.count > 0, "positive")
        require(self, "mean", self.mean > 0, "positive")
        some = np.broadcast_to((self.gap > 0).any(axis=-1, keepdims=True), self.gap.shape)
        require(self, "gap", some & (self.gap >= 0), "positive: observations that are all equal fix no spread")

    @property
    def facts(self) -> LogMoments:
        """The pseudo-observations as facts."""
        return LogMoments(self.count, self.mean, self.gap)

    @property
    @abstractmethod
    def log_partition(self) -> Float:
        """ln Z(ν, χ)."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: Size = ()) -> D:
        """Distributions drawn from p(η | χ, ν)."""

    @staticmethod
    @abstractmethod
    def parts(x: Any) -> Float:
        """The positive components of x, on the last axis."""

    @classmethod
    def of_facts(cls, facts: LogMoments, *, worth: float) -> Self:
        """The prior that counts as ``worth`` observations, distributed as these facts are."""
        return cls(np.full(facts.batch, worth), facts.mean, worth * facts.mean_gap)  # type: ignore[call-arg]

    def updated(self, facts: LogMoments) -> Self:
        """Add the facts."""
        return type(self)(*(self.facts + facts).arrays)

    def log_marginal(self, facts: LogMoments) -> Float:
        """ln Z(posterior) - ln Z(prior) + Σ ln h, h = 1/Π x."""
        return np.asarray(self.updated(facts).log_partition - self.log_partition - facts.total_log.sum(axis=-1))

    def predictive(self) -> PseudoPredictive:
        """Each value costs one integral."""
        return PseudoPredictive(self)


@dataclass(frozen=True)
class PseudoPredictive(Density):
    """p(x) = Z(ν + 1, χ')/Z(ν, χ) h(x), integrated anew for each x: as right in the tails as in the middle."""

    prior: PseudoObservations[Any]

    def __post_init__(self) -> None:
        """Nothing to convert: the prior is a record already."""
        object.__setattr__(self, "vector", self.prior.vector)

    @property
    def arrays(self) -> list[Float]:
        """Those of the prior."""
        return self.prior.arrays

    @property
    def batch(self) -> tuple[int, ...]:
        """That of the prior."""
        return self.prior.batch

    def __getitem__(self, index: Any) -> Self:
        """Some classes."""
        return type(self)(self.prior[index])

    def log_density(self, x: Any) -> Float:
        """The marginal likelihood of a single observation."""
        parts = self.prior.parts(np.asarray(x, dtype=np.float64))
        ok = np.asarray((parts > 0).all(axis=-1))
        one = LogMoments.of_one(np.where(ok[..., None], parts, self.prior.mean))
        return np.where(ok, self.prior.log_marginal(one), -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """A distribution from the posterior, then x from it."""
        return np.asarray(self.prior.draw(rng, size).sample(rng))


def metropolis(
    log_target: Callable[[Float], Float],
    mode: Float,
    factor: Float,
    rng: np.random.Generator,
    shape: tuple[int, ...],
    *,
    steps: int = 40,
) -> Float:
    """Independent draws from a density with one hump, (*shape, P): many chains, the last state of each.

    Proposals are Student-t (5 degrees of freedom) about the mode with the hump's own covariance factor
    factor'. They do not depend on the state and are accepted more often than not, so what a chain remembers of
    its start fades like the power of the share rejected: 40 steps leave less than any sample can show.
    """
    P, dof = mode.shape[-1], 5.0

    def propose() -> tuple[Float, Float]:
        z = rng.standard_normal((*shape, P)) / np.sqrt(rng.chisquare(dof, shape) / dof)[..., None]
        theta = np.clip(mode + np.einsum("...ij,...j->...i", factor, z), -500.0, 500.0)
        return theta, log_target(theta) + 0.5 * (dof + P) * np.log1p((z**2).sum(axis=-1) / dof)

    state, weight = propose()
    for _ in range(steps):
        new, new_weight = propose()
        accept = -rng.standard_exponential(shape) < new_weight - weight
        state = np.where(accept[..., None], new, state)
        weight = np.where(accept, new_weight, weight)
    return state
