# SPDX-License-Identifier: BSD-3-Clause
"""The log evidence over a grid of widths of the basis functions and scales of the prior.           PRML §3.4, §4.4

Under a prior with one scale, a decomposition for each width serves every scale (`rotation`). Along the scales, each fit
starts at the mode that the one before predicts for it, with the curvature that it predicts (`surrogate.Parabola`), so
that a cell costs a few gradients and one Hessian in as many dimensions as the rows have. Widths run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix._array import Float
from separatrix._threads import map_in_order, single_thread_blas
from separatrix.basis import fit_basis
from separatrix.bayesian.evidence.fitter import FitLaplace, Guess
from separatrix.bayesian.evidence.hyper import hyper
from separatrix.bayesian.evidence.rotation import rotate
from separatrix.bayesian.evidence.surrogate import Parabola
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood, Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import Source, ThroughBasis, as_source, as_table, encode_labels
from separatrix.solvers import Posterior, pose

__all__ = ["EvidenceSurface", "evidence_surface"]

TOL = 1e-12  # of the gradient at the mode: its error enters ln |A| to first order


@dataclass(frozen=True, eq=False)
class EvidenceSurface:
    """ln p(D) for each width and scale.

    Attributes
    ----------
    widths, scales : arrays of shape (W,) and (S,)
    log_evidence : array of shape (W, S)
    rank : array of shape (W,)
        Dimensions in which each width was fitted.
    """

    widths: Float
    scales: Float
    log_evidence: Float
    rank: Float

    @property
    def best(self) -> tuple[float, float]:
        """The width and scale of the largest evidence."""
        i, j = np.unravel_index(int(self.log_evidence.argmax()), self.log_evidence.shape)
        return float(self.widths[i]), float(self.scales[j])


def evidence_surface(
    X: Any,
    y: Any,
    *,
    basis_of_width: Callable[[float], Any],
    widths: ArrayLike,
    scales: ArrayLike,
    likelihood: Likelihood | None = None,
    intercept_scale: float = 10.0,
    fit_intercept: bool = True,
    standardize: bool = False,
) -> EvidenceSurface:
    """Laplace's log evidence of a classifier, for every width of its basis and every scale of its prior.

    Parameters
    ----------
    X : array-like or data frame
        The rows.
    y : array-like
        Their labels.
    basis_of_width : callable
        From a width to a basis, for example ``lambda width: RBF(width=width)``.
    widths, scales : sequences of positive numbers
        A scale is the prior standard deviation of every weight.
    likelihood : Likelihood, optional
        By default logit for two classes, softmax for more.
    intercept_scale, fit_intercept, standardize
        The prior of the bias, whether there is one, and whether scales are per standard deviation of each function.

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
    classes, codes = encode_labels(y)
    if len(classes) < 2:
        raise DataError(f"Every label is {classes.tolist()[0]!r}: evidence compares models of at least two classes.")
    rows = as_source(as_table(X), codes)
    if rows.n_rows != len(codes):
        raise DataError(f"X has {rows.n_rows} rows but y has {len(codes)} labels; they must pair up.")
    model = likelihood or (Logit() if len(classes) == 2 else Softmax(len(classes)))
    prior = Gaussian(1.0, intercept_scale=intercept_scale)

    def line(width: float) -> tuple[Float, int]:
        source = _through(rows, basis_of_width(width))
        objective = pose(source, model, prior, fit_intercept=fit_intercept, standardize=standardize)
        return along_scales(objective, along)

    with single_thread_blas():
        lines = list(map_in_order(line, [float(width) for width in across]))
    return EvidenceSurface(across, along, np.stack([cells for cells, _ in lines]), np.array([r for _, r in lines]))


def along_scales(objective: Posterior, scales: Float) -> tuple[Float, int]:
    """ln p(D) with the scale of the prior multiplied by each of some numbers, and the dimensions it was found in."""
    small = rotate(objective, hyper(objective), widest=float(scales.max())).objective
    over, fitter = hyper(small), FitLaplace(TOL)
    log_evidence, guess, order = np.empty(len(scales)), None, np.argsort(scales)
    for place, i in enumerate(order):
        here = replace(small, prior=over.prior(np.log(scales[[i]])))
        found = fitter.fit(here, guess)
        log_evidence[i] = found.log_evidence
        if place + 1 < len(order):
            ahead = over.prior(np.log(scales[[order[place + 1]]]))
            guess = Guess.of(Parabola.of(found, here.prior).under(ahead))
    return log_evidence, len(small.design.origin)


def _through(rows: Source, basis: Any) -> Source:
    fitted = fit_basis(basis, rows)
    return rows if fitted is None else ThroughBasis(rows, fitted)


def _axis(name: str, values: ArrayLike | Sequence[float]) -> Float:
    """Positive numbers, at least one."""
    axis = np.asarray(values, dtype=np.float64)
    if axis.ndim != 1 or len(axis) == 0 or not (np.isfinite(axis) & (axis > 0)).all():
        raise ValueError(f"evidence_surface({name}=...) must be a sequence of finite numbers greater than 0.")
    return axis
