# SPDX-License-Identifier: BSD-3-Clause
"""Labels that are sometimes wrong: p(t | a) = Σ_k p(t | true class k) p(k | a).                 PRML (4.117)

For two classes with the rates ε_0 = p(t = 1 | 0) and ε_1 = p(t = 0 | 1),

    p(t = 1 | a) = ε_0 + (1 - ε_0 - ε_1) σ(a)

Given the label, the true class is 1 with probability q = σ(a + λ_t), λ_1 = ln (1 - ε_1)/ε_0, λ_0 = ln ε_1/(1 - ε_0).
With p = σ(a),

    slope q - p,    curvature p (1 - p) - q (1 - q),    skew (q - p) (p (1 - p) + q (1 - q) - (p + q - 1)²)

so ln p is not concave: a label that contradicts a strong activation is ignored instead of fitted. For K classes with
the confusion matrix C_kj = p(t = j | k), slope and curvature are analogous, with p = softmax(a) and
q_k = p_k C_kt / Σ_j p_j C_jt.

For two classes, q - p is computed without subtraction: q - p = ±v (1 - u) (1 - e^-λ), where m is the margin of the
label (a for label 1, -a for label 0), u = σ(m), and v = σ(m + λ) is the probability that the label is correct.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from separatrix._arguments import check_number
from separatrix._array import Array
from separatrix.exceptions import DataError
from separatrix.likelihoods.base import Covariances, Derivatives, MeanDerivatives
from separatrix.likelihoods.logit import Logit, log_sigmoid, sigmoids
from separatrix.likelihoods.softmax import SoftmaxProbabilities, below_largest, log_of, probabilities


@dataclass(frozen=True, slots=True)
class LabelNoise:
    """Bernoulli targets with logit link, whose labels are flipped with given probabilities.

    Parameters
    ----------
    eps0 : float
        ε_0, the fraction of class 0 that is labelled 1.
    eps1 : float, optional
        ε_1, the fraction of class 1 that is labelled 0; by default ε_0. The two rates must sum to less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.likelihoods import LabelNoise
    >>> noise = LabelNoise(0.1)
    >>> a, t = np.array([-20.0, 0.0, 20.0]), np.array([1, 1, 1])
    >>> np.exp(noise.derivatives(a, t).log_p).round(6)
    array([0.1, 0.5, 0.9])
    >>> noise.posterior(a, t).round(6)
    array([0. , 0.9, 1. ])
    """

    eps0: float
    eps1: float | None = None

    n_outputs: ClassVar[int] = 1
    is_log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_number("LabelNoise", "eps0", self.eps0, low=0.0, high=1.0)
        if self.eps1 is not None:
            check_number("LabelNoise", "eps1", self.eps1, low=0.0, high=1.0)
        eps0, eps1 = self.rates
        if eps0 + eps1 >= 1.0:
            raise ValueError(
                f"LabelNoise(eps0={eps0:g}, eps1={eps1:g}): the rates must sum to less than 1; otherwise labels are "
                "no better than chance. If labels are opposite to the classes, exchange the labels."
            )

    @property
    def rates(self) -> tuple[float, float]:
        """ε_0 and ε_1."""
        return self.eps0, self.eps0 if self.eps1 is None else self.eps1

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p, q - p and p (1 - p) - q (1 - q); for soft targets t, the expectation over labels."""
        return Derivatives(*self._expected(a, t, _Label.log_p, _Label.slope, _Label.curvature))

    def safe_curvature(self, a: Array, t: Array) -> Array:
        """The expected curvature (Fisher information): minus the product of the slopes of the two labels.

        With it, Newton's method needs a third of the steps that it needs with the bound of EM, p (1 - p).
        """
        return -self._label(a, 1).slope() * self._label(a, 0).slope()

    def skew(self, a: Array, t: Array) -> Array:
        """(q - p) (p (1 - p) + q (1 - q) - (p + q - 1)²)."""
        return self._expected(a, t, _Label.skew)[0]

    def probability(self, a: Array) -> Array:
        """p(true class 1 | a)."""
        return sigmoids(a)[0]

    def mean_derivatives(self, a: Array) -> MeanDerivatives:
        """p(true class 1 | a) and its derivatives."""
        return Logit().mean_derivatives(a)

    def probabilities(self, a: Array) -> Array:
        """p(true class 0 | a) and p(true class 1 | a)."""
        return np.stack(sigmoids(a)[::-1], axis=1)

    def log_probabilities(self, a: Array) -> Array:
        """ln p(true class 0 | a) and ln p(true class 1 | a)."""
        return np.stack([log_sigmoid(-a), log_sigmoid(a)], axis=1)

    def observed(self, a: Array) -> Array:
        """p(label 1 | a)."""
        eps0, eps1 = self.rates
        up, down = sigmoids(a)
        return np.asarray((1.0 - eps1) * up + eps0 * down)

    def posterior(self, a: Array, t: Array) -> Array:
        """q = p(true class 1 | label t, a)."""
        return self._expected(a, t, _Label.class_one)[0]

    def _expected(self, a: Array, t: Array, *parts: Callable[[_Label], Array]) -> list[Array]:
        """Each function for the labels t, or its mean over labels that are 1 with probability t."""
        if t.dtype.kind != "f":
            label = self._label(a, t)
            return [part(label) for part in parts]
        one, zero = self._label(a, 1), self._label(a, 0)
        t = t.astype(a.dtype, copy=False)
        return [np.asarray(t * part(one) + (1.0 - t) * part(zero)) for part in parts]

    def _label(self, a: Array, t: Array | int) -> _Label:
        is_one = np.greater(t, 0)

        def pick(for_one: float, for_zero: float) -> Array:
            return np.where(is_one, for_one, for_zero).astype(a.dtype)

        eps0, eps1 = self.rates
        m = np.where(is_one, a, -a)
        with np.errstate(divide="ignore"):  # without noise, λ is infinite
            shift = pick(np.log(1.0 - eps1) - np.log(eps0), np.log(1.0 - eps0) - np.log(eps1))
        contrast = pick((1.0 - eps0 - eps1) / (1.0 - eps1), (1.0 - eps0 - eps1) / (1.0 - eps0))
        return _Label(
            m, pick(1.0, -1.0), pick(eps1, eps0), pick(eps0, eps1), contrast, *sigmoids(m), *sigmoids(m + shift)
        )


class _Label(NamedTuple):
    """One label per row, with its margin m. If the label is 1, u = p and v = q; otherwise u = 1 - p and v = 1 - q."""

    m: Array
    sign: Array  # ±1 in a = ±m
    missed: Array  # p(another label | the class of this label)
    false: Array  # p(this label | the other class)
    contrast: Array  # 1 - e^-λ
    u: Array  # σ(m), the probability that the true class is the label
    not_u: Array
    v: Array  # σ(m + λ), the same probability given the label
    not_v: Array

    def log_p(self) -> Array:
        """ln p(label | a), from p(other label) if this is small, else from logarithms, which do not underflow."""
        other = self.missed * self.u + (1.0 - self.false) * self.not_u
        log_p = np.log1p(-np.minimum(other, 0.5))
        far = np.flatnonzero(other > 0.5)
        if len(far):
            m, missed, false = (np.broadcast_to(part, other.shape)[far] for part in (self.m, self.missed, self.false))
            with np.errstate(divide="ignore"):  # if false = 0, ln 0 = -inf adds nothing
                log_p[far] = np.logaddexp(np.log1p(-missed) + log_sigmoid(m), np.log(false) + log_sigmoid(-m))
        return np.asarray(log_p)

    def slope(self) -> Array:
        return np.asarray(self.sign * self.v * self.not_u * self.contrast)

    def curvature(self) -> Array:
        return np.asarray(self.v * self.not_u * self.contrast * (self.u - self.not_v))

    def skew(self) -> Array:
        return np.asarray(self.slope() * (self.u * self.not_u + self.v * self.not_v - (self.u - self.not_v) ** 2))

    def class_one(self) -> Array:
        return np.where(self.sign > 0, self.v, self.not_v)


@dataclass(frozen=True, eq=False, slots=True)
class SoftmaxLabelNoise(SoftmaxProbabilities):
    """Categorical targets whose labels follow a confusion matrix; one activation per true class.

    Parameters
    ----------
    confusion : array of shape (K, K)
        C_kj = p(label j | true class k). Rows sum to one. The identity matrix gives a `Softmax`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.likelihoods import SoftmaxLabelNoise
    >>> noise = SoftmaxLabelNoise([[0.9, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])
    >>> noise.posterior(np.zeros((1, 3)), np.array([1])).round(4)
    array([[0.0625, 0.625 , 0.3125]])
    """

    confusion: Any

    is_log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        C = np.asarray(self.confusion, dtype=np.float64)
        if C.ndim != 2 or C.shape[0] != C.shape[1] or len(C) < 2:
            raise DataError(f"confusion has shape {C.shape}; it must be (K, K), a row for each of K >= 2 true classes.")
        if not ((C >= 0) & (C <= 1)).all():
            k, j = (int(i) for i in np.argwhere(~((C >= 0) & (C <= 1)))[0])
            raise DataError(f"confusion[{k}, {j}] is {C[k, j]:g}; a probability lies between 0 and 1.")
        sums = C.sum(axis=1)
        wrong = int(np.abs(sums - 1.0).argmax())
        if abs(sums[wrong] - 1.0) > 1e-6:
            raise DataError(
                f"confusion[{wrong}] sums to {sums[wrong]:.6g}; each row, the labels of one true class, must sum to 1. "
                "Divide the rows by their sums, or transpose the matrix if its columns sum to 1."
            )
        if not C.any(axis=0).all():
            never = int(np.flatnonzero(~C.any(axis=0))[0])
            raise DataError(f"confusion[:, {never}] is zero: no class is ever labelled {never}. Drop that label.")
        rows = C / sums[:, None]
        rows.setflags(write=False)
        object.__setattr__(self, "confusion", rows)

    @property
    def n_outputs(self) -> int:
        """Number of classes K."""
        return len(self.confusion)

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p, q - p, and (diag p - p p') - (diag q - q q')."""
        below = below_largest(a)
        Q, log_p = self._posterior(below, t)
        P, total = probabilities(below)
        log_p -= np.log(total)
        # p(any other label). 1 - C_kt is computed as the sum of the other entries of its row.
        missed = np.stack([np.delete(self.confusion, j, axis=1).sum(axis=1) for j in range(self.n_outputs)])
        other = np.einsum("kn,kn->n", P, missed.T.astype(a.dtype)[:, t])
        slope = Q - P
        # q - p cancels if a class is nearly certain. Its slope is minus the sum of the others, which do not cancel.
        largest = P.argmax(axis=0), np.arange(len(t))
        slope[largest] = 0.0
        slope[largest] = -slope.sum(axis=0)
        return Derivatives(log_of(other, log_p), slope.T, Covariances(P.T, Q.T))

    def observed(self, a: Array) -> Array:
        """p(label j | a), (n, K)."""
        return np.asarray(self.probability(a) @ self.confusion.astype(a.dtype))

    def posterior(self, a: Array, t: Array) -> Array:
        """q_k = p(true class k | label t, a), (n, K)."""
        return self._posterior(below_largest(a), t)[0].T

    def _posterior(self, below: Array, t: Array) -> tuple[Array, Array]:
        """q (K, n), and ln Σ_k e^(a_k - max a) C_kt (n,)."""
        if t.dtype.kind == "f":
            raise DataError(
                "SoftmaxLabelNoise needs class codes 0 .. K-1, not probabilities: describe wrong labels by "
                "`confusion`, or use Softmax for targets that are probabilities."
            )
        with np.errstate(divide="ignore"):  # entries of zero are allowed
            log_confusion = np.log(self.confusion).astype(below.dtype)
        joint = below + log_confusion[:, t]
        largest = joint.max(axis=0)
        joint -= largest
        Q, total = probabilities(joint)
        return Q, largest + np.log(total)
