# SPDX-License-Identifier: BSD-3-Clause
"""Gaussians over the weights of K classes that neglect the coupling between contrasts of classes.

by class    C factors (P, P), one for each contrast                      `ByClassApproximation`
mean field  one variance for each contrast and column                    `DiagonalApproximation`
diagonal    one variance for each weight, for any number of classes      `DiagonalApproximation`
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float, Rows, device_aware
from separatrix._threads import single_thread_blas
from separatrix.bayesian.posterior import Approximation, improper, weight_names
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import Factor, Posterior, factorise
from separatrix.stats import Design, Grad, ValueGrad
from separatrix.weights import AbstractApproximation, Activations, regressors, row_squares


@dataclass(frozen=True, eq=False)
class ByClassApproximation(AbstractApproximation):
    """N(θ | mean, M⁻¹) with M = Σ_i q_i q_i' ⊗ B_i. The columns of ``axes`` (C, C) are q_i; ``factors`` factorise B_i.

    The Hessian of C classes is H = Σ_n C_n ⊗ φ̃ φ̃' + Λ with C_n = diag p - p p' (PRML 4.110), a (CP, CP) matrix. For an
    orthonormal basis q_1 .. q_C of the classes,

        M = Σ_i q_i q_i' ⊗ B_i,      B_i = Σ_n (q_i' C_n q_i) φ̃ φ̃' + Λ_i                        C blocks (P, P)

    is H without the blocks that couple q_i with q_j. For every basis tr H M⁻¹ = CP, so that

        KL(N(m, M⁻¹) ‖ N(m, H⁻¹)) = ½ (ln |M| - ln |H|) ≥ 0                                     (Fischer's inequality)

    and no Gaussian of this form is closer. The log evidence with |M| in place of |H| is a lower bound on Laplace's, and
    the difference is this divergence.

    The basis consists of the mean over classes and of contrasts: the eigenvectors of Σ_n C_n orthogonal to the mean.
    The likelihood has no curvature along the mean, in M as in H. Between two contrasts the neglected coupling is zero
    on average. M = H for two classes, and if all rows have the same p.

    The classes themselves are a worse basis: the B_k are then the diagonal blocks of H, but the variances of
    differences between classes, which alone determine predictions, are too large (twice for C = 2). On 60 000 images of
    784 pixels and ten classes, the bound is 300 nats too low with classes and 93 with contrasts, and the average errors
    of probabilities of new images are 3e-4 and 1.5e-4. A Kronecker product (Σ_n C_n) ⊗ (Σ_n φ̃ φ̃') / N needs one Gram
    matrix instead of C, but ignores that p differs between rows: on 6 000 images its error of ln |M| was three to five
    times larger.
    """

    couples_contrasts: ClassVar[bool] = False

    mean: Float
    axes: Float
    factors: tuple[Factor, ...]
    log_likelihood: float
    log_evidence: float
    name: str
    steps: int = 0
    structure: str = "by class"
    is_converged: bool = True

    def with_full_factor(self) -> Approximation:
        """Return the same Gaussian with one factor of M (CP, CP)."""
        blocks = np.stack([factor.matrix for factor in self.factors])
        M = np.einsum("ji,ki,ipr->jpkr", self.axes, self.axes, blocks, optimize=True).reshape(2 * [self.mean.size])
        factor = factorise(M, 1, np.zeros(self.mean.size, dtype=bool))
        known = self.log_likelihood, self.log_evidence, self.name, self.steps
        return Approximation(self.mean, factor, *known, is_converged=self.is_converged)

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, M⁻¹, (CP, CP)."""
        C, P = self.mean.shape
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
        """Return draws of θ, (n, C, P)."""
        noise = rng.standard_normal((len(self.factors), n, self.mean.shape[1]))
        return self.from_unit(noise.swapaxes(0, 1).reshape(n, -1))

    @property
    def floats_per_row(self) -> int:
        """Size of the temporary arrays for the activations of one row."""
        return int(max(len(self.mean) ** 2, self.mean.shape[1]))

    @cached_property
    def roots(self) -> Float:
        """R_i with R_i R_i' = B_i⁻¹, (C, P, P)."""
        return np.stack([factor.root for factor in self.factors])

    def parabola(self, prior: Penalty) -> ParabolaByClass | None:
        """Return what predicts the posterior under another prior than this one."""
        return ParabolaByClass(self, prior)

    @cached_property
    def _blocks(self) -> Float:
        return self.roots @ self.roots.swapaxes(1, 2)

    def solve(self, grad: Float) -> Float:
        """Return M⁻¹ g for a gradient (C, P)."""
        return np.asarray(self.axes @ (self._blocks @ (self.axes.T @ grad)[:, :, None])[:, :, 0])

    def prior_traces(self, prior: Penalty) -> Float:
        """Return Σ_c (Λ S_cc)_pp for each column p, (P,)."""
        if len(prior.precision) != self.mean.shape[1]:
            return super().prior_traces(prior)
        roots = (factor.root for factor in self.factors)
        return np.asarray(sum((prior.dot(root.T) * root.T).sum(axis=0) for root in roots))

    def contrast_variances(self, X: Rows, design: Design) -> Float:
        """Return the variances of the activations of rows along each contrast, without the mean over classes."""
        return design.row_variances(X, [factor.root for factor in self.factors[1:]])

    def from_unit(self, z: Float) -> Float:
        """Return θ = mean + Σ_i q_i ⊗ R_i z_i, (n, C, P), for points z (n, CP)."""
        parts = z.reshape(len(z), *self.mean.shape).swapaxes(0, 1)
        along = parts @ self.roots.swapaxes(1, 2)
        return np.asarray(self.mean + np.einsum("ki,inp->nkp", self.axes, along, optimize=True))

    def to_unit_slope(self, slope: Float) -> Float:
        """Return slopes in z, (n, CP), of functions with slopes (n, C, P) in θ."""
        along = np.einsum("ki,nkp->inp", self.axes, slope, optimize=True)
        return np.asarray((along @ self.roots).swapaxes(0, 1).reshape(len(slope), -1))

    @property
    def log_det(self) -> float:
        """Minus the log determinant of the covariance."""
        return sum(factor.log_det for factor in self.factors)

    def activations(self, X: Rows, design: Design) -> Activations:
        """Return mean (n, C) and covariance (n, C, C) of the activations of rows."""
        Phi = regressors(X, design)
        var = np.stack([row_squares(Phi @ factor.root) for factor in self.factors], axis=1)
        return Activations(Phi @ self.mean.T, np.asarray((self.axes * var[:, None, :]) @ self.axes.T))


class ParabolaByClass:
    """The parabola of `tuning.Parabola` along each axis of a Gaussian by class, which neglects coupling."""

    def __init__(self, gaussian: ByClassApproximation, prior: Penalty) -> None:
        self.gaussian = gaussian
        Lambda = np.diag(prior.precision) if prior.precision.ndim == 1 else prior.precision
        self.curvatures = [factor.matrix - Lambda for factor in gaussian.factors]
        away = gaussian.axes.T @ (gaussian.mean - prior.mean)
        self.pulls = [factor.matrix @ d for factor, d in zip(gaussian.factors, away, strict=True)]

    def under(self, prior: Penalty) -> ByClassApproximation:
        """Return the posterior under another prior; its log evidence has no constant."""
        Lambda = np.diag(prior.precision) if prior.precision.ndim == 1 else prior.precision
        factors = tuple(factorise(H + Lambda, 1, prior.free) for H in self.curvatures)
        away = np.stack([factor.solve(pull) for factor, pull in zip(factors, self.pulls, strict=True)])
        rise = 0.5 * float(np.vdot(self.pulls, away)) - 0.5 * sum(factor.log_det for factor in factors)
        mean, log_evidence = prior.mean + self.gaussian.axes @ away, rise + 0.5 * prior.log_det()
        return replace(self.gaussian, mean=mean, factors=factors, log_evidence=log_evidence, name="parabola")


def laplace_by_class(objective: Posterior, mode: Float) -> ByClassApproximation:
    """Return the Gaussian at the mode. It takes one pass for the axes, and one or more for the curvature along them."""
    prior, (C, P) = objective.prior, objective.shape
    precision = np.diag(prior.precision) if prior.precision.ndim == 1 else prior.precision
    at_once, factors = max(1, 2**27 // (8 * P * P)), []  # a pass returns at most 128 MB for each block of rows
    with np.errstate(under="ignore"):
        here = objective.reduce(total_curvature, theta=mode)
        axes = _contrasts(here.grad)
        parts = [axes[:, i : i + at_once] for i in range(0, C, at_once)]
        grams = np.concatenate([objective.reduce(grams_along, theta=mode, axes=part).grad for part in parts])
        loose = prior.free * np.einsum("ipp->p", grams) / C**2  # a flat prior does not fix such a vector
        for B, q in zip(grams, axes.T, strict=True):
            # A prior that is equal for all classes is equal along all axes.
            is_joint = len(precision) != P
            along = np.einsum("j,jpkr,k->pr", q, precision.reshape(C, P, C, P), q) if is_joint else precision
            np.add(B, along, out=B)
            B[np.diag_indices(P)] += q.sum() ** 2 * loose
            factors.append(factorise(B, 1, prior.free))
    for factor in factors:
        if factor.singular is not None:
            raise improper(objective, factor.singular)
    log_det = sum(factor.log_det for factor in factors)
    log_evidence = here.value - prior.value_grad(mode)[0] + 0.5 * prior.log_det() - 0.5 * log_det
    return ByClassApproximation(mode, axes, tuple(factors), here.value, log_evidence, "laplace")


@device_aware
def total_curvature(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> ValueGrad:
    """Return ln p(D | θ) of one block, and Σ_n C_n (C, C) in place of a gradient."""
    log_p, _, curvature = likelihood.derivatives(design.activate(block, theta), block.targets)
    weight = np.ones(len(block)) if block.weight is None else block.weight

    def total(p: Array) -> Float:
        return np.asarray(np.diag(weight @ p) - (p * weight[:, None]).T @ p, dtype=np.float64)

    C = total(curvature.p) if curvature.q is None else total(curvature.p) - total(curvature.q)
    return ValueGrad(float(log_p @ weight), C)


def _contrasts(total: Float) -> Float:
    """Return the mean over classes and the eigenvectors of Σ_n C_n orthogonal to it, as columns (C, C)."""
    C = len(total)
    with single_thread_blas():
        across = linalg.null_space(np.ones((1, C)))
        axes = across @ linalg.eigh(across.T @ total @ across)[1]
    # Averages over points depend on the signs: neither rounding nor the order of the classes may choose them. Only
    # contrasts of classes that are exchangeable have no third moment and no part in the diagonal.
    asymmetry = np.sum(axes**3, axis=0) + total.diagonal() @ axes / max(np.trace(total), np.finfo(float).tiny)
    axes *= np.copysign(1.0, asymmetry + 1e-9 * np.sqrt(np.arange(C)) @ axes)
    return np.column_stack([np.full(C, C**-0.5), axes])


@device_aware
def grams_along(block: Block, theta: Float, likelihood: Likelihood, design: Design, axes: Float) -> Grad:
    """Return Σ_n (q' C_n q) φ̃ φ̃' of one block for each axis q, (axes, P, P)."""
    curvature = likelihood.derivatives(design.activate(block, theta), block.targets).curvature
    weight = 1.0 if block.weight is None else block.weight
    grams = np.zeros((axes.shape[1], design.width, design.width))
    for gram, q in zip(grams, axes.T, strict=True):
        if np.ptp(q) > 0:
            gram[:] = design.gram(block, weight * variance_along(curvature, q))
    return Grad(grams)


def variance_along(curvature: Any, q: Float) -> Array:
    """Return q'C_n q of each row, (n,), as a variance of q over the classes, which is never negative."""

    def variance(p: Array) -> Array:
        return np.asarray((p * (q - (p @ q)[:, None]) ** 2).sum(axis=1))

    return variance(curvature.p) if curvature.q is None else variance(curvature.p) - variance(curvature.q)


@dataclass(frozen=True, eq=False)
class DiagonalApproximation(AbstractApproximation):
    """N(θ | mean, diag 1/precision), both (C, P): independent weights, computed in one pass.

        A_kp = Σ_n (C_n)_kk φ̃_np² + λ_kp

    This is for problems so large that no P x P matrix fits into memory. Its errors have a known direction:

        variances of single weights are too small,       1/A_jj ≤ (A⁻¹)_jj
        the evidence is too small,                       Π A_jj ≥ |A|                             Hadamard's inequality
        variances of activations may be too large: for two equal columns, twice the variance of their common effect

    It is accurate if columns are rarely non-zero in the same rows, such as words of short texts or levels of a
    category. If columns are correlated, probabilities are closer to ½ than necessary.

    The columns of ``contrasts`` (C, C) are axes of the classes along which the weights are independent, as in
    `ByClassApproximation`; ``precision`` has a row for each axis. If None, the axes are the classes themselves.
    """

    couples_contrasts: ClassVar[bool] = False
    couples_columns: ClassVar[bool] = False

    mean: Float
    precision: Float
    log_likelihood: float
    log_evidence: float
    name: str
    steps: int = 0
    structure: str = "diagonal"
    contrasts: Float | None = None
    is_converged: bool = True

    @property
    def floats_per_row(self) -> int:
        """Size of the temporary arrays for the activations of one row."""
        return int(max(len(self.mean) ** 2, self.mean.shape[1]))

    def parabola(self, prior: Penalty) -> ParabolaByClass | None:
        """Return None: independent weights have no curvature that another prior could be added to."""
        return None

    @property
    def axes(self) -> Float:
        """Contrasts, or the identity (C, C)."""
        return np.eye(len(self.mean)) if self.contrasts is None else self.contrasts

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, (CP, CP)."""
        Q, (C, P) = self.axes, self.mean.shape
        blocks = np.einsum("ji,ki,ip->jkp", Q, Q, 1 / self.precision)  # between weights of the same column
        return np.asarray(np.einsum("jkp,pr->jpkr", blocks, np.eye(P)).reshape(C * P, C * P))

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P)."""
        return np.asarray(np.sqrt(self.axes**2 @ (1 / self.precision)))

    @property
    def log_det(self) -> float:
        """Minus the log determinant of the covariance."""
        return float(np.log(self.precision).sum())

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ, (n, C, P)."""
        return self.from_unit(rng.standard_normal((n, self.mean.size)))

    def contrast_variances(self, X: Rows, design: Design) -> Float:
        """Return the variances of the activations of rows along each contrast, without the mean over classes."""
        return design.squares_dot(X, 1 / self.precision[1:])

    def from_unit(self, z: Float) -> Float:
        """Return θ = mean + Σ_i q_i ⊗ sd_i z_i, (n, C, P), for points z (n, CP)."""
        return np.asarray(self.mean + self.axes @ (z.reshape(len(z), *self.mean.shape) * self.precision**-0.5))

    def to_unit_slope(self, slope: Float) -> Float:
        """Return slopes in z, (n, CP), of functions with slopes (n, C, P) in θ."""
        return np.asarray((self.axes.T @ slope) * self.precision**-0.5).reshape(len(slope), -1)

    def activations(self, X: Rows, design: Design) -> Activations:
        """Return mean and covariance of the activations of rows; sparse rows stay sparse."""
        mean = design.activate(Block(X, None, None, range(X.shape[0])), self.mean)
        var = design.squares_dot(X, 1 / self.precision)
        if mean.ndim == 1:
            return Activations(mean, var[:, 0])
        return Activations(mean, np.asarray((self.axes * var[:, None, :]) @ self.axes.T))


def laplace_diagonal(objective: Posterior, mode: Float, *, contrasts: bool = False) -> DiagonalApproximation:
    """Return the Gaussian at the mode, from one pass; with ``contrasts``, weights are independent along those."""
    has_axes = contrasts and len(mode) > 1
    axes = _contrasts(objective.reduce(total_curvature, theta=mode).grad) if has_axes else None
    here = objective.reduce(hessian_diagonal, theta=mode, axes=axes)
    precision = here.grad + objective.prior.diagonal
    flat = np.argwhere(~(precision > 0))
    if len(flat):
        k, p = flat[0]
        raise DataError(
            f"The posterior is improper along the weight of {weight_names(objective)[p]!r}: its curvature there is "
            f"{precision[k, p]:.3g}. Give it a prior with a finite scale, or drop the column."
        )
    penalty = objective.prior.value_grad(mode)[0]
    log_evidence = here.value - penalty + 0.5 * objective.prior.log_det() - 0.5 * float(np.log(precision).sum())
    return DiagonalApproximation(mode, precision, here.value, log_evidence, "laplace", contrasts=axes)


def hessian_diagonal(
    block: Block, theta: Float, likelihood: Likelihood, design: Design, axes: Float | None = None
) -> ValueGrad:
    """Return ln p(D | θ) of one block, and the diagonal of the Hessian (C, P) in place of a gradient.

    It has a row for each class, or for each of the ``axes`` (C, C) of a softmax.
    """
    log_p, _, curvature = likelihood.derivatives(design.activate(block, theta), block.targets)
    if axes is not None:
        curvature = np.column_stack([variance_along(curvature, q) for q in axes.T])
    elif len(theta) > 1:
        curvature = np.column_stack([curvature.block(k, k) for k in range(len(theta))])
    weight = np.ones(len(block)) if block.weight is None else block.weight
    entries = curvature.reshape(len(block), -1) * weight[:, None]
    return ValueGrad(float(log_p @ weight), design.collect_squares(block.X, entries))


UncoupledApproximation = ByClassApproximation | DiagonalApproximation
