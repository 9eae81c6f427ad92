"""One column, two classes: class densities and the posterior they imply (PRML figures 1.27 and 4.10).

159 juvenile lobsters were tethered on the sea floor for a day; larger ones survived more often. The left panels show
a normal density per class with one shared variance, multiplied by the class proportion, and below it the posterior
given by Bayes' theorem: a sigmoid of a linear function. The right panel shows the observed fraction of survivors at
each size and three posteriors: normal densities with a shared variance, normal densities with one variance per
class, and logistic regression, which models the labels only. The sizes are nearly normal and have nearly equal
variances, so the three agree to one or two percentage points.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.datasets import LOBSTERS, load_lobsters
from separatrix.plots import ClassDensityDisplay
from separatrix.plots.drawing import COLOURS, look, new_figure

MODELS = {
    "shared variance (LDA)": (sx.LinearDiscriminantAnalysis(), COLOURS[2], "-"),
    "own variances (QDA)": (sx.QuadraticDiscriminantAnalysis(), COLOURS[3], ":"),
    "logistic regression": (sx.LogisticRegression(alpha=0.0), "black", "--"),
}


def draw_fractions(ax: plt.Axes, X: object, grid: np.ndarray) -> None:
    """Draw the observed fraction of survivors at each size and the posterior of each model."""
    sizes = np.array(list(LOBSTERS))
    alive, tethered = np.array(list(LOBSTERS.values())).T
    ax.scatter(sizes, alive / tethered, s=8 * tethered, color="grey", alpha=0.5, label="fraction (area: number)")
    for name, (model, colour, dashes) in MODELS.items():
        ax.plot(grid, model.predict_proba(type(X)(grid, columns=X.columns))[:, 1], dashes, color=colour, label=name)
    ax.set(xlabel="size (mm)", ylabel="p(survived | size)", ylim=(-0.03, 1.03), title="Three posteriors")
    ax.legend(loc="lower right")


def main(path: str = "lobsters.png") -> None:
    X, survived = load_lobsters(return_X_y=True, as_frame=True)
    y = np.array(["eaten", "survived"])[survived]
    grid = np.linspace(22, 62, 400)[:, None]
    print(f"{'model':<24} {'50 % at':>9} {'mean log-likelihood':>21}")
    for name, (model, _, _) in MODELS.items():
        P = model.fit(X, y).predict_proba(X)
        half = grid[np.abs(model.predict_proba(type(X)(grid, columns=X.columns))[:, 1] - 0.5).argmin(), 0]
        print(f"{name:<24} {half:>6.1f} mm {np.log(P[np.arange(len(P)), survived]).mean():>21.4f}")
    figure, (left, right) = new_figure(1, 2, size=(11, 5))
    lda = MODELS["shared variance (LDA)"][0]
    ClassDensityDisplay.from_estimator(lda, X, y, n_bins=11, ax=left, title="Class densities, one shared variance")
    with look():
        draw_fractions(right, X, grid)
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
