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

**Offsets.** Rows x = c + z far from the origin, |z| << |c|, have almost one direction, and what tells the classes apart
is in the last digits of φ~ = (x, 1). Turning the axes separates the large from the small, before anything is rounded:

    along (c, 1)        s + c'z/s        s² = |c|² + 1
    along (c/|c|², -1)  c'z / (s |c|)
    the others          z without its part along c
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.rows import Source
from separatrix.solvers.worst_rows import Frame, WorstRows, survey, worst_rows

__all__ = ["Margin", "Novikoff", "novikoff", "widest_margin"]

CLOSE = 1e-9  # stop once both sides agree to this
CERTIFIED = 1e-6  # a wider gap than this is no answer
MOST = 64  # rows of each class that a pass brings
MAX_PASSES = 1000
STIFF = 1e6  # times the answer: a column that long can be cut to it, at a relative error of about its inverse square


@dataclass(frozen=True, eq=False)
class Margin:
    """The plane w'x + w0 = 0 with the largest ``margin`` γ, |w| = 1. No plane exceeds ``bound``."""

    w: Float
    w0: float
    margin: float
    bound: float
    n_passes: int


class Novikoff(NamedTuple):
    """γ~, R, and ``bound`` = (R/γ~)²: the perceptron makes no more mistakes, whatever its learning rate.

    Where rounding hides the largest margin, ``margin`` is the largest one found, and the bound is only larger for it.
    """

    margin: float
    radius: float
    bound: float
    n_passes: int


def widest_margin(source: Source) -> Margin:
    """The separating plane that is farthest from the nearest row; classes 0 and 1 must be separable."""
    mean = source.reduce(partial(survey, n_classes=2)).moments.mean
    axes = _Straight(mean.mean(axis=0))
    found = _shortest(source, axes, mean[1:] - mean[:1], _differences)
    if found.attained <= 0 or found.attained < (1 - CERTIFIED) * found.bound:
        raise _hidden(found.attained / 2, found.bound / 2)
    nearest = [found.worst.margin[found.worst.t == k].min() for k in (0, 1)]  # of each class, less the bias
    w0 = (nearest[0] - nearest[1]) / 2 - found.w @ axes.centre
    return Margin(found.w, float(w0), found.attained / 2, found.bound / 2, 1 + found.n_passes)


def novikoff(source: Source, *, fit_intercept: bool = True) -> Novikoff:
    """The bound on the mistakes of a perceptron; classes 0 and 1 must be separable."""
    first = source.reduce(partial(survey, n_classes=2))
    mean = first.moments.mean
    axes: _Axes = _Turned.about(mean.mean(axis=0)) if fit_intercept else _Straight(np.zeros(mean.shape[1]))
    start = axes.coordinates(axes.frame.rows(mean).toarray()) * np.array([[-1.0], [1.0]])
    found = _shortest(source, axes, start, _signed)
    if found.attained <= 0:
        raise _hidden(found.attained, found.bound)
    radius = float(np.hypot(first.extent.radius, float(fit_intercept)))
    return Novikoff(found.attained, radius, (radius / found.attained) ** 2, 1 + found.n_passes)


class _Axes(Protocol):
    """Orthonormal axes for φ, and the frame that passes measure rows in."""

    @property
    def frame(self) -> Frame:
        """Rows about a centre, which lose nothing to rounding."""

    def coordinates(self, Z: Float) -> Float:
        """φ (n, P) of rows Z of the frame."""

    def weights(self, w: Float) -> Float:
        """The b with b'z = w'φ for every row."""


class _Straight(NamedTuple):
    """φ = x - centre."""

    centre: Float

    @property
    def frame(self) -> Frame:
        """No intercept."""
        return Frame(self.centre, np.ones_like(self.centre), fit_intercept=False, rounding=0.0)

    def coordinates(self, Z: Float) -> Float:
        """Z."""
        return Z

    def weights(self, w: Float) -> Float:
        """The same."""
        return w


class _Turned(NamedTuple):
    """φ~ = (x, 1) along the axes of the module docstring; unit = c/|c|, and ``mirror`` takes it to the first axis."""

    centre: Float
    unit: Float
    mirror: Float
    length: float
    s: float

    @classmethod
    def about(cls, centre: Float) -> _Turned:
        """The axes for rows about this centre."""
        length = float(np.linalg.norm(centre))
        unit = centre / length if length > 0 else np.eye(len(centre))[0]
        mirror = unit.copy()
        mirror[0] += np.copysign(1.0, unit[0])
        return cls(centre, unit, mirror / np.linalg.norm(mirror), length, float(np.hypot(length, 1.0)))

    @property
    def frame(self) -> Frame:
        """(z, 1)."""
        return Frame(self.centre, np.ones_like(self.centre), fit_intercept=True, rounding=0.0)

    def coordinates(self, Z: Float) -> Float:
        """φ~ turned."""
        z, along = Z[:, :-1], Z[:, :-1] @ self.unit
        others = z - 2 * np.outer(z @ self.mirror, self.mirror)
        return np.column_stack([self.s + self.length / self.s * along, along / self.s, others[:, 1:]])

    def weights(self, w: Float) -> Float:
        """Back to (z, 1)."""
        others = np.append(0.0, w[2:])
        others -= 2 * (others @ self.mirror) * self.mirror
        return np.append((self.length * w[0] + w[1]) / self.s * self.unit + others, self.s * w[0])


class _Corners(NamedTuple):
    """Some corners d of the polytope, among them one with the smallest p'd of all, and that ``least`` p'd."""

    D: Float
    least: float


def _differences(Phi: Float, worst: WorstRows) -> _Corners:
    """x_i - x_j: the worst of one class against the worst of the other, the second worst against the second, ..."""
    is_one = worst.t == 1
    one, zero = Phi[is_one], Phi[~is_one]
    n = min(len(one), len(zero))
    D = np.vstack([one[:n] - zero[:n], one[1:] - zero[:1], one[:1] - zero[1:]])
    return _Corners(D, float(worst.margin[is_one].min() + worst.margin[~is_one].min()))


def _signed(Phi: Float, worst: WorstRows) -> _Corners:
    """t_n φ~_n."""
    return _Corners(Phi * np.where(worst.t == 1, 1.0, -1.0)[:, None], worst.least)


class _Found(NamedTuple):
    """A direction w, |w| = 1, the margin it attains, the bound on all margins, and the pass that showed it."""

    w: Float
    attained: float
    bound: float
    worst: WorstRows
    n_passes: int


def _shortest(source: Source, axes: _Axes, D: Float, corners: Callable[[Float, WorstRows], _Corners]) -> _Found:
    """The shortest vector of a polytope, from some of its points D and passes that find its corners."""
    best: _Found | None = None
    previous = np.inf
    for n_passes in range(1, MAX_PASSES + 1):
        with single_thread_blas():  # NumPy and SciPy bring a BLAS each, and their threads wait on each other
            w, bound, D = _shortest_of(D)
        B = np.vstack([np.zeros(axes.frame.width), axes.weights(w)])
        worst = source.reduce(partial(worst_rows, B=B, frame=axes.frame, below=np.inf, most=MOST))
        new = corners(axes.coordinates(axes.frame.rows(worst.X).toarray()), worst)
        if best is None or new.least > best.attained:
            best = _Found(w, new.least, bound, worst, n_passes)
        if best.attained >= (1 - CLOSE) * bound or not bound < previous:
            break
        D, previous = np.vstack([D, new.D]), bound
    assert best is not None  # MAX_PASSES > 0
    return best._replace(bound=bound, n_passes=n_passes)


def _shortest_of(D: Float) -> tuple[Float, float, Float]:
    """The direction w of the shortest p in the hull of the rows of D, its length, and the rows it is a mixture of.

    Non-negative least squares is exact where its demands, D'u = 0 and 1'u = 1, are of like size. So D is measured in
    units of the answer, which is known after a few rounds. A column in which the rows that matter are STIFF times
    longer than the answer is cut to that: its part of p vanishes either way, and nothing but rounding is lost. And
    p = D'u cancels where the rows are long; the plane that has all of them at one distance does not.
    """
    from scipy.optimize import nnls

    share, length, before = np.ones(D.shape[1]), float(np.linalg.norm(D, axis=1).min()), np.inf
    while 0 < length < 0.5 * before:
        A = np.vstack([(D * (share / length)).T, np.ones(len(D))])
        u, _ = nnls(A, np.append(np.zeros(D.shape[1]), 1.0), maxiter=30 * (len(D) + 10))
        before, length = length, float(np.linalg.norm((u @ D) * share)) / float(u.sum())
        most = STIFF * length
        share = most / np.maximum(np.abs(D[u > 0]).max(axis=0), most or 1.0)
    if length == 0:  # the origin is in the hull
        return np.zeros(D.shape[1]), 0.0, D
    D = D[u > 0]
    w = share * np.linalg.lstsq(D * (share / length), np.ones(len(D)))[0]
    return w / np.linalg.norm(w), length, D


def _hidden(attained: float, bound: float) -> ArithmeticError:
    return ArithmeticError(
        f"The largest margin lies between {attained:.8g} and {bound:.8g} and could not be found more closely: either "
        "no plane separates the classes, or columns of very different units hide the gap in their rounding. Divide "
        "each column by its standard deviation."
    )
