# SPDX-License-Identifier: BSD-3-Clause
"""Maximum likelihood of a generalised linear model: Newton's method on half the deviance.

    E(θ) = ½ Σ_n weight_n d(t_n, μ(θ φ̃_n)) + ½ alpha |w|²

    θ        minimises E; one pass over the rows for each step
    I        = Σ_n weight_n μ'²/V φ̃ φ̃', Fisher's information, and
    φ        = X²/(N - γ) with Pearson's X² = Σ_n weight_n (t - μ)²/V, or 1 where the response has no dispersion
    cov θ    = φ (I + alpha Λ)⁻¹,      γ = tr (I + alpha Λ)⁻¹ I, the effective number of coefficients

All of these come from one more pass. The model of a mean alone needs no pass: it is a function of targets and offsets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy import linalg

from separatrix._array import Float
from separatrix._linalg import SingularError, cholesky_of_correlation
from separatrix._threads import single_thread_blas
from separatrix.discriminative.null_model import NullModel, fit_null
from separatrix.discriminative.targets import Targets
from separatrix.discriminative.vanishing import require_positive_means
from separatrix.exceptions import CollinearError, ConvergenceWarning, DataError, warn
from separatrix.likelihoods import MeanLikelihood, NormalIdentity
from separatrix.priors import Flat, Gaussian
from separatrix.rows import Block, Source
from separatrix.separation import Support, check_separation
from separatrix.solvers import Newton, Posterior, Solution, pose
from separatrix.stats import Design

__all__ = ["GLMFit", "Goodness", "collect_goodness", "fit_glm", "warn_if_separable", "warn_if_unfinished"]

INTERCEPT = "intercept"
MOST_COLUMNS = 10_000  # 0.8 GB for each matrix of all pairs
SEPARABLE = ("bernoulli", "binomial", "poisson")  # responses with a target that an infinite activation fits best


@dataclass(frozen=True, eq=False, slots=True)
class Goodness:
    """How well the rows are fitted: Σ d, Σ (t - μ)²/V, and the information (P, P)."""

    deviance: float
    pearson: float
    information: Float

    def __add__(self, other: Goodness) -> Goodness:
        return Goodness(
            self.deviance + other.deviance, self.pearson + other.pearson, self.information + other.information
        )


def goodness(block: Block, theta: Float, likelihood: MeanLikelihood, design: Design) -> Goodness:
    """Deviance, Pearson's statistic and information of one block."""
    with np.errstate(over="ignore", invalid="ignore"):
        a = design.activate(block, theta)
        log_p, slope, _ = likelihood.derivatives(a, block.targets)
        expected = likelihood.expected_curvature(a)
        # slope = (t - μ) μ'/V and the information is μ'²/V: no 1 - μ, which has no digits left in the tails
        squared = np.divide(slope**2, expected, out=np.zeros(len(a)), where=expected > 0)
    weight = np.ones(len(a)) if block.weight is None else block.weight
    counted = weight > 0
    return Goodness(
        -2.0 * float(log_p[counted] @ weight[counted]),
        float(squared @ weight),
        design.gram(block, weight * expected),
    )


def collect_goodness(posterior: Posterior, theta: Float) -> Goodness:
    """One pass."""
    likelihood: MeanLikelihood = posterior.likelihood  # type: ignore[assignment]  # `fit_glm` put it there
    return posterior.source.reduce(partial(goodness, theta=theta, likelihood=likelihood, design=posterior.design))


@dataclass(frozen=True, eq=False)
class GLMFit:
    """A fitted model with the rows it was fitted to; θ is (1, P), about the means of the columns."""

    posterior: Posterior
    likelihood: MeanLikelihood
    targets: Targets
    solver: Newton
    solution: Solution[Float]
    null: NullModel

    @property
    def theta(self) -> Float:
        """The coefficients that were found."""
        return self.solution.value

    @property
    def names(self) -> tuple[str, ...]:
        """Of the P coefficients."""
        return self.posterior.source.columns + (INTERCEPT,) * self.posterior.design.bias

    @cached_property
    def goodness(self) -> Goodness:
        """At θ."""
        return collect_goodness(self.posterior, self.theta)

    @cached_property
    def unscaled_covariance(self) -> Float:
        """(I + alpha Λ)⁻¹ about the means of the columns; `CollinearError` where there is none."""
        return inverse(self.goodness.information, self)

    @property
    def n_effective(self) -> float:
        """γ."""
        return float(np.vdot(self.unscaled_covariance, self.goodness.information))

    @property
    def degrees_of_freedom(self) -> float:
        """N - γ, what is left for the dispersion."""
        return self.targets.n_observations - self.n_effective

    @property
    def dispersion(self) -> float:
        """φ; not a number where no rows are left to estimate it."""
        return self.dispersion_of(self.goodness.pearson, self.degrees_of_freedom)

    def dispersion_of(self, pearson: float, degrees_of_freedom: float) -> float:
        """φ from Pearson's statistic."""
        if not self.likelihood.response.has_dispersion:
            return 1.0
        return pearson / degrees_of_freedom if degrees_of_freedom > 1e-9 * self.targets.n_observations else np.nan

    @property
    def to_user_units(self) -> Float:
        """J with (w, w0) = J θ."""
        design = self.posterior.design
        J = np.eye(design.width)
        if design.bias:
            J[-1, :-1] = -design.origin
        return J

    @property
    def coefficients(self) -> Float:
        """(w, w0)."""
        return np.asarray(self.to_user_units @ self.theta[0])

    def of_user_units(self, w: Float) -> Float:
        """θ of (w, w0)."""
        M = len(self.posterior.design.origin)
        return self.posterior.design.of_user_units(w[None, :M], w[M:])

    @cached_property
    def user_covariance(self) -> Float:
        """Of (w, w0), over the dispersion."""
        J = self.to_user_units
        return np.asarray(J @ self.unscaled_covariance @ J.T)

    @property
    def log_likelihood(self) -> float:
        """Σ ln p(t | μ, φ); for a normal response φ is the maximum likelihood one, as is usual."""
        N, deviance = self.targets.n_observations, self.goodness.deviance
        phi = deviance / N if isinstance(self.likelihood, NormalIdentity) else self.dispersion
        at_mean = self.targets.sum(self.likelihood.response.saturated(self.targets.t, phi, self.targets.trials))
        return at_mean - 0.5 * (deviance / phi if phi > 0 else N)


def fit_glm(
    source: Source,
    targets: Targets,
    likelihood: MeanLikelihood,
    *,
    alpha: float = 0.0,
    fit_intercept: bool = True,
    solver: Newton,
) -> GLMFit:
    """Fit on a source that carries the targets, their weights and offsets."""
    _require_few_columns(len(source.columns))
    prior = Gaussian(scale=alpha**-0.5) if alpha > 0 else Flat()
    posterior = pose(source, likelihood, prior, fit_intercept=fit_intercept)
    null = fit_null(likelihood, targets)
    scaled = replace(solver, tol=solver.tol * null.slope_scale)  # a gradient has the units of slopes
    solution = scaled.minimise(posterior, _start(posterior, null))
    return GLMFit(posterior, likelihood, targets, scaled, solution, null)


def _require_few_columns(M: int) -> None:
    if M > MOST_COLUMNS:
        raise DataError(
            f"GeneralizedLinearModel keeps the covariance of all coefficients: of {M} columns that is a matrix of "
            f"{8e-9 * M**2:.2g} GB, and fitting takes several. Drop or combine columns, to {MOST_COLUMNS} at most; for "
            "two classes, LogisticRegression(alpha=...) has no standard errors and needs no such matrix."
        )


def inverse(information: Float, fit: GLMFit) -> Float:
    """(information + alpha Λ)⁻¹, or `CollinearError` naming the columns at fault."""
    posterior = fit.posterior
    H = posterior.prior.add_to(information.copy())
    flat = np.flatnonzero((posterior.units.spread == 0) & posterior.prior.free[: len(posterior.units.spread)])
    try:
        if len(flat):  # what is left of it after centring is rounding, which no factor can tell from a column
            raise SingularError(flat.tolist(), {})
        with single_thread_blas():
            scale, L = cholesky_of_correlation(H)
            identity = np.eye(len(H))
            return np.asarray(linalg.cho_solve((L, True), identity) / np.outer(scale, scale))
    except SingularError as singular:
        N, P = posterior.source.n_rows, len(H)
        few = f" There are {P} coefficients, and n_samples = {N}." if N <= P else ""
        raise CollinearError(
            f"Collinear columns: {singular.describe(fit.names)}.{few} Coefficients and standard errors are not unique. "
            "Drop those columns, or set alpha > 0."
        ) from None


def _start(posterior: Posterior, null: NullModel) -> Float:
    """The null model; without an intercept, a least squares fit to the activations that the targets point at."""
    theta = np.zeros(posterior.shape)
    if posterior.design.bias:
        theta[0, -1] = null.activation
        return theta
    statistic = partial(_normal_equations, z=null.working_response, design=posterior.design)
    here = posterior.source.reduce(statistic)
    with single_thread_blas():
        theta = np.asarray(linalg.lstsq(posterior.prior.add_to(here.information), here.projection)[0])[None]
    if not np.isfinite(posterior.value_grad(theta).value):
        raise DataError(
            f"No start was found without an intercept: link={null.likelihood.link!r} needs every activation to be "
            "positive. Set fit_intercept=True, or use link='log'."
        )
    return theta


@dataclass(frozen=True, eq=False, slots=True)
class _NormalEquations:
    information: Float
    projection: Float

    def __add__(self, other: _NormalEquations) -> _NormalEquations:
        return _NormalEquations(self.information + other.information, self.projection + other.projection)


def _normal_equations(block: Block, z: Float, design: Design) -> _NormalEquations:
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return _NormalEquations(design.gram(block, weight), design.collect(block, weight * z[np.asarray(block.row)])[0])


def warn_if_separable(fit: GLMFit) -> None:
    """Say so where a hyperplane separates classes or shares, or zero counts, and the likelihood has no maximum.

    Of a normal response with a log link, `DataError`: its best mean is one that the link does not have.
    """
    require_positive_means(fit.posterior, fit.theta, fit.targets.t)
    name = fit.likelihood.response.name
    if name in SEPARABLE and fit.posterior.prior.free.all():
        is_code = fit.targets.t.dtype.kind != "f"
        support = None if is_code else Support(is_count=name == "poisson")
        check_separation(fit.posterior, fit.solution, n_classes=2, support=support)


def warn_if_unfinished(fit: GLMFit) -> None:
    """Say how far a fit got, and what to do."""
    if fit.solution.is_converged:
        return
    size = fit.posterior.gradient_size(fit.posterior.value_grad(fit.theta).grad)
    warn(
        f"{fit.solution.status.value} ({fit.solution.steps}): the gradient is still {size:.1e} per row, and the "
        f"tolerance is {fit.solver.tol:.1e}. Raise max_steps, set alpha > 0, or look for columns that determine the "
        "targets; without a finite maximum no number of steps is enough.",
        ConvergenceWarning,
    )
