# SPDX-License-Identifier: BSD-3-Clause
"""Compute the log evidence over a grid of widths of basis functions and scales of the prior.       PRML §3.4, §4.4

The prior has one scale, so one decomposition per width is enough for all scales (`evidence.rotate`). For a width, the
fit at a scale starts at the mode and curvature that the fit at the previous scale predicts (`tuning.Parabola`). A cell
then takes a few gradients and one Hessian, in at most N dimensions for N rows. Widths run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix._array import Float
from separatrix._threads import map_in_order, single_thread_blas
from separatrix.basis import fit_basis
from separatrix.bayesian.evidence import FitLaplace, prior_scales, rotate
from separatrix.bayesian.tuning import Parabola
from separatrix.likelihoods import Likelihood, Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import open_rows
from separatrix.solvers import Posterior, pose


@dataclass(frozen=True, eq=False)
class EvidenceSurface:
    """ln p(D) for each width and scale.

    Attributes
    ----------
    widths, scales : arrays of shape (W,) and (S,)
    log_evidence : array of shape (W, S)
    rank : array of shape (W,)
        Number of dimensions of the fits for each width.
    """

    widths: Float
    scales: Float
    log_evidence: Float
    rank: Float

    @property
    def best(self) -> tuple[float, float]:
        """The width and scale with the largest evidence."""
        i, j = np.unravel_index(int(self.log_evidence.argmax()), self.log_evidence.shape)
        return float(self.widths[i]), float(self.scales[j])


def evidence_surface(
    X: Any,
    y: Any = None,
    *,
    basis_of_width: Callable[[float], Any],
    widths: ArrayLike,
    scales: ArrayLike,
    likelihood: Likelihood | None = None,
    intercept_scale: float = 10.0,
    fit_intercept: bool = True,
    standardize: bool = False,
) -> EvidenceSurface:
    """Compute Laplace's log evidence of a classifier for every width of its basis and every scale of its prior.

    Parameters
    ----------
    X : table of shape (N, D)
        Rows, in any form that models accept.
    y : array-like of shape (N,), optional
        Labels; not needed for a scan with a target.
    basis_of_width : callable
        Returns a basis for a width, for example ``lambda width: RBF(width=width)``.
    widths, scales : sequences of positive numbers
        A scale is the prior standard deviation of every weight.
    likelihood : Likelihood, optional
        By default logit for two classes, softmax for more.
    intercept_scale, fit_intercept, standardize : float, bool and bool
        Prior scale of the intercept; whether to fit an intercept; and whether scales are per standard deviation of
        each basis function.

    Returns
    -------
    EvidenceSurface

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.basis import RBF
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> surface = evidence_surface(X, y, basis_of_width=lambda w: RBF(width=w), widths=[0.1, 0.5], scales=[0.1, 1, 10])
    >>> surface.best
    (0.5, 10.0)
    """
    across, along = _axis("widths", widths), _axis("scales", scales)
    rows = open_rows(X).with_labels(y)
    model = likelihood or (Logit() if len(rows.classes) == 2 else Softmax(len(rows.classes)))
    prior = Gaussian(1.0, intercept_scale=intercept_scale)

    def line(width: float) -> tuple[Float, int]:
        fitted = fit_basis(basis_of_width(width), rows)
        source = rows if fitted is None else rows.mapped(fitted)
        objective = pose(source, model, prior, fit_intercept=fit_intercept, standardize=standardize)
        return evidence_along_scales(objective, along)

    with single_thread_blas():
        lines = list(map_in_order(line, [float(width) for width in across]))
    return EvidenceSurface(across, along, np.stack([cells for cells, _ in lines]), np.array([r for _, r in lines]))


def evidence_along_scales(objective: Posterior, factors: Float) -> tuple[Float, int]:
    """Return ln p(D) with the prior scale multiplied by each factor, and the number of dimensions of the fits."""
    small = rotate(objective, prior_scales(objective), widest=float(factors.max()))[0]
    scales, fitter = prior_scales(small), FitLaplace(1e-12)  # ln |A| is linear in the error of the mode
    log_evidence, parabola = np.empty(len(factors)), None
    for i in np.argsort(factors):
        here = replace(small, prior=scales.prior(np.log(factors[[i]])))
        ahead = None if parabola is None else parabola.under(here.prior)
        found = fitter.fit(here) if ahead is None else fitter.fit(here, ahead.mean, ahead.factor)
        log_evidence[i], parabola = found.log_evidence, Parabola(found, here.prior)
    return log_evidence, len(small.design.origin)


def _axis(name: str, values: ArrayLike) -> Float:
    axis = np.asarray(values, dtype=np.float64)
    if axis.ndim != 1 or len(axis) == 0 or not (np.isfinite(axis) & (axis > 0)).all():
        raise ValueError(f"evidence_surface({name}=...) must be a sequence of finite numbers greater than 0.")
    return axis
