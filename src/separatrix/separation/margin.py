# SPDX-License-Identifier: BSD-3-Clause
"""The largest margin of two separable classes, with a certificate.

γ is the margin with a free bias, and γ~ the margin of rows φ~ = (x, 1) or φ~ = x without a free bias:

    γ  = max_{|w|=1, w0}  min_n t_n (w'x_n + w0)   = ½ min |p|,  p in the hull of the differences x_i - x_j, t_i > t_j
    γ~ = max_{|w~|=1}     min_n t_n w~'φ~_n        =   min |p|,  p in the hull of the t_n φ~_n,            t_n = ±1

so both follow from the shortest vector p of a polytope. γ is half the distance between the convex hulls of the classes.
(R/γ~)² with R = max_n |φ~_n| bounds the number of mistakes of a perceptron (Novikoff 1962).

The shortest p over a few corners d comes from non-negative least squares: if u >= 0 solves D'u = 0 and 1'u = 1 in the
least-squares sense, D'u is parallel to p. One pass then finds the corners with the smallest p'd over all rows. Corners
are added until the two sides of

    min_d p'd / |p|   <=   γ   <=   |p|                                                          (Wolfe 1976)

agree. The left-hand side is the margin attained by p, and the right-hand side bounds every margin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.rows import Source
from separatrix.separation.program import Frame, WorstRows, survey_classes, worst_rows

CLOSE_GAP = 1e-9  # relative difference of the two sides at which the search stops
CERTIFIED_GAP = 1e-6  # relative difference up to which the margin counts as found
MAX_ROWS_PER_CLASS = 64  # number of rows of each class that a pass adds
MAX_PASSES = 1000


@dataclass(frozen=True, eq=False)
class Margin:
    """The plane w'x + w0 = 0, |w| = 1, with the largest ``margin`` γ. No plane exceeds ``bound``."""

    w: Float
    w0: float
    margin: float
    bound: float
    n_passes: int


class Novikoff(NamedTuple):
    """γ~, R, and ``bound`` = (R/γ~)²; a perceptron makes at most ``bound`` mistakes for any learning rate.

    If rounding hides the largest margin, ``margin`` is the largest margin found, and the bound is too large.
    """

    margin: float
    radius: float
    bound: float
    n_passes: int


def widest_margin(source: Source) -> Margin:
    """Separating plane with the largest distance from the nearest row; classes 0 and 1 must be separable."""
    mean = source.reduce(partial(survey_classes, n_classes=2)).moments.mean
    frame = Frame(mean.mean(axis=0), np.ones(mean.shape[1]), fit_intercept=False)
    found = _shortest(source, frame, mean[1:] - mean[:1], _differences)
    if found.attained <= 0 or found.attained < (1 - CERTIFIED_GAP) * found.bound:
        raise _hidden(found.attained / 2, found.bound / 2)
    nearest = [found.worst.margin[found.worst.t == k].min() for k in (0, 1)]  # smallest margin without the bias
    w0 = (nearest[0] - nearest[1]) / 2 - found.w @ frame.centre
    return Margin(found.w, float(w0), found.attained / 2, found.bound / 2, 1 + found.n_passes)


def novikoff(source: Source, *, fit_intercept: bool = True) -> Novikoff:
    """Bound on the mistakes of a perceptron; classes 0 and 1 must be separable."""
    first = source.reduce(partial(survey_classes, n_classes=2))
    mean = first.moments.mean
    frame = Frame(np.zeros(mean.shape[1]), np.ones(mean.shape[1]), fit_intercept)

    def signed(Phi: Float, worst: WorstRows) -> tuple[Float, float]:
        """Corners d = t_n φ~_n, and the smallest p'd."""
        return Phi * np.where(worst.t == 1, 1.0, -1.0)[:, None], worst.least

    found = _shortest(source, frame, frame.rows(mean).toarray() * np.array([[-1.0], [1.0]]), signed)
    if found.attained <= 0:
        raise _hidden(found.attained, found.bound)
    radius = float(np.hypot(first.extent.radius, float(fit_intercept)))
    return Novikoff(found.attained, radius, (radius / found.attained) ** 2, 1 + found.n_passes)


def _differences(Phi: Float, worst: WorstRows) -> tuple[Float, float]:
    """Corners d = x_i - x_j from the rows of each class with the smallest margins, and the smallest p'd."""
    is_one = worst.t == 1
    one, zero = Phi[is_one], Phi[~is_one]
    n = min(len(one), len(zero))
    D = np.vstack([one[:n] - zero[:n], one[1:] - zero[:1], one[:1] - zero[1:]])
    return D, float(worst.margin[is_one].min() + worst.margin[~is_one].min())


class _Found(NamedTuple):
    """A direction w of length 1, its margin, the bound on all margins, and the rows with the smallest margins."""

    w: Float
    attained: float
    bound: float
    worst: WorstRows
    n_passes: int


def _shortest(
    source: Source, frame: Frame, D: Float, corners: Callable[[Float, WorstRows], tuple[Float, float]]
) -> _Found:
    """Shortest vector p of a polytope. D contains some of its points; passes find its corners.

    Non-negative least squares is precise if D'u = 0 and 1'u = 1 have similar scales, so D is divided by the length of
    p. A few iterations find this length. D'u is inaccurate if the rows are long, so w is computed as the normal of the
    plane at equal distance from the rows that p combines.
    """
    from scipy.optimize import nnls

    best: _Found | None = None
    previous = np.inf
    for n_passes in range(1, MAX_PASSES + 1):
        with single_thread_blas():
            bound, before = float(np.linalg.norm(D, axis=1).min()), np.inf
            while 0 < bound < 0.5 * before:
                A = np.vstack([D.T / bound, np.ones(len(D))])
                u, _ = nnls(A, np.append(np.zeros(D.shape[1]), 1.0), maxiter=30 * (len(D) + 10))
                before, bound = bound, float(np.linalg.norm(u @ D)) / float(u.sum())
            w = np.zeros(D.shape[1])  # if the origin is in the hull
            if bound > 0:
                D = D[u > 0]
                w = np.asarray(np.linalg.lstsq(D / bound, np.ones(len(D)), rcond=None)[0], dtype=np.float64)
                w /= np.linalg.norm(w)
        B = np.vstack([np.zeros(frame.width), w])
        worst = source.reduce(partial(worst_rows, B=B, frame=frame, below=np.inf, most=MAX_ROWS_PER_CLASS))
        new, attained = corners(frame.rows(worst.X).toarray(), worst)
        if best is None or attained > best.attained:
            best = _Found(w, attained, bound, worst, n_passes)
        if best.attained >= (1 - CLOSE_GAP) * bound or not bound < previous:
            break
        D, previous = np.vstack([D, new]), bound
    assert best is not None  # MAX_PASSES > 0
    return best._replace(bound=bound, n_passes=n_passes)


def _hidden(attained: float, bound: float) -> ArithmeticError:
    return ArithmeticError(
        f"The largest margin lies between {attained:.8g} and {bound:.8g} and was not found more precisely: either no "
        "plane separates the classes, or rounding hides the margin because columns are far from zero or have very "
        "different units. Subtract the mean of each column and divide by its standard deviation."
    )
