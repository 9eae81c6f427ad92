# SPDX-License-Identifier: BSD-3-Clause
"""Maps from the scores of a classifier to probabilities, and the choice of a map.

Scores s (K,) are ln p(C_k | x) of the classifier, or its decision function, for which p = softmax(s). Four maps are
softmax functions of linear functions of ln p, each a special case of the next:

    temperature    q ∝ exp(a ln p)              a >= 0 a number                 Guo et al. (2017)
    platt          q ∝ exp(a ln p + b)          b (K,)                          Platt (1999)
    beta           q ∝ exp(diag(a) ln p + b)    a >= 0 (K,)                     Kull, Silva Filho & Flach (2017)
    dirichlet      q ∝ exp(W ln p + b)          W (K, K)                        Kull et al. (2019)

For two classes, `platt` is a logistic regression on the log-odds, and `beta` is one on ln p₁ and -ln p₀. The parameters
maximise the likelihood times a Gaussian prior about the identity W = I, b = 0, so they are finite even if there are few
rows, or if the scores separate the classes. The loss is convex.

`isotonic` is a nondecreasing function of the log-odds of each class (Zadrozny & Elkan 2002); for K > 2, the K values
are divided by their sum. It never reaches 0 or 1: each step counts one more row, which is shared by the class
proportions.

A probability of zero, which forests and nearest neighbours return, has no logarithm. The maps replace it by half of the
smallest positive probability among the rows to which they are fitted.

If p(x | C_k) is the same in new rows but the class proportions π_k are not, Bayes' theorem gives

    p_new(C_k | x) ∝ p(C_k | x) π_k^new / π_k                                                    PRML §1.5.4

EM estimates π^new from the new rows, without their labels (Saerens, Latinne & Decaestecker 2002). The likelihood of
π^new is concave, so EM finds its maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import optimize
from scipy.special import log_softmax
from sklearn.isotonic import IsotonicRegression

from separatrix._array import Codes, Float
from separatrix._threads import blas_for
from separatrix.exceptions import ConvergenceWarning, DataError, warn
from separatrix.metrics import Estimate, weighted_mean

METHODS = ("none", "temperature", "platt", "beta", "dirichlet", "isotonic")  # by increasing freedom
MIN_ROWS_PER_PARAMETER = 10  # with fewer rows per parameter, a Dirichlet map is not tried
ERRORS_TO_CHANGE = 2  # standard errors by which a map must be better than the probabilities of the classifier
LEAST_LOG = -700.0  # exp(-745) is zero
MAX_SCORE = 1e200  # products of larger scores overflow
SLOPE_STD, BIAS_STD = 1.0, 3.0  # standard deviations of the prior about the identity
DECIMALS = 9  # decimals to which log-odds are rounded, so that rows with equal probabilities have equal log-odds
TINY_SPREAD = 1e-6  # nats; scores that differ less are equal
MAX_EM_STEPS, MAX_EM_CHANGE = 10_000, 1e-8


class Map(Protocol):
    """A fitted map."""

    def log_proba(self, S: Float) -> Float:
        """ln q (N, K) for scores (N, K)."""


@dataclass(frozen=True, eq=False)
class IdentityMap:
    """q = p."""

    def log_proba(self, S: Float) -> Float:
        return log_p(S)


@dataclass(frozen=True, eq=False)
class AffineMap:
    """q ∝ exp(W ln p + b), with ln p >= ``least_log``."""

    W: Float
    b: Float
    least_log: float

    def log_proba(self, S: Float) -> Float:
        return np.asarray(log_softmax(np.maximum(log_p(S), self.least_log) @ self.W.T + self.b, axis=1))


@dataclass(frozen=True, eq=False)
class Curve:
    """A piecewise linear function, constant outside its knots."""

    knots: Float
    levels: Float


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """Nondecreasing functions of the log-odds of each class, divided by their sum; for two classes, of the second."""

    curves: tuple[Curve, ...]
    least_log: float

    def log_proba(self, S: Float) -> Float:
        """ln q (N, K) for scores (N, K)."""
        A = log_odds(np.maximum(log_p(S), self.least_log))
        columns = A.T[-len(self.curves) :]
        Q = np.column_stack([np.interp(a, f.knots, f.levels) for a, f in zip(columns, self.curves, strict=True)])
        if len(self.curves) == 1:
            Q = np.column_stack([1 - Q, Q])
        with np.errstate(divide="ignore"):  # levels of rows of huge weight round to 0 or 1
            return np.asarray(np.maximum(np.log(Q / Q.sum(axis=1, keepdims=True)), LEAST_LOG))


def log_p(S: Float) -> Float:
    """ln softmax(s); only -inf has the probability zero."""
    return np.asarray(log_softmax(np.where(np.isneginf(S), S, np.clip(S, -MAX_SCORE, MAX_SCORE)), axis=1))


def log_odds(L: Float) -> Float:
    """ln p_k - ln(1 - p_k) of every class for L = ln p (N, K), precise even if p_k rounds to one."""
    is_top = np.arange(L.shape[1]) == L.argmax(axis=1)[:, None]
    others = np.where(is_top, -np.inf, L)
    rest = np.where(is_top, np.logaddexp.reduce(others, axis=1, keepdims=True), np.log1p(-np.exp(others)))
    return np.asarray((L - rest).round(DECIMALS))


def fit_map(method: str, S: Float, codes: Codes, weight: Float | None = None) -> Map:
    """Fit a map to scores (N, K) and the true classes (N,)."""
    if method == "none":
        return IdentityMap()
    L = log_p(S)
    if weight is None:
        weight = np.ones(len(L))
    L, codes, weight = L[weight > 0], codes[weight > 0], weight[weight > 0]
    is_zero = L < LEAST_LOG
    least_log = max(LEAST_LOG, float(L[~is_zero].min()) - np.log(2)) if is_zero.any() else LEAST_LOG
    L = np.maximum(L, least_log)
    if method == "isotonic":
        return IsotonicMap(fit_curves(L, codes, weight), least_log)
    return AffineMap(*fit_affine(method, L, codes, weight), least_log)


def fit_affine(method: str, L: Float, codes: Codes, weight: Float) -> tuple[Float, Float]:
    """The most probable W and b for L = ln p (N, K)."""
    K = L.shape[1]
    T = np.eye(K)[codes]
    n_slopes = {"temperature": 1, "platt": 1, "beta": K, "dirichlet": K * K}[method]
    n_biases = 0 if method == "temperature" else K

    def unpack(v: Float) -> tuple[Float, Float]:
        a, b = v[:n_slopes], v[n_slopes:]
        W = a.reshape(K, K) if method == "dirichlet" else np.diag(np.broadcast_to(a, K))
        return W, b if n_biases else np.zeros(K)

    # Decision values may have any unit: the prior allows slopes that spread the log-odds by one nat.
    spread = max(float(np.sqrt(weight @ L.var(axis=1) / weight.sum())), TINY_SPREAD)
    mean = np.append(np.eye(K).ravel() if method == "dirichlet" else np.ones(n_slopes), np.zeros(n_biases))
    std = np.append(np.full(n_slopes, SLOPE_STD * max(1.0, 1 / spread)), np.full(n_biases, BIAS_STD))
    unit = np.append(np.full(n_slopes, 1 / spread), np.ones(n_biases))  # steps of the solver

    def loss(u: Float) -> tuple[float, Float]:
        v = unit * u
        W, b = unpack(v)
        log_q = log_softmax(L @ W.T + b, axis=1)
        error = weight[:, None] * (np.exp(log_q) - T)
        by_W = error.T @ L
        by_slope = by_W.ravel() if method == "dirichlet" else np.diag(by_W)
        if n_slopes == 1:
            by_slope = by_slope.sum(keepdims=True)
        z = (v - mean) / std
        value = -float(weight @ log_q[np.arange(len(L)), codes]) + 0.5 * float(z @ z)
        return value, unit * (np.append(by_slope, error.sum(axis=0)[:n_biases]) + z / std)

    # A negative slope would reverse the order of the scores; a full matrix has no order to reverse.
    least_slope = None if method == "dirichlet" else 0.0
    with blas_for(L.size * K):
        found = optimize.minimize(
            loss,
            mean * min(1.0, 1 / spread) / unit,
            jac=True,
            method="L-BFGS-B",
            bounds=[(least_slope, None)] * n_slopes + [(None, None)] * n_biases,
            options={"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-8},
        )
    return unpack(unit * found.x)


def fit_curves(L: Float, codes: Codes, weight: Float) -> tuple[Curve, ...]:
    """Nondecreasing functions of the log-odds, by weighted least squares (pool adjacent violators)."""
    A, K = log_odds(L), L.shape[1]
    share = (np.bincount(codes, weight, K) + 1 / K) / (weight.sum() + 1)
    curves = []
    for k in (1,) if K == 2 else range(K):
        level = IsotonicRegression().fit_transform(A[:, k], codes == k, sample_weight=weight)
        _, step = np.unique(level, return_inverse=True)
        size = np.bincount(step, weight)[step]
        smoothed = (size * level + share[k]) / (size + 1)  # one more row in each step
        curve = IsotonicRegression().fit(A[:, k], smoothed, sample_weight=weight)
        curves.append(Curve(curve.X_thresholds_, curve.y_thresholds_))
    return tuple(curves)


def choose(
    methods: tuple[str, ...], S: Float, codes: Codes, weight: Float, folds: Codes
) -> tuple[str, dict[str, Estimate]]:
    """The method with the best log-loss for rows that its map has not seen, and the loss of every method.

    ``folds`` (N,) numbers the fold of each row. ``methods`` are ordered by their freedom: a freer method replaces the
    choice so far only if it is better by more than one standard error of the difference; "none" is replaced only if the
    gain exceeds two standard errors, because several maps are tried.
    """
    if len(np.unique(folds)) < 2:
        raise DataError(
            "Calibrated(cv=...) gives one fold, but the choice of a map needs two: use more folds, or set method."
        )
    log_q = {method: np.empty(len(S)) for method in methods}
    for fold in np.unique(folds):
        held = folds == fold
        for method in methods:
            found = fit_map(method, S[~held], codes[~held], weight[~held]).log_proba(S[held])
            log_q[method][held] = found[np.arange(len(found)), codes[held]]
    best = methods[0]
    for method in methods[1:]:
        gain = weighted_mean(log_q[method] - log_q[best], weight)
        if gain.value > (ERRORS_TO_CHANGE if best == "none" else 1) * gain.standard_error:
            best = method
    means = {method: weighted_mean(values, weight) for method, values in log_q.items()}
    return best, {method: Estimate(-mean.value, mean.standard_error) for method, mean in means.items()}


def shifted_log_proba(log_p: Float, old: Float, new: Float) -> Float:
    """ln p_new(C_k | x) (N, K) for the proportions ``new`` (K,), from ln p(C_k | x) for the proportions ``old``."""
    with np.errstate(divide="ignore"):
        shifted = np.maximum(log_p, LEAST_LOG) + np.log(new / old)
    return np.asarray(shifted - np.logaddexp.reduce(shifted, axis=1, keepdims=True))


def estimate_proportions(P: Float, old: Float) -> Float:
    """Class proportions (K,) of new rows, by EM from their probabilities P (N, K) for the proportions ``old``."""
    pi = old
    for _ in range(MAX_EM_STEPS):
        R = P * (pi / old)
        new = (R / R.sum(axis=1, keepdims=True)).mean(axis=0)  # E step; its mean over the rows is the M step
        if np.abs(new - pi).max() <= MAX_EM_CHANGE:
            return np.asarray(new)
        pi = new
    warn(
        f"Calibrated: the class proportions of {len(P)} new rows still changed after {MAX_EM_STEPS} steps of EM, "
        "because the probabilities hardly distinguish the classes. Give prior_shift the proportions, if known.",
        ConvergenceWarning,
    )
    return np.asarray(pi)
