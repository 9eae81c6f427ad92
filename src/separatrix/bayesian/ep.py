# SPDX-License-Identifier: BSD-3-Clause
"""Expectation propagation: each row's likelihood becomes a Gaussian that is right where the posterior is.

Laplace takes the slope and curvature of each ln p(t_n | a_n) at the mode. Where a column is rare or the classes nearly
separate, the posterior is skewed and its mass lies elsewhere. Expectation propagation chooses the Gaussian factor of
every row so that, among all the other factors, it gives the activation the mean and the variance that the likelihood
itself would give it (`sites`, `tilted`). All rows at once, in one pass: a *sweep*, at the price of two Newton steps.

From the Laplace sites, plain sweeps converge in a handful where the posterior is nearly Gaussian, and swing about the
fixed point where it is not. So the next sites are a mixture of the last few results, the one whose residual, the
distance of the sites from their own update, would be least if the map were linear (Anderson 1965). Sites, precision and
shift are all linear in that mixture: it costs no pass. A mixture that leaves no positive definite precision, or a
residual that grows, falls back to a damped step.

The fixed point has the right means. Its variances and its evidence miss what the skewness of several rows does
together; `cumulants.py` puts that back.

Minka (2001); Rasmussen & Williams (2006), §3.6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from separatrix._arguments import check_count, check_positive
from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.approximation import Approximation
from separatrix.bayesian.cumulants import correct
from separatrix.bayesian.sites import Gaussian, Sites, Sweep, first_sites, mixed, posterior_of, sweep
from separatrix.solvers.posterior import Posterior

__all__ = ["expectation_propagation"]

MEMORY = 5  # results that are mixed
GROWTH = 3.0  # of the residual over the least so far, which says that mixing went wrong
SHORTEST = 1 / 64  # of a step to a positive definite precision


def expectation_propagation(
    objective: Posterior, start: Approximation, *, tol: float = 1e-4, max_sweeps: int = 100, corrected: bool = True
) -> Approximation:
    """The fixed point of expectation propagation, for a likelihood of one activation.

    Parameters
    ----------
    objective : Posterior
        Rows, likelihood and prior.
    start : Approximation
        A Gaussian to begin with, best of all `laplace`: its mean alone is used.
    tol : float, default 1e-4
        How far one more sweep may move the mean, in posterior standard deviations, and the precision, relatively.
    max_sweeps : int, default 100
        Sweeps after which the result is returned as it is, with ``is_converged`` false.
    corrected : bool, default True
        Whether variances and evidence are corrected for third cumulants, where that is affordable.

    Returns
    -------
    Approximation
        Named "ep". ``steps`` is the number of sweeps.
    """
    check_positive("expectation_propagation", "tol", tol)
    check_count("expectation_propagation", "max_sweeps", max_sweeps)
    if objective.shape[0] != 1:
        raise ValueError(
            f"expectation_propagation is for one activation per row, and {objective.likelihood} has "
            f'{objective.shape[0]}; use "laplace" or "importance".'
        )
    run = _Run.begin(objective, start)
    while not run.is_converged(tol) and run.sweeps < max_sweeps:
        moved = run.step()
        if moved is None:
            break
        run = moved
    found = run.approximation(is_converged=run.is_converged(tol))
    return correct(objective, found, run.sites, run.q) if corrected and found.is_converged else found


@dataclass(frozen=True, eq=False)
class _Run:
    """Where the iteration stands: sites, their posterior q, what a sweep makes of them, and the steps before."""

    objective: Posterior
    sites: Sites
    q: Gaussian
    result: Sweep
    past: tuple[tuple[Sites, Sites], ...]  # sites and their update, the latest last
    least: float  # residual so far
    share: float = 1.0  # of a step, where steps are damped
    sweeps: int = 1

    @classmethod
    def begin(cls, objective: Posterior, start: Approximation) -> _Run:
        sites = first_sites(objective, start.mean[0])
        q = posterior_of(sites, objective)
        if q is None:  # the mean is no mode of a likelihood that is not concave: from the prior's side then
            sites = mixed([sites], np.zeros(1))
            q = posterior_of(sites, objective)
        if q is None:
            raise ValueError("expectation_propagation: there is no proper Gaussian to begin with; fit the mode first.")
        result = sweep(objective, sites, q)
        return cls(objective, sites, q, result, ((sites, result.sites),), np.inf)

    def is_converged(self, tol: float) -> bool:
        """Whether a sweep no longer moves q, nor any site."""
        return self.result.skipped == 0 and self.distance <= tol

    @property
    def distance(self) -> float:
        """The update of q in its own units: of the mean in standard deviations, of the precision relatively."""
        new, root = self.result.sites, self.q.factor.root
        change = new.precision - self.sites.precision
        pull = new.shift - self.sites.shift - change @ self.q.mean
        return float(max(np.linalg.norm(root.T @ pull), np.linalg.norm(root.T @ change @ root)))

    def step(self) -> _Run | None:
        """One sweep on; None where no step leads to a posterior."""
        distance = self.distance
        grows = distance > GROWTH * self.least
        past = self.past[-1:] if grows else self.past
        share = max(self.share / 2, SHORTEST) if grows else self.share
        trial = _mixture(past, share) if len(past) > 1 else _damped(self.past[-1], share)
        q = posterior_of(trial, self.objective)
        while q is None and share > SHORTEST:
            share, past = share / 2, past[-1:]
            trial = _damped(self.past[-1], share)
            q = posterior_of(trial, self.objective)
        if q is None:
            return None
        result = sweep(self.objective, trial, q)
        return replace(
            self,
            sites=trial,
            q=q,
            result=result,
            past=(*past, (trial, result.sites))[-MEMORY - 1 :],
            least=min(self.least, distance),
            share=share,
            sweeps=self.sweeps + 1,
        )

    def approximation(self, *, is_converged: bool) -> Approximation:
        """What has been reached, with the evidence that belongs to it."""
        mean, prior = self.q.mean[None, :], self.objective.prior
        occam = 0.5 * (prior.log_det() - self.q.factor.log_det) - prior.value_grad(mean)[0]
        return Approximation(
            mean,
            self.q.factor,
            self.result.log_likelihood,
            self.result.log_ratio + occam,
            "ep",
            self.sweeps,
            is_converged=is_converged,
        )


def _damped(last: tuple[Sites, Sites], share: float) -> Sites:
    """Part of the way from sites to their update."""
    return mixed(last, np.array([1 - share, share]))


def _mixture(past: tuple[tuple[Sites, Sites], ...], share: float) -> Sites:
    """The affine combination of results with the least residual, were the residual linear: Σ_i c_i = 1."""
    residuals = np.stack([np.concatenate([new.tau - old.tau, new.nu - old.nu]) for old, new in past], axis=1)
    residuals = residuals / _scale(past[-1][1])[:, None]
    with single_thread_blas():
        change = linalg.lstsq(np.diff(residuals, axis=1), residuals[:, -1], cond=1e-7)[0]
    c = np.zeros(len(past))
    c[-1] = 1.0
    c[1:] -= change
    c[:-1] += change
    old, new = zip(*past, strict=True)
    return mixed([*old, *new], np.concatenate([(1 - share) * c, share * c]))


def _scale(sites: Sites) -> Float:
    """What counts as much in a site as in any other: its own size, or that of a typical one."""
    return np.concatenate([np.abs(part) + np.abs(part).mean() + np.finfo(float).tiny for part in (sites.tau, sites.nu)])
