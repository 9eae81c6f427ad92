# SPDX-License-Identifier: BSD-3-Clause
"""What a fitted model says of the probability of its data, and what that makes of the models.        PRML §3.4

    p(M_i | D) = p(M_i) p(D | M_i) / Σ_j p(M_j) p(D | M_j)                                                  (3.66)

D must be the same for all: the labels of the training rows, given their inputs. A generative model states p(x, t), a
density of inputs too, in the units of the columns, so that its evidence is not compared with that of p(t | x).
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils import get_tags

from separatrix.generative import GenerativeClassifier

__all__ = ["NO_EVIDENCE", "Evidence", "model_probabilities", "read_evidence"]

WITHOUT_LABELS = (
    "sklearn.preprocessing.",
    "sklearn.impute.",
    "sklearn.decomposition.",
    "sklearn.kernel_approximation",
    "sklearn.random_projection",
    "sklearn.feature_extraction.",
)


class Evidence(NamedTuple):
    """ln p(D), BIC and AIC as the model states them, NaN where it does not; ``of_labels``: whether D is t given x."""

    log_evidence: float
    bic: float
    aic: float
    of_labels: bool


NO_EVIDENCE = Evidence(np.nan, np.nan, np.nan, of_labels=False)


def read_evidence(model: Any) -> Evidence:
    """Of the model, or of the last step of a pipeline whose other steps are known to look at inputs alone.

    Where a step before looks at the labels too, they are used twice; and a frozen model learnt from other rows. Neither
    has an evidence for these labels.
    """
    stating = _stating_model(model)
    log_evidence, bic, aic = (_number(stating, name) for name in ("log_evidence_", "bic_", "aic_"))
    of_labels = bool(np.isfinite(log_evidence)) and not isinstance(stating, GenerativeClassifier)
    return Evidence(log_evidence, bic, aic, of_labels)


def model_probabilities(
    log_evidence: Mapping[str, float], prior: Mapping[str, float] | None = None
) -> dict[str, float]:
    """p(M_i | D) by name (3.66); ``prior`` are weights p(M_i) up to a factor, equal by default.

    Examples
    --------
    >>> p = model_probabilities({"line": -12.0, "parabola": -11.0})
    >>> round(p["parabola"], 3)
    0.731
    >>> p = model_probabilities({"line": -12.0, "parabola": -11.0}, prior={"line": 4, "parabola": 1})
    >>> round(p["parabola"], 3)
    0.405
    """
    if not log_evidence:
        raise ValueError(
            "No model states an evidence p(t | x) of the training labels, so none has a probability. "
            "Give at least one that does, such as BayesianLogisticRegression."
        )
    weight = np.ones(len(log_evidence)) if prior is None else _checked_prior(prior, list(log_evidence))
    with np.errstate(divide="ignore"):
        p = softmax(np.array(list(log_evidence.values())) + np.log(weight))
    return dict(zip(log_evidence, p.tolist(), strict=True))


def _checked_prior(prior: Mapping[str, float], names: list[str]) -> Any:
    wrong = [name for name in (*names, *prior) if (name in names) != (name in prior)]
    if wrong:
        raise ValueError(
            f"prior={prior!r}: give a weight for each model that has an evidence, {names}; see {wrong[0]!r}."
        )
    weight = np.array([prior[name] for name in names], dtype=np.float64)
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(f"prior={prior!r}: weights must be finite, none negative and not all zero.")
    return weight


def _stating_model(model: Any) -> Any:
    """The model that says how probable the labels are; None where nothing does."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    if isinstance(model, FrozenEstimator):
        return None
    if not isinstance(model, Pipeline):
        return model
    *before, last = (step for _, step in model.steps)
    return _stating_model(last) if all(map(_ignores_labels, before)) else None


def _ignores_labels(step: Any) -> bool:
    """Whether a transformer is known to learn from inputs alone; its signature cannot tell, for all of them take y."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if step is None or isinstance(step, str):  # "passthrough", "drop"
        return True
    if isinstance(step, ColumnTransformer | Pipeline):
        parts = step.transformers if isinstance(step, ColumnTransformer) else step.steps
        return all(_ignores_labels(part[1]) for part in parts)
    return type(step).__module__.startswith(WITHOUT_LABELS) and not get_tags(step).target_tags.required


def _number(model: Any, name: str) -> float:
    value = getattr(model, name, None)
    return float(value) if isinstance(value, Real) else np.nan
