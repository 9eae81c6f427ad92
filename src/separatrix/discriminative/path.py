# SPDX-License-Identifier: BSD-3-Clause
"""Weights along a decreasing strength of the prior, and a choice of the strength by cross-validation.

The path starts at the smallest alpha for which all weights are zero: the largest |∂E/∂w_g| / λ_g at w = 0, from the
conditions of the minimum in `solvers.proximal`. Each fit starts from the weights of the fit before.

Cross-validation does not copy rows. A random number computed from the row number assigns each row to a fold. A fit
without a fold gives its rows weight zero, and the loss of the fold is the sum over its rows alone. So it works wherever
the rows are, and its result does not depend on how they are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix._arguments import check_count, check_number, check_positive
from separatrix._array import Array, Codes, Float
from separatrix._threads import single_thread_blas
from separatrix.discriminative.logistic import LogisticRegression
from separatrix.discriminative.model import require_shiftable
from separatrix.discriminative.probit import ProbitRegression
from separatrix.exceptions import ConvergenceWarning, DataError, warn
from separatrix.priors import ElasticNet
from separatrix.rows import Block, Source
from separatrix.solvers import Posterior, ProximalNewton, on_columns, pose
from separatrix.stats import Tally, random_places, value_grad

ABOVE_LARGEST = 1e-8  # relative increase of the first alpha: without it, rounding may leave a weight nonzero


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """Weights for each strength of the prior, and with cross-validation the log-loss.

    Attributes
    ----------
    alphas : ndarray of shape (A,)
        Decreasing.
    coef : ndarray of shape (A, C, M)
        With C = 1 for two classes.
    intercept : ndarray of shape (A, C)
    n_nonzero : ndarray of shape (A,)
        Number of columns with a nonzero weight.
    log_loss, log_loss_error : ndarrays of shape (A,), or None without cross-validation
        Mean log-loss per row of the folds, and its standard error over the folds.
    prior : ElasticNet
        The prior of the model, whose ``alpha`` varies along the path.
    columns, classes
        Names of the columns, and the labels.
    n_passes
        Number of passes over the rows.
    """

    alphas: Float
    coef: Float
    intercept: Float
    log_loss: Float | None
    log_loss_error: Float | None
    prior: ElasticNet
    columns: tuple[str, ...]
    classes: Array
    n_passes: int

    @property
    def n_nonzero(self) -> Codes:
        """Number of columns with a nonzero weight, for each alpha."""
        return np.asarray((self.coef != 0).any(axis=1).sum(axis=1))

    @property
    def best(self) -> ElasticNet:
        """The prior with the lowest log-loss."""
        return replace(self.prior, alpha=float(self.alphas[int(self._losses()[0].argmin())]))

    @property
    def sparsest(self) -> ElasticNet:
        """The strongest prior whose log-loss is within one standard error of the lowest (Breiman et al. 1984)."""
        loss, error = self._losses()
        lowest = int(loss.argmin())
        return replace(self.prior, alpha=float(self.alphas[int((loss <= loss[lowest] + error[lowest]).argmax())]))

    def _losses(self) -> tuple[Float, Float]:
        if self.log_loss is None or self.log_loss_error is None:
            raise DataError("A choice of alpha needs cross-validation: regularization_path(..., folds=5).")
        return self.log_loss, self.log_loss_error


def regularization_path(
    model: LogisticRegression | ProbitRegression,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    alphas: Any = None,
    n_alphas: int = 50,
    ratio: float = 1e-3,
    folds: int | None = None,
) -> RegularizationPath:
    """Fit a model for each strength of its prior, from strong to weak.

    Parameters
    ----------
    model : LogisticRegression or ProbitRegression
        A model with ``prior=ElasticNet(...)``. It need not be fitted and is not changed.
    X, y, sample_weight
        Rows, labels and weights. As in ``model.fit``.
    alphas : sequence of positive numbers, optional
        Values of ``ElasticNet(alpha=...)``. By default ``n_alphas`` values, evenly spaced in the logarithm, from the
        smallest alpha for which all weights are zero down to ``ratio`` times it.
    n_alphas : int, default 50
        Number of values, if ``alphas`` is not given.
    ratio : float, default 1e-3
        Smallest value relative to the largest.
    folds : int, optional
        Number of folds of cross-validation, for example 5. By default, no cross-validation is done. Each run of
        ``folds`` consecutive rows has one row of every fold. Alpha is the same for all rows and without a fold, as in
        scikit-learn.

    Returns
    -------
    RegularizationPath

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = sx.LogisticRegression(prior=sx.ElasticNet())
    >>> path = sx.regularization_path(model, X, y, folds=5)
    >>> model = model.set_params(prior=path.sparsest).fit(X, y)
    """
    name = "regularization_path"
    if not isinstance(model, LogisticRegression | ProbitRegression):
        raise ValueError(
            f"{name} needs a LogisticRegression or a ProbitRegression, not {type(model).__name__}. To choose among "
            "several values for any other model, use sklearn.model_selection.GridSearchCV."
        )
    prior = model.prior
    if not isinstance(prior, ElasticNet):
        raise ValueError(f"{name} needs a model with prior=ElasticNet(...); its prior is {prior!r}.")
    check_count(name, "n_alphas", n_alphas)
    check_number(name, "ratio", check_positive(name, "ratio", ratio), low=0.0, high=1.0)
    if folds is not None:
        check_count(name, "folds", folds, least=2)
    if model.prior_correction:
        require_shiftable(type(model).__name__, fit_intercept=model.fit_intercept)
    model, solver = clone(model), ProximalNewton(model.tol)
    with single_thread_blas():
        source = model._open_training(X, y, sample_weight, soft=True)
        likelihood = model._likelihood(len(source.classes))

        def posed(rows: Source) -> Posterior:
            return pose(rows, likelihood, replace(prior, alpha=1.0), fit_intercept=model.fit_intercept)

        objective, loss, error = posed(source), None, None
        strengths = default_alphas(objective, n_alphas, ratio) if alphas is None else _checked(alphas)
        thetas = fits_along(objective, strengths, solver)
        if folds is not None:
            totals = fold_totals(source, folds)
            losses = np.stack([held_out_losses(posed, source, strengths, solver, k, totals) for k in range(folds)])
            loss, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(folds)
    weights = [objective.design.in_user_units(objective.centre_classes(theta)) for theta in thetas]
    coef, intercept = (np.stack(part) for part in zip(*weights, strict=True))
    intercept += model._shift()
    return RegularizationPath(
        strengths, coef, intercept, loss, error, prior, source.columns, source.classes, source.passes
    )


def _checked(alphas: Any) -> Float:
    """The given alphas, decreasing."""
    values = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if not len(values) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError("regularization_path(alphas=...) must be a sequence of finite numbers greater than 0.")
    return values


def at_strength(objective: Posterior, alpha: float) -> Posterior:
    """The same objective with the prior multiplied by ``alpha``."""
    prior = objective.prior
    corner = prior.corner and replace(prior.corner, threshold=alpha * prior.corner.threshold)
    return replace(objective, prior=replace(prior, precision=alpha * prior.precision, corner=corner))


def default_alphas(objective: Posterior, n_alphas: int, ratio: float) -> Float:
    """Values from the smallest alpha for which all weights are zero down to ``ratio`` times it."""
    corner = objective.prior.corner
    if corner is None:
        raise ValueError(
            "regularization_path: with ElasticNet(l1_ratio=0) no alpha makes all weights zero. Pass alphas=..., or "
            "use l1_ratio > 0."
        )
    alone, M = np.zeros(objective.shape), len(objective.design.origin)
    if objective.design.bias:
        bias = on_columns(objective, np.arange(0))
        alone[:, M:] = ProximalNewton(1e-10).minimise(bias, alone[:, M:]).value
    pull, threshold = corner.lengths(objective.value_grad(alone).grad), np.broadcast_to(corner.threshold, alone.shape)
    has_corner = threshold > 0
    largest = float((pull[has_corner] / threshold[has_corner]).max(initial=0.0)) or 1.0
    return np.geomspace(1.0, ratio, n_alphas) * largest * (1 + ABOVE_LARGEST)


def fits_along(objective: Posterior, alphas: Float, solver: ProximalNewton) -> list[Float]:
    """Parameters θ (C, P) for each alpha, in order; each fit starts from the result of the fit before."""
    thetas, failed = [np.zeros(objective.shape)], []
    for alpha in alphas:
        found = solver.minimise(at_strength(objective, alpha), thetas[-1])
        thetas.append(found.value)
        failed += [] if found.is_converged else [float(alpha)]
    if failed:
        warn(
            f"regularization_path: {len(failed)} of {len(alphas)} fits did not converge, the first for alpha = "
            f"{failed[0]:.3g}. Scale the columns, raise ratio=, or raise tol of the model.",
            ConvergenceWarning,
        )
    return thetas[1:]


def fold_of(row: Codes | range, folds: int) -> Codes:
    """Fold of each row, from its number: each run of ``folds`` rows has one row of every fold, in a random order."""
    run, place = np.divmod(np.asarray(row), folds)
    return np.asarray((place + random_places(run, folds)) % folds)


def only_fold(block: Block, fold: int, folds: int, *, without: bool) -> Block:
    """The block with weight zero for all rows outside a fold, or inside it if ``without``."""
    is_kept = (fold_of(block.row, folds) == fold) != without
    return replace(block, weight=is_kept.astype(np.float64) if block.weight is None else block.weight * is_kept)


def fold_totals(source: Source, folds: int) -> Float:
    """Total weight of each fold, (folds,); raises if a fit without a fold would lack a class, or a fold is empty."""
    K = len(source.classes)

    def by_class(block: Block) -> Tally:
        weight = np.ones(len(block)) if block.weight is None else block.weight
        t = block.targets
        shares = t if t.ndim == 2 else np.column_stack([1 - t, t]) if source.is_soft else np.eye(K)[t]
        return Tally(np.eye(folds)[fold_of(block.row, folds)].T @ (weight[:, None] * shares))

    total = source.reduce(by_class).count
    missing = np.argwhere(total.sum(axis=0) - total <= 0)
    if len(missing):
        label = source.classes.tolist()[missing[0][1]]
        raise DataError(
            f"regularization_path(folds={folds}): all rows of class {label!r} are in one fold, so that the fit without "
            "this fold lacks the class. Use more rows, or join or drop rare classes."
        )
    if (total.sum(axis=1) <= 0).any():
        raise DataError(f"regularization_path(folds={folds}): a fold has no rows of positive weight. Use fewer folds.")
    return np.asarray(total.sum(axis=1))


def held_out_losses(
    posed: Callable[[Source], Posterior],
    source: Source,
    alphas: Float,
    solver: ProximalNewton,
    fold: int,
    totals: Float,
) -> Float:
    """Log-loss per row of a fold for each alpha, by fits to the other folds."""
    folds = len(totals)
    rest = posed(source.viewed(partial(only_fold, fold=fold, folds=folds, without=True)))
    held = replace(rest, source=source.viewed(partial(only_fold, fold=fold, folds=folds, without=False)))
    losses = [held.reduce(value_grad, theta=theta).value for theta in fits_along(rest, alphas, solver)]
    return np.asarray(np.array(losses) / totals[fold])
