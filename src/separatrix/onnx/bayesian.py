# SPDX-License-Identifier: BSD-3-Clause
"""Bayesian logistic regression: the activation is Gaussian, mean m'φ̃ and variance φ̃'A⁻¹φ̃, and is integrated out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, singledispatch
from typing import Any, NamedTuple

import numpy as np

from separatrix.bayesian import (
    Approximation,
    BayesianLogisticRegression,
    ByClassApproximation,
    DiagonalApproximation,
    DualApproximation,
)
from separatrix.likelihoods import Probit
from separatrix.onnx.answer import Answer, answer, two_columns
from separatrix.onnx.averages import logistic_mean, normal_cdf
from separatrix.onnx.basis import through_basis
from separatrix.onnx.graph import ExportError, Value
from separatrix.onnx.linear import activation, probability
from separatrix.onnx.softmax import softmax_normal, softmax_probit_rule
from separatrix.stats import Design

__all__ = ["Activations", "activations"]


class Activations(NamedTuple):
    """Mean and covariance of each row's activation: (N,) and (N,) for one output, (N, K) and (N, K, K) for more."""

    mean: Value
    cov: Value


@answer.register
def _(model: BayesianLogisticRegression, X: Value) -> Answer:
    Phi = _regressors(through_basis(model, X), model.posterior_.design)
    a = activations(model.posterior_.approximation, Phi)
    rule = model._rule or model.predictive
    if model.draws_ is not None and model.predictive != "map":
        P = _of_draws(model, Phi)
    elif len(model.classes_) == 2:
        P = two_columns(*(_of_two(model.likelihood_, sign * a.mean, a.cov, rule) for sign in (-1.0, 1.0)))
    else:
        P = _of_classes(model.likelihood_, a, rule, len(model.classes_))
    found = Answer(model.classes_, P.argmax(), activation(model, X), P)
    if len(model.classes_) > 2:
        return found
    link = partial(probability, model.likelihood_)
    return replace(found, centre=a.mean, spread=a.cov.sqrt(), link=link)


def _regressors(Phi: Value, design: Design) -> Value:
    """φ̃ = (x - c, 1)."""
    Z = Phi - design.origin
    if not design.bias:
        return Z
    one = 0.0 * Z.columns([0]) + 1.0
    return Z.graph.join([Z, one])


def _of_two(likelihood: Any, mean: Value, var: Value, rule: str) -> Value:
    if rule == "map":
        return probability(likelihood, mean)
    if isinstance(likelihood, Probit):
        return normal_cdf(mean / (1.0 + var).sqrt())
    if rule == "probit":
        return (mean / (1.0 + np.pi / 8 * var).sqrt()).sigmoid()
    return logistic_mean(mean, var)


def _of_classes(likelihood: Any, a: Activations, rule: str, K: int) -> Value:
    if rule == "map":
        return probability(likelihood, a.mean)
    if rule == "qmc":
        raise ExportError(
            "to_onnx: predictive='qmc' takes the eigenvectors of a matrix for every row, which ONNX cannot compute. "
            "Set predictive='exact' first, for example model.set_params(predictive='exact')."
        )
    average = softmax_probit_rule if rule == "probit" else softmax_normal
    return average(a.mean, a.cov, K)


def _of_draws(model: BayesianLogisticRegression, Phi: Value) -> Value:
    """Σ_s weight_s p(t | x, θ_s)."""
    assert model.draws_ is not None, "importance sampling leaves draws"
    theta, weights = model.draws_.theta, model.draws_.weights
    S, C, P = theta.shape
    if C == 1:
        A = Phi @ theta[:, 0].T
        return two_columns(*(probability(model.likelihood_, side) @ weights for side in (-A, A)))
    A = Phi @ theta.reshape(S * C, P).T
    each = probability(model.likelihood_, Phi.graph.op("Reshape", A, np.array([-1, S, C])))
    return (each * weights[:, None]).sum(1)


@singledispatch
def activations(approximation: Any, Phi: Value) -> Activations:
    """Under a Gaussian over the weights, of regressors φ̃ (N, P)."""
    raise ExportError(f"to_onnx: a posterior kept as {type(approximation).__name__} has no form in ONNX here.")


@activations.register
def _(approximation: Approximation, Phi: Value) -> Activations:
    root, (C, P) = approximation.factor.root, approximation.mean.shape
    if C == 1:
        return Activations(Phi @ approximation.mean[0], (Phi @ root).square().sum(1))
    spread = Phi.graph.stack([Phi @ root[k * P : (k + 1) * P] for k in range(C)])
    return Activations(Phi @ approximation.mean.T, spread @ spread.turned(0, 2, 1))


@activations.register
def _(approximation: ByClassApproximation, Phi: Value) -> Activations:
    axes = approximation.axes
    var = Phi.graph.stack([(Phi @ factor.root).square().sum(1) for factor in approximation.factors])
    return Activations(Phi @ approximation.mean.T, (var.expand(1) * axes) @ axes.T)


@activations.register
def _(approximation: DiagonalApproximation, Phi: Value) -> Activations:
    mean, var = Phi @ approximation.mean.T, Phi.square() @ (1 / approximation.precision).T
    if len(approximation.mean) == 1:
        return Activations(mean.column(0), var.column(0))
    return Activations(mean, var.expand(2) * np.eye(len(approximation.mean)))


@activations.register
def _(approximation: DualApproximation, Phi: Value) -> Activations:
    """What lies in the span of the training rows, and the prior variance of the rest."""
    M, P = len(approximation.precision), approximation.mean.shape[1]
    Z = Phi.columns(range(M))
    L = Z @ approximation.basis
    thin = L if P == M else Phi.graph.join([L, Phi.columns(range(M, P))])
    within = activations(approximation.thin, thin)
    outside = (Z.square() @ (1 / approximation.precision) - L.square().sum(1)).at_least(0.0)
    if len(approximation.mean) == 1:
        return Activations(within.mean, within.cov + outside)
    return Activations(within.mean, within.cov + outside.expand(1).expand(2) * np.eye(len(approximation.mean)))
