"""Gradient descent compared with Newton's method, which is IRLS here (PRML §4.3.3).

Both methods fit the same logistic regression from w = 0. Gradient descent follows the direction of steepest descent.
One column is wider than the other, so this direction rarely points to the minimum, and hundreds of small steps are
needed. A Newton step solves a weighted least squares problem, (4.99), and moves to the minimum of a parabola: each
step doubles the number of correct digits. The dotted lines are the contours of probability 0.1 and 0.9, which
approach the boundary as w grows. The left panels show both methods after three steps, the middle panels at the end.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

import separatrix as sx
from separatrix.datasets import make_overlapping
from separatrix.plots import FitPathDisplay
from separatrix.plots.drawing import new_figure
from separatrix.solvers import GradientDescent, Newton

EARLY = 3  # steps: Newton's method has almost converged, gradient descent has barely moved
SOLVERS = {"gradient descent": GradientDescent(step=0.4, tol=1e-6), "Newton = IRLS": Newton(tol=1e-6)}


def main(path: str = "gradient_vs_irls.png") -> None:
    X, y = make_overlapping(120, distance=2.5, rng=1)
    X = X * [1.0, 3.0]
    figure, axes = new_figure(2, 3, size=(11, 7.2))
    print(
        f"{'solver':<18} {'steps':>6} {'passes':>7} {'E (nats)':>9}   steps to 1 %, and to 1e-6 nats above the minimum"
    )
    for (name, solver), row in zip(SOLVERS.items(), axes, strict=True):
        model = sx.LogisticRegression(alpha=0.1, solver=solver).fit(X, y)
        display = FitPathDisplay.of_fit(model, X, y)
        display.plot(row, frames=[EARLY, len(display.frames) - 1])
        row[0].get_legend().remove()  # the figure has one legend for all panels
        E = [frame.objective for frame in display.frames]
        near, there = (sum(value > E[-1] + gap for value in E) for gap in (0.01 * (E[0] - E[-1]), 1e-6))
        print(f"{name:<18} {model.n_steps_:>6} {model.n_passes_:>7} {E[-1]:>9.3f}   {near}, {there}")
        row[0].set_ylabel(f"{name}\nx1")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
