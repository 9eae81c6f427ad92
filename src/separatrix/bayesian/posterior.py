# SPDX-License-Identifier: BSD-3-Clause
"""A Gaussian over the weights, N(θ | mean, A⁻¹), with a full or a structured covariance.           PRML §4.5.1

    mu_a = mean φ̃,    var_a = φ̃' A⁻¹ φ̃                                                            (4.149), (4.150)

θ (C, P) is in the coordinates of the fit: one row of weights per output, with the bias last, relative to the origin of
the design. `laplace` puts the Gaussian at the mode, with the Hessian there as the precision A. Structures:

    full        one Cholesky factor of A (CP, CP)                            `Approximation`
    dual        also exact, if there are fewer rows than columns             `DualApproximation`
    by class    C factors (P, P), one for each contrast between classes      `ByClassApproximation`
    diagonal    one variance for each weight                                 `DiagonalApproximation`
    mean field  one variance for each contrast between classes and column    `DiagonalApproximation`
    arrow       exact, if most weights are the levels of one category        `ArrowApproximation`

A posterior that is averaged over the scales of its prior may be a mixture of full Gaussians, `AveragedApproximation`.
All have a mean, standard deviations, draws, activations of rows and a log evidence. `ep`, `variational` and
`sampling` return an `Approximation` too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches

from separatrix._array import Array, Codes, Float, Rows, device_aware, is_sparse, to_dense
from separatrix._linalg import SingularError
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import Factor, Posterior, dual, factorise
from separatrix.stats import Design, Grad, ValueGrad, activation_spreads
from separatrix.weights import AbstractApproximation, Activations, regressors, row_squares

MAX_LAST_FALL = 1e-3  # nats by which Newton's last step may lower the objective: 0.04 standard deviations
NEWTON_CONTRACTION = 0.01  # gradient before Newton's last step, relative to the root of the gradient after it
MAX_ORDERED_WEIGHTS = 500  # roots of more weights take seconds, and their importance weights are unusable
MAX_FULL_WEIGHTS = 5000  # size CP up to which the full structure is the default
MATRIX_COPIES = 4  # matrices in memory at once: Hessian, correlations, factor and its inverse
MAX_MEMORY_FRACTION = 0.7  # fraction of the machine's memory for one posterior; the rows need memory too
MAX_PASS_BYTES = 2**27  # bytes that one pass may return for each block of rows; more bytes take more passes
ARROW_ROWS_AT_ONCE = 4096  # rows whose products with a covariance are in memory together
ROUNDING_OF_AXES = 1e-9  # above the rounding error of a contrast between classes
STD_AT_ONCE = 512  # weights whose variances are computed together


@dataclass(frozen=True, eq=False)
class Approximation(AbstractApproximation):
    """N(θ | mean, A⁻¹) with A factorised, its log evidence, and the name of the method that computed it.

    ``log_likelihood`` is ln p(D | mean); the rest of the log evidence is the Occam factor (PRML 4.137).
    ``is_converged`` is False if the method stopped early. ``moments``, if known, factorises a better estimate of the
    inverse covariance of θ than A: a skewed posterior is wider than the Gaussian that predicts best.
    """

    mean: Float
    factor: Factor
    log_likelihood: float
    log_evidence: float
    name: str
    steps: int = 0
    structure: str = "full"
    is_converged: bool = True
    moments: Factor | None = None

    @property
    def root(self) -> Float:
        """R with R R' equal to the covariance of θ, (CP, CP)."""
        return (self.moments or self.factor).root

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, (CP, CP)."""
        return np.asarray(self.root @ self.root.T)

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P)."""
        return np.asarray(np.sqrt(row_squares(self.root)).reshape(self.mean.shape))

    @cached_property
    def _ordered_root(self) -> Float:
        return ordered_root(self.moments or self.factor, self.mean)

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ, (n, C, P)."""
        drawn = rng.standard_normal((n, self.mean.size)) @ self.root.T
        return np.asarray(self.mean + drawn.reshape(n, *self.mean.shape))

    def from_unit(self, z: Float) -> Float:
        """Return θ = mean + R z, (n, C, P), for points z (n, CP)."""
        return np.asarray(self.mean + (z @ self._ordered_root.T).reshape(len(z), *self.mean.shape))

    def to_unit_slope(self, slope: Float) -> Float:
        """Return slopes in z, (n, CP), of functions with slopes (n, C, P) in θ."""
        return np.asarray(slope.reshape(len(slope), -1) @ self._ordered_root)

    @property
    def log_det(self) -> float:
        """Minus the log determinant of the covariance."""
        return (self.moments or self.factor).log_det

    @property
    def widest(self) -> Approximation:
        """The Gaussian with the factor of `moments`."""
        return self if self.moments is None else replace(self, factor=self.moments)

    @property
    def precision_matrix(self) -> Float:
        """The precision A, (CP, CP)."""
        return self.factor.matrix

    def prior_traces(self, prior: Penalty) -> Float:
        """Return Σ_c (Λ S_cc)_pp for each column p, (P,)."""
        if prior.precision.ndim == 1:
            return np.asarray(prior.precision * row_squares(self.factor.root).reshape(self.mean.shape).sum(axis=0))
        of_weights = np.einsum("ij,ij->i", prior.matrix(), self.covariance)
        return np.asarray(of_weights.reshape(self.mean.shape).sum(axis=0))

    def activations(self, X: Rows, design: Design) -> Activations:
        """Return mean and covariance of the activations of rows."""
        C, Phi, root = len(self.mean), regressors(X, design), self.factor.root
        if C == 1:
            return Activations(Phi @ self.mean[0], row_squares(Phi @ root))  # (4.149), (4.150)
        spread = activation_spreads(Phi, root, C)
        return Activations(Phi @ self.mean.T, np.asarray(np.matmul(spread, spread.transpose(0, 2, 1))))


@dataclass(frozen=True, eq=False)
class AveragedApproximation(Approximation):
    """Σ_j weight_j N(θ | mean_j, A_j⁻¹) over ``nodes``. As an `Approximation`, it is the Gaussian with its moments.

    ``widening`` (J,) are the prior variances of the nodes, relative to their average, if there is one scale.
    """

    weights: Float = field(default_factory=lambda: np.ones(0))
    nodes: tuple[Approximation, ...] = ()
    widening: Float = field(default_factory=lambda: np.ones(0))

    @property
    def parts(self) -> tuple[Approximation, ...]:
        """The nodes."""
        return self.nodes

    @property
    def part_weights(self) -> Float:
        """Weights (J,) of the nodes."""
        return self.weights

    @property
    def part_widening(self) -> Float:
        """Prior variances (J,) of the nodes, relative to their average."""
        return self.widening

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ, (n, C, P)."""
        return self.sample_parts(n, rng)

    def activations(self, X: Rows, design: Design) -> Activations:
        """Return the distribution of the activations of rows."""
        parts = tuple(node.activations(X, design) for node in self.nodes)
        return replace(super().activations(X, design), weights=self.weights, parts=parts)

    def shifted(self, shift: Float) -> AveragedApproximation:
        """Return the same mixture with ``shift`` (C,) added to the bias."""
        return replace(super().shifted(shift), nodes=tuple(node.shifted(shift) for node in self.nodes))


def ordered_root(factor: Factor, mean: Float) -> Float:
    """Return R with R R' = A⁻¹: the symmetric root of the correlations, with the columns in the order of the means.

    A column belongs to the weight with the next smaller |mean|, in conditional standard deviations, and has its sign.
    So the order and the units of columns have no effect on draws mean + R z, nor has the order of the classes. If there
    are many weights, it is the root of the factor.
    """
    if factor.matrix.shape[0] > MAX_ORDERED_WEIGHTS:
        return factor.root
    unit = np.sqrt(factor.diagonal)
    with single_thread_blas():
        sizes, axes = linalg.eigh(factor.matrix / np.outer(unit, unit))
        root = (axes / np.sqrt(sizes)) @ axes.T / unit[:, None]
    size = mean.ravel() * unit
    order = np.argsort(-np.abs(size), kind="stable")
    return np.asarray(root[:, order] * np.copysign(1.0, size[order]))


def laplace(
    objective: Posterior,
    mode: Float,
    *,
    steps: int = 0,
    known: tuple[ValueGrad, Factor] | None = None,
    max_fall: float | None = None,
) -> Approximation:
    """Return the Gaussian at the mode, after one pass for the exact Hessian.               PRML (4.142, 4.143)

    ln p(D) ≈ ln p(D | θ) + ln p(θ) + ½ CP ln 2π - ½ ln |A|                                 (4.137)

    The pass also gives the gradient; ``known`` is the result of such a pass. For large tables, ``mode`` may therefore
    be a point near the mode (`tol_near_mode`), from which Newton's step leads to the mode, if it lowers the objective
    by at most ``max_fall`` nats: by default a small number, or zero if the table is small.
    """
    if known is None:
        here = objective.value_grad_hess(mode)  # minus (4.142), its gradient, and A = S_N⁻¹ of (4.143)
        known = ValueGrad(here.value, here.grad), factorise(here.hess, objective.shape[0], objective.prior.free)
    (value, grad), factor = (known[0].value, known[0].grad), known[1]
    if factor.singular is not None:
        raise improper(objective, factor.singular)
    max_fall = max_fall or (0.0 if objective.sample is None else MAX_LAST_FALL)
    if max_fall:
        step = factor.solve(grad)
        fall = 0.5 * float(np.vdot(grad, step))
        value, mode = (value - fall, mode - step) if 0 <= fall <= max_fall else (value, mode)
    penalty = objective.prior.value_grad(mode)[0]
    # ±½ CP ln 2π of the prior and of the integral cancel.
    log_evidence = -value + 0.5 * objective.prior.log_det() - 0.5 * factor.log_det  # (4.137)
    return Approximation(mode, factor, penalty - value, log_evidence, "laplace", steps)


def tol_near_mode(objective: Posterior, tol: float) -> float:
    """Tolerance of the point from which `laplace` reaches the mode to ``tol``: a Newton step squares the error.

    On small tables the search ends with Newton's steps anyway.
    """
    return max(tol, NEWTON_CONTRACTION * np.sqrt(tol)) if objective.sample is not None else tol


def weight_names(objective: Posterior) -> tuple[str, ...]:
    """Return the names of the P weights of one output."""
    return (*objective.source.columns, "the intercept")[: objective.design.width]


def improper(objective: Posterior, singular: SingularError) -> DataError:
    """Error for a posterior that the prior and the rows do not determine; it names the weights."""
    (C, P), free = objective.shape, objective.prior.free
    if any(i % P == j % P and not free[i % P] for j, others in singular.combination.items() for i in others):
        return DataError(
            f"The prior is too wide for {C} classes: a constant added to a weight of every class changes no "
            "probability, so only the prior determines it, and its precision is below the rounding error of the sums "
            "over rows. Use a prior with a smaller scale, or divide the sample weights by a constant."
        )
    return DataError(
        f"The posterior is improper: {singular.describe(weight_names(objective) * objective.shape[0])}, and the prior "
        "is flat there. Give those weights a prior with a finite scale, or drop columns."
    )


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


def laplace_by_class(
    objective: Posterior, mode: Float, *, axes: Float | None = None, steps: int = 0
) -> ByClassApproximation:
    """Return the Gaussian at the mode. It takes one pass for the axes, and one or more for the curvature along them.

    ``axes`` (C, C) has orthonormal columns; by default they are the contrasts.
    """
    prior, (C, P) = objective.prior, objective.shape
    precision = np.diag(prior.precision) if prior.precision.ndim == 1 else prior.precision
    at_once, factors = max(1, MAX_PASS_BYTES // (8 * P * P)), []
    with np.errstate(under="ignore"):
        here = objective.reduce(total_curvature, theta=mode)
        axes = _contrasts(here.grad) if axes is None else axes
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
    return ByClassApproximation(mode, axes, tuple(factors), here.value, log_evidence, "laplace", steps)


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
    axes *= np.copysign(1.0, asymmetry + ROUNDING_OF_AXES * np.sqrt(np.arange(C)) @ axes)
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
class DualApproximation(AbstractApproximation):
    """The prior N(0, Λ⁻¹) outside the span of the rows; within it, ``thin``, a Gaussian over v and the bias.

    Rows are X (N, M) with N < M, weights w ~ N(0, Λ⁻¹) with Λ diagonal, and X Λ⁻¹ X' = L L' with L (N, r). Let

        B' = L⁺ X Λ⁻¹  (r, M),      v = B' Λ w,      u = w - B v.

    The columns of Λ^½ B are orthonormal, since B' Λ B = L⁺ L L' L⁺' = I. So v ~ N(0, I) and u are
    independent under the prior, and the activations X w = L v do not depend on u. The likelihood changes only v:

        p(D) = ∫∫ p(D | L v, b) p(u) p(v) p(b) = ∫ p(D | L v, b) N(v | 0, I) p(b) dv db

    is the evidence of the thin problem, which has r unknowns and the rows of L. This is exact, not only for Laplace's
    approximation. With S the thin posterior covariance of v, and l = B' x,

        w = u + B v                       u from the prior, v from the thin posterior
        var w_j = 1/λ_j - |B_j|² + B_j' S B_j
        var w'x = x'Λ⁻¹x - l'l + l' S l   the part of x outside the span keeps its prior variance

    The same holds for each of C classes, whose u are independent. The bias is relative to the mean of the rows, which
    lies in their span, so it is also the bias of the thin problem. No M x M matrix is formed; B is the largest array.

    ``precision`` (M,) is the diagonal of Λ, and ``basis`` (M, r) is B. After tuning, the prior variance of u is
    ``outside`` times that of Λ⁻¹, and ``thin`` is the posterior of v under a prior that is as wide.
    """

    precision: Float
    basis: Float
    thin: AnyApproximation
    steps: int = 0
    structure: str = "dual"
    outside: float = 1.0

    @property
    def name(self) -> str:
        """Name of the method that computed the thin Gaussian."""
        return self.thin.name

    @property
    def log_likelihood(self) -> float:
        """ln p(D | mean)."""
        return self.thin.log_likelihood

    @property
    def log_evidence(self) -> float:
        """ln p(D), the evidence of the thin problem."""
        return self.thin.log_evidence

    @property
    def mean(self) -> Float:
        """Mean of the weights, (C, P)."""
        return self._from_thin(self.thin.mean)

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, (CP, CP)."""
        (C, P), M = self.mean.shape, len(self.precision)
        outside = np.zeros((P, P))
        outside[:M, :M] = self.outside * (np.diag(1 / self.precision) - self.basis @ self.basis.T)
        T = np.kron(np.eye(C), self._each_weight(P))
        return np.asarray(np.kron(np.eye(C), outside) + T @ self.thin.covariance @ T.T)

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P)."""
        C, P = self.mean.shape
        M = len(self.precision)
        outside = self.outside * np.append(1 / self.precision - row_squares(self.basis), np.zeros(P - M))
        each, starts = self._each_weight(P), range(0, P, STD_AT_ONCE)
        with single_thread_blas():
            within = np.concatenate([self.widest._thin_activations(each[i : i + STD_AT_ONCE]).variance for i in starts])
        return np.asarray(np.sqrt(np.maximum(outside, 0.0) + within.reshape(P, C).T))

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ, (n, C, P): the prior, except in the span of the rows."""
        if len(self.part_weights) > 1:
            return self.sample_parts(n, rng)
        M = len(self.precision)
        thin = self.thin.sample(n, rng)
        rows = thin.reshape(-1, thin.shape[2])  # so that one product serves all draws and classes
        drawn = self._from_thin(rows)
        w = rng.standard_normal((len(rows), M)) * np.sqrt(self.outside / self.precision)
        drawn[:, :M] += w - ((w * self.precision) @ self.basis) @ self.basis.T
        return drawn.reshape(*thin.shape[:2], drawn.shape[1])

    def activations(self, X: Rows, design: Design) -> Activations:
        """Return mean and covariance of the activations of rows."""
        M, Phi = len(self.precision), regressors(X, design)
        Z = Phi[:, :M]
        within = self._thin_activations(
            np.column_stack([Z @ self.basis, to_dense(Phi[:, M:])])
        )  # activations of (Bv, b)
        # For rows in the span, the variance outside it is zero, and may be negative after rounding.
        outside = self.outside * np.maximum(Z**2 @ (1 / self.precision) - row_squares(Z @ self.basis), 0.0)
        parts = () if within.weights is None else tuple(part.activations(X, design) for part in self.parts)
        cov = outside if within.mean.ndim == 1 else outside[:, None, None] * np.eye(within.mean.shape[1])
        return Activations(within.mean, within.cov + cov, within.weights, parts)

    @property
    def parts(self) -> tuple[DualApproximation, ...]:
        """The components of the mixture, each with its own variance outside the span."""
        outside: list[float] = (self.outside * self.thin.part_widening).tolist()
        parts: Any = zip(self.thin.parts, outside, strict=True)
        return tuple(replace(self, thin=part, outside=each) for part, each in parts)

    @property
    def part_weights(self) -> Float:
        """Weights (J,) of the parts."""
        return self.thin.part_weights

    @property
    def widest(self) -> DualApproximation:
        """The same distribution with the best estimate of the covariance in the span."""
        thin: Any = self.thin.widest
        return self if thin is self.thin else replace(self, thin=thin)

    def shifted(self, shift: Float) -> DualApproximation:
        """Return the same distribution with ``shift`` (C,) added to the bias, which the thin problem has."""
        return replace(self, thin=self.thin.shifted(shift))

    def _each_weight(self, P: int) -> Float:
        """Return coefficients of each weight as a linear function of the thin weights, (P, r + bias)."""
        M, r = self.basis.shape
        each = np.zeros((P, r + P - M))
        each[:M, :r], each[M:, r:] = self.basis, np.eye(P - M)
        return each

    def _from_thin(self, theta: Float) -> Float:
        """Return (B v, b) for each (v, b)."""
        r = self.basis.shape[1]
        return np.column_stack([theta[:, :r] @ self.basis.T, theta[:, r:]])

    def _thin_activations(self, Z: Float) -> Activations:
        """Return mean and covariance of linear functions of the thin weights, with coefficients (n, r + bias)."""
        return self.thin.activations(Z, Design(np.zeros(Z.shape[1]), bias=False))


def laplace_dual(objective: Posterior, mode: Float, *, steps: int = 0) -> DualApproximation:
    """Return the Gaussian at the mode, by Laplace's method on the thin problem. The columns are read twice.

    ``objective`` must have fewer rows than columns (`solvers.is_wide`).
    """
    M = len(objective.design.origin)
    thin = dual(objective)
    C, width = thin.objective.shape
    precision = objective.prior.precision[:M]
    B = thin.to_primal(np.eye(width - objective.design.bias, width))[:, :M].T
    thin_mode = np.column_stack([(mode[:, :M] * precision) @ B, mode[:, M:]])
    approximate = laplace if C * width <= MAX_FULL_WEIGHTS or C == 1 else laplace_by_class
    return DualApproximation(precision, B, approximate(thin.objective, thin_mode), steps)


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


def laplace_diagonal(
    objective: Posterior, mode: Float, *, contrasts: bool = False, steps: int = 0
) -> DiagonalApproximation:
    """Return the Gaussian at the mode, from one pass; with ``contrasts``, weights are independent along those."""
    axes = _contrasts(objective.reduce(total_curvature, theta=mode).grad) if contrasts else None
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
    return DiagonalApproximation(mode, precision, here.value, log_evidence, "laplace", steps, contrasts=axes)


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


@dataclass(frozen=True, eq=False)
class ArrowApproximation(AbstractApproximation):
    """N(θ | mean, A⁻¹) for one output, if most weights belong to the levels of one category; see `arrow`.

    ``levels`` (L,) are the positions in θ of the levels' weights w and ``others`` (d,) those of all other weights u:

        A = ( D   B )        F = D⁻¹ B,        S = K - B'F,        cov u = S⁻¹,        w = -F u + noise of variance D⁻¹
            ( B'  K )

    ``diagonal`` is D, ``border`` is F, and ``root`` is R with R R' = S⁻¹.
    """

    mean: Float
    levels: Codes
    others: Codes
    diagonal: Float
    border: Float
    root: Float
    log_likelihood: float
    log_evidence: float
    name: str = "laplace"
    steps: int = 0
    structure: str = "arrow"

    @property
    def variance(self) -> Float:
        """Variance of each weight, (P,)."""
        found = np.empty(self.mean.size)
        found[self.others] = row_squares(self.root)
        found[self.levels] = 1 / self.diagonal + row_squares(self.border @ self.root)
        return found

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (1, P)."""
        return np.sqrt(self.variance)[None]

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, (P, P)."""
        each = np.zeros((self.mean.size, len(self.others)))  # weights as functions of u, apart from D⁻¹
        each[self.others], each[self.levels] = np.eye(len(self.others)), -self.border
        found = (each @ self.root) @ (each @ self.root).T
        found[self.levels, self.levels] += 1 / self.diagonal
        return np.asarray(found)

    def solve(self, g: Float) -> Float:
        """Return A⁻¹ g for g (1, P)."""
        w, u = g[0, self.levels], g[0, self.others]
        found = np.empty_like(g)
        found[0, self.others] = u = self.root @ (self.root.T @ (u - self.border.T @ w))
        found[0, self.levels] = w / self.diagonal - self.border @ u
        return found

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ, (n, 1, P)."""
        drawn = np.empty((n, self.mean.size))
        drawn[:, self.others] = u = rng.standard_normal((n, len(self.others))) @ self.root.T
        drawn[:, self.levels] = rng.standard_normal((n, len(self.levels))) / np.sqrt(self.diagonal) - u @ self.border.T
        return (self.mean + drawn)[:, None]

    def row_variance(self, X: Rows, design: Design) -> Float:
        """Return φ̃'A⁻¹φ̃ of each row, which has at most one level: x'cov(w) x + 2 x'cov(w, u) z + z'cov(u) z."""
        cov_u, of_level = self.root @ self.root.T, self.variance[self.levels]
        mixed = -2 * self.border @ cov_u
        found = np.empty(X.shape[0])
        for at in gen_batches(len(found), ARROW_ROWS_AT_ONCE):
            x, z = split_rows(X[at], design, self.levels, self.others)
            found[at] = (x * x) @ of_level + (z * (z @ cov_u + x @ mixed)).sum(axis=1)
        return found

    def activations(self, X: Rows, design: Design) -> Activations:
        """Return mean and variance of the activations of rows; sparse rows stay sparse."""
        mean = design.activate(Block(X, None, None, range(X.shape[0])), self.mean)
        return Activations(mean, self.row_variance(X, design))

    def moments_of(self, Z: Rows) -> Activations:
        """Return mean and variance of θ z for each row z of Z (n, P), which may have several levels."""
        x, z = Z[:, self.levels], to_dense(Z[:, self.others])
        variance = (x * x) @ (1 / self.diagonal) + row_squares((z - x @ self.border) @ self.root)
        return Activations(Z @ self.mean[0], variance)


def split_rows(X: Rows, design: Design, levels: Codes, others: Codes) -> tuple[Any, Any]:
    """Return the indicators x (n, L) and the other regressors z (n, d); both are sparse if the rows are.

    Columns of ``others`` with an origin other than zero come first, and the bias is last.
    """
    columns = others[others < len(design.origin)]
    n_centred = np.count_nonzero(design.origin[columns])
    centred, ones = columns[:n_centred], np.ones((X.shape[0], len(others) - len(columns)))
    parts = [to_dense(X[:, centred]) - design.origin[centred], X[:, columns[n_centred:]], ones]
    return X[:, levels], sparse.hstack(parts, format="csr") if is_sparse(X) else np.hstack(parts)


UncoupledApproximation = ByClassApproximation | DiagonalApproximation  # along contrasts between classes
AnyApproximation = Approximation | UncoupledApproximation | DualApproximation | ArrowApproximation
LAPLACE: dict[str, Callable[..., AnyApproximation]] = {
    "full": laplace,
    "dual": laplace_dual,
    "by class": laplace_by_class,
    "diagonal": laplace_diagonal,
    "mean field": partial(laplace_diagonal, contrasts=True),
}


def fits_into_memory(objective: Posterior, structure: str) -> bool:
    """Whether this machine has enough memory for a posterior."""
    return memory_needed(objective, structure) <= MAX_MEMORY_FRACTION * machine_memory()


def require_memory(objective: Posterior, structure: str, *, instead: str) -> None:
    """Raise if this machine has too little memory for a posterior; name a structure to use ``instead``."""
    if not fits_into_memory(objective, structure):
        C, P = objective.shape
        needed, memory = memory_needed(objective, structure), machine_memory()
        raise DataError(
            f"structure={structure!r} for {C} x {P} weights needs {needed / 2**30:.3g} GiB of memory, and this machine "
            f"has {memory / 2**30:.3g} GiB. Use structure={instead!r}, or fewer columns or basis functions."
        )


def memory_needed(objective: Posterior, structure: str) -> float:
    """Return the peak number of bytes while a posterior is computed, without the rows."""
    C, P = objective.shape
    if structure == "full":
        return 8.0 * MATRIX_COPIES * (C * P) ** 2
    if structure == "by class":
        return 8.0 * P**2 * (2 * C + MATRIX_COPIES)  # a factor and its inverse for each class
    if structure == "dual":
        N = objective.source.n_rows
        thin = (C * N) ** 2 if C * N <= MAX_FULL_WEIGHTS else C * N**2
        return 8.0 * (2 * N * P + MATRIX_COPIES * thin)
    return 8.0 * MATRIX_COPIES * C * P


def machine_memory() -> float:
    """Return the bytes of memory in this machine, or infinity if the system does not report them."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * float(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError):  # not available on every system
        return float("inf")
