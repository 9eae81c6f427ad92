# SPDX-License-Identifier: BSD-3-Clause
"""Fisher's linear discriminant.                                                          PRML §4.1.4, §4.1.6

Rows are projected onto the directions that maximise the variance between classes relative to the variance within:

    J(w) = w' S_B w / w' S_W w                                                                  (4.26)

For two classes, w ∝ S_W⁻¹ (m_1 - m_0)  (4.30). For K classes, let B be the matrix with rows √N_k (m_k - m), so that
S_B = B'B. The stationary points of J are w = S_W⁻¹ B' u / √λ, where u and λ > 0 are eigenvectors and eigenvalues of
the K x K matrix B S_W⁻¹ B'. There are at most K - 1 of them, and no M x M eigenproblem is solved.

S_W denotes the within-class *covariance*, in one of two common conventions:

    "pooled"   Σ_k S_k / N               PRML (4.28), divided by N
    "mean"     Σ_k (S_k / N_k) / K       each class has the same weight, whatever its number of rows

If S_W is singular, columns that are constant or combinations of others get the weight zero. A direction in which all
rows of a class are equal, but classes differ, has an infinite J. Its variance is replaced by a vanishing one (1e-10 in
units of the column), so that it comes first, with finite weights. The fit needs one pass over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count, check_number, check_option
from separatrix._array import Array, Codes, Float, Rows, to_dense
from separatrix._linalg import (
    SINGULAR_IN_SINGLE,
    SINGULAR_PER_COLUMN,
    VANISHING_VARIANCE,
    SingularError,
    cholesky_of_correlation,
    dependent_columns,
    root_of,
    solve_factored,
    whitener_of_root,
)
from separatrix._special import MAX_CANCELLING_NATS
from separatrix._text import columns_are, counted
from separatrix._threads import blas_for
from separatrix.estimator import Limit, LinearClassifier, unchanged_on_error
from separatrix.exceptions import CollinearError, CollinearWarning, DataError, warn
from separatrix.solvers import Solution, Status
from separatrix.stats import ClassMoments, ClassScatter, FactoredScatter, PooledScatter, collect_moments

EPS = float(np.finfo(np.float64).eps)
Moments = ClassMoments[Any]  # with PooledScatter, ClassScatter or FactoredScatter


@dataclass(frozen=True)
class Fisher:
    """Discriminant directions as columns V (M, Q), with v' S_W v = 1, and their ratios J (Q,) of (4.26)."""

    V: Float
    ratio: Float


def fit_fisher(
    moments: Moments,
    *,
    convention: str = "pooled",
    shrinkage: float = 0.0,
    columns: tuple[str, ...] = (),
    smallest: float = 0.0,
) -> Fisher:
    """Stationary directions of (4.26), sorted by decreasing J; along each, the last class lies above class 0.

    ``smallest`` is the 1 - R² of a column given the others that may be rounding error, if it is larger than usual.
    """
    N, K = moments.total, len(moments.count)
    B = moments.between
    factor = np.full(K, 1 / N)
    if convention == "mean":
        weighted = moments.count > 0
        factor = np.divide(1, weighted.sum() * moments.count, out=np.zeros(K), where=weighted)
    smallest = max(smallest, SINGULAR_PER_COLUMN * B.shape[1])
    S = moments.scatter.combined(factor)  # S_W, or a factor F with F'F = S_W
    with blas_for(S.size * len(S)):
        directions, values, live = _stationary(moments, S, B, shrinkage, columns, smallest)
    kept = np.argsort(values)[::-1][: min(K - 1, np.count_nonzero(values))]
    V = np.zeros((len(live), len(kept)))
    V[live] = directions[:, kept]
    sign = np.sign((moments.mean[-1] - moments.mean[0]) @ V)  # the sign of an eigenvector is arbitrary
    return Fisher(V * np.where(sign == 0, 1.0, sign), values[kept] / N)


def _stationary(
    moments: Moments, S: Float, B: Float, shrinkage: float, columns: tuple[str, ...], smallest: float
) -> tuple[Float, Float, Array]:
    """Directions (L, R) with v' S_W v = 1, N J of each, which is zero if it may be rounding error, and a mask (M,).

    The mask selects the L columns of the directions; the weight of other columns is zero. S_W is replaced by
    (1 - shrinkage) S_W + shrinkage diag S_W.
    """
    factored = isinstance(moments.scatter, FactoredScatter)
    variance = np.einsum("rm,rm->m", S, S) if factored else np.diag(S)
    variance = np.where(moments.is_constant(variance), 0.0, variance)
    if not variance.any() and moments.total <= len(moments.count):
        raise DataError("Every class has one row, so the spread within classes is undefined. Provide more rows.")
    total = variance + (B**2).sum(axis=0) / moments.total
    live = ~moments.is_constant(total)
    if not live.any():
        raise CollinearError("Every column is constant, so no direction separates the classes. Add columns that vary.")
    constant, within = np.flatnonzero(~live).tolist(), live & (variance == 0)
    if factored and shrinkage > 0:
        if constant or within.any():
            _warn_of_collinear(columns, SingularError(constant, {}), np.flatnonzero(within), shrinkage)
        ridge = np.where(within, VANISHING_VARIANCE * total, shrinkage * variance)[live]
        B = B[:, live]
        SB = solve_factored(np.sqrt(1 - shrinkage) * S[:, live], B.T, ridge)
        values, U = np.linalg.eigh(B @ SB)
        values[values <= EPS * len(B) * max(values.max(), np.finfo(float).tiny)] = 0.0
        return SB @ U / np.sqrt(np.where(values > 0, values, 1.0)), values, live
    if not factored:
        S *= 1 - shrinkage
        S[variance == 0], S[:, variance == 0] = 0.0, 0.0
        S[np.diag_indices_from(S)] = variance
        try:
            scale, L = cholesky_of_correlation(S)
            # With whitened class means, small ratios J keep their digits next to large ones: no squares are subtracted.
            U, s, _ = linalg.svd(linalg.solve_triangular(L, (B / scale).T, lower=True), full_matrices=False)
            s[s <= EPS * len(B) * s.max(initial=0.0) / L.diagonal().min()] = 0.0
            return linalg.solve_triangular(L, U, lower=True, trans="T") / scale[:, None], s**2, live
        except SingularError:
            S = root_of(S, smallest)
    singular = dependent_columns(np.concatenate([S, B / np.sqrt(moments.total)]) * live, smallest)
    live[singular.dropped] = False
    W, _, n_vanishing = whitener_of_root(S[:, live], total[live], max(smallest, VANISHING_VARIANCE))
    few = (
        f"{counted(len(S), 'row')} cannot determine a covariance of {counted(len(live), 'column')}." if factored else ""
    )
    _warn_of_collinear(columns, singular, np.flatnonzero(within & live), shrinkage, n_vanishing, few)
    U, s, _ = linalg.svd(W.T @ B[:, live].T, full_matrices=False)
    s[s <= EPS * len(B) * s.max(initial=0.0) / np.sqrt(VANISHING_VARIANCE)] = 0.0
    return W @ U, s**2, live


def _warn_of_collinear(
    columns: tuple[str, ...],
    singular: SingularError,
    within: Codes,
    shrinkage: float,
    n_vanishing: int = 0,
    few: str = "",
) -> None:
    """Warn of columns that are not used, and of directions in which no class has any variance."""
    clauses = [f"Collinear columns. {few}"] if few else []
    if singular.dropped and not few:
        described = singular.describe(columns)
        clauses.append(f"Collinear columns. Columns that add no information are not used: {described}.")
    if len(within) or n_vanishing:
        what = columns_are([columns[j] for j in within]) if len(within) else "Combinations of columns are"
        clauses.append(f"{what} constant within every class, with different values, so J(w) is infinite.")
    # Shrinkage is towards variances, so it does not help if a column has none within any class.
    helps = shrinkage == 0 and (singular.combination or n_vanishing > len(within))
    if clauses:  # none at the limit of precision
        remedy = ", or set shrinkage=0.1." if helps else "."
        which = "that column" if len(clauses) == 1 and clauses[0].startswith("Column ") else "those columns"
        warn(f"{' '.join(clauses)} Drop {which}{remedy}", CollinearWarning)


def linear_rule(V: Float, moments: Moments, threshold: str) -> tuple[Float, Float]:
    """Weights and intercepts of the classifier in the space of the directions V.

    S_W⁻¹ δ = V V' δ for any difference δ of class means, so w = S_W⁻¹ (m_1 - m_0) for two classes.
    """
    live = moments.count > 0  # a class whose rows have weight zero is never predicted
    if len(live) == 2 and not live.all():
        return np.zeros((1, len(V))), np.array([np.inf if live[1] else -np.inf])
    if len(moments.count) == 2:
        w = V @ (V.T @ (moments.mean[1] - moments.mean[0]))  # (4.30)
        w0 = -w @ moments.grand_mean if threshold == "mean" else normal_threshold(w, moments)  # (4.34)
        return w[None], np.array([w0])
    centres = (moments.mean - moments.grand_mean) @ V  # class means in coordinates in which S_W = I
    W = centres @ V.T
    w0 = -0.5 * np.einsum("kq,kq->k", centres, centres) - W @ moments.grand_mean
    return W, w0 + log_priors(moments.count / moments.total, threshold)


def log_priors(priors: Float, threshold: str) -> Float:
    """Terms of the scores for the class proportions: ln π_k, or for equal priors 0; -inf if π_k = 0."""
    with np.errstate(divide="ignore"):
        return np.log(priors if threshold == "normal" else priors > 0)


def normal_threshold(w: Float, moments: Moments) -> float:
    """Intercept w0 that puts the boundary where both classes, as normals along w, have the same posterior probability.

    ln π_0 N(z | μ_0, s_0²) = ln π_1 N(z | μ_1, s_1²) is quadratic in z. The root nearest to the midpoint of the means
    is used. If one class is more probable everywhere, there is no root; the point with log-odds closest to
    zero is used.
    """
    mu, s2 = moments.mean @ w, moments.scatter.spread(w) / moments.count
    if not (s2 > 0).all():  # a class with one row has no variance; use the variance of the other class
        s2 = np.full(2, max(s2.max(), np.finfo(float).tiny))
    middle = mu.mean()
    mu = mu - middle  # the roots are then near zero, which avoids cancellation
    log_pi = np.log(moments.count / moments.total)
    c = np.array([-0.5 / s2, mu / s2, log_pi - 0.5 * np.log(s2) - 0.5 * mu**2 / s2])  # ln π_k N(z | μ_k, s_k²)
    # If the roots are complex, the log-odds are closest to zero at their real part.
    roots = np.roots(c[:, 1] - c[:, 0]).real
    return float(-middle - (roots[np.abs(roots).argmin()] if len(roots) else 0.0))


class FisherDiscriminant(TransformerMixin, ClassNamePrefixFeaturesOutMixin, LinearClassifier):
    """Fisher's linear discriminant, a classifier and a projection onto at most K - 1 directions.

    The directions maximise J(w) = w' S_B w / w' S_W w (PRML 4.26). With two classes, the prediction is a threshold
    along the only direction. With K classes, the nearest class mean is predicted, in the space of the directions, in
    which S_W is the identity.

    Parameters
    ----------
    basis : basis function or transformer, optional
        Basis functions φ; see `separatrix.basis`.
    n_components : int, optional
        Maximum number of directions to keep. By default all are kept, at most K - 1.
    scatter : {"pooled", "mean"}, default "pooled"
        Definition of S_W: "pooled" is Σ_k S_k / N (PRML 4.28), "mean" is the mean of the class covariances S_k / N_k.
    threshold : {"mean", "normal"}, default "mean"
        For two classes, "mean" puts the boundary through the mean of all rows, w0 = -w'm; "normal" puts it where the
        posterior probabilities of two normals fitted along w are equal. Choose "normal" if the classes differ much in
        size. For K classes, "normal" adds ln π_k to the score of class k.
    shrinkage : float in [0, 1], default 0
        S_W is replaced by (1 - shrinkage) S_W + shrinkage diag S_W, which shrinks the correlations. The result does
        not depend on units. With fewer rows than columns and no shrinkage, only as many columns as rows are used.
    class_weight : {"balanced"} or mapping {label: factor}, optional
        Factor of the weights of each class, as in `LogisticRegression`. Only ``threshold="normal"`` then prefers a
        class with a large weight.

    Attributes
    ----------
    coef_, intercept_ : ndarrays of shape (1, M) and (1,), or (K, M) and (K,)
        The linear classifier; for two classes ``coef_`` is S_W⁻¹ (m_1 - m_0).
    scalings_ : ndarray of shape (M, Q)
        The directions.
    ratio_ : ndarray of shape (Q,)
        Variance between the classes divided by the variance within, along each direction. For two classes and pooled
        scatter it is J N_0 N_1 / N, with the criterion J of (4.26).
    means_, priors_ : ndarrays of shape (K, M) and (K,)
        Class means and class proportions.
    class_weight_ : ndarray of shape (K,)
        The factor of each class.
    n_passes_ : int
        Always 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import FisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FisherDiscriminant().fit(X, y)
    >>> model.score(X, y)
    0.98
    >>> model.transform(X).shape
    (150, 2)
    """

    no_distribution = "it fits a rule, not probabilities, so its weights have no likelihood"

    def __init__(
        self,
        basis: Any = None,
        n_components: int | None = None,
        scatter: str = "pooled",
        threshold: str = "mean",
        shrinkage: float = 0.0,
        class_weight: Any = None,
    ) -> None:
        self.basis = basis
        self.n_components = n_components
        self.scatter = scatter
        self.threshold = threshold
        self.shrinkage = shrinkage
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FisherDiscriminant:
        """Fit in one pass over the rows."""
        check_option("FisherDiscriminant", "scatter", self.scatter, ("pooled", "mean"))
        check_option("FisherDiscriminant", "threshold", self.threshold, ("mean", "normal"))
        check_number("FisherDiscriminant", "shrinkage", self.shrinkage, low=0.0, high=1.0)
        if self.n_components is not None:
            check_count("FisherDiscriminant", "n_components", self.n_components)
        with unchanged_on_error(self):
            source = self._open_training(X, y, sample_weight)
            classes = source.classes
            # One scatter matrix per class needs K times the memory of a pooled matrix, but no more operations.
            apart = self.scatter == "mean" or (self.threshold == "normal" and len(classes) == 2)
            moments = collect_moments(source, len(classes), ClassScatter if apart else PooledScatter)
            is_single = getattr(source.template, "dtype", None) == np.float32
            solution = fit_fisher(
                moments,
                convention=self.scatter,
                shrinkage=self.shrinkage,
                columns=source.columns,
                smallest=SINGULAR_IN_SINGLE if is_single else 0.0,
            )
            self._keep(Solution(solution, Status.SOLVED, steps=1, passes=1), source.passes)
            self.scalings_, self.ratio_ = solution.V[:, : self.n_components], solution.ratio[: self.n_components]
            self.mean_, self.means_ = moments.grand_mean, moments.mean
            self.priors_ = moments.count / moments.total
            self._keep_weights(*linear_rule(self.scalings_, moments, self.threshold), source)
        return self

    @property
    def _centres(self) -> Float | None:
        """Class means (K, Q) along the directions, if terms of the linear form would be too large; otherwise None."""
        centres = (self.means_ - self.mean_) @ self.scalings_
        is_far = len(centres) > 2 and (centres**2).sum(axis=1).max() >= MAX_CANCELLING_NATS
        return centres if is_far else None

    def _activation(self, X: Rows) -> Array:
        """Scores of K classes; if their terms are too large for the linear form, relative to the nearest class mean."""
        centres = self._centres
        if centres is None:
            return super()._activation(X)
        Z = (to_dense(X) - self.mean_) @ self.scalings_
        nearest = centres[((Z[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1), None]
        scores = ((centres - nearest) * (Z[:, None] - 0.5 * (centres + nearest))).sum(axis=2)
        return np.asarray(scores + log_priors(self.priors_, self.threshold))

    def transform(self, X: Any) -> Array:
        """Coordinates V'(φ(x) - m) along the directions, shape (N, Q)."""
        check_is_fitted(self)
        V, shift = self.scalings_, self.mean_ @ self.scalings_
        return self._map_rows(X, lambda Phi: Phi @ V.astype(Phi.dtype, copy=False) - shift, limit=Limit.LARGEST)

    @property
    def _n_features_out(self) -> int:
        return int(self.scalings_.shape[1])
