# SPDX-License-Identifier: BSD-3-Clause
"""Least squares for classification.                                                       PRML §4.1.3

y(x) = W φ(x) + w0, fitted to 1-of-K targets T by minimising ½ Σ_n |y(x_n) - t_n|² + ½ alpha |W|².

Centring removes w0. The solution then depends only on the class moments N_k, m_k and S_T = S_W + S_B:

    (S_T + alpha I) w_k = N_k (m_k - m),     w_k0 = N_k / N - w_k' m                    (4.16)

The fit needs one pass. The outputs sum to one for every x (PRML exercise 4.2), but they are not probabilities and can
lie outside [0, 1]. Correctly classified rows far from the boundary pull the boundary towards them, as outliers do. With
K > 2, a class that lies between two other classes may never be predicted ("masking").
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_number, check_option
from separatrix._array import Array, Float
from separatrix._linalg import SingularError, solve_factored, solve_minimum_norm, solve_positive_definite
from separatrix._threads import blas_for
from separatrix.estimator import LinearClassifier, require_two_classes, unchanged_on_error
from separatrix.exceptions import CollinearWarning, DataError
from separatrix.solvers import Solution, Status
from separatrix.stats import MAX_MAGNITUDE, ClassMoments, FactoredScatter, PooledScatter, collect_moments


@dataclass(frozen=True)
class LeastSquares:
    """Weights W (K, M) and intercepts w0 (K,), one regression per class indicator."""

    W: Float
    w0: Float


def fit_least_squares(
    moments: ClassMoments[PooledScatter] | ClassMoments[FactoredScatter],
    *,
    alpha: float = 0.0,
    fit_intercept: bool = True,
    columns: tuple[str, ...] = (),
) -> LeastSquares:
    """Solve (4.16) from class moments; alpha is the precision of a Gaussian prior on each weight."""
    N, m = moments.total, moments.grand_mean
    origin = m if fit_intercept else np.zeros_like(m)
    B = (moments.count[:, None] * (moments.mean - origin)).T
    if fit_intercept:  # Σ_k N_k (m_k - m) = 0; without the rounding error of this sum, the outputs of a row sum to one
        B -= B.mean(axis=1, keepdims=True)
    # Without an intercept, S_T is taken about the origin: the factor of S_B gets one more row, √N m.
    rows = moments.between if fit_intercept else np.vstack([moments.between, np.sqrt(N) * m])
    scatter = moments.scatter
    if isinstance(scatter, FactoredScatter):
        F = np.vstack([scatter.rows, rows])
        constant = moments.is_constant(np.einsum("rm,rm->m", F, F) / moments.total)
        F[:, constant] = 0.0
        with blas_for(F.size * len(F)):
            W = solve_factored(F, np.where(constant[:, None], 0.0, B), np.full(len(B), alpha)).T
    else:
        A = scatter.matrix + rows.T @ rows
        constant = moments.is_constant(np.diag(A) / moments.total)
        A[constant], A[:, constant] = 0.0, 0.0
        A[np.diag_indices_from(A)] += alpha
        try:
            W = solve_positive_definite(A, B).T
        except SingularError as singular:
            warnings.warn(
                f"Collinear columns: {singular.describe(columns)}. Predictions are unaffected, but the coefficients "
                "are not unique; the solution of minimum norm (in standard-deviation units) is returned. "
                "Drop those columns, or set alpha > 0.",
                CollinearWarning,
                stacklevel=3,
            )
            W = solve_minimum_norm(A, B).T
    return LeastSquares(W, moments.count / N - W @ m if fit_intercept else np.zeros(len(W)))


class LeastSquaresClassifier(LinearClassifier):
    """Linear regression on class indicators, in closed form with one pass. It gives no probabilities.

    y(x) = W φ(x) + w0 minimises ½ Σ_n weight_n |y(x_n) - t_n|² + ½ alpha |W|², with t_n the 1-of-K code of
    the label (PRML §4.1.3). For two classes the decision function is y_1(x) - y_0(x), which is the
    regression on targets +1 and -1.

    Parameters
    ----------
    basis : basis function or transformer, optional
        Basis functions φ; see `separatrix.basis`. They do not include the constant φ_0 = 1.
    alpha : float, default 0
        Ridge penalty: the precision of a Gaussian prior on each weight (not on w0).
    fit_intercept : bool, default True
        Whether to fit w0.
    targets : {"one-of-K", "fisher"}, default "one-of-K"
        "one-of-K" uses the class indicators. "fisher", for two classes, uses the target N/N_1 for ``classes_[1]`` and
        -N/N_0 for ``classes_[0]``. Then w is Fisher's direction and w0 = -w'm (PRML §4.1.5).
    class_weight : {"balanced"} or mapping {label: factor}, optional
        Factor of the weights of each class, as in `LogisticRegression`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, M) or (K, M)
    intercept_ : ndarray of shape (1,) or (K,)
    class_weight_ : ndarray of shape (K,), the factor of each class
    solution_ : Solution, the status, and the K regressions as ``value.W`` and ``value.w0``

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LeastSquaresClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LeastSquaresClassifier().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.847
    >>> print(model.outputs(X[:1]).sum().round(12))
    1.0
    """

    def __init__(
        self,
        basis: Any = None,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        targets: str = "one-of-K",
        class_weight: Any = None,
    ) -> None:
        self.basis = basis
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.targets = targets
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LeastSquaresClassifier:
        """Fit in one pass over the rows."""
        check_number("LeastSquaresClassifier", "alpha", self.alpha, low=0.0)
        check_option("LeastSquaresClassifier", "targets", self.targets, ("one-of-K", "fisher"))
        with unchanged_on_error(self):
            source = self._open_training(X, y, sample_weight)
            classes = source.classes
            moments = collect_moments(source, len(classes), PooledScatter)
            regressions = fit_least_squares(
                moments, alpha=self.alpha, fit_intercept=self.fit_intercept, columns=source.columns
            )
            self._keep(Solution(regressions, Status.SOLVED, steps=1, passes=1), source.passes)
            # The matrix `code` combines the K indicator regressions into the values of `decision_function`.
            code = np.array([[-1.0, 1.0]]) if len(classes) == 2 else np.eye(len(classes))
            if self.targets == "fisher":
                remedy = "Set targets='one-of-K', or wrap the model in OneVsRest or OneVsOne."
                require_two_classes("LeastSquaresClassifier(targets='fisher')", classes, remedy)
                with np.errstate(divide="ignore"):  # a class of weight zero
                    code = code * (moments.total / moments.count)
                if np.abs(code).max() > MAX_MAGNITUDE:
                    raise DataError(
                        f"The weights of the classes add up to {', '.join(f'{n:.3g}' for n in moments.count)}, and the "
                        "targets N/N_k of targets='fisher' overflow. Set targets='one-of-K', or correct sample_weight."
                    )
            self._keep_weights(code @ regressions.W, code @ regressions.w0, source)
        return self

    def outputs(self, X: Any) -> Array:
        """Outputs y(x) of the K indicator regressions, (N, K). Rows sum to one if w0 is fitted."""
        check_is_fitted(self)
        W, w0 = self.solution_.value.W, self.solution_.value.w0
        return self._map_rows(X, lambda Phi: Phi @ W.T.astype(Phi.dtype, copy=False) + w0)
