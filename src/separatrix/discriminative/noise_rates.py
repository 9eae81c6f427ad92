# SPDX-License-Identifier: BSD-3-Clause
"""Confusion matrices, and the joint estimate of weights θ and label noise η: the mode of p(θ, η | data).

**Confusion matrix.** C_kj = p(label j | true class k) has free parameters η:

    C_kj = r_kj / (1 + Σ_i r_ki)  for j ≠ k,        r_kj = C_kj/C_kk = σ(η_g(k,j))

There is one η for all entries, one for each true class, or one for each entry. For two classes and one rate ε,
r = ε/(1 - ε). Since r < 1, the most frequent label of each class is the correct label. Without this condition,
exchanging two classes and two rows of the matrix would give the same likelihood.

**Prior.** Each r is uniform on (0, 1), and the estimate is the mode in η, where the density r^c (1 - r)^c has an
interior maximum. The prior has the effect of c more wrong labels. If each entry has its own rate, c is 1/(K - 1);
otherwise c is 1. So the prior matters only if hardly any label is wrong.

**Objective.**

    E(θ, η) = -Σ_n weight_n ln Σ_k p(label t_n | k, η) p(k | θ φ̃_n)  - ln p(θ) - ln p(η)

One pass computes the value, the gradient in θ, and the expected counts of (true class, label), which determine the
gradient in η. EM would keep the counts fixed while it fits θ, then set the rates. It would converge slowly, because
rates and the length of the weights explain the same rows. L-BFGS minimises over θ and η together, with the curvature of
EM as preconditioner, which is renewed every few steps. If rates are given, η is empty, and only θ is estimated.

E may have several minima. The search starts at the logistic fit without noise, whose minimum is unique, so the result
depends only on the data, and classes keep their labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from separatrix._array import Array, Codes, Float, bincount
from separatrix.exceptions import DataError
from separatrix.likelihoods import LabelNoise, SoftmaxLabelNoise
from separatrix.rows import Block, Summed
from separatrix.solvers import (
    LBFGS,
    RENEWAL_STEPS,
    SAMPLE_TOL,
    Inverse,
    Posterior,
    Solution,
    Status,
    Units,
    approximate_inverse,
)
from separatrix.stats import Design, ValueGrad

FIRST_RATE = 0.1  # fraction of wrong labels at the start of a search
MAX_ETA = 25.0  # for larger η, 1 - r is rounding error

Noisy = LabelNoise | SoftmaxLabelNoise


#: Index (K, K) of the η that belongs to each entry of the matrix; the diagonal is not used.
STRUCTURES: Mapping[str, Callable[[int], Codes]] = {
    "one": lambda K: np.zeros((K, K), dtype=np.intp),
    "per-class": lambda K: np.repeat(np.arange(K)[:, None], K, axis=1),
    "full": lambda K: np.maximum(np.cumsum(~np.eye(K, dtype=bool)).reshape(K, K) - 1, 0),
}


@dataclass(frozen=True, eq=False, slots=True)
class Rates:
    """Index (K, K) of the η that belongs to each entry of the matrix, and the count c of the prior.

    If the matrix is ``known``, there is no η to estimate.
    """

    group: Codes
    pseudo: float
    known: Float | None = None

    @classmethod
    def of(cls, structure: str, n_classes: int) -> Rates:
        """Rates of one of the `STRUCTURES`."""
        return cls(STRUCTURES[structure](n_classes), 1.0 / (n_classes - 1) if structure == "full" else 1.0)

    @property
    def n(self) -> int:
        """Number of parameters η."""
        return int(self.group.max()) + 1 if self.known is None else 0

    def start(self, confusion: Float | None = None) -> Float:
        """Initial η: that of a given confusion matrix; by default, a tenth of all labels is wrong."""
        K = len(self.group)
        eta = np.full(self.n, special.logit(FIRST_RATE / ((1.0 - FIRST_RATE) * (K - 1))))
        if confusion is not None and self.n:
            off = ~np.eye(K, dtype=bool)
            odds = confusion / np.diag(confusion)[:, None]
            eta[self.group[off]] = np.clip(special.logit(odds[off]), -MAX_ETA, MAX_ETA)
        return eta

    def odds(self, eta: Float) -> Float:
        """Ratio r for each η."""
        return np.asarray(special.expit(np.minimum(eta, MAX_ETA)))

    def confusion(self, eta: Float) -> Float:
        """Confusion matrix C (K, K)."""
        if self.known is not None:
            return self.known
        R = self.odds(eta)[self.group]
        np.fill_diagonal(R, 1.0)
        return np.asarray(R / R.sum(axis=1, keepdims=True))

    def value_grad(self, eta: Float, counts: Float) -> tuple[float, Float]:
        """-ln p(η), and the gradient in η of the whole objective.

        ``counts`` (K, K) are the expected numbers of rows with true class k and label j. They determine the gradient:
        ∂ ln p(t)/∂ ln r_kj = q_k ([t = j] - C_kj), with q the posterior of the true class.
        """
        if self.known is not None:
            return 0.0, np.zeros(0)
        value = self.pseudo * float(np.logaddexp(0.0, eta).sum() + np.logaddexp(0.0, -eta).sum())
        excess = counts - counts.sum(axis=1, keepdims=True) * self.confusion(eta)
        off, r = ~np.eye(len(counts), dtype=bool), self.odds(eta)
        by_group = bincount(self.group[off], excess[off], self.n)
        return value, (r - 1.0) * by_group + self.pseudo * (2.0 * r - 1.0)

    def curvature(self, eta: Float, counts: Float) -> Float:
        """Second derivative in each η if the true classes were known (the bound of EM)."""
        if self.known is not None:
            return np.zeros(0)
        C, r = self.confusion(eta), self.odds(eta)
        K = len(C)
        share = np.zeros((K, self.n))  # probability of the labels of each class that belong to each η
        off = ~np.eye(K, dtype=bool)
        np.add.at(share, (np.nonzero(off)[0], self.group[off]), C[off])
        known = (1.0 - r) ** 2 * (counts.sum(axis=1) @ (share * (1.0 - share)))
        return np.asarray(known + 2.0 * self.pseudo * r * (1.0 - r))


def noisy_likelihood(confusion: Float) -> Noisy:
    """p(label | a) for a confusion matrix."""
    if len(confusion) == 2:
        return LabelNoise(float(confusion[0, 1]), float(confusion[1, 0]))
    return SoftmaxLabelNoise(confusion)


def given_confusion(owner: str, noise: Any, n_classes: int) -> Float:
    """Confusion matrix of a user's argument: one rate, a rate for each class, or a matrix."""
    K = n_classes
    array = np.asarray(noise)
    if isinstance(noise, bool) or array.dtype.kind not in "fiu":
        raise ValueError(
            f"{owner}(noise={noise!r}): noise must be a number, an array of numbers, or None to estimate it."
        )
    array = array.astype(np.float64)
    if array.shape not in ((), (K,), (K, K)):
        raise DataError(
            f"{owner}(noise=...) has shape {array.shape}, but y has {K} classes: use one rate, a rate for each class "
            f"({K},), or a confusion matrix ({K}, {K})."
        )
    if array.ndim == 2:
        C = np.array(SoftmaxLabelNoise(array).confusion)  # checks that rows are probabilities that sum to one
        k = int((C - np.diag(C)[:, None] >= 0).sum(axis=1).argmax())
        rivals = np.flatnonzero((C[k] >= C[k, k]) & (np.arange(K) != k))
        if len(rivals):
            raise DataError(
                f"{owner}(noise=...): confusion[{k}, {rivals[0]}] = {C[k, rivals[0]]:g} is not below confusion[{k}, "
                f"{k}] = {C[k, k]:g}. The most frequent label of each class must be correct; otherwise classes and "
                "labels could be exchanged. Rows are true classes and columns labels: transpose, or reorder the rows."
            )
        return C
    rates = np.broadcast_to(array, (K,))
    limit = 1.0 - 1.0 / K
    wrong = np.flatnonzero(~((rates >= 0.0) & (rates < limit)))
    if len(wrong):
        shown = repr(noise) if isinstance(noise, Real) else np.array2string(array, precision=4, threshold=6)
        raise ValueError(
            f"{owner}(noise={shown}): {rates[wrong[0]]:g} is not a rate of wrong labels among {K} classes; it must be "
            f"at least 0 and below {limit:.3g}, at which labels are no better than chance."
        )
    C = np.repeat((rates / (K - 1))[:, None], K, axis=1)  # spread evenly over the other classes
    np.fill_diagonal(C, 1.0 - rates)
    return C


@dataclass(frozen=True, slots=True)
class NoisyValueGrad(Summed):
    """L, its gradient in θ (C, P), and expected counts of true class k and label j (K, K)."""

    value: float
    grad: Float
    counts: Float


def noisy_value_grad(block: Block, theta: Float, likelihood: Noisy, design: Design) -> NoisyValueGrad:
    """Value, gradient and expected counts of one block."""
    a, t = design.activate(block, theta), block.codes
    weight = np.ones(len(t)) if block.weight is None else block.weight
    log_p, slope, _ = likelihood.derivatives(a, t)
    grad = -design.collect(block, slope * (weight if slope.ndim == 1 else weight[:, None]))
    Q = likelihood.posterior(a, t)
    columns = (1.0 - Q, Q) if Q.ndim == 1 else tuple(Q.T)
    counts = np.stack([bincount(t, q * weight, len(columns)) for q in columns])  # Σ_n weight_n q_nk [t_n = j]
    return NoisyValueGrad(-float(log_p @ weight), grad, counts)


def probability_wrong(likelihood: Noisy, a: Array, t: Codes) -> Float:
    """1 - p(true class t | label t, a) for each row."""
    Q = likelihood.posterior(a, t)
    if Q.ndim == 1:
        return np.where(t > 0, 1.0 - Q, Q).astype(np.float64)
    np.put_along_axis(Q, t[:, None], 0.0, axis=1)  # sum of the other probabilities, because 1 - q_t would cancel
    return np.asarray(Q.sum(axis=1), dtype=np.float64)


class SplitInverse(NamedTuple):
    """A block-diagonal inverse Hessian, with one block for θ and one for η."""

    of_theta: Inverse
    shape: tuple[int, int]
    curvature: Float

    def solve(self, grad: Float) -> Float:
        """H⁻¹ g."""
        n = self.shape[0] * self.shape[1]
        step = self.of_theta.solve(grad[:n].reshape(self.shape))
        # A rate that is 0 to all digits has no curvature, and stays.
        of_rates = np.divide(grad[n:], self.curvature, out=np.zeros_like(grad[n:]), where=self.curvature > 0)
        return np.concatenate([step.ravel(), of_rates])


@dataclass(frozen=True, eq=False)
class Joint:
    """E(θ, η) as a function of the vector of all θ and η, with the methods that L-BFGS uses."""

    weights: Posterior
    rates: Rates

    def split(self, vector: Float) -> tuple[Float, Float]:
        """θ and η."""
        n = self.weights.shape[0] * self.weights.shape[1]
        return vector[:n].reshape(self.weights.shape), vector[n:]

    def value_grad(self, vector: Float) -> ValueGrad:
        """E and its gradient, in one pass."""
        return self._value_grad_counts(vector)[0]

    @property
    def units(self) -> Units:
        """Units of the columns."""
        return self.weights.units

    def gradient_size(self, grad: Float) -> float:
        """Largest component of the gradient; η has no units."""
        of_theta, of_eta = self.split(grad)
        of_rates = float(np.abs(of_eta).max(initial=0.0)) / self.weights.units.total
        return max(self.weights.gradient_size(of_theta), of_rates)

    def minimise(self, theta: Float, eta: Float, *, tol: float, max_steps: int, trace: bool) -> Solution[Float]:
        """Minimise E from θ and η. For a large table, a sample is fitted first."""
        vector = np.concatenate([theta.ravel(), eta])
        if self.weights.sample is not None:
            sample = replace(self, weights=self.weights.of_sample())
            vector = sample._search(vector, tol=SAMPLE_TOL, max_steps=max_steps, trace=False).value
        return self._search(vector, tol=tol, max_steps=max_steps, trace=trace)

    def _search(self, vector: Float, *, tol: float, max_steps: int, trace: bool) -> Solution[Float]:
        """L-BFGS with a new preconditioner every few steps: the curvature of EM, expected for two classes."""
        found = Solution(vector, Status.MAX_STEPS, 0, 0)
        while found.status is Status.MAX_STEPS and found.steps < max_steps:
            lbfgs = LBFGS(tol, min(RENEWAL_STEPS, max_steps - found.steps), memory=50, trace=trace)
            here, counts = self._value_grad_counts(found.value)
            theta, eta = self.split(found.value)
            noisy = replace(self.weights, likelihood=noisy_likelihood(self.rates.confusion(eta)))
            curvature = self.rates.curvature(eta, counts)
            inverse = SplitInverse(approximate_inverse(noisy, theta), noisy.shape, curvature)
            found = found.followed_by(lbfgs.minimise(self, found.value, inverse=inverse, known=here))  # type: ignore[arg-type]
        return found

    def _value_grad_counts(self, vector: Float) -> tuple[ValueGrad, Float]:
        theta, eta = self.split(vector)
        likelihood, design = noisy_likelihood(self.rates.confusion(eta)), self.weights.design
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            here = self.weights.source.reduce(
                partial(noisy_value_grad, theta=theta, likelihood=likelihood, design=design)
            )
        prior, pull = self.weights.prior.value_grad(theta)
        prior_of_rates, slope = self.rates.value_grad(eta, here.counts)
        grad = np.concatenate([(here.grad + pull).ravel(), slope])
        return ValueGrad(here.value + prior + prior_of_rates, grad), here.counts
