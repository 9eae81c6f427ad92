# SPDX-License-Identifier: BSD-3-Clause
"""Compute the log evidence as a function of the prior's scales, ln p(data | η), and its gradient.    PRML §3.5, §4.4.1

    `PriorScales`       η: logarithms of the factors that multiply the scales of groups of columns, and their hyperprior
    `evidence_slope`    ∂ ln p(data)/∂Λ, and the number of weights that the data determine, (3.91)
    `Fitter`            a method that approximates the posterior under one prior
    `rotate`            coordinates in which one decomposition is enough for every scale

`tuning` searches for the maximum of the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np
from scipy import linalg

from separatrix._array import Codes, Float, bincount
from separatrix._text import counted
from separatrix._threads import single_thread_blas
from separatrix.bayesian.ep import MAX_DOUBLE_PRODUCTS, Sites, expectation_propagation
from separatrix.bayesian.posterior import Approximation, laplace, tol_near_mode, weight_names
from separatrix.bayesian.structures import LAPLACE, AnyApproximation
from separatrix.exceptions import DataError
from separatrix.likelihoods import Likelihood
from separatrix.priors import Gaussian, Penalty
from separatrix.rows import Block, as_source
from separatrix.solvers import (
    LBFGS,
    RENEWAL_STEPS,
    Auto,
    Factor,
    Newton,
    Posterior,
    Solution,
    Status,
    Units,
    change_of_curvature,
    factorise,
    has_cheap_hessian,
)
from separatrix.stats import DOUBLE_ROUNDING, Design, ValueGrad, collect_sample, log_det_slope
from separatrix.weights import row_squares

# The hyperprior of the scales
TYPICAL_SIGNAL = 2.0  # median of the standard deviation of the activations over rows, under the prior
# Standard deviations of ln scale: of the level of all groups, and about this level. Half or twice the first changes the
# evidence of six tables by at most 0.7 nats and a probability by 0.1; of the second, by 21 and 12 nats and 0.15.
LEVEL_STD, GROUP_STD = 1.0, 0.45
# The second standard deviation if few columns are useful (`shapes`). With 1.35, the log-loss of new rows is 0.006 to
# 0.011 higher on four of eight kinds of simulated tables, and equal on the others.
SPARSE_GROUP_STD = 0.9

# Scales
MAX_SCALE = 1e3  # largest scale of a prior, per standard deviation of a column
MIN_SCALE_IN_STD = 1e-3  # smallest scale of a prior, in standard deviations of the narrowest possible posterior
FIXED_GROUP = -1  # the group of a weight whose prior is not tuned

# Fits
MAX_CURVATURE_CHANGE = 0.2  # nats by which a new curvature changes the evidence, below which the old one is kept
MAX_ROUGH_FALL = 10.0  # nats that Newton's step from a rough mode may gain
MAX_RELATIVE_CHANGE = 0.02  # of the curvature, up to the mode: 1 % of a standard deviation and 0.01 nats of evidence
MAX_LOG_DET_ERROR = 1e-4  # of ln |A|, by single precision
MAX_RARE_EFFECT = 0.3  # standard deviations by which rare values can move a weight, above which all rows are read
MAX_GUESS_STEPS = 50  # gradient steps from a predicted mode, after which the prediction counts as poor

# Rotation
MIN_ROTATED_COLUMNS = 100  # fewer columns are fitted faster without a decomposition
MAX_DECOMPOSED = 4000  # limit of the smaller of rows and columns: the decomposition costs its cube
EIGENVALUE_ROUNDING = 1e-15  # rounding error relative to the largest eigenvalue
NEGLIGIBLE_VARIANCE = 1e-9  # prior variance of the activations, summed over the rows, that may be dropped


class Levels(NamedTuple):
    """Label of a group of columns that are indicators of the levels of a category."""

    category: str

    @property
    def n_columns(self) -> int:
        """Number of columns as which the levels count in the hyperprior: see `PriorScales`."""
        return 1


class Products(NamedTuple):
    """Label of a group of products of two columns, which count as ``n_columns``: see `PriorScales`."""

    name: str
    n_columns: int


@dataclass(frozen=True, eq=False)
class PriorScales:
    """The prior as a function of η: each group of columns multiplies its scales by one factor, e^η_g.

        Λ(η) = Λ_fixed + E Λ_tuned E,        E = diag e^(-η_g),        η_g = ln (scale / given scale)

    With one group of all columns, the whole prior becomes wider or narrower. One group per column is automatic
    relevance determination. The user may also define groups. All outputs share their scales. The prior of the bias is
    fixed, even if it is about x = 0 and so couples the weights (`Penalty.about`).

    Scales have a prior too. If all M columns have the scale s, per standard deviation of a column, then the activations
    of the rows have the variance M s² under the prior, on average. Its root has the median 2, so that of s is 2/√M. Let
    u_g be the logarithm of the scale of group g over 2/√M, and ū the mean of all u_g. A priori, these are normal:

        ū ~ N(0, 1),        u_g - ū ~ N(0, 0.45²)

    The prior of the level is weak: with probability 0.95, it is at most seven times larger or smaller than its median.
    Without it, separable classes have no best scale. Without a common level, one scale for each column fits noise.
    The `Levels` of a category count as one column: a row has one of them, so its activation has the variance s² of one
    weight. Their u_g uses the root of Σ_l s² var x_l, which is s if no level is frequent. So do the `Products` of
    the levels of two categories, because a row has one pair of levels; columns that are zero in all rows add nothing.

    The search for scales is bounded. The prior standard deviation of a weight, per standard deviation of its column, is
    at most `MAX_SCALE`: such a column changes a probability from 0 to 1 within a thousandth of its spread. The smallest
    is `MIN_SCALE_IN_STD` of the narrowest posterior that this number of rows can give, which removes the column.

    ``groups`` (P,) is the group of each weight (-1 if it is not tuned) and ``labels`` are the names of the G groups.
    ``fixed`` and ``tuned`` are the two parts of the precision at η = 0. ``typical`` (G,) is the scale of each group
    at η = 0, per standard deviation of a column, and ``median`` that of its hyperprior. ``group_std`` is the standard
    deviation of the u_g about their mean: `GROUP_STD`, or `SPARSE_GROUP_STD` if few groups are useful.
    """

    groups: Codes
    labels: tuple[Any, ...]
    mean: Float
    fixed: Float
    tuned: Float
    typical: Float
    median: float
    group_std: float = GROUP_STD

    def prior(self, eta: Float) -> Penalty:
        """Return the prior at η."""
        tuned = self._tuned_at(eta)
        if self.fixed.ndim > tuned.ndim:
            tuned = np.diag(tuned)
        return Penalty(self.mean, self.fixed + tuned)

    def gradient(self, eta: Float, slope: Float) -> Float:
        """Return ∂ ln p(D)/∂η (G,) from ∂ ln p(D)/∂Λ, (P, P) or its diagonal; ∂Λ/∂η_g = -(I_g Λ + Λ I_g)."""
        if self.tuned.ndim == 1:
            each = -2 * self._tuned_at(eta) * (slope if slope.ndim == 1 else np.diag(slope))
        else:
            each = -2 * np.einsum("pq,pq->p", self._tuned_at(eta), slope)
        return self.sums(each)

    def sums(self, each: Float) -> Float:
        """Return sums over the weights of each group, (G,)."""
        live = self.groups != FIXED_GROUP
        return bincount(self.groups[live], each[live], len(self.labels))

    def log_density(self, eta: Float) -> tuple[float, Float]:
        """Return the log density of the scales at η, and its gradient (G,)."""
        u, G = eta + np.log(self.typical / self.median), len(eta)
        level = u.mean()
        apart = u - level
        square = (level / LEVEL_STD) ** 2 + (apart @ apart) / self.group_std**2
        # √G ū is a coordinate along a unit direction
        log_scale = np.log(LEVEL_STD) + 0.5 * np.log(G) + (G - 1) * np.log(self.group_std)
        gradient = -level / (G * LEVEL_STD**2) - apart / self.group_std**2
        return -0.5 * float(square + G * np.log(2 * np.pi)) - float(log_scale), gradient

    def log_density_precision(self) -> Float:
        """Return minus the second derivatives of the log density of the scales, (G, G)."""
        G = len(self.labels)
        precision = self.group_std**-2.0
        return np.asarray(precision * np.eye(G) + (1 / (G * LEVEL_STD) ** 2 - precision / G))

    def bounds(self, objective: Posterior) -> tuple[Float, Float]:
        """Return the smallest and the largest η of each group; they are equal if the rows have tiny weights."""
        narrowest = MIN_SCALE_IN_STD * 2 / np.sqrt(objective.units.total)  # a row adds at most ¼ to the curvature
        return np.log(min(narrowest, MAX_SCALE) / self.typical), np.log(MAX_SCALE / self.typical)

    def _tuned_at(self, eta: Float) -> Float:
        log_scale = np.append(eta, 0.0)[self.groups]  # FIXED_GROUP selects the zero
        each = log_scale if self.tuned.ndim == 1 else 0.5 * np.add.outer(log_scale, log_scale)
        return np.asarray(self.tuned * np.exp(-2 * each))


def prior_scales(
    objective: Posterior, groups: str | Sequence[Any] | None = None, like: PriorScales | None = None
) -> PriorScales:
    """Return the tunable scales of the prior of an objective; η = 0 is the given prior.

    The prior must be a proper Gaussian that is the same for every output. ``groups`` is None for one factor, "columns"
    for one factor per column, or M labels: columns with equal labels share a factor. If the columns
    of the objective are rotated, ``like`` are the scales of the columns before, whose hyperprior is kept.
    """
    M, P = len(objective.design.origin), objective.design.width
    prior = objective.prior
    if prior.free.any():
        flat = weight_names(objective)[int(np.flatnonzero(prior.free)[0])]
        raise DataError(
            f"The prior of {flat!r} is flat, so the evidence of any data is zero and cannot be tuned. Give it a finite "
            "scale (intercept_scale= for the intercept)."
        )
    fixed, tuned = _split_precision(prior.precision, has_bias=P > M)
    if isinstance(groups, str) and groups != "columns":
        raise DataError(f"groups={groups!r}: choose None, 'columns', or a label for each of {counted(M, 'column')}.")
    if groups is None or isinstance(groups, str):
        labels: tuple[Any, ...] = ("all",) if groups is None else tuple(objective.source.columns[:M])
        codes = np.zeros(M, dtype=np.intp) if groups is None else np.arange(M)
    else:
        labels = tuple(dict.fromkeys(groups))  # in the order of their first columns
        index = {label: g for g, label in enumerate(labels)}
        codes = np.array([index[label] for label in groups], dtype=np.intp)
    if len(codes) != M:
        raise DataError(
            f"groups has {counted(len(codes), 'label')}, but there are {counted(M, 'column')}: give one label for each "
            "column."
        )
    if tuned.ndim == 2 and len(labels) > 1 and like is None:
        raise DataError(
            f"A prior with a full covariance has one scale to tune, and groups= has {len(labels)}. Leave groups=None, "
            "or give a prior with a scale for each column."
        )
    group_std = GROUP_STD
    if like is not None:
        typical, median, group_std = like.typical, like.median, like.group_std
    else:
        diagonal = tuned[:M] if tuned.ndim == 1 else np.diag(tuned)[:M]
        is_counted = np.array([isinstance(label, Levels | Products) for label in labels])
        unit = np.where(is_counted[codes], objective.units.spread[:M], objective.column_units[:M])
        variance = bincount(codes, unit**2 / diagonal, len(labels))  # of the activations, if weights are independent
        n_columns = bincount(codes, None, len(labels))
        n_columns[is_counted] = [label.n_columns for label in labels if isinstance(label, Levels | Products)]
        typical = np.sqrt(np.where(variance > 0, variance, 1.0) / n_columns)
        median = TYPICAL_SIGNAL / n_columns.sum() ** 0.5
    of_weights = np.append(codes, np.full(P - M, FIXED_GROUP))
    return PriorScales(of_weights, labels, prior.mean, fixed, tuned, typical, median, group_std)


def rescaled(prior: Gaussian, factors: Float) -> Gaussian:
    """Return the user's prior with its scales multiplied by a factor for each column (M,)."""
    if prior.covariance is not None:
        return replace(prior, covariance=np.asarray(prior.covariance) * np.outer(factors, factors))
    scale = np.asarray(prior.scale, dtype=np.float64) * factors
    is_one = len(scale) > 0 and (scale == scale[0]).all()
    return replace(prior, scale=float(scale[0]) if is_one else scale)


def _split_precision(precision: Float, *, has_bias: bool) -> tuple[Float, Float]:
    """Split Λ into the prior of the bias, b t t' where b t is the last row of Λ, and the rest."""
    fixed = np.zeros_like(precision)
    if precision.ndim == 1:
        if has_bias:
            fixed[-1] = precision[-1]
        return fixed, precision - fixed
    if has_bias:
        fixed = np.outer(precision[-1], precision[-1]) / precision[-1, -1]
    tuned = precision - fixed
    if has_bias:
        tuned[-1] = tuned[:, -1] = 0.0
    size = np.sqrt(np.diag(precision))
    off = np.abs(tuned - np.diag(np.diag(tuned))) / np.outer(size, size)
    return fixed, np.diag(tuned).copy() if (off <= 1e-12).all() else tuned  # rounding errors


def well_determined(approximation: AnyApproximation, prior: Penalty) -> Float:
    """Return how well the data determine each weight, (P,), as a sum over the C outputs: between 0 and C.

    Each output adds 1 - (Λ A⁻¹)_pp: 1 if the posterior is much narrower than the prior, 0 if it equals the prior.
    """
    return np.asarray(len(approximation.mean) - approximation.prior_traces(prior))


def effective_parameters(approximation: AnyApproximation, prior: Penalty) -> float:
    """Return γ = CP - tr(Λ A⁻¹), the number of directions that the data determine.              PRML (3.91)"""
    return float(well_determined(approximation, prior).sum())  # Σ λ_i/(λ_i + α) if Λ = α I


class Furthest(NamedTuple):
    """Largest |V'φ̃_n| of some rows for each column of V, (J,)."""

    sizes: Float

    def __add__(self, other: Any) -> Furthest:
        return Furthest(np.maximum(self.sizes, other.sizes))


def furthest(block: Block, likelihood: Likelihood, design: Design, V: Float) -> Furthest:
    """Return the largest |V'φ̃_n| of one block for vectors V (P, J)."""
    return Furthest(np.abs(design.regressors(block.X) @ V).max(axis=0, initial=0.0))


def is_represented(objective: Posterior, approximation: Approximation) -> bool:
    """Whether a sample shows how third derivatives move each weight: no value of a column is so rare that it may not.

    With the residuals r_n = φ̃_n'S e_j / S_jj of column j, given the other columns, rare values can move weight j by

        sd_j³ |Σ_n skew_n r_n³| ≤ sd_j max_n |r_n|        if |skew| ≤ curvature, as for the logit

    standard deviations. The residuals of independent columns are the columns, whose range is known. For other columns,
    the residuals of the sample are computed, and what values outside the range of the sample may add.
    """
    root = approximation.factor.root.reshape(*objective.shape, -1)
    if len(root) > 1:
        root = root - root.mean(axis=0)  # a vector added to all classes does not change the likelihood
    sd = np.sqrt(np.einsum("cpi,cpi->cp", root, root))
    information = approximation.factor.diagonal.reshape(objective.shape) - objective.prior.diagonal
    doubtful = np.argwhere(objective.reach * information * sd**3 > MAX_RARE_EFFECT)
    if not len(doubtful):
        return True
    c, p = doubtful.T
    V = np.einsum("jpi,ji->pj", root[c], root[c, p]) / sd[c, p] ** 2
    P = objective.design.width
    sizes = objective.of_sample().reduce(furthest, V=np.hstack([np.eye(P), V])).sizes
    beyond = np.maximum(objective.reach - sizes[:P], 0.0)
    return bool((sd[c, p] * (sizes[P:] + beyond @ np.abs(V))).max() <= MAX_RARE_EFFECT)


def log_det_gradient(objective: Posterior, approximation: Approximation, *, sampled: bool) -> Float:
    """Return v = ∂ ln |A|/∂θ (C, P) of `evidence_slope`; zero unless the approximation is Laplace's.

    It takes one pass, if ``sampled`` over the objective's sample of rows, because v adds only about P/N to the gradient
    of the evidence. Of a rough fit, and of a sample, it is computed in single precision.
    """
    if approximation.name != "laplace":
        return np.zeros(objective.shape)
    posed = objective.of_sample() if sampled and objective.sample is not None else objective
    factor = approximation.factor
    is_rough = posed is not objective or not approximation.is_converged
    single = is_rough and factor.single_error <= MAX_LOG_DET_ERROR
    return np.asarray(posed.reduce(log_det_slope, theta=approximation.mean, root=factor.root, single=single).grad)


def with_change_of_curvature(
    objective: Posterior, found: Approximation, curved_at: Float
) -> tuple[Approximation, Float | None]:
    """Add the change of -½ ln |A| from the point at which A was computed to the mode; return ∂ ln |A|/∂θ too.

    The change is of first order and computed from the sample. If A belongs to the mode, nothing is added or returned.
    """
    if curved_at is found.mean:
        return found, None
    slope = log_det_gradient(objective, found, sampled=True)
    change = -0.5 * float(np.vdot(slope, found.mean - curved_at))
    return replace(found, log_evidence=found.log_evidence + change), slope


def evidence_slope(prior: Penalty, approximation: Approximation, u: Float | None = None) -> Float:
    """Return ∂ ln p(D)/∂Λ of an approximate posterior: the diagonal (P,) if Λ is diagonal, else (P, P); without a pass.

    For θ ~ N(m0, Λ⁻¹), the same Λ (P, P) for each of C outputs, and an approximate posterior N(m, S) with S = A⁻¹,

        ∂ ln p(D)/∂Λ = ½ [C Λ⁻¹ - Σ_c S_cc - Σ_c d_c d_c'],        d = m - m0

    if ln p(D) is stationary in the parameters of the Gaussian. That holds for expectation propagation, whose sites may
    be held fixed, and for a variational bound. Laplace's Gaussian is at the mode, and ln |A| changes as the mode moves:
    with v = ∂ ln |A|/∂θ (`log_det_gradient`) and u = S v there is one more term, ½ Σ_c ½ (u_c d_c' + d_c u_c').
    """
    d = approximation.mean - prior.mean
    C, P = d.shape
    e = d if u is None else d - u
    if prior.precision.ndim == 1:
        spread = row_squares(approximation.factor.root).reshape(C, P)
        return np.asarray(0.5 * (C / prior.precision - (spread + d * e).sum(axis=0)))
    S = approximation.covariance.reshape(C, P, C, P)
    with single_thread_blas():
        S0 = np.linalg.inv(prior.precision)
    outer = d.T @ e
    return np.asarray(0.5 * (C * S0 - np.einsum("cpcq->pq", S) - 0.5 * (outer + outer.T)))


def log_likelihood_near(objective: Posterior, laplace: Approximation, mean: Float) -> float:
    """Return ln p(D | mean) near the mode of Laplace's approximation.

    It takes a pass, unless the objective rises from its mode by so little that the parabola of the mode is accurate.
    """
    value = objective.prior.value_grad(laplace.mean)[0] - laplace.log_likelihood  # objective at the mode
    rise = 0.5 * laplace.factor.square(mean - laplace.mean)
    # With many rows, cubic terms of 0.2 nats are less than a hundredth of them.
    limit = objective.units.rounding * abs(value) if objective.sample is None else 0.2
    is_near = laplace.name == "laplace" and rise <= limit
    return float(objective.prior.value_grad(mean)[0] - (value + rise if is_near else objective.value_grad(mean).value))


class Fitter(Protocol):
    """A method that approximates a posterior.

    Attributes
    ----------
    name : str
    is_rough : bool, whether fits may be near the mode instead of at the mode
    predicts_well : bool, whether the parabola of a fit predicts the evidence under other priors so accurately that
        only the best of them is fitted
    memory : list of Sites, from which expectation propagation starts again; empty for other methods
    """

    @property
    def memory(self) -> list[Sites]: ...

    @property
    def name(self) -> str: ...

    @property
    def is_rough(self) -> bool: ...

    @property
    def predicts_well(self) -> bool: ...

    def keeps_curvature(self, objective: Posterior) -> bool:
        """Whether `refit` may keep the curvature of an earlier fit."""

    def fit(self, objective: Posterior, start: Float | None = None, inverse: Factor | None = None) -> Approximation:
        """Return the approximation; a predicted mean (C, P) and precision are used as the start if given."""

    def refit(self, objective: Posterior, near: Approximation, change: float) -> Approximation:
        """Return the approximation near a prediction; keeping its curvature changes ln p(D) by about ``change``."""

    def fork(self) -> Fitter:
        """Return the method with a memory of its own, for fits under another prior."""


@dataclass(frozen=True)
class FitLaplace:
    """Laplace's approximation: find the mode to ``tol``, and the Hessian there up to `MAX_RELATIVE_CHANGE`.

    If ``is_rough``, the search stops within a standard deviation of the mode, and Newton's step leads from there nearly
    to the mode. This saves half of the passes of a first search for scales; ``is_converged`` is then False.
    """

    tol: float = 1e-8
    is_rough: bool = False
    name: ClassVar[str] = "laplace"
    predicts_well: ClassVar[bool] = False
    memory: ClassVar[list[Sites]] = []

    def keeps_curvature(self, objective: Posterior) -> bool:
        """Whether a Hessian takes the time of several gradients."""
        return not has_cheap_hessian(objective)

    def fork(self) -> FitLaplace:
        """Return the same method, which has no memory."""
        return self

    def fit(self, objective: Posterior, start: Float | None = None, inverse: Factor | None = None) -> Approximation:
        """Minimise with L-BFGS if Hessians are expensive and one is predicted; otherwise, or if it fails, with `Auto`.

        L-BFGS is not used if Hessians are cheap: under a wide prior, which leaves a direction almost free, the rounding
        errors of earlier sums can change its evidence by 1e-6 nats. Newton's steps do not depend on these errors.
        """
        mode, near = np.zeros(objective.shape) if start is None else start, None
        if inverse is not None and inverse.singular is None and not has_cheap_hessian(objective):
            near = LBFGS(self._tol(objective), MAX_GUESS_STEPS).minimise(objective, mode, inverse=inverse)
            if near.is_converged:
                return replace(self._gaussian(objective, near)[1], is_converged=True)
            mode = near.value
        solution, gaussian = self.solve(objective, mode)
        found = cast(Approximation, gaussian)
        if not self.is_rough:
            found, _ = with_change_of_curvature(objective, found, solution.value)
        return found if near is None else replace(found, steps=near.steps + found.steps)

    def solve(
        self, objective: Posterior, start: Float, structure: str = "full"
    ) -> tuple[Solution[Float], AnyApproximation]:
        """Find the mode; return the point at which the curvature was computed, and the Gaussian."""
        is_full, found = structure == "full", None
        is_exact = is_full and len(start) == 1 and objective.units.rounding == DOUBLE_ROUNDING
        if (self.is_rough or is_exact) and objective.sample is not None and not has_cheap_hessian(objective):
            found = self._solve_large(objective, start)
        if found is not None:
            return found
        tol = self._tol(objective) if is_full else self.tol
        single = self.is_rough and is_exact and objective.source.n_rows * start.size**2 > MAX_DOUBLE_PRODUCTS
        max_change = self._max_change if structure in ("full", "dual") else np.inf
        auto = Auto(tol, trace=is_full, single=single, max_change=max_change)
        solution = auto.minimise(objective, start)
        if single and solution.end is not None and solution.end.is_exact:
            inverse = solution.end.inverse
            if inverse.singular is not None or inverse.single_error > MAX_LOG_DET_ERROR:
                solution = replace(auto, single=False).minimise(objective, solution.value)
        if is_full:
            return self._gaussian(objective, solution)
        gaussian = LAPLACE[structure](objective, solution.value)
        return replace(solution, value=gaussian.mean), replace(gaussian, steps=solution.steps)

    def _gaussian(self, objective: Posterior, near: Solution[Float]) -> tuple[Solution[Float], Approximation]:
        """Return the Gaussian after Newton's step from a point near the mode, and the point of its curvature.

        The last Hessian of Newton's method is used again. After L-BFGS, Newton's method stops at its first Hessian,
        unless that differs too much from the Hessian at the mode.
        """
        known = None
        if objective.likelihood.is_log_concave:
            if near.end is None or not near.end.is_exact:
                newton = Newton(self._tol(objective), Auto.max_steps, trace=True, max_change=self._max_change)
                near = near.followed_by(newton.minimise(objective, near.value, is_stretched=True))
            assert near.end is not None, "Newton's method keeps its last Hessian"
            known = ValueGrad(near.trace[-1].value, near.end.grad), near.end.inverse
        max_fall = MAX_ROUGH_FALL if self.is_rough else None
        found = laplace(objective, near.value, steps=near.steps, known=known, max_fall=max_fall)
        point = near.value if self.is_rough else found.mean
        return replace(near, value=point, trace=()), replace(found, is_converged=not self.is_rough)

    def _solve_large(self, objective: Posterior, start: Float) -> tuple[Solution[Float], Approximation] | None:
        """Take a few steps from the mode of a sample, with its Hessian, then one of Newton's; None if the sample fails.

        The mode of one row in sixteen is 4 standard deviations away along each weight, and each step gains a factor of
        three or more. The Hessian of all rows is in single precision, unless columns are so collinear that it matters.
        Newton's method continues if this Hessian differs too much from that at the mode, as it does if a class or a
        value of a column is rare. Otherwise a pass checks Newton's step if it may not reach the mode to ``tol``: what
        the Hessian does not explain of the gradient before is a third derivative along the last step of L-BFGS.
        """
        of_sample = Auto(1e-2, RENEWAL_STEPS).minimise(objective.of_sample(), start)
        end = of_sample.end
        if end is None or not end.is_exact or not objective.likelihood.is_log_concave:
            return None
        # With gradients times √N below 1, the mode is about one standard deviation away, or nearer.
        max_gradient, max_steps = (0.35, 3) if self.is_rough else (0.1, RENEWAL_STEPS)
        lbfgs = LBFGS(max_gradient / np.sqrt(objective.units.total), max_steps)
        near = lbfgs.minimise(objective, of_sample.value - end.inverse.solve(end.grad), inverse=end.inverse)
        before = near.end
        assert before is not None, "L-BFGS keeps its last gradient"
        # On a GPU, the faster products of float32 rows have too few digits. For K classes all such products have: a
        # vector added to all classes has only the curvature of the prior.
        single = len(start) == 1 and objective.units.rounding == DOUBLE_ROUNDING
        point, single = near.value + before.step, single and end.inverse.single_error <= MAX_LOG_DET_ERROR
        here = objective.value_grad_hess(point, single=single)
        factor = factorise(here.hess, objective.shape[0], objective.prior.free)
        near, found = replace(near, value=point, status=Status.GRADIENT), None
        if factor.singular is None:
            known = ValueGrad(here.value, here.grad), factor
            found = laplace(objective, point, steps=near.steps, known=known, max_fall=MAX_ROUGH_FALL)
        if found is None or found.mean is point:  # far from the mode: the sample has too few of the rare values
            is_better = here.value < objective.value_grad(start).value
            return self._gaussian(objective, near if is_better else replace(near, value=start))
        if single and factor.single_error > MAX_LOG_DET_ERROR:
            return self._gaussian(objective, near)
        if self.is_rough:
            return near, replace(found, is_converged=False)
        step = found.mean - point
        change = change_of_curvature(objective, factor, point, step)
        if change > MAX_RELATIVE_CHANGE:  # activations change by at most 1 before the objective is checked
            return self._gaussian(objective, replace(near, value=point + step / max(change, 1.0)))
        rest = before.grad - here.grad + (here.hess @ before.step.ravel()).reshape(point.shape)
        if objective.gradient_size(rest) * factor.square(step) / factor.square(before.step) > self.tol:
            found = self.refit(objective, found, 0.0)
        return (near if found.factor is factor else replace(near, value=found.mean)), found

    @property
    def _max_change(self) -> float:
        return np.inf if self.is_rough else MAX_RELATIVE_CHANGE

    def _tol(self, objective: Posterior) -> float:
        tol = tol_near_mode(objective, self.tol)
        return max(tol, 0.03 / np.sqrt(objective.units.total * objective.shape[1])) if self.is_rough else tol

    def refit(self, objective: Posterior, near: Approximation, change: float) -> Approximation:
        """Fit the mode near a prediction; its precision is kept if the predicted ``change`` of evidence is small.

        The precision Λ + H of a prediction has the curvature H of the likelihood at another mode. With many rows, H
        hardly changes from one scale to the next, and a Hessian takes the time of several gradients. The change of
        -½ ln |A| to first order is added to the evidence.
        """
        if abs(change) <= MAX_CURVATURE_CHANGE:
            tol = 100 * self.tol  # Newton's last step squares the error
            found = LBFGS(tol, MAX_GUESS_STEPS, trace=True).minimise(objective, near.mean, inverse=near.factor)
            if found.is_converged and found.end is not None:
                step = near.factor.solve(found.end.grad)
                mode, value = found.value - step, found.trace[-1].value - 0.5 * float(np.vdot(found.end.grad, step))
                occam = 0.5 * (objective.prior.log_det() - near.factor.log_det) + change
                log_likelihood = objective.prior.value_grad(mode)[0] - value
                return Approximation(mode, near.factor, log_likelihood, occam - value, "laplace", found.steps)
        return self.fit(objective, near.mean, near.factor)


@dataclass(frozen=True)
class FitEP:
    """Expectation propagation, from Laplace's mode or from the sites of the last fit, which are kept in ``memory``.

    The error of the evidence is about the square of ``tol_in_std``, that of its gradient is proportional to it.
    """

    tol: float = 1e-8
    memory: list[Sites] = field(default_factory=list)
    tol_in_std: float = 1e-2
    name: ClassVar[str] = "ep"
    is_rough: ClassVar[bool] = False
    predicts_well: ClassVar[bool] = True

    def keeps_curvature(self, objective: Posterior) -> bool:
        """Sites are always computed again."""
        return False

    def refit(self, objective: Posterior, near: Approximation, change: float) -> Approximation:
        """Return the fixed point near a prediction."""
        return self.fit(objective, near.mean, near.factor)

    def fork(self) -> FitEP:
        """Return the method with a copy of its memory."""
        return replace(self, memory=[*self.memory])

    def fit(self, objective: Posterior, start: Float | None = None, inverse: Factor | None = None) -> Approximation:
        """Return the fixed point, or Laplace's Gaussian if the iteration does not converge."""
        improve = partial(
            expectation_propagation, objective, tol=self.tol_in_std, corrected=False, single=True, memory=self.memory
        )
        if start is not None and inverse is not None and inverse.singular is None:  # no mode is needed
            found = improve(Approximation(start, inverse, np.nan, np.nan, "guess"))
            if found.is_converged:
                return found
        self.memory.clear()
        first = FitLaplace(self.tol).fit(objective, start, inverse)
        found = improve(first)
        return found if found.is_converged else first


def is_rotatable(objective: Posterior, scales: PriorScales) -> bool:
    """Whether `rotate` applies: one tuned scale, a diagonal prior with mean 0, many columns and not too many rows."""
    N, M = objective.source.n_rows, len(objective.design.origin)
    is_simple = len(scales.labels) == 1 and scales.tuned.ndim == 1 and not scales.mean.any()
    few_rows = N * M <= 2e7 and N <= 10 * M  # with more rows, no direction can be dropped
    return is_simple and M >= MIN_ROTATED_COLUMNS and few_rows and min(N, M) <= MAX_DECOMPOSED


def rotate(objective: Posterior, scales: PriorScales, *, widest: float) -> tuple[Posterior, Callable[[Float], Float]]:
    """Return the posterior in the directions that are needed for scales up to ``widest`` times that of the prior.

    The prior of the r new coordinates has unit precision. The function that is returned too maps them to θ (C, P).

    With weights w ~ N(0, s² Λ⁻¹) the activations depend on ω = Λ^½ w ~ N(0, s² I) through rows z = Λ^-½ x. A rotation
    of ω changes neither prior nor evidence, so any L with L L' = Z Z' may replace Z. Directions orthogonal to all rows
    keep their prior and do not change the evidence. This reduces M columns to r: with many rows, L = Z V for the
    eigenvectors V of Z'Z; with few rows, L is the pivoted Cholesky factor of Z Z'. One decomposition is enough for all
    scales s. For smooth basis functions, such as an RBF centred on every row, r is far below M.

    Directions below rounding error are dropped too. The prior variance of the activations that is lost is proportional
    to s², so the threshold depends on the widest scale.
    """
    rows = collect_sample(objective.source, objective.source.n_rows).as_block()
    M, bias = len(objective.design.origin), objective.design.bias
    shift = np.zeros(M)
    if scales.fixed.ndim == 2 and bias:  # the prior of the bias has another origin: a = w'(x - c - shift) + b
        shift = scales.fixed[-1, :-1] / scales.fixed[-1, -1]
    unit = np.sqrt(scales.tuned[:M])
    Z = (objective.design.regressors(rows.X)[:, :M] - shift) / unit
    lift: Callable[[Float], Float]
    with single_thread_blas():
        if len(Z) > MAX_DECOMPOSED or len(Z) > 2 * M:
            values, V = linalg.eigh(Z.T @ Z)
            kept = values > max(EIGENVALUE_ROUNDING * values[-1], NEGLIGIBLE_VARIANCE / widest**2)
            kept[-1] = True
            V = np.ascontiguousarray(V[:, kept])
            L, lift = Z @ V, lambda theta: np.asarray(theta @ V.T)
        else:
            L, lift = _row_directions(Z, widest)
    precision = np.ones(L.shape[1] + bias)
    if bias:
        precision[-1] = scales.fixed[-1] if scales.fixed.ndim == 1 else scales.fixed[-1, -1]

    def back(theta: Float) -> Float:
        W = lift(theta[:, : L.shape[1]]) / unit
        return np.column_stack([W, theta[:, -1] - W @ shift]) if bias else W

    source = as_source(L).with_numbers(rows.t, rows.weight, rows.offset)
    prior = Penalty(np.zeros((objective.shape[0], len(precision))), precision)
    design = Design(np.zeros(L.shape[1]), bias=bias)
    units = Units.of(source, fit_intercept=bias, with_extent=True)
    return Posterior(source, objective.likelihood, prior, design, units), back


def _row_directions(Z: Float, widest: float) -> tuple[Float, Callable[[Float], Float]]:
    """Return L (N, r) with L L' = Z Z', by a pivoted Cholesky factor, and the map from weights of L to weights of Z.

    For the pivot rows p, L_p is triangular. The weights Z_p' L_p'⁻¹ V of Z have the activations and the norm of V.
    """
    K = Z @ Z.T
    tol = max(EIGENVALUE_ROUNDING * len(K) * float(np.diag(K).max()), NEGLIGIBLE_VARIANCE / widest**2 / len(K))
    C, pivot, rank, _ = linalg.lapack.dpstrf(K, lower=1, tol=tol)
    if rank == 0:  # all columns are zero: keep one direction without effect
        return np.zeros((len(Z), 1)), lambda V: np.zeros((len(V), Z.shape[1]))
    order = pivot - 1
    L = np.empty((len(K), rank))
    L[order] = np.tril(C[:, :rank])
    chosen = order[:rank]

    def lift(V: Float) -> Float:
        return np.asarray(linalg.solve_triangular(L[chosen], V.T, lower=True, trans="T").T @ Z[chosen])

    return L, lift
