# SPDX-License-Identifier: BSD-3-Clause
"""The models of a comparison: their names, their evidence, and their Bayesian average.                  PRML §3.4

    p(M_i | D) = p(M_i) p(D | M_i) / Σ_j p(M_j) p(D | M_j)                                                  (3.66)

D must be the same for all models: the labels of the training rows, given their inputs. A generative
model has an evidence of p(x, t), a density in the units of the columns, which is not comparable with one of p(t | x).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn import get_config
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from separatrix._arguments import Estimator, check_numbers
from separatrix._array import Array, Float
from separatrix._text import listed
from separatrix.estimator import truth_in_memory
from separatrix.exceptions import DataError, Unavailable
from separatrix.generative import GenerativeClassifier
from separatrix.meta import input_tags, is_ours
from separatrix.rows import (
    RowStore,
    accuracy,
    check_weight,
    encode_labels,
    in_memory,
    is_dask,
    labels_of,
    readable_again,
    require_classes,
)

# Transformers of these modules do not use the labels.
UNSUPERVISED_MODULES = (
    "sklearn.preprocessing.",
    "sklearn.impute.",
    "sklearn.decomposition.",
    "sklearn.kernel_approximation",
    "sklearn.random_projection",
    "sklearn.feature_extraction.",
)
MIN_ROW_NATS = -700.0  # of a row relative to its best model in `stacking_weights`, so that sums are positive
STACKING_TOL, MAX_STACKING_STEPS = 1e-9, 200  # of the score in nats per row; 30 steps suffice for eight models


def name_models(models: Any, names: Any = None) -> dict[str, Any]:
    """Return clones of the models by name: the key of a mapping, the given name, or by default the class name.

    Models of the same class get the name of their library as a prefix or, if that is equal too, a number as a suffix.
    """
    if isinstance(models, Mapping):
        if names is not None:
            raise ValueError("models is a mapping, which already has names. Omit names=, or pass a list of models.")
        names, models = list(models), list(models.values())
    models = list_models(models)
    if not models:
        raise ValueError("models is empty; pass at least one model, as [model, ...] or {name: model, ...}.")
    for model in models:
        if isinstance(model, type):
            raise TypeError(f"{model.__name__} is a class, not a model; pass {model.__name__}().")
        if getattr(model, "fit", None) is None or not callable(getattr(model, "predict", None)):
            raise TypeError(
                f"{model!r} is not a classifier: it needs fit and predict (and predict_proba for most scores)."
            )
    if names is None:
        kinds = [type(model).__name__ for model in models]
        full = [f"{type(model).__module__.partition('.')[0]}.{kind}" for model, kind in zip(models, kinds, strict=True)]
        homes = {kind: {f for f, k in zip(full, kinds, strict=True) if k == kind} for kind in kinds}
        short = [f if len(homes[kind]) > 1 else kind for f, kind in zip(full, kinds, strict=True)]
        names = [
            name if short.count(name) == 1 else f"{name} {short[: i + 1].count(name)}" for i, name in enumerate(short)
        ]
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != len(models) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"names={names!r}: pass one string for each of the {len(models)} models.")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"names={names!r}: {twice[0]!r} is used for two models. Give each model its own name.")
    return {name: clone(model, safe=False) for name, model in zip(names, models, strict=True)}


def list_models(models: Any) -> list[Any]:
    """Models as a list; raise if they are not a sequence."""
    if (
        getattr(models, "fit", None) is not None
        or not isinstance(models, Iterable)
        or getattr(models, "shape", None) == ()
    ):
        raise TypeError(f"models={models!r} is not a list of models; pass [model, ...] or {{name: model, ...}}.")
    return list(models)


class Evidence(NamedTuple):
    """ln p(D), BIC and AIC of a model, NaN if missing; ``of_labels`` is True if ln p(D) is ln p(t | x)."""

    log_evidence: float
    bic: float
    aic: float
    of_labels: bool


NO_EVIDENCE = Evidence(np.nan, np.nan, np.nan, of_labels=False)


def read_evidence(model: Any) -> Evidence:
    """Evidence of a fitted model, of the model in a `TableClassifier`, or of the last step of a pipeline.

    If the labels also chose the features, the labels would be used twice, so there is no evidence: this is the case if
    an earlier step of a pipeline may use them, or a `TableClassifier` searched for interactions. A frozen model has
    none either, because it was fitted on other rows.
    """
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    while isinstance(model, Pipeline):
        *before, last = (step for _, step in model.steps)
        model = last if all(map(_ignores_labels, before)) else None
    if is_ours(type(model)) and hasattr(model, "encoder_"):
        model = None if model.interactions is True else model.estimator_
    model = None if isinstance(model, FrozenEstimator) else model
    values = (getattr(model, name, None) for name in ("log_evidence_", "bic_", "aic_"))
    log_evidence, bic, aic = (float(value) if isinstance(value, Real) else np.nan for value in values)
    of_labels = bool(np.isfinite(log_evidence)) and not isinstance(model, GenerativeClassifier)
    return Evidence(log_evidence, bic, aic, of_labels)


def model_probabilities(
    log_evidence: Mapping[str, float], prior: Mapping[str, float] | None = None
) -> dict[str, float]:
    """p(M_i | D) by name (3.66); ``prior`` contains p(M_i) up to a common factor, equal by default."""
    if not log_evidence:
        raise ValueError(
            "No model reports an evidence p(t | x) of the training labels, so no probabilities of models can be "
            "computed. Add a model with such an evidence, for example BayesianLogisticRegression."
        )
    weight = np.ones(len(log_evidence)) if prior is None else _given_weights("prior", prior, list(log_evidence))
    with np.errstate(divide="ignore"):
        p = softmax(np.array(list(log_evidence.values())) + np.log(weight))
    return dict(zip(log_evidence, p.tolist(), strict=True))


def _given_weights(argument: str, given: Any, names: Sequence[str]) -> Float:
    """Weights in the order of the names; raises ValueError if they are not one weight for each."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{argument}={given!r}: pass a mapping from the name of each model to its weight.")
    wrong = [name for name in (*names, *given) if (name in names) != (name in given)]
    if wrong:
        raise ValueError(f"{argument}={given!r}: pass a weight for each model, {list(names)}; check {wrong[0]!r}.")
    weight = check_numbers("", argument, [given[name] for name in names])
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(f"{argument}={given!r}: weights must be finite, none negative and not all zero.")
    return weight


def stacking_weights(rows: Float, weight: Float | None = None) -> Float:
    """Weights w (K,) of the average of models that predicts rows best (Yao, Vehtari, Simpson & Gelman 2018).

        maximise  1/N Σ_n ln Σ_k w_k p_nk   over  w_k >= 0,  Σ_k w_k = 1

    ``rows`` (N, K) are the log-likelihoods ln p_nk of rows to which the models were not fitted, and ``weight`` (N,) the
    weights of these rows. The objective is concave, so every maximum is global. Most w_k are usually zero.

    >>> stacking_weights(np.log([[0.9, 0.5], [0.9, 0.5], [0.1, 0.5]])).round(3)
    array([0.417, 0.583])
    """
    from scipy.optimize import minimize

    best, K = rows.max(axis=1, keepdims=True), rows.shape[1]
    known = np.isfinite(best[:, 0])  # rows that are impossible for all models do not depend on w
    p = np.exp(np.maximum(rows[known] - best[known], MIN_ROW_NATS))
    counts = np.ones(len(p)) if weight is None else weight[known]
    share = counts / max(counts.sum(), np.finfo(float).tiny)

    def minus_score(w: Float) -> tuple[float, Float]:
        mixture = p @ w
        return -float(share @ np.log(mixture)), -(p.T @ (share / mixture))

    equal = np.full(K, 1 / K)
    if not known.any():
        return equal
    is_sum = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(K)}
    options = {"ftol": STACKING_TOL, "maxiter": MAX_STACKING_STEPS}
    found = minimize(
        minus_score, equal, jac=True, method="SLSQP", bounds=[(0, 1)] * K, constraints=is_sum, options=options
    )
    w: Float = np.maximum(found.x, 0.0)
    return np.asarray(w / w.sum())


def _ignores_labels(step: Any) -> bool:
    """Whether a transformer is known to ignore labels; its signature does not show it, as all transformers accept y."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if step is None or isinstance(step, str):  # "passthrough", "drop"
        return True
    if isinstance(step, ColumnTransformer | Pipeline):
        parts = step.transformers if isinstance(step, ColumnTransformer) else step.steps
        return all(_ignores_labels(part[1]) for part in parts)
    return type(step).__module__.startswith(UNSUPERVISED_MODULES) and not get_tags(step).target_tags.required


def weight_arguments(model: Any, weight: Float) -> dict[str, Any]:
    """Keyword arguments that pass row weights to ``fit``; a pipeline passes them to its last step."""
    from sklearn.pipeline import Pipeline

    if get_config()["enable_metadata_routing"] or has_fit_parameter(model, "sample_weight"):
        return {"sample_weight": weight}
    if isinstance(model, Pipeline) and has_fit_parameter(model.steps[-1][1], "sample_weight"):
        return {f"{model.steps[-1][0]}__sample_weight": weight}
    raise TypeError(
        f"{type(model).__name__}.fit has no sample_weight argument, so it cannot be fitted to weighted rows."
    )


def in_order(P: Any, model: Any, classes: Array) -> Float:
    """Probabilities predicted by a model, with their columns in the order of ``classes``."""
    columns: Float = P if is_dask(P) else np.asarray(P, dtype=np.float64)
    own, wanted = np.asarray(getattr(model, "classes_", classes)).tolist(), classes.tolist()
    if own == wanted:
        return columns
    if set(own) != set(wanted):
        raise DataError(f"The model was fitted to the classes {listed(own)}, but the labels are {listed(wanted)}.")
    return columns[:, [own.index(label) for label in wanted]]


class ModelAverage(ClassifierMixin, Estimator):
    """Bayesian model averaging: models weighted by their posterior probability, or by given weights.

    p(C_k | x, D) = Σ_i p(M_i | D) p(C_k | x, M_i, D),    p(M_i | D) ∝ p(M_i) p(D | M_i)        (PRML 3.66, 3.67)

    Parameters
    ----------
    models : list of classifiers, or mapping {name: classifier}
        Without ``weights``, each must report the evidence p(D | M_i) of its training labels, as ``log_evidence_``; so
        must the model in a `TableClassifier`.
    prior : mapping {name: weight}, optional
        p(M_i), up to a common factor; equal by default.
    weights : mapping {name: weight}, optional
        Weights of the models in place of p(M_i | D), up to a common factor. They may come from the log-likelihoods of
        held-out rows; a study computes them so.

    Attributes
    ----------
    weights_ : dict
        p(M_i | D) by name, or the given weights; their sum is one.
    models_ : dict
        The fitted models by name.
    classes_ : ndarray of shape (K,)
        Sorted labels.
    n_features_in_, feature_names_in_ : int and ndarray of shape (D,)
        Number and names of the columns, as in the models.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import BayesianLogisticRegression, Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> wide, narrow = (BayesianLogisticRegression(prior=Gaussian(scale=s)) for s in (5.0, 0.1))
    >>> average = ModelAverage({"wide": wide, "narrow": narrow}).fit(X[50:], y[50:])
    >>> max(average.weights_, key=average.weights_.get)
    'wide'
    """

    explain: Any = Unavailable("an average of probabilities is no sum over columns. Explain one of the models_.")
    summary: Any = Unavailable("each of the models_ has its own coefficients. Call summary() of one of them.")

    def __init__(
        self, models: Any, prior: Mapping[str, float] | None = None, weights: Mapping[str, float] | None = None
    ) -> None:
        self.models = models
        self.prior = prior
        self.weights = weights

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ModelAverage:
        """Fit a clone of every model to the same rows; without given weights, weight the models by their evidence.

        A scan provides its own labels and weights unless they are given. Scans and Dask collections require that all
        models belong to this package.
        """
        models = name_models(self.models)
        weights = None if self.weights is None else _given_weights("weights", self.weights, list(models))
        if weights is not None and self.prior is not None:
            raise ValueError("ModelAverage has prior= and weights=, which replace p(M_i | D). Pass one of them.")
        if isinstance(X, RowStore) or is_dask(X):
            foreign = next((name for name, model in models.items() if not is_ours(type(model))), None)
            if foreign is not None:
                raise DataError(
                    f"{foreign!r} is a model of {type(models[foreign]).__module__.partition('.')[0]}, which needs a "
                    f"table in memory, and X is a {type(X).__name__}. Remove that model, or load the rows into memory."
                )
        else:  # convert labels to an array that models of every library accept
            classes, codes = encode_labels(y)
            require_classes(classes)
            y, sample_weight = classes[codes], check_weight(sample_weight, len(codes))
        for model in models.values():
            model.fit(X, y, **({} if sample_weight is None else weight_arguments(model, sample_weight)))
        if weights is None:
            shares = self._probabilities(models)
        else:
            shares = dict(zip(models, (weights / weights.sum()).tolist(), strict=True))
        return self.adopt(models, shares)

    def adopt(self, models: Mapping[str, Any], weights: Mapping[str, float]) -> ModelAverage:
        """Become the average of fitted models with these weights, whose sum is one."""
        self.models_, self.weights_ = dict(models), dict(weights)
        self.classes_ = np.asarray(next(iter(models.values())).classes_)
        return self

    def _probabilities(self, models: Mapping[str, Any]) -> dict[str, float]:
        """p(M_i | D) of fitted models; raises ValueError if one has no evidence."""
        evidence = {name: read_evidence(model) for name, model in models.items()}
        without = [name for name, found in evidence.items() if not found.of_labels]
        if without:
            raise ValueError(
                f"{without[0]!r} reports no evidence p(t | x) of its training labels, so it has no weight. Remove it, "
                "use BayesianLogisticRegression, alone or in a TableClassifier whose interactions are not searched "
                "for, or set weights=."
            )
        return model_probabilities({name: found.log_evidence for name, found in evidence.items()}, self.prior)

    def predict_proba(self, X: Any) -> Any:
        """p(C_k | x, D), (N, K); lazy if X is lazy."""
        check_is_fitted(self)
        weights = {name: weight for name, weight in self.weights_.items() if weight > 0}
        X = readable_again(X) if len(weights) > 1 else X
        terms = (
            weight * in_order(self.models_[name].predict_proba(X), self.models_[name], self.classes_)
            for name, weight in weights.items()
        )
        return sum(terms)

    def predict_log_proba(self, X: Any) -> Any:
        """ln p(C_k | x, D), (N, K); lazy if X is lazy."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Most probable class of each row."""
        P = self.predict_proba(X)
        return labels_of(self.classes_, P.argmax(axis=1))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Weighted accuracy of `predict`; a scan provides its own labels and weights."""
        y, sample_weight = truth_in_memory(X, y, sample_weight)
        return accuracy(*in_memory(y, self.predict(X), sample_weight))

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return int(next(iter(self.models_.values())).n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns, if the models have them."""
        return np.asarray(next(iter(self.models_.values())).feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return "weights_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        models = list_models(self.models.values() if isinstance(self.models, Mapping) else self.models)
        inputs = [input_tags("ModelAverage(models=...)", model) for model in models]
        for name in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, all(getattr(found, name) for found in inputs))
        return tags
