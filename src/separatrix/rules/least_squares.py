# SPDX-License-Identifier: BSD-3-Clause
"""Least squares for classification.                                                       PRML §4.1.3

y(x) = W φ(x) + w0, fitted to 1-of-K targets T by minimising ½ Σ_n |y(x_n) - t_n|² + ½ alpha |W|².

Centring removes w0. The solution then depends only on the class moments N_k, m_k and S_T = S_W + S_B:

    (S_T + alpha I) w_k = N_k (m_k - m),     w_k0 = N_k / N - w_k' m                    (4.16)

The fit needs one pass. If S_T would take more time and memory than the rows of a sparse table with many columns,
conjugate gradients solve the same equations with products Σ_n (x_n - m)(x_n - m)'v, in some dozens of passes.

The outputs sum to one for every x (PRML exercise 4.2), but they are not probabilities and can lie outside [0, 1].
Correctly classified rows far from the boundary pull the boundary towards them, as outliers do. With K > 2, a class that
lies between two other classes may never be predicted ("masking").
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_number, check_option
from separatrix._array import Array, Float
from separatrix._linalg import SingularError, solve_factored, solve_minimum_norm, solve_positive_definite
from separatrix._threads import blas_for
from separatrix.estimator import LinearClassifier, require_two_classes, unchanged_on_error
from separatrix.exceptions import CollinearWarning, ConvergenceWarning, DataError, warn
from separatrix.rows import Block, Source, class_totals
from separatrix.solvers import Solution, Status, Units, conjugate_gradients
from separatrix.stats import MAX_MAGNITUDE, ClassMoments, Design, FactoredScatter, Grad, PooledScatter, collect_moments

MIN_SPARSE_COLUMNS = 500  # with fewer columns, S_T takes less time than dozens of passes
MAX_OFFSET_IN_STD = 100.0  # with a larger |mean|/std of a column, products with sparse rows lose four digits
OPERATIONS_PER_SPARSE_ENTRY = 40  # operations of a Cholesky factor in the time of a product with one sparse entry
MIN_STEPS = 10  # smallest number of steps in which conjugate gradients converge
FEW_OPERATIONS, MANY_OPERATIONS = 2e9, 1e11  # a dense factor takes no time with fewer, over ten seconds with more
RESIDUAL_TOL = 1e-9  # relative to the right-hand side
SMALL_PENALTY = 1e-4  # relative to the largest column; a larger penalty makes the solution unique and precise
KNOWN_TOL, MAX_KNOWN_ERROR = 1e-6, 1e-2  # a known solution with a larger error shows that columns are nearly collinear


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
        if constant.any():
            F[:, constant] = 0.0
        with blas_for(F.size * len(F)):
            W = solve_factored(F, np.where(constant[:, None], 0.0, B), np.full(len(B), alpha), overwrite=True).T
    else:
        with blas_for(scatter.matrix.size * len(B)):
            A = scatter.matrix + rows.T @ rows
            constant = moments.is_constant(np.diag(A) / moments.total)
            A[constant], A[:, constant] = 0.0, 0.0
            A[np.diag_indices_from(A)] += alpha
            try:
                W = solve_positive_definite(A, B).T
            except SingularError as singular:
                warn_of_collinear(singular, columns)
                W = solve_minimum_norm(A, B).T
    return LeastSquares(W, moments.count / N - W @ m if fit_intercept else np.zeros(len(W)))


def warn_of_collinear(singular: SingularError, columns: tuple[str, ...]) -> None:
    """Warn that the weights are not unique."""
    warnings.warn(
        f"Collinear columns: {singular.describe(columns)}. Predictions are unaffected, but the coefficients are not "
        "unique; the solution of minimum norm (in standard-deviation units) is returned. Drop those columns, or set "
        "alpha > 0.",
        CollinearWarning,
        stacklevel=4,
    )


def fit_sparse(source: Source, *, alpha: float, fit_intercept: bool) -> Solution[LeastSquares] | None:
    """Solve (4.16) by conjugate gradients; None if a Cholesky factor of S_T is cheaper, more precise or necessary.

    The unknowns are θ = (w, b) with regressors φ̃ = (x - m, 1). All classes share each pass. With no or a small penalty,
    a known random solution is computed as well: it is found only if the equations have a unique and precise solution.
    With fewer rows than columns they have many without a penalty, and the steps lead to the one of minimum norm.
    """
    n_stored, N, M, K = source.n_stored, source.n_rows, len(source.columns), len(source.classes)
    operations = min(N, M) ** 2 * M / 3  # of a Cholesky factor
    is_small = N < M and alpha == 0 and operations < FEW_OPERATIONS
    if n_stored is None or source.has_basis or M < MIN_SPARSE_COLUMNS or is_small:
        return None
    max_steps = int(operations / (OPERATIONS_PER_SPARSE_ENTRY * n_stored * K))
    if max_steps < MIN_STEPS and operations < MANY_OPERATIONS:
        return None
    units = Units.of(source, fit_intercept=fit_intercept)
    if fit_intercept and (np.abs(units.mean) > MAX_OFFSET_IN_STD * units.spread)[units.spread > 0].any():
        return None
    design = units.design(fit_intercept=fit_intercept)
    ridge = np.where(np.arange(design.width) < M, alpha, 0.0)
    curvature = units.total * np.append(units.spread, 1.0)[: design.width] ** 2
    diagonal = np.where(curvature > 0, curvature + ridge, 0.0)  # weights of constant columns stay zero

    def product(theta: Float) -> Float:
        return source.reduce(lambda block: Grad(design.gram_dot(block, theta)), reads_once=True).grad + ridge * theta

    first = 1 if fit_intercept else 0  # outputs sum to one, so the first class follows from the others
    B = source.reduce(partial(target_products, classes=range(first, K), design=design)).grad
    start = np.zeros_like(B)
    if fit_intercept:  # start from the intercept N_k / N
        start[:, -1] = B[:, -1] / units.total
        B -= start[:, -1:] * units.total * np.append(units.mean - design.origin, 1.0)
    is_checked = N >= M and alpha < SMALL_PENALTY * diagonal[:M].max()
    scale, is_found = np.sqrt(diagonal), None
    if is_checked:
        normal = np.random.default_rng(0).normal(size=len(scale))  # equal values would be found for equal columns too
        known = np.divide(normal, scale, out=np.zeros_like(scale), where=scale > 0)
        B = np.vstack([B, product(known[None])])

        def is_found(x: Float) -> bool:
            return bool((np.abs(x - known) * scale).max() <= MAX_KNOWN_ERROR)

    tol = np.where(np.arange(len(B)) < len(start), RESIDUAL_TOL, KNOWN_TOL)
    found = conjugate_gradients(product, B, diagonal, tol=tol, max_steps=max_steps, is_enough=is_found)
    is_unique = is_found is None or is_found(found.value[-1])
    if not (found.is_converged and is_unique):
        if operations < MANY_OPERATIONS:
            return None
        if found.is_converged:
            warn(
                f"Some of the {M:,} columns are collinear, or nearly so. Predictions are unaffected, but the "
                "coefficients are not unique; the solution of minimum norm (in standard-deviation units) is returned. "
                "Drop columns, or set a larger alpha.",
                CollinearWarning,
            )
        else:
            warn(
                f"LeastSquaresClassifier {found.status.value} ({found.steps}): the residual is above {RESIDUAL_TOL:g} "
                f"of the targets, because some of the {M:,} columns are nearly collinear. Set a larger alpha, or drop "
                "columns.",
                ConvergenceWarning,
            )
    if alpha == 0 and N >= M and not units.spread.all():
        warn_of_collinear(SingularError(np.flatnonzero(units.spread == 0).tolist(), {}), source.columns)
    W, w0 = design.in_user_units(start + found.value[: len(start)])
    if fit_intercept:
        W, w0 = np.vstack([-W.sum(axis=0), W]), np.append(1 - w0.sum(), w0)
    return Solution(LeastSquares(W, w0), found.status, found.steps, found.passes)


def target_products(block: Block, classes: range, design: Design) -> Grad:
    """Σ_n weight_n t_nk φ̃_n' for each of these classes k, (C, P)."""
    T = (block.codes[:, None] == np.array(classes)) * (1.0 if block.weight is None else block.weight[:, None])
    return Grad(design.collect(block, T[:, 0] if len(classes) == 1 else T))


class LeastSquaresClassifier(LinearClassifier):
    """Linear regression on class indicators, in closed form. It gives no probabilities.

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
        Weights of the outputs; one vector for two classes.
    intercept_ : ndarray of shape (1,) or (K,)
        Biases of the outputs.
    class_weight_ : ndarray of shape (K,)
        The factor of each class.
    solution_ : Solution
        The status, and the K regressions as ``value.W`` and ``value.w0``.

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

    no_distribution = "it fits a rule, not probabilities, so its weights have no likelihood"

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
        """Fit in one pass over the rows; sparse rows of many columns are read some dozens of times."""
        check_number("LeastSquaresClassifier", "alpha", self.alpha, low=0.0)
        check_option("LeastSquaresClassifier", "targets", self.targets, ("one-of-K", "fisher"))
        with unchanged_on_error(self):
            source = self._open_training(X, y, sample_weight)
            classes = source.classes
            solution = fit_sparse(source, alpha=self.alpha, fit_intercept=self.fit_intercept)
            if solution is not None:
                count = source.reduce(partial(class_totals, n_classes=len(classes)))
            else:
                moments = collect_moments(source, len(classes), PooledScatter)
                count = moments.count
                regressions = fit_least_squares(
                    moments, alpha=self.alpha, fit_intercept=self.fit_intercept, columns=source.columns
                )
                solution = Solution(regressions, Status.SOLVED, steps=1, passes=1)
            regressions = solution.value
            self._keep(solution, source.passes)
            # The matrix `code` combines the K indicator regressions into the values of `decision_function`.
            code = np.array([[-1.0, 1.0]]) if len(classes) == 2 else np.eye(len(classes))
            if self.targets == "fisher":
                remedy = "Set targets='one-of-K', or wrap the model in OneVsRest or OneVsOne."
                require_two_classes("LeastSquaresClassifier(targets='fisher')", classes, remedy)
                with np.errstate(divide="ignore"):  # a class of weight zero
                    code = code * (count.sum() / count)
                if np.abs(code).max() > MAX_MAGNITUDE:
                    raise DataError(
                        f"The weights of the classes add up to {', '.join(f'{n:.3g}' for n in count)}, and the "
                        "targets N/N_k of targets='fisher' overflow. Set targets='one-of-K', or correct sample_weight."
                    )
            self._keep_weights(code @ regressions.W, code @ regressions.w0, source)
        return self

    def outputs(self, X: Any) -> Array:
        """Outputs y(x) of the K indicator regressions, (N, K). Rows sum to one if w0 is fitted."""
        check_is_fitted(self)
        W, w0 = self.solution_.value.W, self.solution_.value.w0
        return self._map_rows(X, lambda Phi: Phi @ W.T.astype(Phi.dtype, copy=False) + w0)
