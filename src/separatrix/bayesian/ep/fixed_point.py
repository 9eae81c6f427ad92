# SPDX-License-Identifier: BSD-3-Clause
"""Expectation propagation: each row's likelihood becomes a Gaussian that is right where the posterior is.

Laplace takes the slope and curvature of each ln p(t_n | a_n) at the mode. Where a column is rare or the classes nearly
separate, the posterior is skewed and its mass lies elsewhere. Expectation propagation chooses the Gaussian factor of
every row so that, among all the other factors, it gives the activation the mean and the variance that the likelihood
itself would give it (`sites`, `tilted`). All rows at once, in one pass: a *sweep*, at the price of two Newton steps.

Far from the fixed point sweeps are damped. Near it, where the map is nearly linear, the next sites are a mixture of the
last few results, the one whose residual, the distance of the sites from their own update, would be least if it were
quite linear (Anderson 1965). Sites, precision and shift are all linear in that mixture, so it costs no pass. A mixture
that takes the residual up again is undone.

The fixed point has the right means. Its variances and its evidence miss what the skewness of several rows does
together; `cumulants.py` puts that back.

Minka (2001); Rasmussen & Williams (2006), §3.6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from separatrix._arguments import check_count, check_positive
from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.ep.cumulants import correct
from separatrix.bayesian.ep.sites import Normal, Sites, Sweep, first_sites, mixed, posterior_of, sweep
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.solvers import Posterior

__all__ = ["expectation_propagation"]

MEMORY = 5  # results that are mixed
NEAR = 0.5  # posterior standard deviations that a sweep moves the mean by, from where on results are mixed
GROWTH = 2.0  # of that distance: too much near the fixed point
SHARE, SHORTEST = 0.8, 1 / 64  # of a step: the first and the least
SHRINK, RECOVER = 0.6, 1.1  # of a share, where sweeps swing and where they settle


def expectation_propagation(
    objective: Posterior, start: Approximation, *, tol: float = 1e-3, max_sweeps: int = 100, corrected: bool = True
) -> Approximation:
    """The fixed point of expectation propagation, for a likelihood of one activation.

    Parameters
    ----------
    objective : Posterior
        Rows, likelihood and prior.
    start : Approximation
        A Gaussian to begin with, best of all `laplace`: its mean alone is used.
    tol : float, default 1e-3
        How far one more sweep may move the mean, in posterior standard deviations, and the precision, relatively.
    max_sweeps : int, default 100
        Sweeps after which the result is returned as it is, with ``is_converged`` false.
    corrected : bool, default True
        Whether variances and evidence are corrected for third cumulants, where that is affordable.

    Returns
    -------
    Approximation
        Named "ep". ``steps`` is the number of sweeps.

    Examples
    --------
    Three rows of one class: nothing but the prior bounds the weight, and the mode is not where the mass is.

    >>> from separatrix.bayesian.posterior.approximation import laplace
    >>> from separatrix.rows import as_source
    >>> from separatrix.likelihoods import Logit
    >>> from separatrix.priors import Gaussian
    >>> from separatrix.solvers import Newton, pose
    >>> source = as_source(np.array([[1.0], [2.0], [3.0]]), np.array([1, 1, 1]))
    >>> objective = pose(source, Logit(), Gaussian(scale=2.0), fit_intercept=False)
    >>> mode = laplace(objective, Newton().minimise(objective, np.zeros((1, 1))).value)
    >>> found = expectation_propagation(objective, mode)
    >>> mode.mean.round(2), found.mean.round(2), found.std.round(2), found.is_converged
    (array([[1.41]]), array([[1.98]]), array([[1.23]]), True)
    """
    check_positive("expectation_propagation", "tol", tol)
    check_count("expectation_propagation", "max_sweeps", max_sweeps)
    if objective.shape[0] != 1:
        raise ValueError(
            f"expectation_propagation is for one activation per row, and {objective.likelihood} has "
            f'{objective.shape[0]}; use "laplace" or "importance".'
        )
    run = _Run.begin(objective, start.mean[0])
    while not run.is_converged(tol) and run.sweeps < max_sweeps:
        moved = run.step()
        if moved is None:
            break
        run = moved
    found = run.approximation(is_converged=run.is_converged(tol))
    return correct(objective, found, run.here.sites, run.here.q) if corrected and found.is_converged else found


@dataclass(frozen=True, eq=False)
class _Point:
    """Sites, their posterior q, and what a sweep makes of them."""

    sites: Sites
    q: Normal
    result: Sweep

    @cached_property
    def update(self) -> Sites:
        """The sites that the sweep found."""
        return self.result.sites

    @cached_property
    def distance(self) -> float:
        """The update of q in its own units: of the mean in standard deviations, of the precision relatively."""
        root = self.q.factor.root
        change = self.update.precision - self.sites.precision
        pull = self.update.shift - self.sites.shift - change @ self.q.mean
        return float(max(np.linalg.norm(root.T @ pull), np.linalg.norm(root.T @ change @ root)))


@dataclass(frozen=True, eq=False)
class _Run:
    """The points that the iteration remembers, the latest last, and how much of a step it dares."""

    objective: Posterior
    past: tuple[_Point, ...]
    share: float = SHARE
    sweeps: int = 1

    @classmethod
    def begin(cls, objective: Posterior, mean: Float) -> _Run:
        sites = first_sites(objective, mean)
        q = posterior_of(sites, objective)
        if q is None:  # the mean is no mode of a likelihood that is not concave: from the prior's side then
            sites = mixed([sites], np.zeros(1))
            q = posterior_of(sites, objective)
        if q is None:
            raise ValueError("expectation_propagation: there is no proper Gaussian to begin with; fit the mode first.")
        return cls(objective, (_Point(sites, q, sweep(objective, sites, q)),))

    @property
    def here(self) -> _Point:
        """The latest point."""
        return self.past[-1]

    def is_converged(self, tol: float) -> bool:
        """Whether a sweep no longer moves q, with every row in it."""
        return self.here.result.skipped == 0 and self.here.distance <= tol

    def step(self) -> _Run | None:
        """One sweep on; None where no step leads to a posterior, or the only rows that would move have no cavity."""
        if self.here.distance == 0:
            return None
        near = self.here.distance < NEAR
        mixes = near and len(self.past) > 1
        trial = _mixture(self.past, SHARE) if mixes else _damped(self.here, self.share)
        q, share = posterior_of(trial, self.objective), self.share
        while q is None:
            share *= SHRINK
            if share < SHORTEST:
                return None
            trial = _damped(self.here, share)
            q = posterior_of(trial, self.objective)
        point = _Point(trial, q, sweep(self.objective, trial, q))
        moved = replace(self, sweeps=self.sweeps + 1)
        growth = point.distance / self.here.distance
        if near and growth > GROWTH and share > SHORTEST:
            return replace(moved, past=self.past[-1:], share=share * SHRINK)
        share = min(share * RECOVER, SHARE) if growth < 1 else max(share * SHRINK, SHORTEST)
        return replace(moved, past=(*self.past, point)[-MEMORY - 1 :], share=share)

    def approximation(self, *, is_converged: bool) -> Approximation:
        """What has been reached, with the evidence that belongs to it."""
        q, result, prior = self.here.q, self.here.result, self.objective.prior
        mean = q.mean[None, :]
        occam = 0.5 * (prior.log_det() - q.factor.log_det) - prior.value_grad(mean)[0]
        log_evidence = result.log_ratio + occam
        return Approximation(
            mean, q.factor, result.log_likelihood, log_evidence, "ep", self.sweeps, is_converged=is_converged
        )


def _damped(here: _Point, share: float) -> Sites:
    """Part of the way from sites to their update."""
    return mixed([here.sites, here.update], np.array([1 - share, share]))


def _mixture(past: tuple[_Point, ...], share: float) -> Sites:
    """A damped step from the affine combination of points, Σ_i c_i = 1, whose residual is least if it is linear."""
    residuals = np.stack([np.concatenate([p.update.tau - p.sites.tau, p.update.nu - p.sites.nu]) for p in past], axis=1)
    residuals *= _importance(past[-1].update)[:, None]
    with single_thread_blas():
        change = linalg.lstsq(np.diff(residuals, axis=1), residuals[:, -1], cond=1e-7)[0]
    c = np.zeros(len(past))
    c[-1] = 1.0
    c[1:] -= change
    c[:-1] += change
    points = [p.sites for p in past] + [p.update for p in past]
    return mixed(points, np.concatenate([(1 - share) * c, share * c]))


def _importance(sites: Sites) -> Float:
    """What a residual counts, (2N,): relative to its site or to a typical one, and a row of weight k as k rows."""
    weight, tiny = sites.weight, np.finfo(float).tiny
    sizes = [np.abs(part) + weight @ np.abs(part) / (weight.sum() + tiny) + tiny for part in (sites.tau, sites.nu)]
    return np.concatenate([np.sqrt(weight) / size for size in sizes])
