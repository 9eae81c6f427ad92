# SPDX-License-Identifier: BSD-3-Clause
"""A Gaussian over the weights of C classes that keeps one factor for each of C directions, and not one for all.

The Hessian of C classes is H = Σ_n C_n ⊗ φ̃ φ̃' + Λ with C_n = diag p - p p' (PRML 4.110), a (CP, CP) matrix. For an
orthonormal basis q_1 .. q_C of the classes,

    M = Σ_i q_i q_i' ⊗ B_i,      B_i = Σ_n (q_i' C_n q_i) φ̃ φ̃' + Λ_i                        C blocks (P, P)

is H without what couples one q_i with another. Whichever the basis, tr H M⁻¹ = CP, so that

    KL(N(m, M⁻¹) ‖ N(m, H⁻¹)) = ½ (ln |M| - ln |H|) ≥ 0                                     (Fischer's inequality)

and no Gaussian of this form is closer. The log evidence with |M| for |H| is a lower bound on Laplace's, short of it by
just this divergence.

The basis is the contrasts: the mean over classes, and the eigenvectors of Σ_n C_n across it. Along the mean there is
no curvature, in M as in H, and between any two contrasts what is left out is zero on average. M = H for two classes,
and wherever all rows have the same p.

Why not the classes themselves? Then the B_k are the diagonal blocks of H, but differences between classes, which are
all that predictions see, get variances too large, twice for C = 2, and the mean over classes one far too small. On
60 000 images of 784 pixels and ten classes, whose H can just be had, the bound falls short by 300 nats with classes and
by 93 with contrasts, and probabilities of new images are off by 3e-4 and 1.5e-4 on average. Kronecker's product
(Σ_n C_n) ⊗ (Σ_n φ̃ φ̃') / N takes one Gram matrix for the C here, but knows nothing of rows that differ in how certain
they are: on 6 000 such images, smaller, its ln |M| was off by three to five times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float, Rows
from separatrix._threads import single_thread_blas
from separatrix.bayesian.posterior.approximation import Activations, row_squares
from separatrix.bayesian.posterior.memory import require_memory
from separatrix.exceptions import DataError
from separatrix.likelihoods import Covariances, Likelihood
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import Factor, Posterior, factorise
from separatrix.stats import Design, Grad

__all__ = ["ByClassApproximation", "laplace_by_class"]

PASS_BYTES = 2**27  # what one pass may return for each block of rows; beyond, there are more passes


@dataclass(frozen=True, eq=False)
class ByClassApproximation:
    """N(θ | mean, M⁻¹) with M = Σ_i q_i q_i' ⊗ B_i: ``axes`` (C, C) has the q_i as columns, ``factors`` are of B_i.

    ``log_evidence`` is a lower bound on that of the full Laplace approximation.
    """

    mean: Float
    axes: Float
    factors: tuple[Factor, ...]
    log_likelihood: float
    log_evidence: float
    name: str
    steps: int = 0
    structure: str = "by class"

    @property
    def covariance(self) -> Float:
        """M⁻¹, (CP, CP); refused where it would not fit."""
        C, P = self.mean.shape
        require_memory(
            f"The covariance of {C} x {P} weights", 8.0 * (C * P) ** 2, "Use `std`, `sample` or `activations`."
        )
        total = np.zeros((C, P, C, P))
        for q, factor in zip(self.axes.T, self.factors, strict=True):
            total += np.einsum("j,k,pr->jpkr", q, q, factor.root @ factor.root.T)
        return total.reshape(C * P, C * P)

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P)."""
        along = np.stack([row_squares(factor.root) for factor in self.factors])
        return np.asarray(np.sqrt(self.axes**2 @ along))

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Draws of θ, (n, C, P)."""
        noise = rng.standard_normal((len(self.factors), n, self.mean.shape[1]))
        along = np.stack([z @ factor.root.T for z, factor in zip(noise, self.factors, strict=True)])
        return np.asarray(self.mean + np.einsum("ki,inp->nkp", self.axes, along))

    def activations(self, X: Rows, design: Design) -> Activations:
        """Mean (n, C) and covariance (n, C, C) of the activations of rows."""
        Phi = design.regressors(X)
        var = np.stack([row_squares(Phi @ factor.root) for factor in self.factors], axis=1)
        return Activations(Phi @ self.mean.T, np.asarray((self.axes * var[:, None, :]) @ self.axes.T))


def laplace_by_class(
    objective: Posterior, mode: Float, *, axes: Float | None = None, steps: int = 0
) -> ByClassApproximation:
    """The Gaussian at the mode: one pass for the axes, and one or more for the curvature along them.

    ``axes`` (C, C), orthonormal columns, are the contrasts where not given.
    """
    look = partial(_curvature, theta=mode, likelihood=objective.likelihood, design=objective.design)
    with np.errstate(under="ignore"):
        here = objective.source.reduce(look)
        axes = _contrasts(here.total) if axes is None else axes
        grams = _grams(objective, mode, axes)
    factors = _factors(objective, grams, axes)
    away = objective.prior.value_grad(mode)[0]
    log_det = sum(factor.log_det for factor in factors)
    log_evidence = here.value - away + 0.5 * objective.prior.log_det() - 0.5 * log_det
    return ByClassApproximation(mode, axes, factors, here.value, log_evidence, "laplace", steps)


@dataclass(frozen=True, slots=True)
class _Curvature:
    """ln p(D | θ), and Σ_n C_n (C, C): how much the classes are told apart."""

    value: float
    total: Float

    def __add__(self, other: _Curvature) -> _Curvature:
        return _Curvature(self.value + other.value, self.total + other.total)


def _curvature(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> _Curvature:
    """On one block of rows."""
    log_p, _, curvature = likelihood.derivatives(design.activate(block, theta), block.targets)
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return _Curvature(float(log_p @ weight), _total(curvature, weight))


def _total(curvature: Covariances, weight: Array) -> Float:
    def of(p: Array) -> Float:
        return np.asarray(np.diag(weight @ p) - (p * weight[:, None]).T @ p, dtype=np.float64)

    return of(curvature.p) if curvature.q is None else of(curvature.p) - of(curvature.q)


def _contrasts(total: Float) -> Float:
    """The mean over classes, and the eigenvectors of Σ_n C_n across it: columns of (C, C)."""
    C = len(total)
    with single_thread_blas():
        across = linalg.null_space(np.ones((1, C)))
        axes = across @ linalg.eigh(across.T @ total @ across)[1]
    return np.column_stack([np.full(C, C**-0.5), axes])


def _grams(objective: Posterior, theta: Float, axes: Float) -> Float:
    """Σ_n (q' C_n q) φ̃ φ̃' for each axis q, (C, P, P); so many axes in one pass as a pass may return."""
    C, P = objective.shape
    at_once = max(1, PASS_BYTES // (8 * P * P))
    passes = [axes[:, i : i + at_once] for i in range(0, C, at_once)]
    along = partial(_grams_along, theta=theta, likelihood=objective.likelihood, design=objective.design)
    return np.concatenate([objective.source.reduce(partial(along, axes=some)).grad for some in passes])


def _grams_along(block: Block, theta: Float, likelihood: Likelihood, design: Design, axes: Float) -> Grad:
    """On one block of rows."""
    curvature = likelihood.derivatives(design.activate(block, theta), block.targets).curvature
    weight = 1.0 if block.weight is None else block.weight
    entries = (weight * _along(curvature, q) for q in axes.T)
    return Grad(np.stack([design.gram(block, entry) if entry.any() else _nothing(design) for entry in entries]))


def _along(curvature: Covariances, q: Float) -> Array:
    """q' C_n q for each row: the variance of q over the classes, which cannot round to less than zero."""

    def variance(p: Array) -> Array:
        return np.asarray((p * (q - (p @ q)[:, None]) ** 2).sum(axis=1))

    if np.ptp(q) == 0:
        return np.zeros(len(curvature.p))
    return variance(curvature.p) if curvature.q is None else variance(curvature.p) - variance(curvature.q)


def _nothing(design: Design) -> Float:
    return np.zeros((design.width, design.width))


def _factors(objective: Posterior, grams: Float, axes: Float) -> tuple[Factor, ...]:
    """Of B_i, the priors added in place; weights of no prior are treated as `solvers.factor.factorise` treats them."""
    prior, (C, P) = objective.prior, objective.shape
    loose = prior.free * np.einsum("ipp->p", grams) / C**2  # for a number added to every class
    factors = []
    for B, q in zip(grams, axes.T, strict=True):
        np.add(B, _prior_along(prior, q), out=B)
        B[np.diag_indices(P)] += q.sum() ** 2 * loose
        factors.append(factorise(B, 1, prior.free))
    for factor in factors:
        if factor.singular is not None:
            columns = (*objective.source.columns, "the bias")[:P]
            raise DataError(
                f"The posterior has no end along some direction: {factor.singular.describe(columns)}, and the prior "
                "flat there. Give those weights a prior with a finite scale, or drop columns."
            )
    return tuple(factors)


def _prior_along(prior: Penalty, q: Float) -> Float:
    """Λ_i, (P, P): the same for every q where the prior is the same for every class."""
    P = prior.mean.shape[1]
    if prior.precision.ndim == 1:
        return np.diag(prior.precision)
    if len(prior.precision) == P:
        return prior.precision
    return np.asarray(np.einsum("j,jpkr,k->pr", q, prior.precision.reshape(len(q), P, len(q), P), q))
