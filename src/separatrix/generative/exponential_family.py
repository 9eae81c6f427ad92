# SPDX-License-Identifier: BSD-3-Clause
"""Classifier whose class densities belong to one exponential family.                                     PRML §4.2.4

    p(x | C_k) = h(x) g(λ_k) exp(λ_k'u(x)),  p(C_k) = π_k
    a_k(x) = λ_k'u(x) + ln g(λ_k) + ln π_k

The scores a_k are linear in u(x). They are linear in x for Bernoulli, Poisson, exponential and multinomial, and also
for normal, gamma and multivariate normal if the classes share a scale (`densities`). The fit needs one pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._arguments import check_option
from separatrix.families import FAMILIES, Gamma, MultivariateNormal
from separatrix.generative.family_classifier import FamilyClassifier, Layout
from separatrix.rows import Source
from separatrix.stats import Group

SHARED_SCALE = ("gamma", "multivariate_normal")  # a shared scale replaces normal by normal_known_variance


class ExponentialFamilyClassifier(FamilyClassifier):
    """Classifier whose class densities belong to one exponential family, for each column or for the whole row.

    p(x | C_k) = h(x) g(λ_k) exp(λ_k'u(x)). If u(x) = x and the classes share a scale s, the log-odds of two classes
    are linear, a(x) = (λ_1 - λ_0)'x/s + ln g(λ_1) - ln g(λ_0) + ln π_1/π_0 (PRML §4.2.4).

    Parameters
    ----------
    family : str, default "normal"
        With "normal", "bernoulli", "categorical", "poisson", "exponential", "gamma", "beta" or "normal_known_variance",
        columns are independent given the class. With "multinomial" (counts that share trials: words, TF-IDF),
        "dirichlet" (fractions that sum to one) or "multivariate_normal", each row is one vector.
    shared_scale : bool, default True
        Whether all classes have the same variance (normal), shape (gamma) or covariance (multivariate normal), which
        makes the classifier linear. Other families have no separate scale.
    estimate : {"map", "ml", "predictive"}, default "map"
        "map" is the mode under a conjugate prior, "ml" maximum likelihood; "predictive" integrates over parameters.
    pseudo_count : float, default 1
        Number of pseudo-observations in the prior. For Bernoulli, categorical and multinomial it is the number per
        outcome, so that 1 is Laplace's correction.
    unlabelled : "error", "missing" or a label, default "error"
        How rows without a label are marked in ``y``: not allowed, None or NaN, or this value. EM includes these rows in
        the fit. If the family is wrong, unlabelled rows can make the boundary worse.
    priors, class_weight, prior_correction
        As in `LinearDiscriminantAnalysis`.

    Attributes
    ----------
    densities_ : dict
        Maps the name of the family to p(x | C_k) of all classes, a distribution of `separatrix.families`
    coef_, intercept_ : ndarrays of shape (1, M) and (1,), or (K, M) and (K,)
        The linear form of the scores; for two classes one row, the log-odds of the second class.
    priors_, class_count_, class_weight_, facts_, n_passes_, n_steps_, solution_
        As in `NaiveBayes`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ExponentialFamilyClassifier
    >>> words = np.array([[3, 0, 1], [2, 1, 0], [0, 4, 1], [1, 3, 3]])
    >>> model = ExponentialFamilyClassifier("multinomial").fit(words, ["sport", "sport", "opera", "opera"])
    >>> model.predict([[1, 0, 0], [0, 1, 1]]).tolist()
    ['sport', 'opera']
    >>> model.coef_.round(2)  # ln μ of "sport" minus ln μ of "opera"
    array([[ 1.5 , -0.98, -0.51]])
    """

    def __init__(
        self,
        family: str = "normal",
        *,
        shared_scale: bool = True,
        priors: Any = None,
        estimate: str = "map",
        pseudo_count: Any = 1.0,
        unlabelled: Any = "error",
        class_weight: Any = None,
        prior_correction: bool = False,
    ) -> None:
        self.family = family
        self.shared_scale = shared_scale
        self.priors = priors
        self.estimate = estimate
        self.pseudo_count = pseudo_count
        self.unlabelled = unlabelled
        self.class_weight = class_weight
        self.prior_correction = prior_correction

    def __sklearn_tags__(self) -> Any:
        """Tags that allow missing values (NaN) unless the family describes a whole row."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.family not in FAMILIES or not FAMILIES[self.family].vector
        return tags

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_option(type(self).__name__, "family", self.family, FAMILIES)
        if self.shared_scale and self.estimate == "predictive" and self.family in SHARED_SCALE:
            raise ValueError(
                f"ExponentialFamilyClassifier(family={self.family!r}, estimate='predictive'): with a shared "
                "scale, the predictive has no closed form. Set shared_scale=False, or estimate='map'."
            )

    def _layout(self, source: Source) -> Layout:
        known_variance = self.family == "normal" and self.shared_scale
        family = "normal_known_variance" if known_variance else self.family
        return Layout((Group(family, tuple(range(len(source.columns)))),))

    def _density(self, family: str, facts: Any, estimate: str, prior: Any) -> Any:
        """p(x | C_k); a shared scale is estimated from all classes, including the pseudo-observations of the prior."""
        if not self.shared_scale or family not in SHARED_SCALE:
            return super()._density(family, facts, estimate, prior)
        if family == "gamma":  # ln a - ψ(a) = Σ_k n_k gap_k / Σ_k n_k, b_k = a/mean_k
            whole = facts if prior is None else prior.updated(facts).facts
            together = type(whole)(whole.count.sum(axis=0), np.ones_like(whole.mean[0]), whole.gap.sum(axis=0))
            shape = Gamma.ml(together[None]).shape
            return Gamma(shape, shape / whole.mean[..., 0])
        if prior is None:  # Σ = Σ_k n_k Σ_k / Σ_k n_k
            together = type(facts)(facts.count.sum(), np.zeros_like(facts.mean[0]), facts.scatter.sum(axis=0))
            return MultivariateNormal(facts.mean, MultivariateNormal.ml(together[None]).covariance)
        each, count = prior.updated(facts), (prior.count + facts.count)[:, None, None]
        weight = count / count.max()
        covariance = (weight * each.mode.covariance).sum(axis=0, keepdims=True) / weight.sum()
        return MultivariateNormal(each.mean, covariance)
