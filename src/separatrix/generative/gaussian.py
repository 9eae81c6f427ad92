# SPDX-License-Identifier: BSD-3-Clause
"""Normal class densities p(x | C_k) = N(x | μ_k, Σ_k), Σ_k shared or not.                          PRML §4.2.1, §4.2.2

The facts are class moments (N_k, m_k, scatter), from one pass. What follows from them is chosen by ``estimate``:

    "ml"           μ_k = m_k, Σ = (1 - λ) S/N + λ D                                                  (4.75, 4.78)
    "map"          the mode of (μ_k, Σ) under a flat prior on μ_k and Σ ~ IW(c D, c + M + 1):
                   Σ = (c D + S)/(c + 2M + 2 + N)
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
from scipy.special import gammaln, logsumexp

from separatrix._arguments import check_number, check_option
from separatrix._array import Array, Float, Rows, is_sparse, to_dense
from separatrix._linalg import SingularError
from separatrix.data import Block, Source
from separatrix.exceptions import CollinearError, DataError
from separatrix.families.facts import Moments
from separatrix.generative.classifier import GenerativeClassifier, class_priors
from separatrix.generative.covariance import Covariance, DenseCovariance, FactoredCovariance
from separatrix.generative.em import Expectation, maximise_expectation
from separatrix.generative.missing import complete, marginal
from separatrix.generative.shrinkage import fourth_moment, spectrum
from separatrix.solvers import Solution, Status
from separatrix.stats import (
    ClassMoments,
    ClassScatter,
    FactoredScatter,
    PooledScatter,
    class_moments,
    require_finite,
    require_squares,
)

__all__ = ["GaussianClassifier", "NormalClasses"]


@dataclass(frozen=True)
class NormalClasses:
    """p(x | C_k) for K classes: normal, or Student t where ``freedom`` is finite.

    ``covariance`` has one entry, shared, or K. For a Student t it is the scale matrix of class k divided by
    ``widening[k]``.
    """

    mean: Float
    covariance: tuple[Covariance, ...]
    freedom: Float  # (K,); inf for normal
    widening: Float  # (K,); 1 for normal

    def log_density(self, X: Rows) -> Float:
        """ln p(x | C_k), (n, K); rows with gaps by the marginal of what was seen."""
        answer = np.empty((X.shape[0], len(self.mean)))
        gaps = np.zeros(X.shape[0], dtype=bool) if is_sparse(X) else np.isnan(X).any(axis=1)
        if gaps.any():
            X = to_dense(X)
            answer[gaps] = self._log_density_seen(np.asarray(X[gaps], dtype=np.float64))
            answer[~gaps] = self.log_density(X[~gaps])
            return answer
        for k, mean in enumerate(self.mean):
            Sigma = self.of_class(k)
            squared = Sigma.squared_distance(X, mean)
            answer[:, k] = self._density(k, squared, Sigma.log_det, float(len(mean)))
        return answer

    def _log_density_seen(self, X: Array) -> Float:
        columns = []
        for k, mean in enumerate(self.mean):
            part = marginal(X, mean, self.of_class(k).matrix)
            columns.append(self._density(k, part.squared_distance, part.log_det, part.n_seen))
        return np.column_stack(columns)

    def _density(self, k: int, squared: Float, log_det: Any, M: Any) -> Float:
        """Density at a squared distance, for M columns; the marginal of a Student t keeps its degrees of freedom."""
        nu, widening = self.freedom[k], self.widening[k]
        if np.isinf(nu):
            return np.asarray(-0.5 * (M * np.log(2 * np.pi) + log_det + squared))
        log_scale = log_det + M * np.log(widening)
        constant = gammaln((nu + M) / 2) - gammaln(nu / 2) - 0.5 * (M * np.log(nu * np.pi) + log_scale)
        return np.asarray(constant - 0.5 * (nu + M) * np.log1p(squared / (widening * nu)))

    def draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        """Rows of class k."""
        Z = self.of_class(k).draw(size, rng) * np.sqrt(self.widening[k])
        if np.isfinite(self.freedom[k]):
            Z /= np.sqrt(rng.chisquare(self.freedom[k], size) / self.freedom[k])[:, None]
        return np.asarray(self.mean[k] + Z)

    def of_class(self, k: int) -> Covariance:
        """Σ_k."""
        return self.covariance[k if len(self.covariance) > 1 else 0]


class GaussianClassifier(GenerativeClassifier):
    """What linear and quadratic discriminant analysis share."""

    shrinkage: Any = 0.0
    estimate: str = "ml"
    _scatter: type[Any]

    def _check_arguments(self) -> None:
        name = type(self).__name__
        if isinstance(self.shrinkage, str):
            check_option(name, "shrinkage", self.shrinkage, ("ledoit-wolf", "evidence"), otherwise=", or a number")
        else:
            check_number(name, "shrinkage", self.shrinkage, low=0.0, high=1.0)
        check_option(name, "estimate", self.estimate, ("ml", "map", "predictive"))

    def _require_mergeable(self) -> None:
        if self.shrinkage == "ledoit-wolf":
            raise DataError(
                "shrinkage='ledoit-wolf' reads all rows a second time, so such a model cannot learn piece by piece. "
                "Use 'evidence', or a number."
            )

    # -- facts -----------------------------------------------------------------------------------------------------

    def _collect(self, source: Source, n_classes: int) -> Solution[Any]:
        """One pass; where rows have gaps or no label, EM from what the others say."""
        self._columns = source.columns
        kind = FactoredScatter if source.n_rows < len(source.columns) else self._scatter
        with np.errstate(invalid="ignore", over="ignore"):
            first = source.reduce(partial(_first_look, n_classes=n_classes, scatter=kind))
        if first.is_whole:
            return self._look_again(source, first.moments)
        require_finite(source, allow_nan=self.basis_ is None)
        start = source.reduce(partial(_available, n_classes=n_classes))
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
        _require_values(start, self._columns, self.classes_)
        solution = maximise_expectation(
            source,
            _uncorrelated(start, self._scatter),
            partial(_expected, scatter=self._scatter),
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
        self.means_ = facts.mean
        self.shrinkage_ = self._chosen_shrinkage(facts)
        self._densities = self._classes(facts, self.shrinkage_, self.estimate)

    def _log_likelihood(self, X: Rows) -> Float:
        return self._densities.log_density(X)

    def _draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        return self._densities.draw(k, size, rng)


@dataclass(frozen=True)
class _FirstLook:
    """Moments of the labelled rows, and how many rows had no label."""

    moments: ClassMoments[Any]
    n_open: int

    def __add__(self, other: _FirstLook) -> _FirstLook:
        return _FirstLook(self.moments + other.moments, self.n_open + other.n_open)

    @property
    def is_whole(self) -> bool:
        """Every row had a label and no gap."""
        return self.n_open == 0 and bool(np.isfinite(self.moments.mean).all()) and self.moments.scatter.is_finite()


def _first_look(block: Block, n_classes: int, scatter: type[Any]) -> _FirstLook:
    labelled = block.codes >= 0
    if labelled.all():
        return _FirstLook(class_moments(block, n_classes, scatter), 0)
    return _FirstLook(class_moments(block.take(labelled), n_classes, scatter), int((~labelled).sum()))


def _available(block: Block, n_classes: int) -> Moments:
    """Count, mean and scatter of whatever was seen, for each class and column of the labelled rows."""
    labelled = block.take(block.codes >= 0)
    return Moments.of(to_dense(labelled.X), one_hot(labelled, n_classes))


def one_hot(block: Block, n_classes: int) -> Float:
    """R (n, K): the weight of each row at its class."""
    R = np.zeros((len(block), n_classes))
    R[np.arange(len(block)), block.codes] = 1.0 if block.weight is None else block.weight
    return R


def _uncorrelated(start: Moments, scatter: type[Any]) -> ClassMoments[Any]:
    """Where EM begins: available means, available variances, no correlation."""
    variance = start.scatter / start.count
    count = start.count.max(axis=1)
    diagonals = np.einsum("km,ml->kml", count[:, None] * variance, np.eye(variance.shape[1]))
    kept = ClassScatter(diagonals) if scatter is ClassScatter else PooledScatter(diagonals.sum(axis=0))
    return ClassMoments(count, start.mean, kept)


def _expected(block: Block, parameters: tuple[NormalClasses, Float], scatter: type[Any]) -> Expectation[Any]:
    """The E step of one block: expected moments, and the log likelihood of what was seen."""
    classes, log_pi = parameters
    K = len(log_pi)
    X = np.asarray(to_dense(block.X), dtype=np.float64)
    weight = np.ones(len(block)) if block.weight is None else block.weight
    joint = classes.log_density(X) + log_pi
    labelled = block.codes >= 0
    total = np.where(labelled, joint[np.arange(len(X)), block.codes], logsumexp(joint, axis=1))
    easy = labelled & ~np.isnan(X).any(axis=1)
    facts: ClassMoments[Any] = class_moments(block.take(easy), K, scatter)
    hard = ~easy
    R = np.where(labelled[:, None], np.arange(K) == block.codes[:, None], np.exp(joint - total[:, None]))
    for k in range(K) if hard.any() else ():
        rows = hard & (R[:, k] > 0)
        r = weight[rows] * R[rows, k]
        done = complete(X[rows], classes.mean[k], classes.of_class(k).matrix, r)
        filled = Block(done.X, np.full(len(r), k), r, range(len(r)))
        facts = facts + class_moments(filled, K, scatter).plus_scatter(k, done.covariance)
    return Expectation(facts, float(weight @ total))


def _require_values(start: Moments, columns: tuple[str, ...], classes: Array) -> None:
    """A class and column without a single value cannot be learnt."""
    for k, m in np.argwhere(start.count == 0)[:1]:
        where = "any class" if (start.count[:, m] == 0).all() else f"class {classes.tolist()[k]!r}"
        raise DataError(f"Column {columns[m]!r} has no value in {where}. Drop the column, or the class.")


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
    def of(cls, estimate: str, N: float, n: float, M: int, shrinkage: float) -> Weighting:
        """See the table at the top of this file."""
        if estimate == "ml":
            return cls((1 - shrinkage) / N, shrinkage, np.inf)
        worth = max(1.0, n * shrinkage / max(1 - shrinkage, 1e-12))
        if estimate == "map":
            share = 1 / (worth + 2 * M + 2 + N)
            return cls(share, worth * share, np.inf)
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
