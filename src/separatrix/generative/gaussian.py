# SPDX-License-Identifier: BSD-3-Clause
"""Normal class densities p(x | C_k) = N(x | μ_k, Σ_k), Σ_k shared or not.                          PRML §4.2.1, §4.2.2

The facts are class moments (N_k, m_k, scatter), from one pass. What follows from them is chosen by ``estimate``:

    "ml"           μ_k = m_k, Σ = (1 - λ) S/N + λ D                                                  (4.75, 4.78)
    "map"          the mode of (μ_k, Σ⁻¹) under a flat prior on μ_k and Σ ~ IW(c D, c + M + 1): Σ = (c D + S)/(c + N),
                   as if c more rows had been seen (the mode over natural parameters, as in `separatrix.families`)
    "predictive"   μ_k and Σ integrated out: a Student t with ν = c + 2 + n degrees of freedom, mean m_k and scale
                   (1 + 1/N_k) (c D + S)/ν, where n is N - K for a shared Σ, N_k - 1 for one per class

c = n λ/(1 - λ) is how many rows the prior is worth, and at least one for "map" and "predictive".

Missing values (NaN) and unlabelled rows are dealt with by EM; see `separatrix.generative.missing`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from separatrix._arguments import check_number, check_option
from separatrix._array import Float, Rows
from separatrix._linalg import SingularError
from separatrix.exceptions import CollinearError, DataError
from separatrix.families import Moments
from separatrix.generative.classifier import GenerativeClassifier, class_priors
from separatrix.generative.covariance import Covariance, DenseCovariance, FactoredCovariance
from separatrix.generative.em import maximise_expectation
from separatrix.generative.expected_moments import available, expected, first_look, require_values, uncorrelated
from separatrix.generative.normal_classes import NormalClasses
from separatrix.generative.shrinkage import fourth_moment, spectrum
from separatrix.rows import Source
from separatrix.solvers import Solution, Status
from separatrix.stats import ClassMoments, FactoredScatter, require_finite, require_squares

__all__ = ["GaussianClassifier", "Weighting", "checked", "covariance_of", "require_spread", "scaled_spectrum"]


class GaussianClassifier(GenerativeClassifier):
    """What linear and quadratic discriminant analysis share."""

    _scatter: type[Any]

    def __init__(
        self,
        basis: Any = None,
        priors: Any = None,
        shrinkage: Any = 0.0,
        estimate: str = "ml",
        unlabelled: Any = "error",
    ) -> None:
        self.basis = basis
        self.priors = priors
        self.shrinkage = shrinkage
        self.estimate = estimate
        self.unlabelled = unlabelled

    def _check_arguments(self) -> None:
        name = type(self).__name__
        if isinstance(self.shrinkage, str):
            check_option(name, "shrinkage", self.shrinkage, ("ledoit-wolf", "evidence"), otherwise=", or a number")
        else:
            check_number(name, "shrinkage", self.shrinkage, low=0.0, high=1.0)
        check_option(name, "estimate", self.estimate, ("ml", "map", "predictive"))

    def _settled(self, facts: ClassMoments[Any]) -> ClassMoments[Any]:
        """Facts kept as rows become matrices once there are as many rows as columns."""
        scatter = facts.scatter
        if not isinstance(scatter, FactoredScatter) or len(scatter.owner) < facts.mean.shape[1]:
            return facts
        return ClassMoments(facts.count, facts.mean, scatter.dense(self._scatter, len(facts.count)))

    def _require_mergeable(self) -> None:
        if self.shrinkage == "ledoit-wolf":
            raise DataError(
                "shrinkage='ledoit-wolf' reads all rows a second time, so such a model cannot learn piece by piece. "
                "Use 'evidence', or a number."
            )

    # -- facts -----------------------------------------------------------------------------------------------------

    def _collect(self, source: Source, n_classes: int, *, whole: bool = True) -> Solution[Any]:
        """One pass; where rows have gaps or no label, EM from what the others say."""
        self._columns = source.columns
        kind = FactoredScatter if source.n_rows < len(source.columns) else self._scatter
        with np.errstate(invalid="ignore", over="ignore"):
            first = source.reduce(partial(first_look, n_classes=n_classes, scatter=kind))
        if first.is_whole:
            return self._look_again(source, first.moments)
        require_finite(source, allow_nan=self.basis_ is None)
        if not whole:
            raise DataError(
                f"{type(self).__name__}.partial_fit met missing values, which take EM over all rows at once. "
                "Fill them in, or give all rows to fit."
            )
        start = source.reduce(partial(available, n_classes=n_classes))
        if not np.isfinite(start.scatter).all():
            require_squares(source)
        return self._run_em(source, start)

    def _look_again(self, source: Source, moments: ClassMoments[Any]) -> Solution[Any]:
        """Ledoit and Wolf need |z|⁴ of rows standardised by what the first pass found."""
        if self.shrinkage != "ledoit-wolf":
            return Solution(moments, Status.SOLVED, 1, 1)
        scale = np.sqrt(pooled_variance(moments))
        self._fourth = source.reduce(
            partial(fourth_moment, mean=moments.mean, scale=np.where(scale > 0, scale, 1.0))
        ).total
        return Solution(moments, Status.SOLVED, 1, 2)

    def _run_em(self, source: Source, start: Moments) -> Solution[Any]:
        if self.shrinkage == "ledoit-wolf":
            raise DataError("shrinkage='ledoit-wolf' needs complete, labelled rows. Use 'evidence', or a number.")
        require_values(start, self._columns, self.classes_)
        solution = maximise_expectation(
            source,
            uncorrelated(start, self._scatter),
            partial(expected, scatter=self._scatter),
            self._em_parameters,
        )
        return Solution(solution.value, solution.status, solution.steps, solution.passes + 2, solution.trace)

    def _em_parameters(self, facts: ClassMoments[Any]) -> tuple[NormalClasses, Float]:
        """Maximum likelihood: shrinkage is an opinion, applied once, after EM."""
        pi = facts.count / facts.total if self.priors is None else class_priors(self.priors, self.classes_, facts.count)
        with np.errstate(divide="ignore"):
            return self._classes(facts, np.zeros(len(facts.count)), "ml"), np.log(pi)

    # -- parameters ------------------------------------------------------------------------------------------------

    @abstractmethod
    def _classes(self, facts: ClassMoments[Any], shrinkage: Float, estimate: str) -> NormalClasses:
        """The densities that follow from the facts, with a shrinkage for each class."""

    @abstractmethod
    def _chosen_shrinkage(self, facts: ClassMoments[Any]) -> Float:
        """λ for each class, (K,)."""

    def _estimate(self, facts: ClassMoments[Any]) -> None:
        self.means_ = facts.mean  # (4.75)
        self.shrinkage_ = self._chosen_shrinkage(facts)
        self._densities = self._classes(facts, self.shrinkage_, self.estimate)

    def _log_likelihood(self, X: Rows) -> Float:
        return self._densities.log_density(X)

    def _draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        return self._densities.draw(k, size, rng)


def pooled_variance(moments: ClassMoments[Any]) -> Float:
    """D: the within-class variance of each column, over all classes; exactly 0 for a constant."""
    scatter, share = moments.scatter, np.full(len(moments.count), 1 / moments.total)
    S = scatter.combined(share)
    D = np.einsum("rm,rm->m", S, S) if isinstance(scatter, FactoredScatter) else np.diag(S)
    return np.where(moments.is_constant(D), 0.0, D)


def covariance_of(scatter: Any, share: Float, diagonal: Float) -> Covariance:
    """Σ_k share_k S_k + diag(diagonal), dense or factored."""
    if isinstance(scatter, FactoredScatter):
        return FactoredCovariance(scatter.combined(share), diagonal)
    matrix = scatter.combined(share)
    matrix[np.diag_indices_from(matrix)] += diagonal
    return DenseCovariance(matrix)


@dataclass(frozen=True)
class Weighting:
    """How a scatter S with N rows and n degrees of freedom becomes a covariance: share · S + diagonal · D."""

    share: float
    diagonal: float
    freedom: float

    @classmethod
    def of(cls, estimate: str, N: float, n: float, shrinkage: float) -> Weighting:
        """See the table at the top of this file."""
        if estimate == "ml":
            return cls((1 - shrinkage) / N, shrinkage, np.inf)  # (4.78) where λ = 0
        worth = max(1.0, n * shrinkage / max(1 - shrinkage, 1e-12))
        if estimate == "map":
            return cls(1 / (worth + N), worth / (worth + N), np.inf)
        freedom = worth + 2 + n
        return cls(1 / freedom, worth / freedom, freedom)


def checked(covariance: Covariance, columns: tuple[str, ...], who: str) -> Covariance:
    """The same, once it is known to be positive definite."""
    try:
        _ = covariance.log_det
    except SingularError as singular:
        raise CollinearError(
            f"The covariance of {who} is singular: {singular.describe(columns)}. "
            "Drop those columns, or set shrinkage (say 0.1, or 'evidence')."
        ) from None
    return covariance


def scaled_spectrum(facts: ClassMoments[Any], factor: Float, columns: tuple[str, ...]) -> Float:
    """Eigenvalues of D^-½ (Σ_k factor_k S_k) D^-½."""
    D = pooled_variance(facts)
    _refuse_constants(D, columns)
    return spectrum(facts.scatter.combined(factor), D, factored=isinstance(facts.scatter, FactoredScatter))


def require_spread(facts: ClassMoments[Any], columns: tuple[str, ...], how: Weighting) -> Float:
    """D, once every column is known to vary and the rows to suffice."""
    D = pooled_variance(facts)
    _refuse_constants(D, columns)
    if isinstance(facts.scatter, FactoredScatter) and how.diagonal == 0:
        raise CollinearError(
            f"{facts.total:g} rows cannot determine the covariance of {len(columns)} columns. "
            "Set shrinkage (say 0.1, or 'evidence'), or use fewer columns."
        )
    return D


def _refuse_constants(D: Float, columns: tuple[str, ...]) -> None:
    constant = np.flatnonzero(D == 0)
    if len(constant):
        named = ", ".join(repr(columns[m]) for m in constant[:8]) + (", ..." if len(constant) > 8 else "")
        raise CollinearError(
            f"Constant within every class: column {named}. A normal density needs some spread; drop it, or model it as "
            "a category with NaiveBayes."
        )
