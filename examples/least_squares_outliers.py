"""Rows far from the boundary move the line of least squares, but not of logistic regression (PRML figure 4.4).

A vertical line separates two narrow classes. Then twenty rows of class 1 are added, far from the line on its correct
side. Their probability under logistic regression is already close to one, so its line does not move. Least squares
penalises any difference from the target 1, even if a row is classified correctly: its line turns towards the added
rows, and rows in the middle are misclassified.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.datasets import make_outliers
from separatrix.plots.drawing import COLOURS, STANDOUT, new_figure, scatter_classes

RULES = {
    "least squares": (sx.LeastSquaresClassifier(), STANDOUT, "-"),
    "logistic regression": (sx.LogisticRegression(), COLOURS[2], "--"),
}


def main(path: str = "least_squares_outliers.png") -> None:
    X, y = make_outliers(n=100, n_outliers=20)
    near = slice(0, 100)
    figure, axes = new_figure(1, 2, size=(10, 5.6), share=True)
    print(f"{'rule':<22} {'rows':>5} {'correct':>7} {'angle of w':>11}   correct: of the 100 rows in the middle")
    for ax, rows, title in zip(axes, (near, slice(None)), ("100 rows", "20 more rows, far to the right"), strict=True):
        scatter_classes(ax, X[rows], y[rows], np.array([0, 1]))
        for name, (rule, colour, line) in RULES.items():
            rule.fit(X[rows], y[rows])
            (w,), (w0,) = rule.coef_, rule.intercept_
            correct, angle = rule.score(X[near], y[near]), np.degrees(np.arctan2(w[1], w[0]))
            print(f"{name:<22} {len(X[rows]):>5} {correct:>7.1%} {angle:>10.1f}°")
            on_line = np.array([[-30.0, 30.0]]).T * [-w[1], w[0]] / np.hypot(*w) - w0 * w / (w @ w)
            ax.plot(*on_line.T, color=colour, linestyle=line, label=f"{name}: {correct:.0%} correct")
        ax.set(xlim=(-4, 12.5), ylim=(-12.5, 7), xlabel="$x_1$", ylabel="$x_2$", title=title)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, title="correct: of the middle rows")
    figure.savefig(path, dpi=165)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
