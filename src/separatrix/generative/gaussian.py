# SPDX-License-Identifier: BSD-3-Clause
"""Normal class densities p(x | C_k) = N(x | μ_k, Σ_k): base class of LDA and QDA, and shrinkage.    PRML §4.2.1, §4.2.2

The sufficient statistics are class moments (N_k, m_k, scatter S), from one pass. The argument ``estimate`` selects:

    "ml"           μ_k = m_k, Σ = (1 - λ) S/N + λ D                                                  (4.75, 4.78)
    "map"          the mode of (μ_k, Σ⁻¹) under a flat prior on μ_k and Σ ~ IW(c D, c + M + 1): Σ = (c D + S)/(c + N),
                   as if c more rows had been observed (the mode of the natural parameters, as in `separatrix.families`)
    "predictive"   μ_k and Σ integrated out: a Student t with ν = c + 2 + n degrees of freedom, mean m_k and scale
                   (1 + 1/N_k) (c D + S)/ν; n is N - K for a shared Σ and N_k - 1 for separate Σ_k

The prior is equivalent to c = n λ/(1 - λ) rows; "map" and "predictive" use at least c = 1. If columns are exactly
collinear, the marginal likelihood has no maximum as c goes to zero, and rows off the plane would have no density.

Shrinkage replaces S/n by Σ_λ = (1 - λ) S/n + λ D, where D is the diagonal of the within-class covariance. D has the
units of the data, so λ has no units, and no result depends on them. λ is one of

    a number           the value itself
    "ledoit-wolf"      the λ that minimises the expected squared error of C = D^-½ S/N D^-½, as estimated by Ledoit &
                       Wolf (2004): λ = Σ_n |z_n z_n' - C|² / (N² |C - I|²) with standardised rows z_n. One more pass.
    "evidence"         λ = c / (c + n), where c maximises the marginal likelihood under the inverse-Wishart prior
                       IW(c D, c + M + 1). It needs eigenvalues of the correlations, but no validation set or pass.

Rows with missing values (NaN) and unlabelled rows are fitted by EM (`em`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import digamma, multigammaln

from separatrix._arguments import check_number, check_option
from separatrix._array import Float, Rows, bincount, to_dense
from separatrix._linalg import (
    SINGULAR_IN_EM,
    SINGULAR_IN_SINGLE,
    SINGULAR_PER_COLUMN,
    VANISHING_VARIANCE,
    SingularError,
    dependent_columns,
    root_of,
)
from separatrix._text import columns_are, counted
from separatrix.exceptions import CollinearError, DataError
from separatrix.families import Moments
from separatrix.generative.classifier import GenerativeClassifier, class_priors, log_probability
from separatrix.generative.covariance import (
    Covariance,
    DenseCovariance,
    FactoredCovariance,
    NormalClasses,
    SingularCovariance,
)
from separatrix.generative.em import available_moments, expected_moments, maximise_expectation, uncorrelated
from separatrix.generative.scoring import Patterns, Scoring
from separatrix.rows import Block, Source
from separatrix.solvers import Solution, Status
from separatrix.stats import (
    MAX_MAGNITUDE,
    ClassMoments,
    FactoredScatter,
    PooledScatter,
    require_finite,
    require_squares,
    sum_moments,
)

MAX_EVIDENCE_ROWS = 1e12  # λ no longer changes with more rows, and ln p(S) overflows for sample weights of 1e300


class GaussianClassifier(GenerativeClassifier):
    """Base class of linear and quadratic discriminant analysis."""

    _scatter: type[Any]
    _is_single: bool = False  # whether the rows are an array of float32, as coef_ is then

    def __init__(
        self,
        basis: Any = None,
        priors: Any = None,
        shrinkage: Any = 0.0,
        estimate: str = "ml",
        unlabelled: Any = "error",
        class_weight: Any = None,
        prior_correction: bool = False,
    ) -> None:
        self.basis = basis
        self.priors = priors
        self.shrinkage = shrinkage
        self.estimate = estimate
        self.unlabelled = unlabelled
        self.class_weight = class_weight
        self.prior_correction = prior_correction

    def _check_arguments(self) -> None:
        super()._check_arguments()
        name = type(self).__name__
        if isinstance(self.shrinkage, str):
            otherwise = ", or a number. scikit-learn's 'auto' is 'ledoit-wolf'"
            check_option(name, "shrinkage", self.shrinkage, ("ledoit-wolf", "evidence"), otherwise=otherwise)
        else:
            check_number(name, "shrinkage", self.shrinkage, low=0.0, high=1.0)
        check_option(name, "estimate", self.estimate, ("ml", "map", "predictive"))

    def _require_mergeable(self) -> None:
        if self.shrinkage == "ledoit-wolf":
            raise DataError(
                "shrinkage='ledoit-wolf' reads all rows a second time, so the model cannot be fitted in parts. "
                "Use 'evidence' or a number."
            )

    def _collect(self, source: Source, *, whole: bool = True) -> Solution[Any]:
        """Collect moments in one pass, or by EM if values or labels are missing."""
        self._columns, n_classes = source.columns, len(source.classes)
        self._is_single = getattr(source.template, "dtype", None) == np.float32
        ledoit_wolf = self.shrinkage == "ledoit-wolf"
        if source.n_unlabelled == 0:
            moments = sum_moments(source, n_classes, self._scatter)
            if moments.is_finite:
                if ledoit_wolf:  # a second pass computes |z|⁴, for rows standardised by the moments of the first pass
                    target = self._target(moments)
                    scale = np.sqrt(np.where(target > 0, target, np.inf))
                    self._fourth = source.reduce(partial(fourth_moment, mean=moments.mean, scale=scale))
                return Solution(moments, Status.SOLVED, 1, 2 if ledoit_wolf else 1)
        require_finite(source, allow_nan=self.basis_ is None)
        if not whole:
            raise DataError(
                f"{type(self).__name__}.partial_fit found missing values. EM needs all rows at once: impute the "
                "values, or pass all rows to fit."
            )
        with np.errstate(invalid="ignore", over="ignore"):
            stride = Patterns.stride(source.n_rows, len(source.columns))
            found = source.reduce(partial(available_moments, n_classes=n_classes, stride=stride))
        start = found.moments
        if not (np.isfinite(start.scatter).all() and np.abs(start.mean).max() <= MAX_MAGNITUDE):
            require_squares(source)
        if ledoit_wolf:
            raise DataError("shrinkage='ledoit-wolf' needs complete, labelled rows. Use 'evidence' or a number.")
        return self._run_em(source, start, Patterns.of_rows(found.sample))

    def _run_em(self, source: Source, start: Moments, patterns: Patterns) -> Solution[Any]:
        for k, m in np.argwhere(start.count == 0)[:1]:
            where = "any class" if (start.count[:, m] == 0).all() else f"class {self.classes_.tolist()[k]!r}"
            raise DataError(f"Column {self._columns[m]!r} has no value in {where}. Drop the column, or the class.")

        def expect(facts: ClassMoments[Any]) -> Any:
            """E step at the maximum-likelihood estimate, because shrinkage is applied once, after EM."""
            pi = class_priors(self.priors, self.classes_, facts.count)
            classes, _ = self._classes(facts, np.zeros(len(facts.count)), "ml", in_em=True)
            return partial(expected_moments, parameters=(classes, log_probability(pi)), scatter=self._scatter)

        first = uncorrelated(start, self._scatter)
        solution = maximise_expectation(source, first, expect, Scoring(patterns).step)
        return replace(solution, passes=source.passes)

    @abstractmethod
    def _classes(
        self, facts: ClassMoments[Any], shrinkage: Float, estimate: str, *, in_em: bool = False
    ) -> tuple[NormalClasses, SingularError | None]:
        """Class densities from the statistics and the shrinkage of each class, and the columns that are not used."""

    def _target(self, facts: ClassMoments[Any]) -> Float:
        """Variances towards which the covariance of each class is shrunk, (K, M)."""
        return np.tile(variance_of(facts, np.full(len(facts.count), 1 / facts.total)), (len(facts.count), 1))

    def _estimate(self, facts: ClassMoments[Any]) -> None:
        scatter = facts.scatter
        if isinstance(scatter, FactoredScatter) and len(scatter.owner) >= facts.mean.shape[1]:
            # With at least as many rows as columns, scatter matrices need less memory than the rows.
            dense = scatter.dense(self._scatter, len(facts.count))
            facts = self.facts_ = ClassMoments(facts.count, facts.mean, dense)
        self.means_ = facts.mean  # (4.75)
        K = len(facts.count)
        self.shrinkage_ = np.ones(K) if isinstance(self.shrinkage, str) else np.full(K, float(self.shrinkage))
        if isinstance(self.shrinkage, str):  # one λ if the classes share Σ, otherwise one λ per class
            for pool in np.ones((1, K)) if self._scatter is PooledScatter else np.eye(K):
                N = float(pool @ facts.count)
                n = N - np.count_nonzero(pool * facts.count)
                if n > 0:  # without degrees of freedom, Σ cannot be estimated and λ stays 1
                    e = spectrum(facts, pool, self._target(facts)[int(pool.argmax())])
                    evidence = self.shrinkage == "evidence"
                    chosen = maximum_evidence(e, n) if evidence else ledoit_wolf(e, N, float(pool @ self._fourth))
                    self.shrinkage_[pool > 0] = chosen
        self._densities, singular = self._classes(facts, self.shrinkage_, self.estimate)
        self._collinear = "" if singular is None else self._describe(facts, singular)

    def _describe(self, facts: ClassMoments[Any], singular: SingularError) -> str:
        """Warning of columns that are not used, and of directions without variance within classes."""
        N, M, unused = facts.total, facts.mean.shape[1], len(singular.dropped)
        used = f"Columns that add no information are not used: {singular.describe(self._columns)}." * bool(unused)
        if N < M and singular.combination:
            are = "column is" if unused == 1 else "columns are"
            used = f"{N:g} rows cannot determine the covariance of {M} columns, and {unused} {are} not used."
        leaks, shared = [], self._scatter is PooledScatter
        within = variance_of(facts, np.full(len(facts.count), 1 / N)) == 0
        within[singular.dropped] = False
        if within.any():
            names = columns_are([self._columns[j] for j in np.flatnonzero(within)])
            leaks.append(f"{names} constant within every class, so a row belongs to the class with the nearest value.")
        for k, Sigma in enumerate(self._densities.covariance):
            if isinstance(Sigma, SingularCovariance) and facts.count[k] > 0 and Sigma.n_vanishing > within.sum():
                which = "every class" if shared else f"class {self.classes_.tolist()[k]!r} ({facts.count[k]:g} rows)"
                fixed = [self._columns[j] for j in Sigma.used if not (within[j] or Sigma.root[:, j].any())]
                what = columns_are(fixed) if fixed else f"Combinations of {Sigma.n_used} columns are"
                leaks.append(f"{what} constant within {which}: rows with other values do not belong to it.")
        more = f"The same is true of {counted(len(leaks) - 2, 'other class')}." * (len(leaks) > 2)
        # Shrinkage is towards variances, so it does not help if a column has none within any class.
        helps = singular.combination or len(leaks) > within.any()
        is_one = not used and len(leaks) == 1 and leaks[0].startswith("Column ")
        remedy = f"Drop {'that column' if is_one else 'those columns'}" + (
            ", or set shrinkage=0.1 or shrinkage='evidence'." if helps else "."
        )
        if not used and not leaks:  # at the limit of precision
            return ""
        return " ".join(filter(None, ["Collinear columns." * bool(used), used, *leaks[:2], more, remedy]))

    @abstractmethod
    def _expanded(self, X: Rows) -> Float | None:
        """Scores from a form without densities, (n, K), NaN if a value is missing; None if it is inaccurate."""

    def _scores(self, X: Rows) -> Float:
        """Scores of the expanded form; rows whose values are missing or overflow use their (marginal) density."""
        a = self._expanded(X)
        if a is None:
            return self._log_joint(X)
        if not np.isfinite(a).all():
            lost = ~np.isfinite(a[:, self.priors_ > 0]).all(axis=1)
            # Products of float32 overflow first. Densities have no accurate differences of such rows.
            single = X.dtype == np.float32
            a[lost] = self._scores(X[lost].astype(np.float64)) if single else self._log_joint(X[lost])
        return a

    def _log_likelihood(self, X: Rows) -> Float:
        return self._densities.log_density(X)

    def _draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        return self._densities.draw(k, size, rng)


def variance_of(moments: ClassMoments[Any], factor: Float) -> Float:
    """Diagonal (M,) of Σ_k factor_k S_k; rounding errors of constant columns are replaced by zero."""
    scatter = moments.scatter
    if isinstance(scatter, FactoredScatter):
        F = scatter.combined(factor)
        D = np.einsum("rm,rm->m", F, F)
    else:
        each = np.diagonal(scatter.array, axis1=-2, axis2=-1)
        D = factor[0] * each if isinstance(scatter, PooledScatter) else factor @ each
    return np.where(moments.is_constant(D), 0.0, D)


def covariances(
    facts: ClassMoments[Any], factor: Float, ridge: Float, *, in_em: bool, is_single: bool
) -> tuple[tuple[Covariance, ...], SingularError | None]:
    """C covariances Σ_k factor_ck S_k + diag ridge_c, with factor (C, K) and ridge (C, M).

    If one of them is singular, also return the columns that are not used, in any of them. Statistics of EM and of
    float32 rows are less precise.
    """
    smallest = SINGULAR_IN_SINGLE if is_single else SINGULAR_PER_COLUMN * facts.mean.shape[1]
    smallest = SINGULAR_IN_EM if in_em else smallest
    is_factored, found = isinstance(facts.scatter, FactoredScatter), list[Covariance]()
    variance = np.stack([variance_of(facts, each) for each in factor]) + ridge
    if variance.all() and not (is_factored and not ridge.all()):
        try:
            for weights, added in zip(factor, ridge, strict=True):
                S = facts.scatter.combined(weights)
                if is_factored:
                    found.append(FactoredCovariance(S, added))
                else:
                    S[np.diag_indices_from(S)] += added
                    dense = DenseCovariance(S)
                    if in_em and not dense.is_well_conditioned:
                        raise SingularError([], {})
                    found.append(dense)
                _ = found[-1].log_det
            return tuple(found), None
        except SingularError:
            pass
    between = facts.between / np.sqrt(facts.total)
    total = variance.mean(axis=0) + (between**2).sum(axis=0)
    total[facts.is_constant(total)] = 0.0
    if not total.any():
        raise CollinearError("Every column is constant, so none distinguishes the classes. Add columns that vary.")
    if is_factored and ((ridge > 0) | (variance == 0)).all():  # shrunk, so that only constants are singular
        ridge = np.where(ridge > 0, ridge, VANISHING_VARIANCE * total)
        found = [FactoredCovariance(facts.scatter.combined(each), q) for each, q in zip(factor, ridge, strict=True)]
        return tuple(found), SingularError(np.flatnonzero(total == 0).tolist(), {})
    roots = []
    for weights, added, varies in zip(factor, ridge, variance > 0, strict=True):
        S = facts.scatter.combined(weights)
        if is_factored:
            roots.append(np.concatenate([S, np.diag(np.sqrt(added))[added > 0]]) * varies)
        else:
            S[np.diag_indices_from(S)] += added
            roots.append(root_of(S * np.outer(varies, varies), smallest))
    singular = dependent_columns(np.concatenate([*roots, between]) * (total > 0), smallest)
    used = np.setdiff1d(np.arange(len(total)), singular.dropped)
    floor = max(smallest, VANISHING_VARIANCE)  # a variance below the rounding error is not known to be smaller
    return tuple(SingularCovariance(root, used, total[used], floor) for root in roots), singular


def covariance_weights(estimate: str, N: float, n: float, shrinkage: float) -> tuple[float, float, float]:
    """Factors f and g of the covariance f S + g D, and ν, for a scatter S of N rows with n degrees of freedom.

    ν is infinite for a normal density. The formulas are in the docstring of this module.
    """
    if estimate == "ml":
        return (1 - shrinkage) / N, shrinkage, np.inf  # (4.78) for λ = 0
    c = max(1.0, n * shrinkage / max(1 - shrinkage, 1e-12))
    if estimate == "map":
        return 1 / (c + N), c / (c + N), np.inf
    freedom = c + 2 + n
    return 1 / freedom, c / freedom, freedom


def fourth_moment(block: Block, mean: Float, scale: Float) -> Float:
    """Σ_n weight_n |z_n|⁴ of each class, (K,); z_n is standardised by the mean and scale (K, M) of its class."""
    Z = (to_dense(block.X) - mean[block.codes]) / scale[block.codes]
    squares = np.einsum("nm,nm->n", Z, Z) ** 2
    weighted = squares if block.weight is None else block.weight * squares
    return bincount(block.codes, weighted, len(mean))


def spectrum(facts: ClassMoments[Any], classes: Float, target: Float) -> Float:
    """Eigenvalues of D^-½ (Σ_k classes_k S_k) D^-½, with the variances D = target (M,) that are positive."""
    varies = target > 0
    S, root = facts.scatter.combined(classes)[:, varies], np.sqrt(target[varies])
    if not isinstance(facts.scatter, FactoredScatter):
        return np.asarray(linalg.eigvalsh(S[varies] / np.outer(root, root)))
    e = np.zeros(len(root))  # S is a factor F with F'F = Σ_k classes_k S_k
    s = linalg.svdvals(S / root)
    e[: len(s)] = s**2
    return e


def ledoit_wolf(e: Float, N: float, fourth: float) -> float:
    """Estimate λ from the eigenvalues of N C, the number of rows N, and Σ_n |z_n|⁴.

    Σ_n |z z' - C|² = Σ_n |z|⁴ - N |C|², because the mean of z z' is C.
    """
    c = e / N
    distance = float(np.square(c - 1).sum())  # |C - I|²
    noise = (fourth / N - float(np.square(c).sum())) / N
    return 1.0 if distance == 0 else float(np.clip(noise / distance, 0.0, 1.0))


def maximum_evidence(e: Float, n: float) -> float:
    """Maximise the marginal likelihood of a scatter with n degrees of freedom over λ.

    ``e`` contains the eigenvalues of D^-½ S D^-½. With ν = c + M + 1 and up to a constant,
    ln p(S | c) = ln Γ_M((ν+n)/2) - ln Γ_M(ν/2) + ν/2 M ln c - (ν+n)/2 Σ ln(c + e_m).
    """
    from scipy.optimize import brentq

    M, e = len(e), np.maximum(e, 0.0)
    if n > MAX_EVIDENCE_ROWS:
        e, n = e * (MAX_EVIDENCE_ROWS / n), MAX_EVIDENCE_ROWS
    half = np.arange(M) / 2

    def evidence(log_c: float) -> float:
        c = np.exp(log_c)
        nu = c + M + 1
        gammas = multigammaln((nu + n) / 2, M) - multigammaln(nu / 2, M)
        return float(gammas + nu / 2 * M * log_c - (nu + n) / 2 * np.log(c + e).sum())

    def slope(log_c: float) -> float:
        c = np.exp(log_c)
        nu = c + M + 1
        digammas = (digamma((nu + n) / 2 - half) - digamma(nu / 2 - half)).sum()
        return float(digammas + M * log_c + nu * M / c - np.log(c + e).sum() - (nu + n) * (1 / (c + e)).sum())

    # A grid brackets the highest peak. The root of the slope is more accurate than a search for the maximum.
    grid = np.log(n) + np.linspace(-14, 14, 57)
    top = int(np.argmax([evidence(x) for x in grid]))
    low, high = grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)]
    inside = slope(low) > 0 > slope(high)
    c = float(np.exp(brentq(slope, low, high, xtol=1e-14) if inside else grid[top]))
    return c / (c + n)
