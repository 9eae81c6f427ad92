# SPDX-License-Identifier: BSD-3-Clause
"""Tuning what is not a scale: the width of basis functions, a rate of wrong labels, the degree of a polynomial.

    x* = argmax_x max_η ln p(D | x, η)

Each x is a new design or a new likelihood, and costs a tuning of the scales of its own. So the profile is first seen
from afar, at a few points between the bounds, because it may have more than one hill; then the highest is climbed by
parabolas through its three best points, until neither the next nor the cubic through one point more promises ``tol``
nats. The bounds themselves, where fits are dearest, are tried only if the way leads there. Everything tried is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from separatrix._arguments import check_count

__all__ = ["Judged", "OuterTuned", "Trial", "tune_choice", "tune_outer"]

EDGE = 0.1  # of a bracket's side: so near to a point that was seen there is nothing new
NARROW = 1e-3  # of the range: a bracket that is closed
GOLDEN, LOPSIDED = 0.38, 4.0
GRID = 65  # points at which a cubic is looked at
LEAST = 1  # fits after the first look, before a parabola is believed that promises nothing


class Judged(Protocol):
    """What a fit at x returns: it knows its log evidence."""

    @property
    def log_evidence(self) -> float:
        """ln p(D | x, η*(x))."""


Result = TypeVar("Result", bound=Judged)
Seen = tuple[float, float]  # where, and the log evidence there


class Trial(NamedTuple):
    """A value that was tried, and its log evidence."""

    value: Any
    log_evidence: float


@dataclass(frozen=True, eq=False)
class OuterTuned(Generic[Result]):
    """The best value, its fit, all that were tried (in order), and whether the best is at an end of the range."""

    value: Any
    result: Result
    tried: tuple[Trial, ...]
    at_boundary: bool


def tune_outer(
    fit: Callable[[float, Result | None], Result],
    low: float,
    high: float,
    *,
    log: bool = True,
    coarse: int = 4,
    tol: float = 0.01,
    max_fits: int = 20,
) -> OuterTuned[Result]:
    """Maximise the evidence over one number between bounds.

    Parameters
    ----------
    fit : callable
        From x, and the fit at the nearest x tried before (None at first), to a fit: anything with ``log_evidence``.
    low, high : float
        The bounds.
    log : bool
        Whether to search in ln x.
    coarse : int
        Points of the first look, at least 3.
    tol : float
        Gain in nats that is not worth a fit.
    max_fits : int
        Fits in all.

    Examples
    --------
    >>> from collections import namedtuple
    >>> Fit = namedtuple("Fit", "log_evidence")
    >>> best = tune_outer(lambda x, near: Fit(-(x - 2.0) ** 2), 0.1, 100.0, tol=1e-4)
    >>> round(best.value, 1), best.at_boundary
    (2.0, False)
    """
    check_count("tune_outer", "coarse", coarse, least=3)
    if not low < high or (log and not low > 0):
        raise ValueError(f"tune_outer(low={low!r}, high={high!r}): need low < high, and 0 < low with log=True.")
    there, back = (np.log, np.exp) if log else (float, float)
    fits: dict[float, Result] = {}

    def visit(u: float) -> None:
        near = min(fits, key=lambda v: abs(v - u), default=None)
        fits[u] = fit(float(back(u)), None if near is None else fits[near])

    ends = float(there(low)), float(there(high))
    step = (ends[1] - ends[0]) / coarse
    for i in range(coarse):
        visit(ends[0] + (i + 0.5) * step)
    while len(fits) < max_fits:
        seen = {v: result.log_evidence for v, result in fits.items()}
        u = _next(seen, ends, tol if len(fits) >= coarse + LEAST else 0.0)
        if u is None:
            break
        visit(u)
    best = max(fits, key=lambda v: fits[v].log_evidence)
    tried = tuple(Trial(float(back(v)), result.log_evidence) for v, result in fits.items())
    return OuterTuned(float(back(best)), fits[best], tried, best in ends)


def tune_choice(fit: Callable[[Any, Result | None], Result], values: Iterable[Any]) -> OuterTuned[Result]:
    """The value of highest evidence out of a few, such as degrees of a polynomial; each is fitted.

    ``fit`` gets a value and the fit of the value before it. The last value counts as a boundary: more might be better.
    """
    fits: list[tuple[Any, Result]] = []
    for value in values:
        fits.append((value, fit(value, fits[-1][1] if fits else None)))
    if not fits:
        raise ValueError("tune_choice(values=[]): there is nothing to choose from.")
    best = max(range(len(fits)), key=lambda i: fits[i][1].log_evidence)
    tried = tuple(Trial(value, result.log_evidence) for value, result in fits)
    return OuterTuned(*fits[best], tried, best == len(fits) - 1 > 0)


def _next(seen: dict[float, float], ends: tuple[float, float], tol: float) -> float | None:
    """Where to look next, or None where nothing promises ``tol``."""
    order = sorted(seen)
    i = max(range(len(order)), key=lambda j: seen[order[j]])
    closed = NARROW * (ends[1] - ends[0])
    if 0 < i < len(order) - 1:
        beyond = [order[j] for j in (i - 2, i + 2) if 0 <= j < len(order)]
        witness = min(beyond, key=lambda u: abs(u - order[i]), default=None)
        a, b, c = ((u, seen[u]) for u in order[i - 1 : i + 2])
        return _climb(a, b, c, None if witness is None else (witness, seen[witness]), tol=tol, closed=closed)
    end, neighbour = (ends[0], order[1]) if i == 0 else (ends[1], order[-2])
    if order[i] != end:
        return end
    return None if abs(neighbour - end) < closed else 0.5 * (end + neighbour)


def _climb(a: Seen, b: Seen, c: Seen, witness: Seen | None, *, tol: float, closed: float) -> float | None:
    """The top of the parabola through three points, b the highest; where it is lopsided, a point in its longer side.

    A hill that is steep on one side alone may put the top of the parabola on b by chance. So before the search ends,
    the cubic through a fourth point, the ``witness``, must promise nothing either.
    """
    left, right = b[0] - a[0], c[0] - b[0]
    if left + right < 2 * closed:
        return None
    if max(left, right) > LOPSIDED * min(left, right):  # a parabola through such points says little
        return b[0] + GOLDEN * right if right > left else b[0] - GOLDEN * left
    falls = (b[1] - a[1]) / left, (b[1] - c[1]) / right
    bend = sum(falls) / (left + right)
    slope = falls[0] - bend * left  # f(b + s) = f(b) + slope s - bend s²
    low, high = (EDGE - 1) * left, (1 - EDGE) * right
    if bend <= 0:
        return None
    top = float(np.clip(0.5 * slope / bend, low, high))
    if slope * slope >= 4 * bend * tol and abs(top) >= closed:  # else it is on b, which was seen
        return b[0] + top
    if witness is None:
        return None
    s, w = np.linspace(low, high, GRID), witness[0] - b[0]
    third = (witness[1] - b[1] - slope * w + bend * w * w) / ((w + left) * w * (w - right))
    rise = slope * s - bend * s * s + third * (s + left) * s * (s - right)
    return float(b[0] + s[rise.argmax()]) if rise.max() > tol else None
