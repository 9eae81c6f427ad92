# SPDX-License-Identifier: BSD-3-Clause
"""Maps from the scores of a classifier to probabilities.

Scores s (K,) are ln p(C_k | x) of the classifier, or its decision function. Four maps are softmax functions of linear
functions of the scores, each a special case of the next:

    temperature    q ∝ exp(β s)                 β >= 0                          Guo et al. (2017)
    platt          q ∝ exp(β s + b)                                             Platt (1999)
    beta           q ∝ exp(diag(a) s + b)       a >= 0                          Kull, Silva Filho & Flach (2017)
    dirichlet      q ∝ exp(W s + b)                                             Kull et al. (2019)

For two classes, `platt` is a logistic regression on the log-odds, and `beta` is ln q₁/q₀ = a₁ ln p₁ - a₀ ln p₀ + c.
Their parameters maximise the likelihood times a Gaussian prior about the identity W = I, b = 0, so that few rows, or
classes that the scores separate, still give finite parameters. The loss is convex.

`isotonic` fits a nondecreasing step function of the probability of each class (Zadrozny & Elkan 2002), for K > 2 one
class against the others. A step never reaches 0 or 1: it counts one more row that is shared out by the proportions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import optimize
from scipy.special import log_softmax, softmax
from sklearn.isotonic import IsotonicRegression

from separatrix._array import Codes, Float

SLOPE_SCALE, BIAS_SCALE = 1.0, 3.0  # standard deviations of the prior about the identity
MAX_SCORE = 700.0  # a log probability below -700 is cut, since exp(-745) is zero


class Map(Protocol):
    """A fitted map."""

    def log_proba(self, S: Float) -> Float:
        """ln q (N, K) for scores (N, K)."""


@dataclass(frozen=True, eq=False)
class Affine:
    """q ∝ exp(W s + b)."""

    W: Float
    b: Float

    def log_proba(self, S: Float) -> Float:
        """ln q (N, K) for scores (N, K)."""
        return np.asarray(log_softmax(bounded(S) @ self.W.T + self.b, axis=1))


@dataclass(frozen=True, eq=False)
class Steps:
    """Step functions of the probability of each class, normalised; for two classes, of the second class alone."""

    functions: tuple[IsotonicRegression, ...]

    def log_proba(self, S: Float) -> Float:
        """ln q (N, K) for scores (N, K)."""
        P = softmax(bounded(S), axis=1)
        if P.shape[1] == 2:
            q = self.functions[0].predict(P[:, 1])
            Q = np.column_stack([1 - q, q])
        else:
            Q = np.column_stack([steps.predict(p) for steps, p in zip(self.functions, P.T, strict=True)])
        return np.asarray(np.log(Q / Q.sum(axis=1, keepdims=True)))


def bounded(S: Float) -> Float:
    """Scores as log probabilities, not below `-MAX_SCORE`."""
    return np.asarray(np.maximum(log_softmax(np.maximum(S, -1e300), axis=1), -MAX_SCORE))


def identity(n_classes: int) -> Affine:
    """The map that changes nothing."""
    return Affine(np.eye(n_classes), np.zeros(n_classes))


def fit_map(method: str, S: Float, codes: Codes, weight: Float | None = None) -> Map:
    """Fit a map to scores (N, K) and the true classes (N,)."""
    if method == "none":
        return identity(S.shape[1])
    w = np.ones(len(S)) if weight is None else weight
    return fit_steps(S, codes, w) if method == "isotonic" else fit_affine(method, bounded(S), codes, w)


def fit_affine(method: str, S: Float, codes: Codes, weight: Float) -> Affine:
    """The most probable parameters of an affine map."""
    K = S.shape[1]
    T = np.eye(K)[codes]

    def unpack(v: Float) -> tuple[Float, Float]:
        if method == "temperature":
            return v[0] * np.eye(K), np.zeros(K)
        if method == "platt":
            return v[0] * np.eye(K), v[1:]
        return (np.diag(v[:K]) if method == "beta" else v[:-K].reshape(K, K)), v[-K:]

    def pack(W: Float, b: Float) -> Float:
        """Gradient with respect to v, from that with respect to W and b; `unpack` is linear."""
        if method == "temperature":
            return np.array([np.trace(W)])
        if method == "platt":
            return np.append(np.trace(W), b)
        return np.append(np.diag(W) if method == "beta" else W.ravel(), b)

    n_slopes = {"temperature": 1, "platt": 1, "beta": K, "dirichlet": K * K}[method]
    n_biases = 0 if method == "temperature" else K
    start = np.append(np.eye(K).ravel() if method == "dirichlet" else np.ones(n_slopes), np.zeros(n_biases))
    precision = np.append(np.full(n_slopes, SLOPE_SCALE**-2.0), np.full(n_biases, BIAS_SCALE**-2.0))

    # Scores may differ by hundreds of nats. The steps of the solver are in units in which they differ by about one.
    unit = np.append(
        np.full(n_slopes, 1 / max(float(np.sqrt(weight @ (S**2).mean(axis=1) / weight.sum())), 1e-3)), np.ones(n_biases)
    )

    def loss(u: Float) -> tuple[float, Float]:
        v = unit * u
        W, b = unpack(v)
        log_q = log_softmax(S @ W.T + b, axis=1)
        error = weight[:, None] * (np.exp(log_q) - T)
        away = v - start
        value = -float(weight @ log_q[np.arange(len(S)), codes]) + 0.5 * float(precision @ away**2)
        return value, unit * (pack(error.T @ S, error.sum(axis=0)) + precision * away)

    # A negative slope would reverse the order of the scores; a full matrix has no order to reverse.
    least = -np.inf if method == "dirichlet" else 0.0
    bounds = [(least, None)] * n_slopes + [(None, None)] * n_biases
    found = optimize.minimize(
        loss,
        start / unit,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-7},
    )
    return Affine(*unpack(unit * found.x))


def fit_steps(S: Float, codes: Codes, weight: Float) -> Steps:
    """Nondecreasing step functions by weighted least squares, which pools adjacent violators."""
    P, K = softmax(bounded(S), axis=1), S.shape[1]
    share = np.bincount(codes, weight, K) / weight.sum()
    functions = []
    for k in (1,) if K == 2 else range(K):
        steps = IsotonicRegression(out_of_bounds="clip", y_min=0.0, y_max=1.0)
        level = steps.fit_transform(P[:, k], codes == k, sample_weight=weight)
        # One more row in each step, shared out by the proportions, keeps probabilities away from 0 and 1.
        _, step = np.unique(level, return_inverse=True)
        size = np.bincount(step, weight)[step]
        smoothed = (size * level + share[k]) / (size + 1)
        functions.append(IsotonicRegression(out_of_bounds="clip").fit(P[:, k], smoothed, sample_weight=weight))
    return Steps(tuple(functions))


def loss_per_row(found: Map, S: Float, codes: Codes) -> Float:
    """-ln q of the true class of each row."""
    return np.asarray(-found.log_proba(S)[np.arange(len(S)), codes])


def choose(
    methods: tuple[str, ...], S: Float, codes: Codes, weight: Float | None, folds: Codes
) -> tuple[str, dict[str, tuple[float, float]]]:
    """The method with the best log-loss on rows that its map has not seen, and the loss of every method.

    ``folds`` (N,) numbers the fold of each row. Methods are in the order of their freedom: a freer one replaces the
    choice so far only if it is better by more than one standard error of the difference.
    """
    w = np.ones(len(S)) if weight is None else weight
    losses = {}
    for method in methods:
        loss = np.empty(len(S))
        for fold in np.unique(folds):
            held = folds == fold
            loss[held] = loss_per_row(fit_map(method, S[~held], codes[~held], w[~held]), S[held], codes[held])
        losses[method] = loss
    best = methods[0]
    for method in methods[1:]:
        gain, error = mean_and_error(losses[best] - losses[method], w)
        if gain > error:
            best = method
    return best, {method: mean_and_error(loss, w) for method, loss in losses.items()}


def mean_and_error(values: Float, weight: Float) -> tuple[float, float]:
    """Weighted mean and its standard error."""
    share = weight / weight.sum()
    mean = float(share @ values)
    return mean, float(np.sqrt(share**2 @ (values - mean) ** 2))


def shifted_proportions(P: Float, proportions: Float, *, tol: float = 1e-8, max_steps: int = 10_000) -> Float:
    """Class proportions of new rows, by EM from their probabilities P (N, K) under the old ``proportions`` (K,).

    E step: p_nk ∝ P_nk π_k / π_k^old;   M step: π_k = mean of p_nk  (Saerens, Latinne & Decaestecker 2002).
    """
    pi = proportions
    for _ in range(max_steps):
        R = P * (pi / proportions)
        new = (R / R.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(new - pi).max() <= tol:
            return np.asarray(new)
        pi = new
    return np.asarray(pi)
