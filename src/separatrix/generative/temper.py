# SPDX-License-Identifier: BSD-3-Clause
"""Tempering: an exponent on the likelihood, which corrects for information that correlated columns repeat.

    p(C_k | x, τ) ∝ p(C_k) p(x | C_k)^τ

If columns are independent given the class, τ = 1 is correct; if every column is repeated r times, τ = 1/r. For fixed
densities, τ maximises the conditional likelihood of the labels. Let d_nk = ln p(x_n | C_k) - ln p(x_n | C_t_n). Then

    L(τ)   = Σ_n w_n Σ_k T_nk ln p(C_k | x_n, τ),   T_nk = [k = t_n] + c/N p(C_k)
    L'(τ)  = Σ_n w_n Σ_k T_nk (d_nk - E_n d),   L''(τ) = -Σ_n w_n (Σ_k T_nk) Var_n d

with E_n and Var_n under p(C_k | x_n, τ). L is concave, because it is linear in τ minus a log-sum-exp. The second term
of T is a prior that is equivalent to c rows with labels drawn from p(C_k). It keeps τ finite if the classes are
separable, and r copies of every column still divide τ by exactly r.

The densities and τ are fitted on the same rows, so τ is slightly too large. This is negligible unless the densities
have nearly as many parameters as there are rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from separatrix._arguments import as_float
from separatrix._array import Float, Rows
from separatrix._text import counted
from separatrix.exceptions import ConvergenceWarning
from separatrix.rows import UNLABELLED, Block, Source
from separatrix.solvers import Solution, Status

MAX_STEP_FACTOR = 4.0  # largest change of τ in one Newton step, because steps are unbounded if L is flat
MIN_TEMPERATURE = 1e-12  # a smaller τ is set to 0
MAX_LOG_RATIO = 1e150  # largest |d_nk| in nats, so that its square is finite


def check_temper(owner: str, temper: Any) -> float | None:
    """Exponent τ that the argument ``temper`` specifies: a number, 1 for False, None for True (τ is fitted)."""
    if isinstance(temper, bool | np.bool_):
        return None if temper else 1.0
    tau = as_float(temper)
    if not 0 < tau < math.inf:
        raise ValueError(f"{owner}(temper={temper!r}): temper must be False, True or a finite number greater than 0.")
    return tau


def tempered(log_likelihood: Float, tau: float) -> Float:
    """Tempered log likelihood τ ln p(x | C_k); a density of zero stays zero, even for τ = 0."""
    if tau == 0.0:
        return np.where(np.isneginf(log_likelihood), -np.inf, 0.0)
    return log_likelihood if tau == 1.0 else tau * log_likelihood


def tempered_likelihood(
    block: Block, tau: float, log_likelihood: Callable[[Rows], Float], log_pi: Float, prior_weight: float
) -> Float:
    """L, L' and L'' of one block, (3,), with ``prior_weight`` = c/N.

    Rows without a label or with weight zero are skipped, and so are rows whose own class has density or prior zero.
    For the other rows, classes with density or prior zero are skipped.
    """
    block = block.weighted()
    log_p = log_likelihood(block.X)
    own = np.where(block.codes == UNLABELLED, 0, block.codes)
    counted = (block.codes != UNLABELLED) & np.isfinite(log_p[np.arange(len(own)), own]) & np.isfinite(log_pi[own])
    rows = np.flatnonzero(counted)
    own, log_p = block.codes[rows], log_p[rows]
    weight = np.ones(len(rows)) if block.weight is None else block.weight[rows]
    at_own = np.arange(len(rows)), own
    possible = np.isfinite(log_p) & np.isfinite(log_pi)
    d = np.where(possible, log_p, log_p[at_own][:, None]) - log_p[at_own][:, None]
    d = np.clip(d, -MAX_LOG_RATIO, MAX_LOG_RATIO)  # densities of outliers may differ by more
    a = np.where(possible, tau * d + log_pi, -np.inf)
    a -= logsumexp(a, axis=1, keepdims=True)
    T = np.where(possible, prior_weight * np.exp(log_pi), 0.0)
    T[at_own] += 1.0
    p = np.exp(a)
    centred = d - np.einsum("nk,nk->n", p, d)[:, None]
    value = weight @ np.einsum("nk,nk->n", T, np.where(possible, a, 0.0))
    slope = weight @ np.einsum("nk,nk->n", T, centred)
    return np.array([value, slope, -weight @ (T.sum(axis=1) * np.einsum("nk,nk->n", p, centred**2))])


def fit_temperature(
    source: Source,
    log_likelihood: Callable[[Rows], Float],
    log_pi: Float,
    prior_weight: float,
    *,
    tol: float = 1e-8,
    max_steps: int = 100,
) -> Solution[float]:
    """Maximise L over τ >= 0, by Newton's method from τ = 1 within bounds that are updated by the sign of L'.

    Each step needs one pass. The method stops when a step is at most ``tol`` relative to τ. ``trace`` contains L before
    each step. If the columns contain no information about the classes, L is constant and τ stays 1.
    """
    prior_weight = min(prior_weight, 1e16)  # the labels no longer matter, and larger products overflow
    tau, low, high, trace = 1.0, 0.0, math.inf, []
    for _ in range(max_steps):
        at: Callable[[Block], Float] = partial(
            tempered_likelihood, tau=tau, log_likelihood=log_likelihood, log_pi=log_pi, prior_weight=prior_weight
        )
        value, slope, curvature = source.reduce(at).tolist()
        trace.append(value)
        low, high = (tau, high) if slope > 0 else (low, tau)
        before = tau
        if slope != 0.0:  # a Newton step, limited to a factor of `MAX_STEP_FACTOR` and to the bounds
            newton = tau - slope / curvature if curvature < 0 else math.copysign(math.inf, slope)
            step = min(max(newton, tau / MAX_STEP_FACTOR), tau * MAX_STEP_FACTOR)
            tau = step if low < step < high or step == tau else 0.5 * (low + high)
        if abs(tau - before) <= tol * before or tau < MIN_TEMPERATURE:
            status = Status.LIKELIHOOD
            break
    else:
        status = Status.MAX_STEPS
        warnings.warn(
            f"temper=True stopped after {counted(max_steps, 'pass')}: the exponent is {tau:.6g}, and its optimum is "
            f"between {low:.6g} and {high:.6g}. The result is usable; to fix the exponent, pass temper=<a number>.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return Solution(tau if tau >= MIN_TEMPERATURE else 0.0, status, len(trace), len(trace), tuple(trace))
