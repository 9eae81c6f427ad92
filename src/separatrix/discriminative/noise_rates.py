# SPDX-License-Identifier: BSD-3-Clause
"""Weights and rates of wrong labels together: the mode of p(θ, η | data).

    E(θ, η) = -Σ_n weight_n ln Σ_k p(label t_n | k, η) p(k | θ φ̃_n)  - ln p(θ) - ln p(η)

One pass gives the value, the gradient in θ, and the expected counts of (true class, label), which are the gradient in η
(`confusion`). EM would hold the counts fixed while it fits θ, then set the rates to them, and creep: rates and the
length of the weights explain the same rows. L-BFGS over both, with the curvature of EM as its first guess of the
Hessian, learns how they depend on each other from its own steps; where it has changed, the curvature is renewed.

With given rates η is empty, and the same search finds θ alone.

E has more than one minimum in principle. The search starts at the logistic fit without noise, whose minimum is unique:
so the answer depends on the data alone, and classes keep their labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float, bincount
from separatrix.discriminative.confusion import KnownRates, Noisy, Rates, noisy_likelihood
from separatrix.rows import Block
from separatrix.solvers import LBFGS, Inverse, Posterior, Solution, Status, approximate_inverse
from separatrix.stats import Design, ValueGrad

__all__ = ["Doubts", "Joint", "NoisyValueGrad", "doubts", "estimate", "noisy_value_grad", "wrong_share"]

SAMPLE_TOL = 1e-3  # tolerance of the fit to a sample, whose noise is larger
RENEWAL_STEPS = 25  # steps after which a new curvature is worth its cost


@dataclass(frozen=True, slots=True)
class NoisyValueGrad:
    """L, its gradient in θ (C, P), and expected counts of true class k and label j (K, K)."""

    value: float
    grad: Float
    counts: Float

    def __add__(self, other: NoisyValueGrad) -> NoisyValueGrad:
        return NoisyValueGrad(self.value + other.value, self.grad + other.grad, self.counts + other.counts)


def noisy_value_grad(block: Block, theta: Float, likelihood: Noisy, design: Design) -> NoisyValueGrad:
    """All of it on one block."""
    a, t = design.activate(block, theta), block.codes
    weight = np.ones(len(t)) if block.weight is None else block.weight
    log_p, slope, _ = likelihood.derivatives(a, t)
    grad = -design.collect(block, slope * (weight if slope.ndim == 1 else weight[:, None]))
    return NoisyValueGrad(-float(log_p @ weight), grad, _expected_counts(likelihood.posterior(a, t), t, weight))


def _expected_counts(Q: Array, t: Codes, weight: Array) -> Float:
    """Σ_n weight_n q_nk [t_n = j] for posteriors q (n,) of the second of two classes, or (n, K)."""
    columns = (1.0 - Q, Q) if Q.ndim == 1 else tuple(Q.T)
    return np.stack([bincount(t, q * weight, len(columns)) for q in columns])


def wrong_share(likelihood: Noisy, a: Array, t: Codes) -> Float:
    """1 - p(true class t | label t, a) for each row."""
    Q = likelihood.posterior(a, t)
    if Q.ndim == 1:
        return np.where(t > 0, 1.0 - Q, Q).astype(np.float64)
    np.put_along_axis(Q, t[:, None], 0.0, axis=1)  # the others, and not 1 - q_t, which cancels
    return np.asarray(Q.sum(axis=1), dtype=np.float64)


@dataclass(frozen=True, eq=False, slots=True)
class Doubts:
    """Numbers of rows, and for each the probability that its label is wrong."""

    row: Array
    wrong: Float

    def __add__(self, other: Doubts) -> Doubts:
        return Doubts(np.append(self.row, other.row), np.append(self.wrong, other.wrong))


def doubts(block: Block, theta: Float, likelihood: Noisy, design: Design) -> Doubts:
    """`wrong_share` on one block."""
    return Doubts(np.asarray(block.row), wrong_share(likelihood, design.activate(block, theta), block.codes))


class Split(NamedTuple):
    """An inverse Hessian that takes θ and η apart."""

    of_theta: Inverse
    shape: tuple[int, int]
    curvature: Float

    def solve(self, grad: Float) -> Float:
        """H⁻¹ g."""
        n = self.shape[0] * self.shape[1]
        step = self.of_theta.solve(grad[:n].reshape(self.shape))
        return np.concatenate([step.ravel(), grad[n:] / self.curvature])


@dataclass(frozen=True, eq=False)
class Joint:
    """E(θ, η) as L-BFGS sees it: a function of one vector, θ row by row and then η."""

    weights: Posterior
    rates: Rates | KnownRates

    def join(self, theta: Float, eta: Float) -> Float:
        """The vector."""
        return np.concatenate([theta.ravel(), eta])

    def split(self, vector: Float) -> tuple[Float, Float]:
        """θ and η."""
        n = self.weights.shape[0] * self.weights.shape[1]
        return vector[:n].reshape(self.weights.shape), vector[n:]

    def value_grad(self, vector: Float) -> ValueGrad:
        """E and its gradient: one pass."""
        return self._value_grad_counts(vector)[0]

    def value_grad_inverse(self, vector: Float) -> tuple[ValueGrad, Split]:
        """And an inverse Hessian, from the curvature if true classes were known (of two, as expected): two passes."""
        here, counts = self._value_grad_counts(vector)
        theta, eta = self.split(vector)
        noisy = replace(self.weights, likelihood=noisy_likelihood(self.rates.confusion(eta)))
        return here, Split(approximate_inverse(noisy, theta), noisy.shape, self.rates.curvature(eta, counts))

    @property
    def rounding(self) -> float:
        """Of the objective, relative."""
        return self.weights.rounding

    def gradient_size(self, grad: Float) -> float:
        """As of weights alone; a rate has no units."""
        of_theta, of_eta = self.split(grad)
        return max(
            self.weights.gradient_size(of_theta), float(np.abs(of_eta).max(initial=0.0)) / self.weights.units.total
        )

    def of_sample(self) -> Joint:
        """The same of the sample alone."""
        return replace(self, weights=self.weights.of_sample())

    def _value_grad_counts(self, vector: Float) -> tuple[ValueGrad, Float]:
        theta, eta = self.split(vector)
        likelihood, design = noisy_likelihood(self.rates.confusion(eta)), self.weights.design
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            here = self.weights.source.reduce(
                partial(noisy_value_grad, theta=theta, likelihood=likelihood, design=design)
            )
        prior, pull = self.weights.prior.value_grad(theta)
        prior_of_rates, slope = self.rates.value_grad(eta, here.counts)
        value = here.value + prior + prior_of_rates
        return ValueGrad(value, self.join(here.grad + pull, slope)), here.counts


def estimate(joint: Joint, start: Float, *, tol: float, max_steps: int, trace: bool) -> Solution[Float]:
    """From the weights of a fit without noise to the mode of both; of many rows, by way of a sample."""
    vector = joint.join(start, joint.rates.start())
    if joint.weights.sample is not None:
        vector = _search(joint.of_sample(), vector, tol=SAMPLE_TOL, max_steps=max_steps, trace=False).value
    return _search(joint, vector, tol=tol, max_steps=max_steps, trace=trace)


def _search(joint: Joint, vector: Float, *, tol: float, max_steps: int, trace: bool) -> Solution[Float]:
    """L-BFGS with a fresh curvature every few steps."""
    found = Solution(vector, Status.MAX_STEPS, 0, 0)
    while found.status is Status.MAX_STEPS and found.steps < max_steps:
        lbfgs = LBFGS(tol, min(RENEWAL_STEPS, max_steps - found.steps), memory=50, trace=trace)
        here, inverse = joint.value_grad_inverse(found.value)
        part = lbfgs.minimise(joint, found.value, inverse=inverse, known=here)  # type: ignore[arg-type]  # all it asks for
        found = found.followed_by(part)
    return found
