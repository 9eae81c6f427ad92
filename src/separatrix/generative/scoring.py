# SPDX-License-Identifier: BSD-3-Clause
"""Fisher scoring for normal classes with missing values: steps that replace the slow steps of EM.

Let Σ = L L' be the current covariance, S/N the expected one, and W = L⁻¹ dΣ L⁻ᵀ a change in whitened units. EM takes
the step W = R with the residual R = L⁻¹ S L⁻ᵀ/N - I, as if all values had been observed. But a row has the information
½ |Π W Π|² about W, where Π = L' P L projects onto its observed directions (P is Σ_oo⁻¹ padded with zeros). Fisher
scoring therefore solves E[Π W Π] = R, and E[Π] u = d for the whitened change d of a mean. Damping by λ joins the two:

    (1 - λ) E[Π W Π] + λ W = R                     λ = 1: EM,  λ = 0: scoring

EM keeps a fraction ρ of the distance from the maximum at each step, where ρ is the largest fraction of missing
information. Scoring needs a few steps for any ρ. The expectation is an average over the patterns of missing values of a
sample of rows, so a step takes no pass. The sample changes the speed, but not the maximum, at which R = 0 and d = 0.

The information is correct for normal rows whose gaps do not depend on their values. For others, changes of the last
steps show how it should have been: Anderson acceleration takes the combination of the last points after a step for
which the same combination of the steps is smallest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from separatrix._array import Array, Codes, Float, to_dense
from separatrix._linalg import SINGULAR_IN_EM, SingularError, cholesky_of_correlation
from separatrix.stats import ClassMoments, PooledScatter, Sample

MAX_PATTERNS = 1000  # largest number of rows in the sample of patterns
MAX_PATTERN_ENTRIES = 2**22  # entries of the projections of all rows of the sample
MIN_CLASS_PATTERNS = 100  # a class with fewer rows in the sample uses the patterns of all rows
MAX_CG_RESIDUAL = 0.05  # relative residual of a step; smaller residuals save no passes
MAX_CG_STEPS = 50
MAX_EARLIER_STEPS = 5  # number of earlier steps that are combined with the last one
MIN_SINGULAR_RATIO = 1e-6  # smaller singular values of the changes of steps are rounding errors
MIN_VARIANCE_RATIO = 0.1  # no direction loses a larger fraction of its variance in one step


@dataclass(frozen=True)
class Patterns:
    """Observed columns (S, M), class codes (S,) and weights (S,) of a sample of rows."""

    seen: Array
    codes: Codes
    weight: Float

    @staticmethod
    def stride(n_rows: int, n_columns: int) -> int:
        """Number of rows from which one row is drawn."""
        return max(1, n_rows // min(MAX_PATTERNS, MAX_PATTERN_ENTRIES // n_columns**2 + 1))

    @classmethod
    def of_rows(cls, sample: Sample) -> Patterns:
        """Patterns of the rows of a sample."""
        parts = sample.parts
        weights = [np.ones(len(part)) if part.weight is None else part.weight for part in parts]
        seen = np.concatenate([~np.isnan(to_dense(part.X)) for part in parts])
        return cls(seen, np.concatenate([part.codes for part in parts]), np.concatenate(weights))

    def step(
        self, now: ClassMoments[Any], expected: ClassMoments[Any], damping: float
    ) -> tuple[ClassMoments[Any], float]:
        """Statistics after a damped step, and the predicted gain of the log likelihood.

        Take a step of EM, with a gain of 0, if a covariance is singular or the sample has no missing values.
        """
        K = len(now.mean)
        if self.seen.all():
            return expected, 0.0
        N, Sigma = covariances_of(expected)
        mean, scatter, predicted = now.mean.copy(), np.empty_like(Sigma), 0.0
        for j, before in enumerate(covariances_of(now)[1]):
            classes = np.arange(K) if isinstance(now.scatter, PooledScatter) else np.array([j])
            try:
                scale, L = cholesky_of_correlation(before)
                units = np.outer(scale, scale)
                C, d = Sigma[j] / units, (expected.mean - now.mean)[classes] / scale
                C, d, gains = self._damped(L, C, d, classes, damping)
                pivot = min(smallest_pivot(before), smallest_pivot(C))
            except SingularError:
                return expected, 0.0
            if pivot < SINGULAR_IN_EM:
                return expected, 0.0
            scatter[j] = N[j] * units * C
            mean[classes] += scale * d
            predicted += float(expected.count[classes] @ gains)
        found: Any = type(now.scatter)(scatter.reshape(now.scatter.array.shape))
        return ClassMoments(expected.count, mean, found), predicted

    def _damped(self, L: Float, C: Float, d: Float, classes: Codes, damping: float) -> tuple[Float, Float, Float]:
        """Covariance and changes of the means of ``classes`` after a step from L L' towards C and by d.

        Also return the predicted gain of the log likelihood per row of each class.
        """
        M = len(L)
        own = np.isin(self.codes, classes)
        rows = own if np.count_nonzero(own) >= MIN_CLASS_PATTERNS else np.ones(len(own), bool)
        Pi, fraction = projections(L, self.seen[rows]), self.weight[rows] / self.weight[rows].sum()

        def information(W: Float) -> Float:
            W = W.reshape(M, M)
            W = (1 - damping) * np.tensordot(fraction, Pi @ W @ Pi, axes=1) + damping * W
            return W.ravel()

        R = linalg.solve_triangular(L, linalg.solve_triangular(L, C, lower=True).T, lower=True) - np.eye(M)
        W, _ = cg(LinearOperator((M * M, M * M), information), R.ravel(), rtol=MAX_CG_RESIDUAL, maxiter=MAX_CG_STEPS)
        W = (W.reshape(M, M) + W.reshape(M, M).T) / 2
        d = linalg.solve_triangular(L, d.T, lower=True)
        u = linalg.solve((1 - damping) * np.tensordot(fraction, Pi, axes=1) + damping * np.eye(M), d, assume_a="pos")
        gains = (R * W).sum() / 4 + (u * d).sum(axis=0) / 2
        lowest = float(linalg.eigvalsh(W)[0])
        if lowest < MIN_VARIANCE_RATIO - 1:
            W *= (MIN_VARIANCE_RATIO - 1) / lowest
        return L @ (np.eye(M) + W) @ L.T, (L @ u).T, gains


@dataclass
class Scoring:
    """Steps of scoring, corrected by earlier steps."""

    patterns: Patterns
    taken: list[tuple[ClassMoments[Any], ClassMoments[Any]]] = field(default_factory=list)  # before and after each step

    def step(
        self, now: ClassMoments[Any], expected: ClassMoments[Any], damping: float
    ) -> tuple[ClassMoments[Any], float]:
        """As in `Patterns`."""
        found, gain = self.patterns.step(now, expected, damping)
        was_rejected = bool(self.taken) and self.taken[-1][0] is now
        self.taken = [] if was_rejected or gain == 0 else [*self.taken[-MAX_EARLIER_STEPS:], (now, found)]
        if len(self.taken) < 2:
            return found, gain
        K, M = now.mean.shape
        N, Sigma = covariances_of(now)
        U = np.linalg.inv(np.linalg.cholesky(Sigma))
        steps, ends = [], []
        for before, after in self.taken:
            d, V = after.mean - before.mean, covariances_of(after)[1] - covariances_of(before)[1]
            # The sum of squares of a step is its information if all values are observed.
            d = np.sqrt(now.count)[:, None] * np.einsum("kml,kl->km", np.broadcast_to(U, (K, M, M)), d)
            V = np.sqrt(N / 2)[:, None, None] * (U @ V @ np.swapaxes(U, 1, 2))
            steps.append(np.concatenate([d.ravel(), V.ravel()]))
            ends.append((after.mean, covariances_of(after)[1]))
        changes = np.diff(steps, axis=0).T
        gamma, *_ = np.linalg.lstsq(changes, steps[-1], rcond=MIN_SINGULAR_RATIO)
        fraction = np.diff(np.concatenate([[0.0], gamma, [1.0]]))
        mean, Sigma = (np.tensordot(fraction, np.stack(part), axes=1) for part in zip(*ends, strict=True))
        ratio = np.linalg.eigvalsh(U @ Sigma @ np.swapaxes(U, 1, 2)).min()
        if ratio < MIN_VARIANCE_RATIO or min(map(smallest_pivot, Sigma)) < SINGULAR_IN_EM:
            return found, gain
        scatter: Any = (covariances_of(expected)[0][:, None, None] * Sigma).reshape(now.scatter.array.shape)
        return ClassMoments(expected.count, mean, type(now.scatter)(scatter)), gain


def covariances_of(facts: ClassMoments[Any]) -> tuple[Float, Float]:
    """Weights (C,) and covariances (C, M, M): one for each class, or one for all."""
    M = facts.mean.shape[1]
    N = np.array([facts.total]) if isinstance(facts.scatter, PooledScatter) else facts.count
    return N, facts.scatter.array.reshape(-1, M, M) / N[:, None, None]


def smallest_pivot(Sigma: Float) -> float:
    """Smallest 1 - R² of a column given the columns before it."""
    return float(cholesky_of_correlation(Sigma)[1].diagonal().min() ** 2)


def projections(L: Float, seen: Array) -> Float:
    """Projection Π = L' P L of each pattern, (S, M, M), where P is the inverse of the observed part of L L'."""
    pairs = seen[:, :, None] & seen[:, None, :]
    P = np.linalg.inv(np.where(pairs, L @ L.T, np.eye(len(L))))
    return np.asarray(L.T @ np.where(pairs, P, 0.0) @ L)
