# SPDX-License-Identifier: BSD-3-Clause
"""Maximum likelihood of a generalised linear model, by Newton's method on half the deviance.

    E(θ) = ½ Σ_n weight_n d(t_n, μ(θ φ̃_n)) + ½ alpha |w|²

    θ        minimises E; each step takes one pass over the rows
    I        = Σ_n weight_n μ'²/V φ̃ φ̃', Fisher's information, and
    φ        = X²/(N - γ) with Pearson's X² = Σ_n weight_n (t - μ)²/V, or 1 if the response has no dispersion
    cov θ    = φ (I + alpha Λ)⁻¹,      γ = tr (I + alpha Λ)⁻¹ I, the effective number of coefficients

I, φ and cov θ take one more pass. The null model a_n = b + offset_n is the start of a fit, and its deviance is the
reference for that of the fit. It depends only on targets and offsets, so it takes no pass.

**Existence of a maximum.** Classes, fractions and zero counts can be separated by a hyperplane (`separation`). The
likelihood of a normal model with a log link, E = ½ Σ_n weight_n (t_n - e^{a_n})², has no maximum if the best mean of
some rows is zero or less. Along a direction d with d'φ̃_n <= 0 for all rows, the means of the rows S with d'φ̃_n < 0
tend to zero, and other means do not change. If

    Σ_{n in S} weight_n (2 t_n μ_n - μ_n²) <= 0,

the limit of E is no higher than E, and the weights grow without limit. S is searched first among rows whose target is
not positive, then also among rows whose fitted mean is small. If all targets are positive, a maximum exists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.validation import column_or_1d

from separatrix._array import Array, Codes, Float
from separatrix._linalg import (
    SINGULAR_PER_COLUMN,
    SingularError,
    cholesky_of_correlation,
    dependent_columns,
    root_of,
)
from separatrix._text import counted
from separatrix._threads import single_thread_blas
from separatrix.discriminative.maximum import INTERCEPT
from separatrix.exceptions import CollinearError, ConvergenceWarning, DataError, warn
from separatrix.likelihoods import MAX_TARGET, MeanLikelihood, NormalIdentity, NormalLog
from separatrix.priors import Flat, Gaussian
from separatrix.rows import NOT_NUMBERS, Block, Source, Summed, check_weight, in_memory, to_numbers
from separatrix.separation import Separability, Support, check_separation, separability
from separatrix.solvers import Newton, Posterior, Solution, pose
from separatrix.stats import Design, Tally

MAX_COLUMNS = 10_000  # a covariance matrix of 0.8 GB
SEPARABLE = ("bernoulli", "binomial", "poisson")  # responses for which an infinite activation can fit a target best
SMALL_MEAN = 1e-2  # relative to the root mean square target; smaller means may tend to zero
MAX_ON_PLANE = 1e-9  # relative to the change by one standard deviation of all columns; rows below it lie on the plane


@dataclass(frozen=True, eq=False, slots=True)
class Targets:
    """Targets t (N,), and the frequency weight, number of trials, offset and precision of each row.

    None is 1, for the offset 0. A frequency weight of k equals k copies of the row. A fraction of n binomial trials has
    the weight n in the likelihood, but is one observation; so is a row whose variance is divided by its precision.
    """

    t: Array
    count: Float | None = None
    trials: Float | None = None
    offset: Float | None = None
    precision: Float | None = None

    def weighted_by(self, weights: str) -> Targets:
        """Return the same targets with the frequency weights as precisions, unless ``weights`` is "frequency"."""
        return self if weights == "frequency" else replace(self, count=None, precision=self.count)

    @property
    def weight(self) -> Float | None:
        """Weight of each row in the likelihood: the product of count, trials and precision."""
        factors = [each for each in (self.count, self.trials, self.precision) if each is not None]
        return np.asarray(np.prod(factors, axis=0)) if factors else None

    @property
    def n_observations(self) -> float:
        """Number of observations N, without rows that have no trials or no precision."""
        parts = [each > 0 for each in (self.trials, self.precision) if each is not None]
        return self.sum(np.logical_and.reduce(parts).astype(np.float64) if parts else np.ones(len(self.t)))

    def average(self, values: Array) -> float:
        """Weighted mean of one value per row."""
        return float(np.average(values, weights=self.weight))

    def sum(self, values: Array) -> float:
        """Σ over observations."""
        return float(values.sum() if self.count is None else weighted_total(values, self.count))

    def weighted_sum(self, values: Array) -> float:
        """Σ over observations, each weighted by its trials."""
        return float(values.sum() if self.weight is None else weighted_total(values, self.weight))


def weighted_total(values: Array, weight: Float) -> Float:
    """Σ weight v. A row of weight 0 adds nothing, even if its value is infinite, as for a dispersion of 0."""
    return np.asarray(np.where(weight > 0, values, 0.0) @ weight)


def open_targets(
    y: Any,
    likelihood: MeanLikelihood,
    n_rows: int,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
) -> Targets:
    """Check targets, weights, offsets and exposures; a `DataError` names the row and the invalid value.

    For a binomial model, y may have two columns: successes and failures.
    """
    y, sample_weight, offset, exposure = in_memory(y, sample_weight, offset, exposure)
    count, trials = check_weight(sample_weight, n_rows), None
    if count is not None and not count.any():
        raise DataError("Every sample_weight is zero; at least one row needs a positive weight.")
    if y is None:
        raise ValueError("This regressor requires y to be passed, but the target y is None.")
    try:
        t = to_numbers(y)
    except NOT_NUMBERS as error:
        remedy = "Code the classes as 0 and 1, such as y == 'yes', or use LogisticRegression(alpha=0) for labels."
        other = "Convert them, or use a classifier for labels."
        is_binary = likelihood.response.name == "bernoulli"
        raise DataError(f"y must contain numbers ({error}). {remedy if is_binary else other}") from error
    _require_finite("Input y", t)
    is_binomial = likelihood.response.name == "binomial"
    if is_binomial and t.ndim == 2 and t.shape[1] == 2:
        t, trials = _fractions(t)
    elif is_binomial:
        count, trials = None, count
    t = np.asarray(column_or_1d(t, warn=True))
    if len(t) != n_rows:
        raise DataError(
            f"X has {counted(n_rows, 'row')} but y has {counted(len(t), 'target')}; their lengths must be equal."
        )
    likelihood.response.check_targets(t)
    if likelihood.response.name in ("bernoulli", "binomial") and np.isin(t, (0.0, 1.0)).all():
        t = t.astype(np.intp)  # for codes, the likelihood is precise for any activation
    known = per_row("offset", offset, n_rows)
    factor = per_row("exposure", exposure, n_rows)
    if factor is not None:
        if likelihood.link != "log":
            raise ValueError(
                f"exposure multiplies the mean, which needs a log link, not {likelihood.link!r}. Use offset."
            )
        if not (factor > 0).all():
            row = int(np.flatnonzero(~(factor > 0))[0])
            raise DataError(
                f"exposure is {factor[row]:g} in row {row + 1} (counted from 1); exposures must be positive. Drop "
                "rows without exposure."
            )
        known = np.log(factor) if known is None else known + np.log(factor)
    return Targets(t, count, trials, known)


def _fractions(counts: Array) -> tuple[Array, Float]:
    """Fractions of successes and numbers of trials, from columns of successes and failures (N, 2)."""
    wrong = np.flatnonzero(((counts < 0) | (counts > MAX_TARGET)).any(axis=1))
    if len(wrong):
        raise DataError(
            f"y is {counts[wrong[0]].tolist()} in row {wrong[0] + 1} (counted from 1); successes and failures must not "
            f"be negative, nor greater than {MAX_TARGET:g}."
        )
    trials = counts.sum(axis=1)
    if not trials.any():
        raise DataError("y has no trials: every row has 0 successes and 0 failures.")
    return counts[:, 0] / np.where(trials > 0, trials, 1.0), trials


def per_row(name: str, given: Any, n_rows: int) -> Float | None:
    """An argument with a number for each row, or one for all rows, as float64."""
    if given is None:
        return None
    if isinstance(given, str):
        raise DataError(f"{name}={given!r} is a name. Pass the values of the column, such as table[{given!r}].")
    try:
        values = to_numbers(given)
    except NOT_NUMBERS as error:
        raise DataError(f"{name} is not numeric ({error}). Pass one number for each row of X.") from error
    if values.ndim == 0:
        values = np.full(n_rows, float(values))
    if values.shape != (n_rows,):
        raise DataError(f"{name}.shape == {values.shape}, expected {(n_rows,)}: one {name} for each row of X.")
    _require_finite(name, values)
    return values


def _require_finite(what: str, values: Float) -> None:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        row, value = wrong[0][0] + 1, values[tuple(wrong[0])]
        kind = "NaN" if np.isnan(value) else "infinity or a value too large for dtype('float64')"
        raise DataError(f"{what} contains {kind} in row {row} (counted from 1), the first of {len(wrong)} such values.")


@dataclass(frozen=True, eq=False, slots=True)
class NullModel:
    """The null model a_n = b + offset_n."""

    likelihood: MeanLikelihood
    targets: Targets
    activation: float

    @property
    def activations(self) -> Float:
        """a_n = b + offset_n."""
        known = self.targets.offset
        return np.full(len(self.targets.t), self.activation) if known is None else self.activation + known

    @property
    def deviance(self) -> float:
        """Σ d."""
        log_p = self.likelihood.derivatives(self.activations, self.targets.t).log_p
        return -2.0 * self.targets.weighted_sum(log_p)

    @property
    def slope_scale(self) -> float:
        """Root mean square slope, which is the scale of the gradient per row."""
        t = self.targets.t
        scale = float(np.sqrt(self.targets.average(self.likelihood.derivatives(self.activations, t).slope ** 2)))
        rounding = float(np.finfo(np.float64).eps * np.sqrt(np.average(np.square(t, dtype=np.float64))))
        return max(scale, rounding) or 1.0


def fit_null(likelihood: MeanLikelihood, targets: Targets) -> NullModel:
    """Fit the null model: b is the link of the mean or, with offsets, found by Newton's method.

    Raises `DataError` if no finite activation has this mean.
    """
    mean = targets.average(targets.t)
    likelihood.response.check_mean(mean)
    if likelihood.link == "log" and mean <= 0:
        raise DataError(f"The mean of y is {mean:g}, but means are positive with a log link. Use link='identity'.")
    b = float(likelihood.activation(np.array([mean]))[0])
    if targets.offset is None:
        return NullModel(likelihood, targets, b)
    # Start: for the inverse link all activations must be positive; for other links the mean offset is enough.
    b -= float(targets.offset.min() if likelihood.link == "inverse" else targets.average(targets.offset))
    for _ in range(100):
        here = NullModel(likelihood, targets, b)
        a, deviance = here.activations, here.deviance
        slope = targets.weighted_sum(likelihood.derivatives(a, targets.t).slope)
        step = slope / targets.weighted_sum(likelihood.safe_curvature(a, targets.t))
        for _ in range(60):  # halve the step until the deviance does not rise
            if NullModel(likelihood, targets, b + step).deviance <= deviance:
                break
            step /= 2
        else:
            step = 0.0
        b += step
        if abs(step) <= 1e-12 * max(1.0, abs(b)):
            break
    return NullModel(likelihood, targets, b)


def null_deviance(likelihood: MeanLikelihood, targets: Targets) -> float:
    """Σ d of the null model; a limit if no finite activation has the mean."""
    if targets.offset is not None:
        try:
            return fit_null(likelihood, targets).deviance
        except DataError:
            pass
    mean = np.full(len(targets.t), targets.average(targets.t))
    return targets.weighted_sum(likelihood.response.deviance(targets.t, mean))


@dataclass(frozen=True, eq=False, slots=True)
class Goodness(Summed):
    """Deviance Σ d, Pearson's statistic Σ (t - μ)²/V, and the information (P, P)."""

    deviance: float
    pearson: float
    information: Float


def goodness(block: Block, theta: Float, likelihood: MeanLikelihood, design: Design) -> Goodness:
    """Deviance, Pearson's statistic and information of one block."""
    with np.errstate(over="ignore", invalid="ignore"):
        a = design.activate(block, theta)
        log_p, slope, _ = likelihood.derivatives(a, block.targets)
        expected = likelihood.expected_curvature(a)
        # slope²/information = (t - μ)²/V, without 1 - μ, which cancels in the tails
        squared = np.divide(slope**2, expected, out=np.zeros(len(a)), where=expected > 0)
    weight = np.ones(len(a)) if block.weight is None else block.weight
    counted = weight > 0
    return Goodness(
        -2.0 * float(log_p[counted] @ weight[counted]),
        float(squared @ weight),
        design.gram(block, weight * expected),
    )


@dataclass(frozen=True, eq=False)
class GLMFit:
    """A fitted model with its training rows. θ is (1, P), and its bias is at the means of the columns."""

    posterior: Posterior
    likelihood: MeanLikelihood
    targets: Targets
    solver: Newton
    solution: Solution[Float]
    null: NullModel
    aliased: SingularError | None = None  # columns without a coefficient, because others determine them
    is_quasi: bool = False  # whether the dispersion is estimated although the response has none

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the P coefficients."""
        return self.posterior.source.columns + (INTERCEPT,) * self.posterior.design.bias

    @property
    def support(self) -> Support | None:
        """Labels that the targets stand for in checks of separation; None if they are class codes."""
        is_code = self.targets.t.dtype.kind != "f"
        return None if is_code else Support(is_count=self.likelihood.response.name == "poisson")

    @cached_property
    def goodness(self) -> Goodness:
        """Goodness of fit at θ."""
        return self.goodness_at(self.solution.value)

    def goodness_at(self, theta: Float) -> Goodness:
        """Goodness of fit at any θ, in one pass."""
        statistic = partial(goodness, theta=theta, likelihood=self.likelihood, design=self.posterior.design)
        return self.posterior.source.reduce(statistic)

    @cached_property
    def unscaled_covariance(self) -> Float:
        """(I + alpha Λ)⁻¹, the covariance of θ divided by the dispersion."""
        return self.inverse(self.goodness.information)

    def inverse(self, information: Float) -> Float:
        """(information + alpha Λ)⁻¹; raises a `CollinearError` that names the columns if the sum is singular."""
        posterior = self.posterior
        H = posterior.prior.add_to(information.copy())
        flat = np.flatnonzero((posterior.units.spread == 0) & posterior.prior.free[: len(posterior.units.spread)])
        try:
            if len(flat):  # a centred constant column is rounding error, which Cholesky cannot detect
                raise SingularError(flat.tolist(), {})
            with single_thread_blas():
                scale, L = cholesky_of_correlation(H)
                return np.asarray(linalg.cho_solve((L, True), np.eye(len(H))) / np.outer(scale, scale))
        except SingularError as singular:
            N, P = posterior.source.n_rows, len(H)
            few = f" There are {P} coefficients, and n_samples = {N}." if N <= P else ""
            raise CollinearError(
                f"Collinear columns: {singular.describe(self.names)}.{few} Coefficients and standard errors are not "
                "unique. Drop those columns, or set alpha > 0."
            ) from None

    def dependent_columns(self) -> SingularError:
        """Columns that are constant or combinations of earlier columns in the rows of positive weight, in one pass."""
        posterior = self.posterior
        M = len(posterior.design.origin)
        A = posterior.source.reduce(partial(products, design=posterior.design)).count[:M, :M]
        A = A * np.outer(posterior.units.spread > 0, posterior.units.spread > 0)
        smallest = SINGULAR_PER_COLUMN * M
        return dependent_columns(root_of(A, smallest), smallest)

    @property
    def n_effective(self) -> float:
        """Effective number of coefficients γ; without a penalty, their number P."""
        if self.posterior.prior.free.all():
            return float(self.posterior.design.width)
        return float(np.vdot(self.unscaled_covariance, self.goodness.information))

    @property
    def degrees_of_freedom(self) -> float:
        """N - γ."""
        return self.targets.n_observations - self.n_effective

    @property
    def dispersion(self) -> float:
        """Dispersion φ; NaN if no degrees of freedom are left to estimate it."""
        return self.dispersion_of(self.goodness.pearson, self.degrees_of_freedom)

    def dispersion_of(self, pearson: float, degrees_of_freedom: float) -> float:
        """Dispersion φ from Pearson's statistic."""
        if not (self.is_quasi or self.likelihood.response.has_dispersion):
            return 1.0
        return pearson / degrees_of_freedom if degrees_of_freedom > 1e-9 * self.targets.n_observations else np.nan

    @property
    def coefficients(self) -> Float:
        """Coefficients (w, w0) in the user's units."""
        coef, intercept = self.posterior.design.in_user_units(self.solution.value)
        return np.append(coef[0], intercept)[: self.posterior.design.width]

    @cached_property
    def user_covariance(self) -> Float:
        """Covariance of (w, w0) divided by the dispersion: J cov(θ) J', (w, w0) = J θ."""
        design = self.posterior.design
        J = np.eye(design.width)
        if design.bias:
            J[-1, :-1] = -design.origin
        return np.asarray(J @ self.unscaled_covariance @ J.T)

    @property
    def log_likelihood(self) -> float:
        """Σ ln p(t | μ, φ); for a normal response, φ is its maximum-likelihood estimate."""
        N, deviance = self.targets.n_observations, self.goodness.deviance
        if self.is_quasi:
            return np.nan
        phi = deviance / N if isinstance(self.likelihood, NormalIdentity | NormalLog) else self.dispersion
        targets, saturated = self.targets, self.likelihood.response.saturated
        if targets.precision is None:
            at_mean = targets.sum(saturated(targets.t, phi, targets.trials))
        elif self.likelihood.response.has_dispersion:  # the variance of a row is divided by its precision
            known = targets.precision > 0
            at_mean = float(saturated(targets.t[known], phi / targets.precision[known]).sum())
        else:
            at_mean = targets.weighted_sum(saturated(targets.t, phi))
        return at_mean - 0.5 * (deviance / phi if phi > 0 else N)


def fit_glm(
    source: Source, targets: Targets, likelihood: MeanLikelihood, *, alpha: float, fit_intercept: bool, solver: Newton
) -> GLMFit:
    """Fit to a source that contains the targets, weights and offsets.

    Columns that are constant or combinations of earlier columns are left out of the fit; see ``aliased``.
    """
    M = len(source.columns)
    if M > MAX_COLUMNS:
        raise DataError(
            f"GeneralizedLinearModel keeps the covariance of all coefficients: for {M} columns that is a matrix of "
            f"{8e-9 * M**2:.2g} GB, and fitting needs several. Drop or combine columns until at most {MAX_COLUMNS} "
            "remain. For two classes you can also use LogisticRegression(alpha=...), which computes no standard errors "
            "and needs no such matrix."
        )
    prior = Gaussian(scale=alpha**-0.5) if alpha > 0 else Flat()
    posterior = pose(source, likelihood, prior, fit_intercept=fit_intercept)
    null = fit_null(likelihood, targets)
    scaled = replace(solver, tol=solver.tol * null.slope_scale)  # the tolerance must have the units of the gradient
    solution = scaled.minimise(posterior, _start(posterior, null))
    fit = GLMFit(posterior, likelihood, targets, scaled, solution, null)
    if posterior.prior.free.all():
        try:
            _ = fit.unscaled_covariance
        except CollinearError:
            aliased = fit.dependent_columns()
            kept = np.setdiff1d(np.arange(M), aliased.dropped)
            if not aliased.dropped or len(kept) + fit_intercept == 0:
                return fit  # the covariance will be an error, after a check whether a maximum exists
            narrow = source.viewed(partial(select_columns, columns=kept), tuple(source.columns[j] for j in kept))
            fit = fit_glm(narrow, targets, likelihood, alpha=alpha, fit_intercept=fit_intercept, solver=solver)
            return replace(fit, aliased=aliased)
    return fit


def select_columns(block: Block, columns: Codes) -> Block:
    """Keep some columns."""
    return replace(block, X=block.X[:, columns])


def products(block: Block, design: Design) -> Tally:
    """Σ_n weight_n φ̃_n φ̃_n' of one block."""
    return Tally(design.gram(block, np.ones(len(block)) if block.weight is None else block.weight))


def _start(posterior: Posterior, null: NullModel) -> Float:
    """Start of the fit: the null model; without an intercept, a least-squares fit to a working response.

    The working response is the activation of means half way between the targets and their mean, where the link is
    finite.
    """
    theta = np.zeros(posterior.shape)
    if posterior.design.bias:
        theta[0, -1] = null.activation
        return theta
    t, offset = null.targets.t, null.targets.offset
    mean = null.targets.average(t)
    middle = 0.5 * (t + mean)
    if null.likelihood.link == "log":  # targets of a normal response may be negative
        middle = np.maximum(middle, 0.1 * mean)
    z = null.likelihood.activation(middle) - (0.0 if offset is None else offset)
    rows = posterior.source.viewed(lambda block: replace(block, t=z[np.asarray(block.row)], offset=None))
    here = replace(posterior, source=rows, likelihood=NormalIdentity()).value_grad_hess(theta)
    with single_thread_blas():
        theta = -np.asarray(linalg.lstsq(here.hess, here.grad[0])[0])[None]
    if not np.isfinite(posterior.value_grad(theta).value):
        raise DataError(
            f"No start was found without an intercept: link={null.likelihood.link!r} needs positive activations. Set "
            "fit_intercept=True, or use link='log'."
        )
    return theta


def check_maximum(fit: GLMFit) -> Separability | None:
    """Warn if the likelihood has no maximum or the solver did not converge; return whether the rows are separable.

    For a normal response with a log link, raise `DataError` if there is no maximum.
    """
    theta, name, found = fit.solution.value, fit.likelihood.response.name, None
    require_positive_means(fit.posterior, theta, fit.targets.t)
    if name in SEPARABLE:
        found = check_separation(fit.posterior, fit.solution, n_classes=2, support=fit.support)
    if not fit.solution.is_converged:
        size = fit.posterior.gradient_size(fit.posterior.value_grad(theta).grad)
        warn(
            f"{fit.solution.status.value} ({fit.solution.steps}): the gradient is still {size:.1e} per row, and the "
            f"tolerance is {fit.solver.tol:.1e}. Raise max_steps, set alpha > 0, or look for columns that determine "
            "the targets; if the maximum does not exist, no number of steps is enough.",
            ConvergenceWarning,
        )
    return found


def require_positive_means(posterior: Posterior, theta: Float, targets: Array) -> None:
    """Raise `DataError` if the means of some rows tend to zero, for a normal model with a log link."""
    if not (isinstance(posterior.likelihood, NormalLog) and posterior.prior.free.all() and (targets <= 0).any()):
        return
    for small in (0.0, SMALL_MEAN * float(np.sqrt(np.mean(targets**2)))):
        rows = posterior.source.viewed(partial(as_counts, posterior=posterior, theta=theta, small=small))
        found = separability(rows, 2, fit_intercept=posterior.design.bias)
        if not found:
            continue
        limit = posterior.source.reduce(partial(change_along, posterior=posterior, theta=theta, found=found))
        change, n_rows = limit.count
        if n_rows > 0 and change <= 0:
            raise DataError(
                f"The best mean of {counted(n_rows, 'row')} is zero or less, but means are positive with a log link: "
                "the "
                f"weights would grow without limit along {', '.join(map(repr, found.columns)) or 'the intercept'}. Use "
                "link='identity', set alpha > 0, or drop those rows or columns."
            )


def as_counts(block: Block, posterior: Posterior, theta: Float, small: float) -> Block:
    """Replace the targets by counts: 0 if the mean of the row may tend to zero, otherwise positive."""
    may_fall = (block.targets <= 0) | (_means(posterior, block, theta) <= small)
    return Support(is_count=True).repeat(replace(block, t=1.0 - may_fall))


def change_along(block: Block, posterior: Posterior, theta: Float, found: Separability) -> Tally:
    """2 (lim E - E) along the direction found, and the number of rows whose mean tends to zero, for one block."""
    design = posterior.design
    d = design.of_user_units(found.coef, found.intercept)
    moved = np.asarray(design.activate(replace(block, offset=None), d))
    weight = np.ones(len(block)) if block.weight is None else block.weight
    falls = (moved < -MAX_ON_PLANE * float(np.abs(d[0]) @ posterior.column_units)) & (weight > 0)
    mu, t = _means(posterior, block, theta)[falls], block.targets[falls]
    return Tally(np.array([weight[falls] @ (2 * t * mu - mu**2), falls.sum()]))


def _means(posterior: Posterior, block: Block, theta: Float) -> Float:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(NormalLog().mean(posterior.design.activate(block, theta)))
