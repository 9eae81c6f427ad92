# SPDX-License-Identifier: BSD-3-Clause
"""Choose a hyperparameter by evidence: a width, a degree, a rate of wrong labels.                   PRML §3.4, §4.4

    x* = argmax_x ln ∫ p(D | x, s) p(s) ds

The user gives a function that builds a model from x. Values of x are compared by Laplace's evidence, under the given
prior or, for a model with ``tune="evidence"``, averaged over the scale s of its prior by a Gaussian at the best scale.
It takes one decomposition (`evidence.rotate`) and a few fits in at most N dimensions for N rows. Only the best model is
then fitted completely, with its approximation and groups.

The evidence as a function of x, the *profile*, may have several maxima. So it is first evaluated on a coarse grid
between the bounds. The highest point is then refined by parabolas through three points, until neither the next parabola
nor the cubic through a fourth point predicts a gain of ``tol`` nats. The bounds themselves, where fits are most
expensive, are tried only if the search leads there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix.bayesian.averaging import scale_nodes
from separatrix.bayesian.evidence import FitLaplace
from separatrix.bayesian.logistic import BayesianLogisticRegression
from separatrix.bayesian.tuning import profile_scale

GAIN_TOL = 0.1  # expected gain, in nats, below which the search ends
N_COARSE = 4  # points of the coarse grid


class Trial(NamedTuple):
    """A value that was tried, and its log evidence."""

    value: Any
    log_evidence: float


@dataclass(frozen=True, eq=False)
class TunedModel:
    """Result of `tune_model`.

    Attributes
    ----------
    model : BayesianLogisticRegression
        Fitted model with the best value.
    value
        The best value.
    tried : tuple of Trial
        All values with their log evidence, in the order in which they were tried.
    at_boundary : bool
        Whether the best value is a bound, or the last of ``values``, so that a better one may lie beyond it.
    """

    model: BayesianLogisticRegression
    value: Any
    tried: tuple[Trial, ...]
    at_boundary: bool


def tune_model(
    make_model: Callable[[Any], BayesianLogisticRegression],
    X: Any,
    y: Any,
    *,
    bounds: tuple[float, float] | None = None,
    values: Iterable[Any] | None = None,
    log: bool = True,
    sample_weight: Any = None,
) -> TunedModel:
    """Fit the model of highest evidence among models that differ in one hyperparameter.

    x* = argmax_x ln p(D | x), averaged over the scale of the prior for each x if the model tunes it

    Values are compared with one scale for all columns; without a stated prior, the best model may have another shape.

    Parameters
    ----------
    make_model : callable
        Returns an unfitted model for x: ``lambda width: BayesianLogisticRegression(basis=RBF(width=width),
        tune="evidence")``. All models must use the same labels and rows.
    X : array-like or data frame
        The rows.
    y : array-like
        Their labels.
    bounds : (low, high), optional
        Interval of the search, by a coarse grid and then parabolas about the best point.
    values : iterable, optional
        Values to try instead of a search, such as degrees of a polynomial, bases or likelihoods.
    log : bool, default True
        Whether to search between the bounds on a logarithmic scale.
    sample_weight : array-like of shape (N,), optional
        Weight of each row.

    Returns
    -------
    TunedModel

    Raises
    ------
    TypeError
        If ``make_model`` does not return a `BayesianLogisticRegression`.
    ValueError
        If both or none of ``bounds`` and ``values`` are given, or the given one is not valid.

    Examples
    --------
    >>> from separatrix import BayesianLogisticRegression
    >>> from separatrix.basis import Polynomial
    >>> from separatrix.datasets import make_xor_clusters
    >>> X, y = make_xor_clusters(200, std=0.7)
    >>> found = tune_model(
    ...     lambda degree: BayesianLogisticRegression(basis=Polynomial(degree), tune="evidence"), X, y, values=[1, 2, 3]
    ... )
    >>> found.value, [round(trial.log_evidence) for trial in found.tried]
    (2, [-146, -82, -85])
    """
    if (bounds is None) == (values is None):
        raise ValueError("tune_model needs either bounds=(low, high) or values=[...], and not both.")

    def log_evidence(value: Any) -> float:
        model = make_model(value)
        if not isinstance(model, BayesianLogisticRegression):
            raise TypeError(
                f"tune_model: make_model returned {model!r}; it must return an unfitted BayesianLogisticRegression."
            )
        model._check_arguments()
        objective = model._pose(model._open_training(X, y, sample_weight, soft=True), model._prior())
        if not model.tunes_prior:
            return FitLaplace(model.tol).fit(objective).log_evidence
        found = profile_scale(objective, fitter=FitLaplace(model.tol), tol=0.03)  # nats
        nodes = scale_nodes(found.objective, found.scales, found.approximation, None)
        return found.approximation.log_evidence + nodes.log_ratio

    if values is not None:
        tried = [Trial(value, log_evidence(value)) for value in values]
        if not tried:
            raise ValueError("tune_model(values=[]): give at least one value.")
    else:
        try:
            low, high = map(float, bounds)  # type: ignore[arg-type]  # the try block checks it
        except (TypeError, ValueError):
            raise ValueError(f"tune_model(bounds={bounds!r}) must be two numbers (low, high).") from None
        tried = maximise_profile(log_evidence, low, high, log=log, tol=GAIN_TOL)
    best = max(tried, key=lambda trial: trial.log_evidence)
    at_boundary = best.value in (low, high) if values is None else best is tried[-1] and len(tried) > 1
    return TunedModel(make_model(best.value).fit(X, y, sample_weight), best.value, tuple(tried), at_boundary)


def maximise_profile(
    log_evidence: Callable[[float], float],
    low: float,
    high: float,
    *,
    log: bool = True,
    tol: float = 0.01,
    max_fits: int = 20,
) -> list[Trial]:
    """Maximise a log evidence over one variable between bounds, and return all trials in order.

    If ``log``, the search is in ln x. The search ends if the expected gain is below ``tol`` nats.
    """
    if not low < high or (log and not low > 0):
        raise ValueError(f"bounds=({low!r}, {high!r}): need low < high, and 0 < low with log=True.")
    there, back = (np.log, np.exp) if log else (float, float)
    ends = float(there(low)), float(there(high))
    step = (ends[1] - ends[0]) / N_COARSE
    known: dict[float, float] = {}
    tried: list[Trial] = []
    while len(tried) < max_fits:
        n = len(tried)
        u = ends[0] + (n + 0.5) * step if n < N_COARSE else _next_point(known, ends, tol if n > N_COARSE else 0.0)
        if u is None:
            break
        x = {ends[0]: low, ends[1]: high}.get(u, float(back(u)))
        known[u] = log_evidence(x)
        tried.append(Trial(x, known[u]))
    return tried


def _next_point(known: dict[float, float], ends: tuple[float, float], tol: float) -> float | None:
    """Return the next point, or None if no gain of ``tol`` is expected."""
    order = sorted(known)
    i = max(range(len(order)), key=lambda j: known[order[j]])
    closed = 1e-3 * (ends[1] - ends[0])
    if 0 < i < len(order) - 1:
        beyond = [order[j] for j in (i - 2, i + 2) if 0 <= j < len(order)]
        fourth = min(beyond, key=lambda u: abs(u - order[i]), default=None)
        a, b, c = ((u, known[u]) for u in order[i - 1 : i + 2])
        return _refine(a, b, c, None if fourth is None else (fourth, known[fourth]), tol=tol, closed=closed)
    end, neighbour = (ends[0], order[1]) if i == 0 else (ends[1], order[-2])
    if order[i] != end:
        return end
    return None if abs(neighbour - end) < closed else 0.5 * (end + neighbour)


Point = tuple[float, float]  # u and the log evidence there


def _refine(a: Point, b: Point, c: Point, fourth: Point | None, *, tol: float, closed: float) -> float | None:
    """Return the top of the parabola through three points, of which b is the highest, or None to end the search.

    If one side is much longer, a point in that side is returned instead. If the evidence
    falls steeply on one side only, the parabola may have its top at b although the maximum is elsewhere. So before the
    search ends, the cubic through a ``fourth`` point must not predict a gain either.
    """
    left, right = b[0] - a[0], c[0] - b[0]
    if left + right < 2 * closed:
        return None
    if max(left, right) > 4 * min(left, right):  # a parabola through such points is unreliable
        return b[0] + 0.38 * right if right > left else b[0] - 0.38 * left
    falls = (b[1] - a[1]) / left, (b[1] - c[1]) / right
    bend = sum(falls) / (left + right)
    slope = falls[0] - bend * left  # f(b + s) = f(b) + slope s - bend s²
    low, high = (0.1 - 1) * left, (1 - 0.1) * right
    if bend <= 0:
        return None
    top = float(np.clip(0.5 * slope / bend, low, high))
    if slope * slope >= 4 * bend * tol and abs(top) >= closed:  # otherwise the top is b, which is known
        return b[0] + top
    if fourth is None:
        return None
    s, w = np.linspace(low, high, 65), fourth[0] - b[0]
    third = (fourth[1] - b[1] - slope * w + bend * w * w) / ((w + left) * w * (w - right))
    rise = slope * s - bend * s * s + third * (s + left) * s * (s - right)
    return float(b[0] + s[rise.argmax()]) if rise.max() > tol else None
