# SPDX-License-Identifier: BSD-3-Clause
"""The scales of a prior that make the data most probable: type-II maximum likelihood.        PRML §3.5, §4.4

    η* = argmax ln p(D | η),        η = logarithms of scales

Every evaluation of the evidence is a fit, so few are made. From a fit, the evidence near η is predicted by algebra
alone (`surrogate`), right in value and gradient at η. Its maximum within a trust region is the next η, where the fit
starts at the predicted mode with the predicted curvature and takes a few gradients. A step counts only if the evidence
itself has risen (`search`). With many rows the prediction is so good that the second fit is the last. One scale for
many columns is tuned in the directions that the rows know of (`rotation`).

The search ends where the surrogate promises less than ``tol`` nats. A scale that runs to a bound is no failure, but it
is news: the columns are irrelevant, or the prior is not needed, or the classes are separable. The result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.evidence.fitter import FitLaplace, Fitter, Guess
from separatrix.bayesian.evidence.hyper import WIDEST, Hyper, hyper
from separatrix.bayesian.evidence.rotation import is_rotatable, rotate
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.bayesian.tuning.report import Boundary, Limit, Tuned, TuningStatus
from separatrix.bayesian.tuning.search import Found, Search
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.rows import Block
from separatrix.solvers import Posterior
from separatrix.stats import Design, Largest

__all__ = ["Profile", "profile_scale", "tune_scales"]

LARGEST = 6000  # weights in all
CLOSE = 1e-9  # of η to a bound: on it, but for rounding, as where tuning begins with what tuning found
SHARP = 10.0  # a scale, per standard deviation of a column, from which one asks whether the classes are separated


def tune_scales(
    objective: Posterior,
    groups: str | Sequence[Any] | None = None,
    *,
    fitter: Fitter | None = None,
    start: Approximation | None = None,
    tol: float = 1e-3,
    max_steps: int = 50,
) -> Tuned:
    """Multiply the scales of a prior, in one or more groups of columns, so that the evidence is largest.

    Parameters
    ----------
    objective : Posterior
        Whose prior is where the search begins.
    groups : None, "columns" or sequence of M labels
        Which columns share a factor: all, none (automatic relevance determination), or those with the same label.
    fitter : Fitter, default FitLaplace()
        How posteriors are approximated.
    start : Approximation, optional
        Of the posterior as it is, where that is known already.
    tol : float
        Gain in nats that is not worth a fit.
    max_steps : int
        Fits after the first.

    Returns
    -------
    Tuned

    Raises
    ------
    DataError
        Where the prior has no scale to tune, or the groups do not fit the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.rows import as_source
    >>> from separatrix.likelihoods import Logit
    >>> from separatrix.priors import Gaussian
    >>> from separatrix.solvers import pose
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> t = (X[:, 0] + np.random.default_rng(1).logistic(size=400) > 0).astype(int)
    >>> objective = pose(as_source(X, t), Logit(), Gaussian(1.0, intercept_scale=10.0), fit_intercept=True)
    >>> tuned = tune_scales(objective, "columns")
    >>> tuned.status.name, [group.columns for group in tuned.boundary]
    ('CONVERGED', [('x1',)])
    """
    fitter = FitLaplace() if fitter is None else fitter
    with single_thread_blas():
        over = hyper(objective, groups)
        bounds = over.bounds(objective)
        found, back = _search(objective, over, fitter, start, tol, max_steps)
        tuned = replace(objective, prior=over.prior(found.eta))
        if back is not None:
            whole = fitter.fit(tuned, Guess(back(found.approximation.mean), None))
            found = found._replace(approximation=whole, fits=found.fits + 1)
        boundary = _limits(tuned, over, found, bounds)
    return Tuned(
        over.labels,
        np.exp(found.eta),
        np.exp(over.per_weight(found.eta))[: len(objective.design.origin)],
        found.gradient,
        found.status,
        boundary,
        found.trace,
        found.fits,
        tuned,
        found.approximation,
    )


class Profile(NamedTuple):
    """The factor of all scales that makes the data most probable, and their log evidence there."""

    factor: float
    log_evidence: float
    status: TuningStatus


def profile_scale(
    objective: Posterior, *, fitter: Fitter | None = None, tol: float = 1e-3, max_steps: int = 50
) -> Profile:
    """`tune_scales` with one factor, without the posterior in all coordinates: to compare bases and likelihoods."""
    with single_thread_blas():
        over = hyper(objective)
        found, _ = _search(objective, over, FitLaplace() if fitter is None else fitter, None, tol, max_steps)
    return Profile(float(np.exp(found.eta[0])), found.approximation.log_evidence, found.status)


def _search(
    objective: Posterior, over: Hyper, fitter: Fitter, start: Approximation | None, tol: float, max_steps: int
) -> tuple[Found, Callable[[Float], Float] | None]:
    """The scales, and the way back where they were sought in the coordinates that matter."""
    bounds = over.bounds(objective)
    if not is_rotatable(objective, over):
        _require_moderate(objective)
        return Search(objective, over, fitter, bounds=bounds, tol=tol).run(start, max_steps), None
    small = rotate(objective, over, widest=float(np.exp(bounds[1][0])))
    found = Search(small.objective, hyper(small.objective), fitter, bounds=bounds, tol=tol).run(None, max_steps)
    return found, small.back


def _require_moderate(objective: Posterior) -> None:
    """Raise where the precision of all weights, which the surrogate takes apart again and again, is too large."""
    C, P = objective.shape
    if C * P > LARGEST:
        raise DataError(
            f"tune='evidence' works with the whole precision of the posterior, and {C} x {P} weights are more than "
            f"{LARGEST}. Tune on fewer basis functions or on some of the columns, or choose the scale on held-out rows."
        )


def _limits(tuned: Posterior, over: Hyper, found: Found, bounds: tuple[Float, Float]) -> tuple[Boundary, ...]:
    """The groups whose scale ran to a limit."""
    low, high = bounds
    sharp = WIDEST * np.exp(found.eta - high) > SHARP
    separated = bool(sharp.any()) and _separates(tuned, found.approximation.mean)
    limits = []
    for g, label in enumerate(over.labels):
        limit = Limit.SEPARATED if sharp[g] and separated else Limit.WIDE if found.eta[g] >= high[g] - CLOSE else None
        limit = Limit.NARROW if found.eta[g] <= low[g] + CLOSE else limit
        if limit is not None:
            limits.append(Boundary(label, over.columns(g, tuned.source.columns), limit))
    return tuple(limits)


def _separates(objective: Posterior, theta: Float) -> bool:
    """Whether every row finds its own label more probable than not."""
    statistic = partial(_worst, theta=theta, likelihood=objective.likelihood, design=objective.design)
    return bool(objective.source.reduce(statistic).value < np.log(2))


def _worst(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> Largest:
    """max_n -ln p(t_n | a_n) over rows that count."""
    rows = block if block.weight is None else block.take(block.weight > 0)
    log_p = likelihood.derivatives(design.activate(rows, theta), rows.codes).log_p
    return Largest(float(-log_p.min(initial=0.0)))
