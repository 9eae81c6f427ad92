# SPDX-License-Identifier: BSD-3-Clause
"""Graph of each kind of model: linear, generative and Bayesian models, and the bases that they use.

`predictions` dispatches on the class of the model. Generative models may have normal, Bernoulli and categorical
columns; missing values (NaN) do not contribute to the log density. The graph of a discriminant analysis returns NaN for
rows with missing values, although the model marginalises over them. Graphs do not check the support of a family.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce, singledispatch
from operator import add
from typing import Any

import numpy as np
from scipy import special

from separatrix import bayesian, families, generative, likelihoods
from separatrix._array import Array, Codes, Float
from separatrix.basis import AbstractBasis, Cosines, Gaussians, Identity, Joined, Monomials, Sigmoids
from separatrix.comparison import ModelAverage
from separatrix.discriminative import DiscriminativeClassifier, GeneralizedLinearModel, ProbitRegression
from separatrix.estimator import LinearClassifier
from separatrix.exceptions import ExportError
from separatrix.export.graph import Value
from separatrix.export.onnx_integrals import logistic_mean, normal_cdf, softmax_normal, softmax_probit_rule
from separatrix.rules import FisherDiscriminant, LeastSquaresClassifier, Perceptron, log_priors
from separatrix.study import PriorOnly
from separatrix.table_model import MAX_DEVIATIONS, RadialFunctions, RampFunctions, RampProducts
from separatrix.weights import WeightDistribution

FAR_IN_WIDTHS = 1e4  # spread of the centres, in widths, beyond which |x|² + |c|² - 2 x'c loses too many digits


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for N rows. Fields that a model does not have are None.

    ``code`` (N,) is the index of the class in ``labels``. ``scores`` is the ``decision_function``, (N,) for two classes
    and (N, K) for more. ``probabilities`` is (N, K). ``mean`` (N,) is the prediction of a regression. ``quantile``
    returns a quantile (N,) of the probability of ``labels[1]`` for a level.
    """

    labels: Array
    code: Value | None = None
    scores: Value | None = None
    probabilities: Value | None = None
    mean: Value | None = None
    quantile: Callable[[float], Value] | None = None


@singledispatch
def predictions(model: Any, X: Value) -> Predictions:
    """Graph of a fitted model; X (N, D) is the float64 input, with NaN for missing values."""
    raise ExportError(
        f"to_onnx: {type(model).__qualname__} cannot be exported to ONNX. Linear and generative models, "
        "BayesianLogisticRegression and TableClassifier can be. For a wrapper, export the models inside it one by "
        "one, or save all with sx.save. For models of scikit-learn, use skl2onnx."
    )


def activation(model: LinearClassifier, X: Value) -> Value:
    """The ``decision_function``, (N,) for two classes and (N, K) for more."""
    W, w0 = model._weights
    a = features(model, X) @ W.T + w0
    return a.column(0) if len(W) == 1 else a


def probability(likelihood: Any, a: Value) -> Value:
    """p(C_1 | a) (N,) if there is one activation per row, p(C_k | a) (N, K) if there are K."""
    match likelihood:
        case likelihoods.Logit() | likelihoods.LabelNoise():
            return a.sigmoid()
        case likelihoods.Softmax() | likelihoods.SoftmaxLabelNoise():
            return a.softmax()
        case likelihoods.Probit():
            return normal_cdf(a)
        case likelihoods.CLogLog():
            return 1.0 - (-(a.at_most(30.0).exp())).exp()
    raise ExportError(f"to_onnx: the likelihood {likelihood!r} cannot be exported to ONNX.")


def _of_scores(labels: Array, scores: Value, probabilities: Value | None = None) -> Predictions:
    """Predict the class with the largest score; with two classes, the second class if its score is positive."""
    code = (scores > 0.0).as_codes() if len(labels) == 2 else scores.argmax()
    return Predictions(labels, code, scores, probabilities)


@predictions.register(LeastSquaresClassifier)
@predictions.register(Perceptron)
def _(model: Any, X: Value) -> Predictions:
    return _of_scores(model.classes_, activation(model, X))  # these models have no probabilities


@predictions.register
def _(model: FisherDiscriminant, X: Value) -> Predictions:
    centres = model._centres
    if centres is None:
        return _of_scores(model.classes_, activation(model, X))
    Z = (features(model, X) - model.mean_) @ model.scalings_
    nearest = (Z @ centres.T - 0.5 * (centres**2).sum(axis=1)).argmax()
    near = Z.graph.op("Gather", centres, nearest, axis=0)
    scores = [((c - near) * (Z - 0.5 * (c + near))).sum(1) for c in centres]
    return _of_scores(model.classes_, Z.graph.stack(scores) + log_priors(model.priors_, model.threshold))


@predictions.register
def _(model: DiscriminativeClassifier, X: Value) -> Predictions:
    a, p = activation(model, X), partial(probability, model.likelihood_)
    if isinstance(model, ProbitRegression) and (c := model._undone) is not None:
        weighted = a + float(special.ndtri(c[1] / c.sum()))
        P = a.graph.stack([p(-weighted) / float(c[0]), p(weighted) / float(c[1])])
        return _of_scores(model.classes_, a, P / P.sum(1, keep=True))
    return _of_scores(model.classes_, a, p(a) if len(model.classes_) > 2 else a.graph.stack([p(-a), p(a)]))


@predictions.register
def _(model: PriorOnly, X: Value) -> Predictions:
    P = 0.0 * X.sum(1, keep=True) + model._p
    return Predictions(model.classes_, P.argmax(), probabilities=P)


@predictions.register
def _(model: ModelAverage, X: Value) -> Predictions:
    terms = []
    for name, weight in model.weights_.items():
        if weight > 0:
            found = predictions(model.models_[name], X)
            if found.probabilities is None or found.labels.tolist() != model.classes_.tolist():
                raise ExportError(f"to_onnx: {name!r} has no probabilities of the classes of the average.")
            terms.append(weight * found.probabilities)
    P = reduce(add, terms)
    return Predictions(model.classes_, P.argmax(), probabilities=P)


@predictions.register
def _(model: GeneralizedLinearModel, X: Value) -> Predictions:
    """Predict the mean; for a binary target it is a probability, because the model has no classes."""
    a = features(model, X) @ model.coef_ + float(model.intercept_)
    match model.likelihood_:
        case likelihoods.NormalIdentity():
            mean = a
        case likelihoods.NormalLog() | likelihoods.PoissonLog() | likelihoods.GammaLog():
            mean = a.exp()
        case likelihoods.GammaInverse():
            mean = (1.0 / a).where(a > 0.0, 0.0 * a + np.nan)  # no mean exists if a is not positive
        case likelihoods.Bernoulli() as binary:
            mean = probability(binary.binary, a)
        case other:
            raise ExportError(f"to_onnx: the likelihood {other!r} cannot be exported to ONNX.")
    return Predictions(np.empty(0), mean=mean)


def of_log_joint(labels: Array, log_joint: Value, priors: Float) -> Predictions:
    """Predictions from ln p(x, C_k) up to a common term. If all are minus infinity, the probabilities are the prior.

    The largest term is subtracted here, because the softmax of some runtimes returns NaN if all are minus infinity.
    """
    largest = log_joint.max(1, keep=True)
    impossible = largest.equals(-np.inf)
    e = (log_joint - log_joint.graph.constant(0.0).where(impossible, largest)).exp()
    P = log_joint.graph.constant(priors).where(impossible, e / e.sum(1, keep=True))
    scores = log_joint.column(1) - log_joint.column(0) if len(labels) == 2 else P.log()
    return Predictions(labels, P.argmax(), scores, P)


@predictions.register
def _(model: generative.GaussianClassifier, X: Value) -> Predictions:
    model._require_parameters()
    Phi = features(model, X)
    if isinstance(model, generative.LinearDiscriminantAnalysis) and model._linear is not None:
        W, w0, origin = model._linear
        return of_log_joint(model.classes_, (Phi - origin) @ W.T + w0, model.priors_)
    classes, columns = model._densities, []  # ln p(x | C_k): normal, or Student's t if parameters are integrated out
    for k in range(len(classes.mean)):
        Sigma, nu, widening = classes.of_class(k), float(classes.freedom[k]), float(classes.widening[k])
        M = Sigma.n_used
        squared = _squared_distance(Phi, classes.mean[k], Sigma)
        log_det = Sigma.log_det + M * np.log(widening)
        if np.isinf(nu):
            columns.append(-0.5 * squared - 0.5 * (log_det + M * np.log(2 * np.pi)))
            continue
        constant = special.gammaln((nu + M) / 2) - special.gammaln(nu / 2) - 0.5 * (M * np.log(nu * np.pi) + log_det)
        columns.append(float(constant) - 0.5 * (nu + M) * (1.0 + squared / (widening * nu)).log())
    with np.errstate(divide="ignore"):
        return of_log_joint(model.classes_, Phi.graph.stack(columns) + np.log(model.priors_), model.priors_)


def _squared_distance(Phi: Value, mean: Float, Sigma: generative.Covariance) -> Value:
    """Squared Mahalanobis distance (x - mean)' Σ⁻¹ (x - mean) of each row, (N,)."""
    Z = Phi - mean
    match Sigma:
        case generative.DenseCovariance() | generative.SingularCovariance():
            return (Z @ Sigma.whitener).square().sum(1)
        case generative.FactoredCovariance():
            q, s, Vt = Sigma.svd
            Z = Z / q
            return Z.square().sum(1) - (Z @ Vt.T).square() @ np.asarray(s**2 / (1 + s**2))
        case other:
            raise ExportError(f"to_onnx: a {type(other).__name__} cannot be exported to ONNX.")


@predictions.register
def _(model: generative.FamilyClassifier, X: Value) -> Predictions:
    model._require_parameters()
    density = model._density_of_rows
    pairs = zip(density.groups, density.densities, strict=True)
    total = reduce(add, [log_density(each, X.columns(group.columns)) for group, each in pairs])
    if model.temperature_ == 0.0:  # 0 · (-inf) would be NaN; rows that are impossible stay impossible
        total = (0.0 * total.is_nan().as_double()).where(total > -np.inf, total)
    else:
        total = total * model.temperature_
    with np.errstate(divide="ignore"):
        return of_log_joint(model.classes_, total + np.log(model.priors_), model.priors_)


def log_density(density: Any, x: Value) -> Value:
    """Log density of columns x (N, D) under each class, (N, K), up to a term common to all classes."""
    match density:
        case families.Bernoulli():  # x ln μ + (1 - x) ln(1 - μ); either logarithm may be minus infinity
            heads, tails = special.log_expit(density.log_odds), special.log_expit(-density.log_odds)
            return _weighted_sum(_observed(x, x), heads) + _weighted_sum(_observed(1.0 - x, x), tails)
        case families.Normal() | families.NormalKnownVariance():
            z = (x.expand(1) - density.mean) / density.sd
            return _observed(-0.5 * z.square() - np.log(density.sd), x.expand(1)).sum(2)
        case families.StudentT():
            nu, scale = density.dof, density.scale
            constant = special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2) - 0.5 * np.log(nu) - np.log(scale)
            z = (x.expand(1) - density.location) / (scale * np.sqrt(nu))
            return _observed(constant - 0.5 * (nu + 1) * (1.0 + z.square()).log(), x.expand(1)).sum(2)
        case families.MultivariateNormal():
            covariances = [generative.DenseCovariance(Sigma) for Sigma in density.covariance]
            pairs = zip(density.mean, covariances, strict=True)
            return x.graph.stack([-0.5 * _squared_distance(x, m, Sigma) - 0.5 * Sigma.log_det for m, Sigma in pairs])
        case families.ValuedCategorical():  # values that were not seen in training have their own probability
            parts = []
            for d, values in enumerate(density.values):
                column, by_code = x.columns([d]), density.by_code[:, [d]]
                unseen = by_code.log_unseen[:, 0]
                log_p = by_code.log_probability[:, 0, : len(values)]
                log_p = np.where(np.isneginf(log_p), unseen[:, None], log_p)
                hit = column.equals(np.asarray(values, dtype=np.float64)).as_double()  # (N, L)
                miss = (1.0 - hit.sum(1, keep=True)) * (1.0 - column.is_nan().as_double())
                parts.append(_weighted_sum(hit, log_p) + _weighted_sum(miss, unseen[:, None]))
            return reduce(add, parts)
    raise ExportError(
        f"to_onnx: {type(density).__name__} columns cannot be exported to ONNX; normal, Bernoulli and categorical "
        "columns can be. Choose another family with families={...}, or save the model with sx.save."
    )


def _observed(terms: Value, x: Value) -> Value:
    """Replace terms by zero if x is missing."""
    return (0.0 * x.is_nan().as_double()).where(x.is_nan(), terms)


def _weighted_sum(U: Value, c: Float) -> Value:
    """Compute Σ_j U_nj c_kj with 0 · (-inf) = 0; requires U >= 0 if c is -inf."""
    forbidden = np.isneginf(c)
    total = U @ np.where(forbidden, 0.0, c).T
    if not forbidden.any():
        return total
    met = U @ forbidden.T.astype(np.float64)
    return (0.0 * met - np.inf).where(met > 0.0, total)


# Bayesian logistic regression: the activation is Gaussian with mean m'φ̃ and variance φ̃'A⁻¹φ̃, and is integrated out


@predictions.register
def _(model: bayesian.BayesianLogisticRegression, X: Value) -> Predictions:
    design = model.posterior_.design
    Z = features(model, X) - design.origin
    Phi = Z.graph.join([Z, 0.0 * Z.columns([0]) + 1.0]) if design.bias else Z  # φ̃ = (x - c, 1)
    q, K = model.posterior_, len(model.classes_)
    parts, draws = q.approximation.parts, q.draws
    P = _of_posterior(model, q, Phi)
    found = Predictions(model.classes_, P.argmax(), activation(model, X), P)
    if K > 2:
        return found
    if draws is not None:
        A = Phi @ draws.theta.reshape(-1, draws.theta.shape[-1]).T
        has_quantiles = draws.weights.min() == draws.weights.max()
        of_draws = partial(_quantile, A, len(draws.weights), model.likelihood_)
        return replace(found, quantile=of_draws if has_quantiles else None)
    if len(parts) > 1:
        return found
    mean, var = activations(q.approximation, Phi)
    return replace(
        found, quantile=lambda level: probability(model.likelihood_, mean + float(special.ndtri(level)) * var.sqrt())
    )


def _of_posterior(model: bayesian.BayesianLogisticRegression, q: WeightDistribution, Phi: Value) -> Value:
    """Probabilities (N, K) as `average_probabilities` computes them."""
    rule, parts, draws, blend, K = model.predictive, q.approximation.parts, q.draws, q.blend, len(model.classes_)
    if rule == "map" or (q.variance_factor == 0.0 and blend is None):
        return _averaged(model, q, q.approximation, Phi, "map")
    p = partial(probability, model.likelihood_)
    if blend is not None:
        averages = zip(blend.of_averages.tolist(), blend.factors.tolist(), strict=True)
        each = [_of_posterior(model, replace(q, blend=None, variance_factor=by), Phi) * share for share, by in averages]
        for share, theta in zip(blend.of_vectors.tolist(), blend.theta, strict=True):
            a = Phi @ theta.T
            each.append((a.graph.stack([p(-a.column(0)), p(a.column(0))]) if K == 2 else p(a)) * share)
        blended: Value = reduce(add, each)
        return blended
    if draws is not None and draws.for_averages and q.variance_factor == 1.0:  # Σ_s weight_s p(t | x, θ_s)
        A = Phi @ draws.theta.reshape(-1, draws.theta.shape[-1]).T
        if K == 2:
            return A.graph.stack([p(-A) @ draws.weights, p(A) @ draws.weights])
        A = Phi.graph.op("Reshape", A, np.array([-1, *draws.theta.shape[:2]]))
        return (p(A) * draws.weights[:, None]).sum(1)
    weighted = zip(parts, q.approximation.part_weights.tolist(), strict=True)  # more than one part is a mixture
    mixture: Value = reduce(add, (_averaged(model, q, part, Phi, rule) * weight for part, weight in weighted))
    return mixture


def _quantile(A: Value, S: int, likelihood: Any, level: float) -> Value:
    """Probability (N,) at a quantile of the activations (N, S), which have equal weights, as `quantiles` has it."""
    position = min(max(level * S - 0.5, 0.0), S - 1.0)
    low, is_upper = int(position), level > 0.5
    n = S - low if is_upper else min(low + 2, S)  # of the largest or smallest activations
    ordered, _ = A.graph.ops("TopK", A, np.array([n]), n_outputs=2, axis=1, largest=int(is_upper))
    at = [n - 1, max(n - 2, 0)] if is_upper else [low, min(low + 1, n - 1)]
    below, above = (ordered.column(k) for k in at)
    return probability(likelihood, below + (position - low) * (above - below))


def _averaged(
    model: bayesian.BayesianLogisticRegression, q: WeightDistribution, part: Any, Phi: Value, rule: str
) -> Value:
    """Probabilities (N, K) under one Gaussian over the weights."""
    (mean, cov), K = activations(part, Phi), len(model.classes_)
    cov = cov if q.variance_factor == 1.0 else q.variance_factor * cov
    if K == 2:
        return Phi.graph.stack([_of_two(model.likelihood_, sign * mean, cov, rule) for sign in (-1.0, 1.0)])
    if rule == "map":
        return probability(model.likelihood_, mean)
    if rule == "qmc":
        raise ExportError(
            "to_onnx: predictive='qmc' needs the eigenvectors of a matrix for every row, which ONNX cannot compute. "
            "Use model.set_params(predictive='exact') first."
        )
    average = softmax_probit_rule if rule == "probit" else softmax_normal
    return average(mean, cov, K)


def _of_two(likelihood: Any, mean: Value, var: Value, rule: str) -> Value:
    if rule == "map":
        return probability(likelihood, mean)
    if isinstance(likelihood, likelihoods.Probit):
        return normal_cdf(mean / (1.0 + var).sqrt())
    if rule == "probit":
        return (mean / (1.0 + np.pi / 8 * var).sqrt()).sigmoid()
    return logistic_mean(mean, var)


def activations(approximation: Any, Phi: Value) -> tuple[Value, Value]:
    """Mean and covariance of the activations of regressors φ̃ (N, P) under a Gaussian over the weights.

    The shapes are (N,) and (N,) for one output, (N, K) and (N, K, K) for K outputs.
    """
    C, P = approximation.mean.shape
    match approximation:
        case bayesian.Approximation():
            root = approximation.factor.root
            if C == 1:
                return Phi @ approximation.mean[0], (Phi @ root).square().sum(1)
            spread = Phi.graph.stack([Phi @ root[k * P : (k + 1) * P] for k in range(C)])
            return Phi @ approximation.mean.T, spread @ spread.transposed(0, 2, 1)
        case bayesian.ByClassApproximation():
            axes = approximation.axes
            var = Phi.graph.stack([(Phi @ factor.root).square().sum(1) for factor in approximation.factors])
            return Phi @ approximation.mean.T, (var.expand(1) * axes) @ axes.T
        case bayesian.DiagonalApproximation():
            mean, var = Phi @ approximation.mean.T, Phi.square() @ (1 / approximation.precision).T
            axes = approximation.axes
            return (mean.column(0), var.column(0)) if C == 1 else (mean, (var.expand(1) * axes) @ axes.T)
        case bayesian.ArrowApproximation():
            x, z = Phi.columns(approximation.levels.tolist()), Phi.columns(approximation.others.tolist())
            rest = (z - x @ approximation.border) @ approximation.root
            return Phi @ approximation.mean[0], x.square() @ (1 / approximation.diagonal) + rest.square().sum(1)
        case bayesian.DualApproximation():  # variance in the span of the rows, plus the prior variance outside it
            M = len(approximation.precision)
            Z = Phi.columns(range(M))
            L = Z @ approximation.basis
            thin = L if P == M else Phi.graph.join([L, Phi.columns(range(M, P))])
            mean, within = activations(approximation.thin, thin)
            outside = (Z.square() @ (1 / approximation.precision) - L.square().sum(1)).at_least(0.0)
            outside = outside * approximation.outside
            return mean, within + (outside if C == 1 else outside.expand(1).expand(2) * np.eye(C))
    raise ExportError(f"to_onnx: a posterior of type {type(approximation).__name__} cannot be exported to ONNX.")


def features(model: Any, X: Value) -> Value:
    """Basis functions φ of the rows, or the rows themselves if the model has no basis."""
    return X if model.basis_ is None else functions(model.basis_, X)


def functions(basis: Any, X: Value) -> Value:  # noqa: PLR0911  (one case for each kind of basis)
    """Design matrix Φ (N, M) of a fitted basis or row map."""
    match basis:
        case AbstractBasis():
            return functions(basis.functions_, X)
        case Identity():
            return X
        case Joined():
            return X.graph.join([functions(part, X) for part in basis.maps])
        case Monomials():
            return monomials(basis, X)
        case Gaussians():
            return gaussians(basis, X)
        case Sigmoids():
            return ((X.columns(basis.column) - basis.centre) / basis.width).sigmoid()
        case Cosines():
            angle = (X - basis.offset) @ basis.frequencies + basis.phases
            return X.graph.op("Cos", angle) * float(np.sqrt(2 / len(basis.phases)))
        case RadialFunctions():
            z = (X.columns(basis.numbers) - basis.mean) / basis.std
            clipped = z.at_least(-MAX_DEVIATIONS).at_most(MAX_DEVIATIONS)
            return X.graph.join([X, gaussians(basis.gaussians, clipped)])
        case RampFunctions():
            parts = [X.columns(basis.straight), _ramps(X, basis.bent, basis)]
            if (products := basis.products) is not None:
                G = _ramps(X, products.column, products) @ products.averages - products.mean
                parts.append(G.columns(products.left) * G.columns(products.right))
            return X.graph.join(parts)
    raise ExportError(
        f"to_onnx: {type(basis).__name__} as a basis cannot be exported to ONNX. Linear, Polynomial, RBF, "
        "MultiScaleRBF, Sigmoid, RandomFourier and their unions can be; use one of them, or save with sx.save."
    )


def _ramps(X: Value, column: Codes, knots: RampFunctions | RampProducts) -> Value:
    """Ramps along columns, from ``knots.low`` to ``knots.high``."""
    return ((X.columns(column) - knots.low) / (knots.high - knots.low)).at_least(0.0).at_most(1.0)


def monomials(basis: Monomials, X: Value) -> Value:
    """Each monomial is a product of as many factors as the highest degree; some factors may be the constant 1."""
    one = X.graph.op("Shape", X, start=0, end=1)
    ones = X.graph.op("Expand", X.graph.constant(np.ones((1, 1))), X.graph.op("Concat", one, np.array([1]), axis=0))
    padded = X.graph.join([X, ones])
    product = padded.columns(basis.factors[0])
    for columns in basis.factors[1:]:
        product = product * padded.columns(columns)
    return product


def gaussians(basis: Gaussians, X: Value) -> Value:
    """exp(-|x - c|² / 2s²) for each width s; x and c are relative to the median of the centres, as in training."""
    offset = np.median(basis.centres, axis=0)
    C, Z = basis.centres - offset, X - offset
    if np.sqrt((C**2).sum(axis=1).max()) > FAR_IN_WIDTHS * float(basis.widths.min()):
        squared = (Z.expand(1) - C).square().sum(2)
    else:
        squared = (Z.square().sum(1, keep=True) + (C**2).sum(axis=1) - 2.0 * (Z @ C.T)).at_least(0.0)
    return X.graph.join([(squared * float(-0.5 / width**2)).exp() for width in basis.widths])
