# SPDX-License-Identifier: BSD-3-Clause
"""Compute the posterior of a category with thousands of levels, in a time proportional to their number.

A row has at most one level of a category, so the weights w of its levels are coupled only by the other weights u, which
include the bias. With curvatures κ_n, indicators x_n and the other regressors z_n, the Hessian is an arrow:

    A = ( D   B )        D = Σ_n κ_n diag x_n² + Λ_w  (L, diagonal)
        ( B'  K )        B = Σ_n κ_n x_n z_n'  (L, d),        K = Σ_n κ_n z_n z_n' + Λ_u  (d, d)

Elimination of w leaves the Schur complement of D. With F = D⁻¹ B,

    S = K - B'F,          ln |A| = Σ_l ln D_l + ln |S|
    cov u = S⁻¹,          cov w = D⁻¹ + F S⁻¹ F',          cov (w, u) = -F S⁻¹

so Laplace's evidence, all marginal variances and the variances of activations are exact, as with the full covariance,
and take O(L d²). The bias is the activation of the population mean of the levels, at the mean of the other columns:
columns of levels are not centred, because A would not be an arrow.

The most probable scales maximise p(D, η) (`PriorScales`) with its exact gradient, which includes the moving mode. The
posterior is not averaged over the scales: thousands of levels determine their scale to a few per cent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize

from separatrix._array import Codes, Float, to_dense
from separatrix._text import counted
from separatrix._threads import single_thread_blas
from separatrix.bayesian.evidence import Levels, PriorScales
from separatrix.bayesian.structures import ArrowApproximation, split_rows
from separatrix.bayesian.tuning import FLAT_GRADIENT, TuningReport, TuningStatus, TuningStep
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.rows import Block, Summed
from separatrix.solvers import Posterior
from separatrix.stats import Design, Grad

MAX_BORDER_WEIGHTS = 2000  # weights other than those of the largest category, whose precision is dense
MAX_MODE_STEPS = 50


@dataclass(frozen=True, slots=True)
class ArrowSums(Summed):
    """E, its gradient (1, P), and the parts D (L,), B (L, d) and K (d, d) of its Hessian."""

    value: float
    grad: Float
    diagonal: Float
    border: Float
    corner: Float


def arrow_sums(
    block: Block, theta: Float, likelihood: Likelihood, design: Design, levels: Codes, others: Codes
) -> ArrowSums:
    """Return E = -ln p(D | θ) of one block, its gradient and its Hessian."""
    log_p, slope, curvature = likelihood.derivatives(design.activate(block, theta), block.targets)
    weight = np.ones(len(block)) if block.weight is None else block.weight
    x, z = split_rows(block.X, design, levels, others)
    kz, diagonal = z * (curvature * weight)[:, None], (x * x).T @ (curvature * weight)
    value, grad = -float(log_p @ weight), -design.collect(block, slope * weight)
    return ArrowSums(value, grad, diagonal, to_dense(x.T @ kz), to_dense(z.T @ kz))


def arrow_slope(block: Block, gaussian: ArrowApproximation, likelihood: Likelihood, design: Design) -> Grad:
    """Return ∂ ln |A|/∂θ of one block, (1, P); see `log_det_slope`."""
    skew = likelihood.skew(design.activate(block, gaussian.mean), block.targets)  # type: ignore[attr-defined]
    change = skew * gaussian.row_variance(block.X, design)
    return Grad(design.collect(block, change if block.weight is None else change * block.weight))


def largest_category(groups: Any, n_outputs: int) -> Codes | None:
    """Return the columns of the category with most levels if a posterior can be an arrow; otherwise None.

    ``groups`` are labels of the columns, such as `Levels`. The arrow needs one output and at most
    `MAX_BORDER_WEIGHTS` weights outside this category.
    """
    places: dict[Levels, list[int]] = {}
    for m, label in enumerate(groups):
        if isinstance(label, Levels):
            places.setdefault(label, []).append(m)
    levels = np.array(max(places.values(), key=len, default=[]), dtype=np.intp)
    return levels if n_outputs == 1 and 0 <= len(groups) - len(levels) < MAX_BORDER_WEIGHTS and len(levels) else None


def with_arrow(objective: Posterior, groups: Sequence[Any]) -> Posterior:
    """Return the objective whose bias refers to the population means of the levels, so that the Hessian is an arrow."""
    origin = objective.design.origin.copy()
    origin[[isinstance(label, Levels) for label in groups]] = 0.0
    return replace(objective, design=replace(objective.design, origin=origin))


def laplace_arrow(objective: Posterior, levels: Codes, start: Float) -> ArrowApproximation:
    """Find the mode by Newton's method, and return the Gaussian there.          PRML (4.92), (4.142), (4.143)"""
    prior, others = objective.prior, np.setdiff1d(np.arange(objective.design.width), levels)
    is_centred = np.append(objective.design.origin != 0, False)
    others = np.concatenate([others[is_centred[others]], others[~is_centred[others]]])  # see `split_rows`

    def at(theta: Float) -> tuple[float, Float, ArrowApproximation]:
        """Return E, its gradient and the Gaussian with the Hessian at θ as its precision."""
        here = objective.reduce(arrow_sums, theta=theta, levels=levels, others=others)
        penalty, pull = prior.value_grad(theta)
        D = here.diagonal + prior.precision[levels]
        F = here.border / D[:, None]
        S = here.corner + np.diag(prior.precision[others]) - here.border.T @ F
        G = linalg.cholesky(S, lower=True)
        root = linalg.solve_triangular(G, np.eye(len(G)), lower=True).T
        log_det = float(np.log(D).sum() + 2 * np.log(np.diag(G)).sum())
        log_evidence = 0.5 * (prior.log_det() - log_det) - here.value - penalty  # (4.137)
        gaussian = ArrowApproximation(theta, levels, others, D, F, root, -here.value, log_evidence)
        return here.value + penalty, here.grad + pull, gaussian

    with single_thread_blas():
        theta, (value, grad, gaussian) = start, at(start)
        for steps in range(MAX_MODE_STEPS):
            step = -gaussian.solve(grad)
            gain = -float(np.vdot(grad, step))
            if gain <= 2e-12:  # half of it are the nats that a full step gains
                return replace(gaussian, steps=steps)
            size, found = 1.0, at(theta + step)
            is_rounded = gain <= objective.units.rounding * abs(value)
            # Armijo's condition; a shorter step changes only rounding errors
            while size > 1e-10 and not (is_rounded or found[0] < value - 1e-4 * size * gain):
                size /= 2
                found = at(theta + size * step)
            theta, (value, grad, gaussian) = theta + size * step, found
    raise DataError(
        f"The search for the mode of {counted(objective.design.width, 'weight')} did not converge in {MAX_MODE_STEPS} "
        "steps of Newton's method. Check the columns for values of very different size, or set hashing=."
    )


class TunedArrow(NamedTuple):
    """Objective with the tuned prior, its posterior, the report of tuning, and the mode."""

    objective: Posterior
    approximation: ArrowApproximation
    report: TuningReport
    mode: Float


def tune_arrow(objective: Posterior, scales: PriorScales, levels: Codes, start: Float) -> TunedArrow:
    """Find the most probable scales; return the Gaussian there, moved to the first-order estimate of the mean.

    The precision of η is about 2γ plus that of its hyperprior, with γ_g the number of weights of group g that the data
    determine (MacKay). The search uses it as its metric, and the log evidence for the integral over η.
    """
    trace: list[TuningStep] = []
    best, mode, n_fits = None, start, 0

    def evaluate(eta: Float) -> tuple[TuningStep, ArrowApproximation, Float]:
        """Return ln p(D, η) and its gradient, the Gaussian, and A⁻¹ ∂ ln |A|/∂θ. The search starts at the last mode."""
        nonlocal mode, n_fits
        here, n_fits = replace(objective, prior=scales.prior(eta)), n_fits + 1
        gaussian = laplace_arrow(here, levels, mode)
        mode, d = gaussian.mean, gaussian.mean - here.prior.mean
        u = gaussian.solve(here.reduce(arrow_slope, gaussian=gaussian).grad)
        slope = 0.5 * (1 / here.prior.precision - gaussian.variance - (d * (d - u))[0])  # see `evidence_slope`
        log_density, pull = scales.log_density(eta)
        gradient = scales.gradient(eta, slope) + pull
        return TuningStep(eta, gaussian.log_evidence + log_density, gradient), gaussian, u

    def precision(eta: Float, gaussian: ArrowApproximation) -> Float:
        """Return 2γ plus the precision of the hyperprior of η, (G, G)."""
        determined = scales.sums(1 - scales.prior(eta).precision * gaussian.variance)
        return 2 * np.diag(determined) + scales.log_density_precision()

    def descent(z: Float) -> tuple[float, Float]:
        nonlocal best
        step, gaussian, u = evaluate(np.clip(z / metric, low, high))
        if best is None or step.log_evidence > trace[-1].log_evidence:
            trace.append(step)
            best = gaussian, u
        return -step.log_evidence, -step.gradient / metric

    low, high = scales.bounds(objective)
    eta = np.clip(np.zeros(len(low)), low, high)
    metric = np.sqrt(np.diag(precision(eta, evaluate(eta)[1])))
    limits = {"maxfun": 60, "gtol": FLAT_GRADIENT, "ftol": 1e-12}
    box = list(zip(low * metric, high * metric, strict=True))
    found = optimize.minimize(descent, eta * metric, jac=True, method="L-BFGS-B", bounds=box, options=limits)
    assert best is not None, "at least one fit"
    (eta, value, gradient), (gaussian, u), G = trace[-1], best, len(eta)
    log_volume = 0.5 * float(G * np.log(2 * np.pi) - np.linalg.slogdet(precision(eta, gaussian))[1])
    tuned, shift = replace(objective, prior=scales.prior(eta)), -0.5 * u
    mean = gaussian.mean + shift / max(float(np.abs(shift / gaussian.std).max()), 1.0)
    log_likelihood = tuned.prior.value_grad(mean)[0] - tuned.value_grad(mean).value
    moved = replace(gaussian, mean=mean, log_likelihood=log_likelihood, log_evidence=value + log_volume)
    factors, status = np.exp(eta), TuningStatus.CONVERGED if found.success else TuningStatus.STALLED
    of_columns = factors[scales.groups[: len(objective.design.origin)]]
    report = TuningReport(scales.labels, factors, of_columns, gradient, status, (), tuple(trace), n_fits)
    return TunedArrow(tuned, moved, report, gaussian.mean)
