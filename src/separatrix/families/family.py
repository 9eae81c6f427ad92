# SPDX-License-Identifier: BSD-3-Clause
"""The interface of every family: p(x | η) = h(x) exp(η'u(x) - A(η)), with A = -ln g.          PRML (2.194)

There are three kinds of objects. A *distribution* (`Family`) has parameters for K classes and D columns. A *prior*
(`Prior`) is conjugate, p(η | χ, ν) ∝ exp(ν η'χ - ν A(η)) (2.229), and equivalent to ν earlier observations whose u had
mean χ. A *predictive* (`Density`) is the distribution of x with the parameters integrated out. The top of each family
file gives the formulas of u, h, η, A and E[u], and relates the usual parameters of the prior to ν and χ. Methods are
documented here; a family documents a method only if it differs.

Two theorems about conjugate priors are used throughout (Diaconis & Ylvisaker 1979). The mode of p(η | χ, ν) solves
E[u | η] = χ, which is maximum likelihood with the earlier observations added. The posterior mean of E[u | η] is also χ.
So both give the same point estimate, `Prior.mode`. For Bernoulli it is Laplace's correction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from separatrix._array import Array, Float
from separatrix._special import MAX_CANCELLING_NATS
from separatrix.exceptions import DataError
from separatrix.families.sufficient_statistics import Facts, Record

Size = int | tuple[int, ...]
F = TypeVar("F", bound=Facts)


class Density(Record, ABC):
    """A distribution with a log density and a sampler, for K classes and D columns at once."""

    #: Whether a whole row of D columns is one observation.
    vector: bool = False

    @abstractmethod
    def log_density(self, x: Any) -> Float:
        """ln p(x) for each element; x is broadcast against the parameters. It is -inf outside the support."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Independent draws; their shape is ``size`` followed by the shape of the parameters."""

    def log_density_sum(self, x: Array) -> Float:
        """Σ_d ln p(x_nd | class k), (n, K), for rows x (n, D) in the support; missing values (NaN) are skipped."""
        x = np.asarray(x, dtype=np.float64)
        seen = ~np.isnan(x)
        filled = np.where(seen, x, 0.5)  # 0.5 lies in every support
        total = np.empty((len(x), self.batch[0]))
        for k in range(self.batch[0]):
            density = self[k].log_density(filled)
            total[:, k] = density if self.vector else np.where(seen, density, 0.0).sum(axis=1)
        return total


class Family(Density, Generic[F]):
    """A distribution of an exponential family: its parameters, densities, moments and estimates."""

    #: Type of the sufficient statistics, unless the family overrides `facts`.
    statistics: ClassVar[Any]
    #: Class of the conjugate prior, which sets this attribute when it is defined.
    conjugate: ClassVar[type[Prior[Any, Any]]]

    @staticmethod
    def u(x: Any) -> Float:
        """Sufficient statistics on a new last axis of length U; by default the identity."""
        return np.asarray(x, dtype=np.float64)[..., None]

    def log_h(self, x: Any) -> Float:
        """ln h(x), the factor of the density without parameters; 0 unless a family overrides it."""
        return np.zeros(np.shape(x))

    @property
    @abstractmethod
    def natural(self) -> Float:
        """Natural parameters η, with the U components on the last axis."""

    @property
    @abstractmethod
    def log_normaliser(self) -> Float:
        """Log normaliser A(η) = -ln g(η)."""

    @property
    def mean_u(self) -> Float:
        """Mean E[u(x)] = ∇A(η) (2.226); equal to E[x] unless a family overrides it."""
        return self.mean[..., None]

    if TYPE_CHECKING:  # some families have a field `mean`, for which a property would become the default value

        @property
        def mean(self) -> Float:
            """Mean E[x]."""

    @property
    @abstractmethod
    def variance(self) -> Float:
        """Variance of x; the covariance matrix if x is a vector."""

    @classmethod
    @abstractmethod
    def of_natural(cls, eta: Float) -> Self:
        """The distribution with these natural parameters."""

    @classmethod
    @abstractmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """The distribution with E[u] = ``mean_u``, which is the maximum-likelihood estimate (2.228)."""

    @staticmethod
    @abstractmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        """Raise DataError if x (n, D) has a value outside the support, with the column, the value and a remedy."""

    @classmethod
    def facts(cls, x: Array, R: Array) -> F:
        """Sufficient statistics of rows x (n, D) for each class, with responsibilities R (n, K)."""
        facts: F = cls.statistics.of(x, R)
        return facts

    @classmethod
    def ml(cls, facts: F) -> Self:
        """Maximum-likelihood estimate; raises `FactsError` if it does not exist for some class and column."""
        facts.require_some()
        return cls.of_mean_u(facts.mean_u)

    @classmethod
    def weak_prior(cls, facts: F, worth: float = 1.0) -> Any:
        """Conjugate prior equivalent to ``worth`` observations; see `Prior.weak`."""
        return cls.conjugate.weak(facts, worth)

    def log_density_sum(self, x: Array) -> Float:
        """Σ_d ln p(x_nd | class k) as matrix products: Σ_d η_kd'u(x_nd) - A_kd + ln h(x_nd).

        The rounding error is proportional to A. If A is large, densities are therefore computed one by one.
        """
        x, A = np.asarray(x, dtype=np.float64), self.log_normaliser
        if self.vector or np.abs(A).max(initial=0.0) > MAX_CANCELLING_NATS:
            return super().log_density_sum(x)
        missing, eta = np.isnan(x), self.natural
        holes = bool(missing.any())
        filled = np.where(missing, 0.5, x) if holes else x
        U, log_h = self.u(filled), self.log_h(filled)
        if holes:
            U, log_h = np.where(missing[..., None], 0.0, U), np.where(missing, 0.0, log_h)
        seen = ~missing @ A.T if holes else A.sum(axis=1)
        weighed = weigh(U.reshape(len(x), eta[0].size), eta.reshape(len(eta), eta[0].size))
        return np.asarray(weighed + log_h.sum(axis=1, keepdims=True) - seen)


Dist = TypeVar("Dist", bound=Density)


class Prior(Record, ABC, Generic[Dist, F]):
    """A conjugate prior, or a posterior of the same form. The class argument ``of`` is the family."""

    family: ClassVar[Any]

    def __init_subclass__(cls, of: type[Family[Any]] | None = None) -> None:
        super().__init_subclass__()
        if of is not None:
            cls.family, of.conjugate = of, cls

    @abstractmethod
    def updated(self, facts: F) -> Self:
        """The posterior, in which n observations are added to ν, and χ moves towards the mean of u."""

    @abstractmethod
    def log_marginal(self, facts: F) -> Float:
        """ln p(x_1 .. x_n) with the parameters integrated out; weights are exponents of the densities of the rows."""

    @property
    @abstractmethod
    def mode(self) -> Dist:
        """The distribution at the mode of η, which solves E[u] = χ."""

    def predictive(self) -> Density:
        """Distribution p(x) of the next observation, with the parameters integrated out.

        Its mean of u equals that at the mode. For Bernoulli and categorical, this mean determines it: it is the mode.
        """
        return self.mode

    @classmethod
    @abstractmethod
    def weak(cls, facts: F, worth: float = 1.0) -> Self:
        """Prior equivalent to ``worth`` pseudo-observations with the distribution of all classes together.

        For Bernoulli, categorical and multinomial, there are ``worth`` pseudo-observations of each outcome.
        """


def weigh(U: Array, c: Float) -> Float:
    """Compute Σ_j U_nj c_kj with 0 · (-inf) = 0; requires U >= 0 if c is -inf."""
    forbidden = np.isneginf(c)
    if not forbidden.any():
        return np.asarray(U @ c.T)
    total = U @ np.where(forbidden, 0.0, c).T
    return np.where(U @ forbidden.T.astype(np.float64) > 0, -np.inf, total)


def is_count(x: Array) -> Array:
    """Whether each value is a finite integer >= 0; False for NaN."""
    with np.errstate(invalid="ignore"):
        return np.asarray((x >= 0) & (x == np.floor(x)) & np.isfinite(x))


class SupportError(DataError):
    """A value outside the support of a family; ``row`` is its position in the rows that were checked, from 0."""

    def __init__(self, problem: str, want: str, remedy: str, row: int) -> None:
        self.parts, self.row = (problem, want, remedy), row
        super().__init__(f"{problem} in row {row + 1:,} (counted from 1), but {want}.", remedy=remedy)

    def in_row(self, row: int) -> SupportError:
        """The same error with the position of the row in a larger table."""
        return SupportError(*self.parts, row)

    def __reduce__(self) -> Any:  # for workers of a cluster
        return SupportError, (*self.parts, self.row)


def reject(bad: Array, x: Array, columns: Sequence[str], *, want: str, remedy: str) -> None:
    """Raise `SupportError` with the name of the first column with a bad value, and the value."""
    count = bad.sum(axis=0)
    if not count.any():
        return
    d = int(np.flatnonzero(count)[0])
    row = int(bad[:, d].argmax())
    value = float(np.asarray(x)[row, d])
    others = np.count_nonzero(count) - 1
    also = f" (and {others} more column{'s' if others > 1 else ''})" if others else ""
    raise SupportError(f"Column {columns[d]!r}{also} contains {value:g}", want, remedy, row)


def reject_missing(x: Array, columns: Sequence[str], *, remedy: str) -> None:
    """Raise DataError for the first column with a missing value, for families that describe a whole row."""
    missing = np.isnan(x).sum(axis=0)
    if missing.any():
        d = int(np.flatnonzero(missing)[0])
        raise DataError(f"Column {columns[d]!r} has {int(missing[d])} missing values (NaN). {remedy}")


def shape_of(size: Size, batch: tuple[int, ...]) -> tuple[int, ...]:
    """``size`` followed by the shape of the parameters."""
    return ((size,) if isinstance(size, int) else tuple(size)) + batch
