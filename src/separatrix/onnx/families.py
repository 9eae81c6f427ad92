# SPDX-License-Identifier: BSD-3-Clause
"""Exponential families: ln p(x | C_k) = Σ_d η_kd'u(x_d) - A_kd, but for ln h(x), which all classes share.

A missing value (NaN) is left out of the sum, as in the models. Values outside of a family's support, which the models
refuse, are not noticed by a graph.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy import special

from separatrix._array import Float
from separatrix.families import (
    Bernoulli,
    Beta,
    Dirichlet,
    DirichletMultinomialPredictive,
    Exponential,
    Gamma,
    Lomax,
    Multinomial,
    MultivariateNormal,
    MultivariateT,
    NegativeBinomial,
    Normal,
    NormalKnownVariance,
    Poisson,
    StudentT,
    ValuedCategorical,
)
from separatrix.generative import DenseCovariance, FamilyClassifier
from separatrix.onnx.answer import Answer, answer, of_log_joint
from separatrix.onnx.gaussian import class_distances
from separatrix.onnx.graph import ExportError, Value

__all__ = ["log_density", "log_gamma"]

SHIFT = 8  # lnΓ(x) = lnΓ(x + 8) - ln x (x + 1) ... (x + 7), and Stirling's series is good from there on
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


@answer.register
def _(model: FamilyClassifier, X: Value) -> Answer:
    model._require_parameters()
    density = model._density_of_rows
    parts = [
        log_density(each, X.columns(group.columns))
        for group, each in zip(density.groups, density.densities, strict=True)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    with np.errstate(divide="ignore"):
        log_priors = np.log(model.priors_)
    if model.temperature_ == 0.0:  # what is impossible stays so
        total = (0.0 * total.is_nan().as_double()).where(total > -np.inf, total)
    else:
        total = total * model.temperature_
    return of_log_joint(model.classes_, total + log_priors, model.priors_)


@singledispatch
def log_density(density: Any, x: Value) -> Value:
    """ln p of columns x (N, D) under each class (N, K), less what all classes share."""
    raise ExportError(
        f"to_onnx: {type(density).__name__}, the predictive density of gamma, beta and Dirichlet columns, is an "
        "integral for every value and has no form in ONNX. Fit with estimate='map'."
    )


@log_density.register(Poisson)
@log_density.register(Exponential)
def _(density: Any, x: Value) -> Value:
    return _linear([x], density.natural[..., 0][..., None], density.log_normaliser, x)


@log_density.register
def _(density: Gamma, x: Value) -> Value:
    return _linear([x.log(), x], density.natural, density.log_normaliser, x)


@log_density.register
def _(density: Beta, x: Value) -> Value:
    return _linear([x.log(), (1.0 - x).log()], density.natural, density.log_normaliser, x)


@log_density.register
def _(density: Bernoulli, x: Value) -> Value:
    """x ln μ + (1 - x) ln(1 - μ), either of which may be impossible."""
    heads, tails = special.log_expit(density.log_odds), special.log_expit(-density.log_odds)
    return _weighed(_seen(x, x), heads) + _weighed(_seen(1.0 - x, x), tails)


@log_density.register
def _(density: Multinomial, x: Value) -> Value:
    return _weighed(x, density.log_probability)


@log_density.register
def _(density: Dirichlet, x: Value) -> Value:
    return x.log() @ density.natural.T - density.log_normaliser


@log_density.register(Normal)
@log_density.register(NormalKnownVariance)
def _(density: Any, x: Value) -> Value:
    """Class by class, about the mean: nothing is lost for columns far from zero."""
    z = (x.expand(1) - density.mean) / density.sd
    return _seen(-0.5 * z.square() - np.log(density.sd), x.expand(1)).sum(2)


@log_density.register
def _(density: StudentT, x: Value) -> Value:
    nu = density.dof
    constant = special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2) - 0.5 * np.log(nu) - np.log(density.scale)
    z = (x.expand(1) - density.location) / (density.scale * np.sqrt(nu))
    return _seen(constant - 0.5 * (nu + 1) * (1.0 + z.square()).log(), x.expand(1)).sum(2)


@log_density.register
def _(density: Lomax, x: Value) -> Value:
    constant = np.log(density.shape) - np.log(density.rate)
    return _seen(constant - (density.shape + 1) * (1.0 + x.expand(1) / density.rate).log(), x.expand(1)).sum(2)


@log_density.register
def _(density: NegativeBinomial, x: Value) -> Value:
    a, b = density.shape, density.rate
    constant = a * (np.log(b) - np.log1p(b)) - special.gammaln(a)
    n = x.expand(1)
    return _seen(log_gamma(n + a) + constant - n * np.log1p(b), n).sum(2)


@log_density.register
def _(density: DirichletMultinomialPredictive, x: Value) -> Value:
    alpha = density.alpha
    total = alpha.sum(axis=-1)
    constant = special.gammaln(total) - special.gammaln(alpha).sum(axis=-1)
    parts = log_gamma(x.expand(1) + alpha).sum(2)
    return parts - log_gamma(x.sum(1, keep=True) + total) + np.asarray(constant)


@log_density.register
def _(density: MultivariateNormal, x: Value) -> Value:
    covariances = [DenseCovariance(Sigma) for Sigma in density.covariance]
    pairs = zip(density.mean, covariances, strict=True)
    return x.graph.stack([-0.5 * class_distances(x, m, Sigma) - 0.5 * Sigma.log_det for m, Sigma in pairs])


@log_density.register
def _(density: MultivariateT, x: Value) -> Value:
    D, columns = density.location.shape[-1], []
    for nu, m, scale in zip(density.dof, density.location, density.scale, strict=True):
        Sigma = DenseCovariance(scale)
        constant = special.gammaln((nu + D) / 2) - special.gammaln(nu / 2) - 0.5 * (D * np.log(nu) + Sigma.log_det)
        distance = class_distances(x, m, Sigma) / float(nu)
        columns.append(float(constant) - 0.5 * float(nu + D) * (1.0 + distance).log())
    return x.graph.stack(columns)


@log_density.register
def _(density: ValuedCategorical, x: Value) -> Value:
    """Each column by comparison with its values; one that was never seen has a probability of its own."""
    parts = [_category(density.by_code[:, [d]], values, x.columns([d])) for d, values in enumerate(density.values)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _category(by_code: Any, values: Any, x: Value) -> Value:
    """ln p of one column x (N, 1) under each class."""
    log_p = by_code.log_probability[:, 0, : len(values)]
    unseen = by_code.log_unseen[:, 0]
    log_p = np.where(np.isneginf(log_p), unseen[:, None], log_p)
    hit = x.equals(np.asarray(values, dtype=np.float64)).as_double()  # (N, L)
    miss = (1.0 - hit.sum(1, keep=True)) * (1.0 - x.is_nan().as_double())
    return _weighed(hit, log_p) + _weighed(miss, unseen[:, None])


def _linear(u: list[Value], eta: Float, A: Float, x: Value) -> Value:
    """Σ_d Σ_j u_j(x_d) η_kdj - A_kd over the columns that are seen."""
    total = _seen(0.0 * x + 1.0, x) @ (-A.T)
    for j, each in enumerate(u):
        total = total + _weighed(_seen(each, x), eta[..., j])
    return total


def _seen(terms: Value, x: Value) -> Value:
    """The terms, and zero where x is missing."""
    return (0.0 * x.is_nan().as_double()).where(x.is_nan(), terms)


def _weighed(U: Value, c: Float) -> Value:
    """Σ_j U_nj c_kj with 0 · (-inf) = 0; U >= 0 wherever c is -inf."""
    forbidden = np.isneginf(c)
    total = U @ np.where(forbidden, 0.0, c).T
    if not forbidden.any():
        return total
    met = U @ forbidden.T.astype(np.float64)
    return (0.0 * met - np.inf).where(met > 0.0, total)


def log_gamma(x: Value) -> Value:
    """lnΓ(x) for x > 0, to 1e-11: ONNX has no such operator."""
    product = x
    for step in range(1, SHIFT):
        product = product * (x + float(step))
    far = x + float(SHIFT)
    inverse = 1.0 / far
    square = inverse.square()
    series = square * STIRLING[-1] + STIRLING[-2]
    for coefficient in reversed(STIRLING[:-2]):
        series = series * square + coefficient
    return (far - 0.5) * far.log() - far + float(0.5 * np.log(2 * np.pi)) + series * inverse - product.log()
