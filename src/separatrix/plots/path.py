# SPDX-License-Identifier: BSD-3-Clause
"""The boundary after each step of a fit: perceptron, gradient descent, Newton's method.

A copy of the model is fitted and its iterates are recorded; each iterate is a frame. A perceptron has one step per
misclassified row, other models have one step per iteration of the solver. A frame of the perceptron shows the boundary,
the misclassified row, and its contribution to w (PRML figure 4.7). A frame of other models shows the boundary and the
contours of probability 0.1 and 0.9. The last panel shows the objective above its lowest value, or the mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from separatrix._arguments import check_count
from separatrix._array import Array, Codes, Float
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.geometry import Hyperplane
from separatrix.likelihoods import ClassLikelihood
from separatrix.plots.drawing import (
    COLOURS,
    STANDOUT,
    Rows,
    in_text,
    legend_columns,
    look,
    new_panels,
    read_rows,
    scatter_classes,
)
from separatrix.rows import as_table
from separatrix.rules import Update

MAX_ACTIVATION = 30.0  # probabilities are practically 0 or 1 beyond this activation
WINDOW_MARGIN = 0.12  # margin around the rows, as a fraction of their range
MIN_RELATIVE_DECREASE = 1e-13  # smaller differences of the objective are rounding errors
MAX_PANEL_LETTERS = 28  # longest name of a column that fits below a panel
MAX_ARROW = 0.3  # length of the longest arrow, as a fraction of the axes


class Frame(NamedTuple):
    """Weights and objective after ``step`` steps, and for a perceptron the row that causes the next update."""

    step: int
    w: Float
    w0: float
    objective: float
    row: int | None = None


def frames_of(trace: Sequence[Any], rows: Rows) -> tuple[Frame, ...]:
    """Frames at the start and after every step."""
    if not isinstance(trace[0], Update):
        return tuple(
            Frame(k, np.array(W[0], dtype=np.float64), float(w0[0]), float(value))
            for k, ((W, w0), value, _) in enumerate(trace)
        )
    # A perceptron starts at w = 0. Each frame also contains the row that causes the next update.
    weights = [(np.zeros(2), 0.0), *((update.W[0].copy(), float(update.w0[0])) for update in trace)]
    corrected, t = [*(update.row for update in trace), None], 2 * rows.codes - 1
    wrong = [float(np.count_nonzero(t * (rows.points @ w + w0) <= 0)) for w, w0 in weights]
    return tuple(Frame(k, *weights[k], wrong[k], corrected[k]) for k in range(len(weights)))


def contours_of(likelihood: ClassLikelihood) -> tuple[float, ...]:
    """Activations at which the probability is 0.1 and 0.9, if the likelihood reaches them."""
    from scipy.optimize import brentq

    def probability(a: float) -> float:
        return float(likelihood.probability(np.array([a]))[0])

    reached = [p for p in (0.1, 0.9) if probability(-MAX_ACTIVATION) < p < probability(MAX_ACTIVATION)]
    return tuple(float(brentq(lambda a, p=p: probability(a) - p, -MAX_ACTIVATION, MAX_ACTIVATION)) for p in reached)


@dataclass(eq=False, repr=False)
class FitPathDisplay:
    """The boundary after each step of a fit, as small multiples or as an animation.

    The axes are in ``axes_``, the figure in ``figure_``.

    Attributes
    ----------
    frames : tuple of Frame
        w, w0 and the objective at the start and after each step. The objective of a perceptron is the number of
        misclassified rows; the objective of other models is the negative log posterior.
    points, codes, classes, columns : ndarrays and tuple of str
        The rows (N, 2), their class codes, the labels, and the names of the columns.
    name : str
        Name of the model.
    is_perceptron : bool
        Whether each frame is an update by a single row.
    contours : tuple of float
        Activations at which the probability of the second class is 0.1 and 0.9; empty for a perceptron.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.datasets import make_overlapping
    >>> from separatrix.plots.path import FitPathDisplay
    >>> X, y = make_overlapping()
    >>> path = FitPathDisplay.from_estimator(sx.LogisticRegression(solver="newton"), X, y)
    >>> [round(frame.objective, 3) for frame in path.frames[:4]]
    [138.629, 84.207, 76.654, 75.766]
    """

    frames: tuple[Frame, ...]
    points: Float
    codes: Codes
    classes: Array
    columns: tuple[str, ...]
    name: str
    is_perceptron: bool
    contours: tuple[float, ...] = ()

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, frames: int | Sequence[int] = 6, axes: Any = None
    ) -> FitPathDisplay:
        """Fit a copy of the model, record every step, and draw some of the steps.

        Parameters
        ----------
        model : Perceptron, LogisticRegression, ProbitRegression or another model with a parameter ``trace``
            A model of two classes without a basis. It need not be fitted and is not changed.
        X, y : table of shape (N, 2) and array-like of shape (N,)
            Rows and their classes.
        frames : int or sequence of int, default 6
            Number of frames to draw, or their positions. A number of frames includes the first and the last, and more
            early frames than late frames.
        axes : matplotlib axes, one per frame and one for the objective, optional
            Axes to draw in; a new figure by default.
        """
        return cls.of_fit(model, X, y).plot(axes, frames=frames)

    @classmethod
    def of_fit(cls, model: Any, X: Any, y: Any) -> FitPathDisplay:
        """Fit and record as `from_estimator` does, without drawing."""
        if "trace" not in model.get_params():
            raise DataError(
                f"{type(model).__name__} does not record its steps. Use a Perceptron, a LogisticRegression with "
                "solver='gradient' or 'newton', or a ProbitRegression."
            )
        X = as_table(X)  # a stream can be read only once, but X is read several times
        fitted = clone(model).set_params(trace=True).fit(X, y)
        if len(fitted.classes_) != 2:
            raise DataError(
                f"FitPathDisplay needs two classes, but y has {len(fitted.classes_)}. Draw one class against the rest: "
                "y == label."
            )
        if fitted.basis_ is not None or fitted.n_features_in_ != 2:
            raise DataError(
                "FitPathDisplay needs two columns and no basis, but the model has "
                f"{counted(fitted.n_features_in_, 'column')}"
                f"{'' if fitted.basis_ is None else ' and a basis'}."
            )
        rows, trace = read_rows(X, y, fitted.classes_), fitted.solution_.trace
        is_perceptron = isinstance(trace[0], Update)
        contours = () if is_perceptron else contours_of(fitted.likelihood_)
        frames, name = frames_of(trace, rows), type(fitted).__name__
        return cls(frames, rows.points, rows.codes, fitted.classes_, rows.columns, name, is_perceptron, contours)

    def chosen(self, frames: int | Sequence[int]) -> tuple[int, ...]:
        """Positions of the frames to draw: the given positions, or ``frames`` positions with growing distances."""
        last = len(self.frames) - 1
        if not isinstance(frames, int):
            wrong = [k for k in frames if not 0 <= k <= last]
            if wrong:
                raise ValueError(
                    f"FitPathDisplay(frames={list(frames)}): there is no frame {wrong[0]}, only 0 to {last}."
                )
            return tuple(frames)
        count = min(check_count("FitPathDisplay", "frames", frames), last + 1)
        positions = np.geomspace(1, last + 1, count).round().astype(int) - 1
        for k in range(1, count):  # rounding may have made early positions equal
            positions[k] = max(positions[k], positions[k - 1] + 1)
        return tuple(positions.tolist())

    def plot(self, axes: Any = None, *, frames: int | Sequence[int] = 6) -> FitPathDisplay:
        """Draw some frames, and the objective after every step."""
        chosen = self.chosen(frames)
        n_panels = len(chosen) + 1
        panels = np.ravel(axes)
        if axes is None:  # at most four panels per row, without empty panels
            n_rows = -(-n_panels // 4)
            panels = new_panels(n_rows, -(-n_panels // n_rows), size=(3.6, 3.3)).ravel()
            for ax in panels[n_panels:]:
                ax.remove()
            panels = panels[:n_panels]
        if len(panels) != n_panels:
            raise ValueError(
                f"FitPathDisplay: {len(chosen)} frames and their objective need {n_panels} axes, not {len(panels)}."
            )
        with look():
            for ax, k in zip(panels, chosen, strict=False):
                self._draw_frame(ax, k)
            self._draw_objective(panels[-1], chosen)
            ax, ring = panels[0], {"s": 80, "facecolors": "none", "edgecolors": STANDOUT, "linewidths": 2}
            ax.plot([], [], color="black", linewidth=2, label="boundary")
            if self.is_perceptron:
                ax.plot([], [], color=STANDOUT, linestyle="--", label="boundary after the next update")
                ax.scatter([], [], label="row of the next update", **ring)
            elif self.contours:
                ax.plot([], [], color="black", linestyle=":", label="p = 0.1 and 0.9")
            if axes is None:
                handles, labels = ax.get_legend_handles_labels()
                ncols = legend_columns(labels, ax.figure.get_size_inches()[0], 5)
                ax.figure.legend(handles, labels, loc="outside lower center", ncols=ncols, frameon=False)
            else:
                ax.legend(fontsize="x-small")
        self.axes_, self.figure_ = panels, panels[0].figure
        return self

    def animate(self, path: str | Path | None = None, *, fps: int = 2, frames: int | Sequence[int] = 40) -> Any:
        """Animate the frames next to the objective; write the animation if a path is given.

        Parameters
        ----------
        path : str or Path, optional
            File name ending in ".gif". For a web page, call ``to_jshtml`` on the result.
        fps : int, default 2
            Frames per second.
        frames : int or sequence of int, default 40
            As in `from_estimator`.
        """
        from matplotlib.animation import FuncAnimation, PillowWriter

        check_count("FitPathDisplay.animate", "fps", fps)
        if path is not None and Path(path).suffix != ".gif":
            raise ValueError(
                f"FitPathDisplay.animate(path={str(path)!r}): the name must end in .gif. For other formats, omit the "
                "path and call save or to_jshtml on the result."
            )
        chosen = self.chosen(frames)
        left, right = new_panels(1, 2, size=(4.6, 4.2))[0]

        def show(at: int) -> tuple[()]:
            left.clear()
            right.clear()
            with look():
                self._draw_frame(left, chosen[at])
                self._draw_objective(right, chosen[at : at + 1])
            return ()

        moving = FuncAnimation(left.figure, show, frames=len(chosen), interval=1000 / fps, init_func=lambda: ())
        if path is not None:
            moving.save(path, writer=PillowWriter(fps=fps))
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return moving

    def _draw_frame(self, ax: Any, k: int) -> None:
        """Draw the two sides, the boundary, the rows, and the next update of a perceptron."""
        frame, lowest, highest = self.frames[k], self.points.min(axis=0), self.points.max(axis=0)
        half = (0.5 + WINDOW_MARGIN) * np.where(highest > lowest, highest - lowest, 1.0)
        if self.is_perceptron:  # a square window, in which w is perpendicular to its line
            half = np.full(2, half.max())
        middle = lowest + (highest - lowest) / 2
        low, high = middle - half, middle + half
        scatter_classes(ax, self.points, self.codes, self.classes, size=24)
        if frame.w.any():
            x, y, a = _corners(frame, low, high)
            reach = 1.0 + float(np.abs(a).max())
            ax.contourf(x, y, a, levels=[-reach, 0.0, reach], colors=COLOURS[:2], alpha=0.15)
            _draw_lines(ax, frame, low, high, [0.0], colors="black", linewidths=2)
            _draw_lines(ax, frame, low, high, self.contours, colors="black", linestyles=":", linewidths=1.2)
        after = self.frames[min(k + 1, len(self.frames) - 1)]
        if frame.row is not None:  # the misclassified row and the next boundary
            ax.scatter(*self.points[frame.row], s=150, facecolors="none", edgecolors=STANDOUT, linewidths=2, zorder=5)
            _draw_lines(ax, after, low, high, [0.0], colors=STANDOUT, linestyles="--", linewidths=1.5)
        if frame.row is not None and (frame.w.any() or after.w.any()):  # w and its update; the bias alone has no arrow
            unit = MAX_ARROW * float((high - low).min()) / max(np.linalg.norm(frame.w), np.linalg.norm(after.w))
            at = frame if frame.w.any() else after  # arrows start at the point of the boundary closest to the mean row
            foot = Hyperplane(at.w, at.w0).foot(self.points.mean(axis=0)[None])[0]
            tip, new = foot + unit * frame.w, foot + unit * after.w
            for start, end, colour in ((foot, tip, "black"), (tip, new, STANDOUT)):
                if np.any(end != start):
                    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
                    ax.annotate("", end, start, arrowprops=look, zorder=6)
        if self.is_perceptron:
            ax.set_box_aspect(1)
            title = f"update {frame.step}: {counted(frame.objective, 'row')} misclassified"
        else:
            title = f"step {frame.step}: E = {frame.objective:.4g} nats"
        ax.set_title(title, fontsize="medium")
        first, second = (in_text(name, MAX_PANEL_LETTERS) for name in self.columns)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=first, ylabel=second)

    def _draw_objective(self, ax: Any, marked: Sequence[int]) -> None:
        """Draw the objective after every step, with dots at the drawn frames."""
        step = np.array([frame.step for frame in self.frames])
        value = np.array([frame.objective for frame in self.frames])
        where = list(marked)
        if self.is_perceptron:
            ax.step(step, value, where="post", color="black", linewidth=1)
            ax.plot(step[where], value[where], "o", color=STANDOUT)
            ax.set(xlabel="update", ylabel="misclassified rows", title="mistakes", ylim=(0, None))
        else:
            above = value - value.min()
            above[above <= MIN_RELATIVE_DECREASE * abs(value.min())] = np.nan
            ax.semilogy(step, above, color="black", linewidth=1)
            ax.semilogy(step[where], above[where], "o", color=STANDOUT)
            title = f"E = {value[-1]:.4g} nats at the end"
            ax.set(xlabel="step", ylabel="E above its lowest value (nats)", title=title)
        ax.title.set_fontsize("medium")
        ax.xaxis.get_major_locator().set_params(integer=True)


def _corners(frame: Frame, low: Float, high: Float) -> tuple[Float, Float, Float]:
    """Coordinates and activation at the four corners; contours from four corners are exact for a linear function."""
    reach = 0.1 * (high - low)
    x, y = np.array([low - reach, high + reach]).T
    return x, y, frame.w[0] * x[None, :] + frame.w[1] * y[:, None] + frame.w0


def _draw_lines(ax: Any, frame: Frame, low: Float, high: Float, levels: Sequence[float], **look: Any) -> None:
    x, y, a = _corners(frame, low, high)
    inside = [level for level in levels if a.min() < level < a.max()]
    if inside:
        ax.contour(x, y, a, levels=inside, **look)
