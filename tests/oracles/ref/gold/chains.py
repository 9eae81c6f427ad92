"""Compiled Hamiltonian Monte Carlo for linear classifiers, and diagnostics of its chains.

In coordinates in which the posterior has unit covariance, which is estimated in stages of warm-up, paths of about a
quarter of a period give nearly independent draws. Path lengths are random, so that no direction is periodic.
"""

from __future__ import annotations

import math

import numba
import numpy as np

CHAINS, DRAWS, STAGES, WARM = 4, 60_000, 5, 1_000


@numba.njit
def _log_p_slope(kind, noise, m):
    """Return ln p and its derivative; m is the activation, with the sign of the label."""
    if kind == 1:
        z = -m / math.sqrt(2.0)
        if m > -30.0:
            tail = 0.5 * math.erfc(z)
            return math.log(tail), math.exp(-0.5 * m * m) / (math.sqrt(2.0 * math.pi) * tail)
        r = -m * (1.0 + 1.0 / (m * m) - 2.0 / m**4)  # asymptotic hazard of a normal, with an error of 1e-8
        return -0.5 * m * m - 0.5 * math.log(2.0 * math.pi) - math.log(r), r
    e = math.exp(-abs(m))
    right = 1.0 / (1.0 + e) if m >= 0 else e / (1.0 + e)
    wrong = e / (1.0 + e) if m >= 0 else 1.0 / (1.0 + e)
    if kind == 0:
        return (0.0 if m >= 0 else m) - math.log1p(e), wrong
    seen = noise + (1.0 - 2.0 * noise) * right
    return math.log(seen), (1.0 - 2.0 * noise) * right * wrong / seen


@numba.njit
def log_joint_grad(w, Phi, y, precision, kind, noise, C, grad):
    """Return ln p(y, w) up to a constant, and write its gradient to ``grad``."""
    N, P = Phi.shape
    value = 0.0
    for i in range(C * P):
        value -= 0.5 * precision[i] * w[i] * w[i]
        grad[i] = -precision[i] * w[i]
    a = np.empty(C)
    for n in range(N):
        for c in range(C):
            s = 0.0
            for i in range(P):
                s += w[c * P + i] * Phi[n, i]
            a[c] = s
        if kind == 3:
            top = a.max()
            total = 0.0
            for c in range(C):
                total += math.exp(a[c] - top)
            value += a[y[n]] - top - math.log(total)
            for c in range(C):
                slope = (1.0 if c == y[n] else 0.0) - math.exp(a[c] - top) / total
                for i in range(P):
                    grad[c * P + i] += slope * Phi[n, i]
        else:
            sign = 1.0 if y[n] == 1 else -1.0
            log_p, slope = _log_p_slope(kind, noise, sign * a[0])
            value += log_p
            for i in range(P):
                grad[i] += sign * slope * Phi[n, i]
    return value


@numba.njit
def _leapfrog(w, momentum, grad, step, n_steps, L, data):
    """Take leapfrog steps in coordinates v with w = L v and unit mass."""
    value = 0.0
    for _ in range(n_steps):
        momentum += 0.5 * step * (L.T @ grad)
        w += step * (L @ momentum)
        value = log_joint_grad(w, *data, grad)
        momentum += 0.5 * step * (L.T @ grad)
    return value


@numba.njit
def hmc(w, L, step, draws, adapt, target, seed, data):
    """Run Hamiltonian Monte Carlo with random paths of about a quarter of a period, and dual averaging of the step.

    Returns the draws, the step and the mean probability of acceptance.
    """
    np.random.seed(seed)  # noqa: NPY002 - the only generator in compiled code
    D = len(w)
    out, grad = np.empty((draws, D)), np.empty(D)
    value = log_joint_grad(w, *data, grad)
    mu, bar, mean_log, accepted = math.log(10.0 * step), 0.0, math.log(step), 0.0
    for s in range(draws):
        length = math.pi * (0.25 + 0.5 * np.random.random())  # noqa: NPY002
        n_steps = min(max(1, math.ceil(length / step)), 200)
        momentum = np.random.standard_normal(D)  # noqa: NPY002
        start = value - 0.5 * momentum @ momentum
        w_new, grad_new = w.copy(), grad.copy()
        value_new = _leapfrog(w_new, momentum, grad_new, length / n_steps if not adapt else step, n_steps, L, data)
        gain = value_new - 0.5 * momentum @ momentum - start
        chance = math.exp(min(0.0, gain)) if gain == gain else 0.0
        accepted += chance
        if np.random.random() < chance:  # noqa: NPY002
            w, grad, value = w_new, grad_new, value_new
        out[s] = w
        if adapt:  # Hoffman & Gelman (2014), section 3.2
            t = s + 1.0
            bar += (target - chance - bar) / (t + 10.0)
            log_step = mu - math.sqrt(t) / 0.05 * bar
            step = math.exp(log_step)
            mean_log += t**-0.75 * (log_step - mean_log)
    return out, math.exp(mean_log) if adapt else step, accepted / draws


def run_chain(data: tuple, mode: np.ndarray, S: np.ndarray, seed: int) -> tuple[np.ndarray, dict]:
    """Start at a dispersed point around the mode, estimate the covariance in stages of warm-up, then draw."""
    rng = np.random.default_rng(seed)
    L = np.linalg.cholesky(S)
    w, step = mode + 1.5 * L @ rng.normal(size=len(mode)), 0.5
    for stage in range(STAGES):
        draws, step, _ = hmc(w, L, step, WARM * (1 + stage), True, 0.85, 100 * seed + stage, data)
        w, L = draws[-1].copy(), np.linalg.cholesky(np.atleast_2d(np.cov(draws[WARM // 4 :].T)))
    draws, step, accepted = hmc(w, L, step, DRAWS, False, 0.85, 100 * seed + 99, data)
    return draws, {"step": step, "accepted": accepted}


def split_rhat(x: np.ndarray) -> np.ndarray:
    """Return split R-hat of draws (chains, draws, ...), Gelman et al. (2013) section 11.4."""
    half = x.shape[1] // 2
    parts = np.concatenate([x[:, :half], x[:, half : 2 * half]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt((half - 1) / half + between / within)


def effective_size(x: np.ndarray) -> np.ndarray:
    """Return effective sizes of draws (chains, draws, columns), by Geyer's initial monotone sequence."""
    return np.array([_effective_size(x[..., i]) for i in range(x.shape[-1])])


def _effective_size(x: np.ndarray) -> float:
    C, S = x.shape
    away = x - x.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(away, 2 * S, axis=1)) ** 2
    covariance = (np.fft.irfft(spectrum, axis=1)[:, : min(S, 2000)] / S).mean(axis=0)
    within = covariance[0] * S / (S - 1)
    total = covariance[0] + x.mean(axis=1).var(ddof=1)
    correlation = 1 - (within - covariance) / total
    pairs = correlation[0 : len(correlation) // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: ends[0] if len(ends) else len(pairs)])
    return C * S / max(2 * pairs.sum() - 1, 1 / np.log10(C * S))


def in_batches(x: np.ndarray, function) -> np.ndarray:
    """Return the standard error of a function of draws (chains, draws, ...), from 25 batches per chain."""
    parts = x.reshape(CHAINS * 25, -1, *x.shape[2:])
    return np.std([function(part) for part in parts], axis=0, ddof=1) / np.sqrt(len(parts))
