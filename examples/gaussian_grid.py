"""A chess board of 5 x 5 clusters, and 5 x 5 Gaussian basis functions at 3, 5 and 9 variances (PRML §3.1, §4.1.3).

Neither a line nor a conic separates the squares of a chess board: linear and quadratic discriminants are little
better than chance. Least squares separates them if x is replaced by Gaussian basis functions on a 5 x 5 grid. With
one variance per centre, whose width is twice the spacing of the grid, the functions are too wide. With 3 variances
per centre, each half of the previous one, the squares begin to appear; with 5 the fit is nearly as good as the
clusters allow. With 9, the narrowest functions are much narrower than a cluster: they fit single training rows and
do not help on new rows.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.basis import MultiScaleRBF
from separatrix.datasets import make_gaussian_grid
from separatrix.plots import DecisionBoundaryDisplay
from separatrix.plots.drawing import new_figure

VARIANCE = 0.05  # variance of each cluster; the centres of adjacent clusters are one unit apart


def models() -> dict[str, object]:
    """Two discriminants of x, and least squares on Gaussians with an increasing number of variances."""
    bumps = {
        f"least squares, {25 * scales} bumps": sx.LeastSquaresClassifier(
            alpha=1e-3, basis=MultiScaleRBF(n_centres=5, n_scales=scales)
        )
        for scales in (1, 3, 5, 9)
    }
    return {
        "linear discriminant": sx.LinearDiscriminantAnalysis(),
        "quadratic discriminant": sx.QuadraticDiscriminantAnalysis(),
        **bumps,
    }


def main(path: str = "gaussian_grid.png") -> None:
    X, y = make_gaussian_grid(500, variance=VARIANCE)
    X_test, y_test = make_gaussian_grid(2000, variance=VARIANCE, rng=1)
    figure, axes = new_figure(2, 3, size=(11, 7.4), share=True)
    print(f"{'model':<30} {'train':>7} {'test':>7}   accuracy")
    for (name, model), ax in zip(models().items(), axes.flat, strict=True):
        model.fit(X, y)
        train, test = model.score(X, y), model.score(X_test, y_test)
        print(f"{name:<30} {train:>7.1%} {test:>7.1%}")
        DecisionBoundaryDisplay.from_estimator(
            model, X[:250], y[:250], resolution=200, ax=ax, title=f"{name}: {test:.0%}"
        )
        ax.set(xlabel="$x_0$", ylabel="$x_1$", aspect="equal")
        ax.label_outer()
    nearest = np.rint(X_test).clip(0, 4).sum(axis=1) % 2 == y_test
    print(f"{'class of the nearest centre':<30} {'':>7} {nearest.mean():>7.1%}   the best possible rule")
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
