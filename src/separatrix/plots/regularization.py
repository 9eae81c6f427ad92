# SPDX-License-Identifier: BSD-3-Clause
"""Weights along the strength of an elastic-net prior, above the log-loss of cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._arguments import check_count
from separatrix._array import Float, to_dense
from separatrix._text import counted
from separatrix.discriminative import RegularizationPath, regularization_path
from separatrix.exceptions import DataError
from separatrix.plots.drawing import (
    COLOURS,
    LINES,
    MUTED,
    SHORT_NAME_LETTERS,
    STANDOUT,
    in_legend,
    in_text,
    in_title,
    look,
    split_axes,
)
from separatrix.rows import as_source, as_table

N_COUNTS = 6  # numbers of nonzero columns along the top of the figure


@dataclass(eq=False, repr=False)
class RegularizationPathDisplay:
    """Weight of each column for each alpha, from strong to weak priors, and the log-loss with its standard error.

    Create it with `from_path`, or with `from_estimator`, which computes the path. The axes are in ``ax_`` (weights) and
    ``axes_`` (all panels), the figure in ``figure_``.

    Attributes
    ----------
    alphas : ndarray of shape (A,)
        Decreasing.
    weight : ndarray of shape (A, P)
        Weights of the drawn class.
    names : tuple of P str
        The columns.
    named : tuple of int
        Indices of the columns with the largest weights, which are drawn in colour.
    n_nonzero : ndarray of shape (A,)
        Number of columns with a nonzero weight in any class.
    log_loss, log_loss_error : ndarrays of shape (A,)
        Or None without cross-validation.
    marks : dict
        {text: alpha}, the alphas of `path.best` and `path.sparsest`; empty without cross-validation.
    label : str
        The class to whose log-odds the weights refer.
    per_spread : bool
        Whether weights are per standard deviation of their column instead of per unit.
    """

    alphas: Float
    weight: Float
    names: tuple[str, ...]
    named: tuple[int, ...]
    n_nonzero: Any
    log_loss: Float | None
    log_loss_error: Float | None
    marks: dict[str, float]
    label: str
    per_spread: bool = False

    @classmethod
    def from_path(
        cls,
        path: RegularizationPath,
        X: Any = None,
        *,
        label: Any = None,
        most: int = 6,
        ax: Any = None,
        title: str | None = None,
    ) -> RegularizationPathDisplay:
        """Draw the result of `separatrix.regularization_path`.

        Parameters
        ----------
        path : RegularizationPath
            Weights for each alpha, and the log-loss if the path has one.
        X : table of shape (N, D), optional
            Training rows. If given, weights are per standard deviation of each column, which makes them comparable;
            otherwise they are per unit.
        label : label of a class, optional
            Class whose weights are drawn. By default the last class; two classes have only one set of weights.
        most : int, default 6
            Maximum number of columns to name and draw in colour, those with the largest weights.
        ax, title : matplotlib axes (one, or one per panel) and str, optional
            Axes to draw in (a new figure by default), and the title.

        Examples
        --------
        >>> import separatrix as sx
        >>> from sklearn.datasets import load_wine
        >>> wine = load_wine(as_frame=True)
        >>> X = (wine.data - wine.data.mean()) / wine.data.std()
        >>> path = sx.regularization_path(sx.LogisticRegression(prior=sx.ElasticNet()), X, wine.target, folds=5)
        >>> display = sx.plots.RegularizationPathDisplay.from_path(path, label=0)
        >>> display.names[display.named[0]]
        'proline'
        """
        check_count("RegularizationPathDisplay", "most", most)
        classes = path.classes.tolist()
        if label is not None and label not in classes:
            raise DataError(f"label={label!r} is not a class of the path; its classes are {classes}.")
        k = 0 if len(classes) == 2 else len(classes) - 1 if label is None else classes.index(label)
        weight = path.coef[:, k]
        if X is not None:
            spread = np.std(as_source(as_table(X)).map(to_dense), axis=0)
            if len(spread) != weight.shape[1]:
                raise DataError(
                    f"X has {counted(len(spread), 'column')}, but the path has weights of {weight.shape[1]}. Omit X."
                )
            weight = weight * spread
        named = tuple(
            int(j) for j in np.argsort(-np.abs(weight).max(axis=0), kind="stable")[:most] if weight[:, j].any()
        )
        marks = {}
        if path.log_loss is not None:
            marks = {"lowest log-loss": path.best.alpha, "sparsest within\n1 standard error": path.sparsest.alpha}
        display = cls(
            path.alphas, weight, path.columns, named, path.n_nonzero, path.log_loss, path.log_loss_error, marks,
            str(classes[1 if len(classes) == 2 else k]), X is not None,
        )  # fmt: skip
        return display.plot(ax, title=title)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        folds: int | None = 5,
        label: Any = None,
        most: int = 6,
        ax: Any = None,
        title: str | None = None,
    ) -> RegularizationPathDisplay:
        """Compute the path of a model with ``prior=ElasticNet(...)``, and draw it; weights are per unit.

        Parameters
        ----------
        model, X, y, folds
            As in `separatrix.regularization_path`.
        label, most, ax, title
            As in `from_path`.
        """
        return cls.from_path(regularization_path(model, X, y, folds=folds), label=label, most=most, ax=ax, title=title)

    def plot(self, ax: Any = None, *, title: str | None = None) -> RegularizationPathDisplay:
        """Draw the weights, the log-loss if it is known, and the marked alphas."""
        has_loss = self.log_loss is not None
        panels = split_axes(ax, (3, 2) if has_loss else (1,), size=(6.4, 6.4 if has_loss else 4.4))
        top, bottom = panels[0], panels[-1]
        with look():
            top.axhline(0.0, color=MUTED, lw=0.8)
            others = [j for j in range(len(self.names)) if j not in self.named and self.weight[:, j].any()]
            top.plot(self.alphas, self.weight[:, others], color="0.8", lw=1.0)
            for i, j in enumerate(self.named):
                look_of = {"color": COLOURS[i % len(COLOURS)], "ls": LINES[i // len(COLOURS) % len(LINES)]}
                top.plot(self.alphas, self.weight[:, j], label=in_legend(self.names[j]), **look_of)
            unit = "standard deviation" if self.per_spread else "unit"
            top.set(xscale="log", ylabel=f"weight per {unit}\n(log-odds of {in_text(self.label, SHORT_NAME_LETTERS)})")
            top.set_xlim(self.alphas[0] * 1.05, self.alphas[-1] / 1.05)  # weights grow to the right
            if self.named:
                top.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.4)
            count = top.secondary_xaxis("top")
            at = np.unique(np.linspace(0, len(self.alphas) - 1, N_COUNTS).astype(int))
            count.set_xticks(self.alphas[at], [str(n) for n in self.n_nonzero[at]])
            count.minorticks_off()
            count.set_xlabel("columns with nonzero weights")
            if has_loss:
                assert self.log_loss is not None
                assert self.log_loss_error is not None
                low, high = self.log_loss - self.log_loss_error, self.log_loss + self.log_loss_error
                bottom.fill_between(
                    self.alphas, low, high, color=COLOURS[0], alpha=0.2, lw=0, label="± 1 standard error"
                )
                bottom.plot(self.alphas, self.log_loss, color=COLOURS[0])
                bottom.set(ylabel="log-loss of held-out rows\n(nats per row)")
            for line, (text, alpha) in zip(("-", "--"), self.marks.items(), strict=True) if self.marks else ():
                for panel in panels:
                    panel.axvline(
                        alpha, color=STANDOUT, ls=line, lw=1.2, zorder=1, label=text if panel is bottom else None
                    )
            if has_loss:
                bottom.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.4)
            bottom.set(xlabel="alpha (strength of the prior, decreasing)")
            if title:
                top.set_title(in_title(title))
        self.ax_, self.axes_, self.figure_ = top, np.array(panels), top.figure
        return self
