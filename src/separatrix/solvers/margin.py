# SPDX-License-Identifier: BSD-3-Clause
"""The largest margin of two classes that can be separated, certified.

With a free bias, and without one for rows φ~ = (x, 1) or φ~ = x,

    γ  = max_{|w|=1, w0}  min_n t_n (w'x_n + w0)   = ½ min |p|,  p in the hull of the differences x_i - x_j, t_i > t_j
    γ~ = max_{|w~|=1}     min_n t_n w~'φ~_n        =   min |p|,  p in the hull of the t_n φ~_n,            t_n = ±1

so both are the length of the shortest vector p of a polytope. γ is half the distance between the hulls of the classes;
(R/γ~)², R = max_n |φ~_n|, bounds the mistakes of a perceptron (Novikoff 1962).

The shortest p over a few corners d comes from non-negative least squares: u >= 0 with D'u = 0 and 1'u = 1 as nearly as
can be has D'u along p. One pass then finds the corners with the smallest p'd over all rows; they join, until
(Wolfe 1976)

    min_d p'd / |p|   <=   γ   <=   |p|

agree: the left-hand side is the margin that p attains, the right-hand side a bound on every margin.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix.data import Source
from separatrix.solvers.worst_rows import Frame, WorstRows, survey, worst_rows

__all__ = ["Margin", "Novikoff", "novikoff", "widest_margin"]

CLOSE = 1e-9  # stop once both sides agree to this
CERTIFIED = 1e-6  # a wider gap than this is no answer
MOST = 64  # rows of each class that a pass brings
MAX_PASSES = 1000


class Margin(NamedTuple):
    """The plane w'x + w0 = 0 with the largest ``margin`` γ, |w| = 1. No plane exceeds ``bound``."""

    w: Float
    w0: float
    margin: float
    bound: float
    n_passes: int


class Novikoff(NamedTuple):
    """γ~, R, and ``bound`` = (R/γ~)²: the perceptron makes no more mistakes, whatever its learning rate."""

    margin: float
    radius: float
    bound: float
    n_passes: int


def widest_margin(source: Source) -> Margin:
    """The separating plane that is farthest from the nearest row; classes 0 and 1 must be separable."""
    mean = source.reduce(partial(survey, n_classes=2)).moments.mean
    centre = mean.mean(axis=0)
    frame = Frame(centre, np.ones_like(centre), fit_intercept=False, rounding=0.0)
    found = _shortest(source, frame, mean[1:] - mean[:1], _differences)
    nearest = [found.worst.margin[found.worst.t == k].min() for k in (0, 1)]  # of each class, less the bias
    w0 = (nearest[0] - nearest[1]) / 2 - found.w @ centre
    return Margin(found.w, float(w0), found.attained / 2, found.bound / 2, 1 + found.n_passes)


def novikoff(source: Source, *, fit_intercept: bool = True) -> Novikoff:
    """The bound on the mistakes of a perceptron; classes 0 and 1 must be separable."""
    first = source.reduce(partial(survey, n_classes=2))
    mean = first.moments.mean
    frame = Frame(np.zeros(mean.shape[1]), np.ones(mean.shape[1]), fit_intercept, rounding=0.0)
    start = frame.rows(mean).toarray() * np.array([[-1.0], [1.0]])
    found = _shortest(source, frame, start, _signed)
    radius = float(np.hypot(first.extent.radius, float(fit_intercept)))
    return Novikoff(found.attained, radius, (radius / found.attained) ** 2, 1 + found.n_passes)


class _Corners(NamedTuple):
    """Some corners d of the polytope, among them one with the smallest p'd of all, and that ``least`` p'd."""

    D: Float
    least: float


def _differences(frame: Frame, worst: WorstRows) -> _Corners:
    """x_i - x_j: the worst of one class against the worst of the other, the second worst against the second, ..."""
    Z, is_one = frame.rows(worst.X).toarray(), worst.t == 1
    one, zero = Z[is_one], Z[~is_one]
    n = min(len(one), len(zero))
    D = np.vstack([one[:n] - zero[:n], one[1:] - zero[:1], one[:1] - zero[1:]])
    return _Corners(D, float(worst.margin[is_one].min() + worst.margin[~is_one].min()))


def _signed(frame: Frame, worst: WorstRows) -> _Corners:
    """t_n φ~_n."""
    return _Corners(frame.rows(worst.X).toarray() * np.where(worst.t == 1, 1.0, -1.0)[:, None], worst.least)


class _Found(NamedTuple):
    """A direction w, |w| = 1, the margin it attains, the bound on all margins, and the pass that showed it."""

    w: Float
    attained: float
    bound: float
    worst: WorstRows
    n_passes: int


def _shortest(source: Source, frame: Frame, D: Float, corners: Callable[[Frame, WorstRows], _Corners]) -> _Found:
    """The shortest vector of a polytope, from some of its points D and passes that find its corners."""
    previous = np.inf
    for n_passes in range(1, MAX_PASSES + 1):
        w, bound, D = _shortest_of(D)
        B = np.vstack([np.zeros_like(w), w])
        worst = source.reduce(partial(worst_rows, B=B, frame=frame, below=np.inf, most=MOST))
        new = corners(frame, worst)
        found = _Found(w, new.least, bound, worst, n_passes)
        if found.attained >= (1 - CLOSE) * bound or not bound < previous:
            break
        D, previous = np.vstack([D, new.D]), bound
    return _certified(found)


def _shortest_of(D: Float) -> tuple[Float, float, Float]:
    """The direction w of the shortest p in the hull of the rows of D, its length, and the rows it is a mixture of.

    Non-negative least squares is exact where its demands, D'u = 0 and 1'u = 1, are of like size. So D is measured in
    units of the answer, which is known the second time. And p = D'u cancels where the rows are long; the plane that
    has all of them at one distance does not.
    """
    from scipy.optimize import nnls

    length = float(np.linalg.norm(D, axis=1).min())
    for _ in range(2):
        A = np.vstack([D.T / length, np.ones(len(D))])
        u, _ = nnls(A, np.append(np.zeros(D.shape[1]), 1.0), maxiter=30 * (len(D) + 10))
        length = float(np.linalg.norm(u @ D)) / float(u.sum())
    D = D[u > 0]
    w = np.linalg.lstsq(D / length, np.ones(len(D)))[0]
    return w / np.linalg.norm(w), length, D


def _certified(found: _Found) -> _Found:
    if found.attained < (1 - CERTIFIED) * found.bound:
        raise ArithmeticError(
            f"The largest margin lies between {found.attained:.8g} and {found.bound:.8g} and could not be found more "
            "closely. Either the classes cannot be separated, or the gap is so narrow beside the columns' offsets and "
            "scales that rounding hides it: centre the columns and give them similar units."
        )
    return found
