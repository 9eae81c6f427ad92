# SPDX-License-Identifier: BSD-3-Clause
"""The log evidence as a function of the prior's scales, ln p(data | η), and its gradient.           PRML §3.5, §4.4.1

    `PriorScales`       η: the factor by which each group of columns widens its scales
    `evidence_slope`    ∂ ln p(data)/∂Λ, and the number of weights that the data determine, (3.91)
    `Fitter`            a method that approximates the posterior under one prior
    `rotate`            coordinates in which one decomposition serves every scale

`tuning` searches for the maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg

from separatrix._array import Codes, Float, bincount
from separatrix._threads import single_thread_blas
from separatrix.bayesian.ep import expectation_propagation
from separatrix.bayesian.posterior import AnyApproximation, Approximation, laplace, row_squares, weight_names
from separatrix.exceptions import DataError
from separatrix.priors import Gaussian, Penalty
from separatrix.rows import as_source
from separatrix.solvers import LBFGS, Auto, Factor, Posterior, Units, has_cheap_hessian
from separatrix.stats import Design, collect_sample, log_det_slope

# Scales
MAX_SCALE = 1e3  # of a prior, per standard deviation of a column
MIN_SCALE_IN_STD = 1e-3  # of a prior, in standard deviations of the narrowest possible posterior
DIAGONAL_TOL = 1e-12  # relative size of off-diagonal entries that are rounding
FIXED_GROUP = -1  # the group of a weight whose prior is not tuned

# Fits
EP_TOL_IN_STD = 1e-2  # of fixed points for tuning: the error of the evidence is the square of it
MAX_GUESS_STEPS = 50  # gradient steps from a predicted mode; after more the prediction was poor

# Rotation
MIN_ROTATED_COLUMNS = 100  # columns from which a decomposition pays
MAX_ROWS_PER_COLUMN = 10  # with more rows all directions matter
MAX_ROTATED_NUMBERS = 20_000_000  # in the rows, all held at once
MAX_DECOMPOSED = 4000  # rows or columns, whichever are fewer: the decomposition takes their cube
EIGENVALUE_ROUNDING = 1e-15  # relative to the largest eigenvalue
NEGLIGIBLE_VARIANCE = 1e-9  # of the prior, summed over the rows


# -- the scales of a prior ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PriorScales:
    """The prior as a function of η, the logarithms of factors of its scales, one for each group of columns.

        Λ(η) = Λ_fixed + Σ_g e^(-2 η_g) Λ_g,        η_g = ln (scale / given scale)

    One group of all columns widens or narrows the given prior as a whole; a group for each column is automatic
    relevance determination; the user may name groups. Outputs share their scales. The prior of the bias is fixed, even
    if it is about x = 0 and so couples the weights (`Penalty.about`).

    Scales are sought between meaningful bounds. The prior standard deviation of a weight, per standard deviation of its
    column, is at most `MAX_SCALE`: such a column turns a probability from 0 to 1 within a thousandth of its spread. It
    is at least `MIN_SCALE_IN_STD` of the narrowest posterior that this number of rows can give, which removes the
    column.

    ``groups`` (P,) is the group of each weight (-1: not tuned), ``labels`` are the names of the G groups; ``fixed`` and
    ``tuned`` are the two parts of the precision at η = 0.
    """

    groups: Codes
    labels: tuple[Any, ...]
    mean: Float
    fixed: Float
    tuned: Float

    def prior(self, eta: Float) -> Penalty:
        """The prior at η."""
        tuned = self._tuned_at(eta)
        if self.fixed.ndim > tuned.ndim:
            tuned = np.diag(tuned)
        return Penalty(self.mean, self.fixed + tuned)

    def gradient(self, eta: Float, slope: Float) -> Float:
        """∂ ln p(D)/∂η (G,) from ∂ ln p(D)/∂Λ, which is (P, P) or its diagonal: ∂Λ/∂η_g = -2 e^(-2 η_g) Λ_g."""
        if self.tuned.ndim == 1:
            each = -2 * self._tuned_at(eta) * (slope if slope.ndim == 1 else np.diag(slope))
        else:
            each = -2 * np.einsum("pq,pq->p", self._tuned_at(eta), slope)
        return self.sums(each)

    def sums(self, each: Float) -> Float:
        """Sums over the weights of each group, (G,)."""
        live = self.groups != FIXED_GROUP
        return bincount(self.groups[live], each[live], len(self.labels))

    def bounds(self, objective: Posterior) -> tuple[Float, Float]:
        """The smallest and the largest η of each group."""
        diagonal = self.tuned if self.tuned.ndim == 1 else np.diag(self.tuned)
        live = self.groups != FIXED_GROUP
        variance = np.zeros(len(diagonal))  # of the prior, per standard deviation of each column
        variance[live] = objective.column_units[live] ** 2 / diagonal[live]
        typical = np.sqrt(self.sums(variance) / self.sums(np.ones(len(diagonal))))
        narrowest = MIN_SCALE_IN_STD * 2 / np.sqrt(objective.units.total)  # curvatures are at most a quarter per row
        return np.log(narrowest / typical), np.log(MAX_SCALE / typical)

    def _tuned_at(self, eta: Float) -> Float:
        widen = np.exp(-2 * np.append(eta, 0.0)[self.groups])  # FIXED_GROUP selects the zero
        return np.asarray(self.tuned * (widen if self.tuned.ndim == 1 else widen[:, None]))


def prior_scales(objective: Posterior, groups: str | Sequence[Any] | None = None) -> PriorScales:
    """Return the scales of an objective's prior that can be tuned; η = 0 is the given prior.

    Parameters
    ----------
    objective : Posterior
        With a proper Gaussian prior that is the same for every output.
    groups : None, "columns" or sequence of M labels
        None for one factor, "columns" for one each, or labels: columns with the same label share a factor.

    Raises
    ------
    DataError
        If the prior is flat, or the groups do not match the columns.
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
        raise DataError(f"groups={groups!r}: choose None, 'columns', or a label for each of {M} columns.")
    if groups is None or isinstance(groups, str):
        labels: tuple[Any, ...] = ("all",) if groups is None else tuple(objective.source.columns[:M])
        codes = np.zeros(M, dtype=np.intp) if groups is None else np.arange(M)
    else:
        labels = tuple(dict.fromkeys(groups))  # in the order of their first columns
        place = {label: g for g, label in enumerate(labels)}
        codes = np.array([place[label] for label in groups], dtype=np.intp)
    if len(codes) != M:
        raise DataError(f"groups has {len(codes)} labels, but there are {M} columns: give one label for each column.")
    if tuned.ndim == 2 and len(labels) > 1:
        raise DataError(
            f"A prior with a full covariance has one scale to tune, and groups= has {len(labels)}. Leave groups=None, "
            "or give a prior with a scale for each column."
        )
    return PriorScales(np.append(codes, np.full(P - M, FIXED_GROUP)), labels, prior.mean, fixed, tuned)


def rescaled(prior: Gaussian, factors: Float) -> Gaussian:
    """Return a prior as a user would write it, with its scales multiplied by a factor for each column (M,).

    >>> rescaled(Gaussian(scale=2.0), np.array([3.0, 3.0]))
    Gaussian(scale=6.0, mean=0.0, covariance=None, intercept_scale=inf)
    """
    if prior.covariance is not None:
        return replace(prior, covariance=np.asarray(prior.covariance) * np.outer(factors, factors))
    scale = np.asarray(prior.scale, dtype=np.float64) * factors
    is_one = len(scale) > 0 and (scale == scale[0]).all()
    return replace(prior, scale=float(scale[0]) if is_one else scale)


def _split_precision(precision: Float, *, has_bias: bool) -> tuple[Float, Float]:
    """The part of Λ that is the prior of the bias, b t t' with b t the last row of Λ, and the rest."""
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
    return fixed, np.diag(tuned).copy() if (off <= DIAGONAL_TOL).all() else tuned


# -- the gradient of the evidence --------------------------------------------------------------------------------


def well_determined(approximation: Approximation, prior: Penalty) -> Float:
    """How much of each of the P weights the data determine, summed over outputs: between 0 and C.

    1 - (Λ A⁻¹)_pp for each output: 1 if the posterior is much narrower than the prior, 0 if it is the prior.
    """
    C, P = approximation.mean.shape
    if prior.precision.ndim == 1:
        return np.asarray(C - prior.precision * row_squares(approximation.factor.root).reshape(C, P).sum(axis=0))
    return np.asarray(C - np.einsum("ij,ij->i", prior.matrix(), approximation.covariance).reshape(C, P).sum(axis=0))


def effective_parameters(approximation: AnyApproximation, prior: Penalty) -> float:
    """γ = CP - tr(Λ A⁻¹), the number of directions of the weights that the data determine.     PRML (3.91)"""
    if isinstance(approximation, Approximation):
        return float(well_determined(approximation, prior).sum())  # Σ λ_i/(λ_i + α) if Λ = α I
    return float(approximation.mean.size - (prior.diagonal * approximation.std**2).sum())


def evidence_slope(objective: Posterior, approximation: Approximation, *, sampled: bool = False) -> Float:
    """Return ∂ ln p(D)/∂Λ of an approximate posterior: the diagonal (P,) if Λ is diagonal, else (P, P).

    For θ ~ N(m0, Λ⁻¹), the same Λ (P, P) for each of C outputs, and an approximate posterior N(m, S) with S = A⁻¹,

        ∂ ln p(D)/∂Λ = ½ [C Λ⁻¹ - Σ_c S_cc - Σ_c d_c d_c'],        d = m - m0

    if ln p(D) is stationary in the parameters of the Gaussian: so are expectation propagation, whose sites may be held
    fixed, and a variational bound. Laplace's Gaussian is at the mode, and ln |A| changes as the mode moves: with
    v = ∂ ln |A|/∂θ and u = S v there is one more term,

        ½ Σ_c ½ (u_c d_c' + d_c u_c')

    v is a sum over rows (`log_det_slope`): one pass; with ``sampled``, over a sample of the rows if there is one. The
    term is about P/N of the whole, and the sample is used for nothing else.
    """
    if approximation.name != "laplace":
        return stationary_slope(objective.prior, approximation)
    posed = objective.of_sample() if sampled and objective.sample is not None else objective
    v = posed.reduce(log_det_slope, theta=approximation.mean, root=approximation.factor.root).grad
    return stationary_slope(objective.prior, approximation, approximation.factor.solve(v))


def stationary_slope(prior: Penalty, approximation: Approximation, u: Float | None = None) -> Float:
    """Return ∂ ln p(D)/∂Λ with the Gaussian held fixed, and with u the term of a moving mode: no pass."""
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


# -- fits --------------------------------------------------------------------------------------------------------


class Fitter(Protocol):
    """A method that approximates a posterior."""

    def fit(self, objective: Posterior, start: Float | None = None, inverse: Factor | None = None) -> Approximation:
        """Return the approximation, from a predicted mean (C, P) and precision if they are known."""


@dataclass(frozen=True)
class FitLaplace:
    """Laplace's approximation: the mode to ``tol``, then one Hessian."""

    tol: float = 1e-8

    def fit(self, objective: Posterior, start: Float | None = None, inverse: Factor | None = None) -> Approximation:
        """Minimise with `Auto`, or with L-BFGS if Hessians are expensive, one is predicted, and it converges.

        If Hessians are cheap, Newton's steps do not depend on how earlier sums were rounded; L-BFGS, with a wide prior
        that leaves a direction almost free, would turn that rounding into 1e-6 nats.
        """
        mode, steps = np.zeros(objective.shape) if start is None else start, 0
        if inverse is not None and inverse.singular is None and not has_cheap_hessian(objective):
            near = LBFGS(self.tol, MAX_GUESS_STEPS).minimise(objective, mode, inverse=inverse)
            if near.is_converged:
                return laplace(objective, near.value, steps=near.steps)
            mode, steps = near.value, near.steps
        solution = Auto(self.tol).minimise(objective, mode)
        return laplace(objective, solution.value, steps=steps + solution.steps)


@dataclass(frozen=True)
class FitEP:
    """Expectation propagation, from Laplace's mode or from a predicted fixed point."""

    tol: float = 1e-8

    def fit(self, objective: Posterior, start: Float | None = None, inverse: Factor | None = None) -> Approximation:
        """Return the fixed point, or Laplace's Gaussian if the iteration does not converge."""
        if start is not None and inverse is not None and inverse.singular is None:  # the mode is not needed
            near = Approximation(start, inverse, np.nan, np.nan, "guess")
            found = expectation_propagation(objective, near, tol=EP_TOL_IN_STD, corrected=False)
            if found.is_converged:
                return found
        first = FitLaplace(self.tol).fit(objective, start, inverse)
        found = expectation_propagation(objective, first, tol=EP_TOL_IN_STD, corrected=False)
        return found if found.is_converged else first


# -- coordinates for one scale -----------------------------------------------------------------------------------


class Rotated(NamedTuple):
    """The same posterior in r coordinates, under a prior of unit precision, and the map back to θ (C, P)."""

    objective: Posterior
    back: Callable[[Float], Float]


def is_rotatable(objective: Posterior, scales: PriorScales) -> bool:
    """Whether one scale of an uncorrelated prior with mean 0 is tuned, with few enough rows and enough columns."""
    N, M = objective.source.n_rows, len(objective.design.origin)
    is_simple = len(scales.labels) == 1 and scales.tuned.ndim == 1 and not scales.mean.any()
    few_rows = N * M <= MAX_ROTATED_NUMBERS and N <= MAX_ROWS_PER_COLUMN * M
    return is_simple and M >= MIN_ROTATED_COLUMNS and few_rows and min(N, M) <= MAX_DECOMPOSED


def rotate(objective: Posterior, scales: PriorScales, *, widest: float) -> Rotated:
    """Return the posterior in the directions that matter for scales up to ``widest`` times that of the prior.

    With weights w ~ N(0, s² Λ⁻¹) the activations depend on ω = Λ^½ w ~ N(0, s² I) through rows z = Λ^-½ x. A rotation
    of ω changes neither prior nor evidence, so any L with L L' = Z Z' may replace Z; directions orthogonal to all rows
    keep their prior and add nothing. So r columns are left of M: with many rows, L = Z V for the eigenvectors V of Z'Z;
    with few, L is the Cholesky factor of Z Z' with pivoting. One decomposition serves every scale s. Rows of smooth
    functions, such as an RBF on every row, have r far below M.

    Directions below rounding error are dropped too. A dropped direction loses s² times as much of the prior variance of
    the activations, so the limit depends on the widest scale.
    """
    rows = collect_sample(objective.source, objective.source.n_rows).as_block()
    M, bias = len(objective.design.origin), objective.design.bias
    shift = np.zeros(M)
    if scales.fixed.ndim == 2 and bias:  # the prior of the bias is about another origin: a = w'(x - c - shift) + b
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
    units = Units.of(source, fit_intercept=bias)
    return Rotated(Posterior(source, objective.likelihood, prior, design, units), back)


def _row_directions(Z: Float, widest: float) -> tuple[Float, Callable[[Float], Float]]:
    """L (N, r) with L L' = Z Z', and the map of weights of L to weights of Z, by a pivoted Cholesky factor of Z Z'.

    With p the rows that it chose, L_p is triangular, and Z_p' L_p'⁻¹ V has the activations and the length of V.
    """
    K = Z @ Z.T
    tol = max(EIGENVALUE_ROUNDING * len(K) * float(np.diag(K).max()), NEGLIGIBLE_VARIANCE / widest**2 / len(K))
    C, pivot, rank, _ = linalg.lapack.dpstrf(K, lower=1, tol=tol)
    if rank == 0:  # columns of zeros: one direction without effect
        return np.zeros((len(Z), 1)), lambda V: np.zeros((len(V), Z.shape[1]))
    order = pivot - 1
    L = np.empty((len(K), rank))
    L[order] = np.tril(C[:, :rank])
    chosen = order[:rank]

    def lift(V: Float) -> Float:
        return np.asarray(linalg.solve_triangular(L[chosen], V.T, lower=True, trans="T").T @ Z[chosen])

    return L, lift
