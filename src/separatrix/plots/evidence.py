# SPDX-License-Identifier: BSD-3-Clause
"""Heat map of the log evidence over basis widths and prior scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix.basis import RBF
from separatrix.bayesian import evidence_surface
from separatrix.exceptions import DataError
from separatrix.plots.drawing import MARKERS, STANDOUT, in_legend, in_title, legend_columns, look, new_axes

CONTOUR_NATS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)  # nats below the maximum
LINEAR_NATS = 3.0  # the colour scale is linear up to this depth and logarithmic beyond
N_CELLS = 15  # cells along each axis in `from_estimator`
WIDTH_FACTOR, SCALE_FACTOR = 8.0, 30.0  # `from_estimator` extends the axes by these factors in both directions
FREE_INTERCEPT_SCALE = 10.0  # assumed prior standard deviation if the intercept has no prior
DARK_NATS = 20.0  # contours at this depth or more are drawn in white on dark cells


@dataclass(eq=False, repr=False)
class EvidenceSurfaceDisplay:
    """Heat map of ln p(D) with contours in nats below its maximum.

    A model three nats below another is twenty times less probable. Create the display with `from_surface`, or with
    `from_estimator` for the surface around a fitted model. The axes are in ``ax_``, the figure in ``figure_``.

    Attributes
    ----------
    widths, scales : ndarrays of shape (W,) and (S,)
        Widths of the functions and scales of the prior, ascending.
    depth : ndarray of shape (W, S)
        Largest ln p(D) of the grid minus ln p(D), in nats.
    maximum : float
        The largest ln p(D) of the grid.
    best : tuple of float
        (width, scale) of the maximum.
    levels : tuple of float
        Depths at which contours are drawn.
    marks : dict
        Labelled points to draw, {text: (width, scale)}.
    """

    widths: Float
    scales: Float
    depth: Float
    maximum: float
    best: tuple[float, float]
    levels: tuple[float, ...]
    marks: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def from_surface(
        cls,
        surface: Any,
        *,
        marks: Mapping[str, tuple[float, float]] | None = None,
        ax: Any = None,
        title: str | None = None,
    ) -> EvidenceSurfaceDisplay:
        """Compute the depth of every cell, and draw it.

        Parameters
        ----------
        surface : EvidenceSurface
            Result of `separatrix.evidence_surface`.
        marks : mapping {text: (width, scale)}, optional
            Labelled points to draw, such as the result of a search.
        ax, title : matplotlib axes and str, optional
            Axes to draw in (a new figure by default), and the title.

        Examples
        --------
        >>> import numpy as np, separatrix as sx
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
        >>> y, grid = X[:, 0] * X[:, 1] > 0, dict(widths=[0.1, 0.5, 2.5], scales=[0.1, 1.0, 10.0])
        >>> surface = sx.evidence_surface(X, y, basis_of_width=lambda w: sx.basis.RBF(width=w), **grid)
        >>> display = sx.plots.EvidenceSurfaceDisplay.from_surface(surface)
        >>> display.best
        (0.5, 10.0)
        """
        if not np.isfinite(surface.log_evidence).all():
            raise DataError("The surface has cells without a finite log evidence. Remove their widths or scales.")
        i, j = np.argsort(surface.widths), np.argsort(surface.scales)
        log_evidence = surface.log_evidence[np.ix_(i, j)]
        depth = log_evidence.max() - log_evidence
        levels = tuple(level for level in CONTOUR_NATS if level < depth.max())
        maximum = float(log_evidence.max())
        display = cls(surface.widths[i], surface.scales[j], depth, maximum, surface.best, levels, dict(marks or {}))
        return display.plot(ax, title=title)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, title: str | None = None
    ) -> EvidenceSurfaceDisplay:
        """Compute and draw ln p(D) around the width and prior scale of a fitted model; the model is marked.

        Parameters
        ----------
        estimator : BayesianLogisticRegression, LogisticRegression, ...
            Fitted with an RBF basis and one prior scale for all weights.
        X, y : table of shape (N, D) and array-like of shape (N,)
            Rows and their classes. Each cell of the surface needs one fit to these rows.
        ax, title
            See `from_surface`.

        Raises
        ------
        DataError
            If the model has no radial basis functions, or no common prior scale.
        """
        basis = getattr(estimator, "basis_", None)
        if not isinstance(basis, RBF) or getattr(estimator, "likelihood_", None) is None:
            raise DataError(
                "The evidence surface shows ln p(D) over the width of radial basis functions and their prior scale; "
                f"this {type(estimator).__name__} has no radial basis functions. Fit "
                "BayesianLogisticRegression(basis=sx.basis.RBF(), tune='evidence')."
            )
        prior = getattr(estimator, "prior_", None) or getattr(estimator, "prior", None)
        if prior is None:  # a point estimate with the precision alpha
            scales: Any = estimator.alpha**-0.5 if estimator.alpha > 0 else None
        else:
            scales = getattr(prior, "scale", None) if getattr(prior, "covariance", None) is None else None
        if scales is None or np.ptp(np.atleast_1d(scales)) > 0:
            raise DataError(
                f"The evidence surface has one axis for the prior scale, but the weights of this "
                f"{type(estimator).__name__} have no common scale. Fit it with prior=sx.Gaussian(scale=1.0) and "
                "tune='evidence'."
            )
        scale, of_intercept = float(np.atleast_1d(scales)[0]), float(getattr(prior, "intercept_scale", np.inf))
        surface = evidence_surface(
            X,
            y,
            basis_of_width=lambda width: RBF(centres=basis.centres_, width=width),
            widths=np.geomspace(basis.width_ / WIDTH_FACTOR, basis.width_ * WIDTH_FACTOR, N_CELLS),
            scales=np.geomspace(scale / SCALE_FACTOR, scale * SCALE_FACTOR, N_CELLS),
            likelihood=estimator.likelihood_,
            intercept_scale=of_intercept if np.isfinite(of_intercept) else FREE_INTERCEPT_SCALE,
            fit_intercept=estimator.fit_intercept,
            standardize=getattr(estimator, "standardize", False),  # point estimates do not standardise
        )
        return cls.from_surface(surface, marks={"this model": (basis.width_, scale)}, ax=ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> EvidenceSurfaceDisplay:
        """Draw the cells, brightest at the maximum, with contours and marks."""
        from matplotlib.colors import AsinhNorm

        ax = new_axes(ax)
        with look():
            norm = AsinhNorm(linear_width=LINEAR_NATS, vmin=0.0, vmax=max(float(self.depth.max()), 1.0))
            shades = {"cmap": "cividis_r", "norm": norm, "rasterized": True}  # readable with colour blindness
            cells = ax.pcolormesh(edges_of(self.widths), edges_of(self.scales), self.depth.T, **shades)
            bar = ax.figure.colorbar(cells, ax=ax, label="ln p(D) below its maximum (nats)", ticks=[0.0, *self.levels])
            bar.ax.set_yticklabels([f"{level:g}" for level in (0.0, *self.levels)])
            bar.ax.minorticks_off()
            bar.ax.invert_yaxis()
            if min(self.depth.shape) > 1 and self.levels:
                ink = ["black" if level < DARK_NATS else "white" for level in self.levels]
                where = self.widths, self.scales, self.depth.T
                ax.clabel(ax.contour(*where, levels=self.levels, colors=ink, linewidths=1.0), fmt="%g", fontsize=9)
            star = {"marker": "*", "ms": 17.0, "ls": "none", "color": "white", "mec": "black"}
            ax.plot(*self.best, label=f"best of the grid: ln p(D) = {self.maximum:.1f}".replace("-", "−"), **star)
            for marker, (text, point) in zip(MARKERS, self.marks.items(), strict=False):
                ax.plot(*point, marker=marker, ls="none", ms=9.0, color=STANDOUT, mec="white", label=in_legend(text))
            ax.set(
                xscale="log", yscale="log", xlabel="width of the basis functions (units of x)", title=in_title(title),
                ylabel="prior standard deviation of a weight",
            )  # fmt: skip
            labels = ax.get_legend_handles_labels()[1]
            ncols = legend_columns(labels, ax.figure.get_size_inches()[0], 2)
            ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=ncols, columnspacing=1.0)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def edges_of(centres: Float) -> Float:
    """Edges of cells around ascending centres, halfway between them on a logarithmic axis."""
    if len(centres) == 1:
        return np.array([centres[0] / 2, centres[0] * 2])
    logs = np.log(centres)
    middle = 0.5 * (logs[1:] + logs[:-1])
    return np.asarray(np.exp(np.concatenate([[2 * logs[0] - middle[0]], middle, [2 * logs[-1] - middle[-1]]])))
