# SPDX-License-Identifier: BSD-3-Clause
"""Models whose answer is a function of a(x) = W φ(x) + w0: prediction rules, and discriminative models."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from separatrix.discriminative import DiscriminativeClassifier, GeneralizedLinearModel
from separatrix.estimator import LinearClassifier
from separatrix.likelihoods import (
    Bernoulli,
    CLogLog,
    GammaInverse,
    GammaLog,
    LabelNoise,
    Logit,
    NormalIdentity,
    NormalLog,
    PoissonLog,
    Probit,
    Softmax,
    SoftmaxLabelNoise,
)
from separatrix.onnx.answer import Answer, answer, of_scores, of_two
from separatrix.onnx.averages import normal_cdf
from separatrix.onnx.basis import through_basis
from separatrix.onnx.graph import ExportError, Value
from separatrix.rules import FisherDiscriminant, LeastSquaresClassifier, Perceptron
from separatrix.study import PriorOnly

__all__ = ["activation", "probability"]


def activation(model: LinearClassifier, X: Value) -> Value:
    """`decision_function`: (N,) for two classes, (N, K) for more."""
    a = through_basis(model, X) @ model.coef_.T + model.intercept_
    return a.column(0) if len(model.coef_) == 1 else a


@singledispatch
def probability(likelihood: Any, a: Value) -> Value:
    """p(C_1 | a) (N,) of one activation per row, p(C_k | a) (N, K) of K."""
    raise ExportError(f"to_onnx: the likelihood {likelihood!r} has no form in ONNX here.")


@probability.register(Logit)
@probability.register(LabelNoise)
def _(likelihood: Any, a: Value) -> Value:
    return a.sigmoid()


@probability.register(Softmax)
@probability.register(SoftmaxLabelNoise)
def _(likelihood: Any, a: Value) -> Value:
    return a.softmax()


@probability.register
def _(likelihood: Probit, a: Value) -> Value:
    return normal_cdf(a)


@probability.register
def _(likelihood: CLogLog, a: Value) -> Value:
    return 1.0 - (-(a.at_most(30.0).exp())).exp()


@answer.register(LeastSquaresClassifier)
@answer.register(FisherDiscriminant)
@answer.register(Perceptron)
def _(model: Any, X: Value) -> Answer:
    """Rules have no probabilities."""
    return of_scores(model.classes_, activation(model, X))


@answer.register
def _(model: DiscriminativeClassifier, X: Value) -> Answer:
    a = activation(model, X)
    if len(model.classes_) > 2:
        return of_scores(model.classes_, a, probability(model.likelihood_, a))
    return of_two(model.classes_, a, *(probability(model.likelihood_, side) for side in (-a, a)))


@answer.register
def _(model: PriorOnly, X: Value) -> Answer:
    P = 0.0 * X.sum(1, keep=True) + model._p
    return Answer(model.classes_, P.argmax(), probabilities=P)


@answer.register
def _(model: GeneralizedLinearModel, X: Value) -> Answer:
    """The mean; of a binary target that is a probability, but the model knows no classes."""
    a = through_basis(model, X) @ model.coef_ + float(model.intercept_)
    match model.likelihood_:
        case NormalIdentity():
            mean = a
        case NormalLog() | PoissonLog() | GammaLog():
            mean = a.exp()
        case GammaInverse():
            mean = (1.0 / a).where(a > 0.0, 0.0 * a + np.nan)  # no mean exists where a is not positive
        case Bernoulli() as binary:
            mean = probability(binary.binary, a)
        case other:
            raise ExportError(f"to_onnx: the likelihood {other!r} has no form in ONNX here.")
    return Answer(np.empty(0), mean=mean)
