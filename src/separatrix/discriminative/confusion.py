# SPDX-License-Identifier: BSD-3-Clause
"""Confusion matrices C_kj = p(label j | true class k): given ones, checked, and unknown ones, as free numbers η.

    C_kj = r_kj / (1 + Σ_i r_ki)  for j ≠ k,        r_kj = C_kj/C_kk = σ(η_g(k,j))

One formula, three structures: one η for all entries, one for each true class, or one for each entry. For two classes
and one rate, r = ε/(1 - ε). Since r < 1, the most frequent label of each class is its own. Without that, exchanging two
classes, and with them two rows of the matrix, would give the same likelihood.

**Prior.** Each r is uniform on (0, 1), and the estimate is the mode in η, where the density r^c (1 - r)^c has no end to
run into: as if c more labels had been seen wrong. c is 1 for a rate of its own, and shared among the K - 1 entries of a
class, so it matters only where hardly any label is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import special

from separatrix._array import Codes, Float, bincount
from separatrix.exceptions import DataError
from separatrix.likelihoods import LabelNoise, SoftmaxLabelNoise

__all__ = ["STRUCTURES", "KnownRates", "Noisy", "Rates", "given_confusion", "noisy_likelihood"]

Noisy = LabelNoise | SoftmaxLabelNoise

FIRST_GUESS = 0.1  # the share of wrong labels that a search starts from
HIGHEST = 25.0  # η beyond which 1 - r is nothing but rounding


def _one(K: int) -> Codes:
    return np.zeros((K, K), dtype=np.intp)


def _per_class(K: int) -> Codes:
    return np.repeat(np.arange(K)[:, None], K, axis=1)


def _full(K: int) -> Codes:
    group = np.zeros((K, K), dtype=np.intp)
    group[~np.eye(K, dtype=bool)] = np.arange(K * (K - 1))
    return group


STRUCTURES: Mapping[str, Any] = {"one": _one, "per-class": _per_class, "full": _full}


@dataclass(frozen=True, eq=False, slots=True)
class Rates:
    """Unknown rates: which η each entry of the matrix has, (K, K); the diagonal has none."""

    group: Codes
    pseudo: float

    @classmethod
    def of(cls, structure: str, n_classes: int) -> Rates:
        """Rates of one of the `STRUCTURES`."""
        return cls(STRUCTURES[structure](n_classes), 1.0 / (n_classes - 1) if structure == "full" else 1.0)

    @property
    def n(self) -> int:
        """How many η there are."""
        return int(self.group.max()) + 1

    def start(self) -> Float:
        """η where a tenth of all labels is wrong."""
        K = len(self.group)
        return np.full(self.n, special.logit(FIRST_GUESS / ((1.0 - FIRST_GUESS) * (K - 1))))

    def odds(self, eta: Float) -> Float:
        """r for each η."""
        return np.asarray(special.expit(np.minimum(eta, HIGHEST)))

    def confusion(self, eta: Float) -> Float:
        """C (K, K)."""
        R = self.odds(eta)[self.group]
        np.fill_diagonal(R, 1.0)
        return np.asarray(R / R.sum(axis=1, keepdims=True))

    def value_grad(self, eta: Float, counts: Float) -> tuple[float, Float]:
        """-ln p(η), and the gradient in η of the whole objective.

        ``counts`` (K, K) are expected numbers of rows with true class k and label j, and all that the gradient needs of
        the rows: ∂ ln p(t)/∂ ln r_kj = q_k ([t = j] - C_kj), with q the posterior of the true class.
        """
        value = self.pseudo * float(np.logaddexp(0.0, eta).sum() + np.logaddexp(0.0, -eta).sum())
        excess = counts - counts.sum(axis=1, keepdims=True) * self.confusion(eta)
        r = self.odds(eta)
        return value, (r - 1.0) * self._by_group(excess) + self.pseudo * (2.0 * r - 1.0)

    def curvature(self, eta: Float, counts: Float) -> Float:
        """What the second derivatives would be if the true classes were known, each η by itself: the bound of EM."""
        C, r = self.confusion(eta), self.odds(eta)
        K = len(C)
        share = np.zeros((K, self.n))  # of the labels of a class that belong to each η
        off = ~np.eye(K, dtype=bool)
        np.add.at(share, (np.nonzero(off)[0], self.group[off]), C[off])
        known = (1.0 - r) ** 2 * (counts.sum(axis=1) @ (share * (1.0 - share)))
        return np.asarray(known + 2.0 * self.pseudo * r * (1.0 - r))

    def _by_group(self, entries: Float) -> Float:
        off = ~np.eye(len(entries), dtype=bool)
        return bincount(self.group[off], entries[off], self.n)


@dataclass(frozen=True, eq=False, slots=True)
class KnownRates:
    """A matrix that is given: no η, and nothing to learn from counts."""

    C: Float

    def start(self) -> Float:
        """No η."""
        return np.zeros(0)

    def confusion(self, eta: Float) -> Float:
        """C (K, K)."""
        return self.C

    def value_grad(self, eta: Float, counts: Float) -> tuple[float, Float]:
        """Nothing."""
        return 0.0, np.zeros(0)

    def curvature(self, eta: Float, counts: Float) -> Float:
        """Nothing."""
        return np.zeros(0)


def noisy_likelihood(confusion: Float) -> Noisy:
    """p(label | a) through a confusion matrix."""
    if len(confusion) == 2:
        return LabelNoise(float(confusion[0, 1]), float(confusion[1, 0]))
    return SoftmaxLabelNoise(confusion)


def _evenly(rates: Float) -> Float:
    """The matrix of classes that are labelled wrongly at these rates (K,), as any other class alike."""
    K = len(rates)
    C = np.repeat((rates / (K - 1))[:, None], K, axis=1)
    np.fill_diagonal(C, 1.0 - rates)
    return C


def given_confusion(owner: str, noise: Any, n_classes: int) -> Float:
    """The matrix that the user gave: one rate, a rate for each class, or all of it; or an error that says what it is.

    Raises
    ------
    ValueError
        For a rate that is not one, or so high that a label says nothing of its class.
    DataError
        For an array that does not fit the classes.
    """
    K = n_classes
    array = np.asarray(noise)
    if isinstance(noise, bool) or array.dtype.kind not in "fiu":
        raise ValueError(f"{owner}(noise={noise!r}): noise must be a number, an array of them, or None to estimate it.")
    array = array.astype(np.float64)
    if array.ndim == 2:
        return _checked_matrix(owner, array, K)
    if array.shape not in ((), (K,)):
        raise DataError(
            f"{owner}(noise=...) has shape {array.shape}, but y has {K} classes: give one rate, a rate for each class "
            f"({K},), or a confusion matrix ({K}, {K})."
        )
    rates = np.broadcast_to(array, (K,))
    limit = 1.0 - 1.0 / K
    wrong = np.flatnonzero(~((rates >= 0.0) & (rates < limit)))
    if len(wrong):
        raise ValueError(
            f"{owner}(noise={_shown(noise)}): {rates[wrong[0]]:g} is not a rate of wrong labels among {K} classes; it "
            f"must be at least 0 and below {limit:.3g}, where labels are no better than chance."
        )
    return _evenly(rates)


def _checked_matrix(owner: str, C: Float, K: int) -> Float:
    if C.shape != (K, K):
        raise DataError(f"{owner}(noise=...) has shape {C.shape}, but y has {K} classes: it must be ({K}, {K}).")
    C = np.array(SoftmaxLabelNoise(C).confusion)  # rows that are probabilities and sum to one
    k = int((C - np.diag(C)[:, None] >= 0).sum(axis=1).argmax())
    rivals = np.flatnonzero((C[k] >= C[k, k]) & (np.arange(K) != k))
    if len(rivals):
        raise DataError(
            f"{owner}(noise=...): confusion[{k}, {rivals[0]}] = {C[k, rivals[0]]:g} is not below confusion[{k}, {k}] = "
            f"{C[k, k]:g}. The most frequent label of each class must be its own, or classes and labels could be "
            "exchanged. Rows are true classes and columns labels: transpose, or reorder the rows."
        )
    return C


def _shown(noise: Any) -> str:
    return repr(noise) if isinstance(noise, Real) else np.array2string(np.asarray(noise), precision=4, threshold=6)
