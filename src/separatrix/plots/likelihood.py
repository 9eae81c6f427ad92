# SPDX-License-Identifier: BSD-3-Clause
"""An objective of two weights: where it is lowest, how it curves there, and what it is elsewhere.

Weights that are confined to a plane, w = s_0 d_0 + s_1 d_1, make a model of the two columns z = (d_0'x, d_1'x), with no
bias: its objective is the slice of the whole one through that plane.

----

The negative log-likelihood over the direction and the length of w.

The boundary of the fitted model is turned about a point c of it, and made steeper or flatter:

    a_n = w'(x_n - c),      w = r (cos φ d_0 + sin φ d_1),      E(φ, r) = -Σ_n ln p(t_n | a_n)

with c the point of the boundary nearest to the mean of the rows (the origin, for a model without bias), and d_0, d_1
two directions: the axes, where there are two columns. The direction says which rows are on the right side, the length
how sure the model is of it. Where a line through c separates the classes, E falls along its direction for ever and
there is no minimum. With many rows E is nearly a parabola in w, and Laplace's Gaussian fits it: its contours are
drawn dashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_option
from separatrix._array import Float
from separatrix.exceptions import DataError
from separatrix.geometry import Hyperplane
from separatrix.plots.drawing import STANDOUT, look, new_axes, read_rows
from separatrix.priors import Flat, Gaussian, Prior
from separatrix.rows import as_source, as_table
from separatrix.solvers import Newton, Posterior, pose, separability

REACH = 5.0  # standard deviations around the minimum that are shown
STEEP = 10.0  # without a minimum: the activation of the typical row at the greatest length that is shown
CERTAIN = 50.0  # an activation of which every likelihood is certain


@dataclass(frozen=True, eq=False)
class Slice:
    """E(s) for s (2,), with its lowest point.

    ``point`` is the minimum, or None where E falls for ever along ``direction``; ``floor`` is E there, or what it falls
    towards; ``hess`` (2, 2) is the Hessian at the minimum, and ``typical`` the median |s'z| at unit length.
    """

    objective: Posterior
    point: Float | None
    direction: Float
    floor: float
    hess: Float | None
    typical: float

    def evaluate(self, S: Float) -> Float:
        """E at points (..., 2)."""
        flat = [self.objective.value_grad(s[None]).value for s in S.reshape(-1, 2)]
        return np.array(flat).reshape(S.shape[:-1])

    def parabola(self, S: Float) -> Float | None:
        """The quadratic that touches E at its minimum, which is Laplace's approximation; None without a minimum."""
        if self.point is None or self.hess is None:
            return None
        step = S - self.point
        return np.asarray(self.floor + 0.5 * np.einsum("...i,ij,...j->...", step, self.hess, step))

    def window(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Angles, in degrees, and lengths worth showing: around the minimum, or all the way where there is none."""
        angle = float(np.degrees(np.arctan2(self.direction[1], self.direction[0])))
        if self.point is None or self.hess is None:
            return (angle - 180, angle + 180), (0.0, STEEP / self.typical)
        covariance = np.linalg.inv(self.hess)
        across = np.array([-self.direction[1], self.direction[0]])
        along, aside = (REACH * float(np.sqrt(d @ covariance @ d)) for d in (self.direction, across))
        length = float(np.linalg.norm(self.point))
        turn = min(float(np.degrees(aside / length)), 180.0) if length > 0 else 180.0
        return (angle - turn, angle + turn), (max(length - along, 0.0), length + along)


def take_slice(objective: Posterior, prior: Prior) -> Slice:
    """Find the lowest point of an objective of two weights and no bias, or the direction in which it falls."""
    found = separability(objective.source, 2, fit_intercept=False) if isinstance(prior, Flat) else None
    if found:
        direction = found.coef[0]
        a = np.abs(objective.source.map(lambda rows: rows @ direction))
        far = direction * (CERTAIN / a[a > 0].min(initial=np.inf)) if a.any() else direction
        return Slice(objective, None, direction, objective.value_grad(far[None]).value, None, float(np.median(a)))
    point = Newton().minimise(objective, np.zeros((1, 2))).value[0]
    here = objective.value_grad_hess(point[None])
    length = float(np.linalg.norm(point))
    direction = point / length if length > 0 else np.array([1.0, 0.0])
    typical = float(np.median(np.abs(objective.source.map(lambda rows: rows @ direction))))
    return Slice(objective, point, direction, here.value, here.hess, typical)


NATS = tuple(0.5 * 2.0**k for k in range(12))  # contours above the lowest value
TOO_SHORT = 1e-9  # what is left of a direction that the other one already covers


class Minimum(NamedTuple):
    """Where the surface is lowest: angle in degrees, length of w, and E there in nats."""

    angle: float
    length: float
    value: float


@dataclass(eq=False, repr=False)
class LikelihoodSurfaceDisplay:
    """Contours of the negative log-likelihood, or of the negative log posterior, over direction and length of w.

    Attributes
    ----------
    angle : ndarray of shape (n,), degrees from the first direction towards the second
    length : ndarray of shape (n,)
    values : ndarray of shape (n, n), E in nats, rows along the length
    quadratic : ndarray of shape (n, n) or None, the parabola in w that touches E at its minimum
    minimum : Minimum or None, where there is none
    floor : float, E at the minimum, or what it falls towards
    centre : ndarray of shape (D,), the point c
    directions : ndarray of shape (2, D)
    columns : names of the D columns
    of : "likelihood" or "posterior"

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.datasets import make_overlapping
    >>> from separatrix.plots.likelihood import LikelihoodSurfaceDisplay
    >>> X, y = make_overlapping(1000)
    >>> model = sx.LogisticRegression(alpha=0).fit(X, y)
    >>> surface = LikelihoodSurfaceDisplay.from_estimator(model, X, y, resolution=21)
    >>> bool(abs(surface.minimum.length - (model.coef_**2).sum() ** 0.5) < 1e-6)
    True
    """

    angle: Float
    length: Float
    values: Float
    quadratic: Float | None
    minimum: Minimum | None
    floor: float
    centre: Float
    directions: Float
    columns: tuple[str, ...]
    of: str

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        of: str = "likelihood",
        directions: Any = None,
        angles: tuple[float, float] | None = None,
        lengths: tuple[float, float] | None = None,
        resolution: int = 61,
        ax: Any = None,
        title: str | None = None,
    ) -> LikelihoodSurfaceDisplay:
        """Evaluate the objective of a fitted model around its boundary, and draw.

        Parameters
        ----------
        model : LogisticRegression, ProbitRegression or LabelNoiseLogisticRegression
            Fitted, of two classes, without a basis.
        X : table of shape (N, D)
            The rows of the sum.
        y : array-like of shape (N,)
            Their classes.
        of : {"likelihood", "posterior"}, default "likelihood"
            Whether the prior of the model on w is left out or added.
        directions : array-like of shape (2, D), optional
            Two vectors that span the plane of w, made orthonormal in their order; the axes, where D = 2.
        angles : (low, high), optional
            Degrees to show; by default five standard deviations around the minimum, or all where there is none.
        lengths : (low, high), optional
            Of w; as ``angles``.
        resolution : int, default 61
            Points along each axis.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        title : str, optional
            Above the picture.
        """
        check_option(cls.__name__, "of", of, ("likelihood", "posterior"))
        check_count(cls.__name__, "resolution", resolution, least=3)
        rows, plane = read_rows(as_table(X), y, model.classes_), Hyperplane.of(model)
        D = _orthonormal(directions, len(rows.columns))
        through = rows.points.mean(axis=0) if model.fit_intercept else np.zeros(len(rows.columns))
        centre = plane.foot(through[None])[0]
        prior = Flat() if of == "likelihood" else _prior(model, directions)
        source = as_source((rows.points - centre) @ D.T, rows.codes)
        cut = take_slice(pose(source, model.likelihood_, prior, fit_intercept=False), prior)
        shown = (angles, lengths)
        angle, length = (
            np.linspace(*(given or worth), resolution) for given, worth in zip(shown, cut.window(), strict=True)
        )
        values, quadratic = _surface(cut, angle, length)
        floor = min(cut.floor, float(values.min()))
        display = cls(angle, length, values, quadratic, _minimum(cut), floor, centre, D, rows.columns, of)
        return display.plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> LikelihoodSurfaceDisplay:
        """Draw contours in nats above the lowest value, and those of the parabola dashed."""
        ax = new_axes(ax)
        with look():
            self._draw(ax)
        ax.set(xlabel=self._axis(), ylabel="length of w", title=title or "")
        ax.set(xlim=self.angle[[0, -1]], ylim=self.length[[0, -1]])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any) -> None:
        where, above = (self.angle, self.length), self.values - self.floor
        ax.contourf(*where, above, levels=[0.0, *NATS], cmap=_paper(), norm=_steps(), extend="max")
        inside = [level for level in NATS if above.min() < level < above.max()]
        if inside:
            lines = ax.contour(*where, above, levels=inside, colors="black", linewidths=0.9)
            ax.clabel(lines, fontsize=8, fmt="%g")
        ax.plot([], [], color="black", linewidth=0.9, label=_said(self.minimum))
        if self.quadratic is not None and self.minimum is not None:
            levels = NATS[:5]
            ax.contour(*where, self.quadratic - self.floor, levels=levels, colors=STANDOUT, linestyles="--")
            ax.plot([], [], color=STANDOUT, linestyle="--", label="parabola in w (Laplace)")
            ax.plot(*self.minimum[:2], "*", color=STANDOUT, markeredgecolor="white", markersize=15, label="minimum")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))  # below: the surface has no empty corner

    def _axis(self) -> str:
        if len(self.columns) == 2 and np.array_equal(self.directions, np.eye(2)):
            return f"direction of w (degrees from {self.columns[0]} towards {self.columns[1]})"
        return "direction of w (degrees from the first towards the second)"


def _orthonormal(directions: Any, n_columns: int) -> Float:
    """The axes, or the two vectors given, the second without its share of the first."""
    if directions is None:
        if n_columns != 2:
            raise DataError(
                f"X has {n_columns} columns: name the plane of w with directions=, two vectors of {n_columns} numbers, "
                "such as the weights of two models."
            )
        return np.eye(2)
    D = np.array(directions, dtype=np.float64)
    if D.shape != (2, n_columns):
        raise DataError(f"directions has shape {D.shape}, but must be two vectors of {n_columns} numbers.")
    unit = np.empty_like(D)
    for k, d in enumerate(D):
        rest = d - unit[:k].T @ (unit[:k] @ d)
        if not np.linalg.norm(rest) > TOO_SHORT * np.linalg.norm(d):
            raise DataError(f"directions[{k}] is zero or along the other: the two must span a plane.")
        unit[k] = rest / np.linalg.norm(rest)
    return unit


def _prior(model: Any, directions: Any) -> Prior:
    """The prior of a point estimate on w; in a plane that is not that of the columns it must be alike everywhere."""
    settings = model.get_params()
    if "alpha" not in settings:
        raise DataError(
            f"{type(model).__name__} has no alpha, whose posterior could be drawn. Draw of='likelihood', or fit a "
            "LogisticRegression."
        )
    prior: Prior | None = settings["prior"]
    if prior is None:
        return Gaussian(settings["alpha"] ** -0.5) if settings["alpha"] > 0 else Flat()
    if directions is not None:
        raise DataError(f"A prior of its own, {prior!r}, is one on columns: give alpha instead, or no directions.")
    return prior


def _weights(angle: Float, length: Float) -> Float:
    """s (len(length), len(angle), 2) of every pair."""
    turn = np.radians(angle)
    return np.asarray(length[:, None, None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1))


def _surface(cut: Slice, angle: Float, length: Float) -> tuple[Float, Float | None]:
    S = _weights(angle, length)
    return cut.evaluate(S), cut.parabola(S)


def _minimum(cut: Slice) -> Minimum | None:
    if cut.point is None:
        return None
    angle = float(np.degrees(np.arctan2(cut.point[1], cut.point[0])))
    return Minimum(angle, float(np.linalg.norm(cut.point)), cut.floor)


def _said(minimum: Minimum | None) -> str:
    return "nats above the lowest value: no minimum" if minimum is None else "nats above the minimum"


def _paper() -> Any:
    """White where E is low, and never so dark that lines are lost."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["Blues"](np.linspace(0.0, 0.65, len(NATS) + 1)))


def _steps() -> Any:
    """One shade between two contours, each of which is twice as high as the one before."""
    from matplotlib.colors import BoundaryNorm

    return BoundaryNorm([0.0, *NATS], len(NATS) + 1, extend="max")
