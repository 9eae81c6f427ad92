# SPDX-License-Identifier: BSD-3-Clause
"""One exponent on the likelihood, so that evidence which columns repeat is not counted in full each time.

    p(C_k | x, τ) ∝ p(C_k) p(x | C_k)^τ

Where columns are independent given the class, τ = 1 is right; where each fact is told r times, τ = 1/r is. With the
densities fixed, τ maximises the conditional likelihood of the labels. For d_nk = ln p(x_n | C_k) - ln p(x_n | C_t_n),

    L(τ)   = Σ_n w_n Σ_k T_nk ln p(C_k | x_n, τ),   T_nk = [k = t_n] + c/N p(C_k)
    L'(τ)  = Σ_n w_n Σ_k T_nk (d_nk - E_n d),   L''(τ) = -Σ_n w_n (Σ_k T_nk) Var_n d

with E_n and Var_n under p(C_k | x_n, τ). L is concave: a log likelihood linear in τ less its log-sum-exp. The second
term of T is c rows spread over all that were seen, with labels drawn from p(C_k): it keeps τ finite where the classes
separate, and leaves the law that r copies of every column divide τ by r exact.

The rows that fitted the densities also fit τ, and flatter it a little; on one number that is of no account unless
there are nearly as many parameters as rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import logsumexp

from separatrix._array import Array, Float, Rows
from separatrix.exceptions import ConvergenceWarning
from separatrix.rows import UNLABELLED, Block, Source
from separatrix.solvers import Solution, Status

__all__ = ["TemperedLikelihood", "check_temper", "fit_temperature", "tempered", "tempered_likelihood"]

FARTHEST = 4.0  # the most that one step may multiply or divide τ by: far out, L is flat and Newton knows no bounds
NOTHING = 1e-12  # a smaller τ is zero
LARGEST = 1e150  # its square is finite


def check_temper(owner: str, temper: Any) -> float | None:
    """τ as it was given, 1 for False, None where it is to be fitted (True)."""
    if isinstance(temper, bool | np.bool_):
        return None if temper else 1.0
    if not isinstance(temper, Real) or not 0 < float(temper) < math.inf:
        raise ValueError(f"{owner}(temper={temper!r}): temper must be False, True or a finite number greater than 0.")
    return float(temper)


def tempered(log_likelihood: Float, tau: float) -> Float:
    """τ ln p(x | C_k); what is impossible stays so, also for τ = 0."""
    if tau == 0.0:
        return np.where(np.isneginf(log_likelihood), -np.inf, 0.0)
    return log_likelihood if tau == 1.0 else tau * log_likelihood


@dataclass(frozen=True, slots=True)
class TemperedLikelihood:
    """L(τ) and its first two derivatives."""

    value: float
    slope: float
    curvature: float

    def __add__(self, other: TemperedLikelihood) -> TemperedLikelihood:
        """Sums over rows add."""
        return TemperedLikelihood(self.value + other.value, self.slope + other.slope, self.curvature + other.curvature)


def tempered_likelihood(
    block: Block, tau: float, log_likelihood: Callable[[Rows], Float], log_pi: Float, share: float
) -> TemperedLikelihood:
    """L, L' and L'' of one block, with ``share`` = c/N.

    Rows count that have a label and a weight. A class that is impossible, by its density or by its prior, takes no
    part in a row; a row whose own class is impossible says nothing about τ.
    """
    log_p = log_likelihood(block.X)
    counts = np.flatnonzero(_says_something(block, log_p, log_pi))
    own, log_p = block.codes[counts], log_p[counts]
    weight = np.ones(len(counts)) if block.weight is None else block.weight[counts]
    at_own = np.arange(len(counts)), own
    possible = np.isfinite(log_p) & np.isfinite(log_pi)
    d = np.where(possible, log_p, log_p[at_own][:, None]) - log_p[at_own][:, None]
    d = np.clip(d, -LARGEST, LARGEST)  # an outlier of one class may lie that far out of another
    a = np.where(possible, tau * d + log_pi, -np.inf)
    a -= logsumexp(a, axis=1, keepdims=True)
    T = np.where(possible, share * np.exp(log_pi), 0.0)
    T[at_own] += 1.0
    p = np.exp(a)
    centred = d - np.einsum("nk,nk->n", p, d)[:, None]
    return TemperedLikelihood(
        float(weight @ np.einsum("nk,nk->n", T, np.where(possible, a, 0.0))),
        float(weight @ np.einsum("nk,nk->n", T, centred)),
        -float(weight @ (T.sum(axis=1) * np.einsum("nk,nk->n", p, centred**2))),
    )


def _says_something(block: Block, log_p: Float, log_pi: Float) -> Array:
    """Whether a row has a label, of a class that it can have, and a weight."""
    own = np.where(block.codes == UNLABELLED, 0, block.codes)
    possible = np.isfinite(log_p[np.arange(len(own)), own]) & np.isfinite(log_pi[own])
    labelled = (block.codes != UNLABELLED) & possible
    return np.asarray(labelled if block.weight is None else labelled & (block.weight > 0))


def fit_temperature(
    source: Source,
    log_likelihood: Callable[[Rows], Float],
    log_pi: Float,
    share: float,
    *,
    tol: float = 1e-8,
    max_steps: int = 100,
) -> Solution[float]:
    """The τ >= 0 of largest L, by Newton's method from τ = 1 between bounds that the signs of L' draw in.

    One pass for each step; ends with a step of no more than ``tol`` of τ. ``trace`` has L before each step. Where
    the columns say nothing about the classes, any τ is as good as another, and 1 it stays.
    """
    tau, low, high, trace = 1.0, 0.0, math.inf, []
    for _ in range(max_steps):
        at: Callable[[Block], TemperedLikelihood] = partial(
            tempered_likelihood, tau=tau, log_likelihood=log_likelihood, log_pi=log_pi, share=share
        )
        now = source.reduce(at)
        trace.append(now.value)
        low, high = (tau, high) if now.slope > 0 else (low, tau)
        before, tau = tau, _next(tau, now, low, high)
        if abs(tau - before) <= tol * before or tau < NOTHING:
            return Solution(tau if tau >= NOTHING else 0.0, Status.LIKELIHOOD, len(trace), len(trace), tuple(trace))
    warnings.warn(
        f"temper=True stopped after {max_steps} passes at {tau:.6g}, between {low:.6g} and {high:.6g}. The result is "
        "usable; temper=<a number> fixes it.",
        ConvergenceWarning,
        stacklevel=5,
    )
    return Solution(tau, Status.MAX_STEPS, len(trace), len(trace), tuple(trace))


def _next(tau: float, now: TemperedLikelihood, low: float, high: float) -> float:
    """Newton's step, kept within reach and between the bounds."""
    if now.slope == 0.0:
        return tau
    newton = tau - now.slope / now.curvature if now.curvature < 0 else math.copysign(math.inf, now.slope)
    step = min(max(newton, tau / FARTHEST), tau * FARTHEST)
    return step if low < step < high or step == tau else 0.5 * (low + high)
