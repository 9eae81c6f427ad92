# SPDX-License-Identifier: BSD-3-Clause
"""Estimates of class densities from sufficient statistics, and the linear form of some densities.

The conjugate prior of each family is equivalent to ``pseudo_count`` observations. For Bernoulli, categorical and
multinomial columns, it is equivalent to ``pseudo_count`` observations of *each* outcome, so a pseudo-count of 1 is
Laplace's correction (n_kj + 1)/(n_k + 2). For the other families, the pseudo-observations have the distribution of all
classes together, so no result depends on units. There are three estimates:

    "ml"           the parameters η that maximise the likelihood
    "map"          the mode of p(η | x) ∝ exp((ν + n)(η'χ_n - A(η))), which is maximum likelihood with the
                   pseudo-observations added to the data                                          PRML (2.229, 2.230)
    "predictive"   η integrated out: Student t for normal, negative binomial for Poisson, Lomax for exponential, ...

For some densities the classifier is linear: ln p(x | C_k) = w_k'(x - m) + w_k0, up to terms that all classes share. If
u(x) = x and the classes share a scale s, p(x | λ, s) = h(x/s)/s g(λ) exp(λ'x/s), and for two classes     PRML §4.2.4

    a(x) = (λ_1 - λ_0)'x/s + ln g(λ_1) - ln g(λ_0) + ln π_1/π_0                                              (4.85)

======================== ============ ============= ==========
family                   w            w0            shared
======================== ============ ============= ==========
Bernoulli                ln μ/(1-μ)   ln(1-μ)
Poisson                  ln λ         -λ
exponential              -b           ln b
multinomial              ln μ         0
normal                   (μ-m)/σ²     -(μ-m)²/2σ²   σ
gamma                    -b           a ln b        a
multivariate normal      Σ⁻¹(μ-m)     -½(μ-m)'w     Σ
======================== ============ ============= ==========
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix import families
from separatrix._array import Float, Rows, to_dense
from separatrix._linalg import VANISHING_VARIANCE
from separatrix._special import MAX_CANCELLING_NATS
from separatrix.stats import Group, GroupedFacts, linear_scores

ESTIMATES = ("ml", "map", "predictive")


@dataclass(frozen=True)
class GroupedDensity:
    """Density p(x | C_k) as a product over groups of columns; missing values are omitted from the product.

    Columns whose values are all equal belong to no group: they have no density, and every drawn row has their value.
    """

    groups: tuple[Group, ...]
    densities: tuple[Any, ...]
    constant: tuple[tuple[int, float], ...] = ()  # position and value of each constant column

    @property
    def n_columns(self) -> int:
        return sum(len(group.columns) for group in self.groups) + len(self.constant)

    def log_density(self, X: Rows, names: Sequence[str]) -> Float:
        pairs = zip(self.groups, self.densities, strict=True)
        return np.asarray(sum(group.log_density(density, group.checked(X, names)) for group, density in pairs))

    def column_terms(self, X: Rows, names: Sequence[str]) -> Float:
        """ln p_d(x_d | C_k) of each column, (n, D, K), for families of single columns; 0 if a value is missing.

        For a multinomial vector of words, the term of a word is its weight times ln μ_kd.
        """
        x, found = to_dense(X).astype(np.float64), dict[int, Float]()
        for group, density in zip(self.groups, self.densities, strict=True):
            part = np.asarray(group.checked(x, names), dtype=np.float64)
            if group.family == "multinomial":
                words = np.nan_to_num(part)[:, :, None] * density.log_probability.T
                found |= dict(zip(group.columns, np.moveaxis(words, 1, 0), strict=True))
                continue
            for i, d in enumerate(group.columns):  # the other columns are missing, so their terms are zero
                alone = np.full_like(part, np.nan)
                alone[:, i] = part[:, i]
                found[d] = density.log_density_sum(alone)
        K = next(iter(found.values())).shape[1]
        zero = np.zeros((len(x), K))
        return np.stack([found.get(d, zero) for d in range(x.shape[1])], axis=1)

    def draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        """Draw rows of class k."""
        X = np.empty((size, self.n_columns))
        for d, value in self.constant:
            X[:, d] = value
        for group, density in zip(self.groups, self.densities, strict=True):
            X[:, list(group.columns)] = density[k].sample(rng, size)
        return X


def constant_columns(facts: GroupedFacts) -> tuple[tuple[int, float], ...]:
    """Position and value of each column with a normal density whose values are all equal."""
    found = []
    for group, part in zip(facts.groups, facts.parts, strict=True):
        if isinstance(part, families.Moments):
            pooled = sum((part[k] for k in range(1, len(part.count))), start=part[0])
            equal = pooled.is_constant & (pooled.count > 0)
            found += [(d, float(pooled.mean[i])) for i, d in enumerate(group.columns) if equal[i]]
    return tuple(found)


def prior_of(family: str, facts: Any, worth: float = 1.0) -> Any:
    """Conjugate prior equivalent to ``worth`` observations, in the units of the data."""
    if family == "normal_known_variance":
        # σ² is the variance within classes, after adding ``worth`` pseudo-observations with the overall variance.
        overall = families.NormalGamma.weak(facts)  # raises an error with the column if all values are equal
        total = facts.count.sum(axis=0, keepdims=True) + worth
        variance = facts.scatter.sum(axis=0, keepdims=True) / total + worth / total * (2 * overall.rate)
        sd = np.sqrt(variance)
        return families.NormalNormal(overall.mean, sd / np.sqrt(worth), sd)
    return families.FAMILIES[family].conjugate.weak(facts, worth)


def density_of(family: str, facts: Any, estimate: str, prior: Any = None) -> Any:
    """Estimate p(x | C_k) of each class from its statistics; "ml" does not use ``prior``."""
    counts = facts.by_code if family == "categorical" else facts
    if estimate == "ml" and isinstance(facts, families.Moments):
        # Equal values have a vanishing variance. A variance that classes share vanishes only if all of them are equal.
        equal = facts.is_constant if family == "normal" else facts.is_constant.all(axis=0)
        vanishing = VANISHING_VARIANCE * facts.count * facts.overall().variance
        counts = families.Moments(facts.count, facts.mean, np.where(equal, vanishing, facts.scatter))
    if estimate == "ml":
        density: Any = families.FAMILIES[family].ml(counts)
    else:
        posterior = prior.updated(counts)
        density = posterior.predictive() if estimate == "predictive" else posterior.mode
    return families.ValuedCategorical(facts.values, density) if family == "categorical" else density


def log_prior(prior: Any, density: Any) -> float:
    """Log of a conjugate prior at the parameters of ``density``, ν Σ_kd (η'χ - A(η)), up to a constant: PRML (2.229).

    EM with a prior increases the sum of this log prior and the log likelihood.
    """
    match prior:
        case families.BetaBernoulli():
            terms = prior.a * density.log_odds - (prior.a + prior.b) * density.log_normaliser
        case families.DirichletCategorical() | families.DirichletMultinomial():
            log_mu = (density.by_code if isinstance(prior, families.DirichletCategorical) else density).log_probability
            terms = np.where(prior.alpha > 0, prior.alpha * np.where(prior.alpha > 0, log_mu, 0.0), 0.0)
        case families.GammaPoisson():
            terms = prior.shape * np.log(density.rate) - prior.rate * density.rate
        case families.GammaExponential():
            terms = (prior.shape - 1) * np.log(density.rate) - prior.rate * density.rate
        case families.NormalGamma():
            squares = 2 * prior.rate + prior.count * np.square(density.mean - prior.mean)
            terms = -0.5 * squares / density.variance - prior.count * np.log(density.sd)
        case families.NormalWishart():
            delta = density.mean - prior.mean
            scatter = prior.scatter + prior.count[..., None, None] * delta[..., :, None] * delta[..., None, :]
            W, half_log_det = families.whitener(density.covariance)
            distance = np.einsum("...ij,...jk,...ik->...", W, scatter, W)
            terms = -0.5 * distance - prior.count * half_log_det
        case _:  # gamma, beta, Dirichlet: χ contains the mean logs and, for gamma, the mean
            chi = np.log(prior.mean) - prior.gap / prior.count[..., None]
            if isinstance(prior, families.ConjugateGamma):
                chi = np.concatenate([chi, prior.mean], axis=-1)
            terms = prior.count * ((density.natural * chi).sum(axis=-1) - density.log_normaliser)
    return float(np.sum(terms))


class Affine(NamedTuple):
    """Linear form of ln p(x | C_k): weights W (K, D), intercepts w0 (K,) and the origin m (D,)."""

    W: Float
    w0: Float
    origin: Float

    @property
    def cancels(self) -> bool:
        """Whether terms are so large that differences between the scores are less accurate than the densities."""
        return bool(max(np.abs(self.w0).max(), (np.abs(self.W) @ np.abs(self.origin)).max()) > MAX_CANCELLING_NATS)

    def scores(self, X: Rows) -> Float:
        """Scores w_k'(x - m) + w_k0, (n, K)."""
        return linear_scores(X, self.W, self.w0 - self.W @ self.origin, np.zeros_like(self.origin))


def affine_form(density: GroupedDensity) -> Affine | None:
    """Linear form of all groups together; None if a group has no finite linear form."""
    with np.errstate(over="ignore", invalid="ignore"):  # see the last line
        parts = [_affine(each) for each in density.densities]
    if any(part is None for part in parts):
        return None
    K = len(parts[0][0])  # type: ignore[index]  # none is None
    D = density.n_columns
    W, w0, origin = np.zeros((K, D)), np.zeros(K), np.zeros(D)
    for group, (w, constant, m) in zip(density.groups, parts, strict=True):  # type: ignore[misc]
        W[:, group.columns], origin[list(group.columns)] = w, m
        w0 += constant
    return Affine(W, w0, origin) if np.isfinite(W).all() and np.isfinite(w0).all() else None


def why_not_affine(density: GroupedDensity, names: Sequence[str]) -> str:
    """Explain why there is no linear form, for the first group without one."""
    for group, each in zip(density.groups, density.densities, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            form = _affine(each)
        column = f"column {names[group.columns[0]]!r} ({group.family})"
        if form is None:
            kind = f"a {type(each).__name__} with separate parameters for each class"
            return f"the log-odds are not linear in {column}, whose density is {kind}"
        if not np.isfinite(form[0]).all():
            return f"a probability is 0 in {column}, so the log-odds are infinite; estimate='map' keeps them finite"
    return "a class has no rows yet"


def _affine(density: Any) -> tuple[Float, Float, Float] | None:
    """Linear form (w, w0, m) of one group, from the table in the docstring of this module."""
    match density:
        case families.Bernoulli() | families.Poisson() | families.Exponential():
            w = density.natural[..., 0]  # λ_k of (4.85); (4.82) for 0/1 columns
            return w, -density.log_normaliser.sum(axis=1), np.zeros(w.shape[1])
        case families.Multinomial():
            w = density.log_probability
            return w, np.zeros(len(w)), np.zeros(w.shape[1])
        case families.Gamma() if _is_shared(density.shape):
            return -density.rate, (density.shape * np.log(density.rate)).sum(axis=1), np.zeros(density.rate.shape[1])
        case families.NormalKnownVariance() if _is_shared(density.sd):
            m = density.mean.mean(axis=0)
            w = (density.mean - m) / density.variance
            return w, -0.5 * (w * (density.mean - m)).sum(axis=1), m
        case families.MultivariateNormal() if _is_shared(density.covariance):
            m = density.mean.mean(axis=0)
            w = np.linalg.solve(density.covariance[0], (density.mean - m).T).T
            return w, -0.5 * (w * (density.mean - m)).sum(axis=1), m
    return None


def _is_shared(parameter: Float) -> bool:
    return bool((parameter == parameter[:1]).all())
