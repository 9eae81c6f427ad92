# SPDX-License-Identifier: BSD-3-Clause
"""The negative log-likelihood as a function of the direction and the length of w.

The boundary of the fitted model is rotated about one of its points c, and made steeper or flatter:

    a_n = w'(x_n - c),      w = r (cos φ d_0 + sin φ d_1),      E(φ, r) = -Σ_n ln p(t_n | a_n)

c is the point of the boundary closest to the mean of the rows; for a model without intercept it is the origin. d_0 and
d_1 are two orthonormal directions; with two columns, they are the axes. If a line through c separates the classes, E
decreases along the normal of that line for ever and has no minimum. With many rows, E is nearly quadratic in w and
close to Laplace's approximation, whose contours are dashed.

In the plane spanned by d_0 and d_1, this is the objective of a model without intercept, with the two columns
z = (d_0'(x - c), d_1'(x - c)). The class `Slice` represents it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_option
from separatrix._array import Float
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.geometry import Hyperplane
from separatrix.plots.drawing import SHORT_NAME_LETTERS, STANDOUT, in_text, in_title, look, new_axes, read_rows
from separatrix.priors import Flat, Gaussian, Prior
from separatrix.rows import as_source, as_table
from separatrix.separation import separability
from separatrix.solvers import Newton, Posterior, pose

SHOWN_IN_STD = 5.0  # the plot extends by this many standard deviations on each side of the minimum
MAX_TYPICAL_ACTIVATION = 10.0  # median |activation| at the largest length shown, if there is no minimum
SATURATED_ACTIVATION = 50.0  # activation at which probabilities are 0 or 1 in double precision
NATS_ABOVE_MINIMUM = tuple(0.5 * 2.0**k for k in range(12))  # levels of the contours
MIN_RELATIVE_LENGTH = 1e-9  # relative length of the second direction after the first is projected out


@dataclass(frozen=True, eq=False)
class Slice:
    """Objective E(s) of two weights s (2,), and its minimum.

    ``point`` is the minimum, or None if E has no minimum because it decreases along ``direction`` for ever. ``floor``
    is E at the minimum, or the limit of E. ``hess`` (2, 2) is the Hessian at the minimum.
    """

    objective: Posterior
    point: Float | None
    direction: Float
    floor: float
    hess: Float | None

    def evaluate(self, S: Float) -> Float:
        """Evaluate E at points (..., 2)."""
        flat = [self.objective.value_grad(s[None]).value for s in S.reshape(-1, 2)]
        return np.array(flat).reshape(S.shape[:-1])

    def parabola(self, S: Float) -> Float | None:
        """Quadratic (Laplace) approximation of E around its minimum; None if there is no minimum."""
        if self.point is None or self.hess is None:
            return None
        step = S - self.point
        return np.asarray(self.floor + 0.5 * np.einsum("...i,ij,...j->...", step, self.hess, step))

    def window(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Ranges of angle (degrees) and length to plot: around the minimum, or all angles if there is no minimum."""
        angle = float(np.degrees(np.arctan2(self.direction[1], self.direction[0])))
        if self.point is None or self.hess is None:
            typical = np.median(np.abs(self.objective.source.map(lambda rows: rows @ self.direction)))
            return (angle - 180, angle + 180), (0.0, MAX_TYPICAL_ACTIVATION / float(typical))
        covariance = np.linalg.inv(self.hess)
        across = np.array([-self.direction[1], self.direction[0]])
        along, aside = (SHOWN_IN_STD * float(np.sqrt(d @ covariance @ d)) for d in (self.direction, across))
        length = float(np.linalg.norm(self.point))
        turn = min(float(np.degrees(aside / length)), 180.0) if length > 0 else 180.0
        return (angle - turn, angle + turn), (max(length - along, 0.0), length + along)


def take_slice(objective: Posterior, prior: Prior) -> Slice:
    """Find the minimum of an objective of two weights without intercept, or the direction in which it decreases."""
    found = separability(objective.source, 2, fit_intercept=False) if isinstance(prior, Flat) else None
    if found:
        direction = found.coef[0]
        a = np.abs(objective.source.map(lambda rows: rows @ direction))
        far = direction * (SATURATED_ACTIVATION / a[a > 0].min(initial=np.inf)) if a.any() else direction
        return Slice(objective, None, direction, objective.value_grad(far[None]).value, None)
    point = Newton().minimise(objective, np.zeros((1, 2))).value[0]
    here = objective.value_grad_hess(point[None])
    length = float(np.linalg.norm(point))
    direction = point / length if length > 0 else np.array([1.0, 0.0])
    return Slice(objective, point, direction, here.value, here.hess)


class Minimum(NamedTuple):
    """Minimum of the surface: angle in degrees, length of w, and E in nats."""

    angle: float
    length: float
    value: float


@dataclass(eq=False, repr=False)
class LikelihoodSurfaceDisplay:
    """Contours of the negative log-likelihood or log posterior over the direction and length of w.

    Attributes
    ----------
    angle : ndarray of shape (n,)
        Degrees from the first direction towards the second.
    length : ndarray of shape (n,)
        Lengths of w.
    values : ndarray of shape (n, n)
        E in nats, one row per length.
    quadratic : ndarray of shape (n, n) or None
        The quadratic approximation of E around its minimum.
    minimum : Minimum or None
        Angle and length of the w with the smallest E; None if there is no minimum.
    floor : float
        E at the minimum, or the limit of E.
    centre : ndarray of shape (D,)
        The point c.
    directions : ndarray of shape (2, D)
        The two directions of w that span the plane of the picture.
    columns : tuple of str
        Names of the D columns.
    of : str
        "likelihood" or "posterior".

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
        """Evaluate the objective of a fitted model on a grid of weights, and draw it.

        Parameters
        ----------
        model : LogisticRegression, ProbitRegression or LabelNoiseLogisticRegression
            Fitted to two classes, without a basis.
        X, y : table of shape (N, D) and array-like of shape (N,)
            Rows and their classes.
        of : {"likelihood", "posterior"}, default "likelihood"
            "posterior" adds the negative log prior of w.
        directions : array-like of shape (2, D), optional
            Two vectors that span the plane of w; they are orthonormalised. Default: the axes, which requires D = 2.
        angles : (low, high), optional
            Range of the angle in degrees. Default: minimum ± 5 standard deviations, or all angles without a minimum.
        lengths : (low, high), optional
            Range of |w|. Default: minimum ± 5 standard deviations; without a minimum, up to a median activation of 10.
        resolution : int, default 61
            Number of points along each axis.
        ax, title : matplotlib axes and str, optional
            Axes to draw in (a new figure by default), and the title.
        """
        check_option(cls.__name__, "of", of, ("likelihood", "posterior"))
        check_count(cls.__name__, "resolution", resolution, least=3)
        name, problem = type(model).__name__, ""
        if getattr(model, "likelihood_", None) is None:
            problem = f"{name} does not maximise a likelihood p(t | x, w). Fit a logistic model."
        elif getattr(model, "basis_", None) is not None:
            problem = f"the boundary of this {name} is curved and has no single direction. Fit a model without a basis."
        elif len(model.classes_) != 2:
            problem = f"this {name} has {len(model.classes_)} classes with one w each. Fit a model of two classes."
        if problem:
            raise DataError(
                f"The likelihood surface shows -ln p(t | x, w) over the direction and length of w, but {problem}"
            )
        rows, plane = read_rows(as_table(X), y, model.classes_), Hyperplane.of(model)
        D = _orthonormal(directions, len(rows.columns))
        through = rows.points.mean(axis=0) if model.fit_intercept else np.zeros(len(rows.columns))
        centre = plane.foot(through[None])[0]
        prior = Flat() if of == "likelihood" else _prior(model, directions)
        source = as_source((rows.points - centre) @ D.T, rows.codes)
        cut = take_slice(pose(source, model.likelihood_, prior, fit_intercept=False), prior)
        default_angles, default_lengths = cut.window()
        angle = np.linspace(*(angles or default_angles), resolution)
        length = np.linspace(*(lengths or default_lengths), resolution)
        turn = np.radians(angle)
        S = length[:, None, None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)  # (length, angle, 2)
        values, quadratic, minimum = cut.evaluate(S), cut.parabola(S), None
        if cut.point is not None:
            degrees = float(np.degrees(np.arctan2(cut.point[1], cut.point[0])))
            minimum = Minimum(degrees, float(np.linalg.norm(cut.point)), cut.floor)
        floor = min(cut.floor, float(values.min()))
        display = cls(angle, length, values, quadratic, minimum, floor, centre, D, rows.columns, of)
        return display.plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> LikelihoodSurfaceDisplay:
        """Draw contours in nats above the minimum, and dashed contours of the quadratic approximation."""
        from matplotlib import colormaps
        from matplotlib.colors import BoundaryNorm, ListedColormap

        ax, axes = new_axes(ax), "the first towards the second"
        if len(self.columns) == 2 and np.array_equal(self.directions, np.eye(2)):
            axes = " towards ".join(in_text(name, SHORT_NAME_LETTERS) for name in self.columns)
        where, above = (self.angle, self.length), self.values - self.floor
        levels = [0.0, *NATS_ABOVE_MINIMUM]  # each interval has one shade, light enough for black contours
        shades = ListedColormap(colormaps["Blues"](np.linspace(0.0, 0.65, len(levels))))
        inside = [level for level in NATS_ABOVE_MINIMUM if above.min() < level < above.max()]
        with look():
            norm = BoundaryNorm(levels, len(levels), extend="max")
            ax.contourf(*where, above, levels=levels, cmap=shades, norm=norm, extend="max")
            if inside:
                lines = ax.contour(*where, above, levels=inside, colors="black", linewidths=0.9)
                ax.clabel(lines, fontsize=8, fmt="%g")
            label = "nats above the lowest value (no minimum)" if self.minimum is None else "nats above the minimum"
            ax.plot([], [], color="black", linewidth=0.9, label=label)
            if self.quadratic is not None and self.minimum is not None:
                dashed = {"colors": STANDOUT, "linestyles": "--", "levels": NATS_ABOVE_MINIMUM[:5]}
                ax.contour(*where, self.quadratic - self.floor, **dashed)
                ax.plot([], [], color=STANDOUT, linestyle="--", label="quadratic in w (Laplace)")
                ax.plot(*self.minimum[:2], "*", color=STANDOUT, markeredgecolor="white", markersize=15, label="minimum")
            # The legend is below the axes, because contours fill every corner.
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))
        ax.set(xlabel=f"direction of w (degrees from {axes})", ylabel="length of w", title=in_title(title))
        ax.set(xlim=self.angle[[0, -1]], ylim=self.length[[0, -1]])
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _orthonormal(directions: Any, n_columns: int) -> Float:
    """Orthonormal directions (2, D): the axes, or the given vectors after Gram-Schmidt."""
    if directions is None and n_columns != 2:
        raise DataError(
            f"X has {counted(n_columns, 'column')}. Choose a plane of w with directions=: two vectors of length "
            f"{n_columns}, "
            "such as the weights of two models."
        )
    D = np.eye(2) if directions is None else np.array(directions, dtype=np.float64)
    if D.shape != (2, n_columns):
        raise DataError(f"directions has shape {D.shape}, but must be (2, {n_columns}).")
    for k in (0, 1):
        rest = D[k] - D[:k].T @ (D[:k] @ D[k])
        if not np.linalg.norm(rest) > MIN_RELATIVE_LENGTH * np.linalg.norm(D[k]):
            raise DataError(f"directions[{k}] is zero or parallel to the other direction; they must span a plane.")
        D[k] = rest / np.linalg.norm(rest)
    return D


def _prior(model: Any, directions: Any) -> Prior:
    """Prior of a model with a point estimate; raises if the prior is not isotropic and ``directions`` are given."""
    settings = model.get_params()
    if "alpha" not in settings:
        raise DataError(
            f"{type(model).__name__} has no alpha, so it has no posterior to draw. Use of='likelihood', or fit a "
            "LogisticRegression."
        )
    prior: Prior | None = settings["prior"]
    if prior is None:
        return Gaussian(settings["alpha"] ** -0.5) if settings["alpha"] > 0 else Flat()
    if directions is not None:
        raise DataError(
            f"{prior!r} is a prior per column, which cannot be combined with directions. Use alpha, or no directions."
        )
    return prior
