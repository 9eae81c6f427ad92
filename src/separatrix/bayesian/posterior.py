# SPDX-License-Identifier: BSD-3-Clause
"""A Gaussian over all weights, N(θ | mean, A⁻¹), and Laplace's method, which finds it.             PRML §4.5.1

    mu_a = mean φ̃,    var_a = φ̃' A⁻¹ φ̃                                                            (4.149), (4.150)

θ (C, P) is in the coordinates of the fit: one row of weights per output, with the bias last, relative to the origin of
the design. `laplace` puts the Gaussian at the mode, with the Hessian there as the precision A; `ep`, `variational` and
`sampling` find better ones. Gaussians that store a part of the covariance are in `uncoupled` and `structures`. A
posterior that is averaged over the scales of its prior may be a mixture, `AveragedApproximation`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from separatrix._array import Float, Rows
from separatrix._linalg import SingularError
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError
from separatrix.priors import Penalty
from separatrix.solvers import Factor, Posterior, factorise
from separatrix.stats import Design, ValueGrad, activation_spreads
from separatrix.weights import AbstractApproximation, Activations, regressors, row_squares

MAX_ORDERED_WEIGHTS = 500  # roots of more weights take seconds, and their importance weights are unusable


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
    max_fall = max_fall or (0.0 if objective.sample is None else 1e-3)  # 0.04 standard deviations
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
    return max(tol, 0.01 * np.sqrt(tol)) if objective.sample is not None else tol


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
