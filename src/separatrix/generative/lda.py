# SPDX-License-Identifier: BSD-3-Clause
"""Linear discriminant analysis: normal classes with a shared covariance.                             PRML §4.2.1

    p(x | C_k) = N(x | μ_k, Σ),  p(C_k) = π_k
    a_k(x) = w_k'(x - m) + w_k0,   w_k = Σ⁻¹ (μ_k - m),   w_k0 = -½ (μ_k - m)'w_k + ln π_k       (4.68 - 4.70)

The quadratic terms are equal for all classes and cancel. The origin is moved to the grand mean m, which avoids
cancellation if the data are far from zero. p(C_k | x) = softmax(a), a sigmoid for two classes. The fit needs one pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from separatrix._arguments import check_count
from separatrix._array import Array, Float, Rows, in_single
from separatrix._linalg import SingularError
from separatrix._special import MAX_CANCELLING_NATS
from separatrix.estimator import Limit
from separatrix.exceptions import CollinearError
from separatrix.explanation import LinearScores, Scores
from separatrix.generative.classifier import NO_INTERVALS, log_probability
from separatrix.generative.covariance import NormalClasses
from separatrix.generative.gaussian import GaussianClassifier, covariance_weights, covariances
from separatrix.likelihoods import Logit, Softmax
from separatrix.stats import ClassMoments, PooledScatter, linear_scores


class LinearDiscriminantAnalysis(TransformerMixin, ClassNamePrefixFeaturesOutMixin, GaussianClassifier):
    """Classifier for normal classes with a shared covariance, which has linear boundaries.

    p(x | C_k) = N(x | μ_k, Σ), so ln p(C_k | x) is linear in x up to a term that all classes share (PRML §4.2.1).
    `transform` projects rows onto the directions that separate the class means best, as `FisherDiscriminant` does.

    Parameters
    ----------
    basis : basis function or transformer, optional
        Basis functions φ; see `separatrix.basis`. The model then describes φ(x).
    priors : sequence or mapping, optional
        Class probabilities p(C_k); by default the class proportions.
    shrinkage : float in [0, 1], "ledoit-wolf" or "evidence", default 0
        λ in (1 - λ) Σ + λ diag Σ. "ledoit-wolf" minimises the expected error, "evidence" maximises the evidence.
    estimate : {"ml", "map", "predictive"}, default "ml"
        "ml" is maximum likelihood, "map" the mode under a weak prior; "predictive" gives a Student t for each class.
    unlabelled : "error", "missing" or a label, default "error"
        How rows without a label are marked in ``y``: not allowed, None or NaN, or this value. EM includes these rows in
        the fit. If the classes are not normal, unlabelled rows can make the boundary worse.
    class_weight : {"balanced"} or mapping {label: factor}, optional
        Factor of the weights of each class, as in `LogisticRegression`. `partial_fit` needs a mapping.
    prior_correction : bool, default False
        Whether to divide the class proportions by the factors again, so that probabilities refer to the original class
        proportions. Given ``priors`` are not changed.
    n_components : int, optional
        Number of directions of `transform`, at most K - 1 and at most M. By default all. Predictions do not change.

    Attributes
    ----------
    coef_, intercept_ : ndarrays of shape (1, M) and (1,), or (K, M) and (K,)
        The linear scores; for two classes one row, the log-odds. Not available with "predictive".
    means_ : ndarray of shape (K, M)
        Mean of each class.
    covariance_ : ndarray of shape (M, M)
        Covariance that the classes share.
    priors_, class_count_ : ndarrays of shape (K,)
        p(C_k), and the weight of each class.
    class_weight_ : ndarray of shape (K,)
        The factor of each class.
    shrinkage_ : ndarray of shape (K,)
        The λ used.
    scalings_, explained_variance_ratio_ : ndarrays of shape (M, Q) and (Q,)
        Directions of `transform` as columns (M, Q), with v'Σv = 1, and the fraction of the variance of the class means
        along each.
    facts_ : ClassMoments
        The sufficient statistics of the training rows (class moments).
    n_passes_, n_steps_, solution_ : int, int and Solution
        Cost and status; ``solution_.trace`` contains the log likelihoods of EM.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y)
    0.98
    >>> X[0, 2] = np.nan  # a missing value is marginalised
    >>> model.predict_proba(X[:1]).round(3)
    array([[1., 0., 0.]])
    """

    _scatter = PooledScatter
    n_components: int | None = None

    def __init__(
        self,
        basis: Any = None,
        priors: Any = None,
        shrinkage: Any = 0.0,
        estimate: str = "ml",
        unlabelled: Any = "error",
        class_weight: Any = None,
        prior_correction: bool = False,
        n_components: int | None = None,
    ) -> None:
        super().__init__(basis, priors, shrinkage, estimate, unlabelled, class_weight, prior_correction)
        self.n_components = n_components

    def _classes(
        self, facts: ClassMoments[Any], shrinkage: Float, estimate: str, *, in_em: bool = False
    ) -> tuple[NormalClasses, SingularError | None]:
        K = len(facts.count)
        N, n = facts.total, max(facts.total - np.count_nonzero(facts.count), 0.0)
        factor, diagonal, freedom = covariance_weights(estimate, N, n, float(shrinkage[0]))
        target = self._target(facts)[:1]
        if not target.any() and np.count_nonzero(facts.count) >= N:
            raise CollinearError(
                "Every class has one row, so the covariance cannot be estimated. Provide more rows: the number of "
                "samples must be more than the number of classes."
            )
        Sigma, singular = covariances(
            facts,
            np.full((1, K), factor),
            diagonal * target,
            in_em=in_em or self.n_steps_ > 1,
            is_single=self._is_single,
        )
        widening = np.ones(K)
        if estimate == "predictive":
            widening += 1 / np.where(facts.count > 0, facts.count, 1.0)
        return NormalClasses(facts.mean, Sigma, np.full(K, freedom), widening), singular

    def _estimate(self, facts: ClassMoments[Any]) -> None:
        if self.n_components is not None:
            check_count("LinearDiscriminantAnalysis", "n_components", self.n_components)
            most = min(facts.mean.shape[1], max(len(facts.count) - 1, 1))
            if self.n_components > most:
                raise ValueError(
                    f"n_components={self.n_components}: {len(facts.count)} classes of {facts.mean.shape[1]} columns "
                    f"have {most} directions. n_components cannot be larger than min(n_features, n_classes - 1)."
                )
        super()._estimate(facts)
        self._linear = None
        for name in ("coef_", "intercept_"):  # remove results of an earlier fit with another estimate
            self.__dict__.pop(name, None)
        if self.estimate != "predictive":
            m = facts.grand_mean
            delta = facts.mean - m
            W = self._densities.covariance[0].solve(delta.T).T  # (4.69)
            w0 = -0.5 * np.einsum("km,km->k", delta, W) + log_probability(self.priors_)  # (4.70)
            # If terms are large, differences between the scores would be rounding errors; densities are accurate.
            if (np.abs(W) * (np.abs(delta) + np.abs(m))).sum(axis=1).max() < MAX_CANCELLING_NATS:
                self._linear = W, w0, m
            self.coef_, self.intercept_ = W, w0 - W @ m
            if len(W) == 2:
                self.coef_, self.intercept_ = np.diff(self.coef_, axis=0), np.diff(self.intercept_)
            if self._is_single:  # predictions use the weights before rounding
                self.coef_, self.intercept_ = in_single(self.coef_, self.intercept_)

    @property
    def covariance_(self) -> Float:
        """Covariance Σ (M, M); with "predictive", the scale matrix of the Student t divided by 1 + 1/N_k."""
        return self._densities.covariance[0].matrix

    def _directions(self) -> tuple[Float, Float]:
        """Directions (M, Q) that maximise the variance between classes over Σ, and this ratio (Q,): PRML (4.26)."""
        self._require_parameters()
        delta = self.means_ - self.priors_ @ self.means_
        B = np.sqrt(self.priors_)[:, None] * delta  # S_B = B'B
        SB = self._densities.covariance[0].solve(B.T)
        values, U = np.linalg.eigh(B @ SB)  # Σ⁻¹ S_B and B Σ⁻¹ B' have the same eigenvalues
        values, U = values[::-1], U[:, ::-1]
        most = min(len(B) - 1, B.shape[1])
        kept = np.flatnonzero(values[:most] > len(B) * np.finfo(np.float64).eps * values[0])
        V = SB @ U[:, kept] / np.sqrt(values[kept])
        sign = np.sign(delta[-1] @ V)  # the sign of an eigenvector is arbitrary; the last class lies above the mean
        return V * np.where(sign == 0, 1.0, sign), values[kept]

    @property
    def scalings_(self) -> Float:
        """Directions of `transform` as columns, (M, Q)."""
        return self._directions()[0][:, : self.n_components]

    @property
    def explained_variance_ratio_(self) -> Float:
        """Fraction of the variance of the class means, relative to Σ, along each direction."""
        ratio = self._directions()[1]
        return np.asarray(ratio / ratio.sum())[: self.n_components]

    def transform(self, X: Any) -> Array:
        """Coordinates V'(φ(x) - m) along the directions, shape (N, Q); NaN if a value is missing."""
        V = self.scalings_
        shift = self.priors_ @ self.means_ @ V
        return self._map_rows(
            X, lambda Phi: Phi @ V.astype(Phi.dtype, copy=False) - shift, allow_nan=True, limit=Limit.LARGEST
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.scalings_.shape[1])

    def _explanation_scores(self) -> tuple[Scores, tuple[str, ...]]:
        """The linear scores (4.68). The reference is the mean of the training rows."""
        if "coef_" not in vars(self):
            raise TypeError(
                f"{type(self).__name__}(estimate={self.estimate!r}) cannot be explained: its log-odds are not linear. "
                "Use estimate='ml' or 'map'."
            )
        weights = np.column_stack([self.coef_, self.intercept_])
        likelihood = Logit() if len(weights) == 1 else Softmax(len(weights))
        return LinearScores(weights, likelihood, self.facts_.grand_mean), (NO_INTERVALS,)

    def _expanded(self, X: Rows) -> Float | None:
        return None if self._linear is None else linear_scores(X, *self._linear)  # (4.68)
