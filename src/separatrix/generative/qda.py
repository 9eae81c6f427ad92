# SPDX-License-Identifier: BSD-3-Clause
"""Quadratic discriminant analysis: normal classes, each with its own covariance.                     PRML §4.2.1

    p(x | C_k) = N(x | μ_k, Σ_k),  p(C_k) = π_k
    a_k(x) = -½ (x - μ_k)' Σ_k⁻¹ (x - μ_k) - ½ ln |Σ_k| + ln π_k                                     (4.63, 4.64)

The log-odds of two classes are quadratic, a(x) = x'C x + w'x + w0, with

    C = -½ (Σ_1⁻¹ - Σ_0⁻¹),   w = Σ_1⁻¹ μ_1 - Σ_0⁻¹ μ_0,
    w0 = -½ μ_1'Σ_1⁻¹ μ_1 + ½ μ_0'Σ_0⁻¹ μ_0 - ½ ln |Σ_1|/|Σ_0| + ln π_1/π_0.

The fit needs one pass. A given shrinkage is towards the pooled within-class variances D, which helps classes with few
rows. Estimated shrinkage is towards the variances D_k of each class, moderated by c rows of the pooled ones, (n_k D_k +
c D)/(n_k + c), where c maximises the marginal likelihood of the variances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaln

from separatrix._array import Float, Rows, to_dense
from separatrix._linalg import SingularError
from separatrix._special import MAX_CANCELLING_NATS
from separatrix.exceptions import CollinearError
from separatrix.generative.classifier import log_probability
from separatrix.generative.covariance import DenseCovariance, NormalClasses
from separatrix.generative.gaussian import GaussianClassifier, covariance_weights, covariances, variance_of
from separatrix.stats import ClassMoments, ClassScatter

MAX_LOG_SHARED_ROWS = 14.0  # with 1e6 rows of a prior, all classes have the pooled variances


def _quadratics(classes: NormalClasses, origin: Float, priors: Float) -> tuple[Float, Float, Float]:
    """C, w and w0 of ln p(x, C_k) = z'C z + w'z + w0 with z = x - origin, up to a term common to all classes."""
    P = np.stack([Sigma.solve(np.eye(len(origin))) for Sigma in classes.covariance])
    log_det = np.array([Sigma.log_det for Sigma in classes.covariance])
    delta = classes.mean - origin
    w = np.einsum("kml,kl->km", P, delta)
    w0 = -0.5 * np.einsum("km,km->k", delta, w) - 0.5 * log_det + log_probability(priors)
    return -0.5 * P, w, w0  # the exponent of (4.64), expanded


def shared_rows(squares: Float, n: Float, D: Float) -> float:
    """Number of rows c that the pooled variances D are worth as a prior for the variances of each class.

    With σ² ~ scaled inverse χ²(c, D) and squares ~ σ² χ²(n), the ratios squares/(n D) are F(n, c). The c that maximises
    their likelihood is large if the classes have similar variances, and small if these differ (Smyth 2004).
    """
    from scipy.optimize import minimize_scalar

    squares, n, D = (array[(n > 0) & (D > 0)] for array in np.broadcast_arrays(squares, n, D))

    def minus_log_likelihood(log_c: float) -> float:
        c = np.exp(log_c)
        log_p = -0.5 * n * log_c - 0.5 * (n + c) * np.log1p(squares / (c * D)) - betaln(0.5 * n, 0.5 * c)
        return -float(log_p.sum())

    return float(np.exp(minimize_scalar(minus_log_likelihood, bounds=(0.0, MAX_LOG_SHARED_ROWS), method="bounded").x))


class QuadraticDiscriminantAnalysis(GaussianClassifier):
    """Classifier for normal classes, each with its own covariance, which has quadratic boundaries.

    Parameters
    ----------
    basis, priors, estimate, unlabelled, class_weight, prior_correction
        As in `LinearDiscriminantAnalysis`.
    shrinkage : float in [0, 1], "ledoit-wolf" or "evidence", default 0
        λ_k in (1 - λ_k) Σ_k + λ_k D_k. A number is used for all classes, and D_k contains the pooled within-class
        variances. "ledoit-wolf" and "evidence" estimate λ_k of each class, and D_k contains the variances of the class,
        moderated by the pooled ones.

    Attributes
    ----------
    means_, priors_, class_count_, class_weight_, shrinkage_, facts_
        As in `LinearDiscriminantAnalysis`.
    covariance_ : ndarray of shape (K, M, M)
        Covariance of each class.
    quadratic_, coef_, intercept_ : ndarrays of shape (1, M, M), (1, M) and (1,), or (K, M, M), (K, M) and (K,)
        C, w and w0 of x'C x + w'x + w0, which is the log-odds for two classes, and ln p(x, C_k) up to a common term for
        K classes. Not available with "predictive".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> QuadraticDiscriminantAnalysis().fit(X, y).score(X, y)
    0.98
    """

    _scatter = ClassScatter

    def _target(self, facts: ClassMoments[Any]) -> Float:
        """Pooled variances for a given λ; if λ_k is estimated, the variances of the classes, moderated by them."""
        D = super()._target(facts)
        if not isinstance(self.shrinkage, str):
            return D
        own = np.stack([variance_of(facts, each) for each in np.eye(len(D))])  # n_k D_k
        n = np.maximum(facts.count - 1, 0.0)[:, None]
        c = shared_rows(own, n, D)
        return np.asarray((own + c * D) / (n + c))

    def _classes(
        self, facts: ClassMoments[Any], shrinkage: Float, estimate: str, *, in_em: bool = False
    ) -> tuple[NormalClasses, SingularError | None]:
        K, M = facts.mean.shape
        seen = np.flatnonzero(facts.count > 0)
        factor, ridge, target = np.zeros((K, K)), np.zeros((K, M)), self._target(facts)
        freedom, widening = np.full(K, np.inf), np.ones(K)
        for k in seen:
            N = facts.count[k]
            factor[k, k], diagonal, freedom[k] = covariance_weights(estimate, N, max(N - 1, 0.0), float(shrinkage[k]))
            ridge[k] = diagonal * target[k]
            widening[k] = 1.0 if np.isinf(freedom[k]) else 1 + 1 / N
            if N <= 1 and not (ridge[k].any() or variance_of(facts, factor[k]).any()):
                raise CollinearError(
                    f"One row of class {self.classes_.tolist()[k]!r} (n_samples = {N:g}) cannot determine a covariance."
                    " Provide more rows, or set shrinkage=0.1 or shrinkage='evidence'."
                )
        found, singular = covariances(
            facts, factor[seen], ridge[seen], in_em=in_em or self.n_steps_ > 1, is_single=self._is_single
        )
        # A class without rows has prior zero, so any density can be used.
        each = [found[max(int(np.searchsorted(seen, k, side="right")) - 1, 0)] for k in range(K)]
        return NormalClasses(facts.mean, tuple(each), freedom, widening), singular

    def _estimate(self, facts: ClassMoments[Any]) -> None:
        super()._estimate(facts)
        # The log-odds ln p(x, C_k) / p(x, C_0) are z'C z + w'z + w0 with z = x - origin.
        self._contrasts: tuple[Float, Float, Float, Float] | None = None
        normal = np.isinf(self._densities.freedom).all() and (self.priors_ > 0).all()
        covariances = self._densities.covariance
        # If a covariance is ill-conditioned or a term is large, the density is more accurate than an expanded form.
        if normal and all(isinstance(S, DenseCovariance) and S.is_well_conditioned for S in covariances):
            C, w, w0 = _quadratics(self._densities, facts.grand_mean, self.priors_)
            if np.abs(w0).max() < MAX_CANCELLING_NATS:
                self._contrasts = facts.grand_mean, C - C[0], w - w[0], w0 - w0[0]

    def _expanded(self, X: Rows) -> Float | None:
        """Log-odds against the first class, which need K - 1 matrix products; the densities need K."""
        if self._contrasts is None:
            return None
        origin, C, w, w0 = self._contrasts
        Z = (to_dense(X) - origin).astype(X.dtype, copy=False)
        a = np.zeros((len(Z), len(w0)))
        for k in range(1, len(w0)):
            forms = Z @ C[k].astype(X.dtype, copy=False) + w[k].astype(X.dtype, copy=False)
            a[:, k] = np.einsum("nm,nm->n", forms, Z) + w0[k]
        return a

    @property
    def covariance_(self) -> Float:
        """Covariances Σ_k, (K, M, M)."""
        return np.stack([Sigma.matrix for Sigma in self._densities.covariance])

    def _form(self) -> tuple[Float, Float, Float]:
        """C, w and w0 of each class; for two classes, of the log-odds."""
        self._require_parameters()
        if np.isfinite(self._densities.freedom).any():
            raise AttributeError("With estimate='predictive' the log-odds are not a quadratic form.")
        C, w, w0 = _quadratics(self._densities, np.zeros(self.means_.shape[1]), self.priors_)
        if len(w) > 2:
            return C, w, w0
        return np.diff(C, axis=0), np.diff(w, axis=0), np.diff(w0)

    @property
    def quadratic_(self) -> Float:
        """Matrices C of the quadratic form, (1, M, M) or (K, M, M)."""
        return self._form()[0]

    @property
    def coef_(self) -> Float:
        """Weights w of the quadratic form, (1, M) or (K, M)."""
        return self._form()[1]

    @property
    def intercept_(self) -> Float:
        """Intercepts w0 of the quadratic form, (1,) or (K,)."""
        return self._form()[2]
