# SPDX-License-Identifier: BSD-3-Clause
"""Pareto-smoothed importance sampling: weights that can be trusted, or a number that says they cannot.

Draws w_s ~ q with weights r_s = p̃(w_s)/q(w_s) estimate what p holds:

    E[f] ≈ Σ_s r_s f(w_s) / Σ_s r_s,        ln Z ≈ ln (1/S) Σ_s r_s

as long as no few weights carry all the sum. Above a high threshold u the weights follow a generalised Pareto law,

    p(r - u = x) = (1/σ) (1 + k x/σ)^(-1/k - 1),

whatever p and q are. Its shape k counts the moments that r has, 1/k of them: below 0.5 the variance is finite, up to
0.7 the sums converge at a practical rate, above that they do not, and from 1 on not even the mean exists. The largest
weights are replaced by the expected order statistics of the law, which takes out most of their noise.

The law holds for a tail, and where q is nearly p there may be none. In one or two dimensions many draws then lie where
p/q has a maximum; a threshold there leaves excesses that are almost zero beside a few that are not, and the law that
fits those best has k = 3, of weights that are all but equal. But S draws of a tail of shape ½ reach √S medians. Where
the largest weight is less than a third of that, k is no larger than it shows, and a law that says so is not used:

    k ≤ 0.7 ln(largest / median) / ln(√S / 3)

Vehtari, Simpson, Gelman, Yao & Gabry (2024); the fit is that of Zhang & Stephens (2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isqrt, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix._array import Float

__all__ = ["Smoothed", "fit_generalized_pareto", "pareto_smooth"]

LEAST_TAIL = 5  # a law of two parameters says nothing about fewer weights
ENOUGH = 100  # draws from which on the largest weight says something
SHOWN = 0.7  # the shape that a largest weight of √S / 3 medians shows
EQUAL = 1e-10  # log weights that agree this well differ by rounding alone
SMALLEST = -600.0  # ln(u / largest weight) goes no lower: the threshold stays a normal number, and so does its inverse
PRIOR_SIZE, PRIOR_SHAPE = 10, 0.5  # the weak prior on k: ten more exceedances that say 0.5


@dataclass(frozen=True, eq=False, slots=True)
class Smoothed:
    """Importance weights after smoothing, and how far to trust them.

    Attributes
    ----------
    log_weights : array of shape (S,)
        ln r_s, normalised: the weights sum to one.
    k : float
        Shape of the tail, of the raw weights. Minus infinity where all weights are equal (q is p), plus infinity where
        fewer than five weights make the tail, so that nothing is known.
    effective_size : float
        1 / Σ weight², the number of independent draws from p that would do as well; from 1 to S.
    log_mean : float
        ln (1/S) Σ r_s, the estimate of ln Z.
    """

    log_weights: Float
    k: float
    effective_size: float
    log_mean: float

    @property
    def weights(self) -> Float:
        """The normalised weights themselves, (S,)."""
        return np.asarray(np.exp(self.log_weights))


def pareto_smooth(log_weights: ArrayLike) -> Smoothed:
    """Smooth the largest of S importance weights by a generalised Pareto law.

    The tail is the min(S/5, 3 √S) largest weights. None is made larger than the largest there was; the others stay
    as they are.

    Parameters
    ----------
    log_weights : array of shape (S,)
        ln p̃(w_s) - ln q(w_s), for p̃ known up to a factor. Minus infinity is a weight of zero.

    Raises
    ------
    ValueError
        Where there is no weight, one is not a number or plus infinity, or all are zero.

    Examples
    --------
    A normal proposal is too narrow for a Student's t, and a t is wide enough for a normal:

    >>> import numpy as np
    >>> from scipy import stats
    >>> rng = np.random.default_rng(0)
    >>> w = rng.normal(size=4000)
    >>> pareto_smooth(stats.t(df=2).logpdf(w) - stats.norm.logpdf(w)).k > 0.7
    True
    >>> w = rng.standard_t(df=2, size=4000)
    >>> smoothed = pareto_smooth(stats.norm.logpdf(w) - stats.t(df=2).logpdf(w))
    >>> smoothed.k < 0.5, abs(smoothed.log_mean) < 0.02
    (True, True)
    """
    raw = _checked(log_weights)
    top = float(raw.max())
    relative = raw - top  # the largest weight is the unit
    if relative.min() > -EQUAL:
        return _normalised(relative, k=-inf, top=top)
    tail = _largest(relative)
    if len(tail.members) < LEAST_TAIL:
        return _normalised(relative, k=inf, top=top)
    k, smooth = _smoothed(relative, tail)
    shown = _shown(relative)
    return _normalised(smooth if k <= shown else relative, k=min(k, shown), top=top)


def fit_generalized_pareto(excess: Float) -> tuple[float, float]:
    """Shape k and scale σ of a generalised Pareto law: Zhang & Stephens' estimate, k drawn weakly to 0.5.

    With b = -k/σ the best k for a given b is k(b) = mean ln(1 - b x), which leaves a profile likelihood of one
    variable, n (ln(-b/k) - k - 1). The posterior mean of b on a grid that depends on the largest and on the quartile of
    x alone has neither the failures nor the iterations of maximum likelihood.

    Parameters
    ----------
    excess : array of shape (n,)
        Excesses over the threshold, positive and in increasing order.
    """
    n = len(excess)
    n_grid = 30 + isqrt(n)
    quartile = excess[int(n / 4 + 0.5) - 1]
    j = np.arange(1, n_grid + 1)
    b = 1.0 / excess[-1] + (1.0 - np.sqrt(n_grid / (j - 0.5))) / (3.0 * quartile)
    k = np.log1p(-b[:, None] * excess).mean(axis=1)
    profile = n * (np.log(_inverse_scale(b, k, excess)) - k - 1.0)
    b_mean = np.array([special.softmax(profile) @ b])
    k_mean = np.log1p(-b_mean * excess).mean(keepdims=True)
    scale = 1.0 / float(_inverse_scale(b_mean, k_mean, excess)[0])
    return (n * float(k_mean[0]) + PRIOR_SIZE * PRIOR_SHAPE) / (n + PRIOR_SIZE), scale


def _inverse_scale(b: Float, k: Float, excess: Float) -> Float:
    """1/σ = -b/k, which goes to 1/mean where both go to zero and the law to an exponential."""
    zero = k == 0.0
    return np.where(zero, 1.0 / excess.mean(), -b / np.where(zero, 1.0, k))


def _quantiles(n: int, k: float, scale: float) -> Float:
    """The generalised Pareto quantiles at (j - ½)/n: about what n ordered draws are expected to be."""
    exponential = -np.log1p(-(np.arange(n) + 0.5) / n)
    if abs(k) < np.finfo(np.float64).eps:
        return scale * exponential
    return np.asarray(scale * np.expm1(np.minimum(k * exponential, 700.0)) / k)


class _Tail(NamedTuple):
    """A threshold ln u, and which weights lie above it, in increasing order."""

    cut: float
    members: np.ndarray[tuple[int], np.dtype[np.intp]]


def _largest(relative: Float) -> _Tail:
    """The tail that the number of draws calls for."""
    size = len(relative)
    n = ceil(min(size / 5, 3 * sqrt(size)))
    order = np.argsort(relative, kind="stable")
    largest = order[-n - 1 :]
    cut = max(float(relative[largest[0]]), SMALLEST)
    return _Tail(cut, largest[relative[largest] > cut])


def _shown(relative: Float) -> float:
    """The largest k that weights can have, none of which is far from the median; infinite where one is."""
    size = len(relative)
    reach = log(sqrt(size) / 3)
    height = -float(np.partition(relative, size // 2)[size // 2])
    return SHOWN * height / reach if size >= ENOUGH and height < reach else inf


def _smoothed(relative: Float, tail: _Tail) -> tuple[float, Float]:
    """The shape of a tail, and all log weights with the tail as its law expects it."""
    excess = np.exp(tail.cut) * np.expm1(relative[tail.members] - tail.cut)  # in increasing order, and never zero
    k, scale = fit_generalized_pareto(excess)
    expected = np.exp(tail.cut) + _quantiles(len(excess), k, scale)
    smooth = relative.copy()
    smooth[tail.members] = np.minimum(np.log(expected), 0.0)
    return k, smooth


def _normalised(relative: Float, *, k: float, top: float) -> Smoothed:
    total = float(special.logsumexp(relative))
    log_weights = relative - total
    effective_size = float(np.exp(-special.logsumexp(2.0 * log_weights)))
    return Smoothed(log_weights, k, effective_size, top + total - float(np.log(len(relative))))


def _checked(log_weights: ArrayLike) -> Float:
    """A fresh array of log weights of which at least one is finite."""
    raw = np.array(log_weights, dtype=np.float64)
    if raw.ndim != 1 or len(raw) == 0:
        raise ValueError(
            f"pareto_smooth(log_weights): shape {raw.shape} is not that of one weight for each draw, (S,)."
        )
    wrong = np.flatnonzero(np.isnan(raw) | (raw == inf))
    if len(wrong):
        raise ValueError(
            f"pareto_smooth(log_weights): draw {wrong[0]} has log weight {raw[wrong[0]]}; "
            "the proposal must be positive wherever it draws, and both log densities must be numbers."
        )
    if raw.max() == -inf:
        raise ValueError("pareto_smooth(log_weights): every weight is zero; no draw lies where the target does.")
    return raw
